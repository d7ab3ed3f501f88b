#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_directory - what the files of a data directory must hold, and a directory that goes away."""

import shutil

import redis

import harness
from data_directory import Directory
from harness import case, check, equal, eventually


def serve(path, *flags, **more):
    return harness.Server("--data-dir", str(path), *flags, **more)


def client(server):
    return redis.Redis(host="127.0.0.1", port=server.port)


def try_save(r):
    try:
        return r.save()
    except redis.ResponseError:
        return False


@case
def times_are_changes():
    """A change of a key's time, and a key that expired, are saved at the stop and by --save"""
    with Directory() as path:
        with serve(path) as server:
            r = client(server)
            for key in range(1, 6):
                r.set(key, key)
            r.expire(5, 5000)
            r.save()
            equal(r.info("persistence")["rdb_changes_since_last_save"], 0, "all of it is saved")
            r.expire(1, 1000)
            r.getex(2, ex=500)
            r.persist(5)
            r.persist(5)
            r.pexpire(3, 1)
            eventually(lambda: r.dbsize() == 4, "it has expired")
            equal(r.info("persistence")["rdb_changes_since_last_save"], 5, "PERSIST twice is once")
        with serve(path, "--save", "1 2") as server:
            r = client(server)
            equal([r.get(3), r.ttl(4), r.ttl(5)], [None, -1, -1], "after the stop")
            check(900 < r.ttl(1) <= 1000 and 400 < r.ttl(2) <= 500, "times")
            r.persist(1)
            r.expire(4, 700)
            eventually(lambda: r.info("persistence")["rdb_changes_since_last_save"] == 0, "--save")
            r.shutdown(nosave=True)
            server.process.wait(10)
        with serve(path) as server:
            r = client(server)
            equal([r.ttl(1), r.ttl(4) > 600], [-1, True], "as saved")


@case
def directory_gone():
    """The directory is removed: SAVE says so; another one at its path is used without a restart"""
    with Directory() as path:
        with serve(path, errors="no snapshot was written") as server:
            r = client(server)
            r.set(1, 2)
            shutil.rmtree(path)
            for _ in range(2):
                try:
                    r.save()
                    check(False, "SAVE")
                except redis.ResponseError as error:
                    check("No such file or directory" in str(error), str(error))
            path.mkdir()
            eventually(lambda: try_save(r), "a snapshot in the new directory")
            out = harness.run(harness.DAEMON, "--port", "0", "--http-port", "0", "--backend", "cpu",
                              "--capacity", "1K", "--data-dir", path, rc=1)
            check(f"(pid {server.process.pid})" in out, "the new one is locked")
        with serve(path, errors="no snapshot was written") as server:
            equal(client(server).get(1), b"2", "loaded")
            client(server).set(1, 3)
            shutil.rmtree(path)
            path.mkdir()
        with serve(path) as server:
            equal(client(server).get(1), b"3", "the last one went to the new directory")


if __name__ == "__main__":
    harness.main()
