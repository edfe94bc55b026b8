"""Checks the documents: links inside the tree lead somewhere, and the files, folders and programs
that they name exist.

    check_docs.py ROOT [PROGRAM...]

PROGRAMs are the names that documents may use after build/bin/. Prints one line a finding,
`path:line: what`, and exits with 1 if there is any.

SPDX-License-Identifier: BSD-3-Clause
"""

import re
import sys
from pathlib import Path

import source_tree

LINK = re.compile(r"\]\(([^()\s]+)\)")
# A path in a document counts as one of the tree if it starts like this. Wild cards, place holders
# and a following :LINE are left out by the character class.
NAMED_PATH = re.compile(r"(?<![\w./<-])((?:scripts|config|docs|lib|app|bench|tests|\.ci)/[\w./-]*\w)"
                        r"(?![\w/*{<]|-\w)")
PROGRAM = re.compile(r"\bbuild/bin/([\w-]+)")


def anchors(text):
    """The anchors that a web view makes of the headings in `text`."""
    found = set()
    for heading in re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE):
        found.add(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-"))
    return found


def check_link(root, path, link):
    """What is wrong with `link` in the document `path`; None: nothing, or it leads outside."""
    if re.match(r"[a-z]+:", link):
        return None
    name, _, anchor = link.partition("#")
    target = (root / path.parent / name).resolve() if name else root / path
    if not target.is_relative_to(root) or not target.exists():
        return f"link to {link}: there is no such file"
    if anchor and target.suffix == ".md" and anchor not in anchors(target.read_text("utf-8")):
        return f"link to {link}: {name or path} has no heading #{anchor}"
    return None


def check_document(root, path, programs):
    """Findings of one document, as (line, what)."""
    for number, line in enumerate((root / path).read_text("utf-8").splitlines(), 1):
        for link in LINK.findall(line):
            what = check_link(root, path, link)
            if what:
                yield number, what
        without_links = LINK.sub("", line)
        for name in NAMED_PATH.findall(without_links):
            if not (root / name).exists():
                yield number, f"{name} does not exist"
        for name in PROGRAM.findall(without_links):
            if name not in programs:
                yield number, f"build/bin/{name} is no program of this tree"


def check_docs(root, programs):
    """All findings as (path, line, what)."""
    for path in source_tree.all_files(root):
        if path.suffix == ".md" and path.parts[0] != "tests":
            for line, what in check_document(root, path, programs):
                yield path, line, what


def main():
    root, programs = Path(sys.argv[1]).resolve(), sys.argv[2:]
    findings = [f"{path}:{line}: {what}" for path, line, what in check_docs(root, programs)]
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
