#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""libsherwood-cuda without a GPU: arrays that calls copy, on the emulated GPU's late streams, and calls in graphs."""

import _ctypes
import concurrent.futures
import contextlib
import ctypes
import pathlib

from attached import (CAS, DELETE, DRIVER, E_BUSY, E_FULL, E_INVALID, EMULATED, EXPIRE, GET, MIB, SET, SMALL, STAGE, SUM, TTL, Attached, Memory,
                      Times, call_of, capture, gpus, loaded)
from harness import case, check, equal, main
from package import daemon, np, sherwood


@case
def staged():
    """arrays that the server cannot map, or that are small, are copied: each set of arrays, in one piece and in several"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    library.sherwood_cuda_staged_bytes.restype = ctypes.c_uint64
    rng = np.random.default_rng(40)
    kinds = {kind: [Memory(driver, kind) for _ in range(4)] for kind in Memory.BYTES}
    with daemon(*SMALL, "--key-bits", "64", program=EMULATED) as server:
        own = Attached(library, driver, server, -1)
        equal(library.sherwood_cuda_stage(own.pointer, ctypes.c_uint64(STAGE - 1)), E_INVALID)
        equal(library.sherwood_cuda_stage(own.pointer, ctypes.c_uint64(STAGE)), 0)
        model, names = {}, tuple(kinds)
        for round_ in range(120):
            drawn = [names[i] for i in (rng.integers(0, 3, 4) if round_ >= 3 else [round_] * 4)]
            arrays = [kinds[kind][i] for i, kind in enumerate(drawn)]
            keys, values, previous, found = arrays
            count = int(rng.choice((1, 9, 64, 513, 4000, 9000 if round_ % 8 == 0 else 700)))
            keys.words[:count] = rng.integers(0, 400, count)
            values.words[:count] = rng.integers(0, 1 << 60, count)
            previous.words[:] = found.words[:] = 0xa5a5a5a5a5a5a5a5
            operation = (GET, GET, SET, SUM, DELETE)[round_ % 5] if count > 1 else SET
            in_bytes, when = operation == GET and round_ % 2 == 0, round_ % 3
            before = library.sherwood_cuda_staged_bytes(own.pointer)
            call = call_of(operation, arrays, count, 8 * in_bytes, when)
            equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), 0, library.sherwood_cuda_error())
            equal(library.sherwood_cuda_check(own.pointer, True), 0, library.sherwood_cuda_error())
            old, there = np.zeros(count, np.uint64), np.zeros(count, bool)
            for i, key in enumerate(keys.words[:count].tolist()):
                there[i], old[i] = key in model, model.get(key, 0)
                if operation in (SET, SUM):
                    model[key] = (int(values.words[i]) + (int(old[i]) if operation == SUM else 0)) % 2**64
                elif operation == DELETE:
                    model.pop(key, None)
            what = f"round {round_}: operation {operation} on {count} keys of {drawn}, when {when}"
            check((previous.words[:count] == old).all(), what)
            check((previous.words[count:] == 0xa5a5a5a5a5a5a5a5).all(), f"{what}: behind the values")
            padded = -(-count // 8) * 8 if in_bytes else -(-count // 64) * 8
            got = found.bytes[:padded] if in_bytes else np.unpackbits(found.bytes[:padded], bitorder="little")
            equal((got[:count].tolist(), got[count:].any()), (there.astype(int).tolist(), False), what)
            check((found.bytes[padded:] == 0xa5).all(), f"{what}: behind found")
            used = drawn if operation in (SET, SUM) else [drawn[0], *drawn[2:]]
            copied = library.sherwood_cuda_staged_bytes(own.pointer) - before
            equal(copied == 0, set(used) == {"shared"}, f"{what}: {copied} bytes copied")
        equal(library.sherwood_cuda_stage(own.pointer, ctypes.c_uint64(STAGE)), E_INVALID, "late")
        segment = kinds["segment"][0]
        call = call_of(GET, [segment] + kinds["shared"][1:], MIB // 8 + 1)
        equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), E_INVALID)
        check("the allocation ends after 1048576" in library.sherwood_cuda_error().decode(), library.sherwood_cuda_error())
        equal(library.sherwood_cuda_register(own.pointer, ctypes.c_void_p(segment.at)), E_INVALID)
        check("copied by each call" in library.sherwood_cuda_error().decode(), library.sherwood_cuda_error())
        own.close()


@case
def staged_layouts():
    """copied keys of 32 bits, rows and another GPU's memory arrive as they are, and answers behind them, in several pieces"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    with gpus(2):
        for flags, width, device in ((("--key-bits", "32"), 4, 0), (("--key-bits", "64", "--value-bytes", "24"), 24, 1),
                                     (("--key-bits", "32", "--value-bytes", "68"), 68, 0)):
            key, count = (4 if "32" in flags else 8), 1100
            with daemon(*SMALL, *flags, program=EMULATED) as server, sherwood.connect(server.unix) as client:
                own = Attached(library, driver, server, device)
                equal((own.error, library.sherwood_cuda_stage(own.pointer, ctypes.c_uint64(STAGE))), ("", 0))
                arrays = [Memory(driver, "segment", device) for _ in range(4)]
                keys = arrays[0].bytes[:key * count].view(f"u{key}")
                keys[:] = np.arange(count) * 3
                arrays[1].bytes[:width * count] = np.random.default_rng(width).integers(0, 256, width * count)
                for operation, changed in ((SET, 0), (GET, 1), (GET, 0)):
                    keys[::2] += changed
                    call = call_of(operation, arrays, count, 8 * (operation == GET), 2 * changed)
                    if operation == SET:
                        call.previous = call.found = None
                    equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), 0, library.sherwood_cuda_error())
                    equal(library.sherwood_cuda_check(own.pointer, True), 0, library.sherwood_cuda_error())
                    if operation == GET:
                        values, found = client.get_many(keys.copy())
                        equal(arrays[2].bytes[:width * count].tobytes() == values.tobytes(), True, f"{flags}: values")
                        equal(arrays[3].bytes[:count].tolist(), found.astype(int).tolist(), f"{flags}: found")
                equal(found.sum(), count // 2)
                own.close()


@case
def staged_in_order():
    """copies keep the order of their streams, on more streams than stages, and calls that wait beside them"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    count, rounds, streams = 900, 5, []
    with daemon(*SMALL, "--key-bits", "64", "--max-capacity", "64K", program=EMULATED) as server:
        own = Attached(library, driver, server, -1)
        equal(library.sherwood_cuda_stage(own.pointer, ctypes.c_uint64(STAGE)), 0)
        driver.fake_asynchronous(1)
        for number in range(12):
            stream = ctypes.c_void_p()
            equal(driver.cuStreamCreate(ctypes.byref(stream), 1), 0)
            kinds = ("segment", "small", "segment", "shared") if number % 2 else ("small", "segment", "shared", "segment")
            streams.append((number, stream, [Memory(driver, kind) for kind in kinds]))
        host = np.zeros((len(streams), rounds, 4, count), np.uint64)  # keys, values, answers, found of each call

        def copy(to, source, stream, size=8 * count):
            equal(driver.cuMemcpyAsync(ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_size_t(size), stream), 0)

        for round_ in range(rounds):
            for number, stream, arrays in streams:
                mine = host[number, round_]
                mine[0] = np.arange(count) + number * count
                mine[1] = mine[0] * 3 + round_
                mine[2:] = 7
                for operation in (SET, GET):
                    copy(arrays[0].at, mine[0].ctypes.data, stream)
                    copy(arrays[1].at, mine[1].ctypes.data, stream)
                    call = call_of(operation, arrays, count, 0, 2, stream)
                    equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), 0, library.sherwood_cuda_error())
                    for array in arrays[:2]:  # what follows in the stream changes the arrays
                        copy(array.at, mine[2].ctypes.data, stream)
                copy(mine[2].ctypes.data, arrays[2].at, stream)
                copy(mine[3].ctypes.data, arrays[3].at, stream, 8 * (-(-count // 64)))
            waiting = [Memory(driver, "segment") for _ in range(4)] if round_ == 0 else waiting
            waiting[0].words[:9] = np.arange(9) + 10**9
            waiting[1].words[:9] = np.arange(9) + round_
            for operation in (SET, GET):
                call = call_of(operation, waiting, 9)
                equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), 0, library.sherwood_cuda_error())
            equal(waiting[2].words[:9].tolist(), list(range(round_, round_ + 9)), "a call that waits")
        equal(library.sherwood_cuda_check(own.pointer, True), 0, library.sherwood_cuda_error())
        for number, stream, _ in streams:
            equal(driver.cuStreamSynchronize(stream), 0)
            for round_ in range(rounds):
                mine = host[number, round_]
                equal((mine[2] == mine[1]).all(), True, f"stream {number}, round {round_}: {mine[1][:3]}, {mine[2][:3]}")
                equal(np.unpackbits(mine[3].view(np.uint8)[:8 * 15], bitorder="little").sum(), count, "found bits")
        own.close()
        driver.fake_asynchronous(0)


@case
def no_stage():
    """a server that refuses the stage refuses the call in words, and calls on registered memory go on"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    with daemon(*SMALL, "--key-bits", "64", "--device-region-bytes-max", "4M", program=EMULATED) as server:
        own = Attached(library, driver, server, -1)
        arrays = [Memory(driver, "segment") for _ in range(4)]
        for when in (0, 2, 0):
            call = call_of(GET, arrays, 9, 0, when)
            equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)) < 0, True)
            check("device-region-bytes-max" in library.sherwood_cuda_error().decode(), library.sherwood_cuda_error())
        equal(own.call(GET, 9), 0, library.sherwood_cuda_error())
        own.close()


@case
def details():
    """pairs of CAS, expiry times and TTL of arrays that calls copy: in pieces, in order, and in a graph"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    stream, count, base = ctypes.c_void_p(), 2000, 1 << 42
    equal(driver.cuStreamCreate(ctypes.byref(stream), 1), 0)
    with daemon(*SMALL, "--key-bits", "64", program=EMULATED) as server:
        own = Attached(library, driver, server, -1)
        equal(library.sherwood_cuda_stage(own.pointer, ctypes.c_uint64(STAGE)), 0)
        for round_, (kind, when) in enumerate((kind, when) for kind in ("shared", "segment", "small") for when in (0, 2)):
            keys, values, previous, found, each = arrays = [Memory(driver, kind) for _ in range(5)]

            def run(operation, wanted, bits, times=None, with_values=True):
                previous.words[:count] = found.words[:40] = 77
                call = call_of(operation, (keys, values if with_values else None, previous, found), count, 0, when, stream)
                call.times = None if times is None else ctypes.addressof(times)
                status = library.sherwood_cuda_call(own.pointer, ctypes.byref(call))
                status = status or driver.cuStreamSynchronize(stream) or library.sherwood_cuda_check(own.pointer, True)
                equal(status, 0, library.sherwood_cuda_error())
                equal(previous.words[:count].tolist(), wanted.tolist(), f"{kind}, {operation}: values")
                equal(np.unpackbits(found.bytes[:count // 8], bitorder="little").tolist(), bits.tolist(), f"{kind}, {operation}: bits")

            numbers, ones = np.arange(count, dtype=np.uint64), np.ones(count, np.uint8)
            keys.words[:count], values.words[:count] = numbers, numbers * 2
            run(SET, numbers * 2 if round_ else numbers * 0, ones if round_ else ones * 0)
            values.words[:2 * count:2], values.words[1:2 * count:2] = numbers * 2 + numbers % 2, numbers * 2  # half of the pairs match
            run(CAS, numbers * 2, 1 - numbers % 2)
            each.words[:count] = base + numbers + round_
            run(EXPIRE, numbers * 2, ones, Times(ctypes.sizeof(Times), 1, 0, each.at), False)
            run(TTL, base + numbers + round_, ones, None, False)
            run(EXPIRE, numbers * 2, ones, Times(ctypes.sizeof(Times), 1, base, None), False)
            run(TTL, numbers * 0 + base, ones, None, False)
        graph, few, at = ctypes.c_void_p(), 300, Times(ctypes.sizeof(Times), 1, 0, each.at)
        driver.fake_asynchronous(1)
        with capture(driver, stream, graph):
            for operation in (EXPIRE, TTL):
                call = call_of(operation, (keys, None, previous, found), few, 0, 2, stream)
                call.times = ctypes.addressof(at) if operation == EXPIRE else None
                equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), 0, library.sherwood_cuda_error())
        at.when, at.times_ms = 0, None  # the graph has a copy
        for replay in range(3):
            each.words[:few] = base + replay + np.arange(few)
            equal((driver.fake_launch(graph, stream), driver.cuStreamSynchronize(stream)), (0, 0))
            equal(library.sherwood_cuda_check(own.pointer, True), 0, library.sherwood_cuda_error())
            equal(previous.words[:few].tolist(), (base + replay + np.arange(few)).tolist(), f"replay {replay}")
        equal(driver.cuGraphDestroy(graph), 0)
        driver.fake_asynchronous(0)
        own.close()


@case
def captured():
    """a graph with calls carries them out in each replay, on registered and on copied arrays; a failure is reported once"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    stream, count = ctypes.c_void_p(), 400
    equal(driver.cuStreamCreate(ctypes.byref(stream), 1), 0)
    with daemon(*SMALL, "--key-bits", "64", program=EMULATED) as server:
        own = Attached(library, driver, server, -1)
        equal(library.sherwood_cuda_stage(own.pointer, ctypes.c_uint64(STAGE)), 0)
        driver.fake_asynchronous(1)
        for kinds in (("shared",) * 4, ("segment",) * 4, ("small", "shared", "segment", "shared"), ("shared", "segment", "shared", "small")):
            arrays = [Memory(driver, kind) for kind in kinds]
            host, graph = np.zeros((4, count), np.uint64), ctypes.c_void_p()
            with capture(driver, stream, graph):
                for i in (0, 1):
                    equal(driver.cuMemcpyAsync(ctypes.c_void_p(arrays[i].at), ctypes.c_void_p(host[i].ctypes.data), ctypes.c_size_t(8 * count), stream), 0)
                for operation in (SUM, GET):
                    call = call_of(operation, arrays, count, 0, 2, stream)
                    equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), 0, library.sherwood_cuda_error())
                for i, size in ((2, 8 * count), (3, 56)):
                    equal(driver.cuMemcpyAsync(ctypes.c_void_p(host[i].ctypes.data), ctypes.c_void_p(arrays[i].at), ctypes.c_size_t(size), stream), 0)
            connection = sherwood.connect(server.unix)
            connection.flush()
            equal(len(connection), 0, "captured calls are not carried out")
            for replay in range(5):
                host[0], host[1], host[2:] = np.arange(count) + replay * count, np.arange(count) + replay, 0xa5
                for _ in range(3):
                    equal(driver.fake_launch(graph, stream), 0)
                equal(driver.cuStreamSynchronize(stream), 0)
                equal(library.sherwood_cuda_check(own.pointer, True), 0, library.sherwood_cuda_error())
                equal(host[2].tolist(), (3 * host[1]).tolist(), f"{kinds}, replay {replay}")
                equal(np.unpackbits(host[3].view(np.uint8)[:56], bitorder="little")[:count].all(), True, f"{kinds}: found bits")
            host[0] = np.arange(count) + 10**6
            for replay in range(20):  # the table is full at some time, and the stream goes on
                host[0] += count
                equal(driver.fake_launch(graph, stream), 0)
                equal(driver.cuStreamSynchronize(stream), 0)
            equal((library.sherwood_cuda_check(own.pointer, True), library.sherwood_cuda_check(own.pointer, True)), (E_FULL, 0))
            equal(driver.cuGraphDestroy(graph), 0)
        arrays, number, graph = [Memory(driver, "shared") for _ in range(4)], ctypes.c_uint32(), ctypes.c_void_p()
        arrays[0].words[:count], arrays[1].words[:count] = np.arange(count), 7
        equal(server.ask("TABLE", "CREATE", "seven", "NUMBER", "7"), "OK")
        equal(library.sherwood_cuda_table(own.pointer, b"seven", ctypes.byref(number), None), 0)
        with capture(driver, stream, graph):
            for operation in (SUM, GET):
                call = call_of(operation, arrays, count, 0, 2, stream)
                call.table = number.value
                equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), 0, library.sherwood_cuda_error())
        for replay in range(6):  # the table is another one each time
            for _ in range(3):
                equal(driver.fake_launch(graph, stream), 0)
            equal(driver.cuStreamSynchronize(stream), 0)
            wanted = 0 if replay < 5 else -17
            equal(library.sherwood_cuda_check(own.pointer, True), wanted, library.sherwood_cuda_error())
            equal(arrays[2].words[:count].tolist(), [21] * count, f"replay {replay}")
            for words in (("DROP", "seven"), ("CREATE", "seven", "NUMBER", "7"))[:2 if replay < 4 else 5 - replay]:
                equal(server.ask("TABLE", *words), "OK")
        equal(driver.cuGraphDestroy(graph), 0)
        driver.fake_asynchronous(0)
        own.close()


@case
def graphs():
    """graphs have a limit of calls, give them back, refuse copies above a stage, and outlive the handle"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    stream, graph = ctypes.c_void_p(), ctypes.c_void_p()
    equal(driver.cuStreamCreate(ctypes.byref(stream), 1), 0)
    arrays = [Memory(driver, "segment") for _ in range(4)]
    with daemon(*SMALL, "--key-bits", "64", program=EMULATED) as server:
        own = Attached(library, driver, server, -1)
        equal(library.sherwood_cuda_stage(own.pointer, ctypes.c_uint64(STAGE)), 0)
        call, large = call_of(GET, arrays, 9, 0, 2, stream), call_of(GET, arrays, 9000, 0, 2, stream)
        for _ in range(3):
            with capture(driver, stream, graph):
                for i in range(65):
                    status = library.sherwood_cuda_call(own.pointer, ctypes.byref(call))
                    equal(status, 0 if i < 64 else E_BUSY, library.sherwood_cuda_error())
                check("destroy one of the graphs" in library.sherwood_cuda_error().decode(), library.sherwood_cuda_error())
            equal(driver.cuGraphDestroy(graph), 0)
        with capture(driver, stream, graph):
            waits = call_of(GET, arrays, 9, 0, 1, stream)
            equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(waits)), E_INVALID)
            check("in the order of the stream" in library.sherwood_cuda_error().decode(), library.sherwood_cuda_error())
            equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(large)), E_INVALID)
            check("a captured call copies 145664 bytes, and a stage has 65536" in library.sherwood_cuda_error().decode(), library.sherwood_cuda_error())
            equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), 0, library.sherwood_cuda_error())
        equal(driver.cuGraphDestroy(graph), 0)
        for launches in (0, 2):
            with capture(driver, stream, graph):
                for _ in range(3):
                    equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), 0, library.sherwood_cuda_error())
            own.close()
            for _ in range(launches):
                equal((driver.fake_launch(graph, stream), driver.cuStreamSynchronize(stream)), (0, 0))
            equal(driver.cuGraphDestroy(graph), 0)
            own = Attached(library, driver, server, -1)
        equal(own.call(GET, 9), 0, library.sherwood_cuda_error())
        own.close()


@case
def beside_a_capture():
    """while one thread captures a stream, another attaches, makes calls that allocate, and closes its handle"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    streams, graph, count = (ctypes.c_void_p(), ctypes.c_void_p()), ctypes.c_void_p(), 100
    for stream in streams:
        equal(driver.cuStreamCreate(ctypes.byref(stream), 1), 0)
    arrays = [Memory(driver, "segment", 1) for _ in range(4)]

    def attach_and_call(server):
        own = Attached(library, driver, server, 1)
        equal(own.error, "")
        for when in (0, 2):
            arrays[0].words[:count], arrays[1].words[:count] = np.arange(count), 5
            for operation in (SUM, GET):
                call = call_of(operation, arrays, count, 0, when, streams[1])
                equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), 0, library.sherwood_cuda_error())
            equal(library.sherwood_cuda_check(own.pointer, True), 0, library.sherwood_cuda_error())
            equal(arrays[2].words[:count].tolist(), [5 + 5 * (when // 2)] * count)
        own.close()

    with gpus(2), daemon(*SMALL, "--key-bits", "64", program=EMULATED, environment={"EMU_GPUS": "2"}) as server:
        with capture(driver, streams[0], graph), concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(attach_and_call, server).result()
        equal(driver.cuGraphDestroy(graph), 0)


@case
def stays_loaded():
    """dlclose does not unload the library, because a graph that outlives its handle calls it"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    stream, graph = ctypes.c_void_p(), ctypes.c_void_p()
    equal(driver.cuStreamCreate(ctypes.byref(stream), 1), 0)
    with daemon(*SMALL, "--key-bits", "64", program=EMULATED) as server:
        own, arrays = Attached(library, driver, server, -1), [Memory(driver, "segment") for _ in range(4)]
        with capture(driver, stream, graph):
            call = call_of(GET, arrays, 9, 0, 2, stream)
            equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), 0, library.sherwood_cuda_error())
        own.close()
        with contextlib.suppress(OSError):
            for _ in range(20):  # each case has loaded it
                _ctypes.dlclose(library._handle)  # pylint: disable=protected-access
        check("libsherwood-cuda" in pathlib.Path("/proc/self/maps").read_text(encoding="utf-8"), "it is unloaded")
        equal((driver.fake_launch(graph, stream), driver.cuStreamSynchronize(stream), driver.cuGraphDestroy(graph)), (0, 0, 0))


if __name__ == "__main__":
    main()
