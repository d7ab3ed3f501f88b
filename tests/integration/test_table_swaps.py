#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The options of tables that SWAP exchanges: a restart, a replica and its promotion find each table with its own."""

import itertools

from data_directory import Directory, durable
from harness import Server, case, check, equal, eventually, main
from replication import info, to_be_killed

# Options that another value leaves in one shape: SWAP of the default table takes them along. Values unlike those of FIRST.
INTEGERS = {"capacity": "2K", "max-capacity": "32K", "max-load": "0.7", "max-probe": "90", "seed": "5", "stash": "128", "memory-max": "8M",
            "memory-min": "1M", "default-ttl": "1000", "ids": "20"}
ROWS = {**{name: INTEGERS[name] for name in INTEGERS if name != "ids"}, "rows-max": "900"}
CUCKOO = {"capacity": "2K", "max-load": "0.4", "max-probe": "90", "seed": "5", "stash": "128", "memory-max": "8M", "memory-min": "1M", "hash-functions": "2"}
# Options of the shape: FORCE exchanges the tables of two other places.
INTEGER, ROW = "engine robin_hood ids 0 value-bytes 0", "engine robin_hood ids 0 value-bytes 60 value-type"
SHAPES = (f"{INTEGER} value-type bytes", "engine cuckoo", f"{INTEGER} value-type none", f"{INTEGER} value-type bytes key-bits 32 resp-keys decimal",
          f"{ROW} bytes", f"{ROW} u32", f"{ROW} string resp-keys hash resp-key-text-bytes 16", "engine robin_hood value-bytes 0 value-type bytes ids 9")
FIRST = ("--backend", "cpu", "--capacity", "4K", "--max-capacity", "128K", "--tables-memory-max", "4G")
SERVERS = {("--ids", "10"): INTEGERS, ("--value-bytes", "16"): ROWS, ("--engine", "cuckoo", "--max-capacity", "0"): CUCKOO}
OF_A_CACHE = {"policy", "value-format", "cache-mode"}  # which has no log and no replicas
OF_THE_PLACE = {"name", "number"}
FIGURES = {"id", "keys", "expires", "slots", "slots-max", "bytes"}


def facts(replies, name):
    flat = replies.ask("TABLE", "INFO", name)
    text = [word.decode() if isinstance(word, bytes) else str(word) for word in flat]
    return dict(zip(text[::2], text[1::2]))


def options(replies):
    """Returns the options of the tables, by the name of their place."""
    rows = [dict(zip(row[::2], row[1::2])) for row in replies.ask("TABLE", "LIST")]
    ignored = FIGURES | OF_THE_PLACE | {"changes-since-save", "saving", "last-save"}
    return {name: {key: value for key, value in facts(replies, name).items() if key not in ignored}
            for name in sorted(row[b"name"].decode() for row in rows)}


def words(own):
    return [word for pair in own.items() for word in pair]


def fill(replies, flags):
    """Writes more keys than the first table of --ids takes. Returns the command that reads them."""
    write = ("ASSIGN", *range(15)) if "--ids" in flags else \
        ("MSET", *(word for key in range(15) for word in (key, "a" * 16 if "--value-bytes" in flags else key)))
    check(not str(replies.ask(*write)).startswith(("ERR", "OOM")), write)
    return ("MGET", *range(15))


def create_shapes(replies):
    for at, shape in enumerate(SHAPES):
        equal(replies.ask("TABLE", "CREATE", f"s{at}", "capacity", "1K", *shape.split()), "OK", shape)


def exchange_shapes(replies):
    for at in range(len(SHAPES) - 1):
        equal(replies.ask("TABLE", "SWAP", f"s{at}", f"s{at + 1}", "FORCE"), "OK", "SWAP FORCE")


@case
def each_option_is_listed():
    """the lists of this file have every option of a table"""
    of_shapes = {word for shape in SHAPES for word in shape.split()[::2]}
    for flags, own in SERVERS.items():
        with Server(*FIRST, *flags) as server, server.replies() as replies:
            known = set(own) | of_shapes | OF_A_CACHE | FIGURES | OF_THE_PLACE | {"rows-max", "max-capacity"}
            equal(set(facts(replies, "default")) - known, set(), "options without a test")
            first = facts(replies, "default")
            equal(replies.ask("TABLE", "CREATE", "v2", *words(own)), "OK", "CREATE")
            equal({name for name in own if facts(replies, "v2")[name] == first[name]}, set(), "options that do not differ")


def restart_with(flags, own, log, saves):
    """SWAP of the default table, then a kill and restarts. `saves`: SAVE before, and behind it."""
    with Directory() as directory:
        def begin(*more):
            return to_be_killed(Server(*FIRST, *flags, "--data-dir", str(directory), "--appendonly", log, *more, errors="log"))
        with begin() as server, server.replies() as replies:
            equal(replies.ask("TABLE", "CREATE", "v2", *words(own)), "OK", "CREATE")
            equal(replies.ask("TABLE", "CREATE", "like", "LIKE", "default"), "OK", "CREATE LIKE")
            create_shapes(replies)
            equal(replies.ask("SELECT", "v2"), "OK", "SELECT")
            reads = fill(replies, flags)
            if saves[0]:
                equal(replies.ask("SAVE"), "OK", "SAVE")
            equal(replies.ask("TABLE", "SWAP", "v2", "default"), "OK", "SWAP")
            exchange_shapes(replies)
            wanted = options(replies)
            equal({name: wanted["default"][name] for name in own}, own, "place 0")
            equal(replies.ask("SELECT", "default"), "OK", "SELECT")
            contents = replies.ask(*reads)
            if saves[1]:
                equal(replies.ask("SAVE"), "OK", "SAVE")
            server.end_by_kill()
        for attempt in range(2):
            with begin() as server, server.replies() as replies:
                equal(options(replies), wanted, f"start {attempt}")
                equal([replies.ask(*reads), replies.ask("DBSIZE")], [contents, 15], "the keys")
                equal(replies.ask("SAVE"), "OK", "SAVE")
                server.end_by_kill()
        with begin("--seed", "77") as server, server.replies() as replies:
            equal(options(replies)["default"], wanted["default"], "its own options, whatever the command line says")
            check("into place 0, and it keeps them: " in server.log() and "seed 5" in server.log(), server.log())
            server.end_by_kill()
        with begin() as server, server.replies() as replies:
            equal([replies.ask("TABLE", "SWAP", "default", "like"), replies.ask("SAVE")], ["OK", "OK"], "SWAP")
            server.end_by_kill()
        with begin("--seed", "78") as server, server.replies() as replies:
            got = facts(replies, "default")
            equal([got["seed"], got["keys"]], ["78", "0"], "LIKE default: the options of the command line")
            equal(facts(replies, "like")["keys"], "15", "the other table")


@case
def restart_by_log():
    """the log alone has the tables and their exchange"""
    for flags, own in SERVERS.items():
        restart_with(flags, own, "yes", (False, False))


@case
def restart_by_snapshots():
    """so have snapshots, with a log beside them and without one"""
    for (flags, own), log in itertools.product(SERVERS.items(), ("yes", "no")):
        restart_with(flags, own, log, (False, True))


@case
def restart_by_both():
    """a SWAP in the log is carried out on tables of snapshots"""
    for flags, own in SERVERS.items():
        restart_with(flags, own, "yes", (True, False))


@case
def replicas():
    """a replica has the options of each table, whether it joins before SWAP or behind it; so after its promotion and a restart"""
    for (flags, own), joins_late in itertools.product(SERVERS.items(), (False, True)):
        with Directory() as of_primary, Directory() as of_replica, \
                to_be_killed(durable(of_primary, "no", *FIRST, *flags)) as primary, primary.replies() as ours:
            def follow(of_replica=of_replica, flags=flags, port=primary.port):
                return to_be_killed(durable(of_replica, "no", *FIRST, *flags, "--replicaof", f"127.0.0.1 {port}", errors="replica"))
            def change(ours=ours, flags=flags, own=own):
                equal([ours.ask("TABLE", "CREATE", "v2", *words(own)), ours.ask("SELECT", "v2")], ["OK", "OK"], "CREATE")
                fill(ours, flags)
                create_shapes(ours)
                equal(ours.ask("TABLE", "SWAP", "v2", "default"), "OK", "SWAP")
                exchange_shapes(ours)
            if joins_late:
                change()
            with follow() as replica, replica.replies() as theirs:
                eventually(lambda r=replica: info(r)["master_link_status"] == "up", "the replica is connected")
                if not joins_late:
                    change()
                def altered(default_ttl, ours=ours, theirs=theirs, own=own):
                    if "default-ttl" in own:
                        equal(ours.ask("TABLE", "ALTER", "default", "default-ttl", default_ttl), "OK", "ALTER")
                    equal(ours.ask("WAIT", 1, 30000), 1, "WAIT")
                    equal(options(theirs), options(ours), "the options")
                altered(1000)
                altered(2000)
                wanted = options(ours)
                primary.kill()
                equal([theirs.ask("REPLICAOF", "NO", "ONE"), theirs.ask("SELECT", "default"), theirs.ask("DBSIZE")], ["OK", "OK", 15], "promotion")
                equal(options(theirs), wanted, "behind the promotion")
                replica.kill()
            for _ in range(2):
                with durable(of_replica, "no", *FIRST, *flags) as again, again.replies() as theirs:
                    equal(options(theirs), wanted, "behind a restart")
                    equal([theirs.ask("DBSIZE"), theirs.ask("SAVE")], [15, "OK"], "the keys")


def alter_and_move(replies):
    equal([replies.ask("TABLE", "CREATE", "v2", "LIKE", "default"), replies.ask("TABLE", "ALTER", "default", "default-ttl", 1000, "max-capacity", "16K"),
           replies.ask("TABLE", "SWAP", "default", "v2")], ["OK"] * 3, "ALTER, then SWAP")


@case
def first_table_moves():
    """the first table, which SWAP moves to another place, has its options of before at a start by the log with other flags"""
    flags = {"max-capacity": "64K", "default-ttl": "1000", "memory-max": "8M", "memory-min": "1M"}
    for more, warns in (("64K", False), ("128K", False), ("16K", True)):
        with Directory() as directory:
            with to_be_killed(durable(directory, "no", *FIRST, *(word for name, value in flags.items() for word in (f"--{name}", value)))) as server, \
                    server.replies() as replies:
                equal(replies.ask("TABLE", "CREATE", "v2", "default-ttl", "0"), "OK", "CREATE")
                equal([replies.ask("TABLE", "SWAP", "default", "v2"), replies.ask("SELECT", "v2"), replies.ask("SET", 1, 1)], ["OK"] * 3, "SWAP")
                wanted = options(replies)["v2"]
                server.end_by_kill()
            for saves in (True, False):
                with to_be_killed(durable(directory, "no", *FIRST, "--max-capacity", more)) as server, server.replies() as replies:
                    got = facts(replies, "v2")
                    equal({name: got[name] for name in flags if name != "max-capacity" or not warns},
                          {name: wanted[name] for name in flags if name != "max-capacity" or not warns}, f"{more}: {got}")
                    equal("start with --max-capacity 65536" in server.log(), warns and saves, server.log())
                    equal([replies.ask("SELECT", "v2"), replies.ask("SET", 2, 2), replies.ask("TTL", 2) > 900], ["OK", "OK", True], "a time")
                    equal(replies.ask("SAVE") if saves else "OK", "OK", "SAVE")
                    server.end_by_kill()


@case
def first_table_returns():
    """the first table, which SWAP brought back to place 0, has the options of the command line at a start by the log"""
    with Directory() as directory:
        def begin():
            return to_be_killed(durable(directory, "no", *FIRST))
        with begin() as server, server.replies() as replies:
            wanted = options(replies)["default"]
            alter_and_move(replies)
            equal(replies.ask("TABLE", "SWAP", "default", "v2"), "OK", "the way back")
            server.end_by_kill()
        for attempt in range(2):
            with begin() as server, server.replies() as replies:
                equal(options(replies)["default"], wanted, f"start {attempt}")
                equal([replies.ask("SET", 1, 1), replies.ask("TTL", 1), replies.ask("SAVE")], ["OK", -1, "OK"], "no time")
                server.end_by_kill()


def follow(replica, primary):
    """Lets a server copy all data of another primary."""
    with primary.replies() as ours, replica.replies() as theirs:
        equal([ours.ask("SET", 1, 7), theirs.ask("REPLICAOF", "127.0.0.1", primary.port)], ["OK", "OK"])
        eventually(lambda: info(replica)["master_link_status"] == "up" and theirs.ask("GET", 1) == b"7", "the replica is connected")


@case
def another_primary():
    """options that ALTER gave tables before a server copied all data of a primary do not hold for that primary's default table"""
    for drops in (False, True):
        with to_be_killed(Server(*FIRST)) as primary, to_be_killed(Server(*FIRST)) as other, \
                to_be_killed(Server(*FIRST, errors="replica")) as replica, primary.replies() as ours, replica.replies() as theirs:
            wanted = options(theirs)["default"]
            follow(replica, primary)
            alter_and_move(ours)
            if drops:
                equal(ours.ask("TABLE", "DROP", "v2"), "OK", "DROP")
            equal(ours.ask("WAIT", 1, 30000), 1, "WAIT")
            follow(replica, other)
            equal([options(theirs)["default"], theirs.ask("REPLICAOF", "NO", "ONE"), theirs.ask("SET", 5, 5), theirs.ask("TTL", 5)],
                  [wanted, "OK", "OK", -1], f"drops: {drops}")


@case
def moves_behind_a_copy():
    """ALTER and SWAP behind a copy of all data: a table keeps its options in place 0, unless it is the first table"""
    with to_be_killed(Server(*FIRST)) as primary, to_be_killed(Server(*FIRST, errors="replica")) as replica, \
            primary.replies() as ours, replica.replies() as theirs:
        equal([ours.ask("TABLE", "CREATE", "v2", "LIKE", "default"), ours.ask("TABLE", "SWAP", "default", "v2")], ["OK"] * 2, "before the copy")
        follow(replica, primary)
        for change, default, other in (("ALTER default default-ttl 1000", "1000", "0"), ("ALTER v2 default-ttl 2000", "1000", "2000"),
                                       ("SWAP default v2", "0", "1000"), ("SWAP default v2", "1000", "2000")):
            equal([ours.ask("TABLE", *change.split()), ours.ask("WAIT", 1, 30000)], ["OK", 1], change)
            equal([facts(theirs, name)["default-ttl"] for name in ("default", "v2")], [default, other], change)


@case
def former_primary():
    """a server that was a primary gives the default table of another one none of the options that ALTER gave its own"""
    with to_be_killed(Server(*FIRST)) as primary, to_be_killed(Server(*FIRST, errors="replica")) as former, \
            primary.replies() as ours, former.replies() as theirs:
        equal(theirs.ask("TABLE", "ALTER", "default", "default-ttl", 1000), "OK", "ALTER")
        equal([ours.ask("TABLE", "CREATE", "v2", "capacity", "2K", "max-capacity", "32K"), ours.ask("TABLE", "SWAP", "default", "v2")], ["OK", "OK"])
        follow(former, primary)
        equal(options(theirs), options(ours), "the options")


@case
def create_beside_another():
    """TABLE CREATE takes the options that it does not give from the table in place 0, not from the first one elsewhere"""
    with Server(*FIRST) as server, server.replies() as replies:
        alter_and_move(replies)
        wanted = options(replies)["default"]
        equal(replies.ask("TABLE", "CREATE", "x", "capacity", "4K"), "OK", "CREATE")
        equal([options(replies)["x"][name] for name in ("default-ttl", "max-capacity")], ["0", wanted["max-capacity"]], "CREATE")


@case
def rewrite_beside_another():
    """CONFIG REWRITE writes no option that ALTER gave the first table in another place, so the default table gets none at the next start"""
    with Directory() as directory:
        (directory / "conf").write_text("[table]\ncapacity = 4K\n", encoding="utf-8")
        def begin():
            return to_be_killed(Server("--config", str(directory / "conf"), "--backend", "cpu", "--data-dir", str(directory)))
        with begin() as server, server.replies() as replies:
            equal([replies.ask("TABLE", "CREATE", "v2", "LIKE", "default"), replies.ask("TABLE", "SWAP", "default", "v2")], ["OK"] * 2)
            wanted = options(replies)["default"]
            equal([replies.ask("TABLE", "ALTER", "v2", "default-ttl", 1000), replies.ask("CONFIG", "GET", "default-ttl"),
                   replies.ask("CONFIG", "REWRITE")], ["OK", [b"default-ttl", b"0"], "OK"], "ALTER")
            server.end_by_kill()
        with begin() as server, server.replies() as replies:
            equal(options(replies)["default"], wanted, "behind a start")


@case
def with_itself():
    """SWAP of the only table with itself has a number: a replica of a server that has one table receives its snapshot, and follows"""
    with Directory() as of_primary, Directory() as of_replica, to_be_killed(durable(of_primary, "always", *FIRST)) as primary, primary.replies() as ours:
        equal([ours.ask("SET", 1, 1), ours.ask("TABLE", "SWAP", "default", 0), ours.ask("TABLE", "SWAP", "no", "no")],
              ["OK", "OK", "ERR no such table: TABLE LIST shows the tables"], "SWAP")
        with to_be_killed(durable(of_replica, "always", *FIRST, "--replicaof", f"127.0.0.1 {primary.port}")) as replica:
            eventually(lambda: info(replica)["master_link_status"] == "up", "the replica is connected")
            equal([ours.ask("SET", 2, 2), ours.ask("WAIT", 1, 30000)], ["OK", 1], "a write behind it")


@case
def promised_to_the_last_byte():
    """tables with all of tables-memory-max as memory-min start again, and on a replica: the server's own table, which is in no place, takes none"""
    for log in ("yes", "no"):
        with Directory() as of_primary, Directory() as of_replica:
            flags = ("--capacity", "1K", "--max-capacity", "64K", "--tables-memory-max", "2M", "--appendonly", log, "--frame-ops-max", "256",
                     "--round-ops-max", "1024", "--log-segment-bytes", "1M")
            with Server(*flags, "--data-dir", str(of_primary)) as server, server.replies() as replies:
                for change in (("ALTER", "default", "memory-min", "1M"), ("CREATE", "a", "capacity", "1K", "memory-min", "1M"),
                               ("SWAP", "default", "a", "FORCE")):
                    equal(replies.ask("TABLE", *change), "OK", change)
            with Server(*flags, "--data-dir", str(of_primary)) as primary, \
                    Server(*flags, "--data-dir", str(of_replica), "--replicaof", f"127.0.0.1 {primary.port}") as replica:
                eventually(lambda p=replica: info(p)["master_link_status"] == "up", "the replica is connected")
                for server in (primary, replica):
                    with server.replies() as replies:
                        equal([facts(replies, name)["memory-min"] for name in ("default", "a")], ["1M"] * 2, "memory-min")


main()
