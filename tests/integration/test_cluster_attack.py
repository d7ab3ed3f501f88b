#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Strangers at the port of a cluster: invalid topologies, commands without the right, floods of commands that list the
nodes, false replicas and targets of moves. Invalid input is refused with a reason and changes nothing, and others are
served.

SHERWOOD_SEED=N repeats a run that failed."""

import contextlib
import json
import random
import select
import socket
import time
import types

import wire
from cluster import Node, cut, key_in, node_id, nodes, slot_of, topology
from faults import Faults
from harness import SLOWER, Server, case, check, drawn_seed, equal, eventually, main
from replication import SMALL, caught_up, replica_of

RANDOM = random.Random(drawn_seed())
MIB = 1 << 20
LONG_NAME = ".".join(["a" * 60] * 4)


def in_pieces(port):
    """A valid topology of 1,000 nodes: every second slot is of another shard, and one shard has all replicas."""
    members = [{"port": port, "slots": [[slot, slot] for slot in range(0, 16384, 2)]},
               {"port": 1, "slots": [[slot, slot] for slot in range(1, 16384, 2)]}]
    members += [{"port": 2 + i, "shard": "s0", "role": "replica", "ip": "10.0.0.1", "hostname": f"{LONG_NAME}.x{i}"}
                for i in range(998)]
    return members


@case
def longest_replies():
    """1,000 nodes and every second slot: CLUSTER SLOTS would be 3 GB and is refused; other commands reply"""
    with Node(0) as server:
        server.set_topology(topology(1, in_pieces(server.port)))
        before = server.resident_bytes()
        with contextlib.closing(server.connect()) as connection:
            replies = wire.Replies(connection)
            equal(replies.ask("CLUSTER", "SLOTS"),
                  wire.Error("ERR the reply to 'cluster' would be longer than the limit: request less"), "SLOTS")
            equal(len(replies.ask("CLUSTER", "NODES").splitlines()), 1000, "NODES")
            equal(sum(len(shard[3]) for shard in replies.ask("CLUSTER", "SHARDS")), 1000, "SHARDS")
            equal(json.loads(replies.ask("CLUSTER", "TOPOLOGY"))["epoch"], 1, "TOPOLOGY")
            equal(replies.ask("SET", key_in(0, 0), 7), "OK", "keys are served on the same connection")
        flood(server, before)


def flood(server, before):
    """20 clients request the longest lists and read none: memory is bounded, others are served."""
    words = b"".join(wire.command("CLUSTER", word) for word in ("NODES", "SHARDS", "SLOTS", "TOPOLOGY"))
    sockets = [server.connect() for _ in range(20)]
    for each in sockets:
        each.setblocking(False)
    sent, end = 0, time.monotonic() + 1
    with contextlib.closing(server.connect()) as connection:
        replies = wire.Replies(connection)
        while time.monotonic() < end:
            for each in sockets:
                with contextlib.suppress(OSError):  # it takes no more, or was closed
                    sent += each.send(words * 100)
            equal(replies.ask("GET", key_in(0, 0)), b"7", "a bystander")
    for each in sockets:
        each.close()
    check(sent > len(sockets) * len(words), f"{sent} bytes were sent")
    grown = server.resident_bytes() - before
    # output-bytes-pause (1M) and one reply each, of at most 16 MiB.
    check(grown < 20 * 17 * MIB * SLOWER, f"memory grew by {grown}")


def whole(port, epoch, **more):
    return json.loads(topology(epoch, [{"port": port, "slots": [[0, 8191]]}, {"port": 1, "slots": [[8192, 16383]]}],
                               **more))


def lies(port, holds):
    """Returns texts that are no topology, or none of a higher epoch than holds[0]."""
    epoch = holds[0] + 1

    def changed(change):
        value = whole(port, epoch)
        change(value)
        return json.dumps(value)
    good = json.dumps(whole(port, epoch))
    yield changed(lambda t: t["shards"][1].update(slots=[[8000, 16383]]))  # overlap
    yield changed(lambda t: t["shards"][0].update(slots=[[5, 9], [0, 3]]))  # backwards
    yield changed(lambda t: t["shards"][0].update(slots=[[0, 16384]]))
    yield changed(lambda t: t["shards"][0].update(slots=[[0.0, 5]]))
    yield changed(lambda t: t["shards"][0].update(slots=[[[]]]))
    yield changed(lambda t: t["nodes"].append(dict(t["nodes"][0])))  # an id twice
    yield changed(lambda t: t["nodes"].append({**t["nodes"][0], "id": node_id(7)}))  # two primaries, one address
    yield changed(lambda t: t["nodes"][0].update(shard="s9"))
    yield changed(lambda t: t["nodes"][0].update(ip="localhost"))
    yield changed(lambda t: t["nodes"][0].update(port=65536))
    yield changed(lambda t: t["nodes"][0].update(hostname="-\r\n-ERR x"))
    for wrong in (0, -1, 2**63, 1e30, str(epoch), None):
        yield changed(lambda t, wrong=wrong: t.update(epoch=wrong))
    yield json.dumps(whole(port, epoch - 2))  # going back
    yield changed(lambda t: t["nodes"].extend(
        {**t["nodes"][0], "id": node_id(100 + i), "role": "replica", "port": 2 + i} for i in range(1000)))  # too many
    yield good + " " * (4 * MIB - 1000)  # more than a command may have
    yield good.replace('"epoch"', '"x": ' + "[" * 200_000 + "]" * 200_000 + ', "epoch"')
    yield good.replace('"format": 1', '"format": 1, "format": 1')
    yield good[:-1]
    yield good + "{}"
    for _ in range(200):
        data = bytearray(json.dumps(whole(port, holds[0] + 1)).encode())
        for _ in range(RANDOM.randrange(1, 4)):
            at = RANDOM.randrange(len(data))
            data[at:at + RANDOM.randrange(3)] = RANDOM.randbytes(RANDOM.randrange(3))
        yield bytes(data)


@case
def lying_topologies():
    """overlaps, a lower epoch, too many nodes and damaged JSON are refused with a reason, or take effect as written"""
    with nodes(1) as (server,):
        holds, refused = [10], 0
        server.set_topology(json.dumps(whole(server.port, holds[0])))
        equal(server.ask("SET", key_in(0, 0), 7), "OK", "SET")
        for lie in lies(server.port, holds):
            with contextlib.closing(server.connect()) as connection:
                reply = wire.Replies(connection).ask("CLUSTER", "SETTOPOLOGY", lie)
            now = json.loads(server.ask("CLUSTER", "TOPOLOGY"))
            if reply == "OK":  # the damage made another one of it
                check(now["epoch"] > holds[0], f"{lie[:300]!r} was taken")
                holds[0] = now["epoch"] + 1
                server.set_topology(json.dumps(whole(server.port, holds[0], force=True)))
                server.ask("SET", key_in(0, 0), 7)
                continue
            check(isinstance(reply, wire.Error) and len(reply) > 20 and reply.isprintable(), f"{lie[:300]!r}: {reply!r}")
            equal(now["epoch"], holds[0], "the topology that holds")
            refused += 1
        check(refused > 40, f"{refused} were refused")
        equal(server.ask("GET", key_in(0, 0)), b"7", "what was there")
        equal(server.metrics()["sherwood_cluster_epoch"], holds[0], "the metric")


ORDERS = (("CLUSTER", "SETTOPOLOGY", "{}"), ("CLUSTER", "MOVE", "TAKE", node_id(1), "16000"), ("CLUSTER", "MOVE", "CANCEL"),
          ("EXPORTSLOTS", *"abcdefghijk"), ("REPLICATE", 1, "0" * 40, 0, 8, 8, 0, 0, 1024), ("REPLICAOF", "NO", "ONE"),
          ("HA", "SWITCH"))


@case
def without_the_right():
    """a user without the right cannot change a cluster: alone, in a transaction or inline"""
    with nodes(2) as (server, _):
        equal(server.ask("ACL", "SETUSER", "u", "on", "nopass", "~*", "+@all", "-@admin"), "OK", "SETUSER")
        before = server.ask("CLUSTER", "TOPOLOGY"), server.ask("CLUSTER", "MOVE", "STATUS"), server.ask("ROLE")
        with contextlib.closing(server.connect()) as connection:
            replies = wire.Replies(connection)
            equal(replies.ask("AUTH", "u", "x"), "OK", "AUTH")
            for words in ORDERS:
                check(str(replies.ask(*words)).startswith("NOPERM"), words)
                equal(replies.ask("MULTI"), "OK", "MULTI")
                check(str(replies.ask(*words)).startswith("NOPERM"), words)
                check(str(replies.ask("EXEC")).startswith("EXECABORT"), "EXEC")
                connection.sendall(" ".join(map(str, words)).encode() + b"\r\n")
                check(str(replies.read()).startswith("NOPERM"), words)
        equal((server.ask("CLUSTER", "TOPOLOGY"), server.ask("CLUSTER", "MOVE", "STATUS"), server.ask("ROLE")), before,
              "nothing has changed")


@case
def half_replicas():
    """false replicas with half, wrong or no acknowledgements are disconnected, and a real one is served"""
    replicate = wire.command("REPLICATE", 1, "0" * 40, 0, 8, 8, 0, 0, 1 << 20)
    with Server(*SMALL[:-2], "--repl-timeout", "1", "--replicas-max", "4", errors="replica") as server:
        with contextlib.ExitStack() as stack:
            def stranger(data):
                connection = stack.enter_context(contextlib.closing(server.connect()))
                connection.sendall(data)
                return connection
            halves = [stranger(replicate[:RANDOM.randrange(1, len(replicate))]) for _ in range(20)]
            for wrong in (b"\0" * 32, RANDOM.randbytes(32), b"\xff" * 4096):
                ended(stranger(replicate + wrong))
            def comes():
                """It has a place as a replica, or is told in words why not."""
                connection = stranger(replicate + RANDOM.randbytes(RANDOM.randrange(32)))
                connection.settimeout(20 * SLOWER)
                first = connection.recv(512)
                check(first.startswith((b"-ERR", b"+SNAPSHOT")), first)
                return connection if first.startswith(b"+") else None
            # As many as there may be, which say nothing. They are ended in time.
            silent = [eventually(comes, "a place is free") for _ in range(4)]
            comes()
            for each in silent:
                ended(each)
            for key in range(100):
                with contextlib.closing(server.connect()) as connection:
                    equal(wire.Replies(connection).ask("SET", key, key), "OK", "others are served")
            for each in halves:
                each.close()
        eventually(lambda: replicas_of(server) == 0, "none is left")
        with replica_of(server.port) as replica:
            caught_up(server, replica)


def replicas_of(server):
    return int(server.ask("INFO", "replication").split(b"connected_slaves:")[1].split(b"\r\n")[0])


def ended(connection):
    """Waits until the server closes this connection."""
    connection.settimeout(20 * SLOWER)
    try:
        while connection.recv(1 << 16):
            pass
    except ConnectionResetError:
        pass
    except socket.timeout:
        raise AssertionError("it is not ended") from None


@case
def half_targets():
    """a false target of a move that sends nothing, half or wrong replies takes no slot; the source serves on"""
    with nodes(2, "--repl-timeout", "3") as (source, target):
        equal(source.ask("SET", key_in(0, 0), 7), "OK", "SET")
        slot = slot_of(key_in(0, 0))
        older = source.ask("EXPORTSLOTS", 2, 1, node_id(1), node_id(0), 1, 8, 8, 0, 1 << 12, 1, slot)
        check("they need the same version of slot migration" in older, older)
        not_ack = b"trouble:the target did not reply with +ACK <sequence>\r\n"
        for number, (answer, trouble) in enumerate((
                (b"", b""), (b"+AC", b"trouble:the connection to the target: "), (b"+ACK 99999999999\r\n", not_ack),
                (b"+DONE 5\r\nhello", not_ack), (RANDOM.randbytes(600), b""), (b"-ERR no\r\n", not_ack),
                (b"+DONE 99999999999999999999\r\n", not_ack)), 1):
            with contextlib.closing(source.connect()) as connection:
                connection.sendall(wire.command("EXPORTSLOTS", 3, 1, node_id(1), node_id(0), 1, 8, 8, 0, 1 << 12, 1, slot))
                connection.settimeout(20 * SLOWER)
                first = connection.recv(8)
                equal(first, b"+EXPORT ", "it is begun")
                connection.sendall(answer)
                if answer:
                    ended(connection)
            eventually(lambda: source.ask("GET", key_in(0, 0)) == b"7", f"it serves behind {answer[:20]!r}")
            eventually(lambda n=number: b"\r\nfailures:%d\r\n" % n in source.ask("CLUSTER", "MOVE", "STATUS"), "the move failed", 60)
            status = source.ask("CLUSTER", "MOVE", "STATUS")
            check(b"moving:0" in status and trouble in status, f"no move is left behind {answer[:20]!r}: {status}")
        equal(target.ask("DBSIZE"), 0, "the other node has nothing")


@case
def topologies_beside_growth():
    """a loop follows each topology while batches of older ones wait for the growth of the table, and redirects requests by the newest;
    SETTOPOLOGY replies when these batches are done"""
    faults, keys, more = Faults(), range(880_000), range(880_000, 900_000)
    with Node(0, "--backend", "cpu", "--loops", "1", "--capacity", "1M", "--max-capacity", "4M", environment=faults.environment()) as server, \
            server.connect() as writer, server.replies() as reader, contextlib.ExitStack() as stack:
        two = [server, types.SimpleNamespace(port=1)]
        server.set_topology(cut(two, 1, 0, 16384, 16384))
        for at in range(0, len(keys), 40_000):
            equal(wire.call(writer, wire.SET, keys[at:at + 40_000], keys[at:at + 40_000]).status, wire.OK, "a frame")
        faults.words.map_held = 1
        writer.sendall(wire.frame(wire.SET, more, more))
        eventually(lambda: faults.words.map_waits == 1, "the growth")
        changes = [stack.enter_context(server.replies()) for _ in range(4)]
        for epoch, change in enumerate(changes, 2):
            last = 16384 - 1000 * epoch
            stays = stack.enter_context(server.connect())
            stays.sendall(wire.frame(wire.GET, [key_in(0, 9)], want_values=True))  # it waits for the growth, under this topology
            change.socket.sendall(wire.command("CLUSTER", "SETTOPOLOGY", cut(two, epoch, 0, last, 16384)))
            eventually(lambda n=epoch: b"cluster_current_epoch:%d\r\n" % n in reader.ask("CLUSTER", "INFO"), f"epoch {epoch}")
            moved = key_in(last, last + 9)
            check(f"MOVED {slot_of(str(moved))} " in str(reader.ask("GET", moved)), "a command")
            with server.connect() as frames:
                equal(wire.call(frames, wire.GET, [moved], want_values=True).status, wire.WRONG_SHARD, "a frame")
        equal(select.select([change.socket for change in changes], [], [], 0.1)[0], [], "no change is over")
        check(faults.words.map_waits == 1, "it still grows")
        faults.words.map_held = 0
        equal([change.read() for change in changes], ["OK"] * 4, "SETTOPOLOGY")
        equal(wire.read_frame(writer).status, wire.OK, "the frame that let it grow")
        check(reader.ask("CLUSTER", "COUNTKEYSINSLOT", 0) > 0, "the keys")


if __name__ == "__main__":
    main()
