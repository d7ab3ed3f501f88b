#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The time of day is set forwards and backwards while daemons run: only output for people depends on it.

SHERWOOD_SEED=N repeats a run that failed."""

import random
import re
import signal
import tempfile
import time

import wire
from harness import Server, case, check, drawn_seed, equal, eventually, main
from replication import SMALL, caught_up, replica_of
from shard import TTL, Etcd, Member, Shard, needs_etcd
from shard_history import Client, end_load
from wall_clock import WallClock

HOUR = 3600
RANDOM = random.Random(drawn_seed())


def uptime(server):
    return int(re.search(rb"uptime_in_seconds:(-?\d+)", server.ask("INFO", "server"))[1])


def serves(replies, key):
    """Checks requests that wait: for a sync, and for a replica."""
    equal(replies.ask("SET", key, key), "OK", "SET")
    equal(replies.ask("WAITAOF", 1, 0, 20000), [1, 0], "WAITAOF: everysec syncs")
    equal(replies.ask("WAIT", 1, 20000), 1, "WAIT: the replica follows")


@case
def one_server():
    """a clock step does not affect a primary with a log, its replica, snapshots, syncs, WAIT, idle clients or uptime"""
    clock, other = WallClock(), WallClock()
    with tempfile.TemporaryDirectory(prefix="sherwood-clock-") as folder:
        flags = ("--data-dir", folder, "--appendonly", "yes", "--idle-timeout-ms", "600000", "--save", "3600 1", *SMALL)
        with Server(*flags, environment=clock.environment) as server, \
                replica_of(server.port, environment=other.environment) as replica:
            with server.connect() as idle, server.connect() as connection:
                replies, waiting = wire.Replies(connection), wire.Replies(idle)
                equal(waiting.ask("PING"), "PONG", "PING")
                saves = server.metrics()["sherwood_persistence_saves_total"]
                for step, seconds in enumerate((HOUR, -HOUR, 24 * HOUR, 0)):
                    clock.set(seconds)
                    other.set(-seconds)
                    said = server.ask("TIME")
                    check(abs(int(said[0]) - seconds - time.time()) < 600, f"the time of day is set: {said}")
                    serves(replies, step)
                    check(0 <= uptime(server) < 600 and 0 <= uptime(replica) < 600, "uptime")
                    equal(server.http("/readyz")[0], 200, "/readyz")
                equal(waiting.ask("PING"), "PONG", "an idle client is not idle for longer")
                equal(server.metrics()["sherwood_persistence_saves_total"], saves, "no save was due")
                eventually(lambda: str(replies.ask("BGSAVE")).startswith("Background"), "BGSAVE")
                eventually(lambda: server.metrics()["sherwood_persistence_saves_total"] == saves + 1, "it is saved")
                clock.set(-HOUR)
                caught_up(server, replica)
            server.kill()
            server.start()
            equal(server.ask("MGET", 0, 1, 2, 3), [b"0", b"1", b"2", b"3"], "the log is replayed, whatever its times")


@case
def keys_that_expire():
    """after a clock a day ahead is set back, a new key gets no longer time than the command says"""
    clock = WallClock()
    with Server("--backend", "cpu", *SMALL, environment=clock.environment) as server, server.replies() as replies:
        clock.set(24 * HOUR)
        equal([replies.ask("SET", 1, 5, "EX", 100), replies.ask("DEL", 1)], ["OK", 1], "a key by the clock that is ahead")
        clock.set(0)
        eventually(lambda: server.metrics()["sherwood_clock_steps_total"] == 1, "the clock is followed", 20)
        equal(replies.ask("SET", 2, 5, "EX", 100), "OK", "SET")
        left = replies.ask("EXPIRETIME", 2) - int(replies.ask("TIME")[0])
        check(left <= 101, f"{left} s")


class Clocked(Member):
    """A member of a shard whose time of day can be set."""

    def __init__(self, etcd, name):
        self.clock = WallClock()
        self.options = {"environment": self.clock.environment}
        super().__init__(etcd, name)


@case
@needs_etcd
def a_shard():
    """clock steps end no lease; after the primary stops for 3 ttl under load, every write that WAIT counted stays"""
    WallClock()
    with Etcd(1) as etcd, Shard(etcd, "clock", 3, Clocked) as shard:
        primary = shard.whole()
        clients = [Client(shard, i, RANDOM.randrange(2**32)) for i in range(3)]

        def more_is_safe():
            safe = [client.waits for client in clients]
            eventually(lambda: all(c.waits > s or c.error for c, s in zip(clients, safe)), "writes are safe", 60)

        calm(shard, more_is_safe)
        primary = shard.whole()
        term = primary.term()
        primary.signal(signal.SIGSTOP)
        stopped = time.monotonic()
        new = shard.primary(after=term)
        for member in shard.members:
            member.clock.set(RANDOM.choice((HOUR, -HOUR)))
        more_is_safe()
        time.sleep(max(0.0, stopped + 3 * TTL - time.monotonic()))
        primary.signal(signal.SIGCONT)
        eventually(lambda: primary.status().get("ha_role") == "replica" or primary.term() > new.term(), "it follows")
        end_load(shard, clients)


def calm(shard, more_is_safe):
    """Sets clocks and checks that no term ends. It tries again, because a busy machine may end a term."""
    def tried():
        primary = shard.whole()
        term = primary.term()
        for seconds in (HOUR, -HOUR, 0):
            for member in shard.members:
                member.clock.set(seconds if member is primary else RANDOM.choice((0, -seconds)))
            more_is_safe()
        return shard.primary().term() == term
    eventually(tried, "no term ends while clocks are set", 60)


if __name__ == "__main__":
    main()
