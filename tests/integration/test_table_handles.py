#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""libsherwood's handles of tables: each call is for its table, on the connections that all handles share."""

import contextlib
import ctypes
import pathlib
import socket
import subprocess
import tempfile
import threading

import wire
from harness import BUILD, Server, case, check, equal, main

OK, E_INVALID, E_REQUEST, E_TABLE = 0, -1, -8, -17


class Library:
    """libsherwood.so by ctypes."""

    def __init__(self):
        self.calls = ctypes.CDLL(str(BUILD / "libsherwood.so.0"))
        for name in ("sherwood_error", "sherwood_table_name"):
            getattr(self.calls, name).restype = ctypes.c_char_p
        self.calls.sherwood_server.restype = ctypes.c_void_p
        self.calls.sherwood_close.restype = None

    def connect(self, server):
        pointer = ctypes.c_void_p()
        address = f"{server.host}:{server.port}".encode()
        equal(self.calls.sherwood_connect(address, None, ctypes.byref(pointer)), OK, "connect")
        return Handle(self, pointer)


LIBRARY = Library()


class Handle:
    """A handle of libsherwood, with calls on integers."""

    def __init__(self, library, pointer):
        self.calls, self.pointer = library.calls, pointer

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.calls.sherwood_close(self.pointer)

    def open(self, name):
        """Returns the handle of a table, or the status and the sentence of a refusal."""
        pointer = ctypes.c_void_p()
        status = self.calls.sherwood_table_open(self.pointer, name.encode(), ctypes.byref(pointer))
        check(bool(pointer) == (status == OK), f"{status}: {pointer}")
        return Handle(LIBRARY, pointer) if status == OK else (status, self.error())

    def error(self):
        return self.calls.sherwood_error(self.pointer).decode()

    def widths(self):
        """Returns the bytes of a key and of a value."""
        facts = ctypes.string_at(self.calls.sherwood_server(self.pointer), 32 + 16 + 128 + 8)
        return int.from_bytes(facts[176:180], "little"), int.from_bytes(facts[180:184], "little")

    def array(self, numbers):
        kind = ctypes.c_uint64 if self.widths()[0] == 8 else ctypes.c_uint32
        return (kind * len(numbers))(*numbers)

    def set(self, pairs):
        keys, values = self.array(list(pairs)), self.array(list(pairs.values()))
        return self.calls.sherwood_set(self.pointer, keys, values, ctypes.c_size_t(len(pairs)))

    def get(self, keys):
        """Returns the values, 0 for an absent key, or the status of an error."""
        values = self.array([0] * len(keys))
        status = self.calls.sherwood_get(self.pointer, self.array(keys), ctypes.c_size_t(len(keys)), values, None)
        return list(values) if status == OK else status

    def scan(self, cursor, capacity=64):
        """Returns the status, the next cursor and the keys."""
        at, count = ctypes.c_uint64(cursor), ctypes.c_uint32()
        keys, values = self.array([0] * capacity), self.array([0] * capacity)
        status = self.calls.sherwood_scan(self.pointer, ctypes.byref(at), keys, values, capacity, ctypes.byref(count))
        return status, at.value, list(keys)[:count.value]

    def scan_all(self):
        status, cursor, keys = self.scan(0)
        while status == OK and cursor != 0:
            status, cursor, more = self.scan(cursor)
            keys += more
        equal(status, OK, self.error())
        return sorted(keys)


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
def dropped():
    """a request to a dropped table returns SHERWOOD_E_TABLE, also one whose body is long, and other tables are served"""
    with serving("--frame-ops-max", "65536") as (_, replies, client):
        table(replies, "CREATE", "t", "NUMBER", "7", "max-capacity", "1M")
        long = {key: key for key in range(65536)}
        with client.open("t") as old:
            equal(old.set({1: 1}), OK, "SET")
            table(replies, "DROP", "t")
            for _ in range(5):
                equal([old.get([1]), old.set(long), client.get([1])], [E_TABLE, E_TABLE, [0]], old.error())
            check("no table has the number 7" in (old.get([1]), old.error())[1], old.error())
            table(replies, "CREATE", "t", "NUMBER", "7", "key-bits", "32", "resp-keys", "decimal")
            equal(old.get([1]) in (E_TABLE, E_REQUEST), True, "a table of another shape")
            with client.open("t") as new:
                equal([new.set({1: 3}), new.get([1])], [OK, [3]], "opened again")


@case
def of_the_program():
    """sherwood-cli --table runs commands, load and dump on that table"""
    with serving() as (server, replies, client), tempfile.TemporaryDirectory() as folder:
        def run(*words, code=0):
            done = subprocess.run([str(BUILD / "sherwood-cli"), "-p", str(server.port), *words], capture_output=True, text=True,
                                  check=False, timeout=60)
            equal(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
            return done.stdout.strip() if code == 0 else done.stderr.strip()
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
        equal(run("--into", "v2", "get", "1", code=2), "sherwood-cli: --into and --swap are options of load")
        check("usage:" in run("table", "drop", code=2), "usage")
        equal(run("--table", "nothing", "get", "1", code=1),
              "--table nothing: the server refused the request: no such table: TABLE LIST shows the tables")


main()
