#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""search - builds variants of the CUDA kernels, runs a study with each, and keeps what it measured.

Base of every kernel comes first, then the other variants in turns. A variant that is measured already is left out, so
a search that was ended goes on where it was. The study checks every answer: a variant with a wrong one is refused.
"""

import argparse
import concurrent.futures
import csv
import datetime
import itertools
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "serve"))
# pylint: disable=wrong-import-position
from failures import Failed, made, sentence  # noqa: E402
from space import FIELDS, ROOT, Wrong, kernels_matching, read_results, sources, variants_of  # noqa: E402


RATES = {"gops": 1, "mops": 1e-3, "rows_per_second": 1e-9}  # in G/s
OURS = ("sherwood", "cuckoo")


def name_of_point(row):
    """The operation, and the mode or the number of functions of a library that has several."""
    return row["operation"] if row["library"] == "sherwood" else f"{row['library']}:{row['operation']}"


def run_make(make, *words):
    """What went wrong, in a line; "" if nothing."""
    try:
        result = subprocess.run([*make.split(), "--no-print-directory", "-s", *words], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, check=False)
    except OSError as error:
        return f"{make} cannot be started: {error.strerror}: name another command with --make"
    if result.returncode == 0:
        return ""
    lines = [line for line in result.stdout.splitlines() if "error" in line or "needs" in line] or result.stdout.splitlines() or [""]
    return lines[0].strip() or f"make ended with status {result.returncode}"


def build(make, kernel, flags, program):
    """The same for a variant's program, unless it is there."""
    if program.is_file():
        return ""
    program.parent.mkdir(parents=True, exist_ok=True)
    return run_make(make, "tune-variant", f"STUDY={kernel.study}", f"SOURCE={kernel.source}", f"DEFINES={' '.join(flags)}",
                    f"PROGRAM={program}")


def measure(kernel, program, more, seconds):
    """(state, rows or the reason): rows are of the study's summary.csv."""
    with tempfile.TemporaryDirectory(prefix="tune-") as folder:
        command = [str(program), *kernel.arguments.split(), *more, "--output", folder]
        try:
            result = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return "failed", f"it did not end within {seconds:g} s"
        except OSError as error:
            return "failed", f"it cannot be started: {error.strerror}"
        told = (result.stdout.splitlines() or [""])[-1]
        if result.returncode != 0:
            return "wrong" if result.returncode == 1 else "failed", f"status {result.returncode}: {told}"
        facts = pathlib.Path(folder, "run_info.txt").read_text(encoding="utf-8")
        gpu = re.search(r"^gpu: (.*), compute capability (\d+)\.(\d+)", facts, re.MULTILINE)
        device = f"{gpu.group(1)} (sm_{gpu.group(2)}{gpu.group(3)})" if gpu else "no GPU"
        with open(pathlib.Path(folder, "summary.csv"), encoding="utf-8", newline="") as file:
            rows = [dict(row, device=device, operation=name_of_point(row), value=float(row["value"]) * RATES[row["metric"]])
                    for row in csv.DictReader(file)
                    if row["metric"] in RATES and row["library"].startswith(OURS) and row["value"]
                    and any(row["operation"].startswith(name) for name in kernel.operations.split())]
        return ("good", rows) if rows else ("failed", f"it measured none of {kernel.operations}")


class Results:
    """The file. A row is a point, or a variant that has none."""

    def __init__(self, path):
        self.path = path
        self.hash = sources()
        self.done = {(row["kernel"], row["variant"]) for row in read_results(path)}

    def keep(self, kernel, variant, state, found):
        common = {"sources": self.hash, "kernel": kernel, "variant": variant, "state": state,
                  "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")}
        rows = [dict(common, reason=found)] if state != "good" else [
            dict(common, device=row["device"], operation=row["operation"], slot_bits=row["slot_bits"], F=row["F"],
                 batch=row["batch"], gops=row["value"]) for row in found]
        is_new = not self.path.is_file()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerows(rows)
        self.done.add((kernel, variant))


def plan(options, done):
    """(name, kernel, variant, flags) of what is to be measured, the kernels in turns."""
    rows = []
    for name, kernel in kernels_matching(options.kernels).items():
        variants = variants_of(kernel)
        chosen = variants[:1] + [v for v in variants[1:] if re.search(options.variants, v[0])]
        rows.append([(name, kernel, *variant) for variant in chosen if options.again or (name, variant[0]) not in done])
    return [one for turn in itertools.zip_longest(*rows) for one in turn if one is not None]


def search(options):
    made(options.results.parent, "--results")
    made(options.folder, "--folder")
    results = Results(options.results)
    wanted = plan(options, results.done)
    folder = options.folder / results.hash
    for study in sorted({kernel.study for _, kernel, _, _ in wanted} if not options.no_build else ()):
        # builds the shared files first: several makes at a time would write the same files
        if reason := run_make(options.make, f"-j{options.jobs}", "tune-objects", f"STUDY={study}"):
            print(f"search: the study {study} cannot be built: {reason}", file=sys.stderr)
            return 1
    ends = time.monotonic() + 60 * options.budget
    counts = {"good": 0, "wrong": 0, "failed": 0, "unbuilt": 0}
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    try:
        builds = [(name, kernel, variant, program, pool.submit(build, options.make, kernel, flags, program)
                   if not options.no_build else None)
                  for name, kernel, variant, flags in wanted for program in [folder / f"{name}.{variant}"]]
        for name, kernel, variant, program, future in builds:
            reason = future.result() if future else "" if program.is_file() else "it is not built"
            if reason:
                state, found = "unbuilt", reason
            elif options.build_only:
                state, found = "good", []
            elif time.monotonic() > ends:
                print("the budget is spent")
                break
            else:
                state, found = measure(kernel, program, options.more, options.seconds)
            counts[state] += 1
            if not options.build_only and not (state == "unbuilt" and options.no_build):
                results.keep(name, variant, state, found)
            print(f"{name}: {variant}: {state}{'' if state == 'good' else ': ' + found}", flush=True)
    finally:
        told = ", ".join(f"{count} {state}" for state, count in counts.items())
        print(f"{sum(counts.values())} of {len(wanted)} variants: {told}", flush=True)
        pool.shutdown(wait=True, cancel_futures=True)
    return 0 if counts["good"] or not wanted else 1


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="Arguments behind -- go to the study. Exit status: 0; 1 if "
                                     "nothing was measured; 2 if the command line or a declaration is wrong; 130 after Ctrl-C or SIGTERM.")
    parser.add_argument("--kernels", default="", metavar="RE", help="kernels whose name this expression finds (all)")
    parser.add_argument("--variants", default="", metavar="RE", help="base, and variants whose name this expression finds (all)")
    parser.add_argument("--again", action="store_true", help="measure again what is measured")
    parser.add_argument("--build-only", action="store_true", help="build, measure nothing: for a GPU elsewhere")
    parser.add_argument("--no-build", action="store_true", help="measure what is built")
    parser.add_argument("--budget", type=float, default=60, metavar="MINUTES", help="begin no variant after this time (60)")
    parser.add_argument("--seconds", type=float, default=300, help="end a study after this time (300)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at a time (one a processor)")
    parser.add_argument("--make", default="make", help="the command that builds (make)")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/tune", help="where programs go (build/tune)")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "build/tune/results.csv", help="build/tune/results.csv")
    parser.add_argument("more", nargs="*", help=argparse.SUPPRESS)
    return parser.parse_args()


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    signal.signal(signal.SIGTERM, interrupt)
    try:
        return search(parsed())
    except (Wrong, Failed, OSError) as wrong:
        print(f"search: {sentence(wrong)}", file=sys.stderr)
        return 2
    except re.error as error:
        print(f"search: --variants: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: what was measured is kept", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
