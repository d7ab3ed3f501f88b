#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every command of the command table, sent to every engine: each has a reply, and COMMAND, COMMAND
INFO, COUNT, LIST and DOCS agree about it."""

import re
import socket
import tempfile
import threading
import time

import redis

import wire
from harness import BUILD, ROOT, Server, case, check, equal, eventually, main, redis_server, run

ENGINES = (("robin_hood",), ("cuckoo",), ("cache", "--value-format", "string"))
# The connection ends with these, or the server does.
ENDING = {"quit", "shutdown"}


def flags(engine):
    return ("--engine", *engine)


def names(connection):
    return [row[0].decode() for row in ask(connection, "COMMAND")]


def ask(connection, *words):
    connection.send_command(*words)
    return connection.read_response()


def open_connection(server):
    return redis.Connection(host=server.host, port=server.port, socket_timeout=30)


def reply_or_error(connection, *words):
    """Returns the reply or the error. A missing reply fails the case."""
    try:
        return ask(connection, *words)
    except redis.ResponseError as error:
        return error


@case
def every_command_replies():
    """every command of every engine gives one reply, with the fewest arguments and with more"""
    for engine in ENGINES:
        with Server(*flags(engine)) as server:
            everything = names(open_connection(server))
            check("get" in everything and "ping" in everything, everything)
            for name in everything:
                if name in ENDING:
                    continue
                connection = open_connection(server)
                arity = ask(connection, "COMMAND", "INFO", name)[0][1]
                for count in range(abs(arity), abs(arity) + (3 if arity < 0 else 1)):
                    words = [name.upper()] + ["1"] * (count - 1)
                    reply_or_error(connection, *words)
                    if name == "multi":
                        equal(ask(connection, "DISCARD"), b"OK", "DISCARD")
                    if name == "monitor":
                        equal(ask(connection, "RESET"), b"RESET", "RESET")
                    equal(ask(connection, "ECHO", f"after {words}"), f"after {words}".encode(),
                          "exactly one reply before this one")
                if arity > 0:
                    error = reply_or_error(connection, name, *["1"] * arity)
                    check(str(error).endswith(f"wrong number of arguments for '{name}' command"),
                          error)


@case
def every_command_inside_multi():
    """every command inside MULTI is queued, refused or executed at once, and gives one reply"""
    for engine in ENGINES:
        with Server(*flags(engine)) as server:
            for name in names(open_connection(server)):
                if name in ENDING - {"shutdown"} | {"reset", "exec", "discard"}:
                    continue
                connection = open_connection(server)
                row = ask(connection, "COMMAND", "INFO", name)[0]
                equal(ask(connection, "MULTI"), b"OK", "MULTI")
                reply = reply_or_error(connection, name, *["1"] * (abs(row[1]) - 1))
                refused = "Command not allowed inside a transaction"
                equal(str(reply) == refused, b"no_multi" in row[2], f"{name}: {reply}")
                equal(ask(connection, "ECHO", "1"), b"QUEUED", name)
                executed = reply_or_error(connection, "EXEC")
                if reply == b"QUEUED":
                    equal(len(executed), 2, name)
                    equal(executed[1], b"1", name)
                elif name in ("multi", "watch"):  # an error that ends nothing
                    equal(executed, [b"1"], name)
                else:
                    check("EXECABORT" in str(executed) or "discarded" in str(executed), executed)


@case
def command_times():
    """INFO commandstats: usec is the time of the command's batches, and at most the elapsed time"""
    with Server("--loops", "1") as server:
        connection = open_connection(server)
        began = time.monotonic()
        keys = [str(key) for key in range(1000)]
        for _ in range(50):
            ask(connection, "DEL", *keys)
        ask(connection, "SCAN", "0", "COUNT", "100")
        passed_us = (time.monotonic() - began) * 1e6
        ask(connection, "PING")
        text = ask(connection, "INFO", "commandstats").decode()
        stats = {name: (int(calls), int(usec)) for name, calls, usec in
                 re.findall(r"cmdstat_(\w+):calls=(\d+),usec=(\d+),usec_per_call", text)}
        equal([stats[name][0] for name in ("del", "scan", "ping")], [50, 1, 1], "calls")
        check(0 < stats["del"][1] <= passed_us, f"DEL: {stats['del']}, {passed_us} us passed")
        check(0 < stats["scan"][1] <= passed_us, f"SCAN: {stats['scan']}, {passed_us} us passed")
        equal(stats["ping"][1], 0, "PING needs no batch")


def listed(connection, *words):
    """Returns the lines of CLIENT LIST as dictionaries."""
    text = ask(connection, "CLIENT", "LIST", *words).decode()
    return [dict(field.split("=", 1) for field in line.split(" ")) for line in text.splitlines()]


@case
def client_list():
    """CLIENT LIST shows the connections of all loops and both protocols, while others come and go"""
    with Server("--loops", "3") as server:
        clients = [open_connection(server) for _ in range(12)]
        for i, connection in enumerate(clients):
            equal(ask(connection, "CLIENT", "SETNAME", f"number-{i}"), b"OK", "SETNAME")
        with server.connect() as bulk:
            wire.call(bulk, wire.PING)
            rows = listed(clients[5])
            equal({row["name"] for row in rows}, {"", *(f"number-{i}" for i in range(12))}, "names")
            equal(len(rows), 13, "and the one of bulk frames, which has no name")
            equal([row["name"] for row in rows if row.get("cmd") == "client|list"], ["number-5"], "its own")
            check(all(row["addr"].startswith("127.0.0.1:") for row in rows), rows)
            ids = [row["id"] for row in rows if row["name"] in ("number-1", "number-9")]
            equal({row["name"] for row in listed(clients[0], "ID", *ids, "99999")},
                  {"number-1", "number-9"}, "by id")
            equal(len(listed(clients[0], "TYPE", "normal")), 13, "by type")
            equal(listed(clients[0], "TYPE", "replica"), [], "no replica")
            check("at most 128" in str(reply_or_error(
                clients[0], "CLIENT", "LIST", "ID", *["1"] * 129)), "too many ids")
        stop = threading.Event()

        def come_and_go():
            while not stop.is_set():
                connection = open_connection(server)
                ask(connection, "CLIENT", "SETNAME", "guest" * 10)
                connection.disconnect()

        guests = [threading.Thread(target=come_and_go) for _ in range(3)]
        for guest in guests:
            guest.start()
        try:
            for _ in range(200):
                names_now = [row["name"] for row in listed(clients[3])]
                equal(sum(name.startswith("number-") for name in names_now), 12, names_now)
                equal(set(names_now) - {f"number-{i}" for i in range(12)} - {"", "guest" * 10},
                      set(), "names")
        finally:
            stop.set()
            for guest in guests:
                guest.join()
        for connection in clients[1:]:
            connection.disconnect()
        eventually(lambda: len(listed(clients[0])) == 1, "the others have left")


@case
def lists_agree():
    """COMMAND, COMMAND COUNT, INFO, LIST and DOCS name the same commands"""
    for engine in ENGINES:
        with Server(*flags(engine)) as server:
            connection = open_connection(server)
            rows = {row[0].decode(): row for row in ask(connection, "COMMAND")}
            equal(ask(connection, "COMMAND", "COUNT"), len(rows), "COUNT")
            equal({n.decode() for n in ask(connection, "COMMAND", "LIST")}, set(rows), "LIST")
            docs = ask(connection, "COMMAND", "DOCS")
            equal({n.decode() for n in docs[::2]}, set(rows), "DOCS")
            for name, row in rows.items():
                equal(ask(connection, "COMMAND", "INFO", name), [row], name)


@case
def man_page():
    """sherwoodd(8) lists the commands that COMMAND DOCS lists, with the same words"""
    page = (ROOT / "deploy/man/sherwoodd.8.scd").read_text()
    section = page.split("# RESP COMMANDS")[1].split("\n# ")[0]
    listed = dict(re.findall(r"^- ([A-Z]+): (.*)$", section, re.M))
    with Server() as server, Server("--value-bytes", "64", "--value-type", "string") as strings, \
            Server("--backend", "cpu", "--ids", "64") as ids, Server("--backend", "cpu", "--value-type", "none") as keys:
        docs = [part for one in (server, strings, ids, keys) for part in ask(open_connection(one), "COMMAND", "DOCS")]
        wanted = {name.decode().upper(): facts[facts.index(b"summary") + 1].decode()
                  for name, facts in zip(docs[::2], docs[1::2])}
        equal(sorted(listed.items() - wanted.items()), [], "the man page lists what there is not")
        equal(sorted(wanted.items() - listed.items()), [], "the man page lacks")


@case
def help_of_the_tool():
    """sherwood-cli --help names every command of sherwood-cli(1), except those on keys"""
    page = (ROOT / "deploy/man/sherwood-cli.1.scd").read_text()
    listed = set(re.findall(r"^\*([a-z]+(?: [a-z]+)?)\*", page.split("# COMMANDS")[1].split("# FILES")[0], re.M))
    shown = run(BUILD / "sherwood-cli", "--help")
    usages = [line.replace("[options] ", "").replace("|", " ").split() for line in shown.splitlines()
              if line.startswith("  sherwood-cli ")]
    check({"ha adopt", "cluster move", "snapshot load"} <= listed, f"paragraphs: {listed}")
    missing = [words for words in sorted(listed) if not any(set(words.split()) <= set(usage) for usage in usages)]
    equal(missing, [], shown)


@case
def help_of_subcommands():
    """HELP of each command with subcommands lists them, also those of MEMORY and OBJECT"""
    with Server() as server:
        connection = open_connection(server)
        for name, subcommand in (("CLIENT", "LIST"), ("COMMAND", "DOCS"), ("CONFIG", "GET"),
                                 ("LATENCY", "LATEST"), ("MEMORY", "USAGE"), ("OBJECT", "ENCODING"),
                                 ("SLOWLOG", "GET")):
            lines = [line.decode() for line in ask(connection, name, "HELP")]
            check(lines[0].startswith(f"{name} <subcommand>"), lines)
            check(any(line.split()[0] == subcommand for line in lines), lines)
            equal(str(reply_or_error(connection, name, "NOSUCH")),
                  f"unknown subcommand 'NOSUCH'. Try {name} HELP.")
        equal(str(reply_or_error(connection, "OBJECT", "ENCODING")),
              "wrong number of arguments for 'object|encoding' command")
        equal(ask(connection, "CLIENT", "REPLY", "ON"), b"OK")
        connection.send_command("CLIENT", "REPLY", "SKIP")
        connection.send_command("OBJECT", "HELP")
        equal(ask(connection, "ECHO", "1"), b"1", "the help was skipped")


@case
def commands_of_redis():
    """every command of a redis-server is supported, or refused with a reason"""
    with redis_server() as path, Server() as server:
        other = redis.UnixDomainSocketConnection(path=path, socket_timeout=30)
        listed = [name.decode() for name in ask(other, "COMMAND", "LIST")]
        check(len(listed) > 200, listed)
        connection = open_connection(server)
        there = set(names(connection))
        for name in listed:
            if name in there:
                continue
            words = name.upper().split("|")
            if words[0].lower() not in there:
                error = str(reply_or_error(connection, *words, "1", "1"))
                reason = rf"({words[0]}( needs [a-z ]+)?|the robin_hood engine has no {words[0]}): [a-z]"
                check(re.match(reason, error), f"{name}: {error}")
            else:
                error = str(reply_or_error(connection, *words))
                check("unknown" not in error, f"{name}: {error}")
        error = str(reply_or_error(connection, "NOSUCH", "1"))
        check(error.startswith("unknown command 'NOSUCH'"), error)


# Scripts whose replies are redis' own, byte for byte.
LIKE_REDIS = [
    ["CLIENT NO-EVICT on", "CLIENT NO-EVICT OFF", "CLIENT NO-EVICT x", "CLIENT NO-EVICT"],
    ["CLIENT REPLY ON", "CLIENT REPLY x", "CLIENT REPLY", "CLIENT REPLY SKIP", "PING", "PING"],
    ["CLIENT REPLY OFF", "PING", "CLIENT REPLY SKIP", "PING", "CLIENT SETNAME x", "CLIENT REPLY ON", "CLIENT GETNAME"],
    ["CLIENT REPLY SKIP", "CLIENT REPLY ON", "CLIENT REPLY SKIP", "CLIENT REPLY OFF", "PING"],
    ["CLIENT GETREDIR", "CLIENT GETREDIR x", "CLIENT TRACKINGINFO", "CLIENT TRACKINGINFO x"],
    ["CLIENT TRACKING", "CLIENT TRACKING off", "CLIENT TRACKING x", "CLIENT TRACKING off bcast", "CLIENT TRACKING off y"],
    ["CLIENT TRACKING off noloop y", "CLIENT CACHING yes", "CLIENT CACHING x", "CLIENT CACHING"],
    ["CLIENT GETNAME", "CLIENT SETNAME a", "CLIENT GETNAME", "CLIENT SETNAME", "CLIENT ID x", "CLIENT", "CLIENT x"],
    ["CLIENT KILL 1.2.3.4:5", "CLIENT KILL ID x", "CLIENT KILL ID 0", "CLIENT KILL TYPE x", "CLIENT KILL TYPE pubsub",
     "CLIENT KILL ADDR 1.2.3.4:5 SKIPME x", "CLIENT KILL USER default LADDR 1.2.3.4:5", "CLIENT KILL FOO x", "CLIENT KILL"],
    ["CLIENT LIST FOO", "CLIENT LIST TYPE x", "CLIENT LIST TYPE pubsub", "CLIENT LIST ID x", "CLIENT LIST ID 99999999"],
    ["CLIENT INFO x"],
    ["CLIENT PAUSE", "CLIENT PAUSE x", "CLIENT PAUSE -1", "CLIENT PAUSE 1.5 WRITE", "CLIENT PAUSE 1 x", "CLIENT PAUSE 1 ALL x",
     "CLIENT PAUSE 0", "CLIENT PAUSE 0 all", "CLIENT PAUSE 1 write", "CLIENT UNPAUSE", "CLIENT UNPAUSE x"],
    ["CLIENT UNBLOCK", "CLIENT UNBLOCK x", "CLIENT UNBLOCK 99999999", "CLIENT UNBLOCK 99999999 error", "CLIENT UNBLOCK -1",
     "CLIENT UNBLOCK x x", "CLIENT UNBLOCK 9 x", "CLIENT UNBLOCK 9 ERROR x"],
]


@case
def as_redis_says_it():
    """CLIENT's subcommands reply as a redis-server does, by RESP2 and RESP3"""
    with redis_server() as path, tempfile.TemporaryDirectory(prefix="sherwood-") as directory, \
            Server("--unix-socket", directory + "/socket"):
        for script in LIKE_REDIS:
            for version in (2, 3):
                said = []
                for address in (path, directory + "/socket"):
                    with socket.socket(socket.AF_UNIX) as connection:
                        connection.connect(address)
                        replies = wire.Replies(connection)
                        replies.ask("HELLO", version)
                        connection.sendall("".join(f"{line}\r\n" for line in
                                                   [*script, "CLIENT REPLY ON", "ECHO the-end"]).encode())
                        while not replies.buffer.endswith(b"$7\r\nthe-end\r\n"):
                            replies.fill()
                        said.append(replies.buffer)
                equal(said[1], said[0], f"RESP{version}: {script}")


if __name__ == "__main__":
    main()
