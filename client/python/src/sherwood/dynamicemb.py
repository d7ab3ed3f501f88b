# SPDX-License-Identifier: MIT
"""A storage for dynamicemb (NVIDIA's recsys-examples) whose rows are in tables of a server.

    from sherwood.dynamicemb import storage_at
    options = DynamicEmbTableOptions(.., external_storage=storage_at("unix:/run/sherwood/sherwood.sock", ["users", "items"]))

dynamicemb then keeps its cache on the GPU, and reads and writes all other rows by calls on arrays. A row is an embedding
and the states of the optimizer, in float32. Trainers may share the tables if TorchRec divides the keys among them.
"""

from __future__ import annotations

import functools
import json
import os
from typing import Any, Callable, Iterator, Optional, Sequence

import numpy as np
import torch
from dynamicemb import types

from ._client import connect
from ._errors import Refused

_KEYS_AT_ONCE = 65536


def storage_at(address: Any, tables: Sequence[Optional[str]] = (None,), **options: Any) -> Callable[[Any, Any], Storage]:
    """Returns a value for `external_storage`: dynamicemb makes a Storage with it.

    Args:
        address: of the server, as that of sherwood.connect, with its options.
        tables: a name for each embedding table that the options are of, in their order. None is the default table. The values of
            a table are rows of f32: `--value-type f32`, and `--value-bytes` of 4 for each number of the embedding and of the
            optimizer's states.
    """
    return functools.partial(Storage, address=address, tables=tuple(tables), **options)


class Storage(types.Storage):
    """The rows of one or more embedding tables. The server counts no scores: it keeps each row, and evicts none."""

    _state = None  # dynamicemb looks here for the buffers of its own storages

    def __init__(self, options: Sequence[Any], optimizer: Any, *, address: Any, tables: Sequence[Optional[str]],
                 **connection: Any) -> None:
        self._optimizer = optimizer
        self._dist_types = [option.dist_type for option in options]
        self._dims = [option.dim for option in options]
        self._value_dims = [dim + optimizer.get_state_dim(dim) for dim in self._dims]
        if len(tables) != len(options):
            raise ValueError(f"storage_at: {len(tables)} tables for {len(options)} embedding tables: give tables= a name for each")
        if len({*tables}) < len(tables):
            raise ValueError("storage_at: two embedding tables have the same name, and would overwrite each other's rows: give each its own")
        if any(option.embedding_dtype not in (None, torch.float32) for option in options):
            raise ValueError("Storage: an embedding_dtype is not float32: give torch.float32")
        if any(self.max_embedding_dim() + value - dim > self.max_value_dim() for dim, value in zip(self._dims, self._value_dims)):
            raise ValueError("Storage: a table of fewer dimensions has more states than the widest: give each its own storage_at")
        self._clients = [connect(address, table=table, **connection) for table in tables]
        if any(client.key_dtype != np.uint64 for client in self._clients):
            raise Refused("Storage: a table has keys of 32 bits: give it --key-bits 64")
        for client, name, dim in zip(self._clients, tables, self._value_dims):
            if client.value_shape != (dim,) or client.value_dtype != np.float32:
                raise Refused(f"Storage: the values of {name or 'the default table'} have the shape {client.value_shape} and the dtype"
                              f" {client.value_dtype}: give the table --value-type f32 --value-bytes {4 * dim}")

    def find(self, unique_keys: torch.Tensor, table_ids: torch.Tensor, copy_mode: Any,
             lfu_accumulated_frequency: Optional[torch.Tensor] = None) -> tuple[Any, ...]:
        """Reads rows, with the states if copy_mode is VALUE. Rows of absent keys are zeros."""
        whole = copy_mode == types.CopyMode.VALUE
        values = torch.zeros(len(unique_keys), self.max_value_dim() if whole else self.max_embedding_dim())
        found = torch.zeros(len(unique_keys), dtype=torch.bool)
        keys = unique_keys.cpu()
        for table, at in self._split(table_ids):
            rows, present = self._clients[table].get_many(keys[at])
            found[at] = present
            self._spread(table, rows, values, at, whole)
        frequency = lfu_accumulated_frequency
        found = found.to(unique_keys.device)
        missing = (~found).nonzero().flatten()
        scores = torch.zeros(len(unique_keys), dtype=torch.int64, device=unique_keys.device)
        if frequency is not None:
            scores[found] = frequency[found].to(torch.int64)
        return (len(missing), unique_keys[missing], missing, table_ids[missing], None if frequency is None else frequency[missing], found,
                scores, values.to(unique_keys.device))

    def insert(self, keys: torch.Tensor, table_ids: torch.Tensor, values: torch.Tensor, scores: Optional[torch.Tensor] = None,
               preserve_existing: bool = False) -> None:
        """Stores rows, also of present keys: with preserve_existing dynamicemb keeps their scores, which the server has not."""
        held, rows = keys.cpu(), values.detach().cpu().float()
        for table, at in self._split(table_ids):
            dim, states = self._dims[table], self._value_dims[table] - self._dims[table]
            first = self.max_embedding_dim()
            packed = torch.cat((rows[at, :dim], rows[at, first: first + states]), 1)
            self._clients[table].set_many(held[at], packed.contiguous())

    def _split(self, table_ids: torch.Tensor) -> Iterator[tuple[int, Any]]:
        """Yields each table that has keys, with the places of its keys."""
        if len(self._clients) == 1:
            if len(table_ids) > 0:
                yield 0, slice(None)
            return
        held = table_ids.cpu()
        for table in held.unique().tolist():
            yield table, (held == table).nonzero().flatten()

    def _spread(self, table: int, rows: torch.Tensor, values: torch.Tensor, at: Any, whole: bool) -> None:
        """Stores rows where dynamicemb's kernels read them: states behind the widest embedding."""
        dim, first = self._dims[table], self.max_embedding_dim()
        values[at, :dim] = rows[:, :dim]
        if whole:
            values[at, first: first + rows.shape[1] - dim] = rows[:, dim:]

    # --- checkpoints -----------------------------------------------------------------------------
    def export_keys_values(self, device: torch.device, batch_size: int = _KEYS_AT_ONCE,
                           table_id: int = 0) -> Iterator[tuple[torch.Tensor, torch.Tensor, Optional[torch.Tensor], torch.Tensor]]:
        """Yields keys, embeddings, states (or None) and scores (zeros) of a table."""
        dim = self._dims[table_id]
        for keys, rows in self._clients[table_id].scan(batch=batch_size):
            held, values = torch.from_numpy(keys.view(np.int64)).to(device), torch.from_numpy(rows).to(device)
            yield held, values[:, :dim].contiguous(), values[:, dim:].contiguous() if dim < values.shape[1] else None, torch.zeros_like(held)

    def dump(self, table_id: int, meta_file_path: str, emb_key_path: str, embedding_file_path: str, score_file_path: Optional[str],
             opt_file_path: Optional[str], include_optim: bool = False, include_meta: bool = False, timestamp: int = 0,
             **_: Any) -> None:
        """Writes a table to the files of dynamicemb, which its other storages load. SAVE writes a snapshot on the server."""
        if include_meta:
            with open(meta_file_path, "w", encoding="ascii") as meta:
                json.dump({**self._optimizer.get_opt_args(), "dist_type": self._dist_types[table_id]}, meta)
        states_kept = self._optimizer.get_ckpt_state_dim(self._dims[table_id])
        paths = emb_key_path, embedding_file_path, opt_file_path if include_optim else None, score_file_path
        files = [None if path is None else open(path, "wb") for path in paths]  # pylint: disable=consider-using-with
        try:
            for arrays in self.export_keys_values(torch.device("cpu"), table_id=table_id):
                for place, (file, array) in enumerate(zip(files, arrays)):
                    if file is not None and array is not None:
                        file.write((array[:, :states_kept] if place == 2 else array).numpy().tobytes())
        finally:
            for file in files:
                if file is not None:
                    file.close()

    def load(self, table_id: int, meta_file_path: str, emb_file_path: str, embedding_file_path: str, score_file_path: Optional[str],
             opt_file_path: Optional[str], include_optim: bool = False, timestamp: int = 0) -> None:
        """Adds the rows of such files to a table. Without states in the files the rows get the optimizer's initial ones."""
        meta = {}
        if meta_file_path and os.path.exists(meta_file_path):
            with open(meta_file_path, encoding="ascii") as file:
                meta = json.load(file)
        written = meta.get("dist_type", self._dist_types[table_id])
        if written != self._dist_types[table_id]:
            raise ValueError(f"load: {meta_file_path} is of dist_type {written!r}, and the table of {self._dist_types[table_id]!r}: make"
                             " the table with that of the file")
        dim, keys = self._dims[table_id], np.fromfile(emb_file_path, np.int64)
        rows = np.full((len(keys), self._value_dims[table_id]), self.init_optimizer_state(), np.float32)
        rows[:, :dim] = np.fromfile(embedding_file_path, np.float32).reshape(len(keys), dim)
        same = meta.get("opt_type") in (None, self._optimizer.get_opt_args().get("opt_type"))
        if include_optim and same and opt_file_path and os.path.exists(opt_file_path) and len(keys) > 0:
            if meta:
                self._optimizer.set_opt_args(meta)
            states = np.fromfile(opt_file_path, np.float32).reshape(len(keys), -1)
            if states.shape[1] != self._optimizer.get_ckpt_state_dim(dim):
                raise ValueError(f"load: {opt_file_path} has {states.shape[1]} states a row, and this optimizer has"
                                 f" {self._optimizer.get_ckpt_state_dim(dim)}: load it with the optimizer that wrote it")
            rows[:, dim: dim + states.shape[1]] = states
        for at in range(0, len(keys), _KEYS_AT_ONCE):
            self._clients[table_id].set_many(keys[at: at + _KEYS_AT_ONCE], rows[at: at + _KEYS_AT_ONCE])

    # --- shapes ----------------------------------------------------------------------------------
    def embedding_dtype(self) -> torch.dtype:
        """Returns float32."""
        return torch.float32

    def embedding_dim(self, table_id: int) -> int:
        """Returns the numbers of an embedding."""
        return int(self._dims[table_id])

    def value_dim(self, table_id: int) -> int:
        """Returns the numbers of a row: an embedding and its states."""
        return int(self._value_dims[table_id])

    def max_embedding_dim(self) -> int:
        """Returns embedding_dim of the widest table."""
        return int(max(self._dims))

    def max_value_dim(self) -> int:
        """Returns value_dim of the widest table."""
        return int(max(self._value_dims))

    def embedding_dims(self, on_device: bool = False) -> torch.Tensor:
        """Returns embedding_dim of each table."""
        return torch.tensor(self._dims, dtype=torch.int64, device="cuda" if on_device else "cpu")

    def all_dims_vec4(self) -> bool:
        """Returns whether all dimensions are multiples of 4."""
        return all(dim % 4 == 0 for dim in (*self._dims, *self._value_dims))

    def init_optimizer_state(self) -> float:
        """Returns the initial value of states."""
        return float(self._optimizer.get_initial_optim_states())
