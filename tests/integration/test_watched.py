#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""WATCH and UNWATCH: EXEC executes nothing if a watched key was changed, and only then."""

import random
import resource
import socket

import wire
from harness import SANITIZED, Server, at_once, case, check, drawn_seed, equal, eventually, main, redis_server, talk, talk_to_redis
from replication import SMALL, caught_up, replica_of
from ring import KEYS, OPERANDS, VALUES, Ring, numbers, place, serving

SEED = drawn_seed()
CPU = ("--backend", "cpu", "--capacity", "64K")
TABLES = {"robin_hood": (), "32 bits": ("--key-bits", "32"), "cuckoo": ("--engine", "cuckoo"),
          "rows": ("--value-bytes", "8", "--value-type", "string")}


# redis gives the same replies.
AS_REDIS = (
    ("WATCH", wire.Error("ERR wrong number of arguments for 'watch' command")),
    ("UNWATCH 1", wire.Error("ERR wrong number of arguments for 'unwatch' command")),
    ("WATCH 1", "OK"), ("MULTI", "OK"), ("WATCH 2", wire.Error("ERR WATCH inside MULTI is not allowed")),
    ("UNWATCH", "QUEUED"), ("GET 1", "QUEUED"), ("PING", "QUEUED"), ("EXEC", ["OK", None, "PONG"]),
    ("WATCH 1 1 2", "OK"), ("SET 1 5", "OK"), ("MULTI", "OK"), ("GET 1", "QUEUED"), ("EXEC", None),
    ("EXEC", wire.Error("ERR EXEC without MULTI")),
    ("MULTI", "OK"), ("GET 1", "QUEUED"), ("EXEC", [b"5"]),  # an EXEC ends what was watched
    ("WATCH 1", "OK"), ("EXEC", wire.Error("ERR EXEC without MULTI")), ("SET 1 5", "OK"),
    ("MULTI", "OK"), ("EXEC", None),  # the same value is a change, and an EXEC without MULTI ends nothing
    ("WATCH 1", "OK"), ("SET 1 6", "OK"), ("UNWATCH", "OK"), ("MULTI", "OK"), ("EXEC", []),
    ("WATCH 1", "OK"), ("SET 1 7", "OK"), ("MULTI", "OK"), ("DISCARD", "OK"), ("MULTI", "OK"), ("EXEC", []),
    ("WATCH 1", "OK"), ("SET 1 7", "OK"), ("MULTI", "OK"), ("GET", wire.Error(
        "ERR wrong number of arguments for 'get' command")),
    ("EXEC", wire.Error("EXECABORT Transaction discarded because of previous errors.")),
    ("MULTI", "OK"), ("EXEC", []),
    ("WATCH 9", "OK"), ("DEL 9", 0), ("SET 9 1 XX", None), ("SETNX 1 3", 0), ("MULTI", "OK"), ("EXEC", []),
    ("WATCH 9", "OK"), ("SETNX 9 3", 1), ("MULTI", "OK"), ("SET 9 1", "QUEUED"), ("EXEC", None), ("GET 9", b"3"),
    ("WATCH 9", "OK"), ("UNLINK 9", 1), ("MULTI", "OK"), ("SET 9 1", "QUEUED"), ("EXEC", None), ("EXISTS 9", 0),
    ("WATCH 1", "OK"), ("SET 1 9", "OK"), ("RESET", "RESET"), ("MULTI", "OK"), ("EXEC", []),
    ("WATCH 1", "OK"), ("GET 1", b"9"), ("MULTI", "OK"), ("SET 1 10", "QUEUED"), ("EXEC", ["OK"]),
    ("WATCH 1", "OK"), ("MULTI", "OK"), ("EXEC 1", wire.Error(
        "EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command")),
    ("SET 1 8", "OK"), ("MULTI", "OK"), ("EXEC", []))


@case
def as_redis_has_it():
    """WATCH, UNWATCH and EXEC give the replies of redis on every table; null in RESP3"""
    for what, options in TABLES.items():
        with Server(*CPU, *options) as server, server.connect() as connection:
            replies = wire.Replies(connection)
            talk(replies, *AS_REDIS)
            replies.ask("HELLO", 3)
            talk(replies, ("WATCH 1", "OK"), ("SET 1 1", "OK"), ("MULTI", "OK"))
            connection.sendall(wire.command("EXEC"))
            equal(replies.line(), b"_", what)
            equal(server.metrics()["sherwood_watched_keys"], 0, what)


@case
def redis_itself():
    """a redis-server has the same replies to the same commands"""
    talk_to_redis(*AS_REDIS)


def random_command(rng, queues):
    """Returns a command to which both servers reply the same; `queues`: after MULTI. It uses few keys, so that many are
    watched and changed."""
    key, other = rng.randrange(6), rng.randrange(6)
    alone = (("RENAMENX", key, other), ("COPY", key, other), ("MSETNX", key, 1, other, 2))
    return rng.choice((() if queues else alone) + (
        ("WATCH", key), ("WATCH", key, other), ("WATCH", key), ("UNWATCH",), ("MULTI",), ("MULTI",),
        ("MULTI",), ("EXEC",), ("EXEC",), ("EXEC",), ("DISCARD",), ("GET", key), ("SET", key, other),
        ("SET", key, other, "NX"), ("SET", key, other, "XX"), ("INCR", key), ("TOUCH", key),
        ("DEL", key, other), ("MSET", key, 1, other, 2), ("SETNX", key, other), ("GETDEL", key),
        ("RESET",), ("EXISTS", key), ("PING",)))


@case
def random_as_redis():
    """10,000 random commands of four clients in turn give the replies of a redis-server, failed EXECs included"""
    rng = random.Random(SEED)
    with redis_server() as path, Server(*CPU, "--loops", "2") as server:
        clients = []
        for _ in range(4):
            theirs = socket.socket(socket.AF_UNIX)
            theirs.connect(path)
            theirs.settimeout(30)
            clients.append((wire.Replies(server.connect()), wire.Replies(theirs)))
        aborted, queues = 0, set()
        for step in range(2500):
            for number, (mine, redis) in enumerate(clients):
                words = random_command(rng, number in queues)
                got, wanted = mine.ask(*words), redis.ask(*words)
                aborted += words == ("EXEC",) and wanted is None
                if words[0] == "MULTI":
                    queues.add(number)
                elif words[0] in ("EXEC", "DISCARD", "RESET"):
                    queues.discard(number)
                equal(got, wanted, f"seed {SEED}, {step}: {words} of {number}")
        check(aborted > 0, "some were refused")
        equal(server.metrics()["sherwood_watch_aborts_total"], aborted, "counted")


def add_watching(replies, key):
    """Adds 1 by WATCH, GET, MULTI, SET, EXEC. Returns whether EXEC was executed."""
    replies.ask("WATCH", key)
    old = int(replies.ask("GET", key))
    replies.ask("MULTI")
    replies.ask("SET", key, old + 1)
    return replies.ask("EXEC") == ["OK"]


@case
def none_is_lost():
    """no update is lost: clients with WATCH and EXEC, INCR by RESP and increments by frames on several loops.
    EXEC never fails for a client whose key nobody else writes."""
    times = 150

    def by_watching(connection):
        replies = wire.Replies(connection)
        return sum(add_watching(replies, 1) for _ in range(times))

    def by_incr(connection):
        replies = wire.Replies(connection)
        for _ in range(times):
            replies.ask("INCR", 1)
        return times

    def by_frames(connection):
        for _ in range(times):
            equal(wire.call(connection, wire.INCREMENT, [1], [1]).status, wire.OK, "INCREMENT")
        return times

    def elsewhere(connection):
        """Writes a watched key that no other client writes: its EXEC must never fail."""
        replies = wire.Replies(connection)
        check(all(add_watching(replies, 2) for _ in range(times)), "nobody has changed it")
        return 0

    with Server(*CPU, "--loops", "4") as server:
        with server.replies() as replies:
            replies.ask("MSET", 1, 0, 2, 0)
            workers = [by_watching] * 4 + [by_incr, by_frames, elsewhere]

            def work(worker):
                with server.connect() as own:
                    return worker(own)
            done = at_once(work, [(worker,) for worker in workers])
            equal(int(replies.ask("GET", 1)), sum(done), f"{done}")
            check(add_watching(replies, 1), "alone")
            equal(replies.ask("GET", 2), b"%d" % times, "the other key")
            metrics = server.metrics()
            equal(metrics["sherwood_watch_aborts_total"], 4 * times - sum(done[:4]), "refused")
            equal(metrics["sherwood_watched_keys"], 0, "nobody watches")


@case
def in_one_pipeline():
    """in one pipeline a SET before WATCH does not fail EXEC, and one after it does"""
    with Server(*CPU) as server, server.connect() as connection:
        replies = wire.Replies(connection)
        for times in range(50):
            stream = [("SET", 1, times), ("WATCH", 1), ("GET", 1), ("MULTI",), ("INCR", 1), ("EXEC",),
                      ("WATCH", 1), ("SET", 1, times), ("MULTI",), ("INCR", 1), ("EXEC",), ("GET", 1)]
            connection.sendall(b"".join(wire.command(*words) for words in stream))
            value = b"%d" % times
            equal([replies.read() for _ in stream],
                  ["OK", "OK", value, "OK", "QUEUED", [times + 1],
                   "OK", "OK", "OK", "QUEUED", None, value], "replies")


@case
def whatever_writes():
    """writes by frames and rings, transactions, RENAME, COPY and FLUSHALL fail EXEC of a watcher.
    A group that a full table refuses does not."""
    def refused(replies, key, write, expected=None):
        replies.ask("WATCH", key)
        write()
        replies.ask("MULTI")
        replies.ask("PING")
        equal(replies.ask("EXEC"), expected, f"{key}: {write}")

    with serving() as server, server.connect() as connection, server.connect() as other, \
            server.connect() as third, Ring(server) as ring:
        replies, writer = wire.Replies(connection), wire.Replies(other)

        def frame(*words, **named):
            equal(wire.call(third, *words, **named).status, wire.OK, "a frame")
        talk(writer, ("MSET 1 1 2 2", "OK"))
        refused(replies, 1, lambda: frame(wire.SET, [5, 1], [1, 1]))
        refused(replies, 1, lambda: frame(wire.SET, [5, 6], [1, 1]), ["PONG"])
        refused(replies, 1, lambda: frame(wire.GET, [1]), ["PONG"])
        refused(replies, 9, lambda: frame(wire.DELETE, [9]), ["PONG"])
        refused(replies, 6, lambda: frame(wire.DELETE, [6]))
        refused(replies, 7, lambda: writer.ask("RENAME", 5, 7))
        refused(replies, 7, lambda: writer.ask("RENAME", 7, 8))
        refused(replies, 8, lambda: writer.ask("COPY", 8, 9), ["PONG"])
        refused(replies, 9, lambda: writer.ask("COPY", 8, 9, "REPLACE"))
        refused(replies, 8, lambda: talk(writer, ("MULTI", "OK"), ("SET 8 1", "QUEUED"), ("EXEC", ["OK"])))
        refused(replies, 8, lambda: talk(writer, ("MULTI", "OK"), ("SET 8 1", "QUEUED"), ("DISCARD", "OK")), ["PONG"])
        refused(replies, 8, lambda: writer.ask("INCRBY", 8, 2**64 - 1), ["PONG"])
        refused(replies, 8, lambda: writer.ask("FLUSHALL"))
        refused(replies, 8, lambda: writer.ask("FLUSHALL"))  # where redis has none: no key was there
        ring.put(0, numbers([77], 8))
        ring.put(64, numbers([1], 8))
        where = {KEYS: place(0, 0), OPERANDS: place(0, 64)}
        refused(replies, 8, lambda: equal(ring.run(wire.SET, 1, where).status, wire.OK, "by a ring"))
        refused(replies, 8, lambda: equal(ring.run(wire.GET, 1, {KEYS: place(0, 0), VALUES: place(0, 128)}).status,
                                          wire.OK, "a read"), ["PONG"])
    with Server(*CPU[:2], "--capacity", "4K", "--max-load", "0.5") as server, server.connect() as connection, \
            server.connect() as other:
        replies, writer = wire.Replies(connection), wire.Replies(other)
        key = 0
        while writer.ask("SET", key, 1) == "OK":
            key += 1
        refused(replies, 0, lambda: check(isinstance(
            writer.ask("MSET", 0, 2, key, 2), wire.Error), "full"), ["PONG"])
        refused(replies, 0, lambda: equal(writer.ask("SET", 0, 2), "OK", "present"))


@case
def limits():
    """WATCH beyond watched-keys-max is refused whole and counted; keys no longer watched make room"""
    refusal = wire.Error("ERR too many watched keys: raise --watched-keys-max")
    with Server(*CPU, "--watched-keys-max", "10") as server:
        with server.connect() as connection, server.connect() as other:
            replies, second = wire.Replies(connection), wire.Replies(other)
            equal(replies.ask("WATCH", *range(10)), "OK", "as many")
            talk(replies, ("WATCH 3 4", "OK"), ("WATCH 3 10", refusal))
            equal(server.metrics()["sherwood_watched_keys"], 10, "watched")
            talk(second, ("WATCH 1", refusal), ("MULTI", "OK"), ("SET 77 1", "QUEUED"), ("EXEC", ["OK"]))
            talk(replies, ("MULTI", "OK"), ("EXEC", []))
            equal(second.ask("WATCH", *range(8)), "OK", "room again")
            equal(replies.ask("WATCH", 20, 21, 22), refusal, "not in part")
            equal(replies.ask("WATCH", 20, 21), "OK", "as many as there is room for")
            metrics = server.metrics()
            equal((metrics["sherwood_watched_keys"], metrics["sherwood_watch_refusals_total"]), (10, 3), "counted")
        eventually(lambda: server.metrics()["sherwood_watched_keys"] == 0, "closed connections watch nothing")
    with Server("--engine", "cache", "--backend", "cpu", "--value-bytes", "8", "--capacity", "4K") as server, \
            server.connect() as connection:
        talk(wire.Replies(connection), ("WATCH 1", wire.Error("ERR the cache engine has no WATCH: a write may evict the entry between the read and the write; "
                                                                 "start the server with --engine robin_hood")))


@case
def without_memory():
    """WATCH is refused while there is no memory for the first watched keys of a table"""
    if SANITIZED:
        return
    with Server(*CPU, "--watched-keys-max", "1M", environment={"MALLOC_ARENA_MAX": "1"}) as server, server.replies() as replies:
        with open(f"/proc/{server.pid()}/statm", encoding="ascii") as statm:
            used = int(statm.read().split()[0]) * resource.getpagesize()
        before = resource.prlimit(server.pid(), resource.RLIMIT_AS, (used + (1 << 20), resource.RLIM_INFINITY))
        refusal = wire.Error("OOM no memory for watched keys: free memory, then try again")
        talk(replies, ("WATCH 1", refusal), ("SET 1 1", "OK"), ("MULTI", "OK"), ("GET 1", "QUEUED"), ("EXEC", [b"1"]))
        resource.prlimit(server.pid(), resource.RLIMIT_AS, before)
        talk(replies, ("WATCH 1", "OK"), ("SET 1 2", "OK"), ("MULTI", "OK"), ("EXEC", None))
        equal(server.metrics()["sherwood_watch_refusals_total"], 0, "watched-keys-max was not reached")


@case
def where_nothing_fits():
    """on a full table EXEC gives OOM if it would write a new key, and nil if a watched key was changed"""
    full = wire.Error(wire.FULL)
    with Server("--backend", "cpu", "--capacity", "1K", "--max-capacity", "1K", "--loops", "1") as server, \
            server.replies() as replies:
        key = 1
        while (said := replies.ask("SET", key, key)) == "OK":
            key += 1
        equal(said, full, key)
        for how in (("MSETNX 1000001 1 1000002 2", full), ("MSETNX 1 1", 0)):
            talk(replies, how, ("WATCH 1", "OK"), ("SET 1 7", "OK"), ("MULTI", "OK"), ("SET 1 5", "QUEUED"),
                 ("GET 1", "QUEUED"), ("EXEC", None), ("GET 1", b"7"))
        talk(replies, ("WATCH 1", "OK"), ("MULTI", "OK"), ("SET 1 5", "QUEUED"), ("SET 1000001 5", "QUEUED"), ("EXEC", full),
             ("WATCH 1", "OK"), ("MULTI", "OK"), ("GET 1", "QUEUED"), ("PING", "QUEUED"), ("EXEC", [b"7", "PONG"]))


@case
def of_a_replica():
    """a replica refuses WATCH; EXEC fails if the server became or was a replica after WATCH"""
    with Server(*SMALL) as primary, replica_of(primary.port) as replica, primary.replies() as first, \
            replica.replies() as second:
        first.ask("SET", 1, 1)
        caught_up(primary, replica)
        equal(second.ask("WATCH", 1), wire.Error(
            "ERR WATCH is not available on a replica: send it to the primary"), "WATCH")
        talk(second, ("REPLICAOF NO ONE", "OK"), ("WATCH 1", "OK"))
        equal(second.ask("REPLICAOF", "127.0.0.1", primary.port), "OK", "REPLICAOF")
        eventually(lambda: second.ask("REPLICAOF", "NO", "ONE") == "OK", "one without a whole copy cannot take over")
        talk(second, ("MULTI", "OK"), ("PING", "QUEUED"), ("EXEC", None))


if __name__ == "__main__":
    main()
