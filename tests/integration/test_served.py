#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""bench/serve/served.py: a small run of the study of served rates, on the CPU backend."""

import csv
import importlib.machinery
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile

from harness import BUILD, ROOT, SANITIZED, Skip, case, check, equal, main

SERVE = ROOT / "bench" / "serve"
STUDY = SERVE / "served.py"
sys.path.insert(0, str(SERVE))
# pylint: disable=wrong-import-position
from results import RATE, Results, Row, bars  # noqa: E402


def study(folder, *options, build=BUILD):
    """Runs the study with a small table and short rows: (exit status, output, rows of summary.csv)."""
    done = subprocess.run([STUDY, "--build", build, "--output", folder, "--backend", "cpu", "--slots", "64Ki",
                           "--quick", "--seconds", "0.1", "--loops", "2", "--threads", "2", "--connections", "4",
                           "--frames", "4Ki", *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=240, check=False)
    with open(folder / "summary.csv", encoding="ascii") as file:
        return done.returncode, done.stdout, list(csv.DictReader(file))


@case
def frames():
    """one frame size: every operation and load has a rate, and its ratio to the gets"""
    if SANITIZED:
        raise Skip("it is timed")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        status, text, rows = study(folder, "--parts", "frames32")
        errors = [line for line in text.split("\n") if line.startswith("ERROR")]
        # On a machine that is busy with other things, the updates beside gets may not have their rate.
        check(all("gets beside updates" in error for error in errors), text)
        equal(status, 1 if errors else 0, text)
        found = {(row["operation"], row["F"], row["metric"]): float(row["value"]) for row in rows}
        for operation, load in (("get", "0.85"), ("insert", "0.5"), ("insert", "0.85"), ("insert", "0.95"),
                                ("update", "0.85"), ("delete", "0.5"), ("delete", "0.85"), ("delete", "0.95")):
            check(found[operation, load, RATE] > 0, f"{operation} at {load}: {text}")
            if operation != "get":
                ratio = found[operation, load, RATE] / found["get", "0.85", RATE]
                check(abs(found[operation, load, "ratio_to_get"] - ratio) < 1e-6 * ratio, f"{operation} {load}")
        equal({(row["study"], row["library"], row["slot_bits"], row["batch"]) for row in rows},
              {("served", "sherwood", "64", "4096")}, "what the rows are of")
        info = (folder / "run_info.txt").read_text(encoding="utf-8")
        check("\ncommit: " in info and "\nend: done" in info and "cpu backend" in info, info)


@case
def too_few_slots():
    """the part tables refuses a table that has no full frame for each of the tables, before it starts a daemon"""
    done = subprocess.run([STUDY, "--parts", "tables", "--slots", "16Mi"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    equal((done.returncode, "too few for the part tables: give 33554432 or more" in done.stderr), (2, True), done.stderr)


@case
def rows_of_floats():
    """rows, beside a daemon that stores none: rates of gets and sets, their ratio, a bar for each"""
    if SANITIZED:
        raise Skip("it is timed")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        status, text, rows = study(folder, "--parts", "rows", "--row-slots", "16Ki", "--row-bytes", "64")
        equal(status, 0, text)
        equal({(row["study"], row["slot_bits"], row["F"], row["batch"]) for row in rows},
              {("rows_served", "640", "0.75", "4096")}, "what the rows are of")
        found = {(row["library"], row["operation"], row["metric"]): float(row["value"]) for row in rows}
        check(found["sherwood", "insert", RATE] > 0, text)
        for operation in ("get", "update"):
            ratio = found["sherwood", operation, RATE] / found["sherwood-null", operation, RATE]
            check(abs(found["sherwood", operation, "ratio_to_null"] - ratio) < 1e-6 * ratio, text)
        equal((folder / "bars.txt").read_text(encoding="ascii").count(">= 0.8"), 2, "bars")


@case
def gets():
    """the part gets: by socket and by ring in turns with the daemon without a table, and single GETs of both beside frames"""
    if SANITIZED:
        raise Skip("it is timed")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        status, text, rows = study(folder, "--parts", "gets", "--frames", "4Ki,16Ki")
        equal(status, 0, text)
        equal({row["study"] for row in rows}, {"gets_served"}, "studies")
        found = {(row["library"], row["operation"], row["slot_bits"], row["batch"], row["metric"]): float(row["value"]) for row in rows}
        for bits in ("64", "128"):
            for operation in ("get", "get_ring", "get_one", "get_one_ring"):
                rate, null = (found[library, operation, bits, "4096", RATE] for library in ("sherwood", "sherwood-null"))
                ratio = found["sherwood", operation, bits, "4096", "ratio_to_null"]
                check(abs(ratio - rate / null) < 1e-6 * ratio, f"{operation}, {bits} bits: {text}")
            for operation in ("get", "get_ring"):
                rate, smaller = (found["sherwood", operation, bits, frame, RATE] for frame in ("16384", "4096"))
                ratio = found["sherwood", operation, bits, "16384", "ratio_to_smaller"]
                check(abs(ratio - rate / smaller) < 1e-6 * ratio, f"{operation}, {bits} bits: {text}")
        for what in ("gets", "updates"):
            row = (f"resp_get_p1_beside_{what}", "64", "16384")
            equal(found["sherwood", *row, "ceiling_latency_p99"], found["sherwood-null", *row, "latency_p99"], what)
        equal((folder / "bars.txt").read_text(encoding="ascii").count("<= 300"), 3, "bars of single GETs")


@case
def compare():
    """bench/serve/compare.py: both servers by both tools, and the ratio of each pair"""
    if SANITIZED:
        raise Skip("it is timed")
    if shutil.which("redis-server") is None or shutil.which("redis-benchmark") is None:
        raise Skip("there is no redis-server, or no redis-benchmark")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        done = subprocess.run([SERVE / "compare.py", "--build", BUILD, "--output", folder, "--backend", "cpu", "--quick",
                               "--seconds", "0.1", "--keys", "10000", "--threads", "2"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, check=False)
        equal(done.returncode, 0, done.stdout)
        with open(folder / "summary.csv", encoding="ascii") as file:
            rows = {(r["library"], r["operation"], r["metric"]): float(r["value"]) for r in csv.DictReader(file)}
        pairs = [f"{operation} by {tool}" for operation in ("set_p64", "get_p64", "mget_p16")
                 for tool in ("sherwood-load", "redis-benchmark")]
        for pair in pairs:
            ratio = rows["sherwood", pair, RATE] / rows["redis", pair, RATE]
            check(abs(rows["sherwood/redis", pair, "ratio"] - ratio) < 1e-6 * ratio, pair)
        best = max(rate for (library, operation, metric), rate in rows.items()
                   if library == "redis" and metric == RATE and operation.startswith("mget"))
        ratio = rows["sherwood", "get_bulk by sherwood-load", RATE] / best
        found = rows["sherwood/redis", "bulk GET of 65536 / best redis MGET of 100", "ratio"]
        check(abs(found - ratio) < 1e-6 * ratio, f"bulk GET: {found}, not {ratio}")
        check("\nend: done" in (folder / "run_info.txt").read_text(encoding="utf-8"), done.stdout)


@case
def redis_by_io_threads():
    """the part redis: with as many I/O threads as the generator has threads, and with one"""
    if SANITIZED:
        raise Skip("it is timed")
    if shutil.which("redis-server") is None:
        raise Skip("there is no redis-server")
    with tempfile.TemporaryDirectory() as name:
        status, text, rows = study(pathlib.Path(name), "--parts", "redis")
        equal(status, 0, text)
        rates = {(row["library"], row["operation"]): float(row["value"]) for row in rows if row["metric"] == RATE}
        equal({library for library, _ in rates}, {"redis", "redis-1"}, "libraries")
        check(len(rates) == 10 and min(rates.values()) > 0, rates)
        equal({row["slot_bits"] for row in rows}, {""}, "redis has no slots")
        check("redis-1: --io-threads 1" in (pathlib.Path(name) / "run_info.txt").read_text(encoding="utf-8"), "flags")


@case
def wrong_replies():
    """a wrong reply in a row is an error and no number; the exit status is 1"""
    with tempfile.TemporaryDirectory() as name:
        folder, build = pathlib.Path(name) / "out", pathlib.Path(name) / "build"
        build.mkdir()
        (build / "sherwoodd").symlink_to(BUILD / "sherwoodd")
        # It says of every load that one of its keys was there.
        (build / "sherwood-load").write_text(
            '#!/bin/sh\necho \'{"ok": true, "phases": [{"operation": "set", "keys": 26214, "hits": 1, '
            '"keys_per_second": 1}]}\'\n', encoding="ascii")
        (build / "sherwood-load").chmod(0o755)
        status, text, rows = study(folder, "--parts", "frames32", build=build)
        equal(status, 1, text)
        equal(rows, [], "rows")
        check("ERROR: u32 frames, 4096 keys a frame" in text and "1 of 26214 keys were there" in text, text)
        check("1 of 26214 keys" in (folder / "run_info.txt").read_text(encoding="utf-8"), "run_info.txt")
        (build / "sherwood-load").unlink()
        for program in ("sherwood-load", "random-lines"):
            text = study(folder, "--parts", "host", "--host-slots", "64Ki", "--host-keys", "32Ki", build=build)[1]
            check(f"{build}/{program} does not exist: run `make build/{program}`" in text, text)
            (build / program).symlink_to(BUILD / program)


@case
def medians_and_bars():
    """medians over repetitions, and bars"""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "here" / "served"
        folder.mkdir(parents=True)
        results = Results(folder)
        for repetition, factor in enumerate((1, 3, 2), 1):
            for operation, load, rate in (("get", 0.85, 4e9), ("insert", 0.95, 1e9), ("delete", 0.95, 1.26e7)):
                results.add(repetition, Row(operation, 64, load, 4096), RATE, rate * factor, "1/s")
            results.add(repetition, Row("get", 64, None, 4096, "sherwood-null"), RATE, 5e9 * factor, "1/s")
            results.add(repetition, Row("get", 64, 0.85, 65536), RATE, 3e9 * factor, "1/s")
            for load, library, rate in ((0.85, "sherwood", 3e9), (None, "sherwood-null", 4e9)):
                results.add(repetition, Row("get_beside_updates", 64, load, 4096, library), RATE, rate * factor, "1/s")
            for metric, value in (("latency_p50", 70), ("latency_p99", 1234 * factor)):
                results.add(repetition, Row("resp_get_p1", 64, 0.5, 1), metric, value, "us")
        results.write_summary()
        lines = (folder / "summary.csv").read_text(encoding="ascii").split("\n")
        for line in ("served,sherwood,get,64,0.85,4096,keys_per_second,8000000000,1/s",
                     "served,sherwood,get,64,0.85,4096,ratio_to_null,0.8,",
                     "served,sherwood,insert,64,0.95,4096,ratio_to_get,0.25,",
                     "served,sherwood,get_beside_updates,64,0.85,4096,ratio_to_get,0.75,",
                     "served,sherwood,get_beside_updates,64,0.85,4096,ceiling_ratio_to_get,0.8,",
                     "served,sherwood,resp_get_p1,64,0.5,1,latency_p99,2468,us"):
            check(line in lines, f"{line}: {lines}")
        found = [line.split() for line in bars(results.summary())]
        check(["SHORT", "insert", "64", "0.95", "4096", "ratio_to_get", "0.25", ">=", "0.3"] in found, found)
        check(["SHORT", "get", "64", "0.85", "4096", "ratio_to_null", "0.8", ">=", "0.85"] in found, found)
        check(["SHORT", "get", "64", "0.85", "65536", "ratio_to_smaller", "0.75", ">=", "0.95"] in found, found)
        check(["SHORT", "get_beside_updates", "64", "0.85", "4096", "ratio_to_get", "0.75", ">=", "0.85", "0.8"] in
              found, found)


def with_results(script, results):
    """a script as a module that reads another folder of results"""
    loader = importlib.machinery.SourceFileLoader(script.name, str(script))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(script.name, loader))
    loader.exec_module(module)
    module.RESULTS = pathlib.Path(results)
    return module


def lint_of_figures(results):
    return with_results(ROOT / "tests" / "lint" / "figures", results)


def result_of(results, study, rows):
    """Writes the summary.csv of a study of machine `here`. `rows`: its lines but the first."""
    folder = pathlib.Path(results) / "here" / study
    folder.mkdir(parents=True)
    (folder / "summary.csv").write_text("study,library,operation,slot_bits,F,batch,metric,value,unit\n" + rows, encoding="ascii")


@case
def bars_are_counted():
    """tests/lint/figures counts the bars of the result that a page linked to last"""
    with tempfile.TemporaryDirectory() as name:
        for study, lines in (("served", "ok    a\nSHORT b\nSHORT c\n"), ("durability", "ok    a\nok    b\n")):
            folder = pathlib.Path(name) / "here" / study
            folder.mkdir(parents=True)
            (folder / "bars.txt").write_text("      operation\n" + lines, encoding="ascii")
        right = ("[a](../results/here/served/run_info.txt): 2 of its 3 bars are missed. "
                 "[b](../results/here/durability/run_info.txt): 2 of 2 bars are met.")
        lint = lint_of_figures(name)
        equal(lint.with_bars(right), right, "a right text")
        equal(lint.with_bars(right.replace("2 of its 3", "3 of its 4").replace("2 of 2", "1 of 9")), right, "a wrong text")


@case
def the_page_begins_with_the_worst_ratio():
    """bench/page: a row an operation, at its worst point beside the fastest other program; the worst row first"""
    with tempfile.TemporaryDirectory() as name:
        rows = [("sherwood", "get", 0.5, 512, 30), ("peer_a", "get", 0.5, 512, 20), ("peer_b", "get", 0.5, 512, 15),
                ("sherwood", "get", 0.9, 512, 20), ("peer_a", "get", 0.9, 512, 4), ("memory", "gather_32", "", "", 40),
                ("sherwood", "delete", 0.5, 512, 1), ("peer_a", "delete", 0.5, 512, 2), ("peer_b", "delete", 0.5, 512, 4),
                ("sherwood", "growth", 0.5, 512, 3), ("memory", "write", "", 1024, 9), ("memory", "write", "", 512, 4)]
        result_of(name, "timing", "".join(f"timing,{library},{operation},64,{load},{batch},gops,{rate},Gops/s\n"
                                          for library, operation, load, batch, rate in rows))
        page = with_results(ROOT / "bench" / "page", name)
        found = [[cell.strip() for cell in row.split("|")[1:-1]] for row in list(page.table_of(page.rows_of("timing", "here/timing")))[2:]]
        equal(found, [["delete, 32-bit keys", "0.25", "1.00 G", "4.00 G peer_b", "F 0.5, 2^9 keys", "1 of 1", "0.25 write"],
                      ["get, 32-bit keys", "1.50", "30.0 G", "20.0 G peer_a", "F 0.5, 2^9 keys", "0 of 2", "0.75 gather_32"],
                      ["growth, 32-bit keys", "", "3.00 G", "", "F 0.5, 2^9 keys", "", ""]], "rows")
        equal(sorted({study for studies in page.SECTIONS.values() for study in studies} | {"scaling", "tune"}), sorted(lint_of_figures(name).CODE_OF),
              "studies on the page, and the two that have pages of their own")


@case
def the_page_compares_tables_with_one():
    """bench/page: 64 tables beside one table with their keys, at the same frames"""
    with tempfile.TemporaryDirectory() as name:
        result_of(name, "tables", "".join(
            f"tables_served,sherwood,{operation},128,,{batch},{metric},{value},1\n" for operation, batch, metric, value in (
                ("set_by_tables", 4096, "keys_per_second", 5e8), ("set_by_tables", 4096, "ratio_to_one", 0.25),
                ("set_by_tables_one", 4096, "keys_per_second", 2e9), ("set_by_tables_one", 65536, "keys_per_second", 3e9))))
        page = with_results(ROOT / "bench" / "page", name)
        equal([tuple(row) for row in page.tables_rows("here/tables")],
              [("set by tables", 0.25, "500 M", "2.00 G one table", "2^12 keys", "", None)], "rows")


@case
def the_page_tells_what_became_slower():
    """bench/page --changes: the median of an operation's points, and a single point that fell"""
    def points(**rates):
        return {("sherwood", operation, "64", str(load), "1"): {"gops": rate} for operation, of in rates.items() for load, rate in enumerate(of)}

    with tempfile.TemporaryDirectory() as name:
        page = with_results(ROOT / "bench" / "page", name)
        before = {**points(get=[10, 10, 10], delete=[10, 10, 10], insert=[10, 10, 10], audit=[10]), ("peer", "get", "64", "0", "1"): {"gops": 10}}
        after = {**points(get=[11, 12, 13], delete=[10, 10, 3], insert=[9.6, 10, 10.4], fresh=[1]), ("peer", "get", "64", "0", "1"): {"gops": 9}}
        equal(list(page.changes_of("timing", before, after)),
              ["Lower by more than 5 %, or by 10 % at a point: delete, 32-bit keys 1.00 (0.30 to 1.00).",
               "Higher by more than 5 %: get, 32-bit keys 1.20 (1.10 to 1.30).",
               "Other programs and memory alone: 0.90 (0.90 to 0.90)."], "changes")


@case
def figures_follow_their_results():
    """tests/lint/figures --write replaces a figure and a library that differ from the result, and nothing else"""
    with tempfile.TemporaryDirectory() as name:
        result_of(name, "timing", "timing,sherwood,get,64,0.5,1,gops,33.21,Gops/s\ntiming,peer_b,get,64,0.5,1,gops,9.96,Gops/s\n")
        lint = lint_of_figures(name)
        sources = "<!-- figures here/timing\nsherwood get\nbest get\n-->"
        table = "| `9 G` | us | them |\n| --- | --- | --- |\n| get of 2 keys | 3.1 G | {} |"
        right = "| `9 G` | us | them |\n| --- | --- | --- |\n| get of 2 keys | 33 G | 10.0 G peer_b |"
        equal(lint.rewritten("It gets 31.1 G/s, and 8.1 G/s at F 0.5.", sources), "It gets 33.2 G/s, and 10.0 G/s at F 0.5.", "prose")
        wrong = table.format("8.1 G peer_a")
        check(list(lint.check_block(wrong, sources, True)), "a wrong table passes")
        equal(lint.rewritten(wrong, sources), right, "table")
        equal(list(lint.check_block(right, sources, True)), [], "the rewritten table")
        equal(lint.rewritten(right, sources), right, "a right table stays")
        ratio = "<!-- figures here/timing\nsherwood get / best get\nleast sherwood,peer_b get / sherwood get\n-->"
        equal(lint.rewritten("It has 2.1 times the rate; they have 99 %.", ratio), "It has 3.3 times the rate; they have 30 %.", "quotients")
        equal(lint.rewritten("A rate of 9 times 3.", sources), "A rate of 9 times 3.", "times without a quotient")


main()
