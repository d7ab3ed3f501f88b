# SPDX-License-Identifier: MIT
"""wire - the two protocols byte by byte, written from their descriptions and not from the daemon.

RESP: command() and Replies. Bulk frames: frame() builds one, also an invalid one; read_frame() reads one.
"""

import pathlib
import re
import struct

OPERATIONS = pathlib.Path(__file__).resolve().parents[2] / "proto" / "ops" / "operations.h"
MAGIC = b"\xd5SW\x01"
MAGIC_TABLES = b"\xd5SW\x02"  # of a request whose table is not 0, or that has segments
READS = "GET", "PEEK"  # what segments may do
ROWS = re.findall(r"^    X\((\w+), (\d+), (\w+), (\w+), (\w+),", OPERATIONS.read_text(encoding="utf-8"), flags=re.M)
NUMBERS = {name: int(number) for name, number, *_ in ROWS}
globals().update(NUMBERS)  # GET, SET, ..: what peers have is in tests/proto/test_frame.c
UNSAID, AT, IN, KEEP = range(4)  # what a frame says of times
INTEGERS = "start the server with --engine robin_hood and without --value-bytes"  # why values are no integers
COUNTERS = INTEGERS + ", or with --value-bytes N --value-type string"
(OK, BAD_REQUEST, UNKNOWN_OPERATION, OUT_OF_MEMORY, SERVER_ERROR, SHUTTING_DOWN, TIMED_OUT,
 TOO_MANY_CONNECTIONS, NOT_DURABLE, OUTCOME_UNKNOWN) = range(10)
LOADING = 10
(NO_AUTH, WRONG_PASS, NO_PERMISSION) = range(11, 14)
WRONG_SHARD, SLOT_FROZEN, NOT_PRIMARY, NO_TABLE, TABLE_CHANGED = range(40, 45)


# --- RESP ----------------------------------------------------------------------------------------
def command(*arguments):
    parts = [a if isinstance(a, bytes) else str(a).encode() for a in arguments]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)


class Error(str):
    """An error reply: the line without its '-'."""


# Errors of a write that would pass max-load: for integers, for rows, and for an engine that cannot grow. Frames omit OOM.
FULL, FULL_ROWS, FULL_FIXED = ("OOM the table would pass its maximum load: nothing was changed; delete keys, or restart "
                               f"with {what}" for what in (
                                   "a larger --max-capacity or more memory",
    "more memory or a larger --max-capacity (and --rows-max, if it is set)", "a larger --capacity"))


class Closed(Exception):
    """The peer closed the connection."""


class Replies:
    """Reads replies of RESP2 and RESP3 from a socket."""

    def __init__(self, connection):
        self.socket = connection
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.socket.close()

    def fill(self):
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        if not data:
            raise Closed(f"with {self.buffer[:80]!r} unread")
        self.buffer += data

    def line(self):
        while b"\r\n" not in self.buffer:
            self.fill()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def exactly(self, size):
        while len(self.buffer) < size:
            self.fill()
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def read(self):
        line = self.line()
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return Error(rest.decode())
        if kind == b":":
            return int(rest)
        if kind in (b"$", b"="):
            return None if rest == b"-1" else self.exactly(int(rest) + 2)[:-2]
        if kind in (b"*", b"~", b">"):
            return None if rest == b"-1" else [self.read() for _ in range(int(rest))]
        if kind == b"%":
            return {self.read(): self.read() for _ in range(int(rest))}
        if kind == b"_":
            return None
        if kind == b"#":
            return rest == b"t"
        if kind == b",":
            return float(rest)
        raise AssertionError(f"no reply begins like {line!r}")

    def ask(self, *arguments):
        self.socket.sendall(command(*arguments))
        return self.read()

    def closed(self):
        """Waits for the end of the stream. Unread data before it is an error."""
        try:
            self.fill()
        except Closed:
            return self.buffer == b""
        raise AssertionError(f"not closed, but {self.buffer[:80]!r}")


# --- bulk frames -----------------------------------------------------------------------------------
def varint(value):
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(value)


def padded(data):
    return data + bytes(-len(data) % 64)


def array(numbers, width):
    return padded(struct.pack(f"<{len(numbers)}{'Q' if width == 8 else 'I'}", *numbers))


def header_of(operation, count=0, key_bytes=0, value_bytes=0, request_id=1, want_values=False,
              cursor=0, capacity=0, want_found=None, want_scores=0, has_scores=0, want_evicted=0,
              want_not_admitted=0, by_score=0, score_min=0, score_max=0, epoch=0, timeout=0, scale=0, operand_type=0,
              range_offset=0, range_bytes=0, times=UNSAID, time_ms=0, has_times=0, table=0, table_name=b"", table_id=0, words=(),
              segments=(), traceparent=b""):
    """Returns a header. `want_found` None: the client does not know the field. `segments`: the lists of Segments."""
    values = (request_id, operation, count, key_bytes, value_bytes, int(want_values), cursor,
              capacity)
    found = b"" if want_found is None else field(9, int(want_found))
    cache = (want_scores, has_scores, want_evicted, want_not_admitted, by_score, score_min,
             score_max, epoch)
    return (b"".join(field(i, v) for i, v in enumerate(values, 1) if v) + found +
            b"".join(field(i, int(v)) for i, v in enumerate(cache, 10) if v) +
            (field(20, timeout) if timeout else b"") +
            (struct.pack("<BBI", 34 << 3 & 0x7f | 5 | 0x80, 34 >> 4, scale) if scale else b"") +
            (field(35, operand_type) if operand_type else b"") +
            (field(50, range_offset) if range_offset else b"") + (field(51, range_bytes) if range_bytes else b"") +
            b"".join(field(i, int(v)) for i, v in enumerate((times, time_ms, has_times), 52) if v) +
            b"".join(field(i, v) for i, v in enumerate((table, table_name), 60) if v) +
            (field(62, b"".join(field(i, b"".join(map(varint, numbers))) for i, numbers in enumerate(segments, 1) if numbers))
             if segments else b"") +
            (field(63, table_id) if table_id else b"") +
            b"".join(field(64, word if isinstance(word, bytes) else str(word).encode()) for word in words) +
            (field(65, traceparent) if traceparent else b""))


def envelope(header, body=b"", header_bytes=None, body_bytes=None, magic=MAGIC):
    """Returns prefix, header and body. The lengths may be wrong on purpose."""
    prefix = magic + struct.pack("<IQ", len(header) if header_bytes is None else header_bytes,
                                 len(body) if body_bytes is None else body_bytes)
    return padded(prefix + header) + body


def frame(operation, keys=(), values=None, width=8, each_ms=None, **header):
    """Returns a valid request, unless a header field is wrong on purpose. `each_ms`: a time for each key."""
    body = array(keys, width) if keys else b""
    if values is not None:
        body += array(values, width)
    if each_ms is not None:
        body += array(each_ms, 8)
        header = {"has_times": True, **header}
    if keys:
        header = {"count": len(keys), "key_bytes": width, "value_bytes": width, **header}
    return envelope(header_of(operation, **header), body, magic=MAGIC_TABLES if header.get("table") else MAGIC)


def segments_frame(operation, parts, width=8, **header):
    """Returns a request by segments. A part is (table, keys, value_bytes) and perhaps a table_id."""
    lists = [[part[0] for part in parts], [len(part[1]) for part in parts], [part[2] for part in parts],
             [part[3] if len(part) > 3 else 0 for part in parts] if any(len(part) > 3 for part in parts) else []]
    header = {"count": sum(lists[1]), "key_bytes": width, "want_values": True, "segments": lists, **header}
    return envelope(header_of(operation, **header), b"".join(array(part[1], width) for part in parts), magic=MAGIC_TABLES)


def segments_of(reply, parts):
    """Returns the values, as bytes, and the found bits of each part of a request by segments: None if it has no such array."""
    at, out = 0, []
    def take(size):
        nonlocal at
        data, padding = reply.body[at:at + size], -size % 64
        assert not any(reply.body[at + size:at + size + padding]), "padding"
        at += size + padding
        return data
    for _, keys, value_bytes, *_ in parts:
        values = take(len(keys) * value_bytes) if reply.has_values else None
        bits = take(-(-len(keys) // 64) * 8) if reply.has_found is None else None
        out.append((None if values is None else [values[i * value_bytes:(i + 1) * value_bytes] for i in range(len(keys))],
                    bits and [bits[i // 8] >> i % 8 & 1 for i in range(len(keys))]))
    assert at == len(reply.body), f"{at} of {len(reply.body)} bytes"
    return out


def cache_frame(operation, keys, values=None, scores=None, value_bytes=8, **header):
    """Returns a request to a cache: 64-bit keys, and values that are bytes."""
    body = array(keys, 8) + (padded(b"".join(values)) if values is not None else b"")
    body += array(scores, 8) if scores is not None else b""
    header = {"count": len(keys), "key_bytes": 8, "value_bytes": value_bytes,
              "has_scores": scores is not None, **header}
    return envelope(header_of(operation, **header), body)


def parse_message(data):
    """Protobuf, one level: {field: last value}."""
    fields, at = {}, 0
    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            fields[tag >> 3] = number()
        else:
            size = {1: 8, 5: 4}.get(tag & 7) or number()
            fields[tag >> 3] = data[at:at + size]
            at += size
    return fields


class Reply:
    """A reply frame, its fields by name and its body."""

    def __init__(self, header, body):
        message = parse_message(header)
        self.request_id = message.get(1, 0)
        self.status = message.get(2, 0)
        self.message = message.get(3, b"").decode()
        self.count = message.get(4, 0)
        self.width = message.get(6, 0)
        self.has_values = bool(message.get(7, 0))
        self.hits = message.get(8, 0)
        self.cursor = message.get(9, 0)
        self.info = parse_message(message.get(10, b""))
        self.capacity = message.get(12, 0)
        self.overflows = message.get(13, 0)
        self.has_found = message.get(14)  # None: the reply does not say
        self.has_scores = message.get(15, 0)
        self.has_evicted = message.get(16, 0)
        self.evicted_count = message.get(17, 0)
        self.has_not_admitted = message.get(18, 0)
        self.not_admitted = message.get(19, 0)
        self.matched = message.get(20, 0)
        self.epoch = message.get(21, 0)
        self.write_sequence = message.get(22, 0)
        self.durable_through = message.get(23, 0)
        self.digest = parse_message(message.get(25, b""))
        self.body = body

    def values(self):
        return list(struct.unpack_from(f"<{self.count}{'Q' if self.width == 8 else 'I'}", self.body))

    def figures(self):
        """Returns the body of a reply to STATS: {name: value}."""
        rows = struct.iter_unpack("<56sQ", self.body)
        figures = {name.rstrip(b"\0").decode(): value for name, value in rows}
        assert len(figures) == self.count, "a figure comes twice, or the count is wrong"
        return figures

    def places(self):
        """Returns the body of a reply to TABLES: [(name, number, id, keys)]."""
        rows = struct.iter_unpack("<64sIIQQQQQ16x", self.body)
        return [(name.rstrip(b"\0").decode(), number, table, keys) for name, number, table, keys, *_ in rows]

    def arrays(self):
        """Returns each array in the body of a cache's reply by name. Data behind the arrays is an error."""
        at, out = 0, {}

        def take(name, there, count, size, convert):
            nonlocal at
            if there:
                out[name] = [convert(self.body[at + i * size:at + (i + 1) * size])
                             for i in range(count)]
                assert not any(self.body[at + count * size:at - (-count * size // 64) * 64]), name
                at -= -count * size // 64 * 64

        def bitmap(name, there):
            take(name, there, -(-self.count // 64), 8, lambda b: int.from_bytes(b, "little"))
            if there:
                words = out[name]
                out[name] = [words[i // 64] >> i % 64 & 1 for i in range(self.count)]

        def number(data):
            return int.from_bytes(data, "little")

        take("values", self.has_values, self.count, self.width, bytes)
        bitmap("found", self.has_found is None)
        bitmap("not_admitted", self.has_not_admitted)
        take("scores", self.has_scores, self.count, 8, number)
        take("evicted_keys", self.has_evicted & 1, self.evicted_count, 8, number)
        take("evicted_values", self.has_evicted & 2, self.evicted_count, self.width, bytes)
        take("evicted_scores", self.has_evicted & 4, self.evicted_count, 8, number)
        assert at == len(self.body), f"{at} of {len(self.body)} bytes"
        return out

    def entries(self):
        """Returns the body of a reply to SCAN with scores: [(key, value, score)]."""
        n, width = self.count, self.width
        keys = self.body[:8 * n]
        values = self.body[-(-8 * n // 64) * 64:][:n * width]
        scores = self.body[len(self.body) - -(-8 * n // 64) * 64:][:8 * n]
        return [(int.from_bytes(keys[8 * i:8 * i + 8], "little"), values[width * i:width * i + width],
                 int.from_bytes(scores[8 * i:8 * i + 8], "little")) for i in range(n)]

    def found(self):
        assert self.has_found is None, f"has_found is {self.has_found}"
        at = -(-self.count * self.width // 64) * 64 if self.has_values else 0
        return [self.body[at + i // 8] >> i % 8 & 1 for i in range(self.count)]


def receive_exactly(connection, size):
    data = b""
    while len(data) < size:
        try:
            part = connection.recv(min(1 << 20, size - len(data)))
        except ConnectionResetError:
            part = b""
        if not part:
            raise Closed(f"after {len(data)} of {size} bytes")
        data += part
    return data


def read_frame(connection):
    prefix = receive_exactly(connection, 16)
    assert prefix[:4] == MAGIC, f"no frame begins like {prefix!r}"
    header_bytes, body_bytes = struct.unpack("<IQ", prefix[4:])
    head = -(-(16 + header_bytes) // 64) * 64
    header = receive_exactly(connection, head - 16)[:header_bytes]
    return Reply(header, receive_exactly(connection, body_bytes))


def exchange(connection, request):
    """Sends the bytes of a frame, and returns the reply to it."""
    connection.sendall(request)
    return read_frame(connection)


def call(connection, operation, *arguments, **named):
    return exchange(connection, frame(operation, *arguments, **named))
