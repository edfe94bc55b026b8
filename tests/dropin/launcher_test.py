"""`uroce run`: what it hands on, and its errors, each one line with the remedy.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import shutil
import tempfile
from pathlib import Path

import dropin
from dropin import UROCE


class Launcher(dropin.DropinTest):
    def uroce(self, *arguments, **options):
        return self.run_alone(*arguments, run=(UROCE,), **options)

    def refused(self, arguments, code, *words):
        """One line that begins with the program and names `words`."""
        ended = self.uroce(*arguments)
        self.assertEqual(ended.code, code, ended)
        self.assertEqual(len(ended.err.splitlines()), 1, ended)
        self.assertTrue(ended.err.startswith("uroce: "), ended)
        for word in words:
            self.assertIn(word, ended.err, ended)

    def environment_of(self, *options):
        ended = self.uroce("run", *options, "env")
        self.assertEqual((ended.code, ended.err), (0, ""), ended)
        return dict(line.split("=", 1) for line in ended.out.splitlines() if "=" in line)

    def test_one_engine_only(self):
        ended = self.uroce("run", "--set", "engine.lcores=2", "ibv_devinfo", "-v")
        self.assertIn("engine.lcores = 2: a program of libibverbs sees one device; set it to 1",
                      ended.err)

    def test_options_go_on_as_variables(self):
        given = self.environment_of("--node", "b", "--gid-ip", "192.0.2.9", "--fault", "loss=1%",
                                    "--set", "port.mtu=1500")
        self.assertEqual(given["UROCE_PORT_SIDE"], "b")
        self.assertEqual(given["UROCE_ADDRESS_IPV4"], "192.0.2.9/24")
        self.assertEqual(given["UROCE_WRAP_FAULT"], "loss=1%")
        self.assertEqual(given["UROCE_PORT_MTU"], "1500")

    def test_addresses_keep_their_length_and_may_be_ipv6(self):
        given = self.environment_of("--gid-ip", "10.0.0.1/8")
        self.assertEqual(given["UROCE_ADDRESS_IPV4"], "10.0.0.1/8")
        given = self.environment_of("--gid-ip", "2001:db8::9")
        self.assertEqual(given["UROCE_ADDRESS_IPV6"], "2001:db8::9/64")

    def test_files_are_found_from_any_folder(self):
        config = self.folder / "some.toml"
        config.write_text("[port]\nmtu = 1500\n", "ascii")
        ended = self.uroce("run", "--config", "some.toml", "--capture", "c.pcap", "env",
                           cwd=self.folder)
        self.assertIn(f"UROCE_CONFIG={config}\n", ended.out, ended)
        self.assertIn(f"UROCE_WRAP_CAPTURE={self.folder}/c.pcap\n", ended.out, ended)

    def test_the_library_comes_first_and_what_was_preloaded_stays(self):
        ended = self.uroce("run", "env", env={**self.environment, "LD_PRELOAD": "libibverbs.so.1"})
        self.assertRegex(ended.out, "LD_PRELOAD=/.*/liburoce-ibverbs.so:libibverbs.so.1\n", ended)

    def test_the_program_keeps_its_arguments_and_exit_code(self):
        for arguments in (["--", "sh", "-c", "echo $1; exit 7", "-", "--node"],
                          ["sh", "-c", "echo $1; exit 7", "-", "--node"]):
            ended = self.uroce("run", *arguments)
            self.assertEqual((ended.code, ended.out), (7, "--node\n"), ended)
        self.assertEqual(self.uroce("run", "echo", "a", "--", "b").out, "a -- b\n")

    def test_wrong_arguments_are_told_in_one_line(self):
        self.refused([], 2, "no command", "run")
        self.refused(["runn"], 2, "unknown command runn")
        self.refused(["run"], 2, "no program", "--help")
        self.refused(["run", "--nod", "a", "true"], 2, "--nod", "--node")
        self.refused(["run", "--node", "c", "true"], 2, "--node", "one of a, b")
        self.refused(["run", "--gid-ip", "1.2.3", "true"], 2, "--gid-ip", "192.0.2.7")
        self.refused(["run", "--set", "port.mt=1", "true"], 2, "port.mt", "port.mtu")
        self.refused(["run", "--config", "/nowhere.toml", "true"], 2, "/nowhere.toml")

    def test_a_program_that_cannot_be_run_is_told(self):
        self.refused(["run", "no-such-program"], 127, "unknown program no-such-program", "install")
        file = self.folder / "file"
        file.write_text("x", "ascii")
        self.refused(["run", str(file)], 126, "no permission", "chmod")

    def test_a_wire_in_use_is_told_and_who_has_it(self):
        first = self.launch(UROCE, "run", "--node", "a", "ibv_asyncwatch")
        self.wait_until_said(first, "uroce0")
        ended = self.uroce("run", "--node", "a", "ibv_devinfo")
        self.assertNotEqual(ended.code, 0, ended)
        line = ended.err.splitlines()[0]
        for word in ("uroce: port in use", f"process {first.process.pid}", "--set port.socket="):
            self.assertIn(word, line, ended)

    def test_a_missing_peer_is_told_after_a_while(self):
        ended = self.uroce("run", "--node", "b", "ibv_devinfo")
        self.assertNotEqual(ended.code, 0, ended)
        self.assertRegex(ended.err.splitlines()[0], "^uroce: no server: .*start the server first")

    def test_a_missing_permission_is_told(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to be another user")
        folder = self.folder / "uroce"
        folder.mkdir()
        os.chown(folder, 65534, 65534)
        ended = self.uroce("run", "ibv_devinfo")
        self.assertNotEqual(ended.code, 0, ended)
        self.assertRegex(ended.err.splitlines()[0], "^uroce: .*other users.*port.socket")

    def test_help_tells_of_every_option(self):
        for arguments in (["--help"], ["run", "--help"], ["run", "-h"]):
            ended = self.uroce(*arguments)
            self.assertEqual((ended.code, ended.err), (0, ""), ended)
            for word in ("SYNOPSIS", "--config", "--node", "--gid-ip", "--fault", "--capture",
                         "--set", "EXIT STATUS", "EXAMPLES"):
                self.assertIn(word, ended.out)
            self.assertTrue(all(len(line) <= 80 for line in ended.out.splitlines()))
        self.assertRegex(self.uroce("--version").out, r"^uroce \d+\.\d+")

    def test_it_finds_the_library_where_both_are_installed(self):
        library = Path(self.environment_of()["LD_PRELOAD"])
        with tempfile.TemporaryDirectory(prefix="uroce-installed-") as prefix:
            # The folder's name depends on the build's libdir: ask the program's own complaint.
            program = Path(prefix, "bin/uroce")
            program.parent.mkdir()
            shutil.copy(os.path.realpath(UROCE), program)
            told = self.run_alone("run", "true", run=(program,))
            self.assertEqual(told.code, 126, told)
            place = told.err.split(" nor in ../")[1].split(" of ")[0]
            folder = Path(prefix, place)
            folder.mkdir(parents=True)
            shutil.copy(library, folder)
            done = self.run_alone("run", "env", run=(program,))
            self.assertIn(f"LD_PRELOAD={folder.resolve() / library.name}", done.out, done)


if __name__ == "__main__":
    dropin.main()
