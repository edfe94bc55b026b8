"""qperf: its RC and UC tests, which find each other without a connection manager.

SPDX-License-Identifier: BSD-3-Clause
"""

import re

import dropin
from dropin import needs

TESTS = ("rc_lat", "rc_bw", "rc_bi_bw", "uc_lat", "uc_bw", "rc_rdma_write_lat", "rc_rdma_write_bw",
         "rc_rdma_read_lat", "rc_rdma_read_bw", "rc_compare_swap_mr", "rc_fetch_add_mr",
         "ver_rc_compare_swap", "ver_rc_fetch_add")


@needs("qperf")
class Qperf(dropin.DropinTest):
    def test_its_tests_over_rc_and_uc(self):
        self.launch(*dropin.RUN, "qperf", "-lp", self.port)
        for test in TESTS:
            with self.subTest(test=test):
                ended = self.run_alone("qperf", "127.0.0.1", "-lp", self.port, "-t", 1, test)
                self.assertEqual(ended.code, 0, ended)
                found = re.search(r"(?:latency|bw|msg_rate|rate) +=  (.*)", ended.out)
                self.assertTrue(found or test.startswith("ver_"), ended)
                dropin.report(f"qperf {test}", found.group(1) if found else "verified")


if __name__ == "__main__":
    dropin.main()
