#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""README: the lines that a new user types run as they are written, in a folder of their own, at other ports."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from harness import BUILD, ROOT, SANITIZED, SLOWER, Server, Skip, case, check, equal, eventually, free_port, main

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def lines_of(title):
    """(line, what README shows as its output) for each line behind a $ in the section."""
    section = TEXT.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    for block in re.findall(r"(?:^    .*\n)+", section, re.MULTILINE):
        for part in re.split(r"^    \$ ", block, flags=re.MULTILINE)[1:]:
            line, *shown = part.rstrip("\n").split("\n")
            yield re.sub(r"\s+# .*$", "", line), [text[4:] for text in shown]


def as_here(line, ports):
    """The line with these ports; None: it is not for a test. Tools find the server by its default port, said or not."""
    first = line.split()[0]
    if first == "xdg-open":
        return None
    typed = line.replace("build/sherwood-load", "build/sherwood-load -n 20K")  # of 10 million
    typed = typed.replace("redis-cli ", "redis-cli --no-raw ")  # as on a terminal
    for wanted, port in ports.items():
        typed = typed.replace(wanted, str(port))
    address = f"-a 127.0.0.1:{ports['7379']}"
    return re.sub(r"^(build/sherwood-(?:cli|load))", rf"\1 {address}", typed)


def start(typed, folder, port):
    """The daemon that a line with & starts."""
    process = subprocess.Popen(typed.rstrip("& ").split(), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: subprocess.run(["redis-cli", "-p", str(port), "PING"], check=False, capture_output=True,
                                      text=True).stdout == "PONG\n", "it serves")
    return process


@case
def five_minutes():
    """each line of "Five minutes as a user" ends with 0, and what README shows is what comes"""
    if SANITIZED:
        raise Skip("the programs of README are those of a plain build")
    if not shutil.which("redis-cli") or not shutil.which("curl"):
        raise Skip("redis-cli or curl is not installed")
    with tempfile.TemporaryDirectory(prefix="sherwood-readme-") as folder, Server("--max-capacity", "auto") as server:
        os.symlink(BUILD, pathlib.Path(folder) / "build")
        ports = {"7379": server.port, "9379": server.http_port, "7380": free_port(), "9380": free_port()}
        second, ran = None, 0
        try:
            for line, shown in lines_of("Five minutes as a user"):
                typed = as_here(line, ports)
                if typed is None:
                    continue
                ran += 1
                if typed.endswith("&"):
                    second = start(typed, folder, ports["7380"])
                    continue
                done = subprocess.run(["bash", "-c", typed], cwd=folder, text=True, capture_output=True,
                                      timeout=120 * SLOWER, check=False)
                equal(done.returncode, 0, f"{typed}: {done.stdout}{done.stderr}")
                check(not re.search(r"(?m)^\(error\)|^-?ERR ", done.stdout), f"{typed}: {done.stdout}")
                if any(shown):
                    equal(done.stdout.rstrip("\n"), "\n".join(shown).rstrip("\n"), typed)
            check(ran >= 15, f"{ran} lines")
            equal(second.wait(30), 0, "SHUTDOWN")
        finally:
            if second is not None and second.poll() is None:
                second.kill()
                second.wait(30)


if __name__ == "__main__":
    main()
