# SPDX-License-Identifier: MIT
"""attached - libsherwood-cuda by ctypes, a daemon on the emulator's GPUs, and arrays in their memory, for test_attach*.py."""

import contextlib
import ctypes
import os

from harness import BUILD, equal
from package import np

LIBRARY = BUILD / "libsherwood-cuda.so.0"
EMULATED = BUILD / "emulator" / "sherwoodd"
DRIVER = BUILD / "emulator" / "driver" / "libcuda.so.1"
E_INVALID, E_FULL, E_REQUEST, E_BUSY = -1, -7, -8, -10
# enum sherwood_operation
GET, SET, SUM, DELETE, EXPIRE, CAS, TTL, ASSIGN = 1, 2, 3, 10, 25, 68, 72, 87
SMALL = ("--backend", "cuda", "--capacity", "512", "--max-capacity", "4K", "--stash", "64", "--loops", "1",
         "--frame-ops-max", "512", "--round-ops-max", "512")
MIB = 1 << 20


def loaded():
    """Loads libsherwood-cuda, with the libsherwood beside it."""
    ctypes.CDLL(str(BUILD / "libsherwood.so.0"), mode=ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(str(LIBRARY))
    library.sherwood_cuda_error.restype = ctypes.c_char_p
    return library


@contextlib.contextmanager
def gpus(count):
    """The emulator and its driver have this number of GPUs: 0 and 1 with peer access, more without."""
    os.environ["EMU_GPUS"] = str(count)
    try:
        yield
    finally:
        del os.environ["EMU_GPUS"]


class Attached:
    """A handle of a device, and arrays in its memory: keys, values and answers of u64, then found bits."""

    def __init__(self, library, driver, server, device, size=2 * MIB):
        self.library, self.pointer, text = library, ctypes.c_void_p(), ctypes.create_string_buffer(512)
        self.status = library.sherwood_cuda_attach_on(server.unix.encode(), None, device, ctypes.byref(self.pointer),
                                                      text, 512)
        self.error = text.value.decode()
        if self.status == 0:
            driver.fake_allocate.restype = ctypes.c_void_p
            self.at = driver.fake_allocate(library.sherwood_cuda_device(self.pointer), ctypes.c_size_t(size))
            self.words = np.ctypeslib.as_array((ctypes.c_uint64 * 1024).from_address(self.at))

    def call(self, operation, count, stream=False, at=None):
        """Runs an operation on the arrays, or on keys at another address. Returns its status."""
        keys, values, previous, found = (ctypes.c_void_p(self.at + 2048 * i) for i in range(4))
        keys = keys if at is None else ctypes.c_void_p(at)
        function = self.library.sherwood_cuda_run_on if stream else self.library.sherwood_cuda_run
        return function(self.pointer, operation, keys, values, ctypes.c_size_t(count), previous, found,
                        *((None,) if stream else ()))

    def close(self):
        self.library.sherwood_cuda_close(self.pointer)


class Call(ctypes.Structure):
    """struct sherwood_cuda_call."""

    _fields_ = [("size", ctypes.c_size_t), ("operation", ctypes.c_int), ("flags", ctypes.c_uint32), ("keys", ctypes.c_void_p),
                ("values", ctypes.c_void_p), ("count", ctypes.c_size_t), ("previous", ctypes.c_void_p),
                ("found", ctypes.c_void_p), ("when", ctypes.c_int), ("stream", ctypes.c_void_p), ("cache", ctypes.c_void_p),
                ("times", ctypes.c_void_p), ("scale", ctypes.c_float), ("operand_type", ctypes.c_int),
                ("range_offset", ctypes.c_uint32), ("range_bytes", ctypes.c_uint32), ("table", ctypes.c_uint32),
                ("_counts", ctypes.c_void_p)]


FIRST_CALL_BYTES = Call.cache.offset  # of the struct in its first version


class Times(ctypes.Structure):
    """struct sherwood_times."""

    _fields_ = [("size", ctypes.c_size_t), ("when", ctypes.c_int), ("time_ms", ctypes.c_uint64), ("times_ms", ctypes.c_void_p)]


class Cache(ctypes.Structure):
    """struct sherwood_cache."""

    _fields_ = [("size", ctypes.c_size_t), *((name, ctypes.c_void_p) for name in (
        "scores", "scores_out", "not_admitted", "evicted_keys", "evicted_values", "evicted_scores")),
                ("evicted_count", ctypes.c_uint64), ("not_admitted_count", ctypes.c_uint64)]


STAGE = 65536  # the smallest, so that calls go in pieces


class Memory:
    """Words of memory of one kind, for the arrays of a call: "shared", "segment", which the driver gives no handle of, or "small"."""

    BYTES = {"shared": MIB, "segment": MIB, "small": 128 << 10}

    def __init__(self, driver, kind, device=0):
        driver.fake_allocate.restype = driver.fake_segment.restype = ctypes.c_void_p
        size = self.BYTES[kind]
        self.at = (driver.fake_segment(device, ctypes.c_size_t(size), ctypes.c_size_t(STAGE)) if kind == "segment"
                   else driver.fake_allocate(device, ctypes.c_size_t(size)))
        self.words = np.ctypeslib.as_array((ctypes.c_uint64 * (size // 8)).from_address(self.at))
        self.bytes = self.words.view(np.uint8)


def call_of(operation, arrays, count, flags=0, when=0, stream=None):
    keys, values, previous, found = (None if array is None else array.at for array in arrays)
    return Call(ctypes.sizeof(Call), operation, flags, keys, values, count, previous, found, when, stream)


@contextlib.contextmanager
def capture(driver, stream, graph):
    """What the stream gets within it becomes the graph."""
    equal(driver.cuStreamBeginCapture_v2(stream, 0), 0)
    yield
    equal(driver.cuStreamEndCapture(stream, ctypes.byref(graph)), 0)
