#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Key strings (--resp-key-text-bytes): two strings with one hash are an error, and never reach each other's row.

SHERWOOD_SEED=N repeats a run that failed."""

import random
import signal
import struct
import threading

import wire
from collisions import other
from data_directory import Directory
from harness import BUILD, DAEMON, SANITIZED, Server, case, check, drawn_seed, equal, eventually, main, run
from replication import caught_up, info, to_be_killed

COLLISION = wire.Error("COLLISION an existing key has the same hash (--resp-keys hash); nothing was changed")
ONE = b"user:1000:name"
TWIN = other(ONE)
FAR = 4102444800 # seconds since 1970: no test comes so far


def texts(size, kind="bytes", *flags, most=30):
    return ("--resp-keys", "hash", "--resp-key-text-bytes", str(most), "--backend", "cpu", "--capacity", "1K",
            "--max-capacity", "16K", "--frame-ops-max", "512", "--round-ops-max", "1024", "--repl-timeout", "10",
            "--value-bytes", str(size), "--value-type", kind, *flags)


STRING = texts(36, "string")

# Every command on keys and its operands. TWIN is another key with the hash of ONE.
COMMANDS = {
    "GET": (TWIN,), "GETEX": (TWIN, "EXAT", FAR), "SETEX": (TWIN, 1000, "x"), "PSETEX": (TWIN, 1000000, "x"),
    "SET": (TWIN, "x"), "MGET": (b"absent", TWIN), "MSET": (b"absent", "x", TWIN, "x"), "MSETNX": (b"absent", "x", TWIN, "x"),
    "SETNX": (TWIN, "x"), "GETSET": (TWIN, "x"), "GETDEL": (TWIN,), "DEL": (b"absent", TWIN), "UNLINK": (TWIN,),
    "EXISTS": (b"absent", TWIN), "PREFIXLEN": (b"absent", TWIN), "TOUCH": (TWIN,), "CAS": (TWIN, "was", "x"),
    "GETRANGE": (TWIN, 0, 1), "SETRANGE": (TWIN, 0, "x"), "STRLEN": (TWIN,), "RENAME": (TWIN, b"absent"),
    "RENAMENX": (ONE, TWIN), "COPY": (TWIN, b"absent"), "TYPE": (TWIN,), "TTL": (TWIN,), "PTTL": (TWIN,),
    "EXPIRETIME": (TWIN,), "PEXPIRETIME": (TWIN,), "EXPIRE": (TWIN, 1000), "PEXPIRE": (TWIN, 1000000),
    "EXPIREAT": (TWIN, FAR), "PEXPIREAT": (TWIN, FAR * 1000), "PERSIST": (TWIN,), "MEMORY": ("USAGE", TWIN),
    "OBJECT": ("ENCODING", TWIN), "WATCH": (b"absent", TWIN), "INCR": (TWIN,), "DECR": (TWIN,), "INCRBY": (TWIN, 1),
    "DECRBY": (TWIN, 1), "INCRBYFLOAT": (TWIN, "1.5"), "APPEND": (TWIN, "x"), "INCREX": (TWIN,), "DELEX": (TWIN, "IFEQ", "was"),
    "DELIFEQ": (TWIN, "was"),
}
OF_BITS = {name: (TWIN, b"\1\2\3\4") for name in ("OR", "XOR", "AND", "ANDNOT")}
OF_FLOATS = {"INCRBYFLOAT": (TWIN, "1.5"), "ADD": (TWIN, struct.pack("<f", 1.5))}
MORE = (("SET", TWIN, "x", "NX"), ("SET", TWIN, "x", "XX"), ("SET", TWIN, "x", "IFEQ", "was"), ("SET", TWIN, "x", "GET"),
        ("SET", TWIN, "x", "KEEPTTL"), ("SET", TWIN, "x", "PX", 1), ("GETEX", TWIN), ("GETEX", TWIN, "PERSIST"),
        ("RENAME", ONE, TWIN), ("RENAME", b"absent", TWIN), ("COPY", ONE, TWIN), ("COPY", ONE, TWIN, "REPLACE"),
        ("MSETNX", TWIN, "x"), ("EXPIRE", TWIN, -1), ("MGET", ONE, TWIN), ("MSET", ONE, "x", TWIN, "x"))


def refused(replies, value, *commands):
    """Checks that each of the commands replies COLLISION, and that ONE stays unchanged."""
    for words in commands:
        equal(replies.ask(*words), COLLISION, words)
        equal(replies.ask("GET", ONE), value, words)
        equal([replies.ask("DBSIZE"), replies.ask("PTTL", ONE)], [1, -1], words)


@case
def every_command():
    """a command on a key whose hash an existing key has is refused and changes nothing, for every command"""
    with Server(*STRING) as server, server.replies() as replies:
        known = {entry[0].upper().decode() for entry in replies.ask("COMMAND") if entry[3] > 0}
        equal(known, COMMANDS.keys() | OF_FLOATS.keys(), "every command of strings is here")
        equal(replies.ask("SET", ONE, "was"), "OK", "SET")
        commands = [(name, *words) for name, words in COMMANDS.items()]
        refused(replies, b"was", *commands, *MORE)
        counted = len(commands) + len(MORE)
        equal(info_of(replies)["resp_key_collisions"], str(counted), "counted")
        equal(server.metrics()["sherwood_key_collisions_total"], counted, "counted")
        equal(replies.ask("EXPIREAT", ONE, FAR), 1, "where a key expires, too")
        equal(replies.ask("WATCH", TWIN), COLLISION, "WATCH")
        equal([replies.ask("DEL", ONE), replies.ask("SET", TWIN, "now"), replies.ask("GET", TWIN), replies.ask("GET", ONE)],
              [1, "OK", b"now", COLLISION], "once the one is gone, the other comes")
    for size, kind, commands, value in ((4, "bytes", OF_BITS, b"\1\1\1\1"), (4, "f32", OF_FLOATS, struct.pack("<f", 2))):
        with Server(*texts(size, kind)) as server, server.replies() as replies:
            listed = {entry[0].upper().decode() for entry in replies.ask("COMMAND") if entry[3] > 0}
            equal(listed - known, commands.keys() - known, "every command of such rows is here")
            equal(replies.ask("SET", ONE, value), "OK", "SET")
            refused(replies, value, *((name, *words) for name, words in commands.items()))
            for name, (_, operand) in commands.items():
                check(not isinstance(replies.ask(name, ONE, operand), wire.Error), name)
                check(not isinstance(replies.ask(name, b"fresh:" + name.encode(), operand), wire.Error), name)
                check(replies.ask("GET", ONE) is not None, "the text stays")
            names = {b"fresh:" + name.encode() for name in commands if name not in ("AND", "ANDNOT")}
            equal(set(replies.ask("KEYS", "*")), names | {ONE}, "rows have the texts of their keys")


def info_of(replies):
    return dict(line.split(":", 1) for line in replies.ask("INFO", "sherwood").decode().splitlines() if ":" in line)


@case
def in_order():
    """collisions follow the order of commands in pipelines, transactions and one command; EXEC is all or nothing"""
    with Server(*STRING) as server, server.connect() as connection:
        replies = wire.Replies(connection)

        def pipeline(*commands):
            connection.sendall(b"".join(wire.command(*words) for words in commands))
            return [replies.read() for _ in commands]

        equal(pipeline(("SET", ONE, 1), ("GET", TWIN), ("DEL", ONE), ("SET", TWIN, 2), ("GET", ONE), ("MGET", TWIN)),
              ["OK", COLLISION, 1, "OK", COLLISION, [b"2"]], "a pipeline")
        equal(pipeline(("MULTI",), ("DEL", TWIN), ("SET", ONE, 3), ("GET", ONE), ("EXEC",))[-1], [1, "OK", b"3"],
              "the one leaves, the other comes")
        equal(pipeline(("MULTI",), ("SET", b"beside", 1), ("GET", TWIN), ("EXEC",))[-1], COLLISION, "all or nothing")
        equal(replies.ask("EXISTS", b"beside"), 0, "nothing")
        equal(pipeline(("MULTI",), ("GET", ONE), ("GET", TWIN), ("EXEC",))[-1], COLLISION, "reads alone, too")
        equal(replies.ask("DEL", ONE), 1, "DEL")
        equal(replies.ask("MSET", ONE, 1, TWIN, 2), COLLISION, "a command that collides with itself")
        equal(replies.ask("MSETNX", ONE, 1, TWIN, 2), COLLISION, "and MSETNX, which has looked before")
        equal(replies.ask("MGET", ONE, TWIN), [None, None], "nothing was done, and nothing is there to collide with")
        equal([replies.ask("COPY", ONE, TWIN), replies.ask("RENAME", ONE, TWIN)], [0, wire.Error("ERR no such key")], "none")
        equal([replies.ask("SET", "from", 7), replies.ask("RENAME", "from", ONE), replies.ask("COPY", ONE, "to"),
               replies.ask("RENAME", ONE, TWIN)], ["OK", "OK", 1, COLLISION], "a row that moves has the text of its new key")
        equal(sorted(replies.ask("KEYS", "*")), [b"to", ONE], "KEYS")
        equal([replies.ask("GET", "to"), replies.ask("GET", ONE), replies.ask("GET", "from")], [b"7", b"7", None], "GET")
        equal(replies.ask("SET", ONE, 1, "PX", 1), "OK", "a key that is about to expire")
        eventually(lambda: replies.ask("GET", TWIN) is None, "what has expired collides with nothing", 20)
        equal([replies.ask("SET", TWIN, 1), replies.ask("GET", ONE)], ["OK", COLLISION], "and leaves its place")


@case
def histories():
    """clients with keys and colliding twins: each reply equals that of a model that runs one command after the other"""
    rng = random.Random(drawn_seed())
    with Server(*texts(12, "string")) as server, server.connect() as connection:
        replies, held = wire.Replies(connection), {}
        ones = [rng.randbytes(rng.choice((0, 5, 9, 30))) + b"!" * (i == 0) for i in range(4)]
        twin = {key: other(key) for key in ones} | {other(key): key for key in ones}
        twin = {key: it for key, it in twin.items() if len(key) <= 30}

        def model(words):
            name, *keys = words
            if name in ("SET", "MSET"):
                pairs, was = list(zip(keys[::2], keys[1::2])), dict(held)
                for key, value in pairs:
                    if twin.get(key) in held:
                        held.clear()
                        held.update(was)
                        return COLLISION
                    held[key] = value
                return "OK"
            was, found = dict(held), 0
            for key in keys:
                if twin.get(key) in held:
                    held.clear()
                    held.update(was)
                    return COLLISION
                found += key in held
                if name == "DEL":
                    held.pop(key, None)
            return [held.get(key) for key in keys] if name == "MGET" else found

        for _ in range(60):
            batch = []
            for _ in range(rng.randrange(1, 60)):
                name = rng.choice(("SET", "MSET", "MGET", "DEL", "DEL", "EXISTS"))
                keys = rng.choices(list(twin), k=1 if name == "SET" else rng.randrange(1, 4))
                values = ([str(rng.randrange(1000)).encode()] if "SET" in name else [] for _ in keys)
                batch.append((name, *(word for key, value in zip(keys, values) for word in (key, *value))))
            connection.sendall(b"".join(wire.command(*words) for words in batch))
            for words in batch:
                equal(replies.read(), model(words), words)
        equal(sorted(replies.ask("KEYS", "*")), sorted(held), "KEYS")


@case
def listed():
    """SCAN, KEYS, RANDOMKEY and SLOWLOG show key strings, and match patterns with them; the start line says so"""
    rng = random.Random(drawn_seed())
    with Server(*STRING, "--slowlog-log-slower-than", "0") as server, server.replies() as replies:
        check("RESP keys are hashes of texts, which are kept and compared, of up to 30 bytes" in server.line, server.line)
        equal(info_of(replies)["resp_key_text_bytes"], "30", "INFO")
        keys = {b"", b"\0\r\n", b"x" * 30} | {b"key:%d" % i for i in range(500)}
        keys |= {rng.randbytes(rng.randrange(31)) for _ in range(200)}
        for key in keys:
            equal(replies.ask("SET", key, "v"), "OK", key)
        seen, cursor = [], b"0"
        while True:
            cursor, some = replies.ask("SCAN", cursor, "COUNT", 37)
            seen += some
            if cursor == b"0":
                break
        equal(sorted(seen), sorted(keys), "SCAN")
        equal(sorted(replies.ask("KEYS", "key:1*")), sorted(k for k in keys if k.startswith(b"key:1")), "KEYS")
        check(replies.ask("RANDOMKEY") in keys, "RANDOMKEY")
        equal(replies.ask("GET", b"key:7"), b"v", "GET")
        check(any(entry[3] == [b"get", b"key:7"] for entry in replies.ask("SLOWLOG", "GET", -1)), "SLOWLOG")
        pattern = b"".join(b"\\" + bytes([byte]) for byte in b"x" * 30)
        equal(replies.ask("KEYS", pattern), [b"x" * 30], "a pattern of more than 64 bytes")
        too_long = wire.Error("ERR key is longer than --resp-key-text-bytes: use a shorter key")
        equal([replies.ask("SET", b"x" * 31, 1), replies.ask("MGET", b"a", b"x" * 31)], [too_long, too_long], "a long key")
        equal(replies.ask("DBSIZE"), len(keys), "DBSIZE")


@case
def long_patterns():
    """patterns match keys of 1,024 bytes; a costly one is compared with few keys at a time, and SCAN goes on"""
    with Server(*texts(8, most=1024)) as server, server.replies() as replies:
        keys = [b"%04d" % i * 256 for i in range(300)]
        for key in keys:
            equal(replies.ask("SET", key, b"8" * 8), "OK", "SET")
        pattern = b"".join(b"\\" + bytes([byte]) for byte in keys[7])
        equal(replies.ask("KEYS", pattern), [keys[7]], "each byte escaped")
        dear = b"*[" + b"0123456789" * 400 + b"]" + b"7" * 60
        equal(replies.ask("KEYS", dear), [], "KEYS")
        cursor, calls = b"0", 0
        while calls == 0 or cursor != b"0":
            cursor, got = replies.ask("SCAN", cursor, "MATCH", dear, "COUNT", 1000)
            equal(got, [], "SCAN")
            calls += 1
        check(calls > 10, f"{calls} calls")


@case
def namespaces():
    """namespaces as the Redis plug-in of nv-embedding-cache has them: 16-byte keys; one of two is listed and cleared"""
    rng = random.Random(drawn_seed())
    with Server(*texts(24, "f32", most=16)) as server, server.connect() as connection:
        replies, spaces = wire.Replies(connection), [rng.randbytes(7) + end for end in (b"*", b"]")]
        models = [{space + struct.pack("<Q", rng.randrange(2**64)): rng.randbytes(24) for _ in range(400)} for space in spaces]
        for model in models:
            equal(replies.ask("MSET", *(word for pair in model.items() for word in pair)), "OK", "insert")
            equal(replies.ask("MGET", *model), list(model.values()), "find")
        for space, model in zip(spaces, models):
            pattern = b"".join(b"\\" + bytes([byte]) for byte in space) + b"*"
            cursor, keys = replies.ask("SCAN", 0, "MATCH", pattern, "COUNT", 16384)
            equal((cursor, sorted(keys)), (b"0", sorted(model)), "size")
            equal(replies.ask("DEL", *keys), len(model), "clear")
        equal(replies.ask("DBSIZE"), 0, "both are clear")


@case
def refused_in_words():
    """a start that cannot store key strings is refused; frames with numbers as keys get an error that names RESP"""
    for flags, words in (
            (("--resp-keys", "raw"), "resp-key-text-bytes needs keys that are hashes of strings: add --resp-keys hash"),
            (("--value-bytes", "0", "--value-type", "bytes"), "resp-key-text-bytes needs rows"),
            (("--value-bytes", "4092"), "value-bytes 4092 and resp-key-text-bytes 30 take 4128 bytes of a row")):
        said = run(DAEMON, "--port", "0", "--http-port", "0", *STRING, *flags, rc=2)
        check(words in said, said)
    with Server(*texts(16)) as server, server.connect() as connection:
        for frame in (wire.cache_frame(wire.SET, [1], [b"x" * 16], value_bytes=16),
                      wire.cache_frame(wire.GET, [1], None, value_bytes=16), wire.frame(wire.SCAN, count=5)):
            connection.sendall(frame)
            reply = wire.read_frame(connection)
            equal(reply.status, wire.BAD_REQUEST, "a frame")
            check("the server stores keys as strings (--resp-key-text-bytes)" in reply.message, reply.message)
        run(BUILD / "sherwood-cli", "-a", server.address(), "PING")
        check("values of 16 bytes" in server.line, server.line)


# --- what outlives the process ---------------------------------------------------------------------


def row_of(key, n):
    return struct.pack("<QQ", n, len(key))


@case
def kept_on_disk():
    """snapshot and log keep key strings: a restart refuses their twins, and another maximum length"""
    keys = [b"key:%d" % i for i in range(300)]
    for log in ((), ("--appendonly", "yes", "--appendfsync", "always", "--log-segment-bytes", "1M")):
        with Directory() as place:
            how = ("--data-dir", str(place), *log)
            with Server(*texts(16), *how, stop_rc=-signal.SIGKILL if log else 0) as server, server.replies() as replies:
                equal(replies.ask("MSET", *(word for n, key in enumerate(keys) for word in (key, row_of(key, n)))),
                      "OK", "MSET")
                equal([replies.ask("SET", other(keys[0]), row_of(b"", 0)), replies.ask("DEL", *keys[:100])], [COLLISION, 100],
                      "writes")
                equal(replies.ask("RENAME", keys[100], b"renamed"), "OK", "RENAME")
                equal([replies.ask("EXPIREAT", keys[200], FAR), replies.ask("EXPIREAT", other(keys[201]), FAR)], [1, COLLISION],
                      "EXPIREAT")
                if log:
                    server.kill()
            with Server(*texts(16, most=28), *how) as server, server.replies() as replies:
                now = [b"renamed", *keys[101:]]
                equal(sorted(replies.ask("KEYS", "*")), sorted(now), "texts are there")
                equal(replies.ask("MGET", *keys[101:]), [row_of(key, n) for n, key in enumerate(keys) if n > 100], "rows")
                equal({replies.ask("GET", other(key)) for key in now}, {COLLISION}, "and their twins are refused")
                equal([replies.ask("EXPIRETIME", keys[200]), replies.ask("TTL", keys[201])], [FAR, -1], "times")
                equal(replies.ask("SET", other(keys[0]), row_of(b"", 1)), "OK", "what has gone collides with nothing")
            for flags, words in ((texts(16, most=62), "resp-key-text-bytes"), (texts(48, most=0), "resp-key-text-bytes")):
                said = run(DAEMON, "--port", "0", "--http-port", "0", *flags, *how, rc=1)
                check(words in said, said)
            cli = BUILD / "sherwood-cli"
            for path in place.glob("snapshot-*"):
                facts = run(cli, "snapshot", "info", path)
                check("value_bytes:16\n" in facts and "key_text_bytes:32\n" in facts, facts)
                said = run(cli, "snapshot", "export", path, "-", rc=1)
                check("which only a server reads" in said, said)
            if log:
                run(cli, "log", "check", str(place))
                lines = run(cli, "log", "export", str(place)).splitlines()
                check(lines[1].endswith("," + row_of(keys[0], 0).hex()), lines[1])


class Writer(threading.Thread):
    """Sets and deletes its own keys and their twins, until the server ends."""

    def __init__(self, server, number):
        super().__init__(daemon=True)
        self.ones = [b"writer:%d:%d" % (number, i) for i in range(4)]
        self.twins = [other(key) for key in self.ones]
        self.acked, self.tried, self.error = [None] * 4, [None] * 4, None
        self.written = 0
        self.socket = server.connect()
        self.start()

    def run(self):
        replies = wire.Replies(self.socket)
        try:
            while True:
                i, n = self.written % 4, self.written
                key, its_twin = (self.ones[i], self.twins[i]) if n // 4 % 2 == 0 else (self.twins[i], self.ones[i])
                self.tried[i] = (key, row_of(key, n))
                if n >= 4: # the key before holds its place until it is deleted
                    equal(replies.ask("SET", key, row_of(key, n)), COLLISION, "a collision")
                    equal(replies.ask("DEL", its_twin), 1, "DEL")
                equal(replies.ask("SET", key, row_of(key, n)), "OK", "SET")
                self.acked[i] = self.tried[i]
                self.written += 1
        except (wire.Closed, OSError):
            pass
        except Exception as error:  # pylint: disable=broad-except
            self.error = error
        self.socket.close()

    def look(self, replies):
        """Checks that the contents are those of the last answered write, or of the next one."""
        assert self.error is None, self.error
        for i, (one, its_twin) in enumerate(zip(self.ones, self.twins)):
            held = [(key, value) for key, value in ((key, replies.ask("GET", key)) for key in (one, its_twin))
                    if value is not None and value != COLLISION]
            check(len(held) <= 1, held)
            check((held or [None])[0] in ({self.acked[i], self.tried[i], None} if self.acked[i] != self.tried[i]
                                          else {self.acked[i]}), (held, self.acked[i], self.tried[i]))


@case
def survive_kills():
    """kill -9 while keys and colliding twins replace each other: acknowledged writes exist under their own string"""
    rng = random.Random(drawn_seed())
    with Directory() as place:
        log = ("--data-dir", str(place), "--appendonly", "yes", "--appendfsync", "no", "--log-segment-bytes", "1M")
        for life in range(2 if SANITIZED else 4):
            with to_be_killed(Server(*texts(16), *log)) as server:
                writers = [Writer(server, life * 10 + i) for i in range(2)]
                wanted = rng.randrange(5, 200)
                eventually(lambda: all(writer.written > wanted or writer.error for writer in writers), "writes", 30)
                if life % 2:
                    server.redis_cli("BGREWRITEAOF")
                server.kill()
                for writer in writers:
                    writer.join(20)
            with Server(*texts(16), *log) as server, server.connect() as connection:
                for writer in writers:
                    writer.look(wire.Replies(connection))


@case
def replicas_have_them():
    """a replica has the key strings of the snapshot and of later writes; another maximum length is refused"""
    with Server(*texts(16)) as primary:
        keys = [b"key:%d" % i for i in range(200)]
        for n, key in enumerate(keys[:100]):
            equal(primary.ask("SET", key, row_of(key, n)), "OK", key)
        with Server("--replicaof", f"127.0.0.1 {primary.port}", *texts(16)) as replica, \
                Server("--replicaof", f"127.0.0.1 {primary.port}", *texts(16, most=62)) as wrong:
            eventually(lambda: info(replica).get("master_link_status") == "up", "the link", 30)
            for n, key in enumerate(keys[100:]):
                equal(primary.ask("SET", key, row_of(key, n)), "OK", key)
            equal(primary.ask("SET", other(keys[3]), row_of(b"", 1)), COLLISION, "a refusal is not sent on")
            equal(primary.ask("DEL", keys[5]), 1, "DEL")
            equal(primary.ask("SET", other(keys[5]), row_of(b"", 2)), "OK", "its place is taken")
            caught_up(primary, replica)
            equal([replica.ask("GET", other(keys[3])), replica.ask("GET", keys[5]), replica.ask("GET", other(keys[5]))],
                  [COLLISION, COLLISION, row_of(b"", 2)], "reads of a replica")
            equal(sorted(replica.ask("KEYS", "*")), sorted(set(keys) - {keys[5]} | {other(keys[5])}), "KEYS")
            eventually(lambda: "the bytes of a key's text: the replica has 64, the primary 32" in wrong.log(), "a refusal", 30)
            replica.ask("REPLICAOF", "NO", "ONE")
            eventually(lambda: info(replica)["role"] == "master", "promoted", 20)
            equal(replica.ask("SET", other(keys[7]), row_of(b"", 3)), COLLISION, "and then refuses writes")


if __name__ == "__main__":
    main()
