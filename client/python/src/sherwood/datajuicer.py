# SPDX-License-Identifier: MIT
"""Exact deduplication for data-juicer by a key set on a server (--value-type none), a batch of samples in one call.

    from data_juicer.ops.deduplicator.ray_document_deduplicator import RayDocumentDeduplicator
    operator = sherwood.datajuicer.deduplicator(RayDocumentDeduplicator, "10.0.0.1:7379", lowercase=True)
    dataset.process([operator])
"""

from __future__ import annotations

from typing import Any, Sequence

from data_juicer.utils.constant import HashKeys

from ._client import connect


class Backend:
    """A backend beside data-juicer's 'ray_actor' and 'redis'. It does not clear the server: call `backend.client.flush()`."""

    def __init__(self, address: Any, **options: Any) -> None:
        """Connects as sherwood.connect does."""
        self.client = connect(address, **options)

    def is_unique(self, md5_value: str) -> bool:
        """Returns whether no call has seen this hash before."""
        return self.are_unique([md5_value])[0]

    def are_unique(self, md5_values: Sequence[str]) -> list[bool]:
        """Returns the same for each hash. A hash that repeats is unique at its first place."""
        new: list[bool] = self.client.insert_many(list(md5_values)).tolist()
        return new


class _Batched:
    """The part of an operator that sends the hashes of a batch in one call."""

    _batched_op = True
    backend: Backend
    calculate_hash: Any  # of the other base

    def compute_stats_batched(self, samples: dict[str, list[Any]], context: bool = False) -> dict[str, list[Any]]:
        """Adds the column with the answers."""
        rows = zip(*samples.values())
        hashes = [self.calculate_hash(dict(zip(samples, row)), context) for row in rows]
        return {**samples, HashKeys.is_unique: self.backend.are_unique(hashes)}

    def process_batched(self, samples: dict[str, list[Any]]) -> list[bool]:
        """Returns which samples to keep."""
        kept: list[bool] = samples[HashKeys.is_unique]
        return kept


def deduplicator(kind: type, address: Any, connection: Any = None, **options: Any) -> Any:
    """Returns an operator of data-juicer, of a class for Ray such as RayDocumentDeduplicator, with its options.

    Args:
        kind: a subclass of RayBasicDeduplicator. Its calculate_hash stays.
        address: of a server or table of keys without values, as that of sherwood.connect.
        connection: a dict with other arguments of sherwood.connect, such as {"table": "seen"}.
    """
    batched: Any = type(kind.__name__, (_Batched, kind), {"__module__": __name__})
    operator = batched(**options)
    operator.backend = Backend(address, **(connection or {}))
    return operator
