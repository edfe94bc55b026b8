"""The libibverbs.so.1 that takes the place of the real one: LD_LIBRARY_PATH leads to it, and nothing
is preloaded.

It is named by UROCE_LIBIBVERBS (meson sets it); else it is that of build/.

SPDX-License-Identifier: BSD-3-Clause
"""

import ctypes
import errno
import os
import re
import subprocess
import unittest
from pathlib import Path

import dropin
import harness
import pyverbs_test
from dropin import needs

LIBRARY = Path(os.environ.get("UROCE_LIBIBVERBS", str(
    harness.ROOT / "build/lib/ibverbs/replacement/libibverbs.so.1")))
STOCK = next((p for p in Path("/usr/lib").glob("*-linux-gnu/libibverbs.so.1")), None)
ALONE = ("env",)  # no launcher
# Debian's libraries that are linked against libibverbs, as far as they are installed.
LINKED = ("librdmacm.so.1", "libefa.so.1", "libmlx4.so.1", "libmlx5.so.1", "libmana.so.1",
          "libfabric.so.1", "ucx/libuct_ib.so.0")
LOAD = "import ctypes, os, sys; ctypes.CDLL(sys.argv[1], os.RTLD_NOW)"
# A /dev of its own with the device's node, for who looks at it.
WITH_NODE = """
mount --rbind /dev "$0" && mount -t tmpfs none /dev && mkdir /dev/infiniband || exit 77
for name in null zero urandom random; do ln -s "$0/$name" /dev/; done
ln -s ../null /dev/infiniband/uroce_uverbs0
exec "$@"
"""


def exported(library):
    """The names with their versions, name@VERSION or, for the default version, name@@VERSION."""
    shown = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                           check=True)
    return {line.split()[-1] for line in shown.stdout.splitlines()}


class Replacement(dropin.DropinTest):
    def setUp(self):
        super().setUp()
        self.environment["LD_LIBRARY_PATH"] = str(LIBRARY.parent)

    def run_pair(self, *arguments, **options):
        return super().run_pair(*arguments, run=(), **options)

    def test_it_is_the_only_libibverbs_of_a_program(self):
        ended = self.run_alone("cat", "/proc/self/maps", run=ALONE,
                               env={**self.environment, "LD_PRELOAD": "libibverbs.so.1"})
        maps = set(re.findall(r"/\S*ibverbs\S*", ended.out))
        self.assertEqual(maps, {str(LIBRARY)}, ended)

    @unittest.skipUnless(STOCK, "needs libibverbs1")
    def test_every_name_has_the_version_that_it_has_in_the_real_library(self):
        ours, stock = exported(LIBRARY), exported(STOCK)
        self.assertGreater(len(stock), 100)
        self.assertEqual(sorted(stock - ours), [], "missing")
        self.assertEqual(sorted(ours - stock), [], "in no libibverbs")

    def test_devices_and_devinfo(self):
        ended = self.run_alone("ibv_devices", run=ALONE)
        self.assertRegex(ended.out, r"uroce0\s+[0-9a-f]{16}", ended)
        ended = self.run_alone("ibv_devinfo", "-v", run=ALONE)
        self.assertEqual((ended.code, ended.err), (0, ""), ended)
        self.assertRegex(ended.out, r"GID\[\s*1\]:\s+::ffff:192.0.2.1, RoCE v2", ended)

    def test_settings_come_by_environment(self):
        self.environment["UROCE_ADDRESS_IPV4"] = "192.0.2.9/24"
        ended = self.run_alone("ibv_devinfo", "-v", run=ALONE)
        self.assertIn("::ffff:192.0.2.9", ended.out, ended)

    def test_pingpongs(self):
        for arguments in (("ibv_rc_pingpong", "-g", 1, "-n", 100, "-c"),
                          ("ibv_rc_pingpong", "-g", 1, "-n", 100, "-N", "-c", "-e"),
                          ("ibv_ud_pingpong", "-g", 1, "-n", 100, "-c")):
            with self.subTest(arguments=arguments):
                self.setUp()
                self.run_pair(*arguments)

    @needs("ib_send_bw")
    def test_perftest(self):
        # Both need private names, for they are linked against libmlx5 and libefa.
        for program in ("ib_send_bw", "ib_read_lat"):
            with self.subTest(program=program):
                self.setUp()
                self.run_pair(program, "-d", "uroce0", "-x", 1, "-F", "-n", 200)

    run_list = pyverbs_test.RdmaCoreTests.run_list
    check = pyverbs_test.RdmaCoreTests.check

    @unittest.skipUnless(pyverbs_test.SHIPPED.is_dir(), "needs python3-pyverbs")
    def test_the_cases_of_rdma_core(self):
        self.check(pyverbs_test.listed(), *self.run_list(run=ALONE))

    def test_asking_for_words_and_rates(self):
        verbs = ctypes.CDLL(str(LIBRARY))
        for name in ("ibv_wc_status_str", "ibv_event_type_str", "ibv_port_state_str",
                     "ibv_node_type_str"):
            words = getattr(verbs, name)
            words.restype = ctypes.c_char_p
            self.assertNotIn(words(4), (b"unknown", b""), name)
            self.assertEqual((words(99), words(-1)), (b"unknown", b"unknown"), name)
        for rate, multiple, mbps in ((2, 1, 2500), (7, 16, 40000), (16, -1, 103125), (1, -1, -1)):
            self.assertEqual(verbs.ibv_rate_to_mult(rate), multiple)
            self.assertEqual(verbs.ibv_rate_to_mbps(rate), mbps)
            self.assertEqual(verbs.mbps_to_ibv_rate(mbps), rate if mbps > 0 else 0)
        self.assertEqual((verbs.mult_to_ibv_rate(16), verbs.mult_to_ibv_rate(0)), (7, 0))

    @unittest.skipUnless(STOCK, "needs libibverbs1")
    def test_structs_of_the_kernel_are_copied_as_the_real_library_does(self):
        # Numbers differ from byte to byte; enough of them for any of the structs.
        source = bytes(i % 251 + 1 for i in range(1024))
        for name in ("ibv_copy_ah_attr_from_kern", "ibv_copy_qp_attr_from_kern",
                     "ibv_copy_path_rec_from_kern", "ibv_copy_path_rec_to_kern"):
            copies = []
            for library in (LIBRARY, STOCK):
                out = ctypes.create_string_buffer(1024)
                getattr(ctypes.CDLL(str(library)), name)(out, source)
                copies.append(out.raw)
            self.assertEqual(*copies, name)
            self.assertNotEqual(copies[0], bytes(1024), name)

    @unittest.skipUnless(STOCK, "needs libibverbs1")
    def test_rates_are_those_of_the_real_library(self):
        ours, stock = ctypes.CDLL(str(LIBRARY)), ctypes.CDLL(str(STOCK))
        for name in ("ibv_rate_to_mult", "ibv_rate_to_mbps"):
            for rate in range(-1, 40):
                self.assertEqual(getattr(ours, name)(rate), getattr(stock, name)(rate), (name, rate))
        asked = {*range(-1, 600), *(stock.ibv_rate_to_mbps(rate) for rate in range(40))}
        for name in ("mult_to_ibv_rate", "mbps_to_ibv_rate"):
            for value in sorted(asked):
                self.assertEqual(getattr(ours, name)(value), getattr(stock, name)(value), (name, value))

    def test_small_files_are_read_without_their_newline(self):
        verbs = ctypes.CDLL(str(LIBRARY), use_errno=True)
        (self.folder / "some").write_text("a line\n", "ascii")
        folder, text = str(self.folder).encode(), ctypes.create_string_buffer(16)
        self.assertEqual(verbs.ibv_read_sysfs_file(folder, b"some", text, 16), 6)
        self.assertEqual(text.value, b"a line")
        self.assertEqual(verbs.ibv_read_sysfs_file(folder, b"some", text, 3), 3)
        self.assertEqual(verbs.ibv_read_sysfs_file(folder, b"none", text, 16), -1)
        self.assertEqual(ctypes.get_errno(), errno.ENOENT)

    def test_what_is_for_hardware_drivers_is_refused(self):
        verbs = ctypes.CDLL(str(LIBRARY), use_errno=True)
        self.assertEqual(verbs.ibv_cmd_create_qp(None), errno.EOPNOTSUPP)
        verbs.verbs_open_device.restype = ctypes.c_void_p
        self.assertIsNone(verbs.verbs_open_device(None, None))
        self.assertEqual(ctypes.get_errno(), errno.EOPNOTSUPP)
        verbs.verbs_register_driver_34(None)

    @needs("ucx_info")
    def test_ucx_sees_it_where_the_node_exists(self):
        other = self.folder / "dev"
        other.mkdir()
        ended = self.run_alone("sh", "-c", WITH_NODE, other, "ucx_info", "-d",
                               run=("unshare", "-m"))
        if ended.code == 77 or "unshare" in ended.err:
            self.skipTest(f"needs root, for a /dev of its own: {ended.err}")
        for words in ("Transport: rc_verbs", "Transport: ud_verbs", "Device: uroce0:1"):
            self.assertIn(words, ended.out)

    @unittest.skipUnless(STOCK, "needs libibverbs1")
    def test_libraries_that_need_its_private_names_load(self):
        loaded = 0
        for pattern in LINKED:
            for library in sorted(STOCK.parent.glob(pattern)):
                with self.subTest(library=library):
                    ended = self.run_alone(pyverbs_test.PYTHON, "-c", LOAD, library, run=ALONE)
                    self.assertEqual((ended.code, ended.err), (0, ""), ended)
                    loaded += 1
        self.assertGreater(loaded, 0)


if __name__ == "__main__":
    dropin.main()
