# SPDX-License-Identifier: MIT
"""matrix - the rows of proto/ops/operations.h, and the effect of each on a dict.

The model implements the verbs and guards itself: it shares no code with the table. The script finds a row that differs
from `RELEASED`. A new row needs a line in `VERBS` if its verb is new, and nothing else here.
"""

import dataclasses
import math
import re
import struct
import time

import wire
from harness import check

# name, number, verb, guard, element, on, times, acl, command: what peers, logs and rights of users rely on.
RELEASED = """
GET 1 READ ALWAYS OWN ANY NO_TIMES SAME get
SET 2 SET ALWAYS OWN ANY TIMES SAME set
SUM 3 ADD ALWAYS OWN INTEGERS TIMES SAME sum
MIN 4 MIN ALWAYS OWN INTEGERS TIMES SAME min
MAX 5 MAX ALWAYS OWN INTEGERS TIMES SAME max
SET_ABSENT 6 SET ABSENT OWN ANY TIMES SAME setnx
SET_PRESENT 7 SET PRESENT OWN ANY TIMES SAME set
INCREMENT 8 ADD FITS OWN INTEGERS TIMES SAME incrby
DECREMENT 9 SUBTRACT FITS OWN INTEGERS NO_TIMES SAME decrby
DELETE 10 DELETE ALWAYS OWN ANY NO_TIMES SAME del
PEEK 11 READ ALWAYS OWN CACHE NO_TIMES LIKE get
FIND_OR_INSERT 12 FIND ALWAYS OWN CACHE NO_TIMES LIKE set
SET_SCORE 13 USE ALWAYS OWN CACHE NO_TIMES LIKE set
SET_VALUE 14 SET PRESENT OWN CACHE NO_TIMES LIKE set
ADD_F32 15 ADD_ROW ALWAYS F32 BLOBS TIMES SAME add
ADD_U32 16 ADD_ROW ALWAYS U32 BLOBS TIMES SAME add
ADD_U64 17 ADD_ROW ALWAYS U64 BLOBS TIMES SAME add
ADD_PRESENT_F32 18 ADD_ROW PRESENT F32 BLOBS NO_TIMES SAME add
ADD_PRESENT_U32 19 ADD_ROW PRESENT U32 BLOBS NO_TIMES SAME add
ADD_PRESENT_U64 20 ADD_ROW PRESENT U64 BLOBS NO_TIMES SAME add
ADD_F16 21 ADD_ROW ALWAYS F16 ROWS TIMES SAME add
ADD_BF16 22 ADD_ROW ALWAYS BF16 ROWS TIMES SAME add
ADD_PRESENT_F16 23 ADD_ROW PRESENT F16 ROWS NO_TIMES SAME add
ADD_PRESENT_BF16 24 ADD_ROW PRESENT BF16 ROWS NO_TIMES SAME add
EXPIRE 25 EXPIRE ALWAYS OWN EXPIRY NO_TIMES SAME expire
EXPIRE_NONE 26 EXPIRE NEVER OWN EXPIRY NO_TIMES SAME expire
EXPIRE_SOME 27 EXPIRE SOME OWN EXPIRY NO_TIMES SAME expire
EXPIRE_LATER 28 EXPIRE LATER OWN EXPIRY NO_TIMES SAME expire
EXPIRE_EARLIER 29 EXPIRE EARLIER OWN EXPIRY NO_TIMES SAME expire
EXPIRE_SHORTEN 30 EXPIRE SHORTEN OWN EXPIRY NO_TIMES SAME expire
OR 64 OR ALWAYS OWN PLAIN NO_TIMES SAME or
XOR 65 XOR ALWAYS OWN PLAIN NO_TIMES SAME xor
AND 66 AND PRESENT OWN PLAIN NO_TIMES SAME and
ANDNOT 67 ANDNOT PRESENT OWN PLAIN NO_TIMES SAME andnot
CAS 68 SWAP EQUAL OWN PLAIN NO_TIMES SAME cas
SETRANGE 69 SETRANGE ALWAYS OWN ROWS NO_TIMES SAME setrange
GETRANGE 70 GETRANGE ALWAYS OWN BLOBS NO_TIMES SAME getrange
PERSIST 71 PERSIST PRESENT OWN EXPIRY NO_TIMES SAME persist
TTL 72 TTL ALWAYS OWN EXPIRY NO_TIMES SAME ttl
ASSIGN 87 ASSIGN ALWAYS OWN IDS NO_TIMES SAME assign
"""
LONG_OVER, FAR, MOST = 1, 4 * 10**12, 2**63 - 1  # times, in ms
KEEP = "keep"  # a present key keeps its time


def now_ms():
    return int(time.time() * 1000)


class Around(int):
    """A relative time: the values that it may have by the server's clock."""

    def __new__(cls, relative, now):
        self = super().__new__(cls, now + relative)
        self.relative = relative
        return self

    def holds(self, at):
        return int(self) - 2 <= at <= now_ms() + self.relative + 2


def same_time(got, wanted, what):
    fits = wanted.holds(got) if isinstance(wanted, Around) else got == wanted
    check(fits, f"{what} expires at {got}, not at {int(wanted)}")


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of the operations on keys."""
    name: str
    number: int
    verb: str
    guard: str
    element: str
    on: str
    times: bool
    acl: str
    command: str

    def released(self):
        return " ".join(map(str, (self.name, self.number, self.verb, self.guard, self.element, self.on,
                                  "TIMES" if self.times else "NO_TIMES", self.acl, self.command)))


def rows():
    """The rows of the operations on keys."""
    text = wire.OPERATIONS.read_text(encoding="utf-8").replace("\\\n", " ")
    found = []
    for line in re.findall(r"^#define SW_\w+_OPERATION_MAP\(X\).*$", text, flags=re.M):
        for body in re.findall(r'X\((\w+, \d+, \w+, .*?, "\w+"), +"', line):
            if len(columns_of := body.split(", ")) == 12:  # those of controls have fewer
                name, number, _, verb, guard, element, on, _, times, _, acl, command = columns_of
                found.append(Row(name, int(number), verb, guard, element, on, times == "TIMES", acl, command.strip('"')))
    return found


def columns(verb):
    """Returns operand, absent, effect and repeated of a verb."""
    text = wire.OPERATIONS.read_text(encoding="utf-8")
    return re.search(rf"X\({verb}, +(\w+), +(\w+), +(\w+), +(\w+)\)", text).groups()


# --- tables --------------------------------------------------------------------------------------
@dataclasses.dataclass(frozen=True)
class Shape:
    """A kind of table: its options and the type of its values."""
    name: str
    options: tuple
    key_bytes: int
    value_bytes: int
    numbers: str  # integer, string, bytes, u32, ..; none: keys have no values
    engine: str = "robin_hood"
    default_ms: int = 0  # what --default-ttl is; 0: keys without a time do not expire
    ids: bool = False  # the table chooses the values

    @property
    def on(self):
        """Returns whether the columns `on` name this table."""
        if self.engine == "cache":
            return {"CACHE", "BLOBS", "ANY"}
        if self.ids:
            return {"IDS", "ANY", "EXPIRY"}
        if self.numbers == "none":
            return {"ANY"}
        kind = {"INTEGERS", "PLAIN", "ANY"} if self.numbers == "integer" else {"ROWS", "PLAIN", "BLOBS", "ANY"}
        return kind | ({"EXPIRY"} if self.engine == "robin_hood" else set())

    def stored(self, value):
        """Returns a value as frames store it; None: zeros."""
        if value is None:
            return bytes(self.value_bytes)
        if self.numbers == "integer":
            return value.to_bytes(self.value_bytes, "little")
        if self.numbers == "string":
            return len(value).to_bytes(4, "little") + value.ljust(self.value_bytes - 4, b"\0")
        return value

    def value_of(self, data):
        """Returns the value that frames store as `data`."""
        if self.numbers == "integer":
            return int.from_bytes(data, "little")
        return data[4:4 + int.from_bytes(data[:4], "little")] if self.numbers == "string" else data

    def visible(self, data):
        """Returns the part of a value that a client may read: the bytes behind a string are not part of it."""
        if self.numbers == "string":
            return data[:4 + int.from_bytes(data[:4], "little")].ljust(self.value_bytes, b"\0")
        return data

    def room(self):
        return 1 if self.numbers == "none" else self.value_bytes - (4 if self.numbers == "string" else 0)

    def zero(self):
        return 0 if self.numbers == "integer" else b"" if self.numbers == "string" else bytes(self.value_bytes)

    def draw(self, rng):
        top = 2**(8 * self.value_bytes) - 1
        if self.numbers == "integer":
            return rng.choice((0, 1, 2, 7, top, top - 1, top >> 1, rng.randrange(top), rng.getrandbits(20)))
        if self.numbers == "string":
            return rng.choice((b"%d" % rng.randrange(-999, 999), letters(rng, rng.randrange(9)), b"1.5", b""))
        if self.numbers in FLOATS:
            return pack(self.numbers, [rng.randrange(-40, 40) / 2 for _ in range(self.value_bytes // WIDTHS[self.numbers])])
        return rng.choice((rng.randbytes(self.value_bytes), bytes(self.value_bytes), b"\xff" * self.value_bytes))


SHAPES = (
    Shape("integers of 64 bits", (), 8, 8, "integer"),
    Shape("integers of 32 bits", ("--key-bits", "32"), 4, 4, "integer"),
    Shape("integers of cuckoo", ("--engine", "cuckoo"), 8, 8, "integer", "cuckoo"),
    Shape("integers with a default time", ("--default-ttl", "50000000"), 8, 8, "integer", default_ms=50 * 10**9),
    Shape("rows of u32", ("--value-bytes", "8", "--value-type", "u32"), 8, 8, "u32"),
    Shape("rows of u64", ("--value-bytes", "16", "--value-type", "u64"), 8, 16, "u64"),
    Shape("rows of i64", ("--value-bytes", "16", "--value-type", "i64"), 8, 16, "i64"),
    Shape("rows of f32", ("--value-bytes", "8", "--value-type", "f32"), 8, 8, "f32"),
    Shape("rows of f64", ("--value-bytes", "16", "--value-type", "f64"), 8, 16, "f64"),
    Shape("rows of f16", ("--value-bytes", "8", "--value-type", "f16"), 8, 8, "f16"),
    Shape("rows of bf16", ("--value-bytes", "8", "--value-type", "bf16"), 8, 8, "bf16"),
    Shape("rows of bytes", ("--value-bytes", "20"), 8, 20, "bytes"),
    Shape("wide rows of u32", ("--value-bytes", "1028", "--value-type", "u32"), 8, 1028, "u32"),
    Shape("rows of strings", ("--value-bytes", "20", "--value-type", "string"), 8, 24, "string"),
    Shape("a cache", ("--engine", "cache", "--value-bytes", "8", "--value-format", "fixed", "--policy", "lfu"), 8, 8, "bytes", "cache"),
    Shape("a cache of strings", ("--engine", "cache", "--value-bytes", "20", "--key-bits", "32", "--policy", "epoch-lfu",
                                 "--cache-mode", "throughput"), 4, 24, "string", "cache"),
    Shape("ids of 64 bits", ("--ids", "100"), 8, 8, "integer", ids=True),
    Shape("ids of 32 bits with a default time", ("--ids", "100", "--key-bits", "32", "--default-ttl", "50000000"), 4, 4, "integer",
          default_ms=50 * 10**9, ids=True),
    Shape("keys of 64 bits without values", ("--value-type", "none"), 8, 0, "none"),
    Shape("keys of 32 bits without values", ("--value-type", "none", "--key-bits", "32"), 4, 0, "none"))


def letters(rng, size):  # bytes that no number has
    return bytes(rng.choices(b"gkqz\0\xff", k=size))


WIDTHS = {"u32": 4, "u64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "f64": 8}
ADDS = {"i64": "u64"}  # ADD_U64 adds signed integers
FLOATS = ("f32", "f64", "f16", "bf16")


def rounded(value):
    """Returns a 32-bit float; a too large number becomes infinity."""
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return struct.pack("<f", math.copysign(math.inf, value))


def pack(numbers, values):
    """Returns numbers as bytes; floats are rounded to the nearest, ties to even."""
    if numbers == "bf16":
        words = [struct.unpack("<I", rounded(value))[0] for value in values]
        return b"".join(struct.pack("<H", (w + 0x7fff + (w >> 16 & 1)) >> 16 & 0xffff) for w in words)
    if numbers == "f32":
        return b"".join(rounded(value) for value in values)
    letter = {"u32": "I", "u64": "Q", "f16": "e", "i64": "q", "f64": "d"}[numbers]
    return struct.pack(f"<{len(values)}{letter}", *values)


def unpack(numbers, data):
    if numbers == "bf16":
        return struct.unpack(f"<{len(data) // 2}f", b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2)))
    letter = {"u32": "I", "u64": "Q", "f32": "f", "f16": "e", "i64": "q", "f64": "d"}[numbers]
    return struct.unpack(f"<{len(data) // WIDTHS[numbers]}{letter}", data)


# --- the model -----------------------------------------------------------------------------------
class Refused(Exception):
    """Raised if the key keeps its value."""


def bits(change):
    """Applies a bit operation to integers, or to the bytes of rows."""
    def apply(shape, _row, before, operand):
        if shape.numbers == "integer":
            return change(before or 0, operand)
        one, other = (int.from_bytes(value or b"", "little") for value in (before, operand))
        return change(one, other).to_bytes(shape.value_bytes, "little")
    return apply


def present(apply):  # an absent key stays absent
    return lambda shape, row, before, operand: None if before is None else apply(shape, row, before, operand)


def add_row(shape, row, before, operand):
    if before is None:
        return operand
    numbers = row.element.lower()
    sums = [a + b for a, b in zip(unpack(numbers, before), unpack(numbers, operand))]
    return pack(numbers, sums if numbers in FLOATS else [s % 2**(8 * WIDTHS[numbers]) for s in sums])


def fitting(change):
    """Changes a row number by number. A number whose result does not fit keeps its value."""
    def apply(_shape, row, before, operand):
        numbers = row.element.lower()
        def fits(number):
            low = -2**63 if numbers == "i64" else 0
            number = unpack("f32", rounded(number))[0] if numbers == "f32" else number
            return math.isfinite(number) if numbers in FLOATS else low <= number < low + 2**64
        old = unpack(numbers, before or bytes(len(operand)))
        return pack(numbers, [new if fits(new := change(a, b)) else a for a, b in zip(old, unpack(numbers, operand))])
    return apply


def set_range(shape, _row, before, operand):
    offset, piece = operand
    text = (shape.zero() if before is None else before).ljust(offset + len(piece), b"\0")
    return text[:offset] + piece + text[offset + len(piece):]


def is_integer(text):  # as redis writes one
    return re.fullmatch(rb"0|-?[1-9]\d{0,18}", text) and -2**63 <= int(text) < 2**63


def sum_of(is_number, show):
    """INCRBY and INCRBYFLOAT of strings. An absent key is always inserted."""
    def apply(shape, _row, before, operand):
        texts = (b"0" if before is None else before, operand)
        if not all(map(is_number, texts)) or len(after := show(*texts)) > shape.room() or not is_number(after):
            if before is None:
                return b"0"
            raise Refused
        return after
    return apply


def append(shape, _row, before, operand):
    after = (before or b"") + operand
    if len(after) > shape.room():
        raise Refused
    return after


VERBS = {
    "READ": lambda shape, row, before, _: before,
    "GETRANGE": lambda shape, row, before, _: before,
    "TTL": lambda shape, row, before, _: before,
    "EXPIRE": lambda shape, row, before, _: before,
    "PERSIST": lambda shape, row, before, _: before,
    "USE": lambda shape, row, before, _: before,
    "SET": lambda shape, row, before, operand: operand,
    "ASSIGN": lambda shape, row, before, operand: operand if before is None else before,
    "FIND": lambda shape, row, before, operand: operand if before is None else before,
    "ADD": lambda shape, row, before, operand: (before or 0) + operand,
    "SUBTRACT": lambda shape, row, before, operand: (before or 0) - operand,
    "MULTIPLY": present(lambda shape, row, before, operand: before * operand),
    "MIN": lambda shape, row, before, operand: operand if before is None else min(before, operand),
    "MAX": lambda shape, row, before, operand: operand if before is None else max(before, operand),
    "OR": bits(lambda a, b: a | b),
    "XOR": bits(lambda a, b: a + b - 2 * (a & b)),
    "AND": present(bits(lambda a, b: a & b)),
    "ANDNOT": present(bits(lambda a, b: a - (a & b))),
    "SWAP": lambda shape, row, before, operand: operand[1],
    "DELETE": lambda shape, row, before, _: None,
    "ADD_ROW": add_row,
    "ADD_FITTING": fitting(lambda a, b: a + b),
    "SUBTRACT_FITTING": present(fitting(lambda a, b: a - b)),
    "SETRANGE": set_range,
    "APPEND": append,
    "INCRBY": sum_of(is_integer, lambda one, other: b"%d" % (int(one) + int(other))),
    "INCRBYFLOAT": sum_of(lambda text: re.fullmatch(rb"-?\d+(\.\d+)?", text), lambda one, other: re.sub(
        rb"\.0+$", b"", b"%.1f" % (float(one) + float(other)))),
}


class Table:
    """The contents of a server: {key: value} and {key: expiry time}."""

    def __init__(self, shape):
        self.shape, self.values, self.times = shape, {}, {}
        self.compared_ms = now_ms()  # all times before are known

    def copy(self):
        other = Table(self.shape)
        other.values, other.times = dict(self.values), dict(self.times)
        return other

    def __eq__(self, other):
        return (self.values, self.times) == (other.values, other.times)

    def holds(self, row, key, operand, at):
        """Returns whether the guard holds."""
        there, time = key in self.values, self.times.get(key)
        return {"ALWAYS": lambda: True, "FITS": lambda: True, "ABSENT": lambda: not there, "PRESENT": lambda: there,
                "EQUAL": lambda: there and self.values[key] == operand[0],
                "NEVER": lambda: time is None, "SOME": lambda: time is not None,
                "LATER": lambda: time is not None and at > time, "EARLIER": lambda: time is None or at < time,
                "SHORTEN": lambda: time is not None and at < time}[row.guard]()

    def give(self, key, at):  # None: never
        self.times.pop(key, None)
        if at in (None, KEEP) and self.shape.default_ms:
            at = Around(self.shape.default_ms, self.compared_ms)
        if at == LONG_OVER:
            del self.values[key]
        elif at not in (None, KEEP):
            self.times[key] = at

    def apply(self, row, key, operand=None, at=None):
        """Applies one operation. Returns (value before, bit of its reply, whether it was refused)."""
        before, there, time = self.values.get(key), key in self.values, self.times.get(key)
        if row.verb in ("EXPIRE", "PERSIST"):
            changes = there and self.holds(row, key, operand, at) and (row.verb == "EXPIRE" or time is not None)
            if changes and row.verb == "PERSIST":
                del self.times[key]
            elif changes:
                self.give(key, at)
            return before, changes, False
        if row.verb == "ASSIGN":  # the lowest free id
            operand = next(i for i in range(len(self.values) + 1) if i not in self.values.values())
        if not self.holds(row, key, operand, at):
            return before, there and row.guard != "EQUAL", False
        try:
            after = VERBS[row.verb](self.shape, row, before, operand)
            if self.shape.numbers == "integer" and after is not None:
                top = 2**(8 * self.shape.value_bytes) - 1
                if row.guard == "FITS" and not 0 <= after <= top:
                    raise Refused
                after &= top
        except Refused:
            return before, there, True
        if after is None:
            self.values.pop(key, None)
            self.times.pop(key, None)
        elif after != before or row.verb in ("SET", "SWAP"):
            self.values[key] = after
        if after is not None and (not there or (row.verb == "SET" and at != KEEP)):
            self.give(key, at)
        return before, there, False


def has(row, shape):
    """Returns whether such a table supports the operation."""
    if row.on not in shape.on or (shape.ids and row.verb == "SET"):
        return False
    if row.verb == "ADD_ROW":
        numbers = row.element.lower()
        return ADDS.get(shape.numbers, shape.numbers) in (numbers, "bytes") and shape.value_bytes % WIDTHS[numbers] == 0
    if row.verb.endswith("_FITTING"):
        return shape.numbers == row.element.lower()
    if row.element == "STRING":
        return shape.numbers == "string"
    if columns(row.verb)[3] == "BITS":
        return shape.numbers in ("integer", "bytes", "u32", "u64", "i64")
    return True


# --- what is asked -------------------------------------------------------------------------------
@dataclasses.dataclass
class Ask:
    """Operations on some keys, repeated ones included, with their expiry times."""
    row: Row
    keys: list
    operands: list  # or None
    each_ms: list = None  # or None
    when: int = wire.UNSAID
    drawn_ms: int = 0  # relative times count from then on
    range: tuple = (1, 2)  # offset and bytes of GETRANGE

    def at(self, i):
        if self.when == wire.IN:
            return Around(self.each_ms[i], self.drawn_ms)
        return KEEP if self.when == wire.KEEP else self.each_ms[i] if self.each_ms else None

    def part(self):
        """Returns offset and bytes of a range."""
        return (self.operands[0][0], len(self.operands[0][1])) if self.row.verb == "SETRANGE" else self.range

    def body(self, shape):
        """Returns the operands as frames have them."""
        kind = columns(self.row.verb)[0]
        if kind == "VALUE":
            return b"".join(shape.stored(value) for value in self.operands)
        if kind == "PAIR":
            return b"".join(shape.stored(value) for pair in self.operands for value in pair)
        return b"".join(piece for _, piece in self.operands) if kind == "PART" else b""


def draw(rng, row, table, pool, count, by_words=False):
    """Returns an Ask with random keys, operands and times. Half of the comparisons match the stored value. Commands have
    absolute times only."""
    shape, kind = table.shape, columns(row.verb)[0]
    keys, operands = [rng.choice(pool) for _ in range(count)], None
    offset = rng.randrange(shape.room())
    size = rng.randrange(1, shape.room() - offset + 1)
    if kind == "VALUE":
        operands = [shape.draw(rng) for _ in keys]
        texts = shape.numbers == "string"
        if texts and by_words and row.verb.startswith("INCRBY"):  # what is no number the command itself refuses
            operands = [b"%d" % rng.randrange(-99, 99) for _ in keys]
        elif texts and row.verb == "APPEND":  # numbers stay short
            operands = [letters(rng, rng.randrange(4)) for _ in keys]
    elif kind == "PAIR":
        operands = [(rng.choice((table.values.get(key, shape.zero()), shape.draw(rng))), shape.draw(rng)) for key in keys]
    elif kind == "PART":
        operands = [(offset, letters(rng, size) if shape.numbers == "string" else bytes(size)
                     if shape.numbers in FLOATS else rng.randbytes(size)) for _ in keys]
    each, when = None, wire.UNSAID
    if row.verb == "EXPIRE" or (row.times and "EXPIRY" in shape.on and rng.random() < .5):
        when = wire.AT if by_words else rng.choice((wire.AT, wire.AT, wire.IN))
        relative = [10**8 + 2000 * rng.randrange(10**7) for _ in keys]  # no two are close to each other
        each = relative if when == wire.IN else [rng.choice(
            (LONG_OVER, FAR, FAR, FAR + rng.randrange(10**6), FAR if by_words else MOST)) for _ in keys]
        if count <= 70 and rng.random() < .4:  # the frames of a longer call have different clocks
            each = each[:1] * count
        if row.verb == "SET" and row.guard != "ABSENT" and not by_words and rng.random() < .3:
            each, when = None, wire.KEEP
    return Ask(row, keys, operands, each, when, now_ms(), (1, 2) if by_words else (offset, size))
