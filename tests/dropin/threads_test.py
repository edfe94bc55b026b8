"""A program of eight threads that know of libibverbs only, on shared and on separate queue pairs.

SPDX-License-Identifier: BSD-3-Clause
"""

import os

import dropin
import harness
from dropin import UROCE

THREADS = os.environ.get("UROCE_VERBS_THREADS",
                         str(harness.ROOT / "build/tests/dropin/verbs-threads"))
ROUNDS = 50


class Threads(dropin.DropinTest):
    def check(self, *options, flags=()):
        run = (UROCE, "run", *options, "--")
        client, _ = self.run_pair(THREADS, "-n", ROUNDS, *flags, run=run)
        self.assertIn(f"{2 * 8 * ROUNDS} messages each way were whole", client.out)

    def test_threads_share_a_pair_and_have_their_own(self):
        self.check()

    def test_the_same_on_a_lossy_wire(self):
        self.check("--fault", "loss=1%,reorder=1%,seed=1")

    def test_a_child_that_ends_takes_nothing_with_it(self):
        self.check(flags=("-f",))


if __name__ == "__main__":
    dropin.main()
