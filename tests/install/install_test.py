"""The installed package: what it shows, and that a project outside of the tree builds against it and
runs, shared and static, by pkg-config and by CMake.

UROCE_BUILD names the build folder (meson sets it); else it is build/.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = os.environ.get("UROCE_BUILD", str(ROOT / "build"))
PROGRAMS = os.environ.get("UROCE_PROGRAMS", "uroce uroce-bw uroce-pingpong").split()


def run(command, **options):
    """stdout of a command that must succeed."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False,
                          timeout=300, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} failed\n{done.stdout}\n{done.stderr}")
    return done.stdout


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="uroce-install-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", cls.folder])
        found = list(cls.folder.glob("**/liburoce.so"))
        assert len(found) == 1, found
        cls.libdir = found[0].parent
        cls.prefix = next(p for p in cls.libdir.parents if (p / "bin").is_dir())
        cls.consumer = cls.folder / "consumer"
        shutil.copytree(ROOT / "tests/install/consumer", cls.consumer)
        cls.environment = {**os.environ, "LD_LIBRARY_PATH": str(cls.libdir),
                           "XDG_RUNTIME_DIR": str(cls.folder),
                           "PKG_CONFIG_PATH": str(cls.libdir / "pkgconfig")}

    def expect_written(self, program):
        self.assertEqual(run([program], env=self.environment), "written by RDMA, nothing dropped\n")

    def test_programs_and_configurations_are_installed(self):
        for program in PROGRAMS:
            self.assertIn("uroce", run([self.prefix / "bin" / program, "--version"]))
        self.assertTrue((self.prefix / "share/uroce/config/af_packet.toml").is_file())

    def test_the_replacement_of_libibverbs_is_where_nothing_finds_it_by_accident(self):
        found = [str(p.relative_to(self.libdir)) for p in self.libdir.glob("**/libibverbs*")]
        self.assertEqual(found, ["uroce/libibverbs.so.1"])

    def test_the_shared_library_has_a_soversion(self):
        self.assertIn("liburoce.so.0]", run(["readelf", "-d", self.libdir / "liburoce.so"]))

    def test_only_the_public_names_are_shown(self):
        shown = run(["nm", "-DC", "--defined-only", self.libdir / "liburoce.so"]).splitlines()
        names = [line.split(" ", 2)[2] for line in shown if " A UROCE_0" not in line]
        self.assertGreater(len(names), 100)
        foreign = [n for n in names
                   if not re.match(r"roce::(\w+\(|\w+\[abi|Endpoint::|verbs::\w+(::|\())", n)]
        self.assertEqual(foreign, [])
        self.assertEqual([n for n in names if "detail::" in n.split("(")[0]], [])

    def test_a_make_project_builds_against_it_and_runs(self):
        run(["make", "-C", self.consumer], env=self.environment)
        self.expect_written(self.consumer / "consumer")
        self.expect_written(self.consumer / "consumer-static")
        self.assertNotIn("liburoce", run(["readelf", "-d", self.consumer / "consumer-static"]))

    @unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
    def test_a_cmake_project_builds_against_it_and_runs(self):
        build = self.consumer / "build"
        run(["cmake", "-S", self.consumer, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}"])
        run(["cmake", "--build", build])
        self.expect_written(build / "consumer_uroce")
        self.expect_written(build / "consumer_uroce_static")


if __name__ == "__main__":
    unittest.main()
