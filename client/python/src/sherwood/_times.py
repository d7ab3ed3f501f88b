# SPDX-License-Identifier: MIT
"""Expiry times: the arguments of callers in milliseconds, and the plans of calls on times alone."""

from __future__ import annotations

import datetime
import time
from typing import Any, Optional

import numpy as np

from . import _arrays, _keys, _plans
from ._facts import Layout
from ._native import ffi, lib

_MOST = 2**63 - 1
_U64 = np.dtype(np.uint64)
_OBJECTS = {"ttl": "a timedelta", "expire_at": "a datetime"}
_MS = {"m": "timedelta64[ms]", "M": "datetime64[ms]"}
_FINE = frozenset(("us", "ns", "ps", "fs", "as"))  # units below a millisecond
# EXPIRE, and its kinds by condition: "none", "later", ..
_ONLY: dict[Optional[str], int] = {
    name[len("SHERWOOD_EXPIRE_"):].lower() or None: number
    for number, name in sorted(ffi.typeof("enum sherwood_operation").elements.items())
    if name.startswith("SHERWOOD_EXPIRE")
}


def _plain(given: Any, what: str) -> Any:
    """Returns seconds for a timedelta or a datetime, and anything else unchanged."""
    if what == "ttl" and isinstance(given, datetime.timedelta):
        return given.total_seconds()
    if what == "expire_at" and isinstance(given, datetime.datetime):
        if given.tzinfo is None:
            raise ValueError("expire_at: the datetime has no time zone: give it one, for example datetime.timezone.utc")
        return given.timestamp()
    return given


def _of_numpy(found: np.ndarray[Any, Any], what: str) -> np.ndarray[Any, Any]:
    """Returns timedelta64 or datetime64 as whole milliseconds. numpy's conversion would return other ones beyond 64 bits."""
    unit, many = np.datetime_data(found.dtype)
    if unit == "generic":
        raise ValueError(f"{what}: the {found.dtype} has no unit: give it one, for example np.timedelta64(5, 's')")
    ms = found.astype(_MS[found.dtype.kind])
    # numpy multiplies by the number of a unit such as [100us] first
    is_time = ~np.isnat(found) & (np.abs(found.astype(np.int64)) <= _MOST // many) if unit in _FINE else ms.astype(found.dtype) == found
    if not np.all(is_time):
        raise ValueError(f"{what}: {found[~is_time].flat[0]!r} is not a time: give less than {_MOST // 1000} seconds")
    return ms.astype(np.int64)


def _milliseconds(given: Any, what: str) -> np.ndarray[Any, Any]:
    """Returns seconds, timedelta64 or datetime64 as whole milliseconds. Refuses times before the first possible one."""
    found = _arrays.plain(np.asanyarray(given), what)
    kind = found.dtype.kind
    if kind == ("m" if what == "ttl" else "M"):
        ms = _of_numpy(found, what)
    elif kind in "iu":
        if np.any(found > _MOST // 1000):
            raise ValueError(f"{what}: {np.max(found)} seconds exceed the limit of {_MOST // 1000}")
        ms = np.maximum(found.astype(np.int64), -(_MOST // 1000)) * 1000  # beyond 64 bits it would be another, perhaps positive, number
    elif kind == "f":
        whole = np.rint(np.asarray(found, np.float64) * 1000)
        is_time = np.abs(whole) < 2.0**63
        if not np.all(is_time):
            raise ValueError(f"{what}: {found[~is_time].flat[0]} is not a time: give a finite number of seconds, less than"
                             f" {_MOST // 1000}")
        ms = whole.astype(np.int64)
    else:
        raise TypeError(f"{what}: the dtype is {found.dtype}: give seconds, {_OBJECTS[what]}, or an array of them")
    if np.any(ms < 1):
        least = "0.001 seconds" if what == "ttl" else "0.001 seconds after the beginning of 1970"
        raise ValueError(f"{what}: {np.min(ms)} ms is too small: give at least {least}")
    return ms.astype(_U64)


def said(ttl: Any, expire_at: Any, keep_ttl: bool, shape: tuple[int, ...]) -> dict[str, Any]:
    """Returns the arguments of a plan for the times of keys of this shape."""
    if (ttl is not None) + (expire_at is not None) + bool(keep_ttl) > 1:
        raise ValueError("ttl, expire_at and keep_ttl: give at most one of them")
    if keep_ttl:
        return {"when": lib.SHERWOOD_KEEP}
    if ttl is None and expire_at is None:
        return {}
    what = "ttl" if expire_at is None else "expire_at"
    when = lib.SHERWOOD_IN if expire_at is None else lib.SHERWOOD_AT
    times = _milliseconds(_plain(ttl if expire_at is None else expire_at, what), what)
    if times.shape == ():
        return {"when": when, "time_ms": int(times)}
    if times.shape != shape:
        raise ValueError(f"{what}: an array of shape {times.shape}, and these keys need {shape}")
    return {"when": when, "times": np.ascontiguousarray(times).reshape(-1)}


def expire(layout: Layout, keys: Any, ttl: Any, expire_at: Any, only: Optional[str], previous: bool) -> _plans.Plan:
    """The plan of expire_many: which keys got the time; with `previous` also their values."""
    if only not in _ONLY:
        raise ValueError(f"only is {only!r}: give one of {', '.join(repr(name) for name in _ONLY)}")
    if ttl is None and expire_at is None:
        raise ValueError("expire_many: give ttl or expire_at; persist_many removes expiry times")
    taken = _keys.take(keys, layout)
    times = said(ttl, expire_at, False, taken.shape)
    mask = np.empty(taken.shape, np.bool_)
    if not previous:
        return _plans.Plan(_ONLY[only], taken, lambda: _arrays.give(mask, None, taken.is_torch), found=mask, **times)
    values = np.empty(taken.shape + layout.value_shape, layout.value_dtype)
    return _plans.Plan(_ONLY[only], taken, lambda: (
        _arrays.give(values, None, taken.is_torch), _arrays.give(mask, None, taken.is_torch)),
        previous=values, found=mask, **times)


def left(layout: Layout, keys: Any, at: bool) -> _plans.Plan:
    """The plan of ttl_many: the seconds until keys expire, or the times; and which keys are present."""
    taken = _keys.take(keys, layout)
    times, mask = np.zeros(taken.shape, _U64), np.empty(taken.shape, np.bool_)

    def result() -> Any:
        shown = times
        if not at:
            seconds = np.maximum(times / 1000 - time.time(), 0)
            shown = np.where(times > 0, seconds, np.where(mask, np.inf, 0.0))
        return _arrays.give(shown, None, taken.is_torch), _arrays.give(mask, None, taken.is_torch)

    return _plans.Plan(lib.SHERWOOD_TTL, taken, result, previous=times, found=mask, when=lib.SHERWOOD_UNSAID)
