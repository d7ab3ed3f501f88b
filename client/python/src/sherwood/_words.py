# SPDX-License-Identifier: MIT
"""Plans of calls with further arguments: sums with a scale, parts of rows, leading keys."""

from __future__ import annotations

import operator
from typing import Any, Optional

import numpy as np

from . import _arrays, _keys, _plans
from ._errors import Refused
from ._facts import Layout
from ._native import lib

_F32 = np.dtype(np.float32)
# What the server adds up in rows of each type. It chooses the sum by the type, whatever the client's value_dtype is.
_SUMS = {**{kind: kind for kind in ("f32", "f64", "f16", "bf16", "u32", "u64")}, "i64": "u64"}


def _rows(layout: Layout, given: Any, taken: _arrays.Taken) -> tuple[np.ndarray[Any, Any], int]:
    """Returns the operands of add_rows and the type that the request names; 0: that of the rows."""
    shape = taken.shape + layout.value_shape
    dtype = getattr(given, "dtype", None)
    if layout.adds in ("f16", "bf16") and (dtype == _F32 or isinstance(given, float)):
        return _arrays.take_values(given, _F32, shape, "rows", taken), lib.SHERWOOD_F32
    return _arrays.take_values(given, layout.value_dtype, shape, "rows", taken), 0


def sum_of(layout: Layout, only: Optional[str]) -> int:
    """Returns the operation of add_rows."""
    if layout.is_integer or layout.is_cache:
        why = "this server's values are integers" if layout.is_integer else "a cache may evict the rows"
        raise Refused(f"add_rows: {why}: use add_many")
    if not layout.adds:
        raise Refused(f"add_rows: {_plans.SUMS.format(layout.value_dtype)}")
    if layout.adds != _SUMS.get(layout.value_type, layout.adds):
        raise Refused(f"add_rows: the server's rows are of {layout.value_type}, and this client's value_dtype is {layout.value_dtype}:"
                      " connect without value_dtype")
    if only not in (None, "present"):
        raise ValueError(f'only is {only!r}: give "present" or None')
    return int(getattr(lib, f"SHERWOOD_ADD_{'' if only is None else 'PRESENT_'}{layout.adds.upper()}"))


def is_zero(scale: float) -> bool:
    """Returns whether a scale is 0 in float32, which the server has."""
    with np.errstate(over="ignore"):
        return bool(np.float32(scale) == 0)


def add_rows(layout: Layout, keys: Any, rows: Any, scale: float, only: Optional[str]) -> _plans.Plan:
    """The plan of add_rows, which returns None."""
    operation = sum_of(layout, only)
    scale = -0.0 if is_zero(scale) else scale  # a request with the scale 0.0 has none, which is 1
    taken = _keys.take(keys, layout)
    sent, kind = _rows(layout, rows, taken)
    return _plans.Plan(operation, taken, _plans.nothing, values=sent, scale=scale, operand_type=kind)


def _dtype(layout: Layout) -> np.dtype[Any]:
    """Returns the dtype of the numbers of a part."""
    return layout.value_dtype if layout.value_dtype.names is None else np.dtype("u1")


def part(layout: Layout, first: int, count: int) -> dict[str, Any]:
    """Returns the place of a part in a value, as arguments of a plan."""
    size = _dtype(layout).itemsize
    if first < 0 or count < 1 or (first + count) * size > layout.value_bytes:
        raise ValueError(f"first is {first}, and there are {count} numbers: give at least one number, all within the"
                         f" {layout.value_bytes // size} of a value")
    return {"range_offset": first * size, "range_bytes": count * size}


def get_range(layout: Layout, keys: Any, first: int, count: int) -> _plans.Plan:
    """The plan of get_range_many: (parts, found)."""
    taken = _keys.take(keys, layout)
    place = part(layout, operator.index(first), operator.index(count))
    parts, mask = np.zeros((*taken.shape, count), _dtype(layout)), np.empty(taken.shape, np.bool_)
    return _plans.Plan(lib.SHERWOOD_GETRANGE, taken, lambda: (
        _arrays.give(parts, None, taken.is_torch), _arrays.give(mask, None, taken.is_torch)),
        previous=parts, found=mask, **place)


def set_range(layout: Layout, keys: Any, first: int, parts: Any) -> _plans.Plan:
    """The plan of set_range_many: which keys were present."""
    taken = _keys.take(keys, layout)
    given = _arrays.as_numpy(parts, _dtype(layout), "parts")
    if given.ndim == 0:
        raise ValueError("parts: the array has no dimension: give one whose last dimension is the numbers of a part")
    place = part(layout, operator.index(first), given.shape[-1])
    sent = _arrays.take_values(given, _dtype(layout), (*taken.shape, given.shape[-1]), "parts", taken)
    mask = np.empty(taken.shape, np.bool_)
    return _plans.Plan(lib.SHERWOOD_SETRANGE, taken, lambda: _arrays.give(mask, None, taken.is_torch), values=sent,
                       found=mask, **place)


def prefix(layout: Layout, keys: Any) -> _plans.Plan:
    """The plan of prefix: the number of keys before the first absent one. Reads all keys."""
    taken = _keys.take(keys, layout)
    mask = np.empty(taken.flat.size, np.bool_)
    operation = lib.SHERWOOD_PEEK if layout.is_cache else lib.SHERWOOD_GET
    return _plans.Plan(operation, taken, lambda: int(mask.size if mask.all() else mask.argmin()), found=mask)
