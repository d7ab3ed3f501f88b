# SPDX-License-Identifier: MIT
"""moving - nodes that keep their data, clients that write while slots move, and checks of the result.

Each key has one writer, which writes its versions 1, 2, 3, ..: every fifth one is a DEL, the others SET the key to the
number. So the value of a key tells its version. A read is right if its version lies between the last one answered
before the read began and the last one sent before it ended.
"""

import contextlib
import random
import signal
import socket
import subprocess
import threading
import time

from cluster import Node, node_id, slot_of, topology
from handle import GET, SET, SUM, Handle
from harness import BUILD, PACE, check, equal, eventually, free_port
from wire import Closed, Error, Replies

CLI = BUILD / "sherwood-cli"
DELETES = 5
# Steps at which a node kills itself.
TARGET_FAULTS = [f"move.target.{each}" for each in ("begun", "removed", "snapshot", "final", "decided", "serves")]
SOURCE_FAULTS = [f"move.source.{each}" for each in
                 ("snapshot", "handed", "frozen", "final", "done", "resolved", "gone")]


class Keeper(Node):
    """A node that can be killed and restarted on its port."""

    def __init__(self, number, *flags, **options):
        super().__init__(number, "--port", str(free_port()), *flags, **options)

    def status(self):
        text = self.ask("CLUSTER", "MOVE", "STATUS").decode()
        return dict(line.split(":", 1) for line in text.split("\r\n") if line)

    def rests(self):
        return self.status()["moving"] == "0"

    def restart(self, fault=None):
        """Restarts the node. With a fault the node kills itself at that step."""
        self.kill()
        if "--debug-fault" in self.flags:
            at = self.flags.index("--debug-fault")
            del self.flags[at:at + 2]
        self.flags += ["--debug-fault", fault] if fault else []
        self.ready = 200
        self.start()


@contextlib.contextmanager
def cluster(count, *flags, durable=False, keeper=Keeper):
    """Starts nodes with equal parts of the slots, made by `keeper`; `durable` gives each a log that loses nothing."""
    with contextlib.ExitStack() as stack:
        servers = []
        for i in range(count):
            server = keeper(i, *flags)
            if durable:
                server.flags += ["--data-dir", str(server.directory / "data"), "--appendonly", "yes",
                                 "--appendfsync", "always", "--log-segment-bytes", "1M"]
                (server.directory / "data").mkdir()
            servers.append(stack.enter_context(server))
        cut = [i * 16384 // count for i in range(count + 1)]
        text = topology(1, [{"port": s.port, "slots": [[a, b - 1]]} for s, a, b in zip(servers, cut, cut[1:])])
        for server in servers:
            server.set_topology(text)
        yield servers


def mover(servers, *words):
    """Starts sherwood-cli cluster move as a process."""
    return subprocess.Popen([str(CLI), "-q", "-a", servers[-1].address(), "cluster", "move", *map(str, words)],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def moved(process):
    said = process.communicate(timeout=120)[0]
    equal(process.returncode, 0, said)


def moved_at_last(servers, *words):
    """Moves slots. The program may refuse with an error while a killed node recovers its state."""
    def tried():
        process = mover(servers, *words)
        said = process.communicate(timeout=120)[0]
        print(f"# {said.strip()}" if process.returncode else "", end="\n" if process.returncode else "")
        return process.returncode == 0
    eventually(tried, "slots move", 60)


class Client:
    """A client of a cluster by RESP. It follows MOVED and ASK, repeats after TRYAGAIN, and reconnects."""

    def __init__(self, servers):
        self.nodes = [(server.host, server.port) for server in servers]
        self.connections = {}
        self.owner = {}

    def close(self):
        for connection, _ in self.connections.values():
            connection.close()
        self.connections = {}

    def at(self, node):
        if node not in self.connections:
            connection = socket.create_connection(node, timeout=60)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections[node] = connection, Replies(connection)
        return self.connections[node][1]

    def ask(self, key, *words):
        """Returns the reply to a command on a key. OSError: the command may have been executed or not."""
        node, asks = self.owner.get(slot_of(key), self.nodes[0]), False
        for _ in range(400):
            try:
                replies = self.at(node)
            except OSError:  # nothing was sent
                time.sleep(0.02)
                node = random.choice(self.nodes)
                continue
            try:
                if asks:
                    equal(replies.ask("ASKING"), "OK", "ASKING")
                reply = replies.ask(*words)
            except (OSError, Closed) as gone:
                self.connections.pop(node)[0].close()
                raise OSError("unknown") from gone
            asks = False
            if not isinstance(reply, Error):
                self.owner[slot_of(key)] = node
                return reply
            said = reply.split()
            if said[0] in ("MOVED", "ASK"):
                host, port = said[2].rsplit(":", 1)
                node, asks = (host, int(port)), said[0] == "ASK"
            elif said[0] in ("TRYAGAIN", "CLUSTERDOWN", "MISCONF"):  # the last: a log that is not open yet
                time.sleep(0.02)
            else:
                raise AssertionError(reply)
        raise AssertionError(f"{words}: too many redirections")


class Threads:
    """Clients of these servers, each in a thread, until end(). `tolerates`: connections may end, and commands may then have
    been executed or not."""

    def __init__(self, servers, tolerates):
        self.servers, self.tolerates = servers, tolerates
        self.stopping, self.faults, self.threads = False, [], []

    def add(self, function, *arguments):
        self.threads.append(threading.Thread(target=self.run, args=(function, *arguments)))

    def start(self):
        for thread in self.threads:
            thread.start()

    def run(self, function, *arguments):
        try:
            function(*arguments)
        except Exception as error:  # pylint: disable=broad-except
            self.faults.append(f"{function.__name__}: {type(error).__name__} {error}")

    def unknown(self, error):
        check(self.tolerates, f"a connection ended: {error}")

    def stop(self):
        self.stopping = True
        for thread in self.threads:
            thread.join(120)

    def end(self):
        """Stops the clients. Fails if one of them saw an error."""
        self.stop()
        check(not any(thread.is_alive() for thread in self.threads), "the clients end")
        equal(self.faults, [], "what the clients saw")


class Load(Threads):
    """Writers and readers in threads until the end of a `with` block, which then checks everything."""

    def __init__(self, servers, seed, keys=40, writers=2, tolerates=False, number=0):
        """`number`: several loads on the same servers have different keys."""
        super().__init__(servers, tolerates)
        self.random = random.Random(seed)
        base = number * 3 * 10**9
        self.keys = self.random.sample(range(base, base + 10**9), keys * writers)
        self.answered = dict.fromkeys(self.keys, 0)
        self.sent = dict.fromkeys(self.keys, 0)
        self.counters = self.random.sample(range(base + 10**9, base + 2 * 10**9), 300)
        self.sums_answered = self.sums_sent = 0
        self.rounds = 0
        self.ordered = self.random.sample(range(base + 2 * 10**9, base + 3 * 10**9), 64)
        self.add_clients(writers)

    def add_clients(self, writers):
        for i in range(writers):
            self.add(self.write, self.keys[i::writers])
        self.add(self.read, 0)
        self.add(self.frames)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    @staticmethod
    def value(version):
        return version

    @staticmethod
    def version(value):
        return int(value)

    def write(self, keys):
        client, rand = Client(self.servers), random.Random(keys[0])
        while not self.stopping:
            key = rand.choice(keys)
            version = self.sent[key] = self.sent[key] + 1
            words = ("DEL", key) if version % DELETES == 0 else ("SET", key, self.value(version))
            try:
                client.ask(key, *words)
                self.answered[key] = version
            except OSError as error:
                self.unknown(error)
            time.sleep(PACE)
        client.close()

    def judge(self, key, at_least, got):
        at_most = self.sent[key]
        if got is None:
            check(at_most // DELETES > (at_least - 1) // DELETES,
                  f"key {key} is absent, and no write from version {at_least} to {at_most} deleted it")
        else:
            check(at_least <= self.version(got) <= at_most, f"key {key} has {got}, wanted version {at_least} to {at_most}")

    def read(self, seed):
        client, rand = Client(self.servers), random.Random(seed)
        while not self.stopping:
            key = rand.choice(self.keys)
            at_least = self.answered[key]
            try:
                self.judge(key, at_least, client.ask(key, "GET", key))
            except OSError as error:
                self.unknown(error)
            time.sleep(PACE)
        client.close()

    # --- libsherwood ---
    def handle(self):
        return Handle(*(server.address() for server in self.servers))

    def sums(self):
        return Handle.words("run", SUM, [(key, 1) for key in self.counters])

    def frames(self):
        """Sends sums of all counters, and pipelines of sets whose order shows in the replies."""
        sums, reads, number = self.sums(), Handle.words("run", GET, [(key, 0) for key in self.ordered]), 0
        with self.handle() as handle:
            check(handle.first.startswith("0"), handle.first)
            while not self.stopping:
                self.sums_sent += 1
                if handle.ask(sums).startswith("0 "):
                    self.sums_answered += 1
                else:
                    self.unknown("a sum")
                lines = []
                for _ in range(6):
                    number += 1
                    some = self.ordered if number % 2 else self.ordered[::3]
                    lines.append(handle.ask(Handle.words("submit", SET, [(key, number) for key in some])))
                handle.send("wait")
                lines += [handle.line() for _ in range(6)]
                line = handle.ask(reads)
                if all(each.startswith("0") for each in lines) and line.startswith("0 "):
                    last = number - 1 + number % 2
                    for i, word in enumerate(line.split()[3:]):
                        equal(word, f"{number if i % 3 == 0 else last}:1", f"{number}: the order of a connection's writes")
                else:
                    self.unknown([each[:200] for each in lines + [line] if not each.startswith("0")])
                self.rounds += 1
                time.sleep(PACE)

    # --- afterwards ---

    def check(self):
        """Checks that every acknowledged write exists once, and nothing else."""
        client = Client(self.servers)
        for key in self.keys:
            self.judge(key, self.answered[key], client.ask(key, "GET", key))
        self.check_sums(client)
        client.close()

    def check_sums(self, client):
        for key in self.counters:
            got = int(client.ask(key, "GET", key) or 0)
            check(self.sums_answered <= got <= self.sums_sent,
                  f"counter {key} is {got}, wanted {self.sums_answered} (sums with a reply) to {self.sums_sent} (sums sent)")


def entries(server):
    """Returns all keys that SCAN shows: those of the node's own slots."""
    cursor, found = b"0", []
    while True:
        cursor, keys = server.ask("SCAN", cursor.decode(), "COUNT", 1000)
        found += [int(key) for key in keys]
        if cursor == b"0":
            return found


def check_nodes(servers, slots=()):
    """Checks that each key is only on the owner of its slot, and that all nodes have one topology."""
    for server in servers:
        eventually(server.rests, "moves end")
    seen = {}
    for number, server in enumerate(servers):
        equal(server.ask("CLUSTER", "COUNTFOREIGN"), 0, f"keys of other nodes' slots at node {number}")
        for key in entries(server):
            check(seen.setdefault(key, number) == number, f"key {key} is at the nodes {seen[key]} and {number}")
    equal(len({server.ask("CLUSTER", "TOPOLOGY") for server in servers}), 1, "topologies")
    for server, slot in slots:
        equal(server.ask("CLUSTER", "COUNTKEYSINSLOT", slot), 0, f"keys in slot {slot}")


def wait_killed(server):
    equal(server.process.wait(60), -signal.SIGKILL, f"the fault killed the daemon: {server.log()[-500:]}")


__all__ = ["SOURCE_FAULTS", "TARGET_FAULTS", "Client", "Keeper", "Load", "Threads", "check_nodes", "cluster", "entries", "mover", "moved",
           "moved_at_last", "node_id", "wait_killed"]
