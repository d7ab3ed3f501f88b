# SPDX-License-Identifier: MIT
"""interfaces - the interfaces for operations on arrays of keys, for test_matrix.py.

ask() returns values and bits, None for those that were not requested, or the text of an error. `hits` is the number of
set bits that the server reports, `overflows` that of refused sums of integers; None: the interface does not report them.
"""

import ctypes
import struct

import wire
from harness import BUILD, check, equal
from matrix import columns
from ring import DETAILS, FOUND, FOUND_BYTES, HAS_TIMES, KEYS, OPERANDS, VALUES, Ring, place


def cut(data, size, count):
    """Returns the values of an array, which may have 0 bytes each."""
    return [data[i * size:(i + 1) * size] for i in range(count)]


def frame_of(ask, shape, wants=(True, True), number=1):
    """Returns the bytes of a frame. `wants`: values, bits."""
    row, body = ask.row, wire.array(ask.keys, shape.key_bytes) + wire.padded(ask.body(shape))
    header = {"want_values": wants[0], "want_found": wants[1] and (len(ask.keys) % 2 == 0 or None)}
    if row.verb in ("SETRANGE", "GETRANGE"):
        header["range_offset"], header["range_bytes"] = ask.part()
    if ask.each_ms is not None and len(set(ask.each_ms)) == 1:
        header["time_ms"] = ask.each_ms[0]
    elif ask.each_ms is not None:
        body += wire.array(ask.each_ms, 8)
        header["has_times"] = True
    return wire.envelope(wire.header_of(row.number, request_id=number, count=len(ask.keys), key_bytes=shape.key_bytes,
                                        value_bytes=shape.value_bytes, times=ask.when, **header), body)


class Frames:
    """Bulk frames."""
    takes_times = True
    counts = 1, 5, 70  # keys of a call
    wants = True, True  # values, bits

    def __init__(self, server, shape):
        self.connection, self.shape, self.hits, self.overflows = server.connect(), shape, None, None

    def absent(self, _row):
        return False

    may_refuse = absent

    def request(self, ask, number=1):
        return frame_of(ask, self.shape, self.wants, number)

    def ask(self, ask):
        return self.result(ask, wire.exchange(self.connection, self.request(ask)))

    def result(self, ask, reply):
        if reply.status != wire.OK:
            return reply.message
        arrays, self.hits, self.overflows = reply.arrays(), reply.hits, reply.overflows  # nothing is left over in the body
        check(("values" in arrays, "found" in arrays) == self.wants, f"{ask.row.name}: {set(arrays)} of {self.wants}")
        return arrays.get("values"), arrays.get("found")

    def close(self):
        self.connection.close()


class Segments(Frames):
    """Bulk frames with segments: up to three of them, all for the default table."""

    def may_refuse(self, row):
        return row.name not in wire.READS

    def ask(self, ask):
        shape, cut = self.shape, sorted({0, len(ask.keys) // 3, len(ask.keys) // 2, len(ask.keys)})
        parts = [(0, ask.keys[at:end], shape.value_bytes) for at, end in zip(cut, cut[1:])]
        request = wire.segments_frame(ask.row.number, parts, shape.key_bytes, want_values=self.wants[0],
                                      want_found=None if self.wants[1] else False)
        reply = wire.exchange(self.connection, request)
        if reply.status != wire.OK:
            return reply.message
        answers, self.hits, self.overflows = wire.segments_of(reply, parts), reply.hits, reply.overflows
        return tuple([one for answer in answers for one in answer[i]] if wanted else None for i, wanted in enumerate(self.wants))


class Rings(Frames):
    """Records of a ring in shared memory. Half of the GETs ask for a byte for each found bit."""
    AT = {KEYS: 0, OPERANDS: 1 << 16, VALUES: 1 << 18, FOUND: 1 << 19}
    TIMES_AT = 3 << 18

    def __init__(self, server, shape):
        self.ring, self.shape, self.hits, self.overflows = Ring(server), shape, None, None

    def details(self, ask):
        """Returns flags and arguments of a record."""
        offset, size = ask.part() if ask.row.verb in ("SETRANGE", "GETRANGE") else (0, 0)
        time, times = 0, ask.when
        if ask.each_ms is not None and len(set(ask.each_ms)) == 1:
            time = ask.each_ms[0]
        elif ask.each_ms is not None:
            self.ring.put(self.TIMES_AT, b"".join(at.to_bytes(8, "little") for at in ask.each_ms))
            time, times = place(0, self.TIMES_AT), times | HAS_TIMES
        arguments = time, offset | size << 32, times
        return DETAILS if any(arguments) else 0, arguments

    def ask(self, ask):
        shape, count, body = self.shape, len(ask.keys), ask.body(self.shape)
        width = 8 if ask.row.verb == "TTL" else ask.part()[1] if ask.row.verb == "GETRANGE" else shape.value_bytes
        arrays = {KEYS} | {i for i, wanted in zip((OPERANDS, VALUES, FOUND), (body, self.wants[0] and width, self.wants[1])) if wanted}
        self.ring.put(0, b"".join(key.to_bytes(shape.key_bytes, "little") for key in ask.keys))
        self.ring.put(self.AT[OPERANDS], body)
        in_bytes = ask.row.name == "GET" and self.wants[1] and sum(ask.keys) % 2 == 1
        self.ring.put(self.AT[FOUND], b"\xa5" * 128)
        flags, arguments = self.details(ask)
        done = self.ring.run(ask.row.number, count, {i: place(0, self.AT[i]) for i in arrays}, arguments=arguments,
                             flags=flags | FOUND_BYTES * in_bytes)
        if done.status != wire.OK:
            return done.message
        values = self.ring.get(self.AT[VALUES], count * width)
        found, self.hits, self.overflows = self.ring.get(self.AT[FOUND], 128), done.hits, done.overflows
        size = -(-count // 8) * 8 if in_bytes else -(-count // 64) * 8 if self.wants[1] else 0
        equal(found[size:], b"\xa5" * (128 - size), f"{ask.row.name}: bytes behind the found bits")
        if in_bytes:
            equal(found[count:size], bytes(size - count), f"{ask.row.name}: zeros behind the found bytes")
        bits = list(found[:count]) if in_bytes else [found[i // 8] >> i % 8 & 1 for i in range(count)]
        return (cut(values, width, count) if self.wants[0] else None,
                bits if self.wants[1] else None)

    def close(self):
        self.ring.close()


class Devices(Frames):
    """libsherwood-cuda: arrays in the memory of an emulated GPU. Half of the calls take place in the order of a stream."""
    counts = 1, 70
    AT, TIMES_AT = Rings.AT, Rings.TIMES_AT

    def __init__(self, server, shape):
        import attached  # pylint: disable=import-outside-toplevel
        self.of, self.shape, self.hits = attached, shape, None
        server.unix = "unix:" + server.unix_path
        self.library = attached.loaded()
        self.own = attached.Attached(self.library, ctypes.CDLL(str(attached.DRIVER)), server, -1)
        equal(self.own.error, "")

    def times(self, ask):
        """Returns struct sherwood_times."""
        times, each = self.of.Times(ctypes.sizeof(self.of.Times), ask.when), ask.each_ms
        if each is not None and len(set(each)) == 1:
            times.time_ms = each[0]
        elif each is not None:
            times.times_ms = self.own.at + self.TIMES_AT
            ctypes.memmove(times.times_ms, struct.pack(f"<{len(each)}Q", *each), 8 * len(each))
        return times

    def ask(self, ask):
        shape, count, verb, at = self.shape, len(ask.keys), ask.row.verb, self.own.at
        size = 8 if verb == "TTL" else ask.part()[1] if verb == "GETRANGE" else shape.value_bytes
        body, times, in_order = ask.body(shape), self.times(ask), sum(ask.keys) % 2
        ctypes.memmove(at, b"".join(key.to_bytes(shape.key_bytes, "little") for key in ask.keys), count * shape.key_bytes)
        ctypes.memmove(at + self.AT[OPERANDS], body, len(body))
        ctypes.memset(at + self.AT[FOUND], 0xa5, 128)
        call = self.of.Call(ctypes.sizeof(self.of.Call), ask.row.number, 0, at, at + self.AT[OPERANDS] if body else None, count,
                            at + self.AT[VALUES] if self.wants[0] and size else None, at + self.AT[FOUND] if self.wants[1] else None,
                            2 * in_order, None, None, ctypes.addressof(times) if ask.when else None)
        if "RANGE" in verb:
            call.range_offset, call.range_bytes = ask.part()
        status = self.library.sherwood_cuda_call(self.own.pointer, ctypes.byref(call))
        if (status or self.library.sherwood_cuda_check(self.own.pointer, True)) != 0:
            return self.library.sherwood_cuda_error().decode()
        values, found = ctypes.string_at(at + self.AT[VALUES], size * count), ctypes.string_at(at + self.AT[FOUND], 128)
        equal(found[-(-count // 64) * 8 if self.wants[1] else 0:].strip(b"\xa5"), b"", f"{ask.row.name}: bytes behind the found bits")
        return (cut(values, size, count) if self.wants[0] else None,
                [found[i // 8] >> i % 8 & 1 for i in range(count)] if self.wants[1] else None)

    def close(self):
        self.own.close()


class Library(Frames):
    """libsherwood: sherwood_run, and the functions of operations that have more than values."""
    counts = 1, 5, 300  # the last one is more than --frame-ops-max

    def __init__(self, server, shape):
        self.lib, self.shape, self.client = ctypes.CDLL(str(BUILD / "libsherwood.so")), shape, ctypes.c_void_p()
        self.hits = None
        self.lib.sherwood_error.restype = ctypes.c_char_p
        check(self.lib.sherwood_connect(server.address().encode(), None, ctypes.byref(self.client)) == 0, "connect")

    def ask(self, ask):
        shape, count, verb, lib = self.shape, len(ask.keys), ask.row.verb, self.lib
        keys = b"".join(key.to_bytes(shape.key_bytes, "little") for key in ask.keys)
        size = 8 if verb == "TTL" else ask.part()[1] if verb == "GETRANGE" else shape.value_bytes
        values, found = ctypes.create_string_buffer(size * count + 64), ctypes.create_string_buffer(8 * -(-count // 64))
        body, number, offset = ask.body(shape), ctypes.c_size_t(count), ask.part()[0] if "RANGE" in verb else 0
        given = None
        if verb == "SWAP":
            given, status = True, lib.sherwood_cas(self.client, keys, body, number, found)
        elif verb == "SETRANGE":
            given, status = True, lib.sherwood_set_range(self.client, keys, body, number, offset, ask.part()[1], found)
        elif verb == "GETRANGE":
            status = lib.sherwood_get_range(self.client, keys, number, offset, size, values, found)
        elif verb == "PERSIST":
            given, status = True, lib.sherwood_persist(self.client, keys, number, found)
        elif verb == "TTL":
            status = lib.sherwood_ttl(self.client, keys, number, values, found)
        elif ask.when:
            class Times(ctypes.Structure):  # struct sherwood_times
                _fields_ = [("size", ctypes.c_size_t), ("when", ctypes.c_int), ("time_ms", ctypes.c_uint64),
                            ("times_ms", ctypes.c_void_p)]
            each = ask.each_ms and ctypes.cast(ctypes.c_char_p(struct.pack(f"<{count}Q", *ask.each_ms)), ctypes.c_void_p)
            times = Times(ctypes.sizeof(Times), ask.when, 0, each)
            status = lib.sherwood_run_times(self.client, ask.row.number, keys, body or None, number, values, found,
                                            ctypes.byref(times))
        else:
            status = lib.sherwood_run(self.client, ask.row.number, keys, body or None, number, values, found)
        if status != 0:
            return lib.sherwood_error(self.client).decode()
        bitmap = [found.raw[i // 8] >> i % 8 & 1 for i in range(count)]
        return None if given else cut(values.raw, size, count), bitmap

    def close(self):
        self.lib.sherwood_close(self.client)


class Python(Frames):
    """run_many of the Python package."""
    takes_times = False
    counts = Library.counts

    def __init__(self, server, shape):
        import package  # pylint: disable=import-outside-toplevel
        self.np, self.shape, self.hits = package.np, shape, None
        self.client, self.refused = package.sherwood.connect(server.address()), package.sherwood.Error

    def absent(self, row):
        return columns(row.verb)[0] in ("PAIR", "PART", "TIME") or row.verb in ("GETRANGE", "PERSIST", "TTL")

    def ask(self, ask):
        shape, np = self.shape, self.np
        values = None
        if body := ask.body(shape):
            values = np.frombuffer(body, np.uint8).reshape(len(ask.keys), shape.value_bytes)
        try:
            layout = self.client.value_dtype
            if values is not None:
                values = values.reshape(-1).view(layout).reshape(len(ask.keys), *self.client.value_shape)
            keys = np.array(ask.keys, np.uint64 if shape.key_bytes == 8 else np.uint32)
            got = self.client.run_many(ask.row.name.lower(), keys, values)
        except (self.refused, ValueError, TypeError) as error:
            if "does not exist" in str(error):
                raise AssertionError(f"{ask.row.name}: build/python is older than proto/ops/operations.h: make python") from error
            return str(error)
        raw = np.ascontiguousarray(got.previous).tobytes()
        return (cut(raw, shape.value_bytes, len(ask.keys)),
                [int(bit) for bit in got.found])

    def close(self):
        self.client.close()
