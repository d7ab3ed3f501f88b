#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""/status.json: its fields are those of the documentation, its values those of /metrics and of the work done."""

import json
import math
import re
import time

import wire
from harness import ROOT, Server, case, check, equal, eventually, main

# What is compared with /metrics, path for path.
SAME = {
    "server.started_at": "sherwood_start_time_seconds",
    "server.loops": "sherwood_loops",
    "totals.get.operations": 'sherwood_operations_total{operation="get"}',
    "totals.get.hits": 'sherwood_hits_total{operation="get"}',
    "totals.get.misses": 'sherwood_misses_total{operation="get"}',
    "totals.get.probes": 'sherwood_probes_total{operation="get"}',
    "totals.write.operations": 'sherwood_operations_total{operation="upsert"}',
    "totals.write.hits": 'sherwood_hits_total{operation="upsert"}',
    "totals.write.misses": 'sherwood_misses_total{operation="upsert"}',
    "totals.write.probes": 'sherwood_probes_total{operation="upsert"}',
    "totals.delete.operations": 'sherwood_operations_total{operation="delete"}',
    "totals.delete.hits": 'sherwood_hits_total{operation="delete"}',
    "totals.delete.misses": 'sherwood_misses_total{operation="delete"}',
    "totals.delete.probes": 'sherwood_probes_total{operation="delete"}',
    "totals.inserted": "sherwood_inserted_total",
    "totals.updated": "sherwood_updated_total",
    "totals.deleted": "sherwood_deleted_total",
    "totals.refused": "sherwood_refused_operations_total",
    "totals.evicted": "sherwood_evictions_total",
    "totals.commands": "sherwood_commands_processed_total",
    "totals.command_errors": "sherwood_command_errors_total",
    "totals.frames": "sherwood_frames_processed_total",
    "totals.frame_errors": "sherwood_frame_errors_total",
    "totals.batches": "sherwood_batches_total",
    "totals.batch_operations": "sherwood_batch_operations_total",
    "totals.input_bytes": "sherwood_net_input_bytes_total",
    "totals.output_bytes": "sherwood_net_output_bytes_total",
    "table.keys": "sherwood_db_keys",
    "table.capacity_slots": "sherwood_table_capacity_slots",
    "table.max_capacity_slots": "sherwood_table_max_capacity_slots",
    "table.occupied_max": "sherwood_table_occupied_max",
    "table.load": "sherwood_table_load_ratio",
    "table.max_load": "sherwood_table_max_load_ratio",
    "table.max_probe_buckets": "sherwood_table_max_probe_buckets",
    "table.stash_keys": "sherwood_stash_keys",
    "table.stash_slots": "sherwood_stash_capacity_slots",
    "table.growths": "sherwood_table_growths_total",
    "table.resizes": "sherwood_table_resizes_total",
    "table.resize_failures": "sherwood_table_resize_failures_total",
    "table.write_launches": "sherwood_table_write_launches_total",
    "connections.clients": "sherwood_connected_clients",
    "connections.clients_max": "sherwood_clients_max",
    "connections.paused": "sherwood_paused_clients",
    "connections.accepted": "sherwood_connections_accepted_total",
    "connections.closed": "sherwood_connections_closed_total",
    "connections.rejected": "sherwood_connections_rejected_total",
    "memory.table_bytes": "sherwood_table_bytes",
    "memory.arena_bytes": "sherwood_arena_bytes",
    "memory.arena_used_bytes": "sherwood_arena_used_bytes",
    "memory.input_bytes": "sherwood_input_memory_bytes",
    "memory.input_bytes_max": "sherwood_input_memory_max_bytes",
    "persistence.enabled": "sherwood_persistence_enabled",
    "persistence.loading": "sherwood_persistence_loading",
    "persistence.saving": "sherwood_persistence_saving",
    "persistence.last_save_ok": "sherwood_persistence_last_save_ok",
    "persistence.writes_refused": "sherwood_persistence_writes_refused",
    "persistence.saved_at": "sherwood_persistence_last_save_timestamp_seconds",
    "persistence.saves": "sherwood_persistence_saves_total",
    "persistence.failures": "sherwood_persistence_save_failures_total",
    "persistence.changes": "sherwood_persistence_changes_since_last_save",
    "persistence.last_seconds": "sherwood_persistence_last_save_duration_seconds",
    "persistence.last_hold_seconds": "sherwood_persistence_last_save_hold_seconds",
    "persistence.last_bytes": "sherwood_persistence_last_save_bytes",
    "persistence.last_keys": "sherwood_persistence_last_save_keys",
    "persistence.log.written": "sherwood_persistence_written_sequence",
    "persistence.log.durable": "sherwood_persistence_durable_sequence",
    "persistence.log.backlog_bytes": "sherwood_persistence_log_backlog_bytes",
    "persistence.log.bytes": "sherwood_persistence_log_bytes",
    "persistence.log.segments": "sherwood_persistence_log_segments",
    "persistence.log.records": "sherwood_persistence_log_records_total",
}


def status(server, query=""):
    """The document, parsed; every number in it is finite."""
    code, headers, text = server.http("/status.json" + query)
    equal((code, headers.get("Content-Type")), (200, "application/json"), "/status.json")
    equal(headers.get("X-Content-Type-Options"), "nosniff", "nosniff")
    equal(headers.get("Cache-Control"), "no-store", "Cache-Control")
    check(len(text) <= 256 * 1024, f"{len(text)} bytes")

    def number(word):
        check(math.isfinite(float(word)) and float(word) >= 0, word)
        return float(word) if re.search("[.eE]", word) else int(word)

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")
    return json.loads(text, parse_float=number, parse_int=number, parse_constant=refuse)


def paths(value, at=""):
    """Returns every path of the document, as deploy/docs/ref/status.md writes it, with its value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from paths(inner, f"{at}.{name}" if at else name)
    elif isinstance(value, list):
        if not value or not isinstance(value[0], dict):
            yield at + "[]", value
        for inner in value:
            if isinstance(inner, dict):
                yield from paths(inner, at + "[]")
    else:
        yield at, value


def with_log(*flags):
    """Yields a daemon with its own data directory and a log."""
    server = Server("--appendonly", "yes", "--appendfsync", "always", *flags)
    server.flags += ["--data-dir", str(server.directory)]
    return server


def work(server):
    """Sends some of everything: 300 sets, 200 gets of which half hit, 50 deletes."""
    with server.connect() as connection:
        replies = wire.Replies(connection)
        for first in range(0, 300, 100):
            keys = range(first, first + 100)
            equal(replies.ask("MSET", *[n for k in keys for n in (k, k)]), "OK", "MSET")
        equal(len(replies.ask("MGET", *range(200, 400))), 200, "MGET")
        equal(replies.ask("DEL", *range(50)), 50, "DEL")
        check(isinstance(replies.ask("NOSUCH"), wire.Error), "NOSUCH")
        connection.sendall(wire.frame(wire.PING))
    eventually(lambda: server.connections() == 0, "no connection")


@case
def described():
    """deploy/docs/ref/status.md lists every field of /status.json, and no other"""
    document = (ROOT / "deploy/docs/ref/status.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([^`]+)` \|", document, re.M)
    equal(len(listed), len(set(listed)), "rows of status.md")
    with with_log() as server:
        present = {path for path, _ in paths(status(server))}
        equal(status(server)["problems"][0]["severity"], "note", "a daemon that was just started")
    # of a GPU: test_gpu_figures.py
    gone = {path for path in set(listed) - present if not path.startswith("gpu.")}
    equal(gone, {"persistence.log"}, "listed, and not there")
    equal(sorted(present - set(listed)), [], "there, and not listed")
    header = (ROOT / "server" / "observe" / "history.h").read_text(encoding="utf-8").replace("\\\n", " ")
    helps = dict(re.findall(r'X\((\w+), s[^"]*"([^"]*)"\)', header))
    check(len(helps) >= 25, helps)
    for name, text in helps.items():
        check(f"| `history.{name}[]` | {text} |" in document, f"history.{name}: {text}")


@case
def same_as_metrics():
    """the values of /status.json are those of /metrics and INFO, with each engine and a log"""
    for flags in ((), ("--engine", "cuckoo"), ("--engine", "cache", "--value-bytes", "16")):
        with (Server(*flags) if flags else with_log()) as server:
            if not flags:
                work(server)
                equal(server.redis_cli("SAVE").strip(), "OK", "SAVE")
                eventually(lambda: server.connections() == 0, "no connection")
            document, samples = status(server), server.metrics()
            values = dict(paths(document))
            for path, name in SAME.items():
                if path in values:
                    check(abs(values[path] - samples[name]) <= 1e-6 * abs(samples[name]),
                          f"{path} is {values[path]}, {name} is {samples[name]}")
            check(flags or not set(SAME) - set(values), set(SAME) - set(values))
            info = server.redis_cli("INFO", "everything")
            for path, field in (("version", "sherwood_version"), ("run_id", "run_id"),
                                ("process_id", "process_id"), ("engine", "engine"),
                                ("backend", "backend"), ("backend_reason", "backend_reason"),
                                ("value_format", "value_format")):
                check(f"\n{field}:{document['server'][path]}\r\n" in info or
                      f"\n{field}:{document['server'][path]}\n" in info, f"{field}: {info}")


@case
def history():
    """the samples of a burst of work add up to it, and since= returns each once"""
    with Server() as server:
        eventually(lambda: status(server)["history"]["newest"] >= 1, "the first sample")
        before = status(server)["history"]["newest"]
        work(server)
        def seen():
            columns = status(server)["history"]
            return columns if columns["newest"] > before + 1 else None
        columns = eventually(seen, "two samples more")
        times, lists = columns["at_ms"], {n: c for n, c in columns.items() if isinstance(c, list)}
        equal({len(column) for column in lists.values()}, {len(times)}, "lengths")
        equal(times, sorted(times), "times")
        equal(columns["newest"] - columns["first"] + 1, len(times), "numbers")
        totals = status(server)["totals"]
        moved = {"writes": 300, "gets": 200, "hits": 100, "misses": 100, "deletes": 50, "errors": 1,
                 "commands": totals["commands"], "input_bytes": totals["input_bytes"]}
        seconds = [(b - a) / 1e3 for a, b in zip(times, times[1:])]
        for name, wanted in moved.items():
            # The first sample of all has none before it, and nothing had happened by then.
            total = lists[name][0] * 1.0 + sum(r * s for r, s in zip(lists[name][1:], seconds))
            check(abs(total - wanted) <= 0.02 * wanted, f"{name}: {total} of {wanted}")
        equal(lists["keys"][-1], 250, "keys")
        check(any(l is not None and l > 0 for l in lists["batch_us_p99"]), lists["batch_us_p99"])
        for low, high in zip(lists["batch_us_p50"], lists["batch_us_p99"]):
            check(low is None and high is None or low <= high, f"p50 {low}, p99 {high}")
        latency = status(server)["latency"]
        check(0 < latency["batch_us_p50"] <= latency["batch_us_p99"] <= latency["batch_us_p999"], latency)

        newest = columns["newest"]
        later = status(server, f"?since={newest - 1}")["history"]
        check(later["first"] == newest and later["newest"] - newest <= 2, later)
        equal(later["writes"][0], lists["writes"][-1], "the same sample")
        equal(status(server, "?since=999999999")["history"]["writes"], [], "none are as new")
        for wrong in ("x", "-1", "", "1.5", "99999999999999999999"):
            code, _, text = server.http(f"/status.json?since={wrong}")
            equal((code, text), (400, "since is the number of a sample: decimal digits.\n"), wrong)


@case
def alerts():
    """the conditions of problems are those of deploy/prometheus, with the same severity and a section in the runbook"""
    rules = (ROOT / "deploy" / "prometheus" / "sherwood.rules.yml").read_text(encoding="utf-8")
    source = (ROOT / "server" / "observe" / "problems.c").read_text(encoding="utf-8")
    wanted = re.findall(r"- alert: (\w+)\n(?:.*\n)*?\s+severity: (\w+)", rules)
    have = re.findall(r'^    \{"(\w+)", "(\w+)", \w+\},$', source, re.M)
    wanted.remove(("SherwoodDown", "critical"))  # the page's to tell
    wanted[wanted.index(("SherwoodRestarted", "warning"))] = ("SherwoodRestarted", "note")
    equal(sorted(have), sorted(wanted), "problems.c and sherwood.rules.yml")
    runbook = (ROOT / "deploy" / "docs" / "operations.md").read_text(encoding="utf-8")
    sections = re.findall(r"^### (\w+)\n\n(?=[^#\n])", runbook[runbook.index("\n## Alerts\n"):], re.M)
    alerts_of_rules = re.findall(r"- alert: (\w+)", rules)
    equal(sorted(sections), sorted(alerts_of_rules), "operations.md and sherwood.rules.yml")
    equal(re.findall(r"runbook: (\S+)", rules), [f"deploy/docs/operations.md#{name.lower()}" for name in alerts_of_rules], "runbook")


@case
def problems():
    """/status.json reports a full table as a problem while it refuses writes"""
    with Server("--capacity", "4096") as server:
        with server.replies() as replies:
            refused = 0
            for key in range(0, 4096, 64):
                said = replies.ask("MSET", *[n for k in range(key, key + 64) for n in (k, 1)])
                refused += isinstance(said, wire.Error)
            check(refused > 0, "nothing was refused")
        found = {p["alert"]: p for p in status(server)["problems"]}
        equal(sorted(found), ["SherwoodRestarted", "SherwoodTableNearlyFull", "SherwoodWritesRefused"],
              "problems")
        equal(found["SherwoodWritesRefused"]["severity"], "critical", "severity")
        check(f"{64 * refused} operations were refused" in found["SherwoodWritesRefused"]["text"], found)


@case
def quiet_costs_nothing():
    """the samples of an idle daemon cost under 50 ms of CPU time in 3 s, and no memory"""
    with Server() as server:
        time.sleep(1)
        memory, spent = server.resident_bytes(), []
        for _ in range(10):  # on a machine with more to do the same work takes more CPU time, so the best of ten counts
            before = status(server)
            time.sleep(3)
            eventually(lambda b=before: status(server)["history"]["newest"] >= b["history"]["newest"] + 2, "two samples")
            spent.append(status(server)["server"]["cpu_seconds"] - before["server"]["cpu_seconds"])
            if spent[-1] < 0.05:
                break
        check(spent[-1] < 0.05, f"{spent} s of CPU time")
        check(server.resident_bytes() - memory < 2**20, "memory")


if __name__ == "__main__":
    main()
