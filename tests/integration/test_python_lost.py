#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The Python package after it lost its connection: a scan or a wait does not continue on another connection."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

from data_directory import Directory
from faults import Faults
from harness import DAEMON, Server, case, check, equal, eventually, main, run
from moving import CLI
from package import LIB, daemon, in_child, np, pause, raises, same, sherwood
from replication import SMALL, caught_up, info, replica_of, to_be_killed

U8 = np.uint64
CACHE = ("--engine", "cache", "--value-bytes", "8", "--value-format", "fixed", "--policy", "custom", "--capacity", "64K")


def cut(server):
    """Ends every connection that uses frames."""
    server.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")


def begun(c, **options):
    """Returns a scan that has yielded its first batch."""
    scan = c.scan(batch=1000, **options)
    equal(len(next(scan)[0]), 1000)
    return scan


@case
def a_scan():
    """a scan or a dump ends with Lost if its connection ends, also if another call has reconnected"""
    keys = np.arange(5000, dtype=U8)
    with daemon() as server, sherwood.connect(server.unix) as c:
        c.set_many(keys, keys)
        scan, beside = begun(c), begun(c)
        cut(server)
        raises(sherwood.Lost, "", c.ping)
        equal(len(c), 5000)
        whole = c.scan(batch=1000)
        first = next(whole)[0]  # so that the new connection also has a cursor
        raises(sherwood.Lost, "call scan() again", list, scan)
        same(np.unique(np.concatenate([first, *(k for k, _ in whole)])), keys, "a scan that began later")
        raises(sherwood.Lost, "call scan() again", list, beside)
        path, told = str(server.directory / "all.npy"), []

        def progress(done, _):
            told.append(done)
            if len(told) == 1:
                cut(server)
                raises(sherwood.Lost, "", c.ping)
        raises(sherwood.Lost, "call scan() again", c.dump, path, batch=1000, progress=progress)
        equal([name for name in os.listdir(server.directory) if "all.npy" in name], [], "no file, and none beside")
        equal(c.dump(path, batch=1000), 5000)
    with daemon(*CACHE) as server, sherwood.connect(server.unix, value_dtype=U8) as c:
        c.run_many("set", keys, keys[:, np.newaxis], scores=keys + U8(1))
        scan = begun(c, scores=(1, 5000))
        cut(server)
        raises(sherwood.Lost, "", c.ping)
        c.ping()
        raises(sherwood.Lost, "call scan() again", list, scan)


@contextlib.contextmanager
def logged(folder):
    """Returns a daemon with a log that it syncs only on request."""
    with Server("--data-dir", folder, "--appendonly", "yes", "--appendfsync", "no") as server:
        yield server


@case
def while_it_loads():
    """len() of a server that loads its data is refused, by the CLI too: neither counts the part that is loaded. Both need the right to INFO alone"""
    faults = Faults()
    with Directory() as path, tempfile.TemporaryDirectory() as folder:
        with Server("--data-dir", str(path)) as server:
            server.ask("SET", 1, 1)
            equal(server.ask("ACL", "SETUSER", "reader", "on", ">pw", "~*", "alldbs", "+info"), "OK", "SETUSER")
            with sherwood.connect(server.address(), username="reader", password="pw") as c:
                equal((len(c), run(CLI, "-a", server.address(), "--user", "reader", "--pass", "pw", "DBSIZE").strip()), (1, "1"))
        faults.read.held = 1
        with subprocess.Popen([DAEMON, "--backend", "cpu", "--bind", "", "--http-bind", "", "--unix-socket", f"{folder}/s", "--data-dir", path],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, **faults.environment()}) as process:
            try:
                eventually(lambda: os.path.exists(f"{folder}/s"), "the socket")
                with sherwood.connect(f"unix:{folder}/s") as c:
                    raises(sherwood.Refused, "loading", len, c)
                    check("is loading" in (said := run(CLI, "-s", f"{folder}/s", "DBSIZE", rc=1)), said)
                    faults.end()
                    process.stdout.readline()  # it has started
                    equal((len(c), run(CLI, "-s", f"{folder}/s", "DBSIZE").strip()), (1, "1"))
            finally:
                process.kill()


@case
def durable():
    """wait_durable after a reconnect raises Lost once, also at an empty server in its place, and after a fork"""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        with logged(one) as server:
            c, port = sherwood.connect(server.address()), server.port
            c.set_many([1, 2], 7)
            c.wait_durable()
            cut(server)
            raises(sherwood.Lost, "", c.ping)
            raises(sherwood.Lost, "durable is not known", c.wait_durable)
            c.wait_durable(5)
            c.set_many([1, 2], 8)
            in_child(lambda: (raises(sherwood.Lost, "durable is not known", c.wait_durable), c.wait_durable()))
            c.wait_durable()
            with sherwood.connect(server.address()) as reader:
                reader.get_many([1])
                cut(server)
                raises(sherwood.Lost, "", reader.get_many, [1])
                reader.wait_durable()  # it has written nothing
            raises(sherwood.Lost, "", c.wait_durable)  # by the wait itself, of these writes
            c.wait_durable()
            c.set_many([1], 9)
            server.kill()
            server.stop = lambda: None
        with Server("--port", str(port), "--data-dir", two, "--appendonly", "yes", "--appendfsync", "no"):
            raises(sherwood.Lost, "", c.ping)
            raises(sherwood.Lost, "durable is not known", c.wait_durable)
            equal(len(c), 0)
            c.close()


@case
def durable_of_futures():
    """wait_durable and wait_replicas cover what submit and aio have written, and raise Lost with their connections"""
    with tempfile.TemporaryDirectory() as folder, logged(folder) as server, \
            sherwood.connect(server.address(), timeout=3) as c:
        asyncio.run(waits_for(c, server, lambda: c.aio.set_many([3], 1)))
        raises(sherwood.Refused, "aio", c.wait_replicas, 0)
    with tempfile.TemporaryDirectory() as folder, logged(folder) as server, \
            sherwood.connect(server.address(), timeout=3) as c:
        asyncio.run(waits_for(c, server, lambda: asyncio.wrap_future(c.submit.set_many([3], 1))))
        equal((c.wait_replicas(0), c.wait_replicas(1, 0.3)), (0, 0))
        cut(server)
        raises(sherwood.Lost, "", c.submit.get_many([3]).result)
        raises(sherwood.Lost, "", c.wait_replicas, 0)
        raises(sherwood.Lost, "durable is not known", c.wait_durable)
        raises(sherwood.Lost, "", c.ping)
        c.wait_durable()
        c.wait_replicas(0)


async def waits_for(c, server, write):
    """A wait asks a server that is stopped after the write, and so cannot have returned."""
    await write()
    c.wait_durable()
    await write()
    pause(server)
    try:
        raises(sherwood.Timeout, "no byte moved", c.wait_durable)
    finally:
        os.kill(server.pid(), signal.SIGCONT)
    c.ping()
    c.wait_durable()


@case
def interrupted():
    """^C ends a wait without a limit, and the client works afterwards"""
    with daemon() as server:
        for wait in ("c.wait_replicas(3)", "c.submit.set_many([1], 1).result(); c.wait_replicas(3)"):
            program = f"""
import sherwood, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
c = sherwood.connect(sys.argv[1]); c[1] = 1
try:
    threading.Timer(0.2, lambda: print('waits', c[1], flush=True)).start()
    {wait}
except KeyboardInterrupt:
    print(c[1], len(c))
"""
            with subprocess.Popen([sys.executable, "-c", program, server.unix], stdout=subprocess.PIPE, text=True,
                                  env={**os.environ, "PYTHONPATH": str(LIB)}) as process:
                equal(process.stdout.readline(), "waits 1\n", "another thread's call takes its turn")
                process.send_signal(signal.SIGINT)
                equal(process.stdout.readline(), "1 1\n")
                equal(process.wait(30), 0)


@case
def interrupted_calls():
    """^C in a call on a silent server ends it after the timeout; the next call connects again, and reports no older error"""
    for read in ("c[1]", "int(c.get_segments([(None, [1])])[0][0][0])"):
        interrupted_call(read)


def interrupted_call(read):
    program = f"""
import sherwood, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
c = sherwood.connect(sys.argv[1], timeout=2); c[1] = 1; {read}
try:
    print('asks', flush=True); sys.stdin.readline()
    {read}
except KeyboardInterrupt:
    print('interrupted', flush=True); sys.stdin.readline()
    print({read}, len(c))
"""
    with daemon() as server, subprocess.Popen([sys.executable, "-c", program, server.unix], stdin=subprocess.PIPE, text=True,
                                              stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(LIB)}) as process:
        equal(process.stdout.readline(), "asks\n")
        pause(server)
        try:
            process.stdin.write("\n")
            process.stdin.flush()
            time.sleep(0.3)  # the call waits for its reply
            process.send_signal(signal.SIGINT)
            equal(process.stdout.readline(), "interrupted\n")
        finally:
            os.kill(server.pid(), signal.SIGCONT)
        process.stdin.write("\n")
        process.stdin.flush()
        equal(process.stdout.readline(), "1 1\n", "the next call")
        equal(process.wait(30), 0)


def swap(old, new):
    """The replica and the primary exchange their roles."""
    caught_up(old, new)
    equal(new.ask("REPLICAOF", "NO", "ONE"), "OK", "a primary")
    equal(old.ask("REPLICAOF", "127.0.0.1", new.port), "OK", "a replica")


@case
def waits_of_futures():
    """wait_replicas is refused in a callback of a submit future, because the callback's thread sends requests; wait_durable works there"""
    with tempfile.TemporaryDirectory() as folder, logged(folder) as server, sherwood.connect(server.address()) as c:
        told, called = [], threading.Event()

        def wait(_):
            try:
                raises(sherwood.Refused, "in another thread", c.wait_replicas, 0)
                c.wait_durable(20)
                told.append(threading.current_thread() is not threading.main_thread())
            finally:
                called.set()
        c.submit.set_many([1], 1).result()
        pause(server)  # so that what the future calls is known before it is done
        try:
            c.submit.set_many([2], 2).add_done_callback(wait)
        finally:
            os.kill(server.pid(), signal.SIGCONT)
        called.wait(20)
        equal(told, [True], "what the future has called, in its own thread")
        equal((c.wait_replicas(0), c.submit.get_many([2], default=0).result(20).tolist()), (0, [2]))


@case
def follows():
    """several addresses: blocking calls, submit and aio find the primary and send refused writes to it"""
    with to_be_killed(Server(*SMALL)) as one, replica_of(one.port) as two:
        first, second = one.address(), two.address()
        with sherwood.connect(second) as alone:
            raises(sherwood.Refused, f"this server is a replica; its primary is {first}", alone.set_many, [1], 1)
            raises(sherwood.Refused, "its primary is", alone.submit.set_many([1], 1).result)
            eventually(lambda: info(two).get("master_link_status") == "up", "the replica has the table")
            equal(alone.get(1), None)
        keys = np.arange(20_000, dtype=U8)

        async def write(c, turn):
            await c.aio.set_many(keys, turn)
            if turn < 3:
                swap(*((one, two) if turn % 2 == 0 else (two, one)))
            done = [c.aio.set_many(keys, turn + 10), c.aio.add_many(keys, 1), c.aio.get_many(keys, default=0)]
            same((await asyncio.gather(*done))[2], np.full(keys.size, turn + 11, U8))
        with sherwood.connect([second, first]) as c:
            equal(c.address, f"{second},{first}")
            c.set_many(keys, 5)
            c.submit.add_many(keys, 1).result()
            swap(one, two)
            c.add_many(keys, 1)
            swap(two, one)
            done = [c.submit.add_many(keys, 1) for _ in range(5)] + [c.submit.get_many(keys, default=0)]
            same(done[-1].result(60), np.full(keys.size, 12, U8))
            asyncio.run(write(c, 0))
            asyncio.run(write(c, 1))
            raises(sherwood.Lost, "", c.wait_durable)
            c.set_many([1], 1)
            caught_up(one, two)
            equal(two.ask("REPLICAOF", "NO", "ONE"), "OK", "a primary")
            one.kill()
            raises(sherwood.Lost, "", c.set_many, [1], 2)
            c.set_many([1], 3)
            equal((c[1], c.submit.get_many([2], default=0).exception(60).__class__), (3, sherwood.Lost))
            same(c.submit.get_many([1], default=0).result(60), np.array([3], U8))
            raises(sherwood.Refused, "several addresses", c.attach)
        for wrong in ([], [first, ""], [f"{first},{second}"], [7]):
            raises(sherwood.Refused, "at least one", sherwood.connect, wrong)


@case
def follows_to_smaller_frames():
    """a write that a replica refused reaches every key at a primary with a smaller --frame-ops-max"""
    keys = np.arange(10_000, dtype=U8)

    async def write(c):
        await c.aio.set_many(keys, 1)
        swap(two, one)
        await c.aio.set_many(keys, 2)
        swap(one, two)
        await asyncio.gather(*(c.aio.add_many(keys, 1) for _ in range(3)))
    with to_be_killed(Server(*SMALL)) as one, replica_of(one.port, "--frame-ops-max", "128") as two:
        with sherwood.connect([one.address(), two.address()]) as c:
            c.submit.set_many(keys, 5).result(60)
            swap(one, two)
            done = [c.submit.add_many(keys, 1) for _ in range(3)] + [c.submit.get_many(keys, default=0)]
            same(done[-1].result(60), np.full(keys.size, 8, U8), "by submit")
            asyncio.run(write(c))
            caught_up(two, one)  # blocking calls read at the one, which is a replica now
            same(c.get_many(keys, default=0), np.full(keys.size, 5, U8), "by aio")


if __name__ == "__main__":
    main()
