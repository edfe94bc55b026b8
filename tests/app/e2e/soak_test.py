"""The long form of the lossy runs: UROCE_SOAK_MIB (1024) of every operation, over a wire that loses,
doubles, reorders and corrupts frames, with PSNs that begin below the wrap. Run by scripts/soak.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import random
import re

import harness
from harness import BW

MIB = int(os.environ.get("UROCE_SOAK_MIB", "1024"))
SEED = int(os.environ.get("UROCE_SOAK_SEED", str(random.SystemRandom().randrange(1 << 32))))
SIZE = 65536


class Soak(harness.PairTest):
    def soak(self, operation):
        count = MIB * 2**20 // SIZE
        faults = harness.FAULTS.format(SEED)
        print(f"\n{operation}: {MIB} MiB, {faults}; again: UROCE_SOAK_SEED={SEED} scripts/soak",
              flush=True)
        client, server = self.start_pair(BW, "--op", operation, "-s", SIZE, "-n", count,
                                         "--data_validation", "--start-psn", "0xfffff0",
                                         "--fault", faults, *harness.PATIENT)
        ends = client.end(600 + MIB), server.end(30)
        both = f"{ends[0]}\n\n{ends[1]}"
        self.assertEqual([(e.code, e.err) for e in ends], [(0, "")] * 2, both)
        self.assertIn(f"  {count} messages = {count * SIZE} bytes checked, 0 messages wrong",
                      ends[0].out)
        for fault in ("lost", "duplicated", "reordered", "corrupted"):
            self.assertRegex(ends[0].out + ends[1].out, f"faults_{fault} [1-9]")
        print(re.search(r".*MiB/s.*", ends[0].out).group(0), flush=True)

    def test_send(self):
        self.soak("send")

    def test_write(self):
        self.soak("write")

    def test_read(self):
        self.soak("read")


if __name__ == "__main__":
    harness.main()
