#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Operators and a running server: they change its options, inspect it, and close connections."""

import os
import signal
import socket
import tempfile
import threading
import time

import wire
from harness import SLOWER, Moves, Server, case, check, equal, eventually, main, redis_server, run


class Configured(Server):
    """A daemon with its own configuration file, which has these lines."""

    def __init__(self, *lines, flags=(), **options):
        super().__init__(*flags, **options)
        self.path = self.directory / "sherwood.conf"
        self.write(*lines)
        self.flags += ["--config", str(self.path)]

    def write(self, *lines):
        self.path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def reload(self, wanted):
        """Sends SIGHUP and waits for a new line of the log."""
        before = self.log().count(wanted)
        self.process.send_signal(signal.SIGHUP)
        eventually(lambda: self.log().count(wanted) > before, wanted)


def setting(replies, name):
    return replies.ask("CONFIG", "GET", name)[1].decode()


def error_of(reply, *words):
    check(isinstance(reply, wire.Error), f"an error, got {reply}")
    for word in words:
        check(word in reply, f"'{word}' in {reply}")


# --- options -------------------------------------------------------------------------------------
@case
def sighup_takes_over_what_is_live():
    """SIGHUP applies live options, names the others, and logs a line for each"""
    with Configured("[limits]", "connections-max = 50", "[server]", "loops = 2") as server, \
            server.replies() as replies:
        equal(setting(replies, "connections-max"), "50", "connections-max")
        equal(replies.ask("CONFIG", "SET", "write-timeout-ms", 5000), "OK", "CONFIG SET")
        check("CONFIG SET from 127.0.0.1:" in server.log(), server.log())
        server.write("[limits]", "connections-max = 60", "[server]", "unix-socket-mode = 0600")
        server.reload("2 options changed, 1 needs a restart")
        equal(setting(replies, "connections-max"), "60", "connections-max after SIGHUP")
        equal(setting(replies, "maxclients"), "60", "maxclients")
        equal(setting(replies, "write-timeout-ms"), "60000", "what CONFIG SET had set is forgotten")
        equal(setting(replies, "unix-socket-mode"), "0660", "an option that is not live")
        log = server.log()
        check("SIGHUP: connections-max is 60 now (was 50)" in log, log)
        check("SIGHUP: unix-socket-mode is 0600 in the configuration and 0660 here" in log, log)
        equal(int(server.metrics()["sherwood_clients_max"]), 60, "/metrics")


@case
def a_bad_file_changes_nothing():
    """SIGHUP with a wrong or missing file logs an error and changes nothing"""
    with Configured("[limits]", "connections-max = 50", errors="nothing has changed") as server, \
            server.replies() as replies:
        for lines, why in ((("[limits]", "connections-max = 60", "connections-mux = 1"), "did you mean"),
                           (("[limits]", "connections-max = 0"), "whole number"),
                           (("[limits]", "connections-max = 60", "output-bytes-pause = 1G"), "more than"),
                           (("\0",), "NUL")):
            server.write(*lines)
            server.reload("SIGHUP: nothing has changed")
            check(why in server.log().splitlines()[-1], server.log())
            equal(setting(replies, "connections-max"), "50", lines)
        os.unlink(server.path)
        server.reload("cannot be opened")
        equal(replies.ask("PING"), "PONG", "PING")


@case
def limits_hold_at_once():
    """a limit changed by CONFIG SET applies to the next connection; a changed timeout to all"""
    with Server() as server, server.replies() as replies:
        equal(replies.ask("CONFIG", "SET", "maxclients", 1), "OK", "maxclients 1")
        with server.connect() as second:
            second.sendall(b"PING\r\n")
            error_of(wire.Replies(second).read(), "max number of clients")
        equal(replies.ask("CONFIG", "SET", "maxclients", 5, "request-timeout-ms", 0), "OK", "5")
        with server.connect() as second:
            equal(wire.Replies(second).ask("PING"), "PONG", "room again")
            equal(replies.ask("CONFIG", "SET", "idle-timeout-ms", 3000), "OK", "idle-timeout-ms")

            def others():
                replies.ask("PING")
                return server.metrics()["sherwood_connected_clients"] == 1
            eventually(others, "the idle one is closed")


@case
def config_set_is_all_or_nothing():
    """CONFIG SET sets all of several pairs or none, with the errors of redis"""
    with Server() as server, server.replies() as replies:
        for arguments, words in (
                (("connections-max", 9, "nosuch", 1), ("Unknown option or number of arguments", "nosuch")),
                (("connections-max", 9, "port", 1), ("argument 'port'", "immutable")),
                (("connections-max", 9, "log-level", "loud"), ("argument 'log-level'", "not one of")),
                (("connections-max", 9, "connections-max", 8), ("duplicate parameter",)),
                (("connections-max", 9, "output-bytes-pause", "1G"), ("output-bytes-max",)),
                (("connections-max", 9, "log-level"), ("syntax error",)),
                (("connections-max", "9" * 500), ("too long",)),
                (("connections-max", "9\0"), ("has a zero byte",))):
            error_of(replies.ask("CONFIG", "SET", *arguments), *words)
            equal(setting(replies, "connections-max"), "10000", arguments)


@case
def config_rewrite():
    """CONFIG REWRITE keeps comments and order, and the next start has the values"""
    lines = ("# mine", "[limits]", "connections-max = 50 ; seats", "", "[server]", "# last")
    with Configured(*lines, flags=("--loops", "1")) as server:
        with server.replies() as replies:
            equal(replies.ask("CONFIG", "SET", "connections-max", 70, "idle-timeout-ms", 90000), "OK", "SET")
            equal(replies.ask("CONFIG", "REWRITE"), "OK", "REWRITE")
            text = server.path.read_text(encoding="utf-8")
            check(text.startswith("# mine\n[limits]\nconnections-max = 70 ; seats\n"), text)
            check("idle-timeout-ms = 90000\n" in text and "# last\n" in text, text)
            equal(sorted(os.listdir(server.directory)), ["log", "sherwood.conf"], "nothing beside it")
            # what cannot be written leaves the file as it is
            os.chmod(server.directory, 0o500)
            try:
                equal(replies.ask("CONFIG", "SET", "connections-max", 71), "OK", "SET")
                reply = replies.ask("CONFIG", "REWRITE")
                if os.geteuid() != 0:
                    error_of(reply, "ERR Rewriting config file: ", "denied")
                    equal(server.path.read_text(encoding="utf-8"), text, "untouched")
            finally:
                os.chmod(server.directory, 0o700)
        server.stop()
        server.start()
        with server.replies() as replies:
            check(setting(replies, "connections-max") in ("70", "71"), "after a restart")
            equal(setting(replies, "idle-timeout-ms"), "90000", "after a restart")
    with Server() as server, server.connect() as connection:
        error_of(wire.Replies(connection).ask("CONFIG", "REWRITE"), "running without a config file")


@case
def service_manager():
    """A reload tells the service manager RELOADING=1 with the time, then READY=1"""
    with tempfile.TemporaryDirectory(prefix="sherwood-") as directory, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(directory + "/notify")
        manager.settimeout(20)
        with Configured("[server]", environment={"NOTIFY_SOCKET": directory + "/notify"}) as server:
            check(manager.recv(4096).startswith(b"READY=1"), "READY=1")
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            server.process.send_signal(signal.SIGHUP)
            words = manager.recv(4096).decode().split("\n")
            equal(words[0], "RELOADING=1", "the first message")
            said = int(words[1].removeprefix("MONOTONIC_USEC="))
            check(before <= said <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000, "its time")
            check(manager.recv(4096).startswith(b"READY=1\nSTATUS=sherwoodd"), "READY=1 again")


@case
def changes_under_load():
    """four clients change options during SIGHUPs and writes: nothing is torn or lost"""
    with Configured("[limits]", "connections-max = 500") as server:
        until, bad = time.monotonic() + 1.5, []

        def change(number):
            with server.replies() as replies:
                while time.monotonic() < until:
                    for value in (400 + number, 500):
                        if replies.ask("CONFIG", "SET", "connections-max", value, "output-bytes-pause",
                                       f"{value}K") != "OK":
                            bad.append("SET")
                    if int(setting(replies, "connections-max")) not in (400, 401, 402, 403, 500):
                        bad.append("GET")
                    if replies.ask("INCR", number) < 1:
                        bad.append("INCR")

        threads = [threading.Thread(target=change, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        while time.monotonic() < until:
            server.process.send_signal(signal.SIGHUP)
            time.sleep(0.02)
        for thread in threads:
            thread.join()
        equal(bad, [], "what went wrong")


# --- what took long ------------------------------------------------------------------------------
def entries(replies, *count):
    """Returns SLOWLOG GET as (arguments, microseconds, name)."""
    return [([a.decode() for a in e[3]], e[2], e[5].decode()) for e in replies.ask("SLOWLOG", "GET", *count)]


@case
def slowlog():
    """SLOWLOG shows slow commands of RESP and frames, shortened as in redis, without secrets"""
    with Server("--slowlog-log-slower-than", "0", "--slowlog-max-len", "40") as server, \
            server.connect() as connection, server.connect() as bulk:
        replies = wire.Replies(connection)
        replies.ask("CLIENT", "SETNAME", "me")
        replies.ask("SLOWLOG", "RESET")
        for arguments in (("SET", 5, 7), ("MGET", *range(50)), ("PING", "x" * 200), ("INCRBY", 5, 3),
                          ("MSET", 1, 2, 3, 4), ("AUTH", "hidden-1"), ("AUTH", "default", "hidden-2"),
                          ("HELLO", 2, "AUTH", "default", "hidden-3", "SETNAME", "me"),
                          ("CONFIG", "SET", "slowlog-max-len", "41"), ("DBSIZE",), ("FLUSHALL",)):
            replies.ask(*arguments)
        wire.call(bulk, wire.SET, range(1000), range(1000))
        found = entries(replies, -1)
        text = [" ".join(e[0]) for e in found]
        for wanted in ("set 5 7", "PING " + "x" * 128 + "... (72 more bytes)", "incrby 5 3", "mset 1 2 3 4",
                       "AUTH (redacted)", "AUTH (redacted) (redacted)", "DBSIZE", "flushall",
                       "HELLO 2 AUTH (redacted) (redacted) SETNAME me", "frame SET 1000 keys",
                       "CONFIG SET slowlog-max-len (redacted)"):
            check(wanted in text, f"{wanted} in {text}")
        check(not any("hidden" in t for t in text), text)
        mget = next(e for e in found if e[0][0] == "mget")
        equal(mget[0][-1], "... (20 more arguments)", "the last of 51 arguments")
        equal(len(mget[0]), 32, "arguments")
        check(all(e[1] >= 0 for e in found) and mget[2] == "me", "time and name")
        equal(len(entries(replies)), 10, "10 without a count")
        equal(len(entries(replies, 3)), 3, "a count")
        check(replies.ask("SLOWLOG", "LEN") >= 13, "LEN")
        # off: nothing comes any more; bounds hold
        equal(replies.ask("CONFIG", "SET", "slowlog-log-slower-than", -1), "OK", "off")
        equal(setting(replies, "slowlog-log-slower-than"), "-1", "off")
        equal(replies.ask("SLOWLOG", "RESET"), "OK", "RESET")
        replies.ask("SET", 1, 1)
        equal(replies.ask("SLOWLOG", "LEN"), 0, "off")
        equal(replies.ask("CONFIG", "SET", "slowlog-log-slower-than", 0), "OK", "on")
        for _ in range(60):
            replies.ask("GET", 1)
        equal(replies.ask("SLOWLOG", "LEN"), 41, "slowlog-max-len")
        equal(replies.ask("CONFIG", "SET", "slowlog-max-len", 5), "OK", "fewer")
        equal(replies.ask("SLOWLOG", "LEN"), 5, "the oldest are dropped at once")
        connection.sendall(wire.command("GET", 1) * 500)
        for _ in range(500):
            replies.read()
        check(all(e[0] == ["get", "1"] for e in entries(replies, 4)[1:]), "a pipeline")
        for bad in (("GET", "x"), ("GET", -2), ("GET", 1, 2), ("LEN", 1), ("NOSUCH",)):
            check(isinstance(replies.ask("SLOWLOG", *bad), wire.Error), bad)


@case
def latency():
    """LATENCY shows histograms of commands, and events with their causes"""
    with tempfile.TemporaryDirectory(prefix="sherwood-") as directory, \
            Server("--data-dir", directory, "--appendonly", "yes", "--appendfsync", "always",
                   "--capacity", "1K", "--max-capacity", "4M", "--latency-monitor-threshold", "1") as server, \
            server.replies() as replies, server.connect() as bulk:
        for i in range(20):
            replies.ask("SET", i, i)
        histogram = replies.ask("LATENCY", "HISTOGRAM", "set", "GET", "nosuch")
        equal(histogram[0], b"set", "only what was called")
        equal(histogram[1][:2], [b"calls", 20], "calls")
        equal(histogram[1][3][-1], 20, "the last bucket has all")
        check(histogram[1][3][::2] == sorted(histogram[1][3][::2]), "buckets")
        others = ("get", "del", "exists", "ttl", "incr")
        for name in others:
            replies.ask(name, 1)
        histogram = replies.ask("LATENCY", "HISTOGRAM", *others)
        equal({name.decode(): row[1] for name, row in zip(histogram[::2], histogram[1::2])},
              dict.fromkeys(others, 1), "calls of other commands")
        equal(replies.ask("CONFIG", "SET", "latency-monitor-threshold", 0), "OK", "off")
        wire.call(bulk, wire.SET, range(60000), range(60000))  # the table grows
        equal(replies.ask("CONFIG", "SET", "latency-monitor-threshold", 1), "OK", "on")
        for _ in range(5):
            wire.call(bulk, wire.DELETE, range(1000000, 1060000))
        latest = [e[0] for e in replies.ask("LATENCY", "LATEST")]
        check(b"frame" in latest and b"table-growth" not in latest, latest)  # not in these
        for first in range(0, 2000000, 60000):
            wire.call(bulk, wire.SET, range(first, first + 60000), range(60000))
        latest = {e[0].decode(): e[1:] for e in replies.ask("LATENCY", "LATEST")}
        check("frame" in latest and "table-growth" in latest, latest)  # a sync may take less than 1 ms
        check(all(now <= worst and worst >= 1 for _, now, worst in latest.values()), latest)
        for name in latest:
            history = replies.ask("LATENCY", "HISTORY", name)
            check(history and abs(history[-1][0] - time.time()) < 60, history)
        equal(replies.ask("LATENCY", "HISTORY", "nosuch"), [], "an event that is not known")
        report = replies.ask("LATENCY", "DOCTOR").decode()
        equal([name for name in latest if f"{name}: " not in report], [], "what the doctor left out")
        equal(replies.ask("LATENCY", "RESET", "frame", "nosuch"), 1, "RESET of one")
        check(replies.ask("LATENCY", "RESET") >= 2, "RESET of all")
        equal(replies.ask("CONFIG", "SET", "latency-monitor-threshold", 0), "OK", "off")
        check(b"is off" in replies.ask("LATENCY", "DOCTOR"), "DOCTOR when off")


# --- connections ---------------------------------------------------------------------------------
def clients(replies, *arguments):
    """Returns CLIENT LIST as dictionaries by id."""
    lines = replies.ask("CLIENT", "LIST", *arguments).decode().splitlines()
    rows = [dict(pair.split("=", 1) for pair in line.split()) for line in lines]
    return {int(row["id"]): row for row in rows}


def is_closed(connection):
    try:
        return connection.recv(64) == b""
    except ConnectionResetError:
        return True


@case
def client_list():
    """CLIENT LIST shows every connection of every loop, by RESP and frames, with the fields of redis"""
    with tempfile.TemporaryDirectory(prefix="sherwood-") as directory, \
            Server("--unix-socket", directory + "/socket", "--loops", "3") as server, \
            server.connect() as connection, server.connect() as other, server.connect() as bulk, \
            server.connect() as silent, socket.socket(socket.AF_UNIX) as local:
        local.connect(directory + "/socket")
        replies, second = wire.Replies(connection), wire.Replies(other)
        equal(wire.Replies(local).ask("PING"), "PONG", "PING")
        second.ask("CLIENT", "SETNAME", "second")
        second.ask("CLIENT", "SETINFO", "LIB-NAME", "test")
        second.ask("HELLO", 3)
        for arguments in (("MULTI",), ("SET", 1, 2), ("GET", 1)):
            second.ask(*arguments)
        wire.call(bulk, wire.SET, range(10), range(10))
        own = replies.ask("CLIENT", "ID")

        def row_of(**wanted):
            rows = clients(replies)
            return next((r for r in rows.values() if all(r[k] == v for k, v in wanted.items())), None)

        row = eventually(lambda: row_of(name="second", cmd="get", multi="2"), "the second")
        for name, value in (("flags", "x"), ("resp", "3"), ("lib-name", "test"), ("db", "0"), ("user", "default"),
                            ("addr", "%s:%d" % other.getsockname()), ("laddr", "%s:%d" % other.getpeername())):
            equal(row[name], value, name)
        row = eventually(lambda: row_of(cmd="frame|set"), "the one with frames")
        equal((row["resp"], row["name"], row["flags"]), ("0", "", "N"), "frames")
        equal(row_of(addr="%s:%d" % silent.getsockname())["cmd"], "NULL", "one that has said nothing")
        equal(row_of(addr="unix:0")["flags"], "U", "by the Unix socket")
        rows = clients(replies)
        equal(len(rows), 5, "all of them")
        equal((rows[own]["cmd"], rows[own]["idle"]), ("client|list", "0"), "its own")
        equal(list(clients(replies, "ID", own, 9999)), [own], "ID")
        equal(len(clients(replies, "TYPE", "normal")), 5, "TYPE normal")
        equal(clients(replies, "TYPE", "pubsub"), {}, "TYPE pubsub")
        connection.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\n5\r\n$1")  # half a request is in qbuf
        local.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\n5\r\n$1")
        connection.sendall(b"\r\n7\r\n")
        equal(replies.read(), "OK", "the rest")
        eventually(lambda: row_of(addr="unix:0", qbuf="22"), "qbuf")
        fields = ("id addr laddr name age idle flags db sub psub ssub multi qbuf qbuf-free argv-mem "
                  "multi-mem rbs rbp obl oll omem tot-mem events cmd user redir "
                  "resp lib-name lib-ver").split()
        equal(list(rows[own]), fields, "the fields")
        with redis_server() as path:
            theirs = run("redis-cli", "-s", path, "client", "list")
        theirs = [pair.split("=")[0] for pair in theirs.split()]
        equal([f for f in theirs if f in fields], [f for f in fields if f in theirs], "the order of redis")


@case
def client_kill():
    """CLIENT KILL closes exactly the matching connections, on every loop and in both protocols"""
    with Server("--loops", "3") as server, server.connect() as connection:
        replies = wire.Replies(connection)
        own = replies.ask("CLIENT", "ID")

        def opened():
            other = server.connect()
            return other, wire.Replies(other).ask("CLIENT", "ID")

        first, number = opened()
        equal(replies.ask("CLIENT", "KILL", "ID", number), 1, "ID")
        check(is_closed(first), "closed")
        eventually(lambda: replies.ask("CLIENT", "KILL", "ID", number) == 0, "it has gone")
        first, _ = opened()
        equal(replies.ask("CLIENT", "KILL", "%s:%d" % first.getsockname()), "OK", "the old form")
        check(is_closed(first), "closed")
        eventually(lambda: isinstance(replies.ask("CLIENT", "KILL", "%s:%d" % first.getsockname()), wire.Error),
                   "no such client")
        first, _ = opened()
        equal(replies.ask("CLIENT", "KILL", "ADDR", "%s:%d" % first.getsockname(), "USER", "default"), 1, "ADDR")
        check(is_closed(first), "closed")
        equal(replies.ask("CLIENT", "KILL", "USER", "nobody"), wire.Error("ERR No such user 'nobody'"), "USER")
        equal(replies.ask("CLIENT", "KILL", "MAXAGE", 3600), 0, "MAXAGE")
        many = [opened()[0] for _ in range(20)]
        bulk = server.connect()
        wire.call(bulk, wire.GET, range(10))
        with Moves(server, connections_killed=22):
            with server.connect() as silent:
                eventually(lambda: len(clients(replies)) == 23, "all are there")
                equal(replies.ask("CLIENT", "KILL", "TYPE", "normal"), 22, "all but its own")
                for other in (*many, bulk, silent):
                    check(is_closed(other), "closed")
        eventually(lambda: list(clients(replies)) == [own], "only its own is left")
        equal(replies.ask("CLIENT", "KILL", "ID", own, "SKIPME", "no"), 1, "its own")
        check(is_closed(connection), "its own is closed after the reply")


@case
def client_kill_under_load():
    """connections are killed while requests are in flight and others open and close: nothing leaks or hangs"""
    with Server("--loops", "2") as server, server.connect() as connection:
        replies, until, bad = wire.Replies(connection), time.monotonic() + 1.5, []
        done, served = threading.Event(), [0] * 4

        def work(number):
            while not done.is_set():
                try:
                    with server.connect() as other:
                        for _ in range(50):
                            if number % 2:
                                equal(wire.call(other, wire.SET, range(500), range(500)).status, wire.OK, "SET")
                            else:
                                other.sendall(wire.command("SET", number, 1) * 50)
                                if not other.recv(4096):
                                    break
                            served[number] += 1
                except (OSError, wire.Closed):  # the connection was killed
                    pass
                except BaseException as error:  # pylint: disable=broad-except
                    bad.append(repr(error))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        killed = 0
        while time.monotonic() < until or (min(killed, *served) == 0 and time.monotonic() < until + 30 * SLOWER):
            killed += replies.ask("CLIENT", "KILL", "TYPE", "normal")
            clients(replies)
        done.set()
        for thread in threads:
            thread.join()
        equal(bad, [], "what went wrong")
        check(min(killed, *served) > 0, f"{killed} killed; requests served by thread: {served}")
        eventually(lambda: len(clients(replies)) == 1, "all have gone")


@case
def clients_by_redis_py():
    """redis-py and redis-cli parse client_list, client_kill_filter, slowlog_get, latency and config"""
    import redis  # pylint: disable=import-outside-toplevel
    with Server("--slowlog-log-slower-than", "0", "--latency-monitor-threshold", "1") as server, \
            server.connect() as other:
        wire.Replies(other).ask("CLIENT", "SETNAME", "other")
        with redis.Redis(port=server.port) as client:
            rows = {row["name"]: row for row in client.client_list()}
            check("other" in rows, rows)
            equal(client.client_kill_filter(_id=rows["other"]["id"]), 1, "client_kill_filter")
            check(is_closed(other), "closed")
            equal(client.client_info()["cmd"], "client|info", "client_info")
            equal(client.client_getredir(), -1, "client_getredir")
            equal(client.slowlog_len() > 0, True, "slowlog_len")
            check(any(entry["command"].startswith(b"CLIENT") for entry in client.slowlog_get(20)), "slowlog_get")
            equal(client.slowlog_reset(), True, "slowlog_reset")
            equal(client.config_set("maxclients", 99), True, "config_set")
            equal(client.config_get("maxclients"), {"maxclients": "99"}, "config_get")
            check(isinstance(client.execute_command("LATENCY LATEST"), list), "latency_latest")
        for words in (("slowlog", "get"), ("latency", "doctor"), ("latency", "histogram"), ("client", "list")):
            check(server.redis_cli(*words), words)


if __name__ == "__main__":
    main()
