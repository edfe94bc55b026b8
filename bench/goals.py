#!/usr/bin/env python3
"""Measures the goals that are not figures of one wire; scripts/bench --goals runs this.

    goals.py [--only ID,...] [--rounds N] [--json FILE]

P1 (a small message in one process), P6 (many queue pairs), P7 (a second lcore), P8 and P9 (losses,
between two processes, each held against the lossless run of its round) and P12 (a queue pair's life).
Every round runs each program once; figures are medians over the rounds.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import json
import os
import statistics
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import contest

ROOT = Path(__file__).resolve().parents[1]
# Drawing lots for each frame costs a few percent by itself.
LOSSLESS = "0.00000001"


@dataclass(frozen=True)
class Goal:
    """`wanted`: at most that, or at least where `more` is better."""
    id: str
    what: str
    unit: str
    wanted: float
    more: bool = False


GOALS = (
    Goal("P1", "64 B WRITE, a message and side", "ns", 75),
    Goal("P1", "64 B SEND, a message and side", "ns", 75),
    Goal("P6", "1,000 queue pairs, 1 at a time", "of one", 1.15),
    Goal("P6", "10,000 queue pairs, 1 at a time", "of one", 1.4),
    Goal("P6", "1,000 queue pairs, 32 at once", "of one", 1.15),
    Goal("P6", "10,000 queue pairs, 32 at once", "of one", 1.4),
    Goal("P7", "two lcores", "of one", 1.85, True),
    Goal("P8", "loss 0.1 %", "% of lossless", 97, True),
    Goal("P8", "loss 1 %", "% of lossless", 85, True),
    Goal("P8", "loss 5 %", "% of lossless", 55, True),
    Goal("P9", "loss 0.1 %, go-back-N", "% of lossless", 80, True),
    Goal("P9", "loss 1 %, go-back-N", "% of lossless", 60, True),
    Goal("P12", "queue pairs a second", "k/s", 100, True),
    Goal("P12", "destroying one, longest 0.1 %", "us", 20),
)
IDS = tuple(dict.fromkeys(goal.id for goal in GOALS))


def benchmark(program, pattern):
    """The rows of a Google Benchmark program, by name."""
    out = contest.run([str(ROOT / "build/bench" / program), f"--benchmark_filter={pattern}",
                       "--benchmark_format=json"])
    return {row["name"]: row for row in json.loads(out)["benchmarks"]}


def small_messages(_cpus):
    rows = benchmark("engine_bench", "(send|write)_64B/burst32")
    return {f"64 B {op.upper()}, a message and side":
            1e9 / rows[f"engine/{op}_64B/burst32"]["items_per_second"] / 2 for op in ("write", "send")}


def many_queue_pairs(_cpus):
    rows = benchmark("scale_bench", "write_64B/qps:(1|1000|10000)/at_once:[0-9]*$")
    time = {name: row["real_time"] for name, row in rows.items()}
    return {f"{count:,} queue pairs, {words}":
            time[f"scale/write_64B/qps:{count}/{at_once}"] / time[f"scale/write_64B/qps:1/{at_once}"]
            for count in (1000, 10000)
            for at_once, words in (("at_once:1", "1 at a time"), ("at_once:32", "32 at once"))}


def second_lcore(_cpus):
    out = contest.run([str(ROOT / "build/bench/lcores_bench"), "1"])
    return {"two lcores": contest.number(r"two lcores +[\d.]+ M/s +([\d.]+) of one", out)}


def goodput(cpus, loss, *receiver):
    command = [str(ROOT / "build/bin/uroce-bw"), "-p", "{port}", "--op", "write", "-s", "1048576",
               "-n", "3000", "--fault", f"loss={loss}%"]
    out = contest.run_pair([*command, *receiver], [*command, "--json", contest.HOST], {}, cpus)
    return json.loads(out)["results"]["bytes_per_second"]


def losses(cpus):
    whole = goodput(cpus, LOSSLESS)
    return {f"loss {loss} %": 100 * goodput(cpus, loss) / whole for loss in ("0.1", "1", "5")}


def losses_without_keeping(cpus):
    receiver = ("--set", "engine.held_packets=0")
    whole = goodput(cpus, LOSSLESS, *receiver)
    return {f"loss {loss} %, go-back-N": 100 * goodput(cpus, loss, *receiver) / whole
            for loss in ("0.1", "1")}


def lives(_cpus):
    row, = benchmark("scale_bench", "qp_life/others:1$").values()
    return {"queue pairs a second": row["items_per_second"] / 1e3,
            "destroying one, longest 0.1 %": row["destroy_p999_us"]}


PROGRAMS = {"P1": small_messages, "P6": many_queue_pairs, "P7": second_lcore, "P8": losses,
            "P9": losses_without_keeping, "P12": lives}


def measure(ids, rounds, cpus):
    """{what: figures}; a program that fails is said, and its round left out."""
    series = defaultdict(list)
    for number in range(rounds):
        for name in ids if number % 2 == 0 else reversed(ids):
            try:
                for what, figure in PROGRAMS[name](cpus).items():
                    series[what].append(figure)
            except contest.Failed as failed:
                print(f"{name}, round {number + 1}: {failed}", file=sys.stderr)
    return series


def rows_of(series):
    for goal in GOALS:
        figures = series.get(goal.what)
        if figures:
            median = statistics.median(figures)
            yield {"id": goal.id, "figure": goal.what, "what": goal.what, "unit": goal.unit,
                   "raw": None, "limit": None, "uroce": median, "ratio_raw": None,
                   "ratio_limit": None, "rounds": len(figures), "spread": [min(figures), max(figures)],
                   "lost_time": None, "wanted": goal.wanted,
                   "pass": median >= goal.wanted if goal.more else median <= goal.wanted}


def show(rows):
    print(f"{'id':<5}{'what':<34}{'median':>9} {'unit':<15}{'min..max (rounds)':<24}{'wanted':>7}  pass")
    for r in rows:
        spread = f"{r['spread'][0]:.2f}..{r['spread'][1]:.2f} ({r['rounds']})"
        print(f"{r['id']:<5}{r['what']:<34}{r['uroce']:>9.2f} {r['unit']:<15}{spread:<24}"
              f"{r['wanted']:>7}  {contest.verdict(r['pass'])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--only", metavar="ID,...", help="only these goals")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", help="- is stdout")
    arguments = parser.parse_args()
    ids = arguments.only.split(",") if arguments.only else list(IDS)
    for name in ids:
        if name not in IDS:
            parser.error(f"--only {name}: there are {', '.join(IDS)}")
    if arguments.rounds < 1:
        parser.error(f"argument --rounds: {arguments.rounds} is below 1")
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        parser.error("two CPUs are needed, one for each end")
    rows = list(rows_of(measure(ids, arguments.rounds, cpus)))
    text = json.dumps({"results": rows, "load": os.getloadavg()}, indent=2)
    if arguments.json == "-":
        print(text)
    else:
        show(rows)
        if arguments.json:
            Path(arguments.json).write_text(text + "\n", "utf-8")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
