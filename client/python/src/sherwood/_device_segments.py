# SPDX-License-Identifier: MIT
"""Reads of several tables by one call of a Device."""

from __future__ import annotations

from typing import Any, NamedTuple

from ._arrays import one_number
from ._device_arrays import Kind, Taken
from ._device_library import ffi
from ._errors import Refused
from ._facts import Layout
from ._native import lib as constants

_CALL_BYTES = ffi.sizeof("struct sherwood_cuda_call")
_AFTER, _IN_ORDER = 1, 2  # enum sherwood_cuda_when


class Part(NamedTuple):
    """The arrays for one part of a call."""

    layout: Layout
    table: int  # of struct sherwood_cuda_call
    keys: Taken
    values: Taken
    made: Any  # for found bytes, or None

    def result(self, default: Any, fills: bool, stream: Any) -> Any:
        """Returns what get_many returns."""
        kind, values = self.keys.kind, self.values.array
        if self.made is None:
            return values
        mask = kind.whole(self.made.array, self.keys.size, self.keys.shape, None, stream)
        if fills:
            kind.fill(values, mask, one_number(default, self.layout.value_dtype, "default", signed=True), stream)
        return values if default is not None else (values, mask)


class Segments:
    """The call, for Device."""

    _lib: Any

    def get_segments(self, parts: Any, *, default: Any = None, stream: Any = None) -> list[Any]:
        """Reads several tables with the requests in flight together.

        parts: pairs (table, keys). A table is a name or a number as text, which needs a request more, a Device that `table` returned,
        or None for the table of this Device. Returns a list with what get_many returns for each part: (values, found), or with `default`,
        a number, the values. The parts have no order among each other.
        """
        reads = getattr(self._lib, "sherwood_cuda_reads", None)
        if reads is None:
            raise Refused("get_segments: this libsherwood-cuda has no sherwood_cuda_reads: install a later one")
        fills = default is not None and default != 0
        made = [self._part(table, keys, default is None or fills, stream) for table, keys in parts]
        kinds = {type(part.keys.kind) for part in made}
        if len(kinds) > 1:
            raise TypeError("get_segments: the keys are arrays of several libraries: make a call for each")
        if not made:
            return []
        keys = made[0].keys
        kind: Kind = keys.kind
        when, number = (_AFTER, kind.current(keys.array)) if stream is None else (_IN_ORDER, kind.number(stream))
        calls = ffi.new("struct sherwood_cuda_call[]", len(made))
        for call, part in zip(calls, made):
            call.size, call.operation, call.table, call.when, call.stream = _CALL_BYTES, constants.SHERWOOD_GET, part.table, when, number
            call.keys, call.count, call.previous = part.keys.pointer, part.keys.size, part.values.pointer
            if part.made is not None:
                call.flags, call.found = constants.SHERWOOD_FOUND_BYTES, part.made.pointer
        with self._use() as pointer:
            if stream is not None:
                self.warn_of_switches()
                for part in made:
                    for array in (part.keys, part.values, part.made):
                        if array is not None:
                            kind.keep(array.array, stream)
            self._raise(reads(pointer, calls, len(made)))
        return [part.result(default, fills, stream) for part in made]

    def _part(self, table: Any, keys: Any, wants: bool, stream: Any) -> Part:
        own: Any = self
        device: Any = self if table is None else self.table(table) if isinstance(table, str) else table
        if not hasattr(device, "operator_tables"):
            raise TypeError(f"get_segments: {table!r:.40} is no table: give a name, a Device that table() returned, or None for this table")
        if device._attached is not own._attached:
            raise Refused("get_segments: the table is one of another Device: open it by table() of this one")
        device._use()
        taken = device._take(keys)
        made = taken.kind.bytes(taken, None, stream) if wants else None
        return Part(device._layout, device._details.get("table", 0), taken, device._into(None, taken, "values", stream), made)

    def _use(self) -> Any:
        raise NotImplementedError

    def _raise(self, code: int) -> None:
        raise NotImplementedError

    def table(self, name: str, value_dtype: Any = None) -> Any:
        raise NotImplementedError

    def warn_of_switches(self) -> None:
        raise NotImplementedError
