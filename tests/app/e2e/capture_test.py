"""What --capture writes: every packet as others understand it.

SPDX-License-Identifier: BSD-3-Clause
"""

import collections
import shutil
import subprocess
import sys

import harness
from harness import BW, PINGPONG

TSHARK = shutil.which("tshark")
# Payloads that look like NFS make this dissector complain about what is no error of RoCE's.
DISSECT = ["tshark", "--disable-protocol", "rpcordma", "-n", "-r"]
RUNS = [(PINGPONG, ("--op", "send", "-n", "50", "-s", "3001")),
        (BW, ("--op", "write", "-n", "60", "-s", "9001", "--data_validation")),
        (BW, ("--op", "read", "-n", "60", "-s", "9002"))]
# What else there is: the search for the other end's Ethernet address.
NEIGHBOURS = {"eth:ethertype:arp", "eth:ethertype:ipv6:icmpv6"}


class Captures(harness.PairTest):
    def capture(self, program, arguments):
        files = [self.folder / name for name in ("client.pcap", "server.pcap")]
        self.good_pair(program, *arguments, client=["--capture", files[0]],
                       server=["--capture", files[1]])
        return files

    def check_icrc(self, files):
        done = subprocess.run([sys.executable, "-B", harness.CHECK_ICRC, *files], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def check_dissection(self, file):
        done = subprocess.run([*DISSECT, file, "-T", "fields", "-e", "frame.protocols",
                               "-e", "udp.dstport", "-e", "_ws.malformed", "-e",
                               "infiniband.bth.opcode"],
                              text=True, capture_output=True, check=True)
        kinds = collections.Counter()
        for line in done.stdout.splitlines():
            protocols, port, malformed, opcode = line.split("\t")
            self.assertEqual(malformed, "", f"{file}: {line}")
            if port == "4791":
                self.assertIn("infiniband", protocols)
                self.assertNotEqual(opcode, "", f"{file}: {line}")
            kinds["roce" if port == "4791" else protocols] += 1
        self.assertGreater(kinds.pop("roce"), 50)
        self.assertLessEqual(set(kinds), NEIGHBOURS)

    def test_icrc_and_dissection_of_every_packet(self):
        for program, arguments in RUNS:
            with self.subTest(program=program, arguments=arguments):
                self.setUp()
                files = self.capture(program, arguments)
                self.check_icrc(files)
                if TSHARK:
                    self.check_dissection(files[0])  # it takes seconds, and both ends see the same

    def test_dissection_took_place(self):
        if not TSHARK:
            self.skipTest("tshark is not installed")


if __name__ == "__main__":
    harness.main()
