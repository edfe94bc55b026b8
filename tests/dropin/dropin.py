"""What the drop-in tests share: Debian's own verbs programs, started by `uroce run`, in pairs on a
private wire.

`uroce` is named by UROCE_LAUNCHER (meson sets it); else it is that of build/bin. Numbers that the
programs report are printed as lines that begin with `result:`, so that a run's log has them all.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import shutil
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "app/e2e"))

import harness  # pylint: disable=wrong-import-position

UROCE = os.environ.get("UROCE_LAUNCHER", str(harness.ROOT / "build/bin/uroce"))
RUN = (UROCE, "run", "--")
# Two ends that poll share two CPUs with whatever else runs; nothing here measures time.
LIMIT_S = 120


def needs(program):
    """Skips a test case whose program is not installed."""
    return unittest.skipUnless(shutil.which(program), f"needs {program}; run scripts/deps dropin")


class DropinTest(harness.PairTest):
    """Pairs of unmodified programs."""

    def good_ends(self, client, server):
        for end in (client, server):
            self.assertEqual(end.code, 0, f"{client}\n\n{server}")
            self.assertNotIn("uroce:", end.err, f"{client}\n\n{server}")

    def run_pair(self, program, *arguments, client=(), server=(), run=RUN, host="127.0.0.1"):
        """(client, server), both ended well; they are given -p PORT, the client HOST at the end."""
        first = self.start_server(program, *arguments, *server, inside=run)
        second = self.start_client(program, *arguments, *client, inside=run, host=host)
        ended = second.end(LIMIT_S)
        ends = ended, first.end(30)
        self.good_ends(*ends)
        return ends

    def run_alone(self, *arguments, run=RUN, limit=LIMIT_S, **options):
        return self.launch(run[0], *run[1:], *arguments, **options).end(limit)


def report(what, text):
    print(f"result: {what}: {text}", flush=True)


main = harness.main
