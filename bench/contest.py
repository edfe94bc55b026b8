#!/usr/bin/env python3
"""Measures programs against each other in interleaved rounds; scripts/bench runs this.

    contest.py peers    uroce on the default wire against kernel TCP and UDP, UCX and libfabric (P11)
    contest.py ports    the port of --wire-a against that of --wire-b (P5: without and with hugepages)

Each contestant is a program, or a pair of one server and one client on a CPU each, that gives some
figures. Every round runs each once, in the reverse order of the round before.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import json
import os
import re
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOST = "127.0.0.1"
START_LIMIT_S = 5
RUN_LIMIT_S = 60

TRIP, BULK, RATE = "64 B there and back", "1 MiB, one way", "64 B, one way"
UNITS = {TRIP: "us", BULK: "Gbit/s", RATE: "Mmsg/s"}
# P11: how many times better uroce is than the best of the others that cross a network stack.
WANTED = {TRIP: 4, BULK: 2, RATE: 20}
P5_LIMIT = 1.15


class Failed(Exception):
    pass


def run(command, environment=None):
    try:
        done = subprocess.run(command, env={**os.environ, **(environment or {})}, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=RUN_LIMIT_S,
                              check=False)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{shlex.join(command)}: not done after {RUN_LIMIT_S} s") from late
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Failed(f"{shlex.join(command)}: {said[-1] if said else f'exit code {done.returncode}'}")
    return done.stdout


def free_port():
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


def is_bound(port):
    """Whether a local TCP socket listens at the port, or a UDP one has it."""
    for name, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        path = Path("/proc/net", name)
        for line in path.read_text("ascii").splitlines()[1:] if path.exists() else ():
            fields = line.split()
            if fields[1].endswith(f":{port:04X}") and fields[3] == state:
                return True
    return False


def run_pair(server, client, environment, cpus):
    """The client's output; "{port}" in both commands is a free port."""
    port = free_port()
    commands = [["taskset", "-c", str(cpu), *(word.format(port=port) for word in command)]
                for cpu, command in zip(cpus, (server, client))]
    process = subprocess.Popen(commands[0], env={**os.environ, **environment},
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        limit = time.monotonic() + START_LIMIT_S
        while not is_bound(port):
            if process.poll() is not None or time.monotonic() > limit:
                raise Failed(f"{shlex.join(commands[0])}: does not listen")
            time.sleep(0.02)
        return run(commands[1], environment)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(START_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


# What the programs print.

def number(pattern, text):
    found = re.search(pattern, text)
    if not found:
        raise Failed(f"no {pattern!r} in: {text.strip()[-200:]}")
    return float(found.group(1))


def iperf_gbits(text):
    return json.loads(text)["end"]["sum_received"]["bits_per_second"] / 1e9


def sockperf_trip(text):
    return 2 * number(r"percentile 50\.000 =\s*([\d.]+)", text)


def sockperf_rate(text):
    return number(r"Message Rate is (\d+)", text) / 1e6


def last_row(text):
    return text.strip().splitlines()[-1].replace(",", " ").split()


def ucx_trip(text):
    return 2 * float(last_row(text)[1])


def ucx_rate(text):
    return float(last_row(text)[7]) / 1e6


def ucx_gbits(text):
    return float(last_row(text)[5]) * 8 * (1 << 20) / 1e9


def fabric_trip(text):
    return 2 * float(last_row(text)[6])


@dataclass
class Pair:
    """One figure of a server and its client. `local` ones need no network stack."""
    name: str
    figure: str
    server: str
    client: str
    parse: object
    environment: dict
    local: bool = False

    def measure(self, cpus):
        text = run_pair(shlex.split(self.server), shlex.split(self.client), self.environment, cpus)
        return {self.figure: self.parse(text)}


@dataclass
class Wire:
    """uroce over one wire: the wire bench's figures, under the names that `figures` gives them."""
    name: str
    arguments: list
    figures: dict
    local: bool = False

    def measure(self, _cpus):
        out = run([str(ROOT / "build/bin/uroce-wire-bench"), "--rounds", "1", "--phase-ms", "200",
                   "--json", "-", "--only", ",".join(self.figures), *self.arguments])
        rows = {row["figure"]: row for row in json.loads(out)["results"]}
        UNITS.update((self.figures[name], row["unit"]) for name, row in rows.items()
                     if name in self.figures)
        return {figure: rows[name]["uroce"] for name, figure in self.figures.items()}


def ucx(name, transports, local):
    environment = {"UCX_TLS": transports, "UCX_WARN_UNUSED_ENV_VARS": "n"}
    if not local:
        environment["UCX_NET_DEVICES"] = "lo"
    options = "-p {port} -f -v"
    for figure, test, parse in ((TRIP, "-t tag_lat -s 64 -n 20000 -w 1000", ucx_trip),
                                (RATE, "-t tag_bw -s 64 -n 200000 -w 1000", ucx_rate),
                                (BULK, "-t tag_bw -s 1048576 -n 1000 -w 50", ucx_gbits)):
        yield Pair(name, figure, f"ucx_perftest {options} {test}",
                   f"ucx_perftest {HOST} {options} {test}", parse, environment, local)


def sockperf(name, flags):
    common = f"-i {HOST} -p {{port}} {flags}"
    for figure, test, parse in ((TRIP, "pp", sockperf_trip), (RATE, "tp", sockperf_rate)):
        yield Pair(name, figure, f"sockperf sr {common} --nonblocked",
                   f"sockperf {test} {common} --nonblocked -m 64 -t 1", parse, {})


def peers():
    """uroce comes first."""
    yield Wire("uroce", [], {"LAT64": TRIP, "W1M": BULK, "W64": RATE})
    yield Pair("kernel TCP", BULK, "iperf3 -s -1 -p {port}",
               f"iperf3 -c {HOST} -p {{port}} -t 1 -J -C cubic -l 1M", iperf_gbits, {})
    yield from sockperf("kernel TCP", "--tcp")
    yield from sockperf("kernel UDP", "")
    yield from ucx("UCX tcp", "tcp,self", False)
    fabric = "fi_pingpong -p tcp -e msg -I 20000 -S 64 -d lo"
    yield Pair("libfabric tcp", TRIP, f"{fabric} -B {{port}}", f"{fabric} -P {{port}} {HOST}",
               fabric_trip, {})
    yield from ucx("UCX shm", "posix,self", True)


def ports(wires):
    names = {name: name for name in ("W64", "S64", "W1M", "S1M", "R1M", "LAT8", "LAT64")}
    for name, arguments in wires:
        yield Wire(name, shlex.split(arguments), names)


def measure(contestants, rounds, cpus):
    """{figure: {name: [value of each round]}}; what failed in a round is missing, and said."""
    series = {}
    for number_of_round in range(rounds):
        for one in contestants[::-1] if number_of_round % 2 else contestants:
            try:
                figures = one.measure(cpus)
            except Failed as failure:
                print(f"{one.name}: {failure}", file=sys.stderr)
                continue
            for figure, value in figures.items():
                series.setdefault(figure, {}).setdefault(one.name, []).append(value)
    return series


def better(figure, values):
    """The best of the values."""
    return (min if UNITS[figure] == "us" else max)(values)


def advantage(figure, own, other):
    """How many times better `own` is."""
    return other / own if UNITS[figure] == "us" else own / other


def peer_rows(series, local):
    """uroce's median against each other's best round: theirs are means, which a busy machine spoils
    more than medians of slices."""
    for figure, by_name in series.items():
        if "uroce" not in by_name:
            continue
        own = statistics.median(by_name["uroce"])
        others = {name: values for name, values in by_name.items() if name != "uroce"}
        networked = [value for name, values in others.items() if name not in local
                     for value in values]
        ratio = advantage(figure, own, better(figure, networked)) if networked else None
        yield {"id": "P11", "figure": figure, "unit": UNITS[figure], "uroce": own,
               "others": {name: {"median": statistics.median(values),
                                 "best": better(figure, values), "rounds": len(values)}
                          for name, values in others.items()},
               "rounds": len(by_name["uroce"]),
               "spread": [min(by_name["uroce"]), max(by_name["uroce"])],
               "ratio_best_peer": ratio, "wanted": WANTED[figure],
               "pass": ratio >= WANTED[figure] if ratio else None}


def port_rows(series, names, is_p5):
    first, second = names
    for figure, by_name in series.items():
        if not all(name in by_name for name in names):
            continue
        ratios = [advantage(figure, a, b) for a, b in zip(by_name[first], by_name[second]) if a and b]
        ratio = statistics.median(ratios) if ratios else None
        yield {"id": "P5" if is_p5 else None, "figure": figure, "unit": UNITS[figure],
               **{name: statistics.median(by_name[name]) for name in names}, "advantage": ratio,
               "rounds": len(ratios), "spread": [min(ratios, default=0), max(ratios, default=0)],
               "pass": ratio * P5_LIMIT >= 1 if is_p5 and ratio else None}


def verdict(passed):
    return {True: "yes", False: "no", None: ""}[passed]


def print_peers(rows):
    print(f"{'figure':<22}{'unit':<8}{'who':<15}{'median':>9}{'best':>9}{'rounds':>8}{'uroce is':>12}")
    for row in rows:
        figure = row["figure"]
        print(f"{figure:<22}{row['unit']:<8}{'uroce':<15}{row['uroce']:>9.2f}"
              f"{better(figure, row['spread']):>9.2f}{row['rounds']:>8}")
        for name, other in row["others"].items():
            times = advantage(figure, row["uroce"], other["best"])
            print(f"{'':<30}{name:<15}{other['median']:>9.3f}{other['best']:>9.3f}"
                  f"{other['rounds']:>8}{times:>9.1f} x")
        if row["ratio_best_peer"]:
            print(f"{'':<30}P11: {row['ratio_best_peer']:.1f} times better than the best without "
                  f"shared memory; wanted {row['wanted']}: {verdict(row['pass'])}")


def print_ports(rows, names):
    print(f"{'id':<5}{'figure':<9}{'unit':<8}{names[0]:>16}{names[1]:>16}{'first/second':>14}"
          f"  {'min..max (rounds)':<22}pass")
    for row in rows:
        spread = f"{row['spread'][0]:.2f}..{row['spread'][1]:.2f} ({row['rounds']})"
        print(f"{row['id'] or '':<5}{row['figure']:<9}{row['unit']:<8}{row[names[0]]:>16.2f}"
              f"{row[names[1]]:>16.2f}{row['advantage'] or 0:>14.3f}  {spread:<22}"
              f"{verdict(row['pass'])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("peers", "ports"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", help="- is stdout")
    for end in ("a", "b"):
        parser.add_argument(f"--wire-{end}", nargs=2, metavar=("NAME", "ARGUMENTS"),
                            help="ports: a name, and arguments of uroce-wire-bench")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error(f"argument --rounds: {arguments.rounds} is below 1")
    if arguments.what == "ports" and not (arguments.wire_a and arguments.wire_b):
        parser.error("ports: --wire-a and --wire-b are needed")
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        parser.error("two CPUs are needed, one for each end")
    if arguments.what == "peers":
        contestants = list(peers())
        series = measure(contestants, arguments.rounds, cpus)
        rows = list(peer_rows(series, {one.name for one in contestants if one.local}))
    else:
        wires = [arguments.wire_a, arguments.wire_b]
        names = [wire[0] for wire in wires]
        series = measure(list(ports(wires)), arguments.rounds, cpus)
        rows = list(port_rows(series, names, names == ["default", "hugepages"]))
    text = json.dumps({"results": rows, "load": os.getloadavg()}, indent=2)
    if arguments.json == "-":
        print(text)
    else:
        (print_peers(rows) if arguments.what == "peers" else print_ports(rows, names))
        if arguments.json:
            Path(arguments.json).write_text(text + "\n", "utf-8")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
