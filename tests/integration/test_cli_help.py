#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sherwood-cli: the help of every tool, options that are not abbreviated, and the first frame of top."""

import os
import pty
import re
import subprocess
import tempfile
import time

from harness import BUILD, Server, case, check, equal, main, run

CLI = BUILD / "sherwood-cli"
TOOLS = ("cluster", "cluster create", "cluster move", "cluster slots", "cluster check", "cluster rebalance", "ha",
         "ha status", "ha adopt", "log", "log check", "log export", "snapshot", "snapshot info", "snapshot verify",
         "snapshot export", "snapshot load", "stat", "latency", "top", "summary", "digest", "table", "load", "dump")


@case
def help_of_everything():
    """--help after any tool or command prints its usage, contacts no server and exits with 0"""
    for tool in TOOLS:
        said = run(CLI, *tool.split(), "--help")
        check("sherwood-cli" in said and tool.split()[0] in said, f"{tool}: {said}")
    for line in run(CLI, "HELP").splitlines():
        name = line.split()[0]
        check(run(CLI, name.lower(), "--help").split()[0] == name, name)
    check("unknown" not in run(CLI, "cluster", "create", "--help"), "cluster create")


@case
def full_output():
    """the help, the version, a reply and a result that cannot be written to stdout are an error"""
    load = BUILD / "sherwood-load"
    with Server() as server, open("/dev/full", "w", encoding="ascii") as full:
        address = f"127.0.0.1:{server.port}"
        for words in ((CLI, "--help"), (CLI, "--version"), (CLI, "-a", address, "PING"), (load, "--help"), (load, "--version"),
                      (load, "-a", address, "-n", "64K")):
            ended = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
            check(ended.returncode != 0 and "cannot write the output to stdout" in ended.stderr, f"{words}: {ended}")


@case
def no_passwords():
    """an error about a mistyped or abbreviated option does not show its argument, which may be a password"""
    for program in (CLI, BUILD / "sherwood-load"):
        for words in (("--password", "s3cret"), ("--password=s3cret",), ("--us", "s3cret"), ("--password s3cret",),
                      ("--pass-fil=s3cret",), ("--passwd:s3cret",)):
            said = run(program, *words, rc=2)
            check("s3cret" not in said, f"{program} {words}: {said}")


@case
def csv_before_the_run():
    """sherwood-load refuses a wrong --csv before it connects"""
    said = run(BUILD / "sherwood-load", "-a", "127.0.0.1:1", "--csv", "/nonexistent/x.csv", rc=2)
    check("--csv: /nonexistent/x.csv: No such file or directory: give a file" in said, said)


@case
def exports_of_nothing():
    """log export fails where no log is, and reports a table without writes"""
    with tempfile.TemporaryDirectory() as path:
        check("no log: the directory has no file log-*" in run(CLI, "log", "export", path, rc=1), "an empty directory")
        with Server("--data-dir", path, "--appendonly", "yes") as server, server.replies() as replies:
            replies.ask("SET", 1, 1)
        check("no writes of this table" in run(CLI, "log", "export", "--table", "99", path), "table 99")


@case
def files_that_are_none():
    """the error about a file or a directory that the tool cannot open says which to name"""
    with tempfile.TemporaryDirectory() as path:
        for words, remedy in ((("snapshot", "info", path), "a directory, not a regular file: name a file snapshot-* or table-*"),
                              (("snapshot", "verify", f"{path}/none"), "No such file or directory: name a file snapshot-*"),
                              (("log", "check", f"{path}/none"), "No such file or directory: name the data directory of a server"),
                              (("load", f"{path}/none.csv"), "No such file or directory: name a file that this user can read")):
            said = run(CLI, *words, rc=1)
            check(remedy in said, f"{words}: {said}")
        said = run(CLI, "--pass-file", f"{path}/none", "PING", rc=2)
        check("No such file or directory: name a file that this user can read" in said, said)


@case
def files_of_python():
    """load and dump refuse a file format that only the Python client reads, and say so"""
    for tool in ("load", "dump"):
        for name in ("x.parquet", "x.NPZ", "x.npy"):
            said = run(CLI, tool, name, rc=1)
            check("the Python client" in said and name in said, said)
        check("name it .csv or .bin" in run(CLI, tool, "x.txt", rc=1), tool)


def first_frame(server, typed):
    """Returns the first frame of top on a terminal while somebody types."""
    main_end, terminal = pty.openpty()
    with subprocess.Popen([CLI, "-p", str(server.port), "top"], stdin=terminal, stdout=terminal, stderr=terminal) as top:
        os.close(terminal)
        shown, until = b"", time.monotonic() + 20
        while b"remove" not in shown and time.monotonic() < until:
            os.write(main_end, typed)
            shown += os.read(main_end, 4096)
        os.write(main_end, b"q")
        try:
            while os.read(main_end, 4096):
                pass
        except OSError:
            pass  # it has ended
        equal(top.wait(20), 0, "q")
    os.close(main_end)
    return shown.decode(errors="replace")


@case
def an_idle_server():
    """top of an idle server shows fewer than 10 frames/s in its first frame, also after unknown keys are typed"""
    with Server() as server:
        for typed in (b"", b"x\n"):
            shown = first_frame(server, typed) if typed else run(CLI, "-p", server.port, "top", "--once")
            frames = float(re.search(r"([0-9.]+) frames/s", shown).group(1))
            check(frames < 10, f"{frames} frames/s: {shown}")
            check("uptime" not in shown, shown)


if __name__ == "__main__":
    main()
