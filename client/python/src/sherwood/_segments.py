# SPDX-License-Identifier: MIT
"""Reads of several tables by one call."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from . import _plans
from ._errors import Refused
from ._facts import Layout, layout_of, server_of
from ._link import Link, address_of, c_text
from ._native import ffi, lib


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


def _fill_in(segment: Any, handle: Any, plan: _plans.Plan) -> Any:
    """Sets a segment. Returns the memory for its found bits, or None."""
    needs_bits = plan.found is not None or plan.fill is not None
    bits = plan.bits if plan.bits is not None or not needs_bits else np.empty((plan.count + 63) // 64, "u8")
    segment.table, segment.count = handle, plan.count
    segment.keys, segment.values = address_of(plan.keys), address_of(plan.previous)
    segment.found = ffi.NULL if bits is None else ffi.from_buffer("uint64_t[]", bits)
    return bits


def _run(link: Link, handles: list[Any], plans: list[_plans.Plan]) -> None:
    segments = ffi.new("struct sherwood_segment[]", len(plans))
    bits = [_fill_in(segments[i], handles[i], plan) for i, plan in enumerate(plans)]
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
    for plan, words in zip(plans, bits):
        if words is not None and plan.count > 0:
            lib.swpy_spread(ffi.from_buffer("uint64_t[]", words), plan.count, address_of(plan.found), address_of(plan.previous),
                            plan.previous.nbytes // plan.count if plan.previous is not None else 0, address_of(plan.fill))


def get(link: Link, parts: Any, default: Any) -> list[Any]:
    """Reads the keys of each part from its table."""
    named = [(*_name_of(table, link), keys) for table, keys in parts]
    with link.lock:
        opened = [_open(link, name, dtype) for name, dtype, _ in named]
        plans = [_plans.get(layout, keys, default, None, None) for (_, layout), (_, _, keys) in zip(opened, named)]
        if any(plan.count > 0 for plan in plans):
            _run(link, [handle for handle, _ in opened], plans)
        return [plan.result() for plan in plans]
