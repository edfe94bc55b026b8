"""ibverbs-utils: the pingpongs, ibv_devices, ibv_devinfo, ibv_asyncwatch.

SPDX-License-Identifier: BSD-3-Clause
"""

import re

import dropin

COMMON = ("-g", 1, "-n", 100)
CASES = {
    "ibv_rc_pingpong": ((), ("-c",), ("-e",), ("-t",), ("-N", "-c"), ("-e", "-c"),
                        ("-s", 100_000, "-c", "-m", 4096)),
    "ibv_uc_pingpong": ((), ("-c",), ("-e", "-c"), ("-s", 100_000, "-c")),
    "ibv_ud_pingpong": ((), ("-c",), ("-e", "-c"), ("-s", 1024, "-c")),
    "ibv_srq_pingpong": ((), ("-c",), ("-e", "-c"), ("-q", 4, "-c")),
}


class Pingpongs(dropin.DropinTest):
    def run_cases(self, program):
        for arguments in CASES[program]:
            with self.subTest(arguments=arguments):
                self.setUp()
                client, _ = self.run_pair(program, *COMMON, *arguments)
                rate = re.search(r"= (\S+ usec/iter)", client.out)
                self.assertTrue(rate, client)
                dropin.report(f"{program} {' '.join(map(str, arguments))}", rate.group(1))

    def test_rc(self):
        self.run_cases("ibv_rc_pingpong")

    def test_uc(self):
        self.run_cases("ibv_uc_pingpong")

    def test_ud(self):
        self.run_cases("ibv_ud_pingpong")

    def test_srq(self):
        self.run_cases("ibv_srq_pingpong")

    def test_peers_that_know_nothing_but_lids_meet(self):
        for program in CASES:
            with self.subTest(program=program):
                self.setUp()
                client, _ = self.run_pair(program, "-n", 100)
                self.assertRegex(client.out, "local address: +LID 0x0002,")

    def test_a_lossy_wire(self):
        run = (dropin.UROCE, "run", "--fault", "loss=1%,reorder=1%", "--")
        for program in ("ibv_rc_pingpong", "ibv_srq_pingpong"):
            with self.subTest(program=program):
                self.setUp()
                self.run_pair(program, "-g", 1, "-c", run=run)

    def test_xrc_is_refused_cleanly(self):
        ended = self.run_alone("ibv_xsrq_pingpong", "-g", 1)
        self.assertEqual(ended.code, 1, ended)
        self.assertIn("XRC", ended.err, ended)


class Device(dropin.DropinTest):
    def test_devices_lists_it_without_opening_anything(self):
        ended = self.run_alone("ibv_devices")
        self.assertEqual(ended.code, 0, ended)
        self.assertRegex(ended.out, r"uroce0\s+[0-9a-f]{16}")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_devinfo_shows_an_active_port_and_its_gids(self):
        ended = self.run_alone("ibv_devinfo", "-v")
        self.assertEqual((ended.code, ended.err), (0, ""), ended)
        for pattern in (r"hca_id:\s+uroce0", r"state:\s+PORT_ACTIVE", r"link_layer:\s+Ethernet",
                        r"GID\[\s*1\]:\s+::ffff:192.0.2.1, RoCE v2", r"max_mtu:\s+4096",
                        r"atomic_cap:\s+ATOMIC_HCA"):
            self.assertRegex(ended.out, pattern)

    def test_the_lid_is_what_the_address_has_beside_its_network(self):
        for address, lid in (("192.0.2.9", 9), ("10.1.2.3/16", 0x0203), ("10.1.2.3/8", 0),
                             ("192.168.255.1/16", 0)):
            with self.subTest(address=address):
                ended = self.run_alone("ibv_devinfo",
                                       run=(dropin.UROCE, "run", "--gid-ip", address, "--"))
                self.assertRegex(ended.out, fr"port_lid:\s+{lid}\n", ended)

    def test_asyncwatch_is_told_of_a_peer_that_comes(self):
        watch = self.launch(*dropin.RUN, "ibv_asyncwatch")
        self.wait_until_said(watch, "async event FD")
        self.assertNotIn("event_type", watch.said())
        peer = self.launch(*dropin.RUN, "ibv_asyncwatch")
        self.wait_until_said(watch, "event_type IBV_EVENT_PORT_ACTIVE")
        peer.kill()
        self.wait_until_said(watch, "event_type IBV_EVENT_PORT_ERR")

    def test_a_program_that_ends_or_is_killed_leaves_nothing_that_hinders_the_next(self):
        watch = self.launch(*dropin.RUN, "ibv_asyncwatch")
        self.wait_until_said(watch, "async event FD")
        watch.kill()
        watch.end()
        self.assertEqual(self.run_alone("ibv_devinfo").code, 0)
        self.assertEqual([f.name for f in self.folder.rglob("*") if f.is_socket()], [])


if __name__ == "__main__":
    dropin.main()
