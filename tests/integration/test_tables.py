#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Several tables in one daemon: TABLE, SELECT, SWAPDB and FLUSHALL, beside a dictionary for each place. Every request sees
one table, and a change is complete for all clients when it is answered."""

import contextlib
import random
import subprocess
import tempfile
import threading

import redis

import wire
from harness import BUILD, Server, Skip, case, check, drawn_seed, equal, flags_with, main, refused

SEED = drawn_seed()
EMULATED = BUILD / "emulator" / "sherwoodd"
SMALL_BATCHES = ("--stash", "64", "--frame-ops-max", "512", "--round-ops-max", "512")
OUT_OF_RANGE = wire.Error("ERR DB index is out of range")
NO_TABLE = wire.Error("ERR no such table: TABLE LIST shows the tables")
ABORT = wire.Error("EXECABORT Transaction discarded because of previous errors.")


@contextlib.contextmanager
def connected(server, count=1):
    """Yields `count` connections, which the daemon spreads over its loops."""
    with contextlib.ExitStack() as stack:
        all_of = [wire.Replies(stack.enter_context(server.connect())) for _ in range(count)]
        yield all_of if count > 1 else all_of[0]


def pairs(reply):
    return dict(zip(reply[::2], reply[1::2]))


def names(replies):
    return {pairs(row)[b"name"].decode(): pairs(row)[b"number"] for row in replies.ask("TABLE", "LIST")}


@case
def one_table():
    """with the default table alone, the replies are those of redis with one database"""
    with Server("--capacity", "4K") as server, connected(server) as replies:
        equal(names(replies), {"default": 0}, "TABLE LIST")
        equal(replies.ask("SELECT", 0), "OK", "SELECT 0")
        for number in (1, -1, 15, 65536):
            equal(replies.ask("SELECT", number), OUT_OF_RANGE, "SELECT")
        equal(replies.ask("SELECT", "default"), "OK", "SELECT of the name")
        for text in ("x", "?", "1x"):
            equal(replies.ask("SELECT", text), wire.Error("ERR value is not an integer or out of range"), "SELECT")
        equal(replies.ask("SWAPDB", 0, 0), "OK", "SWAPDB of one")
        equal(replies.ask("SWAPDB", 0, 1), OUT_OF_RANGE, "SWAPDB")
        equal(replies.ask("SWAPDB", "a", 1), wire.Error("ERR invalid first DB index"), "SWAPDB")
        equal(replies.ask("SWAPDB", 0, "b"), wire.Error("ERR invalid second DB index"), "SWAPDB")
        equal(replies.ask("SET", 1, 1), "OK", "SET")
        check(b"db0:keys=1,expires=0,avg_ttl=0\r\n" in replies.ask("INFO", "keyspace"), "INFO keyspace")


@case
def errors():
    """a change that is refused changes nothing, and its error names the cause"""
    with Server("--capacity", "4K", "--tables-max", "4") as server, connected(server) as replies:
        def error(wanted, *words):
            before = names(replies)
            got = replies.ask("TABLE", *words)
            check(isinstance(got, wire.Error) and wanted in got, f"{words}: {got!r} lacks {wanted!r}")
            equal(names(replies), before, words)
        error("a table's name is", "CREATE", "9x")
        error("a table's name is", "CREATE", "")
        error("at most 63 bytes", "CREATE", "x" * 64)
        error("no NUL", "CREATE", b"a\0b")
        error("table exists", "CREATE", "default")
        error("is for the table with its number", "CREATE", "db7")
        error("is for the table with its number", "CREATE", "db7", "NUMBER", 8)
        error("NUMBER is not an integer", "CREATE", "a", "NUMBER", 0)
        error("NUMBER is not an integer", "CREATE", "a", "NUMBER", 65536)
        error("no such table", "CREATE", "a", "LIKE", "b")
        error("option 'capacity' has no value: write each option and its value", "CREATE", "a", "capacity")
        error("option 'max-capacity' has no value", "ALTER", "default", "default-ttl", "5", "MAX-CAPACITY")
        error("unknown option 'foo' of a table: TABLE INFO lists the options", "CREATE", "a", "foo", "1")
        error("unknown option 'max-capacty' of a table; did you mean 'max-capacity'?", "CREATE", "a", "max-capacty", "1")
        error("port is an option of the server", "CREATE", "a", "port", "1")
        error("backend is an option of the server", "CREATE", "a", "backend", "cpu")
        error("threads is an option of the server", "CREATE", "a", "threads", "2")
        error("max-capacity 1024 is less than capacity 4096", "CREATE", "a", "capacity", "4K", "max-capacity", "1K")
        error("is not an option of the cuckoo engine", "CREATE", "a", "engine", "cuckoo", "policy", "lfu")
        error("needs rows", "CREATE", "a", "value-type", "f32")
        error("no such table", "DROP", "a")
        error("the default table stays", "DROP", "default")
        error("the default table keeps its name", "RENAME", "default", "b")
        error("no such table", "RENAME", "a", "b")
        error("no such table", "SWAP", "default", "a")
        error("no such table", "TRUNCATE", "a")
        error("no such table", "INFO", "a")
        error("unknown subcommand 'nothing'", "nothing")
        error("wrong number of arguments for 'table|drop' command", "DROP")
        equal(replies.ask("TABLE", "CREATE", "a", "NUMBER", 7), "OK", "CREATE")
        error("a table has the number 7", "CREATE", "b", "NUMBER", 7)
        error("table exists", "CREATE", "a")
        equal(replies.ask("TABLE", "CREATE", "a", "IF", "NOT", "EXISTS"), "OK", "IF NOT EXISTS")
        equal(replies.ask("TABLE", "CREATE", "c", "ENGINE", "cache", "CAPACITY", "1K"), "OK", "an engine of its own")
        error("have different shapes", "SWAP", "a", "c")
        equal(replies.ask("TABLE", "CREATE", "d"), "OK", "CREATE")
        error("tables-max 4 is reached", "CREATE", "e")
        equal(replies.ask("TABLE", "DROP", "d"), "OK", "DROP")
        equal(replies.ask("TABLE", "DROP", "d", "IF", "EXISTS"), "OK", "IF EXISTS")
        equal(names(replies), {"default": 0, "a": 7, "c": 65536}, "TABLE LIST")
        equal(replies.ask("SELECT", "nothing"), NO_TABLE, "SELECT of an absent name")
        equal(replies.ask("COPY", 1, 2, "DB", 65536), wire.Error(
            "ERR COPY needs tables of one shape (TABLE INFO): read the value, and SET it"), "COPY .. DB")
        equal(replies.ask("COPY", 1, 2, "DB", 8), OUT_OF_RANGE, "COPY .. DB")


@case
def options():
    """each table has its own engine, widths, kind of values, limits and lifetime"""
    with Server("--capacity", "4K") as server, connected(server) as replies:
        for words, wanted in (("small capacity 1K max-capacity 0", {b"capacity": b"1K", b"engine": b"robin_hood"}),
                              ("narrow key-bits 32 resp-keys decimal", {b"key-bits": b"32"}),
                              ("texts value-bytes 60 value-type string", {b"value-type": b"string"}),
                              ("brief default-ttl 1000", {b"default-ttl": b"1000"}),
                              ("cached engine cache policy lfu", {b"policy": b"lfu", b"engine": b"cache"}),
                              ("fixed engine cuckoo max-load 0.4", {b"engine": b"cuckoo", b"max-load": b"0.4"})):
            equal(replies.ask("TABLE", "CREATE", *words.split()), "OK", words)
            shown = pairs(replies.ask("TABLE", "INFO", words.split()[0]))
            equal({name: shown.get(name) for name in wanted}, wanted, words)
        equal(replies.ask("TABLE", "CREATE", "copy", "LIKE", "texts", "capacity", "2K"), "OK", "LIKE")
        shown = pairs(replies.ask("TABLE", "INFO", "copy"))
        equal((shown[b"value-type"], shown[b"capacity"]), (b"string", b"2K"), "LIKE, and an option")
        for place, key, value, wanted in (("default", 1, 5, b"5"), ("small", 1, 6, b"6"), ("narrow", 2**32 - 1, 7, b"7"),
                                          ("texts", 1, "hello", b"hello"), ("brief", 1, 8, b"8"),
                                          ("cached", 1, "cold", b"cold"), ("fixed", 1, 9, b"9"), ("copy", 1, "c", b"c")):
            equal([replies.ask("SELECT", place), replies.ask("SET", key, value), replies.ask("GET", key)],
                  ["OK", "OK", wanted], place)
        equal(replies.ask("SELECT", "brief"), "OK", "SELECT")
        check(0 < replies.ask("TTL", 1) <= 1000, "the lifetime is the table's")
        equal(replies.ask("SELECT", "narrow"), "OK", "SELECT")
        check(isinstance(replies.ask("SET", 2**32, 1), wire.Error), "a key of 33 bits")
        equal(replies.ask("SELECT", "small"), "OK", "SELECT")
        said = [replies.ask("SET", key, key) for key in range(1000)]
        check("OK" in said and any(isinstance(reply, wire.Error) and reply.startswith("OOM") for reply in said), "full")
        equal(replies.ask("SELECT", "default"), "OK", "SELECT")
        equal(replies.ask("SET", 2, 2), "OK", "a full table does not fill the others")


@case
def pipelines():
    """commands behind SELECT in a pipeline are about its table, and replies keep their order"""
    with Server("--capacity", "4K", "--databases", "4") as server, connected(server) as replies:
        words, wanted = [], []
        for round_ in range(50):
            for place in random.Random(SEED).sample(range(4), 4):
                words += [("SELECT", place), ("SET", 1, 10 * round_ + place), ("INCR", 1), ("GET", 1), ("ECHO", place)]
                value = 10 * round_ + place + 1
                wanted += ["OK", "OK", value, str(value).encode(), str(place).encode()]
        replies.socket.sendall(b"".join(wire.command(*each) for each in words))
        equal([replies.read() for _ in words], wanted, "a pipeline over four tables")


@case
def as_redis():
    """unmodified clients of redis: redis-py with db=3, redis-cli -n 3, redis-benchmark --dbnum 3"""
    with Server("--capacity", "64K", "--databases", "4") as server:
        zero, three = (redis.Redis(host=server.host, port=server.port, db=number) for number in (0, 3))
        equal([zero.set(1, 10), three.set(1, 30), zero.get(1), three.get(1)], [True, True, b"10", b"30"], "redis-py")
        equal([three.dbsize(), zero.swapdb(0, 3), zero.get(1)], [1, True, b"30"], "redis-py: swapdb")
        equal(three.info("keyspace")["db3"]["keys"], 1, "redis-py: info")
        equal(sorted(int(key) for key in three.scan_iter()), [1], "redis-py: scan_iter")
        equal([three.flushdb(), zero.get(1), zero.flushall(), zero.dbsize()], [True, b"30", True, 0], "redis-py: flush")
        equal(server.redis_cli("-n", 3, "SET", 2, 20).strip(), "OK", "redis-cli -n")
        equal(three.get(2), b"20", "redis-cli -n 3 wrote there")
        subprocess.run(["redis-benchmark", "-h", server.host, "-p", str(server.port), "--dbnum", "2", "-q", "-n", "2000",
                        "-r", "1000", "-t", "incr", "-c", "4"], check=True, timeout=120, stdout=subprocess.DEVNULL)
        two = redis.Redis(host=server.host, port=server.port, db=2)
        check(two.dbsize() > 0 and zero.dbsize() == 0, "redis-benchmark --dbnum wrote there")


class Oracle:
    """A dictionary for each place: what the server's tables hold."""

    def __init__(self):
        self.places = {"default": {}}

    def drop(self, name):
        return self.places.pop(name, None) is not None


def step(draw, oracle, selected, replies):
    """Sends one random command on a connection, and checks its reply."""
    at, name = draw.choice(sorted(oracle.places)), f"t{draw.randrange(4)}"
    key, value, data = draw.randrange(16), draw.randrange(1000), oracle.places.get(selected[0])
    kind = draw.randrange(20)
    if kind < 3:
        selected[0] = at
        equal(replies.ask("SELECT", at), "OK", "SELECT")
    elif kind == 3:
        exists = name in oracle.places
        equal(replies.ask("TABLE", "CREATE", name, "LIKE", "default"), wire.Error("ERR table exists: choose another name") if exists else "OK", name)
        oracle.places.setdefault(name, {})
    elif kind == 4 and name != selected[0]:
        equal(replies.ask("TABLE", "DROP", name), "OK" if oracle.drop(name) else NO_TABLE, name)
    elif kind in (5, 6):
        other = draw.choice(sorted(oracle.places))
        equal(replies.ask("TABLE", "SWAP", at, other), "OK", "SWAP")
        oracle.places[at], oracle.places[other] = oracle.places[other], oracle.places[at]
    elif kind == 7:
        equal(replies.ask("TABLE", "TRUNCATE", at), "OK", "TRUNCATE")
        oracle.places[at].clear()
    elif kind == 8 and draw.randrange(8) == 0:
        equal(replies.ask("FLUSHALL"), "OK", "FLUSHALL")
        for each in oracle.places.values():
            each.clear()
    elif data is None:
        check("was dropped: SELECT another one" in replies.ask("GET", key), "a dropped table")
    elif kind < 14:
        equal(replies.ask("SET", key, value), "OK", "SET")
        data[key] = str(value).encode()
    elif kind < 16:
        equal(replies.ask("DEL", key), int(data.pop(key, None) is not None), "DEL")
    elif kind == 16:
        equal(replies.ask("DBSIZE"), len(data), "DBSIZE")
    else:
        equal(replies.ask("GET", key), data.get(key), "GET")


def compare(steps, *flags, **options):
    """Compares random commands on five connections with a dictionary for each place."""
    draw, oracle = random.Random(SEED), Oracle()
    with Server("--capacity", "4K", *flags, **options) as server, connected(server, 5) as several:
        selected = [["default"] for _ in several]
        for _ in range(steps):
            which = draw.randrange(5)
            step(draw, oracle, selected[which], several[which])
            for one, name in zip(several, selected): # whose place was dropped and made again has a new number
                if name[0] not in oracle.places:
                    name[0] = "default"
                    equal(one.ask("SELECT", 0), "OK", "SELECT")
        for name, data in oracle.places.items():
            equal(several[0].ask("SELECT", name), "OK", "SELECT")
            equal({key: several[0].ask("GET", key) for key in range(16)}, {key: data.get(key) for key in range(16)}, name)


@case
def beside_an_oracle():
    """random commands on five connections agree with a dictionary for each place"""
    compare(3000, "--loops", "3")


@case
def in_gpu_memory():
    """the same with all tables on the CUDA backend, whose kernels the emulator runs; both backends read their files"""
    if not EMULATED.exists():
        raise Skip("make emulated-daemon has not been run")
    compare(400, "--loops", "2", "--backend", "cuda", *SMALL_BATCHES, program=EMULATED)
    cuda, cpu = {"program": EMULATED}, {}
    for log in ("no", "yes"):
        with tempfile.TemporaryDirectory() as folder:
            sums = {"default": 0, "a": 0, "b": 0}
            for backend, options in (("cuda", cuda), ("cuda", cuda), ("cpu", cpu)):
                flags = ("--capacity", "4K", "--backend", backend, *SMALL_BATCHES, "--data-dir", folder, "--appendonly", log)
                with Server(*flags, **options) as server, connected(server) as replies:
                    for step_of, place in enumerate(sums, 1):
                        equal(replies.ask("TABLE", "CREATE", place, "IF", "NOT", "EXISTS"), "OK", "CREATE")
                        equal(replies.ask("SELECT", place), "OK", "SELECT")
                        sums[place] += step_of
                        equal(replies.ask("INCRBY", 1, step_of), sums[place], f"{place}, {backend}, log {log}")
                    equal(replies.ask("TABLE", "SWAP", "a", "b"), "OK", "SWAP")
                    sums["a"], sums["b"] = sums["b"], sums["a"]


@case
def swaps_beside_writes():
    """no request behind SWAP's reply reaches the old table; pipelines of other clients lose no reply"""
    stop, failures = threading.Event(), []

    def load(server, place):
        """Pipelines beside the swaps. Both tables count, so the sum of what INCR returned last is what was sent."""
        with connected(server) as replies:
            try:
                equal(replies.ask("SELECT", place), "OK", "SELECT")
                while not stop.is_set():
                    replies.socket.sendall(wire.command("INCR", 1) * 50 + wire.command("SET", 2, 2) * 50)
                    for i in range(100):
                        reply = replies.read()
                        check(isinstance(reply, int) if i < 50 else reply == "OK", f"{reply!r}")
                    sent[place] += 50
            except Exception as why:  # pylint: disable=broad-except
                failures.append(why)

    with Server("--capacity", "4K", "--loops", "3") as server, connected(server, 4) as several:
        first = several[0]
        equal(first.ask("TABLE", "CREATE", "v2", "LIKE", "default"), "OK", "CREATE")
        for place, mark in (("default", 1), ("v2", 2)):
            equal([first.ask("SELECT", place), first.ask("SET", 0, mark)], ["OK", "OK"], "the mark")
        equal(first.ask("SELECT", 0), "OK", "SELECT")
        sent = {"default": 0, "v2": 0}
        threads = [threading.Thread(target=load, args=(server, place)) for place in ("default", "v2")]
        for thread in threads:
            thread.start()
        for i in range(200):
            equal(several[i % 4].ask("TABLE", "SWAP", "default", "v2"), "OK", "SWAP")
            for replies in several:
                equal(replies.ask("GET", 0), b"2" if i % 2 == 0 else b"1", f"behind swap {i}")
        stop.set()
        for thread in threads:
            thread.join()
        equal(failures, [], "the load")
        counted = int(first.ask("GET", 1))
        equal(first.ask("SELECT", "v2"), "OK", "SELECT")
        equal(counted + int(first.ask("GET", 1)), sum(sent.values()), "every INCR is in one of the tables")


@case
def flushes_beside_swaps():
    """FLUSHALL misses no table that a swap moves meanwhile"""
    stop, failures = threading.Event(), []

    def swap(server):
        with connected(server) as replies:
            while not stop.is_set():
                reply = replies.ask("SWAPDB", 0, 1)
                if reply != "OK":
                    failures.append(reply)
                    break

    with Server("--capacity", "4K", "--databases", "2") as server, connected(server) as replies:
        thread = threading.Thread(target=swap, args=(server,))
        thread.start()
        try:
            for _ in range(200):
                for place in (0, 1):
                    equal([replies.ask("SELECT", place), replies.ask("SET", 1, 1)], ["OK", "OK"], "SET")
                equal(replies.ask("FLUSHALL"), "OK", "FLUSHALL")
                keys = [replies.ask("SELECT", place) == "OK" and replies.ask("DBSIZE") for place in (0, 1)]
                equal(keys, [0, 0], "keys behind FLUSHALL")
        finally:
            stop.set()
            thread.join()
        equal(failures, [], "SWAPDB")


@case
def drops_beside_requests():
    """a table may be dropped while others use it: they get an error, and the next table of its number serves them"""
    with Server("--capacity", "4K", "--loops", "3") as server, connected(server, 5) as several:
        first, users = several[0], several[1:]
        for i in range(40):
            equal(first.ask("TABLE", "CREATE", "t", "NUMBER", 5, "LIKE", "default"), "OK", "CREATE")
            for replies in users:
                replies.socket.sendall(wire.command("SELECT", 5) + wire.command("SET", 1, i) * 100)
            equal([replies.read() for replies in users for _ in range(101)], ["OK"] * 404, "a pipeline")
            for replies in users[1:]: # these are on their way while the table goes
                replies.socket.sendall(wire.command("INCR", 2) * 100)
            dropper = users[0] if i % 2 == 0 else first
            equal(dropper.ask("TABLE", "DROP", "t"), "OK", "DROP")
            for reply in (replies.read() for replies in users[1:] for _ in range(100)):
                check(isinstance(reply, int) or reply == "ERR the table 5 was dropped: SELECT another one", f"{reply!r}")
            for replies in users:
                equal(replies.ask("PING"), "PONG", "a connection without a table")
                check("was dropped" in replies.ask("SET", 1, 1), "SET without a table")
                check("was dropped" in replies.ask("DBSIZE"), "DBSIZE without a table")
        equal(first.ask("TABLE", "CREATE", "again", "NUMBER", 5), "OK", "CREATE")
        equal(users[0].ask("GET", 1), None, "a new table in the place")


@case
def many_changes():
    """changes leave libuv's threads, also its only one, to the DIGEST that a DROP waits for"""
    with Server("--capacity", "4K", "--loops", "2", environment={"UV_THREADPOOL_SIZE": "1"}) as server, connected(server, 16) as several:
        creator, dropper, changers, users = several[0], several[1], several[2:12], several[12:]
        for _ in range(5):
            equal(dropper.ask("TABLE", "CREATE", "t", "NUMBER", 5, "LIKE", "default"), "OK", "CREATE")
            for replies in users:
                equal(replies.ask("SELECT", 5), "OK", "SELECT")
            creator.socket.sendall(wire.command("TABLE", "CREATE", "u", "capacity", "1M"))
            dropper.socket.sendall(wire.command("TABLE", "DROP", "t"))
            for replies in changers:
                replies.socket.sendall(wire.command("TABLE", "RENAME", "nothing", "n"))
            for replies in users:
                replies.socket.sendall(wire.command("DIGEST"))
            equal([creator.read(), dropper.read()], ["OK", "OK"], "CREATE and DROP")
            equal([replies.read() for replies in changers], [NO_TABLE] * 10, "RENAME")
            for reply in (replies.read() for replies in users):
                check(isinstance(reply, list) or reply == "ERR the table 5 was dropped: SELECT another one", f"{reply!r}")
            equal(creator.ask("TABLE", "DROP", "u"), "OK", "DROP")


@case
def transactions():
    """MULTI and WATCH are about one table: a swap fails EXEC of a watcher, a drop that of any"""
    with Server("--capacity", "4K", "--databases", "3") as server, connected(server, 2) as (replies, other):
        inside = wire.Error("ERR SELECT of another table is not allowed in MULTI")
        for reply, words in (("OK", "MULTI"), ("QUEUED", "SELECT 0"), ("QUEUED", "SET 1 1"), (["OK", "OK"], "EXEC"),
                             ("OK", "WATCH 1"),
                             (wire.Error("ERR SELECT of another table is not allowed while keys are watched: send UNWATCH"),
                              "SELECT 1"), ("OK", "UNWATCH"), ("OK", "SELECT 1"), ("OK", "WATCH 1")):
            equal(replies.ask(*words.split()), reply, words)
        equal(other.ask("SWAPDB", 1, 2), "OK", "SWAPDB")
        equal([replies.ask("MULTI"), replies.ask("SET", 1, 5), replies.ask("EXEC")], ["OK", "QUEUED", None], "a watcher")
        equal([replies.ask("MULTI"), replies.ask("SET", 1, 5), replies.ask("EXEC")], ["OK", "QUEUED", ["OK"]], "and once")
        for word in (2, "db2"):
            equal([replies.ask("MULTI"), replies.ask("SELECT", word), replies.ask("SET", 1, 9), replies.ask("EXEC"), replies.ask("GET", 1)],
                  ["OK", inside, "QUEUED", ABORT, b"5"], "no command is for another table than its client means")
        equal([replies.ask("MULTI"), replies.ask("SELECT", 99), replies.ask("EXEC")][1:], ["QUEUED", [OUT_OF_RANGE]], "as redis")
        equal([replies.ask("MULTI"), replies.ask("SET", 1, 6)], ["OK", "QUEUED"], "MULTI")
        equal(other.ask("SWAPDB", 1, 2), "OK", "SWAPDB")
        equal([replies.ask("EXEC"), replies.ask("GET", 1)], [["OK"], b"6"], "without a watch EXEC is of the new table")
        equal([replies.ask("MULTI"), replies.ask("SET", 1, 7)], ["OK", "QUEUED"], "MULTI")
        equal(other.ask("TABLE", "DROP", "db1"), "OK", "DROP")
        equal([replies.ask("EXEC"), other.ask("GET", 1)], [ABORT, b"1"], "EXEC without a table")
        equal([replies.ask("RESET"), replies.ask("GET", 1)], ["RESET", b"1"], "RESET selects the default table")
        for table in (0, 2):  # a change of other tables, also by the watcher itself
            equal([replies.ask("SELECT", table), replies.ask("WATCH", 1), replies.ask("TABLE", "CREATE", "a")], ["OK"] * 3, "WATCH")
            equal([replies.ask("TABLE", "RENAME", "a", "b"), other.ask("TABLE", "DROP", "b")], ["OK"] * 2, "RENAME, DROP")
            equal([replies.ask("MULTI"), replies.ask("PING"), replies.ask("EXEC")], ["OK", "QUEUED", ["PONG"]], "EXEC of a watcher")


@case
def scans():
    """SCAN does not go on in another table behind a swap"""
    with Server("--capacity", "4K", "--databases", "2") as server, connected(server, 2) as (replies, other):
        for key in range(500):
            replies.socket.sendall(wire.command("SET", key, 1))
        equal([replies.read() for _ in range(500)], ["OK"] * 500, "SET")
        cursor = replies.ask("SCAN", 0)[0]
        equal(other.ask("SWAPDB", 0, 1), "OK", "SWAPDB")
        equal(replies.ask("SCAN", cursor), wire.Error("ERR the table was swapped: begin again with the cursor 0"), "SCAN")
        equal(replies.ask("SCAN", 0), [b"0", []], "SCAN of the other table")
        equal(other.ask("SWAPDB", 0, 1), "OK", "SWAPDB")
        keys, cursor = set(), 0
        while True:
            cursor, some = replies.ask("SCAN", cursor, "COUNT", 100)
            keys |= {int(key) for key in some}
            if cursor == b"0":
                break
        equal(keys, set(range(500)), "a whole SCAN")


@case
def frames():
    """frames are about the table in place 0, also behind a swap and when the first table was dropped"""
    with Server("--capacity", "4K") as server, connected(server) as replies, server.connect() as connection:
        def set_and_get(key, value):
            connection.sendall(wire.frame(wire.SET, [key], [value]) + wire.frame(wire.GET, [key], want_values=True))
            equal(wire.read_frame(connection).status, wire.OK, "SET")
            return wire.read_frame(connection).values()

        def get(key):
            connection.sendall(wire.frame(wire.GET, [key], want_values=True))
            return wire.read_frame(connection).values()
        equal(set_and_get(1, 10), [10], "before")
        equal(replies.ask("TABLE", "CREATE", "v2", "LIKE", "default"), "OK", "CREATE")
        equal(replies.ask("TABLE", "SWAP", "default", "v2"), "OK", "SWAP")
        equal((get(1), replies.ask("GET", 1)), ([0], None), "the other table")
        equal(set_and_get(1, 20), [20], "behind the swap")
        equal(replies.ask("TABLE", "DROP", "v2"), "OK", "DROP of the first table")
        equal((get(1), set_and_get(2, 30), replies.ask("GET", 2)), ([20], [30], b"30"), "behind the drop")


@case
def shown():
    """INFO, CLIENT LIST, MONITOR and the counters show the tables"""
    with Server("--capacity", "4K", "--databases", "4") as server, connected(server, 2) as (replies, monitor):
        equal([replies.ask("SELECT", 3), replies.ask("MSET", 1, 1, 2, 2)], ["OK", "OK"], "SELECT")
        equal(replies.ask("INFO", "keyspace"), b"# Keyspace\r\ndb3:keys=2,expires=0,avg_ttl=0,name=db3\r\n", "INFO")
        lines = dict(line.split(b":", 1) for line in replies.ask("INFO", "tables").split(b"\r\n") if b":" in line)
        row = dict(pair.split(b"=") for pair in lines[b"table3"].split(b","))
        equal((lines[b"tables"], sorted(lines)[:-1], row[b"name"], row[b"keys"], row[b"inserted"], row[b"slots_max"]),
              (b"4", [b"table0", b"table1", b"table2", b"table3"], b"db3", b"2", b"2", b"4096"), f"INFO tables: {lines}")
        equal([b"# Tables" in replies.ask("INFO", *words) for words in ((), ("all",))], [False, True], "sections")
        check(b" db=3 " in replies.ask("CLIENT", "INFO"), "CLIENT INFO")
        check(b" db=3 " in replies.ask("CLIENT", "LIST"), "CLIENT LIST")
        equal(monitor.ask("MONITOR"), "OK", "MONITOR")
        equal(replies.ask("GET", 1), b"1", "GET")
        check(" [3 127.0.0.1:" in monitor.read(), "MONITOR")
        before = server.metrics()
        equal(replies.ask("TABLE", "DROP", "db3"), "OK", "DROP")
        after = server.metrics()
        names_of = [name for name in before if "insert" in name and "total" in name and "table=" not in name]
        check(names_of and any(before[name] > 0 for name in names_of), f"{sorted(before)}")
        equal([after[name] for name in names_of], [before[name] for name in names_of], "the counters of a dropped table")


@case
def refusals():
    """tables that the configuration and the role of the server contradict are refused"""
    refused(*flags_with(databases="5", tables_max="4"), words=["databases 5 is more than tables-max 4"])
    refused(*flags_with(databases="2", replicaof="localhost 1"), words=["databases is 2 and replicaof is set"])
    with Server("--capacity", "4K") as server, connected(server) as replies:
        equal([replies.ask("SET", 1, 1), replies.ask("REPLICAOF", "localhost", 1)], ["OK", "OK"], "REPLICAOF")
        readonly = wire.Error("READONLY You can't write against a read only replica.")
        equal([replies.ask("TABLE", "TRUNCATE", "default"), replies.ask("SWAPDB", 0, 0), replies.ask("TABLE", "CREATE", "a")], [readonly] * 3,
              "on a replica")


main()
