#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The Python package: expiry times, by blocking calls, submit and aio.

SHERWOOD_SEED=N repeats a run that failed."""

import asyncio
import contextlib
import datetime
import time

from harness import case, check, drawn_seed, equal, main
from package import daemon, np, raises, same, sherwood

FAR = 4_000_000_000  # seconds since 1970
CPU = ("--backend", "cpu", "--capacity", "256K")
ONLY = (None, "none", "some", "later", "earlier", "shorten")


@contextlib.contextmanager
def client(*flags):
    with daemon(*CPU, *flags) as server, sherwood.connect(server.unix) as c:
        yield c


class Ways:
    """The same call in each of three ways."""

    def __init__(self, c, rng):
        self.client, self.rng = c, rng

    def __call__(self, name, *arguments, **named):
        way = self.rng.integers(3)
        if way == 0:
            return getattr(self.client, name)(*arguments, **named)
        if way == 1:
            return getattr(self.client.submit, name)(*arguments, **named).result()

        async def one():
            return await getattr(self.client.aio, name)(*arguments, **named)
        return asyncio.run(one())


def holds(only, before, at):
    """Returns which of the keys with the expiry times `before` get the time `at`."""
    never, earlier = before == 0, (before == 0) | (at < before)
    return {None: np.ones(len(before), bool), "none": never, "some": ~never, "later": ~never & (at > before),
            "earlier": earlier, "shorten": ~never & earlier}[only]


def step(rng, ask, values, times):
    """Makes a random call and applies it to the model: values, and times, where -1 is an absent key."""
    keys = rng.permutation(len(values))[:rng.choice([1, 63, 64, 65, 1000, len(values)])]
    there, at = times[keys] >= 0, FAR + rng.integers(0, 4, len(keys))
    kind = rng.integers(4)
    if kind == 0:
        only, new = (None, "absent", "present")[rng.integers(3)], rng.integers(1, 1 << 40, len(keys)).astype(np.uint64)
        writes = np.ones(len(keys), bool) if only is None else there if only == "present" else ~there
        if only != "absent" and rng.random() < .3:
            ask("set_many", keys, new, only=only, keep_ttl=True)
            gained = np.where(there, times[keys], 0)
        elif rng.random() < .2:
            ask("set_many", keys, new, only=only)
            gained = np.zeros(len(keys), np.int64)
        else:
            got = ask("set_many", keys, new, only=only, expire_at=at, previous=True)
            same(got[1], there, "was")
            gained = at * 1000
        values[keys], times[keys] = np.where(writes, new, values[keys]), np.where(writes, gained, times[keys])
    elif kind == 1:
        only = ONLY[rng.integers(len(ONLY))]
        one = int(at[0])
        got = ask("expire_many", keys, only=only, expire_at=one, previous=True)
        changes = there & holds(only, np.maximum(times[keys], 0), np.full(len(keys), one * 1000))
        same(got[1], changes, f"only={only}")
        same(got[0], np.where(there, values[keys], 0).astype(np.uint64), "values")
        times[keys] = np.where(changes, one * 1000, times[keys])
    elif kind == 2:
        same(ask("persist_many", keys), times[keys] > 0, "which expired")
        times[keys] = np.minimum(times[keys], 0)
    else:
        same(ask("delete_many", keys), there, "deleted")
        times[keys] = -1


@case
def beside_a_model():
    """random calls in three ways, many of several frames, equal a model, whose keys are compared each step"""
    seed = drawn_seed()
    rng = np.random.default_rng(seed)
    with client("--frame-ops-max", "4096") as c:
        values, times = np.zeros(20_000, np.uint64), np.full(20_000, -1)
        everything, ask = np.arange(20_000), Ways(c, rng)
        for number in range(60):
            step(rng, ask, values, times)
            got, found = ask("ttl_many", everything, at=True)
            same(found, times >= 0, f"seed {seed}, step {number}: keys")
            same(got, np.maximum(times, 0).astype(np.uint64), f"seed {seed}, step {number}: times")
            same(ask("get_many", everything, default=0), np.where(times >= 0, values, 0).astype(np.uint64),
                 f"seed {seed}, step {number}: values")


@case
def what_a_time_is():
    """seconds, spans and moments of Python and numpy, single or in an array, become milliseconds at the server"""
    moment = datetime.datetime(2096, 10, 2, 7, 6, 40, 250_000, datetime.timezone.utc)
    with client() as c:
        for at, ms in ((FAR, FAR * 1000), (FAR + .25, FAR * 1000 + 250), (moment, FAR * 1000 + 250), (np.uint64(FAR), FAR * 1000),
                       (np.datetime64("2096-10-02T07:06:40.251"), FAR * 1000 + 251)):
            c.set_many([1, 2], [5, 6], expire_at=at)
            same(c.ttl_many([1, 2], at=True)[0], np.array([ms, ms], np.uint64), repr(at))
        for at in ([FAR, FAR + 1], np.array([FAR, FAR + 1], np.uint32), np.array([FAR, FAR + 1.0]),
                   np.array([FAR, FAR + 1], "datetime64[s]")):
            check(c.expire_many([1, 2], expire_at=at).all(), "both are there")
            same(c.ttl_many([1, 2], at=True)[0], np.array([FAR * 1000, FAR * 1000 + 1000], np.uint64), repr(at))
        for ttl in (100, 100.0, datetime.timedelta(seconds=100), np.timedelta64(100, "s"), np.timedelta64(100_000_000_001, "ns"), [100, 100], np.array([100, 100], "timedelta64[s]")):
            c.set_many([1, 2], 7, ttl=ttl)
            seconds, found = c.ttl_many([1, 2, 3])
            check(95 < seconds[0] <= 101 and seconds[2] == 0, f"{ttl!r}: {seconds}")
            same(found, [True, True, False])
        c.set_many(np.arange(6).reshape(2, 3), 8, ttl=np.full((2, 3), 50))
        equal(c.ttl_many(np.arange(6).reshape(3, 2))[0].shape, (3, 2), "shapes are those of the keys")
        c.set_many([9], [9])
        equal(float(c.ttl_many([9])[0][0]), float("inf"), "never")
        c.set_many([9], [1], ttl=.05)
        time.sleep(.2)
        equal((9 in c, c.server.takes_times), (False, True), "it is gone")
        same(c.expire_many([1, 9], expire_at=1), [True, False], "a time that is over")
        equal((1 in c, 2 in c), (False, True), "removes its key")


@case
def rows_and_regions():
    """times with rows of floats, 32-bit keys, and arrays in a region, which are sent by the socket"""
    with client("--value-bytes", "16", "--value-type", "f32") as c:
        rows = np.arange(12, dtype=np.float32).reshape(3, 4)
        c.set_many([1, 2, 3], rows, expire_at=[FAR, FAR + 1, FAR + 2])
        got, which = c.expire_many([2, 3, 4], expire_at=FAR, only="earlier", previous=True)
        same(got, np.vstack([rows[1:], np.zeros((1, 4), np.float32)]), "rows")
        same(which, [True, True, False])
    with client("--key-bits", "32") as c:
        c.set_many(np.arange(5, dtype=np.uint32), 1, expire_at=FAR)
        same(c.ttl_many(np.arange(6, dtype=np.uint32), at=True)[0], np.array([FAR * 1000] * 5 + [0], np.uint64), "64 bits each")
    with client() as c, c.region(1 << 20) as r:
        keys = r.copy(np.arange(100))
        c.set_many(keys, 3, expire_at=FAR)
        same(c.persist_many(keys), np.ones(100, bool), "in a region")
        c.submit.expire_many(keys, ttl=1000).result()
        check((c.submit.ttl_many(keys).result()[0] > 900).all(), "by submit")


@case
def what_is_refused():
    """an invalid expiry time, or any on a server whose keys do not expire, raises an error"""
    with client() as c:
        c.set_many([1], [5])
        for named, words in (({"ttl": 0}, "0 ms is too small"), ({"ttl": -1}, "-1000 ms is too small"), ({"expire_at": 0}, "after the beginning"),
                             ({"ttl": 5 - 2**62}, "too small"), ({"expire_at": np.array([2 * 10**9 - 2**62])}, "too small"),
                             ({"ttl": float("nan")}, "nan is not a time"), ({"ttl": float("inf")}, "inf is not a time"), ({"ttl": 1, "expire_at": 5}, "one of them"),
                             ({"ttl": np.array([2**64 // 1000 + 1], "timedelta64[s]")}, "is not a time"), ({"ttl": np.timedelta64("NaT", "s")}, "is not a time"),
                             ({"ttl": np.array([2**62 + 1000], "timedelta64[1000us]")}, "is not a time"), ({"ttl": np.array([1000 - 2**62], "timedelta64[1000us]")}, "is not a time"),
                             ({"expire_at": np.datetime64(600_000_000, "Y")}, "is not a time"), ({"ttl": np.timedelta64(60)}, "has no unit"),
                             ({"ttl": 1, "keep_ttl": True}, "one of them"), ({"ttl": [1, 2]}, "shape (2,)"), ({"ttl": 2**63}, "seconds exceed the limit"),
                             ({"expire_at": datetime.datetime(2096, 1, 1)}, "time zone"), ({"keep_ttl": True, "only": "absent"}, "keep_ttl")):
            for calls in (c, c.submit, c.aio):
                raises(ValueError, words, calls.set_many, [1], [6], **named)
        raises(TypeError, "give seconds", c.set_many, [1], [6], ttl="5")
        raises(TypeError, "give seconds", c.set_many, [1], [6], ttl=datetime.datetime.now(datetime.timezone.utc))
        raises(ValueError, "give ttl or expire_at", c.expire_many, [1])
        raises(ValueError, "only is", c.expire_many, [1], ttl=5, only="no")
        raises(sherwood.Refused, "2^63 - 1", c.set_many, [1], [6], ttl=(2**63 - 1) // 1000)
        raises(sherwood.Refused, "2^63 - 1", c.set_many, [1, 2], [6, 6], ttl=[5, (2**63 - 1) // 1000])
        equal((c[1], float(c.ttl_many([1])[0][0]), 2 in c), (5, float("inf"), False), "as it was")
        equal((c.ttl_many([])[0].shape, c.expire_many([], ttl=5).shape), ((0,), (0,)), "of no keys")
    with client("--default-ttl", "1000", "--frame-ops-max", "100K", "--round-ops-max", "1K") as c:
        c.set_many([1], [5], expire_at=FAR)
        c.set_many([1, 2], [6, 7], keep_ttl=True)
        same(c.ttl_many([1], at=True)[0], np.array([FAR * 1000], np.uint64), "kept")
        check(900 < c.ttl_many([2])[0][0] <= 1000, "the default")
        for calls in (c.set_many, lambda *a, **n: c.submit.set_many(*a, **n).result()):
            calls(np.arange(150_000), 9, keep_ttl=True)
        equal((len(c), c[149_999]), (150_000, 9), "more than half of a frame's keys")
    with client("--engine", "cuckoo") as c:
        equal(c.server.takes_times, False)
        raises(sherwood.Refused, "accepts no expiry times", c.set_many, [1], [6], ttl=5)
        raises(sherwood.Refused, "accepts no expiry times", c.submit.set_many([1], [6], ttl=[5]).result)
        raises(sherwood.Refused, "has no TTL", c.ttl_many, [1])


main()
