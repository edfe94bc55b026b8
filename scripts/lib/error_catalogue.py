"""Finds the errors that users see in the sources, and writes or checks their catalogue.

    error_catalogue.py [--check] [ROOT]

Every set-up call that fails says what happened, with the value, what is allowed, and what to do (the
rule of Error in lib/transport/base/result.h); posts say it by post_error(). Such a sentence has an
identifier that follows from its words, and the tests that provoke it contain a piece of it: two words in
a row or more, together at least 12 characters. That a test quotes an error is a hint, no proof. Errors
that no test quotes are listed with the reason in tests/docs/unprovoked_errors.txt; --check fails when an
error is neither quoted nor listed, or both.

SPDX-License-Identifier: BSD-3-Clause
"""

import hashlib
import re
import sys
from pathlib import Path

CATALOGUE = "docs/errors.md"
UNPROVOKED = "tests/docs/unprovoked_errors.txt"
CALL = re.compile(r"\b(?:failure|file_failure)\(\s*|\bpost_error = |\brefuse\(\s*(?=[^,]*,\s*\")|"
                  r"roce::Error\{\s*")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
AREAS = (("lib/transport/port", "Port"), ("lib/transport", "Transport"), ("lib/verbs", "Verbs"),
         ("lib/endpoint", "Settings"), ("lib/ibverbs", "Unmodified programs"), ("app", "Programs"))
# The manual page that tells more, by the beginning of the file's name.
PAGES = (("app/bw", "uroce-bw(1)"), ("app/pingpong", "uroce-pingpong(1)"), ("app/top", "uroce-top(1)"),
         ("app/doctor", "uroce-doctor(1)"), ("app/devinfo", "uroce-devinfo(1)"), ("app/uroce", "uroce(1)"),
         ("app", "uroce-bw(1), uroce-pingpong(1)"), ("lib/ibverbs", "uroce(1)"),
         ("lib/endpoint", "uroce.toml(5)"), ("lib/transport/port", "uroce.toml(5)"))
LEAST = 12  # characters of a piece that tells an error from others


def argument_text(text, start):
    """The source from `start` to the end of the call or statement."""
    depth, at, quoted = 1, start, False
    while at < len(text) and depth > 0:
        c = text[at]
        if quoted:
            at += 1 if c == "\\" else 0
            quoted = c != '"'
        elif c == '"':
            quoted = True
        elif c in "({":
            depth += 1
        elif c in ")}":
            depth -= 1
        elif c == ";":
            break
        at += 1
    return text[start:at]


def template_of(source):
    """The sentence, with ... for each value."""
    pieces, end = [], 0
    for literal in LITERAL.finditer(source):
        between = source[end:literal.start()]
        if pieces and between.strip():
            pieces.append("...")
        pieces.append(re.sub(r"\{[^}]*\}", "...", literal[1]).replace('\\"', '"'))
        end = literal.end()
    sentence = "".join(pieces)
    return re.sub(r"(\.\.\.)+", "...", sentence)


def find_errors(root):
    """(identifier, code, sentence, file), in the order of the areas."""
    seen, found = set(), []
    for prefix, area in AREAS:
        for path in sorted((root / prefix).rglob("*.cc")) + sorted((root / prefix).rglob("*.h")):
            name = path.relative_to(root).as_posix()
            if prefix == "lib/transport" and name.startswith("lib/transport/port"):
                continue
            text = path.read_text("utf-8")
            for call in CALL.finditer(text):
                source = argument_text(text, call.end())
                sentence = template_of(source)
                if len(sentence) < LEAST or " " not in sentence or sentence in seen:
                    continue
                seen.add(sentence)
                code = re.match(r"\s*(E[A-Z]+)", source)
                identifier = "E" + hashlib.sha1(sentence.encode()).hexdigest()[:5].upper()
                found.append((area, identifier, code[1] if code else "", sentence, name))
    return found


def pieces_of(sentence):
    """The parts between the values that are long enough to know the error by."""
    parts = [p.strip(" ;:,.'\"") for p in re.split(r"\.\.\.", sentence)]
    return [p for p in parts if len(p) >= LEAST]


def tests_text(root):
    texts = {}
    for path in sorted((root / "tests").rglob("*")):
        if path.suffix in (".cc", ".py") and path.is_file():
            joined = re.sub(r'"\s*\n\s*f?"', "", path.read_text("utf-8"))
            texts[path.relative_to(root).as_posix()] = joined
    return texts


def windows(piece):
    """Runs of words of a piece, from long to short, that a test may quote."""
    words = piece.split()
    for length in range(len(words), 1, -1):
        for start in range(len(words) - length + 1):
            run = " ".join(words[start:start + length])
            if len(run) >= LEAST:
                yield run


def provoked_by(sentence, texts):
    """The first test that quotes it; '' if none does."""
    for piece in pieces_of(sentence):
        for run in windows(piece):
            for name, text in texts.items():
                if run in text:
                    return name
    return ""


def split_remedy(sentence):
    """(what happened and the limit, what to do)."""
    what, _, remedy = sentence.rpartition("; ")
    return (what, remedy) if what else (sentence, "")


def page_of(name):
    return next((page for prefix, page in PAGES if name.startswith(prefix + "/")), "")


def read_unprovoked(root):
    """{identifier: reason}"""
    lines = (root / UNPROVOKED).read_text("utf-8").splitlines()
    pairs = (line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    return {identifier: reason for identifier, reason in pairs}


def gaps(root):
    """What is wrong between the errors, the tests and the list; a sentence each."""
    texts, listed = tests_text(root), read_unprovoked(root)
    for _, identifier, _, sentence, name in find_errors(root):
        quoted, excused = provoked_by(sentence, texts), listed.pop(identifier, None)
        if not quoted and not excused:
            yield f"{name}: no test quotes {identifier} '{sentence}', and {UNPROVOKED} does not say why"
        if quoted and excused:
            yield f"{UNPROVOKED}: {identifier} is quoted by {quoted}; take it out"
    for identifier in listed:
        yield f"{UNPROVOKED}: there is no error {identifier}; take it out"


def catalogue(root):
    """The document."""
    texts, errors = tests_text(root), find_errors(root)
    lines = [
        "# Errors", "",
        "What uroce says when something cannot be, with the value, what is allowed and what to do. Three "
        "dots stand", "for values. The identifier follows from the words. Made from the sources by",
        "`scripts/lib/error_catalogue.py`; a test compares it with them.", ""]
    area = None
    for one, identifier, code, sentence, name in errors:
        if one != area:
            area = one
            lines += [f"## {area}", "", "| id | errno | what happened, and the limit | what to do | "
                      "manual page | where, and the test that provokes it |", "|---|---|---|---|---|---|"]
            lines[-2:-2] = []
        what, remedy = (text.replace("|", "\\|") for text in split_remedy(sentence))
        test = provoked_by(sentence, texts)
        where = f"{name}, {test}" if test else name
        lines.append(f"| {identifier} | {code} | {what} | {remedy} | {page_of(name)} | {where} |")
    text = "\n".join(lines) + "\n"
    return re.sub(r"\|\n## ", "|\n\n## ", text)


def main():
    check = "--check" in sys.argv
    roots = [a for a in sys.argv[1:] if not a.startswith("--")]
    root = Path(roots[0] if roots else ".").resolve()
    text, file = catalogue(root), root / CATALOGUE
    if not check:
        file.write_text(text, "utf-8")
    if not file.exists() or file.read_text("utf-8") != text:
        print(f"{CATALOGUE} is not what the sources say; run scripts/lib/error_catalogue.py")
        return 1
    wrong = list(gaps(root))
    print(*wrong, f"{len(find_errors(root))} errors, {len(wrong)} gaps", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
