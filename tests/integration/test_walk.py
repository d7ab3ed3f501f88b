#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How many source files one request passes, as valgrind sees them: a short walk is one that a reader can follow."""

import pathlib
import re
import shutil
import subprocess
import tempfile

import wire
from harness import DAEMON, ROOT, SANITIZED, Server, Skip, case, check, main

IN_TABLE = re.compile(r"proto/ops/|table/(?!table\.c$)")  # what the table does differs by engine and backend
SMALL = ("--backend", "cpu", "--capacity", "4K", "--loops", "1")


def passed(dump):
    """Returns the files of ours whose lines ran, with the functions that these lines are in or are inlined into."""
    names, functions, found = {}, {}, {}
    file, function, is_callee = None, None, False
    for line in dump.read_text(encoding="utf-8").splitlines():
        named = re.match(r"(c?f[ile]|c?fn|cfl)=\((\d+)\)(?: (.*))?", line)
        if named:
            kind, number, name = named.groups()
            known = functions if kind.endswith("fn") else names
            if name:
                known[number] = name
            if kind == "fn":
                function = known[number]
            elif kind in ("fl", "fi", "fe"):
                file = known[number]
        elif line.startswith("calls="):
            is_callee = True  # the next line has the costs of the callee
        elif re.match(r"[+\-*\d]", line):
            ours = re.search(r"(?:^|/)((?:server|table|proto)/\S+)$", file or "")
            if ours and not is_callee:
                found.setdefault(ours.group(1), set()).add(function)
            is_callee = False
    return found


def walk(function, ask):
    """Returns what the second of two equal requests passes from a call of `function` to its end."""
    if SANITIZED or not all(map(shutil.which, ("valgrind", "nm"))):
        raise Skip("needs valgrind, nm, and a build without sanitizers")
    symbols = subprocess.run(["nm", DAEMON], check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    if not re.search(rf" {function}$", symbols, flags=re.M):
        check(any(f" {function}(" in file.read_text(encoding="utf-8") for file in (ROOT / "server").glob("*/*.c")),
              f"server/ has no function {function}: name the one that begins the walk now")
        raise Skip(f"the build has inlined or changed {function}")
    with tempfile.TemporaryDirectory(prefix="sherwood-") as folder:
        out = pathlib.Path(folder) / "out"
        wrapper = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--collect-atstart=no",
                   f"--toggle-collect={function}", f"--dump-after={function}")
        with Server(*SMALL, wrapper=wrapper) as server, server.connect() as connection:
            ask(connection)
            ask(connection)
        return passed(pathlib.Path(f"{out}.2"))


def is_at_most(found, most, what):
    found = {file: by for file, by in found.items() if not IN_TABLE.match(file)}
    shown = "".join(f"\n  {file}: {', '.join(sorted(functions))}" for file, functions in sorted(found.items()))
    check(0 < len(found) <= most, f"{what} passes {len(found)} files, at most {most} are allowed:{shown}")
    print(f"# {what}: {len(found)} files")


@case
def launch_of_a_set():
    """a SET by a bulk frame passes 9 files from its complete body to the table's queue"""
    def ask(connection):
        connection.sendall(wire.envelope(wire.header_of(wire.SET, count=1, key_bytes=8, value_bytes=8),
                                         wire.array([1], 8) + wire.array([5], 8)))
        check(wire.read_frame(connection).status == wire.OK, "SET")
    found = walk("start_data", ask)
    is_at_most(found, 9, "the launch")


@case
def get_by_resp():
    """a GET by RESP passes at most 26 files to its place in the batch"""
    def ask(connection):
        replies = wire.Replies(connection)
        check(replies.ask("GET", "1") is None, "GET")
    found = walk("sw_resp_run", ask)
    is_at_most(found, 26, "the GET")


if __name__ == "__main__":
    main()
