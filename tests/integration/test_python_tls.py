#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The Python package by TLS and with users: what is verified, the rights, and the errors."""

import asyncio
import os
import pickle

from certificates import Authority
from harness import Server, case, check, equal, free_port, main
from package import np, raises, same, sherwood
from people import guarded, secret

U8 = np.uint64


def server_of(authority):
    cert, key = authority.sign("server")
    port = free_port()
    server = Server("--tls-port", str(port), "--tls-cert", str(cert), "--tls-key", str(key))
    server.tls = f"tls://127.0.0.1:{port}"
    return server


@case
def by_tls():
    """every kind of call works by TLS, with long calls and many in flight over several connections"""
    with Authority() as authority, server_of(authority) as server:
        with sherwood.connect(server.tls, tls_ca=authority.ca, stripes=2) as c:
            keys = np.arange(300_000, dtype=U8)
            c.set_many(keys, keys * 3)
            same(c.get_many(keys, default=0), keys * 3)
            futures = [c.submit.get_many(keys[i: i + 5000], default=0) for i in range(0, 300_000, 5000)]
            same(np.concatenate([future.result(60) for future in futures]), keys * 3)

            async def work():
                got = await asyncio.gather(*(c.aio.get_many(keys[i: i + 5000], default=0)
                                             for i in range(0, 300_000, 5000)))
                same(np.concatenate(got), keys * 3)
            asyncio.run(work())
            check("tls://" in repr(c), repr(c))
            equal(pickle.loads(pickle.dumps(c))[5], 15)


@case
def forks_by_tls():
    """fork: a child's clients send nothing on the parent's connections"""
    with Authority() as authority, server_of(authority) as server:
        with sherwood.connect(server.tls, tls_ca=authority.ca) as c:
            c[1] = 1
            c.submit.get_many([1]).result(60)
            accepted = server.metrics()["sherwood_connections_accepted_total"]
            child = os.fork()
            if child == 0:
                os._exit(0 if c[1] == 1 else 1)
            equal(os.waitpid(child, 0)[1], 0, "exit status of the child")
            equal((c[1], c.submit.get_many([1], default=0).result(60)[0]), (1, 1))
            equal(server.metrics()["sherwood_connections_accepted_total"] - accepted, 1,
                  "connections made: the child's, and none by the parent")


@case
def refused_by_tls():
    """untrusted certificates, wrong names and TLS options without TLS raise an error with the reason"""
    with Authority() as authority, server_of(authority) as server:
        raises(sherwood.Error, "certificate", sherwood.connect, server.tls)
        raises(sherwood.Error, "", sherwood.connect, server.tls, tls_ca=authority.ca,
               tls_server_name="other.example")
        raises(sherwood.Refused, "", sherwood.connect, server.tls, tls_ca="/nonexistent")
        raises(sherwood.Refused, "", sherwood.connect, server.address(), tls_ca=authority.ca)
        raises(sherwood.Refused, "NUL character", sherwood.connect, server.tls, tls_ca="a\0b")
        with sherwood.connect(server.tls, tls_insecure=True) as c:
            c.ping()
        with sherwood.connect(server.tls, tls_ca=authority.ca, tls_server_name="localhost") as c:
            c.ping()


@case
def users():
    """every connection logs in, clones and pickled clients included; a changed password file applies to new ones"""
    with guarded() as server:
        address, path = server.address(), secret("pw\nmore\n")
        with sherwood.connect(address, username="alice", password="pw", stripes=2) as c:
            c.set_many([1000, 1999], [1, 2])
            same(c.submit.get_many([1000], default=0).result(20), np.array([1], U8))

            async def work():
                return await c.aio.get_many([1999], default=0)
            same(asyncio.run(work()), np.array([2], U8))
            error = raises(sherwood.Denied, "range", c.get_many, [1000, 2000])
            check(isinstance(error, PermissionError), repr(error))
            raises(sherwood.Denied, "", c.submit.set_many([1], 1).result, 20)
            raises(sherwood.Denied, "", c.flush)
            equal((c[1000], pickle.loads(pickle.dumps(c))[1000]), (1, 1))
            check("pw" not in repr(c) and "'pw'" not in repr(c._link.options), "the password is shown")
        with sherwood.connect(address, username="reader", password_file=path) as c:
            equal(c[1000], 1)
            raises(sherwood.Denied, "", c.set_many, [1000], 1)
            os.truncate(path, 0)
            raises(sherwood.Denied, "", c.clone)
        for login in ({}, {"password": "x"}, {"username": "alice"}, {"username": "off", "password": "pw"},
                      {"username": "nobody", "password": "pw"}):
            raises(sherwood.Denied, "", sherwood.connect, address, **login)
        raises(sherwood.Refused, "one of the two", sherwood.connect, address, password="x", password_file=path)
        raises(FileNotFoundError, "", sherwood.connect, address, password_file="/nonexistent")
        with sherwood.connect(address, password="top") as c:
            c.flush()


if __name__ == "__main__":
    main()
