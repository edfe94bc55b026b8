"""perftest: bandwidth and latency of sends, WRITE, READ and atomics.

SPDX-License-Identifier: BSD-3-Clause
"""

import re
import subprocess

import dropin
import harness
from dropin import UROCE, needs

# GID 1 is the IPv4 address; -F: the CPU's clock may change.
COMMON = ("-d", "uroce0", "-x", 1, "-F")
FEW = ("-n", 200)
# A lost datagram or unreliable message never comes back: the end that counts them would wait.
SMALL = ("-s", 1024)
TESTS = [
    ("ib_send_lat", *FEW), ("ib_send_lat", "-c", "UC", *FEW), ("ib_send_lat", "-c", "UD", *FEW),
    ("ib_send_lat", "-e", *FEW), ("ib_send_lat", "-a", "-n", 20),
    ("ib_write_lat", *FEW), ("ib_write_lat", "-c", "UC", *FEW),
    ("ib_read_lat", *FEW), ("ib_read_lat", "-e", *FEW), ("ib_atomic_lat", *FEW),
    ("ib_send_bw", *FEW), ("ib_send_bw", "-c", "UC", *SMALL, *FEW),
    ("ib_send_bw", "-c", "UD", *SMALL, *FEW),
    ("ib_send_bw", "-a", "-n", 20), ("ib_send_bw", "-b", *FEW), ("ib_send_bw", "-D", 2),
    ("ib_send_bw", "-e", *FEW), ("ib_send_bw", "-q", 16, *FEW),
    ("ib_send_bw", "--use-srq", "-q", 4, *FEW), ("ib_send_bw", "--report_gbits", *FEW),
    ("ib_write_bw", *FEW), ("ib_write_bw", "-c", "UC", *FEW), ("ib_write_bw", "-a", "-n", 20),
    ("ib_write_bw", "-b", *FEW), ("ib_write_bw", "-D", 2), ("ib_write_bw", "-q", 16, *FEW),
    ("ib_write_bw", "--report_gbits", *FEW),
    ("ib_read_bw", *FEW), ("ib_read_bw", "-a", "-n", 20), ("ib_read_bw", "-b", *FEW),
    ("ib_read_bw", "-D", 2), ("ib_read_bw", "-q", 16, *FEW), ("ib_read_bw", "-e", *FEW),
    ("ib_atomic_bw", *FEW), ("ib_atomic_bw", "-A", "CMP_AND_SWAP", *FEW),
    ("ib_atomic_bw", "-b", *FEW), ("ib_atomic_bw", "-q", 16, *FEW), ("ib_atomic_bw", "-D", 2),
]


@needs("ib_send_bw")
class Perftest(dropin.DropinTest):
    def run_tests(self, program):
        for name, *arguments in TESTS:
            if name != program:
                continue
            with self.subTest(arguments=arguments):
                self.setUp()
                self.measure(name, *COMMON, *arguments)

    def measure(self, name, *arguments, **options):
        client, _ = self.run_pair(name, *arguments, **options)
        lines = client.out.splitlines()
        rows = [line.split() for line in lines if re.match(r"\s*\d+\s+\d+\s+\d", line)]
        self.assertTrue(rows, client)
        if "-a" in arguments:
            self.assertEqual(rows[-1][0], "8388608", client)
        head = next(line for line in reversed(lines) if line.lstrip().startswith("#bytes"))
        title = " ".join(str(a) for a in arguments if a not in COMMON)
        dropin.report(f"{name} {title}", f"{' '.join(head.split())} = {' '.join(rows[-1])}")

    def test_send_lat(self):
        self.run_tests("ib_send_lat")

    def test_write_lat(self):
        self.run_tests("ib_write_lat")

    def test_read_lat(self):
        self.run_tests("ib_read_lat")

    def test_atomic_lat(self):
        self.run_tests("ib_atomic_lat")

    def test_send_bw(self):
        self.run_tests("ib_send_bw")

    def test_write_bw(self):
        self.run_tests("ib_write_bw")

    def test_read_bw(self):
        self.run_tests("ib_read_bw")

    def test_atomic_bw(self):
        self.run_tests("ib_atomic_bw")

    def test_beside_uroce_s_own_programs(self):
        ended = subprocess.run([harness.ROOT / "scripts/beside", "--quick", "--rounds", "1"], text=True,
                               capture_output=True, timeout=300, check=False)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""), ended.stdout)
        self.assertEqual(len(re.findall(r"(?m)^\| (WRITE|SEND)\b.* \| [\d.]+ \|$", ended.stdout)), 8,
                         ended.stdout)

    def test_multicast(self):
        self.measure("ib_send_bw", "-d", "uroce0", "-x", 0, "-F", "-c", "UD", "-g", *SMALL, *FEW)

    def test_a_lossy_wire(self):
        run = (UROCE, "run", "--fault", "loss=1%,reorder=1%", "--")
        for program in ("ib_send_bw", "ib_write_bw", "ib_read_bw", "ib_atomic_bw"):
            with self.subTest(program=program):
                self.setUp()
                self.measure(program, *COMMON, *FEW, run=run)


if __name__ == "__main__":
    dropin.main()
