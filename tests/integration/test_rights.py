#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Rights: commands that need all keys, and ACL files written by redis."""

import struct

import wire
from harness import DAEMON, case, check, equal, eventually, free_port, main, redis_server, run
from people import ACL, Frames, Redis, guarded, hello, secret, session, text
from ring import EVICTED_KEYS, KEYS, OPERANDS, Ring, place, serving


# --- keys ----------------------------------------------------------------------------------------
OF_ALL_KEYS = """flushall|flushdb|resize 70000|scan 0|keys *|randomkey|shutdown|monitor|save|bgsave|bgrewriteaof|digest
replicaof 127.0.0.1 1|slaveof no one|replicate 1 0000000000000000000000000000000000000000 0 8 8 0 0 1048576
exportslots a b c d e f g h i j k|ha switch|ha forget x|ha adopt|ha nosuch|acl setuser alice ~*|acl setuser new on nopass ~* +@all
acl getuser default|acl list|acl load|acl save|acl log|acl log reset|acl nosuch|config set maxclients 9|config rewrite
config nosuch|client pause 9|client unpause|client nosuch|slowlog get|slowlog get -1|slowlog reset|slowlog nosuch|latency nosuch
cluster settopology {}|cluster move status|cluster move cancel|cluster countkeysinslot 1|cluster countforeign|cluster getkeysinslot 1 9
cluster nosuch"""
OF_NO_KEYS = """ping|echo x|dbsize|info|time|role|lastsave|wait 0 0|waitaof 0 0 0|select 0|command|command count|command docs get|acl whoami
acl users|acl deluser nobody|acl cat|acl dryrun alice get 1|client id|client list|client info|client setname x|client kill id 99999|config get port
config resetstat|latency latest|latency histogram|slowlog len|memory help|object help|ha status|cluster info|cluster keyslot 1
cluster topology|cluster myid|multi|discard|unwatch|readonly|asking|hello 3|reset"""


@case
def limited_to_keys():
    """a user limited to key ranges can run no command or frame that shows or changes other keys, with any right"""
    acl = ACL.replace("alice on >pw ~1000-1999 +@read +@write +@connection +multi +exec -@dangerous", "alice on >pw ~1000-1999 +@all")
    with guarded("--slowlog-log-slower-than", "0", acl=acl) as server:
        admin = session(server, "default", "top")
        equal(admin.ask("SET", "5", "987654321"), "OK", "another key")
        users = admin.ask("ACL", "LIST")
        for line in OF_ALL_KEYS.replace("\n", "|").split("|"):
            alice = session(server, "alice", "pw")
            refused = alice.ask(*line.split())
            name = " ".join(line.split()[:2])
            check(str(refused).startswith("NOPERM") and "all keys (~*)" in refused, f"{line}: {refused}")
            equal(alice.ask("MULTI"), "OK", "MULTI")
            check(str(alice.ask(*line.split())).startswith("NOPERM"), f"{line} in MULTI")
            tried = text(admin.ask("ACL", "DRYRUN", "alice", *line.split()))
            check("no permissions to access the '*' key" in tried or "wrong number" in tried, f"{name}: {tried}")
            equal(text(admin.ask("ACL", "DRYRUN", "default", *line.split())), "OK", f"{name} by default")
        for line in OF_NO_KEYS.replace("\n", "|").split("|"):
            reply = session(server, "alice", "pw").ask(*line.split())
            check(not text(reply).startswith("NOPERM") if isinstance(reply, (bytes, str)) else True, f"{line}: {reply}")
        frames = Frames(server, b"alice", b"pw")
        for operation in (wire.CLEAR, wire.SCAN, wire.RESIZE, wire.DIGEST, wire.COUNT_SCORES, wire.ERASE_SCORES,
                          wire.EPOCH):
            reply = frames.ask(wire.frame(operation, count=10, capacity=1 << 20))
            equal(reply.status, wire.NO_PERMISSION, f"operation {operation}")
        for operation in (wire.PING, wire.STATS, wire.WAIT):
            equal(frames.ask(wire.frame(operation)).status, wire.OK, f"operation {operation}")
        equal(text(admin.ask("GET", "5")), "987654321", "the other key")
        equal(admin.ask("ACL", "LIST"), users, "the users")
        check(all(entry[entry.index(b"reason") + 1] == b"key" for entry in admin.ask("ACL", "LOG", "100")), "ACL LOG")


@case
def rights_that_end():
    """a replica whose user is deleted or loses a right or key gets no more data; another user's replica stays"""
    words = ("REPLICATE", "1", "0" * 40, "0", "8", "8", "0", "0", "1048576")
    with guarded() as server:
        admin = session(server, "default", "top")

        def stream(name):
            equal(admin.ask("ACL", "SETUSER", name, "on", ">pw", "~*", "+replicate"), "OK", "SETUSER")
            replies = session(server, name, "pw")
            replies.socket.sendall(wire.command(*words))
            check(replies.socket.recv(1) == b"+", "the stream begins")
            return replies.socket
        stays = stream("stays")
        value = 987654321987
        for ends in (("SETUSER", "copies", "-replicate"), ("SETUSER", "copies", "resetkeys", "~1-9"), ("DELUSER", "copies")):
            value += 1  # the snapshot of the stream has the one before
            gone = stream("copies")
            eventually(lambda: b"online" in admin.ask("INFO", "replication"), "it is served")
            admin.ask("ACL", *ends)
            equal(admin.ask("SET", "1000", value), "OK", "a write after that")
            got = b""
            while data := gone.recv(1 << 16):
                got += data
            check(value.to_bytes(8, "little") not in got, f"{ends}: the write was sent")
        eventually(lambda: "its user lost the right to run REPLICATE" in server.log(), "the log says why")
        got = b""
        while value.to_bytes(8, "little") not in got:
            got += stays.recv(1 << 16)


@case
def evicted_entries():
    """evicted entries are sent only to a user with all keys and the right to read, by frames and rings"""
    acl = "user default on nopass ~* +@all\nuser some on >pw ~0-99999 +@all\nuser writer on >pw ~* -@all +set\n"
    secret_values = range(1 << 40, (1 << 40) + 600)
    with serving("--engine", "cache", "--value-format", "fixed", "--value-bytes", "8", "--capacity", "256", "--acl-file", secret(acl)) as server:
        admin, some, writer = Frames(server), Frames(server, b"some", b"pw"), Frames(server, b"writer", b"pw")
        keys = list(range(10**6, 10**6 + 600))
        equal(admin.ask(wire.frame(wire.SET, keys, secret_values)).status, wire.OK, "a full cache")
        for wants in (1, 2, 3, 4, 5, 7):
            for person in (some, writer):
                reply = person.ask(wire.frame(wire.SET, range(300), range(300), want_evicted=wants))
                equal((reply.status, reply.body), (wire.NO_PERMISSION, b""), f"want_evicted {wants}: {reply.message}")
        equal(some.ask(wire.frame(wire.SET, range(300), range(300))).status, wire.OK, "without the entries")
        check(admin.ask(wire.frame(wire.SET, keys, secret_values, want_evicted=3)).evicted_count > 0, "an administrator")
        with Ring(server) as own:
            equal(own.ask(hello(b"some", b"pw")).status, wire.OK, "HELLO")
            own.put(0, struct.pack("<300Q", *range(300)))
            places = {KEYS: place(0, 0), OPERANDS: place(0, 0)}
            equal(own.run(wire.SET, 300, places).status, wire.OK, "without the entries, by a ring")
            done = own.run(wire.SET, 300, {**places, EVICTED_KEYS: place(0, 8192)})
            equal(done.status, wire.NO_PERMISSION, done.message)
            equal(own.get(8192, 2400), bytes(2400), "no key")


@case
def values_before():
    """a frame that asks for values before the operation requires the right to read, unless the command replies with them"""
    acl = "user default on nopass ~* +@all\nuser writer on >pw ~* -@all +set +setnx +del +incrby +sum +cas\n"
    with serving("--acl-file", secret(acl)) as server:
        admin, writer = Frames(server), Frames(server, b"writer", b"pw")
        equal(admin.ask(wire.frame(wire.SET, (1, 2, 3), (10, 20, 30))).status, wire.OK, "values")
        for operation, values in ((wire.SET_ABSENT, (5, 5, 5)), (wire.DELETE, None)):
            reply = writer.ask(wire.frame(operation, (1, 2, 3), values, want_values=True))
            equal((reply.status, reply.body), (wire.NO_PERMISSION, b""), f"operation {operation}: {reply.message}")
            check("lacks the command get" in reply.message, reply.message)
        pairs = wire.frame(wire.CAS, (1, 2, 3), (10, 11, 20, 21, 30, 31), want_values=True)
        equal(writer.ask(pairs).status, wire.NO_PERMISSION, "CAS")
        for operation in (wire.SET, wire.SUM, wire.INCREMENT):
            reply = writer.ask(wire.frame(operation, (1, 2, 3), (1, 1, 1), want_values=True))
            equal(reply.status, wire.OK, f"operation {operation}: {reply.message}")
        equal(writer.ask(wire.frame(wire.DELETE, (1, 2, 3))).status, wire.OK, "without values")


# --- files of redis ------------------------------------------------------------------------------
REDIS_ACL = ("user default on sanitize-payload >top ~* &* +@all\n"
             "user app on sanitize-payload >pw ~1-9 resetchannels &news +@all -debug -xinfo -eval -script|load +config|get "
             "-psync (~10-20 resetchannels -@all +get) %R~30\n")


@case
def file_that_redis_writes():
    """each rule of redis is accepted and grants no more than in redis.
    The log names rules without effect. A wrong rule ends the start with status 2."""
    with guarded(acl=REDIS_ACL) as server:
        log = server.log()
        check("these words have no effect in this server: 'sanitize-payload' (line 1), '&news' (line 2), '-debug'" in log, log)
        check("does not grant these rights" in log and "'(~10-20 resetchannels -@all +get)' (line 2), '%R~30' (line 2)" in log, log)
        app, admin = session(server, "app", "pw"), session(server, "default", "top")
        equal(app.ask("SET", "5", "1"), "OK", "its keys")
        for key in ("15", "30"):
            check(str(app.ask("GET", key)).startswith("NOPERM"), f"{key} is not granted")
        equal(admin.ask("ACL", "SETUSER", "app", "~*"), "OK", "SETUSER")
        check("'replicate' command" in str(app.ask("REPLICATE", *"123456789")), "who may not PSYNC may not REPLICATE")
        for rules in (("(+get ~1)",), ("%R~1",), ("+select|0",), ("+nosuch",)):
            check(isinstance(admin.ask("ACL", "SETUSER", "app", *rules), wire.Error), rules)
        equal(admin.ask("ACL", "SAVE"), "OK", "SAVE")
        before = server.log().count("these words")
        equal(admin.ask("ACL", "LOAD"), "OK", "LOAD")
        check("-debug -xinfo -eval -script|load +config|get -psync" in text(admin.ask("ACL", "LIST")[0]), "rules are kept")
        equal(server.log().count("these words"), before + 1, "a warning at LOAD")
        for words in (("HELLO", "3", "AUTH", "app", "pw"), ("AUTH", "x"), ("QUIT",), ("RESET",)):
            equal(admin.ask("ACL", "SETUSER", "no", "reset"), "OK", "nothing is allowed")
            equal(text(admin.ask("ACL", "DRYRUN", "no", *words)), "OK", words)
        check("no permissions" in text(admin.ask("ACL", "DRYRUN", "no", "PING")), "PING")
        equal(admin.ask("CONFIG", "SET", "slowlog-log-slower-than", "0"), "OK", "every command is slow")
        admin.ask("ACL", "DRYRUN", "no", "AUTH", "hidden")
        slow = str(admin.ask("SLOWLOG", "GET"))
        check("DRYRUN" in slow and "hidden" not in slow, slow)
    said = run(DAEMON, "--backend", "cpu", "--port", free_port(), "--acl-file", secret("user a on\nuser b on +nosuch\n"), rc=2)
    check(":2: Unknown command or category name in ACL: '+nosuch'" in said, said)


@case
def every_command_of_redis():
    """a file written by redis with a rule for each of its commands and subcommands is accepted whole"""
    with redis_server() as path:
        admin = wire.Replies(Redis(path).connect())
        names = {text(name) for category in admin.ask("ACL", "CAT") for name in admin.ask("ACL", "CAT", text(category))}
        names = sorted(names)
        check(len(names) > 300, names)
        for i in range(0, len(names), 50):
            for sign, rest in (("+", "-@all"), ("-", "+@all")):
                rules = [sign + name for name in names[i:i + 50]]
                equal(admin.ask("ACL", "SETUSER", f"u{i}{sign}", "on", ">pw", "~*", rest, *rules), "OK", rules)
        lines = [text(line) for line in admin.ask("ACL", "LIST")]
    with guarded(acl="\n".join(lines) + "\n") as server:
        ours = session(server)
        known = {text(name) for category in ours.ask("ACL", "CAT") for name in ours.ask("ACL", "CAT", text(category))}
        for i in range(0, len(names), 50):
            for name in known.intersection(names[i:i + 50]):
                tried = text(ours.ask("ACL", "DRYRUN", f"u{i}-", *name.split("|"), *"1234"))
                check(tried != "OK" or name in ("auth", "hello", "quit", "reset"), f"{name} is denied: {tried}")


if __name__ == "__main__":
    main()
