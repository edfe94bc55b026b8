"""Runs clang-format, clang-tidy and shellcheck over the tree.

    lint.py --build FOLDER [--cache FOLDER] [--report FILE] [--format-only] [--only PREFIX]... [ROOT]

FOLDER holds compile_commands.json. clang-tidy remembers what was clean (by the content of a file
and of all that it includes, .clang-tidy, the flags and the tool's version), so that only what has
changed is looked at again. Exits with 1 if a tool finds anything.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import source_tree

# The analyzer's path exploration takes most of the time. It is for what handles packets and memory;
# set-up code, programs and tests are mostly strings and macros to it, and the sanitizers run those.
ANALYZED = ("lib/transport/", "lib/verbs/")
NOT_ANALYZED = "--checks=-clang-analyzer-*"
FLAGS_KEPT = re.compile(r"^(-D|-I|-isystem|-std=|-include|-m)")


def run(command, **options):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **options)


def format_findings(root, paths):
    """A line for each file that clang-format would change."""
    answer = run(["clang-format", "--dry-run", "--Werror", *map(str, paths)], cwd=root)
    places = {}
    for line in answer.stdout.splitlines():
        match = re.match(r"(.+?):(\d+):\d+: error:", line)
        if match:
            places.setdefault(match.group(1), []).append(match.group(2))
    return [f"{file}:{lines[0]}: {len(lines)} places; clang-format -i {file}"
            for file, lines in places.items()]


def shell_findings(root, paths):
    """What shellcheck says about the shell scripts among `paths`."""
    scripts = [str(path) for path in paths if not source_tree.is_code(path) and
               re.match(r"#!.*\b(ba)?sh\b", (root / path).read_text("utf-8").split("\n")[0])]
    if not scripts:
        return []
    answer = run(["shellcheck", "-x", "-P", "SCRIPTDIR", "-f", "gcc", *scripts], cwd=root)
    return answer.stdout.splitlines()


def compile_flags(command):
    """The flags of a compile command that change what the code means."""
    words = shlex.split(command)
    kept = []
    for index, word in enumerate(words):
        if FLAGS_KEPT.match(word):
            kept.append(word)
            if word in ("-D", "-I", "-isystem", "-include"):
                kept.append(words[index + 1])
    return kept


def translation_units(root, build):
    """(path, flags) of each of our sources that the build compiles, once each."""
    units = {}
    for entry in json.loads((build / "compile_commands.json").read_text("utf-8")):
        path = (Path(entry["directory"]) / entry["file"]).resolve()
        if path.is_relative_to(root) and source_tree.is_code(path.relative_to(root)):
            units.setdefault(path.relative_to(root), compile_flags(entry["command"]))
    return sorted(units.items())


def tidy_one(root, build, path):
    """What clang-tidy says about one source, empty when it is clean."""
    checks = [] if path.as_posix().startswith(ANALYZED) else [NOT_ANALYZED]
    answer = run(["clang-tidy", "--quiet", "-p", str(build), *checks,
                  "--extra-arg=-Wno-unknown-warning-option", str(root / path)], cwd=root)
    if answer.returncode == 0:
        return []
    lines = [re.sub(r"^(/\S+?)(?=:\d)", lambda name: os.path.normpath(name.group()), line)
             for line in answer.stdout.splitlines()]
    return [line for line in lines if re.search(r": (error|warning): ", line)] or lines[-5:]


def show(root, tool, findings):
    for line in findings:
        print(f"{tool}: {line.removeprefix(str(root) + '/')}", flush=True)


def tidy_findings(root, build, cache, prefixes):
    """What clang-tidy says about the sources whose clean state is not remembered; printed at once."""
    version = run(["clang-tidy", "--version"]).stdout
    config = (root / ".clang-tidy").read_text("utf-8")
    work = []
    for path, flags in translation_units(root, build):
        if not path.as_posix().startswith(prefixes):
            continue
        here = [flag.replace(str(root), "").replace(str(build), "") for flag in flags]
        key = cache.key(root, path, version, config, *ANALYZED, NOT_ANALYZED, *here)
        if not cache.has(key):
            work.append((path, key))
    found = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda job: tidy_one(root, build, job[0]), work)
        for (_, key), findings in zip(work, results):
            show(root, "clang-tidy", [line for line in findings if line not in found])
            found.update(findings)
            if not findings:
                cache.add(key)
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("root", nargs="?", default=".", type=Path)
    parser.add_argument("--build", required=True, type=Path, help="a build folder that is set up")
    parser.add_argument("--cache", default=os.environ.get("LINT_CACHE"),
                        help="default: LINT_CACHE, else lint-cache in the build folder")
    parser.add_argument("--report", type=Path, help="writes 'PASSED FAILED SKIPPED' into this file")
    parser.add_argument("--format-only", action="store_true", help="leave out clang-tidy")
    parser.add_argument("--only", action="append", metavar="PREFIX",
                        help="only sources whose path begins so are shown to clang-tidy")
    options = parser.parse_args()
    root, build = options.root.resolve(), options.build.resolve()
    cache = source_tree.GoodCache(options.cache or build / "lint-cache")
    paths = source_tree.all_files(root)
    results = {
        "clang-format": format_findings(root, [path for path in paths if source_tree.is_code(path)]),
        "shellcheck": shell_findings(root, paths),
    }
    for tool, findings in results.items():
        show(root, tool, findings)
    if not options.format_only:
        results["clang-tidy"] = tidy_findings(root, build, cache, tuple(options.only or [""]))
    failed = sum(1 for findings in results.values() if findings)
    if options.report:
        options.report.write_text(f"{len(results) - failed} {failed} 0\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
