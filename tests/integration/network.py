# SPDX-License-Identifier: MIT
"""network - hosts with one address each, in network namespaces, and a network between them that loses, delays and
reorders packets, or cuts hosts from each other in one direction or both. It does not use the machine's own network.

Neither netem nor nftables may be available, so a process passes the packets (network_switch.py)."""

import array
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys

from harness import Skip, eventually

HERE = pathlib.Path(__file__).resolve().parent
INSIDE = "SHERWOOD_NETWORK_NAMESPACE"
PORT, HTTP_PORT = "7379", "9379"
SIOCETHTOOL, ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO = 0x8946, 0x17, 0x1F, 0x24


def enter():
    """Restarts this script in a new network namespace. If the kernel refuses, the cases that need one are skipped."""
    if INSIDE in os.environ:
        return
    how = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    missing = [name for name in ("unshare", "nsenter", "ip") if not shutil.which(name)]
    why = f"{missing[0]} is not installed" if missing else ""
    if not missing:
        tried = subprocess.run([*how, "ip", "link", "add", "s0", "type", "veth", "peer", "name", "e0"],
                               capture_output=True, text=True, check=False)
        why = tried.stderr.strip().splitlines()[-1] if tried.returncode else ""
    os.environ[INSIDE] = why
    if not why:
        os.execvp(how[0], [*how, sys.executable, *sys.argv])


def ip(*words, host=None):
    subprocess.run([*(host.enters if host else ()), "ip", *map(str, words)], check=True, capture_output=True)


def without_offloads(name):
    """Turns offloads off: this interface sends whole frames with checksums, because a process passes them on."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for command in (ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO):
            value = array.array("B", struct.pack("II", command, 0))
            fcntl.ioctl(any_socket, SIOCETHTOOL, struct.pack("16sP16x", name.encode(), value.buffer_info()[0]))


class Host:
    """Host 0 is the test itself; the others are namespaces that a process keeps alive."""

    def __init__(self, number):
        self.number, self.address, self.keeper, self.enters = number, f"10.77.0.{number + 1}", None, []
        outer, inner = f"s{number}", f"e{number}"
        ip("link", "add", outer, "type", "veth", "peer", "name", inner)
        without_offloads(inner)
        ip("link", "set", outer, "arp", "off", "up")
        if number:
            self.keeper = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE)
            place = f"/proc/{self.keeper.pid}/ns/net"
            mine = os.readlink("/proc/self/ns/net")
            eventually(lambda: os.readlink(place) != mine, "a namespace")
            self.enters = ["nsenter", f"--net={place}"]
            ip("link", "set", inner, "netns", self.keeper.pid)
        ip("addr", "add", f"{self.address}/24", "dev", inner, host=self)
        ip("link", "set", inner, "up", host=self)
        ip("link", "set", "lo", "up", host=self)

    def flags(self):
        """Options of a daemon on this host, which reaches it by its address."""
        return ("--bind", self.address, "--http-bind", self.address, "--port", PORT, "--http-port", HTTP_PORT,
                "--protected-mode", "no")

    def end(self):
        if self.keeper:
            self.keeper.kill()
            self.keeper.wait()
            self.keeper.stdin.close()
        with contextlib.suppress(subprocess.CalledProcessError):
            ip("link", "del", f"s{self.number}")


class Network:
    """`with Network(3, seed) as net`: hosts net.hosts[1] to [3] and the test's own."""

    def __init__(self, count, seed):
        if os.environ.get(INSIDE) != "":
            raise Skip(f"cannot make network namespaces: {os.environ.get(INSIDE)}")
        self.hosts, self.count, self.seed = [], count, seed

    def __enter__(self):
        try:
            for number in range(self.count + 1):
                self.hosts.append(Host(number))
        except (subprocess.CalledProcessError, OSError) as error:
            self.end()
            why = getattr(error, "stderr", b"").decode().strip() or str(error)
            raise Skip(f"cannot make a network: {why}") from error
        self.switch = subprocess.Popen([sys.executable, HERE / "network_switch.py", str(len(self.hosts)), str(self.seed)],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if not self.switch.stdout.readline():
            why = self.switch.stderr.read().strip().splitlines()[-1:]
            self.__exit__()
            raise Skip(f"the switch of the network did not start: {why}")
        return self

    def __exit__(self, *_):
        self.switch.stdin.close()
        self.switch.wait(30)
        self.switch.stdout.close()
        self.switch.stderr.close()
        self.end()

    def end(self):
        for host in self.hosts:
            host.end()

    def rules(self, **rules):
        """Sets loss, delay, jitter and cuts. Without arguments the network has no faults."""
        self.switch.stdin.write(json.dumps(rules) + "\n")
        self.switch.stdin.flush()
        self.switch.stdout.readline()

    @staticmethod
    def between(these, those):
        """Returns cuts in both directions between hosts, by number."""
        return [pair for a in these for b in those for pair in ((a, b), (b, a))]
