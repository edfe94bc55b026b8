"""Fills the options into a manual page and gives it to scdoc.

    man_page.py TEMPLATE OUTPUT VERSION [PROGRAM]

A line `@OPTIONS@` of the template becomes the flags of PROGRAM, as its --help tells them; the line
`@SETTINGS@` the settings, as its --show-config tells them. So a page cannot differ from the program.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import re
import subprocess
import sys

FLAG = re.compile(r"^  (-\S+)(?: (.*?))?(?:  +(.*))?$")


def escaped(text):
    return re.sub(r"([\\*_#`~\[\]<>])", r"\\\1", text).replace(".", "\\.") if text[:1] == "." else \
        re.sub(r"([\\*_#`~\[\]<>])", r"\\\1", text)


def output_of(*command):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("UROCE_")}
    environment["XDG_RUNTIME_DIR"] = "/run/user/UID"
    return subprocess.run(command, capture_output=True, text=True, check=True,
                          env=environment).stdout


def options(program):
    """The flags with their texts, each group under a heading of its own."""
    lines, out, skip = output_of(program, "--help").splitlines(), [], True
    for line in lines:
        if re.match(r"^\S.*:$", line):
            skip = line.startswith("Positionals")
            if not skip and not line.startswith("Options"):
                out.append(f"## {escaped(line[:-1])}\n")
            continue
        flag = None if skip else FLAG.match(line)
        if flag:
            names = ", ".join(f"*{escaped(n)}*" for n in flag[1].split(","))
            value = f" _{escaped(flag[2])}_" if flag[2] else ""
            out.append(f"{names}{value}\n\t{escaped(flag[3] or '')}\n")
        elif not skip and line.strip() and out:
            before = out[-1].rstrip("\n")
            space = "" if before.endswith("\t") else " "
            out[-1] = before + space + escaped(line.strip()) + "\n"
    return "\n".join(out)


def settings(program):
    """The settings with their defaults."""
    out, section = [], ""
    for line in output_of(program, "--show-config").splitlines():
        heading = re.match(r"^\[(\w+)\]", line)
        if heading:
            section = heading[1]
            continue
        setting = re.match(r"^([\w.]+) = (.*?)\s*(?:#.*)?$", line)
        if setting:
            key = setting[1] if "." in setting[1] else f"{section}.{setting[1]}"
            variable = "UROCE_" + key.upper().replace(".", "_")
            out.append(f"*{escaped(key)}* = {escaped(setting[2])}\n\tvariable {escaped(variable)}\n")
    return "\n".join(out)


def main():
    template, output, version = sys.argv[1:4]
    with open(template, encoding="utf-8") as file:
        text = file.read().replace("@VERSION@", version)
    if "@OPTIONS@" in text:
        text = text.replace("@OPTIONS@", options(sys.argv[4]))
    if "@SETTINGS@" in text:
        text = text.replace("@SETTINGS@", settings(sys.argv[4]))
    page = subprocess.run(["scdoc"], input=text, capture_output=True, text=True, check=False)
    if page.returncode != 0:
        sys.exit(f"{template}: {page.stderr}")
    with open(output, "w", encoding="utf-8") as file:
        file.write(page.stdout)


if __name__ == "__main__":
    main()
