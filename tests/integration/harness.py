# SPDX-License-Identifier: MIT
"""harness - test cases, and a daemon to run them against.

A test script is a list of functions marked @case, then harness.main(). Each prints "ok NAME" or
"not ok NAME" with the reason. A Server is started on free ports in a directory of its own; leaving
its "with" block stops it by SIGTERM and checks that it exits 0 in time, that it logged no unexpected
error, and that no sanitizer reported anything.
"""

import concurrent.futures
import contextlib
import functools
import http.client
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import wire

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("SHERWOOD_BUILD", "build")
SANITIZED = BUILD.name in ("address", "thread")
# Time limits are for plain builds; sanitizers multiply them. They are many times the time that an idle machine needs: they
# only end tests that would never end.
SLOWER = 8 if SANITIZED else 1
# Pause in seconds between two requests of a long load: daemons and other suites share the processors.
PACE = 0.001 * SLOWER
STOP_SECONDS_MAX = 20 # the daemon waits 1.5 s for its connections; a client that stays must not delay it further
SLOW_REPLY = r"(?m)^\(\d+\.\d\ds\)\n"  # redis-cli prints this line behind a reply that took half a second
DAEMON = BUILD / "sherwoodd"
# SHERWOOD_BACKEND=cuda runs the cases on the device that do not choose a backend.
BACKEND = os.environ.get("SHERWOOD_BACKEND", "cpu")
# Small enough to start at once. A table has the size that its case gives it: cases about growth name a --max-capacity.
DEFAULT_FLAGS = {"--port": "0", "--http-port": "0", "--capacity": "1M", "--max-capacity": "0", "--loops": "2",
                 "--arena-bytes": "16M", "--backend": BACKEND, "--seed": "1", "--frame-ops-max": "65536"}

_cases = []


def case(function):
    """Marks a test case; its docstring's first line is its name."""
    _cases.append(function)
    return function


class Skip(Exception):
    """Raised by a case that cannot run here; its text says why."""


def main():
    """Runs the cases, or those whose function names are given as arguments."""
    folder = tempfile.TemporaryDirectory(prefix="sherwood-")  # pylint: disable=consider-using-with
    os.chmod(folder.name, 0o711)  # servers of other users
    tempfile.tempdir = os.environ["TMPDIR"] = folder.name  # what servers leave when they are killed ends with this process
    chosen = [c for c in _cases if len(sys.argv) < 2 or c.__name__ in sys.argv[1:]]
    bad = 0
    for function in chosen:
        name = (function.__doc__ or function.__name__).split("\n")[0].rstrip(".")
        began = time.monotonic()
        try:
            function()
            print(f"ok {name} ({time.monotonic() - began:.1f} s)", flush=True)
        except Skip as why:
            print(f"ok {name} # SKIP {why}", flush=True)
        except BaseException:  # pylint: disable=broad-except
            bad += 1
            print(f"not ok {name}")
            print("  " + traceback.format_exc().strip().replace("\n", "\n  "), flush=True)
    unknown = ", ".join(set(sys.argv[1:]) - {c.__name__ for c in _cases})
    sys.exit(f"there is no case {unknown}: the cases are {', '.join(c.__name__ for c in _cases)}" if unknown else 1 if bad or not chosen else 0)


@functools.cache
def drawn_seed():
    """Returns the seed of this script's random numbers: SHERWOOD_SEED, or drawn. Prints it, to repeat a failed run."""
    seed = int(os.environ.get("SHERWOOD_SEED") or random.SystemRandom().randrange(2**32))
    print(f"# SHERWOOD_SEED={seed}", flush=True)
    return seed


def equal(got, wanted, what=""):
    if got != wanted:
        raise AssertionError(f"{what}: got {got!r}, wanted {wanted!r}")


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def raises(kinds, words, function, *arguments, **named):
    """Checks that the call raises one of these exceptions with these words in its text. Returns the exception."""
    try:
        got = function(*arguments, **named)
    except kinds as error:
        if words not in str(error):
            raise AssertionError(f"the error text lacks {words!r}: {error}") from error
        return error
    raise AssertionError(f"the call raised no error, and wanted {kinds}; it returned {got!r}")


def error_of(replies, *command):
    """Returns the text of the error that the command gets."""
    reply = replies.ask(*command)
    check(isinstance(reply, wire.Error), f"{command}: {reply!r} is no error")
    return str(reply)


def at_once(function, cases, workers=None):
    """Calls function(*case) for each case in a thread of its own, or in `workers` threads: for functions that mostly wait.
    Returns the results, or raises an error of a call once all have ended."""
    with concurrent.futures.ThreadPoolExecutor(workers or len(cases)) as pool:
        return [call.result() for call in [pool.submit(function, *each) for each in cases]]


def soon(function, seconds, what, tries=10):
    """Calls function until a call takes less than `seconds`, and returns its result. A busy machine may delay some of the
    calls; if all of them are slow, the function is slow."""
    took = []
    for _ in range(tries):
        began = time.monotonic()
        value = function()
        took.append(time.monotonic() - began)
        if took[-1] < seconds * SLOWER:
            return value
    raise AssertionError(f"{what}: no call took less than {seconds * SLOWER:.1f} s; the calls took {took}")


def talk(replies, *lines):
    """Sends each command alone; (command, reply) pairs, and the replies must be these."""
    for words, wanted in lines:
        equal(replies.ask(*words.split()), wanted, words)


def talk_to_redis(*lines):
    """Checks the replies of a redis-server: the tests compare Sherwood with these."""
    with redis_server() as path, socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.settimeout(30)
        talk(wire.Replies(connection), *lines)


def send_beside(connection, data):
    """Sends from another thread, so that the caller can read the replies meanwhile."""
    def send():
        with contextlib.suppress(OSError):  # the reader sees the closed connection
            connection.sendall(data)
    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    return thread


def eventually(function, what, seconds=90.0):
    """Waits until function() is true, for 90 s or longer. Returns its value. `what`: a text, or a function that returns one."""
    end = time.monotonic() + (seconds := min(max(seconds, 90) * SLOWER, 240)) # tests/run ends a suite after 300 s
    while True:
        value = function()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"did not happen within {seconds:.0f} s: {what() if callable(what) else what}")
        time.sleep(0.02)


_reserved_ports = []


def free_port():
    """Returns a free port of 127.0.0.1. The kernel does not choose it for port 0, and this function returns it to no other
    script while this one runs. So a daemon that starts again at its port finds it free."""
    while True:
        port = random.SystemRandom().randrange(10000, 32768) # the kernel chooses higher ones
        name = socket.socket(socket.AF_UNIX) # has an abstract name, which ends with this process
        try:
            name.bind(f"\0sherwood-test-port-{port}")
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", port))
        except OSError:
            name.close()
            continue
        _reserved_ports.append(name)
        return port


def run(*command, stdin="", timeout=60, rc=0):
    """Runs a program to its end and returns what it wrote to stdout and stderr. rc None: any."""
    result = subprocess.run([str(c) for c in command], input=stdin, text=True, timeout=timeout,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if rc is not None and result.returncode != rc:
        raise AssertionError(f"{' '.join(map(str, command))}: exit {result.returncode}, wanted {rc}\n{result.stdout[-3000:]}")
    return result.stdout


def relay(*command, timeout=120):
    """Runs a C peer that prints TAP lines itself; fails with its lines if one is "not ok"."""
    output = run(*command, timeout=timeout, rc=None)
    lines = [l for l in output.splitlines() if re.match(r"(not )?ok ", l)]
    check(lines and not any(l.startswith("not") for l in lines) and "1..0" not in output,
          f"{command[0]}:\n{output[-3000:]}")
    check(lines[-1] == "ok all", f"{command[0]} stopped early:\n{output[-3000:]}")


@contextlib.contextmanager
def redis_server():
    """Redis itself, on a Unix socket whose path this yields. Skips the case where it is not installed."""
    if not shutil.which("redis-server"):
        raise Skip("redis-server is not installed")
    with tempfile.TemporaryDirectory(prefix="sherwood-redis-") as directory:
        path = f"{directory}/redis.sock"
        process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", directory],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            def listens(): # the path is there a moment before
                with socket.socket(socket.AF_UNIX) as connection:
                    return connection.connect_ex(path) == 0
            eventually(listens, "redis-server listens")
            yield path
        finally:
            process.terminate()
            process.wait(30)


class Server:
    """A daemon on free ports. Flags are given as strings, "--name", "value"; they override."""

    def __init__(self, *flags, errors=None, environment=None, stop_rc=0, wrapper=(),
                 host="127.0.0.1", program=DAEMON, ready=200):
        merged = dict(DEFAULT_FLAGS)
        merged.update(zip(flags[::2], flags[1::2]))
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="sherwood-"))
        self.flags = [part for pair in merged.items() for part in pair]
        self.errors = errors  # pattern of error lines that the case provokes
        self.environment = environment or {}
        self.stop_rc = stop_rc
        self.wrapper = list(wrapper)
        self.program = program
        self.ready = ready  # the status of /readyz once it has started; None: any
        self.unix_path = merged.get("--unix-socket")
        self.process = None
        self.line = ""
        self.host = host
        self.port = 0
        self.http_port = 0

    def start(self):
        self.log_path = self.directory / "log"
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                self.wrapper + [str(self.program)] + self.flags, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, env={**os.environ, **self.environment})
        try:
            self.line = self._start_line()
            addresses = re.findall(r"(\d+\.\d+\.\d+\.\d+):(\d+)", self.line)
            if self.flags[self.flags.index("--port") + 1] and addresses:
                self.port = int(addresses[0][1])
                self.http_port = int(addresses[-1][1])
            eventually(self.is_ready, lambda: f"ready; log: {self.log()[-2000:]}")
        except BaseException:
            self.kill()
            raise
        return self

    def is_ready(self):
        """Returns true once the daemon has started."""
        return self.http("/readyz")[0] == self.ready or self.ready is None

    def _start_line(self):
        line = []
        reader = threading.Thread(target=lambda: line.append(self.process.stdout.readline()),
                                  daemon=True)
        reader.start()
        reader.join(60 * SLOWER)
        if not line or not line[0]:
            code = self.process.poll()
            self.kill()
            raise AssertionError(f"the daemon did not start (exit {code}): {self.log()}")
        return line[0].decode()

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.stop()
        else:
            # The case's own failure is what is reported, with the log beside it.
            self.kill()
            print("  log: " + self.log()[-2000:].replace("\n", "\n  log: "))
        shutil.rmtree(self.directory, ignore_errors=True)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def end_by_kill(self):
        """Kills the daemon. The end of the block expects that."""
        self.kill()
        self.stop_rc = -signal.SIGKILL

    def stop(self, how=signal.SIGTERM):
        """Stops the daemon, waits for it, and checks how it went."""
        if self.process.poll() is None and how is not None:
            self.process.send_signal(how)
        self.wait_stopped()

    def wait_stopped(self):
        began = time.monotonic()
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the daemon did not stop within 60 s: {self.log()}") from None
        took = time.monotonic() - began
        log = self.log()
        equal(code, self.stop_rc, f"exit status; log: {log[-2000:]}")
        check(took < STOP_SECONDS_MAX, f"stopping took {took:.2f} s")
        check("Sanitizer" not in log and "runtime error:" not in log, f"sanitizer: {log[-4000:]}")
        bad = [l for l in log.splitlines() if re.match(r"\S+Z error: ", l)
               and not (self.errors and re.search(self.errors, l))]
        check(not bad, f"the daemon logged unexpected errors: {bad}")

    def log(self):
        return self.log_path.read_text(errors="replace")

    def alive(self):
        return self.process.poll() is None

    # --- ways in ---------------------------------------------------------------------------------
    def connect(self, timeout=20.0):
        """Returns a raw socket to the data port."""
        connection = socket.create_connection((self.host, self.port), timeout=timeout * SLOWER)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def replies(self):
        """Returns a connection by RESP."""
        return wire.Replies(self.connect())

    def ask(self, *words):
        """Returns the reply to a command on a connection of its own."""
        with self.replies() as replies:
            return replies.ask(*words)

    def address(self):
        return f"{self.host}:{self.port}"

    def redis_cli(self, *arguments, **options):
        return re.sub(SLOW_REPLY, "", run("redis-cli", "-h", self.host, "-p", self.port, *arguments, **options))

    def http_connection(self):
        return http.client.HTTPConnection(self.host, self.http_port, timeout=30 * SLOWER)

    def http(self, path, method="GET", headers=None):
        """Returns (status, headers, text); status 0 if the connection fails."""
        connection = self.http_connection()
        try:
            connection.request(method, path, headers=headers or {})
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read().decode()
        except OSError:
            return 0, {}, ""
        finally:
            connection.close()

    # --- what it says of itself ------------------------------------------------------------------
    def metrics(self):
        """Returns every sample by its name with labels. A duplicate is an error."""
        status, _, text = self.http("/metrics")
        equal(status, 200, "/metrics")
        return parse_metrics(text)

    def resident_bytes(self):
        with open(f"/proc/{self.pid()}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def pid(self):
        return self.process.pid

    def open_files(self):
        return len(os.listdir(f"/proc/{self.pid()}/fd"))

    def connections(self):
        return self.metrics()["sherwood_connected_clients"]


def parse_metrics(text):
    samples = {}
    for line in text.splitlines():
        if line.startswith("#") or not line:
            continue
        name, value = line.rsplit(" ", 1)
        check(name not in samples, f"sample {name} occurs twice")
        samples[name] = float(value)
    return samples


class Moves:
    """Checks that counters moved by exactly what is named, once things have settled.

    with Moves(server, request_timeouts=1): ...   counters are named without prefix and _total.
    """

    def __init__(self, server, **wanted):
        self.server = server
        self.wanted = {f"sherwood_{name}_total": count for name, count in wanted.items()}

    def __enter__(self):
        self.before = self.server.metrics()
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            return
        def moved():
            now = self.server.metrics()
            self.last = {n: now[n] - self.before[n] for n in self.wanted}
            return self.last == self.wanted
        try:
            eventually(moved, "counters")
        except AssertionError:
            raise AssertionError(f"counters moved by {self.last}, wanted {self.wanted}") from None


class Bystander:
    """Another client. Checks after the block that the daemon still serves it, and that the number of connections is as before."""

    def __init__(self, server):
        self.server = server

    def ask(self):
        self.count += 1
        equal(self.replies.ask("INCRBY", 999, 1), self.count, "the bystander's reply")

    def __enter__(self):
        self.replies = self.server.replies()
        self.replies.ask("DEL", 999)
        self.count = 0
        self.ask()
        # Clients that left a moment ago may still be counted.
        self.before = self.server.connections()
        for _ in range(50):
            time.sleep(0.05)
            earlier, self.before = self.before, self.server.connections()
            if earlier == self.before:
                break
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind is None:
                check(self.server.alive(), "the daemon has ended")
                self.ask()
                eventually(lambda: self.server.connections() == self.before,
                           f"as many open connections as before: {self.before}")
        finally:
            self.replies.socket.close()


def flags_with(**changed):
    """The flags of a daemon, some of them changed: unix_socket="/s"."""
    merged = {**DEFAULT_FLAGS, **{"--" + k.replace("_", "-"): v for k, v in changed.items()}}
    return [part for pair in merged.items() for part in pair]


def refused(*arguments, words=()):
    """Checks that the daemon ends with an error status, and that its error text has these words."""
    result = subprocess.run([DAEMON, *arguments], stdin=subprocess.DEVNULL, text=True, timeout=60,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    check(result.returncode > 0, f"{arguments}: the daemon ended with status {result.returncode}, wanted an error")
    text = result.stderr
    check(text.strip(), f"{arguments}: the daemon printed no error text")
    for word in words:
        check(word in text, f"{arguments}: the error text lacks '{word}': {text}")


def refusal(*flags):
    """Returns the error text of the daemon for options that it refuses, or None."""
    result = subprocess.run([str(DAEMON), "--check-config", *flags], text=True, timeout=20,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    return None if result.returncode == 0 else result.stderr.strip()


def start(*flags):
    """Returns a daemon with these options. Skips the case if this build lacks the backend or engine."""
    said = refusal("--backend", BACKEND, *flags)
    if said and "this build has no" in said:
        raise Skip(said)
    return Server(*flags)
