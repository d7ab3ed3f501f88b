#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Several tables and one log: kill -9 beside pipelines, saves and changes; a log that breaks and is mended; starts with and
without a log in turns; records of tables that were dropped."""

import random
import subprocess
import threading
import time

import wire
from data_directory import SMALL, Directory, does_not_start, durable, next_segment
from faults import Faults
from harness import BUILD, Server, case, check, drawn_seed, equal, eventually, main

SEED = drawn_seed()
CLI = BUILD / "sherwood-cli"
TABLES = ("a", "b", "c", "d")


def select(replies, name):
    equal(replies.ask("SELECT", name), "OK", name)


def number(replies, name, key):
    select(replies, name)
    return int(replies.ask("GET", key) or 0)


def create(replies, *names):
    for name in names:
        equal(replies.ask("TABLE", "CREATE", name, "LIKE", "default"), "OK", name)


class Writer(threading.Thread):
    """Writes 1, 2, 3, .. to the tables in turns, from a connection of its own: each to all of KEYS keys, by MSET and EXEC, or by
    frames. `acked`: the last number that was answered."""

    KEYS = 5

    def __init__(self, server, first, by_frames):
        super().__init__(daemon=True)
        self.server, self.by_frames, self.acked, self.error = server, by_frames, 0, None
        self.keys = range(first, first + self.KEYS)

    def write(self, at):
        """Returns the bytes of a write, and its replies by RESP."""
        if self.by_frames:
            return wire.frame(wire.SET, list(self.keys), [at] * self.KEYS, table=1 + at % 4), []
        select, pairs = wire.command("SELECT", TABLES[at % 4]), [word for key in self.keys for word in (key, at)]
        if at % 3:
            return select + wire.command("MSET", *pairs), ["OK", "OK"]
        commands = [("MULTI",), ("SET", *pairs[:2]), ("MSET", *pairs[2:]), ("EXEC",)]
        return select + b"".join(wire.command(*words) for words in commands), ["OK", "OK", "QUEUED", "QUEUED", ["OK", "OK"]]

    def run(self):
        try:
            with self.server.connect() as socket:
                replies = wire.Replies(socket)
                while True:
                    writes = [self.write(at) for at in range(self.acked + 1, self.acked + 21)]
                    socket.sendall(b"".join(data for data, _ in writes))
                    for _, wanted in writes:
                        said = [wire.read_frame(socket).status] if self.by_frames else [replies.read() for _ in wanted]
                        check(said == wanted or (self.by_frames and said == [wire.OK]), f"{said!r}")
                        self.acked += not self.by_frames
                    self.acked += 20 * self.by_frames  # their replies are in no order
        except (OSError, wire.Closed):
            pass  # the server was killed
        except Exception as why:  # pylint: disable=broad-except
            self.error = why


class Grower(threading.Thread):
    """Adds FRAME keys after the others to the table in place 5, which grows. `acked`: the frames that were answered."""

    FRAME = 250

    def __init__(self, server, first):
        super().__init__(daemon=True)
        self.server, self.first, self.acked, self.error = server, first, 0, None

    def keys(self, frame):
        return list(range(self.first + frame * self.FRAME, self.first + (frame + 1) * self.FRAME))

    def run(self):
        try:
            with self.server.connect() as frames:
                while self.acked < 200:
                    keys = self.keys(self.acked)
                    equal(wire.call(frames, wire.SET, keys, keys, table=5).status, wire.OK, "SET")
                    self.acked += 1
        except (OSError, wire.Closed):
            pass  # the server was killed
        except Exception as why:  # pylint: disable=broad-except
            self.error = why

    def check(self, server):
        """Each frame that was answered is in one of the two tables that SWAP exchanged, as a whole."""
        with server.connect() as frames:
            for frame in range(self.acked + 1):
                hits = [wire.call(frames, wire.GET, self.keys(frame), table=number, want_values=True).hits for number in (5, 6)]
                check(sorted(hits) == [0, self.FRAME] or (frame == self.acked and hits == [0, 0]), f"frame {frame} of {self.acked}: {hits}")


def check_prefix(replies, keys, acked):
    """The tables have the writes up to some number that is not below `acked`, each its own, and each write as a whole."""
    found = []
    for name in TABLES:
        select(replies, name)
        values = {int(value or 0) for value in replies.ask("MGET", *keys)}
        equal(len(values), 1, f"{keys} of {name} have the values {values}")
        found.append(values.pop())
    last = max(found)
    check(last >= acked, f"{keys}: write {acked} was answered, and the last one is {last}")
    equal(found, [max([n for n in range(max(last - 3, 0), last + 1) if n % 4 == i], default=0) for i in range(4)],
          f"{keys}: a prefix of the writes up to {last}")


@case
def kills_beside_pipelines():
    """after kill -9 tables, one of which grows, have a prefix of each connection's writes, each whole, and every answered change"""
    draw = random.Random(SEED)
    with Directory() as folder:
        swaps = 0
        for round_ in range(4):
            level = draw.choice(("always", "everysec", "no"))
            with durable(folder, level, "--loops", "3") as server, server.replies() as replies:
                if round_ == 0:
                    for place, name in enumerate(TABLES, 1):
                        equal(replies.ask("TABLE", "CREATE", name, "NUMBER", place, "LIKE", "default"), "OK", name)
                    for place, (name, value) in enumerate((("e", 1), ("f", 2)), 5):
                        equal(replies.ask("TABLE", "CREATE", name, "NUMBER", place, "capacity", "1K", "max-capacity", "4M"), "OK", name)
                        select(replies, name)
                        equal(replies.ask("SET", 0, value), "OK", name)
                writers = [Writer(server, 100 * round_ + 10 * at, at % 2) for at in range(4)]
                writers.append(Grower(server, 10**6 * (round_ + 1)))
                for writer in writers:
                    writer.start()
                eventually(lambda: all(writer.acked > 40 for writer in writers), "writes")
                for i in range(draw.randrange(4, 12)):
                    equal(replies.ask("TABLE", "SWAP", "e", "f"), "OK", "SWAP")
                    swaps += 1
                    create(replies, f"g{round_}-{i}")
                    if i % 2:
                        equal(replies.ask("TABLE", "DROP", f"g{round_}-{i}"), "OK", "DROP")
                    if i % 3 == 0:
                        replies.ask("BGSAVE")
                server.end_by_kill()
                for writer in writers:
                    writer.join(60)
                    equal(writer.error, None, "a writer")
                kept = i
            with durable(folder, level) as server, server.replies() as replies:
                for writer in writers[:4]:
                    check_prefix(replies, writer.keys, writer.acked)
                writers[4].check(server)
                equal([number(replies, "e", 0), number(replies, "f", 0)], [1, 2] if swaps % 2 == 0 else [2, 1], "the swaps")
                for i in range(kept + 1):
                    said = replies.ask("SELECT", f"g{round_}-{i}")
                    equal(said, "OK" if i % 2 == 0 else wire.Error("ERR no such table: TABLE LIST shows the tables"), f"g{round_}-{i}")
                    if i % 2 == 0:
                        equal(replies.ask("TABLE", "DROP", f"g{round_}-{i}"), "OK", "DROP")


@case
def a_broken_log_is_mended():
    """a catalog in which every table has its last write mends a broken log; changes are refused until then"""
    faults = Faults()
    with Directory() as folder:
        with durable(folder, "always", errors="of the log has failed|no snapshot was written",
                     environment=faults.environment()) as server, server.replies() as replies:
            create(replies, *TABLES)
            for turn in range(1, 4):
                for name in TABLES:
                    select(replies, name)
                    equal(replies.ask("SET", turn, turn), "OK", name)
                faults.sync.fail(1)
                with server.connect() as other: # its reply waits until the log is mended
                    other.sendall(wire.command("SELECT", TABLES[turn]) + wire.command("SET", 9, turn))
                    answers = wire.Replies(other)
                    equal([answers.read(), answers.read()], ["OK", "OK"], "a write beside the failure")
                eventually(lambda: replies.ask("SET", 8, 8) == "OK", "the log goes on")
                equal(replies.ask("TABLE", "SWAP", "a", "b"), "OK", "SWAP")
                create(replies, f"after{turn}")
            before = {name: [number(replies, name, key) for key in (1, 2, 3, 9)] for name in TABLES}
            server.end_by_kill()
        with durable(folder, "always") as server, server.replies() as replies:
            equal({name: [number(replies, name, key) for key in (1, 2, 3, 9)] for name in TABLES}, before, "all of it")
            for turn in range(1, 4):
                select(replies, f"after{turn}")


@case
def replies_of_a_dropped_table():
    """a reply that waits for the log arrives when its table was dropped meanwhile, and the connection goes on"""
    faults = Faults()
    with Directory() as folder, durable(folder, "always", "--loops", "1", environment=faults.environment()) as server, \
            server.replies() as writer, server.replies() as dropper:
        create(dropper, "a")
        before = server.metrics()["sherwood_table_capacity_slots"]
        select(writer, "a")
        next_segment(folder)
        faults.sync.held = 1
        try:
            writer.socket.sendall(wire.command("SET", 1, 1))
            eventually(lambda: faults.sync.waiting > 0, "the log is being written")
            dropper.socket.sendall(wire.command("TABLE", "DROP", "a"))
            eventually(lambda: server.metrics()["sherwood_table_capacity_slots"] < before, "the table is closed")
        finally:
            faults.sync.held = 0
        equal([writer.read(), dropper.read()], ["OK", "OK"], "SET and DROP")
        select(writer, "default")
        equal([writer.ask("SET", 1, 2), writer.ask("GET", 1)], ["OK", b"2"], "the connection goes on")


@case
def a_replaced_directory():
    """a log that broke in a directory that was replaced goes on in the new one, also beside a table without writes"""
    faults = Faults()
    with Directory() as above:
        folder = above / "data"
        folder.mkdir()
        with durable(folder, "always", errors=".", environment=faults.environment()) as server, \
             server.replies() as replies:
            create(replies, "a")
            equal(replies.ask("SET", 1, 1), "OK", "SET")
            next_segment(folder)
            folder.rename(above / "old")
            folder.mkdir()
            faults.sync.fail(1)
            replies.ask("SET", 2, 2) # its reply waits until the log is mended
            eventually(lambda: replies.ask("SET", 3, 3) == "OK", "the log goes on")
            server.end_by_kill()
        with durable(folder, "always") as server, server.replies() as replies:
            equal([number(replies, "default", key) for key in (1, 3)], [1, 3], "in the new directory")
            select(replies, "a")


@case
def failing_calls():
    """changes beside failing calls of the disk: those that were answered stand after a kill, refused ones changed nothing"""
    draw, faults = random.Random(SEED), Faults()
    with Directory() as folder:
        wanted, unknown = {"default"}, set()
        for round_ in range(6):
            with durable(folder, "always", errors=".", environment=faults.environment()) as server, server.replies() as replies:
                for i in range(12):
                    kind = draw.choice(("write", "sync", "rename", "folder", "open", "allocate"))
                    getattr(faults, kind).fail(draw.choice((1, 2)), after=draw.randrange(4))
                    name = f"t{round_}-{i}" if draw.randrange(3) else draw.choice(sorted(wanted))
                    words = ("DROP", name) if name in wanted and name != "default" else ("CREATE", name, "LIKE", "default")
                    if draw.randrange(3) == 0:
                        replies.ask("BGSAVE")
                    said = replies.ask("TABLE", *words)
                    if said == "OK":
                        (wanted.add if words[0] == "CREATE" else wanted.discard)(name)
                    elif "may be lost" in said:
                        unknown.add(name)
                    faults.end()
                eventually(lambda: replies.ask("SET", 1, round_) == "OK", "the log goes on")
                server.end_by_kill()
            with durable(folder, "always") as server, server.replies() as replies:
                equal(number(replies, "default", 1), round_, "an answered write")
                found = {dict(zip(row[::2], row[1::2]))[b"name"].decode() for row in replies.ask("TABLE", "LIST")}
                equal(found - unknown, wanted - unknown, f"round {round_}: the answered changes")
                wanted = found
                server.end_by_kill()


@case
def with_and_without_a_log():
    """a directory of several tables keeps everything over starts with a log and without, and a kill after each"""
    with Directory() as folder:
        wanted = {}
        for turn, has_log in enumerate((False, True, True, False, False, True)):
            flags = ("--appendonly", "yes" if has_log else "no", "--appendfsync", "always")
            with Server("--capacity", "4K", "--data-dir", str(folder), "--log-segment-bytes", "1M", "--frame-ops-max", "256",
                        "--round-ops-max", "1024", *flags) as server, server.replies() as replies:
                for name in wanted:
                    equal({key: number(replies, name, key) for key in wanted[name]}, wanted[name], f"turn {turn}: {name}")
                create(replies, f"t{turn}")
                wanted[f"t{turn}"] = {}
                for name in list(wanted) + ["default"]:
                    select(replies, name)
                    equal(replies.ask("SET", turn, turn + 1), "OK", name)
                    wanted.setdefault(name, {})[turn] = turn + 1
                if not has_log:
                    equal(replies.ask("SAVE"), "OK", "SAVE")
                if turn == 2:
                    equal(replies.ask("TABLE", "SWAP", "t0", "default"), "OK", "SWAP")
                    wanted["t0"], wanted["default"] = wanted["default"], wanted["t0"]
                server.end_by_kill()


@case
def changes_behind_a_replay():
    """a change of a start without a log, or tables that it makes itself, keep the writes that the log had before"""
    for names in ((), ("a",)):
        for flags in ((), ("--databases", "3")):
            with Directory() as folder:
                with durable(folder, "always") as server, server.replies() as replies:
                    create(replies, *names)
                    for key in (1, 2):
                        for name in (*names, "default"):
                            select(replies, name)
                            equal(replies.ask("SET", key, key), "OK", name)
                        equal(replies.ask("SAVE") if key == 1 else "OK", "OK", "SAVE")
                    server.end_by_kill()
                for _ in range(2):
                    with Server(*SMALL, "--data-dir", str(folder), *flags) as server, server.replies() as replies:
                        for name in (*names, "default"):
                            equal([number(replies, name, key) for key in (1, 2)], [1, 2], f"{names} {flags}: {name}")
                        if not flags:
                            equal(replies.ask("TABLE", "CREATE", "b", "IF", "NOT", "EXISTS"), "OK", "CREATE")
                        server.end_by_kill()


@case
def the_first_change_in_the_log():
    """the first CREATE with a log is a record that older daemons refuse; a kill before a snapshot keeps the table"""
    with Directory() as folder:
        with durable(folder, "always") as server, server.replies() as replies:
            equal([replies.ask("SET", 1, 1), replies.ask("SAVE"), replies.ask("SET", 2, 2)], ["OK"] * 3, "one table")
            plain = {path.name: path.read_bytes() for path in folder.glob("snapshot-*")}
            create(replies, "a")
            select(replies, "a")
            equal(replies.ask("SET", 3, 3), "OK", "SET")
            equal({path.name: path.read_bytes() for path in folder.glob("snapshot-*")}, plain, "no catalog yet")
            records = b"".join(path.read_bytes() for path in folder.glob("log-*"))
            check(b"SWR1\6" in records, "a record of kind 6")
            server.end_by_kill()
        for _ in range(2):
            with durable(folder, "always") as server, server.replies() as replies:
                equal([number(replies, "default", 1), number(replies, "default", 2), number(replies, "a", 3)], [1, 2, 3], "all")
                server.end_by_kill()
        said = does_not_start("--data-dir", str(folder), "--appendonly", "yes", "--tables-max", "1")
        check("several tables: it has 2 tables" in said, said)


@case
def dropped_tables():
    """records of tables that were dropped, also of the first table, are skipped; their ids are not given again"""
    with Directory() as folder:
        with durable(folder, "always") as server, server.replies() as replies:
            create(replies, "a", "b")
            for name in ("default", "a", "b"):
                select(replies, name)
                equal(replies.ask("SET", 1, 1), "OK", name)
            equal(replies.ask("TABLE", "SAVE", "b"), "OK", "SAVE of one table, with writes of the others in the log")
            equal(replies.ask("BGSAVE"), "Background saving started", "BGSAVE")
            for words in (("SWAP", "a", "default"), ("DROP", "a"), ("DROP", "b")):
                equal(replies.ask("TABLE", *words), "OK", words)
            select(replies, "default")
            equal(replies.ask("SET", 2, 2), "OK", "behind the drops")
            create(replies, "b")
            eventually(lambda: b"rdb_bgsave_in_progress:0" in replies.ask("INFO", "persistence"), "saved")
            server.end_by_kill()
        for _ in range(3):
            with durable(folder, "always") as server, server.replies() as replies:
                equal([number(replies, "default", 1), number(replies, "default", 2), number(replies, "b", 1)], [1, 2, 0], "all")
                info = replies.ask("TABLE", "INFO", "b")
                equal(dict(zip(info[::2], info[1::2]))[b"id"], 4, "the id")
                equal(replies.ask("SAVE"), "OK", "SAVE")
                server.end_by_kill()


@case
def a_log_of_dropped_tables():
    """a log that has grown by a dropped table is followed by one catalog, and not by one after the other"""
    with Directory() as folder:
        with durable(folder, "no", "--auto-aof-rewrite-min-size", "64K", "--auto-aof-rewrite-percentage", "0") as server, \
             server.replies() as replies:
            create(replies, "a")
            select(replies, "a")
            for i in range(1000):
                equal(replies.ask("SET", 1, i), "OK", "SET")
            select(replies, "default")
            equal(replies.ask("TABLE", "DROP", "a"), "OK", "DROP")
            equal(replies.ask("CONFIG", "SET", "auto-aof-rewrite-percentage", "100"), "OK", "CONFIG SET")
            eventually(lambda: "wrote " in server.log(), "a catalog")
            time.sleep(.5) # five looks at the log
            equal(server.log().count("wrote "), 1, "one catalog")


@case
def a_drop_beside_a_broken_log():
    """a DROP that waits for a frame on its table lets the broken log be mended, for which that frame waits"""
    faults = Faults()
    with Directory() as folder:
        with durable(folder, "always", "--loops", "1", errors="of the log has failed",
                     environment=faults.environment()) as server, server.replies() as dropper, server.connect() as writer:
            equal(dropper.ask("TABLE", "CREATE", "a", "NUMBER", 5), "OK", "CREATE")
            next_segment(folder)
            faults.sync.held = 1
            try:
                writer.sendall(wire.frame(wire.SET, [1], [1], table=5))
                eventually(lambda: faults.sync.waiting > 0, "the log is being written")
                dropper.socket.sendall(wire.command("TABLE", "DROP", "a"))
                with server.replies() as other:
                    eventually(lambda: other.ask("TABLE", "INFO", "a") == "ERR no such table: TABLE LIST shows the tables", "the DROP is visible")
                faults.sync.fail(1)
            finally:
                faults.sync.held = 0
            equal((wire.read_frame(writer).status, dropper.read()), (wire.OK, "OK"), "the frame and the DROP")
            equal([dropper.ask("SET", 1, 1), dropper.ask("TABLE", "CREATE", "b")], ["OK", "OK"], "the log continues")
            server.end_by_kill()
        with durable(folder, "always") as server, server.replies() as replies:
            equal((number(replies, "default", 1), replies.ask("TABLE", "INFO", "a")), (1, "ERR no such table: TABLE LIST shows the tables"), "after a kill")


def tool(*words, rc=0):
    """Runs sherwood-cli, and returns its two outputs."""
    result = subprocess.run([CLI, *map(str, words)], text=True, capture_output=True, timeout=60, check=False)
    equal(result.returncode, rc, f"{words}: {result.stdout}{result.stderr}")
    return result.stdout, result.stderr


@case
def tools():
    """log check and --fix know catalogs; log export prints one table; a file of a table loads into any table"""
    with Directory() as folder:
        with durable(folder, "always") as server, server.replies() as replies:
            create(replies, "a", "b")
            for name, value in (("a", 1), ("b", 2), ("default", 3)):
                select(replies, name)
                equal(replies.ask("SET", 1, value), "OK", name)
            equal(replies.ask("SAVE"), "OK", "SAVE")
            select(replies, "b")
            equal([replies.ask("SET", 2, 4), replies.ask("TABLE", "SWAP", "a", "b")], ["OK", "OK"], "behind the catalog")
            tool("--port", server.port, "--table", "a", "snapshot", "load", next(folder.glob("table-00000002-*")))
            equal([number(replies, "a", key) for key in (1, 2)], [1, 4], "the file of the table 2, loaded into the place a")
            _, said = tool("snapshot", "verify", next(folder.glob("snapshot-*")), rc=1)
            check("catalog of several tables: name one of the files table-*" in said, said)
            server.end_by_kill()
        said, _ = tool("log", "check", folder)
        check("writes up to 8 in" in said and "covers those up to 5" in said, said)
        said, note = tool("log", "export", folder)
        equal((said, "these are the writes of the table 1" in note), ("sequence,operation,key,operand\n", True), "table 1")
        said, _ = tool("log", "export", "--table", 3, folder)
        equal(said.splitlines()[1:], ["6,SET,2,4", "8,SET,1,1"], "table 3")
        tool("log", "export", "--table", "b", folder, rc=1)
        segment = min(folder.glob("log-*"))
        bytes_ = bytearray(segment.read_bytes())
        record = bytes_.rindex(b"SWR1\6")
        bytes_[record + 70] ^= 1 # the swap, a change
        segment.write_bytes(bytes_)
        check("is damaged" in does_not_start("--data-dir", str(folder), "--appendonly", "yes"), "a damaged change")
        tool("log", "check", "--fix", "--yes", folder)
        with durable(folder, "always") as server, server.replies() as replies:
            equal([number(replies, name, key) for name in ("a", "b") for key in (1, 2)], [1, 0, 2, 4], "cut before the change")


@case
def refusals():
    """a table that the log cannot have is refused in words"""
    with Directory() as folder:
        with durable(folder, "always") as server, server.replies() as replies:
            for words, wanted in ((("engine", "cache"), "a cache has no log"),
                                  (("value-bytes", "4096"), "its longest record does not fit into a segment of the log")):
                said = replies.ask("TABLE", "CREATE", "x", *words)
                check(wanted in said, said)


@case
def many_segments():
    """a log of several tables over many segments, most of which saves make unnecessary"""
    with Directory() as folder:
        with durable(folder, "no") as server, server.replies() as replies:
            create(replies, *TABLES)
            words = [word for key in range(500) for word in (key, key)]
            for turn in range(120):
                select(replies, TABLES[turn % 4])
                replies.socket.sendall(wire.command("MSET", *words) * 4)
                equal([replies.read() for _ in range(4)], ["OK"] * 4, "MSET")
                if turn % 40 == 39:
                    equal(replies.ask("SAVE"), "OK", "SAVE")
            before = len(list(folder.glob("log-*")))
            equal([replies.ask("SAVE"), replies.ask("SAVE")], ["OK", "OK"], "SAVE")
            eventually(lambda: len(list(folder.glob("log-*"))) <= 3, f"{before} segments go")
            server.end_by_kill()
        with durable(folder, "no") as server, server.replies() as replies:
            for name in TABLES:
                select(replies, name)
                equal(replies.ask("DBSIZE"), 500, name)


main()
