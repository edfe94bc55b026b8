"""UCX over rc_verbs (with ud_verbs for wiring up) and ud_verbs: ucx_info, ucx_perftest.

SPDX-License-Identifier: BSD-3-Clause
"""

import dropin
from dropin import needs

TESTS = ("tag_lat", "tag_bw", "ucp_put_lat", "ucp_put_bw", "ucp_get", "ucp_am_lat", "ucp_am_bw")
# UCX' own warnings would be taken for errors of ours otherwise.
QUIET = {"UCX_LOG_LEVEL": "error", "UCX_WARN_UNUSED_ENV_VARS": "n"}


@needs("ucx_perftest")
class Ucx(dropin.DropinTest):
    def run_test(self, transports, test):
        self.environment |= {"UCX_TLS": transports, "UCX_NET_DEVICES": "uroce0:1",
                             "UCX_IB_GID_INDEX": "1", **QUIET}
        server = self.start_server("ucx_perftest", inside=dropin.RUN)
        client = self.launch(*dropin.RUN, "ucx_perftest", "-p", self.port, "127.0.0.1",
                             "-t", test, "-n", 200, "-w", 20, "-s", 1024, "-f")
        ended = client.end(dropin.LIMIT_S)
        self.good_ends(ended, server.end(30))
        dropin.report(f"ucx_perftest {transports} {test}",
                      " ".join(ended.out.splitlines()[-1].split()))

    def run_tests(self, transports):
        for test in TESTS:
            with self.subTest(test=test):
                self.setUp()
                self.run_test(transports, test)

    def test_info_lists_the_device(self):
        ended = self.run_alone("ucx_info", "-d")
        self.assertEqual(ended.code, 0, ended)
        for words in ("Transport: rc_verbs", "Transport: ud_verbs", "Device: uroce0:1"):
            self.assertIn(words, ended.out)

    def test_perftest_over_rc(self):
        self.run_tests("rc_verbs,ud_verbs:aux")

    def test_perftest_over_ud(self):
        self.run_tests("ud_verbs")


if __name__ == "__main__":
    dropin.main()
