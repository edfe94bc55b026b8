"""Runs of rxe-uroce-peer against rxe-ibv-peer in the guest: cells of the matrix, and what every run
of them must show.

SPDX-License-Identifier: BSD-3-Clause
"""

import json
import re
import subprocess

from guest import GUEST_IP
from world import BUILD, RxeTest

UROCE_PEER = BUILD / "tests/rxe/peer/rxe-uroce-peer"
PEER_PORT = 18600
PEER_IN_GUEST = f"LD_LIBRARY_PATH=/share/lib /share/rxe-ibv-peer -d rxe0 -p {PEER_PORT}"
RUN_LIMIT_S = 600
# docs/interop.md has a row for each.
DEVIATING = re.compile("(too_long|send_inv window) .* uroce$")
# Cells that are about repeating, and the counters that tell of a loss.
REPEATING = re.compile(" (rnr|rnr_limit|gone) ")
LOST = {"timeouts", "implied_naks", "sequence_naks_sent", "duplicate_requests"}


class CellTest(RxeTest):
    """Test cases that are cells of the matrix."""

    def run_cells(self, *arguments, only="", peer=""):
        """The report of each cell, in order; none has failed. `arguments` are of our end, `peer` those
        of the guest's."""
        report = self.folder / "report.json"
        job = self.guest.start(f"{PEER_IN_GUEST} {peer}")
        self.wait_for_guest_to_listen(PEER_PORT)
        ours = self.launch(UROCE_PEER, *self.settings, "-p", PEER_PORT, f"--json={report}",
                           "--only", only, *arguments, GUEST_IP, **self.ours)
        ended = ours.end(RUN_LIMIT_S)
        print(ended.out, flush=True)
        cells = json.loads(report.read_text("utf-8")) if report.exists() else []
        failed = [cell for cell in cells if cell["verdict"] == "failed"]
        self.assertEqual(failed, [], ended.err)
        self.assertEqual((ended.code, ended.err), (0, ""), job.output())
        self.assertEqual(job.end(10)[0], 0, job.output())
        wanted = subprocess.run([UROCE_PEER, "--list", "--only", only], text=True,
                                capture_output=True, check=True).stdout.splitlines()
        self.assertEqual([cell["cell"] for cell in cells], wanted)
        return cells

    def run_captured(self, *arguments, **options):
        """The same on a wire that loses nothing: also checks the packets, and which cells deviate."""
        capture = self.folder / "cells.pcap"
        cells = self.run_cells("--capture", capture, *arguments, **options)
        print(self.check_icrc(capture))
        self.check_dissection(capture)
        for cell in cells:
            expected = "deviates" if DEVIATING.search(cell["cell"]) else "passed"
            self.assertEqual(cell["verdict"], expected, cell)
        self.check_repetitions(cells)
        return cells

    def check_repetitions(self, cells):
        """What uroce asks again because the emulated machine takes longer than a network would is told;
        what a loss would cause is due to one that stood still, and rare."""
        early = [count for cell in cells if (count := cell["counters"].get("early_retransmits", 0))]
        print(f"asked again before the time-out: {sum(early)} packets in {len(early)} cells")
        lost = [cell for cell in cells if not REPEATING.search(cell["cell"]) and (
            not LOST.isdisjoint(cell["counters"]) or
            "retransmits" in cell["counters"] and "early_retransmits" not in cell["counters"])]
        for cell in lost:
            print("repeated without a loss:", cell["cell"], cell["counters"])
        self.assertLessEqual(len(lost), max(2, len(cells) // 50))
