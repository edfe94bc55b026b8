"""The long form of the lossy runs: UROCE_SOAK_MIB (1024) of every operation over IPv4, a quarter of it
over IPv6 and in a VLAN, over a wire that loses, doubles, reorders and corrupts frames, with PSNs that
begin below the wrap. Run by scripts/soak.

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
NETWORKS = {"IPv4": (), "IPv6": ("--gid-index", "0"), "VLAN": ("--vlan", "42")}


class Soak(harness.PairTest):
    def soak(self, operation):
        for network, options in NETWORKS.items():
            with self.subTest(network=network):
                self.soak_over(network, options, operation, MIB if not options else -(-MIB // 4))

    def soak_over(self, network, options, operation, mib):
        atomic = operation.startswith("atomic")
        count = mib * (1024 if atomic else 2**20 // SIZE)
        size = () if atomic else ("-s", SIZE)
        faults = harness.FAULTS.format(SEED)
        print(f"\n{operation}, {network}: {count} messages, {faults}; again: UROCE_SOAK_SEED={SEED} "
              "scripts/soak", flush=True)
        client, server = self.start_pair(BW, "--op", operation, *size, "-n", count,
                                         "--data_validation", "--start-psn", "0xfffff0",
                                         "--fault", faults, *options, *harness.PATIENT)
        ends = client.end(600 + mib), server.end(30)
        both = f"{ends[0]}\n\n{ends[1]}"
        self.assertEqual([(e.code, e.err) for e in ends], [(0, "")] * 2, both)
        self.assertIn(f"  {count} messages = {count * (8 if atomic else SIZE)} bytes checked, 0 messages wrong",
                      ends[0].out)
        for fault in ("lost", "duplicated", "reordered", "corrupted"):
            self.assertRegex(ends[0].out + ends[1].out, f"faults_{fault} [1-9]")
        print(re.search(r".*MiB/s.*\n.*", ends[0].out).group(0), flush=True)

    def test_send(self):
        self.soak("send")

    def test_write(self):
        self.soak("write")

    def test_read(self):
        self.soak("read")

    def test_fetch_add(self):
        """1,024 of them for each MiB that is asked for."""
        self.soak("atomic_fadd")


if __name__ == "__main__":
    harness.main()
