#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Errors of RESP: wrong commands of every kind give a redis-server's replies byte by byte."""

import socket

import wire
from harness import Server, case, check, equal, main, redis_server

BAD = ("", "abc", "-1", "+1", "01", "-0", "1.5", " 1", "1 ", "9223372036854775807", "9223372036854775808",
       "-9223372036854775808", "18446744073709551616", "1e3", "0x10", "inf", "nan", "1\x00")
# Commands with one argument that is no number, or too large a one. Numbers of 64 bits without a sign are amounts here,
# and no cursor is larger than those that SCAN gives.
NUMBERS = [*[(name, "k", "?") for name in ("INCRBY", "DECRBY", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT")],
           *[("SET", "k", "1", form, "?") for form in ("EX", "PX", "EXAT", "PXAT")],
           *[("GETEX", "k", form, "?") for form in ("EX", "PX", "EXAT", "PXAT")],
           ("SETEX", "k", "?", "1"), ("PSETEX", "k", "?", "1"), ("GETRANGE", "k", "?", "1"), ("GETRANGE", "k", "0", "?"),
           ("SCAN", "0", "COUNT", "?"), ("COPY", "k", "x", "DB", "?"), ("SELECT", "?"), ("HELLO", "?"),
           ("CLIENT", "KILL", "ID", "?"), ("CLIENT", "LIST", "ID", "?"), ("CLIENT", "UNBLOCK", "?"), ("CLIENT", "PAUSE", "?"),
           ("CLIENT", "SETNAME", "?"), ("CLIENT", "REPLY", "?"), ("SLOWLOG", "GET", "?"), ("CONFIG", "SET", "timeout", "?"),
           ("CONFIG", "SET", "maxclients", "?"), ("MEMORY", "USAGE", "k", "SAMPLES", "?"), ("ACL", "GENPASS", "?"),
           ("ACL", "LOG", "?"), ("WAIT", "?", "1"), ("LATENCY", "HISTORY", "?"), ("FLUSHALL", "?")]
WORDS = """
SET k 1 EX 1 EX 2000|SET k 1 EX 1 PX 2|SET k 1 EX|SET k 1 NX XX|SET k 1 KEEPTTL EX 1|SET k 1 EX 1 KEEPTTL|SET k 1 foo|SET k 1 NX NX
SET k 1 GET GET|SET k 1 XX XX|SET k 1 KEEPTTL KEEPTTL|SET k|SET|SET k 1 PXAT 5 PXAT 9999999999999|SET k 1 EX 1 EX|SET k 1 EX 5 EX 0
GETEX k PERSIST PERSIST|GETEX k EX 1 PERSIST|GETEX k PERSIST EX 1|GETEX k foo|GETEX k EX|GETEX k EX 1 EX 1000|GETEX k EX 1 PX 1
GETEX k EX 1 EX|EXPIRE k 1 FOO|EXPIRE k 1 NX XX|EXPIRE k 1 NX GT|EXPIRE k 1 GT LT|EXPIRE k 1 NX NX|EXPIRE k 1 XX GT|EXPIRE k
TTL|TTL k x|MSET a|MSET a 1 b|MSETNX a|MSETNX a 1 b|MGET|DEL|EXISTS|TOUCH|UNLINK|GETDEL|GETSET a|SETNX a|STRLEN|TYPE|RENAME a
RENAME no x|RENAMENX no x|COPY no x|COPY k k|COPY k x FOO|COPY k x DB|COPY k x REPLACE REPLACE|RENAME k k|RENAMENX k k|KEYS|KEYS a b
RANDOMKEY x|DBSIZE x|SCAN|SCAN 0 FOO|SCAN 0 COUNT|SCAN 0 TYPE|SCAN 0 FOO 1|SCAN 0 MATCH|SCAN 0 COUNT 0|SCAN x|ECHO|ECHO a b|PING a b
SELECT|AUTH|AUTH x|AUTH a b|AUTH a b c|HELLO 3 FOO|HELLO 3 AUTH|HELLO 3 AUTH a|HELLO 3 AUTH a b|HELLO 3 SETNAME|HELLO 4
CLIENT|CLIENT FOO|CLIENT GETNAME x|CLIENT SETNAME|CLIENT KILL|CLIENT KILL x|CLIENT KILL ID|CLIENT KILL FOO 1|CLIENT KILL ADDR x
CLIENT KILL 1.2.3.4:5|CLIENT KILL USER nosuch|CLIENT KILL TYPE x|CLIENT KILL SKIPME x|CLIENT LIST FOO|CLIENT LIST TYPE
CLIENT LIST TYPE foo|CLIENT LIST ID|CLIENT LIST ID 0|CLIENT LIST ID 1 x|CLIENT REPLY|CLIENT PAUSE|CLIENT PAUSE 1 FOO
CLIENT UNPAUSE x|CLIENT UNBLOCK|CLIENT UNBLOCK 1 FOO|CLIENT NO-EVICT|CLIENT NO-EVICT x|CLIENT ID x|CLIENT INFO x
CONFIG|CONFIG FOO|CONFIG GET|CONFIG SET|CONFIG SET timeout|CONFIG SET nosuch 1|CONFIG SET timeout 1 timeout 2
CONFIG SET timeout 1 nosuch 1|CONFIG REWRITE x|CONFIG RESETSTAT x|CONFIG REWRITE|CONFIG SET timeout 1 x|SLOWLOG|SLOWLOG FOO
SLOWLOG GET 1 2|SLOWLOG LEN x|SLOWLOG RESET x|OBJECT|OBJECT FOO|OBJECT FOO k|OBJECT ENCODING|OBJECT ENCODING a b|MEMORY|MEMORY FOO
MEMORY USAGE|MEMORY USAGE k FOO|MEMORY USAGE k SAMPLES|MEMORY USAGE k x 1|MEMORY USAGE k SAMPLES 1 SAMPLES 0|LATENCY|LATENCY FOO
LATENCY LATEST x|LATENCY HISTORY|COMMAND FOO|COMMAND COUNT x|COMMAND GETKEYS|COMMAND GETKEYS FOO|COMMAND GETKEYS GET
COMMAND GETKEYS PING|COMMAND GETKEYS MSET a|COMMAND LIST FOO|COMMAND LIST FILTERBY FOO x|COMMAND LIST FILTERBY MODULE
MULTI x|EXEC|DISCARD|WATCH|UNWATCH x|EXEC x|DISCARD x|FLUSHALL FOO|FLUSHDB SYNC ASYNC|SAVE x|LASTSAVE x|SHUTDOWN FOO
REPLICAOF|REPLICAOF x|SLAVEOF a b c|REPLICAOF h 65536|REPLICAOF h x|ROLE x|WAIT 1|MONITOR x|TIME x|ACL|ACL FOO|ACL SETUSER
ACL SETUSER u foo|ACL SETUSER u +nosuch|ACL SETUSER u +@nosuch|ACL SETUSER u #abc|ACL SETUSER u !abc|ACL SETUSER u <nosuch
ACL DELUSER|ACL DELUSER default|ACL DELUSER nosuch|ACL GETUSER|ACL CAT nosuch|ACL CAT a b|ACL DRYRUN|ACL DRYRUN nosuch get x
ACL DRYRUN default nosuch|ACL DRYRUN default get|ACL LOG x|ACL WHOAMI x|ACL USERS x|ACL LIST x|ACL GENPASS 0|ACL GENPASS 5000
ACL GENPASS 1 2|INCR|INCR a b|DECR a b|INCRBY a|INCRBY a 1 2|GETRANGE a 1|SETRANGE a 1|PERSIST|PEXPIRETIME|nosuch|nosuch a b
get|GeT a b|READONLY|CLUSTER INFO|CLUSTER|ASKING"""
LONG = [("nosuch", "x" * 127), ("nosuch", "x" * 128), ("nosuch", "x" * 200, "y"), ("nosuch", "x" * 100, "y" * 100, "z"),
        ("x" * 200, "a"), ("no such", "a\r\nb"), ("nosuch", "a\0b", "c")]


def may_differ(words, ours, theirs):
    """Returns whether the replies may differ: 64-bit unsigned amounts are valid here, and parameters have other ranges."""
    huge = words[-1] in ("9223372036854775807", "9223372036854775808", "-9223372036854775808")
    between = " - argument must be between "
    return (words[0] in ("INCRBY", "DECRBY") and huge) or (
        words[0] == "CONFIG" and str(ours).split(between)[:-1] == str(theirs).split(between)[:-1] != [])


@case
def errors():
    """every error is that of redis, byte by byte"""
    commands = [tuple(bad if word == "?" else word for word in form) for form in NUMBERS for bad in BAD]
    commands += [tuple(words.split()) for line in WORDS.strip().splitlines() for words in line.split("|")]
    seen, wrong = 0, []
    with redis_server() as path, Server("--capacity", "1K") as server:
        def both():
            theirs = socket.socket(socket.AF_UNIX)
            theirs.connect(path)
            return wire.Replies(server.connect()), wire.Replies(theirs)
        pair = both()
        for words in (*commands, *LONG):
            for replies in pair:
                replies.ask("DEL", "k", "x")
                replies.ask("SET", "k", "10")
            ours, theirs = (replies.ask(*words) for replies in pair)
            for replies in pair:
                if words[:2] == ("CLIENT", "PAUSE"):
                    replies.ask("CLIENT", "UNPAUSE")
                if words[0] == "HELLO":
                    replies.ask("HELLO", "2")
            if isinstance(ours, wire.Error) or isinstance(theirs, wire.Error):
                seen += 1
                if ours != theirs and not may_differ(words, ours, theirs):
                    wrong.append(f"{words}: got {ours!r}, wanted {theirs!r}")
            if words[0] in ("SET", "GETEX"):
                equal(*[replies.ask("TTL", "k") > 500 for replies in pair], words)
        for replies in pair:
            replies.socket.close()
    equal("\n".join(wrong), "", "errors of redis")
    check(seen > 500, f"{seen} errors")


@case
def errorstats():
    """INFO errorstats and /metrics count errors by their first word, as redis does"""
    wrong = [("GET",), ("nosuch",), ("SET", "k", "1", "EX", "0"), ("AUTH", "someone", "x"), ("AUTH", "someone", "y"),
             ("HELLO", "4"), ("MULTI",), ("GET",), ("EXEC",), ("EXEC",), ("SET", "k", 2**64 - 1), ("CONFIG", "SET", "nosuch", "1"),
             ("SCAN", "x"), ("KEYS",)]
    with redis_server() as path, Server("--capacity", "1K") as server, server.connect() as ours:
        theirs = socket.socket(socket.AF_UNIX)
        theirs.connect(path)
        pair = wire.Replies(ours), wire.Replies(theirs)
        for words in wrong:
            for replies in pair:
                replies.ask(*words)
        shown = [{line for line in replies.ask("INFO", "errorstats").split(b"\r\n") if line.startswith(b"errorstat_")}
                 for replies in pair]
        equal(shown[0], shown[1], "INFO errorstats")
        equal(len(shown[0]), 4, shown[0])
        metrics = server.metrics()
        for line in shown[0]:
            word, count = line.decode().removeprefix("errorstat_").split(":count=")
            equal(metrics[f'sherwood_error_replies_total{{error="{word}"}}'], int(count), word)
        equal(sum(int(line.split(b"=")[1]) for line in shown[0]), metrics["sherwood_command_errors_total"], "in total")
        equal(pair[0].ask("ACL", "SETUSER", "default", "-get"), "OK", "a user without GET")
        equal(str(pair[0].ask("GET", 1)).split()[0], "NOPERM", "GET")
        check(b"errorstat_NOPERM:count=1" in pair[0].ask("INFO", "errorstats"), "NOPERM")
        theirs.close()


@case
def timeout():
    """CONFIG SET timeout: a wrong value changes nothing; the error for the range is that of redis"""
    with Server("--capacity", "1K") as server, server.replies() as replies:
        equal(replies.ask("CONFIG", "SET", "timeout", "7"), "OK", "CONFIG SET")
        for bad in ("", "abc", "01", "7.0", "-1", "86401", "9" * 30):
            check(isinstance(replies.ask("CONFIG", "SET", "timeout", bad), wire.Error), bad)
            equal(replies.ask("CONFIG", "GET", "timeout"), [b"timeout", b"7"], bad)
        said = "ERR CONFIG SET failed (possibly related to argument 'timeout') - argument must be between 0 and 86400 inclusive"
        equal(replies.ask("CONFIG", "SET", "timeout", "86401"), wire.Error(said), "the range")
        equal([replies.ask("CONFIG", "SET", "timeout", "0"), replies.ask("CONFIG", "SET", "timeout", "86400")], ["OK", "OK"], "ends")


if __name__ == "__main__":
    main()
