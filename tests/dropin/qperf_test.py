"""qperf without a connection manager: it names its peer by LID. The server serves one client after
the other, each by a child of its own.

SPDX-License-Identifier: BSD-3-Clause
"""

import dropin
from dropin import needs

RC = ("rc_lat", "rc_bw", "rc_bi_bw", "rc_rdma_read_lat", "rc_rdma_read_bw", "rc_rdma_write_lat",
      "rc_rdma_write_bw", "rc_rdma_write_poll_lat", "rc_compare_swap_mr", "rc_fetch_add_mr",
      "ver_rc_compare_swap", "ver_rc_fetch_add")
UC = ("uc_lat", "uc_bw", "uc_bi_bw", "uc_rdma_write_lat", "uc_rdma_write_bw",
      "uc_rdma_write_poll_lat")
UD = ("ud_lat", "ud_bw", "ud_bi_bw")
SECONDS = 1  # of each test; there is nothing shorter


@needs("qperf")
class Qperf(dropin.DropinTest):
    port_flag = "-lp"

    def run_tests(self, tests):
        server = self.start_server("qperf", inside=dropin.RUN)
        for test in tests:
            with self.subTest(test=test):
                ended = self.launch(*dropin.RUN, "qperf", "-lp", self.port, "-t", SECONDS,
                                    "127.0.0.1", test).end(dropin.LIMIT_S)
                self.assertEqual((ended.code, ended.err), (0, ""), ended)
                title, *results = [" ".join(line.split()) for line in ended.out.splitlines()]
                self.assertEqual(title, f"{test}:", ended)
                self.assertTrue(results, ended)
                dropin.report(f"qperf {test}", ", ".join(results))
        self.assertTrue(server.alive())
        server.kill()
        self.assertEqual(server.end().err, "")

    def test_rc(self):
        self.run_tests(RC)

    def test_uc(self):
        self.run_tests(UC)

    def test_ud(self):
        self.run_tests(UD)


if __name__ == "__main__":
    dropin.main()
