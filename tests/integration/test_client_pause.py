#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""CLIENT PAUSE, UNPAUSE and UNBLOCK: paused commands have no effect, and none is lost or reordered."""

import contextlib
import random
import socket
import tempfile
import threading

import wire
from harness import Moves, Server, case, check, drawn_seed, equal, eventually, main, redis_server

LONG = 600000  # milliseconds
ONES = 1111111111111000000  # a key whose digits keep a pattern of ones busy


@contextlib.contextmanager
def both():
    """Returns (name, function that connects) of redis and of a daemon."""
    def to(path):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(30)
        connection.connect(path)
        return connection
    with redis_server() as path, tempfile.TemporaryDirectory(prefix="sherwood-") as directory, \
            Server("--unix-socket", directory + "/socket"):
        yield ("redis", lambda: to(path)), ("sherwood", lambda: to(directory + "/socket"))


class Peer(wire.Replies):
    """A connection, and what is known of it from outside."""

    def __init__(self, connection):
        super().__init__(connection)
        self.id = self.ask("CLIENT", "ID")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, *lines):
        self.socket.sendall("".join(line + "\r\n" for line in lines).encode())

    def flags_of(self, other):
        lines = self.ask("CLIENT", "LIST", "ID", other.id).decode()
        return lines.split("flags=")[1].split()[0] if lines else "gone"

    def sees_blocked(self, other):
        eventually(lambda: "b" in self.flags_of(other), "it is blocked")

    def silent(self):
        """Returns whether nothing has arrived."""
        self.socket.setblocking(False)
        try:
            return not self.buffer and not self.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return not self.buffer
        finally:
            self.socket.settimeout(30)


def pauses(replies, *words):
    equal(replies.ask("CLIENT", "PAUSE", *words), "OK", words)


def unpause(replies):
    equal(replies.ask("CLIENT", "UNPAUSE"), "OK", "UNPAUSE")


@case
def writes_wait_in_order():
    """WRITE, as in redis: reads go on; a connection with a write waits with all later commands until UNPAUSE"""
    with both() as servers:
        for name, connect in servers:
            with Peer(connect()) as one, Peer(connect()) as two, Peer(connect()) as third:
                equal(one.ask("SET", 1, 10), "OK", name)
                pauses(two, LONG, "WRITE")
                one.send("GET 1", "SET 1 11", "GET 1", "PING")
                equal(one.read(), b"10", name)
                third.send("MULTI", "GET 1", "EXEC", "MULTI", "INCR 1", "EXEC")
                equal([third.read() for _ in range(4)], ["OK", "QUEUED", [b"10"], "OK"], name)
                two.sees_blocked(one)
                two.sees_blocked(third)
                equal((two.ask("GET", 1), two.ask("PING")), (b"10", "PONG"), name)
                check(one.silent() and third.silent(), f"{name}: nothing was answered")
                unpause(two)
                equal([one.read() for _ in range(3)][2], "PONG", name)
                equal(third.read(), "QUEUED", name)
                third.read()
                check(two.ask("GET", 1) in (b"11", b"12"), f"{name}: both were carried out")


@case
def changes_of_tables_wait():
    """WRITE holds back SWAPDB and each change of TABLE, as RESP commands and as frames, and lists go on"""
    with Server("--capacity", "4K", "--databases", "3") as server, Peer(server.connect()) as two:
        changes = ("SWAPDB 1 2", "TABLE SWAP db1 db2", "TABLE CREATE new", "TABLE RENAME db1 one", "TABLE DROP db2",
                   "TABLE ALTER default memory-max 1G", "TABLE TRUNCATE default")
        with contextlib.ExitStack() as stack:
            waiting = [stack.enter_context(Peer(server.connect())) for _ in changes]
            frames = stack.enter_context(server.connect())
            pauses(two, LONG, "WRITE")
            before = two.ask("TABLE", "LIST")
            for peer, words in zip(waiting, changes):
                peer.send(words)
                two.sees_blocked(peer)
            frames.sendall(wire.frame(wire.TABLE, words=("CREATE", "other")))
            eventually(lambda: server.metrics()["sherwood_client_pauses_total"] > len(changes), "the frame waits")
            equal(two.ask("TABLE", "LIST"), before, "nothing was changed")
            check(all(peer.silent() for peer in waiting), "nothing was answered")
            unpause(two)
            for peer in waiting:
                peer.read()
            equal(wire.read_frame(frames).status, wire.OK, "the frame")
        names = {row[1] for row in two.ask("TABLE", "LIST")}
        check({b"new", b"other"} <= names, names)


@case
def transactions_that_are_open():
    """EXEC of a transaction queued before the pause waits if it writes, and runs at once if it only reads"""
    with both() as servers:
        for name, connect in servers:
            with Peer(connect()) as one, Peer(connect()) as two, Peer(connect()) as reader:
                for peer, command in ((one, "SET 3 3"), (reader, "GET 3")):
                    peer.send("MULTI", command)
                    equal([peer.read(), peer.read()], ["OK", "QUEUED"], name)
                pauses(two, LONG, "write")
                equal(reader.ask("EXEC"), [None], name)
                one.send("EXEC")
                two.sees_blocked(one)
                equal(two.ask("EXISTS", 3), 0, name)
                unpause(two)
                equal(one.read(), ["OK"], name)
                equal(two.ask("GET", 3), b"3", name)


@case
def all_wait_until_the_end():
    """ALL, as in redis: a read also waits until the pause ends, and is then served once"""
    with both() as servers:
        for name, connect in servers:
            with Peer(connect()) as one, Peer(connect()) as two:
                equal(one.ask("SET", 5, 0), "OK", name)
                pauses(two, 300)
                one.send("INCR 5", "GET 5")
                equal([one.read(), one.read()], [1, b"1"], name)
                equal(two.ask("GET", 5), b"1", name)


@case
def longer_and_stricter():
    """a second pause can only extend the first and make it stricter; INFO and /metrics show the pause"""
    with Server() as server, Peer(server.connect()) as one, Peer(server.connect()) as two:
        def shown():
            text = two.ask("INFO", "clients").decode()
            facts = dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)
            return facts["paused_reason"], facts["paused_actions"], int(facts["paused_timeout_milliseconds"])
        equal(shown(), ("none", "none", 0), "at first")
        pauses(two, LONG, "WRITE")
        pauses(two, 1, "WRITE")
        check(shown()[:2] == ("client_pause", "write") and shown()[2] > LONG / 2, shown())
        pauses(two, 1, "ALL")
        check(shown()[1] == "all" and shown()[2] > LONG / 2, shown())
        pauses(two, LONG, "WRITE")
        equal(shown()[1], "all", "the mode")
        check(server.metrics()["sherwood_client_pause_seconds"] > LONG / 2000, "/metrics")
        with Moves(server, client_pauses=1):
            one.send("GET 1")
            two.sees_blocked(one)
        # these are served all the same
        equal(two.ask("CONFIG", "SET", "timeout", 0), "OK", "CONFIG")
        equal(two.ask("ACL", "WHOAMI"), b"default", "ACL")
        check(isinstance(two.ask("SLOWLOG", "LEN"), int), "SLOWLOG")
        check(server.ask("HELLO", 2), "HELLO")
        unpause(two)
        equal(one.read(), None, "GET")
        equal(shown(), ("none", "none", 0), "at last")
        equal(server.metrics()["sherwood_client_pause_seconds"], 0, "/metrics")
        pauses(two, 9223372036854775807, "WRITE")
        check(shown()[2] > 1 << 60, shown())


@case
def frames_wait_too():
    """frames that write wait, also one that had arrived in part; frames that read wait only under ALL"""
    keys = list(range(1000))
    with Server() as server, Peer(server.connect()) as operator, server.connect() as half, \
            server.connect() as whole, server.connect() as reader:
        write = wire.frame(wire.SET, keys, keys)
        half.sendall(write[:len(write) // 2])
        eventually(lambda: server.metrics()["sherwood_net_input_bytes_total"] > len(write) // 2, "half of it is there")
        pauses(operator, LONG, "WRITE")
        with Moves(server, client_pauses=2):
            half.sendall(write[len(write) // 2:])
            whole.sendall(wire.frame(wire.SUM, keys, keys) + wire.frame(wire.GET, keys, want_values=True, request_id=2))
        eventually(lambda: server.metrics()["sherwood_paused_clients"] == 2, "both wait")
        reader.sendall(wire.frame(wire.GET, keys[:2], want_values=True) + wire.frame(wire.PING, request_id=2))
        replies = [wire.read_frame(reader) for _ in range(2)]
        check(all(reply.status == 0 for reply in replies), replies)
        equal(operator.ask("DBSIZE"), 0, "nothing was written")
        pauses(operator, LONG, "ALL")
        equal(wire.call(reader, wire.PING).status, 0, "PING")
        reader.sendall(wire.frame(wire.GET, keys[:2]))
        eventually(lambda: server.metrics()["sherwood_paused_clients"] == 3, "a read waits")
        unpause(operator)
        for connection, count in ((half, 1), (whole, 2), (reader, 1)):
            for _ in range(count):
                equal(wire.read_frame(connection).status, 0, "a reply")
        equal(operator.ask("DBSIZE"), len(keys), "all was written")
        value = int(operator.ask("GET", 7))
        check(value in (7, 14), value)  # SUM came before SET, or behind it


@case
def nothing_changes_once_it_is_answered():
    """writers by RESP and frames: no write takes effect from the reply of PAUSE to UNPAUSE, and none is lost"""
    random.seed(drawn_seed())
    with Server("--loops", "3") as server, Peer(server.connect()) as operator:
        over = threading.Event()
        counted = [0] * 8

        def by_resp(i):
            with Peer(server.connect()) as peer:
                while not over.is_set():
                    peer.send(*[f"INCR {i}", "GET 99"] * 16)
                    for _ in range(32):
                        peer.read()
                    counted[i] += 16

        def by_frames(i):
            with server.connect() as connection:
                while not over.is_set():
                    equal(wire.call(connection, wire.SUM, [i] * 64, [1] * 64).status, 0, "SUM")
                    counted[i] += 64
        threads = [threading.Thread(target=by_resp if i < 5 else by_frames, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(4):
                before = operator.ask("DIGEST")[0]
                eventually(lambda: operator.ask("DIGEST")[0] > before + 20, "writes go on")
                pauses(operator, LONG, random.choice(("WRITE", "ALL")))
                digests = [operator.ask("DIGEST") for _ in range(random.randrange(2, 5))]
                unpause(operator)
                equal(digests, [digests[0]] * len(digests), "digests")
        finally:
            unpause(operator)
            over.set()
            for thread in threads:
                thread.join()
        equal([int(operator.ask("GET", i)) for i in range(8)], counted, "what was answered is there, and no more")


@case
def the_end_in_a_pause():
    """a write that a pause holds back has no effect if SHUTDOWN or CLIENT KILL ends it"""
    with tempfile.TemporaryDirectory(prefix="sherwood-") as directory:
        with Server("--data-dir", directory) as server:
            operator, one, killed = (Peer(server.connect()) for _ in range(3))
            frames = server.connect()
            equal(operator.ask("SET", 1, 1), "OK", "SET")
            pauses(operator, LONG, "WRITE")
            for peer in (one, killed):
                peer.send("SET 1 2")
                operator.sees_blocked(peer)
            equal(operator.ask("CLIENT", "KILL", "ID", killed.id), 1, "KILL")
            eventually(lambda: operator.flags_of(killed) == "gone", "it is gone")
            frames.sendall(wire.frame(wire.SET, [1], [3]))
            eventually(lambda: server.metrics()["sherwood_paused_clients"] == 2, "both wait")
            operator.send("SHUTDOWN")
            server.wait_stopped()
            for peer in (one, killed):
                check(peer.closed() is not False, "closed")
        with Server("--data-dir", directory) as server, Peer(server.connect()) as again:
            eventually(lambda: again.ask("GET", 1) == b"1", "as it was")


@case
def unblocked():
    """CLIENT UNBLOCK, as in redis: WAIT returns its count or an error; a client that is not blocked gives 0"""
    with both() as servers:
        for name, connect in servers:
            with Peer(connect()) as one, Peer(connect()) as two:
                equal(two.ask("CLIENT", "UNBLOCK", one.id), 0, name)
                for words, wanted in ((("TIMEOUT",), 0), ((), 0), (("ERROR",), "UNBLOCKED client unblocked via CLIENT UNBLOCK")):
                    one.send("SET 1 1", "WAIT 3 0", "PING")
                    equal(one.read(), "OK", name)
                    eventually(lambda: two.ask("CLIENT", "UNBLOCK", one.id, *words) == 1, "it is unblocked")
                    equal(one.read(), wanted, f"{name} {words}")
                    equal(one.read(), "PONG", name)
                    equal(two.ask("CLIENT", "UNBLOCK", one.id), 0, name)


@case
def unblocked_once():
    """two UNBLOCKs at once of a WAIT that may end by itself: at most one returns 1"""
    with Server("--loops", "2") as server, Peer(server.connect()) as one, Peer(server.connect()) as two, \
            Peer(server.connect()) as third:
        for i in range(100):
            one.send("SET 1 1", f"WAIT 1 {1 + i % 3}")
            one.read()
            for peer in (two, third):
                peer.send(f"CLIENT UNBLOCK {one.id} ERROR")
            ended, said = two.read() + third.read(), one.read()
            check((ended, isinstance(said, wire.Error)) in ((0, False), (1, True)), f"{ended} of 2, and {said}")


@case
def passes_are_over():
    """PAUSE ALL replies after a KEYS that began before it, although KEYS reads keys in portions"""
    keys = 4 * 65536
    with tempfile.TemporaryDirectory(prefix="sherwood-") as directory, \
            Server("--loops", "1", "--capacity", "1M", "--unix-socket", directory + "/socket") as server:
        def connect():
            connection = socket.socket(socket.AF_UNIX)  # what the server has sent is there at once
            connection.settimeout(30)
            connection.connect(directory + "/socket")
            return connection
        with server.connect() as frames:
            for first in range(ONES, ONES + keys, 65536):
                equal(wire.call(frames, wire.SET, range(first, first + 65536), [1] * 65536).status, wire.OK, "SET")
        with Peer(connect()) as one, Peer(connect()) as two:
            one.send("KEYS " + "*1" * 12 + "*99999999")
            equal(two.ask("ECHO", "x"), b"x", "an answer of the loop that has read KEYS")
            pauses(two, LONG)
            check(not one.silent(), "KEYS is still on its way")
            equal(one.read(), [], "KEYS")
            unpause(two)


if __name__ == "__main__":
    main()
