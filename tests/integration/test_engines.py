#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Daemons of every engine: what each has and lacks, values of bytes, a full cache, the counters.

A build without an engine, or without its CPU backend, skips its cases with the daemon's own words.
"""

import re
import struct

import wire
from harness import BACKEND, BUILD, Server, case, check, equal, error_of, main, refusal, run, start

CLI = BUILD / "sherwood-cli"
CACHE = ("--engine", "cache", "--capacity", "4096")
CUCKOO = ("--engine", "cuckoo", "--capacity", "64K")


def commands_of(replies):
    return {name.decode() for name in replies.ask("COMMAND", "LIST")}


@case
def robin_hood_is_named():
    """robin_hood is the default engine, and every report names it"""
    with Server() as server, server.replies() as replies:
        check(f"robin_hood engine, {BACKEND} backend" in server.line, server.line)
        check(b"\nengine:robin_hood\r\n" in replies.ask("INFO", "sherwood"), "INFO")
        hello = replies.ask("HELLO")
        equal(hello[hello.index(b"engine") + 1], b"robin_hood", "HELLO")
        check(any('engine="robin_hood"' in name for name in server.metrics()), "metrics")


# --- cuckoo --------------------------------------------------------------------------------------
@case
def cuckoo_over_resp():
    """cuckoo over RESP: operations on keys work; SCAN, RANDOMKEY and RESIZE are refused with a reason"""
    with start(*CUCKOO) as server, server.replies() as replies:
        check("cuckoo engine" in server.line, server.line)
        equal(replies.ask("MSET", *range(2000)), "OK", "MSET")
        equal(replies.ask("MGET", *range(0, 2000, 2)), [b"%d" % i for i in range(1, 2000, 2)], "MGET")
        equal(replies.ask("INCRBY", 0, 41), 42, "INCRBY")
        equal(replies.ask("SET", 0, 1, "NX"), None, "SET NX")
        equal(replies.ask("DEL", 0, 1), 1, "DEL")
        equal(replies.ask("DBSIZE"), 999, "DBSIZE")
        for command in (("SCAN", 0), ("RANDOMKEY",), ("RESIZE", 1000), ("scan", "x", "y")):
            equal(error_of(replies, *command),
                  f"ERR the cuckoo engine has no {command[0].upper()}: start the server with --engine robin_hood", "refusal")
        check(error_of(replies, "INCREX", 1, "EX", 10).startswith("ERR the cuckoo engine has no INCREX EX"), "INCREX EX")
        listed = commands_of(replies)
        check(not listed & {"scan", "randomkey", "resize"}, "COMMAND lists what is refused")
        check({"get", "incr", "flushall"} <= listed, "COMMAND lacks what is there")
        equal(replies.ask("COMMAND", "COUNT"), len(listed), "COMMAND COUNT")
        equal(replies.ask("DBSIZE"), 999, "DBSIZE after the refusals")
        equal(replies.ask("FLUSHALL"), "OK", "FLUSHALL")
        equal(replies.ask("DBSIZE"), 0, "DBSIZE")
        check(error_of(replies, "SET", 1, "x").startswith("ERR value is not"), "a value that is none")


@case
def cuckoo_refusals_keep_their_place():
    """cuckoo: in a pipeline, replies and errors come in the order of the commands"""
    with start(*CUCKOO) as server, server.connect() as connection:
        replies = wire.Replies(connection)
        connection.sendall(b"".join(wire.command(*c) for c in (
            ("SET", 1, 2), ("SCAN", 0), ("GET", 1), ("RESIZE", 9), ("INCR", 1), ("RANDOMKEY",))))
        answers = [replies.read() for _ in range(6)]
        equal([str(a) for a in answers],
              ["OK", "ERR the cuckoo engine has no SCAN: start the server with --engine robin_hood", "b'2'",
               "ERR the cuckoo engine has no RESIZE: start the server with --engine robin_hood", "3",
               "ERR the cuckoo engine has no RANDOMKEY: start the server with --engine robin_hood"], "answers")


@case
def cuckoo_in_frames():
    """cuckoo in frames: operations on keys work; unsupported ones are refused, and the connection stays open"""
    with start(*CUCKOO) as server, server.connect() as connection:
        connection.sendall(wire.frame(wire.SCAN, count=10, key_bytes=8, value_bytes=8)
                           + wire.frame(wire.PING, request_id=2))
        reply = wire.read_frame(connection)
        equal((reply.status, reply.message), (wire.UNKNOWN_OPERATION,
                                              "the cuckoo engine has no SCAN: start the server with --engine robin_hood"), "SCAN")
        equal(wire.read_frame(connection).status, wire.OK, "PING behind it")
        info = wire.call(connection, wire.HELLO).info
        equal((info[10], info.get(11, 0)), (b"cuckoo", 0), "greeting")


@case
def cuckoo_is_full():
    """cuckoo: at max-load new keys are refused as out of memory, and existing ones are served"""
    with start("--engine", "cuckoo", "--capacity", "3000", "--max-load", "0.5") as server, \
            server.connect() as connection:
        replies = wire.Replies(connection)
        most = int(re.search(r"\((\d+) keys at load 0.50\)", server.line).group(1))
        for i in range(most):
            connection.sendall(wire.command("SET", i, i))
        equal({replies.read() for _ in range(most)}, {"OK"}, "SET")
        check(error_of(replies, "SET", most, 1).startswith("OOM "), "one more")
        equal(replies.ask("SET", 0, 7), "OK", "an old key")
        equal(replies.ask("DBSIZE"), most, "DBSIZE")


# --- cache ---------------------------------------------------------------------------------------
@case
def cache_takes_long_commands():
    """cache: commands of megabytes work up to resp-request-bytes-max, with large values and small ones"""
    for size, count in ((1020, 3800), (200, 8000), (60, 8000)):
        with start(*CACHE, "--capacity", "128K", "--value-bytes", "1020", "--frame-ops-max",
                   "0") as server, server.replies() as replies:
            words = [word for i in range(count) for word in (i, b"v" * size)]
            equal(replies.ask("MSET", *words), "OK", f"MSET of values of {size} bytes")
            equal(replies.ask("GET", len(words) // 2 - 1), b"v" * size, "the last one")


@case
def cache_over_resp():
    """cache over RESP: strings of every length are read back unchanged, and absent ones are nil"""
    with start(*CACHE, "--value-bytes", "64") as server, server.replies() as replies:
        values = [bytes((i * 7 + k) % 256 for k in range(i)) for i in range(65)]
        for i, value in enumerate(values):
            equal(replies.ask("SET", i, value), "OK", f"SET of {i} bytes")
        for i, value in enumerate(values):
            equal(replies.ask("GET", i), value, f"GET of {i} bytes")
            equal(replies.ask("STRLEN", i), i, "STRLEN")
        equal(replies.ask("MGET", *range(70)), values + [None] * 5, "MGET")
        equal(replies.ask("MSET", 1, "", 2, b"\r\n\x00", 2**64 - 1, "top"), "OK", "MSET")
        equal(replies.ask("MGET", 1, 2, 2**64 - 1), [b"", b"\r\n\x00", b"top"], "MGET")
        equal(replies.ask("SETNX", 1, "x"), 0, "SETNX of a present key")
        equal(replies.ask("SET", 1, "new", "NX"), None, "SET NX")
        equal(replies.ask("SET", 1, "new", "XX"), "OK", "SET XX")
        equal(replies.ask("SET", 100, "x", "XX"), None, "SET XX of an absent key")
        equal(replies.ask("GETSET", 1, "newer"), b"new", "GETSET")
        equal(replies.ask("SET", 1, "newest", "GET"), b"newer", "SET GET")
        equal(replies.ask("SET", 101, "x", "GET"), None, "SET GET of an absent key")
        equal(replies.ask("GETDEL", 1), b"newest", "GETDEL")
        equal(replies.ask("EXISTS", 0, 1, 2, 2), 3, "EXISTS")
        equal((replies.ask("DEL", 0, 1, 3), replies.ask("UNLINK", 4, 5, 1)), (2, 2), "DEL, UNLINK")
        equal(replies.ask("DBSIZE"), 62, "DBSIZE")
        equal((replies.ask("TYPE", 2), replies.ask("TYPE", 0)), ("string", "none"), "TYPE")
        equal(replies.ask("OBJECT", "ENCODING", 2), b"raw", "OBJECT ENCODING")
        equal(replies.ask("MEMORY", "USAGE", 2), 18 + 68, "MEMORY USAGE")
        cursor, keys = None, []
        while cursor != b"0":
            cursor, some = replies.ask("SCAN", cursor or 0, "COUNT", 1000)
            keys += some
        equal((len(keys), len(set(keys))), (62, 62), "SCAN")
        check(replies.ask("RANDOMKEY") in keys, "RANDOMKEY")
        equal(replies.ask("FLUSHALL"), "OK", "FLUSHALL")
        equal((replies.ask("DBSIZE"), replies.ask("RANDOMKEY")), (0, None), "an empty cache")
        equal(replies.ask("HELLO", 3)[b"engine"], b"cache", "HELLO 3")
        equal(replies.ask("MGET", 1, 2), [None, None], "RESP3 nulls")


@case
def cache_refusals():
    """cache: too long values, and arithmetic, are refused with a reason and change nothing"""
    with start(*CACHE, "--resp-keys", "decimal") as server, server.replies() as replies:
        check(error_of(replies, "SET", "abc", "x").startswith("ERR key is not"), "a key that is none")
        check(error_of(replies, "SET", 2**64, "x").startswith("ERR key is not"), "a key too large")
    with start(*CACHE, "--value-bytes", "8") as server, server.replies() as replies:
        equal(replies.ask("SET", 1, "12345678"), "OK", "as long as can be")
        long = "ERR value is longer than 8 bytes (--value-bytes)"
        for command in (("SET", 1, "123456789"), ("SETNX", 2, "123456789"),
                        ("GETSET", 1, b"x" * 100000), ("MSET", 1, "a", 2, "b", 3, "123456789")):
            equal(error_of(replies, *command), long, str(command)[:40])
        equal(replies.ask("MGET", 1, 2, 3), [b"12345678", None, None], "unchanged")
        for command in (("INCR", 1), ("DECR", 1), ("INCRBY", 1, 1), ("DECRBY", 1, 1)):
            equal(error_of(replies, *command), f"ERR the cache engine has no {command[0]}: values are not integers; " + wire.COUNTERS, "refusal")
        equal(error_of(replies, "SET", 1, "x", "EX", 5), "ERR the cache engine has no SET EX: start the server with --engine robin_hood", "EX")
        equal(error_of(replies, "EXPIRE", 1, 5), "ERR the cache engine has no EXPIRE: start the server with --engine robin_hood", "EXPIRE")
        check(not commands_of(replies) & {"incr", "decr", "incrby", "decrby"}, "COMMAND")
        equal(replies.ask("GET", 1), b"12345678", "unchanged")


@case
def cache_pipelines():
    """cache: long pipelines of large values on several connections get their replies in order"""
    with start("--engine", "cache", "--capacity", "64K", "--value-bytes", "1020", "--frame-ops-max",
               "0") as server:
        connections = [server.connect() for _ in range(4)]
        for c, connection in enumerate(connections):
            connection.sendall(b"".join(
                wire.command("SET", c * 1000 + i, bytes([i % 256]) * (i % 1021)) for i in range(300)))
        for c, connection in enumerate(connections):
            replies = wire.Replies(connection)
            equal([replies.read() for _ in range(300)], ["OK"] * 300, "SET")
            equal(replies.ask("MGET", *(c * 1000 + i for i in range(300))),
                  [bytes([i % 256]) * (i % 1021) for i in range(300)], "MGET")
            connection.close()


@case
def cache_rounds_together():
    """cache: SET with and without GET on connections of several loops at once: every reply is right"""
    with start("--engine", "cache", "--capacity", "64K", "--value-bytes", "100", "--loops", "4") as server:
        connections = [server.connect() for _ in range(8)]
        for turn in range(6):
            for c, connection in enumerate(connections):
                option = ("GET",) if c % 2 else ()
                connection.sendall(b"".join(
                    wire.command("SET", c * 1000 + i, f"{turn} {c} {i}", *option) for i in range(400)))
            for c, connection in enumerate(connections):
                replies = wire.Replies(connection)
                wanted = ["OK"] * 400
                if c % 2:
                    wanted = [b"%d %d %d" % (turn - 1, c, i) if turn else None for i in range(400)]
                equal([replies.read() for _ in range(400)], wanted, f"connection {c}, turn {turn}")
        for connection in connections:
            connection.close()


@case
def cache_with_fixed_values():
    """cache, value-format fixed: values of one size only, in frames as they are"""
    flags = (*CACHE, "--value-bytes", "16", "--value-format", "fixed")
    with start(*flags) as server, server.replies() as replies:
        equal(replies.ask("SET", 1, bytes(range(16))), "OK", "SET")
        equal(replies.ask("GET", 1), bytes(range(16)), "GET")
        for value in (b"", b"x" * 15, b"x" * 17):
            equal(error_of(replies, "SET", 1, value), "ERR value must have exactly 16 bytes "
                  "(--value-bytes, --value-format fixed)", "another size")
        equal(replies.ask("STRLEN", 1), 16, "STRLEN")
        with server.connect() as frames:
            reply = wire.call(frames, wire.GET, [1, 2], value_bytes=16, want_values=True)
            equal(reply.body[:32], bytes(range(16)) + bytes(16), "values in a frame")
            equal(reply.body[64] & 3, 1, "found")


@case
def cache_in_frames():
    """cache in frames: RESP and frames read the same strings; a wrong width is refused"""
    with start(*CACHE, "--value-bytes", "12") as server, server.connect() as connection, \
            server.replies() as replies:
        info = wire.call(connection, wire.HELLO).info
        equal((info[10], info[11], info[2], info[3]), (b"cache", 1, 8, 16), "greeting")
        def store(*pairs):
            body = wire.array([key for key, _, _ in pairs], 8) + wire.padded(
                b"".join(struct.pack("<I12s", length, text) for _, length, text in pairs))
            reply = wire.exchange(connection, wire.envelope(wire.header_of(wire.SET, len(pairs), 8, 16), body))
            return reply.status, reply.message
        equal(store((7, 5, b"hello"), (8, 12, b"as long as 12")), (wire.OK, ""), "SET in a frame")
        for length in (13, 16, 0xffffffff):
            equal(store((7, 3, b"new"), (9, length, b"no such long")), (
                wire.BAD_REQUEST, f"value 1 has a length of {length} bytes: at most 12; nothing was "
                "changed"), "a length beyond the value")
        equal(replies.ask("MGET", 7, 8, 9), [b"hello", b"as long as 1", None], "as they were")
        equal(replies.ask("SET", 9, "resp"), "OK", "SET")
        equal(wire.call(connection, wire.GET, [9], value_bytes=16, want_values=True).body[:16], struct.pack("<I12s", 4, b"resp"), "GET")
        reply = wire.call(connection, wire.SET, [1], [2])
        equal((reply.status, reply.message), (
            wire.BAD_REQUEST, "key or value width differs from the table's: the request has keys of 8 and "
            "values of 8 bytes, the table 8 and 16"), "a wrong width")
        reply = wire.call(connection, wire.INCREMENT, [1], [2, 2], value_bytes=16)
        equal((reply.status, reply.message),
              (wire.UNKNOWN_OPERATION, "the cache engine has no INCREMENT: values are not integers; " + wire.INTEGERS), "INCREMENT")
        equal(wire.call(connection, wire.PING).status, wire.OK, "the connection goes on")


@case
def cache_never_full():
    """cache: ten times as many keys as slots are stored without an error, and the counters are consistent"""
    with start(*CACHE, "--value-bytes", "32", "--policy", "lru") as server, \
            server.replies() as replies:
        for first in range(0, 40960, 1024):
            pairs = [p for i in range(first, first + 1024) for p in (i, f"value {i}")]
            equal(replies.ask("MSET", *pairs), "OK", "MSET")
        size = replies.ask("DBSIZE")
        check(3686 < size <= 4096, f"DBSIZE {size}")
        got = replies.ask("MGET", *range(40960))
        equal(sum(v is not None for v in got), size, "keys that are there")
        check(all(v in (None, b"value %d" % i) for i, v in enumerate(got)), "a value of another key")
        check(sum(v is not None for v in got[-2048:]) > 2000, "the last ones are there")
        samples = server.metrics()
        evicted = samples["sherwood_evictions_total"]
        equal(samples["sherwood_inserted_total"] - evicted, size, "inserted - evicted")
        equal(samples["sherwood_refused_operations_total"], 0, "refused")
        check("sherwood_cache_refused_total" in samples, "sherwood_cache_refused_total")
        info = replies.ask("INFO").decode()
        check(f"\nevicted_keys:{evicted:.0f}\r\n" in info, "INFO evicted_keys")
        check("\nmaxmemory_policy:allkeys-lru\r\n" in info, "INFO maxmemory_policy")
        equal(replies.ask("CONFIG", "GET", "maxmemory-policy"), [b"maxmemory-policy", b"allkeys-lru"],
              "CONFIG GET")
        text = server.http("/metrics")[2]
        for name in ("sherwood_evictions_total", "sherwood_cache_refused_total"):
            check(re.search(rf"# HELP {name} \w.*\.\n# TYPE {name} counter\n{name} \d+\n", text), name)
        check('engine="cache"' in text, "build info")


@case
def cache_keeps_what_is_used():
    """cache, lfu: new keys do not evict keys that are used more often; refused keys are counted, not errors"""
    with start("--engine", "cache", "--capacity", "256", "--policy", "lfu", "--value-bytes", "8",
               "--cache-mode", "throughput") as server, server.replies() as replies:
        for i in range(2000):  # both buckets are full before long
            equal(replies.ask("SET", i, i), "OK", "SET")
        held = [int(k) for k in replies.ask("SCAN", 0, "COUNT", 1000)[1]]
        equal(len(held), 256, "keys held")
        for _ in range(4):
            check(None not in replies.ask("MGET", *held), "MGET")
        before = server.metrics()
        equal(replies.ask("MSET", *range(10000, 12000)), "OK", "MSET of new keys")
        after = server.metrics()
        equal([int(v) for v in replies.ask("MGET", *held)], held, "what was used is still there")
        moved = {n: after[f"sherwood_{n}_total"] - before[f"sherwood_{n}_total"]
                 for n in ("cache_refused", "evictions", "inserted")}
        equal(moved, {"cache_refused": 1000, "evictions": 0, "inserted": 0}, "counters")
        equal(replies.ask("GET", 10000), None, "a new key")
        equal(replies.ask("DBSIZE"), 256, "DBSIZE")


@case
def cache_lfu_inserts_tell_the_truth():
    """cache, lfu: SETNX replies 1 and SET NX replies OK exactly if the key exists afterwards"""
    with start("--engine", "cache", "--capacity", "256", "--policy", "lfu", "--value-bytes", "8",
               "--cache-mode", "throughput") as server, server.connect() as connection:
        replies = wire.Replies(connection)
        outcomes = set()
        for turn in range(8):
            for key in range(turn * 500, turn * 500 + 500):
                words = (("SETNX", key, "x"), ("SET", key, "x", "NX"))[key % 2]
                connection.sendall(wire.command(*words) + wire.command("EXISTS", key)
                                   + wire.command("GET", key) * 2)
                stored = replies.read()
                check(stored in ((0, 1), (None, "OK"))[key % 2], f"{words}: {stored!r}")
                equal(replies.read(), int(bool(stored)), f"EXISTS after {words}: {stored!r}")
                outcomes.add(stored)
                equal([replies.read() is None for _ in range(2)], [not stored] * 2, "GET")
        equal(outcomes, {0, 1, None, "OK"}, "outcomes")
        # Both in one batch with others', on several connections.
        others = [server.connect() for _ in range(4)]
        for c, other in enumerate(others):
            first = 10000 * (c + 1)
            other.sendall(b"".join(wire.command("SETNX", k, "y") + wire.command("EXISTS", k)
                                   for k in range(first, first + 2000)))
        for other in others:
            answers = wire.Replies(other)
            for _ in range(2000):
                stored, there = answers.read(), answers.read()
                check(there <= stored, "a key that was not stored is there")
            other.close()
        metrics = server.metrics()
        check(metrics["sherwood_cache_refused_total"] > 4000, "refused")
        equal(replies.ask("SETNX", 1 << 40, "z"), 0, "SETNX")
        equal(replies.ask("SET", 1 << 40, "z", "NX", "GET"), None, "SET NX GET")
        equal(replies.ask("SET", 1 << 40, "z"), "OK", "SET")
        equal(replies.ask("GET", 1 << 40), None, "GET")


@case
def cache_restarts_empty():
    """cache: a daemon that restarts on its port is empty and serves"""
    with start(*CACHE) as server:
        port = str(server.port)
        server.redis_cli("SET", "42", "hello")
        equal(server.redis_cli("GET", "42").strip(), "hello", "GET")
    with start(*CACHE, "--port", port) as server:
        equal(server.redis_cli("GET", "42").strip(), "", "GET after the restart")
        equal(server.redis_cli("SET", "42", "again").strip(), "OK", "SET")
        equal(server.redis_cli("GET", "42").strip(), "again", "GET")


@case
def cache_with_sherwood_cli():
    """cache with sherwood-cli: quoted strings, refusals, dump and load"""
    with start(*CACHE, "--value-bytes", "16") as server:
        def cli(*words, rc=0, **options):
            return run(CLI, "-p", server.port, *words, rc=rc, **options).strip()
        equal(cli("--no-raw", "SET", "1", 'a "b"\\\n'), "OK", "SET")
        equal(cli("--no-raw", "GET", "1"), r'"a \"b\"\\\n"', "GET")
        equal(cli("--no-raw", "MGET", "1", "2"), '1) "a \\"b\\"\\\\\\n"\n2) (nil)', "MGET")
        equal(cli("--no-raw", stdin='set 3 "\\xff\\t"\nget 3\n'), 'OK\n"\\xff\\t"', "escapes")
        check("it must have at most 16" in cli("SET", "1", "x" * 17, rc=1), "too long")
        check("INCR needs values that are integers" in cli("INCR", "1", rc=1), "INCR")
        check("engine:cache\nvalue_format:string\nvalue_type:string\n" in cli("INFO"), "INFO")
        path = server.directory / "pairs.bin"
        equal(sorted(cli("-q", "dump", "-").splitlines()), ["1,61202262225c0a", "3,ff09"], "CSV")
        cli("dump", path)
        equal(path.stat().st_size, 2 * (8 + 20), "size of the dump")
        cli("FLUSHALL")
        cli("load", path)
        equal(cli("--no-raw", "GET", "3"), '"\\xff\\t"', "GET after load")


# --- options -------------------------------------------------------------------------------------
@case
def options_that_contradict():
    """options of another engine, and impossible sizes, are refused; the error says what to do"""
    rows = {
        ("--engine", "foo"): "engine: 'foo' is not one of robin_hood cuckoo cache",
        ("--value-format", "fixed"): "choose the cache engine",
        ("--engine", "cuckoo", "--max-capacity", "32M"): "choose the robin_hood engine",
        ("--engine", "cuckoo", "--hash-functions", "2"): "lower the maximum load",
        ("--engine", "cache", "--value-bytes", "30"): "not a multiple of 4: 32 would be",
        ("--engine", "cache", "--value-bytes", "1024"): "strings have at most 1020",
        ("--engine", "cache", "--policy", "random"): "not one of lru lfu epoch-lru epoch-lfu",
    }
    for flags, wanted in rows.items():
        said = refusal(*flags) or ""
        check(wanted in said and said.count("\n") == 0, f"{flags}: {said!r}")
    for flags in (("--engine", "cache", "--value-bytes", "256", "--policy", "lru"),
                  ("--engine", "cache", "--value-bytes", "1024", "--value-format", "fixed"),
                  ("--engine", "cuckoo"),
                  ("--engine", "cuckoo", "--hash-functions", "2", "--max-load", "0.45")):
        said = refusal(*flags)
        check(said is None or "this build has no" in said, f"{flags}: {said!r}")


if __name__ == "__main__":
    main()
