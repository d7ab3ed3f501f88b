#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sherwood-cli and sherwood-load against the daemon."""

import json
import os
import random
import re
import struct
import subprocess
import tempfile
import time

import wire
from harness import BUILD, SANITIZED, Server, at_once, case, check, drawn_seed, equal, main, run

CLI = BUILD / "sherwood-cli"
LOAD = BUILD / "sherwood-load"
KEYS = 50000 if SANITIZED else 200000


def cli(server, *arguments, **options):
    return run(CLI, "-a", server.address(), *arguments, **options)


@case
def cli_commands():
    """sherwood-cli: the commands that users type work"""
    with Server() as server:
        for arguments, wanted in (
                (("ping",), "PONG"), (("set", "42", "7"), "OK"), (("get", "42"), "7"),
                (("mset", "1", "10", "2", "20"), "OK"), (("mget", "1", "2", "3"), "10\n20\n"),
                (("incrby", "1", "5"), "15"), (("exists", "1", "2", "3"), "2"),
                (("del", "1", "3"), "1"), (("dbsize",), "2")):
            equal(cli(server, *arguments).strip(), wanted.strip(), " ".join(arguments))
        check("(nil)" in cli(server, "--no-raw", "get", "3"), "get of an absent key")
        shown = cli(server, stdin="set 5 50\nget 5\nincrby 5 1\nget x\nget 5\n", rc=None)
        equal(shown.splitlines()[:3], ["OK", "50", "51"], "commands from stdin")
        equal(shown.splitlines()[-1], "51", "the command after one that failed")
        cli(server, "set", "1", "-1", rc=1)
        cli(server, "nosuch", rc=1)
        cli(server, "--nonsense", rc=2)
        equal(cli(server, "flushall").strip(), "OK", "flushall")
        equal(cli(server, "dbsize").strip(), "0", "dbsize")
    check("127.0.0.1:1" in run(CLI, "-a", "127.0.0.1:1", "ping", rc=1), "nobody listens")


def pairs_of(width, count, seed):
    rng = random.Random(seed)
    top = 2**width - 1
    pairs = {rng.randrange(top): rng.randrange(top) for _ in range(count)}
    pairs[0] = top
    pairs[top] = 0
    return pairs


@case
def load_and_dump():
    """sherwood-cli load and dump restore the same data: CSV and binary, both widths"""
    for width in (64, 32):
        with Server("--key-bits", str(width)) as server, tempfile.TemporaryDirectory() as folder:
            pairs = pairs_of(width, 30000, drawn_seed() + width)
            csv, out = os.path.join(folder, "in.csv"), os.path.join(folder, "out")
            with open(csv, "w", encoding="ascii") as file:
                file.write("key,value\n" + "".join(f"{k},{v}\n" for k, v in pairs.items()))
            cli(server, "-q", "load", csv)
            equal(cli(server, "dbsize").strip(), str(len(pairs)), "dbsize")
            lines = cli(server, "-q", "dump", "--format", "csv", "-").split()
            if not lines[0][0].isdigit():
                lines.pop(0)
            equal({int(k): int(v) for k, v in (l.split(",") for l in lines)}, pairs, "CSV out")
            cli(server, "-q", "dump", out + ".bin")
            code = "Q" if width == 64 else "I"
            with open(out + ".bin", "rb") as file:
                data = file.read()
            equal(dict(struct.iter_unpack(f"<{code}{code}", data)), pairs, "binary out")
            cli(server, "flushall")
            cli(server, "-q", "load", out + ".bin")
            cli(server, "-q", "dump", out + ".csv")
            with open(out + ".csv", encoding="ascii") as file:
                back = dict(map(int, l.split(",")) for l in file if l[0].isdigit())
            equal(back, pairs, "after a round trip")


@case
def bad_files():
    """sherwood-cli load: a bad line is named, and the exit status says so"""
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bad.csv")
        for text, line in (("1,2\n3\n", 2), ("1,2\n3,x\n", 2), ("1,2\n-3,4\n", 2),
                           ("1,2\n3,18446744073709551616\n", 2), ("1,2\n\n3,4,5\n", 3)):
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
            check(f"{line}" in cli(server, "-q", "load", path, rc=1), f"line {line} of {text!r}")
        with open(os.path.join(folder, "bad.bin"), "wb") as file:
            file.write(bytes(16 + 7))
        cli(server, "-q", "load", file.name, rc=1)
        check("nosuch.csv" in cli(server, "load", folder + "/nosuch.csv", rc=1), "no such file")


def report_of(shown):
    """Returns the JSON that sherwood-load printed. A load of 2 s shows its progress before, on stderr."""
    return json.loads(shown[shown.index("{"):])


@case
def load_generator():
    """sherwood-load inserts and verifies, writes JSON that jq reads, and counters match"""
    with Server() as server:
        before = server.metrics()
        shown = run(LOAD, "--address", server.address(), "--keys", KEYS, "--frame", "4096",
                    "--json", timeout=120)
        report = report_of(shown)
        phases = run("jq", "-e", ".phases | length", stdin=json.dumps(report))
        equal(phases.strip(), "2", "phases")
        check(isinstance(report, dict), "one JSON object")
        check(report["verified"] and report["wants_found"], "verified, with the found bitmap")
        after = server.metrics()
        for operation in ("get", "upsert"):
            name = f'sherwood_operations_total{{operation="{operation}"}}'
            equal(after[name] - before[name], KEYS, name)
        name = 'sherwood_hits_total{operation="get"}'
        equal(after[name] - before[name], KEYS, name)
        equal(after["sherwood_inserted_total"] - before["sherwood_inserted_total"], KEYS, "inserted")
        equal(int(cli(server, "dbsize")), KEYS, "dbsize")


@case
def load_generator_finds_faults():
    """sherwood-load exits with 1 if a value was changed or a key removed meanwhile"""
    with Server() as server:
        base = (LOAD, "--address", server.address(), "--keys", "10000", "--quiet")
        run(*base)
        run(*base, "--operation", "get")
        key = run(LOAD, "--key-of", "77", "--keys", "10000").strip()
        server.redis_cli("SET", key, "1")
        run(*base, "--operation", "get", rc=1)
        value = run(LOAD, "--value-of", key, "--keys", "10000").strip()
        server.redis_cli("SET", key, value)
        run(*base, "--operation", "get")
        server.redis_cli("DEL", key)
        run(*base, "--operation", "get", rc=1)
    run(*base, rc=3)


@case
def load_generator_mixes():
    """sherwood-load: YCSB mixes and an open loop; replies equal a model's, by both protocols"""
    mixes = (("--mix", "get=40,set=20,sum=20,delete=20", "--hit-ratio", "0.7"), ("--ycsb", "d"),
             ("--ycsb", "b", "--rate", "20000"))

    def mixed(bits, chosen, protocol):
        with Server("--key-bits", bits) as server:
            for options in chosen:
                shown = run(LOAD, "--address", server.address(), "--keys", KEYS // 10,
                            "--seconds", "0.4", "--json", *protocol, *options, timeout=120)
                what = f"{bits} bits, {protocol[1]}, {' '.join(options)}"
                report = report_of(shown)
                check(report["ok"], what)
                check(any(p["operation"] == "check" for p in report["phases"]), what)
                equal(sum(p["missing"] + p["wrong"] for p in report["phases"]), 0, what)

    # Each with a daemon of its own: they run for a time, whatever they get done in it.
    at_once(mixed, [(bits, chosen, protocol)
                    for bits, chosen in (("64", mixes), ("32", mixes[:1]))
                    for protocol in (("--protocol", "bulk", "--frame", "512"),
                                     ("--protocol", "resp", "--key-bits", bits))], 2)


@case
def load_generator_resp():
    """sherwood-load --protocol resp: the same keys by RESP, MGET included"""
    with Server() as server:
        base = (LOAD, "--address", server.address(), "--protocol", "resp", "--keys", KEYS // 4,
                "--connections", "8", "--quiet")
        run(*base, timeout=120)
        run(*base, "--operation", "mget", "--mget", "50", "--depth", "1", timeout=120)
        run(LOAD, "--address", server.address(), "--keys", KEYS // 4, "--operation", "get",
            "--quiet", timeout=120)
        equal(int(cli(server, "dbsize")), KEYS // 4, "dbsize")


@case
def load_generator_engines():
    """sherwood-load: every engine by frames, byte values too; options that the server lacks are refused"""
    def refused(server, what, *options):
        result = subprocess.run([LOAD, "--address", server.address(), "--keys", "1000", *options],
                                capture_output=True, text=True, timeout=60, check=False)
        equal(result.returncode, 2, f"exit status of {options}")
        check(what in result.stderr, result.stderr)

    for engine in (("robin_hood",), ("cuckoo",), ("cache", "--value-bytes", "20"),
                   ("cache", "--value-bytes", "8", "--value-format", "fixed")):
        is_cache = engine[0] == "cache"
        with Server("--engine", *engine) as server:
            base = (LOAD, "--address", server.address(), "--keys", KEYS // 10, "--frame", "1000", "--quiet")
            if is_cache:
                refused(server, "values are bytes: a mix needs integers", "--mix", "set=1")
                refused(server, f"use --value-bytes {engine[2]}", "--value-bytes", "21")
            else:
                refused(server, "leave out --value-bytes", "--value-bytes", "4")
            equal(int(cli(server, "dbsize")), 0, "dbsize")
            run(*base, "--operation", "set-delete", timeout=120)
            run(*base, *(("--value-bytes", "13") if engine[-1] == "20" else ()), timeout=120)
            run(*base, "--operation", "set-delete", rc=1, timeout=120)
            run(*base, "--first", 5 * KEYS, timeout=120)
            key = run(LOAD, "--key-of", "77", "--keys", "1").strip()
            server.redis_cli("SET", key, "A" * 8 if is_cache else "7")
            run(*base, "--operation", "get", rc=1, timeout=120)
            run(*base, "--operation", "delete", timeout=120)
            equal(int(cli(server, "dbsize")), KEYS // 10, "dbsize")


@case
def load_generator_answers_wanted():
    """sherwood-load: twelve clients, frames of 1 to 500 keys; values before each write are verified"""
    with Server() as server:
        base = (LOAD, "--address", server.address(), "--keys", KEYS // 10, "--seconds", "1", "--frame", "500",
                "--frame-min", "1", "--connections", "12", "--depth", "1", "--want-previous", "--json",
                "--mix", "get=1,set=1,sum=1,delete=1")
        for options in ((), ("--frames-prefilled", "50")):
            report = report_of(run(*base, *options, timeout=120))
            check(report["ok"] and report["wants_previous"], "ok")
            phase = report["phases"][1]
            check(1 < phase["keys"] / phase["units"] < 400, "sizes of frames")
            equal(sum(phase["operations"].values()), phase["keys"], "operations")


@case
def load_generator_32():
    """sherwood-load works with a server of 32 bits"""
    with Server("--key-bits", "32") as server:
        run(LOAD, "--address", server.address(), "--keys", KEYS, "--frame", "1000", "--connections",
            "6", "--depth", "8", "--quiet", timeout=120)
        equal(int(cli(server, "dbsize")), KEYS, "dbsize")


@case
def load_generator_without_found():
    """sherwood-load --no-found still verifies, and finds a removed key"""
    with Server() as server:
        base = (LOAD, "--address", server.address(), "--keys", "10000", "--no-found")
        report = report_of(run(*base, "--json"))
        check(report["ok"] and report["verified"] and not report["wants_found"], report)
        check("the replies had no found bitmaps" in run(*base, "-f", "512", "--mix", "get=1,delete=1",
              "--hit-ratio", "0.5"), "what the report says of a mix")
        run(*base, "--quiet")
        server.redis_cli("DEL", run(LOAD, "--key-of", "77", "--keys", "10000").strip())
        run(*base, "--operation", "get", "--quiet", rc=1)


@case
def load_generator_tables():
    """sherwood-load --tables spreads its keys evenly over tables; a frame reads one of them or, by segments, all of them"""
    with Server() as server, server.connect() as connection:
        replies = wire.Replies(connection)
        base = (LOAD, "--address", server.address(), "--keys", "16384", "--tables", "4", "--no-found", "--json")
        report = report_of(run(*base, "--frame", "512"))
        equal([report["ok"], report["tables"], report["segments"]], [True, 4, False], "one table a frame")
        for table in ("load0", "load1", "load2", "load3"):
            equal([replies.ask("SELECT", table), replies.ask("DBSIZE")], ["OK", 4096], table)
        for order in ((), ("--seconds", "0.1"), ("--seconds", "0.1", "--distribution", "zipf"),
                      ("--seconds", "0.1", "--distribution", "sequential")):
            for segments, frame in (((), "512"), (("--segments",), "2048")):
                before = server.metrics()["sherwood_frame_segments_total"]
                report = report_of(run(*base, "--operation", "get", "--frame", frame, *order, *segments))
                phase, used = report["phases"][0], server.metrics()["sherwood_frame_segments_total"] - before
                equal([report["ok"], phase["hits"], used], [True, phase["keys"], 4 * phase["units"] if segments else 0], f"{order} {segments}")
        phase = report_of(run(*base, "--keys", "65536", "--operation", "get", "--frame", "16384", "--segments", "--seconds", "0.1",
                               "--frames-prefilled", "1", "--splice", "always"))["phases"][0]
        equal(phase["system_calls"]["bytes_spliced"], 8 * phase["keys"], "prefilled frames by segments are sent as pages")
        check("4 tables, each frame of gets reads all of them" in run(*base[:-1], "--operation", "get", "--frame", "2048", "--segments"), "report")
        equal([replies.ask("SELECT", "load2"), replies.ask("FLUSHDB")], ["OK", "OK"], "a lost table")
        for segments in ((), ("--segments",)):
            said = run(*base, "--operation", "get", "--frame", "2048", *segments, rc=1)
            check("get: 4096 keys missing" in said, f"{segments}: the keys of one table are missing: {said}")
        run(*base, "--operation", "set", "--frame", "2048")
        run(*base, "--operation", "delete", "--frame", "2048")
        equal(replies.ask("DBSIZE"), 0, "every key is deleted")
        equal(replies.ask("TABLE", "DROP", "load3"), "OK", "DROP")
        equal(replies.ask("TABLE", "CREATE", "load3", "value-bytes", "16", "value-type", "bytes"), "OK", "CREATE")
        run(*base, "--operation", "get", "--frame", "2048", rc=2)


@case
def load_generator_times():
    """sherwood-load --ttl: both protocols, past the expiry time; it finds keys that expire early or stay"""
    bulk, resp = ("--frame", "256"), ("--protocol", "resp", "--connections", "4", "--depth", "16")

    def timed(protocol):
        with Server() as server:
            base = (LOAD, "--address", server.address(), "--keys", "5000", *protocol)
            report = report_of(run(*base, "--ttl", "0.5", "--seconds", "1.5", "--rate", "20K", "--json",
                                    timeout=120))
            check(report["ok"] and report["ttl"] == 0.5 and report["phases"][1]["expired"] > 0, report)
            equal(int(cli(server, "dbsize")), 0, "dbsize")
            check("times a key was absent because its 0.1 s had or may have ended" in
                  run(*base, "--ttl", "0.1", "--seconds", "1", "--mix", "get=5,set=2,sum=1,delete=1,insert=1",
                      "--hit-ratio", "0.9", "--rate", "20K", timeout=120), "what the report says of a mix")
            # what another one does meanwhile, to key number 9000
            few = (LOAD, "--address", server.address(), "--keys", "100", "--first", "9K", "--quiet", "--rate", "2K",
                   *protocol)
            key = run(LOAD, "--key-of", "9000").strip()
            for command, wanted, *times in (("PERSIST", "should not be there", "--ttl", "2", "--seconds", "4"),
                                            ("DEL", "is missing", "--ttl", "60", "--seconds", "1.5")):
                server.redis_cli("DEL", key)
                with server.connect() as connection, \
                        subprocess.Popen([*few, *times], stderr=subprocess.PIPE, text=True) as load:
                    answer = b""
                    while answer != b":1\r\n" and load.poll() is None:
                        time.sleep(0.02)
                        connection.sendall(f"{command} {key}\r\n".encode())
                        answer = connection.recv(100)
                    said = load.stderr.read()
                    equal((answer, load.wait(timeout=120)), (b":1\r\n", 1), f"{command}: {said}")
                check(wanted in said, said)

    at_once(timed, [(bulk,), (resp,)], 2)
    with Server("--engine", "cuckoo") as server:
        check("has no expiry times" in run(LOAD, "--address", server.address(), "--ttl", "1", rc=2), "refusal")


@case
def counts():
    """texts about one thing have a singular noun: tools, errors, the log and the status page"""
    plural = re.compile(r"(?<![\w.:,])1 (?!of |ms\b|MiB\b|is\b|was\b|has\b)[a-z]+s\b.{0,40}")
    with tempfile.TemporaryDirectory() as folder:
        flags = ("--data-dir", folder, "--appendonly", "yes", "--loops", "1", "--monitors-max", "1", "--slowlog-log-slower-than", "0")
        with Server(*flags, "--capacity", "2", "--max-load", "0.5") as server, server.connect() as socket:
            said = [cli(server, "load", "--format", "csv", "-", stdin="1,2\n"), cli(server, "dump", "--format", "csv", "-"),
                    cli(server, "summary"), cli(server, "digest"), server.redis_cli("SAVE")]
            equal(wire.Replies(socket).ask("MONITOR"), "OK", "MONITOR")
            said += [server.redis_cli("MONITOR"), server.redis_cli("RESIZE", "0"),
                     server.redis_cli("SLOWLOG", "GET", "9"), server.http("/status.json")[2]]
            said += [run(LOAD, "-a", server.address(), "-n", "1", "-c", "1", "-t", "1", "--frame", "1", "--depth", "1", rc=None)]
            said += [server.line, server.log()]
        snapshot, = [name for name in os.listdir(folder) if name.startswith("snapshot-")]
        said += [run(CLI, "snapshot", "verify", f"{folder}/{snapshot}"), run(CLI, "log", "check", folder)]
        with Server(*flags, "--capacity", "2", "--max-load", "0.5") as server:
            said += [server.log(), server.http("/status.json")[2]]
    shown = "\n".join(map(str, said))
    for wanted in ("1 key loaded", "1 key; 0 values are 0", "ERR MONITOR has its most connections, 1: end one", "choose 1 to 4", "1 I/O loop", "It loaded 1 key.",
                   "1 connection, 1 thread, 1 key a frame, 1 frame in flight", "1 key in 1 block", "loaded 1 key of", ": 1 key, 0 MiB"):
        check(wanted in shown, f"{wanted}: {shown}")
    equal(plural.findall(shown), [], "a plural after 1")


@case
def mistakes():
    """sherwood-cli and sherwood-load say what to do about a wrong word, a wrong file and a wrong folder"""
    with tempfile.TemporaryDirectory() as folder, Server() as server:
        short = f"{folder}/short"
        with open(short, "w", encoding="ascii") as file:
            file.write("1,2\n")
        for words, rc, wanted in ((("summary", "x"), 2, "usage: sherwood-cli [options] summary"),
                                  (("log", "check", folder), 0, f"{folder}: no log: the directory has no file log-*"),
                                  (("snapshot", "info", short), 1, "is not a snapshot: it is shorter than a header"),
                                  (("cluster", "move", "99999", "a", "b"), 1, "is not a list of slots from 0 to 16383")):
            check(wanted in cli(server, *words, rc=rc), words)
        for words, wanted in ((("-o", "put"), "--operation put is not known: choose "), (("--pass", "x"), "--help lists the options")):
            check(wanted in run(LOAD, *words, rc=2), words)


if __name__ == "__main__":
    main()
