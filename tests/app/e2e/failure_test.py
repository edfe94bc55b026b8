"""Ends that end: by signal 9, by Ctrl-C, before and during a run. The other end must say so in time,
whatever it is doing.

SPDX-License-Identifier: BSD-3-Clause
"""

import time

import harness
from harness import BW, PINGPONG

# 8 tries of at most 4 * 67 ms each, and some time for a busy machine.
TIME_OUT_S = 8 * 4 * 0.0671 + 4
# The last thing that a program says before its run, and how long the run then gets.
READY = {BW: "#bytes", PINGPONG: "remote address"}
RUN_S = 0.5
LONG = {BW: ("-D", 60), PINGPONG: ("-n", 100_000_000)}


class LongRun(harness.PairTest):
    def start_long_pair(self, program, operation, *arguments):
        pair = self.start_pair(program, "--op", operation, *LONG[program], *arguments)
        for end in pair:
            self.wait_until_said(end, READY[program])
        time.sleep(RUN_S)
        return pair


class Killed(LongRun):
    def killed(self, program, operation, victim, *arguments):
        """Kills one end in the middle of a long run; returns what the other one left."""
        client, server = self.start_long_pair(program, operation, *arguments)
        dead, other = (client, server) if victim == "client" else (server, client)
        self.assertTrue(dead.alive() and other.alive(), "the run lasts")
        dead.kill()
        start = time.monotonic()
        ended = other.end(TIME_OUT_S + 10)
        self.assertLess(time.monotonic() - start, TIME_OUT_S, ended)
        dead.end()
        return ended

    def test_the_client_tells_of_a_killed_server(self):
        for program, operation in ((BW, "send"), (BW, "read"), (PINGPONG, "send")):
            with self.subTest(program=program, operation=operation):
                self.setUp()
                ended = self.killed(program, operation, "server")
                self.one_line_error(ended, 1, "peer ended")
                self.assertRegex(ended.out, r"retransmits \d+", "there is a partial result")

    def test_a_silent_wire_is_told_by_the_send_that_failed_not_by_the_flushed_receives(self):
        client, _ = self.pair(PINGPONG, "-n", 10, "-u", 10, "--retry_count", 1,
                              client=["--fault", "loss=100%"])
        self.one_line_error(client, 1, "transport retry counter exceeded (12)", "RTT not measured",
                            "1 retries since", "0 NAKs", "the peer was silent")

    def test_either_end_tells_of_a_killed_one_over_uc_and_ud(self):
        for program, transport, victim in ((BW, ("-c", "UC"), "server"), (BW, ("-c", "UD"), "client"),
                                           (PINGPONG, ("--transport", "uc"), "client"),
                                           (PINGPONG, ("--transport", "ud"), "server")):
            with self.subTest(program=program, transport=transport):
                self.setUp()
                ended = self.killed(program, "send", victim, *transport)
                self.one_line_error(ended, 1, "peer ended")

    def test_a_request_under_way_to_a_killed_server_fails_by_its_retries(self):
        ended = self.killed(BW, "write", "server")
        self.one_line_error(ended, 1, "peer ended", "transport retry counter exceeded (12)",
                            "the peer was silent")
        self.assertRegex(ended.err, r"last PSN sent 0x[0-9a-f]{6}, last acknowledged "
                         r"0x[0-9a-f]{6}, RTT \d+\.\d us, \d retries since, \d+ time-outs")

    def test_the_server_tells_of_a_killed_client(self):
        for program, operation in ((BW, "send"), (BW, "write"), (PINGPONG, "write"),
                                   (PINGPONG, "read")):
            with self.subTest(program=program, operation=operation):
                self.setUp()
                ended = self.killed(program, operation, "client")
                self.one_line_error(ended, 1, "peer ended")

    def test_a_client_that_ends_before_the_run_is_told(self):
        server = self.start_server(BW)
        client = self.start_client(BW, "--set", "address.ipv4=nonsense").end()
        self.assertEqual(client.code, 2)
        with harness.socket.create_connection(("localhost", self.port), 10):
            pass
        self.one_line_error(server.end(20), 1, "closed the connection")


class Interrupted(LongRun):
    def interrupted(self, program, operation, who):
        client, server = self.start_long_pair(program, operation)
        (client if who == "client" else server).interrupt()
        start = time.monotonic()
        ends = client.end(20), server.end(20)
        self.assertLess(time.monotonic() - start, 8, f"{ends[0]}\n\n{ends[1]}")
        for end in ends:
            self.assertEqual((end.code, end.err), (0, ""), f"{ends[0]}\n\n{ends[1]}")
            self.assertIn("interrupted", end.out)
        self.assertRegex(ends[0].out, r"MiB/s = |usec/iter", "there is a partial result")

    def test_ctrl_c_ends_both_ends_with_the_partial_result(self):
        for program, operation, who in ((BW, "send", "client"), (BW, "write", "server"),
                                        (BW, "read", "server"), (PINGPONG, "send", "server"),
                                        (PINGPONG, "write", "client"),
                                        (PINGPONG, "read", "server")):
            with self.subTest(program=program, operation=operation, who=who):
                self.setUp()
                self.interrupted(program, operation, who)

    def test_ctrl_c_before_a_client_came(self):
        server = self.start_server(PINGPONG)
        server.interrupt()
        self.one_line_error(server.end(10), 130, "stopped while waiting for client")

    def test_sigterm_is_taken_as_ctrl_c(self):
        server = self.start_server(BW)
        server.process.terminate()
        self.one_line_error(server.end(10), 143, "stopped while waiting for client")


if __name__ == "__main__":
    harness.main()
