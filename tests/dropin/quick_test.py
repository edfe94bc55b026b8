"""One short test of each kind, for every day: the suite dropin-quick.

SPDX-License-Identifier: BSD-3-Clause
"""

import unittest

import dropin
import pyverbs_test
import qperf_test
import replacement_test
import ucx_test
from dropin import needs
from threads_test import THREADS


class Quick(dropin.DropinTest):
    def test_an_unknown_program_is_told(self):
        ended = self.run_alone("no-such-program")
        self.assertEqual(ended.code, 127, ended)
        self.assertEqual(len(ended.err.splitlines()), 1, ended)

    def test_devinfo(self):
        ended = self.run_alone("ibv_devinfo")
        self.assertEqual((ended.code, ended.err), (0, ""), ended)
        self.assertIn("uroce0", ended.out)

    def test_pingpongs(self):
        for program in ("ibv_rc_pingpong", "ibv_ud_pingpong"):
            with self.subTest(program=program):
                self.setUp()
                self.run_pair(program, "-g", 1, "-n", 50, "-c")

    @needs("ib_write_bw")
    def test_perftest(self):
        self.run_pair("ib_write_bw", "-d", "uroce0", "-x", 1, "-F", "-n", 50)

    def test_threads(self):
        self.run_pair(THREADS, "-n", 5)

    run_ucx = ucx_test.Ucx.run_test

    @needs("ucx_perftest")
    def test_ucx(self):
        self.run_ucx("rc_verbs,ud_verbs:aux", "tag_lat")

    test_names_and_versions = (
        replacement_test.Replacement.test_every_name_has_the_version_that_it_has_in_the_real_library)

    def test_the_replacement_of_libibverbs(self):
        self.environment["LD_LIBRARY_PATH"] = str(replacement_test.LIBRARY.parent)
        self.run_pair("ibv_rc_pingpong", "-g", 1, "-n", 50, "-c", run=())

    run_qperf = qperf_test.Qperf.run_tests

    @needs("qperf")
    def test_qperf(self):
        self.port_flag = qperf_test.Qperf.port_flag
        self.run_qperf(("rc_lat",))

    run_list = pyverbs_test.RdmaCoreTests.run_list
    check = pyverbs_test.RdmaCoreTests.check

    @unittest.skipUnless(pyverbs_test.SHIPPED.is_dir(), "needs python3-pyverbs")
    def test_cases_of_rdma_core(self):
        cases = {case for case in pyverbs_test.listed() if ".test_qp." in case}
        self.assertTrue(cases)
        self.check(cases, *self.run_list(cases=sorted(cases)))


if __name__ == "__main__":
    dropin.main()
