#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""bench/scale/gpus.py: the study of several GPUs of a host, small, with daemons of the CPU backend."""

import csv
import pathlib
import subprocess
import tempfile

from harness import BUILD, ROOT, SANITIZED, Skip, case, check, equal, main

STUDY = ROOT / "bench/scale/gpus.py"


def study(folder, *options):
    return subprocess.run([STUDY, "--build", BUILD, "--output", folder, "--backend", "cpu", "--slots", "64Ki", "--quick",
                           "--seconds", "0.4", "--loops", "1", "--threads", "2", "--connections", "2", "--frame", "4Ki",
                           *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=240, check=False)


@case
def together():
    """one and two daemons by sockets and regions, without tables, and as a cluster: rates and ratios.
    The study also reports the bytes that went through sockets."""
    if SANITIZED:
        raise Skip("it is timed")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        done = study(folder, "--gpus", "1,2", "--parts", "sockets,null,regions,cluster,device")
        if "were never beside each other" in done.stdout:
            equal(done.returncode, 1, done.stdout)
            raise Skip("the machine is busy with other things, so that no two loads ran at the same time")
        equal(done.returncode, 0, done.stdout)
        check("device is skipped: it needs a GPU" in done.stdout, done.stdout)
        with open(folder / "summary.csv", encoding="ascii") as file:
            every = {(r["library"], r["operation"], r["F"], r["metric"]): float(r["value"]) for r in csv.DictReader(file)}
        rows = {key[1:]: value for key, value in every.items() if key[0] == "sherwood"}
        for count in ("1", "2"):
            null = every["sherwood-null", "sockets_get", count, "keys_per_second"]
            found = rows["sockets_get", count, "ratio_to_null"]
            check(abs(found - rows["sockets_get", count, "keys_per_second"] / null) < 1e-6 * found,
                  f"{count} daemons: {found}, of {null}")
        for part in ("sockets", "regions", "cluster"):
            for operation in (f"{part}_get", f"{part}_update"):
                rates = [rows[operation, count, "keys_per_second"] for count in ("1", "2")]
                check(min(rates) > 0, f"{operation}: {rates}")
                found = rows[operation, "2", "ratio_to_one"]
                check(abs(found - rates[1] / rates[0]) < 1e-6 * found, f"{operation}: {found}, of {rates}")
            moved = rows[f"{part}_get", "2", "socket_bytes_a_key"]
            # A key of 32 bits goes in, its value and found bit come out; of a region nothing does.
            check(moved < 1 if part == "regions" else 8 < moved < 12, f"{part}: {moved} bytes a key")
        check("\nend: done" in (folder / "run_info.txt").read_text(encoding="utf-8"), done.stdout)


@case
def arrays_of_each_gpu():
    """the program of device arrays is found where make builds it, and the rates of all GPUs are added"""
    with tempfile.TemporaryDirectory() as name:
        build = pathlib.Path(name) / "build"
        program = build / "tests/gpu/test_attach_gpu"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\necho 'GET, waits, 1048576 keys: 700.0 us, 1.5 G keys/s'\n")
        for path in (program, build / "sherwoodd"):
            path.touch()
            path.chmod(0o755)
        done = study(pathlib.Path(name) / "results", "--build", build, "--backend", "auto", "--gpus", "1,2", "--parts", "device")
        equal(done.returncode, 0, done.stdout)
        with open(pathlib.Path(name) / "results" / "summary.csv", encoding="ascii") as file:
            rows = {(r["operation"], r["F"], r["metric"]): float(r["value"]) for r in csv.DictReader(file)}
        equal((rows["device_get", "1", "keys_per_second"], rows["device_get", "2", "keys_per_second"], rows["device_get", "2", "ratio_to_one"]),
              (1.5e9, 3e9, 2), "rates of one and of two GPUs")


@case
def wrong():
    """contradictory options are refused with one sentence"""
    with tempfile.TemporaryDirectory() as name:
        for options, words in ((("--gpus", "0"), "numbers of daemons"), (("--parts", "pcie"), "parts are sockets")):
            done = study(pathlib.Path(name), *options)
            check(done.returncode == 2 and words in done.stdout, done.stdout)


if __name__ == "__main__":
    main()
