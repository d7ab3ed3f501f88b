#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""deploy/docs/ref/operations.md: the commands of each engine, by protocol and client, as servers of each kind reply.

test_operation_table.py --write writes the page instead of comparing it."""

import re
import subprocess
import sys

import wire
from harness import BUILD, ROOT, Server, case, check, equal, main

PAGE = ROOT / "deploy/docs/ref/operations.md"
KINDS = {  # name: options, bytes of a value
    "integers": ((), 8),
    "rows": (("--value-bytes", "4", "--value-type", "u32"), 4),
    "strings": (("--value-bytes", "12", "--value-type", "string"), 16),
    "rows of f32": (("--value-bytes", "4", "--value-type", "f32"), 4),
    "ids": (("--ids", "100"), 8),
    "cuckoo": (("--engine", "cuckoo"), 8),
    "cache": (("--engine", "cache", "--value-bytes", "16", "--value-format", "fixed"), 16)}
NAMES = list(KINDS)

# Word: the command of RESP ({v} is a value), and the row of `FRAMES`, `LIBRARY`, `PYTHON`, `CLI`.
COMMANDS = {
    "OR": "OR 1 {v}", "XOR": "XOR 1 {v}", "AND": "AND 1 {v}", "ANDNOT": "ANDNOT 1 {v}", "CAS": "CAS 1 {v} {v}",
    "SET .. IFEQ": "SET 1 {v} IFEQ {v}", "GETRANGE": "GETRANGE 1 0 1", "SETRANGE": "SETRANGE 1 0 ab",
    "PREFIXLEN": "PREFIXLEN 1 2", "EXISTS": "EXISTS 1 2", "GETDEL": "GETDEL 1", "GETSET": "GETSET 1 {v}",
    "GETEX": "GETEX 1 PX 100000", "KEYS": "KEYS *", "MSETNX": "MSETNX 8 {v} 9 {v}", "RENAME": "RENAME 1 2", "COPY": "COPY 1 3",
    "INCRBY by a negative number": "INCRBY 1 -1", "INCRBYFLOAT": "INCRBYFLOAT 1 0.5", "APPEND": "APPEND 1 0", "SUM": "SUM 1 2",
    "INCREX": "INCREX 1 UBOUND 9 EX 100", "DELEX": "DELEX 1 IFEQ {v}",
    "MIN": "MIN 1 2", "MAX": "MAX 1 2", "ADD": "ADD 1 {v}", "SETNX": "SETNX 7 {v}", "ASSIGN": "ASSIGN 1 2",
    "SET .. PX": "SET 1 {v} PX 100000", "SET .. KEEPTTL": "SET 1 {v} KEEPTTL", "EXPIRE": "EXPIRE 1 100", "EXPIRE .. NX": "EXPIRE 1 100 NX",
    "EXPIRE .. XX": "EXPIRE 1 100 XX", "EXPIRE .. GT": "EXPIRE 1 100 GT", "EXPIRE .. LT": "EXPIRE 1 100 LT",
    "PERSIST": "PERSIST 1", "TTL": "PTTL 1", "WATCH": "WATCH 1", "UNWATCH": "UNWATCH",
}
TWO = "its keys are read by one frame and written by another: by RESP it is one command"
ALONE = "it reads and writes while no other write runs: by RESP it is one command"
RESP_ALONE = "it is a rule of a connection's commands: of frames CAS does it"
# Word: the operation of a frame, or why there is none.
FRAMES = {
    "OR": wire.OR, "XOR": wire.XOR, "AND": wire.AND, "ANDNOT": wire.ANDNOT, "CAS": wire.CAS, "SET .. IFEQ": wire.CAS,
    "GETRANGE": wire.GETRANGE, "SETRANGE": wire.SETRANGE, "PREFIXLEN": wire.GET, "EXISTS": wire.GET,
    "GETDEL": wire.DELETE, "GETSET": wire.SET, "GETEX": wire.EXPIRE, "KEYS": wire.SCAN,
    "MSETNX": TWO, "RENAME": TWO, "COPY": TWO, "INCRBY by a negative number": wire.DECREMENT, "INCRBYFLOAT": wire.ADD_F32,
    "APPEND": wire.APPEND, "INCREX": ALONE, "DELEX": ALONE,
    "SUM": wire.SUM, "MIN": wire.MIN, "MAX": wire.MAX, "ADD": wire.ADD_U32, "SETNX": wire.SET_ABSENT, "ASSIGN": wire.ASSIGN,
    "SET .. PX": wire.SET, "SET .. KEEPTTL": wire.SET, "EXPIRE": wire.EXPIRE, "EXPIRE .. NX": wire.EXPIRE_NONE, "EXPIRE .. XX": wire.EXPIRE_SOME,
    "EXPIRE .. GT": wire.EXPIRE_LATER, "EXPIRE .. LT": wire.EXPIRE_EARLIER, "PERSIST": wire.PERSIST, "TTL": wire.TTL,
    "WATCH": RESP_ALONE, "UNWATCH": RESP_ALONE,
}
# Words whose frame says a time: which form.
TIMES = {command: wire.KEEP if "KEEP" in command else wire.IN for command in COMMANDS if re.match("GETEX|EXPIRE|SET .. (PX|KEEPTTL)", command)}
OPERATIONS = {number: name for name, number in wire.NUMBERS.items()}
RUN = "sherwood_run"
LIBRARY = {"CAS": "sherwood_cas", "SET .. IFEQ": "sherwood_cas", "GETRANGE": "sherwood_get_range",
           "SETRANGE": "sherwood_set_range", "PREFIXLEN": "sherwood_prefix", "EXISTS": "sherwood_get",
           "SET .. PX": "sherwood_set_times", "SET .. KEEPTTL": "sherwood_set_times", "EXPIRE": "sherwood_expire",
           **dict.fromkeys(("GETEX", "EXPIRE .. NX", "EXPIRE .. XX", "EXPIRE .. GT", "EXPIRE .. LT"), "sherwood_run_times"),
           "PERSIST": "sherwood_persist", "TTL": "sherwood_ttl", "GETDEL": RUN, "ASSIGN": RUN, "KEYS": "sherwood_scan", "ADD": "sherwood_add", "INCRBYFLOAT": "sherwood_add"}
PYTHON = {"OR": "or_many", "XOR": "xor_many", "AND": "and_many", "ANDNOT": "andnot_many", "CAS": "cas_many",
          "SET .. IFEQ": "cas_many", "GETRANGE": "get_range_many", "SETRANGE": "set_range_many", "PREFIXLEN": "prefix",
          "EXISTS": "contains_many", "GETDEL": "run_many", "GETSET": "set_many", "KEYS": "scan",
          **dict.fromkeys(("GETEX", "EXPIRE", "EXPIRE .. NX", "EXPIRE .. XX", "EXPIRE .. GT", "EXPIRE .. LT"), "expire_many"),
          "SET .. PX": "set_many", "SET .. KEEPTTL": "set_many", "PERSIST": "persist_many", "TTL": "ttl_many",
          "INCRBY by a negative number": "run_many", "INCRBYFLOAT": "add_rows", "SUM": "add_many", "MIN": "min_many",
          "MAX": "max_many", "ADD": "add_rows", "SETNX": "set_many", "ASSIGN": "assign_many"}
CLI = {"OR": "OR", "XOR": "XOR", "AND": "AND", "ANDNOT": "ANDNOT", "CAS": "CAS", "SET .. IFEQ": "CAS",
       "PREFIXLEN": "PREFIXLEN", "EXISTS": "EXISTS", "GETDEL": "GETDEL", "GETSET": "GETSET", "KEYS": "SCAN",
       "INCRBY by a negative number": "DECRBY", "SUM": "SUM", "MIN": "MIN", "MAX": "MAX", "SETNX": "SETNX", "ASSIGN": "ASSIGN",
       "GETEX": "GETEX", "SET .. PX": "SET", "SET .. KEEPTTL": "SET", "PERSIST": "PERSIST", "TTL": "TTL",
       **dict.fromkeys(("EXPIRE", "EXPIRE .. NX", "EXPIRE .. XX", "EXPIRE .. GT", "EXPIRE .. LT"), "EXPIRE"),
       "ADD": "ADD", "INCRBYFLOAT": "ADD", "GETRANGE": "GETRANGE", "SETRANGE": "SETRANGE"}


def sentence(text):
    """Checks that an error is a sentence, and does not only say that the command is unknown."""
    check(not re.search(r"unknown command|syntax error|wrong number", text, re.I), text)
    check(len(text.split()) >= 4, f"no sentence: {text}")
    return text


def by_resp(server, size, command):
    """Returns "yes", or the text of the error."""
    with server.replies() as replies:
        value = b"2" if size == 8 or "string" in server.flags else bytes([2]) + bytes(size - 1)
        parts = [value if part == "{v}" else part for part in COMMANDS[command].split()]
        for key in (1, 2):
            replies.ask("SET", key, value)
        replies.ask("DEL", 3, 7, 8, 9)
        reply = replies.ask(*parts)
        return sentence(str(reply)) if isinstance(reply, wire.Error) else "yes"


def by_frames(server, size, command):
    operation = FRAMES[command]
    if isinstance(operation, str):
        return operation
    with server.connect() as connection:
        if operation == wire.SCAN:
            connection.sendall(wire.envelope(wire.header_of(operation, count=4, key_bytes=8, value_bytes=size)))
        else:
            part = {"range_bytes": 1} if operation in (wire.GETRANGE, wire.SETRANGE) else {}
            if command in TIMES:
                part = {"times": TIMES[command], "time_ms": 100000 if TIMES[command] == wire.IN else 0}
            width = {wire.CAS: 2 * size, wire.SETRANGE: 1, wire.GETRANGE: 0, wire.GET: 0, wire.DELETE: 0, wire.PERSIST: 0,
                     wire.TTL: 0, wire.ASSIGN: 0}.get(operation, 0 if command in TIMES and not command.startswith("SET") else size)
            body = wire.array([1], 8) + (wire.padded(bytes(width)) if width else b"")
            connection.sendall(wire.envelope(wire.header_of(operation, count=1, key_bytes=8, value_bytes=size, **part), body))
        reply = wire.read_frame(connection)
        return "yes" if reply.status == wire.OK else sentence(reply.message)


def asked():
    """Returns {(command, protocol, kind): "yes" or an error}."""
    found = {}
    for kind, (options, size) in KINDS.items():
        with Server("--backend", "cpu", "--capacity", "4K", "--frame-ops-max", "0", *options) as server:
            for command in COMMANDS:
                found[command, "RESP", kind] = by_resp(server, size, command)
                found[command, "frames", kind] = by_frames(server, size, command)
    return found


def page():
    """Returns the page, as servers of each kind reply."""
    found, notes = asked(), []

    def cell(command, text):
        if text == "yes":
            return "yes"
        names = {command.split(" ")[0], "SET IFEQ", "SET EX", "GETEX EX", OPERATIONS.get(FRAMES[command], "")} - {""}
        text = re.sub("^ERR ", "", text)
        text = re.sub(rf"\b({'|'.join(sorted(names, key=len, reverse=True))})\b", "WORD", text)
        if text not in notes:
            notes.append(text)
        return f"[{notes.index(text) + 1}]"
    rows = []
    for command in COMMANDS:
        cells = [cell(command, found[command, "RESP", kind]) for kind in NAMES]
        operation = FRAMES[command]
        cells.append("" if isinstance(operation, str) else OPERATIONS[operation])
        cells += [cell(command, found[command, "frames", kind]) for kind in NAMES]
        no = "" if isinstance(operation, str) else RUN
        cells += [LIBRARY.get(command, no), PYTHON.get(command, ""), CLI.get(command, "")]
        rows.append(f"| {command} | " + " | ".join(cells) + " |")
    head = ["operation"] + [f"RESP: {kind}" for kind in NAMES] + ["frame"] + [f"frames: {kind}" for kind in NAMES]
    head += ["libsherwood", "Python", "sherwood-cli"]
    return "\n".join([
        "# Operations by engine, protocol and client", "",
        "A server of each kind answered each operation. `tests/integration/test_operation_table.py` compares this page with the replies, and",
        "writes it with `--write`. Integers, rows and strings are tables of the engine robin_hood; so are the rows of f32. The other rows",
        "have numbers of type u32. A number in brackets names a note below the table: the error of the server, in which WORD stands for the",
        "operation, or the reason why frames lack it. If the cell of a client is empty, use `redis-cli` at the same port.", "",
        "Frames take arrays of keys. Clients compute EXISTS and PREFIXLEN from the bitmap of a GET, or of a PEEK in a cache. GETSET is a SET",
        "that returns the previous values. GETEX is an EXPIRE that returns the values. SET .. IFEQ is CAS.", "",
        "| " + " | ".join(head) + " |", "|" + " --- |" * len(head), *rows, "",
        *(f"{i}. {note}" for i, note in enumerate(notes, 1)), ""])


@case
def as_servers_have_it():
    """the page says what servers do, and each refusal is a sentence"""
    made = page()
    if "--write" in sys.argv:
        PAGE.write_text(made, encoding="utf-8")
    equal(PAGE.read_text(encoding="utf-8").splitlines(), made.splitlines(), "deploy/docs/ref/operations.md (--write makes it anew)")


@case
def as_clients_have_it():
    """libsherwood, the Python package and sherwood-cli have the functions that the page names"""
    equal(set(FRAMES), set(COMMANDS), "each command has a row")
    headers = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "client").glob("sherwood*.h"))
    for name in set(LIBRARY.values()) | {RUN}:
        check(re.search(rf"\b{name}\(", headers), f"no {name}")
    for number in FRAMES.values():
        if isinstance(number, int) and number != wire.SCAN:
            check(re.search(rf"\bSHERWOOD_{OPERATIONS[number]} = {number}\b", headers), OPERATIONS[number])
    package = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "client/python/src/sherwood").glob("*.py"))
    for name in PYTHON.values():
        check(re.search(rf"def {name}\(", package), f"no {name}")
    said = subprocess.run([BUILD / "sherwood-cli", "COMMAND"], check=True, text=True, stdout=subprocess.PIPE).stdout.upper()
    for name in CLI.values():
        check(re.search(rf"\b{name}\b", said), f"sherwood-cli has no {name}: {said}")


@case
def by_sherwood_cli():
    """GETSET prints what RESP replies; for a missing command sherwood-cli names the program that has it"""
    with Server("--backend", "cpu", "--capacity", "4K") as server:
        def ask(*words):
            return subprocess.run([BUILD / "sherwood-cli", "-a", server.address(), *words], text=True, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.strip()
        equal([ask("SET", "1", "3"), ask("GETSET", "1", "7"), ask("GETSET", "9", "7"), ask("GET", "1")], ["OK", "3", "", "7"], "GETSET")
        check("redis-cli at the same port" in ask("RENAME", "1", "2"), "who has RENAME")


if __name__ == "__main__":
    if "--write" not in sys.argv:
        main()
    else:
        PAGE.write_text(page(), encoding="utf-8")
