"""Runs the commands of the tutorials, as a new user would type them: each page is one shell, in the
tree, with a wire and a TCP port of its own. Blocks that start with ```sh are run, others are not.

    documents_test.py [PAGE...]

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("UROCE_BUILD", str(ROOT / "build")))
BLOCK = re.compile(r"^( *)```sh\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
LIMIT_S = 240


def commands_of(page):
    """The script of a page."""
    text = (ROOT / page).read_text("utf-8")
    return "\n".join("\n".join(line[len(block[1]):] for line in block[2].splitlines())
                     for block in BLOCK.finditer(text))


def waits_for_servers(script):
    """A person is slower than a shell: between the two ends of a pair there is a moment."""
    lines = []
    for line in script.splitlines():
        lines.append(line)
        if line.rstrip().endswith("&"):
            lines.append("sleep 2")
    return "\n".join(lines)


@unittest.skipUnless(BUILD == ROOT / "build", "the pages name build/")
class Tutorials(unittest.TestCase):
    def run_page(self, page, *needed):
        for program in needed:
            if not shutil.which(program):
                self.skipTest(f"{program} is not installed")
        with tempfile.TemporaryDirectory(prefix="uroce-doc-") as folder:
            environment = {k: v for k, v in os.environ.items() if not k.startswith("UROCE_")}
            environment["XDG_RUNTIME_DIR"] = folder
            script = "set -e\n" + waits_for_servers(commands_of(page))
            done = subprocess.run(["bash", "-c", script], cwd=ROOT, env=environment, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, check=False,
                                  timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, f"{script}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def test_one_machine(self):
        out = self.run_page("docs/tutorials/one-machine.md")
        self.assertIn("usec/iter", out)
        self.assertIn("0 messages wrong", out)

    def test_captures(self):
        out = self.run_page("docs/tutorials/captures.md", "tshark")
        self.assertIn("uroce dropped it: icrc", out)

    def test_unmodified(self):
        out = self.run_page("docs/tutorials/unmodified.md", "ibv_devinfo")
        self.assertIn("hca_id:\turoce0", out)

    def test_embed(self):
        out = self.run_page("docs/tutorials/embed.md")
        self.assertIn("colour = blue", out)
        self.assertIn("written by RDMA", out)

    @unittest.skipUnless(os.geteuid() == 0, "network namespaces need root")
    def test_namespaces(self):
        self.assertIn("usec/iter", self.run_page("docs/tutorials/namespaces.md", "ip", "ethtool"))

    def test_two_machines(self):
        self.run_page("docs/tutorials/two-machines.md")

    def test_every_tutorial_is_run(self):
        here = Path(__file__).read_text("utf-8")
        for page in ROOT.glob("docs/tutorials/*.md"):
            self.assertIn(f"docs/tutorials/{page.name}", here)


if __name__ == "__main__":
    unittest.main()
