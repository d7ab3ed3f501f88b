# SPDX-License-Identifier: MIT
"""An online store for Feast.

    online_store:
        type: sherwood.feast.SherwoodOnlineStore
        address: unix:/run/sherwood/sherwood.sock

The table needs keys of 64 bits and an engine that evicts nothing. If its values are integers of 64 bits, features are
numbers, and each has its own key (_feast_numbers.py). If its values are rows, an entity is one row, and features have any
type (_feast_rows.py). All views are in the default table of the server, or each has a table of its own (table_per_view). The
README of the package lists the limits.
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
from ._feast_view import Row, View, Written, carry_out, carry_out_async, table_of
from ._native import lib


class SherwoodOnlineStoreConfig(FeastConfigBaseModel):
    """The settings in feature_store.yaml: arguments of sherwood.connect, and where the rows are.

    table_per_view: each view has a table of its own, which `feast apply` makes and drops. table_options: the options of the tables
    that it makes, as those of create_table ({value_bytes: 1024}); else they are those of the default table.
    """

    type: Literal["sherwood.feast.SherwoodOnlineStore"] = "sherwood.feast.SherwoodOnlineStore"
    address: StrictStr = "127.0.0.1:7379"
    stripes: int = 1
    timeout: float = 30.0
    username: Optional[StrictStr] = None
    password_file: Optional[StrictStr] = None
    tls_ca: Optional[StrictStr] = None
    table_per_view: bool = False
    table_options: dict[str, Union[int, str]] = {}


class SherwoodOnlineStore(OnlineStore):
    """Rows of a feature store, in tables of a Sherwood server."""

    def __init__(self) -> None:
        super().__init__()
        self._clients: dict[Optional[str], Client] = {}  # by the name of the table; None: the default table

    def _connect(self, config: RepoConfig, table: Optional[str]) -> Client:
        """Returns the client of a table. The first call connects."""
        if table not in self._clients:
            said = config.online_store
            self._clients[table] = connect(said.address, table=table, stripes=said.stripes, timeout=said.timeout,
                                           username=said.username, password_file=said.password_file, tls_ca=said.tls_ca)
        return self._clients[table]

    @staticmethod
    def _table(config: RepoConfig, view: View) -> Optional[str]:
        return table_of(view.name) if config.online_store.table_per_view else None

    def _forget(self, table: Optional[str]) -> None:
        """Closes the client of a table."""
        client = self._clients.pop(table, None)
        if client is not None:
            client.close()

    def _view(self, config: RepoConfig, table: Any, names: Optional[Sequence[str]] = None) -> Union[Numbers, Rows]:
        """Returns a view in the form of its table. Refuses features that the table cannot hold."""
        view = View(config, table, names)
        place, said = self._table(config, view), config.online_store
        try:
            client = self._connect(config, place)
        except Refused as error:
            if error.code != lib.SHERWOOD_E_TABLE:
                raise
            raise Refused(f"{said.address}: the view {view.title} has no table {place}: feast apply makes it") from error
        server = client.server
        fits = server.value_bytes == 8 if server.value_format == "integer" else (
            server.value_format == "fixed" and server.value_bytes >= BYTES_MIN)
        if server.engine == "cache" or server.key_bytes != 8 or not fits:
            self._forget(place)
            raise Refused(f"{said.address}: the {'server' if place is None else 'table ' + place} has the engine {server.engine}, keys"
                          f" of {server.key_bytes} bytes and values of {server.value_bytes} bytes ({server.value_format}): an online"
                          " store needs an engine that evicts nothing, and integers of 8 bytes (--key-bits 64) or rows (--value-bytes"
                          f" 1024): set {'these options of sherwoodd' if place is None else 'table_options'}")
        return Numbers(client, view) if server.value_format == "integer" else Rows(client, view)

    def _again(self, config: RepoConfig, view: Union[Numbers, Rows], error: Refused) -> None:
        """After a refusal, forgets the client if the table of a view was dropped: the next call opens the table of its name.
        Raises other errors."""
        place = self._table(config, view.view)
        if place is None or error.code != lib.SHERWOOD_E_TABLE:
            raise error
        self._forget(place)

    def _carry_out(self, config: RepoConfig, table: Any, names: Optional[Sequence[str]], steps: str, *arguments: Any) -> Any:
        """Makes the calls of a method of a view, once more if its table was dropped and made again."""
        view = self._view(config, table, names)
        try:
            return carry_out(view.client, getattr(view, steps)(*arguments))
        except Refused as error:
            self._again(config, view, error)
        view = self._view(config, table, names)
        return carry_out(view.client, getattr(view, steps)(*arguments))

    async def _carry_out_async(self, config: RepoConfig, table: Any, names: Optional[Sequence[str]], steps: str, *arguments: Any) -> Any:
        view = self._view(config, table, names)
        try:
            return await carry_out_async(view.client, getattr(view, steps)(*arguments))
        except Refused as error:
            self._again(config, view, error)
        view = self._view(config, table, names)
        return await carry_out_async(view.client, getattr(view, steps)(*arguments))

    @property
    def async_supported(self) -> SupportedAsyncMethods:
        return SupportedAsyncMethods(read=True, write=True)

    @staticmethod
    def _some(view: Union[Numbers, Rows], entities: Sequence[EntityKeyProto]) -> Iterator[Sequence[EntityKeyProto]]:
        """Yields the parts of a read."""
        for begin in range(0, len(entities), view.rows_a_frame):
            yield entities[begin: begin + view.rows_a_frame]

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
        for count, rows in self._parts(self._view(config, table), data):
            self._carry_out(config, table, None, "write", rows)
            if progress is not None:
                progress(count)

    async def online_write_batch_async(self, config: RepoConfig, table: Any, data: list[Written],
                                       progress: Optional[Callable[[int], Any]]) -> None:
        """The same without blocking the event loop."""
        for count, rows in self._parts(self._view(config, table), data):
            await self._carry_out_async(config, table, None, "write", rows)
            if progress is not None:
                progress(count)

    def online_read(self, config: RepoConfig, table: Any, entity_keys: Sequence[EntityKeyProto],
                    requested_features: Optional[list[str]] = None) -> list[Row]:
        """Reads rows. Each row is as it was at one moment."""
        rows: list[Row] = []
        for part in self._some(self._view(config, table, requested_features), entity_keys):
            rows += self._carry_out(config, table, requested_features, "read", part)
        return rows

    async def online_read_async(self, config: RepoConfig, table: Any, entity_keys: Sequence[EntityKeyProto],
                                requested_features: Optional[list[str]] = None) -> list[Row]:
        """The same without blocking the event loop."""
        rows: list[Row] = []
        for part in self._some(self._view(config, table, requested_features), entity_keys):
            rows += await self._carry_out_async(config, table, requested_features, "read", part)
        return rows

    def update(self, config: RepoConfig, tables_to_delete: Sequence[Any], tables_to_keep: Sequence[Any],
               entities_to_delete: Sequence[Any], entities_to_keep: Sequence[Any], partial: bool) -> None:
        """Makes the tables of views, if they have tables of their own. Refuses views with features that the table cannot hold.
        Drops the table of a deleted view. In the default table its rows are no longer found. They occupy room until they are
        written again or the server is flushed."""
        for table in tables_to_keep:
            place = self._table(config, View(config, table, []))
            if place is not None:
                self._connect(config, None).create_table(place, exist_ok=True, **config.online_store.table_options)
            self._view(config, table)
        self._delete(config, tables_to_delete)

    def teardown(self, config: RepoConfig, tables: Sequence[Any], entities: Sequence[Any]) -> None:
        """Deletes these views, as update does, and disconnects."""
        self._delete(config, tables)
        for place in list(self._clients):
            self._forget(place)

    def _delete(self, config: RepoConfig, tables: Sequence[Any]) -> None:
        for table in tables:
            place = self._table(config, View(config, table, []))
            if place is None:
                self._carry_out(config, table, [], "end_era")
            else:
                self._forget(place)
                self._connect(config, None).drop_table(place, missing_ok=True)
