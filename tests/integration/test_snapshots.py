#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_snapshots - snapshots of a daemon: written, read by an independent reader, and loaded by other daemons."""

import array
import http.client
import os
import random
import re
import resource
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

import redis

import harness
import wire
from data_directory import Directory, does_not_start
from harness import case, check, equal, eventually, free_port, raises
from snapshot_file import read_ends, read_snapshot


def integers(found):
    return {key: int.from_bytes(value, "little") for key, (value, _) in found.items()}


# --- helpers -------------------------------------------------------------------------------------
class Place(Directory):
    """A data directory that outlives daemons."""

    def __enter__(self):
        super().__enter__()
        return self

    def server(self, *flags, **more):
        return harness.Server("--data-dir", str(self.path), *flags, **more)

    def files(self):
        return sorted(self.path.glob("snapshot-*"))


def client(server, **more):
    return redis.Redis(host="127.0.0.1", port=server.port, **more)


def contents(r, keys):
    keys = list(keys)
    return {k: int(v) for k, v in zip(keys, r.mget(keys)) if v is not None}


# --- cases ---------------------------------------------------------------------------------------
@case
def what_is_saved_is_there_after_a_restart():
    """SAVE, kill -9, restart: the table is there, and an independent reader finds the same"""
    pairs = {k: k * 7 + 1 for k in range(1, 5000)}
    pairs.update({0: 5, 2**64 - 1: 6})
    with Place() as place:
        with place.server(stop_rc=-signal.SIGKILL) as server:
            check("snapshots in" in server.line, server.line)
            r = client(server)
            r.mset(pairs)
            before = r.lastsave().timestamp()
            check(r.save(), "SAVE")
            check(r.lastsave().timestamp() >= before, "LASTSAVE")
            r.set(77777777, 1)
            equal(int(r.info("persistence")["rdb_changes_since_last_save"]), 1, "changes")
            equal(r.config_get("dir"), {"dir": str(place.path)}, "dir")
            server.stop(signal.SIGKILL)
        (path,) = place.files()
        found, facts = read_snapshot(path)
        equal(integers(found), pairs, "the file")
        equal((facts["key_bytes"], facts["value_bytes"], facts["engine"]), (8, 8, 0), "widths")
        with place.server() as server:
            r = client(server)
            equal(r.dbsize(), len(pairs), "keys")
            equal(contents(r, pairs), pairs, "values")
            equal(r.info("persistence")["rdb_last_load_keys_loaded"], len(pairs), "loaded")


@case
def stops_save():
    """SIGTERM and SHUTDOWN save, SHUTDOWN NOSAVE does not, and an unchanged table is not saved twice"""
    with Place() as place:
        with place.server() as server:
            client(server).set(1, 2)
        equal(len(place.files()), 1, "SIGTERM")
        with place.server() as server:
            equal(client(server).get(1), b"2", "loaded")
        equal(len(place.files()), 1, "nothing was changed")
        with place.server() as server:
            client(server).set(3, 4)
            client(server).shutdown(nosave=True)
            server.process.wait(60)
        equal(len(place.files()), 1, "NOSAVE")
        with place.server() as server:
            equal(client(server).dbsize(), 1, "NOSAVE")
            client(server).set(5, 6)
            client(server).shutdown(save=True)
            server.process.wait(60)
        with place.server("--snapshots-keep", "1") as server:
            equal(client(server).dbsize(), 2, "SAVE")
            client(server).flushall()
            check(client(server).save(), "of an empty table")
            equal(len(place.files()), 1, "snapshots-keep")
        equal(read_snapshot(place.files()[0])[0], {}, "empty")


@case
def any_engine_loads_it():
    """A daemon of another engine, capacity, seed and width loads it, or says why it cannot"""
    pairs = {k: k ^ 12345 for k in range(3000)}
    with Place() as place:
        with place.server("--key-bits", "32") as server:
            client(server).mset(pairs)
        for flags in (("--engine", "cuckoo"), ("--key-bits", "64", "--seed", "99", "--capacity", "8K"),
                      ("--key-bits", "32", "--capacity", "1K", "--max-capacity", "64K")):
            with place.server(*flags) as server:
                equal(contents(client(server), pairs), pairs, str(flags))
        refusals = ((("--capacity", "1K", "--max-capacity", "0"), "it needs --capacity, or --max-capacity, of at least"),
                    (("--engine", "cache"), "do not fit this table of keys of 8 and string values"),
                    (("--engine", "cache"), "start with --engine robin_hood or cuckoo, and without --value-bytes"))
        for flags, words in refusals:
            out = does_not_start("--data-dir", str(place.path), *flags)
            check(words in out, out)


@case
def wider_keys_are_refused():
    """a server of 32-bit keys refuses a snapshot of 64-bit keys and names the option"""
    with Place() as place:
        with place.server() as server:
            client(server).mset({1: 10})
        out = does_not_start("--data-dir", str(place.path), "--key-bits", "32")
        check("do not fit this table of keys of 4 and integer values of 4: start with --key-bits 64" in out, out)


@case
def a_cache_keeps_its_scores():
    """A cache restarts with its values and scores"""
    flags = ("--engine", "cache", "--policy", "lfu", "--value-bytes", "16", "--capacity", "1K")
    with Place() as place:
        with place.server(*flags) as server:
            r = client(server)
            for key in range(100):
                r.set(key, f"value {key}")
                for _ in range(key % 5):
                    r.get(key)
        found, facts = read_snapshot(place.files()[-1])
        equal((facts["engine"], facts["columns"], facts["policy"]), (2, 7, 1), "of a cache")
        equal({k: s for k, (_, s) in found.items()}, {k: 1 + k % 5 for k in range(100)}, "scores")
        equal(found[42][0][:12], struct.pack("<I", 8) + b"value 42", "a string")
        with place.server(*flags) as server:
            r = client(server)
            equal([r.get(k) for k in range(100)], [b"value %d" % k for k in range(100)], "values")
            check(r.save(), "SAVE")
        found, _ = read_snapshot(place.files()[-1])
        equal({k: s for k, (_, s) in found.items()}, {k: 2 + k % 5 for k in range(100)}, "one use more")


@case
def save_points():
    """--save saves after enough changes, and not before"""
    with Place() as place:
        with place.server("--save", "1 3 3600 1") as server:
            r = client(server)
            equal(r.config_get("save"), {"save": "1 3 3600 1"}, "save")
            r.mset({1: 1, 2: 2})
            time.sleep(1.3)
            equal(place.files(), [], "two changes are too few")
            r.set(3, 3)
            eventually(place.files, "a snapshot")
            eventually(lambda: r.info("persistence")["rdb_changes_since_last_save"] == 0, "changes")
            equal(r.info("persistence")["rdb_last_bgsave_status"], "ok", "status")
    for flags, words in ((("--save", "1 3"), "data-dir is not"),
                         (("--save", "1", "--data-dir", "/tmp"), "pairs of seconds and changes"),
                         (("--save", "0 3", "--data-dir", "/tmp"), "pairs of seconds and changes")):
        check(words in harness.run(harness.DAEMON, *flags, rc=2), words)


@case
def one_daemon_a_directory():
    """A second daemon on a data directory gets the pid of the first; an absent directory is named"""
    with Place() as place:
        with place.server() as server:
            out = does_not_start("--data-dir", str(place.path))
            check(f"another sherwoodd (pid {server.process.pid}) uses the data directory" in out, out)
    out = does_not_start("--data-dir", "/no/such/place")
    check("--data-dir: '/no/such/place': No such file or directory" in out, out)


@case
def without_a_directory():
    """Without --data-dir, SAVE and BGSAVE reply with an error that names the option"""
    with harness.Server() as server:
        check("in memory only" in server.line, server.line)
        r = client(server)
        for command in ("SAVE", "BGSAVE"):
            raises(redis.ResponseError, "--data-dir", r.execute_command, command)
        equal(r.info("persistence")["sherwood_data_dir_set"], 0, "INFO")


@case
def one_instant_beside_writes():
    """A snapshot during writes of many connections has whole transactions only"""
    with Place() as place:
        with place.server("--loops", "2") as server:
            stop, writers = threading.Event(), []

            def write(number):
                r = client(server)
                count = 0
                while not stop.is_set():
                    count += 1
                    with r.pipeline(transaction=True) as pipe:
                        for key in range(8):
                            pipe.set(number * 100 + key, count)
                        pipe.execute()

            for number in range(6):
                writers.append(threading.Thread(target=write, args=(number,)))
                writers[-1].start()
            r = client(server)
            last = {}
            for _ in range(5):
                time.sleep(0.1)
                check(r.save(), "SAVE")
                found = integers(read_snapshot(place.files()[-1])[0])
                for number in range(6):
                    values = {found.get(number * 100 + key, 0) for key in range(8)}
                    equal(len(values), 1, f"a transaction of writer {number} was cut")
                    value = values.pop()
                    check(value >= last.get(number, 0), "a later snapshot is of a later instant")
                    last[number] = value
            stop.set()
            for writer in writers:
                writer.join()


@case
def writes_that_fail():
    """A full disk: BGSAVE fails, with --save writes are refused, and service returns by itself"""
    with Place() as place:
        with place.server("--save", "3600 1", errors="no snapshot was written") as server:
            r = client(server)
            r.mset({k: k for k in range(10000)})
            check(r.save(), "SAVE")
            pid = server.process.pid
            limits = resource.prlimit(pid, resource.RLIMIT_FSIZE)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (8192, limits[1]))
            queued = r.client()
            equal([queued.execute_command(*c) for c in (("MULTI",), ("INCR", 5))],
                  [b"OK", b"QUEUED"], "MULTI")
            raises(redis.ResponseError, "new-snapshot cannot be written: File too large", r.save)
            equal(len(place.files()), 1, "the one before stays")
            check(not (place.path / "new-snapshot").exists(), "nothing is left")
            equal(r.info("persistence")["rdb_last_bgsave_status"], "err", "status")
            equal(r.get(5), b"5", "reads go on")
            for command in (("SET", 1, 1), ("DEL", 1), ("FLUSHALL",)):
                raises(redis.ResponseError, "MISCONF ", r.execute_command, *command)
            raises(redis.exceptions.ExecAbortError, "because of: MISCONF ", queued.execute_command, "EXEC")
            equal(r.get(5), b"5", "what was queued before is not carried out")
            with server.connect() as connection:
                equal(wire.call(connection, wire.SET, [1], [2]).status, wire.NOT_DURABLE, "a frame")
                equal(wire.call(connection, wire.GET, [5], want_values=True).status, wire.OK, "a read")
            equal(server.metrics()["sherwood_persistence_writes_refused"], 1, "metrics")
            resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
            check(r.save(), "SAVE")
            check(r.set(1, 1), "writes are taken again")


@case
def a_stop_that_would_lose_writes():
    """SHUTDOWN is refused if the last snapshot failed and writes are unsaved, until one succeeds; NOSAVE and FORCE stop"""
    errors = "no snapshot was written|writes since the last snapshot are lost|log is still broken|a write of the log has failed"
    for flags, stop, status, left in (((), "", 0, b"2"), ((), "NOSAVE", 0, b"1"), ((), "FORCE", 1, b"1"), (("--appendonly", "yes"), "", 0, b"2")):
        with Place() as place, place.server(*flags, errors=errors, stop_rc=status) as server, server.connect() as late:
            r = client(server)
            equal((r.set(1, 1), r.save(), r.set(1, 2)), (True, True, True), "SET, SAVE, SET")
            limits = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (4096, limits[1]))
            if flags:
                late.sendall(wire.command("SET", 3, 3))
                eventually(lambda: r.info("persistence")["aof_last_write_status"] == "err", "the log is broken")
            raises(redis.ResponseError, "File too large", r.save)
            for word in ("SAVE", "NOW"):
                check("a stop would lose writes: " in (said := server.redis_cli("SHUTDOWN", word, rc=None)), said)
            equal(r.get(1), b"2", "it serves")
            if stop == "":
                resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, limits)
                check(r.save(), "SAVE")
            equal(server.redis_cli("SHUTDOWN", *stop.split(), rc=None), "", "SHUTDOWN")
            equal(server.process.wait(), status, stop)
            with place.server(*flags) as again:
                equal(client(again).get(1), left, f"behind SHUTDOWN {stop}")


@case
def killed_while_it_saves():
    """kill -9 at random moments of a save: every restart finds a whole snapshot"""
    drawn = random.Random(harness.drawn_seed())
    saved, pairs = 0, 60000
    with Place() as place:
        for life in range(6):
            with place.server(stop_rc=-signal.SIGKILL) as server:
                r = client(server)
                values = set(r.mget(range(1, pairs)))
                equal(len(values), 1, "one value, or none")
                value = values.pop()
                check(value is None and saved == 0 or int(value) >= saved, "not older than acknowledged")
                r.mset({k: life + 1 for k in range(1, pairs)})
                if life % 2 == 0:
                    check(r.save(), "SAVE")
                    saved = life + 1
                    r.mset({k: life + 1 for k in range(1, pairs)})
                r.bgsave()
                time.sleep(drawn.random() * 0.03)
                server.stop(signal.SIGKILL)
            for path in place.files():
                read_ends(path.read_bytes())


@case
def damage_is_stepped_over():
    """A damaged newest snapshot is logged, and the one before it is loaded"""
    with Place() as place:
        with place.server() as server:
            r = client(server)
            r.set(1, 10)
            check(r.save(), "SAVE")
            r.set(1, 20)
        with open(place.files()[-1], "r+b") as file:
            file.seek(4096 + 64)
            byte = file.read(1)
            file.seek(4096 + 64)
            file.write(bytes([byte[0] ^ 1]))
        with place.server(errors="has a damaged block, at byte 4096: the server leaves it in place") as server:
            r = client(server)
            equal(r.get(1), b"10", "the one before")
            r.set(1, 30)
        equal(len(place.files()), 3, "the damaged one is left")
        with place.server() as server:
            equal(client(server).get(1), b"30", "numbers went on after the damaged one")


@case
def the_log_reaches_back_to_the_oldest_snapshot():
    """the log reaches back to the oldest kept snapshot: if all newer ones are damaged, nothing is lost"""
    flags = ["--appendonly", "yes", "--appendfsync", "always", "--snapshots-keep", "3", "--save", "", "--loops", "1",
             "--log-segment-bytes", "1M", "--frame-ops-max", "4096", "--round-ops-max",
             "4096", "--capacity", "64K"]
    keys = range(1, 40001)
    with Place() as place:
        with place.server(*flags) as server:
            r = client(server)
            for life in range(1, 9):
                for first in range(0, len(keys), 1000):  # some segments between two snapshots
                    r.mset({k: life for k in keys[first : first + 1000]})
                check(r.save(), "SAVE")
            r.set(0, 99)
        snapshots = place.files()
        equal(len(snapshots), 3, "snapshots")
        for path in snapshots[1:]:
            data = bytearray(path.read_bytes())
            data[4096 + 64] ^= 1
            path.write_bytes(data)
        with place.server(*flags, errors="has a damaged block") as server:
            r = client(server)
            equal(r.get(0), b"99", "the last write")
            for first in range(0, len(keys), 1000):
                part = keys[first : first + 1000]
                equal(contents(r, part), {k: 8 for k in part}, f"{len(part)} keys from {part[0]}")


@case
def early_clients():
    """During the load RESP and frames reply LOADING, HTTP 503 with a percentage; SIGTERM ends it"""
    with Place() as place:
        with place.server("--capacity", "8M") as server:
            with server.connect() as connection:
                for first in range(0, 4 << 20, 65536):
                    keys = range(first, first + 65536)
                    equal(wire.call(connection, wire.SET, keys, keys).status, wire.OK, "fill")
        with tempfile.TemporaryDirectory(prefix="sherwood-") as directory:
            path = f"{directory}/sock"
            http_port = free_port()
            process = subprocess.Popen(
                [harness.DAEMON, "--bind", "", "--unix-socket", path, "--http-port", str(http_port),
                 "--capacity", "8M", "--backend", "cpu", "--data-dir", place.path, "--threads", "1",
                 "--loops", "1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            try:
                eventually(lambda: os.path.exists(path), "the socket")
                look_early(redis.Redis(unix_socket_path=path), path, http_port)
            finally:
                process.terminate()
                equal(process.wait(20), 0, "exit status")
            equal(len(place.files()), 1, "nothing was written")


def look_early(r, path, http_port):
    try:
        r.ping()
        raise harness.Skip("it was loaded before the first client came")
    except redis.exceptions.BusyLoadingError as error:
        check("loading" in str(error), str(error))
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        statuses = [wire.call(connection, wire.GET, [1]).status, wire.call(connection, wire.PING).status,
                    wire.call(connection, wire.TABLES).status, wire.call(connection, wire.HELLO, table_name=b"users").status]
    try:
        selected = r.execute_command("SELECT", "users")
    except redis.exceptions.ResponseError as error:
        selected = str(error)
    except redis.exceptions.BusyLoadingError:
        selected = "LOADING"
    page = http.client.HTTPConnection("127.0.0.1", http_port, timeout=30)
    page.request("GET", "/readyz")
    answer = page.getresponse()
    text = answer.read().decode()
    facts = eventually(lambda: (got := r.info("persistence")) and (got["loading"] != 1 or got["loading_total_bytes"] > 0) and got,
                       "the size of the snapshot, once its header is read")
    if facts["loading"] != 1:
        raise harness.Skip("it was loaded before all was asked")
    equal(statuses, [wire.LOADING] * 4, "frames: GET, PING, TABLES, and HELLO with a table that may not be loaded yet")
    equal(selected, "LOADING", "SELECT of it")
    equal((answer.status, bool(re.fullmatch(r"loading: \d+ %\n", text))), (503, True), text)


@case
def no_memory():
    """Without memory for a snapshot SAVE names the required size; the snapshot of the stop needs none"""
    if harness.SANITIZED or harness.BACKEND != "cpu":
        raise harness.Skip("limits of addresses are for plain builds on the CPU backend")
    with Place() as place:
        with place.server("--capacity", "4M", errors="no snapshot was written") as server:
            r = client(server)
            r.set(1, 2)
            with open(f"/proc/{server.process.pid}/statm", encoding="ascii") as statm:
                used = int(statm.read().split()[0]) * os.sysconf("SC_PAGESIZE")
            limit = resource.prlimit(server.process.pid, resource.RLIMIT_AS)[1]
            resource.prlimit(server.process.pid, resource.RLIMIT_AS, (used + (1 << 20), limit))
            error = raises(redis.ResponseError, "not enough memory for a snapshot: it needs ", r.save)
            check(re.search(r"it needs \d+ MiB of host memory", str(error)), error)
            check(r.set(3, 4), "without --save writes go on")
        with place.server() as server:
            equal(client(server).get(3), b"4", "the last one was written")


@case
def cli_reads_it():
    """sherwood-cli snapshot: info, verify, export as CSV and columns, load into a wider server"""
    cli, pairs = harness.BUILD / "sherwood-cli", {k: 3 * k + 1 for k in range(200000)}
    with Place() as place:
        with place.server("--key-bits", "32") as server, server.connect() as connection:
            for first in range(0, 200000, 50000):
                keys = range(first, first + 50000)
                reply = wire.call(connection, wire.SET, keys, [pairs[k] for k in keys], width=4)
                equal(reply.status, wire.OK, "fill")
        (path,) = place.files()
        check(f"keys:{len(pairs)}\nkey_bytes:4\n" in harness.run(cli, "snapshot", "info", path), "info")
        check(f"is whole: {len(pairs)} keys" in harness.run(cli, "-q", "snapshot", "verify", path), "verify")
        text = harness.run(cli, "-q", "snapshot", "export", path, "-")
        equal(dict(map(int, line.split(",")) for line in text.splitlines()), pairs, "CSV")
        harness.run(cli, "snapshot", "export", path, place.path / "columns")
        columns = [array.array("I", (place.path / "columns" / f"{name}.u32").read_bytes())
                   for name in ("keys", "values")]
        equal(dict(zip(*columns)), pairs, "columns")
        with harness.Server("--seed", "5", "--engine", "cuckoo") as server:
            client(server).set(1 << 40, 9)
            harness.run(cli, "-p", server.port, "snapshot", "load", path)
            equal(client(server).dbsize(), len(pairs) + 1, "what was there stays")
            equal(contents(client(server), range(0, 200000, 777)),
                  {k: pairs[k] for k in range(0, 200000, 777)}, "loaded")
        with harness.Server("--engine", "cache") as server:
            out = harness.run(cli, "-p", server.port, "snapshot", "load", path, rc=1)
            check("do not fit the keys of" in out, out)
        whole = path.read_bytes()
        for at in (3, 2000, 4096 + 5, 4096 + 70, len(whole) - 4096 + 20):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:])
            out = harness.run(cli, "snapshot", "verify", path, rc=1)
            check(", at byte " in out and "is whole" not in out, out)
        path.write_bytes(whole[:5000])
        check("but its header announces" in harness.run(cli, "snapshot", "info", path, rc=1), "cut")
        harness.run(cli, "snapshot", "verify", "/no/such/file", rc=1)
        check("usage: " in harness.run(cli, "snapshot", "export", path, rc=2), "usage")


if __name__ == "__main__":
    harness.main()
