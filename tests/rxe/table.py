"""Makes the table of docs/interop.md from the report of rxe-uroce-peer.

    table.py REPORT.json

Cells that differ in operation, path MTU and address family only share a row.

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
    """(transport, kind) -> [operations, path MTUs, families, {requester: verdicts}], where operations
    that went through the same with the same result share a row."""
    by_operation = {}
    for cell in cells:
        transport, operation, kind, mtu, family, requester = cell["cell"].split()
        mtus, families, verdicts = by_operation.setdefault((transport, kind, operation), ([], [], {}))
        for value, values in ((mtu, mtus), (family.replace("ip", "IP"), families)):
            if value not in values:
                values.append(value)
        verdicts.setdefault(requester, []).append(cell["verdict"])
    merged = {}
    for (transport, kind, operation), (mtus, families, verdicts) in by_operation.items():
        words = tuple(sorted((end, *set(said)) for end, said in verdicts.items()))
        row = merged.setdefault((transport, kind, *mtus, *families, words),
                                (transport, kind, [], mtus, families, {}))
        row[2].append(OPERATIONS[operation])
        for end, said in verdicts.items():
            row[5].setdefault(end, []).extend(said)
    return merged.values()


def verdict(verdicts):
    """"6 passed", or what there is of each."""
    return ", ".join(f"{verdicts.count(word)} {word}" for word in ("passed", "deviates", "failed")
                     if word in verdicts)


def table(cells):
    lines = ["| how | operations | path MTU | addresses | uroce requests | the peer requests |",
             "|---|---|---|---|---|---|"]
    for transport, kind, operations, mtus, families, verdicts in rows(cells):
        lines.append(f"| {TRANSPORTS[transport]}, {KINDS[kind]} | {', '.join(operations)} | "
                     f"{', '.join(mtus)} | {', '.join(families)} | "
                     f"{verdict(verdicts.get('uroce', []))} | {verdict(verdicts.get('peer', []))} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(json.loads(Path(sys.argv[1]).read_text("utf-8"))), end="")
