#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The Python package: rows, byte strings and scores of a cache; pairs from files and to files."""

import asyncio
import contextlib
import importlib.util
import io
import os
import tempfile

from harness import Skip, case, check, drawn_seed, equal, main
from package import daemon, np, raises, same, sherwood

U8, F4 = np.uint64, np.float32
TOP = 2**64 - 1


@contextlib.contextmanager
def cache(*flags, value_dtype=None):
    with daemon("--engine", "cache", "--capacity", "64K", *flags) as server:
        with sherwood.connect(server.unix, value_dtype=value_dtype) as c:
            yield c


@case
def rows():
    """rows of floats: two dimensions, defaults, sums on the server, single keys, long calls"""
    with cache("--value-bytes", "64", "--value-format", "fixed", value_dtype=F4) as c:
        equal((c.value_shape, c.value_dtype), ((16,), np.dtype(F4)))
        keys, stored = np.arange(20_000, dtype=np.int64), np.random.default_rng(1).random((20_000, 16), F4)
        c.set_many(keys, stored)
        got, found = c.get_many(np.append(keys, -1))
        same(got, np.vstack([stored, np.zeros((1, 16), F4)]))
        equal((int(found.sum()), bool(found[-1])), (20_000, False))
        same(c.submit.get_many(keys.reshape(100, 200), default=0.0).result(), stored.reshape(100, 200, 16), "n-d keys, by submit")
        same(c.get_many([5, 1 << 40], default=np.full(16, 2.5, F4)), np.stack([stored[5], np.full(16, 2.5, F4)]))
        c.set_many([1, 2], np.ones((2, 16), F4))
        c.add_many([1, 1, 3 << 40], np.full((3, 16), 0.5, F4))
        same(c.get_many([1, 3 << 40], default=0.0)[:, 0], np.array([2.0, 0.5], F4), "sums")
        c[9], c[8] = np.arange(16, dtype=F4), [*range(15), 15.0]  # an array, and a list
        same(np.stack([c[9], c[8]]), np.stack([np.arange(16, dtype=F4)] * 2))
        c[9], c[8] = 4.0, F4(4)
        same(np.stack([c[9], c[8]]), np.full((2, 16), 4, F4))
        same(c.contains_many([9, -5 & TOP]), [True, False])
        raises(ValueError, "shape (2, 8)", c.set_many, [1, 2], np.zeros((2, 8), F4))
        raises(TypeError, "float32", c.set_many, [1, 2], np.zeros((2, 16)))
        raises(ValueError, "only add_many and add_rows combine", c.max_many, [1], np.zeros((1, 16), F4))
    with cache("--value-bytes", "4", "--value-format", "fixed", value_dtype=np.bool_) as c:
        c[1] = [True, False, True, True]  # a list
        same(c[1], [True, False, True, True])


@case
def bits_and_compare():
    """OR, XOR, AND, ANDNOT and CAS of integers and rows; blocking, by submit and in a region"""
    rng = np.random.default_rng(drawn_seed())
    for flags, shape, dtype in (((), (), U8), (("--value-bytes", "24", "--value-type", "u32"), (6,), np.uint32)):
        with daemon("--backend", "cpu", "--capacity", "64K", *flags) as server, sherwood.connect(server.unix) as c:
            keys, there = np.arange(50, dtype=U8), 40  # the last 10 are absent until OR writes them
            stored = rng.integers(0, 1 << 32, (50, *shape)).astype(dtype)
            stored[there:] = 0
            c.set_many(keys[:there], stored[:there])
            for word in ("and", "andnot", "or", "xor"):
                for call in (c, c.submit):
                    values = rng.integers(0, 1 << 32, (50, *shape)).astype(dtype)
                    got = getattr(call, word + "_many")(keys, values, previous=True)
                    old, was = got if call is c else got.result(60)
                    same(old, stored, word)
                    same(was, keys < there, word)
                    there = 50 if word == "or" else there
                    stored = {"or": stored | values, "xor": stored ^ values, "and": stored & values, "andnot": stored & ~values}[word]
            same(c.get_many(keys, default=0), stored)
            with c.region(keys=1000) as region:
                shared = region.empty(len(keys), U8)
                shared[:] = keys
                same(c.cas_many(shared, stored, stored + dtype(1)), np.ones(len(keys), bool), "CAS")
            same(c.cas_many(np.repeat(keys, 2), np.repeat(stored + dtype(1), 2, axis=0), 5),
                 np.tile([True, False], len(keys)), "the first one")
            same(c.submit.cas_many(keys.reshape(1, -1), 6, 7).result(60), np.zeros((1, len(keys)), bool), "none")
            same(c.get_many(keys, default=0), np.full(stored.shape, 5, dtype))
            raises(ValueError, "shape", c.cas_many, keys, stored[:1], stored)
    with cache("--value-bytes", "64", "--value-format", "fixed") as c:
        raises(ValueError, "the cache engine has no OR", c.or_many, [1], np.zeros((1, 64), np.uint8))


@case
def parts_of_rows():
    """ranges of rows of numbers, bytes and byte strings; the length of a prefix of present keys"""
    with daemon("--backend", "cpu", "--value-bytes", "64", "--value-type", "f32") as server, \
            sherwood.connect(server.unix) as c:
        rows = np.random.default_rng(3).random((3000, 16), F4)
        c.set_many(np.arange(3000), rows)
        parts, found = c.get_range_many(np.arange(3010), 5, 3)
        same(parts, np.vstack([rows[:, 5:8], np.zeros((10, 3), F4)]))
        equal(int(found.sum()), 3000)
        same(c.set_range_many([7, 4000, 7], 14, np.array([[1, 2], [3, 4], [5, 6]], F4)), [True, False, True])
        same(c.get_many([7, 4000], default=0.0), np.array([[*rows[7][:14], 5, 6], [0] * 14 + [3, 4]], F4))
        same(c.get_range_many([[7, 7]], 0, 16)[0], np.array([[[*rows[7][:14], 5, 6]] * 2], F4), "n-d keys")
        for first, count in ((-1, 1), (0, 0), (0, 17), (16, 1)):
            raises(ValueError, f"first is {first}, and there are {count} numbers: give at least one", c.get_range_many, [7], first, count)
        raises(TypeError, "float32", c.set_range_many, [7], 0, np.zeros((1, 2)))
        raises(ValueError, "shape", c.set_range_many, [7, 8], 0, np.zeros((1, 2), F4))
        equal([c.prefix(np.arange(5000)), c.prefix([9, 8, 5000, 7]), c.prefix([])], [3000, 2, 0])
        by_submit_and_aio(c)
    with daemon("--backend", "cpu", "--value-bytes", "20", "--value-type", "string") as server, \
            sherwood.connect(server.unix) as c:
        c.set_many([1, 2], [b"hello", b""])
        equal(c.get_range_many([1, 2, 3], 1, 6)[0].tobytes(), b"ello\0\0" + bytes(12), "bytes")
        c.set_range_many([1, 3], 7, np.frombuffer(b"abcd", np.uint8).reshape(2, 2))
        equal(c.unpack(c.get_many([1, 3])[0]), [b"hello\0\0ab", bytes(7) + b"cd"])
    with daemon("--backend", "cpu") as server, sherwood.connect(server.unix) as c:
        raises(ValueError, "GETRANGE needs rows", c.get_range_many, [1], 0, 1)


def by_submit_and_aio(c):
    """Ranges, sums with a scale and prefixes, many in flight and with more keys than a frame has, in order."""
    rng = np.random.default_rng(drawn_seed())
    keys = rng.integers(0, 90_000, 70_000).astype(U8) + U8(1 << 20)
    parts, rows = rng.random((70_000, 2), F4), rng.random((70_000, 16), F4)
    model = np.zeros((90_000, 16), F4)
    places = (keys - U8(1 << 20)).astype(int)
    for at in range(70_000):
        model[places[at], 3:5] = parts[at]
    for at in range(70_000):
        model[places[at]] += rows[at] * F4(.25)
    there = np.isin(np.arange(90_000), places)

    async def by_aio():
        sums = c.aio.add_rows(keys, rows, scale=.25)
        read = c.aio.get_range_many(np.arange(90_000) + (1 << 20), 2, 4)
        lead = c.aio.prefix(keys)
        return await sums, await read, await lead

    written = c.submit.set_range_many(keys, 3, parts)
    first = np.zeros(70_000, bool)
    first[np.unique(places, return_index=True)[1]] = True
    same(written.result(60), ~first, "SETRANGE by submit")
    none, (got, found), lead = asyncio.run(by_aio())
    equal((none, lead), (None, 70_000))
    same(found, there, "GETRANGE by aio")
    same(got, model[:, 2:6], "sums and parts")
    equal([c.submit.prefix([int(keys[0]), 7, 1 << 41, int(keys[1])]).result(60), c.submit.prefix([]).result(60)], [2, 0])
    c.submit.add_rows([1 << 40], rows[:1], only="present").result(60)
    same(c.submit.get_range_many([1 << 40], 0, 1).result(60)[1], [False])
    raises(ValueError, "all within the 16 of a value", c.submit.get_range_many, [7], 0, 17)
    with c.region(keys=1000) as region:  # these go by the socket, in order with those that do not
        shared, into = region.empty(1000, U8), region.empty((1000, 16), F4)
        shared[:] = np.arange(1000)
        for turn in range(20):
            c.submit.set_range_many(shared, 0, np.full((1000, 1), turn, F4))
            same(c.submit.get_many(shared, out=into, default=0.0).result(60)[:, 0], np.full(1000, turn, F4), "order")


@case
def scaled_sums():
    """sums with a scale, float32 operands for rows of f16 and bf16, and sums of present keys only"""
    for kind in ("f32", "f16", "bf16"):
        with daemon("--backend", "cpu", "--value-bytes", "32", "--value-type", kind) as server, sherwood.connect(server.unix) as c:
            width = c.value_shape[0]
            rows = np.arange(2 * width, dtype=F4).reshape(2, width)
            _ = [c.add_rows([1, 2], rows, scale=scale) for scale in (0.5, 0, 0.0, -0.0, 1e-50)]  # the others add nothing
            c.add_rows([1, 1, 3], np.ones((3, width), F4), scale=-1, only="present")
            got, found = c.get_many([1, 2, 3])
            if kind == "bf16":
                got = (got.astype(np.uint32) << 16).view(F4)
            same(got[:2].astype(F4), np.stack([rows[0] * F4(.5) - 2, rows[1] * F4(.5)]), kind)
            same(found, [True, True, False])
            if kind != "f32":
                raises(ValueError, "scale must be finite", c.add_rows, [1], np.zeros((1, width), c.value_dtype), scale=.5)
            raises(ValueError, "only", c.add_rows, [1], rows[:1], only="absent")
    for kind, dtype in (("i64", np.int64), ("f64", np.float64), ("u64", np.uint64), ("u32", np.uint32)):
        with daemon("--backend", "cpu", "--value-bytes", "24", "--value-type", kind) as server, sherwood.connect(server.unix) as c:
            rows = np.zeros((2, c.value_shape[0]), dtype)
            rows[:, :3] = np.array([[-1, 2, 1 << 52], [5, -6, 7]]).astype(dtype)
            c.add_rows([1, 2, 9], -rows[[0, 1, 0]], scale=-1)
            c.add_many([2], rows[:1])
            c.set_range_many([9], 1, rows[:1, :2])
            same(c.get_many([1, 2, 3, 9])[0],
                 np.stack([rows[0], rows[0] + rows[1], 0 * rows[0], [rows[0, 0], *rows[0, :2], *rows[0, 3:]]]).astype(dtype), kind)
            raises(ValueError, f"rows are of {kind}, and", sherwood.connect(server.unix, value_dtype="f2").add_rows, [1], np.ones((1, 12), "f2"))
    with daemon("--backend", "cpu") as server, sherwood.connect(server.unix) as c:
        raises(ValueError, "this server's values are integers: use add_many", c.add_rows, [1], [1])
    with daemon("--backend", "cpu", "--value-bytes", "24") as server, sherwood.connect(server.unix, value_dtype=F4) as c:
        raises(ValueError, "are not rows of numbers", c.add_rows, [1], np.zeros((1, 6), F4), scale=2)


@case
def strings():
    """byte strings with a length are records or Python's bytes; bytes without a dtype"""
    with cache("--value-bytes", "64") as c:
        c.set_many([1, 2, 3], [b"", b"x" * 60, b"\0abc"])
        records, found = c.get_many([1, 2, 3, 4])
        equal(c.unpack(records), [b"", b"x" * 60, b"\0abc", b""])
        same(found, [True, True, True, False])
        c[7] = b"seven"
        equal((c[7], c.get(8, b"?")), (b"seven", b"?"))
        equal(c.unpack(c.get_many([7, 8], default=b"none")), [b"seven", b"none"])
        c.set_many([4, 5], records[:2])
        equal(c.unpack(c.get_many([5, 4])[0]), [b"x" * 60, b""])
        raises(TypeError, "element 1, 'ä', is no byte string: encode it", c.set_many, [1, 2], [b"x", "ä"])
        raises(TypeError, "element 0, 7, is no byte string: give bytes", c.set_many, [1], [7])
        raises(TypeError, "default, 'ä', is no byte string: encode it", c.get_many, [8], default="ä")
        raises(ValueError, "byte string 0 has 1025 bytes, and the server stores at most ", c.set_many, [1], [b"x" * 1025])
        raises(ValueError, "2 byte strings", c.set_many, [1], [b"a", b"b"])
        too_long = records[:1].copy()
        too_long["length"] = 5000
        raises(sherwood.Refused, "", c.set_many, [1], too_long)
    with cache("--value-bytes", "8", "--value-format", "fixed") as c:
        c.set_many([1], np.arange(8, dtype=np.uint8)[np.newaxis])
        same(c[1], np.arange(8, dtype=np.uint8))
        raises(ValueError, "multiple", sherwood.connect, c.address, value_dtype="f4,f8")
        raises(ValueError, "this client's value_dtype is uint8", c.add_many, [1], np.zeros((1, 8), np.uint8))


@case
def scores():
    """scores, evicted entries, ranges of scores, every operation by its name"""
    with daemon("--engine", "cache", "--value-bytes", "8", "--value-format", "fixed", "--policy",
                "custom", "--capacity", "1K") as server, \
            sherwood.connect(server.unix, value_dtype=U8) as c:
        keys = np.arange(100, dtype=U8)
        rows_of = np.arange(100, dtype=U8)[:, np.newaxis]
        result = c.run_many("set", keys, rows_of, scores=keys + U8(1), want=("scores", "found"))
        same(result.scores, keys + U8(1))
        same(result.found, np.zeros(100, bool))
        equal((result.previous, result.evicted_keys, result.overflows), (None, None, 0))
        equal((c.count_scores(1, 10), c.erase_scores(1, 5), c.count_scores(1, 10)), (10, 5, 5))
        equal({int(k) for ks, _ in c.scan(scores=(6, 9)) for k in ks}, {5, 6, 7, 8})
        _ = [raises(ValueError, "score: ", call, *ends) for call in (c.count_scores, c.erase_scores) for ends in ((-1, 5), (0, 1 << 64))]
        more = np.arange(1000, 9000, dtype=U8)
        raises(ValueError, "give the lowest and the highest", next, c.scan(scores=(5,)))
        result = c.run_many("set", more, more[:, np.newaxis], scores=U8(1 << 40), want=("evicted", "not_admitted", "found"))
        check(result.evicted_keys.size > 0 and result.evicted_values.shape == (result.evicted_keys.size, 1),
              "evicted entries come back")
        same(result.evicted_values[:, 0], result.evicted_keys.copy(), "each with its value")
        got = c.run_many("find_or_insert", [1 << 50], [[3]], want="previous")
        same(got.previous, np.zeros((1, 1), U8))
        raises(ValueError, "operation 'put' does not exist", c.run_many, "put", [1])
        raises(ValueError, "want: ['all'] do not exist", c.run_many, "get", [1], want="all")
        raises(ValueError, "takes no values", c.run_many, "get", [1], [1])
        raises(sherwood.Refused, "no EPOCH", c.epoch)
    with daemon() as server, sherwood.connect(server.unix) as c:
        result = c.run_many("increment", [1, 2, 1], [TOP, 3, 1])
        equal((result.overflows, c[1], c[2]), (1, TOP, 3))
        same(result.previous, np.array([0, 0, TOP], U8))
        raises(sherwood.Refused, "announces no eviction policy", c.run_many, "set", [1], [1], scores=1)
        raises(sherwood.Refused, "", c.run_many, "peek", [1])


def round_trip(c, folder, suffix, **names):
    """Checks that a dump has what was stored, and that an empty table loads it."""
    path = os.path.join(folder, "pairs" + suffix)
    before = contents(c)
    told = []
    equal(c.dump(path, batch=1000, progress=lambda done, total: told.append((done, total)), **names),
          len(before), "pairs that were dumped")
    equal(told[-1], (len(before), len(before)), "progress")
    c.flush()
    equal(c.load(path, batch=700, **names), len(before), "pairs that were loaded")
    equal(contents(c), before, suffix)
    equal(os.listdir(folder), ["pairs" + suffix], "nothing else is left in the folder")
    equal(os.stat(path).st_mode & 0o777, 0o644, "mode of the file")
    os.unlink(path)


def contents(c):
    return {int(k): v.tobytes() for ks, vs in c.scan(batch=512) for k, v in zip(ks, vs)}


@case
def files():
    """load and dump: .npz, .npy, .csv, of integers, floats, rows, byte strings and keys alone"""
    old = os.umask(0o022)
    with tempfile.TemporaryDirectory() as folder:
        with daemon() as server:
            with sherwood.connect(server.unix) as c:
                keys = np.unique(np.random.default_rng(2).integers(0, TOP, 5000, U8, endpoint=True))
                c.set_many(np.append(keys, [U8(0), U8(TOP)]), np.append(keys[::-1], [U8(TOP), U8(0)]))
                for suffix in (".npz", ".npy", ".csv"):
                    round_trip(c, folder, suffix)
                round_trip(c, folder, ".npz", keys="ids", values="counts")
            with sherwood.connect(server.unix, value_dtype=np.float64) as c:
                c.flush()
                c.set_many(keys, np.random.default_rng(3).random(keys.size))
                for suffix in (".npz", ".npy", ".csv"):
                    round_trip(c, folder, suffix)
        with cache("--value-bytes", "32", "--value-format", "fixed", value_dtype=F4) as c:
            c.set_many(np.arange(2000), np.random.default_rng(4).random((2000, 8), F4))
            round_trip(c, folder, ".npz")
            round_trip(c, folder, ".npy")
            raises(ValueError, "cannot hold rows", c.dump, os.path.join(folder, "x.csv"))
            equal(os.listdir(folder), [], "a dump that failed leaves no file")
        with cache() as c:
            c.set_many([1, 2], [b"one", b"two"])
            round_trip(c, folder, ".npz")
            round_trip(c, folder, ".npy")
        with daemon("--backend", "cpu", "--value-type", "none") as server, sherwood.connect(server.unix) as c:
            equal((c.insert_many(keys).all(), c.insert_many(keys).any()), (True, False), "keys without values")
            raises(sherwood.Refused, "use insert_many", c.set_many, keys[:2], [1, 2])
            raises(sherwood.Refused, "use insert_many", c.add_many, keys[:2], 1)
            round_trip(c, folder, ".npz", keys="hash")
            round_trip(c, folder, ".npy")
            np.save(path := os.path.join(folder, "x.npy"), keys[:9])
            equal((c.delete_many(keys[:9]).all(), c.load(path), len(c)), (True, 9, len(keys)), "an array of keys")
            arrays = os.path.join(folder, "y.npz")
            for wrong in (keys.reshape(-1, 2), keys[:1].reshape(1, 1), keys[0]):
                np.save(path, wrong)
                raises(ValueError, "neither records of 'key' nor one dimension", c.load, path)
                np.savez(arrays, key=wrong)
                raises(ValueError, "keys need one dimension", c.load, arrays)
            raises(ValueError, "name one of these with keys=", c.load, arrays, keys="hash")
            raises(ValueError, "need .npz, .npy or .parquet", c.dump, os.path.join(folder, "x.csv"))
    os.umask(old)


@case
def files_of_others():
    """load: two columns, headers and a byte order mark; an error names what is wrong with a file"""
    with tempfile.TemporaryDirectory() as folder, daemon() as server, \
            sherwood.connect(server.unix) as c:
        def write(name, text, mode="w"):
            path = os.path.join(folder, name)
            with open(path, mode) as file:
                file.write(text)
            return path

        np.save(os.path.join(folder, "two.npy"), np.array([[1, 10], [2, 20]], np.int64))
        equal((c.load(os.path.join(folder, "two.npy")), c[1], c[2]), (2, 10, 20))
        equal((c.load(write("a.csv", f"\ufeffkey,value\n3, 30\r\n{TOP},{TOP}\n")), c[3], c[TOP]),
              (2, 30, TOP))
        equal(c.load(write("empty.csv", "")), 0)
        equal((c.load(write("none.csv", "4,40")), c[4]), (1, 40))
        before = len(c)
        for text in ("1,1_0\n", "1,1e3\n", "-1,1\n", "1,-1\n", "1,1.5\n", "1\n", "1,2,3\n", f"1,{2**64}\n", "1,x\n"):
            raises(ValueError, "bad.csv:2: ", c.load, write("bad.csv", "5,50\n" + text))
        for text in ("-1,5\n2,3\n", "+7,5\n", "x7,5\n", " ,5\n", "key,5\n", "7,value\n", "ff,aa\n", "null,None\n", "−1,−5\n", "١,٢\n", "# a,b\n", ",\n", "7;5\n", "1,2\0\n", "\0,\0\n", "1,\"2\n",
                     "key,value\nkey,value\n", "1,2,\n", "0x1,2\n", "1,٣\n", "1,2" + " " * 70_000 + "3\n"):
            raises(ValueError, f"first.csv:{text.count('key,value') or 1}: ", c.load, write("first.csv", text))
        equal(c.load(write("ends.csv", '\r\n\nid,"fee"\r\n"6", "60" \r9,90\n\n8,80')), 3)
        same(c.get_many([6, 9, 8], default=0), np.array([60, 90, 80], U8), "ends of lines, and quotes")
        c.delete_many([6, 9, 8])
        for given, said in (({"batch": 0}, "batch is 0"), ({"keys": "id"}, "none.csv: load reads the first column"), ({"values": "n"}, "leave keys= and values= out")):
            raises(ValueError, said, c.load, write("none.csv", "4,40"), **given)
        raises(ValueError, "give a name that ends in .npz", c.load, write("a.txt", ""))
        raises(ValueError, "give a name that ends in .npz", c.dump, os.path.join(folder, "dump"))
        raises(FileNotFoundError, "", c.load, os.path.join(folder, "absent.npz"))
        np.savez(os.path.join(folder, "names.npz"), ids=np.arange(3), n=np.arange(2))
        raises(ValueError, "no 'key'", c.load, os.path.join(folder, "names.npz"))
        raises(ValueError, "3 keys and 2 values", c.load, os.path.join(folder, "names.npz"), keys="ids", values="n")
        np.save(os.path.join(folder, "f.npy"), np.zeros((4, 2)))
        raises(TypeError, "f.npy: pairs 0 to 3: keys: the dtype is float64", c.load, os.path.join(folder, "f.npy"))
        np.save(os.path.join(folder, "one.npy"), np.arange(4))
        raises(ValueError, "neither records", c.load, os.path.join(folder, "one.npy"))
        equal(len(c), before)
        shown = io.StringIO()
        with contextlib.redirect_stderr(shown):
            c.load(os.path.join(folder, "two.npy"), progress=True)
        check("two.npy: 2 of 2 pairs\n" in shown.getvalue(), shown.getvalue())


@case
def numbers_of_csv():
    """load reads the numbers of a .csv as Python does, also across blocks of the file, or raises an error"""
    rng = np.random.default_rng(drawn_seed())
    with tempfile.TemporaryDirectory() as folder, daemon() as server:
        path = os.path.join(folder, "n.csv")

        def load(c, lines, end="\n"):
            with open(path, "w", newline="", encoding="utf-8") as file:
                file.write(end.join(lines))
            c.flush()
            return c.load(path, batch=100_000)
        with sherwood.connect(server.unix, value_dtype=np.float64) as c:
            texts = [repr(x) for x in rng.integers(0, 2**64 - 1, 1000, U8).view(np.float64)] + [
                "0", "-0.0", "1e-320", ".5", "5.", "+1E5", "inf", "-Infinity", "NaN", "1" * 300, "0." + "0" * 300 + "1e300", "0e999"]
            equal(load(c, [f"{i},{text}" for i, text in enumerate(texts)]), len(texts))
            wanted = np.array([float(text) for text in texts])
            got = c.get_many(np.arange(len(texts), dtype=U8), default=0.0)
            np.testing.assert_array_equal(np.where(np.isnan(got), 7.0, got).view(U8), np.where(np.isnan(wanted), 7.0, wanted).view(U8))
            for text in ("1e999", "-1e999", "1e-999", "0x10", "1_0", "1e", "e5", "1 2", "in", "nano", "--1", "1.2.3", "1,5", "", "."):
                raises(ValueError, "n.csv:2: ", load, c, ["1,1", f"2,{text}"])
            raises(ValueError, "n.csv:1: ", load, c, ["key,nan", "2,1"])
        with sherwood.connect(server.unix, value_dtype=np.int64) as c:
            equal(load(c, [f"1,{2**63 - 1}", f"2,{-2**63}", "3,+5", "4,-0"]), 4)
            same(c.get_many([1, 2, 3, 4], default=1), np.array([2**63 - 1, -2**63, 5, 0]))
            for text in (f"{2**63}", f"{-2**63 - 1}", "+-1", "-", "1.0"):
                raises(ValueError, "out of its range", load, c, [f"2,{text}"])
        with sherwood.connect(server.unix, value_dtype="M8[ns]") as c:
            raises(ValueError, "integers and floats", load, c, ["1,1"])
        with sherwood.connect(server.unix) as c:
            for end in ("\n", "\r", "\r\n"):  # more than a block of the file
                keys = np.unique(rng.integers(0, 2**64 - 1, 250_000, U8))
                equal(load(c, [f"{key},{key ^ U8(5)}" for key in keys], end), keys.size)
                same(c.get_many(keys, default=0), keys ^ U8(5), f"lines that end in {end!r}")
    with daemon("--key-bits", "32") as server, sherwood.connect(server.unix, value_dtype=F4) as c:
        path = os.path.join(tempfile.gettempdir(), f"f4-{os.getpid()}.csv")
        for text, good in (("4294967295,0.1", True), ("4294967296,1", False), ("1,3.5e38", False), ("1,1e-46", False)):
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
            if good:
                equal((c.load(path), c[4294967295]), (1, float(F4(0.1))))
            else:
                raises(ValueError, ":1: ", c.load, path)
        os.unlink(path)


@case
def not_as_given():
    """masked or null elements, dropped results, bools and floats out of range raise an error"""
    class Copies:
        """As pyarrow's arrays: numpy gets a new copy each time."""
        null_count = 0

        def __init__(self, held):
            self.held = held

        def __array__(self, *_):
            return self.held.copy()

    class Nulls(Copies):
        """Like Copies, with null elements."""
        null_count = 1

    class Counts(Copies):
        """Like series of polars: null_count is a function."""

        def null_count(self):
            return 0

    keys = np.arange(1, 5, dtype=U8)
    masked = np.ma.masked_array(keys, mask=[0, 1, 0, 0])
    with daemon() as server, sherwood.connect(server.unix) as c:
        c.set_many(keys, keys)
        for call in (c.get_many, c.delete_many, c.contains_many, c.ttl_many, c.persist_many):
            raises(ValueError, "1 elements of the array are masked", call, masked)
        raises(ValueError, "values: 1 elements", c.set_many, keys, masked)
        raises(ValueError, "ttl: 1 elements", c.set_many, keys, keys, ttl=masked)
        raises(ValueError, "old: 1 elements", c.cas_many, keys, masked, keys)
        raises(ValueError, "nulls", c.get_many, Nulls(keys))
        raises(ValueError, "nulls", c.set_many, keys, Nulls(keys))
        same(c.get_many(np.ma.masked_array(keys), default=0), keys, "no element is masked")
        same(c.get_many(Copies(keys), default=0), keys, "a copy is as good to send")
        same(c.get_many(Counts(keys), default=0), keys, "a series without nulls")
        same(c.get_many(np.matrix(keys), default=0), keys[np.newaxis], "a matrix")
        raises(TypeError, "the array is masked", c.get_many, keys, out=np.ma.zeros(4, U8))
        raises(TypeError, "numpy copies a Copies", c.get_many, keys, out=Copies(keys))
        raises(TypeError, "numpy copies a Copies", c.get_many, keys, found=Copies(np.zeros(4, bool)))
        raises(TypeError, "numpy copies a Copies", c.delete_many, keys, found=Copies(np.zeros(4, bool)))
        room = np.zeros(4, U8)
        raises(ValueError, "overlaps out", c.get_many, keys, out=room, found=room.view(bool)[:4])
        for bools in ([True], (1, False), [np.bool_(True)]):
            raises(TypeError, "is not an integer: give integers", c.get_many, bools)
            raises(TypeError, "is not an integer: give integers", c.set_many, [1] * len(bools), bools)
        raises(TypeError, "bool", c.get, True)
        for other in (keys.astype(">u8"), keys.astype(object), keys.view("M8[ns]"), keys.view("V8"), keys.astype(float)):
            raises(TypeError, "dtype", c.get_many, other)
        same(c.get_many(keys, default=0), keys, "nothing was changed")
    with cache("--value-bytes", "8", "--value-format", "fixed", value_dtype=F4) as c:
        for value in (1e39, [[1e39, 0.0]], [[float("inf"), 1e39]]):
            raises(ValueError, "out of the range of float32", c.set_many, [1], value)
        raises(TypeError, "", c.set_many, [1], True)
        raises(ValueError, "masked", c.__setitem__, 1, np.ma.masked_array(np.zeros(2, F4), mask=[1, 0]))
        c.set_many([1], [[float("inf"), float("nan")]])


@case
def parquet():
    """load and dump: .parquet, with pyarrow; pyarrow arrays as keys"""
    if importlib.util.find_spec("pyarrow") is None:
        with daemon() as server, sherwood.connect(server.unix) as c:
            raises(ImportError, "pip install pyarrow", c.dump, "/tmp/none.parquet")
        raise Skip("pyarrow is not installed; without it the call says so")
    import pyarrow  # pylint: disable=import-outside-toplevel

    old = os.umask(0o022)
    with tempfile.TemporaryDirectory() as folder:
        with daemon() as server, sherwood.connect(server.unix) as c:
            c.set_many(np.arange(3000), np.arange(3000) * 2)
            round_trip(c, folder, ".parquet")
            same(c.get_many(pyarrow.array([1, 2], pyarrow.uint64()), default=0), np.array([2, 4], U8))
        with cache("--value-bytes", "32", "--value-format", "fixed", value_dtype=F4) as c:
            c.set_many(np.arange(2000), np.random.default_rng(4).random((2000, 8), F4))
            round_trip(c, folder, ".parquet")
            import pyarrow.parquet as files_of  # pylint: disable=import-outside-toplevel
            ids, path = pyarrow.array([1, 2], pyarrow.uint64()), os.path.join(folder, "r.parquet")
            full, before = [1.0] * 8, contents(c)
            for rows_of, words in (([full[:4], full + full[:4]], "row 0 has 4 numbers"), ([full, []], "row 1 has 0 numbers"),
                                   ([full, full[:7] + [None]], "row 1 contains a null"), ([full, None], "row 1 has a null in")):
                for kind in (pyarrow.list_(pyarrow.float32()), pyarrow.large_list(pyarrow.float32())):
                    files_of.write_table(pyarrow.table({"key": ids, "value": pyarrow.array(rows_of, kind)}), path)
                    raises(ValueError, words, c.load, path)
            files_of.write_table(pyarrow.table({"key": ids, "value": pyarrow.array([1.0, 2.0], pyarrow.float32())}), path)
            raises(ValueError, "give lists", c.load, path)
            equal(contents(c), before, "nothing was stored")
    os.umask(old)


if __name__ == "__main__":
    main()
