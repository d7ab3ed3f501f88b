#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Key sets (--value-type none): what is refused, clients that add the same keys, kill -9, files, replicas, tables, slots that move."""

import random
import threading

import wire
from cluster import slot_of
from data_directory import SMALL, Directory, does_not_start, durable
from harness import BUILD, Server, case, check, equal, error_of, main, refusal, run, start
from moving import check_nodes, cluster, moved, mover
from replication import caught_up, replica_of

SET = ("--backend", "cpu", "--value-type", "none")


def add(connection, keys):
    """Adds keys by a frame. Returns the keys that are new."""
    reply = wire.exchange(connection, wire.envelope(
        wire.header_of(wire.NUMBERS["SET_ABSENT"], count=len(keys), key_bytes=8), wire.array(keys, 8)))
    equal(reply.status, wire.OK, reply.message)
    return [key for key, found in zip(keys, reply.arrays()["found"]) if not found]


@case
def no_command_has_a_value():
    """commands and frames with a value, sums and times are refused in a sentence; an empty value is none"""
    words = {"set": "1 9", "mset": "1 9", "msetnx": "7 9", "setnx": "7 9", "getset": "1 9", "setex": "1 100 x", "set ex": "1 x EX 5",
             "expire": "1 9", "getex": "1 EX 5", "incr": "1", "decr": "1", "incrby": "1 9", "increx": "1",
             "incrbyfloat": "1 9", "append": "1 9", "sum": "1 9", "min": "1 9", "max": "1 9", "or": "1 9", "mul": "1 9", "cas": "1 0 9",
             "add": "1 9", "setrange": "1 0 9", "assign": "1"}
    with start(*SET) as server, server.connect() as connection, server.replies() as replies:
        equal(replies.ask("INSERT", 1, 2, 1), [1, 1, 0], "INSERT")
        check(b"\r\nvalue_bits:0\r\n" in (said := replies.ask("INFO")) and b"\r\nvalue_type:none\r\n" in said, said)
        check("\nvalue_type:none\n" in (said := run(BUILD / "sherwood-cli", "-p", server.port, "INFO")), said)
        for command, arguments in words.items():
            got = error_of(replies, command.split()[0], *arguments.split())
            check(len(got.split()) > 4 and "unknown command" not in got, f"{command}: {got}")
            check("engine has no" not in got or "; start the server with" in got.replace(": start", "; start"), f"{command} has a remedy: {got}")
        equal(replies.ask("MGET", 1, 2, 7), [b"", b"", None], "nothing has changed")
        equal([replies.ask("SETNX", 7, ""), replies.ask("SETNX", 7, ""), replies.ask("SET", 8, "")], [1, 0, "OK"], "an empty value")
        equal([replies.ask("GETDEL", 7), replies.ask("RENAME", 8, 9), replies.ask("COPY", 9, 10)], [b"", "OK", 1], "GETDEL")
        equal([replies.ask("EXISTS", 1, 2, 7, 8, 9, 10), replies.ask("TTL", 1), replies.ask("MEMORY", "USAGE", 1)], [4, -1, 8], "EXISTS")
        for name in ("SET", "SET_ABSENT", "SUM", "CAS", "OR", "ADD_U32"):
            reply = wire.call(connection, wire.NUMBERS[name], [5], [9, 9] if name == "CAS" else [9])
            check(reply.status != wire.OK and len(reply.message.split()) > 4, f"{name}: {reply.message}")
        equal(add(connection, [1, 5, 5, 2]), [5], "a frame")
        equal(sorted(int(key) for key in replies.ask("KEYS", "*")), [1, 2, 5, 9, 10], "KEYS")
    with start() as server, server.replies() as replies:
        check("has no INSERT: keys of the table have values; start the server with --engine robin_hood --value-type none" in (said := error_of(replies, "INSERT", 1)), said)


@case
def a_full_set_refuses():
    """if there is no room for all keys of a command, a transaction or a frame, it is refused as a whole"""
    with start(*SET, "--capacity", "64", "--max-capacity", "0", "--max-load", "1") as server, server.replies() as replies:
        equal(replies.ask("INSERT", *range(60)), [1] * 60, "INSERT")
        check("OOM" in (said := error_of(replies, "INSERT", 3, *range(100, 105))), said)
        for command in (("MULTI",), ("INSERT", 70, 71), ("DEL", 1), ("INSERT", *range(72, 76))):
            replies.ask(*command)
        check("OOM" in str(replies.ask("EXEC")), "EXEC")
        equal(replies.ask("DBSIZE"), 60, "nothing has changed")
        equal(replies.ask("INSERT", 5, *range(100, 104)), [0, 1, 1, 1, 1], "what fits")


@case
def clients_at_once():
    """each key is new for one of the clients that add it at the same time, by frames and by RESP, while the table grows"""
    with start(*SET, "--capacity", "1K", "--max-capacity", "1M", "--loops", "2") as server:
        fresh = [[] for _ in range(4)]

        def client(mine, seed):
            keys = list(range(20000))
            random.Random(seed).shuffle(keys)
            with server.connect() as connection:
                replies = wire.Replies(connection)
                for at in range(0, len(keys), 1000):
                    some = keys[at:at + 1000]
                    if seed % 2 == 0:
                        mine += add(connection, some)
                    else:
                        mine += [key for key, new in zip(some, replies.ask("INSERT", *some)) if new]
        threads = [threading.Thread(target=client, args=(mine, seed)) for seed, mine in enumerate(fresh)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal(sorted(key for mine in fresh for key in mine), list(range(20000)), "each key is new once")
        equal(server.ask("DBSIZE"), 20000, "DBSIZE")


@case
def kills_and_restarts():
    """every answered key is there after kill -9, from the log and from snapshots; files with values do not fit, nor the reverse"""
    rng, keys = random.Random(4), set()
    with Directory() as path:
        for restart in range(6):
            with durable(path, "always", *SET, stop_rc=-9 if restart % 2 == 0 else 0) as server, server.replies() as replies:
                equal(replies.ask("DBSIZE"), len(keys), f"start {restart}")
                check(not keys or replies.ask("EXISTS", *keys) == len(keys), f"start {restart}")
                for _ in range(20):
                    some = [rng.randrange(300) for _ in range(rng.randrange(1, 20))]
                    if rng.random() < .6:
                        new = [not (key in keys or key in some[:i]) for i, key in enumerate(some)]
                        equal(replies.ask("INSERT", *some), [int(one) for one in new], f"INSERT {some}")
                        keys |= set(some)
                    else:
                        equal(replies.ask("DEL", *some), len(keys & set(some)), f"DEL {some}")
                        keys -= set(some)
                    if rng.random() < .1:
                        equal(replies.ask("SAVE"), "OK", "SAVE")
                if restart % 2 == 0:
                    server.end_by_kill()
        for flags in ((), ("--value-bytes", "8")):
            said = does_not_start("--data-dir", str(path), "--appendonly", "yes", *flags)
            check("value" in said, said)
    with Directory() as path:
        with durable(path, "no", *SET[:2]) as server, server.replies() as replies:
            equal([replies.ask("SET", 1, 7), replies.ask("SAVE")], ["OK", "OK"], "with values")
        check("start without value-type none" in (said := does_not_start("--data-dir", str(path), *SET)), said)


@case
def a_replica_takes_over():
    """a replica has the keys of its primary, and the same digest; promoted, it adds keys"""
    with Directory() as path, Server(*SMALL, *SET, "--data-dir", str(path), "--appendonly", "yes", "--appendfsync", "no") as primary, \
            primary.replies() as replies:
        equal(sum(replies.ask("INSERT", *range(500))), 500, "before the replica")
        with replica_of(primary.port, *SET) as replica, replica.replies() as others:
            equal(replies.ask("DEL", *range(100)), 100, "DEL")
            caught_up(primary, replica)
            equal([others.ask("DBSIZE"), others.ask("EXISTS", 99, 100)], [400, 1], "the replica")
            equal(others.ask("DIGEST")[1:], replies.ask("DIGEST")[1:], "DIGEST")
            check(error_of(others, "INSERT", 1).startswith("READONLY"), "a replica adds no keys")
            equal(others.ask("REPLICAOF", "NO", "ONE"), "OK", "REPLICAOF NO ONE")
            equal(others.ask("INSERT", 99, 100), [1, 0], "the promoted replica")


@case
def several_tables():
    """TABLE CREATE takes value-type none, files keep it, and tables of another shape are not exchanged"""
    with Directory() as path:
        for restart in range(2):
            with durable(path, "no", *SET[:2]) as server, server.replies() as replies:
                if restart == 0:
                    equal(replies.ask("TABLE", "CREATE", "seen", "value-type", "none"), "OK", "TABLE CREATE")
                    check("leave it out" in error_of(replies, "TABLE", "CREATE", "x", "value-type", "none", "ids", "5"), "ids")
                equal(replies.ask("SET", 1, 70), "OK", "the default table")
                equal(replies.ask("SELECT", "seen"), "OK", "SELECT")
                equal(replies.ask("INSERT", 1, 2), [1 - restart] * 2, f"start {restart}")
                check("different shapes" in (said := error_of(replies, "TABLE", "SWAP", "default", "seen")), said)


@case
def a_table_beside_rows():
    """where the server's options exclude a key set, the refusal names each option that must be 0"""
    rows = ("--value-bytes", "60", "--value-type", "string", "--resp-keys", "hash", "--resp-key-text-bytes", "30")
    for flags, options in ((rows, ("value-bytes", "resp-key-text-bytes")), (("--ids", "5"), ("ids",)), (("--default-ttl", "5"), ("default-ttl",))):
        with start(*SET[:2], *flags) as server, server.replies() as replies:
            words = ["TABLE", "CREATE", "seen", "value-type", "none"]
            for option in options:
                check(f"have no {option}: leave it out, or set it to 0" in (said := error_of(replies, *words)), said)
                words += [option, "0"]
            equal([replies.ask(*words), replies.ask("SELECT", "seen"), replies.ask("INSERT", 1)], ["OK", "OK", [1]], str(words))


@case
def slots_move():
    """slots of a cluster move to another node with their keys, and back"""
    with cluster(2, *SET, "--capacity", "4K", "--max-capacity", "16K") as servers:
        keys = [key for key in range(3000) if slot_of(key) < 8192]
        equal(servers[0].ask("INSERT", *keys[:1]), [1], "INSERT")
        with servers[0].replies() as replies:
            equal([replies.ask("INSERT", key) for key in keys], [[0]] + [[1]] * (len(keys) - 1), "INSERT")
        for source, target in (("s0", "s1"), ("s1", "s0")):
            moved(mover(servers, "100-4000", source, target))
            equal(sum(server.ask("DBSIZE") for server in servers), len(keys), f"from {source} to {target}")
        equal(servers[0].ask("DBSIZE"), len(keys), "all are back")

        def cli(*words):
            return run(BUILD / "sherwood-cli", "-c", "-a", f"127.0.0.1:{servers[0].port}", *words).split()
        for new in "10":
            equal(cli("INSERT", *range(3000, 5000)), [new] * 2000, "a client of the cluster")
        equal([cli("EXISTS", *range(4990, 5010)), cli("DEL", *range(3000, 5000))], [["10"], ["2000"]], "a client of the cluster")
        check_nodes(servers)


@case
def refused_options():
    """options that exclude key sets are refused in one sentence"""
    for flags, words in ((("--value-bytes", "8"), "have no value-bytes"), (("--ids", "5"), "have no ids"), (("--default-ttl", "5"), "have no default-ttl"),
                         (("--rows-max", "5"), "have no rows-max"), (("--rows-in", "host"), "needs rows"),
                         (("--engine", "cache"), "robin_hood"), (("--engine", "cuckoo"), "robin_hood")):
        said = refusal(*SET, *flags)
        check(words in said, f"{flags}: {said}")


if __name__ == "__main__":
    main()
