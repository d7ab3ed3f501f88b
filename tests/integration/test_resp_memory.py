#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Memory for RESP batches belongs to a loop: many tables take that of a few batches, and wait for it in turn."""

import contextlib
import random
import tempfile
import threading

import wire
from faults import Faults
from harness import BUILD, SANITIZED, Server, Skip, case, check, drawn_seed, equal, eventually, main

SEED = drawn_seed()
EMULATED = BUILD / "emulator" / "sherwoodd"
SMALL_BATCHES = ("--stash", "64", "--frame-ops-max", "512", "--round-ops-max", "512")
SCARCE = ("--capacity", "4K", "--loops", "1", "--resp-batches-max", "3")
BYTES = "sherwood_resp_batch_bytes"
PAUSES = "sherwood_resp_batches_pauses_total"
# of address space, where three batches, or memory for watched keys, would be megabytes; sanitizers keep freed memory
TABLE_KIB = 512 if SANITIZED else 256


def create(replies, count):
    for number in range(1, count + 1):
        replies.socket.sendall(wire.command("TABLE", "CREATE", f"t{number}", "NUMBER", number, "capacity", "1K"))
    equal([replies.read() for _ in range(count)], ["OK"] * count, "CREATE")


def address_space_kib(server):
    with open(f"/proc/{server.pid()}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmSize"))


@case
def one_client_of_many_tables():
    """commands on a thousand tables, one after the other, need the memory that commands on one table need"""
    count = 1000
    with Server("--capacity", "4K", "--loops", "1", "--tables-max", "1001") as server, server.connect() as connection:
        replies, kib = wire.Replies(connection), address_space_kib(server)
        create(replies, count)
        before = server.metrics()[BYTES]
        check(before > 0, "the first table has batches")
        for number in range(1, count + 1):
            commands = (("SELECT", number), ("SET", 1, number), ("MSETNX", 2, number, 3, number), ("MGET", 1, 2, 3))
            connection.sendall(b"".join(wire.command(*words) for words in commands))
            equal([replies.read() for _ in commands], ["OK", "OK", 1, [str(number).encode()] * 3], f"table {number}")
        equal((server.metrics()[BYTES], server.metrics()[PAUSES]), (before, 0), "memory, and pauses")
        more = address_space_kib(server) - kib
        check(more < count * TABLE_KIB, f"{more} KiB more of address space")


@case
def many_clients_of_many_tables():
    """a loop has memory for resp-batches-max batches at most; clients of other tables wait, and what is unused is freed"""
    flags = ("--capacity", "4K", "--loops", "1", "--tables-max", "64", "--frame-ops-max", "512", "--resp-arguments-max", "40K")
    tables = 48
    with Server(*flags) as server, contextlib.ExitStack() as stack:
        several = [wire.Replies(stack.enter_context(server.connect())) for _ in range(tables)]
        create(several[0], tables)
        one = server.metrics()[BYTES] / 3  # a table has two batches, and one for read-modify-write commands
        for number, replies in enumerate(several, 1):
            equal(replies.ask("SELECT", number), "OK", "SELECT")
        most = 0
        for i in range(200):
            for replies in several:
                replies.socket.sendall(wire.command("INCR", 1))
            equal([replies.read() for replies in several], [i + 1] * tables, "INCR")
            most = max(most, server.metrics()[BYTES]) if i % 20 == 0 else most
        check(3 * one < most <= 8 * one, f"{most} bytes for {one} each")
        check(server.metrics()[PAUSES] > 0, "some have waited")
        wide = several[0].ask("TABLE", "CREATE", "wide", "value-bytes", 500, "capacity", "1K")
        equal((wide, several[0].ask("SELECT", "wide"), several[0].ask("SET", 1, b"x" * 500), several[0].ask("GET", 1)),
              ("OK", "OK", "OK", b"x" * 500), "a table with larger batches")
        check(10 * one < server.metrics()[BYTES] <= 256 << 20, "memory for them, within the default of resp-batch-bytes")
        words = (("TABLE", "CREATE", "wider", "value-bytes", 1200, "capacity", "1K"), ("SELECT", "wider"), ("SET", 1, b"x" * 1200))
        equal([several[0].ask(*each) for each in words], ["OK"] * 3, "a table that raises the default of resp-batch-bytes")
        check(server.metrics()[BYTES] > 256 << 20, "its memory")
        eventually(lambda: server.metrics()[BYTES] <= 3 * one, "unused memory is freed")


@case
def wide_and_narrow_tables():
    """resp-batch-bytes limits the memory; a table whose batch takes most of it gets its turn, one that takes more is refused"""
    narrow, flags = 12, ("--capacity", "4K", "--loops", "1", "--frame-ops-max", "512", "--value-bytes", "32", "--value-type", "string")
    create_wide = ("TABLE", "CREATE", "wide", "value-bytes", 152)
    with Server(*flags, "--resp-batch-bytes", "64M") as server, server.connect() as connection:
        refused = wire.Replies(connection).ask(*create_wide)
    check(isinstance(refused, wire.Error) and "raise it to" in str(refused), refused)
    limit = int(str(refused).split("raise it to ")[1].split(",")[0])
    with Server(*flags, "--databases", str(narrow), "--resp-batch-bytes", str(limit)) as server, contextlib.ExitStack() as stack:
        wide, *several = [wire.Replies(stack.enter_context(server.connect())) for _ in range(narrow + 1)]
        equal(wide.ask(*create_wide), "OK", "a wide table")
        for number, replies in enumerate(several):
            equal(replies.ask("SELECT", number), "OK", "SELECT")
        for replies in several:  # together they take all memory
            replies.socket.sendall(wire.command("STRLEN", 1))
        equal([replies.read() for replies in several], [0] * narrow, "STRLEN")
        equal(wide.ask("SELECT", "wide"), "OK", "SELECT")
        most = 0
        for i in range(100):
            for replies in several:
                replies.socket.sendall(wire.command("INCR", 1) * 20)
            wide.socket.sendall(wire.command("SET", 1, b"x" * 150) + wire.command("STRLEN", 1))
            equal([wide.read(), wide.read()], ["OK", 150], "the wide table")
            for replies in several:
                equal([replies.read() for _ in range(20)], list(range(20 * i + 1, 20 * i + 21)), "INCR")
            most = max(most, server.metrics()[BYTES]) if i % 10 == 0 else most
        check(limit // 2 < most <= limit, f"{most} bytes of {limit}")
        check(server.metrics()[PAUSES] > 0, "some have waited")


@case
def a_dropped_wide_table():
    """once a table with wide rows is gone, the batches take as much memory as before it, also if all are always kept"""
    with Server(*SCARCE, "--frame-ops-max", "512") as server, server.connect() as connection:
        replies, before = wire.Replies(connection), server.metrics()[BYTES]
        for words in (("TABLE", "CREATE", "wide", "value-bytes", 500), ("SELECT", "wide"), ("SET", 1, b"x" * 500), ("SELECT", 0)):
            equal(replies.ask(*words), "OK", words)
        check(server.metrics()[BYTES] > 2 * before, "memory for wide rows")
        equal(replies.ask("TABLE", "DROP", "wide"), "OK", "DROP")
        eventually(lambda: server.metrics()[BYTES] == before, "memory as before")
        equal([replies.ask("SET", 1, 2), replies.ask("MSETNX", 2, 3), replies.ask("GET", 1)], ["OK", 1, b"2"], "the other table")


class Client:
    """A client of many tables in a thread: random pipelines, whose replies a dictionary predicts: other clients use other keys."""

    def __init__(self, server, number, tables, rounds):
        self.draw, self.tables, self.data, self.failure = random.Random(SEED + number), tables, {}, None
        self.number, self.table, self.rounds, self.connection, self.sent, self.wanted = number, 0, rounds, server.connect(), [], []
        self.thread = threading.Thread(target=self.run)

    def want(self, reply, *words):
        self.sent.append(wire.command(*words))
        self.wanted.append((words, reply))

    def keys(self, count):
        return [self.number * 100 + key for key in self.draw.sample(range(12), count)]

    def put(self, key, table=None):
        value = str(self.draw.randrange(10**6)).encode()
        self.data[self.table if table is None else table, key] = value
        return value

    def get(self, key):
        return self.data.get((self.table, key))

    def transaction(self, watched):
        first, second = self.keys(2)
        if watched:
            self.want("OK", "WATCH", first, second)
        self.want("OK", "MULTI")
        before, value = self.get(first), self.put(second)
        self.want("QUEUED", "GET", first)
        self.want("QUEUED", "SET", second, value)
        self.want("QUEUED", "GET", second)
        self.want([before, "OK", value], "EXEC")

    def step(self):
        first, second = self.keys(2)
        kind = self.draw.randrange(12)
        if kind < 4:
            self.table = self.draw.randrange(self.tables)
            self.want("OK", "SELECT", self.table)
        elif kind < 6:
            self.want("OK", "SET", first, self.put(first))
        elif kind == 6:
            self.want([self.get(first), self.get(second)], "MGET", first, second)
        elif kind == 7:
            self.want(int(self.data.pop((self.table, first), None) is not None), "DEL", first)
        elif kind == 8:
            absent = self.get(first) is None and self.get(second) is None
            self.want(int(absent), "MSETNX", first, self.put(first) if absent else 1, second, self.put(second) if absent else 1)
        elif kind == 9:
            other, value = self.draw.randrange(self.tables), self.get(first)
            copies = value is not None and other != self.table
            if copies:
                self.data[other, second] = value
                self.want(1, "COPY", first, second, "DB", other, "REPLACE")
        else:
            self.transaction(kind == 10)

    def run(self):
        try:
            replies = wire.Replies(self.connection)
            for _ in range(self.rounds):
                self.sent, self.wanted = [], []
                for _ in range(self.draw.choice((1, 8, 60))):
                    self.step()
                self.connection.sendall(b"".join(self.sent))
                for words, reply in self.wanted:
                    equal(replies.read(), reply, words)
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.failure = error


def disturb(server, stop, replies):
    """Creates and drops a table that a client uses, and ends connections in the middle of their pipelines."""
    draw = random.Random(SEED)
    while not stop.is_set():
        equal(replies.ask("TABLE", "CREATE", "guest", "value-bytes", 100), "OK", "CREATE")
        with server.connect() as connection:
            connection.sendall(wire.command("SELECT", "guest") + wire.command("SET", 1, b"x" * 100) * 100)
            if draw.randrange(2):
                wire.Replies(connection).read()
            equal(replies.ask("TABLE", "DROP", "guest"), "OK", "DROP")


def compare(rounds, *flags, **options):
    """Compares the replies to many clients of many tables with their dictionaries, while batches are scarce."""
    tables = 12
    with Server(*SCARCE, "--databases", str(tables), *flags, **options) as server, server.connect() as connection:
        clients, stop = [Client(server, number, tables, rounds) for number in range(6)], threading.Event()
        beside = threading.Thread(target=disturb, args=(server, stop, wire.Replies(connection)))
        for thread in [client.thread for client in clients] + [beside]:
            thread.start()
        for client in clients:
            client.thread.join()
        stop.set()
        beside.join()
        for client in clients:
            client.connection.close()
            check(client.failure is None, f"seed {SEED}: {client.failure!r}")
        metrics = server.metrics()
        check(metrics[PAUSES] > 0, "nobody has waited")


@case
def scarce():
    """while batches are scarce, transactions, watches and read-modify-write commands have the replies of a dictionary"""
    compare(300)
    compare(100, "--resp-batches-max", "8", "--resp-batch-bytes", "64M")
    with tempfile.TemporaryDirectory(prefix="sherwood-memory-") as folder:
        compare(100, "--data-dir", folder, "--appendonly", "yes", "--appendfsync", "always", "--log-backlog-bytes", "1M")


@case
def scarce_in_gpu_memory():
    """the same with all tables on the CUDA backend, whose kernels the emulator runs"""
    if not EMULATED.exists():
        raise Skip("the daemon with emulated GPUs was not built: make emulated-daemon")
    compare(5, "--backend", "cuda", *SMALL_BATCHES, program=EMULATED)


@case
def a_log_without_room():
    """writes that wait for the log leave the batches to reads of other tables"""
    faults = Faults()
    tables, flags = 8, ("--value-type", "string", "--value-bytes", "4000", "--frame-ops-max", "512", "--log-backlog-bytes", "1M", "--appendonly", "yes")
    with tempfile.TemporaryDirectory(prefix="sherwood-memory-") as folder, contextlib.ExitStack() as stack, \
            Server(*SCARCE, *flags, "--data-dir", folder, "--databases", str(tables), environment=faults.environment()) as server:
        writers = [wire.Replies(stack.enter_context(server.connect())) for _ in range(tables // 2)]
        reader = wire.Replies(stack.enter_context(server.connect()))
        faults.write.held = 1
        for number, replies in enumerate(writers):
            replies.socket.sendall(wire.command("SELECT", number) + b"".join(wire.command("SET", key, b"x" * 3900) for key in range(400)))
        eventually(lambda: server.metrics()["sherwood_paused_clients"] == len(writers), "all writers wait")
        for number in range(tables):
            equal((reader.ask("SELECT", number), reader.ask("GET", 1000)), ("OK", None), f"a read of table {number}")
        faults.write.end()
        for replies in writers:
            equal([replies.read() for _ in range(401)], ["OK"] * 401, "the writes")


@case
def many_grow():
    """while four tables grow, and more clients of each wait, commands on other tables go on; then --resp-batches-max limits the memory again"""
    faults, count, keys, more = Faults(), 4, range(440_000), range(440_000, 450_000)
    with Server("--backend", "cpu", *SCARCE, environment=faults.environment()) as server, server.connect() as one, server.replies() as other, contextlib.ExitStack() as stack:
        memory = lambda: server.metrics()[BYTES]
        batch = memory() / 3
        for number in range(1, count + 1):
            equal(other.ask("TABLE", "CREATE", f"large{number}", "NUMBER", number, "CAPACITY", "512K", "MAX-CAPACITY", "1M"), "OK", "CREATE")
            for at in range(0, len(keys), 20_000):
                equal(wire.call(one, wire.SET, keys[at:at + 20_000], keys[at:at + 20_000], table=number).status, wire.OK, "a frame")
        equal(other.ask("TABLE", "CREATE", "small", "CAPACITY", "4K"), "OK", "CREATE")
        clients = [stack.enter_context(server.replies()) for _ in range(3 * count)]
        for at, replies in enumerate(clients):
            equal(replies.ask("SELECT", at % count + 1), "OK", "SELECT")
        faults.words.map_held = 1
        for replies in clients[:count]:
            replies.socket.sendall(wire.command("MSET", *[word for key in more for word in (key, key)]))
        eventually(lambda: faults.words.map_waits == count, "the growths")
        for replies in clients[count:]:
            replies.socket.sendall(wire.command("GET", 1) + wire.command("PING"))
        eventually(lambda: server.metrics()["sherwood_paused_clients"] == 2 * count, "no command begins a second batch of a table that grows")
        for words, wanted in ((("SET", 1, 2), "OK"), (("GET", 1), b"2"), (("SELECT", "small"), "OK"), (("MSETNX", 1, 3), 1), (("GET", 1), b"3"),
                              (("MULTI",), "OK"), (("INCR", 1), "QUEUED"), (("EXEC",), [4]), (("SELECT", 1), "OK"),
                              (("TABLE", "CREATE", "late", "CAPACITY", "4K"), "OK"), (("SELECT", "late"), "OK"), (("SET", 1, 5), "OK")):
            equal(other.ask(*words), wanted, words)
        check(faults.words.map_waits == count and memory() > 3 * batch, "they still grow, and have more memory than --resp-batches-max")
        faults.words.map_held = 0
        for replies in clients[:count]:
            equal(replies.read(), "OK", "what made it grow")
        for replies in clients[count:]:
            equal([replies.read(), replies.read()], [b"1", "PONG"], "what waited")
        eventually(lambda: memory() <= 3 * batch, "the memory of the others is freed")


main()
