"""Unmodified programs between two network namespaces over veth, by config/af_packet.toml as it is.

SPDX-License-Identifier: BSD-3-Clause
"""

import dropin
import af_packet_test
from af_packet_test import CONFIG, SERVER, SPACES
from dropin import UROCE

TESTS = (("ibv_rc_pingpong", "-g", 1, "-n", 100, "-c"), ("ibv_uc_pingpong", "-g", 1, "-n", 100),
         ("ibv_ud_pingpong", "-g", 1, "-n", 100), ("ibv_srq_pingpong", "-g", 1, "-n", 100),
         ("ib_write_bw", "-x", 1, "-F", "-n", 200), ("ib_send_lat", "-x", 1, "-F", "-n", 100))


class TwoNamespaces(dropin.DropinTest):
    setUpClass = af_packet_test.TwoNamespaces.__dict__["setUpClass"]

    def test_programs_meet_over_af_packet(self):
        for program, *arguments in TESTS:
            with self.subTest(program=program):
                self.setUp()
                run = [["ip", "netns", "exec", space, UROCE, "run", "--config", CONFIG,
                        "--node", node, "--"] for space, node in zip(SPACES, "ab")]
                server = self.start_server(program, *arguments, inside=run[0])
                client = self.start_client(program, *arguments, inside=run[1], host=SERVER)
                ended = client.end(dropin.LIMIT_S)
                self.good_ends(ended, server.end(30))
                dropin.report(f"{program} over af_packet", ended.out.splitlines()[-2].strip())


if __name__ == "__main__":
    dropin.main()
