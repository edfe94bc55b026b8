"""Makes the table of docs/interop.md from the report of rxe-uroce-peer.

    table.py REPORT.json

Cells that differ in path MTU and address family only share a row.

SPDX-License-Identifier: BSD-3-Clause
"""

import json
import sys
from pathlib import Path

TRANSPORTS = {"rc": "RC", "uc": "UC", "ud": "UD"}
OPERATIONS = {"send": "SEND", "send_imm": "SEND with immediate", "send_inv": "SEND with invalidate",
              "write": "WRITE", "write_imm": "WRITE with immediate", "read": "READ",
              "fetch_add": "fetch-and-add", "cmp_swap": "compare-and-swap"}
KINDS = {"sizes": "each size by itself", "burst": "48 at once", "wrap": "PSNs wrap",
         "rnr": "receive posted 300 ms late", "rnr_limit": "receive never posted",
         "bad_key": "unknown rkey", "bad_range": "past the region's end",
         "mr_right": "region lacks the right", "qp_right": "queue pair lacks the right",
         "too_long": "200 bytes into a receive of 100", "gone": "queue pair destroyed before",
         "srq": "each size, shared receive queue", "window": "memory window, then revoked",
         "multicast": "each size, to a group", "bad_qkey": "wrong Q_Key, then the right one"}


def rows(cells):
    """(what, how, path MTUs, families, {requester: verdicts}) in the order of the report."""
    found = {}
    for cell in cells:
        transport, operation, kind, mtu, family, requester = cell["cell"].split()
        row = found.setdefault((transport, operation, kind), ([], [], {}))
        for value, values in ((mtu, row[0]), (family.replace("ip", "IP"), row[1])):
            if value not in values:
                values.append(value)
        row[2].setdefault(requester, []).append(cell["verdict"])
    for (transport, operation, kind), row in found.items():
        yield (f"{TRANSPORTS[transport]} {OPERATIONS[operation]}", KINDS[kind], *row)


def verdict(verdicts):
    """"6 passed", or what there is of each."""
    return ", ".join(f"{verdicts.count(word)} {word}" for word in ("passed", "deviates", "failed")
                     if word in verdicts)


def table(cells):
    lines = ["| operation | how | path MTU | addresses | uroce requests | the peer requests |",
             "|---|---|---|---|---|---|"]
    for what, how, mtus, families, verdicts in rows(cells):
        lines.append(f"| {what} | {how} | {', '.join(mtus)} | {', '.join(families)} | "
                     f"{verdict(verdicts.get('uroce', []))} | {verdict(verdicts.get('peer', []))} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(json.loads(Path(sys.argv[1]).read_text("utf-8"))), end="")
