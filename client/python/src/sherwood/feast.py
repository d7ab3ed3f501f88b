# SPDX-License-Identifier: MIT
"""An online store for Feast.

    online_store:
        type: sherwood.feast.SherwoodOnlineStore
        address: unix:/run/sherwood/sherwood.sock

The server needs keys of 64 bits and an engine that evicts nothing. If its values are integers of 64 bits, features are
numbers, and each has its own key (_feast_numbers.py). If its values are rows, an entity is one row, and features have any
type (_feast_rows.py). The README of the package lists the limits.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, Literal, Optional, Sequence, Union

from feast.infra.online_stores.online_store import OnlineStore
from feast.infra.supported_async_methods import SupportedAsyncMethods
from feast.protos.feast.types.EntityKey_pb2 import EntityKey as EntityKeyProto
from feast.repo_config import FeastConfigBaseModel, RepoConfig
from pydantic import StrictStr

from ._client import Client, connect
from ._errors import Refused
from ._feast_numbers import Numbers
from ._feast_rows import BYTES_MIN, Rows
from ._feast_view import Row, View, Written, carry_out, carry_out_async


class SherwoodOnlineStoreConfig(FeastConfigBaseModel):
    """The settings in feature_store.yaml. Each is an argument of sherwood.connect."""

    type: Literal["sherwood.feast.SherwoodOnlineStore"] = "sherwood.feast.SherwoodOnlineStore"
    address: StrictStr = "127.0.0.1:7379"
    stripes: int = 1
    timeout: float = 30.0
    username: Optional[StrictStr] = None
    password_file: Optional[StrictStr] = None
    tls_ca: Optional[StrictStr] = None


class SherwoodOnlineStore(OnlineStore):
    """Rows of a feature store, in the table of a Sherwood server."""

    _client: Optional[Client] = None

    def _connect(self, config: RepoConfig) -> Client:
        """Returns the client. The first call connects."""
        if self._client is None:
            said = config.online_store
            client = connect(said.address, stripes=said.stripes, timeout=said.timeout, username=said.username,
                             password_file=said.password_file, tls_ca=said.tls_ca)
            server = client.server
            fits = server.value_bytes == 8 if server.value_format == "integer" else (
                server.value_format == "fixed" and server.value_bytes >= BYTES_MIN)
            if server.engine == "cache" or server.key_bytes != 8 or not fits:
                client.close()
                raise Refused(f"{said.address}: the server has the engine {server.engine}, keys of {server.key_bytes} bytes and"
                              f" values of {server.value_bytes} bytes ({server.value_format}): an online store needs an"
                              " engine that evicts nothing, and integers of 8 bytes (sherwoodd --key-bits 64) or rows"
                              " (sherwoodd --value-bytes 1024)")
            self._client = client
        return self._client

    def _view(self, config: RepoConfig, table: Any, names: Optional[Sequence[str]] = None) -> Union[Numbers, Rows]:
        """Returns a view in the form of this server. Refuses features that the server cannot hold."""
        client = self._connect(config)
        view = View(config, table, names)
        return Numbers(client, view) if client.server.value_format == "integer" else Rows(client, view)

    @property
    def async_supported(self) -> SupportedAsyncMethods:
        return SupportedAsyncMethods(read=True, write=True)

    @staticmethod
    def _parts(view: Union[Numbers, Rows], data: list[Written]) -> Iterator[tuple[int, list[Written]]]:
        """Yields the parts of a batch: the number of rows, and the last row of each entity among them."""
        for begin in range(0, len(data), view.rows_a_frame):
            rows = data[begin: begin + view.rows_a_frame]
            yield len(rows), list({row[0].SerializeToString(deterministic=True): row for row in rows}.values())

    def online_write_batch(self, config: RepoConfig, table: Any, data: list[Written],
                           progress: Optional[Callable[[int], Any]]) -> None:
        """Stores whole rows: a reader sees the old row or the new one. In a table of integers, features that become null
        do so a moment earlier. If the batch has several rows of an entity, the last one stays."""
        client, view = self._connect(config), self._view(config, table)
        for count, rows in self._parts(view, data):
            carry_out(client, view.write(rows))
            if progress is not None:
                progress(count)

    async def online_write_batch_async(self, config: RepoConfig, table: Any, data: list[Written],
                                       progress: Optional[Callable[[int], Any]]) -> None:
        """The same without blocking the event loop."""
        client, view = self._connect(config), self._view(config, table)
        for count, rows in self._parts(view, data):
            await carry_out_async(client, view.write(rows))
            if progress is not None:
                progress(count)

    def online_read(self, config: RepoConfig, table: Any, entity_keys: Sequence[EntityKeyProto],
                    requested_features: Optional[list[str]] = None) -> list[Row]:
        """Reads rows. Each row is as it was at one moment."""
        client, view = self._connect(config), self._view(config, table, requested_features)
        rows: list[Row] = []
        for begin in range(0, len(entity_keys), view.rows_a_frame):
            rows += carry_out(client, view.read(entity_keys[begin: begin + view.rows_a_frame]))
        return rows

    async def online_read_async(self, config: RepoConfig, table: Any, entity_keys: Sequence[EntityKeyProto],
                                requested_features: Optional[list[str]] = None) -> list[Row]:
        """The same without blocking the event loop."""
        client, view = self._connect(config), self._view(config, table, requested_features)
        rows: list[Row] = []
        for begin in range(0, len(entity_keys), view.rows_a_frame):
            rows += await carry_out_async(client, view.read(entity_keys[begin: begin + view.rows_a_frame]))
        return rows

    def update(self, config: RepoConfig, tables_to_delete: Sequence[Any], tables_to_keep: Sequence[Any],
               entities_to_delete: Sequence[Any], entities_to_keep: Sequence[Any], partial: bool) -> None:
        """Refuses views with features that the server cannot hold. The rows of a deleted view are no longer found. They
        occupy room until they are written again or the server is flushed."""
        for table in tables_to_keep:
            self._view(config, table)
        self._end_era(config, tables_to_delete)

    def teardown(self, config: RepoConfig, tables: Sequence[Any], entities: Sequence[Any]) -> None:
        """Deletes the rows of these views, as update does, and disconnects."""
        self._end_era(config, tables)
        if self._client is not None:
            self._client.close()
            self._client = None

    def _end_era(self, config: RepoConfig, tables: Sequence[Any]) -> None:
        for table in tables:
            carry_out(self._connect(config), self._view(config, table, []).end_era())
