#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Start and stop: signals under load, the service manager's sockets, refused configurations."""

import contextlib
import errno
import functools
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import wire
from harness import (BUILD, DAEMON, SANITIZED, SLOWER, STOP_SECONDS_MAX, Server, Skip, case, check,
                     equal, eventually, flags_with, free_port, main, refused, run, soon)


def socket_path(name):
    return os.path.join(tempfile.mkdtemp(prefix="sherwood-"), name)


@case
def idle():
    """SIGTERM and SIGINT stop an idle daemon with idle clients; it exits with 0"""
    for how in (signal.SIGTERM, signal.SIGINT):
        server = Server().start()
        clients = [server.connect() for _ in range(20)]
        equal(wire.Replies(clients[0]).ask("PING"), "PONG", "PING")
        server.stop(how)
        for connection in clients:
            try:
                equal(connection.recv(16), b"", "closed")
            except ConnectionResetError:
                pass
            connection.close()
        shutil.rmtree(server.directory)


@case
def start_line():
    """the start line names addresses, the backend and why, widths, capacity and bytes"""
    path = socket_path("s")
    with Server("--unix-socket", path) as server:
        for part in (f"127.0.0.1:{server.port}", f"127.0.0.1:{server.http_port}", path, "cpu",
                     "64", "1,048,576|1048576|1M|1 M"):
            check(re.search(part, server.line), f"'{part}' in: {server.line}")
        equal(server.line.count("\n"), 1, "one line")


class Pusher(threading.Thread):
    """Increments one key until the daemon ends, and counts the replies."""

    def __init__(self, server, which):
        super().__init__(daemon=True)
        self.connection = server.connect()
        self.which = which
        self.sent = self.answered = 0
        self.problem = None

    def run(self):
        try:
            self.push()
        except (wire.Closed, OSError):
            pass
        except BaseException as problem:  # pylint: disable=broad-except
            self.problem = problem


class RespPusher(Pusher):
    def push(self):
        replies = wire.Replies(self.connection)
        batch = wire.command("INCR", self.which) * 100
        while True:
            self.sent += 100
            self.connection.sendall(batch)
            for _ in range(100):
                equal(replies.read(), self.answered + 1, "INCR")
                self.answered += 1


class BulkPusher(Pusher):
    def push(self):
        keys = [self.which] + [1000 * self.which + i for i in range(999)]
        frame = wire.frame(wire.INCREMENT, keys, [1] * 1000, want_values=True)
        # Three frames in flight.
        self.connection.sendall(frame * 3)
        self.sent = 3
        while True:
            reply = wire.read_frame(self.connection)
            if reply.status == wire.SHUTTING_DOWN:
                continue
            equal((reply.status, reply.values()[0]), (wire.OK, self.answered), "INCREMENT")
            self.answered += 1
            self.sent += 1
            self.connection.sendall(frame)


def under_load(kind):
    server = Server().start()
    pushers = [kind(server, which) for which in range(1, 9)]
    for pusher in pushers:
        pusher.start()
    eventually(lambda: min(p.answered for p in pushers) > 0, "load")
    time.sleep(0.2)
    server.stop()
    for pusher in pushers:
        pusher.join(60)
        check(not pusher.is_alive(), "a client still waits")
        if pusher.problem:
            raise pusher.problem
    shutil.rmtree(server.directory)


@case
def under_resp_load():
    """SIGTERM under RESP load: exit 0 in time, and replies in order until the end"""
    under_load(RespPusher)


@case
def under_bulk_load():
    """SIGTERM under bulk load: exit 0 in time, and whole replies until the end"""
    under_load(BulkPusher)


@case
def accepted_is_answered():
    """a large request sent right before SIGTERM is answered before the daemon exits"""
    for _ in range(5):
        server = Server().start()
        with server.connect() as resp, server.connect() as bulk:
            keys = list(range(60000))
            resp.sendall(wire.command("SET", 1, 1) * 2000)
            bulk.sendall(wire.frame(wire.SET, keys, keys))
            # The daemon has begun to take them in; these bytes are in its hands or the kernel's.
            eventually(lambda: (moved := server.metrics())["sherwood_net_input_bytes_total"] > 500000
                       and moved["sherwood_commands_processed_total"] > 0, "taken")
            server.process.send_signal(signal.SIGTERM)
            replies = wire.Replies(resp)
            count = 0
            try:
                while True:
                    equal(replies.read(), "OK", "SET")
                    count += 1
            except wire.Closed:
                equal(replies.buffer, b"", "half a reply")
            check(count > 0, "no SET was answered")
            try:
                equal(wire.read_frame(bulk).status, wire.OK, "the frame")
            except wire.Closed as closed:
                # Legal only if not a byte of an answer came: the frame was not complete yet.
                check("after 0 of" in str(closed), str(closed))
        server.wait_stopped()
        shutil.rmtree(server.directory)


@case
def tools_under_load():
    """SIGTERM under redis-benchmark and sherwood-load: exit 0 in time"""
    if not (BUILD / "sherwood-load").exists():
        raise Skip("sherwood-load is not built")
    server = Server().start()
    commands = (["redis-benchmark", "-p", str(server.port), "-q", "-n", "100000000", "-P", "64",
                 "-r", "100000", "SET", "__rand_int__", "1"],
                [str(BUILD / "sherwood-load"), "--address", server.address(), "--keys", "500000",
                 "--operation", "get", "--seconds", "60", "--quiet"])
    processes = [subprocess.Popen(c, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) for c in commands]
    eventually(lambda: server.metrics()["sherwood_commands_processed_total"] > 10000, "RESP load")
    eventually(lambda: server.metrics()["sherwood_frames_processed_total"] > 100, "bulk load")
    server.stop()
    for process in processes:
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    shutil.rmtree(server.directory)


@case
def slow_clients():
    """SIGTERM with clients that never read, or sent half a request: exit 0 in time"""
    server = Server().start()
    sockets = []
    for i in range(10):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((server.host, server.port))
        connection.setblocking(False)
        data = (wire.command("PING", "x" * 1000) * 10000 if i % 2 else
                wire.frame(wire.SET, list(range(1000)), list(range(1000)))[:5000])
        try:
            connection.send(data)
        except BlockingIOError:
            pass
        sockets.append(connection)
    time.sleep(0.3)
    server.stop()
    for connection in sockets:
        connection.close()
    shutil.rmtree(server.directory)


@case
def shutdown_command():
    """SHUTDOWN stops the daemon as SIGTERM does"""
    server = Server().start()
    server.redis_cli("SHUTDOWN", rc=None)
    server.wait_stopped()
    shutil.rmtree(server.directory)


@case
def shutdown_ends_with_the_server():
    """the connection of SHUTDOWN ends when ports and data directory are free, though another client keeps the server waiting"""
    with tempfile.TemporaryDirectory(prefix="sherwood-") as data:
        flags = ("--port", str(free_port()), "--http-port", str(free_port()), "--data-dir", data)
        server = Server(*flags).start()
        with server.connect() as slow, server.connect() as asker, server.connect() as other:
            slow.setblocking(False)
            with contextlib.suppress(BlockingIOError):  # it reads no reply
                while True:
                    slow.send(b"PING\r\n" * 10000)
            equal(wire.Replies(other).ask("SET", 1, 10), "OK", "SET")
            for each in (asker, other):
                each.sendall(b"SHUTDOWN\r\n")
            for each in (asker, other):
                each.settimeout(60 * SLOWER)
                with contextlib.suppress(ConnectionResetError):  # the second one may come after the server has stopped reading
                    equal(each.recv(100), b"", "the end")
            with Server(*flags) as second:
                equal(second.redis_cli("GET", "1"), "10\n", "the server that was started then")
        server.wait_stopped()
        shutil.rmtree(server.directory)


def is_stuck(slow, beside):
    """Sends until the socket has no room. Returns whether the daemon has replies that the client does not read."""
    with contextlib.suppress(BlockingIOError):
        while True:
            slow.send(b"PING\r\n" * 10000)
    address = ":".join(str(part) for part in slow.getsockname())
    line, = [line for line in beside.ask("CLIENT", "LIST").decode().splitlines() if f" addr={address} " in line]
    return int(re.search(r" omem=(\d+)", line)[1]) > 0


@case
def new_connections_while_stopping():
    """the daemon accepts no connection while it stops"""
    for _ in range(10):  # on a busy machine it may have exited before the attempt to connect
        with Server() as server:
            with server.connect() as slow, server.connect() as idle_one:
                replies = wire.Replies(idle_one)
                equal(wire.Replies(slow).ask("PING"), "PONG", "the daemon has accepted the connection")
                slow.setblocking(False)
                eventually(functools.partial(is_stuck, slow, replies), "the client lacks replies")
                server.process.send_signal(signal.SIGTERM)
                equal(idle_one.recv(1), b"", "the daemon closes an idle connection when it begins to stop")
                with socket.socket() as late:
                    late.settimeout(30 * SLOWER)
                    equal(late.connect_ex((server.host, server.port)), errno.ECONNREFUSED, "connect")
                was_stopping = server.process.poll() is None
            server.wait_stopped()
        if was_stopping:
            return
    raise AssertionError("the daemon had exited before each of 10 attempts to connect")


@case
def port_in_use():
    """a port in use: an error that names it and a non-zero exit; its owner goes on"""
    with Server() as server:
        for option, port in (("port", server.port), ("http-port", server.http_port)):
            refused(*flags_with(**{option.replace("-", "_"): str(port)}),
                    words=[f"port {port} (--{option})", f"in use; another process has the port: choose another --{option}"])
        equal(server.ask("PING"), "PONG", "PING")


@case
def side_by_side():
    """two daemons on one host share nothing"""
    with Server() as one, Server("--key-bits", "32") as two:
        with one.connect() as a, two.connect() as b:
            equal(wire.Replies(a).ask("SET", 1, 10), "OK", "SET in one")
            equal(wire.Replies(b).ask("GET", 1), None, "GET in the other")
            equal(wire.Replies(b).ask("DBSIZE"), 0, "DBSIZE of the other")


@case
def cuda_without_device():
    """--backend cuda without a GPU: an error and a non-zero exit; auto takes the CPU"""
    if os.path.exists("/dev/nvidiactl"):
        raise Skip("there is a GPU")
    refused(*flags_with(backend="cuda"), words=["CUDA"])
    with Server("--backend", "auto") as server:
        check("cpu" in server.line, server.line)


@case
def check_config():
    """--check-config, --help and --version print and start nothing"""
    shown = run(DAEMON, "--check-config", "--capacity", "2M")
    check(re.search(r"capacity\s*=\s*(2M|2097152)", shown), shown)
    shown = run(DAEMON, "--help")
    for option in ("--port", "--capacity", "--backend", "--connections-max"):
        check(option in shown, f"{option} in --help")
    check(re.fullmatch(r"sherwoodd \d+\.\d+\.\d+\n", run(DAEMON, "--version")), "--version")
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write("[table]\ncapacity = 3M\n[limits]\nconnections-max = 77\n")
        file.flush()
        shown = run(DAEMON, "--config", file.name, "--check-config", "--connections-max", "78")
        check(re.search(r"capacity\s*=\s*(3M|3145728)", shown), shown)
        check(re.search(r"connections-max\s*=\s*78", shown), shown)
        file.write("no-such-option = 1\n")
        file.flush()
        refused("--config", file.name, "--check-config", words=["no-such-option", file.name])


@case
def bad_options():
    """invalid options: exit 2, and the error names the option"""
    for arguments, word in ((["--port", "70000"], "port"), (["--port", "x"], "port"),
                            (["--capacity", "0"], "capacity"), (["--key-bits", "48"], "key-bits"),
                            (["--max-load", "1.5"], "max-load"), (["--nonsense", "1"], "nonsense"),
                            (["--backend", "tpu"], "backend"), (["stray"], "stray"),
                            (["--config", "/nonexistent"], "/nonexistent"),
                            (["--bind", "not-an-address"], "bind"), (["--loops"], "loops")):
        result = subprocess.run([DAEMON, *arguments], stdin=subprocess.DEVNULL, text=True,
                                capture_output=True, timeout=20, check=False)
        equal(result.returncode, 2, f"exit status of {arguments}")
        check(word in result.stderr, f"{arguments}: {result.stderr}")


@case
def too_large():
    """a capacity beyond any machine: an error, not a crash"""
    refused(*flags_with(capacity="1024G"), words=["memory"])


@case
def address_space():
    """under ulimit -v the error names memory, and its figures are consistent"""
    if SANITIZED:
        raise Skip("sanitizers take terabytes of address space")
    def run_within(kib, *options):
        return subprocess.run(["sh", "-c", f'ulimit -v {kib}; exec "$0" "$@"', DAEMON, *options],
                              stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=60, check=False)

    def limited(kib, *options):
        result = run_within(kib, *flags_with(backend="cpu"), *options)
        equal(result.returncode, 1, f"exit status: {result.stderr}")
        check("compute correctly" not in result.stderr, result.stderr)
        return result.stderr
    shown = limited(300000, "--capacity", "64M")
    needed, free = re.search(r"needs (\d+) MiB.* and (\d+) MiB are", shown).groups()
    check(int(free) < 300 < int(needed), shown)
    # Start with the memory that the loader needs for the program and its libraries; it differs between machines.
    loaded = next(kib for kib in range(20000, 300000, 1000) if run_within(kib, "--version").returncode == 0)
    # First the users find no room, then the table, its self-test or a loop.
    for kib in (*range(loaded, loaded + 2000, 200), *range(loaded + 2000, loaded + 50000, 10000)):
        check("memory" in limited(kib, "--capacity", "1K"), f"{kib} KiB")
    for kib in (500000, 600000, 1000000, 1500000):  # a quarter of it, whatever else is mapped
        shown = run_within(kib, "--backend", "cpu", "--check-config").stdout
        slots = int(re.search(r"^capacity = (\d+)M$", shown, re.MULTILINE).group(1)) << 20
        check(kib * 1024 // 8 < slots * 16 * 1.01 <= kib * 1024 // 4, f"{slots} slots at the start within {kib} KiB")


@case
def open_to_others():
    """an address that others can reach: a warning that no password is set; none for loopback"""
    for address, warned in (("0.0.0.0", True), ("127.0.0.1", False), ("127.1.2.3", False),
                            ("::", True), ("::1", False)):
        with Server("--bind", address) as server:
            equal("no password is set" in server.log(), warned, f"--bind {address}")


class Manager:
    """The service manager's side: a datagram socket that gathers what the daemon notifies."""

    def __init__(self):
        self.path = socket_path("notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(0.1)
        self.messages = []

    def said(self, word, times=1):
        try:
            while True:
                self.messages += self.socket.recv(4096).decode().split("\n")
        except TimeoutError:
            pass
        return self.count(word) >= times

    def count(self, word):
        return sum(m.startswith(word) for m in self.messages)


@case
def service_manager():
    """socket activation, READY, WATCHDOG and STOPPING as systemd expects them"""
    if not shutil.which("systemd-socket-activate"):
        raise Skip("systemd-socket-activate is not installed")
    manager, path = Manager(), socket_path("activated")
    port, http_port = free_port(), free_port()  # the activator cannot pick them itself
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            ["systemd-socket-activate", "-l", f"127.0.0.1:{port}", "-l", path,
             "-l", f"127.0.0.1:{http_port}", "--fdname=sherwood:sherwood:http",
             "-E", f"NOTIFY_SOCKET={manager.path}", "-E", "WATCHDOG_USEC=2000000",
             str(DAEMON), *flags_with()], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            eventually(lambda: os.path.exists(path), "the activator listens")
            # The first connection starts the daemon and is served by it.
            with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
                equal(wire.Replies(connection).ask("SET", 1, 2), "OK", "SET over TCP")
                with socket.socket(socket.AF_UNIX) as other:
                    other.connect(path)
                    equal(wire.Replies(other).ask("GET", 1), b"2", "GET over the Unix socket")
                equal(run("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}",
                          f"http://127.0.0.1:{http_port}/readyz"), "200", "/readyz")
                check(eventually(lambda: manager.said("READY=1"), "READY=1"), "")
                check(any(m.startswith("STATUS=") for m in manager.messages), "STATUS=")
                def fed(times):
                    wanted = manager.count("WATCHDOG=1") + times
                    eventually(lambda: manager.said("WATCHDOG=1", wanted), "WATCHDOG=1")
                fed(1)
                soon(lambda: fed(2), 1.7, "WATCHDOG=1 every quarter of the period")
                process.send_signal(signal.SIGTERM)
                equal(process.wait(STOP_SECONDS_MAX), 0, "exit status")
            check(manager.said("STOPPING=1"), f"STOPPING=1 in {manager.messages}")
            check(os.path.exists(path), "an activated socket file is the manager's: not removed")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            log.seek(0)
            text = log.read().decode(errors="replace")
            check("Sanitizer" not in text, text[-3000:])


@case
def not_ready_before_listening():
    """READY is announced only once clients are served"""
    manager = Manager()
    with Server(environment={"NOTIFY_SOCKET": manager.path}) as server:
        eventually(lambda: manager.said("READY=1"), "READY=1")
        equal(server.ask("PING"), "PONG", "PING")
        check(not any("WATCHDOG" in m for m in manager.messages), "no watchdog was asked for")


@case
def asks_for_time():
    """EXTEND_TIMEOUT_USEC is sent while data load, before READY, and during the last snapshot, after STOPPING"""
    manager = Manager()
    with tempfile.TemporaryDirectory() as path:
        with Server("--data-dir", path) as server:
            equal(server.redis_cli("SET", "1", "1").strip(), "OK", "set")
        with Server("--data-dir", path, environment={"NOTIFY_SOCKET": manager.path}) as server:
            eventually(lambda: manager.said("READY=1"), "READY=1")
            equal(server.redis_cli("SET", "2", "2").strip(), "OK", "set")
        eventually(lambda: manager.said("EXTEND_TIMEOUT_USEC=30000000", 2), "twice")
        words = [m.split("=")[0] for m in manager.messages]
        first = words.index("EXTEND_TIMEOUT_USEC")
        check(first < words.index("READY"), str(words))
        check("EXTEND_TIMEOUT_USEC" in words[words.index("STOPPING"):], str(words))


if __name__ == "__main__":
    main()
