#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sherwood.open: a server of the program's own. One call starts it, and it never outlives the program."""

import gc
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

from harness import Skip, case, check, equal, eventually, main, soon
from package import LIB, np, raises, same, sherwood

SMALL = {"capacity": "64K", "backend": "cpu", "loops": 1}
# Programs that are killed in each of two cases.
KILLS = int(os.environ.get("SHERWOOD_KILLS", "3"))


def lives(pid):
    """Returns whether this process exists and has not ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except FileNotFoundError:
        return False


def gone(pid):
    eventually(lambda: not lives(pid), f"the server {pid} has ended")


@case
def one_call():
    """open() serves integers, rows or strings; close() stops the server and removes its folder"""
    with sherwood.open(**SMALL) as c:
        c.set_many([1, 2], [10, 20])
        same(c.get_many([1, 2, 3], default=0), np.array([10, 20, 0], np.uint64))
        pid, folder = c.pid, os.path.dirname(c.address.removeprefix("unix:"))
        equal(os.stat(folder).st_mode & 0o777, 0o700, "the folder is this user's")
        ports = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=False).stdout
        check(f"pid={pid}," not in ports, f"it listens on a port: {ports}")
    check(not lives(pid) and not os.path.exists(folder), "server and folder are gone")
    with sherwood.open(**SMALL, value_type="f32", value_bytes=8, value_dtype=np.float32) as c:
        c.set_many([7], [[0.5, 1.5]])
        same(c.get_many([7], default=0), np.array([[0.5, 1.5]], np.float32))

    def first_call():
        with sherwood.open(**SMALL) as c:
            c[1] = 2
    soon(first_call, 3, "open(), a write and close()")


@case
def kept():
    """with data_dir the next open() has the same keys; without it no file is left"""
    with tempfile.TemporaryDirectory() as folder:
        where = os.path.join(folder, "table")
        with sherwood.open(where, **SMALL, appendonly=True) as c:
            c.set_many(np.arange(1000), np.arange(1000) * 3)
        with sherwood.open(where, **SMALL, appendonly=True) as c:
            same(c.get_many(np.arange(1000), default=0), np.arange(1000, dtype=np.uint64) * 3)
            raises(sherwood.Failed, "another sherwoodd", sherwood.open, where, **SMALL)
    with sherwood.open(**SMALL) as c:
        equal(len(c), 0, "another table")


@case
def refusals():
    """a missing program, an unknown option, an invalid value and a program that is no server raise an error"""
    raises(sherwood.Refused, "sherwood-server", sherwood.open, program="/nowhere/sherwoodd")
    raises(sherwood.Refused, "--colour", sherwood.open, colour="red")
    raises(sherwood.Refused, "capacity", sherwood.open, capacity="many")
    raises(sherwood.Refused, "unix_socket", sherwood.open, unix_socket="/tmp/x")
    raises(sherwood.Failed, "status 0", sherwood.open, program="/bin/true")
    with tempfile.TemporaryDirectory() as folder:
        silent = pathlib.Path(folder, "silent")
        for first in ("", "printf half", "exec 1>&-"):
            silent.write_text(f"#!/bin/sh\n{first}\nexec sleep 60\n", encoding="ascii")
            silent.chmod(0o700)
            raises(sherwood.Failed, "did not start within 0.1 s", sherwood.open, program=silent, start_timeout=0.1)


FAILING = """
import gc, os, sys
sys.path.insert(0, sys.argv[1])
import sherwood
sherwood.open(capacity="64K", backend="cpu", loops=1).close()
before = os.listdir("/proc/self/fd")
for given in ({"data_dir": "/dev/null/x"}, {"program": "/bin/true"}, {"colour": "red"}, {"timeout": "long"}):
    try:
        sherwood.open(**given)
        print("no error of", given)
    except (OSError, ValueError, sherwood.Error):
        pass
gc.collect()
print(os.listdir(os.environ["TMPDIR"]), os.listdir("/proc/self/fd") == before)
"""


@case
def failed_starts():
    """an open() that fails leaves no folder and no open pipe"""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-W", "always::ResourceWarning", "-c", FAILING, str(LIB)], capture_output=True, text=True,
                              timeout=60, check=False, env={**os.environ, "TMPDIR": folder})
        equal((done.stdout, done.stderr.count("unclosed")), ("[] True\n", 0), done.stderr)


STARTING = """
import sys
sys.path.insert(0, sys.argv[1])
import sherwood
print("opens", flush=True)
sherwood.open(capacity="64K", backend="cpu", loops=1)
input()
"""

PROGRAM = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
import sherwood
c = sherwood.open(capacity="64K", backend="cpu", loops=1)
c[1] = 2
print(c.pid, flush=True)
end = sys.argv[2]
if end == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
elif end == "exception":
    raise ValueError("a mistake")
elif end == "fork":
    if os.fork() == 0:
        sys.exit(0)
    os.wait()
    assert c[1] == 2
"""


@case
def no_orphans():
    """however the program ends, kill -9 included, its server ends; a forked child's exit does not end it"""
    for end in ("return", "exception", "fork", *["kill"] * KILLS):
        done = subprocess.run([sys.executable, "-c", PROGRAM, str(LIB), end], capture_output=True, text=True, timeout=60,
                              check=False)
        equal(done.returncode, {"kill": -signal.SIGKILL, "exception": 1}.get(end, 0), f"{end}: {done.stderr}")
        gone(int(done.stdout))
    c = sherwood.open(**SMALL)
    pid = c.pid
    del c
    gc.collect()
    gone(pid)


def servers_of(folder):
    """Returns the processes whose environment names this folder: servers, and forks of the program before they execute one."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            if folder in pathlib.Path(f"/proc/{process}/environ").read_text(errors="replace"):
                found.append(int(process))
        except OSError:
            pass  # it has ended
    return found


@case
def killed_while_it_starts():
    """a program that is killed while open() starts its server leaves no server"""
    for i in range(KILLS):
        with tempfile.TemporaryDirectory(prefix="sherwood-kill-") as folder:
            with subprocess.Popen([sys.executable, "-c", STARTING, str(LIB)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  env={**os.environ, "TMPDIR": folder}) as program:
                equal(program.stdout.readline(), b"opens\n")
                time.sleep(0.2 * i / KILLS)
                program.kill()
                program.wait()
            eventually(lambda: not servers_of(folder), lambda: f"the servers {servers_of(folder)} have ended")


@case
def forked_children():
    """close() stops the server by a signal, because a living forked child holds its input pipe open"""
    with tempfile.TemporaryDirectory() as folder:
        c = sherwood.open(folder, **SMALL)
        c[1] = 2
        child = os.fork()
        if child == 0:
            signal.pause()
            os._exit(0)
        try:
            c.close()
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        with sherwood.open(folder, **SMALL) as c:
            equal(c[1], 2)


@case
def many_files():
    """a program with over 1024 open files can start a server"""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2048:
        raise Skip(f"the hard limit of open files is {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    files = [os.open("/dev/null", os.O_RDONLY) for _ in range(1030)]
    try:
        with sherwood.open(**SMALL) as c:
            c[1] = 2
    finally:
        for file in files:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


main()
