#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The Python package against a daemon: blocking calls, the arguments that they take and those that they refuse."""

import array
import gc
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import tracemalloc

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

from harness import ROOT, Server, case, check, drawn_seed, equal, main
from package import LIB, daemon, np, raises, same, sherwood
from wire import Replies

set_hypothesis_home_dir(str(ROOT / "build" / "hypothesis"))  # what it keeps between runs
TOP = 2**64 - 1
U8, U4 = np.uint64, np.uint32


@case
def calls():
    """every call on many keys returns the right results, dtypes and shapes"""
    with daemon() as server, sherwood.connect(server.unix) as c:
        keys = np.array([3, TOP, 0, 3], U8)
        equal(c.set_many(keys, np.array([1, 2, 3, 4], U8)), None)
        values, found = c.get_many([3, 0, 9, TOP])
        same(values, np.array([4, 3, 0, 2], U8))
        same(found, [True, True, False, True])
        same(c.get_many([9, 3], default=7), np.array([7, 4], U8), "default")
        same(c.get_many([9, 3], default=0), np.array([0, 4], U8), "default 0")
        same(c.set_many([3, 5], [8, 9], only="absent"), [False, True], "written if absent")
        same(c.set_many([3, 6], [8, 9], only="present"), [True, False], "written if present")
        old, was = c.set_many([3, 6], 1, previous=True)
        same(old, np.array([8, 0], U8))
        same(was, [True, False])
        old, was = c.set_many([3, 7], 2, only="absent", previous=True)
        same(old, np.array([1, 0], U8))
        same(was, [True, False])
        equal(c.add_many([3, 3, 8], [5, 5, TOP]), None)
        old, was = c.add_many([3, 8, 9], [1, 1, 1], previous=True)
        same(old, np.array([11, TOP, 0], U8))
        same(c.get_many([8, 9], default=5), np.array([0, 1], U8), "added modulo 2^64")
        c.min_many([3, 20], [2, 2])
        c.max_many([3, 20], [3, TOP])
        same(c.get_many([3, 20], default=0), np.array([3, TOP], U8), "min and max")
        same(c.contains_many([3, 99]), [True, False])
        same(c.delete_many([3, 99, 3]), [True, False, False], "deleted")
        c.flush()
        equal(len(c), 0)


@case
def one_key():
    """the mapping: c[k], c[k] = v, del, in, get and len work"""
    with daemon() as server, sherwood.connect(server.unix) as c:
        c[42] = 7
        c[TOP] = TOP
        equal((c[42], c[TOP], len(c), 42 in c, 43 in c, c.get(43), c.get(43, 1), c.get(42)),
              (7, TOP, 2, True, False, None, 1, 7))
        check(isinstance(c[42], int), "a value is a Python int")
        del c[42]
        raises(KeyError, "42", lambda: c[42])
        raises(KeyError, "42", c.__delitem__, 42)
        raises(TypeError, "not iterable", iter, c)
        raises(TypeError, "7379 is neither a text nor a list of texts: give one such as", sherwood.connect, 7379)
        raises(TypeError, "key 4.2: float is not a key: give an integer or a text", lambda: c[4.2])
        raises(TypeError, "5: int is not a text: give a str or bytes", sherwood.text_key, 5)
        raises(sherwood.Refused, "start the server with --value-bytes and --value-type", sherwood.connect, server.unix, value_dtype="f4")
        raises(ValueError, "not within", lambda: c[-1])
        check(bool(c), "a client is true, whatever its table holds")


@case
def texts():
    """strings as keys reach the entries of redis clients, by the form of keys; with integer keys they are refused"""
    words = ["page:home", b"\0\xff", "42", "042", "", "ü", "18446744073709551616"]
    for form in ("auto", "hash"):
        with Server("--resp-keys", form) as server, sherwood.connect(server.address()) as c, server.replies() as replies:
            for i, word in enumerate(words):
                equal(replies.ask("SET", word, i + 1), "OK", word)
            values, found = c.get_many(words)
            equal((values.tolist(), found.all()), (list(range(1, 8)), True), "a list")
            equal([c.get(word) for word in words], list(range(1, 8)), "one")
            equal([c[word] for word in words], list(range(1, 8)), "one")
            equal((42 in c, c.get(42)), (form == "auto", 3 if form == "auto" else None), "an integer is itself")
            c["page:news"] = 9
            c.add_many(("page:news", "page:home"), 1)
            equal([replies.ask("GET", word) for word in ("page:news", "page:home")], [b"10", b"2"], "by redis clients")
            del c["page:news"]
            check("page:news" not in c, "del")
            square = np.array([["page:home", "042"], ["none", "42"]])
            equal(c.get_many(square, default=0).tolist(), [[2, 4], [0, 3]], "an array of texts, and its shape")
            equal(c.get_many(square.astype(object), default=0).tolist(), [[2, 4], [0, 3]], "of objects")
            equal(c.submit.contains_many(["page:home", "none"]).result().tolist(), [True, False], "submit")
            raises(TypeError, "element 1 of the list, 1, is not a text", c.get_many, ["a", 1])
            raises(TypeError, "element 1 of the list, 'a', is not an integer", c.get_many, [1, "a"])
            raises(TypeError, "'page:home' is one text: give a list of texts", c.get_many, "page:home")
    equal([sherwood.text_key(word) == sherwood.hash_key(word) for word in words], [word != "42" for word in words], "keys")
    equal((sherwood.text_key(b"42"), sherwood.text_key("18446744073709551615")), (42, TOP), "decimals")
    for flags in (("--resp-keys", "decimal"), ("--key-bits", "32"), ("--resp-keys", "raw")):
        with Server(*flags) as server, sherwood.connect(server.address()) as c:
            raises(TypeError, "sherwood.hash_key", c.get, "page:home")
            raises(TypeError, "'a' is a text, and this server's keys are integers", c.set_many, ["a"], [1])
            equal(len(c), 0, "nothing was stored")


@case
def taken_as_they_are():
    """calls take int64, any shape, strided and empty arrays, and buffers of other libraries"""
    with daemon() as server, sherwood.connect(server.unix) as c:
        signed = np.array([-1, -2**63, 5], np.int64)
        c.set_many(signed, signed)
        same(c.get_many(np.array([TOP, 2**63], U8), default=0), np.array([TOP, 2**63], U8))
        grid = np.arange(24, dtype=np.int64).reshape(4, 6)
        c.set_many(grid, grid * 2)
        values, found = c.get_many(grid[:, ::2])
        same(values, (grid[:, ::2] * 2).astype(U8))
        same(found, np.ones((4, 3), bool))
        same(c.get_many(grid.T, default=0), (grid.T * 2).astype(U8), "transposed")
        for empty in ([], (), np.empty(0, U8), np.empty((3, 0), np.int64), array.array("Q")):
            values, found = c.get_many(empty)
            equal((values.size, found.size, values.dtype), (0, 0, np.dtype(U8)))
            equal(c.set_many(empty, empty), None)
            equal(c.delete_many(empty).size, 0)
        same(c.get_many([[1, 2], [3, 4]], default=0), np.array([[2, 4], [6, 8]], U8), "nested lists")
        for other in (array.array("Q", [1, 2]), array.array("q", [1, 2]), range(1, 3), (1, 2),
                      memoryview(array.array("Q", [1, 2])), [np.int32(1), np.uint8(2)],
                      memoryview(bytes([1] + 7 * [0] + [2] + 7 * [0])).cast("Q"), Tensor([1, 2])):
            same(c.get_many(other, default=0), np.array([2, 4], U8), str(type(other)))
        same(c.get_many(np.array(5), default=9), np.array(10, U8), "of no dimension")


class Tensor:
    """An object with DLPack and no other interface."""

    def __init__(self, numbers):
        self._array = np.array(numbers, np.int64)

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class OnDevice(Tensor):
    """A Tensor in the memory of a GPU."""

    def __dlpack_device__(self):
        return 2, 0


@case
def refused():
    """wrong dtypes, shapes and numbers raise an error with the reason, and nothing is stored"""
    with daemon() as server, sherwood.connect(server.unix) as c:
        for keys in (np.zeros(2), np.zeros(2, U4), np.zeros(2, np.int32), np.zeros(2, bool),
                     np.zeros(2, ">u8"), np.zeros(2, object), np.zeros(2, "S8"), np.zeros(2, "M8[s]"),
                     np.zeros(2, np.uint8), b"0123456789abcdef", bytearray(16)):
            raises(TypeError, "uint64 or int64", c.get_many, keys)
            raises(TypeError, "uint64 or int64", c.set_many, [1, 2], keys)
        raises(TypeError, "the dtype is bool, and this call needs uint64 or int64: convert the array", c.get_many, np.zeros(2, bool))
        raises(TypeError, "keys: element 0 of the list, 1.0, is not an integer: give integers (uint64)", c.get_many, [1.0])
        raises(TypeError, "keys: element 1 of the list, '1', is not an integer", c.get_many, [1, "1"])
        raises(TypeError, "values: element 0 of the list, 'a', is not an integer: give integers (uint64), or start the server with",
               c.set_many, [1], ["a"])
        raises(TypeError, "keys: element 1 of the list, True, is not an integer", c.get_many, [1, True])
        raises(ValueError, "lists of one length", c.get_many, [[1, 2], [3]])
        raises(ValueError, "lists of one length", c.get_many, [[1, 2], 3])
        for none in (None, "12", 1.5, {1: 2}, 12):
            raises(TypeError, "", c.get_many, none)
        raises(ValueError, "keys: element 1 of the list, -1, is not within 0 to", c.get_many, [1, -1])
        raises(ValueError, f"keys: element 0 of the list, {2**64}, is not within 0 to", c.get_many, [2**64])
        raises(ValueError, "values: -1 is not within 0 to", c.set_many, [1], -1)
        raises(TypeError, "values: 0.5 is not an integer: give an integer (uint64)", c.set_many, [1], 0.5)
        raises(TypeError, "default: 1.0 is not an integer: give an integer (uint64)", c.get_many, [1], default=np.float32(1))
        raises(TypeError, "in the memory of a device", c.get_many, OnDevice([1]))
        raises(ValueError, "shape (3,)", c.set_many, [1, 2], [1, 2, 3])
        raises(ValueError, "shape (1, 2)", c.set_many, [1, 2], np.zeros((1, 2), U8))
        raises(ValueError, "only is", c.set_many, [1], [1], only="new")
        raises(TypeError, "", c.set_many, [1], [1.5])
        raises(TypeError, "", c.get_many, [1], default="x")
        equal(len(c), 0)
        room, mask = np.zeros(2, U8), np.zeros(2, bool)
        raises(TypeError, "float64", c.get_many, [1, 2], out=np.zeros(2))
        raises(TypeError, "a list", c.get_many, [1, 2], out=[0, 0])
        raises(ValueError, "shape (3,)", c.get_many, [1, 2], out=np.zeros(3, U8))
        raises(ValueError, "gaps", c.get_many, [1, 2], out=np.zeros(4, U8)[::2])
        raises(TypeError, "found", c.get_many, [1, 2], found=np.zeros(2, U8))
        mask.flags.writeable = False
        raises(ValueError, "read-only", c.get_many, [1, 2], out=room, found=mask)
        raises(ValueError, "overlaps", c.get_many, room, out=room)
        raises(ValueError, "batch", lambda: next(c.scan(batch=0)))


@case
def receives_into():
    """out= and found= are filled and returned, without an allocation for each key (tracemalloc)"""
    count = 1 << 18
    with daemon() as server, sherwood.connect(server.unix) as c:
        keys = np.arange(count, dtype=np.int64)
        c.set_many(keys[: count // 2], keys[: count // 2])
        out, mask = np.full(count, 99, np.int64), np.ones(count, bool)
        values, found = c.get_many(keys, out=out, found=mask)
        check(values is out and found is mask, "what was given is returned")
        equal((int(mask.sum()), int(out[5]), int(out[-1])), (count // 2, 5, 0))
        bytes_mask = bytearray(count)
        check(c.get_many(keys, out=out, default=1) is out and out[-1] == 1, "default with out")
        equal(c.get_many(keys, found=bytes_mask)[1].count(1), count // 2, "found: a bytearray")
        tracemalloc.start()
        c.get_many(keys, out=out, found=mask)
        before = tracemalloc.take_snapshot()
        tracemalloc.reset_peak()
        base = tracemalloc.get_traced_memory()[0]
        for _ in range(3):
            c.get_many(keys, out=out, found=mask)
            c.set_many(keys, out)
        peak = tracemalloc.get_traced_memory()[1] - base
        grown = tracemalloc.take_snapshot().compare_to(before, "filename")
        tracemalloc.stop()
        check(peak < 8192, f"{peak} bytes for {count} keys")
        blocks = sum(line.count_diff for line in grown if "sherwood" in line.traceback[0].filename)
        check(blocks < 20, f"{blocks} objects stay")


@case
def nothing_leaks():
    """calls release their references to arrays, and a dropped client closes its descriptor"""
    with daemon() as server:
        keys, out = np.arange(100, dtype=U8), np.zeros(100, U8)
        with sherwood.connect(server.unix) as c:
            c.get_many(keys, out=out)
            before = sys.getrefcount(keys), sys.getrefcount(out)
            for _ in range(200):
                c.get_many(keys, out=out)
                c.set_many(keys, out)
                raises(TypeError, "", c.get_many, keys, out=[1])
            equal((sys.getrefcount(keys), sys.getrefcount(out)), before, "references")
        opened = descriptors()
        for _ in range(50):
            sherwood.connect(server.unix)  # closed when nobody has it any more
        equal(descriptors(), opened, "open descriptors")


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@case
def beside_a_dict():
    """random calls by hypothesis equal a dict's: blocking and submitted, of lists and of arrays in a region, of both widths"""
    for dtype, flags in ((U8, ()), (U4, ("--key-bits", "32"))):
        with daemon(*flags) as server, sherwood.connect(server.unix, stripes=2) as c, \
                sherwood.connect(server.unix) as other, other.region(1 << 16) as region:
            check_calls(c, other, region, dtype)
            gc.collect()
            equal(region.free, region.nbytes, "every array has given its bytes back")


def check_calls(c, other, region, dtype):
    top = int(np.iinfo(dtype).max)
    keys = st.lists(st.sampled_from([0, 1, 2, 3, top // 2 + 1, top - 1, top]), max_size=9)
    calls_of = st.lists(st.tuples(st.sampled_from(sorted(MODEL)), keys, st.integers(0, top), st.booleans(), st.booleans()), max_size=12)

    @seed(drawn_seed())
    @settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(calls_of)
    def agree(chosen):
        c.flush()
        model = {}
        for name, some, start, submits, shared in chosen:
            def call(method, *arrays, client=other if shared else c, is_region=shared, is_future=submits, **options):
                arrays = [region.copy(np.array(array, dtype)) if is_region else array for array in arrays]
                got = getattr(client.submit if is_future else client, method)(*arrays, **options)
                return got.result(30) if is_future else got
            MODEL[name](call, model, some, [(start + i) & top for i in range(len(some))], dtype)
        equal({int(k): int(v) for ks, vs in c.scan(batch=3) for k, v in zip(ks, vs)}, model)

    agree()


def _write(name, combine, **options):
    def step(call, model, keys, values, dtype):
        wanted = []
        for key, value in zip(keys, values):
            wanted.append((model.get(key, 0), key in model))
            new = combine(model.get(key), value)
            if new is not None:
                model[key] = new & int(np.iinfo(dtype).max)
        got = call(name, keys, values, previous=True, **options)
        same(got[0], np.array([old for old, _ in wanted], dtype), name)
        same(got[1], np.array([was for _, was in wanted], bool), name)
    return step


def _get(call, model, keys, values, dtype):
    default = values[0] if values else 0
    same(call("get_many", keys, default=default), np.array([model.get(k, default) for k in keys], dtype))


def _delete(call, model, keys, _values, _dtype):
    same(call("delete_many", keys), np.array([model.pop(k, None) is not None for k in keys], bool))


MODEL = {
    "get": _get,
    "delete": _delete,
    "contains": lambda call, model, keys, _values, _dtype: same(
        call("contains_many", keys), np.array([key in model for key in keys], bool)),
    "set": _write("set_many", lambda old, new: new),
    "absent": _write("set_many", lambda old, new: new if old is None else None, only="absent"),
    "present": _write("set_many", lambda old, new: None if old is None else new, only="present"),
    "add": _write("add_many", lambda old, new: (old or 0) + new),
    "min": _write("min_many", lambda old, new: new if old is None else min(old, new)),
    "max": _write("max_many", lambda old, new: new if old is None else max(old, new)),
}


@case
def width32():
    """a server of 32 bits takes uint32 and int32, and no other width"""
    with daemon("--key-bits", "32") as server, sherwood.connect(server.unix) as c:
        keys = np.array([1, -1, 7], np.int32)
        c.set_many(keys, np.array([1, 2, 3], U4))
        values, found = c.get_many([1, 2**32 - 1, 8])
        same(values, np.array([1, 2, 0], U4))
        same(found, [True, True, False])
        raises(TypeError, "uint32 or int32", c.get_many, np.array([1], np.int64))
        raises(ValueError, "not within", c.get_many, [2**32])
        equal((c.key_dtype, c.value_dtype), (np.dtype(U4), np.dtype(U4)))


@case
def long_calls():
    """calls of many frames, with gaps between stored keys, over several connections"""
    with daemon("--capacity", "4M") as server, sherwood.connect(server.unix, stripes=3) as c:
        count = 1_000_003
        keys = np.arange(count, dtype=U8) * 2654435761
        c.set_many(keys[::2], keys[::2] >> 3)
        values, found = c.get_many(keys)
        same(found, np.arange(count) % 2 == 0, "found")
        same(values, np.where(found, keys >> 3, 0).astype(U8), "values")
        same(c.get_many(keys, default=6), np.where(found, keys >> 3, 6).astype(U8), "default")
        got = np.concatenate([k for k, _ in c.scan(batch=100_000)])
        same(np.unique(got), np.sort(keys[::2]), "scan")
        equal(len(c), (count + 1) // 2)


@case
def damaged_files():
    """load and dump name the file, and say what to do, where numpy proposes pickles"""
    with tempfile.TemporaryDirectory() as folder, daemon() as server, sherwood.connect(server.unix) as c:
        path = os.path.join(folder, "x")
        np.savez(path + ".npz", key=np.arange(1000), value=np.arange(1000))
        np.save(path + ".npy", np.ones((1000, 2), np.uint64))
        npz, npy = (pathlib.Path(path + suffix).read_bytes() for suffix in (".npz", ".npy"))
        for suffix, function, other in ((".npz", "savez", npy), (".npy", "save", npz)):
            for held in (b"", b"no arrays", npz[:3000], npy[:3000], other):
                pathlib.Path(path + suffix).write_bytes(held)
                raises(ValueError, f"{path}{suffix}: not a whole {suffix} file of numbers: write it with dump() or numpy.{function}()",
                       c.load, path + suffix)
        raises(FileNotFoundError, f"{folder}/none/x.npz'", c.dump, f"{folder}/none/x.npz")


@case
def facts():
    """server, stats, resize, repr, pickle, clone, close, and value_dtype"""
    with daemon("--max-capacity", "2M") as server:
        c = sherwood.connect(server.unix, stripes=2)
        equal((c.server.engine, c.server.backend, c.server.key_bytes), ("robin_hood", server.flags[
            server.flags.index("--backend") + 1], 8))
        check(f"run_id:{c.server.run:08x}" in server.ask("INFO", "server").decode(), f"{c.server.run:08x} is not the run of INFO")
        c[1] = 5
        equal(c.stats()["keys"], 1)
        check(c.resize(1 << 21) >= 1 << 21, "resize returns the number of slots")
        raises(sherwood.Refused, "cannot resize", c.resize, 1 << 40)
        for slots in (-1, 2**64):
            raises(sherwood.Refused, f"slots is {slots}: give 1 to", c.resize, slots)
        raises(TypeError, "cannot be interpreted as an integer", c.region, "1M")
        c.ping()
        raises(ValueError, "log", c.wait_durable, 1.0)
        equal((c.wait_replicas(0), c.wait_replicas(1, 0), c.wait_replicas(1, 0.01)), (0, 0, 0), "there are no replicas")
        raises(sherwood.Refused, "replicas", c.wait_replicas, -1)
        digest = c.digest()
        equal((digest.entries, len(digest.sums), digest == c.digest()), (1, 32, True), "a checksum")
        with server.connect() as connection:
            Replies(connection).ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        raises(sherwood.Lost, "", c.ping)
        raises(sherwood.Lost, "not known", c.wait_replicas, 0)
        equal(c.wait_replicas(0), 0, "of what is written from then on")
        check(server.unix in repr(c) and "uint64" in repr(c) and "open" in repr(c), repr(c))
        other = pickle.loads(pickle.dumps(c))
        equal((other[1], other.clone()[1]), (5, 5))
        c.close()
        c.close()
        check("closed" in repr(c), repr(c))
        raises(ValueError, "closed", c.ping)
        with sherwood.connect(server.unix, value_dtype=np.float64) as f:
            f.set_many([7, 8], [0.5, -2.0])
            same(f.get_many([7, 8, 9], default=np.nan)[:2], np.array([0.5, -2.0]))
            check(np.isnan(f.get_many([9], default=np.nan)[0]) and f[7] == 0.5, "floats")
            check(np.signbit(f.get_many([9], default=-0.0)[0]), "a default of -0.0 keeps its sign")
            raises(ValueError, "integers", f.add_many, [7], [1.0])
            for operation in ("sum", "min", "max", "increment", "decrement", "mul"):
                raises(ValueError, f"{operation}: the server calculates with integers", f.run_many, operation, [7], [1.0])
            raises(TypeError, "float64", f.set_many, [7], np.array([1], U8))
        with sherwood.connect(server.unix, value_dtype="M8[ns]") as m:
            m[7] = np.datetime64(5, "ns")
            same(m.get_many([7, 9], default=np.datetime64(6, "ns")), np.array([5, 6], "M8[ns]"))
        raises(sherwood.Refused, "8 bytes", sherwood.connect, server.unix, value_dtype=np.float32)


@case
def cannot_connect():
    """wrong addresses and options raise an error with the reason"""
    raises(sherwood.Lost, "", sherwood.connect, "127.0.0.1:1")
    raises(ConnectionError, "", sherwood.connect, "unix:/nonexistent/s")
    raises(sherwood.Refused, "", sherwood.connect, "nonsense")
    raises(ValueError, "stripes", sherwood.connect, "127.0.0.1:1", stripes=0)
    raises(ValueError, "stripes", sherwood.connect, "127.0.0.1:1", stripes=257)
    raises(ValueError, "timeout", sherwood.connect, "127.0.0.1:1", timeout=0)
    raises(ValueError, "timeout", sherwood.connect, "127.0.0.1:1", timeout=float("nan"))
    raises(ValueError, "connect_timeout", sherwood.connect, "127.0.0.1:1", connect_timeout=-1)


@case
def full():
    """a full table raises Full, which is a MemoryError"""
    with daemon("--capacity", "4K") as server, sherwood.connect(server.unix) as c:
        error = raises(sherwood.Full, "maximum load", c.set_many, np.arange(5000, dtype=U8), 1)
        check(isinstance(error, MemoryError) and error.code == -7, repr(error))
        equal(len(c), 0)


def mypy(*paths):
    result = subprocess.run(["mypy", "--config-file", str(ROOT / "client" / "python" / "pyproject.toml"),
                             "--strict", "--no-error-summary", "--cache-dir",
                             str(ROOT / "build" / "python" / "mypy"), *map(str, paths)], text=True,
                            env={**os.environ, "MYPYPATH": str(LIB)}, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, check=False)
    return result.returncode, result.stdout


USER = """
import numpy as np, sherwood
c = sherwood.connect("127.0.0.1:7379")
keys = np.arange(3)
reveal_type(c.get_many(keys)[1])
reveal_type(c.get_many([1], default=0))
reveal_type(c.set_many(keys, 1))
reveal_type(c.set_many(keys, 1, only="absent"))
reveal_type(c.set_many(keys, 1, previous=True))
reveal_type(c.submit.get_many(keys))
reveal_type(len(c))
reveal_type(c.set_many(keys, 1, ttl=5))
reveal_type(c.ttl_many([1]))
reveal_type(c.expire_many(keys, ttl=keys, only="later"))
reveal_type(c.submit.get_segments([("t", keys)]))
c.set_many(keys, 1, previous="yes")
c.get(None)
sherwood.connect(7379)
c.expire_many(keys, ttl=5, only="never")
"""


@case
def typed():
    """mypy --strict finds no fault in the package, and knows the types that its calls return"""
    equal(mypy(ROOT / "client" / "python" / "src" / "sherwood"), (0, ""))
    path = ROOT / "build" / "python" / "user.py"
    path.write_text(USER, encoding="utf-8")
    status, said = mypy(path)
    mask, array = "numpy.ndarray[Any, numpy.dtype[numpy.bool_]]", "numpy.ndarray[Any, numpy.dtype[Any]]"
    revealed = re.findall(r'Revealed type is "(.*)"', said)
    wanted = [mask, array, "None", mask, f"Tuple[{array}, {mask}]", "concurrent.futures._base.Future[Any]",
              "builtins.int", "None", f"Tuple[{array}, {mask}]", mask, "concurrent.futures._base.Future[builtins.list[Any]]"]
    equal([text.replace("builtins.None", "None") for text in revealed], wanted)
    wrong = re.findall(r"user.py:(\d+): error", said)
    equal((status, wrong), (1, ["16", "17", "18", "19"]), said)


if __name__ == "__main__":
    main()
