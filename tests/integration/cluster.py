# SPDX-License-Identifier: MIT
"""cluster - nodes of a cluster, their topologies, and redis in cluster mode beside them."""

import contextlib
import json
import random
import signal
import socket
import subprocess
import tempfile

from harness import Server, equal, eventually, run
from wire import Closed, Replies


def slot_of(text):
    """Returns the CRC16 of the text, or of the text in its braces, bit by bit."""
    text = text if isinstance(text, bytes) else str(text).encode()
    begin = text.find(b"{")
    end = text.find(b"}", begin + 1)
    if begin >= 0 and end > begin + 1:
        text = text[begin + 1:end]
    crc = 0
    for byte in text:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ (0x1021 if crc & 0x8000 else 0)) & 0xFFFF
    return crc % 16384


def key_in(first, last, skip=0):
    """Returns the smallest key whose slot is in this range, after `skip` smaller ones."""
    key = 0
    while True:
        if first <= slot_of(key) <= last:
            if skip == 0:
                return key
            skip -= 1
        key += 1


def node_id(number):
    return f"{number:040x}"


def topology(epoch, nodes, **more):
    """Returns the JSON of shards s0, s1, ..: `nodes` are dicts with port, slots, and other fields that differ."""
    shards, entries = [], []
    for number, node in enumerate(nodes):
        name = node.get("shard", f"s{number}")
        if node.get("role", "primary") == "primary":
            shards.append({"id": node_id(1000 + number), "name": name, "slots": node.get("slots", [])})
        entry = {"id": node.get("id", node_id(number)), "shard": name, "ip": node.get("ip", "127.0.0.1"),
                 "role": node.get("role", "primary"), "port": node["port"]}
        if "hostname" in node:
            entry["hostname"] = node["hostname"]
        entries.append(entry)
    return json.dumps({"format": 1, "cluster": "test", "epoch": epoch, "keys": "decimal",
                       "shards": shards, "nodes": entries, **more})


def cut(servers, epoch, *bounds):
    """Returns the topology in which node i has the slots from bounds[i] to bounds[i + 1] - 1."""
    return topology(epoch, [{"port": s.port, "slots": [[first, last - 1]] if first < last else []}
                            for s, first, last in zip(servers, bounds, bounds[1:])], force=True)


class Node(Server):
    """A daemon in cluster mode without a topology yet, whose state is in its directory."""

    def __init__(self, number, *flags, name=None, **options):
        super().__init__("--cluster-node-id", name or node_id(number), *flags, **{"ready": 503, **options})
        self.flags += ["--cluster-state", str(self.directory / "cluster.json")]

    def set_topology(self, text):
        equal(self.ask("CLUSTER", "SETTOPOLOGY", text), "OK", "SETTOPOLOGY")

    def hang_up(self):
        self.process.send_signal(signal.SIGHUP)


@contextlib.contextmanager
def nodes(count, *flags, epoch=1, slots=None, **more):
    """Starts daemons that are the primaries of a cluster, with equal parts of the slots."""
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(Node(i, *flags)) for i in range(count)]
        slots = slots or [[[i * 16384 // count, (i + 1) * 16384 // count - 1]] for i in range(count)]
        text = topology(epoch, [{"port": s.port, "slots": own} for s, own in zip(servers, slots)], **more)
        for server in servers:
            server.set_topology(text)
        yield servers


class Redis:
    """A redis-server in cluster mode. Its bus needs a second port, so it tries ports until both are free."""

    def __init__(self, directory):
        while True:
            self.port = random.SystemRandom().randrange(11000, 30000)
            self.process = subprocess.Popen(
                ["redis-server", "--port", str(self.port), "--cluster-enabled", "yes", "--save", "",
                 "--dir", directory, "--cluster-config-file", f"nodes-{self.port}.conf",
                 "--cluster-announce-ip", "127.0.0.1", "--cluster-require-full-coverage", "no",
                 "--cluster-announce-hostname", "a.example", "--bind", "127.0.0.1"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if self.answers():
                self.id = self.ask("CLUSTER", "MYID").decode()
                return

    def answers(self):
        """Waits until the server serves. Returns False if another process has its port."""
        def tried():
            if self.process.poll() is not None:
                return "gone"
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
                    pid = str(self.process.pid).encode()
                    return b"process_id:" + pid in Replies(connection).ask("INFO", "server")
            except (OSError, Closed):  # another program may also have the port
                return False
        return eventually(tried, "redis serves or ends", 20) is True

    def ask(self, *arguments):
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            return Replies(connection).ask(*arguments)

    def stop(self):
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def redis_nodes(*slots):
    """Starts redis in cluster mode, a node for each list of ranges, and waits until the nodes know each other."""
    with tempfile.TemporaryDirectory(prefix="sherwood-redis-") as directory:
        servers = []
        try:
            for number, ranges in enumerate(slots):
                server = Redis(directory)
                servers.append(server)
                equal(server.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1), "OK", "epoch")
                for first, last in ranges:
                    equal(server.ask("CLUSTER", "ADDSLOTSRANGE", first, last), "OK", "slots")
            for server in servers[1:]:
                equal(server.ask("CLUSTER", "MEET", "127.0.0.1", servers[0].port), "OK", "MEET")
            total = sum(last - first + 1 for ranges in slots for first, last in ranges)
            for server in servers:
                wanted = (b"cluster_state:ok", b"cluster_slots_ok:%d\r" % total,
                          b"cluster_known_nodes:%d\r" % len(servers))
                eventually(lambda s=server: all(w in s.ask("CLUSTER", "INFO") for w in wanted),
                           "redis' nodes agree", 30)
            yield servers
        finally:
            for server in servers:
                server.stop()


class Bytes(Replies):
    """Reads replies, and keeps their bytes."""

    read_bytes = b""

    def line(self):
        line = super().line()
        self.read_bytes += line + b"\r\n"
        return line

    def exactly(self, size):
        data = super().exactly(size)
        self.read_bytes += data
        return data


def raw(port, *commands):
    """Returns the bytes that the server at this port replies to each of these commands, which are tuples."""
    answers = []
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        replies = Bytes(connection)
        for each in commands:
            replies.read_bytes = b""
            replies.ask(*each)
            answers.append(replies.read_bytes)
    return answers


def redis_cli_cluster(port, *arguments):
    return run("redis-cli", "-c", "-p", port, *arguments)
