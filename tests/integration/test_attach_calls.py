#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Calls of sherwood.Device and libsherwood-cuda beyond keys and values, on memory of the emulated GPU."""

import concurrent.futures
import contextlib
import ctypes
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import types
import warnings

import fake_torch
from attached import CAS, DRIVER, E_INVALID, EMULATED, GET, LIBRARY, SET, SMALL, STAGE, Attached, Memory, call_of, capture, gpus, loaded
from harness import BUILD, ROOT, Skip, case, check, drawn_seed, equal, eventually, main, run
from package import LIB, daemon, np, raises, sherwood


@case
def tensors_of_details():
    """bits, pairs, expiry times, parts of rows and the arrays of a cache as tensors, with and without a stream"""
    loaded()
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    torch = sys.modules["torch"] = fake_torch.module(ctypes.CDLL(str(DRIVER)))
    zero = fake_torch.Device(0)

    def tensor(values, dtype=torch.int64):
        return torch.tensor(values, dtype, zero)

    @contextlib.contextmanager
    def attached(*flags):
        with daemon(*flags, "--loops", "1", "--frame-ops-max", "512", "--round-ops-max", "512", "--backend", "cuda", "--key-bits", "64",
                    program=EMULATED) as server, sherwood.connect(server.unix) as client, client.attach() as device:
            yield client, device
            device.check(wait=True)

    small = ("--capacity", "512", "--max-capacity", "4K", "--stash", "64")
    try:
        for stream in (None, fake_torch.Stream()):
            with attached(*small) as (client, d):
                keys = tensor([[1, 2], [3, 1]])
                old, found = d.or_many(keys, 6, previous=True, stream=stream)
                equal((old.tolist(), found.tolist()), ([[0, 0], [0, 6]], [[False, False], [False, True]]))
                d.xor_many(keys, tensor([[1, 2], [4, 8]]), stream=stream)
                d.and_many(keys, 13, stream=stream)
                d.andnot_many(tensor([1]), 1, stream=stream)
                equal(d.get_many(tensor([1, 2, 3, 4]), default=0, stream=stream).tolist(), [12, 4, 0, 0])
                equal(d.cas_many(keys, 12, tensor([[1, 2], [3, 4]]), stream=stream).tolist(), [[True, False], [False, False]])
                equal(d.cas_many(keys, tensor([[1, 4], [9, 1]]), 5, stream=stream).tolist(), [[True, True], [False, False]])
                d.set_many(tensor([20, 21]), 2**64 - 1, stream=stream)  # torch has no such integers
                new = tensor([-2**63, 5])
                equal(d.cas_many(tensor([20, 21]), 2**64 - 1, new, stream=stream).tolist(), [True, True])
                check(stream is None or new.data_ptr() in stream.kept, "the stream keeps the memory of `new`")
                equal(d.cas_many(tensor([21]), 5, 2**63, stream=stream).tolist(), [True])
                equal(d.get_many(tensor([20, 99]), default=2**63 + 1, stream=stream).tolist(), [-2**63, 1 - 2**63])
                d.delete_many(tensor([20, 21]), stream=stream)
                at = tensor([[10**15, 10**15 + 2], [10**15 + 3, 10**15 + 4]])
                equal(d.expire_many(keys, expire_at_ms=at, stream=stream).tolist(), [[True] * 2] * 2)
                times, found = d.ttl_many(tensor([1, 2, 9]), stream=stream)
                equal((times.tolist(), found.tolist()), ([10**15 + 4, 10**15 + 2, 0], [True, True, False]))
                equal(d.expire_many(tensor([1, 2, 9]), ttl=100, only="later", stream=stream).tolist(), [False] * 3)
                equal(d.expire_many(tensor([1, 2, 9]), ttl_ms=tensor([7000, 8000, 9000]), only="earlier", stream=stream).tolist(), [True, True, False])
                equal(d.persist_many(tensor([2, 9]), stream=stream).tolist(), [True, False])
                d.set_many(tensor([1]), 8, keep_ttl=True, stream=stream)
                d.set_many(tensor([5, 6]), 9, ttl=3600, stream=stream)
                d.set_many(tensor([7, 8]), 9, expire_at_ms=tensor([1, 10**15]), stream=stream)
                left, found = client.ttl_many([1, 2, 5, 7, 8])
                equal(found.tolist(), [True, True, True, False, True])
                check(0 < left[0] <= 7 and left[1] == np.inf and 3500 < left[2] <= 3600 and left[4] > 10**9, left)
                if stream is None:
                    raises(ValueError, "at most one", d.set_many, keys, 1, ttl=1, ttl_ms=at)
                    raises(ValueError, "give ttl", d.expire_many, keys)
                    raises(ValueError, "ttl_ms: an array of shape", d.expire_many, keys, ttl_ms=tensor([1]))
                    raises(ValueError, "old: an array of shape", d.cas_many, keys, tensor([1]), 2)
                    raises(sherwood.Refused, "cache", d.run_many, "set", keys, keys, want="scores")
                    raises(ValueError, "does not exist", d.run_many, "sit", keys)
            with attached(*small, "--value-bytes", "16", "--value-type", "f32") as (client, d):
                keys = tensor([1, 2])
                equal(d.set_range_many(keys, 1, tensor([[1, 2], [3, 4]], torch.float32), stream=stream).tolist(), [False, False])
                parts, found = d.get_range_many(tensor([2, 1, 9]), 2, 2, stream=stream)
                equal((parts.tolist(), found.tolist()), ([[4, 0], [2, 0], [0, 0]], [True, True, False]))
                if stream is None:
                    raises(ValueError, "within the", d.get_range_many, keys, 3, 2)
                    raises(ValueError, "one dimension more", d.set_range_many, keys, 0, tensor([1, 2], torch.float32))
            for kind, given in (("f32", np.float32), ("f16", np.float32), ("f16", np.float16)):
                with attached(*small, "--value-bytes", "8", "--value-type", kind) as (client, d):
                    width = 2 if kind == "f32" else 4
                    rows = np.arange(2 * width).reshape(2, width)
                    d.add_rows(tensor([1, 2]), tensor(rows, np.dtype(given)), scale=1 if given is np.float16 else 0.5, stream=stream)
                    d.add_rows(tensor([2, 3]), tensor(rows, np.dtype(given)), only="present", stream=stream)
                    d.check(wait=True)
                    half = rows / (1 if given is np.float16 else 2)
                    equal(client.get_many([1, 2, 3], default=0).tolist(), [half[0].tolist(), (half[1] + rows[0]).tolist(), [0] * width])
                    raises(ValueError, "scale is 0", d.add_rows, tensor([1]), tensor(rows[:1], np.dtype(given)), scale=0)
        with attached("--capacity", "4K", "--engine", "cache", "--policy", "custom", "--value-bytes", "8", "--value-format", "fixed") as (client, d):
            gone, keys = 0, np.arange(1, 6001)
            for part in np.split(keys, 6):
                rows = torch.tensor(part.view(np.uint8).reshape(-1, 8), np.dtype(np.uint8), zero)
                result = d.run_many("set", tensor(part), rows, scores=tensor(part), want=("found", "scores", "not_admitted", "evicted"))
                equal((result.previous, result.found.any(), result.not_admitted.any(), result.scores.tolist()), (None, False, False, part.tolist()))
                equal(result.evicted_values.view(np.int64).reshape(-1).tolist(), result.evicted_keys.tolist())
                equal(result.evicted_scores.tolist(), result.evicted_keys.tolist())
                gone += len(result.evicted_keys)
            equal((len(client), gone > 1900), (6000 - gone, True))
            last = d.run_many("peek", tensor([6000, 7000]), want="previous")
            equal((last.previous.view(np.int64).reshape(-1).tolist(), last.evicted_keys), ([6000, 0], None))
    finally:
        del sys.modules["torch"]


@case
def tables():
    """calls on named tables by one handle: other widths, in order and waiting, through a stage; names and numbers of no table are refused"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    with daemon(*SMALL, "--key-bits", "64", program=EMULATED) as server, sherwood.connect(server.unix) as client:
        for words in (("one",), ("rows", "value-bytes", "16", "value-type", "u64")):
            equal(server.ask("TABLE", "CREATE", *words), "OK")
        own, number = Attached(library, driver, server, -1), ctypes.c_uint32()
        equal(library.sherwood_cuda_stage(own.pointer, ctypes.c_uint64(STAGE)), 0)
        numbers = [0]
        for name in (b"one", b"rows", b"one"):
            equal(library.sherwood_cuda_table(own.pointer, name, ctypes.byref(number), None), 0, library.sherwood_cuda_error())
            numbers.append(number.value)
        equal(numbers, [0, 1, 2, 1])
        equal(library.sherwood_cuda_table(own.pointer, b"none", ctypes.byref(number), None), -17)  # SHERWOOD_E_TABLE
        check("no such table" in library.sherwood_cuda_error().decode(), library.sherwood_cuda_error())
        for kind, in_order in (("shared", 0), ("segment", 2)):
            for table, width, count in ((0, 1, 300), (1, 1, 700), (2, 2, 600)):
                keys, values, previous, found = arrays = [Memory(driver, kind) for _ in range(4)]
                keys.words[:count] = np.arange(count)
                values.words[:count * width] = np.arange(count * width) * (table + 3)
                for operation in (SET, GET):
                    call = call_of(operation, arrays, count, when=in_order)
                    call.table = table
                    equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), 0, library.sherwood_cuda_error())
                    equal(library.sherwood_cuda_check(own.pointer, True), 0, library.sherwood_cuda_error())
                equal(previous.words[:count * width].tolist(), values.words[:count * width].tolist(), (kind, table))
                call.table = 3
                equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), E_INVALID)
                check("table 3 was not opened" in library.sherwood_cuda_error().decode(), library.sherwood_cuda_error())
        equal([len(client), len(client.table("one")), len(client.table("rows"))], [300, 700, 600])
        equal(server.ask("TABLE", "DROP", "one"), "OK")
        call.table = 1
        status = library.sherwood_cuda_call(own.pointer, ctypes.byref(call)) or library.sherwood_cuda_check(own.pointer, True)
        equal(status, -17, library.sherwood_cuda_error())
        for words in (("CREATE", "one", "value-bytes", "16"), ("RENAME", "rows", "old"), ("CREATE", "rows")):
            equal(server.ask("TABLE", *words), "OK")
        for name, given in ((b"one", 3), (b"rows", 4), (b"old", 2), (b"rows", 4)):  # a name is that of another table by now
            equal(library.sherwood_cuda_table(own.pointer, name, ctypes.byref(number), None), 0, library.sherwood_cuda_error())
            equal(number.value, given, name)
            call = call_of(SET, (*arrays[:2], None, None), 9 * given)
            call.table = given
            equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), 0, library.sherwood_cuda_error())
        equal([len(client.table(name)) for name in ("one", "rows", "old")], [27, 36, 600])
        for change, status in ((("CREATE", "keys", "value-type", "none"), 0), (("DROP", "keys"), -17)):  # place 0 has values
            equal(server.ask("TABLE", *change), "OK")
            if status == 0:
                equal(library.sherwood_cuda_table(own.pointer, b"keys", ctypes.byref(number), None), 0)
            call = call_of(SET, (arrays[0], None, None, None), 9)
            call.table = number.value
            equal(library.sherwood_cuda_call(own.pointer, ctypes.byref(call)), status, library.sherwood_cuda_error())
        equal(server.ask("TABLE", "CREATE", "seven", "NUMBER", "7"), "OK")
        equal(library.sherwood_cuda_table(own.pointer, b"seven", ctypes.byref(number), None), 0)
        for when, shape, status in ((when, *change) for when in (0, 2) for change in (
                ((), 0), (("value-bytes", "16"), -17), ((), 0), ((), 0), (("value-bytes", "16"), -17))):  # the number is that of another table
            equal(server.ask("TABLE", "DROP", "seven"), "OK")
            equal(server.ask("TABLE", "CREATE", "seven", "NUMBER", "7", *shape), "OK")
            call = call_of(SET, (*arrays[:2], None, None), 9, when=when)
            call.table = number.value
            got = library.sherwood_cuda_call(own.pointer, ctypes.byref(call)) or library.sherwood_cuda_check(own.pointer, True)
            equal(got, status, library.sherwood_cuda_error())
            equal(len(client.table("seven")), 0 if status else 9)
        check("another shape lies in the place of 'seven'" in library.sherwood_cuda_error().decode(), library.sherwood_cuda_error())
        own.close()
        torch = sys.modules["torch"] = fake_torch.module(driver)
        try:
            given = torch.tensor([5, 600], torch.int64, fake_torch.Device(0))
            with client.table("old").attach() as device:
                values, found = device.get_many(given)
                equal((values.tolist(), found.tolist()), ([[50, 55], [0, 0]], [True, False]))
            device, accepted = client.attach(), server.metrics()["sherwood_connections_accepted_total"]
            old, again = (device.table("old", dtype) for dtype in (None, np.uint32))
            for stream in (None, fake_torch.Stream()):
                old.set_many(given, torch.tensor([[1, 2], [3, 4]], torch.int64, fake_torch.Device(0)), stream=stream)
                device.set_many(given, 9, stream=stream)
                equal([each.get_many(given, default=0, stream=stream).tolist() for each in (old, again, device)],
                      [[[1, 2], [3, 4]], [[1, 0, 2, 0], [3, 0, 4, 0]], [9, 9]])
            equal(server.metrics()["sherwood_connections_accepted_total"], accepted, "they share a connection")
            raises(sherwood.Refused, "no such table", device.table, "none")
            raises(TypeError, "3 is not a text", device.table, 3)
            old.close()
            old.close()
            raises(sherwood.Refused, "open its table again", old.get_many, given)
            equal((again.get_many(given, default=0)[0].tolist(), device.delete_many(given).tolist()), ([1, 0, 2, 0], [True, True]))
            device.close()
            raises(sherwood.Refused, "attach again", again.get_many, given)
            again = client.attach().table("old")  # the handle lives while a Device of it does
            equal((again.get_many(given, default=0)[0].tolist(), repr(again)), ([1, 2], f"<sherwood.Device {server.unix} cuda:0 table old>"))
        finally:
            del sys.modules["torch"]


@case
def dropped_tables():
    """a handle with 64 tables opens one more in the place of one that was dropped, unless a graph uses that; numbers are not used again"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    with daemon(*SMALL, "--key-bits", "64", "--tables-max", "80", program=EMULATED) as server:
        own, number, made = Attached(library, driver, server, -1), ctypes.c_uint32(), []
        stream, graph, arrays = ctypes.c_void_p(), ctypes.c_void_p(), [Memory(driver, "shared") for _ in range(4)]
        equal(driver.cuStreamCreate(ctypes.byref(stream), 0), 0)

        def opened(name):
            status = library.sherwood_cuda_table(own.pointer, name, ctypes.byref(number), None)
            return status or number.value

        def status_of(table, when=0):
            call = call_of(SET, (*arrays[:2], None, None), 9, when=when, stream=stream)
            call.table = table
            return library.sherwood_cuda_call(own.pointer, ctypes.byref(call))

        def change(*words):
            equal(server.ask("TABLE", *words), "OK")

        for i in range(63):
            change("CREATE", f"t{i}")
            made.append(opened(f"t{i}".encode()))
        equal(made, list(range(1, 64)))
        change("DROP", "t5")
        with capture(driver, stream, graph):
            equal(status_of(6, when=2), 0, library.sherwood_cuda_error())
        seen, ended = [], threading.Event()
        thread = threading.Thread(target=lambda: [seen.append(status_of(64)) for _ in iter(ended.is_set, True)], daemon=True)
        for round_ in range(5):
            change("CREATE", "again")
            eventually(lambda: opened(b"again") > 0, "no call uses the table that was dropped")
            made.append(number.value)
            equal((status_of(made[-1]), status_of(1)), (0, 0), library.sherwood_cuda_error())
            if round_ == 0:
                thread.start()
            change("DROP", "again")
        ended.set()
        thread.join()
        equal((set(seen) - {0}, len(set(made))), ({-17, E_INVALID}, 68), "calls with the number of a dropped table")
        check(not 6 + 64 in made and 64 + 64 * 2 in made, f"a graph keeps its table: {made}")
        equal(status_of(64), E_INVALID)
        check("table 64 was not opened, or was dropped" in library.sherwood_cuda_error().decode(), library.sherwood_cuda_error())
        equal((driver.cuGraphDestroy(graph), status_of(6)), (0, E_INVALID))
        for name in ("again", "more", "full"):
            change("CREATE", name)
        equal([opened(name) for name in (b"again", b"more", b"full", b"t0")], [6 + 64, 64 + 64 * 5, -10, 1], library.sherwood_cuda_error())
        own.close()


@case
def tables_beside_an_oracle():
    """random calls on several tables, waiting and in order, among CREATE, DROP, SWAP and TRUNCATE, agree with a dictionary for each place"""
    library, driver, draw = loaded(), ctypes.CDLL(str(DRIVER)), random.Random(drawn_seed())
    with daemon(*SMALL, "--key-bits", "64", program=EMULATED) as server:
        own, number, opened, places = Attached(library, driver, server, -1), ctypes.c_uint32(), {0: 0}, {0: {}}
        keys, values, previous, found = arrays = [Memory(driver, "shared") for _ in range(4)]
        for _ in range(120):
            place, other, kind = draw.randrange(4), draw.choice(sorted(places)), draw.randrange(12)
            if place not in places:
                equal(server.ask("TABLE", "CREATE", f"t{place}", "NUMBER", place, "LIKE", "default"), "OK")
                places[place] = {}
                if place not in opened:
                    equal(library.sherwood_cuda_table(own.pointer, b"t%d" % place, ctypes.byref(number), None), 0, library.sherwood_cuda_error())
                    opened[place] = number.value
            elif kind == 0 and place:
                equal(server.ask("TABLE", "DROP", place), "OK")
                del places[place]
            elif kind == 1:
                equal(server.ask("TABLE", "SWAP", place, other), "OK")
                places[place], places[other] = places[other], places[place]
            elif kind == 2:
                equal(server.ask("TABLE", "TRUNCATE", place), "OK")
                places[place].clear()
            if place in opened:
                count, when = draw.randrange(1, 30), draw.choice((0, 2))
                keys.words[:count] = draw.sample(range(60), count)
                values.words[:count] = [draw.randrange(1000) for _ in range(count)]
                pairs = list(zip(keys.words[:count].tolist(), values.words[:count].tolist()))
                call = call_of(draw.choice((SET, SET, GET)), arrays, count, when=when)
                call.table = opened[place]
                status = library.sherwood_cuda_call(own.pointer, ctypes.byref(call)) or library.sherwood_cuda_check(own.pointer, True)
                equal(status, 0 if place in places else -17, library.sherwood_cuda_error())
                if status == 0:
                    equal([[value, bit] for value, bit in zip(previous.words[:count].tolist(), np.unpackbits(found.bytes[:8], bitorder="little").tolist())],
                          [[places[place].get(key, 0), int(key in places[place])] for key, _ in pairs], f"place {place}, when {when}")
                    places[place].update(pairs if call.operation == SET else ())
        own.close()


@case
def long_rows():
    """calls whose rows the server copies go in as many frames as its memory needs, waiting and in order"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    flags = (*SMALL[:-4], "--frame-ops-max", "2500", "--round-ops-max", "512", "--arena-bytes", "4M", "--resp-request-bytes-max", "1M", "--key-bits", "64", "--value-bytes", "512")
    with daemon(*flags, program=EMULATED) as server, sherwood.connect(server.unix) as client:
        own, count = Attached(library, driver, server, -1, 16 << 20), 2500
        words = np.ctypeslib.as_array((ctypes.c_uint64 * (2 << 20)).from_address(own.at))
        arrays = [types.SimpleNamespace(at=own.at + at) for at in (0, 1 << 20, 8 << 20, 15 << 20)]
        words[:count] = np.arange(count)
        for in_order in (0, 2):
            pairs = words[1 << 17:][:count * 128].reshape(count, 2, 64)
            pairs[:, 0], pairs[:, 1] = in_order // 2, in_order // 2 + 1  # absent keys get rows of zeros below
            if in_order == 0:
                client.set_many(np.arange(count), np.zeros((count, 512), np.uint8))
            call = call_of(CAS, (arrays[0], arrays[1], arrays[2], arrays[3]), count, when=in_order)
            status = library.sherwood_cuda_call(own.pointer, ctypes.byref(call))
            equal(status or library.sherwood_cuda_check(own.pointer, True), 0, library.sherwood_cuda_error())
            equal(words[1 << 20:][:count * 64].tolist(), [in_order // 2] * count * 64, "rows before")
        equal(server.metrics()["sherwood_ring_requests_total"], 4, "frames")
        own.close()


@case
def switches():
    """a handle tells whether its GPU switches between processes; the first call in stream order of such a Device warns"""
    library, driver = loaded(), ctypes.CDLL(str(DRIVER))
    library.sherwood_cuda_switches.restype = ctypes.c_bool
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    sys.modules["torch"] = torch = fake_torch.module(driver)
    try:
        with gpus(2), daemon(*SMALL, "--key-bits", "64", program=EMULATED, environment={"EMU_GPUS": "2"}) as server:
            for shared, wanted in ((False, [True, False]), (True, [False, False])):
                if shared:
                    os.environ["EMU_MPS"] = "1"
                handles = [Attached(library, driver, server, device) for device in (0, 1)]
                equal([library.sherwood_cuda_switches(each.pointer) for each in handles], wanted, f"MPS {shared}")
                for each in handles:
                    each.close()
                with sherwood.connect(server.unix) as client, client.attach() as device, warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    keys = torch.tensor(np.arange(9), torch.int64, fake_torch.Device(0))
                    device.set_many(keys, keys)
                    equal((device.switches, len(said)), (not shared, 0), "a call that waits")
                    for _ in range(2):
                        device.set_many(keys, keys, stream=fake_torch.Stream())
                    device.check(wait=True)
                    equal([("0.3 ms" in str(each.message), each.filename) for each in said], [(True, __file__)] * (not shared))
            with tempfile.NamedTemporaryFile(suffix=".so") as older, sherwood.connect(server.unix) as client:
                older.write(LIBRARY.read_bytes().replace(b"sherwood_cuda_switches\0", b"sherwood_cuda_is_later\0"))
                older.flush()
                os.environ["SHERWOOD_CUDA_LIBRARY"] = older.name
                with client.attach() as device:
                    equal((device.switches, device.ordinal), (False, 0), "of a library without the function")
    finally:
        del sys.modules["torch"]
        os.environ.pop("EMU_MPS", None)


@case
def beside_a_capture():
    """the first call that returns a mask makes the bits' values while another thread captures a stream; the capture goes on"""
    loaded()
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    driver, stream, graph = ctypes.CDLL(str(DRIVER)), ctypes.c_void_p(), ctypes.c_void_p()
    torch = sys.modules["torch"] = fake_torch.module(driver)
    equal(driver.cuStreamCreate(ctypes.byref(stream), 1), 0)
    try:
        with daemon(*SMALL, "--key-bits", "64", program=EMULATED) as server, sherwood.connect(server.unix) as client, client.attach() as device:
            keys = torch.tensor([1, 2, 3], torch.int64, fake_torch.Device(0))
            client[2] = 5
            sherwood._operators._bit_values.clear()  # pylint: disable=protected-access
            with capture(driver, stream, graph), concurrent.futures.ThreadPoolExecutor(1) as pool:
                equal(pool.submit(device.delete_many, keys).result().tolist(), [False, True, False])
    finally:
        del sys.modules["torch"]


BUNDLED = """
import pathlib, sys
import sherwood
with sherwood.connect(sys.argv[1]).attach() as device:
    print(device.ordinal, {line.split()[-1] for line in open("/proc/self/maps") if "libsherwood" in line} == {sys.argv[2]})
"""


@case
def bundled():
    """a package that has libsherwood-cuda in it, as a wheel has, attaches without the libraries of the system"""
    with tempfile.TemporaryDirectory() as folder, daemon(*SMALL, "--key-bits", "64", program=EMULATED) as server:
        shutil.copytree(LIB / "sherwood", f"{folder}/sherwood")
        library = shutil.copy(BUILD / "python" / "libsherwood-cuda.so.0", f"{folder}/sherwood")
        environment = {**os.environ, "PYTHONPATH": folder, "LD_LIBRARY_PATH": str(DRIVER.parent)}
        environment.pop("SHERWOOD_CUDA_LIBRARY", None)
        ran = subprocess.run([sys.executable, "-c", BUNDLED, server.unix, library], env=environment, capture_output=True, text=True, check=False)
        equal((ran.returncode, ran.stdout), (0, "0 True\n"), ran.stderr)
        equal(run(sys.executable, ROOT / "client" / "python" / "check_module.py", library).count("linux"), 1, "it needs only glibc")


@case
def example_of_other_types():
    """the example of libsherwood-cuda refuses a server whose keys or values are not integers of 8 bytes"""
    cuda = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    if not os.path.exists(f"{cuda}/include/cuda_runtime_api.h"):
        raise Skip(f"CUDA's headers are not in {cuda}")
    paths = {**os.environ, "LD_LIBRARY_PATH": f"{DRIVER.parent}:{BUILD}:{cuda}/lib64"}
    with tempfile.TemporaryDirectory() as folder:
        run("gcc", f"-I{ROOT}/client", f"-I{cuda}/include", ROOT / "client/examples/device.c", "-o", f"{folder}/device", f"-L{BUILD}",
            f"-L{cuda}/lib64", "-lsherwood-cuda", "-lsherwood", "-lcudart")
        for options in (("--key-bits", "32"), ("--value-type", "u64", "--value-bytes", "8"), ("--value-type", "none")):
            with daemon(*SMALL, *options, program=EMULATED) as server:
                ran = subprocess.run([f"{folder}/device", server.unix], env=paths, capture_output=True, text=True, check=False)
                check(ran.returncode == 1 and "needs integers of 8 bytes" in ran.stderr, f"{options}: {ran}")


if __name__ == "__main__":
    main()
