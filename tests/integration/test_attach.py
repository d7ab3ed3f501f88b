#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""libsherwood-cuda and Client.attach without a GPU: calls on memory of emulated GPUs, errors in words, and the daemon goes on."""

import concurrent.futures
import ctypes
import os
import signal
import sys
import tempfile
import time

import fake_torch
from attached import (ASSIGN, CAS, DRIVER, E_INVALID, E_REQUEST, EMULATED, FIRST_CALL_BYTES, GET, LIBRARY, MIB, SET, SMALL, STAGE, Attached,
                      Cache, Call, Memory, call_of, gpus, loaded)
from harness import BUILD, Server, case, check, equal, eventually, main
from package import daemon, np, raises, sherwood
from people import secret

# enum sherwood_operation
# OR, XOR, AND, ANDNOT
BITS = ((64, lambda old, new: old | new), (65, lambda old, new: old ^ new), (66, lambda old, new: old & new),
        (67, lambda old, new: old & ~new))


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
        raises(sherwood.Refused, "(its backend is cpu): use the client's calls", client.attach)  # it loads nothing
        client.set_many(np.arange(3), np.arange(3))
        equal(len(client), 3)
    with daemon(*SMALL, program=EMULATED) as server, sherwood.connect(server.unix) as client:
        raises(sherwood.Refused, "libsherwood-cuda.so.0: cannot open shared object file: No such file or directory; install", client.attach)


@case
def memory_of_another_driver():
    """GET and SET of memory that the server cannot open are refused in words, and the daemon goes on"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    driver.fake_memory.restype = ctypes.c_void_p
    memory, handle = driver.fake_memory(), ctypes.c_void_p()
    with daemon(*SMALL, program=EMULATED) as server:
        text = ctypes.create_string_buffer(512)
        status = library.sherwood_cuda_attach(server.unix.encode(), None, ctypes.byref(handle), text, 512)
        equal((status, text.value), (0, b""))
        for operation in (GET, SET):
            keys, values, previous = (ctypes.c_void_p(memory + at) for at in (0, 4096, 8192))
            check(library.sherwood_cuda_run(handle, operation, keys, values, ctypes.c_size_t(9), previous, None) < 0, operation)
            check("cudaIpcOpenMemHandle" in library.sherwood_cuda_error().decode(), library.sherwood_cuda_error())
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
            old = Call(FIRST_CALL_BYTES, GET, 0, own.at, None, 9, own.at + MIB * 3 // 2, own.at + MIB, 0, None, 1, 1)
            equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(old)), 0, "the struct of the first version ends before cache")
            for change, words in (({"operation": SET}, "only GET and PEEK"), ({"flags": 2}, "only flag"),
                                  ({"found": None}, "found is NULL"), ({"when": 1, "stream": 9}, "cannot wait for the stream"), ({"size": 1}, "SHERWOOD_CUDA_CALL_INIT"),
                                  ({"size": FIRST_CALL_BYTES + 8}, "SHERWOOD_CUDA_CALL_INIT"), ({"operation": 72}, "only GET and PEEK"),
                                  ({"operation": 70, "flags": 0}, "range_bytes is 0"), ({"operand_type": 4, "flags": 0}, "needs a scale"),
                                  ({"cache": own.at, "flags": 0}, "SHERWOOD_CACHE_INIT"), ({"times": own.at, "flags": 0}, "SHERWOOD_TIMES_INIT")):
                call = Call(ctypes.sizeof(Call), GET, 8, own.at, own.at, 9, None, own.at + MIB, 0)
                for name, value in change.items():
                    setattr(call, name, value)
                equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), E_INVALID)
                check(words in library.sherwood_cuda_error().decode(), library.sherwood_cuda_error())
            own.close()


@case
def cache():
    """arrays of a cache in device memory: scores, what was evicted and what was not admitted, also through a stage and in order"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    with daemon("--backend", "cuda", "--capacity", "4K", "--loops", "1", "--frame-ops-max", "512", "--round-ops-max", "512", "--key-bits",
                "64", "--engine", "cache", "--policy", "custom", "--value-bytes", "8", "--value-format", "fixed", program=EMULATED) as server, sherwood.connect(server.unix) as client:
        own, model, at = Attached(library, driver, server, -1), {}, 1
        equal(library.sherwood_cuda_stage(own.pointer, ctypes.c_uint64(STAGE)), 0)
        for kind, in_order, count, kind_of_evicted in (("shared", 0, 1500, "shared"), ("segment", 0, 1500, "segment"), ("shared", 2, 1500, "shared"),
                                                       ("segment", 2, 500, "segment"), ("segment", 2, 1500, "segment"), ("segment", 2, 2500, "shared")):
            keys, values, scores, scores_out, not_admitted = (Memory(driver, kind) for _ in range(5))
            evicted = [Memory(driver, kind_of_evicted) for _ in range(3)]
            for low in (False, True):  # new keys with the highest scores, then some with scores below all
                keys.words[:count] = new = np.arange(at, at + count)
                values.words[:count] = new * 3
                scores.words[:count] = given = np.zeros(count, np.uint64) if low else new
                arrays = Cache(ctypes.sizeof(Cache), scores.at, scores_out.at, not_admitted.at, *(one.at for one in evicted), 77, 77)
                call = call_of(SET, (keys, values, None, None), count, when=in_order)
                call.cache = ctypes.addressof(arrays)
                status = library.sherwood_cuda_call(own.pointer, ctypes.byref(call))
                status = status or library.sherwood_cuda_check(own.pointer, True)
                sentence = library.sherwood_cuda_error().decode()
                if (kind, in_order) == ("segment", 2) and count > 500:
                    check(status == E_INVALID and "need a call that waits" in sentence, (status, sentence))
                    continue
                equal(status, 0, sentence)
                turned = np.unpackbits(not_admitted.bytes[:-(-count // 8)], bitorder="little")[:count].astype(bool)
                equal(arrays.not_admitted_count, turned.sum(), (kind, in_order, low))
                check(turned.any() if low and at > 6000 else low or not turned.any(), (kind, in_order, low))
                equal(scores_out.words[:count].tolist(), np.where(turned, 0, given).tolist(), "scores of the reply")
                model |= dict(zip(new[~turned].tolist(), given[~turned].tolist()))
                out = [one.words[:arrays.evicted_count].tolist() for one in evicted]
                equal((out[1], out[2]), ([key * 3 for key in out[0]], [model.pop(key) for key in out[0]]), "what was evicted")
                equal(len(client), len(model))
                at += count
        check(len(model) < at - 4096, "entries were evicted")
        equal(client.contains_many(np.arange(at)).tolist(), [key in model for key in range(at)])
        own.close()


@case
def bits():
    """OR, XOR, AND and ANDNOT of arrays in device memory, of integers and of rows, give what a model gives"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    for flags, words in (((), 1), (("--value-bytes", "16"), 2)):
        with daemon(*SMALL, "--key-bits", "64", *flags, program=EMULATED) as server:
            own, model = Attached(library, driver, server, -1), {}
            for number, (operation, apply) in enumerate(BITS * 2):
                count, rng = 90, np.random.default_rng(number)
                keys, operands = rng.integers(0, 60, count, np.uint64), rng.integers(0, 2**63, (count, words), np.uint64)
                own.words[:count], own.words[256:256 + count * words] = keys, operands.reshape(-1)
                status = library.sherwood_cuda_run(own.pointer, operation, *map(ctypes.c_void_p, (own.at, own.at + 2048)),
                                                   ctypes.c_size_t(count), *map(ctypes.c_void_p, (own.at + 4096, own.at + 6144)))
                before, found = own.words[512:512 + count * words].reshape(count, words), own.words[768:770]
                equal(status, 0, library.sherwood_cuda_error())
                for i, key in enumerate(keys.tolist()):
                    equal((before[i].tolist(), int(found[i // 64]) >> i % 64 & 1), (list(model.get(key, [0] * words)), key in model))
                    if key in model or number % 4 < 2:  # OR and XOR insert
                        model[key] = [apply(old, new) for old, new in zip(model.get(key, [0] * words), operands[i].tolist())]
            own.close()


@case
def ids():
    """ASSIGN of keys in device memory writes ids there; beside a log the device copies them there, and a restart keeps them"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    with tempfile.TemporaryDirectory(prefix="sherwood-ids-") as data:
        log = ("--data-dir", data, "--appendonly", "yes")
        for flags, slow, before in (((), {}, False), (log, {}, False), (log, {"EMU_ASYNC": "1", "EMU_COPY_MS": "50"}, True)):
            with daemon(*SMALL, "--ids", "400", *flags, program=EMULATED, environment=slow) as server:
                own = Attached(library, driver, server, -1)
                keys, given, found = (np.ctypeslib.as_array((ctypes.c_uint64 * 8).from_address(own.at + at)) for at in (0, MIB, MIB // 2))
                for wanted, bits in (([0, 1, 0, 2, 0], 0b11111 if before else 0b10100), ([0, 1, 0, 2, 0], 0b11111)):
                    keys[:5] = [7, 9, 7, 8, 7]
                    given[:] = found[:] = 77
                    status = library.sherwood_cuda_run(own.pointer, ASSIGN, ctypes.c_void_p(own.at), None, ctypes.c_size_t(5),
                                                       ctypes.c_void_p(own.at + MIB), ctypes.c_void_p(own.at + MIB // 2))
                    equal((status, given.tolist(), found[:2].tolist()), (0, wanted + [77] * 3, [bits, 77]), library.sherwood_cuda_error())
                equal(server.metrics()["sherwood_ring_copies_total"], 2 if flags else 0)
                own.close()


def another_process(library, driver, server, operation, calls=1):
    """A process of its own, to be killed: makes calls on keys of the device."""
    child = os.fork()
    if child == 0:
        try:
            own = Attached(library, driver, server, -1)
            own.words[:50] = 7777
            for _ in range(calls):
                own.call(operation, 50)
        finally:
            os._exit(1)  # killed before
    return child


@case
def killed_clients():
    """clients that are killed while the table works, or the device copies, end nothing but their connections"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    for slow in ({}, {"EMU_ASYNC": "1", "EMU_COPY_MS": "3"}):
        with daemon(*SMALL, "--key-bits", "64", program=EMULATED, environment=slow) as server:
            for number in range(25):
                child = another_process(library, driver, server, CAS, 10000)
                before = server.metrics()["sherwood_ring_copies_total"]
                eventually(lambda: server.metrics()["sherwood_ring_copies_total"] > before, "calls")
                time.sleep(number % 5 / 300)
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            eventually(lambda: server.metrics()["sherwood_regions"] == 0, "the memory is released")
            with sherwood.connect(server.unix) as client:
                client.set_many([1], [2])
                equal(list(client.get_many([1, 7777], default=0)), [2, 0])


@case
def slow_copies():
    """beside a log a loop serves other clients while the device copies keys and values, and clients may go away meanwhile"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    with tempfile.TemporaryDirectory(prefix="sherwood-copies-") as data:
        log = ("--key-bits", "64", "--data-dir", data, "--appendonly", "yes")
        with daemon(*SMALL, *log, program=EMULATED, environment={"EMU_ASYNC": "1", "EMU_COPY_MS": "700"}) as server:
            def copied(number):
                eventually(lambda: server.metrics()["sherwood_ring_copies_total"] == number, f"{number} records copied")

            with sherwood.connect(server.unix) as client:
                child = another_process(library, driver, server, SET)
                copied(1)
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                eventually(lambda: server.metrics()["sherwood_regions"] == 0, "the copies end, and the memory is released")
                handles = [Attached(library, driver, server, -1) for _ in range(3)]
                for number, own in enumerate(handles):
                    own.words[:50] = np.arange(50) + 100 * number
                    own.words[256:306] = np.arange(50) * 7 + number
                    equal((own.error, own.call(GET, 9)), ("", 0))  # registers the memory
                def served_meanwhile(counts=iter(range(4, 3000, 3))): # all clients share one loop
                    with concurrent.futures.ThreadPoolExecutor() as pool:
                        begin = time.monotonic()
                        calls = [pool.submit(own.call, SET, 50, number == 2) for number, own in enumerate(handles)]
                        copied(next(counts))
                        client.set_many([5000], [1])
                        equal(list(client.get_many([5000, 7777], default=0)), [1, 0])
                        meanwhile = time.monotonic() - begin < 0.6 and not any(call.done() for call in calls)
                        equal([call.result() for call in calls], [0, 0, 0])
                        return meanwhile
                eventually(served_meanwhile, "the loop does not wait for copies")
                equal(library.sherwood_cuda_check(handles[2].pointer, True), 0)
                for number in range(3):
                    equal(list(client.get_many(np.arange(50) + 100 * number, default=0)), [i * 7 + number for i in range(50)])
                for own in handles:
                    own.close()
        with daemon(*SMALL, *log, program=EMULATED) as server, sherwood.connect(server.unix) as client:
            equal(list(client.get_many(np.arange(50) + 200, default=0)), [i * 7 + 2 for i in range(50)])


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
def tensors_of_key_sets():
    """insert_many of a Device returns which keys are new, with and without a stream; other servers are refused"""
    loaded()
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    torch = sys.modules["torch"] = fake_torch.module(ctypes.CDLL(str(DRIVER)))
    try:
        for bits, dtype in (("64", torch.int64), ("32", torch.int32)):
            with daemon(*SMALL, "--key-bits", bits, "--value-type", "none", program=EMULATED) as server, \
                    sherwood.connect(server.unix) as client, client.attach() as device:
                for stream, first in ((None, 0), (fake_torch.Stream(), 3)):
                    keys = torch.tensor([[7 + first, 5 + first], [7 + first, 9 + first]], dtype, fake_torch.Device(0))
                    for new in ([[True, True], [False, True]], [[False, False], [False, False]]):
                        equal(device.insert_many(keys, stream=stream).tolist(), new)
                    equal(device.contains_many(keys, stream=stream).tolist(), [[True, True], [True, True]])
                    device.check(wait=True)
                equal(device.delete_many(keys).tolist(), [[True, True], [False, True]])
                equal(sorted(client.scan().__next__()[0].tolist()), [5, 7, 9])
        with daemon(*SMALL, program=EMULATED) as server, sherwood.connect(server.unix) as client, client.attach() as device:
            raises(sherwood.Refused, "keys of this server have values", device.insert_many, keys)
    finally:
        del sys.modules["torch"]


@case
def tensors_of_ids():
    """assign_many of a Device returns the ids of keys and which are new, with and without a stream"""
    loaded()
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    torch = sys.modules["torch"] = fake_torch.module(ctypes.CDLL(str(DRIVER)))
    try:
        cache = ("--backend", "cuda", "--loops", "1", "--frame-ops-max", "512", "--round-ops-max", "512", "--engine", "cache", "--capacity", "256")
        for flags in (SMALL, cache):
            with daemon(*flags, "--key-bits", "64", "--ids", "1000", program=EMULATED) as server, sherwood.connect(server.unix) as client, \
                    client.attach() as device:
                for stream, first in ((None, 0), (fake_torch.Stream(), 3)):
                    keys = torch.tensor([[7 + first, 5 + first], [7 + first, 9 + first]], torch.int64, fake_torch.Device(0))
                    ids, new = device.assign_many(keys, stream=stream)
                    wanted, was = client.assign_many(keys.tolist())
                    equal((ids.tolist(), new.tolist(), was.any()), (wanted.tolist(), [[True, True], [False, True]], False))
                if flags == cache:
                    more = torch.tensor(list(range(100, 500)), torch.int64, fake_torch.Device(0))
                    done = device.run_many("assign", more, want=("previous", "evicted"))
                    gone = sorted(done.evicted_values.tolist())
                    equal((len(client), len(gone) > 0, set(gone) <= set(range(256))), (256, True, True), "evicted ids")
                device.check(wait=True)
    finally:
        del sys.modules["torch"]


@case
def users():
    """keys in device memory need the right to the default table and to each key; a refusal is the same for a key that exists"""
    loaded()
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    torch = sys.modules["torch"] = fake_torch.module(ctypes.CDLL(str(DRIVER)))
    acl = "user default on nopass ~* +@all\nuser other on >pw ~* +@all db=7\nuser some on >pw ~1-9 +@all db=0\nuser reader on >pw ~* +get +ping\n"
    try:
        with daemon(*SMALL, "--key-bits", "64", "--acl-file", secret(acl), program=EMULATED) as server, sherwood.connect(server.unix) as admin:
            admin.set_many([1, 100], [5, 6])
            for user, keys, word in (("other", (1, 100, 2000), "it lacks the table"), ("some", (100, 2000), "outside the key ranges")):
                with sherwood.connect(server.unix, username=user, password="pw") as client, client.attach() as device:
                    for one in (torch.tensor([key], torch.int64, fake_torch.Device(0)) for key in keys):
                        raises(sherwood.Denied, word, device.get_many, one)
                        raises(sherwood.Denied, word, device.set_many, one, one)
                        raises(sherwood.Denied, word, device.delete_many, one)
                    if user == "some":
                        equal(list(device.get_many(torch.tensor([1], torch.int64, fake_torch.Device(0)), default=0)), [5])
            equal((list(admin.get_many([1, 100], default=0)), len(admin)), ([5, 6], 2))
            equal(server.ask("TABLE", "CREATE", "t"), "OK")
            with sherwood.connect(server.unix, username="reader", password="pw") as client, client.table("t").attach() as device:
                equal(list(device.get_many(torch.tensor([1], torch.int64, fake_torch.Device(0)), default=0)), [0])
    finally:
        del sys.modules["torch"]


@case
def another_server():
    """attach refuses a daemon that has come with other widths since the client connected, and takes one with those of before"""
    loaded()
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    with tempfile.TemporaryDirectory() as folder:
        def begin(*flags):
            return Server(*SMALL, "--unix-socket", folder + "/s", *flags, program=EMULATED)
        with begin("--key-bits", "64"):
            client = sherwood.connect(f"unix:{folder}/s")
        for flags in (("--key-bits", "32"), ("--key-bits", "64", "--value-bytes", "16", "--value-type", "f32"), ("--key-bits", "64", "--ids", "9")):
            with begin(*flags) as server:
                if "--ids" in flags:
                    client.attach().close()
                else:
                    raises(sherwood.Refused, "have another width or type than before: make a new client", client.attach)
                eventually(lambda s=server: s.metrics()["sherwood_connected_clients"] == 0, "detached")
                if "--ids" not in flags:
                    raises(sherwood.Error, "", client.get_many, [1])
        client.close()


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


if __name__ == "__main__":
    main()
