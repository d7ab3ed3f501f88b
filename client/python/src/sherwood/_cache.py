# SPDX-License-Identifier: MIT
"""Calls of a cache: scores, evicted entries, and all operations by name."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple, Optional

import numpy as np

from . import _arrays, _keys, _plans
from ._errors import Refused
from ._facts import Layout
from ._link import Link
from ._native import ffi, lib

# Operations on parts, pairs and times are missing here: their calls have other arguments.
OPERATIONS: dict[str, int] = {
    name[len("SHERWOOD_"):].lower(): number
    for number, name in sorted(ffi.typeof("enum sherwood_operation").elements.items())
    if not (lib.sw_operation_has_pairs(number) or lib.sw_operation_has_range(number)
            or lib.sw_operation_needs_expiry(number))
}
_WANTS = {"previous", "found", "scores", "not_admitted", "evicted"}


class Result(NamedTuple):
    """Results of run_many. A result that `want` does not name is None."""

    previous: Optional[np.ndarray[Any, Any]]  # values before the operation; of get, the values
    found: Optional[np.ndarray[Any, Any]]  # bool: the key was present before
    scores: Optional[np.ndarray[Any, Any]]  # uint64, after the operation; 0: the key is absent then
    not_admitted: Optional[np.ndarray[Any, Any]]  # bool: a new key that a full cache turned away
    evicted_keys: Optional[np.ndarray[Any, Any]]  # in no particular order; the next two arrays belong to these keys
    evicted_values: Optional[np.ndarray[Any, Any]]
    evicted_scores: Optional[np.ndarray[Any, Any]]
    overflows: int  # keys that kept their value, or a number of it, because it cannot take the operand


def run_many(link: Link, layout: Layout, operation: str, keys: Any, values: Any, scores: Any,
             want: Any) -> Result:
    """Carries out any operation of libsherwood, with the arrays of a cache."""
    if operation not in OPERATIONS:
        raise ValueError(f"operation {operation!r} does not exist: give one of {', '.join(OPERATIONS)}")
    wanted = {want} if isinstance(want, str) else set(want)
    if wanted - _WANTS:
        raise ValueError(f"want: {sorted(wanted - _WANTS)} do not exist: give some of {', '.join(sorted(_WANTS))}")
    if lib.sw_operation_of_integers(OPERATIONS[operation]):
        _plans.refuse_floats(layout, operation)
    taken = _keys.take(keys, layout)
    shape, count = taken.shape, taken.flat.size
    value_shape = shape + layout.value_shape
    sent = None
    if lib.sw_operation_has_operands(OPERATIONS[operation]) and not (values is None and layout.value_type == "none"):
        sent = _plans.values_of(layout, values, value_shape, "values")
    elif values is not None:
        raise Refused(f"{operation} takes no values: leave values out")
    given = None if scores is None else _arrays.take_values(scores, np.dtype(np.uint64), shape, "scores")

    counts = bool(lib.swpy_may_keep(OPERATIONS[operation]))  # in rows, whose replies count no overflows
    needed = wanted | {"previous", "found"} if counts else wanted

    def room(name: str, dtype: Any, of: tuple[int, ...]) -> Optional[np.ndarray[Any, Any]]:
        return np.empty(of, dtype) if name in needed else None

    words = ((count + 63) // 64,)
    previous = room("previous", layout.value_dtype, value_shape)
    found = room("found", np.uint64, words)
    not_admitted = room("not_admitted", np.uint64, words)
    out = room("scores", np.uint64, shape)
    evicted = (room("evicted", layout.key_dtype, (count,)),
               room("evicted", layout.value_dtype, (count, *layout.value_shape)),
               room("evicted", np.uint64, (count,)))
    buffers = [ffi.NULL if array is None else ffi.from_buffer(array)
               for array in (taken.flat, sent, previous, found, given, out, not_admitted, *evicted)]
    cache = ffi.NULL
    if given is not None or wanted & {"scores", "not_admitted", "evicted"}:
        cache = ffi.new("struct sherwood_cache *")
        cache.size = ffi.sizeof("struct sherwood_cache")
        cache.scores, cache.scores_out, cache.not_admitted = (
            ffi.cast("uint64_t *", buffer) for buffer in buffers[4:7])
        cache.evicted_keys, cache.evicted_values = buffers[7], buffers[8]
        cache.evicted_scores = ffi.cast("uint64_t *", buffers[9])
    # The server uses arrays in regions in place, even after the connection was lost.
    homes = {taken.home, None if sent is None else taken.regions.of(sent, 1)}
    memories = tuple(home for home in homes if home is not None)
    with link.lock:
        pointer = link.use()
        link.begin_flight(memories)
        code = lib.sherwood_run_cache(pointer, OPERATIONS[operation], buffers[0], buffers[1], count,
                                      buffers[2], ffi.cast("uint64_t *", buffers[3]), cache)
        link.end_flight(memories, code)
        link.check(code)
        overflows = int(lib.sherwood_overflows(pointer))
    if counts:
        overflows = int(lib.swpy_kept(OPERATIONS[operation], ffi.cast("uint64_t *", buffers[3]), buffers[2], buffers[1], count,
                                      layout.value_bytes))
    gone = int(cache.evicted_count) if cache else 0
    keys_out, values_out, scores_out = (None if array is None else array[:gone] for array in evicted)
    return Result(previous if "previous" in wanted else None, _bools(found, shape) if "found" in wanted else None, out,
                  _bools(not_admitted, shape), keys_out, values_out, scores_out, overflows)


def _bools(bits: Optional[np.ndarray[Any, Any]],
           shape: tuple[int, ...]) -> Optional[np.ndarray[Any, Any]]:
    if bits is None:
        return None
    made = np.empty(shape, np.bool_)
    lib.swpy_spread(ffi.cast("uint64_t *", ffi.from_buffer(bits)), made.size,
                    ffi.from_buffer(made), ffi.NULL, 0, ffi.NULL)
    return made


def number(given: Any, what: str) -> int:
    """Returns a score or an epoch."""
    found = operator.index(given)
    if not 0 <= found < 2**64:
        raise ValueError(f"{what}: {found} is not within 0 to {2**64 - 1}")
    return found


def span(scores: Any) -> tuple[int, int]:
    """Returns the ends of a range of scores."""
    if len(scores) != 2:
        raise ValueError(f"scores: {len(scores)} numbers: give the lowest and the highest score")
    return number(scores[0], "the lowest score"), number(scores[1], "the highest score")


def of_range(link: Link, call: Any, scores: tuple[int, int]) -> int:
    """Carries out a call on the entries in a range of scores. Returns their number."""
    (low, high), matched = span(scores), ffi.new("uint64_t *")
    with link.lock:
        link.check(call(link.use(), low, high, matched))
    return int(matched[0])
