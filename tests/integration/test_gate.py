#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""bench/gate: the comparison of two builds. Stand-ins with known rates take the place of the studies."""

import csv
import os
import pathlib
import subprocess
import sys
import tempfile

from harness import BUILD, ROOT, SANITIZED, Skip, case, check, equal, main

GATE = ROOT / "bench" / "gate" / "gate.py"
sys.path[:0] = [str(ROOT / "bench" / folder) for folder in ("gate", "serve")]
import verdict  # noqa: E402  pylint: disable=wrong-import-position

# Adds its name to the file `calls` beside the builds, and writes what the studies of the gate write.
STUDY = """#!/bin/sh
for output; do :; done
here=$(dirname "$0")
echo "$(basename "$here") $(basename "$0")" >>"$here/../calls"
mkdir -p "$output"
echo "commit: @COMMIT@" >"$output/run_info.txt"
cat >"$output/summary.csv" <<END
study,library,operation,slot_bits,F,batch,metric,value,unit
rows,memory,gather_512,128,,4096,rows_per_second,7,rows/s
rows,sherwood,get_512,128,0.85,4096,rows_per_second,1000000,rows/s
rows,sherwood,set_stored_512,128,0.85,4096,rows_per_second,2000000,rows/s
rows,sherwood,add_512,128,0.85,4096,rows_per_second,@ADD@,rows/s
cache,sherwood_memory,find_dim32,1088,0.75,4096,gops,0.5,Gops/s
cache,sherwood_memory,insert_or_assign_dim32,1088,0.75,4096,gops,0.25,Gops/s
cuckoo,cuckoo2,insert_16,@BITS@,0.25,65536,mops_max,30,Mops/s
cuckoo,cuckoo2,lookup_0,64,0.25,65536,mops_max,150,Mops/s
cuckoo,robin_hood,insert_16,64,0.25,65536,mops_max,25,Mops/s
cuckoo,robin_hood,lookup_0,64,0.25,65536,mops_max,120,Mops/s
END
"""


def stand_in(folder, name, commit, add="3000000", studies=("rows", "cache", "cuckoo"), bits="64"):
    """A build of stand-ins: its folder."""
    build = folder / name
    build.mkdir()
    (build / "sherwoodd").touch()
    for study in studies:
        (build / study).write_text(STUDY.replace("@COMMIT@", commit).replace("@ADD@", add).replace("@BITS@", bits))
        (build / study).chmod(0o755)
    return build


def gate(folder, *options, build, base, parts="table,rows,cache,cuckoo"):
    environment = {name: value for name, value in os.environ.items() if name not in ("COMMIT", "BASE_COMMIT")}
    return subprocess.run([GATE, "--build", build, "--base", base, "--output", folder / "output", "--results", folder / "results",
                           "--backend", "cpu", "--quick", "--parts", parts, *options], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, check=False, env=environment)


def recorded(folder):
    with open(folder / "results" / f"cpu-{os.cpu_count()}-cores" / "gate.csv", encoding="ascii", newline="") as file:
        return list(csv.DictReader(file))


def measured(name, this, base, unit="1/s"):
    rate = verdict.Measured(name, "alone", name, unit)
    rate.values = {"this": dict(enumerate(this)), "base": dict(enumerate(base))}
    return rate


@case
def arithmetic():
    """turns, medians, ratios of rates and of times, the bar, and numbers with their units"""
    equal([side[0] for number in range(4) for side in verdict.turns(number)], list("tbbttbbt"), "turns")
    rate = measured("get", (90, 80, 100), (100, 100, 200))
    equal((rate.median("this"), rate.median("base"), rate.ratio()), (90, 100, 0.9), "medians")
    equal(rate.spread(), (0.5, 0.9), "spread")
    equal(measured("get", (200,), (100,), "us").ratio(), 0.5, "a time that doubled")
    equal(measured("get", (), (100,)).ratio(), None, "a rate of the base only")
    equal([verdict.bar(value) for value in (1, 1.04, 0.94, 9, 0.1, None)],
          [10 * " " + "|", 10 * " " + "|++", 7 * " " + "---|", 10 * " " + "|" + 10 * "+", 10 * "-" + "|", ""], "bars")
    equal([verdict.shown(value, "1/s") for value in (0, 7, 1500, 999.9e6, 2.31e9, 15e9, None)],
          ["0 /s", "7 /s", "1.5 k/s", "1 G/s", "2.31 G/s", "15 G/s", "-"], "rates")
    equal(verdict.shown(96.23, "us"), "96.2 us", "a time")


@case
def verdicts():
    """a rate at the bar passes, one below it is named, and so is one that this build lost"""
    status, lines = verdict.verdict([measured("get", (95,), (100,)), measured("set", (9,), (9,))])
    equal((status, lines), (0, ["passed: 2 rates compared, the lowest ratio is 0.950"]), "at the bar")
    status, lines = verdict.verdict([measured("get", (94.9,), (100,)), measured("set", (), (2e6,)), measured("add", (3,), ())])
    equal((status, lines), (1, ["SLOWER: get: 0.949 of the base, at least 0.95 is required",
                                "LOST: set: the base has 2 M/s, this build failed",
                                "FAILED: 1 rates compared, the lowest ratio is 0.949"]), "below it")
    equal(verdict.verdict([])[0], 1, "nothing was compared")


@case
def record():
    """gate.csv has one row for each commit and base; a new rate is a new column"""
    with tempfile.TemporaryDirectory() as name:
        file = pathlib.Path(name) / "machine" / "gate.csv"
        verdict.record(file, "d1", "c1", "b", [measured("get", (50, 70), (60, 60))])
        verdict.record(file, "d2", "c2", "b", [measured("get", (3,), (2,)), measured("set", (4,), ())])
        verdict.record(file, "d3", "c1", "b", [measured("get", (2e9,), (1e9,))])
        equal(file.read_text(encoding="ascii"),
              "date,commit,base,rounds,lowest,get,get_ratio,set,set_ratio\n"
              "d2,c2,b,1,1.500,3,1.500,4,\n"
              "d3,c1,b,1,2.000,2e+09,2.000,,\n", "gate.csv")


@case
def same():
    """two builds of equal rates: every part runs in turns, and the gate passes"""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        builds = {"build": stand_in(folder, "new", "c0ffee"), "base": stand_in(folder, "old", "0ddba11")}
        done = gate(folder, parts="rows,cuckoo", **builds)
        equal(done.returncode, 0, done.stdout)
        # --quick is one round of each part.
        equal((folder / "calls").read_text(encoding="ascii").split("\n"),
              ["new rows", "old rows", "new cuckoo", "old cuckoo", ""], "turns")
        check("this build: c0ffee; base: 0ddba11" in done.stdout, done.stdout)
        done = gate(folder, **builds)
        equal(done.returncode, 0, done.stdout)
        check("passed: 9 rates compared, the lowest ratio is 1.000" in done.stdout, done.stdout)
        equal([(row["commit"], row["base"], row["table_get"], row["rows_add_ratio"]) for row in recorded(folder)],
              [("c0ffee", "0ddba11", "1.2e+08", "1.000")], "gate.csv")


@case
def slower():
    """a rate below 0.95 is measured in further rounds, A B B A, then named; the exit status is 1"""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        builds = {"build": stand_in(folder, "new", "c0ffee", add="2700000"), "base": stand_in(folder, "old", "0ddba11")}
        done = gate(folder, **builds)
        equal(done.returncode, 1, done.stdout)
        check("\nSLOWER: rows_add: 0.900 of the base, at least 0.95 is required\n" in done.stdout, done.stdout)
        check("FAILED: 9 rates compared" in done.stdout and done.stdout.count("SLOWER") == 1, done.stdout)
        calls = [line for line in (folder / "calls").read_text(encoding="ascii").split("\n") if line.endswith("rows")]
        equal(calls, 3 * ["new rows", "old rows", "old rows", "new rows"], "rounds of the slow part")
        equal(gate(folder, "--least", "0.9", **builds).returncode, 0, "a lower bar")
        equal([row["rows_add_ratio"] for row in recorded(folder)], ["0.900"], "gate.csv")


@case
def lacking():
    """a part whose program the base lacks is skipped; one that this build lacks is an error"""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        whole, part = stand_in(folder, "new", "c0ffee"), stand_in(folder, "old", "0ddba11", studies=("rows", "cuckoo"))
        done = gate(folder, build=whole, base=part)
        check(done.returncode == 0 and "cache is skipped: the base has no cache" in done.stdout, done.stdout)
        done = gate(folder, build=part, base=whole)
        check(done.returncode == 1 and "ERROR: cache: this build has no cache" in done.stdout, done.stdout)
        (whole / "rows").write_text("#!/bin/sh\necho a value is wrong; exit 1\n")
        done = gate(folder, build=whole, base=part)
        check(done.returncode == 1 and "a value is wrong" in done.stdout and "LOST: rows_get: " in done.stdout, done.stdout)


@case
def other_slots():
    """a rate of the base with slots of another width is not compared: it is of another table"""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        done = gate(folder, build=stand_in(folder, "new", "c0ffee"), base=stand_in(folder, "old", "0ddba11", bits="32"))
        check(done.returncode == 0 and "passed: 8 rates compared" in done.stdout, done.stdout)
        equal([(row["cuckoo_insert"], row["cuckoo_insert_ratio"]) for row in recorded(folder)], [("3e+07", "")], "gate.csv")


@case
def served():
    """a build beside itself: every rate of the daemon is measured, by socket, by ring and by RESP"""
    if SANITIZED:
        raise Skip("it is timed")
    with tempfile.TemporaryDirectory() as name:
        # The rates of two runs may differ by anything here; an exit status of 1 would come from an error or a lost rate.
        for number in range(5):
            folder = pathlib.Path(name, str(number))
            done = gate(folder, "--slots", "64Ki", "--seconds", "0.1", "--loops", "1", "--threads", "2", "--connections", "2",
                        "--budget", "0.1", "--least", "1e-6", build=BUILD, base=BUILD, parts="served")
            if ": 0 keys, " not in done.stdout:  # a busy machine may carry out nothing in 33 ms
                break
        equal(done.returncode, 0, done.stdout)
        check("passed: 14 rates compared" in done.stdout, done.stdout)
        row = recorded(folder)[0]
        for rate in ("socket_get_1Ki", "socket_set_64Ki", "ring_get_4Ki", "ring_set_64Ki", "resp_set_pipelined",
                     "resp_get_64_clients", "resp_get_1_client"):
            check(float(row[rate]) > 0 and float(row[f"{rate}_ratio"]) > 0, f"{rate}: {row}")


@case
def wrong():
    """a folder without programs and an unknown part are refused with one sentence"""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        build = stand_in(folder, "new", "c0ffee")
        done = gate(folder, build=build, base=folder)
        check(done.returncode == 2 and "has no sherwoodd: name a build folder or a bundle" in done.stdout, done.stdout)
        done = gate(folder, build=build, base=build, parts="pcie")
        check(done.returncode == 2 and "parts are served,table" in done.stdout, done.stdout)


if __name__ == "__main__":
    main()
