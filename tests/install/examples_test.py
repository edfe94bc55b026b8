"""Each program of examples/ between two processes.

UROCE_EXAMPLES names the folder of the built programs (meson sets it); else build/examples.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "app/e2e"))
from harness import PairTest, ROOT, START_LIMIT_S, is_listening  # noqa: E402

import time  # noqa: E402

EXAMPLES = Path(os.environ.get("UROCE_EXAMPLES", str(ROOT / "build/examples")))
LIMIT_S = 60


class ExampleTest(PairTest):
    def run_pair(self, name, *arguments):
        """Runs both ends; returns what (client, server) printed."""
        program = EXAMPLES / f"example-{name}"
        environment = {**self.environment, "EXAMPLE_PORT": str(self.port)}
        server = self.launch(program, env=environment)
        limit = time.monotonic() + START_LIMIT_S
        while not is_listening(self.port, f"/proc/{server.process.pid}/net"):
            self.assertTrue(server.alive() and time.monotonic() < limit, "no server")
            time.sleep(0.02)
        client = self.launch(program, "localhost", *arguments, env=environment).end(LIMIT_S)
        served = server.end(LIMIT_S)
        self.assertEqual((client.code, served.code), (0, 0), f"{client}\n{served}")
        return client.out, served.out

    def test_pingpong(self):
        client, server = self.run_pair("pingpong")
        self.assertIn("1000 round trips", client)
        self.assertIn("1000 round trips", server)

    def test_kv_store_gives_back_what_was_put(self):
        client, _ = self.run_pair("kv", "put", "colour", "blue", "put", "shape", "round", "put",
                                  "colour", "red", "get", "colour", "get", "shape", "get", "size")
        self.assertEqual(client, "colour = red\nshape = round\nsize = \n")

    def test_block_device_keeps_its_blocks(self):
        client, _ = self.run_pair("block")
        self.assertEqual(client, "1024 blocks of 4096 bytes written, read back and compared\n")

    def test_multicast_reaches_who_has_joined(self):
        client, server = self.run_pair("multicast")
        self.assertEqual(client, "100 datagrams sent\n")
        self.assertEqual(server, "100 datagrams received, 100 of them in order\n")

    def test_none_is_longer_than_150_lines(self):
        for source in [*ROOT.glob("examples/*.cc"), *ROOT.glob("examples/*.h")]:
            self.assertLessEqual(len(source.read_text("utf-8").splitlines()), 150, source)


if __name__ == "__main__":
    unittest.main()
