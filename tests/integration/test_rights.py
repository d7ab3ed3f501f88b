#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Rights: commands that need all keys, and ACL files written by redis."""

import re
import struct

import wire
from harness import DAEMON, ROOT, case, check, equal, eventually, free_port, main, redis_server, run
from people import ACL, Frames, Redis, guarded, hello, secret, session, text
from ring import EVICTED_KEYS, FOUND, KEYS, OPERANDS, VALUES, Ring, place, serving


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


# --- tables --------------------------------------------------------------------------------------
TABLES_ACL = """user default on >top ~* &* +@all
user alice on >pw ~* +@all db=7,mine
user wide on >pw ~* +@all
user none on >pw ~* +@all resetdbs
"""
# Commands and subcommands that use no table, by the rows of the catalog: every other one must be refused.
OF_NO_TABLE = {*"""ping echo quit auth hello reset multi exec discard unwatch command time role lastsave wait waitaof info readonly
readwrite asking acl|cat acl|deluser acl|dryrun acl|genpass acl|help acl|users acl|whoami client|caching client|getname client|getredir
client|help client|id client|info client|kill client|list client|no-evict client|no-touch client|reply client|setinfo client|setname
client|tracking client|trackinginfo client|unblock cluster|count-failure-reports cluster|help cluster|info cluster|keyslot
cluster|links cluster|myid cluster|myshardid cluster|nodes cluster|shards cluster|slots cluster|topology command|count command|docs
command|getkeys command|help command|info command|list config|get config|help config|resetstat ha|help ha|status latency|doctor
latency|graph latency|help latency|histogram latency|history latency|latest latency|reset memory|help object|help slowlog|help
slowlog|len table|help table|list""".split()}
COMMANDS = ROOT / "server/resp/command_map.h"
# Operations of frames that use no table.
FRAMES_OF_NO_TABLE = {"HELLO", "PING", "STATS", "WAIT_DURABLE", "ATTACH", "REGION", "RELEASE", "WAIT", "TOPOLOGY", "TABLES"}
NO_DATABASE = "NOPERM No permissions to access "


def entry_of(log):
    return dict(zip(log[0][::2], log[0][1::2]))


@case
def commands_on_other_tables():
    """a user limited to some tables can run no command that reads, changes or names another one, by any row of the catalog"""
    with guarded(acl=TABLES_ACL) as server:
        admin = session(server, "default", "top")
        for words in (("CREATE", "mine"), ("CREATE", "secret", "NUMBER", "9")):
            equal(admin.ask("TABLE", *words), "OK", words)
        equal(admin.ask("SET", "5", "987654321"), "OK", "a key of the default table")
        names = {text(name) for category in admin.ask("ACL", "CAT") for name in admin.ask("ACL", "CAT", text(category))}
        rows = re.findall(r'X\([A-Z]+, "([a-z]+)", (-?[0-9]+),', COMMANDS.read_text(encoding="utf-8"))
        arity = {name: int(least) for name, least in rows}
        check(OF_NO_TABLE <= names and len(names) > 150, names)
        for name in sorted(names - OF_NO_TABLE):
            command, *subcommand = name.split("|")
            # each argument is a key and names the table secret: 9
            words = [command, *subcommand, *["9"] * (max(abs(arity[command]), 5 if arity[command] < 0 else 0) - 1 - len(subcommand))]
            for multi in (False, True):
                alice = session(server, "alice", "pw")  # selects place 0 until it sends SELECT
                if multi:
                    equal(alice.ask("MULTI"), "OK", "MULTI")
                got = text(alice.ask(*words))
                check(str(got).startswith(NO_DATABASE), f"{words}: {got}")
                if multi:
                    check(str(alice.ask("EXEC")).startswith("EXECABORT"), f"{words}: EXEC")
            tried = text(admin.ask("ACL", "DRYRUN", "alice", *words))
            check("no permissions to access" in tried and "database" in tried, f"{words}: {tried}")
            equal(text(admin.ask("ACL", "DRYRUN", "wide", *words)), "OK", f"{words} of a user with all tables")
        entry = entry_of(admin.ask("ACL", "LOG", "1"))
        equal((entry[b"reason"], entry[b"username"], entry[b"context"]), (b"database", b"alice", b"multi"), "ACL LOG")
        equal(text(admin.ask("GET", "5")), "987654321", "the key")


@case
def frames_on_other_tables():
    """each operation of a table by a frame is refused to a user without it, by the rows of proto/ops/operations.h"""
    with serving("--acl-file", secret(TABLES_ACL.replace(">top", "nopass"))) as server:
        admin = session(server, "default", "top")
        for words in (("CREATE", "mine", "NUMBER", "7"), ("CREATE", "secret", "NUMBER", "9")):
            equal(admin.ask("TABLE", *words), "OK", words)
        for name, number in sorted(wire.NUMBERS.items()):
            if name in ("BELL", "TABLE"):  # has no reply; names tables in its words
                continue
            for user, table in ((b"alice", 0), (b"alice", 9), (b"alice", 8), (b"none", 0), (b"none", 7)):
                reply = Frames(server, user, b"pw").ask(wire.frame(number, count=3, table=table))
                refused = reply.status == wire.NO_PERMISSION and "the table" in reply.message
                needs = name not in FRAMES_OF_NO_TABLE or (name == "STATS" and table != 0)  # the figures of another table
                equal(refused, needs, f"{name} on {table}: {reply.status} {reply.message}")
            for user, table in ((b"wide", 0), (b"wide", 9), (b"alice", 7)):
                reply = Frames(server, user, b"pw").ask(wire.frame(number, count=3, table=table))
                check(reply.status != wire.NO_PERMISSION, f"{name} on {table} of a user with the right: {reply.message}")
        for table in (b"secret", b"nosuch"):
            check(Frames(server, b"alice", b"pw").ask(hello(table_name=table)).status != wire.OK, f"HELLO of {table}")
        equal(Frames(server, b"alice", b"pw").ask(hello(table_name=b"mine")).status, wire.OK, "HELLO of its own table")
        with Ring(server) as own:
            equal(own.ask(hello(b"alice", b"pw")).status, wire.OK, "HELLO")
            own.put(0, struct.pack("<3Q", 1, 2, 3))
            done = own.run(wire.SET, 3, {KEYS: place(0, 0), OPERANDS: place(0, 0)})
            equal(done.status, wire.NO_PERMISSION, done.message)


@case
def tables_of_frames():
    """a frame, a record of a ring and a HELLO need the right to the place that they name"""
    with serving("--acl-file", secret(TABLES_ACL.replace(">top", "nopass"))) as server:
        admin = session(server, "default", "top")
        for words in (("mine", "NUMBER", "8"), ("seven", "NUMBER", "7"), ("secret", "NUMBER", "9")):
            equal(admin.ask("TABLE", "CREATE", *words), "OK", words)
        alice = Frames(server, b"alice", b"pw")
        for number, name, allowed in ((7, b"seven", True), (8, b"mine", True), (9, b"secret", False), (0, b"default", False)):
            wanted = wire.OK if allowed else wire.NO_PERMISSION
            reply = alice.ask(wire.frame(wire.SET, (1,), (number,), table=number))
            equal(reply.status, wanted, f"{number}: {reply.message}")
            equal(alice.ask(wire.frame(wire.HELLO, table_name=name)).status, wanted, name)
            equal(alice.ask(hello(b"alice", b"pw", table_name=name)).status, wanted, name)
            equal(alice.ask(wire.frame(wire.PING, table=number)).status, wire.OK, "PING uses no table")
        entry = entry_of(admin.ask("ACL", "LOG", "1"))
        equal((entry[b"reason"], entry[b"object"]), (b"database", b"default"), "ACL LOG")
        equal(admin.ask("TABLE", "RENAME", "mine", "ours"), "OK", "RENAME")
        equal(alice.ask(wire.frame(wire.SET, (1,), (1,), table=8)).status, wire.OK, "rights lie with the place")
        equal(alice.ask(wire.frame(wire.SET, (1,), (1,), table=10)).status, wire.NO_PERMISSION, "a number without a table")
        for words, allowed in ((("DROP", "ours"), True), (("CREATE", "ours", "LIKE", "seven"), True), (("CREATE", "other"), False),
                               (("DROP", "secret"), False), (("SWAP", "ours", "secret"), False), (("SWAP", "ours", "seven"), True),
                               (("RENAME", "ours", "x"), False), (("DROP", "ours"), True),
                               (("ALTER", "secret", "default-ttl", "1"), False), (("SAVE", "secret"), False),
                               (("SWAP", "secret", "seven", "FORCE"), False),
                               (("CREATE", "ours", "LIKE", "secret"), False), (("CREATE", "ours", "LIKE", "seven"), True)):
            reply = alice.ask(wire.frame(wire.TABLE, words=words))
            equal(reply.status, wire.OK if allowed else wire.NO_PERMISSION, f"{words}: {reply.message}")
        equal([row[0] for row in alice.ask(wire.frame(wire.TABLES)).places()], ["seven", "ours"], "TABLES")
        with Ring(server) as own:
            equal(own.ask(hello(b"alice", b"pw")).status, wire.OK, "HELLO")
            own.put(0, struct.pack("<3Q", 1, 2, 3))
            for number, wanted in ((7, wire.OK), (9, wire.NO_PERMISSION)):
                done = own.run(wire.SET, 3, {KEYS: place(0, 0), OPERANDS: place(0, 0)}, table=number)
                equal(done.status, wanted, done.message)


@case
def rings_on_other_tables():
    """each operation that a ring carries is refused to a user without the table, and changes nothing there"""
    arrays = {KEYS: place(0, 0), OPERANDS: place(0, 0), VALUES: place(0, 64), FOUND: place(0, 128)}
    for flags in ((), ("--value-bytes", "8", "--value-type", "u64"), ("--ids", "99"), ("--value-type", "none")):
        with serving("--acl-file", secret(TABLES_ACL.replace(">top", "nopass")), *flags) as server, Ring(server) as own:
            admin, carried = session(server, "default", "top"), set()
            for number in (7, 9):
                equal(admin.ask("TABLE", "CREATE", f"t{number}", "NUMBER", number), "OK", "CREATE")
            equal(own.ask(hello(b"alice", b"pw")).status, wire.OK, "HELLO")
            for name, operation in sorted(wire.NUMBERS.items()):
                for some in ((), (KEYS,), (KEYS, OPERANDS), (KEYS, VALUES), (KEYS, VALUES, FOUND), (KEYS, OPERANDS, VALUES, FOUND)):
                    places = {which: arrays[which] for which in some}
                    own.put(0, struct.pack("<3Q", 1, 2, 3) + bytes(200))
                    statuses = [own.run(operation, 3 if some else 0, places, table=number).status for number in (7, 9)]
                    if statuses[0] == wire.OK and (name not in FRAMES_OF_NO_TABLE or name == "STATS"):
                        carried.add(name)
                        equal(statuses[1], wire.NO_PERMISSION, f"{name} with {some}")
            check(len(carried) > 4 and "GET" in carried and not carried - set(wire.NUMBERS), carried)
            equal([admin.ask("SELECT", 9), admin.ask("DBSIZE")], ["OK", 0], "the other table")


@case
def half_a_frame():
    """a frame that has begun does not reach another table without its right, when its place is dropped and created again"""
    with serving("--acl-file", secret(TABLES_ACL.replace(">top", "nopass")), "--loops", "1") as server:
        admin, alice = session(server, "default", "top"), Frames(server, b"alice", b"pw")
        whole = wire.frame(wire.SET, (1,), (1,), table=8)
        equal(admin.ask("TABLE", "CREATE", "mine", "NUMBER", "8"), "OK", "CREATE")
        for name, wanted in (("mine", wire.OK), ("secret", wire.TABLE_CHANGED)):
            equal(alice.ask(wire.frame(wire.PING) + whole[:-8]).status, wire.OK, "PING")
            equal(text(admin.ask("PING")), "PONG", "the one loop has read the head before this reply")
            equal(admin.ask("TABLE", "DROP", "8"), "OK", "DROP")
            equal(admin.ask("TABLE", "CREATE", name, "NUMBER", "8"), "OK", "CREATE")
            equal(alice.ask(whole[-8:]).status, wanted, name)
            equal((admin.ask("SELECT", "8"), admin.ask("DBSIZE")), ("OK", int(wanted == wire.OK)), name)


@case
def rights_to_tables():
    """rights lie with places: SELECT, SWAP and RENAME keep them, TABLE LIST shows them, and files have them"""
    with guarded(acl=TABLES_ACL) as server:
        admin, alice = session(server, "default", "top"), session(server, "alice", "pw")
        for words in (("CREATE", "mine"), ("CREATE", "other"), ("CREATE", "seven", "NUMBER", "7")):
            equal(admin.ask("TABLE", *words), "OK", words)
        for name in ("default", "mine", "other", "seven"):
            equal(admin.ask("SELECT", name), "OK", name)
            equal(admin.ask("SET", "1", sum(name.encode())), "OK", name)
        listed = alice.ask("TABLE", "LIST")
        equal([row[1] for row in listed], [b"seven", b"mine"], "TABLE LIST")
        for table in ("0", "default", "other", "65537", "nosuch", "+7", "x" * 99):
            check(str(alice.ask("SELECT", table)).startswith(NO_DATABASE), table)
        for table, name in (("7", "seven"), ("seven", "seven"), ("mine", "mine"), ("65536", "mine")):
            equal(alice.ask("SELECT", table), "OK", table)
            equal(text(alice.ask("GET", "1")), str(sum(name.encode())), table)
        for words in (("COPY", "1", "2", "DB", "0"), ("COPY", "1", "2", "DB", "7", "DB", "0"), ("TABLE", "CREATE", "new"),
                      ("TABLE", "CREATE", "mine2", "LIKE", "mine"), ("TABLE", "RENAME", "mine", "other2"),
                      ("TABLE", "SWAP", "mine", "other"), ("TABLE", "SWAP", "other", "mine"), ("SWAPDB", "7", "0"),
                      ("TABLE", "CREATE", "mine", "LIKE", "other"), ("FLUSHALL",)):
            check(str(alice.ask(*words)).startswith(NO_DATABASE), words)
        equal([alice.ask("COPY", "1", "2", "DB", "7"), alice.ask("SELECT", "7"), text(alice.ask("GET", "2")), alice.ask("SELECT", "mine")],
              [1, "OK", str(sum(b"mine")), "OK"], "COPY to a table of its own")
        equal(alice.ask("TABLE", "SWAP", "mine", "seven"), "OK", "SWAP of its own")
        equal(text(alice.ask("GET", "1")), str(sum(b"seven")), "behind SWAP")
        equal(admin.ask("TABLE", "SWAP", "other", "mine"), "OK", "SWAP")
        equal(text(alice.ask("GET", "1")), str(sum(b"other")), "what lies in its place now")
        check(str(alice.ask("SELECT", "other")).startswith(NO_DATABASE), "what lay there before")
        equal(admin.ask("TABLE", "RENAME", "mine", "yours"), "OK", "RENAME")
        equal(text(alice.ask("GET", "1")), str(sum(b"other")), "a place with another name")
        equal(alice.ask("SELECT", "yours"), "OK", "its new name")
        equal(admin.ask("TABLE", "CREATE", "mine"), "OK", "CREATE of the old name")
        check(str(alice.ask("SELECT", "mine")).startswith(NO_DATABASE), "another place of the old name")
        user = admin.ask("ACL", "GETUSER", "alice")
        equal(user[user.index(b"databases") + 1], b"db=7,yours", "GETUSER")
        equal(admin.ask("ACL", "SAVE"), "OK", "SAVE")
        before = admin.ask("ACL", "LIST")
        check(any(line.endswith(b" resetchannels db=7,yours +@all") for line in before), before)
        equal(admin.ask("ACL", "SETUSER", "alice", "alldbs"), "OK", "alldbs")
        equal(alice.ask("SELECT", "default"), "OK", "alldbs")
        equal(admin.ask("ACL", "LOAD"), "OK", "LOAD")
        equal(admin.ask("ACL", "LIST"), before, "ACL LIST")
        check(str(alice.ask("GET", "1")).startswith(NO_DATABASE), "the selected table is refused from then on")
        equal(admin.ask("ACL", "SETUSER", "alice", "db=yours,0"), "OK", "SETUSER")
        equal(text(alice.ask("GET", "1")), str(sum(b"default")), "granted")
        for words in (("MULTI",), ("GET", "1")):
            alice.ask(*words)
        equal(admin.ask("ACL", "SETUSER", "alice", "resetdbs"), "OK", "resetdbs")
        got = alice.ask("EXEC")
        check(str(got).startswith("NOPERM") or "NOPERM" in str(got[0]), got)


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
