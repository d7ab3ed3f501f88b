#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Bulk frames and rings to several tables: a frame names a place by its number, and finds the table there when it starts."""

import contextlib
import random
import threading

import ring
import wire
from frame_tables import FIRST, create, got, hello, put, serving
from handles import E_TABLE, LIBRARY, OK
from harness import case, check, drawn_seed, equal, eventually, main

SEED = drawn_seed()


@case
def hellos():
    """HELLO with a name returns the facts of that table; without a name it has the bytes of a server with one table"""
    with serving() as (_, replies, frames):
        before = wire.call(frames, wire.HELLO).info
        equal([field for field in before if field >= 43], [48], "the run of the server, and no facts of tables")
        equal(hello(frames, "default"), [1, None, b"default", 1], "the default table")
        create(replies, "narrow", "key-bits", 32, "resp-keys", "decimal")
        create(replies, "seven", "NUMBER", 7, "value-bytes", 60, "value-type", "string", "resp-keys", "hash")
        equal(hello(frames, "narrow"), [1, FIRST, b"narrow", 2], "a number of the server")
        equal(hello(frames, "7"), [1, 7, b"seven", 3], "by number")
        info = wire.call(frames, wire.HELLO, table_name=b"seven").info
        equal((info[2], info[3], info[11], info[32]), (8, 64, 1, 1), "widths, format and type of strings")
        equal(wire.call(frames, wire.HELLO, table_name=b"narrow").info[2], 4, "keys of 32 bits")
        for name in (b"nothing", b"8", b"65537"):
            reply = wire.call(frames, wire.HELLO, table_name=name)
            equal((reply.status, reply.info), (wire.NO_TABLE, {}), name)
        after = wire.call(frames, wire.HELLO).info
        equal(after, before, "HELLO without a name")


@case
def versions():
    """a frame for another place has version 2; a frame whose version and table disagree ends its connection"""
    with serving() as (server, replies, _):
        create(replies, "t", "NUMBER", 5)
        for what, data in (("version 1 with a table", wire.envelope(wire.header_of(wire.CLEAR, table=5))),
                           ("version 2 without one", wire.envelope(wire.header_of(wire.PING), magic=wire.MAGIC_TABLES)),
                           ("version 3", wire.envelope(wire.header_of(wire.PING, table=5), magic=b"\xd5SW\x03"))):
            with server.connect() as connection:
                reply = wire.exchange(connection, data)
                equal((reply.status, reply.message), (wire.BAD_REQUEST, "unsupported frame version"), what)
                equal(connection.recv(1), b"", f"{what}: closed")
        with server.connect() as connection:
            long = wire.exchange(connection, wire.frame(wire.HELLO, table_name=b"x" * 64))
            equal(long.status, wire.BAD_REQUEST, "a name that is too long")


@case
def widths():
    """each table has its own engine, widths, kind of values and operations, and a frame must fit its table"""
    with serving() as (_, replies, frames):
        create(replies, "narrow", "NUMBER", 1, "key-bits", 32, "resp-keys", "decimal")
        create(replies, "rows", "NUMBER", 2, "value-bytes", 64, "value-type", "f32")
        create(replies, "cache", "NUMBER", 3, "engine", "cache", "value-bytes", 8, "capacity", "1K")
        equal(put(frames, 0, [1, 2], [10, 20]), wire.OK, "the default table")
        equal(put(frames, 1, [1, 2], [11, 21], width=4), wire.OK, "a table of 32 bits")
        equal(put(frames, 1, [1], [1]), wire.BAD_REQUEST, "keys of 64 bits")
        wide = wire.array(range(100), 8) + bytes(100 * 64)
        rows = wire.header_of(wire.SET, 100, 8, 64, table=2)
        equal(wire.exchange(frames, wire.envelope(rows, wide, magic=wire.MAGIC_TABLES)).status, wire.OK, "rows of 64 bytes")
        reply = wire.call(frames, wire.ADD_F32, [1], table=2, value_bytes=64)
        equal(reply.status, wire.BAD_REQUEST, "a layout of rows")
        equal(wire.call(frames, wire.ADD_F32, [1], [1]).status, wire.UNKNOWN_OPERATION, "ADD of integers")
        equal(wire.call(frames, wire.PEEK, [1], table=3, value_bytes=12).status, wire.OK, "PEEK of the cache")
        equal(wire.call(frames, wire.PEEK, [1]).status, wire.UNKNOWN_OPERATION, "PEEK of the default table")
        equal([replies.ask("SELECT", 1), replies.ask("GET", 1), replies.ask("DBSIZE")], ["OK", b"11", 2], "by RESP")
        equal([replies.ask("SELECT", 2), replies.ask("DBSIZE")], ["OK", 100], "by RESP")


@case
def operations():
    """SCAN, CLEAR, RESIZE and DIGEST are of the frame's table, and PING, STATS and WAIT accept one"""
    with serving() as (_, replies, frames):
        create(replies, "t", "NUMBER", 5)
        keys = list(range(100))
        equal([put(frames, 0, keys, keys), put(frames, 5, keys[:50], keys[:50])], [wire.OK] * 2, "SET")
        scans = {table: wire.call(frames, wire.SCAN, table=table, count=1000, key_bytes=8, value_bytes=8) for table in (0, 5)}
        equal([scans[table].count for table in (0, 5)], [100, 50], "SCAN")
        digests = {table: wire.call(frames, wire.DIGEST, table=table).digest for table in (0, 5)}
        equal([digests[table][2] for table in (0, 5)], [100, 50], "DIGEST counts entries")
        sizes = [wire.call(frames, wire.RESIZE, table=5, capacity=2048).capacity, wire.call(frames, wire.RESIZE, capacity=1).capacity]
        check(sizes[0] >= 2048 > sizes[1], f"RESIZE: {sizes}")
        figures = {table: wire.call(frames, wire.STATS, table=table).figures() for table in (0, 5)}
        equal([figures[table]["keys"] for table in (0, 5)], [100, 50], "STATS")
        equal([figures[table]["inserted"] for table in (0, 5)], [100, 50], "STATS")
        for operation in (wire.PING, wire.STATS):
            equal(wire.call(frames, operation, table=5).status, wire.OK, operation)
            equal(wire.call(frames, operation, table=6).status, wire.NO_TABLE, operation)
        equal(wire.call(frames, wire.CLEAR, table=5).status, wire.OK, "CLEAR")
        equal([replies.ask("DBSIZE"), replies.ask("SELECT", 5), replies.ask("DBSIZE")], [100, "OK", 0], "CLEAR of one table")


@case
def no_table():
    """a number without a table and the id of another table are refused in words, and the connection goes on"""
    with serving() as (_, replies, frames):
        create(replies, "v1")
        reply = wire.call(frames, wire.SET, [1], [1], table=9)
        equal((reply.status, reply.message),
              (wire.NO_TABLE, "no table has the number 9: open the table by its name; nothing was done"), "an absent number")
        equal([put(frames, FIRST, [1], [1], table_id=2), put(frames, 0, [1], [1], table_id=1)], [wire.OK] * 2, "the right ids")
        reply = wire.call(frames, wire.SET, [1], [2], table=FIRST, table_id=1)
        equal((reply.status, reply.message),
              (wire.TABLE_CHANGED, f"another table lies in place {FIRST}: open the table again; nothing was done"), "an id")
        equal(put(frames, 0, [1], [2], table_id=2), wire.TABLE_CHANGED, "the id of another table")
        equal([got(frames, table, [1]) for table in (0, FIRST)], [[1], [1]], "nothing was done")
        equal(put(frames, 2**32 - 1, [1], [1]), wire.NO_TABLE, "the largest number")


@case
def numbers_of_dropped_tables():
    """attack 2: a client of a dropped table never meets another one, unless a caller has chosen its number again"""
    with serving() as (_, replies, frames):
        create(replies, "v1")
        equal(put(frames, FIRST, [1], [1]), wire.OK, "SET")
        equal(replies.ask("TABLE", "DROP", "v1"), "OK", "DROP")
        create(replies, "v9")
        equal(put(frames, FIRST, [1], [2]), wire.NO_TABLE, "a number is given once")
        equal(hello(frames, "v9"), [1, FIRST + 1, b"v9", 3], "the next number and id")
        create(replies, "chosen", "NUMBER", 5)
        ident = hello(frames, "chosen")[3]
        equal(put(frames, 5, [1], [1], table_id=ident), wire.OK, "SET")
        equal(replies.ask("TABLE", "DROP", "chosen"), "OK", "DROP")
        create(replies, "other", "NUMBER", 5)
        equal(put(frames, 5, [1], [2], table_id=ident), wire.TABLE_CHANGED, "table_id tells the tables apart")
        equal(got(frames, 5, [1]), [0], "nothing was written")


def in_two_parts(frames, request, between):
    """Sends a frame but for its last 8 bytes, calls `between`, sends them and returns the status of the reply."""
    frames.sendall(request[:-8])
    between()
    frames.sendall(request[-8:])
    return wire.read_frame(frames).status


@case
def slow_bodies():
    """attack 3: a frame whose body takes long is carried out in the table that its place has when it starts"""
    with serving() as (_, replies, frames):
        def change(*words):
            """The one loop has read the frame's head before it replies to PING."""
            equal(replies.ask("PING"), "PONG", "PING")
            for command in words:
                equal(replies.ask("TABLE", *command.split()), "OK", command)
        def write(key, value, table=5, **named):
            return wire.frame(wire.SET, [key], [value], table=table, **named)
        create(replies, "v1", "NUMBER", 5)
        create(replies, "v2", "LIKE", "v1")
        number = hello(frames, "v2")[1]
        equal(in_two_parts(frames, write(1, 10), lambda: change("SWAP v1 v2")), wire.OK, "SWAP")
        equal([got(frames, 5, [1]), got(frames, number, [1])], [[10], [0]], "the write is behind the swap")
        equal(in_two_parts(frames, write(1, 11, 0), lambda: change("SWAP default v2")), wire.OK, "SWAP of the default table")
        equal([got(frames, 0, [1]), got(frames, number, [1])], [[11], [0]], "likewise")
        ident = hello(frames, "v1")[3]
        equal(in_two_parts(frames, write(1, 12, table_id=ident), lambda: change("SWAP v1 v2")), wire.TABLE_CHANGED, "table_id")
        equal([got(frames, 5, [1]), got(frames, number, [1])], [[0], [10]], "nothing was done")
        equal(in_two_parts(frames, write(1, 13), lambda: change("DROP v1")), wire.NO_TABLE, "DROP")
        create(replies, "v1", "NUMBER", 5)
        equal(in_two_parts(frames, write(1, 14), lambda: change("DROP v1", "CREATE v1 NUMBER 5")), wire.OK, "DROP and CREATE")
        equal(got(frames, 5, [1]), [14], "in the new table")
        wider = "CREATE v1 NUMBER 5 value-bytes 60 value-type string resp-keys hash"
        equal(in_two_parts(frames, write(1, 15), lambda: change("DROP v1", wider)), wire.TABLE_CHANGED, "another shape")
        equal(wire.call(frames, wire.SCAN, table=5, count=10, key_bytes=8, value_bytes=64).count, 0, "nothing was done")
        equal(put(frames, 0, [2], [2]), wire.OK, "the connection goes on")


@case
def incomplete_frames():
    """a connection that ends or waits inside of a frame does not hold up the DROP of its table"""
    with serving(loops=2) as (server, replies, _):
        for _ in range(10):
            create(replies, "t", "NUMBER", 5)
            with server.connect() as ended, server.connect() as waits:
                for connection in (ended, waits):
                    connection.sendall(wire.frame(wire.SET, [1], [1], table=5) + wire.frame(wire.SET, [2], [2], table=5)[:-1])
                    equal(wire.read_frame(connection).status, wire.OK, "SET")
                ended.close()
                equal(replies.ask("TABLE", "DROP", "t"), "OK", "DROP")
                waits.sendall(b"\0")
                equal(wire.read_frame(waits).status, wire.NO_TABLE, "the rest of the frame")


@case
def changes():
    """TABLE changes the places as the command does, with its errors, and TABLES lists them in parts"""
    with serving(loops=2) as (_, replies, frames):
        def change(*words):
            reply = wire.call(frames, wire.TABLE, words=words)
            return reply.status, reply.message
        equal(change("CREATE", "v1", "NUMBER", 7, "capacity", "1K"), (wire.OK, ""), "CREATE")
        equal(change("create", "v2", "like", "v1"), (wire.OK, ""), "in any case")
        equal(put(frames, 7, [1, 2], [1, 2]), wire.OK, "SET")
        equal(change("SWAP", "v1", FIRST), (wire.OK, ""), "SWAP")
        equal([got(frames, 7, [1]), got(frames, FIRST, [1])], [[0], [1]], "behind the swap")
        equal(change("RENAME", "v2", "old"), (wire.OK, ""), "RENAME")
        equal(wire.call(frames, wire.TABLES).places(), [("default", 0, 1, 0), ("v1", 7, 3, 0), ("old", FIRST, 2, 2)], "TABLES")
        first = wire.call(frames, wire.TABLES, count=2)
        equal([first.places()[1][0], first.cursor], ["v1", FIRST], "a part of the list")
        rest = wire.call(frames, wire.TABLES, count=2, cursor=first.cursor)
        equal([[row[0] for row in rest.places()], rest.cursor], [["old"], 0], "the rest of the list")
        equal(change("DROP", "old"), (wire.OK, ""), "DROP")
        equal(change("DROP", "old", "IF", "EXISTS"), (wire.OK, ""), "DROP of an absent table")
        for words, status, sentence in ((("DROP", "old"), wire.NO_TABLE, "no such table"),
                                        (("CREATE", "a", "LIKE", "old"), wire.NO_TABLE, "no such table"),
                                        (("CREATE", "v1"), wire.BAD_REQUEST, "table exists"),
                                        (("CREATE", "a", "port", "1"), wire.BAD_REQUEST, "option of the server"),
                                        (("DROP", "default"), wire.BAD_REQUEST, "the default table stays"),
                                        (("SWAP", "v1"), wire.BAD_REQUEST, "syntax error"),
                                        (("NOTHING", "v1"), wire.BAD_REQUEST, "syntax error"),
                                        (("DROP", ""), wire.NO_TABLE, "no such table"), (("DROP",), wire.BAD_REQUEST, "syntax error"),
                                        ((), wire.BAD_REQUEST, "no words"), (("X",) * 129, wire.BAD_REQUEST, "no words, or too many")):
            got_status, message = change(*words)
            equal((got_status, sentence in message), (status, True), f"{words}: {message}")
        equal([replies.ask("SELECT", 7), replies.ask("PING")], ["OK", "PONG"], "RESP")


@case
def changes_of_lost_connections():
    """a change goes on when its connection ends, and many changes at a time run one after another"""
    with serving(loops=2) as (server, replies, frames), contextlib.ExitStack() as stack:
        several = [stack.enter_context(server.connect()) for _ in range(12)]
        for i, connection in enumerate(several):
            connection.sendall(wire.frame(wire.TABLE, words=("CREATE", f"t{i}", "NUMBER", i + 1)))
        for connection in several[:6]:
            connection.close()
        for connection in several[6:]:
            equal(wire.read_frame(connection).status, wire.OK, "CREATE")
        eventually(lambda: len(wire.call(frames, wire.TABLES).places()) == 13, "the tables of closed connections")
        for connection in several[6:]:
            connection.sendall(wire.frame(wire.TABLE, words=("DROP", "t7")) + wire.frame(wire.GET, [1], table=9))
        statuses = sorted(wire.read_frame(connection).status for connection in several[6:] for _ in range(2))
        equal(statuses, [wire.OK] * 7 + [wire.NO_TABLE] * 5, "DROP of one table by many, beside GET of another")


@case
def swaps_of_other_widths():
    """beside SWAP .. FORCE frames are carried out in a table of their widths or get TABLE_CHANGED; RESP goes on in each table"""
    with serving("--loops", "2") as (server, replies, _), server.connect() as connection, server.replies() as redis:
        create(replies, "wide", "NUMBER", 5)
        create(replies, "narrow", "NUMBER", 6, "key-bits", 32, "resp-keys", "decimal")
        for name, value in (("wide", 10), ("narrow", 20)):
            equal([replies.ask("SELECT", name), replies.ask("SET", 1, value)], ["OK", "OK"], "SET")
        got, ends = {"frames": set(), "redis": {redis.ask("SELECT", "wide")}}, threading.Event()
        def read_frame():
            reply = wire.call(connection, wire.GET, [1, 1], table=5, want_values=True)
            return reply.status, str(reply.values()) if reply.status == wire.OK else reply.message
        equal(read_frame(), (wire.OK, "[10, 10]"), "before")
        def read_frames():
            while not ends.is_set():
                got["frames"].add(read_frame())
        def read_redis():
            while not ends.is_set():
                got["redis"].add(redis.ask("GET", 1))
        threads = [threading.Thread(target=read) for read in (read_frames, read_redis)]
        for thread in threads:
            thread.start()
        for _ in range(100):
            equal(replies.ask("TABLE", "SWAP", "wide", "narrow", "FORCE"), "OK", "SWAP")
        ends.set()
        for thread in threads:
            thread.join()
        equal(got["frames"] - {(wire.OK, "[10, 10]")},
              {(wire.TABLE_CHANGED, "another table lies in place 5: open the table again; nothing was done")}, "frames")
        equal(got["redis"] - {b"10", b"20"}, {"OK"}, "RESP")


@case
def rings():
    """a record of a ring names a table as a frame does; the regions are the connection's"""
    with ring.serving() as server, ring.Ring(server) as own, server.connect() as connection:
        replies = wire.Replies(connection)
        create(replies, "t", "NUMBER", 5)
        create(replies, "narrow", "NUMBER", 6, "key-bits", 32, "resp-keys", "decimal")
        own.put(0, ring.numbers([1, 2], 8) + ring.numbers([10, 20], 8))
        both = {ring.KEYS: ring.place(0, 0), ring.OPERANDS: ring.place(0, 16)}
        equal(own.run(wire.SET, 2, both, table=5).status, wire.OK, "SET")
        equal(own.run(wire.SET, 2, both, table=6).status, wire.OK, "four bytes of each key")
        answers = {ring.KEYS: ring.place(0, 0), ring.VALUES: ring.place(0, 64)}
        equal(own.run(wire.GET, 2, answers, table=5).hits, 2, "GET")
        equal(own.get(64, 16), ring.numbers([10, 20], 8), "values")
        equal(own.run(wire.GET, 2, answers).hits, 0, "GET of the default table")
        done = own.run(wire.GET, 2, answers, table=7)
        equal((done.status, "number 7" in done.message), (wire.NO_TABLE, True), done.message)
        equal(own.run(wire.GET, 2, answers, table=5, table_id=1).status, wire.TABLE_CHANGED, "an id")
        facts = replies.ask("TABLE", "INFO", "t")
        ident = facts[facts.index(b"id") + 1]
        equal(replies.ask("TABLE", "SWAP", "t", "narrow", "FORCE"), "OK", "SWAP of other widths")
        equal([own.run(wire.GET, 2, answers, table=place).status for place in (5, 6)], [wire.TABLE_CHANGED] * 2, "a record has no widths")
        done = own.run(wire.GET, 2, answers, table=6, table_id=ident)
        equal((done.status, done.hits), (wire.OK, 2), "the id says which table the client knows")
        equal(replies.ask("TABLE", "SWAP", "t", "narrow", "FORCE"), "OK", "SWAP")
        for number, keys in ((5, 2), (6, 2), (0, 0)):
            equal([replies.ask("SELECT", number), replies.ask("DBSIZE")], ["OK", keys], number)


class Oracle:
    """The number of each place with a dictionary for its table, and how often a table of each place was dropped."""

    def __init__(self):
        self.places = {0: {}}
        self.drops = [0] * 5


def change(draw, oracle, replies):
    """Changes the places at random: CREATE, DROP, SWAP or TRUNCATE."""
    number, kind = draw.randrange(1, 5), draw.randrange(4)
    one, other = draw.choice(sorted(oracle.places)), draw.choice(sorted(oracle.places))
    if kind == 0 and number not in oracle.places:
        create(replies, f"t{number}", "NUMBER", number, "LIKE", "default")
        oracle.places[number] = {}
    elif kind == 1 and number in oracle.places:
        equal(replies.ask("TABLE", "DROP", number), "OK", "DROP")
        oracle.drops[number] += 1
        del oracle.places[number]
    elif kind == 2:
        equal(replies.ask("TABLE", "SWAP", one, other), "OK", "SWAP")
        oracle.places[one], oracle.places[other] = oracle.places[other], oracle.places[one]
    elif kind == 3:
        equal(replies.ask("TABLE", "TRUNCATE", one), "OK", "TRUNCATE")
        oracle.places[one].clear()


class Halves:
    """A connection that may have sent a part of a SET, whose table existed then."""

    def __init__(self, frames, oracle):
        self.frames, self.oracle, self.rest = frames, oracle, b""

    def begin(self, whole, cut, number, pairs):
        self.frames.sendall(whole[:cut])
        self.rest, self.number, self.pairs, self.drops = whole[cut:], number, pairs, self.oracle.drops[number]

    def end(self):
        """Sends the rest. The SET is done in the table that its place has now. If a table of this place was dropped in
        between, the server may have read the head before or after that."""
        self.frames.sendall(self.rest)
        self.rest = b""
        status, data = wire.read_frame(self.frames).status, self.oracle.places.get(self.number)
        if data is None or (status == wire.NO_TABLE and self.oracle.drops[self.number] > self.drops):
            equal(status, wire.NO_TABLE, "the rest of a SET")
        else:
            equal(status, wire.OK, "the rest of a SET")
            data.update(self.pairs)


class Handles:
    """Handles of libsherwood for the places: by the socket, and by a ring. A place's handle is opened once."""

    def __init__(self, server, stack):
        self.clients = [stack.enter_context(LIBRARY.connect(server)) for _ in range(2)]
        self.clients[1].shared(b"")
        self.tables = [{0: client} for client in self.clients]

    def run(self, which, number, keys, values, data):
        """Reads the keys, then sets them; checks what the handle returns."""
        if number not in self.tables[which] and data is not None:
            self.tables[which][number] = self.clients[which].open(f"t{number}")
            self.tables[which][number].region = self.clients[which].region
        table = self.tables[which].get(number)
        if table is not None:
            wanted = E_TABLE if data is None else [data.get(key, 0) for key in keys]
            equal(table.get(keys), wanted, f"GET by handle {which}: {table.error()}")
            equal(table.set(dict(zip(keys, values))), OK if data is not None else E_TABLE, f"SET by handle {which}: {table.error()}")
            (data if data is not None else {}).update(zip(keys, values))


def by_the_ring(own, replies, number, keys, values, oracle):
    """The same by records of a ring. A place that has got another table by CREATE needs the table's id."""
    data, table_id = oracle.places.get(number), 0
    status = wire.OK if data is not None else wire.NO_TABLE
    if data is not None and oracle.drops[number] > 0:
        facts = replies.ask("TABLE", "INFO", number)
        table_id = facts[facts.index(b"id") + 1]
    own.put(0, ring.numbers(keys, 8) + ring.numbers(values, 8))
    done = own.run(wire.GET, len(keys), {ring.KEYS: ring.place(0, 0), ring.VALUES: ring.place(0, 512)}, table=number, table_id=table_id)
    equal(done.status, status, done.message)
    if data is not None:
        equal(own.get(512, 8 * len(keys)), ring.numbers([data.get(key, 0) for key in keys], 8), "values by the ring")
    places = {ring.KEYS: ring.place(0, 0), ring.OPERANDS: ring.place(0, 8 * len(keys))}
    done = own.run(wire.SET, len(keys), places, table=number, table_id=table_id)
    equal(done.status, status, done.message)
    (data if data is not None else {}).update(zip(keys, values))


@case
def beside_an_oracle():
    """random requests by frames, parts of frames, rings, libsherwood and RESP agree with a dictionary for each place"""
    draw, oracle = random.Random(SEED), Oracle()
    with ring.serving("--capacity", "4K", "--loops", "3") as server, server.replies() as replies, ring.Ring(server) as own, \
            contextlib.ExitStack() as stack:
        several = [Halves(stack.enter_context(server.connect()), oracle) for _ in range(4)]
        handles = Handles(server, stack)
        for _ in range(2000):
            one, number, kind = draw.choice(several), draw.randrange(5), draw.randrange(13)
            data = oracle.places.get(number)
            keys = [draw.randrange(32) for _ in range(draw.randrange(1, 5))]
            values = [draw.randrange(1000) for _ in keys]
            if one.rest:
                one.end()
            elif kind == 0:
                change(draw, oracle, replies)
            elif kind < 3 and data is not None:
                whole = wire.frame(wire.SET, keys, values, table=number)
                one.begin(whole, draw.randrange(64, len(whole)), number, dict(zip(keys, values)))
            elif kind == 3 and data is not None:
                equal([replies.ask("SELECT", number), replies.ask("SET", keys[0], values[0])], ["OK", "OK"], "RESP")
                data[keys[0]] = values[0]
            elif kind > 10:
                handles.run(kind - 11, number, keys, values, data)
            elif kind == 10:
                by_the_ring(own, replies, number, keys, values, oracle)
            elif kind < 7:
                equal(put(one.frames, number, keys, values), wire.NO_TABLE if data is None else wire.OK, "SET")
                oracle.places.get(number, {}).update(zip(keys, values))
            elif kind == 7:
                parts = [(draw.randrange(5), keys, 8) for _ in range(draw.randrange(1, 6))]
                answers = [oracle.places.get(table) for table, *_ in parts]
                reply = wire.exchange(one.frames, wire.segments_frame(wire.GET, parts))
                equal(reply.status, wire.NO_TABLE if None in answers else wire.OK, "segments")
                equal(None in answers or wire.segments_of(reply, parts),
                      None in answers or [([data.get(key, 0).to_bytes(8, "little") for key in keys], [int(key in data) for key in keys])
                                          for data in answers], "answers of segments")
            else:
                wanted = wire.NO_TABLE if data is None else [data.get(key, 0) for key in keys]
                equal(got(one.frames, number, keys), wanted, "GET")
        for number, data in oracle.places.items():
            equal([replies.ask("SELECT", number), replies.ask("DBSIZE")], ["OK", len(data)], number)


main()
