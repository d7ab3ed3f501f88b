# SPDX-License-Identifier: MIT
"""A feature view in the online store: the keys of its entities, and the contents of their rows."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Generator, NamedTuple, Optional, Sequence, TypeVar, Union

import numpy as np
from feast.infra.key_encoding_utils import serialize_entity_key
from feast.infra.online_stores.helpers import compute_table_id
from feast.protos.feast.types.EntityKey_pb2 import EntityKey as EntityKeyProto
from feast.protos.feast.types.Value_pb2 import Value as ValueProto
from feast.repo_config import RepoConfig

from ._client import Client

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
Row = tuple[Optional[datetime], Optional[dict[str, ValueProto]]]
Written = tuple[EntityKeyProto, dict[str, ValueProto], datetime, Optional[datetime]]
Array = np.ndarray[Any, Any]
T = TypeVar("T")


class Call(NamedTuple):
    """A call of a client."""

    name: str
    arguments: tuple[Any, ...]


Steps = Generator[Call, Any, T]  # yields calls, receives their results, and returns the final result


def carry_out(client: Client, steps: Steps[T]) -> T:
    """Makes the calls."""
    result: Any = None
    try:
        while True:
            call = steps.send(result)
            result = getattr(client, call.name)(*call.arguments)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def carry_out_async(client: Client, steps: Steps[T]) -> T:
    """Makes the calls by client.aio, one after the other."""
    result: Any = None
    try:
        while True:
            call = steps.send(result)
            result = await getattr(client.aio, call.name)(*call.arguments)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def _hashes(text: bytes) -> tuple[int, int]:
    """Returns two numbers of 64 bits. Nobody can choose a text for given numbers."""
    digest = hashlib.blake2b(text, digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


def hashed(text: str) -> int:
    return _hashes(text.encode())[0]


def table_of(view_name: str) -> str:
    """Returns the name of the table of a view, which has at most 63 of some characters."""
    name = "feast." + view_name
    if re.fullmatch(r"[A-Za-z0-9_.:-]{1,63}", name):
        return name
    return f"{re.sub('[^A-Za-z0-9_.:-]', '_', name)[:46]}.{hashed(view_name):016x}"


def microseconds(moment: datetime) -> int:
    aware = moment.replace(tzinfo=timezone.utc) if moment.tzinfo is None else moment
    return (aware - _EPOCH) // timedelta(microseconds=1)


def moment_of(number: int) -> datetime:
    return _EPOCH + timedelta(microseconds=number)


def is_null(value: ValueProto) -> bool:
    return value.WhichOneof("val") in (None, "null_val")


class View:
    """A feature view: its name, the requested features, and its keys."""

    def __init__(self, config: RepoConfig, table: Any, names: Optional[Sequence[str]] = None) -> None:
        versions = config.registry.enable_online_feature_view_versioning
        self.name = compute_table_id(config.project, table, versions)
        self.version = config.entity_key_serialization_version
        self.title = table.name
        self.features = {feature.name: feature for feature in table.features}
        self.names = list(self.features) if names is None else list(names)
        self.era_key = np.array([hashed(f"era of {self.name}")], np.uint64)

    def columns(self, kind_of: Callable[[Any], Union[str, int]]) -> list[int]:
        """Returns a number for each feature. A feature that changes its type gets another one."""
        return [hashed(f"feature {kind_of(self.features[name])} {name}") for name in self.names]

    def entities(self, entities: Sequence[EntityKeyProto]) -> tuple[Array, Array]:
        """Returns the key of each entity, and its mark without the era."""
        hashes = np.empty((len(entities), 2), np.uint64)
        name = self.name.encode() + b"\0"
        for i, entity in enumerate(entities):
            hashes[i] = _hashes(name + serialize_entity_key(entity, self.version))
        return hashes[:, 0], hashes[:, 1]
