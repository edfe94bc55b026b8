"""Several engines behind one address: uroce-bw and uroce-pingpong with engine.lcores above 1.

SPDX-License-Identifier: BSD-3-Clause
"""

import json

import harness
from harness import BW, PINGPONG

TWO = ("--set", "engine.lcores=2")


def counters(end):
    return json.loads(end.out)["results"]["counters"]


class Lcores(harness.PairTest):
    def test_queue_pairs_take_the_devices_in_turn(self):
        for drive in ("rtc", "lcore", "assisted"):
            with self.subTest(drive=drive):
                client, server = self.good_pair(
                    BW, "--op", "write", "-q", 3, "-s", 4096, "-n", 2000, "--drive", drive,
                    "--data_validation", "--json", *TWO)
                for end in (client, server):
                    self.assertEqual(json.loads(end.out)["results"]["n_iterations"], 6000)
                # Each packet arrives on the queue of the engine that it is for.
                self.assertNotIn("port_rx_handed_over", counters(client))
                self.assertNotIn("port_rx_handed_over", counters(server))
                self.check_drops(counters(client), counters(server))

    def test_pingpong_and_memif(self):
        self.good_pair(PINGPONG, "-n", 500, "-q", 2, "-c", *TWO)
        self.good_pair(BW, "-q", 2, "-n", 500, "--set", "port.kind=memif", *TWO)

    def test_losses_on_both_engines(self):
        self.good_pair(BW, "-q", 2, "-n", 2000, "-s", 9000, "--data_validation", *TWO,
                       "--fault", "loss=1%,reorder=1%,seed=3")

    def test_each_engine_has_its_own_capture(self):
        file = self.folder / "c.pcapng"
        self.good_pair(BW, "-q", 2, "-n", 20, *TWO, client=["--capture", file])
        for name in ("c.pcapng", "c-1.pcapng"):
            self.assertGreater((self.folder / name).stat().st_size, 5000, name)

    def test_two_ends_of_a_wire_have_as_many(self):
        client, server = self.pair(BW, client=TWO, server=("--set", "engine.lcores=3"))
        self.one_line_error(client, 1, "engine.lcores is 2 here and 3 there")
        self.one_line_error(server, 1, "engine.lcores is 3 here and 2 there")

    def test_what_one_device_has_is_refused(self):
        for flags in (("--use-srq",), ("--events",)):
            client, server = self.pair(BW, *flags, *TWO)
            for end in (client, server):
                self.assertEqual(end.code, 1, end)
            self.assertIn("engine.lcores = 2 makes as many; set it to 1", server.err)

    def test_a_device_without_queues_is_refused(self):
        vhost = f"net_vhost0,iface={self.folder}/w.sock,queues=1"
        end = self.launch(BW, "--set", "port.kind=vdev", "--set", f"port.vdev={vhost}", *TWO).end()
        self.one_line_error(end, 1, "has 1 queue pair, not 2; set engine.lcores to at most 1")


if __name__ == "__main__":
    harness.main()
