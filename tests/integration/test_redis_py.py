#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The daemon driven by redis-py: its helpers and its transactions."""

import redis

from harness import Server, case, check, equal, main, raises

TOP = 2**64 - 1


def client(server, **options):
    return redis.Redis(host=server.host, port=server.port, **options)


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
