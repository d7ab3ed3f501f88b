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
import subprocess
import sys

import wire
from data_directory import Directory
from interfaces import Frames, Library, Python, Rings
from harness import BUILD, ROOT, Server, Skip, case, check, drawn_seed, equal, main
from matrix import ADDS, FLOATS, RELEASED, VERBS, WIDTHS, Around, Ask, Shape, Table, columns, draw, has, now_ms, pack, rows, same_time, unpack
from people import hello
from replication import caught_up, replica_of

SEED = drawn_seed()
ALL = rows()
ROWS = [row for row in ALL if row.verb in VERBS]
DONE = set()  # what was carried out: (interface, name of the row)
SHAPES = (
    Shape("integers of 64 bits", (), 8, 8, "integer"),
    Shape("integers of 32 bits", ("--key-bits", "32"), 4, 4, "integer"),
    Shape("integers of cuckoo", ("--engine", "cuckoo"), 8, 8, "integer", "cuckoo"),
    Shape("integers with a default time", ("--default-ttl", "50000000"), 8, 8, "integer", default_ms=50 * 10**9),
    Shape("rows of u32", ("--value-bytes", "8", "--value-type", "u32"), 8, 8, "u32"),
    Shape("rows of u64", ("--value-bytes", "16", "--value-type", "u64"), 8, 16, "u64"),
    Shape("rows of i64", ("--value-bytes", "16", "--value-type", "i64"), 8, 16, "i64"),
    Shape("rows of f32", ("--value-bytes", "8", "--value-type", "f32"), 8, 8, "f32"),
    Shape("rows of f64", ("--value-bytes", "16", "--value-type", "f64"), 8, 16, "f64"),
    Shape("rows of f16", ("--value-bytes", "8", "--value-type", "f16"), 8, 8, "f16"),
    Shape("rows of bf16", ("--value-bytes", "8", "--value-type", "bf16"), 8, 8, "bf16"),
    Shape("rows of bytes", ("--value-bytes", "20"), 8, 20, "bytes"),
    Shape("wide rows of u32", ("--value-bytes", "1028", "--value-type", "u32"), 8, 1028, "u32"),
    Shape("rows of strings", ("--value-bytes", "20", "--value-type", "string"), 8, 24, "string"),
    Shape("a cache", ("--engine", "cache", "--value-bytes", "8", "--value-format", "fixed", "--policy", "lfu"), 8, 8, "bytes", "cache"),
    Shape("a cache of strings", ("--engine", "cache", "--value-bytes", "20", "--key-bits", "32", "--policy", "epoch-lfu",
                                 "--cache-mode", "throughput"), 4, 24, "string", "cache"))
EMULATED = BUILD / "emulator" / "sherwoodd"
CUDA = ("--backend", "cuda", "--capacity", "512", "--max-capacity", "0", "--loops", "1", "--frame-ops-max", "512",
        "--round-ops-max", "1024")
SMALL = ("--backend", "cpu", "--capacity", "4K", "--max-capacity", "0", "--frame-ops-max", "128", "--round-ops-max", "4096")
OF_STRINGS = {"string": ("incrby", "decrby")}  # commands that work on decimal texts
POOL = list(range(1, 7))
IN_MULTI = dict(re.findall(r'X\(\w+, "(\w+)", -?\d+, .*?, (?:FAST|SLOW), (\w+), ',
                           (ROOT / "server/resp/command_map.h").read_text(encoding="utf-8").replace("\n", " ")))


def sentence(text, what):
    """Checks that an error is a sentence, and does not only say that the command is unknown."""
    check(not re.search(r"unknown command|syntax error|wrong number", text, re.I) and len(text.split()) >= 4,
          f"{what}: no sentence: {text}")


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
            value = shape.stored(before)
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


def pipelined(rng, frames, table, what):
    """Sends several frames at once. They take effect in this order; their replies come in any order."""
    for _ in range(4):
        pipeline(rng, frames, table, what)


def pipeline(rng, frames, table, what):
    asks = []
    for row in rng.choices([row for row in ROWS if has(row, table.shape)], k=6):
        if row.element.lower() not in FLOATS or table.shape.numbers != "bytes":  # no bytes that are NaN
            ask = draw(rng, row, table, POOL, rng.choice((1, 7, 64, 65)))
            frames.wants = rng.random() < .7, rng.random() < .7
            asks.append((ask, frames.wants, frames.request(ask, len(asks)), shown(table, ask)))
    frames.connection.sendall(b"".join(request for _, _, request, _ in asks))
    for _ in asks:
        reply = wire.read_frame(frames.connection)
        ask, frames.wants, _, wanted = asks[reply.request_id]
        compare_reply(frames, table, ask, frames.result(ask, reply), wanted, f"{what}: {ask.row.name} of {ask.keys}, pipelined")


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


# --- interfaces that take commands ---------------------------------------------------------------
def text_of(shape, value, by_cli=False):
    if shape.numbers == "integer":
        return str(value)
    if not by_cli or shape.numbers not in WIDTHS:
        return value
    digits = 17 if shape.numbers == "f64" else 9  # such a text restores every bit
    return ",".join(f"{n:.{digits}g}" if shape.numbers in FLOATS else str(n) for n in unpack(shape.numbers, value))


def words_of(row, shape, key, operand, at, by_cli=False):
    """Returns the command of the row; None: there is none."""
    def text(value):
        return text_of(shape, value, by_cli)
    if row.acl == "LIKE" or (row.on == "EXPIRY" and "EXPIRY" not in shape.on):
        return None
    if not has(row, shape) and (row.command in OF_STRINGS.get(shape.numbers, ()) or any(
            other.command == row.command and has(other, shape) for other in ROWS)):
        return None  # on this table the command is another row's
    if row.verb == "ADD_ROW":
        own = shape.engine != "cache" and row.element.lower() == ADDS.get(shape.numbers, shape.numbers)
        return ["ADD", key, text(operand), *(["XX"] if row.guard == "PRESENT" else [])] if own else None
    if row.verb == "SET" and row.guard != "ABSENT":
        expires = ["PXAT", at] if at is not None else []
        return ["SET", key, text(operand), *(["XX"] if row.guard == "PRESENT" else []), *expires]
    if row.verb == "EXPIRE":
        options = {"ALWAYS": [], "NEVER": ["NX"], "SOME": ["XX"], "LATER": ["GT"], "EARLIER": ["LT"]}
        return ["PEXPIREAT", key, at, *options[row.guard]] if row.guard in options else None
    if row.verb == "TTL":
        return ["PEXPIRETIME", key]
    if row.verb == "SWAP":
        return ["CAS", key, *map(text, operand)]
    if row.verb == "SETRANGE":
        return ["SETRANGE", key, operand[0], operand[1].hex() if by_cli else operand[1], *(["HEX"] if by_cli else [])]
    if row.verb == "GETRANGE":
        own = shape.numbers != "integer"  # of integers the command shows digits
        return ["GETRANGE", key, 1, 2, *(["HEX"] if by_cli else [])] if own else None
    if by_cli and row.element == "STRING":
        return None  # sherwood-cli has these for integers
    operands = [] if operand is None else [text(operand)]
    return [row.command, key, *operands]


def said(row, table, key, before, bit, refused, by_cli=False):
    """Returns the reply that the command must give."""
    shape, after = table.shape, table.values.get(key)

    def text(value):
        return None if value is None else text_of(shape, value, by_cli)
    if refused:
        return wire.Error
    if row.verb == "SET":
        return {"ALWAYS": "OK", "PRESENT": "OK" if bit else None, "ABSENT": 1 - bit}[row.guard]
    if row.verb in ("DELETE", "ADD_ROW", "SWAP", "EXPIRE", "PERSIST"):
        return int(bit)
    if row.verb in ("SETRANGE", "APPEND"):
        return int(bit) if by_cli else len(after)
    if row.verb == "GETRANGE":
        part = (before or b"")[1:3]
        return part.hex() if by_cli else part
    return text(before if row.verb == "READ" else after)


def same(got, wanted, what, floats=False):
    """Compares replies and lines. An integer is its digits, and nil is an empty line."""
    if isinstance(wanted, Around):
        same_time(int(got), wanted, what)
        return
    if wanted is wire.Error:
        check(isinstance(got, wire.Error) or str(got).startswith("ERR"), f"{what}: {got!r} instead of a refusal")
        return

    def plain(value):
        value = value.decode("latin-1") if isinstance(value, bytes) else "" if value is None else str(value)
        return ",".join(f"{float(n):.9g}" for n in value.split(",")) if floats and "," in value else value
    equal(plain(got), plain(wanted), what)


def is_plain(words):
    """Returns whether a line of sherwood-cli can contain these words."""
    return all(str(word).isprintable() and str(word) and not re.search(r"[\s\"'\\]", str(word)) for word in words)


def commands(rng, table, count, of_cli=None):
    """Returns random commands with their replies: [(row, words, (reply,) or None: an error)]. `of_cli`: those of
    sherwood-cli."""
    shape, out = table.shape, []
    for row in rng.choices(ROWS, k=count) + ROWS:
        ask = draw(rng, row, table, POOL[:4], 1, True)
        key, operand = ask.keys[0], ask.operands[0] if ask.operands else None
        if row.guard == "FITS" and shape.numbers == "integer":
            operand &= 2**31 - 1  # the command takes signed numbers
        at = ask.at(0) if row.verb in ("EXPIRE", "SET") and row.guard != "ABSENT" else None
        words = words_of(row, shape, key, operand, at, of_cli is not None)
        if words is None or (of_cli is not None and (words[0].lower() not in of_cli or not is_plain(words))):
            continue
        if not has(row, shape):
            out.append((row, words, None))
            continue
        time = table.times.get(key, -1) if key in table.values else -2
        outcome = table.apply(row, key, operand, at)
        out.append((row, words, (time if row.verb == "TTL" else said(row, table, key, *outcome, of_cli is not None),)))
    return out


def by_resp(rng, replies, table, what):
    """Sends commands in one pipeline, so that they run in one batch."""
    asked = commands(rng, table, 250)
    for at in range(0, len(asked), 50):
        replies.socket.sendall(b"".join(wire.command(*words) for _, words, _ in asked[at:at + 50]))
        for row, words, wanted in asked[at:at + 50]:
            got = replies.read()
            if wanted is None:
                check(isinstance(got, wire.Error), f"{what}, RESP: {words}: {got!r}")
                sentence(got, f"{what}, RESP: {words}")
            else:
                same(got, wanted[0], f"{what}, RESP: {row.name}: {words}")
                DONE.add(("RESP", row.name))


def by_one_key(rng, replies, table, what):
    """Sends hundreds of commands on one key in one batch, which CUDA folds by many threads. Few rows, so that they
    combine."""
    shape = table.shape
    drawn = [row for row in ROWS if row.acl == "SAME" and has(row, shape) and IN_MULTI.get(row.command) == "QUEUED"
             and columns(row.verb)[0] in ("NONE", "VALUE") and row.on != "EXPIRY"]
    sums = [row for row in drawn if columns(row.verb)[3] in ("ADDS", "CLAMPS")]
    top = 2**(8 * shape.value_bytes) - 1
    for of, count, operands in ((sums, 2, (0, 1, 2, 3)), (sums, 4, (0, 1, 2, 3)), (sums, 5, (1, 2, top - 2, top)),
                                (sums, 3, (1, top - 1, top)), (drawn, 3, (0, 1, 3, 1 << 40, top)), (drawn, 6, (1, 5, 1 << 31, top))):
        asked, some = [], rng.sample(of, count)
        for at in range(700):
            row = rng.choice(some) if at else next(row for row in ROWS if row.name == "SET")
            operand = rng.choice(operands) if columns(row.verb)[0] == "VALUE" else None
            if row.guard == "FITS":
                operand &= 2**31 - 1  # the command takes signed numbers
            outcome = table.apply(row, 1, operand)
            asked.append((words_of(row, shape, 1, operand, None), said(row, table, 1, *outcome)))
        replies.socket.sendall(b"".join(wire.command(*words) for words, _ in asked))
        for words, wanted in asked:
            same(replies.read(), wanted, f"{what}, one key, {[row.name for row in some]}: {words}")


def one_command(rng, row, table):
    """Returns the words of a random command of the row, or None, and a function that applies it to the model and returns
    its reply."""
    ask = draw(rng, row, table, POOL[:4], 1, True)
    key, operand = ask.keys[0], ask.operands[0] if ask.operands else None
    if row.guard == "FITS" and table.shape.numbers == "integer":
        operand &= 2**31 - 1  # the command takes signed numbers
    at = ask.at(0) if row.verb in ("EXPIRE", "SET") and row.guard != "ABSENT" else None

    def apply():
        time = table.times.get(key, -1) if key in table.values else -2
        outcome = table.apply(row, key, operand, at)
        return time if row.verb == "TTL" else said(row, table, key, *outcome)
    return words_of(row, table.shape, key, operand, at), apply


def by_multi(rng, replies, table, what):
    """Sends commands between MULTI and EXEC: each row alone, then many together. A transaction refuses those that it does
    not support, without effect."""
    for row in ROWS:
        words, apply = one_command(rng, row, table)
        if words is None:
            continue
        equal(replies.ask("MULTI"), "OK")
        queued = replies.ask(*words)
        got = replies.ask("EXEC")
        name = f"{what}, MULTI: {row.name}: {words}"
        if IN_MULTI[str(words[0]).lower()] == "REFUSED" or not has(row, table.shape):
            sentence(queued, name)
            check(isinstance(got, wire.Error) and got.startswith("EXECABORT"), f"{name}: {got!r}")
            continue
        equal(queued, "QUEUED", name)
        same(got[0], apply(), name)
    wanted = []
    equal(replies.ask("MULTI"), "OK")
    for row in rng.choices(ROWS, k=60):
        words, apply = one_command(rng, row, table)
        if words is not None and IN_MULTI[str(words[0]).lower()] == "QUEUED" and has(row, table.shape):
            equal(replies.ask(*words), "QUEUED", f"{what}, MULTI: {words}")
            wanted.append((words, apply()))
    for got, (words, reply) in zip(replies.ask("EXEC"), wanted, strict=True):
        same(got, reply, f"{what}, MULTI of {len(wanted)}: {words}")


def by_cli(rng, server, table, what):
    """Sends commands by sherwood-cli, which prints a line for each."""
    has_command = set(subprocess.run([BUILD / "sherwood-cli", "COMMAND"], check=True, text=True,
                                     stdout=subprocess.PIPE).stdout.lower().split())
    asked = commands(rng, table, 60, has_command)
    lines = subprocess.run([BUILD / "sherwood-cli", "-a", server.address()], check=False, text=True, encoding="latin-1",
                           input="".join(" ".join(map(str, words)) + "\n" for _, words, _ in asked),
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.split("\n")
    for (row, words, wanted), line in zip(asked, lines):
        if wanted is None:
            sentence(line, f"{what}, CLI: {words}")
        else:
            same(line, wanted[0], f"{what}, CLI: {row.name}: {words}", table.shape.numbers in FLOATS)


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
        calls.append(lambda: pipelined(rng, opened[0], table, what))
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
    return [Frames, Rings, Library] + ([Python] if python else [])


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


@case
def emulated_cuda():
    """integers of two engines and rows on the CUDA backend, whose kernels the emulator runs: by frames, RESP and MULTI"""
    if not EMULATED.exists():
        raise Skip("make emulated-daemon has not been run")
    if EMULATED.stat().st_mtime < wire.OPERATIONS.stat().st_mtime:
        raise Skip("the emulated daemon is older than proto/ops/operations.h: make emulated-daemon")
    for shape in (SHAPES[0], SHAPES[2], SHAPES[3]):
        table, what = Table(shape), f"seed {SEED}: {shape.name} on CUDA"
        with Server(*CUDA, *shape.options, program=EMULATED) as server, server.connect() as connection:
            if shape.numbers == "integer":
                by_one_key(random.Random(SEED), wire.Replies(connection), table, what)
            session(server, table, what, [Frames])


@case
def none_was_left_out():
    """every row ran by frames on some table, by RESP if it has a command, and by rings if a device may run it"""
    if len(sys.argv) > 1:
        raise Skip("not all tables were tried")
    for row in ROWS:
        interfaces = {"Frames", "Library"} | ({"Rings"} if row.device else set())
        interfaces |= {"RESP"} if row.acl == "SAME" and row.guard != "SHORTEN" else set()
        by = {interface for interface, name in DONE if name == row.name}
        check(interfaces <= by, f"{row.name} was not carried out by {interfaces - by}")


if __name__ == "__main__":
    main()
