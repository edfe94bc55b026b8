"""The default wire as an ordinary user, whoever runs the tests.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import pwd
import subprocess
import unittest

import harness
from harness import BW, PINGPONG


class OrdinaryUser(harness.PairTest):
    def setUp(self):
        super().setUp()
        self.who = {}
        if os.geteuid() != 0:
            return
        nobody = pwd.getpwnam("nobody")
        os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
        self.who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        tried = subprocess.run(["test", "-x", BW], check=False, **self.who)
        if tried.returncode != 0:
            self.skipTest(f"nobody may not run {BW}")

    def test_pingpong_and_bw_need_no_privilege(self):
        self.good_pair(PINGPONG, "-n", 50, **self.who)
        self.good_pair(BW, "-n", 500, "--data_validation", **self.who)

    def test_two_users_do_not_share_a_wire(self):
        if not self.who:
            raise unittest.SkipTest("needs root, to be two users")
        folder = self.folder / "uroce"
        folder.mkdir()
        os.chown(folder, self.who["user"], self.who["group"])
        # Root must not trust a folder in which another user may put a socket.
        ended = self.launch(BW, "-p", self.port).end(20)
        self.one_line_error(ended, 1, str(folder), "other users", "port.socket")


if __name__ == "__main__":
    harness.main()
