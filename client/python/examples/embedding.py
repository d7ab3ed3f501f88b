#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embedding - a torch module with rows in a Sherwood cache, and a function for rows that the cache lacks.

    sherwoodd --engine cache --value-bytes 256 --value-format fixed --capacity 1M
    python3 embedding.py 127.0.0.1:7379

A look-up reads all ids of a batch from the cache in one call. Rows that the cache lacks come from the table behind
it (here a torch.nn.Embedding in host memory). The module stores them in the cache while the model computes.
"""

import sys

import torch

import sherwood


class CachedEmbedding(torch.nn.Module):
    """Rows of float32 for int64 ids of any shape; `miss` makes the rows that the cache lacks."""

    def __init__(self, address: str, miss: torch.nn.Module, stripes: int = 4) -> None:
        super().__init__()
        self.client = sherwood.connect(address, stripes=stripes, value_dtype="float32")
        self.miss = miss
        self.hits = self.asked = 0

    @torch.no_grad()
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        rows, found = self.client.get_many(ids.cpu())
        self.asked += found.numel()
        self.hits += int(found.sum())
        if not found.all():
            lost = ids.cpu()[~found].unique()
            fresh = self.miss(lost)
            at = torch.searchsorted(lost, ids.cpu()[~found])
            rows[~found] = fresh[at]
            self.client.submit.set_many(lost, fresh, only="absent")  # does not wait for the reply
        return rows.to(ids.device)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: embedding.py ADDRESS, as in the first lines of this file")
    torch.manual_seed(1)
    table = torch.nn.Embedding(100_000, 64)
    layer = CachedEmbedding(sys.argv[1], table)
    for step in range(20):
        ids = (torch.rand(512, 26) ** 4 * 100_000).long()  # some ids occur more often than others
        with torch.no_grad():
            assert torch.equal(layer(ids), table(ids)), "a row differs from the row of its id"
        if step % 5 == 4:
            print(f"step {step + 1}: {layer.hits / layer.asked:.0%} of {layer.asked:,} rows were in the cache")
    layer.client.close()


if __name__ == "__main__":
    main()
