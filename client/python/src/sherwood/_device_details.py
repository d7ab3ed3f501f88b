# SPDX-License-Identifier: MIT
"""Calls of a Device with more than keys and values: bits, pairs, expiry times, parts of rows, and the arrays of a cache."""

from __future__ import annotations

import datetime
from typing import Any, NamedTuple, Optional, Union

import numpy as np

from . import _times, _words
from ._arrays import one_number
from ._cache import OPERATIONS
from ._device_arrays import Taken, take
from ._device_library import ffi
from ._facts import Layout
from ._native import lib as constants

# Seconds, for all keys.
Span = Union[None, int, float, datetime.timedelta, datetime.datetime]
_U64 = np.dtype(np.uint64)
_EXPIRE = {None: constants.SHERWOOD_EXPIRE, "none": constants.SHERWOOD_EXPIRE_NONE, "some": constants.SHERWOOD_EXPIRE_SOME,
           "later": constants.SHERWOOD_EXPIRE_LATER, "earlier": constants.SHERWOOD_EXPIRE_EARLIER,
           "shorten": constants.SHERWOOD_EXPIRE_SHORTEN}


class CacheResult(NamedTuple):
    """Results of run_many on the device. A result that `want` does not name is None."""

    previous: Any  # values before the operation; of get, the values
    found: Any  # bool: the key was present before
    scores: Any  # after the operation; 0: the key is absent then
    not_admitted: Any  # bool: a new key that a full cache turned away
    evicted_keys: Any  # in no particular order; the next two arrays belong to these keys
    evicted_values: Any
    evicted_scores: Any


class Details:
    """The calls, for Device."""

    _layout: Layout
    _ordinal: int

    def _take(self, keys: Any) -> Taken:
        raise NotImplementedError

    def _into(self, given: Any, keys: Taken, what: str, stream: Any) -> Taken:
        raise NotImplementedError

    def _write(self, operation: int, keys: Any, values: Any, previous: bool, stream: Any, wants_mask: bool,
               **details: Any) -> Any:
        raise NotImplementedError

    def _run(self, operation: int, keys: Taken, values: Optional[Taken], previous: Optional[Taken], wants: bool, found: Any,
             stream: Any, **details: Any) -> Any:
        raise NotImplementedError

    # --- bits and pairs --------------------------------------------------------------------------
    def or_many(self, keys: Any, values: Any, *, previous: bool = False, stream: Any = None) -> Any:
        """Sets the bits of the values; an absent key is 0, and stored."""
        return self._write(constants.SHERWOOD_OR, keys, values, previous, stream, False)

    def xor_many(self, keys: Any, values: Any, *, previous: bool = False, stream: Any = None) -> Any:
        """Toggles the bits of the values; an absent key is 0, and stored."""
        return self._write(constants.SHERWOOD_XOR, keys, values, previous, stream, False)

    def and_many(self, keys: Any, values: Any, *, previous: bool = False, stream: Any = None) -> Any:
        """Keeps only the bits that are set in the values; an absent key stays absent."""
        return self._write(constants.SHERWOOD_AND, keys, values, previous, stream, False)

    def andnot_many(self, keys: Any, values: Any, *, previous: bool = False, stream: Any = None) -> Any:
        """Clears the bits that are set in the values; an absent key stays absent."""
        return self._write(constants.SHERWOOD_ANDNOT, keys, values, previous, stream, False)

    def cas_many(self, keys: Any, old: Any, new: Any, *, stream: Any = None) -> Any:
        """Stores `new` where a key has the value `old`. Returns bool, of the shape of the keys: which were changed."""
        taken, layout = self._take(keys), self._layout
        shape = taken.shape + layout.value_shape
        pairs = taken.kind.empty((*taken.shape, 2, *layout.value_shape), layout.value_dtype, taken.array, stream)
        held = []
        for at, (given, what) in enumerate(((old, "old"), (new, "new"))):
            if not isinstance(given, (int, np.integer)) or isinstance(given, bool):
                held.append(self._checked(given, layout.value_dtype, shape, what))
                given = held[-1].array
            else:
                given = one_number(given, layout.value_dtype, what, signed=True)
            taken.kind.put(pairs, (slice(None),) * len(taken.shape) + (at,), given, stream)
        return self._run(constants.SHERWOOD_CAS, taken, taken.kind.made(pairs), None, True, None, stream, held=held)

    # --- when keys expire ------------------------------------------------------------------------
    def expire_many(self, keys: Any, *, ttl: Span = None, expire_at: Span = None, ttl_ms: Any = None, expire_at_ms: Any = None,
                    only: Optional[str] = None, stream: Any = None) -> Any:
        """Sets the expiry times of present keys. Returns bool, of the shape of the keys: which got a time.

        ttl and expire_at are one number of seconds, a timedelta or a datetime, for all keys. ttl_ms and expire_at_ms are
        arrays on the device, of int64 or uint64: a number of milliseconds for each key. `only` is that of the client.
        """
        if only not in _EXPIRE:
            raise ValueError(f"only is {only!r}: give one of {', '.join(repr(name) for name in _EXPIRE)}")
        times = self._times(keys, ttl, expire_at, ttl_ms, expire_at_ms, False)
        if not times:
            raise ValueError("expire_many: give ttl, expire_at, ttl_ms or expire_at_ms; persist_many removes expiry times")
        return self._run(_EXPIRE[only], self._take(keys), None, None, True, None, stream, **times)

    def persist_many(self, keys: Any, *, stream: Any = None) -> Any:
        """Removes the expiry times of keys. Returns bool, of the shape of the keys: which had one."""
        return self._run(constants.SHERWOOD_PERSIST, self._take(keys), None, None, True, None, stream)

    def ttl_many(self, keys: Any, *, stream: Any = None) -> Any:
        """Returns (times, found), as the client's ttl_many(at=True): in milliseconds since 1970; 0: never, or absent."""
        taken = self._take(keys)
        times = taken.kind.made(taken.kind.empty(taken.shape, _U64, taken.array, stream))
        return times.array, self._run(constants.SHERWOOD_TTL, taken, None, times, True, None, stream)

    # --- rows ------------------------------------------------------------------------------------
    def add_rows(self, keys: Any, rows: Any, *, scale: float = 1.0, only: Optional[str] = None, stream: Any = None) -> None:
        """Adds scale times each row to the row of its key, as the client does. Rows of f16 and bf16 also take float32."""
        taken, layout, operation = self._take(keys), self._layout, _words.sum_of(self._layout, only)
        if _words.is_zero(scale):
            raise ValueError("add_rows: scale is 0: give another number")
        wide = layout.adds in ("f16", "bf16") and str(getattr(rows, "dtype", "")).endswith("float32")
        sent = self._checked(rows, np.dtype(np.float32) if wide else layout.value_dtype, taken.shape + layout.value_shape, "rows")
        self._run(operation, taken, sent, None, False, None, stream, scale=scale, operand_type=constants.SHERWOOD_F32 if wide else 0)

    # --- parts of rows ---------------------------------------------------------------------------
    def get_range_many(self, keys: Any, first: int, count: int, *, stream: Any = None) -> Any:
        """Reads `count` numbers of each row from number `first` on. Returns (parts, found), as the client does."""
        taken, part = self._take(keys), _words.part(self._layout, first, count)
        parts = taken.kind.made(taken.kind.empty((*taken.shape, count), self._layout.value_dtype, taken.array, stream))
        return parts.array, self._run(constants.SHERWOOD_GETRANGE, taken, None, parts, True, None, stream, **part)

    def set_range_many(self, keys: Any, first: int, parts: Any, *, stream: Any = None) -> Any:
        """Writes parts of rows, from number `first` on; the last dimension of `parts` is their count. Returns bool, of the
        shape of the keys: which were present."""
        taken = self._take(keys)
        sent = take(parts, self._layout.value_dtype, self._ordinal, "parts")
        if sent.shape[:-1] != taken.shape or not sent.shape:
            raise ValueError(f"parts: an array of shape {sent.shape}, and these keys need {taken.shape} and one dimension more")
        part = _words.part(self._layout, first, sent.shape[-1])
        return self._run(constants.SHERWOOD_SETRANGE, taken, sent, None, True, None, stream, **part)

    # --- the arrays of a cache -------------------------------------------------------------------
    def run_many(self, operation: str, keys: Any, values: Any = None, *, scores: Any = None,
                 want: Union[str, tuple[str, ...]] = ()) -> CacheResult:
        """Carries out any operation by its name, with the arrays of a cache, and waits. `want` names results: "previous",
        "found", "scores", "not_admitted" and "evicted"."""
        wanted = {want} if isinstance(want, str) else set(want)
        if operation not in OPERATIONS or wanted - {"previous", "found", "scores", "not_admitted", "evicted"}:
            raise ValueError(f"run_many: the operation {operation!r} or a result of {sorted(wanted)} does not exist")
        taken, layout, held = self._take(keys), self._layout, []
        kind, shape = taken.kind, taken.shape + self._layout.value_shape

        def room(name: str, of: tuple[int, ...], dtype: np.dtype[Any] = _U64) -> Optional[Taken]:
            if name not in wanted:
                return None
            held.append(kind.made(kind.empty(of, dtype, taken.array, None)))
            return held[-1]

        sent = None
        if values is not None:
            sent = self._checked(kind.values(values, shape, layout.value_dtype, taken.array, None), layout.value_dtype, shape, "values")
        given = None if scores is None else self._checked(scores, _U64, taken.shape, "scores")
        out, bits = room("scores", taken.shape), kind.bits(taken, None) if "not_admitted" in wanted else None
        evicted = (room("evicted", (taken.size,), layout.key_dtype),
                   room("evicted", (taken.size, *layout.value_shape), layout.value_dtype), room("evicted", (taken.size,)))
        details, count = self._cache(given, out, bits, *evicted)
        previous = room("previous", shape, layout.value_dtype)
        mask = self._run(OPERATIONS[operation], taken, sent, previous, "found" in wanted, None, None, **details)
        turned = None if bits is None else kind.spread(bits.array, taken.size, taken.shape, None, None)
        gone = [None if array is None else array.array[:count()] for array in evicted]
        return CacheResult(None if previous is None else previous.array, mask, None if out is None else out.array, turned, *gone)

    # --- parts of the calls ----------------------------------------------------------------------
    def _checked(self, given: Any, dtype: np.dtype[Any], shape: tuple[int, ...], what: str) -> Taken:
        taken = take(given, dtype, self._ordinal, what)
        if taken.shape != shape:
            raise ValueError(f"{what}: an array of shape {taken.shape}, and these keys need {shape}")
        return taken

    def _cache(self, *arrays: Optional[Taken]) -> tuple[dict[str, Any], Any]:
        """Returns struct sherwood_cache as a detail, if there is any array, and a function for the number of evicted entries."""
        if not any(arrays):
            return {}, lambda: 0
        cache = ffi.new("struct sherwood_cache *", (ffi.sizeof("struct sherwood_cache"),
                                                    *(0 if array is None else array.pointer for array in arrays)))
        return {"cache": cache}, lambda: int(cache.evicted_count)

    def _times(self, keys: Any, ttl: Span, expire_at: Span, ttl_ms: Any, expire_at_ms: Any, keep_ttl: bool) -> dict[str, Any]:
        """Returns struct sherwood_times as a detail, or no detail."""
        if sum(given is not None for given in (ttl, expire_at, ttl_ms, expire_at_ms, keep_ttl or None)) > 1:
            raise ValueError("ttl, expire_at, ttl_ms, expire_at_ms and keep_ttl: give at most one of them")
        each = ttl_ms if ttl_ms is not None else expire_at_ms
        if each is None:
            said = _times.said(ttl, expire_at, keep_ttl, ())
            if not said:
                return {}
            return {"times": ffi.new("struct sherwood_times *", (ffi.sizeof("struct sherwood_times"), said["when"],
                                                                 said.get("time_ms", 0), 0))}
        held = self._checked(each, _U64, self._take(keys).shape, "ttl_ms" if ttl_ms is not None else "expire_at_ms")
        when = constants.SHERWOOD_IN if ttl_ms is not None else constants.SHERWOOD_AT
        return {"times": ffi.new("struct sherwood_times *", (ffi.sizeof("struct sherwood_times"), when, 0, held.pointer)),
                "held": (held,)}
