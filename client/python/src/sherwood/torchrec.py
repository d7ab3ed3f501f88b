# SPDX-License-Identifier: MIT
"""A managed collision module for TorchRec whose map of raw ids to rows is a table of ids on a server (--ids).

    from sherwood.torchrec import ManagedCollision
    users = ManagedCollision(sherwood.connect(address), 1_000_000)     # of a server with --ids 999999
    collection = ManagedCollisionCollection({"users": users}, configs)

No two raw ids share a row, except in a batch whose raw ids evict each other from a cache. Several trainers may use one map, and it
survives restarts with the server.
"""

from __future__ import annotations

import itertools
import weakref
from typing import Any, Callable, Optional

import torch
from torchrec.modules.mc_modules import ManagedCollisionModule
from torchrec.sparse.jagged_tensor import JaggedTensor

from ._client import Client
from ._device import Device
from ._errors import Refused
from .torch import Table

Features = dict[str, JaggedTensor]

_numbers = itertools.count(1)
_live: weakref.WeakValueDictionary[int, ManagedCollision] = weakref.WeakValueDictionary()


def _rows_of(number: int, raw: list[torch.Tensor]) -> list[torch.Tensor]:
    """Returns the rows of raw ids by the module with this number. Programs that torch.fx traces call this function."""
    module = _live.get(number)
    if module is None:
        raise Refused(f"the ManagedCollision {number} of this program no longer exists: keep a reference to it")
    return list(module._rows(torch.cat(raw)).split([len(part) for part in raw]))


torch.fx.wrap("_rows_of")


class ManagedCollision(ManagedCollisionModule):
    """Maps raw ids to the rows 0 .. size-1 of an embedding.

    In training a new raw id gets the lowest free row. In eval a raw id without a row gets the last row, size-1, which no raw id
    has: start the server with `--ids` of size - 1. If no row is free, the call raises Full: raise the size, give a `ttl`, or delete
    raw ids with `client.delete_many`. With `--engine cache` the raw id with the lowest score loses its row instead, and a raw id that
    the cache does not admit has the last row.

    Args:
        client: of the server, or of its table, with the ids.
        size: the rows of the embedding, `num_embeddings` of its config.
        gpu: `client.attach()`, for features on a GPU.
        ttl: seconds. A raw id that no training step has had for this time loses its row, which then is free for another one.
        input_size: raw ids are below it. TorchRec divides them among ranks by it.
        shard: for a sharded embedding, a function of (first, size) that returns the client of the rank with these rows, or
            (client, gpu). Each rank needs a server or a table of its own, with `--ids` of size - 1.
    """

    def __init__(self, client: Client, size: int, *, gpu: Optional[Device] = None, ttl: Optional[float] = None, input_size: int = 2**63 - 1,
                 shard: Optional[Callable[[int, int], Any]] = None, _first: int = 0, _segments: Optional[list[int]] = None,
                 _device: Optional[torch.device] = None) -> None:
        table = Table(client if gpu is None else gpu)
        segments = _segments or [_first, _first + size]
        super().__init__(device=_device or table.state.device, output_segments=segments)
        self._segments = segments
        self._client = client
        self._table = table
        self._size = size
        self._first = _first
        self._input_size = input_size
        self._ttl = ttl
        self._shard = shard
        self._new: Optional[torch.Tensor] = None
        self._begin()

    def _begin(self) -> None:
        self._number = next(_numbers)
        _live[self._number] = self

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._begin()

    def preprocess(self, features: Features) -> Features:
        """Returns the features: the server takes any raw id."""
        return features

    def profile(self, features: Features) -> Features:
        """Returns the features: the server counts no uses."""
        return features

    def forward(self, features: Features, mutate_miss_lengths: bool = True) -> Features:
        """Returns the features with rows for raw ids. Lengths stay, because each raw id has a row."""
        return self.remap(features)

    def remap(self, features: Features) -> Features:
        """Returns the features with rows for raw ids. All of them go to the server in one call."""
        rows = _rows_of(self._number, [feature.values() for feature in features.values()])
        return {name: JaggedTensor(values=rows[i], lengths=feature.lengths(), offsets=feature.offsets(),
                                   weights=feature.weights_or_none())
                for i, (name, feature) in enumerate(features.items())}

    def _rows(self, raw: torch.Tensor) -> torch.Tensor:
        """Returns the rows of raw ids."""
        if not self.training:
            known, found = self._table.lookup(raw, default=self._size - 1)
            self._check(known[found])
            return known + self._first
        rows, is_new = self._table.assign_(raw)
        if self._client._layout().is_cache:  # pylint: disable=protected-access
            admitted = rows != -1
            is_new = is_new & admitted
            self._check(rows[admitted])
            rows = torch.where(admitted, rows, self._size - 1)
        else:
            self._check(rows)
        if self._ttl is not None:
            self._client.expire_many(raw.cpu(), ttl=self._ttl)
        new = rows[is_new]
        if len(new) > 0:
            self._new = new if self._new is None else torch.cat((self._new, new)).unique()
        return rows + self._first

    def _check(self, rows: torch.Tensor) -> None:
        """Refuses rows that no raw id may have: the server has too many ids, or is none of ids."""
        last = self._size - 1
        wrong = rows[(rows < 0) | (rows >= last)]
        if len(wrong) > 0:
            raise Refused(f"ManagedCollision: a raw id has the row {int(wrong[0])} on the server, and raw ids have the rows 0 to"
                          f" {last - 1} of {self._size}: start the server with --ids {last}")

    def evict(self) -> Optional[torch.Tensor]:
        """Returns the rows that got a raw id since the last call, or None. TorchRec initializes these rows before it reads them.

        So a row that was freed by expiry, by eviction, or by another trainer's delete_many, begins anew with its next raw id.
        """
        new, self._new = self._new, None
        return None if new is None else new + self._first

    def output_size(self) -> int:
        """Returns the number of rows."""
        return self._size

    def input_size(self) -> int:
        """Returns the limit of raw ids."""
        return self._input_size

    def buckets(self) -> int:
        """Returns the number of parts that ranks divide the rows in."""
        return len(self._segments) - 1

    def open_slots(self) -> torch.Tensor:
        """Returns the number of rows without a raw id. The last row does not count."""
        return torch.tensor([self._size - 1 - len(self._client)], device=self.device)

    def get_extra_state(self) -> torch.Tensor:
        """Returns the checksum of the map, for the state_dict. Take it together with a snapshot of the server (SAVE).

        With a ttl there is none: raw ids lose their rows as time passes, and their times count in the checksum. Nor is there one with
        `--engine cache`: a start from the snapshot of a full cache drops some raw ids.
        """
        return self._checksum() if self._keeps() else torch.empty(0, dtype=torch.uint8)

    def _keeps(self) -> bool:
        """Returns whether raw ids keep their rows until they are deleted."""
        return self._ttl is None and not self._client._layout().is_cache  # pylint: disable=protected-access

    def _checksum(self) -> torch.Tensor:
        return torch.tensor(bytearray(self._client.digest().sums.encode("ascii")), dtype=torch.uint8)

    def set_extra_state(self, state: torch.Tensor) -> None:
        """Checks that the server has the map of the state_dict, if that has a checksum and raw ids keep their rows."""
        if len(state) > 0 and self._keeps() and not torch.equal(state.cpu(), self._checksum()):
            raise Refused("ManagedCollision: the ids of the server are not those of this state_dict: start the server from the"
                          " snapshot that was taken with it")

    def validate_state(self) -> None:
        """Checks that the rows of this module are whole parts of the state's."""
        parts = self._output_segments_tensor.tolist()
        if self._first not in parts or self._first + self._size not in parts:
            raise Refused(f"ManagedCollision: rows {self._first} to {self._first + self._size - 1} are no whole parts of"
                          f" {[part for part in parts if part >= 0]}: shard the module as it was when the state was saved")

    def rebuild_with_output_id_range(self, output_id_range: tuple[int, int], output_segments: list[int],
                                     device: Optional[torch.device] = None) -> ManagedCollision:
        """Returns the module of a rank."""
        first, end = output_id_range
        client, gpu = self._client, None
        if (first, end) == (self._first, self._first + self._size):
            gpu = self._table.calls if isinstance(self._table.calls, Device) else None
        elif self._shard is None:
            raise Refused("ManagedCollision: a rank needs a server or a table of its own: give shard=, a function of (first, size)"
                          " that returns its client")
        else:
            made = self._shard(first, end - first)
            client, gpu = made if isinstance(made, tuple) else (made, None)
        return type(self)(client, end - first, gpu=gpu, ttl=self._ttl, input_size=self._input_size, shard=self._shard, _first=first,
                          _segments=output_segments, _device=device)
