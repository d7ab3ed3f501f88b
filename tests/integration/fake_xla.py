# SPDX-License-Identifier: MIT
"""fake_xla - calls the handlers of sherwood.jax as XLA does, for test_jax.py."""

import ctypes
import re
import threading

import cffi
from attached import DRIVER
from harness import ROOT, equal
from package import np, sherwood

MEMORY = 4 << 20
HEADER = ROOT / "client" / "python" / "xla_ffi.h"


def declarations():
    """Returns the declarations of xla_ffi.h, for cffi."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.S)
    return re.sub(r"^#.*$", "", text, flags=re.M)


TYPES = {"bool": 1, "int32": 4, "int64": 5, "uint8": 6, "uint32": 8, "uint64": 9, "float32": 11, "complex64": 15}


class Caller:
    """Calls the handler as XLA does."""

    def __init__(self, handler=None):
        self.ffi = ffi = cffi.FFI()
        ffi.cdef(declarations())
        self.kept, self.said = [], []

        @ffi.callback("struct xla_error *(struct xla_error_arguments *)")
        def create(arguments):
            self.said.append((int(arguments.code), ffi.string(arguments.message).decode()))
            return ffi.cast("struct xla_error *", 1)
        self.api = self.new("struct xla_api", error_create=create, version={"major": 0, "minor": 3})
        self.kept.append(create)
        self.handler = ffi.cast("struct xla_error *(*)(struct xla_call *)", int(handler or sherwood._native.lib.swpy_jax_handler()))  # pylint: disable=protected-access

    def new(self, kind, **fields):
        made = self.ffi.new(f"{kind} *", fields)
        made.base.size = self.ffi.sizeof(kind)
        self.kept.append(made)
        return made

    def buffer(self, array):
        self.kept.append(dims := self.ffi.new("int64_t[]", list(array.shape)))
        return self.new("struct xla_buffer", type=TYPES[array.dtype.name], data=self.ffi.cast("void *", array.ctypes.data),
                        rank=array.ndim, dims=dims)

    def group(self, kind, items, types, **more):
        self.kept += [pointers := self.ffi.new("void *[]", [self.ffi.cast("void *", item) for item in items]),
                      numbers := self.ffi.new("int[]", types)]
        return self.new(kind, count=len(items), types=numbers, values=pointers, **more)

    def attributes(self, given):
        names, scalars = [], []
        for name, number in given.items():
            self.kept += [text := self.ffi.new("char[]", name.encode()), value := self.ffi.new("int64_t *", number)]
            self.kept += [span := self.ffi.new("struct xla_text *", {"text": text, "length": len(name)}),
                          scalar := self.ffi.new("struct xla_scalar *", {"type": 5, "value": value})]
            names.append(span)
            scalars.append(scalar)
        self.kept.append(spans := self.ffi.new("struct xla_text *[]", names))
        return self.group("struct xla_attributes", scalars, [3] * len(scalars), names=spans)

    def version(self, api):
        metadata = self.ffi.new("struct xla_metadata *")
        asked = self.ffi.new("struct xla_metadata_extension *", {"extension": {"type": 1}, "metadata": metadata})
        call = self.new("struct xla_call", api=api)
        call.base.extensions = self.ffi.addressof(asked, "extension")
        equal(self.handler(call), self.ffi.NULL)
        return metadata.version.major, metadata.version.minor

    def call(self, arguments, results, stage=3, size=None, **attributes):
        """Returns None, or the code and the text of the error."""
        groups = [self.group("struct xla_values", [self.buffer(array) for array in arrays], [1] * len(arrays))[0]
                  for arrays in (arguments, results)]
        call = self.new("struct xla_call", api=self.api, stage=stage, arguments=groups[0], results=groups[1],
                        attributes=self.attributes(attributes)[0])
        call.base.size = size or call.base.size
        self.said.clear()
        failed = self.handler(call) != self.ffi.NULL
        equal(failed, bool(self.said))
        return self.said[0] if failed else None


class DeviceCaller(Caller):
    """Calls the handler of CUDA with arrays in the memory of the emulator's GPU, on a stream of its driver."""

    def __init__(self):
        super().__init__(sherwood._native.lib.swpy_jax_cuda_handler())  # pylint: disable=protected-access
        self.driver, self.lock, stream = ctypes.CDLL(str(DRIVER)), threading.Lock(), ctypes.c_void_p()
        equal(self.driver.cuStreamCreate(ctypes.byref(stream), 0), 0)
        self.driver.fake_allocate.restype = ctypes.c_void_p
        self.stream, self.memory, self.used = stream, self.driver.fake_allocate(0, ctypes.c_size_t(MEMORY)), 0

        @self.ffi.callback("struct xla_error *(struct xla_stream_arguments *)")
        def stream_of(arguments):
            arguments.stream = self.ffi.cast("void *", stream.value)
            return self.ffi.NULL

        @self.ffi.callback("struct xla_error *(struct xla_device_arguments *)")
        def device_of(arguments):
            arguments.number = self.ordinal
            return self.ffi.NULL

        @self.ffi.callback("struct xla_error *(struct xla_call *)")
        def forward(call):
            is_plain = call.base.extensions != self.ffi.NULL or call.stage != 3
            return self.handler(call) if is_plain else self.on_device(call)

        self.kept += [stream_of, device_of, forward]
        self.api.stream_get, self.api.device_get, self.ordinal, self.forward = stream_of, device_of, 0, forward
        self.address = self.ffi.cast("uintptr_t", forward)

    def array(self, values):
        """Returns a copy of an array in the memory of the GPU."""
        values = np.asarray(values)
        made = np.ndarray(values.shape, values.dtype, (ctypes.c_uint8 * (MEMORY - self.used)).from_address(self.memory + self.used))
        self.used += (values.nbytes + 255) // 256 * 256
        made[...] = values
        return made

    def on_device(self, call):
        """Carries out a call of XLA's CPU with copies of its arrays, and waits for it."""
        sizes = {TYPES[name]: np.dtype(name).itemsize for name in TYPES}
        with self.lock:
            kept, back, self.used = [], [], 0
            kept += [frame := self.ffi.new("struct xla_call *", call[0]), api := self.ffi.new("struct xla_api *", call.api[0])]
            for group, is_result in ((frame.arguments, False), (frame.results, True)):
                kept.append(pointers := self.ffi.new("void *[]", group.count))
                for i in range(group.count):
                    kept.append(made := self.ffi.new("struct xla_buffer *", self.ffi.cast("struct xla_buffer *", group.values[i])[0]))
                    count = sizes[made.type] * int(np.prod([made.dims[axis] for axis in range(made.rank)], dtype=np.int64))
                    host = np.frombuffer(self.ffi.buffer(made.data, count), np.uint8) if count > 0 else np.zeros(0, np.uint8)
                    held = self.array(np.full(count, 0xa5, np.uint8) if is_result else host)
                    back += [(host, held)] if is_result else []
                    made.data = self.ffi.cast("void *", held.ctypes.data)
                    pointers[i] = made
                group.values = pointers
            api.base.size, api.stream_get, api.device_get, frame.api = self.api.base.size, self.api.stream_get, self.api.device_get, api
            failed = self.handler(frame)
            self.driver.cuStreamSynchronize(self.stream)
            for host, held in back:
                host[...] = held
            return failed
