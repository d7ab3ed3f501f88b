#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Replication and data directories: after a kill, the files of either side hold a position of the history, or nothing.

SHERWOOD_SEED=N repeats a run that failed."""

import random
import socket
import time

from data_directory import Directory, durable
from faults import Faults
from harness import SANITIZED, Server, case, check, drawn_seed, equal, eventually, free_port, main, raises
from replication import SMALL, Load, Relay, acknowledged, caught_up, info, replica_of, to_be_killed

NARROW = ("--capacity", "1K", "--max-capacity", "4K")
FILES = (*SMALL, "--log-segment-bytes", "1M")


def logged(directory, level, *flags, **how):
    """Returns a daemon with a log, of the size of the replicas."""
    return durable(directory, level, *FILES, *flags, **how)


@case
def primary_with_a_log():
    """a primary with a log and snapshots is killed and restarts: its replica gets what the files have"""
    draw = random.Random(drawn_seed())
    port = str(free_port())
    with Directory() as directory:
        level = draw.choice(("always", "everysec"))
        with to_be_killed(logged(directory, level, "--port", port)) as primary, replica_of(port) as replica:
            load = Load(primary, draw.randrange(2**32), flushes=False)
            eventually(lambda: info(replica)["master_link_status"] == "up" and load.written > 30, "the load goes on")
            primary.ask("BGSAVE")
            with primary.replies() as replies:
                replies.ask("SET", 5000, 1)
                equal(replies.ask("WAIT", 1, 20000), 1, "the replica has it")
            eventually(lambda: primary.ask("LASTSAVE") > 0, "a snapshot")
            history = info(primary)["master_replid"]
            primary.kill()
            load.end()
            with logged(directory, level, "--port", port) as again:
                equal(again.ask("GET", 5000), b"1", "what WAIT counted is in the files")
                eventually(lambda: info(replica)["master_replid"] not in (history, "0" * 40), "another history")
                again.ask("SET", 5001, 2)
                check(caught_up(again, replica)[1] > 1, "all of it")


def follower(directory, primary, *flags, **how):
    """Returns a replica with a log in the directory."""
    return logged(directory, drawn_level(), "--replicaof", f"127.0.0.1 {primary.port}", *flags, **how)


def drawn_level():
    return random.Random(drawn_seed() + 7).choice(("always", "everysec", "no"))


def resyncs(server):
    return int(info(server)["sherwood_resyncs"])


@case
def replica_with_a_log():
    """a replica is killed and restarts with what it had acknowledged, without a snapshot of its primary"""
    draw = random.Random(drawn_seed() + 1)
    with Directory() as directory, Server(*SMALL) as primary:
        load = Load(primary, draw.randrange(2**32), flushes=False)
        for turn in range(2):
            with to_be_killed(follower(directory, primary)) as replica:
                eventually(lambda r=replica: info(r)["master_link_status"] == "up", "connected")
                with primary.replies() as replies:
                    replies.ask("SET", 5000 + turn, turn)
                    equal(replies.ask("WAIT", 1, 20000), 1, "it is acknowledged")
                written = load.written
                eventually(lambda w=written: load.written > w + 20, "the load goes on")
                equal(resyncs(replica), int(turn == 0), "snapshots")
                if draw.randrange(2):
                    replica.ask("BGSAVE")
                replica.kill()
            with logged(directory, "no", "--replicaof", "127.0.0.1 1", errors="replica") as alone:
                equal(alone.ask("GET", 5000 + turn), b"%d" % turn, "what it had acknowledged")
        with follower(directory, primary) as replica:
            load.end()
            caught_up(primary, replica)
            equal((resyncs(replica), info(replica)["sherwood_resumes"]), (0, "1"), "resumed")
        with follower(directory, primary) as replica:
            caught_up(primary, replica)
            equal(resyncs(replica), 0, "after a clean stop, too")


@case
def not_acknowledged_before_it_is_safe():
    """WAIT counts a replica with appendfsync always only after its log has synced the write"""
    faults = Faults()
    with Directory() as directory, Server(*SMALL) as primary:
        with logged(directory, "always", "--replicaof", f"127.0.0.1 {primary.port}", environment=faults.environment()) as replica:
            caught_up(primary, replica)
            with primary.replies() as replies:
                replies.ask("SET", 1, 10)
                equal(replies.ask("WAIT", 1, 20000), 1, "its log syncs")
                faults.sync.held = 1
                replies.ask("SET", 2, 20)
                eventually(lambda: faults.sync.waiting > 0, "the replica syncs")
                equal(replies.ask("WAIT", 1, 200), 0, "the sync has not ended")
                faults.end()
                equal(replies.ask("WAIT", 1, 20000), 1, "the sync has ended")


@case
def other_history():
    """a directory with another primary's data gets the new one's data instead, whatever the sequences"""
    with Directory() as directory, Server(*SMALL) as primary:
        with logged(directory, "everysec") as server:
            for i in range(40):
                server.ask("SET", 7000 + i, i)
            server.ask("SAVE")
            server.ask("SET", 7100, 1)
        primary.ask("MSET", 1, 10, 2, 20)
        with to_be_killed(follower(directory, primary)) as replica:
            eventually(lambda: replica.ask("MGET", 1, 2, 7000) == [b"10", b"20", None], "the primary's")
            with primary.replies() as replies:
                replies.ask("SET", 3, 30)
                equal(replies.ask("WAIT", 1, 20000), 1, "acknowledged")
            replica.kill()
        with follower(directory, primary) as replica:
            caught_up(primary, replica)
            equal((resyncs(replica), replica.ask("DBSIZE")), (0, 3), "warm")


@case
def killed_while_it_is_filled():
    """a replica killed while its files are replaced restarts with its old data, or with none"""
    draw = random.Random(drawn_seed() + 3)
    with Directory() as directory, Server(*SMALL) as primary:
        with logged(directory, "no") as server:
            for i in range(20):
                server.ask("SET", 9000 + i, i)
        for first in range(0, 40_000 if SANITIZED else 200_000, 2000):  # to fill it takes as long
            primary.ask("MSET", *(x for k in range(first, first + 2000) for x in (k * 7 + 100_000, k)))
        for _ in range(5):
            server = follower(directory, primary)
            with to_be_killed(server):
                time.sleep(draw.random() * 0.15)
                server.kill()
        with follower(directory, primary) as replica:
            caught_up(primary, replica)
            equal(replica.ask("EXISTS", *range(9000, 9020)), 0, "nothing of the other history")
        with follower(directory, primary) as replica:
            caught_up(primary, replica)
            equal(resyncs(replica), 0, "and its files are whole")


@case
def promoted_and_back():
    """a replica that wrote as a primary, after REPLICAOF NO ONE or a restart, has its own history from then on"""
    for by_command in (True, False):
        with Directory() as directory, Server(*SMALL) as old:
            old.ask("SET", 1, 1)
            with follower(directory, old) as replica:
                caught_up(old, replica)
                history = info(old)["master_replid"]
                if by_command:
                    equal(replica.ask("REPLICAOF", "NO", "ONE"), "OK", "promoted")
                    equal(replica.ask("SET", 2, 2), "OK", "it writes")
            with logged(directory, "always") as primary:
                equal(primary.ask("SET", 3, 3), "OK", "it writes after a start")
                equal(primary.ask("GET", 1), b"1", "the data of before")
                check(info(primary)["master_replid"] != history, "a history of its own")
                old.ask("REPLICAOF", "127.0.0.1", primary.port)
                caught_up(primary, old)
                old.ask("REPLICAOF", "NO", "ONE")
            old.ask("SET", 4, 4)
            old.ask("SET", 5, 5)
            with logged(directory, "always") as primary:
                primary.ask("SET", 6, 6)
            with follower(directory, old) as replica:
                caught_up(old, replica)
                equal((resyncs(replica), replica.ask("EXISTS", 6)), (1, 0), "what the other one lacks is undone")


@case
def snapshots_only():
    """a replica without a log resumes after its last snapshot"""
    with Directory() as directory, Server(*SMALL) as primary:
        flags = ("--data-dir", str(directory))
        primary.ask("SET", 1, 1)
        with replica_of(primary.port, *flags) as replica:
            caught_up(primary, replica)
            primary.ask("SET", 2, 2)
            caught_up(primary, replica)
        with to_be_killed(replica_of(primary.port, *flags)) as replica:
            caught_up(primary, replica)
            equal(resyncs(replica), 0, "the stop wrote a snapshot")
            equal(replica.ask("SAVE"), "OK", "SAVE")
            primary.ask("SET", 3, 3)
            caught_up(primary, replica)
            replica.kill()
        with replica_of(primary.port, *flags) as replica:
            caught_up(primary, replica)
            equal(resyncs(replica), 0, "from the snapshot on")


def refuses_to_start(directory, said):
    raises(AssertionError, said, logged(directory, "no").start)


@case
def half_replaced():
    """a start refuses files whose replacement was interrupted, and a damaged history; the error says what to do"""
    with Directory() as directory:
        (directory / "history").write_text(f"sherwood-history 1 replaced {'a' * 40} {'0' * 40} 0\n", encoding="ascii")
        refuses_to_start(directory, "into the data directory was interrupted: start with --replicaof")
        (directory / "history").write_text("sherwood-history 2\n", encoding="ascii")
        refuses_to_start(directory, "is damaged, so the history")


@case
def no_save_of_half_the_data():
    """while a primary that has hung up owes the rest of its data, SAVE and TABLE SAVE are refused, and the replica stops"""
    with Directory() as directory, socket.create_server(("127.0.0.1", 0)) as primary:
        with Server(*SMALL, "--data-dir", str(directory)) as replica:
            replica.ask("REPLICAOF", "127.0.0.1", primary.getsockname()[1])
            with primary.accept()[0] as connection:
                connection.recv(4096)
                connection.sendall(b"+SNAPSHOT " + b"0" * 40 + b" 0 1\r\n" + b"x" * 9000)
                eventually(lambda: "replication stopped" in replica.log(), "the snapshot was refused")
            why = "this replica is receiving the data of its primary; try again when it has them"
            equal([str(replica.ask("TABLE", "SAVE", "default")), str(replica.ask("SAVE")), str(replica.ask("SAVE"))],
                  [f"ERR the table cannot be saved: {why}", f"ERR {why}", f"ERR {why}"])


def write(primary):
    """Waits until a replica has a new write."""
    with primary.replies() as replies:
        replies.ask("INCR", 1)
        acknowledged(replies)


def overfill(primary, relay, replica):
    """Writes more than the replica has room for, and lets no new connection of it through."""
    relay.target = 1
    for first in range(0, 8000, 1000):
        primary.ask("MSET", *(x for key in range(first, first + 1000) for x in (key, key)))
    eventually(lambda: "does not fit: start with a larger --max-capacity" in replica.log(), "a record is refused")


@case
def no_save_of_a_refused_record():
    """no file has the number of a record that did not fit: neither SAVE nor the stop writes one, and a larger replica resumes before it"""
    for log, several in (("no", False), ("yes", False), ("yes", True)):
        with Directory() as directory, Server(*SMALL) as primary, Relay(primary.port) as relay:
            flags = ("--data-dir", str(directory), "--appendonly", log)
            check(not several or primary.ask("TABLE", "CREATE", "a") == "OK", "CREATE")
            with replica_of(relay.port, *flags, *NARROW) as replica:
                write(primary)
                overfill(primary, relay, replica)
                check("this replica is receiving the data" in str(replica.ask("SAVE")), "SAVE")
            with replica_of(primary.port, *flags) as replica:
                caught_up(primary, replica)
                equal((resyncs(replica), info(replica)["sherwood_resumes"]), (0, "1"), f"resumed: {log}, {several}")


@case
def a_refused_record_beside_a_save():
    """a save that waits for the number of a record that did not fit fails, and the replica receives all data again"""
    faults = Faults()
    with Directory() as directory, Server(*SMALL) as primary, Relay(primary.port) as relay:
        equal(primary.ask("TABLE", "CREATE", "a"), "OK", "CREATE")
        with replica_of(relay.port, "--data-dir", str(directory), "--appendonly", "yes", *NARROW,
                        environment=faults.environment(), errors="no snapshot was written: this replica lacks a write") as replica:
            write(primary)
            write(primary)  # no snapshot has it
            faults.rename.held = 1
            replica.ask("BGSAVE")
            eventually(lambda: faults.rename.waiting > 0, "the save has its image")
            overfill(primary, relay, replica)
            faults.end()
            eventually(lambda: "no snapshot was written: this replica lacks a write" in replica.log(), "the save fails")
            primary.ask("FLUSHALL")
            relay.target = primary.port
            caught_up(primary, replica)
            equal((resyncs(replica), replica.ask("SAVE")), (2, "OK"), "snapshots")


if __name__ == "__main__":
    main()
