# SPDX-License-Identifier: MIT
"""Reads of several tables by one call."""

from __future__ import annotations

import bisect
import itertools
from typing import Any, Optional

import numpy as np

from . import _plans
from ._engine import SPLIT_KEYS, Done, Work
from ._errors import Refused
from ._facts import Layout, layout_of, server_of
from ._link import Link, address_of, c_text
from ._native import ffi, lib


Part = tuple[str, Optional[str], Any]  # the name or number of a table, the dtype of its values that the caller chose, and keys


def _name_of(table: Any, link: Link) -> tuple[str, Optional[str]]:
    """Returns the name or number of a table, and the dtype of its values that the caller chose."""
    if table is None or isinstance(table, str):
        return "0" if table is None else table, None
    other = getattr(table, "_link", None)
    if not isinstance(other, Link):
        raise TypeError(f"get_segments: {table!r:.40} is no table: give a name, a client that c.table() returned, or None for the"
                        " default table")
    if other.options.address != link.options.address:
        raise Refused(f"get_segments: {table!r:.80} is of another server than {link.options.address}: read it by a call of its own")
    return other.options.table or "0", other.options.value_dtype


def _open(link: Link, name: str, dtype: Optional[str]) -> tuple[Any, Layout]:
    """Returns the handle of a table on the connections of the link, and its arrays. The caller holds the lock."""
    handles = link.tables.handles
    if name not in handles:
        out = ffi.new("struct sherwood **")
        link.check(lib.sherwood_table_open(link.use(), c_text(name, "table"), out))
        handles[name] = out[0]
    return handles[name], layout_of(server_of(handles[name]), dtype, link.regions)


def _bits_of(plan: _plans.Plan) -> Any:
    """Returns the memory for the found bits of a plan, or None."""
    needs_bits = plan.found is not None or plan.fill is not None
    return plan.bits if plan.bits is not None or not needs_bits else np.empty((plan.count + 63) // 64, "u8")


def _set(segment: Any, handle: Any, plan: _plans.Plan, bits: Any, first: int, count: int) -> None:
    """Sets a segment: `count` keys of a plan, from key `first` on, which is a multiple of 64."""
    segment.table, segment.count = handle, count
    arrays = [ffi.NULL if array is None else ffi.cast("char *", address_of(array)) + array.nbytes // plan.count * first
              for array in (plan.keys, plan.previous)] if plan.count > 0 else [ffi.NULL] * 2
    segment.keys, segment.values = arrays
    segment.found = ffi.NULL if bits is None else ffi.from_buffer("uint64_t[]", bits) + first // 64


def _spread(plan: _plans.Plan, bits: Any) -> Any:
    """Writes the found bits of a plan where its caller wants them. Returns the result."""
    if bits is not None and plan.count > 0:
        lib.swpy_spread(ffi.from_buffer("uint64_t[]", bits), plan.count, address_of(plan.found), address_of(plan.previous),
                        plan.previous.nbytes // plan.count if plan.previous is not None else 0, address_of(plan.fill))
    return plan.result()


def _run(link: Link, handles: list[Any], plans: list[_plans.Plan], bits: list[Any]) -> None:
    segments = ffi.new("struct sherwood_segment[]", len(plans))
    for segment, handle, plan, words in zip(segments, handles, plans, bits):
        _set(segment, handle, plan, words, 0, plan.count)
    shared = tuple({memory for plan in plans for memory in plan.shared})
    code = link.share(shared)
    if code == lib.SHERWOOD_OK:
        link.begin_flight(shared)
        code = lib.sherwood_get_segments(link.use(), segments, len(plans))
        link.end_flight(shared, code)
    if code == lib.SHERWOOD_E_TABLE:  # the next call opens the tables of these names again
        error = link.error(code)
        link.tables.close()
        raise error
    link.check(code)


def named(link: Link, parts: Any) -> list[Part]:
    """Returns the parts with the names of their tables."""
    pairs = list(parts)
    for i, part in enumerate(pairs):
        if not isinstance(part, (tuple, list)) or len(part) != 2:
            raise TypeError(f"get_segments: part {i} is not a pair: give (table, keys)")
    return [(*_name_of(table, link), keys) for table, keys in pairs]


def get(link: Link, parts: list[Part], default: Any) -> list[Any]:
    """Reads the keys of each part from its table."""
    with link.lock:
        link.use()  # it may close a handle that lost its connections, and those of its tables
        opened = [_open(link, name, dtype) for name, dtype, _ in parts]
        plans = [_plans.get(layout, keys, default, None, None) for (_, layout), (_, _, keys) in zip(opened, parts)]
        bits = [_bits_of(plan) for plan in plans]
        if any(plan.count > 0 for plan in plans):
            _run(link, [handle for handle, _ in opened], plans, bits)
        return [_spread(plan, words) for plan, words in zip(plans, bits)]


class Read(Work):
    """A read of several tables by `submit` or `aio`. The handle of the engine opens the tables, so their facts, and with them
    the arrays, are known only then. All keys are numbered through: part i has those from ends[i - 1] up to ends[i]."""

    __slots__ = ("_parts", "_default", "_layouts", "_handles", "_closings", "_plans", "_bits", "_ends")

    def __init__(self, parts: list[Part], default: Any, done: Done) -> None:
        super().__init__(lib.SHERWOOD_GET, 0, (), done)
        self._parts = parts
        self._default = default
        self._layouts: Optional[list[Layout]] = None
        self._handles: list[Any] = []
        self._closings = -1  # of the tables of the link, when the handles were opened
        self._plans: list[_plans.Plan] = []
        self._bits: list[Any] = []
        self._ends: list[int] = []

    def is_ready(self, link: Link) -> bool:
        return self._closings == link.tables.closings and not link.tables.are_stale

    def open(self, link: Link) -> None:
        try:
            if link.tables.are_stale:
                link.tables.close()
            opened = [_open(link, name, dtype) for name, dtype, _ in self._parts]
            layouts = [layout for _, layout in opened]
            if self._layouts is None:
                self._plan(layouts)
            elif layouts != self._layouts:
                raise Refused("get_segments: another table with other values took the place of one during the call: call again")
            self._layouts, self._handles, self._closings = layouts, [handle for handle, _ in opened], link.tables.closings
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def _plan(self, layouts: list[Layout]) -> None:
        self._plans = [_plans.get(layout, keys, self._default, None, None) for layout, (_, _, keys) in zip(layouts, self._parts)]
        self._bits = [_bits_of(plan) for plan in self._plans]
        self._ends = list(itertools.accumulate(plan.count for plan in self._plans))
        self.count = self._ends[-1] if self._ends else 0

    def _cut(self, at: int, left: int, most: int) -> list[tuple[int, int, int]]:
        """Returns the segments of a frame of at most `most` keys: (part, first key, keys)."""
        cuts: list[tuple[int, int, int]] = []
        room = min(left, most)
        while room > 0 and len(cuts) < lib.SHERWOOD_SEGMENTS_MAX:
            part = bisect.bisect_right(self._ends, at)
            whole = min(self._ends[part] - at, left)
            keys = whole if whole <= room else room // SPLIT_KEYS * SPLIT_KEYS
            if keys == 0:
                break
            cuts.append((part, at - self._ends[part] + self._plans[part].count, keys))
            at, left, room = at + keys, left - keys, room - keys
        return cuts

    def fill(self, request: Any, pointer: Any, at: int, left: int) -> Any:
        cuts = self._cut(at, left, lib.sherwood_server(pointer).frame_ops_max)
        segments = ffi.new("struct sherwood_segment[]", len(cuts))
        for segment, (part, first, keys) in zip(segments, cuts):
            _set(segment, self._handles[part], self._plans[part], self._bits[part], first, keys)
        request.count = sum(keys for _, _, keys in cuts)
        return segments, ffi.new("char[]", lib.SHERWOOD_SEGMENTS_ROOM)

    def submit(self, request: Any, pointer: Any, held: Any) -> int:
        segments, room = held
        return int(lib.sherwood_submit_segments(pointer, request, segments, len(segments), room))

    def result(self) -> list[Any]:
        return [_spread(plan, words) for plan, words in zip(self._plans, self._bits)]
