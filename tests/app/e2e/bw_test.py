"""uroce-bw between two processes on the default wire.

SPDX-License-Identifier: BSD-3-Clause
"""

import json
import re

import harness
from harness import BW

HEADER = " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]"
OPERATIONS = ("send", "write", "write_imm", "read", "atomic_fadd", "atomic_cswap")


class Output(harness.PairTest):
    def test_prints_perftests_header_and_row_with_rates_and_losses(self):
        client, server = self.good_pair(BW, "--op", "write", "-s", 4096, "-n", 3000)
        for end in (client, server):
            self.assertIn(HEADER, end.out)
            row = re.search(r"(?m)^ 4096 +3000 +([\d.]+) +([\d.]+) +([\d.]+)$", end.out)
            self.assertTrue(row, end)
            average, rate = float(row.group(2)), float(row.group(3))
            self.assertAlmostEqual(average, rate * 1e6 * 4096 / 2**20, delta=average / 50)
            self.assertRegex(end.out, r"MiB/s = [\d.]+ Gb/s, \d+ messages/s")
            self.assertRegex(end.out, r"(?m)^  retransmits \d+, drops \d+")
        peak = float(re.search(r"(?m)^ 4096 +3000 +([\d.]+)", client.out).group(1))
        self.assertGreaterEqual(peak * 1.01, average)

    def test_json_and_gigabits(self):
        file = self.folder / "server.json"
        client, server = self.good_pair(BW, "-s", 64, "-n", 20000, "--report_gbits",
                                        client=["--json"], server=[f"--json={file}"])
        counters = []
        for text in (client.out, file.read_text("utf-8")):
            report = json.loads(text)
            self.assertEqual(report["test_info"]["test"], "Send BW")
            self.assertEqual(report["test_info"]["Connection_type"], "RC")
            results = report["results"]
            self.assertEqual(results["MsgSize"], 64)
            self.assertEqual(results["n_iterations"], 20000)
            self.assertAlmostEqual(results["BW_average"] * 1e9 / 8, results["bytes_per_second"],
                                   delta=1 + results["bytes_per_second"] / 1e6)
            self.assertFalse(results["interrupted"])
            counters.append(results["counters"])
        self.check_drops(*counters)
        self.assertIn("BW average[Gb/sec]", server.out)

    def test_a_duration_ends_the_run(self):
        client, server = self.good_pair(BW, "-D", 1, "-s", 1024, "--data_validation")
        count = int(re.search(r"(?m)^ 1024 +(\d+)", client.out).group(1))
        self.assertGreater(count, 0)
        for end in (client, server):
            self.assertIn(f"  {count} messages = {1024 * count} bytes checked, 0 messages wrong",
                          end.out)


class Contents(harness.PairTest):
    def checked(self, operation, size, count, *arguments, **options):
        """Runs with validation; the end that receives has compared all."""
        client, server = self.good_pair(BW, "--op", operation, "-s", size, "-n", count,
                                        "--data_validation", *arguments, **options)
        line = rf"  {count} messages = \d+ bytes checked, 0 messages wrong"
        self.assertRegex(client.out, line)
        if operation != "read":
            self.assertRegex(server.out, line)
        return client, server

    def test_every_operation_carries_every_byte_at_all_sizes(self):
        for operation, size, count in (("send", 1, 999), ("send", "1M", 50), ("write", 64, 5000),
                                       ("write", "1M", 50), ("write_imm", 1, 3000),
                                       ("write_imm", "1M", 50), ("read", 4097, 3000),
                                       ("read", "1M", 50), ("atomic_fadd", 8, 5000),
                                       ("atomic_cswap", 8, 5000)):
            with self.subTest(operation=operation, size=size):
                self.setUp()
                self.checked(operation, size, count)

    def test_the_largest_size_with_rings_of_few_places(self):
        self.checked("write", 8388608, 9)

    def test_small_depths_and_odd_lists(self):
        for operation, flags in (("send", ("-t", 1, "-r", 1)),
                                 ("write", ("-t", 7, "-l", 16, "-Q", 3)),
                                 ("read", ("-t", 5, "-o", 1))):
            with self.subTest(operation=operation, flags=flags):
                self.setUp()
                self.checked(operation, 3000, 1001, *flags)

    def test_several_queue_pairs_count_together(self):
        for operation in ("send", "write_imm", "read"):
            with self.subTest(operation=operation):
                self.setUp()
                client, server = self.good_pair(BW, "--op", operation, "-s", 3000, "-n", 500, "-q", 5,
                                                "--data_validation")
                for end in (client, server):
                    self.assertRegex(end.out, r"(?m)^ 3000 +2500 ")
                    self.assertIn("Number of qps  : 5", end.out)
                self.assertIn("  2500 messages = 7500000 bytes checked, 0 messages wrong",
                              client.out)

    def test_fetch_adds_of_several_queue_pairs_sum_up_on_a_lossy_wire(self):
        client, server = self.good_pair(BW, "--op", "atomic_fadd", "-n", 5000, "-q", 4,
                                        "--data_validation", "--fault", "loss=5%,dup=5%,seed=4",
                                        *harness.PATIENT)
        for end in (client, server):
            self.assertIn("  20000 messages = 160000 bytes checked, 0 messages wrong", end.out)
        self.assertRegex(client.out, r"retransmits [1-9]")

    def test_uc_and_ud_carry_every_byte(self):
        for transport, operation, size in (("UC", "send", 9001), ("UC", "write", 9001),
                                           ("UC", "write_imm", 9001), ("UD", "send", 4096)):
            with self.subTest(transport=transport, operation=operation):
                self.setUp()
                client, server = self.checked(operation, size, 1000, "-c", transport)
                for end in (client, server):
                    self.assertIn(f"Connection type : {transport}", end.out)
                    self.assertIn("  0 messages lost", end.out)

    def test_uc_and_ud_count_what_a_lossy_wire_loses(self):
        for transport, operation, size in (("UC", "send", 9001), ("UC", "write", 9001),
                                           ("UC", "write_imm", 9001), ("UD", "send", 1024)):
            with self.subTest(transport=transport, operation=operation):
                self.setUp()
                client, server = self.good_pair(
                    BW, "-c", transport, "--op", operation, "-s", size, "-n", 2000,
                    "--data_validation", "--fault", harness.FAULTS.format(8))
                for end in (client, server):
                    lost = int(re.search(r"(?m)^  (\d+) messages lost$", end.out).group(1))
                    checked = re.search(r"(\d+) messages = \d+ bytes checked, 0 messages wrong",
                                        end.out)
                    self.assertGreater(lost, 0, end)
                    self.assertEqual(int(checked.group(1)) + lost, 2000, end)

    def test_a_shared_receive_queue_serves_all_queue_pairs(self):
        for flags, size in ((("--op", "send"), 3001), (("--op", "write_imm"), 3001),
                            (("-c", "UD"), 1001)):
            with self.subTest(flags=flags):
                self.setUp()
                client, server = self.good_pair(BW, *flags, "-s", size, "-n", 500, "-q", 3,
                                                "--use-srq", "-r", 100, "--data_validation")
                for end in (client, server):
                    self.assertIn(f"  1500 messages = {1500 * size} bytes checked, 0 messages wrong",
                                  end.out)

    def test_completion_events_wake_either_drive(self):
        for flags in ((), ("--drive", "lcore")):
            with self.subTest(flags=flags):
                self.setUp()
                client, server = self.checked("send", 3000, 300, "--events", client=flags)
                for end in (client, server):
                    self.assertRegex(end.out, r"completion_events [1-9]")

    def test_a_datagram_is_as_long_as_the_path_allows(self):
        client, _ = self.good_pair(BW, "-c", "UD", "-m", 2048, "-n", 500)
        self.assertRegex(client.out, r"(?m)^ 2048 +500 ")

    def test_an_engine_lcore_carries_every_byte(self):
        # On two CPUs at one end only: its two threads and the other end's one share them.
        for operation, ends in (("send", ("client", "server")), ("write", ("server",)),
                                ("read", ("client",))):
            with self.subTest(operation=operation, ends=ends):
                self.setUp()
                self.checked(operation, 4096, 300, **{end: ("--drive", "lcore") for end in ends})

    def test_a_lossy_wire_changes_no_byte_past_the_psn_wrap(self):
        for seed, operation in enumerate(OPERATIONS):
            with self.subTest(operation=operation):
                self.setUp()
                size, count = (8, 4096) if operation.startswith("atomic") else (65536, 1024)
                client, server = self.checked(
                    operation, size, count, "--start-psn", "0xfffff0", "--fault",
                    harness.FAULTS.format(seed), *harness.PATIENT)
                self.assertRegex(client.out, r"retransmits [1-9]")
                self.assertRegex(client.out + server.out, r"faults_corrupted [1-9]")


class Exchange(harness.PairTest):
    def test_different_parameters_are_told_at_both_ends(self):
        client, server = self.pair(BW, client=["--op", "write"], server=["--op", "read", "-m", 512])
        self.one_line_error(client, 1, "op is write here and read there", "mtu is 4096 here")
        self.one_line_error(server, 1, "op is read here and write there")


if __name__ == "__main__":
    harness.main()
