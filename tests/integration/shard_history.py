# SPDX-License-Identifier: MIT
"""Clients of a shard that record their requests and replies, and a checker of the records.

Each client has keys of its own and writes ascending values to them, so a value identifies the last write. A write that
WAIT has counted is safe: every primary must later show that write, or a newer one."""

import random
import socket
import threading
import time

import wire
from harness import PACE, check
from shard import agree


class Wrong(AssertionError):
    pass


class Key:
    """A key that one client sets to ascending values."""

    def __init__(self):
        self.sent, self.safe = set(), 0  # what may be there; the last value that must not be lost

    def check(self, value, safe, who):
        """Checks a value that a server returned; `safe` was safe before the read."""
        if value is None:
            if safe:
                raise Wrong(f"{who}: nothing is there, and {safe} was safe")
        elif int(value) not in self.sent:
            raise Wrong(f"{who}: {value} is there, which nobody wrote")
        elif int(value) < safe:
            raise Wrong(f"{who}: {value} is there, and {safe} was safe")


class Counter:
    """A key that one client adds to."""

    def __init__(self):
        self.sent = self.safe = 0

    def check(self, value, safe, who):
        if not safe <= int(value or 0) <= self.sent:
            raise Wrong(f"{who}: it is {value}; {safe} was safe, {self.sent} were sent")


class Client(threading.Thread):
    """Writes, waits and reads at the current primary until end(). If a reply does not arrive, the write may have been
    executed. An error means that it was not."""

    KEYS = 8
    STEPS = ("set", "set", "set", "add", "get", "get_counter", "wait")

    @staticmethod
    def write(value):
        """A value as it is written; `read` gives it back."""
        return value

    @staticmethod
    def read(shown):
        return shown

    def __init__(self, shard, number, seed):
        super().__init__(daemon=True)
        self.shard, self.draw, self.ending = shard, random.Random(seed), threading.Event()
        self.keys = {1000 * (1 + number) + i: Key() for i in range(self.KEYS)}
        self.counter_at, self.counter = 1000 * (1 + number) + 500, Counter()
        self.next, self.error = 0, None
        self.writes = self.waits = self.reads = self.breaks = 0
        self.start()

    def run(self):
        try:
            while not self.ending.is_set():
                try:
                    self.session()
                except (OSError, wire.Closed):
                    self.breaks += 1
                    time.sleep(0.01)
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def end(self):
        self.ending.set()
        self.join(60)
        if self.error is not None:
            raise self.error

    def session(self):
        """One connection, until it breaks or its server is not primary."""
        member = self.draw.choice(self.shard.members)
        with socket.create_connection((member.host, member.port), 1) as connection:
            connection.settimeout(1)
            replies = wire.Replies(connection)
            self.done, self.added = {}, 0  # by this connection, and not known to be safe
            while not self.ending.is_set() and getattr(self, self.draw.choice(self.STEPS))(replies):
                time.sleep(PACE)
        time.sleep(0.005)

    def set(self, replies):
        at = self.draw.choice(list(self.keys))
        self.next += 1
        self.keys[at].sent.add(self.next)
        if isinstance(replies.ask("SET", at, self.write(self.next)), wire.Error):
            self.keys[at].sent.discard(self.next)
            return False
        self.done[at] = self.next
        self.writes += 1
        return True

    def add(self, replies):
        by = self.draw.randrange(1, 10)
        self.counter.sent += by
        if isinstance(replies.ask("INCRBY", self.counter_at, by), wire.Error):
            self.counter.sent -= by
            return False
        self.added += by
        self.writes += 1
        return True

    def is_primary(self, replies):
        return replies.ask("ROLE")[0] == b"master"

    def get(self, replies):
        at = self.draw.choice(list(self.keys))
        return self.look(replies, at, self.keys[at])

    def get_counter(self, replies):
        return self.look(replies, self.counter_at, self.counter)

    def look(self, replies, at, what):
        """A replica may return older values. So only a reply of a server that stays primary is checked."""
        safe = what.safe
        if not self.is_primary(replies):
            return False
        value = replies.ask("GET", at)
        if isinstance(value, wire.Error) or not self.is_primary(replies):
            return False
        what.check(self.read(value), safe, f"key {at} at port {replies.socket.getpeername()[1]}")
        self.reads += 1
        return True

    def wait(self, replies):
        reached = replies.ask("WAIT", 1, 300)
        if isinstance(reached, wire.Error):
            return False
        if reached >= 1:
            for at, value in self.done.items():
                self.keys[at].safe = value
            self.counter.safe += self.added
            self.done, self.added = {}, 0
            self.waits += 1
        return True

    def check(self, member):
        """Checks the final contents of the primary."""
        for at, key in self.keys.items():
            key.check(self.read(member.ask("GET", at)), key.safe, f"key {at} in the end")
        self.counter.check(self.read(member.ask("GET", self.counter_at)), self.counter.safe, f"counter {self.counter_at}")


def end_load(shard, clients):
    """Stops the clients. Checks that all members are equal, and that no client lost a write."""
    shard.whole()
    for client in clients:
        client.end()
    primary = agree(shard)
    for client in clients:
        client.check(primary)
        check(client.waits and client.reads, "it has waited and read")
