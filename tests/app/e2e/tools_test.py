"""uroce-devinfo, uroce-doctor, uroce-top and the telemetry that it asks.

SPDX-License-Identifier: BSD-3-Clause
"""

import json
import os
import shutil
import socket
import threading
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from harness import BW, ROOT, PairTest, free_port

DEVINFO = os.environ.get("UROCE_DEVINFO", str(ROOT / "build/bin/uroce-devinfo"))
DOCTOR = os.environ.get("UROCE_DOCTOR", str(ROOT / "build/bin/uroce-doctor"))
TOP = os.environ.get("UROCE_TOP", str(ROOT / "build/bin/uroce-top"))
RING = ("--set", "port.kind=ring", "--set", "eal.memory_mb=128")


class ToolTest(PairTest):
    def run_tool(self, *arguments, code=0):
        ended = self.launch(*arguments).end(60)
        self.assertEqual(ended.code, code, str(ended))
        return ended


class DevinfoTest(ToolTest):
    def test_tells_what_ibv_devinfo_tells_and_the_default_gid(self):
        out = self.run_tool(DEVINFO, *RING).out
        for piece in ("hca_id:\turoce0", "node_guid:", "phys_port_cnt:", "active_mtu:",
                      "link_layer:", "GID[  1]:\t\t\t::ffff:192.0.2.1, RoCE v2",
                      "1 (::ffff:192.0.2.1): the first that is not link-local", "drive rtc"):
            self.assertIn(piece, out)
        self.assertNotIn("max_qp_wr", out)

    def test_verbose_adds_the_limits_and_json_has_them_too(self):
        told = json.loads(self.run_tool(DEVINFO, "-v", "--json", *RING).out)
        self.assertEqual(told["hca_id"], "uroce0")
        self.assertGreater(int(told["max_qp"]), 1)
        self.assertEqual(told["port"]["link_layer"], "Ethernet")
        self.assertIn("virtio", self.run_tool(DEVINFO).out)

    def test_without_addresses_the_link_local_gid_is_the_default(self):
        out = self.run_tool(DEVINFO, *RING, "--set", "address.ipv6=fe80::7/64", "--set",
                            "address.ipv4=").out
        self.assertIn("link-local", out)

    def test_list_and_wrong_arguments(self):
        self.assertEqual(self.run_tool(DEVINFO, "-l").out, "1 HCA found:\n\turoce0\n")
        self.assertIn("the only one is uroce0", self.run_tool(DEVINFO, "-d", "mlx5_0", code=1).err)
        self.assertIn("unknown flag --verbos (did you mean --verbose?)",
                      self.run_tool(DEVINFO, "--verbos", code=2).err)


class DoctorTest(ToolTest):
    """With a machine made of files, so that each finding can be had."""

    def setUp(self):
        super().setUp()
        self.machine = self.folder / "machine"
        self.put("proc/meminfo", "MemAvailable:   8000000 kB\n")
        self.put("proc/cpuinfo", "flags : sse4_2 pclmulqdq constant_tsc nonstop_tsc\n")
        self.put("proc/self/status", "Cpus_allowed_list:\t0-3\nCapEff:\t0000000000000000\n")
        self.put("proc/self/limits", "Max locked memory         65536                65536   bytes\n")
        self.put("sys/devices/system/cpu/online", "0-3\n")
        self.put("sys/devices/system/cpu/isolated", "3\n")
        self.put("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n")
        self.put("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n")
        self.put("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "10\n")
        self.put("sys/class/net/eth9/mtu", "1500\n")
        self.put("sys/class/net/eth9/operstate", "down\n")
        self.put("sys/bus/pci/devices/0000:01:00.0/class", "0x020000\n")
        (self.machine / "sys/bus/pci/devices/0000:01:00.0/driver").symlink_to("../drivers/ixgbe")

    def put(self, name, text):
        file = self.machine / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "ascii")

    def findings(self, *arguments, code=0):
        out = self.run_tool(DOCTOR, "--root", self.machine, "--json", "--set", "eal.cpu=3",
                            *arguments, code=code).out
        return {f["check"]: f for f in json.loads(out)["findings"]}

    def expect(self, finding, verdict, what, fix=""):
        self.assertEqual(finding["verdict"], verdict, finding)
        self.assertIn(what, finding["what"])
        self.assertIn(fix, finding["fix"])

    def test_the_default_wire_needs_nothing(self):
        found = self.findings()
        self.expect(found["hugepages"], "ok", "not used")
        self.expect(found["rights"], "ok", "ordinary user")
        self.expect(found["isolation"], "ok", "CPU 3 is isolated")
        self.expect(found["frequency"], "slow", "powersave", "echo performance")
        self.expect(found["clock"], "slow", "hpet", "echo tsc")
        self.expect(found["simd"], "ok", "128-bit")
        self.expect(found["mtu"], "ok", "a path MTU of 4096")

    def test_hugepages_that_are_missing(self):
        found = self.findings("--set", "eal.hugepages=true", code=1)
        self.expect(found["hugepages"], "BAD", "20 MiB free", "echo 256 > /sys/kernel/mm/hugepages")

    def test_an_interface_that_is_down_and_too_narrow_without_rights(self):
        found = self.findings("--set", "port.kind=af_packet", "--set", "port.interface=eth9", code=1)
        self.expect(found["rights"], "BAD", "cap_net_raw", "setcap cap_net_raw+ep")
        self.expect(found["wire"], "BAD", "eth9 is down", "ip link set eth9 up")
        self.expect(found["mtu"], "BAD", "eth9 carries 1500", "ip link set eth9 mtu 9000")

    def test_a_nic_with_the_kernels_driver(self):
        found = self.findings("--set", "port.kind=pci", "--set", "port.pci=0000:01:00.0", code=1)
        self.expect(found["driver"], "BAD", "bound to ixgbe", "dpdk-devbind.py --bind=vfio-pci")
        self.expect(found["iommu"], "BAD", "not loaded", "modprobe vfio-pci")
        self.expect(found["memlock"], "BAD", "64 KiB may be locked", "prlimit")

    def test_a_cpu_that_may_not_be_used_and_shared_ones(self):
        self.put("proc/self/status", "Cpus_allowed_list:\t0\n")
        self.expect(self.findings(code=1)["cpu"], "BAD", "may use 0", "--set eal.cpu=0")

    def test_what_cannot_be_seen_is_said(self):
        shutil.rmtree(self.machine / "proc")
        shutil.rmtree(self.machine / "sys/devices/system/cpu/cpu3")
        found = self.findings()
        for check in ("memory", "memlock", "simd", "frequency"):
            self.assertEqual(found[check]["verdict"], "unseen", found[check])

    def test_each_problem_has_a_fix_and_a_peer_is_asked(self):
        text = self.run_tool(DOCTOR, "--peer", "localhost").out
        self.assertIn("localhost answers", text)
        self.assertRegex(text, r"\d+ ok, \d+ slow, 0 bad, \d+ not seen by this user\n$")
        self.expect(self.findings("--peer", "no.such.host.invalid", code=1)["peer"], "BAD",
                    "no.such.host.invalid", "getent")


class TelemetryTest(ToolTest):
    DRIVES = ("rtc", "lcore", "assisted")

    def connect(self, asking, running):
        """To the socket of a running program, once DPDK listens there, which is after it has made it."""
        limit = time.monotonic() + 20
        while time.monotonic() < limit:
            # DPDK puts root's below /var/run, others' below XDG_RUNTIME_DIR.
            found = [f for root in (self.folder, Path("/var/run"))
                     for f in root.glob("dpdk/*/dpdk_telemetry.v2")
                     if f.parent.name.endswith(str(running.process.pid))]
            if found and asking.connect_ex(str(found[0])) == 0:
                self.socket = found[0]
                return
            time.sleep(0.05)
        self.fail("nobody listens at the telemetry socket")

    def ask(self, running, *commands):
        """Answers of DPDK's socket of a running program."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
            self.connect(asking, running)
            asking.recv(1024)
            answers = []
            for command in commands:
                asking.send(command.encode())
                answers.append(json.loads(asking.recv(65536))[command.split(",")[0]])
        return answers

    def start_run(self, drive, *arguments, both=()):
        server = self.start_server(BW, "--op", "write", "-D", "30", "--drive", drive, *both)
        client = self.start_client(BW, "--op", "write", "-D", "30", "--drive", drive, "--set",
                                   "telemetry.socket=true", *arguments)
        self.wait_for_queue_pair(client)
        return client, server

    def wait_for_queue_pair(self, running):
        limit = time.monotonic() + 20
        while time.monotonic() < limit:
            qps = self.ask(running, "/roce/qps")[0]
            if isinstance(qps, list) and qps:
                states = self.ask(running, f"/roce/qp,{qps[0]}")[0]
                if states.get("state") == "RTS":
                    return
            time.sleep(0.05)
        self.fail("no queue pair in RTS")

    def test_every_command_answers_a_running_engine(self):
        for drive in self.DRIVES:
            with self.subTest(drive=drive):
                client, server = self.start_run(drive)
                names, device, port, qps, cqs, mrs, drops, lcore = self.ask(
                    client, "/roce/list", "/roce/devices", "/roce/ports", "/roce/qps", "/roce/cqs",
                    "/roce/mrs", "/roce/drops", "/roce/lcores")
                self.assertEqual(names, ["uroce0"])
                self.assertEqual((device["drive"], device["pid"]), (drive, client.process.pid))
                self.assertEqual(port["link_up"], 1)
                self.assertEqual((len(qps), len(cqs), len(mrs)), (1, 2, 1))
                self.assertIn("unknown_qpn", drops)
                self.assertGreater(lcore["turns"], 0)
                qp = self.ask(client, f"/roce/qp,{qps[0]}")[0]
                self.assertEqual((qp["type"], qp["state"], qp["qpn"]), ("RC", "RTS", qps[0]))
                self.assertIn("no queue pair 77777777",
                              self.ask(client, "/roce/qp,77777777")[0]["error"])
                first = self.ask(client, "/roce/counters")[0]["sent_packets"]
                time.sleep(0.4)
                self.assertGreater(self.ask(client, "/roce/counters")[0]["sent_packets"], first)
                top = self.run_tool(TOP, "-n", "2", "-d", "0.3", "--batch", "-s", self.socket).out
                self.assertIn(f"process {client.process.pid}  uroce0 on", top)
                self.assertIn("RTS", top)
                client.interrupt()
                client.end()
                server.end()

    def test_several_engines_are_shown_as_one_device(self):
        two = ("--set", "engine.lcores=2", "-q", "2")
        client, server = self.start_run("lcore", *two, both=two)
        device, qps, cqs, mrs, *lcores = self.ask(
            client, "/roce/devices", "/roce/qps", "/roce/cqs", "/roce/mrs", "/roce/lcores,0",
            "/roce/lcores,1", "/roce/lcores,2", "/roce/lcores,x")
        self.assertEqual((device["lcores"], device["qps"], device["cqs"]), (2, 2, 4))
        self.assertEqual((len(qps), len(mrs)), (2, 2))
        self.assertEqual(sorted({name.split("/")[0] for name in cqs}), ["0", "1"])
        self.assertEqual(len(cqs), 4)
        for number in qps:
            self.assertEqual(self.ask(client, f"/roce/qp,{number}")[0]["state"], "RTS")
        for lcore in lcores[:2]:
            self.assertGreater(lcore["turns"], 0)
        self.assertNotEqual(lcores[0]["turns"], lcores[1]["turns"])
        for asked, lcore in zip("2x", lcores[2:]):
            self.assertEqual(lcore["error"], f"there is no lcore {asked}; the last one is 1")
        top = self.run_tool(TOP, "-n", "2", "-d", "0.3", "--batch", "-s", self.socket).out
        self.assertEqual(top.count("lcore CPU"), 4, top)
        client.interrupt()
        client.end()
        server.end()

    def test_prometheus_gets_its_page_on_loopback_only(self):
        port = free_port()
        client, _ = self.start_run("rtc", "--set", f"telemetry.prometheus_port={port}")
        page = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read().decode()
        for line in page.splitlines():
            self.assertRegex(line, r"^(# (HELP|TYPE) uroce_\w+ .*|uroce_\w+({[^}]*})? \d+)$")
        self.assertIn("uroce_tx_packets_total", page)
        self.assertIn('uroce_drops_total{reason="icrc"} 0', page)
        with self.assertRaises(urllib.error.HTTPError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10)
        dashboard = json.loads((ROOT / "config/grafana-dashboard.json").read_text("utf-8"))
        used = {word for panel in dashboard["panels"] for target in panel["targets"]
                for word in target["expr"].replace("(", " ").replace("[", " ").split()
                if word.startswith("uroce_")}
        self.assertTrue(used)
        for name in used:
            self.assertIn(name.split("{")[0], page)
        client.interrupt()

    def answer_once(self, *answers):
        """A telemetry socket whose program says this, a packet each, and hangs up."""
        path = self.folder / "dpdk_telemetry.v2"
        path.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(listening.close)
        listening.bind(str(path))
        listening.listen()

        def serve():
            with listening.accept()[0] as one:
                for answer in answers:
                    one.send(answer)

        serving = threading.Thread(target=serve)
        serving.start()
        self.addCleanup(serving.join)
        return path

    def test_top_says_in_one_line_whom_it_cannot_ask(self):
        def why(path):
            lines = self.run_tool(TOP, "-n", "1", "-s", path, code=1).err.splitlines()
            self.assertEqual(len(lines), 2, lines)  # the other one tells how to be seen
            return lines[0]

        gone = self.folder / "gone"
        self.assertEqual(why(gone), f"uroce-top: not shown: {gone}: No such file or directory; "
                                    "has the program ended?")
        self.assertIn(": the program has ended", why(self.answer_once()))
        self.assertIn(": the answer is not JSON", why(self.answer_once(b"{")))
        self.assertIn(": the program has ended", why(self.answer_once(b'{"pid": 1}')))
        self.assertIn("a socket's path has at most", why("/" + "long" * 40))

    def test_top_shows_the_others_and_names_the_one_left_out(self):
        client, _ = self.start_run("rtc")
        stale = Path(self.socket).parent.parent / "uroce-0"
        stale.mkdir()
        self.addCleanup(shutil.rmtree, stale)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as left_behind:
            left_behind.bind(str(stale / "dpdk_telemetry.v2"))
        out = self.run_tool(TOP, "-n", "1", "--batch").out
        self.assertIn(f"process {client.process.pid}  uroce0 on", out)
        self.assertRegex(out.splitlines()[-1],
                         r"^uroce-top: not shown: .*/uroce-0/dpdk_telemetry.v2: Connection refused; ")
        client.interrupt()

    def test_top_says_how_to_be_seen(self):
        self.assertIn("telemetry.socket=true", self.run_tool(TOP, "-n", "1", "-s", self.folder / "none", code=1).err)


if __name__ == "__main__":
    unittest.main()
