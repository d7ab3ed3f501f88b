#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Keys that expire: the commands beside redis, times by the clock, transactions that watch, times in files and at replicas,
and where keys do not expire.

SHERWOOD_KILLS=1000 kills the daemon so often; SHERWOOD_SEED=N repeats a run that failed."""

import os
import pathlib
import random
import re
import subprocess
import tempfile
import threading
import time

import wire
from beside import Both
from data_directory import durable
from harness import (BUILD, DAEMON, Server, case, check, drawn_seed, equal, eventually, main, redis_server, run)
from replication import SMALL, caught_up, info, replica_of, to_be_killed

KEYS = 12
CPU = ("--backend", "cpu", "--capacity", "64K")
CLI = str(BUILD / "sherwood-cli")
KILLS = int(os.environ.get("SHERWOOD_KILLS", 2))


# The server refuses wrong arguments when it queues a command, redis in EXEC. These commands are never refused for their arguments.
QUEUED = ("PERSIST", "EXPIRETIME", "PEXPIRETIME", "INCR", "GETSET", "SETNX", "GETDEL", "DEL", "GET")


def drawn(rng, now):
    """Returns a random command whose reply does not depend on the time of its execution: its times are far in the past
    or future."""
    key, other = rng.randrange(KEYS), rng.randrange(KEYS)
    at = rng.choice([1, now - 50, now + 1000 + rng.randrange(4), now + 1000 + rng.randrange(4), now + 5000])
    unit = rng.choice([("EXAT", at), ("PXAT", at * 1000 + rng.randrange(1000))])
    conditions = rng.sample(["NX", "XX", "GT", "LT"], rng.choice([0, 0, 1, 1, 2]))
    return rng.choice([
        ("SET", key, rng.randrange(100), *unit, *rng.sample(["NX", "XX"], rng.randrange(2)), *rng.sample(["GET"], rng.randrange(2))),
        ("SET", key, rng.randrange(100), *rng.sample(["KEEPTTL", "XX"], rng.randrange(3))),
        ("EXPIREAT", key, at, *conditions), ("PEXPIREAT", key, at * 1000 + 1, *conditions),
        ("EXPIREAT", key, rng.choice(["", "x", -5, 2**63, 10**16, -10**17])), ("PEXPIREAT", key, 9223372036854770000),
        ("EXPIRE", key, rng.choice([9223370399119966, 9223372036854776, 10**16, -10**17, -1, 0])), ("PEXPIRE", key, -1000),
        ("SETEX", key, rng.choice([-10, 0, 10**16, "x"]), 1), ("PSETEX", key, rng.choice([-1, 0]), 1),
        ("SET", key, 1, "EX", rng.choice([0, -1, 10**16, "x"])), ("SET", key, 1, "EX", 10, "KEEPTTL"), ("SET", key, 1, "EX"),
        ("GETEX", key), ("GETEX", key, *unit), ("GETEX", key, "PERSIST"), ("GETEX", key, "PX"),
        ("PERSIST", key), ("EXPIRETIME", key), ("PEXPIRETIME", key), ("EXPIRETIME", key), ("PEXPIRETIME", key),
        ("INCR", key), ("DECRBY", key, 0), ("GETSET", key, 5), ("SETNX", key, 6), ("MSET", key, 7, other, 8),
        ("MSETNX", key, 9, other, 9), ("GETDEL", key), ("DEL", key), ("GET", key), ("EXISTS", key, other),
        ("RENAME", key, other), ("RENAMENX", key, other), ("COPY", key, other), ("COPY", key, other, "REPLACE")])


@case
def beside_redis():
    """random commands and transactions on keys with times give the replies of redis, and leave the same keys"""
    rng = random.Random(drawn_seed())
    with Server(*CPU) as server, redis_server() as path:
        for version in (2, 3):
            both = Both(server, path, version)
            for _ in range(1200):
                now = int(time.time())
                words = drawn(rng, now)
                if words[0] in QUEUED and rng.random() < 0.3:
                    both.ask("MULTI")
                    both.ask(*words)
                    both.ask("PEXPIRETIME", words[1])
                    both.ask("EXEC")
                    continue
                both.ask(*words)
            for key in range(KEYS):
                both.ask("GET", key)
                both.ask("PEXPIRETIME", key)
            both.ask("FLUSHALL")
            both.close()


@case
def dead_before_watch():
    """a watched key that had expired before WATCH does not count as changed when it is swept, as in redis"""
    with Server(*CPU) as server, server.connect() as connection, server.connect() as second:
        replies, others = wire.Replies(connection), wire.Replies(second)
        seen = False
        while not seen: # it may be swept before it is watched
            equal([others.ask("SET", 1, 5, "PX", 150), others.ask("CLIENT", "PAUSE", 60000, "WRITE")], ["OK", "OK"], "SET")
            eventually(lambda: replies.ask("GET", 1) is None, "its time comes", 20)
            equal(replies.ask("WATCH", 1), "OK", "WATCH")
            seen = others.ask("DBSIZE") == 1
            equal(others.ask("CLIENT", "UNPAUSE"), "OK", "UNPAUSE")
            if not seen:
                replies.ask("UNWATCH")
        eventually(lambda: others.ask("DBSIZE") == 0, "it is swept", 20)
        equal([replies.ask("MULTI"), replies.ask("SET", 2, 1), replies.ask("EXEC")], ["OK", "QUEUED", ["OK"]], "EXEC")


@case
def slow_ones():
    """SLOWLOG shows relative expiry times as absolute ones"""
    with Server(*CPU, "--slowlog-log-slower-than", "0") as server, server.replies() as replies:
        for words in (("SET", 1, 5), ("EXPIREAT", 1, 4000000000, "NX"), ("GETEX", 1, "PXAT", 4000000000001), ("PSETEX", 2, 10**6, 5),
                      ("PERSIST", 1), ("GETEX", 1)):
            replies.ask(*words)
        shown = [b" ".join(entry[3]).decode() for entry in replies.ask("SLOWLOG", "GET", -1)][::-1]
        equal([each for each in shown if "psetex" not in each][:5], ["set 1 5", "expireat 1 PXAT 4000000000000",
              "getex 1 PXAT 4000000000001", "persist 1", "getex 1"], "SLOWLOG")
        check(any(re.fullmatch(r"psetex 2 PXAT 1\d{12}", each) for each in shown), shown)


@case
def memory_of_times():
    """INFO's memory includes expiry times and grows with the number of expiring keys; RESIZE frees unused ones"""
    with Server(*CPU) as server, server.connect() as connection:
        replies = wire.Replies(connection)

        def memory():
            return int(re.search(rb"used_memory_device:(\d+)|used_memory:(\d+)", replies.ask("INFO", "memory"))[0].split(b":")[1])

        figures = [memory()]
        for keys in (1, 20000):
            connection.sendall(b"".join(wire.command("SET", key, 1, "EX", 1000) for key in range(keys)))
            equal([replies.read() for _ in range(keys)], ["OK"] * keys, "SET")
            figures.append(memory())
        check(figures[0] < figures[1] < figures[2], figures)
        connection.sendall(b"".join(wire.command("PERSIST", key) for key in range(19000)))
        equal([replies.read() for _ in range(19000)], [1] * 19000, "PERSIST")
        equal(memory(), figures[2], "they shrink by no other word")
        check(replies.ask("RESIZE", 64 << 10) >= 64 << 10, "RESIZE")
        check(memory() < figures[2] - 16 * 19000, f"{memory()} after {figures}")
        equal([replies.ask("TTL", key) > 0 for key in (18999, 19000, 19999)], [False, True, True], "TTL")


@case
def times_come():
    """a key exists before its time and is absent after it, for GET, SCAN, KEYS and the counters"""
    with Server(*CPU) as server, server.replies() as replies:
        began = time.monotonic()
        for n, words in enumerate((("SET", 1, 5, "PX", 700), ("PSETEX", 2, 700, 5), ("SET", 3, 5))):
            equal(replies.ask(*words), "OK", str(n))
        equal(replies.ask("PEXPIRE", 3, 700), 1, "PEXPIRE")
        equal([replies.ask("SET", 4, 5), replies.ask("EXPIRE", 4, 1000)], ["OK", 1], "EXPIRE")
        got = [replies.ask("GET", key) for key in (1, 2, 3)]
        left = replies.ask("PTTL", 1)
        if time.monotonic() - began < 0.6:
            equal(got, [b"5"] * 3, "before")
            check(0 < left <= 700, str(left))
        check(990 < replies.ask("TTL", 4) <= 1000, "TTL")
        check(990000 < replies.ask("PTTL", 4) <= 1000000, "PTTL")
        eventually(lambda: replies.ask("EXISTS", 1, 2, 3) == 0, "their time comes", 20)
        check(time.monotonic() - began >= 0.69, "not before its time")
        equal([replies.ask("TTL", 1), replies.ask("GET", 1), replies.ask("KEYS", "*"), replies.ask("SCAN", 0)[1]],
              [-2, None, [b"4"], [b"4"]], "after")
        equal([replies.ask("EXPIRE", 1, 10), replies.ask("INCR", 2), replies.ask("TTL", 2)], [0, 1, -1], "a dead key")
        eventually(lambda: replies.ask("DBSIZE") == 2, "they are swept", 20)
        info = replies.ask("INFO", "all").decode()
        check("expired_keys:3\r\n" in info and "db0:keys=2,expires=1,avg_ttl=" in info, info)


@case
def mean_time_to_live():
    """avg_ttl of INFO is known before any key expires, decreases with time, and includes new keys"""
    with Server(*CPU) as server, server.replies() as replies:
        mean = lambda: int(replies.ask("INFO", "keyspace").decode().partition("avg_ttl=")[2].split()[0])
        equal(replies.ask("SET", 1, 5, "EX", 1000), "OK", "SET")
        eventually(lambda: 990000 < mean() <= 1000000, "the mean of one key", 20)
        first = mean()
        eventually(lambda: mean() < first, "time goes on", 20)
        equal(replies.ask("SET", 2, 5, "EX", 3000), "OK", "SET")
        eventually(lambda: 1980000 < mean() <= 2000000, "the mean of two keys", 20)


@case
def watched_keys_expire():
    """EXEC replies nil if a watched key expired, or EXPIRE changed it; an EXPIRE without effect does not count"""
    with Server(*CPU) as server, server.connect() as connection, server.connect() as second:
        replies, others = wire.Replies(connection), wire.Replies(second)
        watched, ms = False, 150
        while not watched: # on a slow machine it may have come before WATCH looked
            ms *= 2
            equal(replies.ask("SET", 1, 5, "PX", ms), "OK", "SET")
            equal([replies.ask("WATCH", 1), replies.ask("MULTI"), replies.ask("SET", 2, 1)], ["OK", "OK", "QUEUED"], "WATCH")
            watched = others.ask("GET", 1) is not None
            if not watched:
                replies.ask("DISCARD")
        eventually(lambda: others.ask("GET", 1) is None, "its time comes", 60)
        equal([replies.ask("EXEC"), replies.ask("GET", 2)], [None, None], "it has expired")
        for words, reply, aborts in ((("EXPIRE", 3, 100), 1, True), (("EXPIRE", 3, 100, "NX"), 0, False),
                                     (("PERSIST", 3), 1, True), (("PERSIST", 3), 0, False), (("EXPIRE", 9, 5), 0, False)):
            replies.ask("SETNX", 3, 1)
            equal([replies.ask("WATCH", 3, 9), others.ask(*words), replies.ask("MULTI"), replies.ask("SET", 2, 1)],
                  ["OK", reply, "OK", "QUEUED"], words)
            equal(replies.ask("EXEC"), None if aborts else ["OK"], words)


def refuses_to_start(*flags):
    """Returns the output of a daemon that ends at its start."""
    done = subprocess.run([str(DAEMON), "--port", "0", "--http-port", "0", *flags], text=True, timeout=60,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    equal(done.returncode, 1, done.stderr)
    return done.stderr


@case
def where_keys_do_not_expire():
    """other engines refuse EXPIRE, and refuse a primary, a log or a snapshot with expiring keys"""
    cuckoo = ("--engine", "cuckoo", *CPU)
    with Server(*cuckoo) as server, server.replies() as replies:
        for name, words in (("EXPIRE", ("EXPIRE", 1, 5)), ("SET EX", ("SET", 1, 5, "EX", 5)), ("GETEX EX", ("GETEX", 1, "EX", 5)), ("SETEX", ("SETEX", 1, 5, 5))):
            equal(replies.ask(*words), wire.Error(f"ERR the cuckoo engine has no {name}: start the server with --engine robin_hood"), "cuckoo")
        equal([replies.ask("SET", 1, 5, "KEEPTTL"), replies.ask("TTL", 1), replies.ask("PERSIST", 1)], ["OK", -1, 0], "of none")
    with tempfile.TemporaryDirectory() as directory:
        files = ("--data-dir", directory, "--appendonly", "yes")
        with to_be_killed(Server(*CPU, *files)) as server, Server(*cuckoo, "--replicaof", f"127.0.0.1 {server.port}") as replica:
            equal(server.ask("SET", 1, 5, "EX", 500), "OK", "SET")
            eventually(lambda: "this table has no expiry" in replica.log(), "the replica says why", 30)
        said = refuses_to_start(*cuckoo, *files)
        check("of another width, format, type or engine" in said, said)
        with Server(*CPU, *files) as server:
            equal(server.ask("SAVE"), "OK", "SAVE")
        snapshot = str(next(pathlib.Path(directory).glob("snapshot-*")))
        said = refuses_to_start(*cuckoo, *files)
        check("this table has no expiry" in said, said)
        check("expires:yes\n" in run(CLI, "snapshot", "info", snapshot), "info")
        run(CLI, "snapshot", "verify", snapshot)
        run(CLI, "snapshot", "export", snapshot, directory + "/columns")
        times = (pathlib.Path(directory) / "columns" / "expires.u64").read_bytes()
        check(len(times) == 8 and 0 < int.from_bytes(times, "little") / 1000 - time.time() <= 500, "export")
        with Server(*CPU) as server:
            failed = subprocess.run([CLI, "-p", str(server.port), "snapshot", "load", snapshot], capture_output=True, check=False)
            check(failed.returncode == 1 and b"keys that expire" in failed.stderr, failed)


# --- files and replicas --------------------------------------------------------------------------

NEVER = 0


class Keeper(threading.Thread):
    """Writes to keys of its own, whose times may come, until the server is gone. No write depends on whether a time has come;
    so the state behind write n is known, but for what has expired by then. test_plans.py has the other writes."""

    def __init__(self, server, seed):
        super().__init__(daemon=True)
        self.rng = random.Random(seed)
        self.base = self.rng.randrange(1000) * 100
        self.sent, self.acked, self.error = [], 0, None
        self.socket = server.connect()

    def draw(self):
        key, value = self.base + self.rng.randrange(6), self.rng.randrange(1000)
        at = int(time.time() * 1000) + self.rng.choice((self.rng.randrange(-20, 400), 1000000))
        return self.rng.choice([(("SET", key, value, "PXAT", at), (value, at)), (("DEL", key), None), (("SET", key, value), (value, NEVER))])

    def run(self):
        replies = wire.Replies(self.socket)
        try:
            while True:
                while len(self.sent) - self.acked < 8:
                    words, entry = self.draw()
                    self.sent.append((words[1], entry))
                    self.socket.sendall(wire.command(*words))
                reply = replies.read()
                assert not isinstance(reply, wire.Error), reply
                self.acked += 1
        except (wire.Closed, OSError):
            pass
        except Exception as error:  # pylint: disable=broad-except
            self.error = error
        self.socket.close()

    def check(self, replies):
        """Checks that the server has the state after some write between the last answered and the last sent one."""
        equal(self.error, None, "a write")
        before = int(time.time() * 1000)
        keys = range(self.base, self.base + 6)
        found = {key: (replies.ask("GET", key), replies.ask("PEXPIRETIME", key)) for key in keys}
        after = int(time.time() * 1000)

        def fits(key, entry):
            value, at = found[key]
            gone = value is None or at == -2 # between the two its time may have come
            if entry is None or gone:
                return gone and (entry is None or entry[1] != NEVER and entry[1] <= after)
            return int(value) == entry[0] and at == (entry[1] or -1) and (entry[1] == NEVER or entry[1] > before)

        state = {key: None for key in keys}
        for number, (written, value) in enumerate(self.sent, 1):
            state[written] = value
            if number >= self.acked and all(fits(key, entry) for key, entry in state.items()):
                return
        check(not self.sent, f"{found} is none of {self.acked} to {len(self.sent)} writes: {state}")


@case
def killed_at_any_moment():
    """after kill -9 on each level the same keys have the same times, with snapshots and several segments.
    A key that expired meanwhile is absent from the first reply on. The same holds for a replica that is killed."""
    rng = random.Random(drawn_seed())
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as other:
        keepers = []
        for _ in range(KILLS):
            level = rng.choice(["always", "everysec", "no"])
            with to_be_killed(durable(directory, level)) as server, to_be_killed(replica_of(
                    server.port, "--backend", "cpu", "--data-dir", other, "--appendonly", "yes")) as replica:
                if keepers:
                    with server.connect() as connection:
                        for keeper in keepers:
                            keeper.check(wire.Replies(connection))
                    equal(server.ask("FLUSHALL"), "OK", "FLUSHALL")
                keepers = [Keeper(server, rng.randrange(2**32)) for _ in range(2)]
                for keeper in keepers:
                    keeper.start()
                eventually(lambda: all(keeper.acked > 50 for keeper in keepers), "they are answered", 30)
                eventually(lambda: info(replica)["master_link_status"] == "up", "the replica follows", 30)
                if rng.random() < 0.5:
                    server.ask("BGSAVE")
                time.sleep(rng.random() * 0.2)
                server.kill()
                for keeper in keepers:
                    keeper.join()
                wanted = eventually(lambda: (int(got["slave_repl_offset"]) if (got := info(replica))["master_link_status"] ==
                                             "down" else None), "the replica sees it", 30)
                digest = replica.ask("DIGEST")
                equal(digest[0], wanted, "sequence")
            with durable(other, "no", "--backend", "cpu", "--frame-ops-max", "4096", "--round-ops-max", "4096",
                         "--max-capacity", "1M") as server:
                got = server.ask("DIGEST")
                if got[0] == wanted: # nothing was removed before the look
                    equal(got, digest, "the replica's files have the same times")


@case
def replicas_have_times():
    """a replica hides expired keys by its own clock, removes none by itself, and has the same digest.
    It keeps the times when it becomes the primary."""
    with Server(*SMALL, "--backend", "cpu") as primary, primary.replies() as replies:
        equal([replies.ask("SET", 1, 5, "EXAT", 4000000000), replies.ask("SET", 2, 5), replies.ask("EXPIRE", "9", 5)],
              ["OK", "OK", 0], "before there is a replica")
        with replica_of(primary.port, "--backend", "cpu") as replica, replica.replies() as others:
            caught_up(primary, replica)
            plain = replies.ask("DIGEST")
            equal([replies.ask("EXPIREAT", 2, 4000000001), replies.ask("SET", 3, 6, "PX", 300), replies.ask("WAIT", 1, 20000)],
                  [1, "OK", 1], "WAIT")
            check(replies.ask("DIGEST")[2] != plain[2], "a time is in the digest")
            equal([others.ask("EXPIRETIME", 1), others.ask("EXPIRETIME", 2)], [4000000000, 4000000001], "times")
            equal(replies.ask("CLIENT", "PAUSE", 20000, "WRITE"), "OK", "nothing is swept meanwhile")
            eventually(lambda: others.ask("GET", 3) is None, "its time comes", 20)
            equal([others.ask("EXISTS", 3), others.ask("TTL", 3), others.ask("SCAN", 0)[1].count(b"3")], [0, -2, 0], "hidden")
            if replies.ask("DBSIZE") == 3:
                equal(others.ask("DBSIZE"), 3, "and not removed")
            equal(replies.ask("CLIENT", "UNPAUSE"), "OK", "UNPAUSE")
            eventually(lambda: others.ask("DBSIZE") == 2, "the primary removes it", 20)
            caught_up(primary, replica)
            equal(others.ask("REPLICAOF", "NO", "ONE"), "OK", "it takes over")
            equal([others.ask("EXPIRETIME", 1), others.ask("PERSIST", 1), others.ask("TTL", 1), others.ask("EXPIRETIME", 2)],
                  [4000000000, 1, -1, 4000000001], "times stay")
            equal(others.ask("SET", 4, 6, "PX", 1), "OK", "SET")
            eventually(lambda: others.ask("DBSIZE") == 2, "now it sweeps itself", 20)


@case
def nobody_is_told_of_no_times():
    """PERSIST and KEEPTTL without times, and EXPIRE of absent keys, reach neither the log nor a replica"""
    cuckoo = ("--engine", "cuckoo", *CPU)
    with tempfile.TemporaryDirectory() as directory, \
            Server(*CPU, "--data-dir", directory, "--appendonly", "yes") as server, server.connect() as connection, \
            Server(*cuckoo, "--replicaof", f"127.0.0.1 {server.port}") as replica, replica.connect() as second:
        replies, others = wire.Replies(connection), wire.Replies(second)
        equal([replies.ask("SET", 1, 5), replies.ask("PERSIST", 1), replies.ask("GETEX", 1, "PERSIST"),
               replies.ask("SET", 2, 6, "KEEPTTL"), replies.ask("TTL", 2), replies.ask("PERSIST", 9)],
              ["OK", 0, b"5", "OK", -1, 0], "of none")
        eventually(lambda: others.ask("GET", 2) == b"6", "the replica follows", 20)
        check("READONLY" in others.ask("GETEX", 1, "PERSIST"), "GETEX writes")
        sent = (("EXPIRE", 9, 5), ("SET", 3, 1), ("PERSIST", 1), ("GETEX", 1, "PERSIST"), ("SET", 3, 2, "KEEPTTL"),
                ("EXPIRE", 2, 5, "GT"), ("SET", 3, 3))
        for words in sent:
            replies.ask(*words)
        connection.sendall(b"".join(wire.command(*words) for words in sent))  # the same in one batch
        equal([replies.read() for _ in sent], [0, "OK", 0, b"5", "OK", 0, "OK"], "of none, or refused")
        eventually(lambda: others.ask("GET", 3) == b"3", "it follows still", 20)
        caught_up(server, replica)
        check("this table has no expiry" not in replica.log(), replica.log())
        equal(replies.ask("EXPIRE", 3, 500), 1, "EXPIRE")
        eventually(lambda: "this table has no expiry" in replica.log(), "that it cannot follow", 20)


@case
def readers_end_no_key():
    """a user with read rights only cannot make a key expire, not even by GETEX"""
    with Server(*CPU) as server, server.connect() as connection, server.connect() as second:
        replies, others = wire.Replies(connection), wire.Replies(second)
        equal([replies.ask("SET", 1, 5), replies.ask("ACL", "SETUSER", "reader", "on", ">word", "~*", "+@read"),
               others.ask("AUTH", "reader", "word"), others.ask("GET", 1)], ["OK", "OK", "OK", b"5"], "a reader")
        for words in (("GETEX", 1, "PX", 1), ("EXPIRE", 1, 1), ("PERSIST", 1)):
            check("NOPERM" in others.ask(*words), words)
        equal(replies.ask("TTL", 1), -1, "as it was")


@case
def rows_expire():
    """rows: SETRANGE and COPY keep times, SET ends them"""
    with Server("--backend", "cpu", "--capacity", "64K", "--value-bytes", "8", "--value-type", "string") as server, \
            server.replies() as replies:
        equal(replies.ask("SET", 1, "abc", "EXAT", 4000000000), "OK", "SET")
        equal([replies.ask("SETRANGE", 1, 1, "x"), replies.ask("COPY", 1, 2), replies.ask("EXPIRETIME", 1),
               replies.ask("EXPIRETIME", 2)], [3, 1, 4000000000, 4000000000], "kept")
        equal([replies.ask("GETEX", 2, "PERSIST"), replies.ask("SET", 1, "d"), replies.ask("TTL", 1), replies.ask("TTL", 2)],
              [b"axc", "OK", -1, -1], "ended")


main()
