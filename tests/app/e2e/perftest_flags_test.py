"""perftest's and ibverbs-utils' flags: those that have an effect, by their effect; docs/perftest.md
against the programs; and the JSON of every mode against its schema.

SPDX-License-Identifier: BSD-3-Clause
"""

import json
import re
import shutil
import time
import unittest

from json_schema import findings

import harness
from harness import BW, PINGPONG, ROOT, PairTest

SCHEMA = json.loads((ROOT / "docs/result.schema.json").read_text("utf-8"))
TABLE = ROOT / "docs/perftest.md"
FEW = ("-n", "200")


def table_rows():
    """(flag, how, what) of the table."""
    for line in TABLE.read_text("utf-8").splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if line.startswith("| `-") and len(cells) == 3:
            yield cells[0].strip("`"), cells[1], cells[2]


class PerftestFlags(PairTest):
    def result(self, program, *arguments, client=(), server=()):
        """What both ends' JSON says, which must fit the schema."""
        first, second = self.good_pair(program, *arguments, "--json", client=client, server=server)
        told = [json.loads(end.out) for end in (first, second)]
        for one in told:
            self.assertEqual(list(findings(one, SCHEMA)), [])
        return [one["results"] for one in told]

    def test_json_of_every_mode_fits_the_schema(self):
        for op in ("send", "write", "write_imm", "read", "atomic_fadd", "atomic_cswap"):
            with self.subTest(op=op):
                self.result(BW, "--op", op, *FEW, "--data_validation")
                self.result(PINGPONG, "--op", op, *FEW)
        for transport in ("UC", "UD"):
            with self.subTest(transport=transport):
                self.result(BW, "-c", transport, *FEW)

    def test_a_sweep_runs_through_all_sizes(self):
        client, _ = self.result(BW, "-a", "-n", "20", "--op", "write")
        self.assertEqual([r["MsgSize"] for r in client], [2 << i for i in range(23)])
        client, _ = self.result(BW, "-a", "-n", "20", "-c", "UD", "-m", "1024")
        self.assertEqual([r["MsgSize"] for r in client], [2 << i for i in range(10)])

    def test_both_ends_send_with_b(self):
        for op in ("send", "write", "read"):
            with self.subTest(op=op):
                client, server = self.result(BW, "-b", "--op", op, *FEW, "-s", "4096", "-q", "2",
                                             "--data_validation")
                for end in (client, server):
                    self.assertEqual(end["n_iterations"], 2 * 2 * 200)
                    self.assertEqual(end["wrong_messages"], 0)
                    self.assertGreater(end["checked_messages"], 0)

    def test_a_rate_limit_is_kept(self):
        client, _ = self.result(BW, "-n", "500", "-s", "64", "--rate_limit", "1000", "--rate_units",
                                "p", "--burst_size", "5")
        self.assertLess(client["messages_per_second"], 1100)
        self.assertGreater(client["messages_per_second"], 500)

    def test_a_warm_up_is_not_counted(self):
        client, _ = self.result(BW, "--perform_warm_up", "--op", "write", *FEW)
        self.assertEqual(client["n_iterations"], 200)

    def test_limits_that_are_not_reached_fail(self):
        first, _ = self.pair(BW, *FEW, client=("-w", "99999999"))
        self.one_line_error(first, 1, "--limit_bw 99999999", "the average is")
        first, _ = self.pair(BW, *FEW, client=("-y", "99999"))
        self.one_line_error(first, 1, "--limit_msgrate 99999: the rate is")

    def test_other_flags_have_their_effect(self):
        client, _ = self.good_pair(BW, "-A", "FETCH_AND_ADD", *FEW, "--cpu_util", "-N", "-L", "9",
                                   "-I", "64", "--pkey_index", "0")
        self.assertIn("Atomic FETCH_AND_ADD BW", client.out)
        self.assertRegex(client.out, r"CPU use \d+ %")
        file = self.folder / "out.json"
        client, _ = self.good_pair(BW, "--write_with_imm", *FEW,
                                   client=("--output", "message_rate", "--out_json_file", file))
        self.assertRegex(client.out.splitlines()[-1], r"^\d+\.\d+$")
        self.assertEqual(json.loads(file.read_text("ascii"))["test_info"]["test"],
                         "RDMA_Write_With_Imm BW")

    def test_margins_are_left_out(self):
        client, _ = self.result(BW, "-D", "3", "-f", "1", "-s", "64")
        self.assertAlmostEqual(client["seconds"], 1, delta=0.2)

    def test_open_loop_counts_from_when_a_message_was_due(self):
        client, _ = self.result(PINGPONG, "-n", "300", client=("--rate", "1000"))
        self.assertEqual(client["rate"], 1000)
        self.assertAlmostEqual(client["seconds"], 0.3, delta=0.15)
        # A server that stands still for a while delays all that was due meanwhile.
        first, server = self.start_pair(PINGPONG, "-n", "2000", "--json", client=("--rate", "1000"))
        time.sleep(1.2)
        server.process.send_signal(19)  # SIGSTOP
        time.sleep(0.3)
        server.process.send_signal(18)  # SIGCONT
        stalled = json.loads(first.end().out)["results"]
        server.end()
        self.assertGreater(stalled["t_max"], 100_000)
        self.assertGreater(stalled["percentile_99"], 20_000, "300 of 2000 were due meanwhile")

    def test_percentiles_go_to_five_nines(self):
        client, _ = self.good_pair(PINGPONG, *FEW)
        self.assertRegex(client.out, r"p99\.99 [\d.]+ usec, p99\.999 [\d.]+ usec, max")

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_plots_have_title_axes_units_and_legend(self):
        for program, arguments, words in (
                (BW, ("--op", "write", "-n", "5000"), ("Bandwidth over time", "time [ms]", "MiB/s")),
                (PINGPONG, FEW, ("Latency of RC send", "percentile", "one way [usec]"))):
            with self.subTest(program=program):
                file = self.folder / "plot.svg"
                self.good_pair(program, *arguments, client=("--plot", file))
                drawn = file.read_text("utf-8")
                for word in words:
                    self.assertIn(word, drawn)
                self.assertIn("bytes", drawn)
        first, _ = self.pair(PINGPONG, *FEW, client=("--plot", "x.pdf"))
        self.one_line_error(first, 1, "--plot x.pdf", "the name must end in .svg or .png")

    def test_results_that_cannot_be_written_or_drawn(self):
        first, _ = self.pair(PINGPONG, *FEW, client=("--json=/nonexistent/result.json",))
        self.one_line_error(first, 1, "cannot write /nonexistent/result.json: No such file",
                            "name another file by --json")
        self.environment["PATH"] = str(self.folder)
        first, _ = self.pair(PINGPONG, *FEW, client=("--plot", "x.svg"))
        self.one_line_error(first, 1, "--plot x.svg: there is no gnuplot; install the package")
        gnuplot = self.folder / "gnuplot"
        gnuplot.write_text("#!/bin/sh\nexec /bin/false\n", "utf-8")
        gnuplot.chmod(0o755)
        first, _ = self.pair(PINGPONG, *FEW, client=("--plot", "x.svg"))
        self.one_line_error(first, 1, "--plot x.svg: gnuplot could not draw it; may the file be")


class Table(PairTest):
    def test_the_table_says_what_the_programs_do(self):
        rows = list(table_rows())
        accepted = [row for row in rows if row[1] != "refused"]
        self.assertGreaterEqual(len({flag for flag, _, _ in accepted}), 60)
        help_of = {program: self.launch(program, "--help").end(20).out for program in (BW, PINGPONG)}
        for flag, how, what in rows:
            with self.subTest(flag=flag):
                names = re.findall(r"--?[\w-]+", flag)
                if how == "refused":
                    value = ("1",) if "=" in flag else ()
                    ended = [self.launch(p, names[-1], *value).end(20) for p in (BW, PINGPONG)]
                    texts = [e.err for e in ended if e.code == 2 and "is not in uroce" in e.err]
                    self.assertTrue(any(what in text for text in texts), ended[0].err)
                else:
                    known = [p for p in (BW, PINGPONG)
                             if all(re.search(re.escape(n) + r"\b", help_of[p]) for n in names)]
                    self.assertTrue(known, f"{flag} is in no --help")

    def test_completion_offers_the_flags(self):
        out = self.launch(BW, "--completion", "bash").end(20).out
        self.assertIn("complete -F _uroce_bw uroce-bw", out)
        self.assertIn("--bidirectional", out)
        self.assertNotIn("--rdma_cm", out)


if __name__ == "__main__":
    harness.main()
