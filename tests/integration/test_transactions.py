#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""MULTI, EXEC and DISCARD: a transaction takes effect whole, with no other write in between, or not at all. A command
that it does not support gives redis's error, if redis has the case."""

import contextlib
import random
import socket
import threading

import wire
from harness import Server, at_once, case, check, drawn_seed, equal, eventually, main, redis_server, talk, talk_to_redis

SEED = drawn_seed()
ABORT = wire.Error("EXECABORT Transaction discarded because of previous errors.")
NOT_ALLOWED = wire.Error("ERR Command not allowed inside a transaction")


# redis gives the same replies.
AS_REDIS = (
    ("EXEC", wire.Error("ERR EXEC without MULTI")),
    ("DISCARD", wire.Error("ERR DISCARD without MULTI")),
    ("MULTI x", wire.Error("ERR wrong number of arguments for 'multi' command")),
    ("MULTI", "OK"),
    ("MULTI", wire.Error("ERR MULTI calls can not be nested")),
    ("EXEC", []),
    ("MULTI", "OK"), ("SET 1 10", "QUEUED"), ("INCR 1", "QUEUED"), ("GET 1", "QUEUED"),
    ("MGET 1 2", "QUEUED"), ("PING", "QUEUED"), ("ECHO hello", "QUEUED"),
    ("MULTI", wire.Error("ERR MULTI calls can not be nested")),
    ("EXEC", ["OK", 11, b"11", [b"11", None], "PONG", b"hello"]),
    ("MULTI", "OK"), ("SET 1 20", "QUEUED"), ("DISCARD", "OK"),
    ("EXEC", wire.Error("ERR EXEC without MULTI")),
    ("GET 1", b"11"),
    ("MULTI", "OK"), ("SET 1 20", "QUEUED"),
    ("GET", wire.Error("ERR wrong number of arguments for 'get' command")),
    ("PING", "QUEUED"), ("EXEC", ABORT), ("GET 1", b"11"),
    ("MULTI", "OK"), ("SET 1 20", "QUEUED"), ("SAVE", NOT_ALLOWED), ("EXEC", ABORT),
    ("MULTI", "OK"), ("SET 1 20", "QUEUED"),
    ("DISCARD x", wire.Error("ERR wrong number of arguments for 'discard' command")),
    ("EXEC", ABORT),
    ("MULTI", "OK"),
    ("EXEC x", wire.Error("EXECABORT Transaction discarded because of: wrong number of arguments "
                          "for 'exec' command")),
    ("EXEC", wire.Error("ERR EXEC without MULTI")),
    ("MULTI", "OK"), ("SET 1 30", "QUEUED"), ("RESET", "RESET"), ("PING", "PONG"),
    ("EXEC", wire.Error("ERR EXEC without MULTI")),
    ("GET 1", b"11"), ("MULTI", "OK"), ("SET 1 30", "QUEUED"), ("QUIT", "OK"))


@case
def as_redis_has_it():
    """MULTI, EXEC and DISCARD, in and out of order, give the replies of redis"""
    with Server() as server, server.connect() as connection:
        talk(wire.Replies(connection), *AS_REDIS)
        equal(server.ask("GET", 1), b"11", "after QUIT")


@case
def redis_itself():
    """a redis-server has the same replies to the same commands"""
    talk_to_redis(*AS_REDIS)


def random_command(rng):
    """Returns a valid or invalid command to which redis and Sherwood reply the same."""
    key, other = rng.randrange(30), rng.randrange(30)
    return rng.choice((
        ("MULTI",), ("MULTI",), ("EXEC",), ("EXEC",), ("EXEC",), ("DISCARD",), ("RESET",),
        ("GET", key), ("SET", key, other), ("SET", key, other, "NX"), ("SET", key, other, "XX"),
        ("SET", key, other, "GET"), ("INCR", key), ("INCRBY", key, other), ("DEL", key, other),
        ("EXISTS", key, key, other), ("MGET", key, other, key), ("MSET", key, 1, other, 2),
        ("SETNX", key, other), ("GETSET", key, other), ("GETDEL", key), ("STRLEN", key),
        ("TYPE", key), ("TTL", key), ("PING",), ("PING", key), ("ECHO", key), ("SELECT", 0),
        ("UNLINK", key), ("TOUCH", key, other), ("LASTSAVE", 1), ("GET",), ("MSET", 1), ("SAVE",),
        ("EXEC", 1), ("DISCARD", 1)))


@case
def random_as_redis():
    """10,000 random commands, transactions among them, have the replies that a redis-server has"""
    rng = random.Random(SEED)
    with redis_server() as path, Server() as server, server.connect() as ours, \
            socket.socket(socket.AF_UNIX) as theirs:
        theirs.connect(path)
        theirs.settimeout(30)
        both = (ours, wire.Replies(ours)), (theirs, wire.Replies(theirs))
        for _ in range(100):
            commands = [random_command(rng) for _ in range(100)]
            # SAVE outside of a transaction is the one that differs: redis does it.
            stream = b"".join(wire.command(*words) for words in commands)
            got = []
            for connection, replies in both:
                connection.sendall(stream)
                got.append([replies.read() for _ in commands])
            for words, mine, redis in zip(commands, *got):
                if words != ("SAVE",) or mine == NOT_ALLOWED:
                    equal(mine, redis, f"seed {SEED}: {words}")


@case
def what_may_not_be_queued():
    """a command that a transaction does not support is refused at once, and EXEC then fails"""
    refused = ("SCAN 0", "FLUSHALL", "FLUSHDB ASYNC", "RESIZE 1000", "RANDOMKEY", "DBSIZE", "INFO",
               "SHUTDOWN", "SAVE", "BGSAVE", "HELLO 3", "CLIENT REPLY OFF", "CONFIG GET *",
               "COMMAND", "SLOWLOG GET")
    with Server("--resp-keys", "decimal") as server, server.replies() as replies:
        equal(replies.ask("SET", 1, 1), "OK", "SET")
        for words in refused:
            talk(replies, ("MULTI", "OK"), ("SET 1 2", "QUEUED"), (words, NOT_ALLOWED),
                 ("SET 1 3", "QUEUED"), ("EXEC", ABORT), ("GET 1", b"1"))
        for words in ("EXPIRE 1 x", "NOSUCH", "GET x", "SET 1 -1", "SET 1 1 EX 0",
                      "MSET 1 2 3", "INCRBY 1 x", "OBJECT HELP", "MEMORY STATS"):
            equal(replies.ask("MULTI"), "OK", "MULTI")
            check(isinstance(replies.ask(*words.split()), wire.Error), words)
            talk(replies, ("EXEC", ABORT), ("GET 1", b"1"))


@case
def overflow_is_one_elements_error():
    """INCRBY past the largest value is an error in EXEC's array, as in redis; the rest is executed"""
    with Server() as server, server.replies() as replies:
        talk(replies, ("SET 1 18446744073709551615", "OK"), ("MULTI", "OK"), ("SET 2 5", "QUEUED"),
             ("INCR 1", "QUEUED"), ("INCR 2", "QUEUED"),
             ("EXEC", ["OK", wire.Error("ERR increment or decrement would overflow"), 6]))


@case
def a_full_table_refuses_all_of_it():
    """EXEC on a full table: an OOM error, and the transaction changes nothing"""
    with Server("--capacity", "4K", "--max-load", "0.5") as server, server.replies() as replies:
        key = 0
        while replies.ask("SET", key, 1) == "OK":
            key += 1
        talk(replies, ("MULTI", "OK"), ("SET 0 77", "QUEUED"), ("PING", "QUEUED"),
             ("INCR 1", "QUEUED"), (f"SET {key} 1", "QUEUED"), ("DEL 2", "QUEUED"),
             ("EXEC", wire.Error(wire.FULL)),
             ("MGET 0 1 2", [b"1"] * 3), (f"GET {key}", None),
             ("MULTI", "OK"), ("SET 0 77", "QUEUED"), ("GET 0", "QUEUED"), ("EXEC", ["OK", b"77"]))


@case
def in_one_pipeline():
    """transactions and plain commands in one pipeline, in pieces of any size, run in order"""
    with Server("--round-ops-max", "64", "--resp-arguments-max", "64") as server:
        stream, wanted = b"", []
        for i in range(200):
            stream += wire.command("MULTI") + wire.command("SET", i, i) + wire.command("INCR", i)
            stream += wire.command("ECHO", i) + wire.command("EXEC") + wire.command("GET", i)
            wanted += ["OK", "QUEUED", "QUEUED", "QUEUED", ["OK", i + 1, b"%d" % i], b"%d" % (i + 1)]
        for size in (7, 1000, len(stream)):
            with server.connect() as connection:
                replies = wire.Replies(connection)
                sender = threading.Thread(target=lambda: [
                    connection.sendall(stream[at:at + size]) for at in range(0, len(stream), size)])
                sender.start()
                equal([replies.read() for _ in wanted], wanted, f"pieces of {size}")
                sender.join()


@case
def limits():
    """a transaction that could never run is refused while it is queued, and its memory is freed"""
    with Server("--round-ops-max", "64", "--resp-arguments-max", "64", "--resp-request-bytes-max",
                "64K") as server, server.replies() as replies:
        too_many = wire.Error("ERR the transaction has more commands or arguments than "
                              "round-ops-max: split it, or raise the limit")
        equal(replies.ask("MULTI"), "OK", "MULTI")
        equal([replies.ask("PING") for _ in range(63)], ["QUEUED"] * 63, "as many as a round holds")
        equal(replies.ask("EXEC"), ["PONG"] * 63, "EXEC")
        equal(replies.ask("MULTI"), "OK", "MULTI")
        equal([replies.ask("PING") for _ in range(64)], ["QUEUED"] * 63 + [too_many], "one more")
        talk(replies, ("EXEC", ABORT), ("MULTI", "OK"))
        equal(replies.ask("DEL", *range(62)), "QUEUED", "many keys")
        talk(replies, ("GET 1", too_many), ("EXEC", ABORT), ("MULTI", "OK"))
        equal(replies.ask("ECHO", "x" * 40000), "QUEUED", "a long one")
        equal(replies.ask("ECHO", "x" * 40000), wire.Error(
            "ERR the transaction is larger than resp-request-bytes-max: split it, or raise the limit"), "two long ones")
        talk(replies, ("EXEC", ABORT), ("MULTI", "OK"))
        equal(replies.ask("ECHO", "x" * 40000), "QUEUED", "a long one")
        equal(replies.ask("EXEC"), [b"x" * 40000], "its reply")


@case
def memory_of_all_connections():
    """queued commands count as input: a transaction beyond input-bytes-max is refused, and others continue"""
    with Server("--input-bytes-max", "8M", "--resp-request-bytes-max", "4M") as server:
        connections = [server.connect() for _ in range(4)]
        replies = [wire.Replies(connection) for connection in connections]
        full = wire.Error("ERR the memory for requests is used up (input-bytes-max)")
        got = []
        for one in replies:
            equal(one.ask("MULTI"), "OK", "MULTI")
            got.append([one.ask("ECHO", "x" * 15000) for _ in range(250)])
        check(all(set(each) <= {"QUEUED", full} for each in got), "replies")
        check(full in got[-1] and full not in got[0], "the last one found no memory")
        with server.connect() as connection:
            equal(wire.Replies(connection).ask("ECHO", "x" * 2000000), b"x" * 2000000,
                  "a request that arrives in pieces has room all the same")
        equal(replies[-1].ask("EXEC"), ABORT, "it is not carried out")
        equal(replies[0].ask("EXEC"), [b"x" * 15000] * 250, "the first one is")
        for connection in connections:
            connection.close()
        with server.replies() as one:
            equal(one.ask("MULTI"), "OK", "MULTI")
            equal([one.ask("ECHO", "x" * 15000) for _ in range(250)], ["QUEUED"] * 250, "room again")


@case
def large_requests_leave_room():
    """transactions run while other clients begin large requests and do not finish them"""
    with Server("--input-bytes-max", "8M", "--resp-request-bytes-max", "4M") as server:
        large = [server.connect() for _ in range(12)]
        for connection in large:
            with contextlib.suppress(OSError):  # it was closed for the memory that it held
                connection.sendall(b"*2\r\n$4\r\nECHO\r\n$2000000\r\n" + b"x" * 600000)
        eventually(lambda: server.metrics()["sherwood_input_memory_bytes"] > 5 << 20, "received")
        for i in range(20):
            with server.replies() as replies:
                talk(replies, ("MULTI", "OK"), (f"SET {i} 5", "QUEUED"), (f"INCR {i}", "QUEUED"))
                equal(replies.ask("ECHO", "x" * 10000), "QUEUED", "a long one")
                talk(replies, ("EXEC", ["OK", 6, b"x" * 10000]))
        for connection in large:
            connection.close()
        eventually(lambda: server.metrics()["sherwood_input_memory_bytes"] == 0, "given back")


@case
def not_a_reply_too_many():
    """CLIENT REPLY OFF and SKIP hide all replies of a transaction"""
    with Server() as server, server.connect() as connection:
        replies = wire.Replies(connection)
        connection.sendall(b"".join(wire.command(*words.split()) for words in (
            "CLIENT REPLY OFF", "MULTI", "SET 1 5", "GET 1", "PING", "EXEC", "CLIENT REPLY ON")))
        equal(replies.read(), "OK", "CLIENT REPLY ON")
        equal(replies.ask("GET", 1), b"5", "it was carried out")
        talk(replies, ("MULTI", "OK"), ("INCR 1", "QUEUED"), ("PING", "QUEUED"), ("EXEC", [6, "PONG"]))
        connection.sendall(b"".join(wire.command(*words.split()) for words in (
            "CLIENT REPLY SKIP", "MULTI", "INCR 1", "EXEC", "PING")))
        equal([replies.read() for _ in range(3)], ["QUEUED", [7], "PONG"], "MULTI's was skipped")


@case
def resp3_and_bytes():
    """RESP3's null inside EXEC's array; a cache of byte strings"""
    with Server("--engine", "cache", "--value-bytes", "60") as server:
        with server.replies() as replies:
            check(replies.ask("HELLO", 3), "HELLO")
            talk(replies, ("MULTI", "OK"), ("SET 1 abc", "QUEUED"), ("GET 1", "QUEUED"),
                 ("GET 2", "QUEUED"), ("MGET 1 2", "QUEUED"), ("STRLEN 1", "QUEUED"),
                 ("EXEC", ["OK", b"abc", None, [b"abc", None], 3]))
            equal(replies.ask("MULTI"), "OK", "MULTI")
            check(isinstance(replies.ask("SET", 1, "x" * 61), wire.Error), "a value too long")
            talk(replies, ("EXEC", ABORT), ("GET 1", b"abc"))
            equal(replies.ask("MULTI"), "OK", "MULTI")
            check(isinstance(replies.ask("INCR", 1), wire.Error), "what the engine lacks")
            talk(replies, ("EXEC", ABORT))


@case
def left_open():
    """a client leaves inside a transaction: nothing of it is executed, and its memory is freed"""
    with Server() as server:
        before = server.resident_bytes()
        for _ in range(200):
            with server.replies() as replies:
                talk(replies, ("MULTI", "OK"), ("SET 1 1", "QUEUED"))
                equal(replies.ask("ECHO", "x" * 1000000), "QUEUED", "a long one")
        eventually(lambda: server.connections() == 0, "all are closed")
        equal(server.ask("GET", 1), None, "not done")
        grown = server.resident_bytes() - before
        check(grown < 16 << 20, f"resident memory grew by {grown}")


@case
def counted_once():
    """a queued command counts as processed only when EXEC runs it"""
    with Server() as server, server.replies() as replies:
        talk(replies, ("MULTI", "OK"), ("SET 1 1", "QUEUED"), ("GET 1", "QUEUED"), ("DISCARD", "OK"),
             ("MULTI", "OK"), ("SET 1 1", "QUEUED"), ("GET 1", "QUEUED"), ("EXEC", ["OK", b"1"]))
        info = replies.ask("INFO", "commandstats").decode()
        for name, calls in (("multi", 2), ("exec", 1), ("discard", 1), ("set", 1), ("get", 1)):
            check(f"cmdstat_{name}:calls={calls}" in info, info)


@case
def two_counters_are_always_equal():
    """transactions of many clients on several loops never interleave"""
    clients, rounds = 6, 300
    for flags in ((), ("--engine", "cuckoo")):
        with Server("--loops", "3", *flags) as server:

            def work(mine):
                with server.connect() as connection:
                    replies = wire.Replies(connection)
                    for i in range(rounds):
                        if mine % 2 == 0:
                            connection.sendall(
                                wire.command("MULTI") + wire.command("INCRBY", 1, i) +
                                wire.command("PING") + wire.command("INCRBY", 2, i) +
                                wire.command("EXEC"))
                            reply = [replies.read() for _ in range(5)][-1]
                            equal(reply[0], reply[2], "sums")
                        else:
                            connection.sendall(
                                wire.command("MULTI") + wire.command("GET", 1) +
                                wire.command("GET", 2) + wire.command("EXEC"))
                            reply = [replies.read() for _ in range(4)][-1]
                            equal(reply[0], reply[1], "counters")

            at_once(work, [(i,) for i in range(clients)])
            with server.connect() as connection:
                total = b"%d" % (sum(range(rounds)) * (clients // 2))
                equal(wire.Replies(connection).ask("MGET", 1, 2), [total, total], "the end")


if __name__ == "__main__":
    main()
