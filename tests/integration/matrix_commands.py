# SPDX-License-Identifier: MIT
"""matrix_commands - the operations of test_matrix.py as commands by RESP, between MULTI and EXEC, and by sherwood-cli."""

import re
import subprocess

import wire
from harness import BUILD, ROOT, check, equal
from matrix import ADDS, FLOATS, VERBS, WIDTHS, Around, columns, draw, has, rows, same_time, unpack

ALL = rows()
ROWS = [row for row in ALL if row.verb in VERBS]
DONE = set()  # what was carried out: (interface, name of the row)
OF_STRINGS = {"string": ("incrby", "decrby")}  # commands that work on decimal texts
POOL = list(range(1, 7))
IN_MULTI = dict(re.findall(r'X\(\w+, "(\w+)", -?\d+, .*?, (?:FAST|SLOW), (\w+), ',
                           (ROOT / "server/resp/command_map.h").read_text(encoding="utf-8").replace("\n", " ")))


def sentence(text, what):
    """Checks that an error is a sentence, and does not only say that the command is unknown."""
    check(not re.search(r"unknown command|syntax error|wrong number", text, re.I) and len(text.split()) >= 4,
          f"{what}: no sentence: {text}")


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
        own = shape.numbers not in ("integer", "none")  # of integers the command shows digits, of empty values nothing
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
    if row.verb == "ASSIGN":
        return f"{after} {1 - bit}" if by_cli else [after, 1 - bit]
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
    if isinstance(wanted, list):
        for one, other in zip(got, wanted, strict=True):
            same(one, other, what)
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


def one_command(rng, row, table, by_cli=False):
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
        return time if row.verb == "TTL" else said(row, table, key, *outcome, by_cli)
    return words_of(row, table.shape, key, operand, at, by_cli), apply


def compound(rng, table, is_multi=False):
    """Returns the words of a random command on several keys, or of two operations on one, and its reply."""
    of, keys = {row.name: row for row in ROWS}, rng.choices(POOL[:4], k=rng.randrange(1, 6))
    values = [table.shape.draw(rng) for _ in keys]
    before = [None if (value := table.values.get(key)) is None else text_of(table.shape, value) for key in keys]
    texts, words = [text_of(table.shape, value) for value in values], ["MSET", "MGET", "EXISTS", "DEL", "GETSET", "GETDEL"]
    word = rng.choice(words + (["IFEQ"] if not is_multi and table.shape.engine != "cache" else []))
    if table.shape.ids and word in ("MSET", "GETSET", "IFEQ"):
        done = [(table.apply(of["ASSIGN"], key), table.values[key]) for key in keys]
        return ["ASSIGN", *keys], [part for (_, bit, _), after in done for part in (after, 1 - bit)]
    if table.shape.numbers == "none" and rng.random() < .5:
        return ["INSERT", *keys], [1 - table.apply(of["SET_ABSENT"], key, b"")[1] for key in keys]
    if word == "MSET":
        for key, value in zip(keys, values):
            table.apply(of["SET"], key, value)
        return [word, *(part for pair in zip(keys, texts) for part in pair)], "OK"
    if word == "MGET":
        return [word, *keys], before
    if word == "EXISTS":
        return [word, *keys], sum(key in table.values for key in keys)
    if word == "DEL":
        return [word, *keys], sum(table.apply(of["DELETE"], key)[1] for key in keys)
    if word == "IFEQ":
        old, gets = rng.choice((table.values.get(keys[0], values[0]), table.shape.draw(rng))), rng.random() < .5
        is_met = keys[0] in table.values and table.values[keys[0]] == old
        if is_met:
            table.apply(of["SET"], keys[0], values[0])
        return (["SET", keys[0], texts[0], word, text_of(table.shape, old), *["GET"] * gets],
                before[0] if gets else "OK" if is_met else None)
    table.apply(of["SET" if word == "GETSET" else "DELETE"], keys[0], values[0])
    return [word, keys[0], *texts[:word == "GETSET"]], before[0]


def commands(rng, table, count, of_cli=None):
    """Returns random commands with their replies: [(name of the row, words, (reply,) or None: an error)]. `of_cli`: those of
    sherwood-cli."""
    out = []
    for row in rng.choices(ROWS, k=count) + ROWS:
        if of_cli is None and rng.random() < .2:
            words, reply = compound(rng, table)
            out.append((words[0], words, (reply,)))
        words, apply = one_command(rng, row, table, of_cli is not None)
        if words is not None and (of_cli is None or (words[0].lower() in of_cli and is_plain(words))):
            out.append((row.name, words, (apply(),) if has(row, table.shape) else None))
    return out


def by_resp(rng, replies, table, what):
    """Sends commands in pipelines, each of which runs in one batch."""
    asked = commands(rng, table, 250)
    while asked:
        depth = rng.choice((1, 10, 50, 300))
        some, asked = asked[:depth], asked[depth:]
        replies.socket.sendall(b"".join(wire.command(*words) for _, words, _ in some))
        for name, words, wanted in some:
            got = replies.read()
            if wanted is None:
                check(isinstance(got, wire.Error), f"{what}, RESP: {words}: {got!r}")
                sentence(got, f"{what}, RESP: {words}")
            else:
                same(got, wanted[0], f"{what}, RESP: {name}: {words}")
                DONE.add(("RESP", name))


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
        if rng.random() < .2:
            words, reply = compound(rng, table, True)
            equal(replies.ask(*words), "QUEUED", f"{what}, MULTI: {words}")
            wanted.append((words, reply))
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
    for (name, words, wanted), line in zip(asked, lines):
        if wanted is None:
            sentence(line, f"{what}, CLI: {words}")
        else:
            same(line, wanted[0], f"{what}, CLI: {name}: {words}", table.shape.numbers in FLOATS)
