#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The Python package after its connection was lost: scans and waits that know of no other connection."""

import os

from harness import case, equal, main
from package import daemon, np, raises, same, sherwood
from wire import Replies

U8 = np.uint64
CACHE = ("--engine", "cache", "--value-bytes", "8", "--value-format", "fixed", "--policy", "custom", "--capacity", "64K")


def cut(server):
    """Ends every connection of clients by frames."""
    with server.connect() as connection:
        Replies(connection).ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")


def begun(c, **options):
    """A scan that has yielded its first batch."""
    scan = c.scan(batch=1000, **options)
    equal(len(next(scan)[0]), 1000)
    return scan


@case
def a_scan():
    """a scan ends with its connection, also where another call has connected anew; so does a dump"""
    keys = np.arange(5000, dtype=U8)
    with daemon() as server, sherwood.connect(server.unix) as c:
        c.set_many(keys, keys)
        scan, beside = begun(c), begun(c)
        cut(server)
        raises(sherwood.Lost, "", c.ping)
        equal(len(c), 5000)
        whole = c.scan(batch=1000)
        first = next(whole)[0]  # so that the new connection has a cursor, too
        raises(sherwood.Lost, "call scan() again", list, scan)
        same(np.unique(np.concatenate([first, *(k for k, _ in whole)])), keys, "a scan that began later")
        raises(sherwood.Lost, "call scan() again", list, beside)
        path, told = str(server.directory / "all.npy"), []

        def progress(done, _):
            told.append(done)
            if len(told) == 1:
                cut(server)
                raises(sherwood.Lost, "", c.ping)
        raises(sherwood.Lost, "call scan() again", c.dump, path, batch=1000, progress=progress)
        equal([name for name in os.listdir(server.directory) if "all.npy" in name], [], "no file, and none beside")
        equal(c.dump(path, batch=1000), 5000)
    with daemon(*CACHE) as server, sherwood.connect(server.unix, value_dtype=U8) as c:
        c.run_many("set", keys, keys[:, np.newaxis], scores=keys + U8(1))
        scan = begun(c, scores=(1, 5000))
        cut(server)
        raises(sherwood.Lost, "", c.ping)
        c.ping()
        raises(sherwood.Lost, "call scan() again", list, scan)


if __name__ == "__main__":
    main()
