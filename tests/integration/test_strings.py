#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Counters, strings and locks in rows of strings, with names as keys. golden/strings.txt is a session with redis
7.0.15, whose replies are compared byte by byte. If redis-server 7.0 is installed, it repeats the session."""

import pathlib
import shlex
import shutil
import socket
import struct

import wire
from beside import Recorded
from data_directory import Directory
from harness import Server, at_once, case, check, equal, main, raises, redis_server, run
from replication import caught_up

GOLDEN = pathlib.Path(__file__).parent / "golden" / "strings.txt"
FLAGS = ("--backend", "cpu", "--capacity", "1K", "--resp-keys", "hash", "--resp-key-text-bytes", "30", "--value-bytes", "64",
         "--value-type", "string", "--frame-ops-max", "512", "--round-ops-max", "1024")
ROOM = 64
FAR = 4102444800 # seconds since 1970: no test comes so far


def session(connection):
    """Returns the lines of the golden file, as this connection replies."""
    replies, lines = Recorded(connection), []
    for line in GOLDEN.read_text(encoding="ascii").splitlines():
        command = line.partition(" => ")[0]
        if not line.startswith("#"):
            replies.ask(*(word.encode().decode("unicode_escape") for word in shlex.split(command)))
            line = f"{command} => {replies.taken.decode('latin-1').encode('unicode_escape').decode()}"
        lines.append(line)
    return lines


@case
def as_redis():
    """a session of counters, strings, times and transactions gives the replies of redis"""
    wanted = GOLDEN.read_text(encoding="ascii").splitlines()
    with Server(*FLAGS) as server:
        for i, line in enumerate(session(server.connect())):
            equal(line, wanted[i], "the session")
    if shutil.which("redis-server") and "v=7.0." in run("redis-server", "--version"):
        with redis_server() as path:
            theirs = socket.socket(socket.AF_UNIX)
            theirs.connect(path)
            equal(session(theirs), wanted, "redis itself")


@case
def beyond_the_row():
    """a value that is too long for the row is refused, and changes nothing"""
    long = "ERR value would be longer than a row allows (--value-bytes)"
    given = f"ERR value is longer than {ROOM} bytes (--value-bytes)"
    with Server(*FLAGS) as server:
        replies = wire.Replies(server.connect())
        for before, wanted, words in (
                ("x" * ROOM, long, ("APPEND", "k", "y")), ("x" * ROOM, ROOM, ("APPEND", "k", "")),
                ("x" * (ROOM - 1), ROOM, ("APPEND", "k", "y")), (None, given, ("APPEND", "k", "y" * (ROOM + 1))),
                (None, ROOM, ("APPEND", "k", "y" * ROOM)), ("x", long, ("SETRANGE", "k", ROOM, "y")),
                ("x", ROOM, ("SETRANGE", "k", ROOM - 1, "y")), ("1", given, ("INCRBYFLOAT", "k", "1" * (ROOM + 1))),
                ("1", long, ("INCRBYFLOAT", "k", "1e70")), (None, long, ("INCRBYFLOAT", "k", "1e70")),
                ("abc", "ERR value is not a valid float", ("INCRBYFLOAT", "k", "1e70")),
                (None, 4, ("INCRBYFLOAT", "k", "1e3"))):
            replies.ask("DEL", "k")
            if before is not None:
                replies.ask("SET", "k", before)
            got = replies.ask(*words)
            equal(len(got) if isinstance(got, bytes) else str(got) if isinstance(wanted, str) else got, wanted, words)
            if isinstance(wanted, str):
                equal(replies.ask("GET", "k"), before and before.encode(), words)
    flags = dict(zip(FLAGS[::2], FLAGS[1::2]), **{"--value-bytes": "4"})
    with Server(*(part for pair in flags.items() for part in pair)) as server:
        replies = wire.Replies(server.connect())
        equal([replies.ask("INCRBY", "k", 9999), str(replies.ask("INCR", "k")), replies.ask("DECR", "k")], [9999, long, 9998], "4 digits")
        equal(str(replies.ask("INCRBY", "k", -1000)), "ERR value is longer than 4 bytes (--value-bytes)", "an operand")
        equal(str(replies.ask("INCREX", "k", "BYINT", 5)), long, "INCREX")
        equal(replies.ask("GET", "k"), b"9998", "the value")


@case
def locks():
    """SET NX PX takes a lock, and only the holder's token releases it"""
    with Server(*FLAGS) as server:
        replies = wire.Replies(server.connect())
        equal([replies.ask("SET", "lock", "a", "NX", "PX", 100000), replies.ask("SET", "lock", "b", "NX", "PX", 100000)], ["OK", None], "NX")
        equal([replies.ask("DELEX", "lock", "IFEQ", "b"), replies.ask("DELIFEQ", "lock", "b"), replies.ask("DELEX", "lock", "ifne", "a")],
              [0, 0, 0], "another token")
        equal([replies.ask("DELEX", "lock", "IFEQ", "a"), replies.ask("EXISTS", "lock"), replies.ask("DELEX", "lock", "IFEQ", "a")],
              [1, 0, 0], "its token")
        replies.ask("MSET", "x", "1", "y", "2", "z", "")
        equal([replies.ask("DELEX", "x", "IFNE", "2"), replies.ask("DELIFEQ", "y", "2"), replies.ask("DELEX", "z", "IFEQ", "z"),
               replies.ask("DELEX", "z", "IFEQ", ""), replies.ask("DELEX", "none"), replies.ask("DBSIZE")], [1, 1, 0, 1, 0, 0], "others")
        replies.ask("SET", "lock", "a", "PXAT", 1)
        equal(replies.ask("DELEX", "lock", "IFEQ", "a"), 0, "a lock that has expired")
        equal([str(replies.ask(*words.split())) for words in ("DELEX", "DELEX k IFEQ", "DELEX k IFDEQ 1", "DELIFEQ k", "DELIFEQ k 1 2")],
              ["ERR wrong number of arguments for 'delex' command"] * 2 + ["ERR Invalid condition. Use IFEQ or IFNE"] +
              ["ERR wrong number of arguments for 'delifeq' command"] * 2, "arguments")
        replies.ask("MULTI")
        check("MULTI" in str(replies.ask("DELEX", "k", "IFEQ", "1")) or "transaction" in str(replies.ask("DELEX", "k", "IFEQ", "1")), "in MULTI")
        replies.ask("DISCARD")
        reason = "this server has no scripts: SET key token NX PX ms acquires a lock, DELEX key IFEQ token releases it, " \
                 "and INCREX key UBOUND n EX seconds ENX limits a rate"
        equal([str(replies.ask(*words)) for words in (("EVAL", "return 1", 0), ("EVALSHA", "0" * 40, 0), ("SCRIPT", "LOAD", "x"))],
              [f"ERR {name}: {reason}" for name in ("EVAL", "EVALSHA", "SCRIPT")], "scripts")


def limited(replies, *words):
    return replies.ask("INCREX", *words)


@case
def limiters():
    """INCREX adds within bounds, returns the expiry, and replies as the documentation of redis 8.8 says"""
    for flags in (FLAGS, ("--backend", "cpu", "--capacity", "1K")):
        with Server(*flags) as server:
            replies = wire.Replies(server.connect())
            for words, wanted in (((100, "ENX"), [1, 1]), ((5000, "ENX"), [2, 1]), ((5000,), [2, 0])):
                equal(limited(replies, "k", "UBOUND", 2, "EX", *words), wanted, words)
                check(0 < replies.ask("TTL", "k") <= 100, "the time of the first")
            equal([limited(replies, "k", "BYINT", 5, "UBOUND", 4, "SATURATE", "PXAT", FAR * 1000), replies.ask("EXPIRETIME", "k")],
                  [[4, 2], FAR], "at most")
            equal([limited(replies, "k", "BYINT", -9, "LBOUND", 1), limited(replies, "k", "BYINT", -9, "LBOUND", 1, "SATURATE"),
                   replies.ask("EXPIRETIME", "k")], [[4, 0], [1, -3], FAR], "at least; the time is kept")
            equal([limited(replies, "k", "PERSIST"), replies.ask("TTL", "k")], [[2, 1], -1], "PERSIST")
            equal([limited(replies, "k", "UBOUND", 1, "BYINT", -1, "LBOUND", 0), limited(replies, "k", "UBOUND", 0, "SATURATE")],
                  [[1, -1], [0, -1]], "towards the bounds")
            equal([limited(replies, "new", "LBOUND", 5), replies.ask("EXISTS", "new"), limited(replies, "new", "LBOUND", 5, "SATURATE")],
                  [[0, 0], 0, [5, 5]], "an absent key")
            top = 2**63 - 1
            equal([limited(replies, "top", "BYINT", top), limited(replies, "top"), limited(replies, "top", "SATURATE"), replies.ask("GET", "top")],
                  [[top, top], [top, 0], [top, 0], str(top).encode()], "the type's bound")
            replies.ask("SET", "gone", 7, "PXAT", 1)
            equal(limited(replies, "gone"), [1, 1], "a key that has expired")
            equal([str(limited(replies, "k", *words.split())) for words in (
                "ENX", "EX 1 PERSIST", "PERSIST ENX", "EX", "EX 0", "EX x", "UBOUND", "UBOUND x", "BYINT 1 BYINT 1", "LBOUND 2 UBOUND 1", "no", "BYFLOAT 1")],
                  ["ERR ENX flag requires an expiration", "ERR syntax error", "ERR syntax error", "ERR syntax error",
                   "ERR invalid expire time in 'increx' command", "ERR value is not an integer or out of range", "ERR syntax error",
                   "ERR value is not an integer or out of range", "ERR syntax error", "ERR LBOUND is larger than UBOUND", "ERR syntax error",
                   "ERR INCREX has no BYFLOAT in this server: use INCRBYFLOAT"], "arguments")
            low = limited(replies, "low", "BYINT", -3)
            equal(low, [-3, -3] if flags is FLAGS else [0, 0], "below 0")
    with Server(*FLAGS) as server:
        replies = wire.Replies(server.connect())
        replies.ask("SET", "k", "abc")
        equal([str(limited(replies, "k")), replies.ask("GET", "k")], ["ERR value is not an integer or out of range", b"abc"], "no number")


def add_from_all(server, clients, rounds, *kinds):
    """Each client sends `rounds` pipelines; returns the replies of all."""
    def one():
        replies = wire.Replies(server.connect())
        got = []
        for _ in range(rounds):
            replies.socket.sendall(b"".join(wire.command(*kind) for kind in kinds))
            got += [replies.read() for _ in kinds]
        return got

    return [reply for got in at_once(one, [()] * clients) for reply in got]


@case
def many_clients():
    """sums of many clients on several loops are exact, no value is returned twice, and a limit holds"""
    with Server(*FLAGS, "--loops", "4") as server:
        replies = wire.Replies(server.connect())
        got = add_from_all(server, 8, 200, ("INCR", "n"))
        equal(sorted(got), list(range(1, 1601)), "each value once")
        add_from_all(server, 8, 50, ("INCRBY", "m", 5), ("DECR", "m"), ("INCRBYFLOAT", "f", "0.25"), ("APPEND", "s", ""), ("APPEND", "t", "x"))
        equal([replies.ask("GET", key) for key in "mfst"], [b"1600", b"100", b"", b"x" * ROOM], "sums")
        got = add_from_all(server, 8, 30, ("INCREX", "limit", "UBOUND", 100, "EX", 1000, "ENX"), ("INCR", "n"))
        equal(sorted(reply[0] for reply in got if isinstance(reply, list) and reply[1] == 1), list(range(1, 101)), "100 are let in")
        taken = add_from_all(server, 8, 20, ("SET", "lock", "token", "NX", "PX", 100000), ("DELEX", "lock", "IFEQ", "token"))
        equal(taken.count("OK"), taken.count(1), "locks taken and given back")
        equal(replies.ask("GET", "n"), b"1840", "n")


@case
def logs_and_replicas():
    """a replica and a restart from the log have what the primary had"""
    with Directory() as directory:
        logged = ("--data-dir", str(directory), "--appendonly", "yes", "--log-segment-bytes", "1M")
        with Server(*FLAGS, *logged) as primary, \
                Server("--replicaof", f"127.0.0.1 {primary.port}", *FLAGS, "--repl-timeout", "10") as replica:
            replies = wire.Replies(primary.connect())
            for i in range(40):
                for words in (("INCRBY", f"n{i % 5}", i - 20), ("INCRBYFLOAT", f"f{i % 5}", f"{i}.1"), ("APPEND", f"s{i % 5}", f"<{i}>"),
                              ("INCR", f"s{i % 5}"), ("SET", f"t{i}", "1", "EXAT", FAR), ("INCR", f"t{i}"), ("APPEND", f"n{i % 5}", ""),
                              ("INCREX", "c", "UBOUND", 30, "EXAT", FAR, "ENX"), ("DELEX", f"t{i - 1}", "IFEQ", "2"),
                              ("INCRBYFLOAT", f"n{i % 5}", "1e-17")):
                    replies.ask(*words)
            digest = caught_up(primary, replica)
            equal([replica.ask("GET", key) for key in ("n0", "c", "t39")], [replies.ask("GET", key) for key in ("n0", "c", "t39")], "values")
            equal(replica.ask("EXPIRETIME", "c"), FAR, "the time of a counter")
        with Server(*FLAGS, *logged) as again:
            equal(again.ask("DIGEST")[1:], digest[1:], "the digest after a restart")


@case
def rights():
    """each command needs its own right and the key"""
    acl = "user default on nopass ~* +@all\nuser some on nopass ~* -@all +incr +append +delifeq\n"
    with Directory() as directory:
        (directory / "acl").write_text(acl)
        (directory / "acl").chmod(0o600)
        with Server(*FLAGS, "--acl-file", str(directory / "acl")) as server:
            replies = wire.Replies(server.connect())
            replies.ask("AUTH", "some", "x")
            equal([replies.ask("INCR", "k"), replies.ask("APPEND", "k", "2"), replies.ask("DELIFEQ", "k", "12")], [1, 2, 1], "allowed")
            for words in (("INCRBY", "k", 1), ("DECR", "k"), ("INCRBYFLOAT", "k", 1), ("INCREX", "k"), ("DELEX", "k"), ("SETRANGE", "k", 0, "x")):
                equal(str(replies.ask(*words)), f"NOPERM this user has no permissions to run the '{words[0].lower()}' command", words)


@case
def other_values():
    """if values are not strings, the error names the value type that supports the command"""
    for flags, words, error in (
            (("--value-bytes", "16", "--value-type", "u64"), ("INCR", 1),
             "ERR the robin_hood engine has no INCR for rows: values are not integers; " + wire.COUNTERS),
            (("--value-bytes", "8"), ("APPEND", 1, "x"),
             "ERR APPEND needs values that are strings: start the server with --engine robin_hood --value-bytes N --value-type string"),
            ((), ("APPEND", 1, 2), "ERR APPEND needs values that are strings: start the server with --engine robin_hood --value-bytes N --value-type string"),
            (("--value-bytes", "8", "--value-type", "u64"), ("INCREX", 1),
             "ERR INCREX needs values that are integers or strings (--value-type string)"),
            (("--value-bytes", "8", "--value-type", "u64"), ("INCRBYFLOAT", 1, 1),
             "ERR INCRBYFLOAT needs values that are strings (--value-type string) or rows of one number (--value-type f64 --value-bytes 8, or f32 and 4)"),
            (("--engine", "cache", "--value-bytes", "8"), ("INCRBYFLOAT", 1, 1),
             "ERR the cache engine has no INCRBYFLOAT: of the operations that depend on a stored value it has only ADD; "
             "start the server with --engine robin_hood")):
        with Server("--backend", "cpu", "--capacity", "1K", *flags) as server:
            equal(str(server.ask(*words)), error, words)


@case
def rows_of_one_number():
    """rows of one u64 work as counters, with names that SCAN lists"""
    flags = dict(zip(FLAGS[::2], FLAGS[1::2]), **{"--value-bytes": "8", "--value-type": "u64"})
    with Server(*(part for pair in flags.items() for part in pair)) as server:
        replies = wire.Replies(server.connect())
        over = "ERR increment or decrement would overflow"
        equal([replies.ask("INCR", "n"), replies.ask("INCRBY", "n", 41), replies.ask("DECRBY", "n", 2), replies.ask("DECR", "n"),
               replies.ask("GET", "n"), replies.ask("KEYS", "*")], [1, 42, 40, 39, struct.pack("<Q", 39), [b"n"]], "counts")
        equal([str(replies.ask("DECRBY", "n", 40)), str(replies.ask("DECR", "none")), replies.ask("EXISTS", "none"),
               replies.ask("INCRBY", "n", -39)], [over, over, 0, 0], "below 0")
        replies.ask("SET", "n", struct.pack("<Q", 2**64 - 2), "PXAT", FAR * 1000)
        equal([replies.ask("INCR", "n"), str(replies.ask("INCR", "n")), replies.ask("EXPIRETIME", "n")],
              [str(2**64 - 1).encode(), over, FAR], "the largest; the time is kept")
        equal([str(replies.ask("INCRBY", "n", word)) for word in ("x", "1.5", "+1", 2**63)],
              ["ERR value is not an integer or out of range"] * 4, "amounts")
        got = add_from_all(server, 8, 20, ("INCR", "shared"))
        equal(sorted(got), list(range(1, 161)), "each value once")


@case
def rows_of_one_signed_number():
    """rows of one i64 count as redis does: negative numbers, the ends of 64 bits, and the same errors"""
    flags = dict(zip(FLAGS[::2], FLAGS[1::2]), **{"--value-bytes": "8", "--value-type": "i64"})
    with Server(*(part for pair in flags.items() for part in pair)) as server:
        replies = wire.Replies(server.connect())
        over = "ERR increment or decrement would overflow"
        equal([replies.ask("DECR", "n"), replies.ask("INCRBY", "n", 43), replies.ask("DECRBY", "n", 50), replies.ask("INCRBY", "n", -1),
               replies.ask("GET", "n")], [-1, 42, -8, -9, struct.pack("<q", -9)], "counts")
        replies.ask("SET", "n", struct.pack("<q", 2**63 - 2), "PXAT", FAR * 1000)
        equal([replies.ask("INCR", "n"), str(replies.ask("INCR", "n")), replies.ask("EXPIRETIME", "n"), replies.ask("GET", "n")],
              [2**63 - 1, over, FAR, struct.pack("<q", 2**63 - 1)], "the largest; the time is kept")
        equal([replies.ask("INCRBY", "m", -2**63), str(replies.ask("DECR", "m")), replies.ask("INCRBY", "m", 2**63 - 1)],
              [-2**63, over, -1], "the smallest")
        equal(str(replies.ask("DECRBY", "m", -2**63)), "ERR decrement would overflow", "the amount")
        equal([str(replies.ask("INCRBY", "n", word)) for word in ("x", "1.5", "+1", "-0", 2**63)],
              ["ERR value is not an integer or out of range"] * 5, "amounts")
        equal([replies.ask("MULTI"), replies.ask("DECR", "t"), replies.ask("INCRBY", "t", 3), replies.ask("EXEC")],
              ["OK", "QUEUED", "QUEUED", [-1, 2]], "a transaction")
        with server.connect() as other:
            equal([replies.ask("WATCH", "n", "t"), str(wire.Replies(other).ask("INCR", "n")), replies.ask("MULTI"),
                   replies.ask("INCR", "t"), replies.ask("EXEC")], ["OK", over, "OK", "QUEUED", [3]], "a refused INCR changes no watched key")
        got = add_from_all(server, 8, 20, ("DECR", "shared"))
        equal(sorted(got), list(range(-160, 0)), "each value once")


@case
def redis_py():
    """redis-py counts, appends and locks by string keys; its Lock, which sends scripts, gets an error with advice"""
    import redis # pylint: disable=import-outside-toplevel
    with Server(*FLAGS) as server:
        client = redis.Redis(port=server.port)
        equal([client.incr("page:home"), client.decr("page:home", 5), client.incrbyfloat("f", 1.5), client.append("s", "abc"),
               client.set("lock", "token", nx=True, px=100000), client.set("lock", "other", nx=True, px=100000),
               client.execute_command("DELEX", "lock", "IFEQ", "token"), sorted(client.scan_iter())],
              [1, -4, 1.5, 3, True, None, 1, [b"f", b"page:home", b"s"]], "commands")
        with client.pipeline(transaction=True) as pipe:
            pipe.set("n", 1).incr("n").incrbyfloat("n", 0.5).append("n", "0").get("n")
            equal(pipe.execute(), [True, 2, 2.5, 4, b"2.50"], "a transaction")
        lock = client.lock("held", timeout=100)
        check(lock.acquire(blocking=False), "acquire")
        raises(redis.exceptions.ResponseError, "DELEX key IFEQ token", lock.release)


if __name__ == "__main__":
    main()
