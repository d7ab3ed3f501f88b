#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Calls of sherwood.Device and libsherwood-cuda beyond keys and values, on memory of the emulated GPU."""

import concurrent.futures
import contextlib
import ctypes
import io
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import types
import unittest.mock
import warnings

import fake_torch
from attached import CAS, DRIVER, EMULATED, LIBRARY, SMALL, Attached, call_of, capture, gpus, loaded
from harness import BUILD, ROOT, Skip, case, check, equal, main, run
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
                    for scale in (0, 1e-50):
                        raises(ValueError, "scale is 0", d.add_rows, tensor([1]), tensor(rows[:1], np.dtype(given)), scale=scale)
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
def arrays_of_cupy():
    """the calls of a Device on arrays of cupy return arrays of cupy, in the caller's arrays if they fit, with and without a stream"""
    loaded()
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    cupy = sys.modules["cupy"] = fake_torch.cupy_module(ctypes.CDLL(str(DRIVER)))
    try:
        for stream in (None, fake_torch.CupyStream(), 0):
            with daemon(*SMALL, "--key-bits", "64", program=EMULATED) as server, sherwood.connect(server.unix) as client, \
                    client.attach() as device:
                def keys(*numbers):
                    return cupy.array(numbers, np.uint64)

                wanted = np.arange(100) % 3 != 0
                device.set_many(keys(*np.arange(100)[wanted]), keys(*np.arange(100)[wanted] * 7), stream=stream)
                for shape in ((100,), (10, 10), (4, 25)):  # whole and broken bytes of found bits
                    values, found = device.get_many(keys(*range(100)).reshape(shape), stream=stream)
                    equal((type(values), type(found), values.shape, found.shape), (cupy.ndarray, cupy.ndarray, shape, shape), "arrays")
                    equal((values.ravel().tolist(), found.ravel().tolist()), ((np.arange(100) * 7 * wanted).tolist(), wanted.tolist()))
                equal(device.get_many(keys(1, 3), default=2**64 - 1, stream=stream).tolist(), [7, 2**64 - 1])
                for count in (3, 8):
                    out, mask = cupy.empty((count,), np.uint64), cupy.empty((count,), np.bool_)
                    given = keys(*range(count))
                    with fake_torch.no_allocations(cupy) if count == 8 else contextlib.nullcontext():  # found bytes go there
                        values, found = device.get_many(given, out=out, found=mask, stream=stream)
                    check(values is out and found is mask, "the arrays given")
                    equal((out.tolist(), mask.tolist()), ((np.arange(count) * 7 * wanted[:count]).tolist(), wanted[:count].tolist()))
                equal(device.set_many(keys(1, 3), 4, only="absent", stream=stream).tolist(), [False, True])
                equal([each.tolist() for each in device.add_many(keys(1, 1), keys(5, 6), previous=True, stream=stream)], [[7, 12], [True, True]])
                equal(device.contains_many(keys(1, 3, 6), stream=stream).tolist(), [True, True, False])
                equal(device.delete_many(keys(1, 1), stream=stream).tolist(), [True, False])
                device.check(wait=True)
                with sherwood.connect(server.unix, value_dtype=np.float64) as other, other.attach() as floats:
                    for call in (floats.add_many, floats.min_many, floats.max_many):
                        raises(sherwood.Refused, "the server calculates with integers", call, keys(1), cupy.array([1.5], np.float64), stream=stream)
                raises(TypeError, "the dtype is int32", device.get_many, cupy.array([1], np.int32))
                raises(ValueError, "gaps", device.get_many, keys(1, 2, 3, 4)[::2])
    finally:
        del sys.modules["cupy"]


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
def entries_to_gpu():
    """the function of deploy/docs/gpu-arrays.md copies all entries to the GPU, also of a key set; a Device names the calls that it leaves to the client"""
    loaded()
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    page = (ROOT / "deploy" / "docs" / "gpu-arrays.md").read_text(encoding="utf-8")
    torch = sys.modules["torch"] = fake_torch.module(ctypes.CDLL(str(DRIVER)))
    names, zero, wanted = {"torch": torch}, fake_torch.Device(0), np.arange(300)
    exec(textwrap.dedent(page[page.index("    def entries("):].split("\n\n", 1)[0]), names)  # pylint: disable=exec-used
    try:
        for flags in ((), ("--value-type", "none")):
            with daemon(*SMALL, "--key-bits", "64", *flags, program=EMULATED) as server, sherwood.connect(server.unix) as client, \
                    client.attach() as device:
                write = device.insert_many if flags else lambda keys: device.set_many(keys, keys)
                write(torch.tensor(wanted, torch.int64, zero))
                parts = list(names["entries"](client, zero, batch=70))
                equal(sorted(int(key) for keys, _ in parts for key in keys), wanted.tolist())
                for keys, values in parts:
                    equal((keys.device, values.device, device.delete_many(keys).all()), (zero, zero, True))
                    check(flags or (keys == values).all(), "the values of the keys")
                for name, words in (("scan", "call scan of the client"), ("dump", "memory of the host"), ("scam", "no attribute 'scam'")):
                    raises(AttributeError, words, getattr, device, name)
    finally:
        del sys.modules["torch"]


@case
def recommender_on_gpu():
    """the duplicates of examples/recommender.py are found on the GPU if there is one, with --torch by hashes in its memory"""
    sys.path.insert(0, str(ROOT / "client" / "python" / "examples"))
    import recommender  # pylint: disable=import-outside-toplevel,import-error
    loaded()
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    torch = sys.modules["torch"] = fake_torch.module(ctypes.CDLL(str(DRIVER)))
    before = os.environ["SHERWOODD"]
    with tempfile.TemporaryDirectory() as folder:
        small = os.environ["SHERWOODD"] = f"{folder}/small"  # a table of the default size takes the emulator long
        with open(small, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o700)) as file:
            print(f"#!/bin/sh\nexec {EMULATED} \"$@\" {' '.join(SMALL)}", file=file)
        try:
            torch.arange = unittest.mock.Mock(wraps=torch.arange)
            for by_torch in (False, True):
                with contextlib.redirect_stdout(io.StringIO()) as said:
                    recommender.duplicates(600, by_torch, batch=250)
                check("duplicates: 60 of 660 events found on cuda, " in said.getvalue(), said.getvalue())
                equal(torch.arange.call_count, 4 * by_torch, "calls of torch for hashes")
        finally:
            os.environ["SHERWOODD"] = before
            del sys.modules["torch"]


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
