"""uroce-pingpong between two processes on the default wire.

SPDX-License-Identifier: BSD-3-Clause
"""

import json
import re
import socket

import harness
from harness import PINGPONG

TWO_SIDED = ("send", "write", "write_imm")
ADDRESS = r"LID 0x0000, QPN (0x[0-9a-f]{6}), PSN (0x[0-9a-f]{6}), GID (\S+)"
PERCENTILES = re.compile(r"p50 ([\d.]+) usec, p90 ([\d.]+) usec, p99 ([\d.]+) usec, "
                         r"p99.9 ([\d.]+) usec, (?:p99\.9+ [\d.]+ usec, )*max ([\d.]+) usec")


class Output(harness.PairTest):
    def test_prints_the_lines_of_ibv_rc_pingpong_and_the_distribution(self):
        client, server = self.good_pair(PINGPONG, "-n", 200)
        for end in (client, server):
            self.assertRegex(end.out, r"(?m)^  local address:  " + ADDRESS + "$")
            self.assertRegex(end.out, r"(?m)^  remote address: " + ADDRESS + "$")
            self.assertRegex(end.out, r"(?m)^1638400 bytes in [\d.]+ seconds = [\d.]+ Mbit/sec$")
            self.assertRegex(end.out, r"(?m)^200 iters in [\d.]+ seconds = [\d.]+ usec/iter$")
            self.assertIn("half of a round trip", end.out)
            times = [float(t) for t in PERCENTILES.search(end.out).groups()]
            self.assertEqual(times, sorted(times), end)
            self.assertRegex(end.out, r"(?m)^  retransmits \d+, drops \d+")
        mine, theirs = (re.findall(ADDRESS, end.out) for end in (client, server))
        self.assertEqual(mine, theirs[::-1], "each end's local address is the other's remote one")

    def test_json_goes_to_stdout_alone_or_to_a_file(self):
        file = self.folder / "server.json"
        client, server = self.good_pair(PINGPONG, "-n", 100, "-s", 64, client=["--json"],
                                        server=[f"--json={file}"])
        counters = []
        for text in (client.out, file.read_text("utf-8")):
            results = json.loads(text)["results"]
            self.assertEqual(results["n_iterations"], 100)
            self.assertEqual(results["MsgSize"], 64)
            self.assertLessEqual(results["t_min"], results["percentile_50"])
            self.assertLessEqual(results["percentile_50"], results["percentile_99.9"])
            self.assertLessEqual(results["percentile_99.9"], results["t_max"])
            counters.append(results["counters"])
        self.check_drops(*counters)
        self.assertIn("usec/iter", server.out)


class Contents(harness.PairTest):
    def checked(self, iterations, *arguments, server_checks=True, **options):
        client, server = self.good_pair(PINGPONG, "-c", "-n", iterations, *arguments, **options)
        self.assertIn(f"  {iterations} messages checked, every byte", client.out)
        if server_checks:
            self.assertIn(f"  {iterations} messages checked, every byte", server.out)
        return client, server

    def test_every_operation_carries_every_byte_at_all_sizes(self):
        for operation, size, iterations in (("send", 1, 100), ("send", "1M", 20),
                                            ("write", 64, 300), ("write", 100_001, 100),
                                            ("write_imm", 5000, 100), ("read", 4097, 200),
                                            ("atomic_fadd", 8, 200), ("atomic_cswap", 8, 200)):
            with self.subTest(operation=operation, size=size):
                self.setUp()
                self.checked(iterations, "--op", operation, "-s", size,
                             server_checks=operation in TWO_SIDED)

    def test_uc_and_ud_carry_every_byte(self):
        for transport, operation in (("uc", "send"), ("uc", "write"), ("uc", "write_imm"),
                                     ("ud", "send")):
            with self.subTest(transport=transport, operation=operation):
                self.setUp()
                self.checked(100, "--transport", transport, "--op", operation, "-s", 1001)

    def test_uc_and_ud_repeat_what_a_lossy_wire_loses(self):
        for transport, operation in (("uc", "send"), ("uc", "write"), ("uc", "write_imm"),
                                     ("ud", "send")):
            with self.subTest(transport=transport, operation=operation):
                self.setUp()
                client, server = self.checked(200, "--transport", transport, "--op", operation, "-s",
                                              1001, "--fault", "loss=5%,dup=5%,seed=5")
                self.assertRegex(client.out + server.out, r"messages_repeated [1-9]")

    def test_a_shared_receive_queue_and_events(self):
        for flags in (("--use-srq",), ("--events",), ("--use-srq", "--events", "--drive", "lcore")):
            with self.subTest(flags=flags):
                self.setUp()
                # On two CPUs an engine's thread at one end only.
                end = flags if "lcore" in flags else ()
                both = () if end else flags
                client, server = self.checked(60, "-q", 3, *both, client=end, server=end[:2])
                if "--events" in flags:
                    self.assertRegex(client.out, r"completion_events [1-9]")

    def test_queue_pairs_take_turns(self):
        for operation in ("send", "write", "atomic_fadd"):
            with self.subTest(operation=operation):
                self.setUp()
                client, server = self.checked(101, "--op", operation, "-q", 3,
                                              server_checks=operation in TWO_SIDED)
                for end in (client, server):
                    self.assertEqual(len(re.findall(r"local address: ", end.out)), 3)

    def test_an_engine_lcore_carries_every_byte(self):
        # On two CPUs at one end only: its two threads and the other end's one share them.
        for operation, ends in (("send", ("client", "server")), ("write", ("client",)),
                                ("read", ("server",))):
            with self.subTest(operation=operation, ends=ends):
                self.setUp()
                self.checked(10, "--op", operation, "-s", 10000,
                             server_checks=operation in TWO_SIDED,
                             **{end: ("--drive", "lcore") for end in ends})

    def test_the_least_mtu_and_a_single_receive(self):
        self.checked(50, "-m", 256, "-s", 20001, "-r", 1)

    def test_a_lossy_wire_changes_no_byte(self):
        for seed, operation in enumerate(("send", "write", "read")):
            with self.subTest(operation=operation):
                self.setUp()
                client, server = self.checked(
                    150, "--op", operation, "-s", 10000, "--start-psn", "0xffffe0", "--fault",
                    harness.FAULTS.format(seed), *harness.PATIENT,
                    server_checks=operation in TWO_SIDED)
                self.assertRegex(client.out + server.out, r"retransmits [1-9]")


class Addresses(harness.PairTest):
    def test_ipv6_over_the_link_local_gid_in_a_vlan(self):
        client, _ = self.good_pair(PINGPONG, "-g", 0, "-n", 50, "-c", "--vlan", 42)
        self.assertRegex(client.out, r"local address: .*GID fe80::")

    def test_ipv6_prefers_the_global_address(self):
        ends = {"client": ["--set", "address.ipv6=2001:db8::c/64"],
                "server": ["--set", "address.ipv6=2001:db8::5/64"]}
        client, _ = self.good_pair(PINGPONG, "--ipv6", "-n", 50, "-c", **ends)
        self.assertRegex(client.out, r"local address: .*GID 2001:db8::c")
        self.assertRegex(client.out, r"remote address: .*GID 2001:db8::5")


class Exchange(harness.PairTest):
    def test_different_parameters_are_told_at_both_ends(self):
        client, server = self.pair(PINGPONG, client=["-s", 64, "-n", 10], server=["-s", 128])
        self.one_line_error(client, 1, "size is 64 here and 128 there", "iters is 10 here")
        self.one_line_error(server, 1, "size is 128 here and 64 there")

    def test_another_program_at_the_other_end_is_told(self):
        server = self.start_server(PINGPONG)
        client = self.start_client(harness.BW).end()
        self.one_line_error(client, 1, "uroce-pingpong", "uroce-bw")
        self.one_line_error(server.end(20), 1, "uroce-pingpong", "uroce-bw")

    def test_the_stock_exchange_both_ways(self):
        client, server = self.good_pair(PINGPONG, "-n", 100, "-c", "-s", 10000,
                                        client=["--stock"])
        for end in (client, server):
            self.assertIn("100 iters in", end.out)
            self.assertIn("100 messages checked", end.out)

    def test_the_stock_exchange_of_the_other_transports(self):
        for flags in (("--transport", "uc"), ("--transport", "ud"), ("--use-srq", "-q", 5)):
            with self.subTest(flags=flags):
                self.setUp()
                client, server = self.good_pair(PINGPONG, "-n", 100, "-s", 1000, *flags,
                                                client=["--stock"])
                for end in (client, server):
                    self.assertIn("100 iters in", end.out)
                    self.assertEqual(len(re.findall("remote address: ", end.out)),
                                     5 if "-q" in flags else 1)

    def test_a_stock_client_has_one_queue_pair_without_a_shared_queue(self):
        server = self.start_server(PINGPONG, "-q", 2)
        with socket.create_connection(("localhost", self.port), 10) as channel:
            channel.sendall(f"0000:00002a:abcdef:{'0' * 32}\0".encode())
            self.one_line_error(server.end(20), 1, "--num-qp 2", "at most 1", "--use-srq")

    def test_a_slow_stock_peer_is_not_taken_for_a_silent_one(self):
        # More than the five seconds of silence that are borne, in messages half a second apart.
        self.good_pair(PINGPONG, "-n", 12, client=["--stock", "--rate", 2])

    def test_a_stock_client_gets_the_text_it_expects(self):
        # The Ethernet address of this client is given, since nobody is there to ask.
        server = self.start_server(
            PINGPONG, "--set", "address.neighbours=192.0.2.2=02:00:00:00:00:02")
        gid = "00000000000000000000ffffc0000202"
        with socket.create_connection(("localhost", self.port), 10) as channel:
            channel.sendall(f"0000:00002a:abcdef:{gid}\0".encode())
            reply = channel.recv(52, socket.MSG_WAITALL)
            self.assertRegex(reply.decode(),
                             r"^0000:[0-9a-f]{6}:[0-9a-f]{6}:0{20}ffffc0000201\0$")
            channel.sendall(b"done\0")
        # It sends no message then, which a server of ours does not wait for for ever.
        self.one_line_error(server.end(30), 1, "peer silent")

    def test_garbage_on_the_tcp_port_is_told(self):
        server = self.start_server(PINGPONG)
        with socket.create_connection(("localhost", self.port), 10) as channel:
            channel.sendall(b"GET / HTTP/1.0\r\n\r\n")
            self.one_line_error(server.end(20), 1, "neither a uroce program nor")


if __name__ == "__main__":
    harness.main()
