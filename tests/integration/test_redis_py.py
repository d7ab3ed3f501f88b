#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The daemon driven by redis-py, with a dictionary as the model."""

import random

import redis

from harness import SLOWER, Server, case, check, drawn_seed, equal, main, raises

TOP = 2**64 - 1
SEED = drawn_seed()


def client(server, **options):
    return redis.Redis(host=server.host, port=server.port, **options)


def number(value):
    return None if value is None else int(value)


class Model:
    """The effect of the commands on a dictionary. Each method returns the reply."""

    def __init__(self, top=TOP):
        self.data = {}
        self.top = top

    def get(self, key):
        return self.data.get(key)

    def set(self, key, value):
        self.data[key] = value
        return True

    def set_nx(self, key, value):
        if key in self.data:
            return None
        return self.set(key, value)

    def set_xx(self, key, value):
        return self.set(key, value) if key in self.data else None

    def getset(self, key, value):
        old = self.data.get(key)
        self.data[key] = value
        return old

    def getdel(self, key):
        return self.data.pop(key, None)

    def mset(self, pairs):
        self.data.update(pairs)
        return True

    def mget(self, keys):
        return [self.data.get(k) for k in keys]

    def delete(self, keys):
        return sum(self.data.pop(k, None) is not None for k in keys)

    def exists(self, keys):
        return sum(k in self.data for k in keys)

    def incrby(self, key, amount):
        value = self.data.get(key, 0) + amount
        if value > self.top or value < 0:
            return "error"
        self.data[key] = value
        return value


def step(rng, model, pipe):
    """Queues a random command in pipe. Returns a conversion for its reply, and the converted value that is expected."""
    keys = [0, 1, TOP, 2**63, *range(100, 140)]
    key = rng.choice(keys)
    value = rng.choice([0, 1, TOP, rng.randrange(TOP), rng.randrange(100)])
    several = [rng.choice(keys) for _ in range(rng.randrange(1, 8))]
    kind = rng.randrange(13)
    if kind == 0:
        pipe.get(key)
        return number, model.get(key)
    if kind == 1:
        pipe.set(key, value)
        return bool, model.set(key, value)
    if kind == 2:
        pipe.set(key, value, nx=True)
        return (lambda r: r), model.set_nx(key, value)
    if kind == 3:
        pipe.set(key, value, xx=True)
        return (lambda r: r), model.set_xx(key, value)
    if kind == 4:
        pipe.execute_command("GETSET", key, value)
        return number, model.getset(key, value)
    if kind == 5:
        pipe.execute_command("GETDEL", key)
        return number, model.getdel(key)
    if kind == 6:
        pairs = {k: rng.randrange(TOP) for k in several}
        pipe.mset(pairs)
        return bool, model.mset(pairs)
    if kind == 7:
        pipe.mget(several)
        return (lambda r: [number(v) for v in r]), model.mget(several)
    if kind == 8:
        pipe.delete(*several)
        return int, model.delete(several)
    if kind == 9:
        pipe.exists(*several)
        return int, model.exists(several)
    if kind == 10:
        amount = rng.randrange(1, 1000)
        pipe.decrby(key, amount)
        return as_count, model.incrby(key, -amount)
    if kind == 11:
        pipe.setnx(key, value)
        return bool, bool(model.set_nx(key, value))
    amount = rng.choice([1, 5, 2**40])
    pipe.execute_command("INCRBY", key, amount)
    return as_count, model.incrby(key, amount)


def as_count(reply):
    return "error" if isinstance(reply, redis.ResponseError) else int(reply)


def compare(server, model, what):
    """Compares every key in both directions."""
    connection = client(server)
    equal(connection.dbsize(), len(model.data), f"DBSIZE {what}")
    keys = sorted(model.data)
    for at in range(0, len(keys), 1000):
        part = keys[at:at + 1000]
        equal([number(v) for v in connection.mget(part)], [model.data[k] for k in part], what)
    equal({int(k) for k in connection.scan_iter(count=500)}, set(keys), f"SCAN {what}")


@case
def random_model():
    """redis-py: 40,000 random commands in pipelines of any depth reply as a model does"""
    rng = random.Random(SEED)
    commands = 40000 // SLOWER
    with Server() as server:
        model, connection = Model(), client(server)
        done = 0
        while done < commands:
            pipe = connection.pipeline(transaction=False)
            depth = rng.choice([1, 2, 3, 10, 100, 500])
            wanted = [step(rng, model, pipe) for _ in range(depth)]
            replies = pipe.execute(raise_on_error=False)
            for i, ((read, want), reply) in enumerate(zip(wanted, replies, strict=True)):
                equal(read(reply), want, f"seed {SEED}, command {done + i}")
            done += depth
        compare(server, model, f"seed {SEED}, at the end")


@case
def helpers():
    """redis-py: the commands that its helpers send on connect are answered, and it parses the replies"""
    with Server() as server:
        connection = client(server, client_name="tester", db=0)
        check(connection.ping(), "ping")
        equal(connection.client_getname(), "tester", "name")
        equal(connection.echo("x"), b"x", "echo")
        info = connection.info()
        equal(info["tcp_port"], server.port, "tcp_port")
        check(connection.command_count() > 30, "commands")
        check("get" in connection.command(), "COMMAND")
        seconds, micros = connection.time()
        check(seconds > 1_600_000_000 and 0 <= micros < 1_000_000, "TIME")
        config = connection.config_get("*")
        check(config, "CONFIG GET *")
        equal(connection.type(1), b"none", "TYPE")
        check(connection.flushall(), "FLUSHALL")
        raises(redis.ResponseError, "out of range", client(server, db=1).ping)


@case
def transactions():
    """redis-py: pipeline() is a transaction by default: it takes effect whole, or gives an error and changes nothing"""
    with Server() as server:
        connection = client(server)
        pipe = connection.pipeline()
        equal(pipe.set(1, 10).incrby(1, 5).get(1).mget(1, 2).delete(1).execute(),
              [True, 15, b"15", [b"15", None], 1], "its replies")
        equal(connection.pipeline().execute(), [], "an empty one")
        pipe = connection.pipeline().set(1, 1).set(2, "text").set(3, 3)
        error = raises(redis.ResponseError, "Command # 2", pipe.execute)
        check("not an unsigned integer" in str(error), error)
        equal(connection.mget(1, 2, 3), [None] * 3, "nothing was done")
        equal(connection.pipeline().set(1, TOP).incr(1).set(2, 2).execute(raise_on_error=False)[::2],
              [True, True], "beside an overflow")
        equal(connection.mget(1, 2), [b"%d" % TOP, b"2"], "after it")
        with connection.pipeline() as pipe:
            pipe.watch(1)
            pipe.multi()
            pipe.set(1, 5)
            connection.set(1, 6)
            raises(redis.WatchError, "", pipe.execute)
            equal(connection.get(1), b"6", "nothing was done")
        raced = []

        def add(pipe):
            """Adds 1; somebody else does so, too, the first two times."""
            value = int(pipe.get(1))
            if len(raced) < 2:
                raced.append(connection.incr(1))
            pipe.multi()
            pipe.set(1, value + 1)
        equal(connection.transaction(add, 1), [True], "transaction() begins anew until nobody has changed it")
        equal(connection.get(1), b"9", "nothing is lost")


if __name__ == "__main__":
    main()
