#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_directory - what the files of a data directory must hold, and a directory that goes away."""

import shutil

import redis

import harness
import wire
from cluster import node_id, topology
from data_directory import Directory, does_not_start, next_segment
from faults import Faults
from harness import case, check, equal, eventually, raises


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
            server.process.wait(60)
        with serve(path) as server:
            r = client(server)
            equal([r.ttl(1), r.ttl(4) > 600], [-1, True], "as saved")


@case
def directory_gone():
    """The directory is removed: SAVE fails; a new one at its path is used without a restart"""
    with Directory() as path:
        with serve(path, errors="no snapshot was written") as server:
            r = client(server)
            r.set(1, 2)
            shutil.rmtree(path)
            for _ in range(2):
                raises(redis.ResponseError, "No such file or directory", r.save)
            path.mkdir()
            eventually(lambda: try_save(r), "a snapshot in the new directory")
            check(f"(pid {server.process.pid})" in does_not_start("--data-dir", str(path)), "the new one is locked")
        with serve(path, errors="no snapshot was written") as server:
            equal(client(server).get(1), b"2", "loaded")
            client(server).set(1, 3)
            shutil.rmtree(path)
            path.mkdir()
        with serve(path) as server:
            equal(client(server).get(1), b"3", "the last one went to the new directory")


# --- a directory that is moved or replaced -------------------------------------------------------
def refused(r):
    """Returns SAVE's error."""
    try:
        r.save()
    except redis.ResponseError as error:
        return str(error)
    return "+OK"


def moved(path):
    """Renames the directory, as a person does, and returns its new path."""
    old = path.with_name(path.name + ".old")
    path.rename(old)
    return old


class Moving(Directory):
    """A data directory and the name that it was renamed to."""

    def __exit__(self, *why):
        super().__exit__(*why)
        for other in self.path.parent.glob(self.path.name + ".*"):
            if other.is_dir():
                shutil.rmtree(other, ignore_errors=True)
            else:
                other.unlink()


@case
def renamed_and_made_anew():
    """mv D D.old; mkdir D: snapshots go to the new one, the last one even if nothing changed since SAVE"""
    for saves in (True, False):
        with Moving() as path:
            with serve(path, errors="was replaced|was moved") as server:
                r = client(server)
                r.set(1, 2)
                if saves:
                    check(r.save(), "SAVE")
                old = moved(path)
                path.mkdir()
                if not saves:
                    r.set(3, 4)
                    check(r.save(), "SAVE goes to the new one")
                    equal(len(list(old.glob("snapshot-*"))), 0, "none in the old one")
            with serve(path) as server:
                equal(client(server).get(1), b"2", "after the stop")
            with serve(old):
                pass


@case
def other_files_come_along():
    """mv D D.old; mkdir D: a cluster node keeps its topology, and a server keeps the role that REPLICAOF gave it"""
    with Moving() as path:
        config, node = path.with_name(path.name + ".json"), {"port": 1, "slots": [[0, 16383]]}
        config.write_text(topology(1, [node]))
        flags = ("--cluster-node-id", node_id(0), "--cluster-config", str(config))
        with serve(path, *flags, errors="was replaced|cluster") as server:
            server.redis_cli("CLUSTER", "SETTOPOLOGY", topology(3, [node]))
            moved(path)
            path.mkdir()
            check(client(server).save(), "SAVE")
        with serve(path, *flags, errors="cluster") as server:
            equal(server.metrics()["sherwood_cluster_epoch"], 3, "the newer topology")
    with Moving() as path, harness.Server() as primary:
        client(primary).set(1, 1)
        with serve(path, errors="was replaced") as server:
            server.redis_cli("REPLICAOF", "127.0.0.1", str(primary.port))
            eventually(lambda: server.redis_cli("GET", "1").strip() == "1" and (path / "role").exists(), "the data")
            moved(path)
            path.mkdir()
            check(client(server).save(), "SAVE")
            equal({each.name for each in path.iterdir()} >= {"history", "role", "lock"}, True, "its files")
        with serve(path) as server:
            equal(server.redis_cli("ROLE").split()[0], "slave", "its role")


@case
def renamed_only():
    """mv D D.old: SAVE and the stop fail with a reason; after it is moved back it is used as before"""
    with Moving() as path:
        with serve(path, errors="was moved or removed|are lost") as server:
            r = client(server)
            r.set(1, 2)
            old = moved(path)
            for _ in range(2):
                check("was moved or removed: No such file" in refused(r), refused(r))
            old.rename(path)
            equal(refused(r), "+OK", "it is back")
            moved(path)
            server.process.terminate()
            server.stop_rc = server.process.wait(20)
            equal(server.stop_rc, 1, "the next start would find nothing")


@case
def replaced_by_data_of_others():
    """A directory that has data, or that another daemon uses, takes the path: it is left alone, and SAVE fails.
    A symbolic link to an empty directory is used."""
    with Moving() as path, Moving() as other, Moving() as empty:
        with serve(other) as server:
            client(server).set(7, 7)
        before = sorted(other.iterdir())
        with serve(path, errors="was replaced|another sherwoodd") as server:
            r = client(server)
            r.set(1, 2)
            moved(path)
            path.symlink_to(other)
            check("by one that has data (snapshot-" in refused(r), refused(r))
            equal(sorted(other.iterdir()), before, "left alone")
            path.unlink()
            path.symlink_to(empty)
            (empty / "role").write_text("sherwood-role 1\nreplica of 127.0.0.1 1\nreplicaof \n")
            check("by one that has data (role)" in refused(r), "the next start would be a replica")
            (empty / "role").unlink()
            with serve(empty) as holder:
                check(f"another sherwoodd (pid {holder.process.pid})" in refused(r), refused(r))
                holder.end_by_kill()
            equal(refused(r), "+OK", "nobody has it")
        with serve(path) as server:
            equal(client(server).get(1), b"2", "the other one")
        with serve(other) as server:
            equal(client(server).get(7), b"7", "data of others")
        path.unlink()


@case
def a_log_goes_on_in_the_new_one():
    """mv D D.old; mkdir D, with a log: the server notices, and the next start has every acknowledged write.
    This also holds after a kill. A directory with other data is left alone, and writes are refused."""
    log = ("--appendonly", "yes", "--appendfsync", "always", "--log-segment-bytes", "1M", "--frame-ops-max", "256",
           "--round-ops-max", "1024", "--capacity", "64K")
    errors = "was replaced|was moved|no snapshot was written|still broken"
    with Moving() as path, Moving() as other:
        (other / "log-0000000000000001").write_bytes(b"")
        with serve(path, *log, errors=errors) as server:
            r = client(server)
            r.mset({1: 2, 3: 4})
            moved(path)
            path.symlink_to(other)
            eventually(lambda: "MISCONF" in answer(r, 1), "writes are refused", 40)
            equal(r.get(3), b"4", "reads go on")
            eventually(lambda: "by one that has data (log-" in server.log(), "why")
            equal(sorted(each.name for each in other.iterdir()), ["lock", "log-0000000000000001"], "left alone")
            path.unlink()
            path.mkdir()
            eventually(lambda: answer(r, 5) == "OK", "service returns", 40)
            server.end_by_kill()
        with serve(path, *log, errors=errors) as server:
            r = client(server)
            equal(r.mget(1, 3, 5), [b"2", b"4", b"5"], "all of it")
            path.rename(path.with_name(path.name + ".second"))
            path.mkdir()
        with serve(path, *log) as server:
            equal(client(server).mget(1, 3, 5), [b"2", b"4", b"5"], "after a stop at once")


def answer(r, key):
    try:
        return "OK" if r.set(key, key if key == 5 else 2) else "?"
    except redis.ResponseError as error:
        return str(error)
    except redis.ConnectionError:
        return "closed: it came while the log broke"


@case
def a_slow_disk_takes_the_history():
    """REPLICAOF NO ONE while the disk does not finish a sync of `history`: other clients do not wait"""
    faults = Faults()
    with Directory() as path, harness.Server() as primary:
        client(primary).set(1, 1)
        with serve(path, "--replicaof", f"127.0.0.1 {primary.port}", environment=faults.environment()) as server:
            r = client(server)
            eventually(lambda: server.redis_cli("GET", "1").strip() == "1" and (path / "history").exists(), "the data")
            eventually(lambda: not r.info("persistence")["rdb_bgsave_in_progress"], "and its files")
            with server.connect() as connection:
                faults.sync.held = 1
                connection.sendall(wire.command("REPLICAOF", "NO", "ONE"))
                eventually(lambda: faults.sync.waiting > 0, "the sync")
                with server.connect() as other:
                    other.settimeout(30)
                    replies = wire.Replies(other)
                    for _ in range(20):  # iterations of the loop, which looks what became of the order
                        equal(replies.ask("GET", 1), b"1", "reads")
                        check(b"rdb_bgsave_in_progress" in replies.ask("INFO", "persistence"), "INFO persistence")
                        check(b"role:" in replies.ask("INFO", "replication"), "INFO replication")
                        check(server.http("/metrics")[0] == 200, "/metrics")
                faults.sync.end()
                equal(wire.Replies(connection).read(), "OK", "promoted")
            eventually(lambda: r.set(2, 2), "a primary")


@case
def a_mend_goes_first():
    """When a sync of the log fails, a replica's snapshot and DIGEST give up the table's image.
    Writes then go on at once."""
    faults, keys = Faults(), 300000
    with Directory() as path:
        with serve(path, "--capacity", "512K", "--appendonly", "yes", "--appendfsync", "always", "--log-segment-bytes",
                   "16M", "--loops", "2", environment=faults.environment(),
                   errors="a sync of the log has failed|the connection to the replica ended|no snapshot was written") as server:
            with server.connect() as connection, server.connect() as replica, server.connect() as reader:
                replies = wire.Replies(connection)
                for first in range(0, keys, 10000):
                    words = [word for key in range(first, first + 10000) for word in (key, key)]
                    equal(replies.ask("MSET", *words), "OK", "filled")
                replica.sendall(wire.command("REPLICATE", 1, "0" * 40, 0, 8, 8, 0, 0, 1048576))
                snapshot = wire.Replies(replica)
                check(str(snapshot.read()).startswith("SNAPSHOT"), "it is sent a snapshot")
                if not snapshot.buffer:
                    snapshot.fill()  # of the image, so that the sender has it; then it reads no more
                reader.sendall(wire.command("DIGEST") * 3)
                next_segment(path)
                faults.sync.fail(1)
                connection.sendall(wire.command("SET", 1, 5))
                equal(replies.read(), "OK", "the write that waited for the snapshot")
                eventually(lambda: replies.ask("SET", 2, 5) == "OK", "writes go on")
                check("the snapshot that repairs the log comes before" in server.log(), "why the replica went")
                digests = [wire.Replies(reader).read() for _ in range(1)]
                check(all(not str(each).startswith("ERR") for each in digests), f"DIGEST began anew: {digests}")
            server.end_by_kill()
        with serve(path, "--capacity", "512K", "--appendonly", "yes") as server:
            equal(server.redis_cli("MGET", "1", "2", "299999").split(), ["5", "5", "299999"], "all of it")


if __name__ == "__main__":
    harness.main()
