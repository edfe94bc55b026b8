"""The programs between two network namespaces over veth, by config/af_packet.toml as it is.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import shutil
import subprocess
import unittest

import harness
from harness import BW, PINGPONG

CONFIG = harness.ROOT / "config/af_packet.toml"
SPACES = [f"uroce-e2e-{side}-{os.getpid()}" for side in "ab"]
SERVER = "198.51.100.1"
SET_UP = """
ip netns add {a} && ip netns add {b}
ip -n {a} link add veth-a mtu 9100 type veth peer name veth-b mtu 9100 netns {b}
ip -n {a} link add tcp-a type veth peer name tcp-b netns {b}
ip -n {a} addr add 198.51.100.1/24 dev tcp-a && ip -n {b} addr add 198.51.100.2/24 dev tcp-b
ip -n {a} link set lo up && ip -n {b} link set lo up
ip -n {a} link set tcp-a up && ip -n {b} link set tcp-b up
ip -n {a} link set veth-a up && ip -n {b} link set veth-b up
"""


def remove_spaces():
    for space in SPACES:
        subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)


class TwoNamespaces(harness.PairTest):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root, for network namespaces")
        if not shutil.which("ip"):
            raise unittest.SkipTest("needs ip, of iproute2")
        cls.addClassCleanup(remove_spaces)
        done = subprocess.run(["sh", "-ec", SET_UP.format(a=SPACES[0], b=SPACES[1])], text=True,
                              capture_output=True, check=False)
        if done.returncode != 0:
            raise unittest.SkipTest(f"no network namespaces here: {done.stderr.strip()}")

    def run_between(self, program, *arguments):
        inside = [["ip", "netns", "exec", space] for space in SPACES]
        server = self.start_server(program, "--config", CONFIG, *arguments, inside=inside[0])
        client = self.start_client(program, "--config", CONFIG, *arguments, inside=inside[1],
                                   host=SERVER).end()
        ended = server.end(20)
        for end in (client, ended):
            self.assertEqual((end.code, end.err), (0, ""), f"{client}\n\n{ended}")
        return client, ended

    def test_pingpong_carries_every_byte(self):
        client, _ = self.run_between(PINGPONG, "-c", "-n", 200)
        self.assertIn("200 messages checked", client.out)

    def test_two_engines_though_the_kernel_spreads_frames_as_it_likes(self):
        for drive in ("rtc", "lcore"):
            with self.subTest(drive=drive):
                client, _ = self.run_between(
                    BW, "-q", 4, "-n", 500, "-s", 8000, "--data_validation", "--drive", drive, "--set",
                    "engine.lcores=2", "--set", "eal.memory_mb=1024")
                self.assertIn(f"{4 * 500} messages", client.out)

    def test_bw_carries_every_byte(self):
        for operation in ("send", "write", "read"):
            with self.subTest(operation=operation):
                self.setUp()
                client, _ = self.run_between(BW, "--op", operation, "--data_validation", "-n", 200)
                self.assertIn("200 messages = 13107200 bytes checked, 0 messages wrong",
                              client.out)


if __name__ == "__main__":
    harness.main()
