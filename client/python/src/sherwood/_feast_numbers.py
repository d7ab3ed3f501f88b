# SPDX-License-Identifier: MIT
"""Rows of Feast in a table of integers: a key for the mark of each row, for its time, and for each feature."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

import numpy as np
from feast.protos.feast.types.EntityKey_pb2 import EntityKey as EntityKeyProto
from feast.protos.feast.types.Value_pb2 import Value as ValueProto

from ._client import Client
from ._errors import Refused
from ._feast_view import Array, Call, Row, Steps, View, Written, hashed, is_null, microseconds, moment_of


class _Kind(NamedTuple):
    """The form of a Feast type in 64 bits."""

    field: str  # a field of ValueProto
    dtype: str
    wide: str  # the type of 64 bits that the server stores


_KINDS = {"INT32": _Kind("int32_val", "i4", "i8"), "INT64": _Kind("int64_val", "i8", "i8"),
          "FLOAT": _Kind("float_val", "f4", "f8"), "DOUBLE": _Kind("double_val", "f8", "f8"),
          "BOOL": _Kind("bool_val", "?", "i8"), "UNIX_TIMESTAMP": _Kind("unix_timestamp_val", "i8", "i8")}


def _encode(values: list[ValueProto], kind: _Kind, name: str) -> tuple[Array, Array]:
    """Returns a column of values as 64 bits each, and which of them are null."""
    null = np.array([is_null(value) for value in values], bool)
    wrong = {value.WhichOneof("val") for value in values} - {None, "null_val", kind.field}
    if wrong:
        raise Refused(f"feature {name}: a value is of the type {wrong.pop()}, and the feature needs {kind.field}")
    column = np.array([getattr(value, kind.field) for value in values], kind.dtype)
    return column.astype(kind.wide).view(np.uint64), null


class Numbers:
    """A view whose features are numbers."""

    def __init__(self, client: Client, view: View) -> None:
        self.client, self.view = client, view
        self.kinds = [self._kind_of(view.features[name]) for name in view.names]
        columns = view.columns(lambda feature: self._kind_of(feature).field)
        self.columns = np.array([hashed("mark"), hashed("time"), *columns], np.uint64)
        self.rows_a_frame = max(1, (client.server.frame_ops_max - 1) // len(self.columns))

    def _kind_of(self, feature: Any) -> _Kind:
        kind = _KINDS.get(feature.dtype.to_value_type().name)
        if kind is None:
            raise Refused(f"feature {feature.name} of {self.view.title} has the type {feature.dtype}: the values of this server are"
                          " integers, which hold Int32, Int64, Float32, Float64, Bool and UnixTimestamp. Rows hold"
                          " every type: start sherwoodd with --value-bytes 1024")
        return kind

    def _keys(self, entities: Sequence[EntityKeyProto]) -> tuple[Array, Array]:
        """Returns a row of keys for each entity, and its mark without the era."""
        keys, marks = self.view.entities(entities)
        return keys[:, None] + self.columns, marks

    def write(self, rows: Sequence[Written]) -> Steps[None]:
        """Writes rows in one frame. Features that become null do so a moment earlier."""
        era = (yield Call("get_many", (self.view.era_key,)))[0][0]
        keys, marks = self._keys([row[0] for row in rows])
        values, keep = np.empty(keys.shape, np.uint64), np.ones(keys.shape, bool)
        values[:, 0] = marks + era
        values[:, 1] = np.array([microseconds(row[2]) for row in rows], np.int64).view(np.uint64)
        absent = ValueProto()
        for i, (name, kind) in enumerate(zip(self.view.names, self.kinds), 2):
            values[:, i], null = _encode([row[1].get(name, absent) for row in rows], kind, name)
            keep[:, i] = ~null
        if not keep.all():
            yield Call("delete_many", (keys[~keep],))
        yield Call("set_many", (keys[keep], values[keep]))  # one frame

    def read(self, entities: Sequence[EntityKeyProto]) -> Steps[list[Row]]:
        """Reads rows as they were at one moment."""
        keys, marks = self._keys(entities)
        values, found = yield Call("get_many", (np.append(self.view.era_key, keys),))  # one frame
        era, values, found = values[0], values[1:].reshape(keys.shape), found[1:].reshape(keys.shape)
        is_row = found[:, 0] & (values[:, 0] == marks + era)
        columns = [values[:, i].view(kind.wide).astype(kind.dtype).tolist() for i, kind in enumerate(self.kinds, 2)]
        fields = [kind.field for kind in self.kinds]
        times, there = values[:, 1].view(np.int64).tolist(), found.tolist()
        rows: list[Row] = []
        for i, ok in enumerate(is_row.tolist()):
            if not ok:
                rows.append((None, None))
                continue
            row = {}
            for name, field, column, has in zip(self.view.names, fields, columns, there[i][2:]):
                row[name] = ValueProto(**{field: column[i]}) if has else ValueProto()
            rows.append((moment_of(times[i]), row))
        return rows

    def end_era(self) -> Steps[None]:
        """Makes every mark of the view wrong, so that no row is found."""
        yield Call("add_many", (self.view.era_key, 1))
