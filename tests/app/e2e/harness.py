"""What the end-to-end tests share: pairs of uroce's programs on a private wire.

The programs are named by UROCE_PINGPONG and UROCE_BW (meson sets them); else those of build/bin.
Every wire has a folder of its own for the socket and every pair a free TCP port, so that tests may
run beside each other.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PINGPONG = os.environ.get("UROCE_PINGPONG", str(ROOT / "build/bin/uroce-pingpong"))
BW = os.environ.get("UROCE_BW", str(ROOT / "build/bin/uroce-bw"))
CHECK_ICRC = ROOT / "tests/golden/check_icrc.py"

START_LIMIT_S = 30
RUN_LIMIT_S = 90
SKIPPED = 77  # meson's exit code for a skipped test
FAULTS = "loss=1%,dup=0.5%,reorder=1%,corrupt=0.5%,seed={}"
# For lossy runs, where each end has to answer in time: a busy machine may keep the CPU from one for
# more than half a second, which is as long as the default's eight tries take.
PATIENT = ("--qp-timeout", 16)


def free_port():
    with socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::", 0))
        return probe.getsockname()[1]


def is_listening(port, net):
    wanted = f":{port:04X}"
    for name in ("tcp", "tcp6"):
        try:
            lines = Path(net, name).read_text("ascii").splitlines()[1:]
        except (FileNotFoundError, ProcessLookupError):
            continue
        for line in lines:
            fields = line.split()
            if fields[1].endswith(wanted) and fields[3] == "0A":
                return True
    return False


class Ended:
    """What a finished program left."""

    def __init__(self, arguments, code, out, err, seconds):
        self.arguments, self.code, self.out, self.err = arguments, code, out, err
        self.seconds = seconds

    def __str__(self):
        return (f"{' '.join(self.arguments)}\nexit code {self.code} after {self.seconds:.1f} s\n"
                f"stdout: {self.out}\nstderr: {self.err}")


class Running:
    """A started program."""

    def __init__(self, arguments, **options):
        self.arguments = [str(a) for a in arguments]
        self.started = time.monotonic()
        self.files = [tempfile.TemporaryFile("w+", encoding="utf-8") for _ in range(2)]
        self.process = subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL,
                                        stdout=self.files[0], stderr=self.files[1], **options)

    def alive(self):
        return self.process.poll() is None

    def said(self):
        """What it has written to stdout so far."""
        return os.pread(self.files[0].fileno(), 1 << 20, 0).decode()

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def kill(self):
        self.process.kill()

    def end(self, limit=RUN_LIMIT_S):
        """Waits; a program that does not end is killed, and its exit code is None."""
        try:
            code = self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = None
        seconds = time.monotonic() - self.started
        texts = []
        for file in self.files:
            file.seek(0)
            texts.append(file.read())
            file.close()
        self.files = []
        return Ended(self.arguments, code, *texts, seconds)

    def discard(self):
        if self.files:
            self.process.kill()
            self.end()


class PairTest(unittest.TestCase):
    """Test cases that start servers and clients on a wire of their own."""

    port_flag = "-p"  # of the program, for the TCP port at which the two ends meet

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="uroce-e2e-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("UROCE_")}
        self.environment["XDG_RUNTIME_DIR"] = str(self.folder)
        self.port = free_port()

    def check_drops(self, *ends):
        """Counters of both ends on a good wire. A hiccup of the machine makes an end ask again; then the
        second request is one too many, and the answer to it. Nothing else is dropped."""
        again = sum(counters["retransmits"] for counters in ends)
        spare = sum(counters.get(f"drops_{reason}", 0) for counters in ends
                    for reason in ("ghost_response", "duplicate_request"))
        self.assertEqual(sum(counters["drops"] for counters in ends), spare, ends)
        self.assertLessEqual(spare, 2 * again, ends)

    def launch(self, program, *arguments, inside=(), **options):
        """Starts a program, `inside` another command."""
        options.setdefault("env", self.environment)
        running = Running([*inside, program, *arguments], **options)
        self.addCleanup(running.discard)
        return running

    def start_server(self, program, *arguments, **options):
        """A server that listens."""
        server = self.launch(program, self.port_flag, self.port, *arguments, **options)
        limit = time.monotonic() + START_LIMIT_S
        while not is_listening(self.port, f"/proc/{server.process.pid}/net"):
            if not server.alive() or time.monotonic() > limit:
                self.fail(f"the server does not listen\n{server.end(0.1)}")
            time.sleep(0.02)
        return server

    def start_client(self, program, *arguments, host="localhost", **options):
        return self.launch(program, self.port_flag, self.port, *arguments, host, **options)

    def start_pair(self, program, *arguments, client=(), server=(), **options):
        """(client, server), both running."""
        first = self.start_server(program, *arguments, *server, **options)
        return self.start_client(program, *arguments, *client, **options), first

    def wait_until_said(self, running, word):
        limit = time.monotonic() + START_LIMIT_S
        while word not in running.said():
            if not running.alive() or time.monotonic() > limit:
                self.fail(f"did not say '{word}'\n{running.end(0.1)}")
            time.sleep(0.05)

    def pair(self, program, *arguments, **options):
        """(client, server), both ended. A client that failed does not leave a server behind."""
        client, server = self.start_pair(program, *arguments, **options)
        ended = client.end()
        return ended, server.end(20)

    def good_pair(self, program, *arguments, **options):
        """The same; both must have ended well and said nothing on stderr."""
        client, server = self.pair(program, *arguments, **options)
        for end in (client, server):
            self.assertEqual(end.code, 0, f"{client}\n\n{server}")
            self.assertEqual(end.err, "", f"{client}\n\n{server}")
        return client, server

    def one_line_error(self, end, code, *words):
        """An error as it should be: one line that begins with the program and names `words`."""
        self.assertEqual(end.code, code, end)
        lines = end.err.splitlines()
        self.assertEqual(len(lines), 1, end)
        self.assertRegex(lines[0], "^uroce-(bw|pingpong): ", end)
        for word in words:
            self.assertIn(word, lines[0], end)


def main():
    """unittest.main(), with meson's exit code when every case was skipped."""
    program = unittest.main(module="__main__", verbosity=2, exit=False)
    result = program.result
    # A class that is skipped as a whole counts as skipped once and as no test run.
    if result.wasSuccessful() and result.skipped and result.testsRun <= len(result.skipped):
        print(result.skipped[0][1])
        sys.exit(SKIPPED)
    sys.exit(not result.wasSuccessful())
