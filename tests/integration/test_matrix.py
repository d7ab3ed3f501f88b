#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every operation, by every interface, on tables of every kind: it has the effect of a dict's, or a one-sentence error.

The operations are the rows of proto/ops/operations.h; matrix.py has the dict's verbs. For each table the log and a
replica have the same entries afterwards.
"""

import contextlib
import importlib.util
import random
import re
import sys

import wire
from data_directory import Directory
from interfaces import Devices, Frames, Library, Python, Rings, Segments
from harness import BUILD, ROOT, Server, Skip, case, check, drawn_seed, equal, main, send_beside
from matrix import FLOATS, RELEASED, SHAPES, VERBS, WIDTHS, Ask, Table, columns, draw, has, now_ms, pack, same_time
from matrix_commands import ALL, DONE, POOL, ROWS, by_cli, by_multi, by_one_key, by_resp, sentence, words_of
from people import hello
from replication import caught_up, replica_of
from ring import serving

SEED = drawn_seed()
EMULATED = BUILD / "emulator" / "sherwoodd"
CUDA = ("--backend", "cuda", "--capacity", "512", "--max-capacity", "0", "--loops", "1", "--frame-ops-max", "512",
        "--round-ops-max", "1024")
SMALL = ("--backend", "cpu", "--capacity", "4K", "--max-capacity", "0", "--frame-ops-max", "128", "--round-ops-max", "4096")


# --- interfaces that take arrays -----------------------------------------------------------------
def shown(table, ask):
    """Returns the bytes and the bit of a reply for each key, and whether it counts as an overflow."""
    out, shape, verb = [], table.shape, ask.row.verb
    for i, key in enumerate(ask.keys):
        time = table.times.get(key, 0)
        before, bit, refused = table.apply(ask.row, key, ask.operands[i] if ask.operands else None, ask.at(i))
        if verb == "TTL":
            value = time
        elif verb == "GETRANGE":
            offset, size = ask.part()
            value = (before or b"")[offset:offset + size].ljust(size, b"\0")
        else:
            value = shape.stored(table.values[key] if verb == "ASSIGN" else before)
        out.append((value, int(bit), refused and shape.numbers == "integer"))
    return out


def carried_out(interface, table, ask, what):
    """Sends the operations and compares the reply with the model's."""
    reply = interface.ask(ask)
    if isinstance(reply, str) and interface.may_refuse(ask.row):
        sentence(reply, what)
        return
    compare_reply(interface, table, ask, reply, shown(table, ask), what)


def compare_reply(interface, table, ask, reply, wanted, what):
    DONE.add((type(interface).__name__, ask.row.name))
    check(not isinstance(reply, str), f"{what}: {reply}")
    values, found = reply
    if interface.hits is not None:
        equal((interface.hits, interface.overflows), (sum(bit for _, bit, _ in wanted), sum(over for _, _, over in wanted)),
              what + ": hits and overflows")
    if found is not None:
        equal(found, [bit for _, bit, _ in wanted], what + ": bits")
    if values is not None:
        if ask.row.verb == "TTL":
            for key, got, (at, _, _) in zip(ask.keys, values, wanted, strict=True):
                same_time(int.from_bytes(got, "little"), at, f"{what}: key {key}")
            return
        values = values if ask.row.verb == "GETRANGE" else [table.shape.visible(value) for value in values]
        equal(values, [value for value, _, _ in wanted], what + ": values")


def pipelined(rng, server, table, what):
    """Sends several frames at once on each of four connections, which have keys of their own. The frames of a connection take
    effect in this order; their replies come in any order. Ids depend on the keys of all connections, so there they have one."""
    lanes, rows = [], [row for row in ROWS if has(row, table.shape)]
    if table.shape.numbers == "bytes":  # no bytes that are NaN
        rows = [row for row in rows if row.element.lower() not in FLOATS]
    for lane in range(1 if table.shape.ids else 4):
        frames, asks = Frames(server, table.shape), []
        for number in range(3 if "CUDA" in what else rng.choice((3, 30))):
            ask = draw(rng, rng.choice(rows), table, [key + 100 * lane for key in POOL], rng.choice((1, 7, 64, 65)))
            frames.wants = rng.random() < .7, rng.random() < .7
            asks.append((ask, frames.wants, frames.request(ask, number), shown(table, ask)))
        lanes.append((frames, asks, send_beside(frames.connection, b"".join(request for _, _, request, _ in asks))))
    for frames, asks, sender in lanes:
        for _ in asks:
            reply = wire.read_frame(frames.connection)
            ask, frames.wants, _, wanted = asks[reply.request_id]
            compare_reply(frames, table, ask, frames.result(ask, reply), wanted, f"{what}: {ask.row.name} of {ask.keys}, pipelined")
        sender.join()
        frames.close()


def by_arrays(rng, interface, table, what):
    """Sends each row through an interface: with one key, with a few, and with many that repeat. The libraries split the
    last call into several frames."""
    shape, of = table.shape, {row.name: row for row in ROWS}
    for row in rng.sample(ROWS, len(ROWS)):
        if interface.absent(row):
            continue
        floats = row.element.lower() in FLOATS and shape.numbers == "bytes" and has(row, shape)
        if floats:  # no bytes that are NaN
            carried_out(interface, table, Ask(of["DELETE"], POOL[3:], None), what)
            carried_out(interface, table, Ask(of["SET"], POOL[:3], draw_floats(rng, row, shape, 3)), what)
        for count in interface.counts:
            ask = draw(rng, row, table, POOL, count)
            if floats:
                ask.operands = draw_floats(rng, row, shape, count)
            if not interface.takes_times:
                ask.each_ms, ask.when = None, wire.UNSAID
            name = f"{what}, {type(interface).__name__}: {row.name} of {ask.keys[:5]}, {(ask.operands or [])[:5]}"
            interface.wants = rng.random() < .7, rng.random() < .7
            if has(row, shape):
                carried_out(interface, table, ask, f"{name}, wanted {interface.wants}")
                continue
            reply = interface.ask(ask)
            check(isinstance(reply, str), f"{name}: carried out")
            sentence(reply, name)
            break


def draw_floats(rng, row, shape, count):
    numbers = row.element.lower()
    return [pack(numbers, [rng.randrange(-40, 40) / 2 for _ in range(shape.value_bytes // WIDTHS[numbers])])
            for _ in range(count)]


# --- tables --------------------------------------------------------------------------------------
def compare(server, table, what):
    """Checks that the server's contents equal the model's."""
    frames, shape = Frames(server, table.shape), table.shape
    get = next(row for row in ROWS if row.name == ("PEEK" if shape.engine == "cache" else "GET"))
    with contextlib.closing(frames):
        for row in (get, *(row for row in ROWS if row.name == "TTL" and has(row, shape))):
            values, found = frames.ask(Ask(row, POOL, None))
            equal(found, [int(key in table.values) for key in POOL], f"{what}: keys")
            for key, value in zip(POOL, values, strict=True):
                if row.verb == "TTL":
                    at = int.from_bytes(value, "little")
                    same_time(at, table.times.get(key, 0), f"{what}: key {key}")
                    table.times |= {key: at} if at else {}  # known from now on
                else:
                    equal(shape.visible(value), shape.stored(table.values.get(key)), f"{what}: key {key}")
    table.compared_ms = now_ms()


def session(server, table, what, interfaces):
    """Uses every interface in turn, in a random order."""
    rng = random.Random(SEED)
    with server.replies() as replies:
        calls = [lambda: by_resp(rng, replies, table, what), lambda: by_multi(rng, replies, table, what)]
        if table.shape.numbers not in ("f16", "bf16", "bytes"):
            calls.append(lambda: by_cli(rng, server, table, what))
        opened = []
        for interface in interfaces:
            opened.append(interface(server, table.shape))
            calls.append(lambda interface=opened[-1]: by_arrays(rng, interface, table, what))
        calls.append(lambda: pipelined(rng, server, table, what))
        calls += [lambda: replies.ask("SAVE")] if "--data-dir" in server.flags else []
        calls *= 1 if "CUDA" in what else 3
        rng.shuffle(calls)
        for call in calls:
            call()
            compare(server, table, what)
        for interface in opened:
            interface.close()


def doors_here():
    python = (ROOT / "build/python/lib/sherwood").exists() and importlib.util.find_spec("numpy")
    return [Frames, Segments, Rings, Library] + ([Python] if python else [])


def kept(shape):
    """Tests one kind of table: every interface, then its replica, then a server that reads its log."""
    table, what = Table(shape), f"seed {SEED}: {shape.name}"
    with Directory() as path:
        own = (*SMALL, *shape.options, "--unix-socket", f"{path}/s")
        if shape.engine == "cache":  # it has neither a log nor replicas
            with Server(*own) as server:
                session(server, table, what, doors_here())
            return
        own = (*own, "--data-dir", str(path), "--appendonly", "yes", "--appendfsync", "no")
        with Server(*own) as server, replica_of(server.port, *SMALL, *shape.options) as replica:
            session(server, table, what, doors_here())
            caught_up(server, replica)
            compare(replica, table, what + ", the replica")
        with Server(*own) as server:
            compare(server, table, what + ", from the log")


@case
def released():
    """released rows keep their number, verb, guard, element, tables, times and right"""
    now = {row.name: row.released() for row in ALL}
    for line in RELEASED.strip().splitlines():
        equal(now.get(line.split()[0]), line, "proto/ops/operations.h")
    check(len({row.number for row in ALL}) == len(ALL) == len(now), "a name or a number comes twice")
    missing = sorted({row.verb for row in ALL} - set(VERBS))
    check(not missing, f"the model lacks the verbs {missing}: give each a line in VERBS of tests/integration/matrix.py")


@case
def rights():
    """a row needs exactly the right of its command, by frames and by RESP"""
    with Server("--backend", "cpu", "--capacity", "4K") as server, server.connect() as connection:
        admin, shape = wire.Replies(connection), SHAPES[0]
        for row in ROWS:
            for rules, may in ((("+@all", "-" + row.command), False), (("-@all", "+" + row.command), True)):
                equal(admin.ask("ACL", "SETUSER", "peer", "reset", "on", "nopass", "~*", *rules), "OK", row.name)
                with server.connect() as other:
                    equal(wire.exchange(other, hello(b"peer", b"x")).status, wire.OK, "HELLO")
                    part = {"range_bytes": 1} if "RANGE" in row.verb else {}
                    other.sendall(wire.envelope(wire.header_of(row.number, count=0, key_bytes=8, value_bytes=8, **part)))
                    refused = wire.read_frame(other).status == wire.NO_PERMISSION
                    equal(refused, not may, f"{row.name}: {rules}")
                operand = {"NONE": None, "PAIR": (1, 2), "PART": (0, b"x")}.get(columns(row.verb)[0], 1)
                words = words_of(row, shape, 1, operand, 10**13)
                if words and words[0].lower() == row.command:
                    with server.replies() as replies:
                        equal(replies.ask("AUTH", "peer", "x"), "OK", "AUTH")
                        refused = str(replies.ask(*words)).startswith("NOPERM")
                        equal(refused, not may, f"RESP: {words}: {rules}")


for each in SHAPES:
    def of_kind(shape=each):
        kept(shape)
    of_kind.__doc__ = f"{each.name}: every operation by every interface; a replica, and the log"
    of_kind.__name__ = re.sub(r"\W", "_", each.name)
    case(of_kind)


def by_devices(table, what):
    """Tests arrays on a GPU, beside a log or without one, and a server that reads this log."""
    rng = random.Random(f"{SEED} {table.shape.name}")
    with Directory() as path:
        log = ("--data-dir", str(path), "--appendonly", "yes", "--appendfsync", "no")
        log = () if table.shape.engine == "cache" or rng.random() < .5 else log
        with serving(*CUDA, *table.shape.options, *log, program=EMULATED) as server:
            with contextlib.closing(Devices(server, table.shape)) as devices:
                by_arrays(rng, devices, table, what)
            compare(server, table, what)
        if log:
            with serving(*CUDA, *table.shape.options, *log, program=EMULATED) as server:
                compare(server, table, what + ", from the log")


@case
def emulated_cuda():
    """tables of every kind on the CUDA backend, whose kernels the emulator runs: by arrays on a GPU; some also by frames, RESP, MULTI"""
    if not EMULATED.exists():
        raise Skip("make emulated-daemon has not been run")
    if EMULATED.stat().st_mtime < wire.OPERATIONS.stat().st_mtime:
        raise Skip("the emulated daemon is older than proto/ops/operations.h: make emulated-daemon")
    has_devices = Python in doors_here()
    for shape in SHAPES:
        table, what = Table(shape), f"seed {SEED}: {shape.name} on CUDA"
        if shape not in (SHAPES[0], SHAPES[2], SHAPES[3]) and shape.numbers != "none":
            if has_devices:
                by_devices(table, what)
            continue
        with serving(*CUDA, *shape.options, program=EMULATED) as server, server.connect() as connection:
            if shape.numbers == "integer":
                by_one_key(random.Random(SEED), wire.Replies(connection), table, what)
            session(server, table, what, [Frames] + ([Devices] if has_devices else []))


@case
def none_was_left_out():
    """every row ran by frames, by rings and by arrays on a GPU on some table, and by RESP if it has a command"""
    if len(sys.argv) > 1:
        raise Skip("not all tables were tried")
    for row in ROWS:
        interfaces = {"Frames", "Library", "Rings"} | ({"Segments"} if row.name in wire.READS else set())
        interfaces |= {"RESP"} if row.acl == "SAME" and row.guard != "SHORTEN" else set()
        interfaces |= {"Devices"} & {interface for interface, _ in DONE}
        by = {interface for interface, name in DONE if name == row.name}
        check(interfaces <= by, f"{row.name} was not carried out by {interfaces - by}")


if __name__ == "__main__":
    main()
