# SPDX-License-Identifier: MIT
"""Kernels in C of torch's operators on tensors of a GPU (operators.h), and the tables that they and the handler of XLA know.

torch 2.10 and later calls them without Python. An older torch, and one without CUDA, has the kernels of sherwood.torch.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import itertools
import os
import threading
from typing import Any, Iterator, Mapping, Optional

import numpy as np

from ._device_library import ffi as cuda
from ._errors import error_of
from ._facts import Layout
from ._native import ffi, lib

numbers = itertools.count(1)  # of tables
_bit_values: dict[Any, Any] = {}  # by device
_TEXT_BYTES = 512
_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED


class Kernels:
    """The registered kernels, for tensors of one kind of device."""

    def __init__(self, torch: Any, library: Any, key: str) -> None:
        self.ops = torch.ops.sherwood
        self.torch = torch
        self.is_cuda = key == "CUDA"
        self.device_type = int(getattr(library, f"aoti_torch_device_type_{key.lower()}")())
        self._library = library

    def place(self, ordinal: int) -> str:
        """Returns torch's name of a device."""
        return f"cuda:{ordinal}" if self.is_cuda else "cpu"

    def types(self, dtype: np.dtype[Any]) -> list[int]:
        """Returns torch's numbers of the dtypes that fit, that of results first: integers may be signed or not."""
        name = name_of(dtype)
        other = name[1:] if name.startswith("uint") else f"u{name}" if name.startswith("int") else name
        return [int(getattr(self._library, f"aoti_torch_dtype_{each}")()) for each in (name, other)]


class Known:
    """The numbers of the tables of one handle that kernels know; `of` that: of one Device with this handle. In a forked child nothing
    becomes known, and nothing changes."""

    def __init__(self, of: Optional[Known] = None) -> None:
        self.process: int = os.getpid() if of is None else of.process  # that attached the handle
        self._of = of
        # The garbage collector may forget another table under it.
        self._lock: Any = threading.RLock() if of is None else of._lock
        self._numbers: Optional[set[int]] = set()  # None: closed

    def add(self, number: int, table: Any) -> None:
        """Makes a table known, unless this is closed."""
        if self.process != os.getpid():
            return
        with self._lock:
            if self._numbers is None:
                return
            if self._of is not None:
                self._of.add(number, table)
            else:
                code = lib.swpy_table_add(number, table)
                if code < 0:
                    raise error_of(code, "")
            self._numbers.add(number)

    def forget(self, number: int) -> None:
        """Waits for the calls of a table, and forgets it."""
        if self.process != os.getpid():
            return
        with self._lock:
            known = self._numbers is not None and number in self._numbers
            if known and self._numbers is not None:
                self._numbers.remove(number)
        if known:
            self._remove(number)

    def close(self) -> None:
        """Waits for the calls of all tables, and forgets them. No later table becomes known."""
        if self.process != os.getpid():
            return
        with self._lock:
            numbers_, self._numbers = self._numbers, None
        for number in numbers_ or ():
            self._remove(number)

    def _remove(self, number: int) -> None:
        if self._of is not None:
            self._of.forget(number)
        else:
            lib.swpy_table_remove(number)


class Tables:
    """The tables of one Device: they describe its handle to kernels."""

    def __init__(self, handle: Any, library: Any, table: int, ordinal: int, layout: Layout, known: Known) -> None:
        self._handle, self._library, self._table, self._ordinal, self._layout, self._known = handle, library, table, ordinal, layout, Known(known)
        self._own = 0
        self._bit_values: Any = None  # kernels use its memory

    def place(self) -> str:
        """Returns torch's name of the device."""
        return _kernels.place(self._ordinal) if _kernels is not None else f"cuda:{self._ordinal}"

    def own(self) -> int:
        """Returns the number for the calls of the Device that wait."""
        if self._own == 0:
            self._own = self.add(False)
        return self._own

    def add(self, in_order: bool) -> int:
        """Returns the number of a new table, which torch's kernels know if there are any."""
        number, layout = next(numbers), self._layout
        if _kernels is not None and layout.value_dtype.kind in "iufb":
            dtype = layout.value_dtype
            if self._bit_values is None:
                self._bit_values = bit_values(_kernels.torch, _kernels.torch.device(self.place()))
            self._known.add(number, self._described(
                in_order, device_type=_kernels.device_type, device_index=self._ordinal if _kernels.is_cuda else -1,
                key_types=_kernels.types(layout.key_dtype), value_types=_kernels.types(dtype), is_integer=dtype.kind in "iu",
                is_signed=dtype.kind == "i", bit_values=self._bit_values.data_ptr(),
                add=lib.SHERWOOD_SUM if layout.is_integer else getattr(lib, f"SHERWOOD_ADD_{layout.adds.upper()}", 0)))
        return number

    def add_for_xla(self) -> int:
        """Returns the number of a new table that the handler of jax_cuda.h knows."""
        number = next(numbers)
        self._known.add(number, self._described(True, device_index=self._ordinal))
        return number

    def _described(self, in_order: bool, **more: Any) -> Any:
        dtype, shape = self._layout.value_dtype, self._layout.value_shape
        return ffi.new("struct swpy_table *", {
            "cuda": _address(self._handle), **{name: self._function(f"sherwood_cuda_{name}") for name in ("call", "check", "error")},
            "table": self._table, "in_order": in_order, "key_bytes": self._layout.key_dtype.itemsize, "value_bytes": dtype.itemsize,
            "row": shape[0] if shape else -1, **more})

    def forget(self, number: int) -> None:
        """Waits for the calls of a table, and forgets it."""
        self._known.forget(number)

    def close(self) -> None:
        """Waits for the calls of all tables, and forgets them. No later table becomes known."""
        self._known.close()

    def _function(self, name: str) -> int:
        return _address(cuda.addressof(self._library, name))


_kernels: Optional[Kernels] = None


def of(torch: Any) -> Optional[Kernels]:
    """Returns the kernels for Device. Defines the operators if torch has what they need."""
    if hasattr(getattr(torch, "library", None), "register_fake"):
        importlib.import_module("sherwood.torch")
    return _kernels


def bind(torch: Any, key: str = "CUDA", instead: Mapping[str, int] = {}) -> None:  # pylint: disable=dangerous-default-value
    """Registers the kernels for a dispatch key, once, if this torch has all functions that they call. `instead`: addresses that
    take the place of torch's functions."""
    global _kernels  # pylint: disable=global-statement
    library = ctypes.CDLL(torch._C.__file__)  # finds what the libraries have that it needs
    addresses = []
    for i in itertools.count():
        names = lib.swpy_torch_function(i)
        if names == ffi.NULL:
            break
        found = [instead.get(name) or _find(library, name) for name in ffi.string(names).decode().split()]
        if not any(found):
            return
        addresses.append(next(address for address in found if address))
    if lib.swpy_torch_bind(ffi.new("uintptr_t[]", addresses), key.encode()) != 0:
        raise RuntimeError(f"torch {torch.__version__} refuses the kernels of torch.ops.sherwood: report this with torch's output above")
    _kernels = Kernels(torch, library, key)


def _find(library: Any, name: str) -> int:
    function = getattr(library, name, None)
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0


def refused(error: RuntimeError) -> bool:
    """Returns whether a kernel has refused the arguments: then Python knows better. Raises the error of the server behind the error of
    an operator. If torch failed before it ran the kernel, the last failure is that of an earlier call."""
    text = ffi.new("char[]", _TEXT_BYTES)
    code = lib.swpy_torch_failure(text, _TEXT_BYTES)
    sentence = ffi.string(text).decode("utf-8", "replace")
    is_its = sentence in str(error)
    if is_its and code < 0:
        raise error_of(code, sentence) from None
    return is_its and bool(code == lib.SWPY_ARGUMENTS)


def bit_values(torch: Any, device: Any) -> Any:
    """Returns a tensor with the value of each bit of a byte."""
    made = _bit_values.get(device)
    if made is None:
        with _beside_captures(torch, device) if device.type == "cuda" else contextlib.nullcontext():
            made = torch.tensor([1 << i for i in range(8)], dtype=torch.uint8, device=device)
        _bit_values[device] = made
    return made


@contextlib.contextmanager
def _beside_captures(torch: Any, device: Any) -> Iterator[None]:
    """Runs torch's work on a stream of its own, and waits for it. A capture of any thread goes on: one of the mode global forbids all
    threads to copy and to wait, unless their mode is relaxed."""
    exchange, mode = ctypes.CDLL("libcuda.so.1").cuThreadExchangeStreamCaptureMode, ctypes.c_int(_RELAXED)
    exchange(ctypes.byref(mode))
    try:
        stream = torch.cuda.Stream(device)
        with torch.cuda.stream(stream):
            yield
        stream.synchronize()
    finally:
        exchange(ctypes.byref(mode))


def name_of(dtype: np.dtype[Any]) -> str:
    """Returns the name of torch's dtype of results: torch calculates with signed integers."""
    return f"int{dtype.itemsize * 8}" if dtype.kind == "u" and dtype.itemsize > 1 else dtype.name


def _address(pointer: Any) -> int:
    return int(cuda.cast("uintptr_t", pointer))
