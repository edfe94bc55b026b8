"""uroce and Linux' Soft-RoCE on one wire: the stock pingpong, the matrix of docs/interop.md, and the
end of either side.

Soft-RoCE runs in an emulated guest (guest.py), one for all tests. `--full` adds what takes minutes.

SPDX-License-Identifier: BSD-3-Clause
"""

import atexit
import collections
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[0] / "app/e2e"))

import harness  # noqa: E402 (its folder is known only now)
from guest import GUEST_IP, KERNEL_IP, Guest, Wire, missing  # noqa: E402

BUILD = Path(os.environ.get("UROCE_RXE_BUILD", HERE.parents[1] / "build"))
IMAGE = BUILD / "rxe"
UROCE_PEER = BUILD / "tests/rxe/peer/rxe-uroce-peer"
IBV_PEER = BUILD / "tests/rxe/peer/rxe-ibv-peer"
FULL = "--full" in sys.argv
PEER_PORT = 18600
PEER_IN_GUEST = f"LD_LIBRARY_PATH=/share/lib /share/rxe-ibv-peer -d rxe0 -p {PEER_PORT}"
RUN_LIMIT_S = 600
# docs/interop.md has a row for each.
DEVIATING = re.compile("(too_long|send_inv window) .* uroce$")
# Cells that are about repeating, and the counters that tell of it.
REPEATING = re.compile(" (rnr|rnr_limit|gone) ")
REPEATED = {"retransmits", "timeouts", "implied_naks", "sequence_naks_sent", "duplicate_requests"}
# What a lossy run is about; the kinds that must fail are told apart by timing that loss disturbs.
UNDER_FAULTS = ("rc .* (sizes|wrap|burst|rnr|srq) 1024 ipv4" if FULL else
                "rc .* burst 1024 ipv4|rc .* wrap 1024 ipv4 uroce")
FAULTS = "loss=1%,dup=1%,reorder=1%,corrupt=1%,seed={}"
SEEDS = (1, 2, 3) if FULL else (1,)
# Dissectors that guess from a payload and complain about what is none of theirs.
TSHARK = ["tshark", "--disable-protocol", "rpcordma", "--disable-protocol", "infiniband.eoib", "-n"]
# Time-out of uroce's pingpongs: 537 ms, for a guest on busy CPUs.
PATIENCE = 17
STOCK = "ibv_rc_pingpong -d rxe0 -g {gid} -m {mtu} -s {size} -n {count}"


class World:
    """What all tests share: made when the first one needs it, removed however the process ends."""

    folder = wire = running = None

    @classmethod
    def set_up(cls):
        holder = tempfile.TemporaryDirectory(prefix="uroce-rxe-")
        atexit.register(holder.cleanup)
        cls.folder = Path(holder.name)
        cls.wire = Wire(cls.folder)
        atexit.register(cls.wire.remove)
        atexit.register(cls.stop)

    @classmethod
    def guest(cls):
        """The guest, started again when a test has killed the one before."""
        if cls.running is None or not cls.running.alive():
            state = Path(tempfile.mkdtemp(dir=cls.folder))
            cls.running = Guest(IMAGE, cls.wire, state)
            cls.running.wait_until_ready()
            cls.running.give(IBV_PEER)
        return cls.running

    @classmethod
    def stop(cls):
        if cls.running is not None:
            cls.running.quit()


def end_at_once(_signal, _frame):
    """unittest takes SystemExit for the error of one test, and goes on."""
    raise KeyboardInterrupt


def setUpModule():
    signal.signal(signal.SIGTERM, end_at_once)
    reason = missing()
    if reason:
        raise unittest.SkipTest(reason)
    done = subprocess.run([HERE / "image", IMAGE], capture_output=True, text=True, check=False)
    if done.returncode == harness.SKIPPED:
        raise unittest.SkipTest(done.stderr.strip())
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    World.set_up()


class RxeTest(harness.PairTest):
    """Test cases with a guest."""

    def setUp(self):
        super().setUp()
        self.guest = World.guest()
        self.ours = {"inside": World.wire.inside}
        self.settings = ["--config", World.wire.config]
        # One that waits for an end that failed would keep the guest's only CPU busy for ever.
        self.addCleanup(self.guest.run, "killall ibv_rc_pingpong rxe-ibv-peer")

    def check_icrc(self, file):
        done = subprocess.run([sys.executable, "-B", harness.CHECK_ICRC, file], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("bad 0", done.stdout)
        return done.stdout

    def check_dissection(self, file):
        done = subprocess.run([*TSHARK, "-r", file, "-Y", "_ws.malformed && udp.port == 4791"],
                              text=True, capture_output=True, check=True)
        self.assertEqual(done.stdout, "")


class Pingpong(RxeTest):
    """ibv_rc_pingpong in the guest and uroce-pingpong, each as client and as server."""

    RUNS = [{"gid": gid, "mtu": mtu, "size": size, "count": 100}
            for gid, mtu, size in ((1, 1024, 3001), (2, 1024, 4096), (1, 4096, 20000))]

    def flags(self, run):
        return [*self.settings, "-g", run["gid"], "-m", run["mtu"], "-s", run["size"], "-n",
                run["count"], "-u", PATIENCE, "--capture", self.folder / "run.pcap"]

    def finish(self, job, ended):
        code, said = job.end(60)
        self.assertEqual((ended.code, ended.err), (0, ""), f"{ended}\n\nguest: {said}")
        self.assertEqual(code, 0, f"guest: {said}\n\n{ended}")
        self.check_icrc(self.folder / "run.pcap")
        self.check_dissection(self.folder / "run.pcap")

    def test_guest_as_client(self):
        for run in self.RUNS:
            with self.subTest(**run):
                server = self.start_server(harness.PINGPONG, *self.flags(run), **self.ours)
                job = self.guest.start(f"{STOCK.format(**run)} -p {self.port} {KERNEL_IP}")
                self.finish(job, server.end(60))

    def test_guest_as_server(self):
        for run in self.RUNS:
            with self.subTest(**run):
                job = self.guest.start(f"{STOCK.format(**run)} -c -p {self.port}")
                self.wait_for_guest_to_listen()
                client = self.start_client(harness.PINGPONG, "--stock", "-c", *self.flags(run),
                                           host=GUEST_IP, **self.ours)
                ended = client.end(60)
                self.finish(job, ended)
                self.assertIn("100 messages checked", ended.out)

    def wait_for_guest_to_listen(self):
        for _ in range(100):
            sockets = self.guest.run("cat /proc/net/tcp /proc/net/tcp6")[1]
            if re.search(rf":{self.port:04X} \S+ 0A ", sockets):
                return
        self.fail("ibv_rc_pingpong does not listen in the guest")


class Cells(RxeTest):
    """The matrix."""

    def run_cells(self, *arguments, only=""):
        """The report of each cell, in order."""
        report = self.folder / "report.json"
        job = self.guest.start(PEER_IN_GUEST)
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

    def test_every_cell(self):
        capture = self.folder / "matrix.pcap"
        cells = self.run_cells("--capture", capture)
        (IMAGE / "matrix.json").write_text(json.dumps(cells, indent=1), "utf-8")
        print(self.check_icrc(capture))
        self.check_dissection(capture)
        for cell in cells:
            expected = "deviates" if DEVIATING.search(cell["cell"]) else "passed"
            self.assertEqual(cell["verdict"], expected, cell)
        self.check_retransmissions(cells)

    def check_retransmissions(self, cells):
        """No packet is lost on this wire. What the ends repeat all the same is due to an emulated
        machine that stood still, and rare."""
        repeated = [cell for cell in cells if not REPEATING.search(cell["cell"]) and
                    not REPEATED.isdisjoint(cell["counters"])]
        for cell in repeated:
            print("repeated without a loss:", cell["cell"], cell["counters"])
        self.assertLessEqual(len(repeated), len(cells) // 50)

    def test_under_faults(self):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                cells = self.run_cells("--fault", FAULTS.format(seed), only=UNDER_FAULTS)
                totals = collections.Counter()
                for cell in cells:
                    totals.update(cell["counters"])
                print(dict(totals))
                for what in ("lost", "duplicated", "corrupted", "reordered"):
                    self.assertGreater(totals[f"faults_{what}"], 0)


class VanishedGuest(RxeTest):
    """The other machine is gone from one moment to the next, in the middle of a run. (The reverse is
    in the cells of kind gone: the stock tools ask for 7 retries, which Soft-RoCE takes as for ever.)"""

    RUN = {"gid": 1, "mtu": 1024, "size": 3001, "count": 1000000}

    def test_uroce_ends_by_its_retries(self):
        server = self.start_server(harness.PINGPONG, *self.settings, "-m", self.RUN["mtu"], "-s",
                                   self.RUN["size"], "-n", self.RUN["count"], **self.ours)
        self.guest.start(f"{STOCK.format(**self.RUN)} -p {self.port} {KERNEL_IP}")
        self.wait_until_said(server, "remote address")
        time.sleep(0.5)
        self.guest.kill()
        ended = server.end(30)
        # By the SEND under way, or, when none was, by the silence.
        self.one_line_error(ended, 1)
        self.assertRegex(ended.err, "transport retry counter exceeded|peer silent")


if __name__ == "__main__":
    sys.argv = [argument for argument in sys.argv if argument != "--full"]
    harness.main()
