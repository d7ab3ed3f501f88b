#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sherwood-cli stat, latency and top: repeated reports of a server."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios

import wire
from harness import BUILD, Server, case, check, equal, eventually, main, run

CLI = str(BUILD / "sherwood-cli")


@case
def cli_stat_and_latency():
    """sherwood-cli stat and latency print a line a second; wrong words and an absent server are errors"""
    with Server() as server:
        with server.connect() as connection:
            for first in range(5):
                wire.call(connection, wire.SET, range(first * 1000, first * 1000 + 1000), range(1000))
        lines = run(CLI, "-p", server.port, "stat", "2").splitlines()
        equal(lines[0].split(), ["keys", "load", "ops/s", "batches/s", "in", "B/s", "out", "B/s", "clients"], "head")
        equal([line.split()[0] for line in lines[1:]], ["5000", "5000"], "keys")
        lines = run(CLI, "-p", server.port, "latency", "1").splitlines()
        equal(len(lines), 1, "lines")
        check(re.fullmatch(r"min [0-9.]+ ms, max [0-9.]+ ms, avg [0-9.]+ ms \([0-9]+ samples\)", lines[0]), lines)
        lines = run(CLI, "-p", server.port, "latency", "--history", "2", "1").splitlines()
        equal(len(lines), 1, "lines")
        found = re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  min .* \(([0-9]+) samples\)", lines[0])
        check(found and int(found.group(1)) > 0, lines)
        for words in (("latency", "--history", "0"), ("latency", "--history", "x"), ("latency", "--history"),
                      ("latency", "--history", "1", "1", "1"), ("stat", "x"), ("latency", "1", "2"), ("top", "x"), ("top",)):
            run(CLI, "-p", server.port, *words, rc=2)
        process = subprocess.Popen([CLI, "-p", str(server.port), "--stat"], stdout=subprocess.PIPE, text=True)
        check(process.stdout.readline().split()[0] == "keys", "--stat")
        process.send_signal(signal.SIGINT)
        equal(process.wait(20), 0, "Ctrl-C")
        process.stdout.close()
        port = server.port
    run(CLI, "-p", port, "stat", "1", rc=1)


@case
def cli_top():
    """sherwood-cli top prints one frame for scripts; on a terminal it fits the size and restores the screen"""
    with Server() as server:
        frame = run(CLI, "-p", server.port, "top", "--once")
        for word in ("robin_hood engine", "load ", "batches ", "clients ", "probes/op"):
            check(word in frame, frame)
        check("\x1b" not in frame, "no sequences for scripts")
        for leave in (b"q", b"\x03"):
            master, slave = pty.openpty()
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 4, 40, 0, 0))
            before = termios.tcgetattr(slave)
            process = subprocess.Popen([CLI, "-p", str(server.port), "top"], stdin=slave, stdout=slave, stderr=slave,
                                       start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
            seen = b""

            def screen():
                nonlocal seen
                seen += os.read(master, 65536)
                return seen.count(b"\x1b[J") >= 1
            eventually(screen, "a frame")
            os.write(master, leave)
            while b"\x1b[?1049l" not in seen:
                seen += os.read(master, 65536)
            equal(process.wait(20), 0, leave)
            equal(termios.tcgetattr(slave), before, "the terminal is as it was")
            os.close(slave)
            os.close(master)
            check(seen.startswith(b"\x1b[?1049h\x1b[?25l"), "the other screen")
            lines = seen.split(b"\x1b[H")[1].split(b"\x1b[J")[0].split(b"\r\n")
            equal(len(lines), 4, "as many lines as the terminal has")
            check(all(len(l.replace(b"\x1b[K", b"")) <= 40 for l in lines), lines)


if __name__ == "__main__":
    main()
