# SPDX-License-Identifier: MIT
"""An online store for Feast: `pip install sherwood[feast]`.

    online_store:
        type: sherwood.feast.SherwoodOnlineStore
        address: unix:/run/sherwood/sherwood.sock

The server has keys of 64 bits and an engine that evicts nothing. Where its values are integers of 64 bits, features are
numbers, and each is a key of its own (_feast_numbers.py). Where they are rows, an entity is one row, and features are of any
type (_feast_rows.py). README.md says what follows from it.
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
    """What feature_store.yaml may say; each is an argument of sherwood.connect."""

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
        """The client; the first call connects."""
        if self._client is None:
            said = config.online_store
            client = connect(said.address, stripes=said.stripes, timeout=said.timeout, username=said.username,
                             password_file=said.password_file, tls_ca=said.tls_ca)
            server = client.server
            fits = server.value_bytes == 8 if server.value_format == "integer" else (
                server.value_format == "fixed" and server.value_bytes >= BYTES_MIN)
            if server.engine == "cache" or server.key_bytes != 8 or not fits:
                client.close()
                raise Refused(f"{said.address}: the engine is {server.engine}, with keys of {server.key_bytes} bytes and"
                              f" values of {server.value_bytes} ({server.value_format}): an online store needs one that"
                              " evicts nothing, and integers of 8 bytes (sherwoodd --key-bits 64) or rows"
                              " (sherwoodd --value-bytes 1024)")
            self._client = client
        return self._client

    def _view(self, config: RepoConfig, table: Any, names: Optional[Sequence[str]] = None) -> Union[Numbers, Rows]:
        """A view as it lies in this server. Refuses features that it does not hold."""
        client = self._connect(config)
        view = View(config, table, names)
        return Numbers(client, view) if client.server.value_format == "integer" else Rows(client, view)

    @property
    def async_supported(self) -> SupportedAsyncMethods:
        return SupportedAsyncMethods(read=True, write=True)

    @staticmethod
    def _parts(view: Union[Numbers, Rows], data: list[Written]) -> Iterator[tuple[int, list[Written]]]:
        """What is written at once: how many rows are done then, and the last one of each entity among these."""
        for begin in range(0, len(data), view.rows_a_frame):
            rows = data[begin: begin + view.rows_a_frame]
            yield len(rows), list({row[0].SerializeToString(deterministic=True): row for row in rows}.values())

    def online_write_batch(self, config: RepoConfig, table: Any, data: list[Written],
                           progress: Optional[Callable[[int], Any]]) -> None:
        """Stores rows, whole ones: a reader sees a row as it was before or as it is now, except that in a table of integers
        features that become null do so a moment earlier. Of rows of one entity the last one stays."""
        client, view = self._connect(config), self._view(config, table)
        for count, rows in self._parts(view, data):
            carry_out(client, view.write(rows))
            if progress is not None:
                progress(count)

    async def online_write_batch_async(self, config: RepoConfig, table: Any, data: list[Written],
                                       progress: Optional[Callable[[int], Any]]) -> None:
        """The same, and the event loop goes on meanwhile."""
        client, view = self._connect(config), self._view(config, table)
        for count, rows in self._parts(view, data):
            await carry_out_async(client, view.write(rows))
            if progress is not None:
                progress(count)

    def online_read(self, config: RepoConfig, table: Any, entity_keys: Sequence[EntityKeyProto],
                    requested_features: Optional[list[str]] = None) -> list[Row]:
        """Reads rows, each as it was at one moment."""
        client, view = self._connect(config), self._view(config, table, requested_features)
        rows: list[Row] = []
        for begin in range(0, len(entity_keys), view.rows_a_frame):
            rows += carry_out(client, view.read(entity_keys[begin: begin + view.rows_a_frame]))
        return rows

    async def online_read_async(self, config: RepoConfig, table: Any, entity_keys: Sequence[EntityKeyProto],
                                requested_features: Optional[list[str]] = None) -> list[Row]:
        """The same, and the event loop goes on meanwhile."""
        client, view = self._connect(config), self._view(config, table, requested_features)
        rows: list[Row] = []
        for begin in range(0, len(entity_keys), view.rows_a_frame):
            rows += await carry_out_async(client, view.read(entity_keys[begin: begin + view.rows_a_frame]))
        return rows

    def update(self, config: RepoConfig, tables_to_delete: Sequence[Any], tables_to_keep: Sequence[Any],
               entities_to_delete: Sequence[Any], entities_to_keep: Sequence[Any], partial: bool) -> None:
        """Refuses views whose features the server does not hold. The rows of a view that is deleted are not
        found any more; they take room until they are written again, or the server is flushed."""
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
