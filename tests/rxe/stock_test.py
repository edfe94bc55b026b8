"""Stock programs in the guest: the pingpongs of ibverbs-utils and perftest's measurements, each as
client and as server, against the same program under `uroce run` and against uroce-pingpong.

Numbers that the programs report are printed as lines that begin with `result:`; of an emulated
machine they say nothing but that the program came to its end.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import re
import subprocess

import world
from guest import GUEST_IP, KERNEL_IP
from world import LEFT_OVER, PATIENCE, RxeTest, World, harness

UROCE = os.environ.get("UROCE_LAUNCHER", str(harness.ROOT / "build/bin/uroce"))
LIMIT_S = 60
PINGS = "-n 30"
# GID 1 is the IPv4 address, 2 the IPv6 one.
PINGPONGS = {
    "ibv_rc_pingpong": ("-g 1 -m 1024 -s 3001", "-g 2 -m 1024 -s 4096", "-g 1 -m 4096 -s 20000"),
    "ibv_uc_pingpong": ("-g 1 -m 1024 -s 3001", "-g 2 -m 4096 -s 20000"),
    "ibv_ud_pingpong": ("-g 1 -s 1024", "-g 2 -s 2047"),
    "ibv_srq_pingpong": ("-g 1 -m 1024 -s 3001 -q 4", "-g 2 -m 1024 -s 1024 -q 16"),
}
# What makes uroce-pingpong the like of each.
LIKE = {"ibv_rc_pingpong": (), "ibv_uc_pingpong": ("--transport", "uc"),
        "ibv_ud_pingpong": ("--transport", "ud", "-m", 4096), "ibv_srq_pingpong": ("--use-srq",)}
# -F: the CPU's clock may change. Many messages are under way at once, and the guest is slow.
COMMON = f"-F -u {PATIENCE}"
PERFTESTS = {
    "ib_send_bw": ("-x 1 -s 5000 -n 20", "-x 2 -m 1024 -s 65536 -n 20 -b", "-x 1 -c UC -s 5000 -n 20",
                   "-x 1 -c UD -s 1024 -n 20", "-x 1 -s 1024 -n 20 --use-srq -q 2"),
    "ib_send_lat": ("-x 1 -s 64 -n 20", "-x 2 -s 5000 -n 20 -e", "-x 1 -c UC -s 64 -n 20",
                    "-x 1 -c UD -s 64 -n 20"),
    "ib_write_bw": ("-x 1 -s 5000 -n 20", "-x 2 -m 1024 -s 65536 -n 20 -b -q 2",
                    "-x 1 -c UC -s 5000 -n 20"),
    "ib_write_lat": ("-x 1 -s 64 -n 20", "-x 2 -s 5000 -n 20", "-x 1 -c UC -s 64 -n 20"),
    "ib_read_bw": ("-x 1 -s 5000 -n 20", "-x 2 -m 1024 -s 65536 -n 20 -b"),
    "ib_read_lat": ("-x 1 -s 64 -n 20", "-x 2 -s 5000 -n 20"),
    "ib_atomic_bw": ("-x 1 -n 20", "-x 2 -n 20 -A CMP_AND_SWAP"),
    "ib_atomic_lat": ("-x 1 -n 20", "-x 2 -n 20 -A CMP_AND_SWAP"),
}
DIRECTIONS = {False: "the guest asks", True: "the guest serves"}

setUpModule = world.prepare


class StockTest(RxeTest):
    """A stock program in the guest and one of ours."""

    def under_uroce(self):
        """What starts a program over uroce."""
        return [UROCE, "run", *self.settings, "--capture", self.capture(), "--"]

    def capture(self):
        """A new file."""
        self.captures.append(self.folder / f"{len(self.captures)}.pcap")
        return self.captures[-1]

    def setUp(self):
        super().setUp()
        self.captures = []

    def meet(self, stock, ours, guest_serves, launcher=()):
        """(our end, what the guest's end said), both ended well."""
        self.port = harness.free_port()
        inside = [*World.wire.inside, *launcher]
        if guest_serves:
            job = self.guest.start(f"{stock} -p {self.port}")
            self.wait_for_guest_to_listen(self.port)
            ended = self.start_client(*ours, host=GUEST_IP, inside=inside).end(LIMIT_S)
        else:
            server = self.start_server(*ours, inside=inside)
            job = self.guest.start(f"{stock} -p {self.port} {KERNEL_IP}")
            ended = server.end(LIMIT_S)
        code, said = job.end(LIMIT_S if ended.code == 0 else 1)
        if code != 0:
            self.guest.run(LEFT_OVER)
        self.assertEqual((ended.code, code), (0, 0), f"{ended}\n\nguest: {said}")
        self.assertNotRegex(ended.err, "(?m)^uroce", ended)
        return ended, said

    def pingpong_against_itself(self, program, flags):
        """Both directions, under `uroce run` here; both ends look at the data."""
        for guest_serves, direction in DIRECTIONS.items():
            what = f"{program} {flags}, {direction}"
            with self.subTest(what):
                ended, said = self.meet(f"{program} -d rxe0 {flags} {PINGS} -c",
                                        [program, "-d", "uroce0", *flags.split(), *PINGS.split(), "-c"],
                                        guest_serves, self.under_uroce())
                self.check_pings(what, ended.out, said)

    def check_pings(self, what, *said):
        for text in said:
            rate = re.search(r"= (\S+ usec/iter)", text)
            self.assertTrue(rate, f"{what}: {text}")
            self.assertNotIn("invalid data", text, what)
        print(f"result: {what}: {rate.group(1)}", flush=True)

    def check_captures(self):
        print(self.check_icrc(*self.captures))
        merged = self.folder / "merged.pcap"
        subprocess.run(["mergecap", "-F", "pcap", "-w", merged, *self.captures], check=True)
        self.check_dissection(merged)


class Pingpongs(StockTest):
    """ibverbs-utils."""

    def against_itself(self, program):
        for flags in PINGPONGS[program]:
            self.pingpong_against_itself(program, flags)
        self.check_captures()

    def against_uroce_pingpong(self, program):
        for flags in PINGPONGS[program]:
            for guest_serves, direction in DIRECTIONS.items():
                what = f"{program} {flags}, {direction}, uroce-pingpong"
                with self.subTest(what):
                    # The guest's end bounces what it gets; ours knows what that must be.
                    ours = [harness.PINGPONG, *self.settings, *LIKE[program], *flags.split(),
                            *PINGS.split(), "-u", PATIENCE, "--capture", self.capture(),
                            *(("--stock", "-c") if guest_serves else ())]
                    ended, said = self.meet(f"{program} -d rxe0 {flags} {PINGS}", ours, guest_serves)
                    self.check_pings(what, ended.out, said)
                    self.assertEqual(ended.err, "", ended)
                    if guest_serves:
                        self.assertIn("messages checked", ended.out)
        self.check_captures()

    def test_rc_against_itself(self):
        self.against_itself("ibv_rc_pingpong")

    def test_uc_against_itself(self):
        self.against_itself("ibv_uc_pingpong")

    def test_ud_against_itself(self):
        self.against_itself("ibv_ud_pingpong")

    def test_srq_against_itself(self):
        self.against_itself("ibv_srq_pingpong")

    def test_rc_against_uroce_pingpong(self):
        self.against_uroce_pingpong("ibv_rc_pingpong")

    def test_uc_against_uroce_pingpong(self):
        self.against_uroce_pingpong("ibv_uc_pingpong")

    def test_ud_against_uroce_pingpong(self):
        self.against_uroce_pingpong("ibv_ud_pingpong")

    def test_srq_against_uroce_pingpong(self):
        self.against_uroce_pingpong("ibv_srq_pingpong")


class Perftest(StockTest):
    """perftest: bandwidth and latency."""

    def run_all(self, program):
        for flags in PERFTESTS[program]:
            for guest_serves, direction in DIRECTIONS.items():
                what = f"{program} {flags}, {direction}"
                with self.subTest(what):
                    ended, said = self.meet(
                        f"{program} -d rxe0 {COMMON} {flags}",
                        [program, "-d", "uroce0", *COMMON.split(), *flags.split()], guest_serves,
                        self.under_uroce())
                    asked = ended.out if guest_serves else said
                    row = re.search(r"(?m)^ *(\d+ +\d+ +[\d.]+ .*)$", asked)
                    self.assertTrue(row, f"{ended}\n\nguest: {said}")
                    print(f"result: {what}: {' '.join(row.group(1).split())}", flush=True)
        self.check_captures()

    def test_send_bw(self):
        self.run_all("ib_send_bw")

    def test_send_lat(self):
        self.run_all("ib_send_lat")

    def test_write_bw(self):
        self.run_all("ib_write_bw")

    def test_write_lat(self):
        self.run_all("ib_write_lat")

    def test_read_bw(self):
        self.run_all("ib_read_bw")

    def test_read_lat(self):
        self.run_all("ib_read_lat")

    def test_atomic_bw(self):
        self.run_all("ib_atomic_bw")

    def test_atomic_lat(self):
        self.run_all("ib_atomic_lat")


if __name__ == "__main__":
    harness.main()
