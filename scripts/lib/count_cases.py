"""Counts the cases of one `meson test` run for scripts/test.

    count_cases.py TESTLOG REPORT_FOLDER

TESTLOG is meson's JSON log, REPORT_FOLDER what run_reported has left. A GoogleTest case counts as
one, any other test program as one. Prints `PASSED FAILED SKIPPED` on the first line, then what
there is to say about cases that failed or were skipped.

SPDX-License-Identifier: BSD-3-Clause
"""

import json
import os
import re
import sys
from pathlib import Path

PASSED, FAILED, SKIPPED = range(3)
TAIL_LINES = 60
RUN_LINE = re.compile(r"\[ RUN +\] (\S+)$")


def read_reports(folder):
    """argv -> the GoogleTest reports of the runs of just this command (None: no report)."""
    reports = {}
    for argv_file in sorted(folder.glob("*.argv")):
        argv = tuple(argv_file.read_text("utf-8").split("\0")[:-1])
        report = argv_file.with_suffix(".json")
        cases = json.loads(report.read_text("utf-8")) if report.exists() else None
        reports.setdefault(argv, []).append(cases)
    return reports


def take_report(reports, command):
    """The report that belongs to a test of meson's, whose command ends with the program's own."""
    for start in range(len(command)):
        found = reports.get(tuple(command[start:]))
        if found:
            return found.pop(), command[start:]
    return None, command


def skip_reasons(output):
    """Case -> the text of its GTEST_SKIP, which the JSON report lacks."""
    reasons, name, lines = {}, None, iter(output.splitlines())
    for line in lines:
        match = RUN_LINE.match(line)
        if match:
            name = match.group(1)
        elif line.endswith(": Skipped"):
            reasons[name] = next(lines, "")
    return reasons


def indented(text):
    return "".join(f"    {line}\n" for line in text.rstrip().splitlines())


def count_report(report, output, program, counts):
    """Adds the cases of a GoogleTest program to `counts`; returns what is to be said about them."""
    reasons = skip_reasons(output)
    notes = []
    for suite in report["testsuites"]:
        for case in suite["testsuite"]:
            name = f"{suite['name']}.{case['name']}"
            if case.get("failures"):
                counts[FAILED] += 1
                said = "".join(indented(failure["failure"]) for failure in case["failures"][:5])
                notes.append(f"  FAILED {name}; again: {program} --gtest_filter={name}\n{said}")
            elif case["result"] == "SKIPPED":
                counts[SKIPPED] += 1
                notes.append(f"  skipped {name}: {reasons.get(name) or 'no reason given'}\n")
            elif case["status"] == "RUN":
                counts[PASSED] += 1
    return notes


def count_test(entry, reports, counts):
    """Adds one test of meson's to `counts`; returns what is to be said about it."""
    output = entry.get("stdout", "")
    report, argv = take_report(reports, entry["command"])
    program = argv[0].removeprefix(os.getcwd() + "/")
    failed_before = counts[FAILED]
    notes = count_report(report, output, program, counts) if report else []
    if entry["result"] in ("OK", "EXPECTEDFAIL"):
        counts[PASSED] += 0 if report else 1
    elif entry["result"] == "SKIP":
        counts[SKIPPED] += 0 if report else 1
        lines = output.strip().splitlines() or ["no reason given"]
        notes.append(f"  skipped {entry['name']}: {lines[-1]}\n")
    elif counts[FAILED] == failed_before:
        # No case of its own failed: it crashed, ran out of time, or is no GoogleTest program.
        counts[FAILED] += 1
        tail = (output + entry.get("stderr", "")).splitlines()[-TAIL_LINES:]
        notes.append(f"  FAILED {entry['name']} ({entry['result']}, exit code "
                     f"{entry['returncode']}); again: {' '.join([program, *argv[1:]])}\n"
                     + indented("\n".join(tail)))
    return notes


def main():
    reports = read_reports(Path(sys.argv[2]))
    counts, notes = [0, 0, 0], []
    for line in Path(sys.argv[1]).read_text("utf-8").splitlines():
        notes += count_test(json.loads(line), reports, counts)
    print(*counts)
    print("".join(notes), end="")


if __name__ == "__main__":
    main()
