# SPDX-License-Identifier: MIT
"""An online store for Feast whose features are numbers: `pip install sherwood[feast]`.

    online_store:
        type: sherwood.feast.SherwoodOnlineStore
        address: unix:/run/sherwood/sherwood.sock

The server has keys and values of 64 bits, and an engine that evicts nothing: robin_hood or cuckoo. Each
feature of an entity is a key of its own, and so is each row's mark; README.md says what follows from it.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Literal, NamedTuple, Optional, Sequence

import numpy as np
from feast.infra.key_encoding_utils import serialize_entity_key
from feast.infra.online_stores.helpers import compute_table_id
from feast.infra.online_stores.online_store import OnlineStore
from feast.protos.feast.types.EntityKey_pb2 import EntityKey as EntityKeyProto
from feast.protos.feast.types.Value_pb2 import Value as ValueProto
from feast.repo_config import FeastConfigBaseModel, RepoConfig
from pydantic import StrictStr

from ._client import Client, connect
from ._errors import Refused

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_Row = tuple[Optional[datetime], Optional[dict[str, ValueProto]]]


class _Kind(NamedTuple):
    """How a type of Feast lies in 64 bits."""

    field: str  # of ValueProto
    dtype: str
    wide: str  # of 64 bits, to which it is widened


_KINDS = {"INT32": _Kind("int32_val", "i4", "i8"), "INT64": _Kind("int64_val", "i8", "i8"),
          "FLOAT": _Kind("float_val", "f4", "f8"), "DOUBLE": _Kind("double_val", "f8", "f8"),
          "BOOL": _Kind("bool_val", "?", "i8"), "UNIX_TIMESTAMP": _Kind("unix_timestamp_val", "i8", "i8")}


class SherwoodOnlineStoreConfig(FeastConfigBaseModel):
    """What feature_store.yaml may say; each is an argument of sherwood.connect."""

    type: Literal["sherwood.feast.SherwoodOnlineStore"] = "sherwood.feast.SherwoodOnlineStore"
    address: StrictStr = "127.0.0.1:7379"
    stripes: int = 1
    timeout: float = 30.0
    username: Optional[StrictStr] = None
    password_file: Optional[StrictStr] = None
    tls_ca: Optional[StrictStr] = None


def _hashes(text: bytes) -> tuple[int, int]:
    """Two numbers of 64 bits that nobody can choose a text for."""
    digest = hashlib.blake2b(text, digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


class _View:
    """The keys of a feature view."""

    def __init__(self, config: RepoConfig, table: Any, names: Optional[list[str]] = None) -> None:
        versions = config.registry.enable_online_feature_view_versioning
        self.name = compute_table_id(config.project, table, versions)
        self.version = config.entity_key_serialization_version
        kinds = {feature.name: self._kind_of(table, feature) for feature in table.features}
        self.names = list(kinds) if names is None else names
        self.kinds = [kinds[name] for name in self.names]
        # Of a row: the mark, the time, and each feature. A column that changes its type is another one.
        texts = ["mark", "time"] + [f"feature {kind.field} {name}" for name, kind in zip(self.names, self.kinds)]
        self.columns = np.array([_hashes(text.encode())[0] for text in texts], np.uint64)
        self.era_key = np.array([_hashes(f"era of {self.name}".encode())[0]], np.uint64)

    @staticmethod
    def _kind_of(table: Any, feature: Any) -> _Kind:
        kind = _KINDS.get(feature.dtype.to_value_type().name)
        if kind is None:
            raise Refused(f"feature {feature.name} of {table.name} is of type {feature.dtype}: this online store has"
                          " numbers alone, Int32, Int64, Float32, Float64, Bool and UnixTimestamp")
        return kind

    def rows(self, entities: Sequence[EntityKeyProto]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The keys of each entity, a row each, and what its mark has to be, but for the era."""
        hashes = np.empty((len(entities), 2), np.uint64)
        name = self.name.encode() + b"\0"
        for i, entity in enumerate(entities):
            hashes[i] = _hashes(name + serialize_entity_key(entity, self.version))
        return hashes[:, :1] + self.columns, hashes[:, 1]


def _encode(values: list[ValueProto], kind: _Kind, name: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A column of values as 64 bits each, and which of them are null."""
    fields = [value.WhichOneof("val") for value in values]
    null = np.array([field is None or field == "null_val" for field in fields], bool)
    wrong = {field for field in fields if field not in (None, "null_val", kind.field)}
    if wrong:
        raise Refused(f"feature {name}: a value of {wrong.pop()}, and its type has {kind.field}")
    column = np.array([getattr(value, kind.field) for value in values], kind.dtype)
    return column.astype(kind.wide).view(np.uint64), null


def _microseconds(moment: datetime) -> int:
    aware = moment.replace(tzinfo=timezone.utc) if moment.tzinfo is None else moment
    return (aware - _EPOCH) // timedelta(microseconds=1)


class SherwoodOnlineStore(OnlineStore):
    """Numbers of a feature store, in the table of a Sherwood server."""

    _client: Optional[Client] = None

    def _connect(self, config: RepoConfig) -> Client:
        """The client; the first call connects."""
        if self._client is None:
            said = config.online_store
            client = connect(said.address, stripes=said.stripes, timeout=said.timeout, username=said.username,
                             password_file=said.password_file, tls_ca=said.tls_ca)
            server = client.server
            if (server.engine == "cache" or server.key_bytes != 8 or server.value_bytes != 8
                    or server.value_format != "integer"):
                client.close()
                raise Refused(f"{said.address}: the engine is {server.engine}, with keys of {server.key_bytes} bytes and"
                              f" values of {server.value_bytes} ({server.value_format}): an online store needs one that"
                              " evicts nothing, and integers of 8 bytes (sherwoodd --key-bits 64)")
            self._client = client
        return self._client

    def online_write_batch(self, config: RepoConfig, table: Any,
                           data: list[tuple[EntityKeyProto, dict[str, ValueProto], datetime, Optional[datetime]]],
                           progress: Optional[Callable[[int], Any]]) -> None:
        """Stores rows, whole ones: a reader sees a row as it was before or as it is now, except that
        features that become null do so a moment earlier. Of rows of one entity the last one stays."""
        client, view = self._connect(config), _View(config, table)
        era = client.get_many(view.era_key, default=0)[0]
        size = max(1, client.server.frame_ops_max // len(view.columns))
        for begin in range(0, len(data), size):
            part = {row[0].SerializeToString(deterministic=True): row for row in data[begin: begin + size]}
            self._write(client, view, era, list(part.values()))
            if progress is not None:
                progress(len(data[begin: begin + size]))

    @staticmethod
    def _write(client: Client, view: _View, era: Any, rows: list[Any]) -> None:
        keys, marks = view.rows([row[0] for row in rows])
        values, keep = np.empty(keys.shape, np.uint64), np.ones(keys.shape, bool)
        values[:, 0] = marks + era
        values[:, 1] = np.array([_microseconds(row[2]) for row in rows], np.int64).view(np.uint64)
        absent = ValueProto()
        for i, (name, kind) in enumerate(zip(view.names, view.kinds), 2):
            values[:, i], null = _encode([row[1].get(name, absent) for row in rows], kind, name)
            keep[:, i] = ~null
        if not keep.all():
            client.delete_many(keys[~keep])
        client.set_many(keys[keep], values[keep])  # one frame

    def online_read(self, config: RepoConfig, table: Any, entity_keys: list[EntityKeyProto],
                    requested_features: Optional[list[str]] = None) -> list[_Row]:
        """Reads rows, each as it was at one moment."""
        client, view = self._connect(config), _View(config, table, requested_features)
        size = max(1, (client.server.frame_ops_max - 1) // len(view.columns))
        rows: list[_Row] = []
        for begin in range(0, len(entity_keys), size):
            rows += self._read(client, view, entity_keys[begin: begin + size])
        return rows

    @staticmethod
    def _read(client: Client, view: _View, entities: list[EntityKeyProto]) -> list[_Row]:
        keys, marks = view.rows(entities)
        values, found = client.get_many(np.append(view.era_key, keys))  # one frame
        era, values, found = values[0], values[1:].reshape(keys.shape), found[1:].reshape(keys.shape)
        is_row = found[:, 0] & (values[:, 0] == marks + era)
        columns = [values[:, i].view(kind.wide).astype(kind.dtype).tolist() for i, kind in enumerate(view.kinds, 2)]
        fields = [kind.field for kind in view.kinds]
        times, there = values[:, 1].view(np.int64).tolist(), found.tolist()
        rows: list[_Row] = []
        for i, ok in enumerate(is_row.tolist()):
            if not ok:
                rows.append((None, None))
                continue
            row = {}
            for name, field, column, has in zip(view.names, fields, columns, there[i][2:]):
                row[name] = ValueProto(**{field: column[i]}) if has else ValueProto()
            rows.append((_EPOCH + timedelta(microseconds=times[i]), row))
        return rows

    def update(self, config: RepoConfig, tables_to_delete: Sequence[Any], tables_to_keep: Sequence[Any],
               entities_to_delete: Sequence[Any], entities_to_keep: Sequence[Any], partial: bool) -> None:
        """Refuses views with features that are not numbers. The rows of a view that is deleted are not
        found any more; they take room until they are written again, or the server is flushed."""
        for table in tables_to_keep:
            _View(config, table)
        self._end_era(config, tables_to_delete)

    def teardown(self, config: RepoConfig, tables: Sequence[Any], entities: Sequence[Any]) -> None:
        """Deletes the rows of these views, as update does, and disconnects."""
        self._end_era(config, tables)
        if self._client is not None:
            self._client.close()
            self._client = None

    def _end_era(self, config: RepoConfig, tables: Sequence[Any]) -> None:
        """Every mark of these views is wrong from now on."""
        for table in tables:
            self._connect(config).add_many(_View(config, table).era_key, 1)
