# SPDX-License-Identifier: MIT
"""Calls of a client that say more than keys and values: sums with a scale, parts of rows, leading keys."""

from __future__ import annotations

import operator
from typing import Any, Callable, Optional

import numpy as np

from . import _arrays
from ._errors import Refused
from ._facts import Layout
from ._link import Link, address_of
from ._native import ffi, lib
from ._typed import ClientCalls

_F32 = np.dtype(np.float32)


def _rows(layout: Layout, given: Any, taken: _arrays.Taken) -> tuple[np.ndarray[Any, Any], int]:
    """Operands of add_rows, and what the server is told of their type."""
    shape = taken.shape + layout.value_shape
    dtype = getattr(given, "dtype", None)
    if layout.adds in ("f16", "bf16") and (dtype == _F32 or isinstance(given, float)):
        return _arrays.take_values(given, _F32, shape, "rows", taken), lib.SHERWOOD_F32
    return _arrays.take_values(given, layout.value_dtype, shape, "rows", taken), 0


def _part(layout: Layout, first: int, count: int) -> tuple[np.dtype[Any], int, int]:
    """The dtype of a part, its first byte, and how many bytes it has."""
    dtype = layout.value_dtype if layout.value_dtype.names is None else np.dtype("u1")
    if first < 0 or count < 1 or (first + count) * dtype.itemsize > layout.value_bytes:
        raise ValueError(f"numbers {first} to {first + count - 1}: a part has one at least, and ends within the value")
    return dtype, first * dtype.itemsize, count * dtype.itemsize


class Words(ClientCalls):
    """These calls block; `submit` and `aio` have them not."""

    __slots__ = ()
    _link: Link

    def _run(self, call: Callable[[Any], Any]) -> None:
        with self._link.lock:
            self._link.check(call(self._link.use()))

    def _bits(self, call: Callable[[Any, Any], Any], taken: _arrays.Taken) -> Any:
        """Makes a call that has a bitmap of the keys. Returns it as bool, of the shape of the keys."""
        bits = np.empty((taken.flat.size + 63) // 64, np.uint64)
        made = np.empty(taken.shape, np.bool_)
        into = ffi.cast("uint64_t *", ffi.from_buffer(bits))
        self._run(lambda pointer: call(pointer, into))
        lib.swpy_spread(into, made.size, address_of(made), ffi.NULL, 0, ffi.NULL)
        return _arrays.give(made, None, taken.is_torch)

    def add_rows(self, keys: Any, rows: Any, *, scale: float = 1.0, only: Optional[str] = None) -> None:
        """Adds scale times each of the rows to that of its key, on the server: each product is rounded, then
        each sum. An absent key is stored, unless only="present".

        The rows are of value_dtype; where the server's are f16 or bf16 they may be float32 as well. A scale
        other than 1 and -1 needs operands of float32.
        """
        layout = self._layout()
        if layout.is_integer or layout.is_cache or not layout.adds:
            raise Refused(f"add_rows: this server has no rows of numbers that stay, or value_dtype is not theirs:"
                          f" {layout.value_dtype}")
        if only not in (None, "present"):
            raise ValueError(f'only is {only!r}: give "present" or None')
        taken = _arrays.take(keys, layout.key_dtype, "keys", layout.regions)
        sent, kind = _rows(layout, rows, taken)
        self._run(lambda pointer: lib.sherwood_add(pointer, address_of(taken.flat), address_of(sent),
                                                   taken.flat.size, scale, kind, only == "present"))

    def get_range_many(self, keys: Any, first: int, count: int) -> Any:
        """Reads `count` numbers of each row from number `first` on; of bytes and byte strings, so many bytes.

        Returns (parts, found): the parts have the shape of the keys and one dimension more, and are zeros
        where there is nothing.
        """
        layout = self._layout()
        taken = _arrays.take(keys, layout.key_dtype, "keys", layout.regions)
        dtype, offset, size = _part(layout, operator.index(first), operator.index(count))
        parts = np.zeros((*taken.shape, count), dtype)
        found = self._bits(lambda pointer, bits: lib.sherwood_get_range(
            pointer, address_of(taken.flat), taken.flat.size, offset, size, address_of(parts), bits), taken)
        return _arrays.give(parts, None, taken.is_torch), found

    def set_range_many(self, keys: Any, first: int, parts: Any) -> Any:
        """Writes parts of rows, from number `first` on; the last dimension of `parts` says how many numbers. The
        rest of a row that was absent is zeros. Returns bool, of the shape of the keys: which were present.
        """
        layout = self._layout()
        taken = _arrays.take(keys, layout.key_dtype, "keys", layout.regions)
        dtype = layout.value_dtype if layout.value_dtype.names is None else np.dtype("u1")
        given = _arrays.as_numpy(parts, dtype, "parts")
        if given.ndim == 0:
            raise ValueError("parts: give an array whose last dimension is the numbers of a part")
        dtype, offset, size = _part(layout, operator.index(first), given.shape[-1])
        sent = _arrays.take_values(given, dtype, (*taken.shape, given.shape[-1]), "parts", taken)
        return self._bits(lambda pointer, bits: lib.sherwood_set_range(
            pointer, address_of(taken.flat), address_of(sent), taken.flat.size, offset, size, bits), taken)

    def prefix(self, keys: Any) -> int:
        """How many keys are present before the first that is absent, in the order of the array."""
        layout = self._layout()
        taken = _arrays.take(keys, layout.key_dtype, "keys", layout.regions)
        present = ffi.new("size_t *")
        self._run(lambda pointer: lib.sherwood_prefix(pointer, address_of(taken.flat), taken.flat.size, present))
        return int(present[0])
