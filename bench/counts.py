#!/usr/bin/env python3
"""Counts what a message costs, where nothing depends on the machine or its load: instructions and
cache lines (valgrind's cachegrind, as the difference between a long and a short run), packets an ACK,
allocations and system calls. scripts/bench --counts runs this.

Both devices run in one thread over a loopback link, so every number is of both sides together. Under
valgrind the CRC kernel is the one for 128-bit registers.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[1] / "build/bench/message_costs"
# (name, what, messages of the short run under valgrind, packets of the long one's answer are ACKs)
CASES = (("W64", "64 B WRITE, 32 posted at once", 3200, True),
         ("S64", "64 B SEND, 32 posted at once", 3200, True),
         ("W1M", "1 MiB WRITE, path MTU 4096", 8, True),
         ("S1M", "1 MiB SEND, path MTU 4096", 8, True),
         ("R1M", "1 MiB READ, path MTU 4096", 8, False))
# A cache that every machine has, so that figures of different machines are alike.
CACHES = ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64")


def ended(command):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr[-500:]}")
    return done


def cachegrind(name, messages):
    """Instructions, and lines that came into the first-level data cache, of a whole run."""
    with tempfile.TemporaryDirectory(prefix="uroce-counts-") as folder:
        said = ended(["valgrind", "--tool=cachegrind", "--cache-sim=yes", *CACHES,
                      f"--cachegrind-out-file={folder}/out", PROGRAM, name, messages]).stderr
    total = {key: int(re.search(rf"{key}:\s+([\d,]+)", said).group(1).replace(",", ""))
             for key in ("I\\s+refs", "D1\\s+misses")}
    return list(total.values())


def row(name, what, messages, has_acks):
    counted = json.loads(ended([PROGRAM, name, 10 * messages, "strict"]).stdout)
    short, long = cachegrind(name, messages), cachegrind(name, 2 * messages)
    instructions, lines = ((b - a) / messages for a, b in zip(short, long))
    return {"id": None, "figure": name, "what": what, "instructions": instructions, "lines": lines,
            "packets_an_ack": counted["sent"] / counted["answered"] if has_acks else None,
            "allocations": counted["allocations"], "without_system_calls": counted["strict"],
            "pass": counted["allocations"] == 0 and counted["strict"]}


def show(rows):
    print("a message, both sides together")
    print(f"{'figure':<8}{'what':<32}{'instructions':>13}{'lines':>9}{'packets/ACK':>13}"
          f"{'allocations':>13}{'system calls':>14}")
    for r in rows:
        acks = "" if r["packets_an_ack"] is None else f"{r['packets_an_ack']:.1f}"
        print(f"{r['figure']:<8}{r['what']:<32}{r['instructions']:>13.0f}{r['lines']:>9.1f}{acks:>13}"
              f"{r['allocations']:>13}{'none' if r['without_system_calls'] else 'some':>14}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--only", metavar="NAME,...", help="only these figures")
    parser.add_argument("--json", metavar="FILE", help="- is stdout")
    arguments = parser.parse_args()
    known = [case[0] for case in CASES]
    wanted = arguments.only.split(",") if arguments.only else known
    for name in wanted:
        if name not in known:
            parser.error(f"--only {name}: there are {', '.join(known)}")
    rows = [row(*case) for case in CASES if case[0] in wanted]
    text = json.dumps({"results": rows}, indent=2)
    if arguments.json == "-":
        print(text)
        return
    show(rows)
    if arguments.json:
        Path(arguments.json).write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
