"""The guest that runs Soft-RoCE, and the wire to it.

The wire is a tap device in a network namespace of its own: qemu holds one end, the other end serves
both the kernel, for TCP, and uroce, which listens there by af_packet. All of it goes when the
process that made it goes.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
MTU = 9000
KERNEL_IP, UROCE_IP, GUEST_IP = (f"198.51.100.{n}" for n in (1, 2, 3))
KERNEL_IP6, UROCE_IP6, GUEST_IP6 = (f"fd00:51::{n}" for n in (1, 2, 3))
# In the VLAN; the kernel here takes no part in it.
VLAN = 7
VLAN_UROCE_IP, VLAN_GUEST_IP = (f"198.51.101.{n}" for n in (2, 3))
VLAN_UROCE_IP6, VLAN_GUEST_IP6 = (f"fd00:52::{n}" for n in (2, 3))
TAP_MAC, UROCE_MAC, GUEST_MAC = (f"02:00:00:00:51:0{n}" for n in (1, 2, 3))
NAMESPACE = "uroce-rxe-{}"
BOOT_LIMIT_S = 300  # on a machine with other work; 5 on an idle one
MEMORY_MB = 384

# A READ of 1 MiB at a path MTU of 256 is answered with 4097 packets, as fast as the port takes them.
WIRE_UP = f"""
ip netns add {{space}}
ip -n {{space}} link set lo up
ip -n {{space}} tuntap add dev tap0 mode tap
ip -n {{space}} link set tap0 address {TAP_MAC} mtu {MTU} txqueuelen 10000
ip netns exec {{space}} ethtool -K tap0 tx off
ip -n {{space}} addr add {KERNEL_IP}/24 dev tap0
ip -n {{space}} addr add {KERNEL_IP6}/64 dev tap0 nodad
ip -n {{space}} link set tap0 up
"""

UROCE_CONFIG = f"""
[port]
kind = "af_packet"
interface = "tap0"
mtu = {MTU}
mac = "{UROCE_MAC}"
[address]
ipv4 = "{UROCE_IP}/24"
ipv6 = ["{UROCE_IP6}/64"]
"""

KERNEL_LINE = ("console=ttyS0 quiet panic=-1 mitigations=off nokaslr no_timer_check tsc=reliable "
               "random.trust_cpu=on net.ifnames=0 audit=0 pci=lastbus=0 cryptomgr.notests "
               f"8250.nr_uarts=1 guest.ip={GUEST_IP}/24 guest.ip6={GUEST_IP6}/64 guest.mtu={MTU}")


def missing():
    """What keeps a guest from running here, as a sentence; empty when nothing does."""
    if os.geteuid() != 0:
        return "needs root, for a network namespace and a tap device"
    for program in ("qemu-system-x86_64", "busybox", "ip", "ethtool", "setpriv", "cpio"):
        if not shutil.which(program):
            return f"needs {program}; scripts/deps rxe installs what the guest needs"
    if not Path("/dev/net/tun").exists():
        return "needs /dev/net/tun"
    return ""


def remove_stale_namespaces():
    """Those of tests that were killed."""
    listed = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=False).stdout
    for pid in re.findall("^" + NAMESPACE.format(r"(\d+)"), listed, re.MULTILINE):
        if not Path("/proc", pid).exists():
            subprocess.run(["ip", "netns", "del", NAMESPACE.format(pid)], check=False)


class Wire:
    """The namespace with the tap device."""

    def __init__(self, folder):
        remove_stale_namespaces()
        self.name = NAMESPACE.format(os.getpid())
        # What runs there ends with this process.
        self.inside = ["ip", "netns", "exec", self.name, "setpriv", "--pdeathsig", "KILL"]
        done = subprocess.run(["sh", "-ec", WIRE_UP.format(space=self.name)], text=True,
                              capture_output=True, check=False)
        if done.returncode != 0:
            self.remove()
            raise RuntimeError(f"no wire: {done.stderr.strip()}")
        self.config = folder / "uroce.toml"
        self.config.write_text(UROCE_CONFIG, "utf-8")

    def remove(self):
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True, check=False)


class Job:
    """A command in the guest."""

    def __init__(self, guest, number):
        self.guest = guest
        self.path = guest.share / "jobs" / str(number)

    def output(self):
        file = self.path.with_suffix(".out")
        return file.read_text("utf-8", "replace") if file.exists() else ""

    def end(self, limit):
        """(exit code, output); the code is None when it did not end in time."""
        deadline = time.monotonic() + limit
        code = self.path.with_suffix(".rc")
        while not code.exists():
            if time.monotonic() > deadline or not self.guest.alive():
                return None, self.output()
            time.sleep(0.02)
        return int(code.read_text("ascii")), self.output()


class Guest:
    """A running guest. `image` has the kernel and the file system, `folder` is for its state."""

    def __init__(self, image, wire, folder):
        self.share = folder / "share"
        self.share.mkdir()
        self.console = folder / "console.log"
        self.jobs = 0
        command = [*wire.inside, "qemu-system-x86_64", "-M", "q35,accel=tcg", "-cpu", "max", "-smp", "1", "-m", str(MEMORY_MB),
                   "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                   "-kernel", image / "vmlinux", "-initrd", image / "initrd.cpio",
                   "-append", KERNEL_LINE, "-serial", f"file:{self.console}",
                   "-virtfs", f"local,path={self.share},mount_tag=share,security_model=none",
                   "-netdev", "tap,id=n0,ifname=tap0,script=no,downscript=no",
                   "-device", f"virtio-net-pci,netdev=n0,mac={GUEST_MAC},romfile=,csum=off,gso=off,"
                   "guest_csum=off,guest_tso4=off,guest_tso6=off,guest_ufo=off"]
        self.log = folder / "qemu.log"
        with self.log.open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=subprocess.STDOUT)

    def alive(self):
        return self.process.poll() is None

    def wait_until_ready(self):
        """Returns once rxe0 is up; raises when that does not come to pass."""
        deadline = time.monotonic() + BOOT_LIMIT_S
        ready = self.share / "ready"
        while not ready.exists() or "rxe0" not in ready.read_text("utf-8"):
            if not self.alive() or time.monotonic() > deadline:
                said = self.console.read_text("utf-8", "replace") if self.console.exists() else ""
                raise RuntimeError(f"the guest did not come up: {self.log.read_text('utf-8')}\n"
                                   f"{said[-3000:]}")
            time.sleep(0.05)

    def give(self, program):
        """Copies a program and the libraries that it is linked with into the guest's /share."""
        shutil.copy(program, self.share)
        folder = self.share / "lib"
        folder.mkdir(exist_ok=True)
        linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"=> (/\S+)", linked):
            shutil.copy(library, folder)

    def start(self, command):
        """Starts a shell command in the guest."""
        self.jobs += 1
        jobs = self.share / "jobs"
        script = jobs / f"{self.jobs}.tmp"
        script.write_text(f"{command}\n", "utf-8")
        script.rename(jobs / f"{self.jobs}.sh")
        return Job(self, self.jobs)

    def run(self, command, limit=60):
        return self.start(command).end(limit)

    def kill(self):
        """The guest is gone from one moment to the next."""
        self.process.kill()
        self.process.wait()

    def quit(self):
        """Powers it off, if it runs."""
        jobs = self.share / "jobs"
        if self.alive() and jobs.exists():
            (jobs / "quit").touch()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                pass
        if self.alive():
            self.kill()
