#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Several tables in a data directory: snapshots of each, catalogs that name them, changes that are durable when they are
answered, and what a start makes of it after kill -9. test_table_log.py has the cases of the log."""

import contextlib
import os
import random
import struct
import subprocess
import time

import wire
from data_directory import Directory, does_not_start
from faults import FOREVER, Faults
from harness import BUILD, Server, case, check, drawn_seed, equal, eventually, main

SEED = drawn_seed()
KEYS = range(8)


@contextlib.contextmanager
def serving(folder, *flags, **how):
    """A daemon in the directory, and one connection to it."""
    with Server("--capacity", "4K", "--data-dir", str(folder), *flags, **how) as server, server.connect() as socket:
        yield server, wire.Replies(socket)


def pairs(reply):
    return dict(zip(reply[::2], reply[1::2]))


def places(replies):
    """Returns {name: (number, id)} of the server's places."""
    found = {}
    for row in replies.ask("TABLE", "LIST"):
        shown = pairs(replies.ask("TABLE", "INFO", pairs(row)[b"name"]))
        found[shown[b"name"].decode()] = (shown[b"number"], shown[b"id"])
    return found


def contents(replies, name):
    equal(replies.ask("SELECT", name), "OK", name)
    values = {key: replies.ask("GET", key) for key in KEYS}
    return {key: value for key, value in values.items() if value is not None}


def fill(replies, name, values):
    equal(replies.ask("SELECT", name), "OK", name)
    for key, value in values.items():
        equal(replies.ask("SET", key, value), "OK", f"SET {key}")


def files(folder, kind):
    return sorted(name for name in os.listdir(folder) if name.startswith(kind + "-"))


def version(path):
    """Returns the version in the header of a snapshot or a catalog."""
    header = path.read_bytes()[:12]
    equal(header[:8], b"SWSNAP\0\1", path)
    return struct.unpack("<I", header[8:])[0]


@case
def one_table():
    """a server that never had a second table writes snapshots of version 1 and no other file"""
    with Directory() as folder:
        for _ in range(2):
            with serving(folder) as (_, replies):
                equal(replies.ask("TABLE", "ALTER", "default", "memory-max", "1G"), "OK", "ALTER of the one table")
                equal([replies.ask("INCR", 1), replies.ask("SAVE")][1], "OK", "SAVE")
        equal(files(folder, "table"), [], "files of tables")
        for name in files(folder, "snapshot"):
            equal(version(folder / name), 1, name)
            equal((folder / name).read_bytes()[200:4088], bytes(3888), f"{name}: no new field is in use")


@case
def a_stop_and_a_start():
    """tables of all shapes come back with places, ids, options, keys and lifetimes"""
    with Directory() as folder:
        with serving(folder) as (_, replies):
            for words in ("narrow key-bits 32 resp-keys decimal", "texts value-bytes 60 value-type string resp-keys hash",
                          "brief NUMBER 7 default-ttl 100000", "cached engine cache policy lfu", "fixed engine cuckoo"):
                equal(replies.ask("TABLE", "CREATE", *words.split()), "OK", words)
            fill(replies, "default", {1: 10})
            fill(replies, "narrow", {2: 20})
            fill(replies, "texts", {3: "a text"})
            fill(replies, "brief", {4: 40})
            fill(replies, "cached", {5: "warm"})
            fill(replies, "fixed", {6: 60})
            before = {name: (replies.ask("TABLE", "INFO", name), contents(replies, name)) for name in places(replies)}
        with serving(folder) as (_, replies):
            for name, (shown, wanted) in before.items():
                again, shown = pairs(replies.ask("TABLE", "INFO", name)), pairs(shown)
                equal({key: value for key, value in again.items() if key not in (b"slots", b"bytes", b"changes-since-save")},
                      {key: value for key, value in shown.items() if key not in (b"slots", b"bytes", b"changes-since-save")}, name)
                equal(contents(replies, name), wanted, name)
            equal(replies.ask("SELECT", "brief"), "OK", "SELECT")
            check(0 < replies.ask("TTL", 4) <= 100000, "the lifetime came back")
            equal(replies.ask("TABLE", "CREATE", "next"), "OK", "CREATE")
            check(max(places(replies).values()) == places(replies)["next"], "the next number and the next id are new")


@case
def the_first_change():
    """the first change keeps the snapshot of the one table, and the catalog is what older daemons refuse"""
    with Directory() as folder:
        with serving(folder) as (server, replies):
            fill(replies, "default", {1: 10, 2: 20})
            equal(replies.ask("SAVE"), "OK", "SAVE")
            name, = files(folder, "snapshot")
            number = name.partition("-")[2]
            fill(replies, "default", {1: 11})
            equal(replies.ask("TABLE", "CREATE", "a"), "OK", "CREATE")
            equal(files(folder, "table"), [f"table-00000001-{number}"], "a second name of the snapshot")
            equal((folder / name).read_bytes(), (folder / f"table-00000001-{number}").read_bytes(), "its bytes")
            equal(version(folder / files(folder, "snapshot")[-1]), 2, "the newest is a catalog")
            server.end_by_kill()
        with serving(folder) as (server, replies):
            equal([contents(replies, "default"), contents(replies, "a")], [{1: b"10", 2: b"20"}, {}], "the last save, and a")
            server.end_by_kill()
        said = does_not_start("--data-dir", str(folder), "--tables-max", "1")
        check("it has 2 tables, and tables-max is 1" in said, said)


@case
def a_swap_saves_both():
    """behind an answered SWAP a crash finds what both tables had, under their new names; a save writes what is unsaved"""
    with Directory() as folder:
        with serving(folder) as (server, replies):
            equal(replies.ask("TABLE", "CREATE", "v2", "LIKE", "default"), "OK", "CREATE")
            equal(replies.ask("TABLE", "CREATE", "idle", "LIKE", "default"), "OK", "CREATE")
            fill(replies, "default", {1: 10})
            fill(replies, "v2", {1: 20})
            fill(replies, "idle", {1: 30})
            equal(replies.ask("TABLE", "SWAP", "default", "v2"), "OK", "SWAP")
            equal(len(files(folder, "table")), 2, "the third table was not saved")
            server.end_by_kill()
        with serving(folder) as (server, replies):
            equal([contents(replies, name) for name in ("default", "v2", "idle")], [{1: b"20"}, {1: b"10"}, {}], "both, swapped")
            before = files(folder, "table")
            fill(replies, "idle", {1: 31})
            equal(replies.ask("SAVE"), "OK", "SAVE")
            equal(sorted(set(files(folder, "table")) - set(before))[0][:14], "table-00000003", "the unsaved table")
            check(set(before) <= set(files(folder, "table")), "the others keep their files")
            check("1 table with changes" in server.log(), server.log())
            equal(replies.ask("TABLE", "DROP", "idle"), "OK", "DROP")
            equal([replies.ask("SAVE"), replies.ask("SAVE")], ["OK", "OK"], "SAVE")
            fill(replies, "v2", {1: 11})
            equal(replies.ask("SAVE"), "OK", "SAVE")
            check(not any(name.startswith("table-00000003") for name in files(folder, "table")), "the dropped table's file")
        with serving(folder) as (_, replies):
            equal(sorted(places(replies)), ["default", "v2"], "the drop")
            equal([contents(replies, name) for name in ("default", "v2")], [{1: b"20"}, {1: b"11"}], "the last save")


@case
def a_swap_of_other_shapes():
    """SWAP .. FORCE stands after a kill, with a log and without; the default table keeps the shape that a start compares"""
    for log in ("yes", "no"):
        with Directory() as folder:
            flags = ("--appendonly", log, "--frame-ops-max", "256", "--round-ops-max", "1024")
            with serving(folder, *flags) as (server, replies):
                equal(replies.ask("TABLE", "CREATE", "a", "value-bytes", 8), "OK", "CREATE")
                equal(replies.ask("TABLE", "CREATE", "b", "engine", "cuckoo"), "OK", "CREATE")
                refused = replies.ask("TABLE", "SWAP", "default", "b", "FORCE")
                check("the default table keeps its shape" in refused, refused)
                fill(replies, "b", {1: 5})
                equal(replies.ask("TABLE", "SWAP", "a", "b", "FORCE"), "OK", "SWAP")
                server.end_by_kill()
            with serving(folder, *flags) as (_, replies):
                engines = [pairs(replies.ask("TABLE", "INFO", name))[b"engine"] for name in ("a", "b")]
                equal([engines, contents(replies, "a")], [[b"cuckoo", b"robin_hood"], {1: b"5"}], "behind a kill")


def saved(replies, name):
    """What TABLE INFO shows of the saves of a table."""
    facts = pairs(replies.ask("TABLE", "INFO", name))
    return facts[b"changes-since-save"], facts[b"saving"], facts[b"last-save"] > 0


@case
def one_table_is_saved():
    """TABLE SAVE writes the file of one table: a kill loses what others have unsaved; a held write shows `saving`"""
    faults = Faults()
    with Directory() as folder:
        with serving(folder, environment=faults.environment()) as (server, replies), server.replies() as saver:
            equal(replies.ask("TABLE", "SAVE", "default"), "OK", "SAVE of the only table")
            for name in ("a", "b"):
                equal(replies.ask("TABLE", "CREATE", name), "OK", name)
                fill(replies, name, {1: 1})
            equal([saved(replies, name) for name in ("a", "b")], [(1, 0, False)] * 2, "before")
            faults.sync.held = 1
            try:
                saver.socket.sendall(wire.command("TABLE", "SAVE", "a"))
                eventually(lambda: saved(replies, "a") == (1, 1, False), "the file is being written")
                equal(saved(replies, "b"), (1, 0, False), "b")
            finally:
                faults.sync.held = 0
            equal(saver.read(), "OK", "SAVE")
            equal([saved(replies, name) for name in ("a", "b")], [(0, 0, True), (1, 0, False)], "after")
            equal(replies.ask("CLIENT", "PAUSE", 100000, "WRITE"), "OK", "PAUSE holds back changes, and no save")
            with server.connect() as frames:
                equal(wire.call(frames, wire.TABLE, words=("SAVE", "a")).status, wire.OK, "SAVE by a frame")
            equal([replies.ask("TABLE", "SAVE", "a"), replies.ask("CLIENT", "UNPAUSE")], ["OK", "OK"], "SAVE")
            equal(replies.ask("TABLE", "SAVE", "x"), wire.Error("ERR no such table: TABLE LIST shows the tables"), "no such table")
            equal(replies.ask("TABLE", "SAVE", "a", "b"), wire.Error("ERR wrong number of arguments for 'table|save' command"), "two")
            server.end_by_kill()
        with serving(folder) as (server, replies):
            equal([contents(replies, name) for name in ("a", "b")], [{1: b"1"}, {}], "after a kill")
            fill(replies, "a", {2: 2})
            said = subprocess.run([BUILD / "sherwood-cli", "--port", str(server.port), "table", "save", "a"], text=True, capture_output=True,
                                  timeout=60, check=False)
            equal((said.returncode, said.stdout), (0, "OK\n"), f"sherwood-cli table save: {said.stderr}")
            server.end_by_kill()
        with serving(folder) as (server, replies):
            equal(contents(replies, "a"), {1: b"1", 2: b"2"}, "sherwood-cli table save")
    with Server("--capacity", "1K") as server, server.replies() as replies:
        said = replies.ask("TABLE", "SAVE", "default")
        check("there is no persistence" in said, said)


@case
def the_first_table_dropped():
    """the table that a server started with may leave place 0, and the directory"""
    with Directory() as folder:
        with serving(folder) as (server, replies):
            fill(replies, "default", {1: 10})
            for words in (("CREATE", "v2", "LIKE", "default"), ("SWAP", "v2", "default"), ("DROP", "v2")):
                equal(replies.ask("TABLE", *words), "OK", words)
            fill(replies, "default", {2: 20})
            equal(replies.ask("SAVE"), "OK", "SAVE")
            server.end_by_kill()
        for _ in range(2):
            with serving(folder) as (_, replies):
                equal((places(replies), contents(replies, "default")), ({"default": (0, 2)}, {2: b"20"}), "the other table")
        equal([name for name in files(folder, "table") if name.startswith("table-00000001")], [], "the first one's file")


@case
def databases():
    """--databases makes the places that the directory lacks, and keeps those it has"""
    with Directory() as folder:
        with serving(folder) as (_, replies):
            fill(replies, "default", {1: 1})
        with serving(folder, "--databases", "3") as (server, replies):
            fill(replies, 2, {1: 2})
            equal(replies.ask("SAVE"), "OK", "SAVE")
            server.end_by_kill()
        with serving(folder, "--databases", "4") as (_, replies):
            equal([contents(replies, place) for place in range(4)], [{1: b"1"}, {}, {1: b"2"}, {}], "four databases")
            equal(replies.ask("SWAPDB", 0, 2), "OK", "SWAPDB")
        with serving(folder) as (_, replies):
            equal([contents(replies, place) for place in range(4)], [{1: b"2"}, {}, {1: b"1"}, {}], "and without the option")


@case
def damage():
    """a damaged catalog, or file of a table, is left in place, and the catalog before it is loaded; a missing file is not"""
    for what in ("catalog", "table", "missing"):
        with Directory() as folder:
            with serving(folder) as (_, replies):
                equal(replies.ask("TABLE", "CREATE", "a"), "OK", "CREATE")
                fill(replies, "a", {1: 1})
                equal(replies.ask("SAVE"), "OK", "SAVE")
                fill(replies, "a", {1: 2})
                equal(replies.ask("SAVE"), "OK", "SAVE")
            name = files(folder, "snapshot" if what == "catalog" else "table")[-1]
            bytes_ = bytearray((folder / name).read_bytes())
            bytes_[4096 + 70] ^= 1
            if what == "missing":
                (folder / name).unlink()
                said = does_not_start("--data-dir", str(folder))
                check(f"{name} cannot be opened: No such file or directory; copy all files table-* of the snapshot" in said, said)
                continue
            (folder / name).write_bytes(bytes_)
            with serving(folder, errors="damaged") as (_, replies):
                equal((sorted(places(replies)), contents(replies, "a")), (["a", "default"], {1: b"1"}), what)


def now_ms():
    return time.time_ns() // 10**6


def with_times(replies, name):
    """Returns {key: (value, expiry time)} of a table. The time is 0 without one, and "default" if only a default-ttl is so long."""
    values = contents(replies, name)
    times = {key: max(0, replies.ask("PEXPIRETIME", key)) for key in values}
    return {key: (value, "default" if times[key] > now_ms() + 5 * 10**8 else times[key]) for key, value in values.items()}


def unexpired(oracle):
    """Returns {name: {key: (value, expiry time)}}, once no key is about to expire."""
    while any(now_ms() - 1 <= at <= now_ms() + 1000 for _, values, _ in oracle.values() for _, at in values.values() if at != "default"):
        time.sleep(0.002)
    return {name: {key: (value, at) for key, (value, at) in values.items() if at in (0, "default") or at > now_ms()}
            for name, (_, values, _) in oracle.items()}


def apply(oracle, saved, replies, draw):
    """Sends one random command, and does the same to `oracle`: {name: table}, each [id, values, default-ttl]. `saved`: {id: values}. A
    value has its expiry time."""
    names, name = sorted(oracle), f"t{draw.randrange(4)}"
    one, other, kind = draw.choice(names), draw.choice(names), draw.randrange(14)
    if kind < 6:
        key, value = draw.randrange(8), draw.randrange(1000)
        at = draw.choice((0, 0, now_ms() + draw.randrange(1, 60), now_ms() + 10**7))
        equal([replies.ask("SELECT", one), replies.ask("SET", key, value, *(("PXAT", at) if at else ()))], ["OK", "OK"], "SET")
        oracle[one][1][key] = str(value).encode(), at or ("default" if oracle[one][2] else 0)
    elif kind == 6 and name not in oracle:
        equal(replies.ask("TABLE", "CREATE", name, "LIKE", "default"), "OK", name)
        oracle[name] = [places(replies)[name][1], {}, oracle["default"][2]]
        saved[oracle[name][0]] = {}
    elif kind == 7 and name in oracle:
        equal(replies.ask("TABLE", "DROP", name), "OK", name)
        del oracle[name]
    elif kind in (8, 9):
        equal(replies.ask("TABLE", "SWAP", one, other), "OK", (one, other))
        oracle[one], oracle[other] = oracle[other], oracle[one]
        for table in (oracle[one], oracle[other]):
            saved[table[0]] = dict(table[1])
    elif kind == 10 and name in oracle and f"{name}x" not in oracle:
        equal(replies.ask("TABLE", "RENAME", name, f"{name}x"), "OK", name)
        oracle[f"{name}x"] = oracle.pop(name)
    elif kind == 11:
        equal(replies.ask("SAVE"), "OK", "SAVE")
        saved.update({number: dict(values) for number, values, _ in oracle.values()})
    elif kind > 11:
        oracle[one][2] = draw.choice((0, 10**6, 2 * 10**6))
        equal(replies.ask("TABLE", "ALTER", one, "default-ttl", oracle[one][2]), "OK", "ALTER")


def default_ttls(replies):
    return {name: int(pairs(replies.ask("TABLE", "INFO", name))[b"default-ttl"]) for name in places(replies)}


def kill_and_compare(flags, has_log, rounds=8):
    """Random commands, kills and stops. Without a log a kill leaves what the last save of each table had."""
    draw, oracle, saved = random.Random(SEED), {"default": [1, {}, 0]}, {1: {}}
    with Directory() as folder:
        for _ in range(rounds):
            with serving(folder, *flags) as (server, replies):
                wanted = unexpired(oracle)
                equal({name: with_times(replies, name) for name in places(replies)}, wanted, "places, contents and expiry times")
                equal({name: number for name, (_, number) in places(replies).items()},
                      {name: table[0] for name, table in oracle.items()}, "ids")
                found = default_ttls(replies)
                if oracle["default"][0] == 1:  # the first table has that of the command line
                    oracle["default"][2] = found["default"]
                equal(found, {name: table[2] for name, table in oracle.items()}, "options")
                for _ in range(40):
                    apply(oracle, saved, replies, draw)
                if draw.randrange(3) > 0:
                    server.end_by_kill()
                    if not has_log:
                        oracle = {name: [number, dict(saved[number]), ttl] for name, (number, _, ttl) in oracle.items()}
                else:
                    saved.update({number: dict(values) for number, values, _ in oracle.values()})


@case
def kills_beside_an_oracle():
    """after kill -9 every answered change of the places stands, and each table is what its last save had, but for expired keys"""
    kill_and_compare((), False)


@case
def kills_with_a_log():
    """with a log, after kill -9 places, tables and expiry times are what was answered, whatever was saved before"""
    for level in ("always", "everysec", "no"):
        kill_and_compare(("--appendonly", "yes", "--appendfsync", level, "--log-segment-bytes", "1M", "--frame-ops-max", "256",
                          "--round-ops-max", "1024"), True, 6)


@case
def a_drop_that_fails():
    """a DROP that the disk refuses leaves the table its file, which later catalogs name"""
    for ends in (True, False):
        with Directory() as folder:
            faults = Faults()
            with serving(folder, errors="cannot be", environment=faults.environment()) as (server, replies):
                equal(replies.ask("TABLE", "CREATE", "a"), "OK", "CREATE")
                fill(replies, "a", {1: 1})
                equal(replies.ask("SAVE"), "OK", "SAVE")
                faults.rename.fail(FOREVER)
                said = replies.ask("TABLE", "DROP", "a")
                check(isinstance(said, wire.Error) and "the change cannot be saved" in said, said)
                faults.end()
                equal(replies.ask("TABLE", "CREATE", "b"), "OK", "the catalog behind it")
                equal(contents(replies, "a"), {1: b"1"}, "served")
                if not ends:
                    server.end_by_kill()
            with serving(folder) as (_, replies):
                equal(contents(replies, "a"), {1: b"1"}, "saved before")


@case
def a_rename_that_fails():
    """a RENAME that the disk refuses leaves users their rights, also those to the new name"""
    faults = Faults()
    with Directory() as folder, serving(folder, errors="cannot be", environment=faults.environment()) as (_, replies):
        def tables(user):
            reply = replies.ask("ACL", "GETUSER", user)
            return reply[reply.index(b"databases") + 1]
        for user in ("old", "new"):
            equal(replies.ask("ACL", "SETUSER", user, "on", ">pw", "~*", "+@all", f"db={user}"), "OK", user)
        equal(replies.ask("TABLE", "CREATE", "old"), "OK", "CREATE")
        faults.rename.fail(FOREVER)
        said = replies.ask("TABLE", "RENAME", "old", "new")
        check(isinstance(said, wire.Error) and "the change cannot be saved" in said, said)
        equal([tables("old"), tables("new")], [b"db=old", b"db=new"], "rights")
        faults.end()
        equal(replies.ask("TABLE", "RENAME", "old", "new"), "OK", "RENAME")
        equal([tables("old"), tables("new")], [b"db=new", b"db=new"], "rights")


@case
def failing_calls():
    """a change or a save that fails at any call changes nothing, and a crash behind it finds the state before or after"""
    draw = random.Random(SEED)
    before, after = {1: b"1"}, {1: b"2"}
    for words in (("CREATE", "c"), ("DROP", "b"), ("SWAP", "a", "b"), ("SAVE",)):
        for kind in ("write", "sync", "rename", "folder"):
            with Directory() as folder:
                faults = Faults()
                with serving(folder, errors="cannot be|no snapshot", environment=faults.environment()) as (server, replies):
                    for name in "ab":
                        equal(replies.ask("TABLE", "CREATE", name, "LIKE", "default"), "OK", "CREATE")
                    fill(replies, "a", {1: 1})
                    fill(replies, "b", {1: 3})
                    equal(replies.ask("SAVE"), "OK", "SAVE")
                    fill(replies, "a", {1: 2})
                    getattr(faults, kind).fail(FOREVER, after=draw.randrange(3))
                    reply = replies.ask("TABLE", *words) if words != ("SAVE",) else replies.ask("SAVE")
                    failed = isinstance(reply, wire.Error)
                    check(failed or reply == "OK", reply)
                    is_changed = words != ("SAVE",) and not failed
                    now = {name: contents(replies, name) for name in sorted(places(replies)) if name != "default"}
                    one, other = (after, {1: b"3"}) if words[0] != "SWAP" or failed else ({1: b"3"}, after)
                    wanted = {"a": one, "b": other}
                    if is_changed and words[0] == "CREATE":
                        wanted["c"] = {}
                    if is_changed and words[0] == "DROP":
                        del wanted["b"]
                    equal(now, wanted, f"{words} and a failing {kind}: {reply!r}")
                    server.end_by_kill()
                with serving(folder) as (_, replies):
                    names = set(places(replies))
                    check(names in ({"default", "a", "b"}, {"default", "a", "b", "c"}, {"default", "a"}), names)
                    if not failed:
                        equal(names, set(now) | {"default"}, "an answered change")
                    rows = {name: contents(replies, name) for name in names - {"default", "c"}}
                    plain = rows.get("a") in (before, after) and rows.get("b", {1: b"3"}) == {1: b"3"}
                    swapped = rows.get("a") == {1: b"3"} and rows.get("b") in (before, after)
                    check(plain or (words[0] == "SWAP" and swapped), f"{words} and a failing {kind}: {rows}")
                    if not failed and words[0] in ("SWAP", "SAVE"):
                        equal(rows["b" if words[0] == "SWAP" else "a"], after, "what was saved before the reply")


@case
def memory_that_moved():
    """TABLE SAVE of a table in the memory that another one had before: the log fills that one beside it, and the limit holds behind the start"""
    def put(replies, keys):
        for first in range(0, keys, 500):
            equal(replies.ask("MSET", *(word for key in range(first, first + 500) for word in (key, key))), "OK", f"MSET {first}")
    with Directory() as folder:
        flags = ("--max-capacity", "1M", "--tables-memory-max", "4400K", "--frame-ops-max", "512", "--round-ops-max", "4096", "--appendonly", "yes", "--appendfsync", "always")
        with serving(folder, *flags) as (server, replies):
            equal([replies.ask("TABLE", "CREATE", "b", "capacity", "1K", "max-capacity", "1M"), replies.ask("SELECT", "b")], ["OK"] * 2, "CREATE")
            put(replies, 40000)
            equal([replies.ask(*words.split()) for words in ("FLUSHDB", "RESIZE 1K", "SELECT 0")], ["OK", 1024, "OK"], "RESIZE")
            put(replies, 55000)
            equal(replies.ask("TABLE", "SAVE", "default"), "OK", "SAVE")
            server.end_by_kill()
        with serving(folder, *flags) as (_, replies):
            equal([replies.ask(*words.split()) for words in ("DBSIZE", "SET 1 2", "SELECT b", "DBSIZE", "SET 1 2")], [55000, "OK", "OK", 0, "OK"], "behind the start")


main()
