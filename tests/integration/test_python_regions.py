#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The Python package's regions: arrays in memory that the server shares, and their lifetime."""

import asyncio
import gc
import os
import pathlib
import pickle
import random
import resource
import signal
import threading

from harness import Server, case, check, drawn_seed, equal, eventually, main
from package import daemon, in_child, np, pause, raises, same, sherwood
from sherwood._native import ffi, lib

U8, U4 = np.uint64, np.uint32
TOP = 2**64 - 1


def by_socket(client):
    """Returns the bytes that the client's own connection has transferred."""
    traffic = ffi.new("struct sherwood_traffic *")
    link = client._link  # pylint: disable=protected-access
    lib.sherwood_traffic(link.use(), traffic, ffi.sizeof(traffic[0]))
    return int(traffic.bytes_received + traffic.bytes_sent), int(traffic.ring_requests)


def lies_in(region, array):
    memory = region._memory  # pylint: disable=protected-access
    return memory.base <= array.__array_interface__["data"][0] < memory.base + memory.nbytes


@case
def calls():
    """every call on many keys uses the region; the socket has only doorbells; results are next to the keys"""
    with daemon() as server, sherwood.connect(server.unix) as c, c.region(1 << 20) as r:
        keys = r.copy(np.array([3, TOP, 0, 3], U8))
        one = r.copy(np.array([3, 99, 3], np.int64))
        out = r.empty(4)
        bytes_before, requests_before = by_socket(c)
        bells_before = c.stats()["ring_wakes"]
        asked = by_socket(c)[0] - bytes_before
        equal(c.set_many(keys, r.copy(np.array([1, 2, 3, 4], U8))), None)
        values, found = c.get_many(keys)
        same(values, np.array([4, 2, 3, 4], U8))
        same(found, np.ones(4, bool))
        check(lies_in(r, values) and not lies_in(r, found), "values lie in the region, masks do not")
        same(c.get_many(one, default=7), np.array([4, 7, 4], U8))
        mask = np.zeros(4, bool)
        check(c.get_many(keys, out=out, found=mask)[0] is out, "out is returned")
        same(out, values)
        check(mask.all(), "the caller's mask")
        same(c.set_many(one, 8, only="absent"), [False, True, False])
        same(c.set_many(one, 9, only="present"), [True, True, True])
        old, was = c.set_many(one, 5, previous=True)
        same(old, np.array([9, 9, 5], U8))
        check(was.all() and lies_in(r, old), "the values before")
        equal(c.add_many(one, 1), None)
        c.min_many(one, 6)
        c.max_many(one, r.copy(np.array([6, 8, 6], U8)))
        same(c.get_many(one.reshape(3, 1))[0], np.array([[6], [8], [6]], U8))
        same(c.contains_many(one), [True, True, True])
        same(c.delete_many(one[1:]), [True, True])
        bytes_after, requests_after = by_socket(c)
        equal(requests_after - requests_before, 13, "requests through the ring")
        bells = c.stats()["ring_wakes"] - bells_before
        check(bytes_after - bytes_before - asked <= 64 * (bells + 15), "nothing but bells in the socket")
        # what lies elsewhere goes by the socket, and the results are the same
        requests = by_socket(c)[1]
        same(c.get_many(one, out=np.empty(3, U8), default=1), np.array([1, 1, 1], U8))
        same(c.get_many(keys[::2])[0], np.array([0, 3], U8))
        same(c.get_many([TOP], default=1), np.array([2], U8))
        same(c.get_many(keys[:0])[0], np.empty(0, U8))
        equal(by_socket(c)[1], requests)
        long = r.copy(np.arange(30_000, dtype=U8))
        c.set_many(long, long)
        same(c.get_many(long[5:25_001])[0], np.arange(5, 25_001, dtype=U8))


@case
def in_frames():
    """calls of many frames give the replies of a socket, with each key's found bit in place"""
    with daemon("--frame-ops-max", "128") as server, sherwood.connect(server.unix) as c, \
            c.region(keys=5000) as r:
        keys = r.copy(np.random.default_rng(drawn_seed()).integers(0, 4000, 5000, U8))
        ordinary = np.array(keys)
        c.set_many(keys[:2500], keys[:2500])
        for answers in (c.get_many(keys, default=9), c.submit.get_many(keys, default=9).result(30)):
            same(answers, c.get_many(ordinary, default=9))
            del answers
        same(c.submit.contains_many(keys).result(30), c.contains_many(ordinary))
        gone = c.submit.delete_many(keys).result(30)
        equal(int(gone.sum()), len(set(ordinary[:2500].tolist())))


@case
def rows():
    """rows of a cache and of a table are float arrays"""
    rows_of("--engine", "cache", "--value-format", "fixed")
    rows_of()


def rows_of(*engine):
    with daemon("--value-bytes", "24", *engine) as server, sherwood.connect(server.unix, value_dtype=np.float32) as c:
        with c.region(keys=1000) as r:
            keys = r.copy(np.arange(500))
            values = r.copy(np.arange(3000, dtype=np.float32).reshape(500, 6))
            requests = by_socket(c)[1]
            c.set_many(keys, values)
            got, found = c.get_many(keys[100:200])
            same(got, np.array(values[100:200]))
            check(found.all() and lies_in(r, got), "rows of the region")
            same(c.get_many(r.copy(np.array([7, 700])), default=1.5)[1], np.full(6, 1.5, np.float32))
            c.set_many(keys[3:4], 1.0)
            same(c.get_many(keys[3:4])[0], np.ones((1, 6), np.float32))
            equal(by_socket(c)[1] - requests, 5)
            if engine:
                c.add_many(keys[3:4], 1.0)
                same(c.get_many(keys[3:4])[0], np.full((1, 6), 2, np.float32))
            same(c.run_many("get", keys[5:6], want="previous").previous, np.array(values[5:6]), "run_many")


@case
def in_flight():
    """submit and aio: many calls in flight on one region; calls by ring and by socket keep their order"""
    with daemon() as server, sherwood.connect(server.unix) as c, c.region(1 << 22) as r:
        keys = r.copy(np.arange(50_000, dtype=U8))
        c.submit.set_many(keys, r.copy(np.array(keys) * U8(3))).result(30)
        futures = [c.submit.get_many(keys[i: i + 500], default=1) for i in range(0, 50_000, 500)]
        for i, future in enumerate(futures):
            same(future.result(30), np.arange(i * 500, i * 500 + 500, dtype=U8) * 3)

        async def some():
            got = await asyncio.gather(*(c.aio.get_many(keys[i: i + 500]) for i in range(0, 50_000, 500)))
            return [values for values, _ in got]
        same(np.concatenate(asyncio.run(some())), np.arange(50_000, dtype=U8) * 3)
        rng = random.Random(drawn_seed())
        here, there, last = keys[7:8], np.array([7], U8), 0
        for turn in range(400):
            last = c.submit.set_many(here if rng.random() < .5 else there, turn)
        last.result(30)
        equal(c[7], 399, "the last write of one connection")
        before = c.stats()["ring_requests"]
        c.submit.get_many(keys, out=np.empty(50_000, U8)).result(30)
        equal(c.stats()["ring_requests"], before, "what is not all in the region goes by the socket")


@case
def arrays_live_on():
    """arrays outlive the region, the client and the daemon; their bytes are freed with the last reference"""
    with daemon() as server:
        c = sherwood.connect(server.unix)
        r = c.region(1 << 16)
        a, b = r.copy(np.arange(100, dtype=U8)), r.empty((10, 10), np.float32)
        b[:] = 1.5
        view, free = a[50:], r.free
        del a
        equal(r.free, free, "a view keeps its bytes")
        raises(MemoryError, "does not fit", r.empty, 1 << 20)
        raises(TypeError, "objects", r.empty, 4, object)
        raises(ValueError, "negative", r.empty, -1)
        raises(TypeError, "one process", pickle.dumps, r)
        same(pickle.loads(pickle.dumps(view)), np.arange(50, 100, dtype=U8))
        large = r.empty((1 << 16) - 832 - 448, np.uint8)
        del large
        values, found = c.get_many(view)
        check(not found.any() and "open" in repr(r), repr(r))
        del values
        r.close()
        r.close()
        check("closed" in repr(r), repr(r))
        raises(sherwood.Refused, "closed", r.empty, 1)
        c.set_many(view, 4)
        same(c.get_many(view)[0], np.full(50, 4, U8), "by the socket")
        eventually(lambda: c.stats()["regions"] == 0, "the server has given it back")
        other = c.region(1 << 16)
        kept = other.copy(view)
        c.close()
        check("closed" in repr(other), repr(other))
        raises(ValueError, "closed", c.get_many, kept)
        other.close()
        del c, r, other
        gc.collect()
        view += U8(1)
        same(view, np.arange(51, 101, dtype=U8))
        same(b, np.full((10, 10), 1.5, np.float32))
    kept[:] = 3
    same(kept, np.full(50, 3, U8), "after the daemon")


@case
def holes():
    """arrays of a region never overlap, and all bytes are free after the last one is dropped"""
    rng = random.Random(drawn_seed())
    with daemon() as server, sherwood.connect(server.unix) as c, c.region(1 << 16) as r:
        kept = []
        for turn in range(3000):
            if kept and rng.random() < .5:
                array, number = kept.pop(rng.randrange(len(kept)))
                check((array == number).all(), f"turn {turn}: another array was written over this one")
                del array
            else:
                try:
                    array = r.empty(rng.choice((1, 8, 9, 100, 1000, 3000)), U4)
                except MemoryError:
                    continue
                array[:] = turn
                kept.append((array, turn))
                del array
        kept.clear()
        equal(r.free, r.nbytes)
        r.empty(r.nbytes, np.uint8)


@case
def refused():
    """limits and addresses raise the server's error; dtypes and shapes raise that of any other array"""
    flags = ("--region-bytes-max", "1M", "--regions-max", "3", "--rings-max", "1")
    with daemon(*flags) as server, sherwood.connect(server.unix) as c:
        raises(sherwood.Refused, "region-bytes-max", c.region, 2 << 20)
        raises(ValueError, "region: keys is -1: give", c.region, keys=-1)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, limits[1]))  # so that a client that would take the memory fails
        raises(MemoryError, "bytes; create a smaller region", c.region, 1 << 40)
        limits = resource.getrlimit(resource.RLIMIT_AS)
        mapped = resource.getpagesize() * int(pathlib.Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (mapped + (64 << 20), limits[1]))
        try:
            raises(MemoryError, "ulimit -v leaves", c.region, 1 << 28)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, limits)
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        first = c.region(512 << 10)
        raises(sherwood.Refused, "region-bytes-max", c.region, (512 << 10) + 1)
        others = [c.region(1) for _ in range(2)]
        raises(sherwood.Refused, "regions-max", c.region, 1)
        keys = first.copy(np.arange(10, dtype=U8))
        c.set_many(keys, keys)
        raises(sherwood.Refused, "ring", c.submit.get_many(keys).result, 30)
        same(c.submit.get_many(np.array(keys), default=0).result(30), np.array(keys), "without a region")
        for bad in (None, 0, -1, 2**60):
            raises(ValueError, "region", c.region, bad)
        raises(ValueError, "region", c.region, 10, keys=5)
        raises(TypeError, "float64", c.get_many, first.empty(4, np.float64))
        raises(ValueError, "shape", c.set_many, keys, first.empty(9))
        raises(ValueError, "overlaps", c.get_many, keys, out=keys)
        full = first.empty(first.free // 8 - 8)
        raises(MemoryError, "does not fit", c.get_many, keys)
        del full
        equal(c.get_many(keys[:3])[0].tolist(), [0, 1, 2])
        for region in (first, *others):
            region.close()
        c.region(1 << 20).close()
        with sherwood.connect(f"127.0.0.1:{server.port}") as far:
            raises(sherwood.Refused, "Unix socket", far.region, 4096)
            equal(far[1], 1)
    with daemon("--rings-max", "0") as server, sherwood.connect(server.unix) as c:
        raises(sherwood.Refused, "ring", c.region, 4096)
        equal(len(c), 0)


@case
def forks():
    """fork: in the child the region is closed and its arrays are shared memory; the parent goes on"""
    with daemon() as server, sherwood.connect(server.unix) as c:
        with c.region(1 << 16) as r:
            keys = r.copy(np.arange(10, dtype=U8))
            c.set_many(keys, keys)
            c.submit.get_many(keys).result(30)

            def child():
                same(c.get_many(keys)[0], np.arange(10, dtype=U8))
                equal(by_socket(c)[1], 0, "requests through a ring in the child")
                raises(sherwood.Refused, "forked", r.empty, 1)
                same(c.submit.get_many(keys, default=0).result(30), np.arange(10, dtype=U8))
                keys[0] = 77
                with c.region(4096) as own:
                    c.delete_many(own.copy(np.array([5], U8)))
                    equal(by_socket(c)[1], 1)
                r.close()
                c.close()

            in_child(child)
            equal(int(keys[0]), 77, "what the child wrote")
            requests = by_socket(c)[1]
            values, found = c.get_many(keys)
            same(found, [False] + 4 * [True] + [False] + 4 * [True])
            equal(by_socket(c)[1] - requests, 1)


@case
def run_many_is_lost():
    """run_many uses regions as other calls do: a Timeout during it loses the region"""
    with daemon() as server, sherwood.connect(server.unix, timeout=3.0) as c, c.region(1 << 16) as r:
        keys = r.copy(np.arange(100, dtype=U8))
        c.set_many(keys, keys)
        requests = by_socket(c)[1]
        c.run_many("set", keys, keys, want=())
        equal(by_socket(c)[1] - requests, 1, "by the region")
        check("lost" not in repr(r), repr(r))
        pause(server)
        try:
            raises(sherwood.Timeout, "", c.run_many, "set", keys, keys, want=())
        finally:
            os.kill(server.pid(), signal.SIGCONT)
        check("lost" in repr(r), repr(r))
        raises(sherwood.Lost, "copy what is needed", c.run_many, "set", keys, keys, want=())


@case
def daemon_dies():
    """a daemon killed or silent during a call: Lost or Timeout, and the same from the region until it is closed"""
    with daemon() as server:
        c = sherwood.connect(server.unix)
        idle, r = c.region(1 << 14), c.region(1 << 16)
        keys = r.copy(np.arange(100, dtype=U8))
        c.set_many(keys, keys)
        c.submit.get_many(keys).result(30)
        pause(server)
        futures = [c.submit.get_many(keys) for _ in range(3)]
        eventually(lambda: c.submit._worker.engine.flights, "in flight")  # pylint: disable=protected-access
        server.kill()
        for future in futures:
            raises(sherwood.Lost, "", future.result, 30)
        check("lost" in repr(r), repr(r))
        raises(sherwood.Lost, "copy what is needed", c.get_many, keys)
        raises(sherwood.Lost, "copy what is needed", c.get_many, np.array(keys), out=keys)
        raises(sherwood.Lost, "copy what is needed", r.empty, 1)
        raises(sherwood.Lost, "", c.get_many, np.array(keys))
        r.close()
        with Server("--unix-socket", server.unix[len("unix:"):]):
            check(not c.get_many(keys)[1].any(), "by the socket, with the new daemon")
            here = idle.copy(np.array(keys))
            c.set_many(here, here)
            equal(by_socket(c)[1], 1, "a region without a call in flight goes on with the next connection")
            c.close()
        server.stop = lambda: None  # it was killed
    with daemon() as server, sherwood.connect(server.unix, timeout=3.0) as c:
        with c.region(1 << 16) as r:
            keys = r.copy(np.arange(100, dtype=U8))
            c.set_many(keys, keys)
            pause(server)
            try:
                raises(sherwood.Timeout, "", c.get_many, keys)
                raises(sherwood.Lost, "copy what is needed", c.get_many, keys)
            finally:
                os.kill(server.pid(), signal.SIGCONT)
        same(c.get_many(keys)[0], np.array(keys))


@case
def closed_in_flight():
    """calls on a region that closes before the server has seen them are executed"""
    with daemon() as server, sherwood.connect(server.unix) as c:
        for _ in range(10):
            r = c.region(1 << 18)
            keys = r.copy(np.arange(2000, dtype=U8))
            c.submit.set_many(keys, keys).result(30)
            engine = c.submit._worker.engine  # pylint: disable=protected-access
            pause(server)
            closing = threading.Thread(target=r.close)
            try:
                futures = [c.submit.get_many(keys) for _ in range(8)]
                eventually(lambda: len(engine.flights) == 8, "they are in flight")
                closing.start()
                eventually(lambda: not engine.link._shared.pointers, "the region is given back")
            finally:
                os.kill(server.pid(), signal.SIGCONT)
            closing.join()
            for future in futures:
                same(future.result(30)[0], keys)


@case
def closed_meanwhile():
    """a region is closed by another thread while threads, futures and a loop have calls on it"""
    with daemon() as server, sherwood.connect(server.unix) as c:
        c.set_many(np.arange(2000, dtype=U8), np.arange(2000, dtype=U8))
        for _ in range(10):
            r = c.region(1 << 18)
            keys = r.copy(np.arange(2000, dtype=U8))
            failures, begun = [], threading.Semaphore(0)

            def read(keys=keys, failures=failures, begun=begun):
                try:
                    for turn in range(30):
                        same(c.get_many(keys, out=np.empty(2000, U8), default=1), np.arange(2000, dtype=U8))
                        same(c.submit.contains_many(keys).result(30), np.ones(2000, bool))
                        if turn == 3:
                            begun.release()
                except BaseException as error:  # pylint: disable=broad-except
                    failures.append(error)
                finally:
                    begun.release()

            threads = [threading.Thread(target=read) for _ in range(3)]
            for thread in threads:
                thread.start()
            for _ in threads:
                begun.acquire()
            r.close()
            for thread in threads:
                thread.join()
            equal(failures, [])
        eventually(lambda: c.stats()["regions"] == 0, "the server has given all back")


if __name__ == "__main__":
    main()
