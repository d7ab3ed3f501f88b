#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""recommender - duplicates, ids and embeddings of a recommender, on servers that the program starts.

    python3 recommender.py                          # small sizes; finds sherwoodd on the path or by SHERWOODD
    python3 recommender.py --events 100_000_000 --steps 2000
    python3 recommender.py --torch                  # events and the model by torch, on the server's GPU if there is one

deploy/docs/recommender.md explains each step. The program checks what it prints.
"""

import argparse
import importlib.util
import time

import numpy as np

import sherwood

DIM, RATE = 16, 0.05
USERS, ITEMS = 2000, 500
ITEM = np.int64(1) << 62  # this bit makes the key of an item, so that users and items are rows of one table
MIX = np.uint64(0x9E3779B97F4A7C15)


def hashes_by(device: sherwood.Device):
    """Returns a function that makes what hashes of a range of events look like, in the memory of a GPU, or by numpy without a Device."""
    if device is None:
        return lambda first, end: np.arange(first, end, dtype=np.uint64) * MIX
    import torch  # pylint: disable=import-outside-toplevel
    return lambda first, end: torch.arange(first, end, device=f"cuda:{device.ordinal}").mul_(int(MIX.view(np.int64)))


def duplicates(events: int, by_torch: bool, batch: int = 1 << 20) -> None:
    """Counts the distinct events of a stream in which every tenth event comes a second time, much later."""
    second = events // 10
    with sherwood.open(value_type="none", max_capacity=2 * max(events, 1 << 16)) as seen:
        device = seen.attach() if by_torch and seen.server.backend == "cuda" else None
        calls, hashes = device or seen, hashes_by(device)
        began, new = time.perf_counter(), 0
        for first, end in [(0, events), (0, second)]:
            for at in range(first, end, batch):
                new += int(calls.insert_many(hashes(at, min(at + batch, end))).sum())
        took = time.perf_counter() - began
        assert new == events == len(seen), f"{new} events are new, and {events} are distinct"
        print(f"duplicates: {second:,} of {events + second:,} events found on {seen.server.backend}, "
              f"{(events + second) / took / 1e6:.1f} million a second")


def draw(rng: np.random.Generator, count: int) -> tuple:
    """Returns users and items as a log has them, with large numbers for names, and the ratings of a hidden taste."""
    users, items = rng.integers(0, USERS, count), rng.zipf(1.3, count) % ITEMS
    taste = np.random.default_rng(1).normal(size=(USERS + ITEMS, 4)).astype(np.float32)
    return (users * 7919 + 10**12, items * 104729 + 10**9, (taste[users] * taste[USERS + items]).sum(1) / 2)


def ids(rng: np.random.Generator, steps: int) -> None:
    """Counts views in an array with a place for each item, by ids that the server gives."""
    with sherwood.open(ids=ITEMS) as numbers:
        views, wanted = np.zeros(ITEMS, np.int64), {}
        for _ in range(steps):
            items = draw(rng, 256)[1]
            places, _ = numbers.assign_many(items)
            np.add.at(views, places, 1)
            for item in items.tolist():
                wanted[item] = wanted.get(item, 0) + 1
        used = len(wanted)
        known = np.array([*wanted])
        assert views[used:].sum() == 0 and np.array_equal(views[numbers.get_many(known)[0]], [*wanted.values()])
        print(f"ids: {used} items have the places 0 to {used - 1}")


def start(keys: np.ndarray) -> np.ndarray:
    """Returns the first row of each key: small numbers that only the key decides."""
    mixed = (keys.view(np.uint64)[:, None] ^ np.arange(DIM, dtype=np.uint64)) * MIX
    return ((mixed >> np.uint64(40)).astype(np.float32) / 2**24 - 0.5) / 2


def numpy_model(rows: sherwood.Client):
    """Returns a function that trains on a batch, and returns its mean squared error."""
    def step(users, items, ratings):
        keys, places = np.unique(np.concatenate((users, items | ITEM)), return_inverse=True)
        held, found = rows.get_many(keys)
        if not found.all():
            held[~found] = start(keys[~found])
            rows.set_many(keys[~found], held[~found], only="absent")
        of_users, of_items = held[places[:len(users)]], held[places[len(users):]]
        error = (of_users * of_items).sum(1) - ratings
        gradients = np.zeros_like(held)
        np.add.at(gradients, places, np.tile(error, 2)[:, None] * np.concatenate((of_items, of_users)))
        rows.add_rows(keys, gradients, scale=-RATE)
        return float(np.mean(error**2))
    return step


def torch_model(rows: sherwood.Client):
    """Returns such a function with an embedding of torch, whose gradients go to the server in the backward pass."""
    import torch  # pylint: disable=import-outside-toplevel

    import sherwood.torch  # pylint: disable=import-outside-toplevel,redefined-outer-name
    table = sherwood.torch.Table(rows.attach() if rows.server.backend == "cuda" else rows)
    place = table.state.device
    layer = sherwood.torch.Embedding(table, DIM, lambda keys: torch.from_numpy(start(keys.cpu().numpy())), lr=RATE)

    def step(users, items, ratings):
        keys = torch.from_numpy(np.stack((users, items | ITEM))).to(place)
        of_users, of_items = layer(keys)
        error = (of_users * of_items).sum(1) - torch.from_numpy(ratings).to(place)
        (error.square().sum() / 2).backward()
        return float(error.detach().square().mean())
    return step


def embeddings(rng: np.random.Generator, steps: int, by_torch: bool) -> None:
    """Trains a matrix factorization with rows on the server."""
    with sherwood.open(value_type="f32", value_bytes=4 * DIM) as rows:
        step = (torch_model if by_torch else numpy_model)(rows)
        ratings = draw(rng, 256)  # the error of this batch before and after the training tells what the model learned
        first = step(*ratings)
        for _ in range(1, steps):
            step(*draw(rng, 256))
        last = step(*ratings)
        assert last < first, f"the error was {first:.3f}, and is {last:.3f}"
        print(f"embeddings: {len(rows)} rows on {rows.server.backend}, mean squared error {first:.3f} before, {last:.3f} after {steps} steps")


def count(text: str) -> int:
    """Returns the number that an option has."""
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return int(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--events", type=count, default=1_000_000, help="distinct events of the duplicates (1,000,000)")
    parser.add_argument("--steps", type=count, default=400, help="batches of the training (400)")
    parser.add_argument("--torch", action="store_true", help="train by torch, and make the events by it if there is a GPU")
    options = parser.parse_args()
    if options.torch and importlib.util.find_spec("torch") is None:
        parser.error("--torch needs torch: pip install torch")
    duplicates(options.events, options.torch)
    ids(np.random.default_rng(2), 40)
    embeddings(np.random.default_rng(3), options.steps, options.torch)


if __name__ == "__main__":
    main()
