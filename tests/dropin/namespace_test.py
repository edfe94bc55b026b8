"""Unmodified programs between two network namespaces over veth, by config/af_packet.toml and
config/af_xdp.toml as they are.

SPDX-License-Identifier: BSD-3-Clause
"""

import socket
import subprocess
import unittest

import dropin
import af_packet_test
import harness
from af_packet_test import SERVER, SPACES
from dropin import UROCE

TESTS = (("ibv_rc_pingpong", "-g", 1, "-n", 100, "-c"), ("ibv_uc_pingpong", "-g", 1, "-n", 100),
         ("ibv_ud_pingpong", "-g", 1, "-n", 100), ("ibv_srq_pingpong", "-g", 1, "-n", 100),
         ("ib_write_bw", "-x", 1, "-F", "-n", 200), ("ib_send_lat", "-x", 1, "-F", "-n", 100))
AF_XDP = 44


class TwoNamespaces(dropin.DropinTest):
    setUpClass = af_packet_test.TwoNamespaces.__dict__["setUpClass"]

    def run_pairs(self, kind, before=()):
        config = harness.ROOT / f"config/{kind}.toml"
        for program, *arguments in TESTS:
            with self.subTest(program=program):
                self.setUp()
                for command in before:
                    subprocess.run(command.split(), check=True)
                run = [["ip", "netns", "exec", space, UROCE, "run", "--config", config,
                        "--node", node, "--"] for space, node in zip(SPACES, "ab")]
                server = self.start_server(program, *arguments, inside=run[0])
                client = self.start_client(program, *arguments, inside=run[1], host=SERVER)
                ended = client.end(dropin.LIMIT_S)
                self.good_ends(ended, server.end(30))
                dropin.report(f"{program} over {kind}", ended.out.splitlines()[-2].strip())

    def test_programs_meet_over_af_packet(self):
        self.run_pairs("af_packet")

    def test_programs_meet_over_af_xdp(self):
        try:
            socket.socket(AF_XDP, socket.SOCK_RAW).close()
        except OSError as error:
            raise unittest.SkipTest(f"this kernel has no AF_XDP sockets: {error}") from error
        # The program of the run before would stay attached.
        ends = list(zip(SPACES, ("veth-a", "veth-b")))
        for space, interface in ends:
            subprocess.run(["ip", "-n", space, "link", "set", interface, "mtu", "3000"], check=True)
        self.run_pairs("af_xdp", [f"ip -n {space} link set {interface} xdp off"
                                  for space, interface in ends])


if __name__ == "__main__":
    dropin.main()
