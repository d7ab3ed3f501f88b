#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The Python package and a cluster: blocking calls, submit and asyncio."""

import asyncio
import random
import threading
import time

import moving
from cluster import nodes, slot_of
from harness import case, check, drawn_seed, equal, eventually, main
from package import np, raises, same, sherwood


@case
def calls():
    """each node stores the keys of its slots, and the calls are those of any client"""
    with nodes(3) as servers, sherwood.connect_cluster([s.address() for s in servers[:2]]) as c:
        ids = np.arange(10_000, dtype=np.uint64)
        c.set_many(ids, ids * 3)
        values, found = c.get_many(np.append(ids, np.uint64(2**63)))
        same(values, np.append(ids * 3, 0).astype(np.uint64))
        equal((int(found.sum()), bool(found[-1])), (10_000, False))
        same(c.submit.get_many(ids[:1000]).result()[0], (ids[:1000] * 3).astype(np.uint64), "by submit")
        same(asyncio.run(ask(c, ids[:1000])), (ids[:1000] * 3).astype(np.uint64), "with asyncio")
        equal([s.ask("DBSIZE") for s in servers],
              [sum(i * 16384 // 3 <= slot < (i + 1) * 16384 // 3 for slot in map(slot_of, ids.tolist())) for i in range(3)],
              "keys of each node")
        equal(int(c.delete_many(ids[:10]).sum()), 10, "deleted")
        equal(len(c), 10_000 - 10, "the sum of the nodes")
        raises(sherwood.Refused, "connect to one node", c.resize, 1000)
    flags = ("--value-bytes", "16", "--value-type", "u32")
    with nodes(3, *flags) as servers, sherwood.connect_cluster([servers[0].address()]) as c:
        ids = np.arange(2000, dtype=np.uint64)
        rows = np.arange(8000, dtype=np.uint32).reshape(2000, 4)
        for call in (c, c.submit):
            c.flush()
            done = [call.or_many(ids, rows), call.cas_many(ids, rows, rows + np.uint32(1)), call.xor_many(ids, rows)]
            same(done[1] if call is c else done[1].result(60), np.ones(2000, bool), "CAS at the nodes")
            _ = None if call is c else done[2].result(60)
            same(c.get_many(ids, default=0), (rows + np.uint32(1)) ^ rows, "bits at the nodes")
        c.add_rows(ids, rows, scale=-1)
        c.set_range_many(ids, 1, rows[:, :2])
        same(c.get_range_many(ids, 0, 3)[0], np.column_stack([((rows + np.uint32(1)) ^ rows)[:, 0] - rows[:, 0], rows[:, :2]]))
        equal(c.prefix(np.append(ids, ids + np.uint64(10**9))), 2000, "keys that lead")
    with nodes(1) as servers, sherwood.connect(servers[0].address()) as alone:
        alone[1] = 2  # a node takes clients that know of no cluster, for its own keys
        raises(sherwood.Refused, "at least one", sherwood.connect_cluster, [])
    check(sherwood.connect_cluster.__doc__, "it is explained")


@case
def times():
    """one call with a time for each key gives each key its own, on every node"""
    with nodes(3) as servers, sherwood.connect_cluster([servers[0].address()]) as c:
        ids = np.random.default_rng(drawn_seed()).permutation(5000).astype(np.uint64)
        at = int(time.time()) + 1000 + ids
        check(c.server.takes_times, "a node of a cluster takes times")
        for call in (c, c.submit):
            c.flush()
            done = [call.set_many(ids, ids * 2, expire_at=at), call.persist_many(ids[:100]),
                    call.expire_many(ids[100:200], ttl=50), call.ttl_many(ids, at=True), call.ttl_many(ids)]
            done = done if call is c else [one.result(60) for one in done]
            same(done[1], np.ones(100, bool), "keys that had a time")
            same(done[3][0][200:], at[200:] * np.uint64(1000), "times of each key")
            check(np.isinf(done[4][0][:100]).all(), "keys that never expire")
            check(((done[4][0][100:200] > 40) & (done[4][0][100:200] <= 50)).all(), "a time for all keys of a call")
        for key in ids[::97].tolist():
            owner = servers[slot_of(key) * 3 // 16384]
            equal(owner.ask("EXPIRETIME", key) > 0, key not in ids[:100].tolist(), f"key {key} at its owner")
        c.set_many(ids[:10], ids[:10], ttl=0.001)
        eventually(lambda: not c.contains_many(ids[:10]).any(), "keys whose time has come")
        eventually(lambda: len(c) == 4990, "the others, once the sweep has been there")


@case
def while_slots_move():
    """frames of RMW operations take effect once and in order while slots move to and fro"""
    rng, table, calls_done = random.Random(drawn_seed()), {}, []
    ending, wrong = threading.Event(), []

    def write(c):
        try:
            while not ending.is_set():
                keys = [rng.randrange(3000) for _ in range(200)]
                values = [rng.getrandbits(64) for _ in keys]
                old, was = c.xor_many(keys, np.array(values, np.uint64), previous=True)
                for key, value, before, there in zip(keys, values, old.tolist(), was.tolist()):
                    equal((before, there), (table.get(key, 0), key in table), f"key {key} in call {len(calls_done)}")
                    table[key] = before ^ value
                calls_done.append(1)
        except Exception as error:  # pylint: disable=broad-except
            wrong.append(error)
    with moving.cluster(2) as servers, sherwood.connect_cluster([servers[0].address()]) as c:
        writer = threading.Thread(target=write, args=(c,))
        writer.start()
        try:
            for source, target in (("s0", "s1"), ("s1", "s0")) * 2:
                eventually(lambda: len(calls_done) > 2 or wrong, "calls")
                calls_done.clear()
                moving.moved(moving.mover(servers, "0-2000", source, target))
        finally:
            ending.set()
            writer.join()
        check(not wrong, f"{wrong}")
        keys = np.array(sorted(table), np.uint64)
        same(c.get_many(keys, default=0), np.array([table[key] for key in keys.tolist()], np.uint64), "at the end")


async def ask(client, keys):
    values, _ = await client.aio.get_many(keys)
    return values


main()
