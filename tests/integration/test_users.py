#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Users and their rights, by RESP, by bulk frames, by Unix sockets and by HTTP."""

import os
import pathlib
import select
import socket
import tempfile
import time

import wire
from harness import (Moves, Server, SLOWER, case, check, equal, eventually, main, redis_server,
                     run)
from people import ACL, Frames, NOAUTH, Redis, WRONG, cannot_start, guarded, hello, secret, session, text


# --- by RESP -------------------------------------------------------------------------------------
@case
def words_of_redis():
    """replies about logins and rights equal those of redis-server, byte by byte"""
    acl = ACL.replace("~1000-1999", "~1*")
    with redis_server() as path, guarded() as ours:
        theirs = Redis(path)
        admin = wire.Replies(theirs.connect())
        for line in acl.splitlines()[1:]:
            equal(admin.ask("ACL", "SETUSER", *line.split()[1:]), "OK", line)
        sessions = [("", ("PING",), ("GET", "1"), ("GET",), ("NOSUCH",), ("HELLO", "3"), ("AUTH", "x"),
                     ("AUTH", "alice", "x"), ("AUTH", "nobody", "pw"), ("AUTH", "off", "pw"),
                     ("AUTH", "a", "b", "c"), ("HELLO", "3", "AUTH", "alice", "x"), ("MULTI",),
                     ("RESET",), ("ACL", "WHOAMI"), ("QUIT",)),
                    ("alice", ("GET", "5"), ("GET", "1000"), ("MGET", "1000", "5"), ("SET", "5", "1"),
                     ("FLUSHALL",), ("CONFIG", "GET", "port"), ("INFO",), ("CLIENT", "LIST"),
                     ("CLIENT", "SETNAME", "me"), ("ACL", "WHOAMI"), ("MULTI",), ("GET", "5"),
                     ("EXEC",), ("MULTI",), ("SET", "1000", "5"), ("EXEC",), ("PING",)),
                    ("reader", ("GET", "5"), ("SET", "5", "1"), ("DEL", "5"), ("ACL", "LIST"),
                     ("SLOWLOG", "GET"), ("ECHO", "x")),
                    ("default", ("ACL", "GETUSER", "nobody"), ("ACL", "DELUSER", "default"),
                     ("ACL", "SETUSER", "alice", "gurk"), ("ACL", "SETUSER", "alice", "+nosuch"),
                     ("ACL", "SETUSER", "alice", "<nope"), ("ACL", "SETUSER", "alice", "#12"),
                     ("ACL", "CAT"), ("ACL", "CAT", "nosuch"), ("ACL", "GENPASS", "0"),
                     ("ACL", "USERS"), ("ACL", "NOSUCH"), ("ACL",), ("ACL", "DELUSER", "nobody"),
                     ("ACL", "DRYRUN", "alice", "get", "5"), ("ACL", "DRYRUN", "alice", "flushall"),
                     ("ACL", "DRYRUN", "alice", "get", "1000"), ("ACL", "DRYRUN", "nobody", "get", "5"),
                     ("ACL", "DRYRUN", "alice", "nosuch"), ("ACL", "LOG", "x"),
                     ("ACL", "GETUSER", "off"), ("AUTH", "alice", "pw"), ("ACL", "WHOAMI"))]
        for user, *asked in sessions:
            login = ("top",) if user == "default" else (user, "pw")
            their = session(theirs, *login) if user else session(theirs)
            our = session(ours, *login) if user else session(ours)
            for command in asked:
                equal(text(our.ask(*command)), text(their.ask(*command)), f"{user}: {command}")


@case
def every_subcommand_has_categories():
    """rules can name each subcommand that HELP lists, and each has a category"""
    with Server() as server:
        client = session(server)
        known = {text(name) for category in client.ask("ACL", "CAT")
                 for name in client.ask("ACL", "CAT", text(category))}
        for command in ("acl", "client", "command", "config", "latency", "memory", "object", "slowlog"):
            lines = [text(line) for line in client.ask(command, "HELP")[1:]]
            words = [line.split()[0].lower() for line in lines if not line.startswith(" ")]
            check(len(words) > 1, command)
            equal([word for word in words if f"{command}|{word}" not in known], [], command)


@case
def log_of_refusals():
    """ACL LOG has the entries that redis has for the same refusals, and counts equal ones together"""
    acl = ACL.replace("~1000-1999", "~1*")
    logs = []
    with redis_server() as path, guarded() as ours:
        theirs = Redis(path)
        for server in (theirs, ours):
            admin = session(server) if server is theirs else session(server, "default", "top")
            for line in acl.splitlines()[1:] if server is theirs else ():
                equal(admin.ask("ACL", "SETUSER", *line.split()[1:]), "OK", line)
            alice = session(server, "alice", "pw")
            for command in (("AUTH", "alice", "x"), ("GET", "5"), ("GET", "5"), ("CONFIG", "GET", "x"),
                            ("MULTI",), ("SET", "7", "1"), ("DISCARD",)):
                alice.ask(*command)
            if server is theirs:
                admin.ask("AUTH", "default", "top")
            entries = [dict(zip(entry[::2], entry[1::2])) for entry in admin.ask("ACL", "LOG")]
            logs.append([[text(entry[k.encode()]) for k in ("count", "reason", "context", "object",
                                                            "username")] for entry in entries])
            equal(len(admin.ask("ACL", "LOG", "1")), 1, "LOG 1")
            check(b"addr=" in entries[0][b"client-info"], "client-info")
            equal(admin.ask("ACL", "LOG", "RESET"), "OK", "RESET")
            equal(admin.ask("ACL", "LOG"), [], "after RESET")
    equal(logs[1], logs[0], "ACL LOG")


@case
def nothing_before_login():
    """before a login no command reaches the table or the server"""
    with guarded() as server:
        admin = session(server, "default", "top")
        equal(admin.ask("SET", "1", "7"), "OK", "SET")
        commands = [text(name) for name in admin.ask("COMMAND", "LIST")]
        check(len(commands) > 50, "COMMAND LIST")
        free = ("auth", "hello", "quit", "reset")
        stranger = session(server)
        batches = server.metrics()["sherwood_batches_total"]
        for name in commands:
            for arguments in ((), ("1",), ("1", "2"), ("1", "2", "3")):
                if name not in free:
                    reply = stranger.ask(name, *arguments)
                    check(isinstance(reply, wire.Error) and (
                        reply == NOAUTH or "wrong number of arguments" in reply), f"{name}: {reply}")
        frames = Frames(server)
        for operation in [*range(1, 21), *range(33, 42)]:
            keys = (1, 2) if operation <= 20 else ()
            reply = frames.ask(wire.frame(operation, keys, keys if operation not in (1, 10, 11, 13)
                                          and keys else None))
            equal(reply.status, wire.NO_AUTH, f"operation {operation}")
        equal(frames.ask(hello()).status, wire.NO_AUTH, "HELLO without a login")
        equal(server.metrics()["sherwood_batches_total"], batches, "batches")
        equal(text(admin.ask("GET", "1")), "7", "GET")
        equal(admin.ask("DBSIZE"), 1, "DBSIZE")


@case
def little_before_login():
    """before a login a connection may send 10 arguments and 16 KiB, until a deadline"""
    with guarded("--login-timeout-ms", "3000") as server, Moves(server, login_timeouts=2):
        for data, error in ((b"*11\r\n", "ERR Protocol error: unauthenticated multibulk length"),
                            (b"*2\r\n$4\r\nAUTH\r\n$16385\r\n",
                             "ERR Protocol error: unauthenticated bulk length"),
                            (b"*-x\r\n", "ERR Protocol error: invalid multibulk length"),
                            (b"AUTH " + b"x" * 20000, None)):
            replies = session(server)
            replies.socket.sendall(data)
            reply = replies.read()
            check(isinstance(reply, wire.Error) and (error is None or reply == error), repr(reply))
            replies.closed()
        large = Frames(server)
        large.socket.sendall(wire.frame(wire.SET, range(5000), range(5000)))
        equal(wire.read_frame(large.socket).status, wire.NO_AUTH, "a large frame")
        known = session(server, "alice", "pw")
        idle, half = session(server), session(server)
        half.socket.sendall(b"*2\r\n$4\r\nAUTH\r\n$4\r\nx")
        for replies in (idle, half):
            check(str(replies.read()).startswith("NOAUTH Authentication required"), "told why")
            replies.closed()
        equal(known.ask("PING"), "PONG", "who has logged in stays")


@case
def few_without_login():
    """connections without a login have their own limit, and delay no others"""
    with guarded("--connections-before-login-max", "20") as server:
        known = [session(server, "alice", "pw") for _ in range(30)]
        waiting = [session(server) for _ in range(20)]
        eventually(lambda: server.metrics()["sherwood_connections_without_login"] == 20, "20 wait")
        more = session(server)
        more.socket.sendall(b"PING\r\n")
        check("connections-before-login-max" in more.read(), "one more")
        more.closed()
        equal(waiting[0].ask("AUTH", "alice", "pw"), "OK", "AUTH")
        eventually(lambda: server.metrics()["sherwood_connections_without_login"] == 19, "19 wait")
        equal(session(server, "reader", "pw").ask("GET", "1"), None, "there is room again")
        check(all(replies.ask("PING") == "PONG" for replies in known), "those who are in")
        check(server.metrics()["sherwood_login_limit_refusals_total"] == 1, "counted")


@case
def memory_before_login():
    """half a login costs at most 16 KiB beyond the connection itself"""
    count = 500
    half = b"*3\r\n$4\r\nAUTH\r\n$5\r\nalice\r\n$16000\r\n" + b"x" * 15900
    with guarded() as server:
        before = server.resident_bytes()
        waiting = [session(server) for _ in range(count)]
        for replies in waiting:
            replies.socket.sendall(half)
        metrics = eventually(lambda: (m := server.metrics())["sherwood_net_input_bytes_total"] >=
                             count * len(half) and m, "all has arrived")
        equal(metrics["sherwood_connections_without_login"], count, "they wait")
        check(metrics["sherwood_input_memory_bytes"] <= count * 16384, "input-memory-bytes")
        grown = server.resident_bytes() - before
        check(grown < count * (18 << 10) * (4 if SLOWER > 1 else 1) + (4 << 20), f"grew by {grown}")
        equal(session(server, "alice", "pw").ask("PING"), "PONG", "another one")


@case
def wrong_passwords_are_slow():
    """each wrong password delays its own connection longer, and no other; it is logged"""
    with guarded() as server:
        other = session(server, "alice", "pw")

        def served_meanwhile():
            """Returns whether other clients are served between the replies to the first guess and the second."""
            guesser = session(server)
            with Moves(server, login_failures=4):
                began = time.monotonic()
                guesser.socket.sendall(b"".join(wire.command("AUTH", "alice", f"guess{i}") for i in range(4)))
                equal(guesser.read(), WRONG, "the first")
                for _ in range(20):
                    equal(other.ask("PING"), "PONG", "another connection")
                served = not guesser.buffer and not select.select([guesser.socket], [], [], 0)[0]
                for _ in range(3):
                    equal(guesser.read(), WRONG, "the others")
                took = time.monotonic() - began
                check(took > 0.6, f"four guesses took {took:.2f} s: 100 + 200 + 400 ms at least")
            equal(guesser.ask("AUTH", "alice", "pw"), "OK", "the right one")
            return served
        eventually(served_meanwhile, "20 PINGs of another connection before the second answer")
        log = server.log()
        check('failed to log in as "alice"' in log and "127.0.0.1:" in log, "logged with the address")
        check("guess" not in log, "a password is in the log")


@case
def changes_reach_connections():
    """a change of a user applies to its next command; when a user is deleted, its connections are closed"""
    with guarded() as server:
        admin = session(server, "default", "top")
        alice, idle = session(server, "alice", "pw"), session(server, "alice", "pw")
        frames = Frames(server, b"alice", b"pw")
        equal(alice.ask("SET", "1000", "5"), "OK", "SET")
        equal(alice.ask("MULTI"), "OK", "MULTI")
        for command in (("SET", "1001", "6"), ("INCR", "1000"), ("GET", "1500"), ("PING",)):
            equal(alice.ask(*command), "QUEUED", str(command))
        equal(admin.ask("ACL", "SETUSER", "alice", "-incr", "resetkeys", "~1000-1499"), "OK", "SETUSER")
        ran, refused, outside, pong = alice.ask("EXEC")
        equal((ran, pong), ("OK", "PONG"), "what may still be done is done")
        check(str(refused).startswith("NOPERM ACLs rules changed between") and "'incr'" in refused, refused)
        check(str(outside).startswith("NOPERM ACLs rules changed between") and "keys" in outside, outside)
        equal(text(admin.ask("GET", "1000")), "5", "INCR was not carried out")
        equal(text(admin.ask("GET", "1001")), "6", "SET was")
        equal(frames.ask(wire.frame(wire.GET, (1000, 1500))).status, wire.NO_PERMISSION, "a frame")
        equal(frames.ask(wire.frame(wire.GET, (1000, 1499))).status, wire.OK, "a frame")
        equal(admin.ask("ACL", "DELUSER", "alice", "nobody"), 1, "DELUSER")
        alice.socket.sendall(wire.command("GET", "1000"))
        for replies in (alice, idle):
            replies.closed()
        check(frames.socket.recv(1) == b"", "the connection of frames is closed")
        equal(admin.ask("ACL", "SETUSER", "me", "on", ">pw", "+@all"), "OK", "SETUSER")
        me = session(server, "me", "pw")
        equal(me.ask("ACL", "DELUSER", "me"), 1, "itself")
        me.closed()


@case
def file_of_users():
    """ACL LOAD, SIGHUP and ACL SAVE apply the whole file or nothing"""
    with guarded(errors="SIGHUP") as server:
        path = pathlib.Path(server.flags[server.flags.index("--acl-file") + 1])
        admin = session(server, "default", "top")
        alice = session(server, "alice", "pw")
        path.write_text(ACL.replace("user reader", "user reader gurk"), encoding="ascii")
        reply = admin.ask("ACL", "LOAD")
        check(f"{path}:4: Syntax error" in reply and "None of the users were changed" in reply, reply)
        equal(alice.ask("GET", "1000"), None, "alice is as she was")
        os.kill(server.pid(), 1)
        eventually(lambda: "the users are unchanged" in server.log(), "SIGHUP")
        path.write_text(ACL.replace("~1000-1999", "~7").replace("user reader", "user author"),
                        encoding="ascii")
        reader = session(server, "reader", "pw")
        os.kill(server.pid(), 1)
        eventually(lambda: "were read" in server.log(), "SIGHUP")
        reader.closed()
        check(str(alice.ask("GET", "1000")).startswith("NOPERM"), "alice has other keys")
        equal(alice.ask("GET", "7"), None, "alice has other keys")
        equal(admin.ask("ACL", "SETUSER", "new", "on", ">secret", "~1-3", "+get"), "OK", "SETUSER")
        equal(admin.ask("ACL", "SAVE"), "OK", "SAVE")
        check("secret" not in path.read_text(encoding="ascii"), "SAVE writes hashes")
        listed = [text(line) for line in admin.ask("ACL", "LIST")]
        equal(path.read_text(encoding="ascii").splitlines(), listed, "SAVE writes what LIST shows")
        equal(path.stat().st_mode & 0o777, 0o600, "mode")
        equal(admin.ask("ACL", "LOAD"), "OK", "LOAD of what SAVE wrote")
        equal([text(line) for line in admin.ask("ACL", "LIST")], listed, "the same users")
    path.unlink()


@case
def secrets_stay_secret():
    """CONFIG GET, --check-config, log, /proc, INFO and ACL LIST show no password"""
    password, token = secret("Correct-Horse\n"), secret("Battery-Staple\n")
    flags = ("--requirepass-file", password, "--http-token-file", token)
    shown = run(Server().program, *flags, "--check-config")
    with Server("--requirepass-file", password) as server:
        admin = session(server, "default", "Correct-Horse")
        shown += str(admin.ask("CONFIG", "GET", "*")) + str(admin.ask("INFO", "everything"))
        shown += str(admin.ask("ACL", "LIST")) + str(admin.ask("CLIENT", "LIST"))
        check(session(server).ask("AUTH", "default", "Battery-Staple") == WRONG, "WRONGPASS")
        for name in ("cmdline", "environ"):
            shown += pathlib.Path(f"/proc/{server.pid()}/{name}").read_bytes().decode()
        shown += server.log() + server.line + str(admin.ask("ACL", "LOG"))
    check("Correct-Horse" not in shown and "Battery-Staple" not in shown, "a secret was shown")
    for mode, sentence in ((0o644, "is readable by everybody"), (0o660, "is writable by others")):
        os.chmod(password, mode)
        check(sentence in cannot_start("--requirepass-file", password), sentence)
    os.unlink(password)
    check("No such file or directory: name a file that the user of the server can read" in cannot_start("--requirepass-file", password), "missing")
    os.unlink(token)


# --- other ways in ---------------------------------------------------------------------------------
@case
def bulk_frames():
    """HELLO logs in; frames need the rights of the equivalent commands; a frame is all or nothing"""
    with guarded() as server, Moves(server, login_failures=1, logins=3):
        stranger = Frames(server)
        equal(stranger.ask(hello(b"alice", b"nope")).status, wire.WRONG_PASS, "wrong password")
        alice = Frames(server, b"alice", b"pw")
        keys = list(range(1000, 2000)) * 20
        equal(alice.ask(wire.frame(wire.SET, keys, keys)).status, wire.OK, "her keys")
        for at in (0, 1, 511, 512, 19999):
            bad = list(keys)
            bad[at] = 2000
            equal(alice.ask(wire.frame(wire.DELETE, bad)).status, wire.NO_PERMISSION, f"key {at}")
        equal(alice.ask(wire.frame(wire.GET, keys)).hits, 20000, "nothing was deleted")
        for operation in (wire.CLEAR, wire.SCAN, wire.STATS, wire.RESIZE, wire.DIGEST):
            reply = alice.ask(wire.frame(operation, count=10, capacity=1 << 20))
            equal(reply.status, wire.NO_PERMISSION, f"operation {operation}")
        reader = Frames(server, b"reader", b"pw")
        equal(reader.ask(wire.frame(wire.SET, (1,), (1,))).status, wire.NO_PERMISSION, "SET")
        equal(reader.ask(wire.frame(wire.GET, (1000,))).hits, 1, "GET")
        equal(reader.ask(wire.frame(wire.SCAN, count=10, key_bytes=8, value_bytes=8)).status,
              wire.OK, "SCAN")
        equal(reader.ask(wire.frame(wire.DIGEST)).status, wire.NO_PERMISSION, "DIGEST")
        admin = Frames(server, b"", b"top")
        equal([admin.ask(wire.frame(each)).status for each in (wire.DIGEST, wire.WAIT)], [wire.OK] * 2, "an administrator")
        equal(admin.ask(wire.frame(wire.CLEAR)).status, wire.OK, "default, by its password alone")
        equal(admin.ask(hello()).status, wire.OK, "a further HELLO")
    with Server() as server:
        equal(Frames(server).ask(hello()).status, wire.OK, "without passwords nothing has changed")
        equal(Frames(server, b"default", b"any").ask(wire.frame(wire.GET, (1,))).status, wire.OK,
              "as by RESP, default takes any password")


@case
def peers_of_unix_sockets():
    """the peer of a Unix socket is the user that unix-users names for it"""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/socket"
        users = f"uid:{os.getuid()}=alice,uid:{os.getuid() + 1}=reader"
        with guarded("--unix-socket", path, "--unix-users", users) as server:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(path)
            replies = wire.Replies(connection)
            equal(replies.ask("GET", "1000"), None, "alice's key")
            check(str(replies.ask("GET", "1")).startswith("NOPERM"), "not alice's key")
            equal(replies.ask("AUTH", "default", "top"), "OK", "somebody else")
            equal(text(replies.ask("ACL", "WHOAMI")), "default", "WHOAMI")
            equal(session(server).ask("GET", "1000"), NOAUTH, "not by TCP")
    check("uid:NUMBER=USER" in cannot_start("--unix-users", "1000=alice"), "a wrong list")


def own_address():
    """Returns an address of this machine other than loopback, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
            address = probe.getsockname()[0]
        except OSError:
            return None
    return None if address.startswith("127.") else address


@case
def protected_mode():
    """without a password the server refuses clients beyond loopback; the error names the options"""
    address = own_address()
    if address is None:
        equal(run("true"), "", "this machine has no address but loopback: unit tests have the rule")
        return
    for flags, served in (((), False), (("--protected-mode", "no"), True),
                          (("--requirepass-file", secret("x")), True)):
        with Server("--bind", "0.0.0.0", *flags) as server:
            equal(session(server).ask("PING"), "PONG" if "--requirepass-file" not in flags else NOAUTH,
                  "loopback")
            far = socket.create_connection((address, server.port), timeout=30 * SLOWER)
            far.sendall(b"PING\r\n")
            reply = wire.Replies(far).read()
            check(served == (not str(reply).startswith("DENIED")), f"{flags}: {reply}")
            if not served:
                check("--requirepass-file" in reply and "--protected-mode no" in reply, reply)
                frames = socket.create_connection((address, server.port), timeout=30 * SLOWER)
                equal(wire.exchange(frames, hello()).status, wire.NO_AUTH, "by frames")


@case
def http_token():
    """/metrics requires the token; /healthz and /readyz do not"""
    with Server("--http-token-file", secret("Tok3n\n")) as server:
        for path in ("/metrics", "/status.json", "/"):
            status, headers, body = server.http(path)
            equal(status, 401, path)
            check("Bearer" in headers["WWW-Authenticate"] and "sherwood_" not in body, path)
            for wrong in ("Bearer x", "Bearer Tok3n2", "Basic Tok3n", "Bearer "):
                equal(server.http(path, headers={"Authorization": wrong})[0], 401, wrong)
            equal(server.http(path, headers={"Authorization": "Bearer Tok3n"})[0], 200, path)
        for path in ("/healthz", "/readyz"):
            equal(server.http(path)[0], 200, path)


if __name__ == "__main__":
    main()
