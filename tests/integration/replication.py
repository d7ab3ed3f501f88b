# SPDX-License-Identifier: MIT
"""Primaries and replicas for tests: a load that knows which writes were answered, and a relay that cuts, delays and
corrupts data."""

import contextlib
import random
import select
import socket
import threading
import time

import wire
from harness import PACE, Server, eventually

SMALL = ("--capacity", "64K", "--max-capacity", "1M", "--frame-ops-max", "4096", "--round-ops-max", "4096",
         "--repl-timeout", "10")


def replica_of(port, *flags, **how):
    return Server("--replicaof", f"127.0.0.1 {port}", *SMALL, *flags, **how)


@contextlib.contextmanager
def to_be_killed(server):
    """A server that the test kills instead of stopping it."""
    try:
        yield server.start()
    finally:
        server.kill()


def info(server):
    text = server.ask("INFO", "replication")
    text = text.decode() if isinstance(text, bytes) else text
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def caught_up(primary, replica):
    """Waits until both digests are equal, and returns them. No client writes meanwhile. The primary may remove expired
    keys, which are writes."""
    return eventually(lambda: (got := replica.ask("DIGEST")) == primary.ask("DIGEST") and got, "equal digests", 30)


def acknowledged(replies):
    """Waits until a replica has all that the connection wrote. A replica with a log on a slow disk may be far behind."""
    eventually(lambda: replies.ask("WAIT", 1, 5000) == 1, "a replica acknowledges the writes", 120)


class Load(threading.Thread):
    """Writes of every kind, by both protocols in turn, until stopped or, if `ends_with_server`, the server is gone."""

    ends_with_server = True
    pace = PACE

    def __init__(self, server, seed, flushes=True):
        super().__init__(daemon=True)
        self.draw, self.flushes = random.Random(seed), flushes
        self.socket, self.frames = server.connect(), server.connect()
        self.ending = threading.Event()
        self.error, self.written = None, 0
        self.start()

    def step(self, replies):
        draw = self.draw
        key = draw.randrange(3000)
        kind = draw.randrange(12)
        if kind == 0:
            return replies.ask("DEL", *(draw.randrange(3000) for _ in range(20)))
        if kind == 1:
            return replies.ask("INCRBY", key, draw.randrange(100))
        if kind == 2:
            return replies.ask("SETNX", key, draw.randrange(2**32))
        if kind == 3 and self.flushes and draw.randrange(40) == 0:
            return replies.ask("FLUSHALL")
        if kind == 4:
            for words in (("MULTI",), ("SET", key, 1), ("DECRBY", key, 1), ("DEL", key + 1)):
                replies.ask(*words)
            return replies.ask("EXEC")
        if kind == 5 and draw.randrange(20) == 0:
            return replies.ask("RESIZE", draw.choice(("64K", "128K")))
        keys = [draw.randrange(3000) for _ in range(draw.choice((1, 10, 300)))]
        if kind == 6: # they look before they write
            keys = keys[:250]
            self.frames.sendall(wire.frame(draw.choice((wire.OR, wire.XOR, wire.AND, wire.ANDNOT)), keys,
                                           [draw.randrange(2**32) for _ in keys]))
            return wire.read_frame(self.frames)
        return replies.ask("MSET", *(x for k in keys for x in (k, draw.randrange(2**32))))

    def run(self):
        replies = wire.Replies(self.socket)
        try:
            while not self.ending.is_set():
                self.step(replies)
                self.written += 1
                time.sleep(self.pace)
        except (wire.Closed, OSError) as error:
            self.error = None if self.ends_with_server else error
        except Exception as error:  # pylint: disable=broad-except
            self.error = error
        self.socket.close()
        self.frames.close()

    def end(self):
        self.ending.set()
        self.join(60)
        assert self.error is None, self.error


class Relay:
    """A TCP relay before a server. It calls `spoil` with each piece from the server and passes on the result; None cuts
    the connection. While `held` is set it passes on nothing from the server. A piece has at most `piece` bytes."""

    def __init__(self, port, spoil=None, piece=1 << 16):
        self.target, self.spoil, self.piece = port, spoil, piece
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pairs, self.ending, self.passed = [], False, 0
        self.held = threading.Event()
        self.turns = 0
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.ending:
            self.turns += 1
            sockets = [s for pair in self.pairs for s in pair if not (s is pair[1] and self.held.is_set())]
            ready, _, _ = select.select([self.listener, *sockets], [], [], 0.02)
            for one in ready:
                if one is self.listener:
                    self.accept()
                else:
                    self.pass_on(one)

    def accept(self):
        client, _ = self.listener.accept()
        try:
            pair = client, socket.create_connection(("127.0.0.1", self.target), 5)
        except OSError:
            client.close()
            return
        for one in pair: # or the end of each piece waits for a delayed acknowledgement
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pairs.append(pair)

    def pass_on(self, one):
        pair = next((p for p in self.pairs if one in p), None)
        if pair is None:
            return
        other = pair[1] if one is pair[0] else pair[0]
        try:
            data = one.recv(self.piece)
            if data and one is pair[1] and self.spoil is not None:
                data = self.spoil(data)
            if data:
                self.passed += len(data)
                other.sendall(data)
                return
        except OSError:
            pass
        self.drop(pair)

    def drop(self, pair):
        if pair in self.pairs:
            self.pairs.remove(pair)
        for one in pair:
            one.close()

    def hold(self):
        """Sets `held`, and returns once the relay passes on nothing."""
        self.held.set()
        turn = self.turns
        eventually(lambda: self.turns > turn, "the relay holds back")

    def cut(self):
        for pair in list(self.pairs):
            for one in pair:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.ending = True
        self.thread.join(10)
        for pair in list(self.pairs):
            self.drop(pair)
        self.listener.close()
