"""What the tests with Soft-RoCE share: one guest and one wire for all of a program's tests, captures
that are checked, and the words of the stock tools.

SPDX-License-Identifier: BSD-3-Clause
"""

import atexit
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[0] / "app/e2e"))

import harness  # noqa: E402 (its folder is known only now)
from guest import Guest, Wire, missing  # noqa: E402

BUILD = Path(os.environ.get("UROCE_RXE_BUILD", HERE.parents[1] / "build"))
IMAGE = BUILD / "rxe"
IBV_PEER = BUILD / "tests/rxe/peer/rxe-ibv-peer"
# Dissectors that guess from a payload and complain about what is none of theirs.
TSHARK = ["tshark", "--disable-protocol", "rpcordma", "--disable-protocol", "infiniband.eoib", "-n"]
# Time-out of uroce's pingpongs: 537 ms, for a guest on busy CPUs.
PATIENCE = 17
PINGPONGS = [f"ibv_{kind}_pingpong" for kind in ("rc", "uc", "ud", "srq")]
PERFTESTS = [f"ib_{what}_{how}" for what in ("send", "write", "read", "atomic") for how in ("bw", "lat")]
# One that waits for an end that failed would keep the guest's only CPU busy for ever.
LEFT_OVER = f"killall -q rxe-ibv-peer {' '.join(PINGPONGS + PERFTESTS)}"


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
            try:
                cls.running.wait_until_ready()
            except RuntimeError:
                cls.running.kill()
                raise
            cls.running.give(IBV_PEER)
        return cls.running

    @classmethod
    def stop(cls):
        if cls.running is not None:
            cls.running.quit()


def end_at_once(_signal, _frame):
    """unittest takes SystemExit for the error of one test, and goes on."""
    raise KeyboardInterrupt


def prepare():
    """For setUpModule: makes the image and the world, or skips with the reason."""
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
        self.addCleanup(self.guest.run, LEFT_OVER)

    def check_icrc(self, *files):
        done = subprocess.run([sys.executable, "-B", harness.CHECK_ICRC, *files], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("bad 0"), len(files), done.stdout)
        return done.stdout

    def check_dissection(self, file):
        done = subprocess.run([*TSHARK, "-r", file, "-Y", "_ws.malformed && udp.port == 4791"],
                              text=True, capture_output=True, check=True)
        self.assertEqual(done.stdout, "")

    def wait_for_guest_to_listen(self, port):
        for _ in range(100):
            sockets = self.guest.run("cat /proc/net/tcp /proc/net/tcp6")[1]
            if re.search(rf":{port:04X} \S+ 0A ", sockets):
                return
        self.fail("nobody listens in the guest")
