#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Sums of rows equal numpy's in every bit, one operation after the other, by every interface."""

import random
import struct
import tempfile

import numpy as np

import wire
from harness import Server, case, drawn_seed, equal, main
from package import daemon, sherwood

SEED = drawn_seed()
CPU = ("--backend", "cpu", "--capacity", "64K", "--frame-ops-max", "0")
NUMBERS = {"f32": np.uint32, "f16": np.uint16, "bf16": np.uint16, "u32": np.uint32, "u64": np.uint64, "i64": np.uint64, "f64": np.uint64}
ADDS = {"i64": "U64"}  # the element of the ADD, if it is another
HARD = {"f32": (0, 0x80000000, 1, 0x807fffff, 0x00800000, 0x3f800000, 0x33800000, 0x33800001, 0x7f7fffff, 0x7f800000,
                0xff800000, 0x7fc00001, 0xff812345),
        "f64": (0, 1 << 63, 1, 0x800fffffffffffff, 1 << 52, 0x3ff0000000000000, 0x3ca0000000000000, 0x3ca0000000000001,
                0x7fefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000001, 0xfff0123456789abc),
        "f16": (0, 0x8000, 1, 0x83ff, 0x0400, 0x3c00, 0x1000, 0x1001, 0x7bff, 0x7c00, 0xfc00, 0x7e01, 0xfd23),
        "bf16": (0, 0x8000, 1, 0x807f, 0x0080, 0x3f80, 0x3b80, 0x3b81, 0x7f7f, 0x7f80, 0xff80, 0x7fc1, 0xff81)}


def wide(kind, bits):
    """Returns numbers as float32, or float64 for f64."""
    if kind == "f64":
        return bits.view(np.float64)
    if kind == "f16":
        return bits.view(np.float16).astype(np.float32)
    return (bits.astype(np.uint32) << 16).view(np.float32) if kind == "bf16" else bits.view(np.float32)


def narrow(kind, sums):
    """Returns float32 as numbers of the kind: rounded to the nearest, ties to even. NaN has one form."""
    nan = np.isnan(sums)
    if kind == "f64":
        return np.where(nan, np.uint64(0x7ff8 << 48), sums.view(np.uint64)).astype(np.uint64)
    if kind == "f16":
        return np.where(nan, 0x7e00, sums.astype(np.float16).view(np.uint16)).astype(np.uint16)
    bits = sums.view(np.uint32)
    if kind == "bf16":
        rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16
        return np.where(nan, 0x7fc0, rounded).astype(np.uint16)
    return np.where(nan, 0x7fc00000, bits).astype(np.uint32)


def added(kind, row, operand):
    """Returns row + operand as bits. Operands of another bit type are float32."""
    if kind[0] in "ui":
        return row + operand
    other = operand.view(np.float32) if operand.dtype == np.uint32 else wide(kind, operand)
    with np.errstate(all="ignore"):
        return narrow(kind, wide(kind, row) + other)


def draw(rng, kind, count):
    """Returns random numbers. Every third one is a corner case."""
    width = np.dtype(NUMBERS[kind]).itemsize
    near = {"f16": 0x3fff, "bf16": 0x3fff, "f32": 0x3fffffff, "f64": (1 << 62) - 1}.get(kind, (1 << 8 * width) - 1)
    return np.array([rng.choice(HARD[kind]) if kind in HARD and rng.randrange(3) == 0
                     else rng.getrandbits(8 * width) & near for _ in range(count)], NUMBERS[kind])


class Model:
    """Rows by key, and the effect of sums on them."""

    def __init__(self, kind, numbers):
        self.kind, self.numbers, self.rows = kind, numbers, {}

    def zeros(self):
        return np.zeros(self.numbers, NUMBERS[self.kind])

    def row(self, key):
        return self.rows.get(key, self.zeros())

    def add(self, key, operand, present=False):
        if key in self.rows or not present:
            self.rows[key] = added(self.kind, self.row(key), operand)


def rows_of(connection, keys, size):
    body = wire.exchange(connection, wire.cache_frame(wire.GET, keys, value_bytes=size, want_values=True)).body
    return [body[i * size:(i + 1) * size] for i in range(len(keys))]


@case
def by_frames():
    """ADD frames with repeated keys on rows of each type: the values before and after equal numpy's, bit by bit"""
    rng = random.Random(SEED)
    for kind, size in (("f16", 60), ("bf16", 4), ("bf16", 256), ("f16", 1028), ("f32", 60), ("u32", 20), ("u64", 64), ("i64", 24), ("f64", 40)):
        add, present = (getattr(wire, f"ADD_{p}{ADDS.get(kind, kind.upper())}") for p in ("", "PRESENT_"))
        with Server(*CPU, "--value-bytes", str(size), "--value-type", kind) as server, server.connect() as connection:
            model = Model(kind, size // np.dtype(NUMBERS[kind]).itemsize)
            for _ in range(8):
                count = rng.randrange(1, 40)
                keys = [rng.randrange(6) for _ in range(count)]
                operands = [draw(rng, kind, model.numbers) for _ in range(count)]
                operation = rng.choice((add, add, present, wire.SET, wire.DELETE))
                connection.sendall(wire.cache_frame(operation, keys, None if operation == wire.DELETE else
                                                    [o.tobytes() for o in operands], value_bytes=size,
                                                    want_values=True))
                reply = wire.read_frame(connection)
                for i, (key, operand) in enumerate(zip(keys, operands)):
                    equal(reply.body[i * size:(i + 1) * size], model.row(key).tobytes(), f"{kind}: before {i}")
                    if operation in (wire.SET, wire.DELETE):
                        model.rows.pop(key, None)
                    if operation == wire.SET:
                        model.rows[key] = operand
                    elif operation != wire.DELETE:
                        model.add(key, operand, operation == present)
                equal(rows_of(connection, list(range(6)), size), [model.row(k).tobytes() for k in range(6)], kind)


def bits_of(number):
    return struct.unpack("<I", struct.pack("<f", number))[0]


@case
def scales_and_wide_operands():
    """ADD with a scale, and float32 operands on 16-bit rows: every rounding equals numpy's, also after a restart"""
    rng = random.Random(SEED)
    for kind, size in (("f32", 60), ("f16", 20), ("bf16", 256), ("u32", 20), ("u64", 64), ("i64", 40), ("f64", 24), ("f16", 4)):
        add, present = (getattr(wire, f"ADD_{p}{ADDS.get(kind, kind.upper())}") for p in ("", "PRESENT_"))
        numbers = size // np.dtype(NUMBERS[kind]).itemsize
        model = Model(kind, numbers)
        with tempfile.TemporaryDirectory() as folder:
            flags = (*CPU, "--value-bytes", str(size), "--value-type", kind)
            logs = size == 20 # each start with a log waits for the disk
            flags += ("--data-dir", folder, "--appendonly", "yes", "--appendfsync", "no") if logs else ()
            with Server(*flags, stop_rc=-9) as server, server.connect() as connection:
                for _ in range(12):
                    keys = [rng.randrange(6) for _ in range(rng.randrange(1, 30))]
                    is_wide = kind in ("f16", "bf16") and rng.randrange(3) > 0
                    of = "f32" if is_wide else kind
                    operands = [draw(rng, of, numbers) for _ in keys]
                    scale = np.float32(rng.choice((1, -1)) if of != "f32" else rng.choice((1, -1, 0.1, -3e-7, 1e30, 1e-40)))
                    operation, wants = rng.choice((add, present)), rng.randrange(2) == 0
                    connection.sendall(wire.cache_frame(
                        operation, keys, [o.tobytes() for o in operands], value_bytes=size, want_values=wants,
                        want_found=rng.choice((None, True, False)), scale=bits_of(scale), operand_type=4 if is_wide else 0))
                    reply = wire.read_frame(connection)
                    equal(reply.status, wire.OK, reply.message)
                    for i, (key, operand) in enumerate(zip(keys, operands)):
                        if wants:
                            equal(reply.body[i * size:(i + 1) * size], model.row(key).tobytes(), f"{kind}: before {i}")
                        with np.errstate(all="ignore"):
                            if kind[0] in "ui":
                                operand = operand if scale == 1 else 0 - operand
                            elif of == "f32":
                                operand = narrow("f32", scale * wide("f32", operand))
                            elif scale == -1:
                                operand = operand ^ operand.dtype.type(1 << 8 * operand.itemsize - 1)
                        model.add(key, operand, operation == present)
                    equal(rows_of(connection, list(range(6)), size), [model.row(k).tobytes() for k in range(6)], kind)
                server.kill()
            if logs:
                with Server(*flags) as server, server.connect() as connection:
                    equal(rows_of(connection, list(range(6)), size), [model.row(k).tobytes() for k in range(6)], "again")


@case
def wrong_scales():
    """invalid scales and operands are refused with a reason and change nothing"""
    for kind, number, cases in (
            ("f32", "F32", ((float("inf"), 0, "scale must be finite"), (float("nan"), 0, "scale must be finite"),
                            (1.0, 5, "operand_type must be left out, or f32"), (1.0, 4, "operand_type must be left out, or f32"))),
            ("f16", "F16", ((0.5, 0, "1 or -1 unless the operands are f32"), (float("inf"), 4, "scale must be finite"),
                            (1.0, 2, "operand_type must be left out, or f32"))),
            ("f64", "F64", ((2.0, 0, "1 or -1"), (1.0, 4, "operand_type must be left out"))),
            ("u32", "U32", ((2.0, 0, "1 or -1"),))):
        with Server(*CPU, "--value-bytes", "8", "--value-type", kind) as server, server.connect() as connection:
            for scale, operand_type, words in cases:
                connection.sendall(wire.cache_frame(
                    getattr(wire, f"ADD_{number}"), [1], [bytes(16 if operand_type == 4 and kind == "f16" else 8)],
                    value_bytes=8, scale=bits_of(scale), operand_type=operand_type))
                reply = wire.read_frame(connection)
                equal((reply.status, words in reply.message), (wire.BAD_REQUEST, True), reply.message)
            connection.sendall(wire.cache_frame(wire.SET, [1], [bytes(8)], value_bytes=8, scale=bits_of(2.0)))
            equal(wire.read_frame(connection).message, "only ADD has the fields scale and operand_type: leave them out", "SET")
            equal(server.ask("DBSIZE"), 0, "entries")


@case
def by_resp():
    """ADD key row [SCALE s] [XX], also in MULTI: replies and rows are right; an error changes nothing"""
    rng = random.Random(SEED)
    for kind, size in (("f32", 60), ("f16", 20), ("bf16", 64), ("u32", 4), ("u64", 64), ("i64", 16), ("f64", 32)):
        numbers = size // np.dtype(NUMBERS[kind]).itemsize
        model = Model(kind, numbers)
        with Server(*CPU, "--value-bytes", str(size), "--value-type", kind) as server, server.connect() as connection:
            replies, queued = wire.Replies(connection), None
            for _ in range(120):
                if rng.randrange(20) == 0 and queued is None:
                    equal(replies.ask("MULTI"), "OK", "MULTI")
                    queued = []
                key, operand, present = rng.randrange(4), draw(rng, kind, numbers), rng.randrange(2) == 0
                scale = rng.choice((1, -1)) if kind != "f32" else rng.choice((1, -1, 0, 0.1, -2.5e-7, 1e30))
                words = ["ADD", key, operand.tobytes()]
                extra = [["XX"]] * present + [["SCALE", repr(scale)]] * (scale != 1 or rng.randrange(2))
                rng.shuffle(extra)
                words = ("DEL", key) if rng.randrange(10) == 0 else words + [w for e in extra for w in e]
                before = int(key in model.rows)
                if words[0] == "DEL":
                    model.rows.pop(key, None)
                else:
                    with np.errstate(all="ignore"):
                        if kind == "f32":
                            operand = narrow("f32", np.float32(scale) * wide("f32", operand))
                        elif scale == -1:
                            operand = 0 - operand if kind[0] in "ui" else operand ^ operand.dtype.type(1 << 8 * operand.itemsize - 1)
                    model.add(key, operand, present)
                reply = replies.ask(*words)
                if queued is None:
                    equal(reply, before, words)
                    equal(replies.ask("GET", key), model.rows[key].tobytes() if key in model.rows else None, words)
                else:
                    equal(reply, "QUEUED", words)
                    queued.append(before)
                    if len(queued) == 7:
                        equal(replies.ask("EXEC"), queued, "EXEC")
                        queued = None
            if queued is not None:
                replies.ask("DISCARD")
    row = bytes(8)
    for flags, cases in ((("--value-bytes", "8", "--value-type", "f32"), (
            ((row, "SCALE", "inf"), "ERR SCALE must be a finite number"), ((row, "SCALE"), "ERR syntax error: write ADD key row [SCALE s] [XX]"),
            ((row, "NX"), "ERR syntax error: write ADD key row [SCALE s] [XX]"), ((row, "SCALE", "x"), "ERR SCALE must be a finite number"),
            ((bytes(4),), "ERR value must have exactly 8 bytes (--value-bytes)"))),
            (("--value-bytes", "8", "--value-type", "f64"), (((row, "SCALE", "0.5"),
                "ERR SCALE must be 1 or -1 unless values are rows of f32; for f16 and bf16, send a bulk frame with f32 operands"),)),
            (("--value-bytes", "8", "--value-type", "bf16"), (((row, "SCALE", "0.5"),
                "ERR SCALE must be 1 or -1 unless values are rows of f32; for f16 and bf16, send a bulk frame with f32 operands"),)),
            (("--value-bytes", "8"), (((row,), "ERR ADD needs rows of numbers: start the server with --value-bytes and a numeric --value-type"),)),
            ((), (((1,), "ERR ADD needs rows of numbers: start the server with --value-bytes and a numeric --value-type"),)),
            (("--engine", "cuckoo"), (((1,), "ERR ADD needs rows of numbers: start the server with --value-bytes and a numeric --value-type"),)),
            (("--engine", "cache"), (((row,), "ERR ADD needs rows of numbers: start the server with --value-bytes and a numeric --value-type"),))):
        with Server(*CPU, *flags) as server, server.replies() as replies:
            for words, error in cases:
                equal(replies.ask("ADD", 1, *words), wire.Error(error), (flags, words))
            equal(replies.ask("DBSIZE"), 0, "DBSIZE")


@case
def other_numbers():
    """sums of another type than the rows' are refused with a reason"""
    with Server(*CPU, "--value-bytes", "20", "--value-type", "f16") as server, server.connect() as connection:
        for name in ("F32", "U32", "BF16", "PRESENT_BF16", "U64"):
            reply = wire.exchange(connection, wire.cache_frame(getattr(wire, f"ADD_{name}"), [1], [bytes(20)], value_bytes=20))
            equal((reply.status, reply.message), (
                wire.UNKNOWN_OPERATION, f"the robin_hood engine has no ADD_{name} for rows: values are not rows of this number type (see --value-type)"), name)


@case
def kept_values():
    """run_many of Python counts the keys whose value cannot take the operand, and stays"""
    top = 2**64 - 1
    for kind, operation, stored, operands, kept in (
            ("string", "incrby", [b"one", b"7"], [b"1", b"x", b"1"], 2), ("string", "append", [b"x" * 10, b""], [b"y" * 7] * 3, 1),
            ("string", "incrbyfloat", [b"1.5", b""], [b"1e3"] * 3, 1), ("f64", "increment_f64", [[1.7e308, 0], [1, 1]], [[1e308, 1]] * 3, 1),
            ("u64", "increment_u64", [[top, 1], [1, 1]], [[1, 1]] * 3, 1), ("u64", "decrement_u64", [[0, 5], [2, 2]], [[1, 1]] * 3, 2),
            ("i64", "increment_i64", [[1, 2**63 - 1], [1, 1]], [[1, 1]] * 3, 1), ("f32", "increment_f32", [[3e38] * 4, [1] * 4], [[3e38] * 4] * 3, 1)):
        with daemon("--value-bytes", "16", "--value-type", kind) as server, sherwood.connect(server.unix) as c:
            for want in ((), "previous"):
                c.delete_many([9])
                c.set_many([1, 2], stored if kind == "string" else np.array(stored, c.value_dtype))
                result = c.run_many(operation, [1, 2, 9], operands if kind == "string" else np.array(operands, c.value_dtype), want=want)
                equal((result.overflows, result.previous is None, result.found), (kept, not want, None), operation)


if __name__ == "__main__":
    main()
