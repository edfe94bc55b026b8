"""The trace points: those of the header, of docs/tracing.md and of the built program are the same ones,
each is one no-operation while nobody looks, the scripts of config/bpftrace name what exists, and
bpftrace, where the kernel lets it, sees them.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import re
import shutil
import subprocess
import sys
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/app/e2e"))

import harness  # pylint: disable=wrong-import-position

PROGRAM = os.environ.get("UROCE_BW", str(ROOT / "build/bin/uroce-bw"))
HEADER = (ROOT / "lib/transport/base/trace.h").read_text("utf-8")
SCRIPTS = sorted((ROOT / "config/bpftrace").glob("*.bt"))
NOP = 0x90


def probes_of_header():
    """{name: arguments}"""
    found = re.findall(r"^inline void (\w+)\(([^)]*)\)", HEADER, re.MULTILINE)
    return {name: [a.split()[-1] for a in arguments.split(",")] for name, arguments in found}


def output_of(*command):
    return subprocess.run(command, text=True, capture_output=True, check=True).stdout


def probes_of_program():
    """[(name, address, arguments)]"""
    text = output_of("readelf", "-nW", PROGRAM)
    return [(name, int(at, 16), len(arguments.split())) for name, at, arguments in re.findall(
        r"Provider: uroce\s+Name: (\w+)\s+Location: (0x\w+),.*\s+Arguments: (.*)", text)]


def loader_of():
    """A function from address to byte of the file."""
    parts = [[int(number, 16) for number in row] for row in re.findall(
        r"LOAD\s+(0x\w+) (0x\w+) 0x\w+ (0x\w+)", output_of("readelf", "-lW", PROGRAM))]
    image = Path(PROGRAM).read_bytes()

    def byte_at(address):
        offset, start, _ = next(p for p in parts if p[1] <= address < p[1] + p[2])
        return image[address - start + offset]
    return byte_at


class TracePoints(unittest.TestCase):
    def test_document_has_the_ones_of_the_header(self):
        rows = re.findall(r"^\| `(\w+)\(([^)]*)\)` \|", (ROOT / "docs/tracing.md").read_text("utf-8"),
                          re.MULTILINE)
        self.assertEqual({name: arguments.split(", ") for name, arguments in rows},
                         probes_of_header())

    def test_scripts_use_what_exists(self):
        probes = probes_of_header()
        self.assertTrue(SCRIPTS)
        for script in SCRIPTS:
            text = script.read_text("utf-8")
            # Clauses: the probes that share one, and its body with the filter.
            for head, body in re.findall(r"^((?:usdt:\S+,\s+)*usdt:\S+)(.*?\}) *$", text,
                                         re.MULTILINE | re.DOTALL):
                for name in re.findall(r"usdt:\*:uroce:(\w+)", head):
                    self.assertIn(name, probes, script)
                    used = [int(n) for n in re.findall(r"\barg(\d)\b", body)]
                    self.assertLess(max(used, default=0), len(probes[name]), f"{script}: {name}")
            self.assertEqual(len(re.findall(r"^usdt:", text, re.MULTILINE)),
                             len(re.findall(r"^usdt:\*:uroce:\w+", text, re.MULTILINE)), script)

    def test_names_of_drops_are_the_library_s(self):
        source = (ROOT / "lib/transport/base/drop_reason.h").read_text("utf-8")
        names = re.findall(r'^    "(\w+)",$', source, re.MULTILINE)
        script = (ROOT / "config/bpftrace/drops.bt").read_text("utf-8")
        told = re.findall(r'@name\[\(uint64\)(\d+)\] = "(\w+)"', script)
        self.assertEqual(told, [(str(i), name) for i, name in enumerate(names) if i > 0])


@unittest.skipUnless(shutil.which("readelf"), "needs readelf; run scripts/deps")
class BuiltProgram(unittest.TestCase):
    def setUp(self):
        self.probes = probes_of_program()
        if not self.probes:
            self.skipTest("built without trace points; scripts/deps installs systemtap-sdt-dev")

    def test_has_every_one(self):
        header = probes_of_header()
        self.assertEqual({name for name, _, _ in self.probes}, set(header))
        for name, _, arguments in self.probes:
            self.assertEqual(arguments, len(header[name]), name)

    def test_each_is_one_no_operation(self):
        byte_at = loader_of()
        for name, address, _ in self.probes:
            self.assertEqual(byte_at(address), NOP, f"{name} at {address:#x}")


class Live(harness.PairTest):
    """bpftrace itself, on the sender of a pair that loses packets."""

    def setUp(self):
        super().setUp()
        if not shutil.which("bpftrace") or os.geteuid() != 0:
            self.skipTest("needs bpftrace, and root")
        tried = subprocess.run(
            ["bpftrace", "-e", f"usdt:{PROGRAM}:uroce:drop {{ }} interval:ms:100 {{ exit(); }}"],
            text=True, capture_output=True, check=False, timeout=60)
        if tried.returncode != 0 or not probes_of_program():
            self.skipTest(f"bpftrace cannot look in here: {tried.stderr.strip()[-200:]}")

    def look(self, pid):
        """What each script has seen in a few seconds, by name; all at once."""
        running = {script.name: subprocess.Popen(
            ["timeout", "-s", "INT", "6", "bpftrace", "-p", str(pid), str(script)],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for script in SCRIPTS}
        return {name: process.communicate(timeout=60)[0] for name, process in running.items()}

    def test_scripts_see_losses_and_repairs(self):
        run = ("-D", "20", *harness.PATIENT)
        self.start_server(PROGRAM, *run, "--fault", "loss=1%,seed=1")  # of what it receives
        client = self.start_client(PROGRAM, *run)
        time.sleep(2)  # until they have met
        seen = self.look(client.process.pid)
        self.assertRegex(seen["retransmissions.bt"], r'"?(repair|after a rewind)')
        self.assertRegex(seen["repairs.bt"], r"@repair_us\[\d+\]")
        self.assertIn("@sent", seen["bursts.bt"])


if __name__ == "__main__":
    harness.main()
