#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The Python client on a server with several tables."""

import asyncio
import contextlib
import pickle

from harness import case, check, equal, main, raises
from package import daemon, in_child, np, same, sherwood


def create(server, *words):
    equal(server.ask("TABLE", "CREATE", *words), "OK", words)


@case
def tables():
    """a client of a table has the facts of the table, and its calls are for that table alone"""
    with daemon("--capacity", "4K") as server:
        create(server, "users", "NUMBER", "7", "key-bits", "32", "resp-keys", "decimal")
        create(server, "rows", "value-bytes", "16", "value-type", "f32")
        with sherwood.connect(server.unix) as c, c.table("users") as users, c.table("rows") as rows, \
                sherwood.connect(server.unix, table="7") as seven:
            equal([each.server.key_bytes for each in (c, users, rows, seven)], [8, 4, 8, 4], "widths")
            c[1], users[1], rows[1] = 10, 20, np.array([1, 2, 3, 4], "f4")
            equal([int(c[1]), int(users[1]), int(seven[1])], [10, 20, 20], "values")
            same(rows[1], np.array([1, 2, 3, 4], "f4"), "a row")
            rows.add_rows([1, 2], np.ones((2, 4), "f4"))
            same(rows.get_many([1, 2], default=0), np.array([[2, 3, 4, 5], [1, 1, 1, 1]], "f4"), "sums")
            equal(users.submit.get_many([1, 2], default=0).result().tolist(), [20, 0], "submit")
            equal([keys.tolist() for keys, _ in users.scan()], [[1]], "scan")
            equal(asyncio.run(of_aio(users)), [20, 0], "aio")
            users.flush()
            equal([1 in users, 1 in c], [False, True], "flush of one table")
            again = pickle.loads(pickle.dumps(rows))
            same(again[2], np.ones(4, "f4"), "a pickle")
            again.close()
            same(rows.clone()[2], np.ones(4, "f4"), "a clone")


@case
def changes():
    """tables are created, listed, renamed, swapped and dropped, and each refusal is an exception"""
    with daemon("--capacity", "4K", "--tables-max", "80") as server, sherwood.connect(server.unix) as c:
        c.create_table("v2", like="default")
        c.create_table("rows", number=7, value_bytes=16, value_type="f32", max_capacity="1M")
        c.create_table("rows", exist_ok=True)
        with c.table("v2") as v2:
            c.set_many([1, 2], [1, 2])
            v2.set_many([1], [10])
            c.alter_table("v2", memory_max=1 << 30)
            raises(ValueError, "give an option", c.alter_table, "v2")
            raises(sherwood.Refused, "there is no persistence", lambda: c.save_table("v2"))
            c.swap("default", "v2")
            equal([int(c[1]), int(v2[1]), len(c)], [10, 1, 1], "a swap")
        listed = {table.name: (table.number, table.keys) for table in c.tables()}
        equal(listed, {"default": (0, 1), "rows": (7, 0), "v2": (65536, 2)}, "tables")
        check(c.tables()[1].slots_max >= 1 << 20 > c.tables()[1].slots, str(c.tables()[1]))
        c.rename_table("v2", "old")
        with c.table("old") as old:
            c.drop_table("old")
            c.create_table("old", value_bytes=64, value_type="u32")
            for read in (lambda: old.submit.get_many([1, 2], default=0).result(), lambda: asyncio.run(of_aio(old))):
                raises(sherwood.Refused, "another width or type", read)
        c.drop_table("old")
        c.drop_table("old", missing_ok=True)
        for i in range(70):
            c.create_table(f"t{i}", capacity="1K")
        equal([table.name for table in c.tables()][:2] + [len(c.tables())], ["default", "rows", 72], "a list in parts")
        raises(sherwood.Refused, "table exists", lambda: c.create_table("rows"))
        raises(sherwood.Refused, "no such table", lambda: c.drop_table("old"))
        raises(sherwood.Refused, "different shapes", lambda: c.swap("default", "rows"))
        for _ in range(2):
            c.swap("default", "rows", force=True)
        raises(sherwood.Refused, "unknown option", lambda: c.create_table("x", nothing=1))
        raises(TypeError, "table: 5 is not a text: give a str", lambda: c.create_table(5))


async def of_aio(client):
    return (await client.aio.get_many([1, 2], default=0)).tolist()


@case
def refusals():
    """an absent name and a table that was dropped are Refused; the client opens the table of its name again"""
    with daemon("--capacity", "4K") as server:
        with sherwood.connect(server.unix) as c:
            raises(sherwood.Refused, "no such table", lambda: c.table("nothing"))
            raises(sherwood.Refused, "1 to 63 bytes", lambda: c.table("n" * 64))
            raises(sherwood.Refused, "NUL", lambda: c.table("a\0b"))
            raises(TypeError, "name of a table", lambda: c.table(7))
            create(server, "t")
            with c.table("t") as t:
                t[1] = 1
                equal(server.ask("TABLE", "SWAP", "default", "t"), "OK", "SWAP")
                equal([1 in t, 1 in c], [False, True], "a swap")
                equal(server.ask("TABLE", "DROP", "t"), "OK", "DROP")
                raises(sherwood.Refused, "no table has the number", lambda: t[1])
        check(c.address.startswith("unix:"), c.address)


async def segments_of_aio(client, parts, named):
    return await client.aio.get_segments(parts, **named)


def ways_to_read(c):
    """Returns get_segments of a client, of its `submit` and of its `aio`, as functions that return the result."""
    return (c.get_segments, lambda parts, **named: c.submit.get_segments(parts, **named).result(),
            lambda parts, **named: asyncio.run(segments_of_aio(c, parts, named)))


@case
def segments():
    """one call reads several tables, by name or by client, with the dtype and shape of each table, also by submit and aio"""
    with daemon("--capacity", "4K", "--frame-ops-max", "4096") as server:
        create(server, "rows", "value-bytes", "16", "value-type", "f32")
        create(server, "texts", "value-bytes", "12", "value-type", "string", "resp-keys", "hash")
        create(server, "narrow", "key-bits", "32", "resp-keys", "decimal")
        with sherwood.connect(server.unix) as c, c.table("rows") as rows, c.table("rows", value_dtype="u8") as raw, c.table("texts") as texts:
            c.set_many(np.arange(200, dtype="u8"), np.arange(200, dtype="u8") * 2)
            rows.set_many([1, 2], np.arange(8, dtype="f4").reshape(2, 4))
            texts.set_many([5], [b"five"])
            keys, long = np.arange(190, 210, dtype="u8").reshape(4, 5), np.arange(9999, dtype="u8")
            for read in (*ways_to_read(c), *ways_to_read(rows)):
                got = read([(None, keys), ("rows", [2, 3]), (texts, [5]), (rows, []), ("0", [7]), (raw, [1]), ("0", long), (rows, long)])
                same(got[0][0], np.where(keys < 200, keys * 2, 0), "numbers")
                same(got[0][1], keys < 200, "found")
                same(got[1][0], np.array([[4, 5, 6, 7], [0, 0, 0, 0]], "f4"), "rows")
                equal(got[1][1].tolist(), [True, False], "found rows")
                equal([got[2][0]["bytes"][0, :4].tobytes(), got[2][1].tolist()], [b"five", [True]], "byte strings")
                same(got[3][0], np.empty((0, 4), "f4"), "no keys")
                equal([got[4][0].tolist(), got[5][0].dtype], [[14], np.dtype("u8")], "a number, and another dtype")
                same(got[6][0], np.where(long < 200, long * 2, 0), "more keys than a frame has")
                same(got[7][1], (long == 1) | (long == 2), "and the next part")
                same(read([("rows", [2, 3]), (None, [300])], default=1)[0], np.array([[4, 5, 6, 7], [1, 1, 1, 1]], "f4"), "default")
                equal([read([]), read([("rows", [])], default=0)[0].shape], [[], (0, 4)], "nothing to read")
                many = read([(None, [i]) for i in range(150)])
                equal([int(values[0]) for values, _ in many], [2 * i for i in range(150)], "more parts than a frame has")
            region = c.region(nbytes=1 << 16)
            shared = region.empty(3, "u8")
            shared[:] = [1, 2, 3]
            for read in ways_to_read(c):
                values, found = read([(None, shared)])[0]
                equal([values.tolist(), found.tolist()], [[2, 4, 6], [True] * 3], "keys in a region")
            in_child(lambda: equal(c.get_segments([("rows", [1])], default=0)[0].tolist(), [[0, 1, 2, 3]], "in the child"))
            in_child(lambda: equal(c.submit.get_segments([("rows", [1])], default=0).result()[0].tolist(), [[0, 1, 2, 3]], "its submit"))
            for read, absent in zip(ways_to_read(c), ("segment 1: no table has the number", "segment 1: no table", "no such table")):
                refused_segments(server, read, absent)


@case
def segments_behind_swaps():
    """a read of several tables follows SWAP, and notices a table of other values and equal widths: the next one reads them as they are"""
    with daemon("--capacity", "4K") as server, sherwood.connect(server.unix) as c:
        for name, kind in (("a", "f32"), ("b", "f32"), ("c", "u32")):
            create(server, name, "value-bytes", "8", "value-type", kind)
            with c.table(name) as table:
                table.set_many([1], np.full((1, 2), ord(name), table.value_dtype))
        parts = [("a", [1]), (None, [1]), ("b", [1]), ("a", [1, 2])]
        read = lambda: [(values.dtype.name, int(values[0].flat[0])) for values, _ in c.get_segments(parts)]
        equal([*read(), c.swap("a", "b"), *read()][::2], [("float32", 97), ("float32", 98), None, ("uint64", 0), ("float32", 98)], "SWAP")
        for other, seen in (("c", ("uint32", 99)), ("c", ("float32", 98))):
            c.swap("a", other, force=True)
            raises(sherwood.Refused, "a table of another shape lies in the place of 'a'", read)
            equal([read()[0], read()[3]], [seen] * 2, "the table that lies there now")


@case
def segments_among_other_calls():
    """reads of several tables keep their place among the calls of submit and aio, and open their tables again behind a lost connection"""
    async def in_order(aio):
        calls = []
        for i in range(50):
            aio.set_many([1], [i])
            calls.append(aio.get_segments([(None, [1]), (f"t{i % 3}", [1])], default=7))
        return [[int(part[0]) for part in await call] for call in calls]

    with daemon("--capacity", "4K") as server, sherwood.connect(server.unix) as c:
        for i in range(3):
            c.create_table(f"t{i}")
        for _ in range(2):
            calls = []
            for i in range(50):
                c.submit.set_many([1], [i])
                calls.append(c.submit.get_segments([(None, [1]), (f"t{i % 3}", [1])], default=7))
            equal([[int(part[0]) for part in call.result()] for call in calls], [[i, 7] for i in range(50)], "by submit")
            equal(asyncio.run(in_order(c.aio)), [[i, 7] for i in range(50)], "by aio")
            server.ask("CLIENT", "KILL", "TYPE", "normal")
            with contextlib.suppress(sherwood.Lost):  # on the connection that ended
                c.submit.get_many([1]).result()
        late = [c.submit.get_segments([(name, [1])]) for name in ("t0", "nothing", "t1")]
        raises(sherwood.Refused, "no such table", late[1].result)
        equal([late[0].result()[0][1].tolist(), late[2].result()[0][1].tolist()], [[False], [False]], "the calls around a refusal")
    raises(sherwood.Refused, "closed", lambda: c.submit.get_segments([]))


def refused_segments(server, read, absent):
    with sherwood.connect(f"{server.host}:{server.port}") as other:
        raises(sherwood.Refused, "another server", lambda: read([(other, [1])]))
    raises(sherwood.Refused, "no such table", lambda: read([("nothing", [1])]))
    raises(sherwood.Refused, "another width", lambda: read([(None, [1]), ("narrow", np.array([1], "u4"))]))
    raises(TypeError, "is no table", lambda: read([(7, [1])]))
    raises(TypeError, "part 1 is not a pair: give (table, keys)", lambda: read([(None, [1]), 7]))
    raises(TypeError, "", lambda: read([("rows", [1.5])]))
    equal(server.ask("TABLE", "DROP", "rows"), "OK", "DROP")
    raises(sherwood.Refused, absent, lambda: read([(None, [1]), ("rows", [1])]))
    raises(sherwood.Refused, "no such table", lambda: read([("rows", [1])]))
    create(server, "rows", "value-bytes", "8", "value-type", "f32")
    equal(read([("rows", [1])], default=5)[0].tolist(), [[5, 5]], "the new table of the name")


@case
def forks():
    """a child of a fork opens the table again on connections of its own"""
    with daemon("--capacity", "4K") as server:
        create(server, "t")
        with sherwood.connect(server.unix) as c, c.table("t") as t:
            t[1] = 5
            in_child(lambda: equal(int(t[1]), 5, "in the child"))
            equal(int(t[1]), 5, "in the parent")


@case
def regions_behind_force():
    """calls, submit and aio on arrays of a region go on behind SWAP .. FORCE and the way back, and follow a later SWAP"""
    with daemon("--capacity", "4K") as server, server.replies() as replies, sherwood.connect(server.unix) as default:
        for words in (("CREATE", "v2"), ("CREATE", "other", "LIKE", "default"), ("CREATE", "narrow", "key-bits", "32", "resp-keys", "decimal")):
            equal(replies.ask("TABLE", *words), "OK", words)
        for name, client in (("default", default), ("v2", default.table("v2"))):
            region = client.region(keys=4)
            keys, values, out = (region.empty(2, np.uint64) for _ in range(3))
            keys[:], values[:] = (1, 2), (5, 6)
            client.set_many(keys, values)
            async def by_aio(client=client, keys=keys, out=out):
                return await client.aio.get_many(keys, out=out, default=0)
            ways = (lambda c=client, k=keys, o=out: c.get_many(k, out=o, default=0),
                    lambda c=client, k=keys, o=out: c.submit.get_many(k, out=o, default=0).result(60), lambda way=by_aio: asyncio.run(way()))
            def read(ways=ways):
                return [list(way()) for way in ways]
            equal(read(), [[5, 6]] * 3, name)
            equal(replies.ask("TABLE", "SWAP", name, "narrow", "FORCE"), "OK", "SWAP")
            for way in ways:
                raises(sherwood.Refused, "", way)
            equal(replies.ask("TABLE", "SWAP", name, "narrow", "FORCE"), "OK", "the way back")
            equal([read(), read()], [[[5, 6]] * 3] * 2, name)
            equal(replies.ask("TABLE", "SWAP", name, "other"), "OK", "SWAP of one shape")
            equal(read(), [[0, 0]] * 3, "the table that lies there now")
            equal(replies.ask("TABLE", "SWAP", name, "other"), "OK", "and back")


main()
