"""What the checks of the tree share: which files are ours, which of them a file includes, and a
cache of things already found good, keyed by content.

SPDX-License-Identifier: BSD-3-Clause
"""

import hashlib
import re
from pathlib import Path

CODE_FOLDERS = ("lib", "app", "bench", "tests", "examples")
CODE_SUFFIXES = (".h", ".cc")
SKIPPED_FOLDERS = re.compile(r"^(build.*|\..+|__pycache__)$")
KEPT_DOT_FOLDERS = (".ci",)
BINARY_SUFFIXES = (".pcap", ".png", ".svg", ".bin")

# Where an #include is looked up, in this order, after the including file's own folder.
INCLUDE_ROOTS = ("lib/transport", "lib/verbs/include", "lib/endpoint/include", "lib", "lib/verbs",
                 "lib/endpoint", "app", "bench", "tests", ".")

INCLUDE_LINE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def all_files(root):
    """Every text file of the project below `root`, as sorted paths relative to it."""
    found = []
    pending = [root]
    while pending:
        for entry in pending.pop().iterdir():
            if entry.is_symlink():
                continue
            if entry.is_dir():
                if entry.name in KEPT_DOT_FOLDERS or not SKIPPED_FOLDERS.match(entry.name):
                    pending.append(entry)
            elif entry.suffix not in BINARY_SUFFIXES:
                found.append(entry.relative_to(root))
    return sorted(found)


def is_code(path):
    """True for the C++ files that the rules for code hold for."""
    return path.suffix in CODE_SUFFIXES and path.parts[0] in CODE_FOLDERS


def includes(text):
    """(line number, '<' or '"', name) of each #include in `text`."""
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE_LINE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def resolve(root, path, name):
    """The project's file that `name`, included from `path`, stands for; None: not ours."""
    for folder in (path.parent, *map(Path, INCLUDE_ROOTS)):
        candidate = folder / name
        if (root / candidate).is_file() and ".." not in candidate.parts:
            return candidate
    return None


def closure(root, path):
    """`path` and all of the project's files that it includes, directly or not; sorted."""
    seen = set()
    pending = [path]
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        for _, _, name in includes((root / current).read_text(encoding="utf-8", errors="replace")):
            target = resolve(root, current, name)
            if target is not None:
                pending.append(target)
    return sorted(seen)


class GoodCache:
    """Remembers what was found good, as empty files named by a hash; bad results are not kept."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    @staticmethod
    def key(root, path, *salt):
        """Changes with `path`, with the content of all that it includes, and with `salt`."""
        digest = hashlib.sha256("\0".join((str(path), *salt)).encode())
        for file in closure(root, path):
            content = (root / file).read_bytes()
            digest.update(f"\0{file}\0{len(content)}\0".encode())
            digest.update(content)
        return digest.hexdigest()

    def has(self, key):
        return (self.folder / key).exists()

    def add(self, key):
        (self.folder / key).touch()
