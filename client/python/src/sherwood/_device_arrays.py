# SPDX-License-Identifier: MIT
"""Arrays in the memory of a GPU, and the functions of torch and cupy that calls on them need.

Calls use an array in place, by __cuda_array_interface__. An array that has only DLPack becomes an array
of cupy or torch over the same memory.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import re
import sys
from typing import Any, NamedTuple, Optional

import numpy as np

from . import _arrays, _operators
from ._errors import Refused

_DLPACK_CUDA = 2
_BOOL = np.dtype(np.bool_)
# dtypes that torch and numpy call by the same name.
_NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "float32", "float64")


def named(name: Any) -> Optional[int]:
    """Returns the number of "cuda:N", a torch.device or an integer; None for "cuda", which is the server's device."""
    text = f"cuda:{name}" if isinstance(name, int) else str(name)
    match = re.fullmatch(r"cuda(?::(\d+))?", text)
    if match is None:
        raise ValueError(f'attach: {name!r} is not a device: give "cuda:0", or the number of a device')
    return None if match.group(1) is None else int(match.group(1))


class Kind:
    """The functions of a library for its arrays. A stream is an object of the library, or a number."""

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Any, stream: Any) -> Any:
        """Returns a new array on the device of another one."""
        raise NotImplementedError

    def values(self, given: Any, shape: tuple[int, ...], dtype: np.dtype[Any], like: Any,
               stream: Any) -> Any:
        """Returns the caller's values. One integer stands for the same value everywhere."""
        if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
            made = self.empty(shape, dtype, like, stream)
            self.fill(made, None, _arrays.one_number(given, dtype, "values", signed=True), stream)
            return made
        return given

    def fill(self, array: Any, mask: Any, value: Any, stream: Any) -> None:
        """Stores a value where the mask is false, or everywhere if there is no mask."""
        raise NotImplementedError

    def put(self, array: Any, index: Any, value: Any, stream: Any) -> None:
        """Stores a value or an array in a part of an array of the library."""
        raise NotImplementedError

    def made(self, array: Any) -> Taken:
        """Returns what `take` returns, for an array of the library that a call made."""
        raise NotImplementedError

    def bits(self, keys: Taken, stream: Any) -> Taken:
        """Returns an array for the found bits of keys."""
        return self.made(self.empty(((keys.size + 63) // 64,), np.dtype(np.int64), keys.array, stream))

    def spread(self, bits: Any, count: int, shape: tuple[int, ...], found: Any, stream: Any) -> Any:
        """Returns found bits as bool, in the caller's array if there is one."""
        raise NotImplementedError

    def bytes(self, keys: Taken, found: Any, stream: Any) -> Taken:
        """Returns an array of bool for the found bytes of keys, whose size is a multiple of 8: the caller's if it will do."""
        if keys.size % 8 != 0:
            return self.made(self.empty(((keys.size + 7) // 8 * 8,), _BOOL, keys.array, stream))
        if found is not None and self.takes_bytes(found, keys):
            return self.made(found)
        return self.made(self.empty(keys.shape, _BOOL, keys.array, stream))

    def takes_bytes(self, found: Any, keys: Taken) -> bool:
        """Returns whether the server may store found bytes in the caller's array."""
        raise NotImplementedError

    def whole(self, made: Any, count: int, shape: tuple[int, ...], found: Any, stream: Any) -> Any:
        """Returns the first bytes of such an array, or the caller's array with them."""
        if made is found or (found is None and made.shape == shape):
            return made
        mask = made[:count].reshape(shape) if made.shape != shape else made
        if found is None:
            return mask
        self.copy(mask, found, stream)
        return found

    def copy(self, mask: Any, to: Any, stream: Any) -> None:
        raise NotImplementedError

    def invert(self, mask: Any, stream: Any) -> Any:
        raise NotImplementedError

    def current(self, like: Any) -> int:
        """Returns the library's current stream as a number for the driver."""
        raise NotImplementedError

    def number(self, stream: Any) -> int:
        """Returns a stream as a number for the driver."""
        return int(getattr(stream, "cuda_stream", getattr(stream, "ptr", stream)))

    def keep(self, array: Any, stream: Any) -> None:
        """Keeps the memory of an array from reuse until the stream has passed this point."""


class Torch(Kind):
    """Tensors of torch."""

    def __init__(self) -> None:
        torch = self.torch = importlib.import_module("torch")
        self._dtypes = {getattr(torch, name): np.dtype(name) for name in _NAMES if hasattr(torch, name)}
        # torch computes with signed integers only
        self._made = {dtype: made for made, dtype in self._dtypes.items()}
        self._made |= {np.dtype(f"uint{bits}"): getattr(torch, f"int{bits}") for bits in (16, 32, 64)}
        self.kernels = _operators.of(torch)
        self._raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)

    def taken(self, given: Any, dtype: Optional[np.dtype[Any]], ordinal: Optional[int], what: str) -> Optional[Taken]:
        """Returns what `take` returns, for the usual tensor: its interface costs 10 us. Returns None for any other."""
        found = self._dtypes.get(given.dtype)
        if found is None or not given.is_cuda or given.requires_grad or given.device.index != ordinal:
            return None
        if given.layout is not self.torch.strided or not given.is_contiguous():
            return None
        if dtype is not None:
            _arrays.check_dtype(found, dtype, what, given)
        return Taken(given, self, given.data_ptr(), tuple(given.shape), given.numel())

    def made(self, array: Any) -> Taken:
        return Taken(array, self, array.data_ptr(), array.shape, array.numel())

    def takes_bytes(self, found: Any, keys: Taken) -> bool:
        return (_arrays.is_torch(found) and found.dtype is self._made[_BOOL] and found.shape == keys.shape
                and found.device == keys.array.device and found.is_contiguous() and found.data_ptr() % 8 == 0)

    def _on(self, stream: Any, like: Any) -> Any:
        """Returns a context for torch's own work: the given stream, or nothing if there is none. An operation of torch
        then takes the current stream of its tensors' device."""
        cuda = self.torch.cuda
        if stream is None:
            return contextlib.nullcontext()
        is_torchs = hasattr(stream, "cuda_stream")
        return cuda.stream(stream if is_torchs
                           else cuda.ExternalStream(self.number(stream), device=like.device))

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Any, stream: Any) -> Any:
        if stream is None:
            return self.torch.empty(shape, dtype=self._made[dtype], device=like.device)
        with self._on(stream, like):
            return self.torch.empty(shape, dtype=self._made[dtype], device=like.device)

    def _signed(self, array: Any, value: Any) -> Any:
        """Returns the signed integer with the bits of an unsigned one, for an array of integers."""
        dtype = self._dtypes[array.dtype]
        if dtype.kind == "i" and isinstance(value, (int, np.integer)) and np.iinfo(dtype).max < value < 2 ** (8 * dtype.itemsize):
            return int(value) - 2 ** (8 * dtype.itemsize)
        return value

    def fill(self, array: Any, mask: Any, value: Any, stream: Any) -> None:
        value = self._signed(array, value)
        with self._on(stream, array):
            if mask is None:
                array.fill_(value)
            else:
                away = mask.logical_not()
                array.masked_fill_(away.reshape(away.shape + (1,) * (array.dim() - away.dim())), value)

    def put(self, array: Any, index: Any, value: Any, stream: Any) -> None:
        value = self._signed(array, value)
        with self._on(stream, array):
            array[index] = value

    def spread(self, bits: Any, count: int, shape: tuple[int, ...], found: Any, stream: Any) -> Any:
        bit = _operators.bit_values(self.torch, bits.device)
        with self._on(stream, bits):
            wide = bits.view(self.torch.uint8).unsqueeze(1).bitwise_and(bit).ne(0)
            return self.whole(wide.reshape(-1), count, shape, found, stream)

    def copy(self, mask: Any, to: Any, stream: Any) -> None:
        with self._on(stream, to):
            to.copy_(mask)

    def invert(self, mask: Any, stream: Any) -> Any:
        with self._on(stream, mask):
            return mask.logical_not_()

    def current(self, like: Any) -> int:
        if self._raw is not None:  # a stream object costs more than the call that waits for it
            number: int = self._raw(like.device.index)
            return number
        return self.number(self.torch.cuda.current_stream(like.device))

    def keep(self, array: Any, stream: Any) -> None:
        on = (stream if hasattr(stream, "cuda_stream")
              else self.torch.cuda.ExternalStream(self.number(stream), device=array.device))
        array.record_stream(on)


class Cupy(Kind):
    """Arrays of cupy, and all others that cupy accepts."""

    def __init__(self) -> None:
        self.cupy = _import_cupy()

    def made(self, array: Any) -> Taken:
        return Taken(array, self, array.data.ptr, array.shape, array.size)

    def takes_bytes(self, found: Any, keys: Taken) -> bool:
        return (isinstance(found, self.cupy.ndarray) and found.dtype == _BOOL and found.shape == keys.shape
                and found.device.id == _device_of(keys.array) and found.flags.c_contiguous and found.data.ptr % 8 == 0)

    def _on(self, stream: Any) -> Any:
        cuda = self.cupy.cuda
        if stream is None:
            return cuda.get_current_stream()
        return stream if hasattr(stream, "ptr") else cuda.ExternalStream(self.number(stream))

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], like: Any, stream: Any) -> Any:
        with self._on(stream):
            return self.cupy.empty(shape, dtype)

    def fill(self, array: Any, mask: Any, value: Any, stream: Any) -> None:
        with self._on(stream):
            if mask is None:
                array.fill(value)
            else:
                array[~mask] = value

    def put(self, array: Any, index: Any, value: Any, stream: Any) -> None:
        with self._on(stream):
            array[index] = value

    def spread(self, bits: Any, count: int, shape: tuple[int, ...], found: Any, stream: Any) -> Any:
        with self._on(stream):
            wide = self.cupy.unpackbits(bits.view(np.uint8), bitorder="little")
        return self.whole(wide.view(np.bool_), count, shape, found, stream)

    def copy(self, mask: Any, to: Any, stream: Any) -> None:
        with self._on(stream):
            to[...] = mask

    def invert(self, mask: Any, stream: Any) -> Any:
        with self._on(stream):
            return self.cupy.logical_not(mask)

    def current(self, like: Any) -> int:
        return self.number(self.cupy.cuda.get_current_stream())


_kinds: dict[str, Kind] = {}


def kind_of(array: Any) -> Kind:
    """Returns the library of an array."""
    name = "torch" if _arrays.is_torch(array) else "cupy"
    if name not in _kinds:
        _kinds[name] = Torch() if name == "torch" else Cupy()
    return _kinds[name]


class Taken(NamedTuple):
    """A caller's array on the device."""

    array: Any
    kind: Kind
    pointer: int
    shape: tuple[int, ...]
    size: int  # elements


@functools.cache
def _has_cupy() -> bool:
    return importlib.util.find_spec("cupy") is not None


def _import_cupy() -> Any:
    if not _has_cupy():
        raise Refused("arrays of other libraries become those of torch or cupy: import torch before the call, or install cupy")
    return importlib.import_module("cupy")


def _with_interface(given: Any, what: str) -> Any:
    """Returns the array, or an array of cupy or torch over its memory. Waits for an array of JAX."""
    if hasattr(given, "block_until_ready"):
        given.block_until_ready()
    has_interface = hasattr(given, "__cuda_array_interface__")
    if has_interface and (_arrays.is_torch(given) or _has_cupy()):
        return given
    if hasattr(given, "__dlpack__") and given.__dlpack_device__()[0] == _DLPACK_CUDA:
        return (sys.modules["torch"] if "torch" in sys.modules else _import_cupy()).from_dlpack(given)
    if has_interface:
        return given
    raise TypeError(f"{what}: {type(given).__name__} is not an array in the memory of a GPU: give a torch"
                    " tensor on the device, a cupy array, or one that has DLPack")


def _device_of(array: Any) -> Optional[int]:
    device = getattr(array, "device", None)
    number = getattr(device, "index", getattr(device, "id", None))
    return number if isinstance(number, int) else None


def take(given: Any, dtype: Optional[np.dtype[Any]], ordinal: Optional[int], what: str) -> Taken:
    """Checks an array: on this device, contiguous, and of this dtype unless that is None."""
    if _arrays.is_torch(given):
        torchs: Any = kind_of(given)
        usual: Optional[Taken] = torchs.taken(given, dtype, ordinal, what)
        if usual is not None:
            _arrays.check_storage(given, what)
            return usual
    array = _with_interface(given, what)
    interface = array.__cuda_array_interface__
    shape = tuple(interface["shape"])
    found = np.dtype(interface["typestr"])
    if dtype is not None:
        _arrays.check_dtype(found, dtype, what, given)
    expected, strides = found.itemsize, interface.get("strides")
    for length, stride in zip(reversed(shape), reversed(strides or ())):
        if length > 1 and stride != expected:
            raise ValueError(f"{what}: the array has gaps: give a C-contiguous one")
        expected *= length
    if ordinal is not None and _device_of(array) not in (None, ordinal):
        raise ValueError(f"{what}: the array is on cuda:{_device_of(array)}, and this Device is of"
                         f" cuda:{ordinal}: move the array there, or attach to cuda:{_device_of(array)}")
    size = 1
    for length in shape:
        size *= length
    return Taken(array, kind_of(array), int(interface["data"][0]), shape, size)
