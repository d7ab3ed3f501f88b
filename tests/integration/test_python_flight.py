#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The Python package: many calls in flight (submit, asyncio), threads, forks, daemons that end or stop."""

import asyncio
import contextvars
import gc
import itertools
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import types
import weakref

from collector import Collector
from harness import SLOWER, Server, at_once, case, check, equal, eventually, main
from package import LIB, daemon, in_child, np, pause, raises, same, sherwood

U8 = np.uint64


@case
def submitted():
    """submit: futures, many in flight, long calls, order on one connection, errors"""
    with daemon() as server, sherwood.connect(server.unix) as c:
        keys = np.arange(200_001, dtype=U8)
        c.submit.set_many(keys, keys * 3).result()
        values, found = c.submit.get_many(np.append(keys, U8(1 << 60))).result()
        same(values, np.append(keys * 3, U8(0)))
        same(found, np.append(np.ones(200_001, bool), False))
        out = np.empty(200_001, U8)
        check(c.submit.get_many(keys, out=out, default=1).result() is out, "out is returned")
        same(out, keys * 3)
        many = [c.submit.get_many(keys[i: i + 50], default=9) for i in range(2000)]
        for i, future in enumerate(many):
            same(future.result(), keys[i: i + 50] * 3)
        last = [c.submit.set_many([7], i) for i in range(1000)][-1]
        last.result()
        equal(c[7], 999)
        same(c.submit.delete_many([7, 7]).result(), [True, False])
        same(c.submit.get_many([]).result()[0], np.empty(0, U8))
        raises(TypeError, "float64", c.submit.get_many, np.zeros(3))
        chained = threading.Event()
        c.submit.get_many([1]).add_done_callback(
            lambda _: c.submit.set_many([5], 55).add_done_callback(lambda _: chained.set()))
        check(chained.wait(20), "a call from what a future calls")
        equal(c[5], 55)
        check(not last.cancel(), "a future cannot be cancelled")
        pending = [c.submit.add_many([1 << 50], 1) for _ in range(500)]
    check(all(future.done() for future in pending), "close waits for what is in flight")
    raises(ValueError, "closed", c.submit.get_many, [1])


@case
def submitted_stripes():
    """submit over several connections: the frames of one write keep their order"""
    with daemon("--frame-ops-max", "1024") as server, sherwood.connect(server.unix, stripes=4) as c:
        keys = np.tile(np.arange(10, dtype=U8), 3000)
        for turn in range(5):
            values = np.arange(keys.size, dtype=U8) + U8(turn)
            c.submit.set_many(keys, values).result()
            same(c.get_many(keys[:10], default=0), values[-10:])
        raises(sherwood.Full, "maximum load",
               c.submit.set_many(np.arange(2_000_000, dtype=U8), 1).result)


@case
def refused_in_flight():
    """submit and aio: a refusal reaches its own call, and the others go on"""
    with daemon("--capacity", "4K") as server, sherwood.connect(server.unix) as c:
        before = c.submit.set_many([1], [1])
        refused = c.submit.set_many(np.arange(10_000, dtype=U8), 2)
        after = c.submit.get_many([1], default=0)
        before.result()
        raises(MemoryError, "maximum load", refused.result)
        same(after.result(), np.array([1], U8))

        async def both():
            return await asyncio.gather(c.aio.set_many(np.arange(10_000, dtype=U8), 2),
                                        c.aio.get_many([1], default=0), return_exceptions=True)
        full, got = asyncio.run(both())
        check(isinstance(full, sherwood.Full), repr(full))
        same(got, np.array([1], U8))


@case
def awaited():
    """aio: many at once, long calls, cancelled awaits, several loops"""
    with daemon() as server, sherwood.connect(server.unix) as c:
        keys = np.arange(150_000, dtype=np.int64)

        async def cancelled():
            # A request can get its reply in the same event-loop iteration, so repeat until a cancel came in time.
            until = time.monotonic() + 60
            for value in itertools.count(5):
                task = asyncio.ensure_future(c.aio.set_many(keys, value))
                await asyncio.sleep(0)
                in_time = task.cancel()
                result, = await asyncio.gather(task, return_exceptions=True)
                equal(result.__class__, asyncio.CancelledError if in_time else type(None))
                if in_time:
                    return value
                check(time.monotonic() < until, "every call had its reply before it was cancelled")

        async def work():
            c.flush()
            await c.aio.set_many(keys, keys + 1)
            values, found = await c.aio.get_many(keys)
            same(values, (keys + 1).astype(U8))
            check(found.all(), "found")
            got = await asyncio.gather(*(c.aio.get_many(keys[i: i + 10], default=0)
                                         for i in range(1500)))
            for i, part in enumerate(got):
                same(part, (keys[i: i + 10] + 1).astype(U8))
            value = await cancelled()
            same(await c.aio.get_many(keys[-3:], default=0), np.full(3, value, U8))
            old, was = await c.aio.add_many([3, 1 << 40], [1, 1], previous=True)
            same(old, np.array([value, 0], U8))
            same(was, [True, False])
            with_error = asyncio.gather(c.aio.get_many([1]), return_exceptions=True)
            raises(TypeError, "float64", c.aio.get_many, np.zeros(1))
            await with_error
            return True

        check(asyncio.run(work()) and asyncio.run(work()), "two loops, one after the other")
        threads = [threading.Thread(target=lambda: done.append(asyncio.run(work()))) for _ in range(1)]
        done = []
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal(done, [True])
        raises(RuntimeError, "no running event loop", c.aio.get_many, [1])


@case
def threads_share():
    """threads take turns on one client, their clones run in parallel, and sums are right"""
    with daemon() as server, sherwood.connect(server.unix) as c:
        keys = np.arange(300, dtype=U8)

        def add(client):
            for _ in range(40):
                client.add_many(keys, 1)
                client.submit.add_many(keys, 1).result()
                values, found = client.get_many(keys)
                check(found.all() and values.min() >= 2, "own writes are seen")

        at_once(add, [(c if i % 2 else c.clone(),) for i in range(8)])
        same(c.get_many(keys, default=0), np.full(300, 640, U8))


@case
def forks_beside_a_future():
    """fork while another thread holds the lock of a future in flight: the child does not wait for that thread"""
    with daemon() as server, sherwood.connect(server.unix) as c:
        c.submit.set_many([2], 2).result()
        pause(server)
        future = c.submit.get_many([2], default=0)
        has_it, forked = threading.Event(), threading.Event()

        def hold():
            with future._condition:  # pylint: disable=protected-access
                has_it.set()
                forked.wait()
        holder = threading.Thread(target=hold)
        holder.start()
        has_it.wait()
        try:
            in_child(lambda: raises(sherwood.Lost, "forked", future.result, 10))
        finally:
            forked.set()
            os.kill(server.pid(), signal.SIGCONT)
        holder.join()
        same(future.result(20), np.array([2], U8), "the parent's future")


def relay_of(server, path):
    """Starts a thread for each direction between the path and the daemon: data pass only while these threads run."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()

    def carry(source, target):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)

    def serve():
        near = listener.accept()[0]
        far = socket.socket(socket.AF_UNIX)
        far.connect(server.unix[len("unix:"):])
        for pair in ((near, far), (far, near)):
            threading.Thread(target=carry, args=pair, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()


@case
def gil_is_released():
    """other Python threads run during a call; without them this call would get no reply"""
    with daemon() as server:
        path = str(server.directory / "relay")
        relay_of(server, path)
        with sherwood.connect("unix:" + path) as c:
            keys = np.arange(300_000, dtype=U8)
            c.set_many(keys, keys)
            same(c.get_many(keys, default=1), keys)


@case
def forks():
    """fork: the child reconnects, and the parent's connections, futures and loops go on"""
    with daemon() as server, sherwood.connect(server.unix) as c:
        c[1] = 1
        c.submit.set_many([2], 2).result()
        pause(server)  # so that calls stay in flight
        future = c.submit.get_many([1, 2], default=0)

        def child():
            raises(sherwood.Lost, "forked", future.result, 10)
            os.kill(server.pid(), signal.SIGCONT)
            equal((c[1], c[2]), (1, 2))
            c[3] = 3
            same(c.submit.get_many([3], default=0).result(20), np.array([3], U8))
            c.close()

        in_child(child)
        same(future.result(20), np.array([1, 2], U8), "the parent's future")
        equal((c[3], c.submit.get_many([3], default=0).result(20)[0]), (3, 3))

        async def with_loop():
            same(await c.aio.get_many([1], default=0), np.array([1], U8))
            in_child(lambda: equal(c[1], 1))
            same(await asyncio.wait_for(c.aio.get_many([2], default=0), 20), np.array([2], U8))
        asyncio.run(with_loop())
        lock = c._link.lock  # pylint: disable=protected-access
        has_it, forked = threading.Event(), threading.Event()
        holder = threading.Thread(target=lambda: (lock.acquire(), has_it.set(), forked.wait(), lock.release()))
        holder.start()
        has_it.wait()
        in_child(lambda: equal(c[1], 1))
        forked.set()
        holder.join()
        equal(c[1], 1)


@case
def daemon_dies():
    """a daemon killed during a call: Lost, also from futures and awaits; the next call reconnects"""
    with daemon() as server:
        c = sherwood.connect(server.unix)
        keys = np.arange(1000, dtype=U8)
        c.set_many(keys, keys)
        c.submit.get_many(keys).result()
        futures, caught = [], []

        def blocked():
            try:
                c.get_many(keys)
            except sherwood.Error as error:
                caught.append(error)

        async def waits():
            await c.aio.get_many(keys)  # connects
            pause(server)
            futures.extend(c.submit.get_many(keys) for _ in range(5))
            thread = threading.Thread(target=blocked)
            thread.start()
            pending = asyncio.gather(*(c.aio.get_many(keys) for _ in range(5)), return_exceptions=True)
            await asyncio.sleep(0.1)
            server.kill()
            got = await asyncio.wait_for(pending, 20)
            thread.join(20)
            return got

        for error in asyncio.run(waits()):
            check(isinstance(error, sherwood.Lost), repr(error))
        check(len(caught) == 1 and isinstance(caught[0], ConnectionError), f"{caught!r}")
        for future in futures:
            raises(sherwood.Lost, "", future.result, 20)
        raises(sherwood.Lost, "", c.get_many, keys)
        raises(sherwood.Lost, "", c.submit.get_many(keys).result, 20)
        path = server.unix[len("unix:"):]
        with Server("--unix-socket", path):
            same(c.get_many([1], default=7), np.array([7], U8), "the new daemon's table is empty")
            same(c.submit.get_many([1], default=7).result(20), np.array([7], U8))
            c.close()
        with Server("--unix-socket", path, "--key-bits", "32"):
            other = sherwood.connect(server.unix)
            other[1] = 1
        with Server("--unix-socket", path):
            raises(sherwood.Error, "", other.get_many, [1])
            raises(sherwood.Refused, "another width", other.get_many, [1])
        server.stop = lambda: None  # it was killed


@case
def daemon_is_silent():
    """a daemon that stops replying: Timeout from every kind of call; the next call reconnects"""
    with daemon() as server, sherwood.connect(server.unix, timeout=3.0) as c:
        c[1] = 1
        c.submit.get_many([1]).result()

        async def silent():
            await c.aio.get_many([1])
            pause(server)
            try:
                future = c.submit.get_many([1])
                raises(sherwood.Timeout, "no byte moved", c.get_many, [1])
                raises(sherwood.Timeout, "no byte moved", future.result, 20)
                awaited_error = await asyncio.gather(c.aio.get_many([1]), return_exceptions=True)
                check(isinstance(awaited_error[0], TimeoutError), repr(awaited_error))
            finally:
                os.kill(server.pid(), signal.SIGCONT)
            same(await c.aio.get_many([1], default=0), np.array([1], U8))
        asyncio.run(silent())
        equal((c[1], c.submit.get_many([1], default=0).result()[0]), (1, 1))


@case
def later_calls():
    """calls on a daemon that is silent end with Timeout, although `submit` and `aio` go on to send others"""
    with daemon() as server, sherwood.connect(server.unix, timeout=1.0) as c:
        c.submit.get_many([1]).result()

        async def silent():
            await c.aio.get_many([1])
            pause(server)
            try:
                submitted, awaited, began = [c.submit.get_many([1])], [c.aio.get_many([1])], time.monotonic()
                while not (submitted[0].done() and awaited[0].done()):
                    check(time.monotonic() < began + 10 * SLOWER, "the first calls have not ended")
                    submitted.append(c.submit.get_many([1]))
                    awaited.append(c.aio.get_many([1]))
                    await asyncio.sleep(0.2)
                for first in (submitted[0], awaited[0]):
                    raises(sherwood.Timeout, "no byte moved", first.result)
            finally:
                os.kill(server.pid(), signal.SIGCONT)
            await asyncio.gather(*awaited, return_exceptions=True)
        asyncio.run(silent())


@case
def waiting_calls():
    """a call that waits behind one on a silent daemon ends with it: sent later, it could overtake that one"""
    with daemon() as server, sherwood.connect(server.unix, timeout=1.0) as c:
        region = c.region(1 << 16)
        keys, values = region.copy(np.array([1], U8)), region.copy(np.array([5], U8))
        c.submit.set_many(keys, values).result()
        pause(server)
        try:
            by_region, by_socket = c.submit.set_many(keys, values), c.submit.set_many([2], [6])
            raises(sherwood.Timeout, "no byte moved", by_region.result, 20)
        finally:
            os.kill(server.pid(), signal.SIGCONT)
        raises(sherwood.Timeout, "no byte moved", by_socket.result, 20)
        equal(c.get(2), None)


@case
def is_collected():
    """a client without references closes its connections and ends its thread"""
    with daemon() as server:
        with sherwood.connect(server.unix):
            base = server.connections()
        for _ in range(5):
            c = sherwood.connect(server.unix)
            c.submit.get_many([1]).result()

            async def one(client):
                await client.aio.get_many([1])
            asyncio.run(one(c))
        gone = weakref.ref(c)
        del c
        gc.collect()
        check(gone() is None, "the client is collected")
        eventually(lambda: server.connections() < base, "the connections are closed")
        eventually(lambda: not [t for t in threading.enumerate() if t.name == "sherwood.submit"],
                   "the threads end")
        program = ("import sherwood, sys; c = sherwood.connect(sys.argv[1]);"
                   " print(c.submit.get_many([1], default=3).result()[0]); f = c.submit.get_many([1])")
        result = subprocess.run([sys.executable, "-c", program, server.unix], text=True, timeout=30,
                                env={**os.environ, "PYTHONPATH": str(LIB)}, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, check=False)
        equal((result.returncode, result.stdout), (0, "3\n"), "a program that ends without close")


def span_of(number, sampled=True):
    """A span as opentelemetry-api has it: number 0 is the one that is current outside of all spans."""
    context = types.SimpleNamespace(trace_id=number, span_id=number, trace_flags=int(sampled), is_valid=number != 0)
    return types.SimpleNamespace(get_span_context=lambda: context)


@case
def traces():
    """requests carry the context of the span that is current at the call, if the program has imported OpenTelemetry"""
    api = types.ModuleType("opentelemetry.trace")
    current = contextvars.ContextVar("current", default=span_of(0))
    with Collector() as collector, daemon("--otlp-endpoint", collector.url) as server, sherwood.connect(server.unix) as c:
        current.set(span_of(1))
        c[1] = 10
        sys.modules["opentelemetry.trace"] = api # as another thread sees it while it is imported
        try:
            c[1] = 11
            api.get_current_span = current.get
            current.set(span_of(2))
            c[1] = 12
            current.set(span_of(3))
            future = c.submit.get_many([1, 2])
            current.set(span_of(4, sampled=False))
            future.result()
            c[1] = 14
            current.set(span_of(5))
            asyncio.run(traced_by_aio(c, current))
            current.set(span_of(0))
            c[1] = 16
            list(c.scan())
            current.set(span_of(7))
            list(c.scan())
        finally:
            del sys.modules["opentelemetry.trace"]
        c[1] = 18
        collector.spans(5)
        server.stop() # exports all that wait
        equal(sorted({(int(span["parentSpanId"], 16), span["name"]) for span in collector.spans()}),
              [(2, "SET default"), (3, "GET default"), (5, "DELETE default"), (6, "GET default"), (7, "SCAN default")], "spans")
        check(all(span["traceId"] == "0" * 16 + span["parentSpanId"] for span in collector.spans()), "trace ids")


async def traced_by_aio(c, current):
    deleted = c.aio.delete_many([5]) # it is sent later
    current.set(span_of(6))
    await asyncio.gather(deleted, c.aio.get_many([1]))


if __name__ == "__main__":
    main()
