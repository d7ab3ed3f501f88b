#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""libsherwood's handles of tables: each call is for its table, on the connections that all handles share."""

import contextlib
import ctypes
import mmap
import pathlib
import socket
import subprocess
import tempfile
import threading

import ring
import wire
from handles import E_CONNECTION, E_INVALID, E_REQUEST, E_TABLE, LIBRARY, OK
from harness import BUILD, Server, case, check, equal, main


@contextlib.contextmanager
def serving(*flags):
    """Yields a server, replies by RESP and a handle of its default table."""
    with Server("--capacity", "4K", *flags) as server, server.connect() as connection, LIBRARY.connect(server) as client:
        yield server, wire.Replies(connection), client


def table(replies, *words):
    equal(replies.ask("TABLE", *words), "OK", words)


@case
def opened():
    """a handle has the facts of its table, and its calls are for that table alone"""
    with serving() as (_, replies, client):
        table(replies, "CREATE", "wide")
        table(replies, "CREATE", "narrow", "NUMBER", "7", "key-bits", "32", "resp-keys", "decimal")
        with client.open("wide") as wide, client.open("7") as narrow, wide.open("default") as default:
            equal([each.widths() for each in (client, wide, narrow, default)], [(8, 8), (8, 8), (4, 4), (8, 8)], "widths")
            equal([LIBRARY.calls.sherwood_table_name(each.pointer) for each in (client, wide, narrow, default)],
                  [b"", b"wide", b"narrow", b"default"], "names")
            numbers = [LIBRARY.calls.sherwood_table_number(each.pointer) for each in (client, wide, narrow, default)]
            check(numbers[0] == numbers[3] == 0 and len(set(numbers)) == 3, numbers)
            every = (client, wide, narrow)
            equal([each.set({key: key + i for key in range(200)}) for i, each in enumerate(every)], [OK] * 3, "SET")
            for _ in range(3):
                equal([each.get([5, 6, 1000]) for each in every], [[5, 6, 0], [6, 7, 0], [7, 8, 0]], "GET in turns")
            equal(default.get([5]), [5], "the default table by its name")
            equal([each.scan_all() for each in (client, wide, narrow, default)], [list(range(200))] * 4, "SCAN")
            ping, clear = LIBRARY.calls.sherwood_ping, LIBRARY.calls.sherwood_clear
            equal([ping(each.pointer) for each in every], [OK] * 3, narrow.error())
            equal(clear(narrow.pointer), OK, narrow.error())
            equal([len(each.scan_all()) for each in every], [200, 200, 0], "CLEAR of one table")
            digest = ctypes.create_string_buffer(64)
            equal(LIBRARY.calls.sherwood_digest(wide.pointer, digest), OK, wide.error())
            equal(int.from_bytes(digest.raw[8:16], "little"), 200, "the entries of a DIGEST")
        equal(client.get([5]), [5], "the connections stay when the handles of tables are closed")


@case
def changed():
    """tables are created, listed, swapped, renamed and dropped through a handle, with the errors of TABLE"""
    with serving() as (_, _, client):
        def words(*texts):
            return (ctypes.c_char_p * len(texts))(*(text.encode() for text in texts)), ctypes.c_size_t(len(texts))
        calls = client.calls
        equal(calls.sherwood_table_create(client.pointer, b"v2", *words("LIKE", "default", "NUMBER", "7")), OK, client.error())
        with client.open("v2") as v2:
            equal([client.set({1: 1}), v2.set({1: 2, 2: 2})], [OK, OK], "SET")
            equal(calls.sherwood_table_swap(v2.pointer, b"default", b"7"), OK, v2.error())
            equal([client.get([1, 2]), v2.get([1, 2])], [[2, 2], [1, 0]], "behind the swap")
        rows, at, count = ctypes.create_string_buffer(128 * 2), ctypes.c_uint32(), ctypes.c_uint32()
        def listed(capacity):
            equal(calls.sherwood_tables(client.pointer, ctypes.byref(at), rows, capacity, ctypes.byref(count)), OK, client.error())
            return [(rows.raw[i:i + 64].rstrip(b"\0"), int.from_bytes(rows.raw[i + 72:i + 80], "little"))
                    for i in range(0, 128 * count.value, 128)]
        equal([listed(2), at.value], [[(b"default", 2), (b"v2", 1)], 0], "the tables and their keys")
        equal([listed(1), at.value, listed(1), at.value], [[(b"default", 2)], 7, [(b"v2", 1)], 0], "in parts")
        equal(calls.sherwood_table_rename(client.pointer, b"v2", b"old"), OK, client.error())
        equal(calls.sherwood_table_drop(client.pointer, b"v2"), E_TABLE, client.error())
        equal(calls.sherwood_table_drop(client.pointer, b"old"), OK, client.error())
        equal(calls.sherwood_table_create(client.pointer, b"9x", None, ctypes.c_size_t(0)), E_REQUEST, "a name")
        check("a table's name is" in client.error(), client.error())
        equal(calls.sherwood_table_create(client.pointer, b"x", *words(*["capacity"] * 200)), E_INVALID, "too many words")
        equal(calls.sherwood_table_create(client.pointer, b"x" * 2000, None, ctypes.c_size_t(0)), E_INVALID, "a long word")
        equal(client.get([1]), [2], "the handle goes on")


@case
def not_opened():
    """a name that no table has, a bad name and an older server are refused in words"""
    with serving() as (_, _, client):
        equal(client.open("nothing"), (E_TABLE, "the server refused the request: no such table: TABLE LIST shows the tables"))
        equal(client.open("")[0], E_INVALID)
        equal(client.open("n" * 64)[0], E_INVALID)
        equal(client.get([1]), [0], "the handle goes on")
    with older_server() as server, LIBRARY.connect(server) as client:
        status, sentence = client.open("t")
        equal((status, "has one table" in sentence), (E_REQUEST, True), sentence)


@contextlib.contextmanager
def older_server():
    """Stands for a server that has one table: it skips the fields of tables in a HELLO."""
    class Older:
        host, port = "127.0.0.1", 0

        def __init__(self):
            self.listener = socket.create_server((self.host, 0))
            self.port = self.listener.getsockname()[1]

        def run(self):
            connection, _ = self.listener.accept()
            info = b"".join(wire.field(i, v) for i, v in ((1, b"0.0.9"), (2, 8), (3, 8), (4, 65536), (5, 8), (13, 1 << 24)))
            with connection:
                while True:
                    try:
                        prefix = wire.receive_exactly(connection, 64)
                    except wire.Closed:
                        return
                    size = int.from_bytes(prefix[4:8], "little")
                    request = wire.parse_message(prefix[16:16 + size] + wire.receive_exactly(connection, -(-(16 + size) // 64) * 64 - 64))
                    connection.sendall(wire.envelope(wire.field(1, request[1]) + wire.field(10, info)))
    older = Older()
    thread = threading.Thread(target=older.run)
    thread.start()
    try:
        yield older
    finally:
        thread.join()
        older.listener.close()


@case
def swapped():
    """a handle follows a swap; a scan that began before ends with SHERWOOD_E_TABLE, and the next one is of the new table"""
    with serving() as (_, replies, client):
        table(replies, "CREATE", "v2", "LIKE", "default")
        with client.open("default") as served, client.open("v2") as v2:
            equal([served.set({key: 1 for key in range(500)}), v2.set({key: 2 for key in range(1000, 1500)})], [OK, OK], "SET")
            status, cursor, _ = served.scan(0)
            check(status == OK and cursor != 0, "a scan that has begun")
            table(replies, "SWAP", "default", "v2")
            equal([served.get([5, 1000]), v2.get([5, 1000]), client.get([5, 1000])], [[0, 2], [1, 0], [0, 2]], "GET")
            status, _, _ = served.scan(cursor)
            equal((status, "begin again with 0" in served.error()), (E_TABLE, True), served.error())
            equal(served.scan_all(), list(range(1000, 1500)), "a scan that begins")
            equal(v2.scan_all(), list(range(500)), "a scan of the other table, which was swapped before it began")


@case
def swapped_by_force():
    """SWAP .. FORCE of other widths ends calls with SHERWOOD_E_TABLE, until the widths are back or the table is opened again; RESP goes on"""
    with serving("--loops", "2") as (server, replies, client), server.replies() as redis:
        table(replies, "CREATE", "v1")
        table(replies, "CREATE", "narrow", "key-bits", "32", "resp-keys", "decimal")
        refused = replies.ask("TABLE", "SWAP", "v1", "narrow")
        check("have different shapes" in refused, refused)
        check("syntax error: TABLE HELP" in replies.ask("TABLE", "SWAP", "v1", "narrow", "force", "x"), "a word too many")
        equal(redis.ask("SELECT", "v1"), "OK", "SELECT")
        with client.open("v1") as v1, client.open("narrow") as narrow:
            equal([v1.set({1: 10}), narrow.set({1: 20})], [OK, OK], "SET")
            equal([redis.ask("MULTI"), redis.ask("GET", 1)], ["OK", "QUEUED"], "MULTI")
            table(replies, "SWAP", "v1", "narrow", "FORCE")
            check("EXECABORT" in redis.ask("EXEC"), "a transaction of before")
            for _ in range(2):
                equal([v1.get([1]), v1.set({1: 1}), narrow.get([1])], [E_TABLE] * 3, v1.error())
            check("a table of another shape lies in the place of 'narrow'" in narrow.error(), narrow.error())
            with client.open("v1") as again:
                equal([again.widths(), again.get([1]), redis.ask("GET", 1)], [(4, 4), [20], b"20"], "the new table")
            table(replies, "SWAP", "v1", "narrow", "FORCE")
            equal([v1.get([1]), narrow.get([1]), redis.ask("GET", 1)], [[10], [20], b"10"], "back")


@case
def forced_beside_a_ring():
    """calls by the ring go on when the widths of before are back, on each handle of the connection, and follow a later SWAP"""
    with ring.serving("--capacity", "4K") as server, LIBRARY.connect(server) as client, server.replies() as replies:
        table(replies, "CREATE", "narrow", "key-bits", "32", "resp-keys", "decimal")
        table(replies, "CREATE", "v2")
        with client.open("v2") as v2, client.open("default") as default:
            client.shared(b"")
            v2.region = default.region = client.region
            equal([client.set({1: 10}), v2.set({1: 20})], [OK, OK], "SET")
            for _ in range(2):
                for place, handle in (("default", client), ("v2", v2)):
                    table(replies, "SWAP", place, "narrow", "FORCE")
                    equal([handle.get([1]), handle.get([1])], [E_TABLE] * 2, handle.error())
                    check(f"another shape lies in the place of '{place}'" in handle.error(), handle.error())
                    table(replies, "SWAP", place, "narrow", "FORCE")
                before = server.metrics()["sherwood_ring_requests_total"]
                equal([client.get([1]), default.get([1]), v2.get([1])], [[10], [10], [20]], client.error())
                check(server.metrics()["sherwood_ring_requests_total"] >= before + 3, "by the ring")
                table(replies, "SWAP", "default", "v2")
                equal([client.get([1]), default.get([1]), v2.get([1])], [[20], [20], [10]], "SWAP of one shape")
                table(replies, "SWAP", "default", "v2")


@case
def dropped():
    """a request to a dropped table returns SHERWOOD_E_TABLE, also one whose body is long, and other tables are served"""
    with serving("--frame-ops-max", "65536") as (server, replies, client):
        table(replies, "CREATE", "t", "NUMBER", "7", "max-capacity", "1M")
        long = {key: key for key in range(65536)}
        with client.open("t") as old:
            equal(old.set({1: 1}), OK, "SET")
            table(replies, "DROP", "t")
            for _ in range(5):
                equal([old.get([1]), old.set(long), client.get([1])], [E_TABLE, E_TABLE, [0]], old.error())
            check("no table has the number 7" in (old.get([1]), old.error())[1], old.error())
            equal([client.renew(), old.renew()], [OK, E_TABLE], old.error())
            table(replies, "CREATE", "t", "NUMBER", "7", "key-bits", "32", "resp-keys", "decimal")
            equal(old.get([1]) in (E_TABLE, E_REQUEST), True, "a table of another shape")
            with client.open("t") as new:
                equal([new.set({1: 3}), new.get([1])], [OK, [3]], "opened again")
                server.end_by_kill()
                equal([client.renew(), new.renew(), new.get([1])], [E_CONNECTION] * 3, new.error())


class Segment(ctypes.Structure):
    """struct sherwood_segment."""
    _fields_ = [("table", ctypes.c_void_p), ("keys", ctypes.c_void_p), ("values", ctypes.c_void_p), ("found", ctypes.c_void_p),
                ("count", ctypes.c_uint32)]


def filled(size):
    return ctypes.create_string_buffer(b"\xff" * size, size)


class Read:
    """A read of several tables: the segments of (handle, keys), with arrays for values and found bits unless declined."""

    def __init__(self, client, parts, values=True, found=True):
        self.client = client
        self.keys = [handle.array(keys) for handle, keys in parts]
        self.values = [filled(max(1, len(keys) * handle.widths()[1])) for handle, keys in parts]
        self.found = [filled(max(8, -(-len(keys) // 64) * 8)) for _, keys in parts]
        self.list = (Segment * len(parts))(*(
            Segment(handle.pointer, ctypes.addressof(keys), ctypes.addressof(one) if values else None,
                    ctypes.addressof(bits) if found else None, len(keys))
            for (handle, _), keys, one, bits in zip(parts, self.keys, self.values, self.found)))

    def run(self):
        return self.client.calls.sherwood_get_segments(self.client.pointer, self.list, ctypes.c_size_t(len(self.list)))

    def answers(self):
        """Returns the values of each segment as bytes, None for an absent key."""
        out = []
        for keys, values, found in zip(self.keys, self.values, self.found):
            width = len(values.raw) // max(1, len(keys))
            out.append([values.raw[i * width:(i + 1) * width] if found.raw[i // 8] >> i % 8 & 1 else None for i in range(len(keys))])
        return out


def number(value, width=8):
    return value.to_bytes(width, "little")


@case
def segments():
    """one call reads tables of several widths, in as many frames as it needs, and leaves declined arrays alone"""
    with serving("--frame-ops-max", "1024") as (server, replies, client):
        table(replies, "CREATE", "rows", "value-bytes", "24", "value-type", "bytes")
        table(replies, "CREATE", "more", "max-capacity", "1M")
        with client.open("rows") as rows, client.open("more") as more:
            equal([client.set({key: key + 1 for key in range(100)}), more.set({key: 2 * key for key in range(3000)})], [OK, OK], "SET")
            equal(client.calls.sherwood_set(rows.pointer, rows.array([7]), b"x" * 24, ctypes.c_size_t(1)), OK, rows.error())
            parts = [(client, list(range(130))), (rows, [7, 8]), (more, [1]), (more, []), (client, [5])]
            wanted = [[number(key + 1) if key < 100 else None for key in range(130)], [b"x" * 24, None], [number(2)], [], [number(6)]]
            for through in (client, rows):
                read = Read(through, parts)
                equal(read.run(), OK, through.error())
                equal(read.answers(), wanted, "answers")
            equal(read.values[0].raw[100 * 8:130 * 8], bytes(30 * 8), "the values of absent keys")
            sent = server.metrics()["sherwood_frame_segments_total"]
            equal(sent, 8, "four segments with keys, twice")
            alone = Read(client, parts, found=False)
            equal([alone.run(), alone.found[0].raw, alone.values[4].raw[:8]], [OK, b"\xff" * 24, number(6)], "values alone")
            bits = Read(client, parts, values=False)
            equal([bits.run(), bits.found[1].raw[:8], bits.values[4].raw[:1]], [OK, number(1), b"\xff"], "found bits alone")
            long = Read(client, [(more, list(range(2, 2503))), (client, list(range(1000))), (more, [4, 5])] + [(client, [1])] * 100)
            equal(long.run(), OK, client.error())
            equal(long.answers(), [[number(2 * key) for key in range(2, 2503)], [number(key + 1) if key < 100 else None for key in range(1000)],
                                   [number(8), number(10)]] + [[number(2)]] * 100, "a call of several frames")


@case
def submitted_segments():
    """reads of several tables are submitted, several at a time, and end as other requests do"""
    with serving() as (_, replies, client):
        table(replies, "CREATE", "t")
        with client.open("t") as other:
            equal([client.set({1: 10}), other.set({1: 20})], [OK, OK], "SET")
            request_bytes = ctypes.sizeof(Request)
            reads = [Read(client, [(client, [1, i]), (other, [i, 1])]) for i in range(2, 6)]
            requests = [Request(request_bytes, 1) for _ in reads]
            rooms = [ctypes.create_string_buffer(1024) for _ in reads]
            for request, read, room in zip(requests, reads, rooms):
                equal(client.calls.sherwood_submit_segments(client.pointer, ctypes.byref(request), read.list, 2, room), OK, client.error())
            for request in requests:
                equal(client.calls.sherwood_wait(client.pointer, ctypes.byref(request)), OK, client.error())
                equal((request.status, request.hits), (OK, 2), "the result of a request")
            equal([read.answers() for read in reads], [[[number(10), None], [None, number(20)]]] * 4, "answers")


DISCARD, CONSTANT = 1, 4
CONSTANT_MEMORY = []  # stays until the process ends


def traffic(client):
    """Returns the writes so far, and the bytes that were sent as pages."""
    counts = (ctypes.c_uint64 * 9)()
    client.calls.sherwood_traffic(client.pointer, counts, ctypes.c_size_t(ctypes.sizeof(counts)))
    return counts[1], counts[6]


@case
def flags_of_segments():
    """a frame of several tables drops values, and sends keys that never change as pages: those of segments that follow each other in
    memory together, and others by few writes"""
    count, short = 8192, 3
    with serving() as (_, replies, client):
        table(replies, "CREATE", "t")
        with client.open("t") as other:
            equal([client.set({key: key + 1 for key in range(100)}), other.set({key: key + 2 for key in range(count, count + 100)})], [OK, OK], "SET")
            keys = mmap.mmap(-1, 2 * count * 8)
            CONSTANT_MEMORY.append(keys)
            keys.write(b"".join(number(key) for key in range(2 * count)))
            base = ctypes.addressof(ctypes.c_char.from_buffer(keys))
            read = Read(client, [(client, range(count)), (other, range(count, 2 * count))] + [(client, range(short)), (other, range(short))] * 20)
            CONSTANT_MEMORY.append(read.keys)
            read.list[0].keys, read.list[1].keys = base, base + count * 8
            wanted = [[number(key + 1) if key < 100 else None for key in range(count)],
                      [number(key + 2) if key < count + 100 else None for key in range(count, 2 * count)]]
            wanted += [[number(key + 1) for key in range(short)], [None] * short] * 20
            untouched = [values.raw for values in read.values]
            for flags in (0, CONSTANT, CONSTANT | DISCARD, DISCARD, CONSTANT):
                for segment, values in zip(read.list, read.values):
                    segment.values = None if flags & DISCARD else ctypes.addressof(values)
                    ctypes.memset(values, 0xff, len(values.raw))
                request, room = Request(ctypes.sizeof(Request), 1, flags=flags), ctypes.create_string_buffer(1024)
                before = traffic(client)
                equal(client.calls.sherwood_submit_segments(client.pointer, ctypes.byref(request), read.list, len(read.list), room), OK, client.error())
                equal(client.calls.sherwood_wait(client.pointer, ctypes.byref(request)), OK, client.error())
                equal((request.status, request.hits), (OK, 200 + 20 * short), f"flags {flags}")
                if flags & DISCARD:
                    equal([values.raw for values in read.values], [b"\xff" * len(raw) for raw in untouched], "values were dropped")
                else:
                    equal(read.answers(), wanted, f"flags {flags}")
                moved = [now - then for now, then in zip(traffic(client), before)]
                equal(moved[1], 2 * count * 8 if flags & CONSTANT else 0, f"flags {flags}: bytes as pages")
                check(moved[0] < 16, f"flags {flags}: {moved[0]} writes")


class Request(ctypes.Structure):
    """struct sherwood_request."""
    _fields_ = [("size", ctypes.c_size_t), ("operation", ctypes.c_int), ("count", ctypes.c_uint32), ("keys", ctypes.c_void_p),
                ("values", ctypes.c_void_p), ("previous", ctypes.c_void_p), ("found", ctypes.c_void_p), ("pieces", ctypes.c_void_p),
                ("pieces_count", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("status", ctypes.c_int), ("hits", ctypes.c_uint64),
                ("overflows", ctypes.c_uint64), ("user", ctypes.c_void_p), ("id", ctypes.c_uint64), ("state", ctypes.c_int),
                ("next", ctypes.c_void_p), ("cache", ctypes.c_void_p), ("scale", ctypes.c_float), ("operand_type", ctypes.c_int),
                ("range_offset", ctypes.c_uint32), ("range_bytes", ctypes.c_uint32), ("times", ctypes.c_void_p)]


@case
def segments_in_regions():
    """if all arrays lie in regions, each segment is a record of the ring; otherwise one frame by the socket has all of them. An error
    of a record names its segment, and fails the call"""
    with ring.serving("--capacity", "4K") as server, LIBRARY.connect(server) as client:
        equal(client.calls.sherwood_table_create(client.pointer, b"t", None, ctypes.c_size_t(0)), OK, client.error())
        with client.open("t") as other:
            equal([client.set({1: 10}), other.set({1: 20, 2: 21})], [OK, OK], "SET")
            read = Read(client, [(client, [1, 2]), (other, [1, 2])])
            for segment, keys in zip(read.list, read.keys):
                segment.keys, segment.values, segment.found = (client.shared(content) for content in (bytes(keys), b"\xff" * 16, b"\xff" * 8))
            def moved():
                before = server.metrics()
                equal(read.run(), OK, client.error())
                for segment, values, found in zip(read.list, read.values, read.found):
                    ctypes.memmove(values, segment.values, 16)
                    ctypes.memmove(found, segment.found, 8)
                equal(read.answers(), [[number(10), None], [number(20), number(21)]], "answers")
                now = server.metrics()
                return [now[name] - before[name] for name in ("sherwood_ring_requests_total", "sherwood_frame_segments_total")]
            equal(moved(), [2, 0], "by the ring")
            keys = ctypes.create_string_buffer(bytes(read.keys[1]), 16)
            read.list[1].keys = ctypes.addressof(keys)
            equal(moved(), [0, 2], "by the socket")
            read.list[1].keys = client.shared(bytes(read.keys[1]))
            with server.replies() as replies:
                table(replies, "CREATE", "narrow", "key-bits", "32", "resp-keys", "decimal")
                table(replies, "SWAP", "t", "narrow", "FORCE")
                equal((read.run(), "another shape lies in the place of 't'" in client.error()), (E_TABLE, True), client.error())
                table(replies, "SWAP", "t", "narrow", "FORCE")
                equal(moved(), [2, 0], "the way back")
            with client.open("t") as again, server.replies() as replies:
                read.list[1].table = again.pointer
                table(replies, "DROP", "t")
                equal((read.run(), client.error().startswith("segment 1: ")), (E_TABLE, True), client.error())
            many = Read(client, [(client, [1])] * 300)
            for segment, keys in zip(many.list, many.keys):
                segment.keys, segment.values, segment.found = (client.shared(content) for content in (bytes(keys), b"\xff" * 8, b"\xff" * 8))
            equal(many.run(), OK, client.error())
            equal({ctypes.string_at(segment.values, 8) for segment in many.list}, {number(10)}, "more records than the ring has")


@case
def bad_segments():
    """wrong arguments, an older server, a dropped table and another width of keys are refused in words"""
    with serving() as (server, replies, client), LIBRARY.connect(server) as stranger:
        table(replies, "CREATE", "t")
        table(replies, "CREATE", "narrow", "key-bits", "32", "resp-keys", "decimal")
        with client.open("t") as other, client.open("narrow") as narrow:
            def refused(status, sentence, parts, change=None):
                read = Read(client, parts)
                if change is not None:
                    change(read.list)
                equal((read.run(), sentence in client.error()), (status, True), client.error())
            def forget(name):
                return lambda segments: setattr(segments[1], name, None)
            good = [(client, [1]), (other, [1])]
            refused(E_INVALID, "segment 1: its table is no handle of this connection", [(client, [1]), (stranger, [1])])
            refused(E_INVALID, "segment 1: its table is no handle", good, forget("table"))
            refused(E_INVALID, "segment 1: its keys are NULL", good, forget("keys"))
            refused(E_INVALID, "segment 1: its keys have another width", [(client, [1]), (narrow, [1])])
            calls, pointer, read = client.calls, client.pointer, Read(client, good)
            equal(calls.sherwood_get_segments(pointer, None, ctypes.c_size_t(1)), E_INVALID, "no list")
            equal(calls.sherwood_get_segments(pointer, read.list, ctypes.c_size_t(0)), E_INVALID, "no segments")
            equal(calls.sherwood_get_segments(None, read.list, ctypes.c_size_t(2)), E_INVALID, "no handle")
            equal(calls.sherwood_read_segments(pointer, 2, read.list, ctypes.c_size_t(2)), E_INVALID, "SET")
            equal(calls.sherwood_read_segments(pointer, 11, read.list, ctypes.c_size_t(2)), E_REQUEST, "PEEK of integers")
            room, many = ctypes.create_string_buffer(1024), Read(client, good * 40)
            def submit(request, segments, count):
                return calls.sherwood_submit_segments(pointer, ctypes.byref(request), segments, count, room), client.error()
            whole = ctypes.sizeof(Request)
            for request, segments, count, sentence in ((Request(whole, 1), many.list, 80, "are too many"),
                                                       (Request(8, 1), read.list, 2, "the field size is 8"),
                                                       (Request(whole, 2), read.list, 2, "is no read of values"),
                                                       (Request(whole, 1, keys=1), read.list, 2, "the request has arrays"),
                                                       (Request(whole, 1, flags=8), read.list, 2, "the request has arrays"),
                                                       (Request(whole, 1), Read(client, [(client, [1]), (other, [])]).list, 2, "no keys")):
                status, error = submit(request, segments, count)
                equal((status, sentence in error), (E_INVALID, True), error)
            equal(calls.sherwood_submit_segments(pointer, ctypes.byref(Request(whole, 1)), read.list, 2, None), E_INVALID, "no room")
            equal(read.run(), OK, "the handle goes on")
            table(replies, "DROP", "t")
            equal((read.run(), "segment 1: no table has the number" in client.error()), (E_TABLE, True), client.error())
            equal(client.get([1]), [0], "the handle goes on")
    with older_server() as server, LIBRARY.connect(server) as client:
        read = Read(client, [(client, [1])])
        equal((read.run(), "has one table" in client.error()), (E_REQUEST, True), client.error())


@case
def of_the_program():
    """sherwood-cli --table runs commands, load and dump on that table"""
    with serving() as (server, replies, client), tempfile.TemporaryDirectory() as folder:
        def run(*words, code=0):
            done = subprocess.run([str(BUILD / "sherwood-cli"), "-p", str(server.port), *words], capture_output=True, text=True,
                                  check=False, timeout=60)
            equal(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
            return (done.stdout if code == 0 else done.stderr or done.stdout).strip()
        table(replies, "CREATE", "users", "NUMBER", "7")
        equal([run("--table", "users", "set", "1", "5"), run("--table", "7", "get", "1"), run("get", "1")], ["OK", "5", ""], "SET")
        pairs = pathlib.Path(folder, "pairs.csv")
        pairs.write_text("".join(f"{key},{key}\n" for key in range(1000)), encoding="ascii")
        run("load", "--table", "users", "-q", str(pairs))
        equal([run("--table", "users", "dbsize"), run("dbsize")], ["1000", "0"], "load")
        copy = pathlib.Path(folder, "copy.csv")
        run("dump", "-q", "--table", "users", str(copy))
        equal(sorted(copy.read_text(encoding="ascii").split()), sorted(pairs.read_text(encoding="ascii").split()), "dump")
        run("--table", "users", "flushall")
        equal(run("--table", "users", "dbsize"), "0", "flushall of one table")
        equal(client.set({1: 1}), OK, "SET")
        run("load", "--into", "v2", "-q", str(pairs))
        equal([run("--table", "v2", "dbsize"), run("dbsize")], ["1000", "1"], "load --into")
        shown = [row.split("\t")[:3] for row in run("table", "list").splitlines()]
        equal(shown, [["name", "number", "keys"], ["default", "0", "1"], ["users", "7", "0"], ["v2", "65536", "1000"]], "list")
        run("load", "--into", "v2", "--swap", "-q", str(pairs))
        equal([run("--table", "v2", "dbsize"), run("dbsize")], ["1", "1000"], "load --into --swap")
        equal([run("table", "swap", "default", "v2"), run("dbsize")], ["OK", "1"], "and back")
        equal(run("table", "create", "t", "value-bytes", "16", "value-type", "f32"), "OK", "create")
        equal([run("table", "rename", "t", "u"), run("table", "truncate", "v2"), run("table", "drop", "u")], ["OK"] * 3, "changes")
        equal(run("table", "info", "7").splitlines()[1].split("\t")[0], "users", "info")
        equal(run("load", "--swap", str(pairs), code=1), "sherwood-cli: --swap needs --into NAME: the table to load")
        for words in (("--into", "0"), ("--into", "default"), ("--table", "v2", "--into", "v2")):
            check("--swap exchanges two tables" in run("load", *words, "--swap", str(pairs), code=1), words)
        check("| alter NAME OPTION VALUE .." in run("table", code=2), "the usage")
        table(replies, "CREATE", "alone", "value-type", "none")
        check("INSERT keys" in run("--table", "alone", "set", "1", "2", code=1), "SET of a key set")
        check("the line must end behind the key" in run("--table", "alone", "load", str(pairs), code=1), "load of a key set")
        equal(run("--into", "v2", "get", "1", code=2), "sherwood-cli: --into and --swap are options of load")
        check("usage:" in run("table", "drop", code=2), "usage")
        equal(run("--table", "nothing", "get", "1", code=1),
              "--table nothing: the server refused the request: no such table: TABLE LIST shows the tables")


main()
