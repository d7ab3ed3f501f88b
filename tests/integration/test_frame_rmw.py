#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Read-modify-write frames, OR, XOR, AND, ANDNOT, CAS and SETRANGE, and GETRANGE: on integers and on rows."""

import random

import wire
from data_directory import Directory
from harness import Server, at_once, case, check, drawn_seed, equal, main
from replication import caught_up, to_be_killed

SEED = drawn_seed()
CPU = ("--backend", "cpu", "--capacity", "64K", "--frame-ops-max", "0")
NAMES = {wire.OR: "OR", wire.XOR: "XOR", wire.AND: "AND", wire.ANDNOT: "ANDNOT", wire.CAS: "CAS",
         wire.SETRANGE: "SETRANGE", wire.GETRANGE: "GETRANGE"}
TABLES = {  # options: bytes of a key, of a value, and is it a row or a string?
    (): (8, 8, ""), ("--key-bits", "32"): (4, 4, ""), ("--engine", "cuckoo"): (8, 8, ""),
    ("--value-bytes", "20"): (8, 20, "row"), ("--value-bytes", "8", "--value-type", "u64"): (8, 8, "row"),
    ("--value-bytes", "1028", "--value-type", "u32"): (8, 1028, "row"),
    ("--value-bytes", "36", "--value-type", "string"): (8, 40, "string")}


class Table:
    """The expected contents of a server of this shape, {key: bytes}, and the effect of each operation."""

    def __init__(self, key_bytes, value_bytes, kind):
        self.key_bytes, self.value_bytes, self.kind, self.rows = key_bytes, value_bytes, kind, {}
        self.room = value_bytes - 4 if kind == "string" else value_bytes

    def stored(self, text):
        """Returns a value as frames have it."""
        if self.kind == "string":
            return len(text).to_bytes(4, "little") + text.ljust(self.room, b"\0")
        return text

    def zeros(self):
        return b"" if self.kind == "string" else bytes(self.room)

    def draw(self, rng):
        if self.kind == "string":
            return rng.randbytes(rng.randrange(self.room + 1))
        return rng.choice((rng.randbytes(self.room), self.zeros(), b"\xff" * self.room, bytes([1]) + bytes(self.room - 1)))

    def operations(self):
        return ([wire.CAS] + ([wire.SETRANGE, wire.GETRANGE] if self.kind else []) +
                ([] if self.kind == "string" else [wire.OR, wire.XOR, wire.AND, wire.ANDNOT]))

    def apply(self, operation, key, operand, offset, size):
        """Applies one operation. Returns the value and the bit of its reply."""
        there, before = key in self.rows, self.rows.get(key, self.zeros())
        shown = self.stored(before) if there else bytes(self.value_bytes)
        if operation == wire.GETRANGE:
            return before[offset:offset + size].ljust(size, b"\0"), there
        if operation == wire.CAS:
            if there and before == operand[0]:
                self.rows[key] = operand[1]
            return shown, there and before == operand[0]
        if operation == wire.SETRANGE:
            text = before.ljust(offset + size, b"\0")
            self.rows[key] = text[:offset] + operand + text[offset + size:]
        elif there or operation in (wire.OR, wire.XOR):
            one, other = int.from_bytes(before, "little"), int.from_bytes(operand, "little")
            after = {wire.OR: one | other, wire.XOR: one ^ other, wire.AND: one & other,
                     wire.ANDNOT: one & ~other}[operation]
            self.rows[key] = after.to_bytes(self.room, "little")
        return shown, there

    def frame(self, operation, keys, operands=(), **header):
        body = wire.array(keys, self.key_bytes)
        body += wire.padded(b"".join(operands)) if operands else b""
        return wire.envelope(wire.header_of(operation, count=len(keys), key_bytes=self.key_bytes,
                                            value_bytes=self.value_bytes, **header), body)

    def drawn(self, rng, pool, number):
        """Returns a frame of a random operation with the id `number`, and a check of its reply."""
        operation = rng.choice(self.operations())
        keys = [rng.randrange(pool) for _ in range(rng.choice((1, 2, 7, 64, 65, 300)))]
        offset = rng.randrange(self.room)
        size = rng.randrange(1, self.room - offset + 1)
        header, operands, sent = {"want_values": rng.random() < .7, "want_found": rng.choice((None, None, False)),
                                  "request_id": number}, [], []
        if operation in (wire.SETRANGE, wire.GETRANGE):
            header |= {"range_offset": offset, "range_bytes": size}
        for key in keys if operation != wire.GETRANGE else ():
            if operation == wire.CAS:
                old = self.rows.get(key, self.zeros()) if rng.random() < .6 else self.draw(rng)
                operands.append((old, self.draw(rng)))
                sent += [self.stored(value) for value in operands[-1]]
            else:
                operands.append(rng.randbytes(size) if operation == wire.SETRANGE else self.draw(rng))
                sent.append(operands[-1])
        sent_frame = self.frame(operation, keys, sent, **header)
        answers = [self.apply(operation, key, operands[i] if operands else None, offset, size)
                   for i, key in enumerate(keys)]

        def compare(reply):
            what = f"seed {SEED}: {NAMES[operation]} of {len(keys)} keys"
            equal([reply.status, reply.message, reply.count], [wire.OK, "", len(keys)], what)
            equal(reply.hits, sum(bit for _, bit in answers), what + ": hits")
            arrays = reply.arrays()
            if header["want_values"]:
                values = arrays["values"]
                if self.kind == "string" and operation != wire.GETRANGE:  # the bytes behind a string are not part of it
                    values = [value[:4 + int.from_bytes(value[:4], "little")].ljust(self.value_bytes, b"\0")
                              for value in values]
                equal(values, [value for value, _ in answers], what + ": values")
            if header["want_found"] is None:
                equal(arrays["found"], [int(bit) for _, bit in answers], what + ": bits")
        return sent_frame, compare

    def compare(self, connection, keys):
        """Checks that the rows of these keys equal the model's."""
        arrays = wire.exchange(connection, self.frame(wire.GET, list(keys), want_values=True)).arrays()
        equal(arrays["found"], [int(key in self.rows) for key in keys], f"seed {SEED}: keys")
        equal(arrays["values"], [self.stored(self.rows[key]) if key in self.rows else bytes(self.value_bytes)
                                 for key in keys], f"seed {SEED}: values")


@case
def as_one_after_the_other():
    """Repeated keys take effect in array order, and frames in the order sent, on every table with such operations"""
    rng = random.Random(SEED)
    for options, shape in TABLES.items():
        with Server(*CPU, *options) as server, server.connect() as connection:
            table = Table(*shape)
            for _ in range(12):
                frames = [table.drawn(rng, 40, number) for number in range(rng.randrange(1, 6))]
                connection.sendall(b"".join(frame for frame, _ in frames))
                replies = {reply.request_id: reply for reply in (wire.read_frame(connection) for _ in frames)}
                for number, (_, compare) in enumerate(frames):  # replies come in any order
                    compare(replies[number])
                table.compare(connection, range(40))


@case
def long_frames():
    """Frames of 40,000 keys, many of them repeated, are right, and another client is served meanwhile"""
    rng, count = random.Random(SEED), 40000
    table = Table(8, 8, "")
    keys = [rng.randrange(count) for _ in range(count)]
    operands = [rng.randbytes(8) for _ in keys]
    with Server(*CPU, "--loops", "2", "--capacity", "256K") as server, server.connect() as one, server.replies() as replies:
        for operation in (wire.XOR, wire.ANDNOT):
            one.sendall(table.frame(operation, keys, operands, want_values=True))
            check(isinstance(replies.ask("INCR", count + 1), int), "another client is served")
            reply = wire.read_frame(one)
            answers = [table.apply(operation, key, operand, 0, 0) for key, operand in zip(keys, operands)]
            check(reply.arrays() == {"values": [value for value, _ in answers],
                                     "found": [int(bit) for _, bit in answers]}, f"seed {SEED}: {NAMES[operation]}")
        table.compare(one, range(count))


@case
def none_is_lost():
    """CAS and SETRANGE by frames, RMW commands of RESP and INCRBY on several loops: no write is lost"""
    times, workers = 60, 4
    table = Table(8, 8, "")

    def add(server, number):
        with server.connect() as connection, server.connect() as other:
            replies, done = wire.Replies(other), 0
            while done < times:
                value = int.from_bytes(wire.exchange(connection, table.frame(wire.GET, [1], want_values=True)).body[:8], "little")
                pair = [value.to_bytes(8, "little"), (value + 1).to_bytes(8, "little")]
                done += wire.exchange(connection, table.frame(wire.CAS, [1], pair)).hits
                replies.ask("INCRBY", 1, 1 << 32)
                replies.ask("OR", 2, 1 << number)
    with Server(*CPU, "--loops", "4") as server, server.replies() as replies:
        replies.ask("SET", 1, 0)
        at_once(add, [(server, number) for number in range(workers)])
        value = int(replies.ask("GET", 1))
        equal(value & 0xffffffff, times * workers, "increments by CAS")
        equal(replies.ask("GET", 2), str((1 << workers) - 1).encode(), "bits")
        check(server.metrics()['sherwood_frames_total{operation="CAS"}'] >= times * workers, "frames are counted")


@case
def what_is_refused():
    """Ranges outside a row, bit operations on other values, RMW on a cache and unknown fields are refused"""
    def refusals(options, key_bytes, value_bytes, *rows):
        table = Table(key_bytes, value_bytes, "")
        with Server(*CPU, *options) as server, server.connect() as connection:
            for operation, header, status, message in rows:
                size = {wire.GETRANGE: 0, wire.CAS: 2 * value_bytes,
                        wire.SETRANGE: header.get("range_bytes", 0)}.get(operation, value_bytes)
                reply = wire.exchange(connection, table.frame(operation, [7], [bytes(size)] if size else (), **header))
                equal((reply.status, reply.message), (status, message), (options, NAMES.get(operation, operation)))
            equal(wire.exchange(connection, table.frame(wire.GET, [7])).hits, 0, "nothing was changed")
    def part(size, at, whole):
        return (f"cannot read or write {size} byte{'s' * (size != 1)} from byte {at} on: values have {whole} bytes, "
                "and range_bytes must be at least 1")
    numbers = "bit operations need values that are integers, or rows of bytes, u32, u64 or i64 (--value-type)"
    refusals((), 8, 8,
             (wire.GETRANGE, {"range_bytes": 1}, wire.BAD_REQUEST, "GETRANGE needs rows: start the server with --value-bytes"),
             (wire.SETRANGE, {"range_bytes": 1}, wire.BAD_REQUEST, "SETRANGE needs rows: start the server with --value-bytes"),
             (wire.OR, {"range_offset": 1}, wire.BAD_REQUEST, "only GETRANGE and SETRANGE have the fields range_offset and range_bytes: leave them out"),
             (wire.OR, {"scale": 1}, wire.BAD_REQUEST, "only ADD has the fields scale and operand_type: leave them out"))
    refusals(("--value-bytes", "64"), 8, 64,
             *((operation, {"range_offset": at, "range_bytes": size}, wire.BAD_REQUEST, part(size, at, 64))
               for operation in (wire.GETRANGE, wire.SETRANGE) for at, size in ((0, 0), (0, 65), (1, 64), (2**32 - 1, 1))))
    refusals(("--value-bytes", "64", "--value-type", "f32"), 8, 64,
             *((operation, {}, wire.BAD_REQUEST, numbers) for operation in (wire.OR, wire.XOR, wire.AND, wire.ANDNOT)))
    refusals(("--value-bytes", "64", "--value-type", "string"), 8, 68, (wire.OR, {}, wire.BAD_REQUEST, numbers))
    why = ": of the operations that depend on a stored value it has only ADD; start the server with --engine robin_hood"
    refusals(("--engine", "cache", "--value-bytes", "64", "--value-format", "fixed"), 8, 64,
             *((operation, {}, wire.UNKNOWN_OPERATION, f"the cache engine has no {NAMES[operation]}{why}")
               for operation in (wire.OR, wire.CAS, wire.SETRANGE)))
    table = Table(8, 8, "string")
    with Server(*CPU, "--value-bytes", "4", "--value-type", "string") as server, server.connect() as connection:
        connection.sendall(table.frame(wire.CAS, [7, 8], [table.stored(bytes(4))] * 3 + [b"\5\0\0\0aaaa"]))
        equal(wire.read_frame(connection).message, "value 3 has a length of 5 bytes: at most 4; nothing was changed", "CAS")


@case
def parts_in_a_cache():
    """GETRANGE on a cache returns parts of present rows, and zeros for absent ones"""
    with Server(*CPU, "--engine", "cache", "--value-bytes", "64", "--value-format", "fixed") as server, \
            server.connect() as connection:
        table = Table(8, 64, "row")
        row = bytes(range(64))
        equal(wire.exchange(connection, table.frame(wire.SET, [7], [row])).status, wire.OK, "SET")
        connection.sendall(table.frame(wire.GETRANGE, [7, 8, 7], want_values=True, range_offset=5, range_bytes=9))
        equal(wire.read_frame(connection).arrays(), {"values": [row[5:14], bytes(9), row[5:14]], "found": [1, 0, 1]}, "parts")


@case
def a_full_table():
    """A frame that has no room for one of its keys changes nothing"""
    table = Table(8, 8, "")
    with Server(*CPU, "--capacity", "64", "--max-load", "0.5") as server, server.connect() as connection, server.replies() as replies:
        replies.ask("SET", 1, 6)
        connection.sendall(table.frame(wire.OR, [1] + list(range(1000, 1064)), [b"\1" + bytes(7)] * 65))
        equal(wire.read_frame(connection).status, wire.OUT_OF_MEMORY, "OR")
        equal([replies.ask("GET", 1), replies.ask("DBSIZE")], [b"6", 1], "nothing was changed")
        connection.sendall(table.frame(wire.AND, [1] + list(range(1000, 1064)), [b"\3" + bytes(7)] * 65))
        equal([wire.read_frame(connection).hits, replies.ask("GET", 1)], [1, b"2"], "AND stores nothing")


@case
def times_stay():
    """Keys keep their expiry times, also in a log; an expired key is absent"""
    table = Table(8, 8, "")

    def look(replies):
        equal(replies.ask("MGET", 1, 2, 3, 4, 5), [b"12", b"13", b"13", b"13", b"1"], "values")
        left = [replies.ask("PTTL", key) for key in (1, 2, 3, 4, 5)]
        check(all(0 < ms <= 10**7 for ms in left[:3]) and left[3:] == [-1, -1], left)
    with Directory() as directory:
        flags = (*CPU, "--data-dir", str(directory), "--appendonly", "yes")
        with to_be_killed(Server(*flags)) as server, server.connect() as connection, server.replies() as replies:
            for key in (1, 2, 3):
                replies.ask("SET", key, 12, "PX", 10**7)
            replies.ask("SET", 4, 12)
            connection.sendall(table.frame(wire.XOR, [1, 4, 1, 5], [b"\1" + bytes(7)] * 4) +
                               table.frame(wire.CAS, [2, 3], [b"\x0c" + bytes(7), b"\x0d" + bytes(7)] * 2))
            equal([wire.read_frame(connection).hits, wire.read_frame(connection).hits], [3, 2], "frames")
            look(replies)
            server.kill()
        with Server(*flags) as server, server.connect() as connection, server.replies() as replies:
            look(replies)
            replies.ask("PEXPIREAT", 1, 1)
            connection.sendall(table.frame(wire.AND, [1], [b"\xff" * 8]))
            equal([wire.read_frame(connection).hits, replies.ask("EXISTS", 1)], [0, 0], "absent")


@case
def what_others_see():
    """CAS marks a watched key only if it changes it; a restart from the log and a replica have every write"""
    rng = random.Random(SEED)
    table = Table(8, 20, "row")
    row = bytes([1]) * 20
    with Directory() as directory:
        flags = (*CPU, "--value-bytes", "20", "--data-dir", str(directory), "--appendonly", "yes",
                 "--appendfsync", "always", "--read-durable", rng.choice(("yes", "no")))
        with to_be_killed(Server(*flags)) as server, server.connect() as connection, \
                Server(*CPU, "--value-bytes", "20", "--replicaof", f"127.0.0.1 {server.port}") as replica, server.replies() as replies:
            for old, expected in ((row, None), (bytes(20), ["OK"])):
                replies.ask("SET", 50, row)
                replies.ask("WATCH", 50)
                equal(wire.exchange(connection, table.frame(wire.CAS, [50], [old, bytes(20)])).hits, int(old == row), "CAS")
                replies.ask("MULTI")
                replies.ask("SET", 51, row)
                equal(replies.ask("EXEC"), expected, "EXEC")
            table.rows = {50: row, 51: row}
            for _ in range(40):
                frame, compare = table.drawn(rng, 40, 1)
                connection.sendall(frame)
                compare(wire.read_frame(connection))
            caught_up(server, replica)
            with replica.connect() as other:
                equal(wire.exchange(other, table.frame(wire.OR, [1], [row])).status, wire.NOT_PRIMARY, "OR at a replica")
                table.compare(other, range(53))
            server.kill()
        with Server(*flags) as server, server.connect() as connection:
            table.compare(connection, range(53))


@case
def who_may():
    """Frames need the rights of the command of the same name, for each of their keys"""
    table = Table(8, 8, "row")
    with Server(*CPU, "--value-bytes", "8") as server, server.connect() as connection, server.replies() as replies:
        equal(replies.ask("ACL", "SETUSER", "default", "resetkeys", "~1000-1999", "-setrange"),
              "OK", "SETUSER")
        part = {"range_offset": 1, "range_bytes": 1}
        for operation, keys, operands, header, status, message in (
                (wire.SETRANGE, [1000], [b"x"], part, wire.NO_PERMISSION,
                 "user default may not run SETRANGE: it lacks the command setrange"),
                (wire.OR, [1000, 7], [bytes(8)] * 2, {}, wire.NO_PERMISSION,
                 "a key is outside the key ranges of the user; nothing was changed"),
                (wire.GETRANGE, [7], [], part, wire.NO_PERMISSION,
                 "a key is outside the key ranges of the user; nothing was changed"),
                (wire.OR, [1000, 1999], [bytes(8)] * 2, {}, wire.OK, "")):
            reply = wire.exchange(connection, table.frame(operation, keys, operands, **header))
            equal((reply.status, reply.message), (status, message), NAMES[operation])


if __name__ == "__main__":
    main()
