#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Replication: a replica has its primary's data, whatever happens to either of them or to their connection.

SHERWOOD_SEED=N repeats a run that failed."""

import ctypes
import random
import re
import socket
import struct
import subprocess

import redis

import wire
from harness import BUILD, SANITIZED, Moves, Server, Skip, case, check, drawn_seed, equal, eventually, main, run
from replication import SMALL, Load, Relay, caught_up, info, replica_of, to_be_killed


@case
def joins_under_load():
    """replicas that join or are killed during all kinds of writes have the same digest at the end"""
    draw = random.Random(drawn_seed())
    with Server(*SMALL) as primary:
        loads = [Load(primary, draw.randrange(2**32)) for _ in range(2)]
        with replica_of(primary.port) as one, to_be_killed(replica_of(primary.port)) as third, \
                replica_of(primary.port, "--seed", "5", "--capacity", "256K") as two:
            written = loads[0].written
            eventually(lambda: loads[0].written > written + 50, "load goes on", 20)
            third.kill()
            for load in loads:
                load.end()
            check(sum(load.written for load in loads) > 100, "too little was written")
            equal(caught_up(primary, one), caught_up(primary, two), "both")
            equal(one.ask("DBSIZE"), primary.ask("DBSIZE"), "keys")


@case
def refuses_and_tells():
    """a replica refuses writes by both protocols and serves reads; ROLE and INFO are those of redis"""
    with Server(*SMALL) as primary, replica_of(primary.port) as replica:
        primary.ask("MSET", 1, 10, 2, 20)
        caught_up(primary, replica)
        equal(replica.ask("MGET", 1, 2, 3), [b"10", b"20", None], "reads")
        for words in (("SET", 1, 1), ("DEL", 1), ("FLUSHALL",), ("RESIZE", "64K")):
            check(str(replica.ask(*words)).startswith("READONLY You can't write against a read only replica."),
                  words)
        with replica.replies() as replies:
            replies.ask("MULTI")
            check("READONLY" in str(replies.ask("SET", 1, 1)), "in MULTI")
            check("EXECABORT" in str(replies.ask("EXEC")), "EXEC")
        with replica.connect() as connection:
            reply = wire.call(connection, wire.SET, (1,), (1,))
            equal((reply.status, reply.message), (wire.NOT_PRIMARY, f"127.0.0.1:{primary.port}"), "a frame")
            equal(wire.call(connection, wire.GET, (1,)).status, wire.OK, "a GET")
        client = redis.Redis(port=replica.port)
        equal(client.role()[:4], [b"slave", b"127.0.0.1", primary.port, b"connected"], "ROLE of a replica")
        fields = client.info("replication")
        equal((fields["role"], fields["master_link_status"], fields["slave_read_only"]), ("slave", "up", 1), "INFO")
        fields = redis.Redis(port=primary.port).info("replication")
        equal((fields["role"], fields["connected_slaves"], fields["slave0"]["state"]), ("master", 1, "online"), "INFO")
        equal(fields["master_replid"], client.info("replication")["master_replid"], "one history")
        equal(redis.Redis(port=primary.port).role()[0], b"master", "ROLE of a primary")
        status, *_, text = replica.http("/metrics")
        check(status == 200 and "sherwood_replication_is_replica 1" in str(text).replace("\\n", "\n"), "metrics")
        check("is a replica: replicate its primary" in str(replica.ask("REPLICATE", 1, "0" * 40, 0, 8, 8, 0, 0, 1 << 20)), "no chains")


@case
def clients_follow():
    """sherwood-cli with the addresses of both servers finds the primary, also after the roles change"""
    cli = BUILD / "sherwood-cli"
    with to_be_killed(Server(*SMALL)) as one, replica_of(one.port) as two:
        first, second = (f"127.0.0.1:{server.port}" for server in (one, two))
        both = ("-a", f"{second},{first}")
        equal(run(cli, *both, "set", 1, 10), "OK\n", "set")
        caught_up(one, two)
        said = run(cli, "-p", two.port, "set", 1, 11, rc=1)
        check(f"this server is a replica; its primary is {first}" in said, said)
        equal(run(cli, "-p", two.port, "get", 1), "10\n", "reads")
        with subprocess.Popen([cli, *both], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as prompt:
            def ask_prompt(line):
                prompt.stdin.write(line + "\n")
                prompt.stdin.flush()
                return prompt.stdout.readline()
            equal(ask_prompt("set 2 20"), "OK\n", "before")
            caught_up(one, two)
            equal(two.ask("REPLICAOF", "NO", "ONE"), "OK", "two is a primary")
            equal(one.ask("REPLICAOF", "127.0.0.1", two.port), "OK", "one is a replica")
            equal(ask_prompt("set 3 30"), "OK\n", "a write that was refused is sent to the primary")
            equal(two.ask("MGET", 1, 2, 3), [b"10", b"20", b"30"], "two")
            prompt.stdin.close()
        caught_up(two, one)
        equal(run(cli, *both, "-q", "load", "--format", "csv", "-", stdin="4,40\n"), "", "load")
        equal(two.ask("GET", 4), b"40", "two")
        one.kill()
        equal(run(cli, *both, "set", 5, 50), "OK\n", "one of them is gone")


@case
def wait_counts():
    """WAIT counts replicas that have the write; it survives kill -9 of the primary when a replica takes over"""
    with to_be_killed(Server(*SMALL)) as primary, replica_of(primary.port) as replica, \
            to_be_killed(replica_of(primary.port)) as other:
        eventually(lambda: info(primary).get("connected_slaves") == "2", "both are there")
        with primary.replies() as replies:
            for i in range(50):
                replies.ask("SET", i, i + 1)
            equal(replies.ask("WAIT", 2, 20000), 2, "both have it")
            other.kill()
            replies.ask("SET", 50, 51)
            equal(replies.ask("WAIT", 1, 20000), 1, "one")
            check(replies.ask("WAIT", 2, 50) < 2, "not two any more")
        before = primary.ask("DIGEST")
        history = info(primary)["master_replid"]
        check("WAIT cannot be used" in str(replica.ask("WAIT", 0, 0)), "at a replica")
        primary.kill()
        equal(replica.ask("MGET", *range(51)), [b"%d" % (i + 1) for i in range(51)], "WAITed writes")
        equal(replica.ask("REPLICAOF", "NO", "ONE"), "OK", "promoted")
        equal(replica.ask("DIGEST"), before, "the same table")
        equal(replica.ask("SET", 51, 52), "OK", "it writes")
        fields = info(replica)
        equal((fields["role"], fields["master_replid2"]), ("master", history), "a new history behind the old one")
        check(fields["master_replid"] != history, "a new one")
        with replica_of(replica.port) as next_one:
            equal(caught_up(replica, next_one)[1], 52, "and has replicas")


def frames_of(connection):
    """Sends requests by frames."""
    def ask_frames(*frames):
        connection.sendall(b"".join(frames))
        return sorted((wire.read_frame(connection) for _ in frames), key=lambda reply: reply.request_id)
    return ask_frames


def wait_of(server):
    return server.ask("WAIT", 0, 0)


def wait_frame(count, ms, number=1):
    return wire.frame(wire.WAIT, count=count, timeout=ms, request_id=number)


@case
def wait_by_frames():
    """WAIT by frames counts as by RESP, and the writes survive kill -9; DIGEST equals that of RESP"""
    with to_be_killed(Server(*SMALL)) as primary, replica_of(primary.port) as replica, \
            to_be_killed(replica_of(primary.port)) as other, primary.connect() as connection:
        asks = frames_of(connection)
        eventually(lambda: wait_of(primary) == 2, "both are there", 20)
        written, reply = asks(wire.frame(wire.SET, range(1, 3000), range(1, 3000)), wait_frame(2, 600_000, 2))
        equal((written.status, reply.status, reply.count), (wire.OK, wire.OK, 2), "both have what was sent before")
        equal(asks(wait_frame(0, 0))[0].count, 2, "it tells how many")
        other.kill()
        equal(asks(wire.frame(wire.SET, (1,), (2,)), wait_frame(1, 600_000, 2))[1].count, 1, "one")
        with Moves(primary, replica_waits=2, replica_waits_short=2):
            check(asks(wait_frame(2, 30))[0].count < 2, "not two any more")
            check(primary.ask("WAIT", 2, 30) < 2, "by RESP")
        first, second = asks(wire.frame(wire.SET, (2,), (3,)), wire.frame(wire.DIGEST, request_id=2))
        sequence, entries, sums = primary.ask("DIGEST")
        equal((first.status, second.digest[1], second.digest[2]), (wire.OK, sequence, entries), "with what was sent before")
        equal("%016x%016x" % struct.unpack("<QQ", second.digest[3]), sums.decode(), "sums")
        said = run(BUILD / "sherwood-cli", "-p", primary.port, stdin="SET 3 4\nWAIT 1 20000\nWAIT x 1\n", rc=1)
        equal(said.splitlines()[:2], ["OK", "1"], said)
        check("replicas" in said.splitlines()[2], said)
        with replica.connect() as there:
            refused, digest = frames_of(there)(wait_frame(0, 0), wire.frame(wire.DIGEST, request_id=2))
            equal((refused.status, refused.message), (wire.NOT_PRIMARY, f"127.0.0.1:{primary.port}"), "at a replica")
            equal(digest.status, wire.OK, "which has a digest")
        primary.kill()
        equal(replica.ask("MGET", 1, 2, 3, 2999), [b"2", b"3", b"4", b"2999"], "WAITed writes")


@case
def wait_by_frames_ends():
    """WAIT ends when its server follows another one; later it does not count earlier writes; a stop does not wait"""
    with Server(*SMALL) as one, Server(*SMALL) as two, one.connect() as connection, two.connect() as last:
        asks = frames_of(connection)
        equal(asks(wire.frame(wire.SET, (1,), (1,)))[0].status, wire.OK, "SET")
        connection.sendall(wait_frame(1, 600_000))
        equal(one.ask("REPLICAOF", "127.0.0.1", two.port), "OK", "follows")
        equal(wire.read_frame(connection).status, wire.NOT_PRIMARY, "the wait is over")
        eventually(lambda: info(one)["master_link_status"] == "up", "it has its copy")
        equal(one.ask("REPLICAOF", "NO", "ONE"), "OK", "leads again")
        with replica_of(one.port) as replica:
            caught_up(one, replica)
            equal(asks(wait_frame(1, 50))[0].count, 0, "nobody has the write of then")
            equal(asks(wire.frame(wire.SET, (2,), (1,)), wait_frame(1, 600_000, 2))[1].count, 1, "a later one")
        last.sendall(wire.frame(wire.SET, (1,), (1,)) + wait_frame(1, 600_000, 2))
        equal(wire.read_frame(last).status, wire.OK, "SET")
        two.stop()


@case
def wait_by_the_library():
    """sherwood_wait_replicas waits on every connection that has written, and reports a lost one once"""
    if SANITIZED:
        raise Skip("an interpreter does not load a library with a sanitizer")
    library = ctypes.CDLL(str(BUILD / "libsherwood.so"))
    handle, text, reached, digest = ctypes.c_void_p(), ctypes.create_string_buffer(512), ctypes.c_uint32(), (ctypes.c_uint64 * 4)()
    options = struct.pack("@NiiIIIxxxx", 32, 0, 0, 3, 0, 0)
    keys = (ctypes.c_uint64 * 30_000)(*range(30_000))
    library.sherwood_error.restype = ctypes.c_char_p

    def wait(count, ms):
        return library.sherwood_wait_replicas(handle, count, ms, ctypes.byref(reached)), reached.value

    def write():
        equal(library.sherwood_set(handle, keys, keys, len(keys)), 0, "set")
    with Server(*SMALL) as primary, replica_of(primary.port) as replica:
        eventually(lambda: wait_of(primary) == 1, "the replica is there", 20)
        equal(library.sherwood_connect_text(primary.address().encode(), options, ctypes.byref(handle), text, 512), 0, text.value)
        equal(wait(0, 0), (0, 1), "nothing was written: replicas that there are")
        for _ in range(3):
            write()
        equal(wait(1, 20000), (0, 1), "it has them")
        equal(library.sherwood_digest(handle, digest), 0, library.sherwood_error(handle))
        equal([digest[0], digest[1], b"%016x%016x" % (digest[2], digest[3])], replica.ask("DIGEST"), "of the replica")
        equal(wait(2, 30), (0, 1), "and one only")
        equal(library.sherwood_wait_replicas(handle, 1, 0, None), -1, "no place for the number")
        with primary.replies() as replies:
            own = replies.ask("CLIENT", "ID")
            ids = re.findall(r"^id=(\d+) .*cmd=frame", replies.ask("CLIENT", "LIST").decode(), flags=re.M)
            equal(replies.ask("CLIENT", "KILL", "ID", min(int(each) for each in ids if int(each) != own)), 1, "a stripe")
        eventually(lambda: library.sherwood_ping(handle) is not None and library.sherwood_stripes(handle) == 2, "it sees that")
        equal(wait(1, 20000)[0], -4, "whose writes nobody knows of")
        write()
        equal(wait(1, 20000), (0, 1), "the others go on")
        library.sherwood_close(handle)


@case
def siblings_resume():
    """after one of two replicas takes over, the other and the old primary follow it without a snapshot"""
    with Server(*SMALL) as old, replica_of(old.port) as new, replica_of(old.port) as other:
        for i in range(30):
            old.ask("SET", i, i)
        caught_up(old, new)
        caught_up(old, other)
        equal(new.ask("REPLICAOF", "NO", "ONE"), "OK", "promoted")
        equal(other.ask("REPLICAOF", "127.0.0.1", new.port), "OK", "follows the other")
        equal(old.ask("REPLICAOF", "127.0.0.1", new.port), "OK", "the old primary follows")
        for i in range(30):
            new.ask("SET", i, i * 2)
        for server in (other, old):
            caught_up(new, server)
            fields = info(server)
            equal((fields["sherwood_resumes"] != "0", fields["role"]), (True, "slave"), fields)
        equal((info(other)["sherwood_resyncs"], info(old)["sherwood_resyncs"]), ("1", "0"), "snapshots")


@case
def diverged():
    """a former primary with writes that the new one lacks gets a snapshot, and loses those writes"""
    with Server(*SMALL) as old, replica_of(old.port) as new:
        old.ask("SET", 1, 1)
        caught_up(old, new)
        equal(new.ask("REPLICAOF", "NO", "ONE"), "OK", "promoted")
        for i in range(5):
            old.ask("SET", 100 + i, 1)
            new.ask("SET", 200 + i, 1)
        old.ask("REPLICAOF", "127.0.0.1", new.port)
        caught_up(new, old)
        equal((old.ask("EXISTS", 100), info(old)["sherwood_resyncs"]), (0, "1"), "undone")


@case
def wait_for_an_undone_write():
    """WAIT counts no replica for a write that its server lost when it followed a server with higher sequences"""
    with Server(*SMALL) as old, Server(*SMALL) as new:
        for i in range(10):
            new.ask("SET", i, i)
        with old.replies() as replies:
            replies.ask("SET", 100, 1)
            old.ask("REPLICAOF", "127.0.0.1", new.port)
            caught_up(new, old)
            equal(old.ask("REPLICAOF", "NO", "ONE"), "OK", "promoted")
            with replica_of(old.port) as replica:
                caught_up(old, replica)
                equal(replies.ask("EXISTS", 100), 0, "undone")
                equal(replies.ask("WAIT", 1, 100), 0, "nobody has it")
                replies.ask("SET", 101, 1)
                equal(replies.ask("WAIT", 1, 20000), 1, "a later one")
                equal(old.ask("WAIT", 1, 20000), 1, "a connection that wrote nothing")


@case
def cut_and_spoilt():
    """a relay cuts and corrupts what the primary sends: the table is never wrong, and complete at the end"""
    draw = random.Random(drawn_seed() + 2)
    spoils = {"bits": 0, "halves": 0}

    def spoil(data):
        kind = draw.randrange(25)
        if kind == 0:
            spoils["halves"] += 1
            return None
        if kind == 1 and relay.passed > 0:
            spoils["bits"] += 1
            at = draw.randrange(len(data))
            return data[:at] + bytes((data[at] ^ 1 << draw.randrange(8),)) + data[at + 1:]
        return data

    with Server(*SMALL, errors="replica") as primary, Relay(primary.port) as relay, \
            replica_of(relay.port) as replica:
        load = Load(primary, draw.randrange(2**32))
        relay.spoil = spoil
        for _ in range(5):
            passed = relay.passed
            eventually(lambda p=passed: relay.passed > p + 20000, "the stream goes on", 60)
            relay.cut()
        eventually(lambda: min(spoils.values()) > 2, "all kinds of damage", 120)
        load.end()
        relay.spoil = None
        caught_up(primary, replica)
        check(int(info(replica)["sherwood_resumes"]) > 0, "some went on where they were")


@case
def another_write():
    """a replica refuses a primary that resumes the stream at another write than the replica has asked for"""
    changed = []

    def add_one(data):
        match = re.match(rb"\+RESUME (\S+) (\d+) ", data)
        if match is None:
            return data
        changed.append(match[0])
        return b"+RESUME %s %d " % (match[1], int(match[2]) + 1) + data[match.end():]

    with Server(*SMALL, errors="replica") as primary, Relay(primary.port) as relay, replica_of(relay.port) as replica:
        equal(primary.ask("SET", 1, 1), "OK", "SET")
        caught_up(primary, replica)
        relay.spoil = add_one
        relay.cut()
        eventually(lambda: "the primary continues at another write" in replica.log(), lambda: f"refused: {changed}", 60)
        equal(primary.ask("SET", 2, 2), "OK", "SET")
        relay.spoil = None
        caught_up(primary, replica)
        equal(replica.ask("GET", 2), b"2", "GET")


@case
def falls_behind():
    """a replica behind by more than the backlog is disconnected and starts again"""
    with Server(*SMALL, "--repl-backlog-bytes", "1M") as primary, Relay(primary.port) as relay, \
            replica_of(relay.port) as replica:
        eventually(lambda: info(replica)["master_link_status"] == "up", "connected")
        resyncs = int(info(replica)["sherwood_resyncs"])
        relay.held.set()
        with primary.replies() as replies:
            for i in range(400):
                replies.ask("MSET", *(x for k in range(2000) for x in (k, i)))
        check(int(info(primary)["repl_backlog_histlen"]) <= 1 << 20, "the backlog is bounded")
        relay.held.clear()
        caught_up(primary, replica)
        check(int(info(replica)["sherwood_resyncs"]) > resyncs, "by a snapshot")


@case
def refusals():
    """different widths, engines, versions and files are refused with one sentence that names both sides"""
    with Server(*SMALL, "--key-bits", "32") as narrow, Server(*SMALL) as server:
        equal(server.ask("SET", 1, 1), "OK", "SET")
        for words, said in (((3, "0" * 40, 0, 8, 8, 0, 0, 1 << 28), "the replica has 3, the primary 2"),
                            ((0, "0" * 40, 0, 8, 8, 0, 0, 1 << 28), "the replica has 0, the primary 2"),
                            ((1, "0" * 40, 0, 4, 4, 0, 0, 1 << 28), "has 4, the primary 8: start the replica with the --key-bits of its primary"),
                            ((1, "0" * 40, 0, 8, 8, 0, 0, 1), "operations of a batch"),
                            ((1, "0" * 39, 0, 8, 8, 0, 0, 1), "is sent by a replica"),
                            ((1, "0" * 40, "x", 8, 8, 0, 0, 1), "is sent by a replica")):
            check(said in str(server.ask("REPLICATE", *words)), words)
        for words, said in (((0, 0), 0), ((-1, 0), 0), ((1, 20), 0), (("a", 0), "value is not an integer"),
                            ((0, "a"), "timeout is not an integer"), ((0, -1), "timeout is negative")):
            reply = server.ask("WAIT", *words)
            check(reply == said or str(said) in str(reply), (words, reply))
        check("Invalid master port" in str(server.ask("REPLICAOF", "a", "b")), "a port")
        for host, port in (("h\r\nrole:master", 1), ("h\x1b[2J", 1), ("h h", 1), ("h\0h", 1), ("unix:/a\nb", 0), ("", 1)):
            check("ERR" in str(server.ask("REPLICAOF", host, port)), (host, port))
            equal(info(server)["role"], "master", host)
        equal(narrow.ask("REPLICAOF", "127.0.0.1", server.port), "OK", "begins")
        eventually(lambda: "the replica has 4, the primary 8" in narrow.log(), "both sides are said")
        for host, port, said in (("127.0.0.1", 1, "127.0.0.1 port 1: Connection refused"), ("/none", 0, "unix:/none: No such file")):
            equal(narrow.ask("REPLICAOF", *((host, port) if port else ("unix:" + host, 0))), "OK", host)
            eventually(lambda said=said: f"cannot connect to {said}" in narrow.log(), said)
        equal((narrow.ask("REPLICAOF", "NO", "ONE"), narrow.ask("SET", 1, 1)), ("OK", "OK"), "goes back")
    with Server("--engine", "cache") as cache:
        check("the engine is cache" in str(cache.ask("REPLICAOF", "127.0.0.1", 1)), "the cache engine")


@case
def lying_primaries():
    """a replica survives every wrong reply of a false primary"""
    lies = [b"", b"-ERR no\r\n", b"+RESUME\r\n", b"+SNAPSHOT " + b"0" * 40 + b" 0 1\r\n" + b"x" * 9000,
            b"+RESUME " + b"0" * 40 + b" 77 1\r\n", b"+" * 9000, b"\xff" * 5000]
    with Server(*SMALL) as server, socket.create_server(("127.0.0.1", 0)) as liar:
        server.ask("SET", 1, 1)
        liar.settimeout(20)
        server.ask("REPLICAOF", "127.0.0.1", liar.getsockname()[1])
        for lie in lies:
            connection, _ = liar.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(lie)
        if server.ask("EXISTS", 1) == 1:
            equal(server.ask("REPLICAOF", "NO", "ONE"), "OK", "a primary again")
        else:  # the second lie but two was a snapshot: it came for the table's place
            check("not received" in str(server.ask("REPLICAOF", "NO", "ONE")), "this replica cannot become a primary")


@case
def transactions_wait_for_the_table():
    """EXEC of a transaction queued before a replica got a new table fails while that table arrives"""
    with Server(*SMALL) as server, socket.create_server(("127.0.0.1", 0)) as liar:
        server.ask("SET", 1, 1)
        liar.settimeout(20)
        with server.replies() as replies, server.replies() as empty:
            for one in (replies, empty):
                equal(one.ask("MULTI"), "OK", "MULTI")
            replies.ask("GET", 1)
            empty.ask("PING")
            server.ask("REPLICAOF", "127.0.0.1", liar.getsockname()[1])
            connection, _ = liar.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"+SNAPSHOT " + b"a" * 40 + b" 0 1\r\n")
                eventually(lambda: info(server)["master_sync_in_progress"] == "1", "a snapshot is on its way")
                equal(str(replies.ask("EXEC")), "EXECABORT Transaction discarded because of: LOADING Sherwood is "
                      "loading the dataset in memory", "EXEC")
                equal(empty.ask("EXEC"), ["PONG"], "one that needs no table")


def silent_replica(server):
    words = [str(w).encode() for w in ("REPLICATE", 1, "0" * 40, 0, 8, 8, 0, 0, 1 << 28)]
    replica = socket.socket()
    replica.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    replica.connect(("127.0.0.1", server.port))
    replica.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
    return replica


def stuck_replica(server):
    """Yields a replica that says hello and reads nothing, at a primary with more data than the sockets hold."""
    with server.connect() as connection:
        for first in range(0, 400_000, 4000):
            equal(wire.call(connection, wire.SET, range(first, first + 4000), range(4000)).status, wire.OK, "SET")
    replica = silent_replica(server)
    sent = [0]

    def sends_no_more():
        sent.append(int(re.search(r"\nsherwood_replication_sent_bytes_total (\d+)", server.http("/metrics")[-1])[1]))
        return sent[-1] == sent[-2] > 0

    eventually(sends_no_more, "it waits for the replica", 20)
    return replica


@case
def reads_nothing():
    """a replica that reads nothing delays neither its primary's stop nor its primary's change of role"""
    flags = ("--capacity", "1M", *SMALL[2:-2], "--repl-timeout", "600")
    with Server(*flags) as primary:
        stuck = stuck_replica(primary)
    stuck.close()  # only now: the server has ended within the harness's time
    with Server(*flags) as primary, stuck_replica(primary), socket.create_server(("127.0.0.1", 0)) as other:
        primary.ask("REPLICAOF", "127.0.0.1", other.getsockname()[1])
        eventually(lambda: info(primary)["connected_slaves"] == "0", "who replicates from it is told", 20)


@case
def slow_snapshot():
    """a replica that reads its snapshot too slowly is disconnected, and DIGEST then gets the table's image"""
    flags = ("--capacity", "1M", *SMALL[2:-2], "--repl-timeout", "600", "--repl-snapshot-timeout", "1")
    with Server(*flags) as primary, stuck_replica(primary):
        equal(primary.ask("DIGEST")[1], 400_000, "it waited, and is there")
        eventually(lambda: "longer than repl-snapshot-timeout" in primary.log(), "the log says why", 20)
        eventually(lambda: info(primary)["connected_slaves"] == "0", "it is gone", 20)


@case
def gone_while_it_waits():
    """the primary notices when a replica disconnects while it waits for the table's image"""
    flags = ("--capacity", "1M", *SMALL[2:-2], "--repl-timeout", "600")
    with Server(*flags) as primary, stuck_replica(primary) as stuck:
        with silent_replica(primary):
            eventually(lambda: info(primary)["connected_slaves"] == "2", "it is there")
        eventually(lambda: info(primary)["connected_slaves"] == "1", "it is gone")
        stuck.close()


if __name__ == "__main__":
    main()
