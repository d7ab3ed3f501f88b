# SPDX-License-Identifier: MIT
"""daemons - starting servers for the study of served rates, asking them, and stopping them.

Nothing but Python's own library is used, so that the study runs from a bundle on a machine that has
no curl, no jq and no redis-cli.
"""

import os
import pathlib
import re
import socket
import subprocess
import time

from failures import Failed, sentence

START_SECONDS_MAX = 90
STOP_SECONDS_MAX = 20


def ask(address, *words):
    """Sends one RESP command to (host, port), or to the path of a Unix socket; the reply's first line."""
    family = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.settimeout(START_SECONDS_MAX)
        connection.connect(address if isinstance(address, tuple) else str(address))
        parts = [str(word).encode() for word in words]
        connection.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
        reply = connection.makefile("rb").readline().decode().strip()
    if not reply or reply[0] == "-":
        raise Failed(f"{' '.join(map(str, words))}: {reply or 'no reply'}")
    return reply[1:]


def facts(address, section):
    """What INFO says of a section of the daemon at the path of a Unix socket, as a dict."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(START_SECONDS_MAX)
        connection.connect(str(address))
        connection.sendall(b"INFO %s\r\n" % section.encode())
        replies = connection.makefile("rb")
        text = replies.read(int(replies.readline()[1:])).decode()
    return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)


def environment(program):
    """That of a program, which has its libraries beside it in lib/ if `make bundle-redis` made it."""
    libraries = pathlib.Path(program).parent / "lib"
    is_own = pathlib.Path(program).name == "redis-server" and libraries.is_dir()
    return {**os.environ, "LD_LIBRARY_PATH": str(libraries)} if is_own else None


class Server:
    """A process that is a server; leaving its "with" block stops it."""

    def __init__(self, name, command, log):
        self.name = name
        self.command = [str(word) for word in command]
        self.log = log
        self.was_killed = False
        with open(log, "wb") as file:
            try:
                # pylint: disable-next=consider-using-with
                self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                                env=environment(command[0]))
            except OSError as error:
                raise Failed(f"{command[0]} cannot be started: {error.strerror}: build it again") from error

    def wait_until(self, ready):
        """Waits until `ready` returns something true, and returns that."""
        end = time.monotonic() + START_SECONDS_MAX
        while self.process.poll() is None and time.monotonic() < end:
            found = ready()
            if found:
                return found
            time.sleep(0.05)
        self.stop()
        raise Failed(f"{self.name} did not start:\n{self.said()}")

    def said(self):
        return pathlib.Path(self.log).read_text(encoding="utf-8", errors="replace")

    def memory_mib(self):
        """Anonymous memory of the process."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"^RssAnon:\s+(\d+)", status, re.MULTILINE).group(1)) / 1024

    def usage(self):
        """So far: (seconds of processors, bytes that it had the kernel write to storage)."""
        process = pathlib.Path("/proc") / str(self.process.pid)
        times = (process / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[11:13]
        written = re.search(r"^write_bytes: (\d+)", (process / "io").read_text(encoding="ascii"), re.MULTILINE)
        return sum(map(int, times)) / os.sysconf("SC_CLK_TCK"), int(written.group(1))

    def kill(self):
        """Ends it at once, as kill -9 does."""
        self.was_killed = True
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Returns the exit status."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        status = self.stop()
        if status != 0 and kind is None and not self.was_killed:
            raise Failed(f"{self.name} ended with status {status}:\n{self.said()[-2000:]}")


class Sherwood(Server):
    """sherwoodd, or the daemon without a table, on ports that the kernel picks."""

    def __init__(self, program, work, flags):
        self.socket = pathlib.Path(work) / f"{program.name}.sock"
        # A study measures a table of one size: --max-capacity 0 keeps it from growing.
        super().__init__(program.name, [program, "--bind", "127.0.0.1", "--port", "0", "--http-bind", "", "--max-capacity", "0",
                                        "--unix-socket", self.socket, *flags], pathlib.Path(work) / f"{program.name}.log")
        port = self.wait_until(self.port)
        self.tcp = ("127.0.0.1", port)
        self.wait_until(self.answers)

    def port(self):
        found = re.search(r"127\.0\.0\.1:(\d+)", self.said())
        return int(found.group(1)) if found else None

    def answers(self):
        try:
            return ask(self.socket, "PING") == "PONG"
        except OSError:
            return False

    def unix(self):
        return f"unix:{self.socket}"

    def address(self):
        return f"127.0.0.1:{self.tcp[1]}"

    def entries(self):
        return int(ask(self.socket, "DBSIZE"))

    def clear(self):
        ask(self.socket, "FLUSHALL")


class Redis(Server):
    """redis-server, without persistence unless `flags` ask for it. It cannot ask the kernel for a port, so a free one is
    asked for here. `folder`: where it keeps its files."""

    def __init__(self, program, work, io_threads, folder=None, flags=("--appendonly", "no")):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.tcp = probe.getsockname()
        super().__init__("redis-server", [program, "--port", self.tcp[1], "--bind", "127.0.0.1", "--save", "",
                                          "--dir", folder or work, "--io-threads", io_threads, *flags],
                         pathlib.Path(work) / "redis.log")
        self.wait_until(self.answers)

    def answers(self):
        try:
            return ask(self.tcp, "PING") == "PONG"
        except (OSError, Failed):
            return False

    def address(self):
        return f"127.0.0.1:{self.tcp[1]}"
