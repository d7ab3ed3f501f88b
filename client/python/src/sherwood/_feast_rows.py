# SPDX-License-Identifier: MIT
"""Rows of Feast in a table of rows: an entity is one of them, with features of any type.

A row begins with its mark, its time in microseconds, and the number of bytes that follow. These are, for each feature
that is not null: the number of its column, the length of its value, and the value as a ValueProto. The rest is zeros.
"""

from __future__ import annotations

import secrets
import struct
from typing import Any, Sequence

import numpy as np
from feast.protos.feast.types.EntityKey_pb2 import EntityKey as EntityKeyProto
from feast.protos.feast.types.Value_pb2 import Value as ValueProto

from ._client import Client
from ._errors import Refused
from ._feast_view import Array, Call, Row, Steps, View, Written, is_null, microseconds, moment_of

_HEAD, _FEATURE = struct.Struct("<QqQ"), struct.Struct("<QI")  # mark, time, bytes; column, bytes
BYTES_MIN = _HEAD.size
_ROWS_A_CALL = 4096


def _kind_of(feature: Any) -> str:
    return str(feature.dtype.to_value_type().name)


class Rows:
    """A view whose features are of any type."""

    def __init__(self, client: Client, view: View) -> None:
        self.client, self.view = client, view
        self.columns = view.columns(_kind_of)
        self.rows_a_frame = max(1, min(client.server.frame_ops_max - 1, _ROWS_A_CALL))

    def _encode(self, row: Written, mark: int) -> bytes:
        features = bytearray()
        for name, column in zip(self.view.names, self.columns):
            value = row[1].get(name)
            if value is not None and not is_null(value):
                text = value.SerializeToString()
                features += _FEATURE.pack(column, len(text)) + text
        size, room = _HEAD.size + len(features), self.client.server.value_bytes
        if size > room:
            raise Refused(f"a row of {self.view.title} takes {size} bytes, and the rows of this server have {room}: start sherwoodd"
                          f" with --value-bytes of at least {size} (at most 4096)")
        return _HEAD.pack(mark, microseconds(row[2]), len(features)) + bytes(features)

    def _table(self, rows: Sequence[bytes]) -> Array:
        size = self.client.server.value_bytes
        table = np.frombuffer(b"".join(row.ljust(size, b"\0") for row in rows), np.uint8).reshape(len(rows), size)
        return table.view(self.client.value_dtype)

    def write(self, rows: Sequence[Written]) -> Steps[None]:
        """Writes rows. A reader sees each row whole."""
        era = self._era((yield Call("get_many", (self.view.era_key,)))[0])
        keys, marks = self.view.entities([row[0] for row in rows])
        encoded = [self._encode(row, (int(mark) + era) % 2**64) for row, mark in zip(rows, marks)]
        yield Call("set_many", (keys, self._table(encoded)))

    @staticmethod
    def _era(rows: Array) -> int:
        """Returns the era in the row of the view. An absent row is zeros."""
        return int(_HEAD.unpack_from(rows[0].tobytes())[0])

    def read(self, entities: Sequence[EntityKeyProto]) -> Steps[list[Row]]:
        """Reads rows. Each is as it was at one moment."""
        keys, marks = self.view.entities(entities)
        values, found = yield Call("get_many", (np.append(self.view.era_key, keys),))
        era = self._era(values)
        return [self._decode(value.tobytes(), (int(mark) + era) % 2**64) if there else (None, None)
                for value, there, mark in zip(values[1:], found[1:], marks)]

    def _decode(self, data: bytes, mark: int) -> Row:
        marked, time, size = _HEAD.unpack_from(data)
        if marked != mark or size > len(data) - _HEAD.size:
            return None, None
        stored, at, end = {}, _HEAD.size, _HEAD.size + size
        while at < end:
            column, length = _FEATURE.unpack_from(data, at)
            at += _FEATURE.size + length
            stored[column] = data[at - length: at]
        return moment_of(time), {name: ValueProto.FromString(stored[column]) if column in stored else ValueProto()
                                 for name, column in zip(self.view.names, self.columns)}

    def end_era(self) -> Steps[None]:
        """Makes every mark of the view wrong, so that no row is found."""
        yield Call("set_many", (self.view.era_key, self._table([_HEAD.pack(secrets.randbits(64), 0, 0)])))
