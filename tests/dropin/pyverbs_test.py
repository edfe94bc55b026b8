"""rdma-core's own tests, as Debian's python3-pyverbs ships them, on a device that talks to itself.

The cases that must pass are listed by name in pyverbs_cases.txt: one that is missing, fails or is
skipped now fails here. A case that passes and is not listed is told, so that the list grows. All of
them pass over a faulty wire too: with losses, or those that count datagrams with all other faults.
The tests are unpacked into a folder of this run's own.

SPDX-License-Identifier: BSD-3-Clause
"""

import gzip
import re
import shutil
import unittest
from pathlib import Path

import dropin
from dropin import UROCE

SHIPPED = Path("/usr/share/doc/rdma-core/tests")
# The package's modules belong to the system's own Python.
PYTHON = "/usr/bin/python3"
CASES = Path(__file__).with_name("pyverbs_cases.txt")
# Timers of the tests' queue pairs are long, and a lost packet costs one.
LIMIT_S = 400
STARTED = re.compile(r"^(test_\w+) \((tests\.[\w.]+)\)", re.MULTILINE)
RESULT = re.compile(r"\.\.\. .*?(ok|FAIL|ERROR|skipped .*)$")


# A ring hands back what is sent, through the faults.
RING = ("--set", "port.kind=ring", "--fault")
LOSSES = "loss=1%,reorder=1%,seed=1"
# All that datagrams may meet but losses; copies come at once.
FAULTS_OF_DATAGRAMS = ("reorder=20%,delay=20us-200us,seed=1", "dup=100%,seed=1")


def listed(counting_datagrams=None):
    """All cases; True, False: those that do, or do not, need each of their datagrams."""
    lines = [line.partition(" | ") for line in CASES.read_text("ascii").splitlines()
             if line and not line.startswith("#")]
    return {case for case, _, why in lines if counting_datagrams in (None, bool(why))}


def unpack(folder):
    for file in SHIPPED.iterdir():
        if file.suffix == ".gz":
            with gzip.open(file) as packed:
                (folder / file.stem).write_bytes(packed.read())
        else:
            shutil.copy(file, folder)


def results_of(text):
    """Case -> "ok", "FAIL", "ERROR", "skipped ..."; its name and its result may be lines apart."""
    results, name = {}, None
    for line in text.splitlines():
        started = STARTED.match(line)
        if started:
            module = started.group(2)
            name = module if module.endswith("." + started.group(1)) else (
                f"{module}.{started.group(1)}")
        ended = RESULT.search(line) or (re.fullmatch("(ok|FAIL|ERROR)", line) if name else None)
        if ended and name:
            results[name] = ended.group(1)
            name = None
    return results


@unittest.skipUnless(SHIPPED.is_dir(), "needs python3-pyverbs; run scripts/deps dropin")
class RdmaCoreTests(dropin.DropinTest):
    def run_list(self, *options, cases=(), run=None):
        tests = self.folder / "tests"
        tests.mkdir()
        unpack(tests)
        ended = self.run_alone(PYTHON, "-B", "tests/run_tests.py", "--dev", "uroce0", "--gid", "1",
                               "-v", *cases, run=run or (UROCE, "run", *options, "--"),
                               limit=LIMIT_S, cwd=self.folder)
        results = results_of(ended.err + ended.out)
        self.assertTrue(results, ended)
        return results, ended

    def check(self, wanted, results, ended):
        wrong = [f"{case}: {results.get(case, 'missing')}" for case in sorted(wanted)
                 if results.get(case) != "ok"]
        passed = {case for case, result in results.items() if result == "ok"}
        dropin.report("rdma-core v44.0 tests", f"{len(passed & wanted)} of {len(wanted)} listed "
                      f"cases passed, {len(results)} ran")
        for case in sorted(passed - wanted):
            dropin.report("passes and is not listed", case)
        self.assertEqual(wrong, [], ended.err[-6000:])

    def test_the_listed_cases_pass(self):
        results, ended = self.run_list()
        self.check(listed(), results, ended)
        failed = [case for case, result in results.items() if result in ("FAIL", "ERROR")]
        self.assertLessEqual(set(failed), {
            # Needs a second process to be given the device by a file descriptor.
            "tests.test_shared_pd.SharedPDTestCase.test_imported_rc_ex_rdma_write"})

    def test_the_same_cases_pass_with_losses(self):
        cases = listed(counting_datagrams=False)
        self.check(cases, *self.run_list(*RING, LOSSES, cases=sorted(cases)))

    def test_those_that_count_datagrams_pass_with_all_other_faults(self):
        cases = listed(counting_datagrams=True)
        for faults in FAULTS_OF_DATAGRAMS:
            with self.subTest(faults=faults):
                self.setUp()
                self.check(cases, *self.run_list(*RING, faults, cases=sorted(cases)))


if __name__ == "__main__":
    dropin.main()
