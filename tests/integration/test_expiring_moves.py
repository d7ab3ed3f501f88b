#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_expiring_moves - keys that expire in a cluster: slots move with the times of their keys, whoever is killed and
whatever the clocks of the two nodes say.

SHERWOOD_SEED=N repeats a run that failed."""

import contextlib
import random
import threading

from cluster import key_in, slot_of, topology
from harness import BUILD, case, check, drawn_seed, equal, eventually, main, run
from moving import (CLI, SOURCE_FAULTS, TARGET_FAULTS, Keeper, Load, check_nodes, cluster, entries, moved, moved_at_last, mover,
                    wait_killed)
from replication import Relay
from timed_keys import FAR, TimedLoad
from wall_clock import WallClock
from wire import Error, Replies, command

SEED = drawn_seed()
RANDOM = random.Random(SEED)
CPU = ("--backend", "cpu", "--capacity", "64K")
EMULATED = BUILD / "emulator" / "sherwoodd"  # make emulated-daemon
CUDA = ("--backend", "cuda", "--capacity", "2K", "--max-capacity", "16K", "--stash", "64", "--loops", "1",
        "--frame-ops-max", "512", "--round-ops-max", "512")
FAULTS_A_RUN = 3
HOUR = 3600


def some_slots():
    first = RANDOM.randrange(0, 3000)
    return f"{first}-{first + RANDOM.randrange(3000, 5000)}"


def set_unswept(server, key, ms):
    """Sets a key that expires, and pauses writes before a sweep can remove it: in one write to the socket."""
    with server.replies() as replies:
        replies.socket.sendall(command("SET", key, 1, "PX", ms) + command("CLIENT", "PAUSE", 20000, "WRITE"))
        equal([replies.read(), replies.read()], ["OK", "OK"], "no sweeps")


@case
def commands():
    """EXPIRE and its variants are redirected like other commands; a slot's count and list omit expired keys"""
    with cluster(2, *CPU) as (one, two):
        key, foreign = key_in(0, 8191), key_in(8192, 16383)
        moved_there = Error(f"MOVED {slot_of(foreign)} 127.0.0.1:{two.port}")
        for words in (("EXPIRE", 9), ("PEXPIRE", 9), ("EXPIREAT", FAR), ("PEXPIREAT", FAR), ("TTL",), ("PTTL",), ("EXPIRETIME",),
                      ("PEXPIRETIME",), ("PERSIST",), ("GETEX", "EX", 9), ("SETEX", 9, 1), ("PSETEX", 9, 1), ("SET", 1, "EX", 9),
                      ("SET", 1, "KEEPTTL")):
            equal(one.ask(words[0], foreign, *words[1:]), moved_there, words)
        crossed = one.ask("RENAME", key, foreign)
        check(crossed.startswith("CROSSSLOT"), crossed)
        with one.replies() as replies:
            equal([replies.ask("SET", key, 1, "PXAT", FAR), replies.ask("TTL", key) > 10**8, replies.ask("PERSIST", key),
                   replies.ask("PTTL", key), replies.ask("GETEX", key, "PXAT", FAR), replies.ask("PEXPIRETIME", key)],
                  ["OK", True, 1, -1, b"1", FAR], "at home")
            equal([replies.ask("MULTI"), replies.ask("EXPIRE", key, 100, "LT"), replies.ask("PERSIST", key), replies.ask("EXEC")],
                  ["OK", "QUEUED", "QUEUED", [1, 1]], "a transaction")
            slot, other = slot_of(key), next(each for each in range(10**9) if slot_of(each) == slot_of(key) and each != key)
            set_unswept(one, other, 300)
            eventually(lambda: replies.ask("GET", other) is None, "its time comes")
            equal([replies.ask("CLUSTER", "COUNTKEYSINSLOT", slot), replies.ask("CLUSTER", "GETKEYSINSLOT", slot, 9),
                   replies.ask("DBSIZE")], [1, [str(key).encode()], 2], "it is there, and dead")
            equal(replies.ask("CLIENT", "UNPAUSE"), "OK", "UNPAUSE")
            eventually(lambda: replies.ask("DBSIZE") == 1, "it is swept")


@case
def under_load():
    """slots move to and fro while keys with and without times are written: replies, keys and times are right"""
    with cluster(2, *CPU) as servers:
        load = TimedLoad(servers, SEED)
        eventually(lambda: load.done > 400 or load.faults, "keys are there")
        for _ in range(2):
            slots = some_slots()
            for source, target in (("s0", "s1"), ("s1", "s0")):
                done = load.done
                moved(mover(servers, slots, source, target))
                eventually(lambda done=done: load.done > done + 100 or load.faults, "the load goes on")
        check(load.end() > 10, "keys with times")
        check_nodes(servers)
        equal([server.status()["failures"] for server in servers], ["0", "0"], "attempts that failed")


@case
def rows_and_defaults():
    """rows, and keys of --default-ttl, keep their times to the millisecond through two moves and a restart"""
    for flags, value in ((("--value-bytes", "60", "--value-type", "string"), b"a row"), (("--default-ttl", "5000"), b"7")):
        with cluster(2, *CPU, *flags, durable=True) as servers:
            one, two = servers
            keys = [key_in(100, 4000, skip) for skip in range(0, 90, 3)]
            for key in keys:
                equal(one.ask("SET", key, value, *(("PXAT", FAR + key) if key % 2 else ())), "OK", "SET")
            times = [one.ask("PEXPIRETIME", key) for key in keys]
            moved(mover(servers, "100-4000", "s0", "s1"))
            two.restart()
            eventually(lambda: two.ask("GET", keys[0]) == value, "it is loaded", 20)
            equal([two.ask("PEXPIRETIME", key) for key in keys], times, "at the target")
            moved(mover(servers, "100-4000", "s1", "s0"))
            equal([(one.ask("GET", key), one.ask("PEXPIRETIME", key)) for key in keys], [(value, at) for at in times], "back")
            check_nodes(servers)


@case
def frames():
    """keys that frames and commands write while slots move have the default time at the target"""
    with cluster(2, *CPU, "--default-ttl", "5000") as servers, Load(servers, SEED) as load:
        eventually(lambda: load.rounds > 2 or load.faults, "frames were sent")
        slots = some_slots()
        for source, target in (("s0", "s1"), ("s1", "s0")):
            rounds = load.rounds
            moved(mover(servers, slots, source, target))
            eventually(lambda rounds=rounds: load.rounds > rounds + 1 or load.faults, "frames go on")
        load.end()
        load.check()
        check_nodes(servers)
        for server in servers:
            with server.connect() as connection:
                replies, keys = Replies(connection), entries(server)
                left = [replies.ask("TTL", key) for key in keys]
            check(len(left) > 100 and all(4000 < each <= 5001 for each in left), f"{len(left)}: {min(left)} to {max(left)}")


@case
def killed():
    """source and target are killed at random steps and restart: every acknowledged key exists with its time"""
    faults = [(1, each) for each in TARGET_FAULTS] + [(0, each) for each in SOURCE_FAULTS]
    with cluster(2, *CPU, durable=True) as servers:
        load = TimedLoad(servers, SEED, tolerates=True)
        for victim, fault in RANDOM.sample(faults, FAULTS_A_RUN):
            slots = some_slots()
            servers[victim].restart(fault)
            done = load.done
            eventually(lambda done=done: load.done > done + 200 or load.faults, "keys are there")
            process = mover(servers, slots, "s0", "s1")
            wait_killed(servers[victim])
            servers[victim].restart()
            process.communicate(timeout=120)
            moved_at_last(servers, slots, "s0", "s1")
            moved_at_last(servers, slots, "s1", "s0")
        check(load.end() > 10, "keys with times")
        check_nodes(servers)


class Link:
    """A link for what the first node sends. After the snapshot of a move it stops until `goes` is set."""

    def __init__(self, servers, epoch=2):
        self.servers, self.epoch = servers, epoch
        self.stands, self.goes = threading.Event(), threading.Event()
        self.relay = Relay(servers[0].port, self.pass_on)

    def pass_on(self, data):
        """For each piece: the first one that the source sent in this phase holds up all others."""
        if not self.goes.is_set() and self.servers[0].status()["phase"] == "stream":
            self.stands.set()
            self.goes.wait(120)
        return data

    def place(self, port, epoch):
        text = topology(epoch, [{"port": port, "slots": [[0, 8191]]}, {"port": self.servers[1].port, "slots": [[8192, 16383]]}])
        for server in self.servers:
            server.set_topology(text)

    def wait(self):
        check(self.stands.wait(60), "the snapshot is there")

    def leave(self):
        """Takes the link out of use."""
        self.place(self.servers[0].port, self.epoch + 10)

    def __enter__(self):
        self.place(self.relay.port, self.epoch)
        return self

    def __exit__(self, *what):
        self.goes.set()
        self.relay.__exit__(*what)


def on_gpu(number, *flags):
    """Returns a node. Every node except the first one has its table on a GPU."""
    return Keeper(number, *CUDA, program=EMULATED) if number > 0 else Keeper(number, *flags)


@contextlib.contextmanager
def with_clock(keeper=Keeper):
    """Yields two nodes, and the second one's clock."""
    clock = WallClock()
    with cluster(2, *CPU, keeper=keeper) as servers:
        servers[1].environment = clock.environment
        servers[1].restart()
        yield servers, clock


def move_ahead(keeper):
    """Moves slots to a target whose clock is an hour ahead."""
    with with_clock(keeper) as ((one, two), clock), Link((one, two)) as link:
        clock.set(HOUR)
        stays, goes, later = [key_in(100, 300, skip) for skip in range(3)]
        own, soon = key_in(9000, 9999), [key_in(100, 300, skip) for skip in range(3, 30)]
        equal([one.ask("SET", stays, 1, "EX", 100), one.ask("SET", goes, 2, "EX", 100), one.ask("SET", later, 3, "EX", 2 * HOUR),
               two.ask("SET", own, 4, "PX", 300)], ["OK"] * 4, "SET")
        with one.connect() as connection:
            connection.sendall(b"".join(command("SET", key, 5, "PX", 500 + 30 * i) for i, key in enumerate(soon)))
            replies = Replies(connection)
            equal([replies.read() for _ in soon], ["OK"] * len(soon), "keys that the source sweeps meanwhile")
        process = mover((one, two), "100-300", "s0", "s1")
        link.wait()
        eventually(lambda: two.metrics()["sherwood_expired_total"] > 0, "the target sweeps its own keys")
        swept = one.metrics()["sherwood_expired_total"]
        equal(one.ask("SET", soon[0], 5, "PX", 50), "OK", "one that expires behind the snapshot")
        eventually(lambda: one.metrics()["sherwood_expired_total"] > swept, "the source sweeps")
        equal(one.status()["phase"], "stream", "meanwhile")
        equal(one.ask("PERSIST", stays), 1, "PERSIST")
        link.goes.set()
        moved(process)
        equal([two.ask("PTTL", stays), two.ask("GET", goes), two.ask("GET", later)], [-1, None, b"3"], "from here on its clock says")
        eventually(lambda: two.ask("DBSIZE") == 2, "and it sweeps")
        equal([two.ask("EXISTS", key) for key in soon], [0] * len(soon), "what expired at the source")
        equal((one.status()["failures"], two.status()["failures"]), ("0", "0"), "attempts that failed")
        check_nodes((one, two))


@case
def target_is_ahead():
    """a target whose clock is an hour ahead removes nothing before it serves: PERSIST meanwhile keeps a key"""
    move_ahead(Keeper)


@case
def gpu_is_ahead():
    """a target on a GPU whose clock is an hour ahead removes nothing before it serves"""
    move_ahead(on_gpu)


@case
def gpu_and_back():
    """slots move to a table on a GPU and back while keys with and without times are written"""
    with cluster(2, *CPU, keeper=on_gpu) as servers:
        load = TimedLoad(servers, SEED)
        eventually(lambda: load.done > 200 or load.faults, "keys are there")
        slots = some_slots()
        for source, target in (("s0", "s1"), ("s1", "s0")):
            done = load.done
            moved(mover(servers, slots, source, target))
            eventually(lambda done=done: load.done > done + 50 or load.faults, "the load goes on")
        check(load.end() > 10, "keys with times")
        check_nodes(servers)
        equal([server.status()["failures"] for server in servers], ["0", "0"], "attempts that failed")


@case
def target_is_behind():
    """a key that had expired at the source but was not swept is absent at a target whose clock is behind"""
    with with_clock() as ((one, two), clock):
        clock.set(-HOUR)
        dead, lives = key_in(100, 300), key_in(100, 300, 1)
        equal(one.ask("SET", lives, 2, "EX", 100), "OK", "one that lives")
        set_unswept(one, dead, 500)
        eventually(lambda: one.ask("GET", dead) is None, "its time comes")
        equal(one.ask("DBSIZE"), 2, "it is there")
        moved(mover((one, two), "100-300", "s0", "s1"))
        equal([two.ask("GET", dead), two.ask("DBSIZE"), two.ask("GET", lives)], [None, 1, b"2"], "at the target")
        check(two.ask("TTL", lives) > HOUR, "by its clock")


@case
def targets_without_times():
    """a target without expiry takes slots only while no key of the source expires; then an error says so"""
    says = ("keys of this node expire, but the target's table has no expiry: start the target with --engine robin_hood "
            "(see KEYS THAT EXPIRE in sherwoodd(8))")
    with cluster(2, *CPU) as (one, two):
        two.flags += ["--engine", "cuckoo"]
        two.restart()
        key, soon = key_in(100, 300), key_in(100, 300, 1)
        equal(one.ask("MSET", key, 1), "OK", "MSET")
        moved(mover((one, two), "100-200", "s0", "s1"))
        moved(mover((one, two), "100-200", "s1", "s0"))
        with Link((one, two), 50) as link:
            process = mover((one, two), "100-300", "s0", "s1")
            link.wait()
            equal(one.ask("SET", soon, 2, "PXAT", FAR), "OK", "a time, while slots are on their way")
            link.goes.set()
            said = process.communicate(timeout=60)[0]
            eventually(lambda: one.rests() and two.rests(), "it is given up")
            link.leave()
        check("the slots were not moved" in said and says in said, said)
        said = run(CLI, "-q", "-p", one.port, "cluster", "move", "100-300", "s0", "s1", rc=1)
        check(f"the slots were not moved: the source: {says}" in said, said)
        equal([one.ask("GET", key), one.ask("PEXPIRETIME", soon)], [b"1", FAR], "they are served where they were")
        eventually(two.rests, "what came is removed")
        equal(two.ask("DBSIZE"), 0, "nothing is left at the target")


main()
