# SPDX-License-Identifier: MIT
"""Plans of calls that say more than keys and values: sums with a scale, parts of rows, leading keys."""

from __future__ import annotations

import operator
from typing import Any, Optional

import numpy as np

from . import _arrays, _keys, _plans
from ._errors import Refused
from ._facts import Layout
from ._native import lib

_F32 = np.dtype(np.float32)


def _rows(layout: Layout, given: Any, taken: _arrays.Taken) -> tuple[np.ndarray[Any, Any], int]:
    """Operands of add_rows, and what the server is told of their type."""
    shape = taken.shape + layout.value_shape
    dtype = getattr(given, "dtype", None)
    if layout.adds in ("f16", "bf16") and (dtype == _F32 or isinstance(given, float)):
        return _arrays.take_values(given, _F32, shape, "rows", taken), lib.SHERWOOD_F32
    return _arrays.take_values(given, layout.value_dtype, shape, "rows", taken), 0


def add_rows(layout: Layout, keys: Any, rows: Any, scale: float, only: Optional[str]) -> _plans.Plan:
    """None."""
    if layout.is_integer or layout.is_cache or not layout.adds:
        raise Refused(f"add_rows: this server has no rows of numbers that stay, or value_dtype is not theirs:"
                      f" {layout.value_dtype}")
    if only not in (None, "present"):
        raise ValueError(f'only is {only!r}: give "present" or None')
    taken = _keys.take(keys, layout)
    sent, kind = _rows(layout, rows, taken)
    operation = getattr(lib, f"SHERWOOD_ADD_{'' if only is None else 'PRESENT_'}{layout.adds.upper()}")
    return _plans.Plan(operation, taken, _plans.nothing, values=sent, scale=scale, operand_type=kind)


def _dtype(layout: Layout) -> np.dtype[Any]:
    """Of the numbers of a part."""
    return layout.value_dtype if layout.value_dtype.names is None else np.dtype("u1")


def _part(layout: Layout, first: int, count: int) -> dict[str, Any]:
    """Where a part is."""
    size = _dtype(layout).itemsize
    if first < 0 or count < 1 or (first + count) * size > layout.value_bytes:
        raise ValueError(f"numbers {first} to {first + count - 1}: a part has one at least, and ends within the value")
    return {"range_offset": first * size, "range_bytes": count * size}


def get_range(layout: Layout, keys: Any, first: int, count: int) -> _plans.Plan:
    """parts, found."""
    taken = _keys.take(keys, layout)
    part = _part(layout, operator.index(first), operator.index(count))
    parts, mask = np.zeros((*taken.shape, count), _dtype(layout)), np.empty(taken.shape, np.bool_)
    return _plans.Plan(lib.SHERWOOD_GETRANGE, taken, lambda: (
        _arrays.give(parts, None, taken.is_torch), _arrays.give(mask, None, taken.is_torch)),
        previous=parts, found=mask, **part)


def set_range(layout: Layout, keys: Any, first: int, parts: Any) -> _plans.Plan:
    """Which keys were present."""
    taken = _keys.take(keys, layout)
    given = _arrays.as_numpy(parts, _dtype(layout), "parts")
    if given.ndim == 0:
        raise ValueError("parts: give an array whose last dimension is the numbers of a part")
    part = _part(layout, operator.index(first), given.shape[-1])
    sent = _arrays.take_values(given, _dtype(layout), (*taken.shape, given.shape[-1]), "parts", taken)
    mask = np.empty(taken.shape, np.bool_)
    return _plans.Plan(lib.SHERWOOD_SETRANGE, taken, lambda: _arrays.give(mask, None, taken.is_torch), values=sent,
                       found=mask, **part)


def prefix(layout: Layout, keys: Any) -> _plans.Plan:
    """How many keys lead; all of them are looked at."""
    taken = _keys.take(keys, layout)
    mask = np.empty(taken.flat.size, np.bool_)
    operation = lib.SHERWOOD_PEEK if layout.is_cache else lib.SHERWOOD_GET
    return _plans.Plan(operation, taken, lambda: int(mask.size if mask.all() else mask.argmin()), found=mask)
