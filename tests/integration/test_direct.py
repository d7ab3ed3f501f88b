#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Direct reads of libsherwood-cuda without a GPU: its kernel runs on the emulator, in the memory of a daemon on the emulator."""

import ctypes
import os
import signal
import sys
import threading
import time
import warnings

import fake_torch
from attached import DRIVER, E_REQUEST, EMULATED, GET, LIBRARY, SMALL, Attached, Memory, call_of, capture, loaded
from harness import case, check, equal, eventually, main
from package import daemon, np, raises, sherwood

DIRECT = ("--direct-readers-max", "2")
COUNT = 300
LARGE = 2500  # keys of a call that blocks share, in several tiles each


class Reader(Attached):
    """A handle with direct reads, and arrays for its calls."""

    def __init__(self, library, driver, server):
        super().__init__(library, driver, server, -1)
        library.sherwood_cuda_direct_calls.restype = ctypes.c_uint64
        self.arrays = [Memory(driver, "shared") for _ in range(4)]
        self.direct = library.sherwood_cuda_direct(self.pointer)
        self.error = "" if self.direct == 0 else library.sherwood_cuda_error().decode()

    def calls(self):
        """Calls of direct reads, and those that the server answered."""
        by_server = ctypes.c_uint64()
        return self.library.sherwood_cuda_direct_calls(self.pointer, ctypes.byref(by_server)), by_server.value

    def get(self, keys, flags=0, when=2):
        """Reads keys by a call that waits (0, 1) or in the order of a stream (2). Returns values and found."""
        given, _, previous, found = self.arrays
        width = keys.dtype.itemsize
        given.bytes[:width * keys.size] = keys.view(np.uint8)
        previous.words[:] = found.words[:] = 0xa5a5a5a5a5a5a5a5
        call = call_of(GET, [given, None, previous, found], keys.size, flags, when)
        status = (self.library.sherwood_cuda_reads(self.pointer, ctypes.byref(call), ctypes.c_size_t(1)) if keys.size % 2 == 1
                  else self.library.sherwood_cuda_call(self.pointer, ctypes.byref(call)))
        equal(status, 0, self.library.sherwood_cuda_error())
        equal(self.library.sherwood_cuda_check(self.pointer, True), 0, self.library.sherwood_cuda_error())
        return self.answers(keys, flags)

    def answers(self, keys, flags=0):
        _, _, previous, found = self.arrays
        width = keys.dtype.itemsize
        padded = -(-keys.size // 8) * 8 if flags else -(-keys.size // 64) * 8
        there = found.bytes[:padded] if flags else np.unpackbits(found.bytes[:padded], bitorder="little")
        equal((found.bytes[padded:] == 0xa5).all() and not there[keys.size:].any(), True, "behind found")
        equal((previous.bytes[width * keys.size:] == 0xa5).all(), True, "behind the values")
        return previous.bytes[:width * keys.size].view(keys.dtype).copy(), there[:keys.size].astype(bool)


def renewed(reader, work):
    """Does work until a direct read is answered without the server."""
    def direct():
        before = reader.calls()[1]
        results.append(work())
        return reader.calls()[1] == before
    results = []
    eventually(direct, "a direct read without the server")
    return results[-1]


@case
def answers():
    """both widths, hits and misses, bits and bytes, beside inserts, deletes, growth and CLEAR: as the server answers"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    for bits in (64, 32):
        rng = np.random.default_rng(bits)
        dtype = np.dtype(f"u{bits // 8}")
        with daemon(*SMALL, *DIRECT, "--key-bits", str(bits), "--max-capacity", "64K", program=EMULATED) as server, \
                sherwood.connect(server.unix) as client:
            reader = Reader(library, driver, server)
            equal(reader.error, "")
            model, hits, misses = {}, 0, 0
            for round_ in range(40):
                keys = rng.integers(0, 200 * (round_ + 1), COUNT).astype(dtype)
                keys[0] = np.iinfo(dtype).max
                values = rng.integers(0, 1 << 30, COUNT).astype(dtype)
                if round_ % 5 == 3:
                    client.delete_many(keys)
                    for key in keys.tolist():
                        model.pop(key, None)
                elif round_ == 20:
                    client.flush()
                    model.clear()
                else:
                    client.set_many(keys, values)
                    model.update(zip(keys.tolist(), values.tolist()))
                asked = rng.integers(0, 220 * (round_ + 1), int(rng.choice((1, 63, 64, COUNT, LARGE)))).astype(dtype)
                asked[-1] = np.iinfo(dtype).max
                got, there = renewed(reader, lambda: reader.get(asked, 8 * (round_ % 2), round_ % 3))
                equal(there.tolist(), [key in model for key in asked.tolist()], f"round {round_}")
                equal(got.tolist(), [model.get(key, 0) for key in asked.tolist()], f"round {round_}")
                hits, misses = hits + int(there.sum()), misses + int((~there).sum())
            metrics = server.metrics()
            equal((metrics["sherwood_direct_readers"], metrics["sherwood_direct_hits_total"],
                   metrics["sherwood_direct_misses_total"]), (1, hits, misses))
            check(reader.calls()[0] > reader.calls()[1], reader.calls())
            reader.close()


def torn_reads(seconds, grows, count):
    """A client sets `count` keys to one value after another; if `grows`, it also inserts, deletes and clears. Returns how many direct reads were
    whole, torn, and answered by the server."""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    keys = np.arange(1, count + 1, dtype=np.uint64) * 7919
    whole = torn = 0
    size = ("--max-capacity", "64K", "--frame-ops-max", "4K", *(() if grows else ("--capacity", "64K")))
    with daemon(*SMALL, *DIRECT, "--key-bits", "64", *size, program=EMULATED) as server:
        reader, ends = Reader(library, driver, server), threading.Event()

        def write():
            rng = np.random.default_rng(1)
            with sherwood.connect(server.unix) as client:
                for value in range(1, 1 << 30):
                    if ends.is_set():
                        return
                    client.set_many(keys, np.full(count, value, np.uint64))
                    if grows and value % 8 == 0:
                        others = rng.integers(1 << 40, (1 << 40) + 3000, COUNT, dtype=np.uint64)
                        (client.delete_many if value % 16 == 0 else lambda k: client.set_many(k, k))(others)
                    if grows and value % 50 == 0:
                        client.flush()
                    time.sleep(0.002)

        writer = threading.Thread(target=write)
        writer.start()
        end = time.monotonic() + seconds
        def few():
            calls, by_server = reader.calls()
            return calls - by_server <= (20 if count == COUNT else 3) or by_server == 0

        while not torn and (time.monotonic() < end or (grows and few() and time.monotonic() < end + 40)):
            values, found = reader.get(keys)
            is_torn = len(set(values.tolist())) > 1 or found.any() != found.all()
            whole, torn = whole + (not is_torn), torn + is_torn
        for _ in range(12 if grows else 0):  # the arrays move while a reader begins
            other = Reader(library, driver, server)
            equal((other.error, other.get(keys)[0].size), ("", count))
            other.close()
            eventually(lambda: server.metrics()["sherwood_direct_readers"] == 1, "the server has seen that it left")
        ends.set()
        writer.join()
        calls, by_server = reader.calls()
        reader.close()
    return whole, torn, calls - by_server


@case
def beside_writes():
    """no answer of a direct read is torn, beside writes, growth and CLEAR; a page that does not show writes would tear them"""
    for count in (COUNT, LARGE):
        whole, torn, direct = torn_reads(4, True, count)
        equal(torn, 0)
        check(direct > (20 if count == COUNT else 3) and whole > direct, f"{whole} whole reads of {count} keys, {direct} of them direct")
    os.environ["FAKE_FROZEN_PAGE"] = "1"
    try:
        torn = [any(torn_reads(3, False, count)[1] > 0 for _ in range(5)) for count in (COUNT, LARGE)]
    finally:
        del os.environ["FAKE_FROZEN_PAGE"]
    equal(torn, [True, True], "no read was torn although no write was seen")


@case
def blocks_disagree():
    """a call whose blocks see different epochs goes to the server; a small call has one block"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    with daemon(*SMALL, *DIRECT, "--key-bits", "64", program=EMULATED) as server:
        reader = Reader(library, driver, server)
        for count in (COUNT, LARGE):
            keys = np.arange(count, dtype=np.uint64)
            renewed(reader, lambda asked=keys: reader.get(asked))
            os.environ["FAKE_EARLIER_EPOCH"] = "1"
            try:
                before = reader.calls()[1]
                reader.get(keys)
                equal(reader.calls()[1] - before, int(count == LARGE))
            finally:
                del os.environ["FAKE_EARLIER_EPOCH"]
        reader.close()


@case
def captured():
    """a graph's replays are direct reads, also after growth; after the end of the handle they go on without answers"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    for count in (COUNT, LARGE):
        capture_and_replay(library, driver, count)


def capture_and_replay(library, driver, count):
    """Captures a read of `count` keys, and replays it beside writes."""
    keys = np.arange(count, dtype=np.uint64)
    with daemon(*SMALL, *DIRECT, "--key-bits", "64", "--max-capacity", "64K", program=EMULATED) as server, \
            sherwood.connect(server.unix) as client:
        reader, stream, graph = Reader(library, driver, server), ctypes.c_void_p(), ctypes.c_void_p()
        equal(driver.cuStreamCreate(ctypes.byref(stream), 1), 0)
        given, _, previous, found = reader.arrays
        given.words[:count] = keys
        with capture(driver, stream, graph):
            call = call_of(GET, [given, None, previous, found], count, 0, 2, stream)
            equal(library.sherwood_cuda_call(reader.pointer, ctypes.byref(call)), 0, library.sherwood_cuda_error())

        def replay():
            previous.words[:] = found.words[:] = 0xa5a5a5a5a5a5a5a5
            equal((driver.fake_launch(graph, stream), driver.cuStreamSynchronize(stream)), (0, 0))
            return reader.answers(keys)

        for round_ in range(1, 12):
            client.set_many(keys[::round_], keys[::round_] + round_)
            client.set_many(keys + (round_ << 20), keys)  # the table grows
            values, there = renewed(reader, replay)
            equal(values[::round_].tolist(), (keys[::round_] + round_).tolist())
            equal(there.all(), True)
        check(reader.calls()[0] == 1 and reader.calls()[1] > 0, reader.calls())
        reader.close()
        previous.words[:] = 7
        equal((driver.fake_launch(graph, stream), driver.cuStreamSynchronize(stream)), (0, 0))
        equal((previous.words == 7).all(), True, "answers of a closed handle")
        equal((driver.cuGraphDestroy(graph), driver.cuStreamDestroy_v2(stream)), (0, 0))


@case
def refused():
    """who may not read directly gets a sentence: no option, too many, rows, a key that expires, limited rights, a pause, another user"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    for flags, words in (((), "direct reads are disabled"), ((*DIRECT, "--device", "0"), "")):
        with daemon(*SMALL, *flags, "--key-bits", "64", program=EMULATED) as server:
            reader = Reader(library, driver, server)
            check(words in reader.error, reader.error)
            equal(reader.direct, 0 if words == "" else E_REQUEST)
            reader.close()
    with daemon(*SMALL, *DIRECT, "--key-bits", "64", program=EMULATED) as server, sherwood.connect(server.unix) as client:
        first, second, third = (Reader(library, driver, server) for _ in range(3))
        equal((first.direct, second.direct, third.direct), (0, 0, E_REQUEST))
        check("direct-readers-max" in third.error, third.error)
        first.close()
        eventually(lambda: server.metrics()["sherwood_direct_readers"] == 1, "the reader has left")
        fourth = Reader(library, driver, server)
        equal(fourth.direct, 0)
        keys = np.arange(5, dtype=np.uint64)
        client.set_many(keys, keys)
        renewed(fourth, lambda: fourth.get(keys))
        for _ in range(3):  # a key that expires: the server answers until it is gone
            before, ends = fourth.calls()[1], time.monotonic() + 0.3
            client.set_many(keys[:1], keys[:1], ttl=0.3)
            there, by_server = fourth.get(keys)[1], fourth.calls()[1] - before
            check((there.all() and by_server) or time.monotonic() > ends, (there, by_server))  # no direct read
            time.sleep(0.3)
            equal(fourth.get(keys)[1].tolist(), [False, True, True, True, True])
            renewed(fourth, lambda: fourth.get(keys))
        for reader in (second, third, fourth):
            reader.close()


@case
def lost():
    """a server that is killed: calls fail and nothing hangs; SWAP ends direct reads of the table that leaves place 0"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    keys = np.arange(10, dtype=np.uint64)
    with daemon(*SMALL, *DIRECT, "--key-bits", "64", program=EMULATED) as server, sherwood.connect(server.unix) as client:
        reader = Reader(library, driver, server)
        client.set_many(keys, keys)
        renewed(reader, lambda: reader.get(keys))
        equal(server.ask("TABLE", "CREATE", "other"), "OK")
        equal(server.ask("TABLE", "SWAP", "0", "other"), "OK")
        equal(reader.get(keys)[1].any(), False, "the other table is empty")
        equal(server.ask("TABLE", "SWAP", "0", "other"), "OK")
        equal(renewed(reader, lambda: reader.get(keys))[1].all(), True)
        server.end_by_kill()
        given, _, previous, found = reader.arrays
        call = call_of(GET, [given, None, previous, found], 10, 0, 2)

        def fails():
            equal(library.sherwood_cuda_call(reader.pointer, ctypes.byref(call)), 0)
            return library.sherwood_cuda_check(reader.pointer, True) < 0
        eventually(fails, "a read of a server that has died") # the client's thread has noticed it
        reader.close()


@case
def swapped():
    """after a SWAP no direct read is of the table that left place 0, also if a reader asks where the table lies meanwhile"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    keys, old, ends = np.arange(10, dtype=np.uint64), [], threading.Event()
    with daemon(*SMALL, "--direct-readers-max", "4", "--key-bits", "64", program=EMULATED) as server, sherwood.connect(server.unix) as client:
        equal(server.ask("TABLE", "CREATE", "other"), "OK")
        client.set_many(keys, keys)
        state = [0, True]  # an odd number: a SWAP is under way; whether the keys lie in place 0

        def read(reader):
            while not ends.is_set():
                before = state[:]
                there = reader.get(keys)[1]
                if before[0] % 2 == 0 and state == before and (there != before[1]).any():
                    old.append(before)

        readers = [Reader(library, driver, server) for _ in range(4)]
        threads = [threading.Thread(target=read, args=(reader,)) for reader in readers]
        for thread in threads:
            thread.start()
        end = time.monotonic() + 6
        while time.monotonic() < end:
            state[0] += 1
            equal(server.ask("TABLE", "SWAP", "0", "other"), "OK")
            state[1] = not state[1]
            state[0] += 1
            time.sleep((0.001, 0.005, 0.012, 0.03)[state[0] // 2 % 7 % 4])
        ends.set()
        for thread in threads:
            thread.join()
        equal(old, [])
        for reader in readers:
            reader.close()


@case
def python():
    """Client.attach(direct=True): get_many and contains_many are direct, with and without a stream; a server without the option refuses; with open()"""
    loaded()
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    torch = sys.modules["torch"] = fake_torch.module(ctypes.CDLL(str(DRIVER)))
    try:
        with daemon(*SMALL, *DIRECT, "--key-bits", "64", program=EMULATED) as server, sherwood.connect(server.unix) as client, \
                client.attach(direct=True) as device, warnings.catch_warnings():
            warnings.simplefilter("error")  # nothing switches
            client.set_many(np.arange(50), np.arange(50) * 7)
            given = torch.tensor(range(80), torch.int64, fake_torch.Device(0))
            for stream in (None, fake_torch.Stream()):
                values, found = device.get_many(given, stream=stream)
                equal((list(values), list(found)), ([i * 7 if i < 50 else 0 for i in range(80)], [i < 50 for i in range(80)]))
                equal(sum(device.contains_many(given, stream=stream)), 50)
            equal(device.direct_calls[0], 4)
        with daemon(*SMALL, "--key-bits", "64", program=EMULATED) as server, sherwood.connect(server.unix) as client:
            raises(sherwood.Refused, "start the server with --direct-readers-max", lambda: client.attach(direct=True))
        options = {name[2:].replace("-", "_"): value for name, value in zip(SMALL[::2], SMALL[1::2])}
        with sherwood.open(program=EMULATED, direct_readers_max=1, **options) as client, client.attach(direct=True) as device:
            device.set_many(given, given)
            equal((list(device.get_many(given, default=0)), device.direct_calls), (list(range(80)), (1, 0)), "a server of its own")
            os.kill(client.pid, signal.SIGKILL)
            raises(sherwood.Lost, "", device.set_many, given, given)
            raises(sherwood.Lost, "", device.set_many, given, given)
    finally:
        del sys.modules["torch"], os.environ["SHERWOOD_CUDA_LIBRARY"]


if __name__ == "__main__":
    main()
