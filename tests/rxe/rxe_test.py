"""uroce and Linux' Soft-RoCE on one wire: the matrix of docs/interop.md, the same under faults and in a
VLAN, and a guest that vanishes.

`--full` adds what takes minutes.

SPDX-License-Identifier: BSD-3-Clause
"""

import collections
import json
import subprocess
import sys
import time

import world
from cells import CellTest
from guest import (KERNEL_IP, VLAN, VLAN_GUEST_IP, VLAN_GUEST_IP6, VLAN_UROCE_IP, VLAN_UROCE_IP6)
from world import IMAGE, TSHARK, RxeTest, harness

FULL = "--full" in sys.argv
# What a lossy run is about; the kinds that must fail are told apart by timing that loss disturbs.
UNDER_FAULTS = ("rc .* (sizes|wrap|burst|rnr|srq) 1024 ipv4" if FULL else
                "rc .* burst 1024 ipv4|rc .* wrap 1024 ipv4 uroce")
FAULTS = "loss=1%,dup=1%,reorder=1%,corrupt=1%,seed={}"
SEEDS = (1, 2, 3) if FULL else (1,)
# rxe0 has the addresses of its interface's VLANs too.
VLAN_UP = f"""
modprobe 8021q
/usr/bin/ip link add link eth0 name eth0.{VLAN} type vlan id {VLAN}
echo 0 >/proc/sys/net/ipv6/conf/eth0.{VLAN}/accept_dad
/usr/bin/ip link set eth0.{VLAN} up
/usr/bin/ip addr add {VLAN_GUEST_IP}/24 dev eth0.{VLAN}
/usr/bin/ip addr add {VLAN_GUEST_IP6}/64 dev eth0.{VLAN} nodad
"""
IN_VLAN = "^(rc|uc|ud) (send|write|read|fetch_add) (sizes|multicast) 1024 "

setUpModule = world.prepare


class Cells(CellTest):
    """The matrix."""

    def test_every_cell(self):
        cells = self.run_captured()
        (IMAGE / "matrix.json").write_text(json.dumps(cells, indent=1), "utf-8")

    def test_under_faults(self):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                cells = self.run_cells("--fault", FAULTS.format(seed), only=UNDER_FAULTS)
                totals = collections.Counter()
                for cell in cells:
                    totals.update(cell["counters"])
                print(dict(totals))
                for what in ("lost", "duplicated", "corrupted", "reordered"):
                    self.assertGreater(totals[f"faults_{what}"], 0)

    def test_in_a_vlan(self):
        code, said = self.guest.run(VLAN_UP)
        self.assertEqual((code, said), (0, ""))
        self.addCleanup(self.guest.run, f"/usr/bin/ip link del eth0.{VLAN}")
        self.run_captured("--vlan", VLAN, "--set", f"address.ipv4={VLAN_UROCE_IP}/24", "--set",
                          f"address.ipv6={VLAN_UROCE_IP6}/64", only=IN_VLAN,
                          peer=f"-n eth0.{VLAN}")
        done = subprocess.run([*TSHARK, "-r", self.folder / "cells.pcap", "-Y",
                               f"udp.port == 4791 && !(vlan.id == {VLAN})"], text=True,
                              capture_output=True, check=True)
        self.assertEqual(done.stdout, "")


class VanishedGuest(RxeTest):
    """The other machine is gone from one moment to the next, in the middle of a run. (The reverse is
    in the cells of kind gone: the stock tools ask for 7 retries, which Soft-RoCE takes as for ever.)"""

    RUN = ("-m", 1024, "-s", 3001, "-n", 1000000)

    def test_uroce_ends_by_its_retries(self):
        server = self.start_server(harness.PINGPONG, *self.settings, *self.RUN, **self.ours)
        run = " ".join(map(str, self.RUN))
        self.guest.start(f"ibv_rc_pingpong -d rxe0 -g 1 {run} -p {self.port} {KERNEL_IP}")
        self.wait_until_said(server, "remote address")
        time.sleep(0.5)
        self.guest.kill()
        ended = server.end(30)
        # By the SEND under way, or, when none was, by the silence.
        self.one_line_error(ended, 1)
        self.assertRegex(ended.err, "transport retry counter exceeded|peer silent")


if __name__ == "__main__":
    sys.argv = [argument for argument in sys.argv if argument != "--full"]
    harness.main()
