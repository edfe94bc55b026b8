"""What the programs say to wrong input: one line on stderr that names the value, the limit and the
remedy, and an exit code: 2 for a wrong command line or configuration, 1 for what only a run shows.

SPDX-License-Identifier: BSD-3-Clause
"""

import re
import socket

import harness
from harness import BW, PINGPONG


class CommandLine(harness.PairTest):
    def refused(self, arguments, *words, programs=(BW, PINGPONG), environment=None):
        for program in programs:
            with self.subTest(program=program, arguments=arguments):
                env = {**self.environment, **(environment or {})}
                ended = self.launch(program, *arguments, env=env).end(20)
                self.one_line_error(ended, 2, *words)
                self.assertEqual(ended.out, "")

    def test_flags_and_values(self):
        self.refused(["--sise", "64"], "--sise", "did you mean --size?", "--help")
        self.refused(["-s", "0"], "--size 0", "1 to")
        self.refused(["-s", "8388609"], "--size 8388609", "1 to 8388608", programs=[BW])
        self.refused(["-s", "2G"], "--size 2G", "1 to 1073741824", programs=[PINGPONG])
        self.refused(["-s", "big"], "--size big", "1 to")
        self.refused(["-n", "0"], "--iters 0", "1 to")
        self.refused(["-m", "1500"], "--mtu 1500", "256, 512, 1024, 2048, 4096")
        self.refused(["-p", "70000"], "--port 70000", "1 to 65535")
        self.refused(["-u", "32"], "--qp-timeout 32", "0 to 31")
        self.refused(["--op", "atomic"], "--op atomic", "send, write, write_imm, read")
        self.refused(["--op", "atomic_fadd", "-s", "64"], "--size 64", "moves 8 bytes",
                     "leave out --size")
        self.refused(["-q", "0"], "--qp 0", "1 to 1024")
        self.refused(["--vlan", "4095"], "--vlan", "4095", "0 to 4094")
        self.refused(["--start-psn", "0x1000000"], "--start-psn 0x1000000", "0 to 16777215")
        self.refused(["-t", "0"], "--tx-depth 0", "1 to", programs=[BW])
        self.refused(["--ipv6", "--gid-index", "1"], "excludes --ipv6")
        self.refused(["a", "b"], "one host at most", "b")

    def test_operations_that_a_transport_lacks(self):
        for flag, programs in (("-c", [BW]), ("--transport", [PINGPONG])):
            uc, ud = ("UC", "UD") if flag == "-c" else ("uc", "ud")
            self.refused([flag, "XX"], "XX", uc, ud, programs=programs)
            self.refused([flag, uc, "--op", "read"], "--op read", "UC", "RC", programs=programs)
            self.refused([flag, uc, "--op", "atomic_cswap"], "--op atomic_cswap", "UC",
                         programs=programs)
            self.refused([flag, ud, "--op", "write"], "--op write", "UD", "--op send",
                         programs=programs)
        self.refused(["--use-srq", "--op", "write"], "--use-srq", "--op write", "leave it out")

    def test_stock_needs_a_host_and_sends(self):
        self.refused(["--stock"], "--stock", "host", programs=[PINGPONG])
        self.refused(["--stock", "--op", "read", "localhost"], "--op read", programs=[PINGPONG])

    def test_settings(self):
        self.refused(["--set", "port.mtu=99"], "--set port.mtu", "99", "576 to 9600")
        self.refused(["--set", "port.mut=1500"], "port.mut", "port.mtu")
        self.refused(["--drive", "fast"], "fast", "rtc")
        self.refused(["--config", "/nonexistent.toml"], "/nonexistent.toml")
        self.refused([], "UROCE_PORT_MTU", "many", environment={"UROCE_PORT_MTU": "many"})
        file = self.folder / "bad.toml"
        file.write_text('[port]\nmtu = 1500\nkidn = "tap"\n', "utf-8")
        self.refused(["--config", file], f"{file}:3", "kidn", "kind")

    def test_show_config_says_where_each_value_came_from(self):
        file = self.folder / "some.toml"
        file.write_text("[port]\nmtu = 1500\nbuffers = 5000\nrx_descriptors = 512\n", "utf-8")
        env = {**self.environment, "UROCE_PORT_BUFFERS": "6000", "UROCE_PORT_RX_DESCRIPTORS": "256"}
        for program in (BW, PINGPONG):
            ended = self.launch(program, "--config", file, "--set", "port.rx_descriptors=128",
                                "--show-config", "host", env=env).end(20)
            self.assertEqual((ended.code, ended.err), (0, ""), ended)
            for value, origin in (("port.mtu = 1500", f"file {file}:2"),
                                  ("port.buffers = 6000", "environment UROCE_PORT_BUFFERS"),
                                  ("port.rx_descriptors = 128", "flag --set port.rx_descriptors"),
                                  ("port.tx_descriptors = 1024", "default"), ('port.side = "b"', "default")):
                self.assertRegex(ended.out, rf"(?m)^{re.escape(value)} +# {re.escape(origin)}$")

    def test_help_names_the_flags_and_the_version_is_told(self):
        for program in (BW, PINGPONG):
            ended = self.launch(program, "--help").end(20)
            self.assertEqual((ended.code, ended.err), (0, ""), ended)
            for flag in ("--size", "--op", "--fault", "--capture", "--drive", "--json", "--set"):
                self.assertIn(flag, ended.out)
            self.assertIn("uroce ", self.launch(program, "--version").end(20).out)


class Run(harness.PairTest):
    def refused(self, program, *arguments, words):
        ended = self.launch(program, "-p", self.port, *arguments).end(30)
        self.one_line_error(ended, 1, *words)

    def listen(self):
        """A TCP port that is taken, and answers nothing."""
        listener = socket.create_server(("::", self.port), family=socket.AF_INET6, dualstack_ipv6=True)
        self.addCleanup(listener.close)

    def test_no_such_device(self):
        self.refused(BW, "-d", "mlx5_0", words=["--ib-dev mlx5_0", "uroce0"])
        self.refused(PINGPONG, "--set", "port.kind=af_packet", "--set", "port.interface=nosuch0",
                     words=["nosuch0"])

    def test_memory_that_the_machine_does_not_have(self):
        self.refused(BW, "--set", "eal.memory_mb=999999",
                     words=["memory of 999999 MB is outside 64..262144 MB"])
        self.refused(BW, "--set", "eal.hugepages=true", "--set", "eal.memory_mb=262144",
                     words=["hugepages are asked for, 262144 MB, but only",
                            "sysctl vm.nr_hugepages"])

    def stock_client(self, count):
        """One that sends so many addresses as ibverbs-utils' programs do, the first with a queue pair."""
        client = socket.create_connection(("localhost", self.port), 10)
        self.addCleanup(client.close)
        for i in range(count):
            qpn = 0x2a if i == 0 else 0
            client.sendall(f"0000:{qpn:06x}:000000:00000000000000000000ffffc0000201".encode() + b"\0")

    def test_what_stock_clients_cannot_do(self):
        server = self.start_server(PINGPONG, "--op", "write")
        self.stock_client(1)
        self.one_line_error(server.end(30), 1, "is a stock program, which only SENDs",
                            "leave out --op write")
        server = self.start_server(PINGPONG, "--use-srq", "-q", 2)
        self.stock_client(256)
        self.one_line_error(server.end(30), 1, "has 1 queue pairs and this end 2",
                            "give both one --num-qp")

    def test_no_server(self):
        self.refused(BW, "localhost", words=["cannot connect to", str(self.port), "refused",
                                             "start the server first"])
        self.refused(PINGPONG, "no-such-host.invalid",
                     words=["unknown host no-such-host.invalid"])

    def test_no_socket_of_the_wire(self):
        self.listen()
        missing = self.folder / "missing.sock"
        self.refused(PINGPONG, "--set", f"port.socket={missing}", "localhost",
                     words=["no server", str(missing), "start the server first"])

    def test_a_dead_servers_socket(self):
        server = self.start_server(BW)
        server.kill()
        server.end()
        self.listen()
        self.refused(BW, "localhost", words=["no server", "was left by one that has ended"])

    def test_mtu_of_the_path_above_that_of_the_port(self):
        for program in (BW, PINGPONG):
            self.refused(program, "-m", 4096, "--set", "port.mtu=1500",
                         words=["--mtu 4096", "1024 at most", "port.mtu=4176"])

    def test_a_datagram_above_the_path_mtu(self):
        self.refused(BW, "-c", "UD", "-s", 4097, words=["--size 4097", "4096", "UD", "RC"])
        self.refused(PINGPONG, "--transport", "ud", "-s", 1025,
                     words=["--size 1025", "1024", "--mtu"])

    def test_tcp_port_in_use(self):
        self.listen()
        self.refused(BW, words=[f"TCP port {self.port}", "in use", "another port by -p"])

    def test_wire_in_use(self):
        server = self.start_server(PINGPONG)
        self.port = harness.free_port()
        self.refused(PINGPONG, words=["port in use", "wire.sock", str(server.process.pid)])

    def test_gid_index_too_large(self):
        self.refused(PINGPONG, "-g", 7, words=["GID index 7: must be 0 to 1, as many addresses as the port has"])

    def test_both_ends_with_one_address(self):
        client, server = self.pair(BW, "--set", "address.ipv4=192.0.2.9/24")
        for end in (client, server):
            self.one_line_error(end, 1, "both ends", "192.0.2.9", "address.ipv4")

    def test_faults_that_make_no_sense(self):
        for faults, word in (("loss=200%", "200"), ("lost=1%", "lost"), ("loss", "loss")):
            self.refused(BW, "--fault", faults, words=[word])

    def test_a_capture_that_cannot_be_written(self):
        self.refused(BW, "--capture", "/nonexistent/x.pcap", words=["/nonexistent/x.pcap"])


if __name__ == "__main__":
    harness.main()
