# SPDX-License-Identifier: MIT
"""Plans: what a call sends, and the arrays for its reply. All checks happen before the client sends anything.

Blocking calls, `submit` and `aio` use the same plans. They differ in who carries a plan out.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Optional

import numpy as np

from . import _arrays, _keys, _times
from ._errors import Refused
from ._facts import Layout
from ._native import ffi, lib
from ._regions import Memory

Array = Any  # a numpy array, or a torch tensor if the keys are one

_BOOL = np.dtype(np.bool_)


class Plan:
    """One operation on many keys. Its arrays are contiguous. `result` converts them to what the call returns."""

    __slots__ = ("operation", "keys", "values", "previous", "found", "fill", "count", "result", "shared", "bits",
                 "details", "times")

    def __init__(self, operation: int, keys: _arrays.Taken, result: Callable[[], Any], *,
                 values: Optional[np.ndarray[Any, Any]] = None,
                 previous: Optional[np.ndarray[Any, Any]] = None,
                 found: Optional[np.ndarray[Any, Any]] = None,
                 fill: Optional[np.ndarray[Any, Any]] = None,
                 times: Optional[np.ndarray[Any, Any]] = None, **details: Any) -> None:
        self.operation = operation
        self.keys = keys.flat
        self.values = values
        self.previous = previous
        self.found = found
        self.fill = fill
        self.count = self.keys.size
        self.result = result
        # struct swpy_details of a call with more arguments than keys and values, or with operands of another width.
        self.details = None
        self.times = times  # the time of each key, in ms, if they differ; kept alive because the details have its address
        if details and self.count > 0:
            if times is not None:
                details["times_ms"] = ffi.from_buffer("uint64_t[]", times)
            self.details = ffi.new("struct swpy_details *", {
                "operand_bytes": 0 if values is None else values.nbytes // self.count,
                "answer_bytes": 0 if previous is None else previous.nbytes // self.count, **details})
        # The regions of the arrays, if every array lies in one. Then the found bits also get memory in a region.
        # libsherwood sends operations that a ring does not support as frames.
        by_ring = lib.sw_operation_takes_device(operation) and not details
        self.shared = _shared(keys, values, previous) if by_ring else ()
        self.bits: Optional[np.ndarray[Any, Any]] = None
        if self.shared and (found is not None or fill is not None):
            self.bits = keys.empty(((self.count + 63) // 64,), np.dtype("u8"))


def _shared(keys: _arrays.Taken, *arrays: Optional[np.ndarray[Any, Any]]) -> tuple[Memory, ...]:
    if not keys.regions.memories or keys.flat.size == 0:
        return ()
    homes = {keys.home}
    for array in arrays:
        if array is not None:
            homes.add(keys.regions.of(array, math.gcd(array.nbytes // keys.flat.size, 16)))
    return () if None in homes else tuple(home for home in homes if home is not None)


def nothing() -> None:
    return None


def _values_shape(layout: Layout, keys: _arrays.Taken) -> tuple[int, ...]:
    return keys.shape + layout.value_shape


def values_of(layout: Layout, given: Any, shape: tuple[int, ...], what: str,
              keys: Optional[_arrays.Taken] = None) -> np.ndarray[Any, Any]:
    """Returns the values to send. Packs byte strings into the records of the server."""
    if layout.value_dtype.names is not None and isinstance(given, (list, tuple)):
        packed = pack(layout, given, what)
        if packed.shape != shape:
            raise ValueError(f"{what}: {len(packed)} byte strings, and these keys need an array of shape {shape}")
        return packed
    return _arrays.take_values(given, layout.value_dtype, shape, what, keys)


def pack(layout: Layout, strings: Any, what: str = "values") -> np.ndarray[Any, Any]:
    """Returns byte strings as records of `length` and `bytes`."""
    if layout.value_dtype.names is None:
        raise Refused(f"pack: this server's values are {layout.value_dtype}, not byte strings with a length")
    room = layout.value_bytes - 4
    packed = np.zeros(len(strings), layout.value_dtype)
    for i, string in enumerate(strings):
        if isinstance(string, str) or not hasattr(string, "__len__"):
            remedy = "encode it, as in text.encode()" if isinstance(string, str) else "give bytes"
            where = what if what == "default" else f"{what}: element {i}"  # a default is one byte string
            raise TypeError(f"{where}, {string!r:.40}, is no byte string: {remedy}")
        if len(string) > room:
            where = what if what == "default" else f"{what}: byte string {i}"
            raise ValueError(f"{where} has {len(string)} bytes, and the server stores at most {room}")
        packed["length"][i] = len(string)
        packed["bytes"][i, : len(string)] = np.frombuffer(string, np.uint8)
    return packed


def unpack(records: np.ndarray[Any, Any]) -> list[bytes]:
    """Returns the byte strings of records of `length` and `bytes`."""
    flat = records.reshape(-1)
    return [row[:length].tobytes() for row, length in zip(flat["bytes"], flat["length"].tolist())]


def get(layout: Layout, keys: Any, default: Any, out: Any, found: Any) -> Plan:
    """The plan of get_many: (values, found), or with a default and without `found` only the values."""
    taken = _keys.take(keys, layout)
    shape = _values_shape(layout, taken)
    into = _arrays.receive(out, layout.value_dtype, shape, "out", taken)
    mask = None
    if found is not None or default is None:
        mask = _arrays.receive_mask(found, taken)
        if np.may_share_memory(mask, into):
            raise ValueError("found: the array overlaps out: give separate memory")
    fill = None
    if default is not None:
        fill = values_of(layout, default if layout.value_dtype.names is None else [default],
                         layout.value_shape if layout.value_dtype.names is None else (1,), "default")
        # The server returns zeros for absent keys, so a default of zeros needs no bitmap.
        fill = fill if np.count_nonzero(fill.reshape(-1).view("u1")) else None

    def result() -> Any:
        values = _arrays.give(into, out, taken.is_torch)
        return values if mask is None else (values, _arrays.give(mask, found, taken.is_torch))

    return Plan(lib.SHERWOOD_GET, taken, result, previous=into, found=mask, fill=fill)


_ONLY = {None: lib.SHERWOOD_SET, "absent": lib.SHERWOOD_SET_ABSENT,
         "present": lib.SHERWOOD_SET_PRESENT}


def store(layout: Layout, keys: Any, values: Any, only: Optional[str], previous: bool, *, ttl: Any = None,
          expire_at: Any = None, keep_ttl: bool = False) -> Plan:
    """The plan of set_many: None; (old, was) with `previous`; or, with `only`, which keys were written."""
    if layout.value_type == "none" and np.size(values) != 0:
        raise Refused("set_many: keys of this server have no values: use insert_many(keys)")
    if only not in _ONLY:
        raise ValueError(f'only is {only!r}: give "absent", "present" or None')
    if only == "absent" and keep_ttl:
        raise ValueError('keep_ttl: with only="absent" the call writes only new keys, which have no time to keep: leave one'
                         " of the two out")

    def times(shape: tuple[int, ...]) -> dict[str, Any]:
        return _times.said(ttl, expire_at, keep_ttl, shape)

    if only is None or previous:
        return write(layout, _ONLY[only], keys, values, previous, times)
    taken = _keys.take(keys, layout)
    sent = values_of(layout, values, _values_shape(layout, taken), "values", taken)
    mask = np.empty(taken.shape, _BOOL)

    def result() -> Any:
        written = np.logical_not(mask, out=mask) if only == "absent" else mask
        return _arrays.give(written, None, taken.is_torch)

    return Plan(_ONLY[only], taken, result, values=sent, found=mask, **times(taken.shape))


def _no_times(_: tuple[int, ...]) -> dict[str, Any]:
    return {}


def write(layout: Layout, operation: int, keys: Any, values: Any, previous: bool,
          times: Callable[[tuple[int, ...]], dict[str, Any]] = _no_times) -> Plan:
    """A plan that writes: None, or the old values and which keys had one. `times` returns the arguments for expiry times."""
    taken = _keys.take(keys, layout)
    shape = _values_shape(layout, taken)
    sent = values_of(layout, values, shape, "values", taken)
    if not previous:
        return Plan(operation, taken, nothing, values=sent, **times(taken.shape))
    old = taken.empty(shape, layout.value_dtype)
    was = np.empty(taken.shape, _BOOL)

    def result() -> Any:
        return (_arrays.give(old, None, taken.is_torch), _arrays.give(was, None, taken.is_torch))

    return Plan(operation, taken, result, values=sent, previous=old, found=was, **times(taken.shape))


SUMS = ("the server adds up rows of float32, float64, float16, uint32, uint64 and int64, and uint16 if it stores bf16; this client's"
        " value_dtype is {}")


def refuse_floats(layout: Layout, what: str) -> None:
    """Refuses a call that calculates with integers, if those of the server are other numbers for this client."""
    if layout.is_integer and layout.value_dtype.kind not in "iu":
        raise Refused(f"{what}: the server calculates with integers, and this client's value_dtype is {layout.value_dtype}: connect"
                      " without value_dtype")


def combining(layout: Layout, word: str) -> int:
    """The operation of add_many, min_many or max_many. In rows, value_dtype is the type of the numbers that are added up."""
    if layout.value_type == "none":
        raise Refused(f"{word}_many: keys of this server have no values: use insert_many(keys)")
    if not layout.is_integer:
        if word != "add":
            raise Refused(f"{word}_many: this server's values are rows, which only add_many and add_rows combine")
        if not layout.adds:
            raise Refused(f"add_many: {SUMS.format(layout.value_dtype)}")
        return int(getattr(lib, f"SHERWOOD_ADD_{layout.adds.upper()}"))
    refuse_floats(layout, f"{word}_many")
    return int({"add": lib.SHERWOOD_SUM, "min": lib.SHERWOOD_MIN, "max": lib.SHERWOOD_MAX}[word])


def combine(layout: Layout, word: str, keys: Any, values: Any, previous: bool) -> Plan:
    """The plan of add_many, min_many or max_many."""
    return write(layout, combining(layout, word), keys, values, previous)


def bits(layout: Layout, word: str, keys: Any, values: Any, previous: bool) -> Plan:
    """The plan of or_many, xor_many, and_many or andnot_many."""
    return write(layout, getattr(lib, f"SHERWOOD_{word.upper()}"), keys, values, previous)


def compare_and_set(layout: Layout, keys: Any, old: Any, new: Any) -> Plan:
    """The plan of cas_many: which keys had the old value, and have the new one."""
    taken = _keys.take(keys, layout)
    shape = _values_shape(layout, taken)
    pairs = taken.empty((taken.flat.size, 2, *layout.value_shape), layout.value_dtype)
    for at, (given, what) in enumerate(((old, "old"), (new, "new"))):
        pairs[:, at] = values_of(layout, given, shape, what).reshape(-1, *layout.value_shape)
    mask = np.empty(taken.shape, _BOOL)
    return Plan(lib.SHERWOOD_CAS, taken, lambda: _arrays.give(mask, None, taken.is_torch), values=pairs, found=mask,
                scale=1)


def assign(layout: Layout, keys: Any) -> Plan:
    """The plan of assign_many: (ids, new)."""
    taken = _keys.take(keys, layout)
    ids = taken.empty(_values_shape(layout, taken), layout.value_dtype)
    mask = np.empty(taken.shape, _BOOL)

    def result() -> Any:
        new = np.logical_not(mask, out=mask)
        return (_arrays.give(ids, None, taken.is_torch), _arrays.give(new, None, taken.is_torch))

    return Plan(lib.SHERWOOD_ASSIGN, taken, result, previous=ids, found=mask)


def refuse_values(layout: Layout) -> None:
    """Raises Refused if keys have values."""
    if layout.value_type != "none":
        raise Refused("insert_many: keys of this server have values: use set_many(keys, values, only=\"absent\"), or start it with"
                      " --value-type none")


def insert(layout: Layout, keys: Any) -> Plan:
    """The plan of insert_many: which keys are new."""
    refuse_values(layout)
    taken = _keys.take(keys, layout)
    mask = np.empty(taken.shape, _BOOL)
    return Plan(lib.SHERWOOD_SET_ABSENT, taken, lambda: _arrays.give(np.logical_not(mask, out=mask), None, taken.is_torch),
                found=mask)


def ask(layout: Layout, operation: int, keys: Any, found: Any) -> Plan:
    """The plan of delete_many and contains_many: which keys were present."""
    taken = _keys.take(keys, layout)
    mask = _arrays.receive_mask(found, taken)
    return Plan(operation, taken, lambda: _arrays.give(mask, found, taken.is_torch), found=mask)
