#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""bench/serve/durability.py: the study of durability, small, on the CPU backend."""

import csv
import pathlib
import shutil
import subprocess
import sys
import tempfile

from harness import BUILD, ROOT, SANITIZED, Skip, case, check, equal, main

SERVE = ROOT / "bench" / "serve"
sys.path.insert(0, str(SERVE))
# pylint: disable=wrong-import-position
from durability import BARS  # noqa: E402
from results import RATE  # noqa: E402


def study(folder, *options, build=BUILD):
    """Runs the study with small tables and short rows: (exit status, output, {(library, operation, metric): value})."""
    done = subprocess.run([SERVE / "durability.py", "--build", build, "--output", folder, "--backend", "cpu", "--quick",
                           "--seconds", "0.1", "--slots", "64Ki", "--log-slots", "512Ki", "--loops", "2", "--threads", "1",
                           "--connections", "2", "--flags", "--log-segment-bytes 16M", *options],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=240, check=False)
    with open(folder / "summary.csv", encoding="ascii") as file:
        rows = {(row["library"], row["operation"], row["metric"]): float(row["value"]) for row in csv.DictReader(file)}
    return done.returncode, done.stdout, rows


def study_in_time(folder, *options, **named):
    """The same. If the machine was too busy for a load beside another one, runs it again."""
    for _ in range(5):
        shutil.rmtree(folder, ignore_errors=True)
        found = study(folder, *options, **named)
        if "did not last from before to after" not in found[1]:
            break
    return found


@case
def every_bar():
    """every part has its rows, each bar is printed, and each ratio equals the quotient of its rows"""
    if SANITIZED:
        raise Skip("it is timed")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "out"
        status, text, rows = study_in_time(folder)
        equal(status, 0, text)
        has_redis = ("redis", "resp_set_p1_always", RATE) in rows
        check(has_redis or "redis is skipped" in text, text)
        for operation, metric in BARS:
            if metric != "ratio_to_redis" or has_redis:
                check(("sherwood", operation, metric) in rows, f"{operation} has no {metric}: {text}")
                check(f" {operation} " in (folder / "bars.txt").read_text(encoding="ascii"), "bars.txt")
                ceiling = rows.get(("sherwood", operation, f"ceiling_{metric}"))
                check(metric == "wait_added" or ceiling > 0, f"{operation} has no ceiling of {metric}: {text}")
        check(" ceiling\n" in (folder / "bars.txt").read_text(encoding="ascii"), "bars.txt")
        for name in ("table", "parse", "restore", "restore_checked"):
            check(rows["alone", name, RATE] > 0, rows)
        for name in ("check", "copy", "image_gather", "image_seal"):
            check(rows["alone", name, "bandwidth"] > 0, rows)
        for operation, metric, base in (
                ("set_always", "ratio_to_plain", ("plain", "write_best", RATE)),
                ("set_everysec", "ratio_to_memory", ("sherwood", "set_memory", RATE)),
                ("get_beside_sets_everysec", "ratio_to_memory", ("sherwood", "get_beside_sets_memory", RATE))):
            ratio = rows["sherwood", operation, RATE] / rows[base]
            check(abs(rows["sherwood", operation, metric] - ratio) < 1e-6 * ratio, f"{operation}: {rows}")
        longest = [rows["sherwood", operation, "latency_max"] for operation in ("set_beside_snapshot", "set_without_snapshot")]
        check(abs(rows["sherwood", "set_beside_snapshot", "wait_added"] - (longest[0] - longest[1])) < 1e-3, rows)
        check(rows["sherwood", "set_memory", "written_per_byte"] < 0.01, f"memory only wrote to storage: {rows}")
        info = (folder / "run_info.txt").read_text(encoding="utf-8")
        check("\ncommit: " in info and "\nend: done" in info and "in memory only" in info, info)
        equal([path.name for path in folder.iterdir() if path.name.startswith(("data-", "plain"))], [], "what is left")


@case
def without_a_log():
    """the study reports an error instead of a number if the daemon has no log, and exits with 1"""
    with tempfile.TemporaryDirectory() as name:
        folder, build = pathlib.Path(name) / "out", pathlib.Path(name) / "build"
        build.mkdir()
        for name in ("sherwood-load", "durability-ceilings"):
            (build / name).symlink_to(BUILD / name)
        # It turns the log off.
        (build / "sherwoodd").write_text(
            f'#!/bin/sh\nexec "{BUILD}/sherwoodd" "$@" --appendonly no\n', encoding="ascii")
        (build / "sherwoodd").chmod(0o755)
        status, text, rows = study_in_time(folder, "--parts", "frames", build=build)
        equal(status, 1, text)
        check("ERROR: frames, memory only, always, everysec: the log has 0 writes of" in text, text)
        check(("plain", "write_best", RATE) in rows and ("sherwood", "set_always", RATE) not in rows, rows)
        (build / "durability-ceilings").unlink()
        status, text, _ = study(folder, "--parts", "frames", build=build)
        equal(status, 1, text)
        check(f"{build}/durability-ceilings does not exist: run `make build/durability-ceilings`" in text, text)


main()
