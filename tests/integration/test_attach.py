#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""libsherwood-cuda and Client.attach without a GPU: calls on memory of emulated GPUs, errors in words, and the daemon goes on."""

import ctypes
import os
import sys
import tempfile

import fake_torch
from attached import (ASSIGN, DELETE, DRIVER, E_BUSY, E_FULL, E_INVALID, E_REQUEST, EMULATED, GET, LIBRARY, MIB, SET, SMALL, STAGE, SUM,
                      Attached, Call, Memory, call_of, capture, gpus, loaded)
from harness import BUILD, case, check, equal, main
from package import daemon, np, raises, sherwood

# enum sherwood_operation
ONLY_FOR_HOST = {"EXPIRE": 25, "EXPIRE_NONE": 26, "EXPIRE_SOME": 27, "EXPIRE_LATER": 28, "EXPIRE_EARLIER": 29,
                 "EXPIRE_SHORTEN": 30, "OR": 64, "XOR": 65, "AND": 66, "ANDNOT": 67, "CAS": 68, "SETRANGE": 69,
                 "GETRANGE": 70, "PERSIST": 71, "TTL": 72}


def refused(library, address):
    """Attaches. Returns the status and the text of the error."""
    pointer, text = ctypes.c_void_p(1), ctypes.create_string_buffer(512)
    status = library.sherwood_cuda_attach(address, None, ctypes.byref(pointer), text, 512)
    check(not pointer.value, "a handle came with the refusal")
    equal(library.sherwood_cuda_error(), text.value, "the sentence of the thread")
    return status, text.value.decode()


@case
def from_c():
    """sherwood_cuda_attach refuses a server without a GPU, an address without a server, and a missing address"""
    library = loaded()
    with daemon("--backend", "cpu") as server:
        status, sentence = refused(library, server.unix.encode())
        equal(status, E_REQUEST, sentence)
        check("does not run on a GPU" in sentence and "cpu" in sentence, sentence)
        connection = sherwood.connect(server.unix)
        connection.set_many([1, 2], [3, 4])
        equal(list(connection.get_many([1, 2], default=0)), [3, 4])
        status, sentence = refused(library, server.address().encode())
        check(status < 0 and "Unix" in sentence, sentence)
    status, sentence = refused(library, b"unix:/nowhere/at/all")
    check(status < 0 and "/nowhere/at/all" in sentence, sentence)
    equal(library.sherwood_cuda_attach(None, None, None, None, 0), E_INVALID)
    for call in (library.sherwood_cuda_check, library.sherwood_cuda_register,
                 library.sherwood_cuda_unregister):
        equal(call(None, None), E_INVALID)
    library.sherwood_cuda_close(None)


@case
def from_python():
    """Client.attach raises an error for a server without a GPU, an invalid device name and a missing library"""
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    ctypes.CDLL(str(BUILD / "libsherwood.so.0"), mode=ctypes.RTLD_GLOBAL)
    with daemon("--backend", "cpu") as server:
        client = sherwood.connect(server.unix)
        raises(sherwood.Refused, "does not run on a GPU", client.attach, "cuda:0")
        raises(sherwood.Refused, "does not run on a GPU", client.attach)
        for name in ("gpu", "cuda:x", "cpu", -1):
            raises(ValueError, "cuda:0", client.attach, name)
        os.environ["SHERWOOD_CUDA_LIBRARY"] = "/nowhere/libsherwood-cuda.so.0"
        raises(sherwood.Refused, "attach: cannot load /nowhere/libsherwood-cuda.so.0: ", client.attach)
        client.set_many(np.arange(3), np.arange(3))
        equal(len(client), 3)


@case
def operations_for_the_host():
    """sherwood_cuda_run and _run_on refuse operations for the host by name; GET and SET reach the driver"""
    library = loaded()
    driver = ctypes.CDLL(str(DRIVER))
    driver.fake_memory.restype = ctypes.c_void_p
    memory, handle = driver.fake_memory(), ctypes.c_void_p()
    with daemon(*SMALL, program=EMULATED) as server:
        text = ctypes.create_string_buffer(512)
        status = library.sherwood_cuda_attach(server.unix.encode(), None, ctypes.byref(handle), text, 512)
        equal((status, text.value), (0, b""))

        def refusal(call, operation, *more):
            """Returns the error of a call on 9 keys with values behind them."""
            keys, values, previous = (ctypes.c_void_p(memory + at) for at in (0, 4096, 8192))
            equal(call(handle, operation, keys, values, ctypes.c_size_t(9), previous, None, *more) < 0, True, operation)
            return library.sherwood_cuda_error().decode()

        for name, operation in ONLY_FOR_HOST.items():
            wanted = (f"SHERWOOD_{name} does not run on device memory: copy the arrays to the host, and"
                      " call libsherwood there")
            equal(refusal(library.sherwood_cuda_run, operation), wanted)
            equal(refusal(library.sherwood_cuda_run_on, operation, None), wanted)
        for operation in (GET, SET):  # no other process can open the memory of this driver
            sentence = refusal(library.sherwood_cuda_run, operation)
            check("cudaIpcOpenMemHandle" in sentence, sentence)
        library.sherwood_cuda_close(handle)
        connection = sherwood.connect(server.unix)
        connection.set_many([1, 2], [3, 4])
        equal(list(connection.get_many([1, 2, 3], default=0)), [3, 4, 0])


@case
def another_gpu():
    """a handle of another GPU with peer access runs calls that wait and calls in stream order on memory of that GPU alone"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    for seen in (1, 2):  # a daemon that sees one GPU leaves the decision to the driver
        with gpus(2), daemon(*SMALL, "--key-bits", "64", program=EMULATED, environment={"EMU_GPUS": str(seen)}) as server:
            own, peer = (Attached(library, driver, server, device) for device in (-1, 1))
            equal((own.error, peer.error), ("", ""))
            equal([library.sherwood_cuda_device(each.pointer) for each in (own, peer)], [0, 1])
            for stream in (False, True):
                peer.words[:100] = np.arange(100) + 1000 * stream
                peer.words[256:356] = np.arange(100) * 7 + stream
                equal(peer.call(SET, 100, stream), 0)
                own.words[:101] = np.arange(101) + 1000 * stream
                own.words[512:900] = 5
                equal(own.call(GET, 101, stream), 0)
                equal(library.sherwood_cuda_check(own.pointer, True), 0)
                equal(list(own.words[512:613]), [i * 7 + stream for i in range(100)] + [0], "values")
                equal([int(word) for word in own.words[768:770]], [2**64 - 1, 2**36 - 1], "found bits")
            equal(peer.call(GET, 9, at=own.at), E_INVALID)
            sentence = library.sherwood_cuda_error().decode()
            check("in memory of device 0" in sentence and "of device 1" in sentence, sentence)
            equal(peer.call(GET, 9), 0, "after a refusal")
            peer.close()
            own.close()
            equal(server.metrics()["sherwood_small_page_regions_total"], 0)


@case
def found_bytes():
    """sherwood_cuda_call stores found bytes in device memory, of one frame or several, for each engine and for rows"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    for flags in (("--key-bits", "64"), ("--key-bits", "32"), ("--key-bits", "64", "--engine", "cuckoo"),
                  ("--key-bits", "64", "--engine", "cache"), ("--key-bits", "64", "--value-bytes", "16")):
        small = SMALL if "--engine" not in flags else ("--backend", "cuda", "--capacity", "4K", "--loops", "1",
                                                       "--frame-ops-max", "512", "--round-ops-max", "512")
        with daemon(*small, *flags, program=EMULATED) as server:
            own = Attached(library, driver, server, -1)
            equal(own.error, "", flags)
            dtype = np.uint32 if "32" in flags else np.uint64
            keys, found = (np.ctypeslib.as_array((kind * (MIB // 8)).from_address(own.at + at)) for kind, at in
                           (((ctypes.c_uint32 if dtype is np.uint32 else ctypes.c_uint64), 0), (ctypes.c_uint8, MIB)))
            keys[:300] = np.arange(300) * 2
            equal(library.sherwood_cuda_run(own.pointer, SET, *map(ctypes.c_void_p, (own.at, own.at + MIB // 2)),
                                            ctypes.c_size_t(300), None, None), 0, library.sherwood_cuda_error())
            for count, in_order in ((1, False), (7, True), (8, False), (65, False), (300, True), (512, True), (1100, False),
                                    (1100, True)):
                keys[:count] = np.arange(count)
                found[:2048] = 0xa5
                call = Call(ctypes.sizeof(Call), GET, 8, own.at, None, count, own.at + MIB * 3 // 2, own.at + MIB, 2 * in_order)
                equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), 0, library.sherwood_cuda_error())
                equal(library.sherwood_cuda_check(own.pointer, True), 0)
                padded = -(-count // 8) * 8
                wanted = [int(i % 2 == 0 and i < 600) for i in range(count)] + [0] * (padded - count)
                equal(found[:padded].tolist(), wanted, f"{flags}, {count} keys, in order {in_order}")
                equal(found[padded:2048].tolist(), [0xa5] * (2048 - padded), f"behind {count} keys")
            for change, words in (({"operation": SET}, "only GET and PEEK"), ({"flags": 2}, "only flag"),
                                  ({"found": None}, "found is NULL"), ({"when": 1, "stream": 9}, "cannot wait for the stream"), ({"size": 1}, "SHERWOOD_CUDA_CALL_INIT")):
                call = Call(ctypes.sizeof(Call), GET, 8, own.at, own.at, 9, None, own.at + MIB, 0)
                for name, value in change.items():
                    setattr(call, name, value)
                equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), E_INVALID)
                check(words in library.sherwood_cuda_error().decode(), library.sherwood_cuda_error())
            own.close()


@case
def ids():
    """ASSIGN of keys in device memory writes ids there; beside a log it is refused in words"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    with tempfile.TemporaryDirectory(prefix="sherwood-ids-") as data:
        for log in ((), ("--data-dir", data, "--appendonly", "yes")):
            with daemon(*SMALL, "--ids", "400", *log, program=EMULATED) as server:
                own = Attached(library, driver, server, -1)
                keys, given, found = (np.ctypeslib.as_array((ctypes.c_uint64 * 8).from_address(own.at + at)) for at in (0, MIB, MIB // 2))
                for wanted, bits in (([0, 1, 0, 2, 0], 0b10100), ([0, 1, 0, 2, 0], 0b11111)):
                    keys[:5] = [7, 9, 7, 8, 7]
                    status = library.sherwood_cuda_run(own.pointer, ASSIGN, ctypes.c_void_p(own.at), None, ctypes.c_size_t(5),
                                                       ctypes.c_void_p(own.at + MIB), ctypes.c_void_p(own.at + MIB // 2))
                    sentence = library.sherwood_cuda_error().decode()
                    if log:
                        check(status < 0 and "device memory beside a log" in sentence, sentence)
                    else:
                        equal((status, given[:5].tolist(), int(found[0])), (0, wanted, bits), sentence)
                own.close()


@case
def no_peer_access():
    """a GPU without peer access, and one that does not exist, are refused in words, in C and in Python"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    with gpus(3), daemon(*SMALL, program=EMULATED) as server:
        far, none = (Attached(library, driver, server, device) for device in (2, 9))
        equal((far.status, none.status), (E_REQUEST, E_REQUEST))
        check("no peer access to device 2" in far.error and "attach with device 0" in far.error, far.error)
        check("no device 9: this process sees 3" in none.error, none.error)
        with sherwood.connect(server.unix) as client:
            raises(sherwood.Refused, "no peer access to device 2", client.attach, "cuda:2")
            for name, wanted in (("cuda", "cuda:0"), ("cuda:0", "cuda:0"), ("cuda:1", "cuda:1"), (1, "cuda:1")):
                with client.attach(name) as device:
                    check(repr(device).endswith(wanted + ">"), repr(device))
        equal(server.metrics()["sherwood_region_refusals_total"], 0)


@case
def tensors():
    """the calls of Device on tensors of another GPU return tensors there, with and without a stream, and refuse others"""
    loaded()
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    torch = sys.modules["torch"] = fake_torch.module(ctypes.CDLL(str(DRIVER)))
    one = fake_torch.Device(1)
    try:
        for stream in (None, fake_torch.Stream()):
            with gpus(2), daemon(*SMALL, "--key-bits", "64", program=EMULATED) as server, \
                    sherwood.connect(server.unix) as client, client.attach("cuda:1") as device:
                def keys(*numbers):
                    return torch.tensor(numbers, torch.int64, one)

                wanted = np.arange(100) % 3 != 0
                device.set_many(keys(*np.arange(100)[wanted]), keys(*np.arange(100)[wanted] * 7), stream=stream)
                values, found = device.get_many(keys(*range(100)), stream=stream)
                check(isinstance(values, fake_torch.Tensor) and values.device == one and found.dtype == bool, "tensors there")
                equal([list(values), list(found)], [list(np.arange(100) * 7 * wanted), list(wanted)])
                values, found = device.get_many(keys(*range(64)).reshape(8, 8), stream=stream)
                equal((values.shape, found.shape, list(found[2])), ((8, 8), (8, 8), list(wanted[16:24])))
                equal(list(device.get_many(keys(1, 3), default=0, stream=stream)), [7, 0])
                equal(list(device.get_many(keys(1, 3), default=9, stream=stream)), [7, 9])
                out, mask = torch.empty((2,), torch.int64, one), torch.empty((2,), torch.bool, one)
                values, found = device.get_many(keys(2, 3), out=out, found=mask, stream=stream)
                check(values is out and found is mask, "the arrays given")
                equal((list(out), list(mask)), ([14, 0], [True, False]))
                eight, out, mask = keys(*range(8)), torch.empty((8,), torch.int64, one), torch.empty((8,), torch.bool, one)
                with fake_torch.no_allocations(torch):  # the server stores found bytes in the caller's array
                    device.get_many(eight, out=out, found=mask, stream=stream)
                equal((list(out), list(mask)), (list(np.arange(8) * 7 * wanted[:8]), list(wanted[:8])))
                old, found = device.add_many(keys(1, 1), keys(5, 6), previous=True, stream=stream)
                equal((list(old), list(found)), ([7, 12], [True, True]))
                equal(list(device.set_many(keys(1, 3), 4, only="absent", stream=stream)), [False, True])
                equal(list(device.contains_many(keys(1, 3, 6), stream=stream)), [True, True, False])
                equal(list(device.delete_many(keys(1, 1), stream=stream)), [True, False])
                device.check(wait=True)
                if stream is None:
                    raises(TypeError, "the dtype is int32", device.get_many, torch.tensor([1], torch.int32, one))
                    raises(ValueError, "gaps", device.get_many, keys(1, 2, 3, 4)[::2])
                    raises(ValueError, "on cuda:0", device.get_many, torch.tensor([1], torch.int64, fake_torch.Device(0)))
                    raises(TypeError, "not an array in the memory of a GPU", device.get_many, np.arange(3))
    finally:
        del sys.modules["torch"]


@case
def small_pages():
    """the daemon counts memory above 2 MiB whose size is not a multiple of 2 MiB, and logs the first of it"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    with daemon(*SMALL, "--key-bits", "64", program=EMULATED) as server:
        for size in (MIB, 4 * MIB, 3 * MIB, 5 * MIB):
            handle = Attached(library, driver, server, -1, size)
            equal((handle.error, handle.call(GET, 9)), ("", 0))
            handle.close()
        equal(server.metrics()["sherwood_small_page_regions_total"], 2)
        equal(server.log().count("3145728 bytes of GPU memory"), 1, server.log())
        equal(server.log().count("bytes of GPU memory"), 1, server.log())


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
            check("a captured call copies 146152 bytes, and a stage has 65536" in library.sherwood_cuda_error().decode(), library.sherwood_cuda_error())
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


if __name__ == "__main__":
    main()
