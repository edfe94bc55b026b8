"""Checks the tree against the rules of the house: who may include whom, what every file must have
and must not have, and that each header compiles alone (the protocol's without DPDK in sight).

    check_tree.py [--cache FOLDER] [--compiler CXX] [--no-compile] [ROOT]

Prints one line a finding, `path:line: what`, and exits with 1 if there is any.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
from pathlib import Path

import source_tree

# Layer -> what its files may include besides their own layer, the standard library and third-party
# headers. The lowest comes first; `layer_of` says which file belongs where. <rte_*> and
# <infiniband/*> are layers too.
CORE = ("base", "ring", "wire", "memory", "cq", "net", "qp", "engine")
TRANSPORT = (*CORE, "port.h", "port", "steering", "port/dpdk")
LAYERS = {
    "base": (),
    "ring": ("base",),
    "wire": ("base",),
    "memory": ("base", "ring"),
    "cq": ("base", "ring"),
    "net": ("base", "wire"),
    "qp": ("base", "ring", "wire", "memory", "cq"),
    "port.h": ("base",),
    "engine": ("base", "ring", "wire", "memory", "cq", "net", "qp", "port.h"),
    "port": ("base", "ring", "port.h"),
    "steering": ("base", "ring", "wire", "port.h", "port"),
    "port/dpdk": ("base", "ring", "port.h", "<rte_*>"),
    "verbs": (*CORE, "port.h", "<infiniband/*>", "<roce/*> of verbs"),
    "<roce/*> of verbs": (*CORE, "port.h", "<infiniband/*>"),
    "endpoint": (*TRANSPORT, "<infiniband/*>", "<roce/*> of verbs", "<roce/*> of endpoint"),
    "<roce/*> of endpoint": (*TRANSPORT, "<infiniband/*>", "<roce/*> of verbs"),
    "ibverbs": (*CORE, "<roce/*> of verbs", "<roce/*> of endpoint", "<infiniband/*>"),
    "app/common": ("<roce/*> of verbs", "<roce/*> of endpoint", "<infiniband/*>"),
    "app": ("<roce/*> of verbs", "<roce/*> of endpoint", "<infiniband/*>", "app/common"),
    "examples": ("<roce/*> of verbs", "<roce/*> of endpoint", "<infiniband/*>"),
    "bench": (*TRANSPORT, "endpoint", "<rte_*>", "<infiniband/*>", "<roce/*> of verbs", "<roce/*> of endpoint",
              "app/common", "tests"),
}
# These layers get the time as an argument and never wait: no clock, no threads.
TIMELESS = ("wire", "memory", "cq", "net", "qp", "engine")
CLOCKS = ("chrono", "ctime", "time.h", "thread", "mutex", "condition_variable")
# Folders whose code may name DPDK's functions and types.
DPDK_FOLDERS = ("lib/transport/port/dpdk/", "bench/", "tests/dpdk/")

MAX_LINES = 400
HEADER_WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")

# Written in two pieces, so that this file does not find itself.
BANNED = [(re.compile(pattern), word) for pattern, word in (
    (r"\bTO" r"DO\b", "TO" "DO"), (r"\bFIX" r"ME\b", "FIX" "ME"), (r"\bXX" r"X\b", "XX" "X"),
    (r"\bHA" r"CK\b", "HA" "CK"), (r"\busing\s+namespace\s+s" r"td\b", "using namespace s" "td"),
    (r"#\s*define\s+(private|protected)\b", "redefined access"),
    (r"\bfriend\s+(class|struct)\b", "friend cl" "ass"), (r"\.\./sha" r"red\b", "../sha" "red"))]
DPDK_NAME = re.compile(r"\b(rte_|RTE_)\w+")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
SPDX = "SPDX-License-Identifier: BSD-3-Clause"
SCRIPT_FOLDERS = ("scripts", ".ci")


def layer_of(path):
    """The layer of a project file; None where no rule holds (tests)."""
    text = path.as_posix()
    if text == "lib/transport/port/port.h":
        return "port.h"
    if text.startswith("lib/transport/port/dpdk/"):
        return "port/dpdk"
    if text.startswith("lib/transport/"):
        return path.parts[2]
    if text.startswith(("lib/verbs/include/", "lib/endpoint/include/")):
        return f"<roce/*> of {path.parts[1]}"
    if path.parts[0] == "lib":
        return path.parts[1]
    if path.parts[0] == "app":
        return "app/common" if path.parts[1] == "common" else "app"
    return path.parts[0] if path.parts[0] in ("bench", "examples") else None


def target_layer(root, path, name):
    """(layer, resolved file) that an #include leads to; (None, None) for a foreign header."""
    target = source_tree.resolve(root, path, name)
    if target is not None:
        return layer_of(target) or target.parts[0], target
    if name.startswith("rte_"):
        return "<rte_*>", None
    if name.startswith("infiniband/"):
        return "<infiniband/*>", None
    return None, None


def same_layer(path, layer, target):
    """A program is a layer of its own: app/bw sees nothing of app/pingpong."""
    return layer != "app" or target is None or target.parts[:2] == path.parts[:2]


def check_includes(root, path, text):
    """Include directions of one C++ file."""
    layer = layer_of(path)
    if layer is not None and layer not in LAYERS:
        yield 1, f"folder '{layer}' is not in the layer table of tests/tidy/check_tree.py"
        return
    for number, bracket, name in source_tree.includes(text):
        wanted, target = target_layer(root, path, name)
        if wanted is None:
            if bracket == '"':
                yield number, f'"{name}" is none of our files'
            elif layer in TIMELESS and name in CLOCKS:
                yield number, f"{layer} gets the time as an argument: no <{name}>"
        elif layer is None:
            if wanted == "<rte_*>" and not path.as_posix().startswith(DPDK_FOLDERS):
                yield number, f"<{name}> is for {', '.join(DPDK_FOLDERS)} only"
        elif wanted == layer and same_layer(path, layer, target):
            continue
        elif wanted not in LAYERS[layer]:
            allowed = ", ".join(LAYERS[layer]) or "nothing else of ours"
            yield number, f"{layer} may not include {name} ({wanted}); it may include: {allowed}"


def check_code(path, text):
    """What holds for a C++ file besides its includes."""
    if not text.startswith("// ") or text.startswith("// SPDX"):
        yield 1, "the file does not open with a paragraph that says what it is"
    if path.suffix == ".h" and "#pragma once" not in text.splitlines():
        yield 1, "header without #pragma once"
    if not path.as_posix().startswith(DPDK_FOLDERS):
        code = COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), text)
        for number, line in enumerate(code.splitlines(), 1):
            match = DPDK_NAME.search(line)
            if match and not source_tree.INCLUDE_LINE.match(line):
                yield number, f"DPDK's {match.group()} outside {', '.join(DPDK_FOLDERS)}"


def check_text(path, text):
    """What holds for every file."""
    for number, line in enumerate(text.splitlines(), 1):
        if line != line.rstrip():
            yield number, "white space at the end of the line"
        if "\t" in line and path.name != ".gitmodules" and path.suffix != ".scd":
            yield number, "tab"
        for pattern, word in BANNED:
            if pattern.search(line):
                yield number, f"'{word}' has no place here"
    if text and not text.endswith("\n"):
        yield text.count("\n") + 1, "no newline at the end of the file"


def is_program_text(path, text):
    """C++, Python and shell: what carries a licence line and a limit of length."""
    return (source_tree.is_code(path) or path.suffix in (".py", ".sh") or
            (path.parts[0] in SCRIPT_FOLDERS and text.startswith("#!")))


def check_file(root, path):
    """All findings in one file, as (line, what)."""
    text = (root / path).read_text(encoding="utf-8", errors="replace")
    yield from check_text(path, text)
    if is_program_text(path, text):
        lines = text.splitlines()
        if not any(SPDX in line for line in lines[:40]):
            yield 1, f"no line '{SPDX}'"
        if len(lines) > MAX_LINES:
            yield MAX_LINES, f"{len(lines)} lines; the limit is {MAX_LINES}"
    if source_tree.is_code(path):
        yield from check_code(path, text)
        yield from check_includes(root, path, text)


def dpdk_flags():
    """Compiler flags that make <rte_*> visible; empty without DPDK."""
    try:
        answer = subprocess.run(["pkg-config", "--cflags", "libdpdk"], capture_output=True,
                                text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return [flag.replace("-I", "-isystem", 1) for flag in answer.stdout.split()
            if not flag.startswith("-march")]


def header_flags(path, dpdk):
    """Compiler flags for a header alone: a layer sees the folders it may include from, no more."""
    layer = layer_of(path)
    roots = ["lib/transport"]
    if layer not in TRANSPORT:
        roots += ["lib/verbs/include", "lib/verbs"]
    if layer not in TRANSPORT and layer not in ("verbs", "<roce/*> of verbs"):
        roots += ["lib/endpoint/include", "lib/endpoint", "lib", "app", "bench", "tests"]
    sees_dpdk = layer is None or "<rte_*>" in LAYERS[layer]
    golden = ['-DROCE_GOLDEN_DIR=""'] if layer is None else []  # tests/meson.build defines it
    return ["-march=x86-64-v2", *golden, *[f"-I{root}" for root in roots], *(dpdk if sees_dpdk else [])]


def compile_header(root, path, compiler, flags):
    """None if the header compiles alone, else the first line that the compiler has to say."""
    command = [*compiler, "-std=c++20", "-fsyntax-only", *HEADER_WARNINGS, *flags, "-x", "c++", "-"]
    answer = subprocess.run(command, cwd=root, input=f'#include "{path.as_posix()}"\n', text=True,
                            capture_output=True, check=False)
    if answer.returncode == 0:
        return None
    said = [line for line in answer.stderr.splitlines() if "error" in line] or ["unknown error"]
    return f"does not compile alone: {said[0]}"


def check_headers(root, paths, compiler, cache_folder):
    """Findings of the headers that do not compile alone; what has passed once is remembered."""
    cache = source_tree.GoodCache(cache_folder) if cache_folder else None
    dpdk = dpdk_flags()
    version = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=True)
    work = []
    for path in paths:
        flags = header_flags(path, dpdk)
        salt = (version.stdout, *HEADER_WARNINGS, *flags)
        key = source_tree.GoodCache.key(root, path, *salt) if cache else ""
        if not cache or not cache.has(key):
            work.append((path, flags, key))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda job: compile_header(root, job[0], compiler, job[1]), work)
        for (path, _, key), finding in zip(work, results):
            if finding:
                yield path, 1, finding
            elif cache:
                cache.add(key)


def check_tree(root, compiler=None, cache_folder=None):
    """All findings as (path, line, what); `compiler` None leaves out the compiling of headers."""
    paths = source_tree.all_files(root)
    for path in paths:
        for line, what in check_file(root, path):
            yield path, line, what
    if compiler:
        headers = [path for path in paths if source_tree.is_code(path) and path.suffix == ".h"]
        known = [path for path in headers if layer_of(path) is None or layer_of(path) in LAYERS]
        yield from check_headers(root, known, compiler, cache_folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("root", nargs="?", default=".", type=Path)
    parser.add_argument("--cache", help="folder that remembers headers which have passed")
    parser.add_argument("--compiler", default="g++", help="C++ compiler, with arguments")
    parser.add_argument("--no-compile", action="store_true", help="do not compile the headers")
    options = parser.parse_args()
    compiler = None if options.no_compile else options.compiler.split()
    findings = 0
    for path, line, what in check_tree(options.root.resolve(), compiler, options.cache):
        print(f"{path}:{line}: {what}")
        findings += 1
    if findings:
        print(f"{findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
