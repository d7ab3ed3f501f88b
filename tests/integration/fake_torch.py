# SPDX-License-Identifier: MIT
"""fake_torch - as much of torch and of cupy as sherwood.Device uses, for arrays in the memory of the emulator's GPUs.

A tensor is a numpy array over memory of tests/support/cuda_driver. Operations are done when they are called.
"""

import contextlib
import ctypes
import importlib.machinery
import types
from typing import NamedTuple

import numpy as np

ARENA_BYTES = 16 << 20
STEP = 512  # torch aligns to it


class Device(NamedTuple):
    index: int
    type: str = "cuda"


class Stream:
    cuda_stream = 0

    def __init__(self):
        self.kept = []  # the addresses of tensors that the stream uses

    def synchronize(self):
        pass


class Tensor(np.ndarray):
    """A numpy array with the methods of a tensor."""

    is_cuda, requires_grad, layout = True, False, "strided"
    device = None

    def __array_finalize__(self, other):
        self.device = getattr(other, "device", None)

    def data_ptr(self):
        return self.ctypes.data

    def is_contiguous(self):
        return self.flags.c_contiguous

    def numel(self):
        return self.size

    def unsqueeze(self, axis):
        return np.expand_dims(self, axis)

    def bitwise_and(self, other):
        return np.bitwise_and(self, other)

    def ne(self, other):
        return self != other

    def logical_not(self):
        return np.logical_not(self)

    def logical_not_(self):
        return np.logical_not(self, out=self)

    def dim(self):
        return self.ndim

    def mul_(self, other):
        return np.multiply(self, other, out=self)

    def fill_(self, value):
        self[...] = value

    def masked_fill_(self, mask, value):
        self[np.broadcast_to(mask, self.shape)] = value

    def copy_(self, other):
        self[...] = other

    def record_stream(self, stream):
        stream.kept.append(self.data_ptr())

    @property
    def __cuda_array_interface__(self):
        return self.__array_interface__


Tensor.__module__ = "torch"


@contextlib.contextmanager
def no_allocations(torch):
    """Calls within it make no tensor."""
    kept, torch.empty = torch.empty, None
    try:
        yield
    finally:
        torch.empty = kept


def module(driver):
    """Returns the module, over the memory of a loaded driver."""
    driver.fake_allocate.restype, driver.fake_may_allocate.restype = ctypes.c_void_p, ctypes.c_bool
    arenas, used = {}, {}
    torch = types.ModuleType("torch")

    def empty(shape, dtype, device):
        """Returns a tensor with garbage."""
        base = arenas.get(device.index)
        if base is None:
            base = arenas[device.index] = driver.fake_allocate(device.index, ctypes.c_size_t(ARENA_BYTES))
        at = used.get(device.index, 0)
        made = np.ndarray(shape, dtype, (ctypes.c_uint8 * (ARENA_BYTES - at)).from_address(base + at)).view(Tensor)
        used[device.index] = at + (made.nbytes + STEP - 1) // STEP * STEP
        made.view(np.uint8).reshape(-1)[...] = 0xa5
        made.device = device
        return made

    def tensor(values, dtype, device):
        if not driver.fake_may_allocate():
            raise RuntimeError("a capture forbids this thread to copy and to wait")
        values = np.asarray(values, dtype)
        made = empty(values.shape, dtype, device)
        made[...] = values
        return made

    for name in ("bool", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"):
        setattr(torch, name, np.dtype(name))
    torch.empty, torch.tensor, torch.strided = empty, tensor, "strided"
    torch.arange = lambda first, end, device: tensor(np.arange(first, end), torch.int64, Device(int(device.removeprefix("cuda:"))))
    torch.from_numpy = lambda array: types.SimpleNamespace(to=lambda device: tensor(array, array.dtype, device))
    torch.cuda = types.SimpleNamespace(current_stream=lambda device: Stream(), Stream=lambda device: Stream(),
                                       stream=lambda stream: contextlib.nullcontext(),
                                       ExternalStream=lambda number, device: Stream())
    return torch


class CupyArray(np.ndarray):
    """A numpy array with what Device uses of an array of cupy, which has numpy's methods."""

    device = types.SimpleNamespace(id=0)

    @property
    def data(self):
        return types.SimpleNamespace(ptr=self.ctypes.data)

    @property
    def __cuda_array_interface__(self):
        return self.__array_interface__


class CupyStream(contextlib.nullcontext):
    ptr = 0


def cupy_module(driver):
    """Returns as much of cupy as Device uses, over the memory of a loaded driver."""
    memory, cupy = module(driver), types.ModuleType("cupy")
    cupy.__spec__ = importlib.machinery.ModuleSpec("cupy", None)
    cupy.ndarray, cupy.unpackbits, cupy.logical_not = CupyArray, np.unpackbits, np.logical_not
    cupy.empty = lambda shape, dtype: memory.empty(shape, dtype, Device(0)).view(CupyArray)
    cupy.array = lambda values, dtype: memory.tensor(values, dtype, Device(0)).view(CupyArray)
    cupy.cuda = types.SimpleNamespace(get_current_stream=CupyStream, ExternalStream=lambda number: CupyStream())
    return cupy
