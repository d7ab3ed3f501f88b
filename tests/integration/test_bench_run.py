#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""bench/run: which studies and libraries it runs. Stand-ins take the place of the studies."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from harness import ROOT, Skip, case, check, equal, main, run

sys.path.append(str(ROOT / "bench" / "serve"))
from failures import write_file  # noqa: E402  pylint: disable=wrong-import-position

SCRIPT = ROOT / "bench" / "run"

# Notes how it was called, and writes what a study writes.
STUDY = """#!/bin/sh
echo "$0 $*" >>"$(dirname "$0")/calls"
[ "$1" != --list-libraries ] || { printf '%s\\n' @LIBRARIES@; exit @LIST_STATUS@; }
while [ $# -gt 1 ]; do [ "$1" != --output ] || output=$2; shift; done
mkdir -p "$output"
echo study,library,operation,slot_bits,F,batch,metric,value,unit >"$output/summary.csv"
echo to stdout; echo to stderr >&2
exit @STATUS@
"""


class Folder:
    """A folder of stand-ins; leaving its "with" block removes it."""

    def __init__(self, *studies, libraries="sherwood", status=0, list_status=0, script=SCRIPT):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="sherwood-bench-run-"))
        self.build = self.path / "build"
        self.build.mkdir()
        self.script = script
        text = STUDY.replace("@LIBRARIES@", libraries).replace("@STATUS@", str(status))
        for name in studies:
            (self.build / name).write_text(text.replace("@LIST_STATUS@", str(list_status)))
            (self.build / name).chmod(0o755)
        # No gnuplot: other cases check the plots.
        self.bin = self.path / "bin"
        self.bin.mkdir()
        for tool in ("bash", "sh", "awk", "sed", "grep", "cat", "date", "dirname", "mkdir", "tee",
                     "uname", "nproc", "basename"):
            found = shutil.which(tool)
            check(found, f"{tool} is not installed")
            (self.bin / tool).symlink_to(found)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def run(self, *arguments, rc=0, folders=True):
        places = ["--build", self.build, "--output", self.path / "out"] if folders else []
        result = subprocess.run([str(a) for a in (self.script, *arguments, *places)], text=True,
                                cwd=self.path, timeout=60, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, check=False,
                                env={**os.environ, "PATH": str(self.bin), "COMMIT": "c0ffee"})
        equal(result.returncode, rc, f"{arguments}: {result.stdout}")
        return result.stdout

    def calls(self):
        """Command lines of the studies, without their folder, but for questions."""
        try:
            lines = (self.build / "calls").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [line.replace(f"{self.build}/", "") for line in lines
                if "--list-libraries" not in line]


def call(study, folder, *options):
    return " ".join([study, *options, "--output", f"{folder.path}/out/{study}"])


COMMIT = ("--commit", "c0ffee")
EVERYTHING = "sherwood,cuco_linear,cuco_double,warpcore,bght_b8,bght_b16,gpurhh"
CACHES = "sherwood_memory,sherwood_throughput,sherwood_memory_host,sherwood_throughput_host"


@case
def help_text():
    """run without a flag or with --help lists the flags, and runs nothing"""
    with Folder("timing", "memory_bandwidth") as folder:
        text = folder.run(folders=False)
        equal(folder.run("--help", folders=False), text, "with --help")
        for flag in ("--timing", "--memory-bandwidth", "--cuco", "--cuco-dh", "--warpcore",
                     "--bght", "--gpurhh", "--cuckoo", "--cache", "--rows", "--hkv", "--all", "--quick", "--output",
                     "--build"):
            check(f"  {flag} " in text, f"{flag} is missing from {text}")
        equal(folder.calls(), [])
        equal(sorted(p.name for p in folder.path.iterdir()), ["bin", "build"])


@case
def command_lines():
    """the Python programs of bench print their options for --help, and refuse an unknown one, which measures and writes nothing"""
    # client/python/bench/device.py needs torch
    programs = [path for folder in ("bench", "client/python/bench") for path in sorted((ROOT / folder).rglob("*"))
                if path.name != "device.py" and path.is_file() and os.access(path, os.X_OK) and b"python3" in path.read_bytes().split(b"\n", 1)[0]]
    check(len(programs) >= 11, programs)
    with tempfile.TemporaryDirectory(prefix="sherwood-bench-") as folder:
        for program in programs:
            for word, rc, said in (("--help", 0, f"usage: {program.name} "), ("--no-such-option", 2, f"{program.name}: error: ")):
                done = subprocess.run([program, word], cwd=folder, text=True, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
                equal(done.returncode, rc, f"{program} {word}: {done.stdout}")
                check(said in done.stdout, f"{program} {word}: {done.stdout}")
        equal(list(pathlib.Path(folder).iterdir()), [])


# Command lines that cannot be carried out, and the reasons. EMPTY is an empty folder, FILE a file, LAME a folder with a program that
# cannot be run. Python runs with -S if packages are to be absent, and without programs on its path if the line begins with PATH.
UNWRITABLE = r"FILE: (File exists|Not a directory): name a folder in which files can be written"
STUDIES = ("serve/served.py", "serve/durability.py", "serve/compare.py", "scale/gpus.py")
HOPELESS = [
    *((f"bench/{study} --quick --build EMPTY --output FILE", UNWRITABLE) for study in STUDIES),
    *((f"bench/{study} --quick --build EMPTY/absent --output OUTPUT", "absent is no folder: run `make all`, or name") for study in STUDIES),
    ("bench/gate/gate.py --quick --build LAME --base LAME --output OUTPUT --results FILE", UNWRITABLE),
    ("bench/gate/gate.py --quick --build LAME --base LAME --output FILE", UNWRITABLE),
    ("bench/serve/durability.py --quick --build EMPTY --output OUTPUT --data FILE", UNWRITABLE),
    ("bench/scale/gpus.py --quick --build EMPTY --output OUTPUT --parts cluster --gpus 1", "EMPTY/sherwood-cli does not exist: run `make build/"),
    ("bench/scale/gpus.py --quick --build LAME --output OUTPUT --parts regions --gpus 1", "LAME/sherwoodd cannot be run: run `make build/"),
    ("bench/serve/served.py --build EMPTY --output OUTPUT --frames many", "argument --frames: many: a number is needed"),
    ("bench/serve/served.py --build EMPTY --output OUTPUT --repetitions 0", "argument --repetitions: 0: a number from 1 is needed"),
    ("bench/scale/model.py --build EMPTY --output OUTPUT --quick", "EMPTY/sherwood-cli does not exist: run `make build/|install python3-numpy"),
    ("bench/scale/model.py --output FILE --parts hot --quick", UNWRITABLE + "|install python3-numpy"),
    ("-S bench/scale/model.py", "No module named 'numpy': install python3-numpy"),
    ("bench/serve/tls.py", "/EMPTY/sherwoodd-null does not exist: run `make build/sherwoodd-null`, or name another folder with SHERWOOD_BUILD"),
    ("bench/tune/search.py --results FILE/results.csv", UNWRITABLE),
    ("bench/tune/search.py --results OUTPUT/results.csv --folder FILE", UNWRITABLE),
    ("bench/tune/search.py --results OUTPUT/results.csv --folder OUTPUT --make /absent", "/absent cannot be started: .*: name another command with --make"),
    *((f"-S client/python/bench/{name}.py", "No module named '.*': run `make python`") for name in ("compare", "duplicates", "device")),
    ("client/python/bench/compare.py --output FILE", UNWRITABLE + "|run `make python`"),
    ("client/python/bench/duplicates.py --keys none", "argument --keys: none: a number from 1 is needed|run `make python`"),
    ("PATH bench/page --changes", "git is not installed: install it"),
    ("bench/run --timing --build EMPTY --output FILE", "run: --output FILE cannot be written: name another folder"),
]


@case
def hopeless():
    """missing programs, modules and folders end each program of bench with one sentence, which says what to do, and without a summary"""
    for line, reason in HOPELESS:
        with tempfile.TemporaryDirectory(prefix="sherwood-bench-") as name:
            folder = pathlib.Path(name)
            places = {word: str(folder / word) for word in ("EMPTY", "FILE", "LAME", "OUTPUT")}
            for word in ("EMPTY", "LAME"):
                os.mkdir(places[word])
            for path in (folder / "FILE", folder / "LAME" / "sherwoodd"):
                path.touch()
            for word, place in places.items():
                line = re.sub(rf"\b{word}\b", place, line)
                reason = re.sub(rf"/?\b{word}\b", place, reason)
            option, program, *words = line.split() if line.startswith(("-S", "PATH")) else ["", *line.split()]
            path = {"PATH": places["EMPTY"]} if option == "PATH" else {}
            done = subprocess.run([*([sys.executable, option] if option == "-S" else []), ROOT / program, *words], cwd=folder, text=True, timeout=60,
                                  stdin=subprocess.DEVNULL, capture_output=True, check=False,
                                  env={**os.environ, "SHERWOOD_BUILD": places["EMPTY"], "PYTHONDONTWRITEBYTECODE": "1", **path})
            said = done.stdout + done.stderr
            check(done.returncode in (1, 2) and re.search(reason, said) and "Traceback" not in said, f"{line}: {done.returncode}: {said}")
            told = [line for line in said.splitlines() if re.search(reason, line)]
            check(len(set(line.partition("ERROR: ")[2] or line for line in told)) == 1, f"{line}: {told}")
            check(not (folder / "FILE").read_text(), f"{line} wrote to a file that is no folder")
            written = [path for path in folder.rglob("summary.csv") if path.read_text().count("\n") > 1]
            check(not written, f"{line} wrote {written}")


@case
def whole_files():
    """a file of results is replaced as a whole: text that cannot be written leaves the old one, and nothing beside it"""
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "gate.csv"
        write_file(path, "first\n")
        try:
            write_file(path, "second\n" * 100000 + "\udc80")
            check(False, "a lone surrogate was written")
        except UnicodeEncodeError:
            pass
        equal((path.read_text(), [file.name for file in path.parent.iterdir()]), ("first\n", ["gate.csv"]))


@case
def everything():
    """--all runs every study, with every library, each once"""
    libraries = f"{EVERYTHING},{CACHES},hkv,hkv_host,hkv_memory,hkv_memory_gpu".replace(",", " ")
    with Folder("timing", "memory_bandwidth", "cuckoo", "cache", "rows",
                libraries=libraries) as folder:
        text = folder.run("--all", "--timing", "--cuco", "--cache")
        equal(folder.calls(), [call("timing", folder, *COMMIT, "--libraries", EVERYTHING),
                               call("memory_bandwidth", folder, *COMMIT),
                               call("cuckoo", folder, *COMMIT),
                               call("cache", folder, *COMMIT, "--libraries",
                                    f"{CACHES},hkv,hkv_host,hkv_memory,hkv_memory_gpu"),
                               call("rows", folder, *COMMIT)])
        check("notice: there are no plots: gnuplot is not installed" in text, text)
        equal(text.count("notice"), 1, text)
        for line in ("study 1 of 5: timing, ", "study 2 of 5: memory_bandwidth, ",
                     "study 3 of 5: cuckoo, ", "study 4 of 5: cache, ", "study 5 of 5: rows, ",
                     "5 of 5 studies ran"):
            check(line in text, f"{line} is missing from {text}")


@case
def selections():
    """each flag selects its studies and libraries, and --quick is passed on"""
    libraries = f"{EVERYTHING},{CACHES},hkv,hkv_host,hkv_memory,hkv_memory_gpu".replace(",", " ")
    for flags, wanted in (
            (["--timing"], [("timing", "--libraries", "sherwood")]),
            (["--cuco"], [("timing", "--libraries", "cuco_linear")]),
            (["--cuco-dh"], [("timing", "--libraries", "cuco_double")]),
            (["--warpcore"], [("timing", "--libraries", "warpcore")]),
            (["--bght"], [("timing", "--libraries", "bght_b8,bght_b16")]),
            (["--gpurhh", "--timing"], [("timing", "--libraries", "gpurhh,sherwood")]),
            (["--cache"], [("cache", "--libraries", CACHES)]),
            (["--hkv"], [("cache", "--libraries", "hkv,hkv_host,hkv_memory,hkv_memory_gpu")]),
            (["--hkv", "--cache", "--timing"],
             [("timing", "--libraries", "sherwood"),
              ("cache", "--libraries", f"hkv,hkv_host,hkv_memory,hkv_memory_gpu,{CACHES}")]),
            (["--cuckoo"], [("cuckoo",)]),
            (["--rows"], [("rows",)]),
            (["--memory-bandwidth"], [("memory_bandwidth",)])):
        for quick in ([], ["--quick"]):
            with Folder("timing", "memory_bandwidth", "cuckoo", "cache", "rows",
                libraries=libraries) as folder:
                folder.run(*flags, *quick)
                equal(folder.calls(), [call(study, folder, *quick, *COMMIT, *options)
                                       for study, *options in wanted], flags + quick)


@case
def files():
    """a run writes the results, run_info.txt, and a transcript with the output of the studies"""
    with Folder("timing", "memory_bandwidth") as folder:
        text = folder.run("--timing", "--memory-bandwidth")
        out = folder.path / "out"
        equal((out / "benchmark.log").read_text(), text, "the transcript")
        check("to stdout\n" in text and "to stderr\n" in text, text)
        for name in ("timing/summary.csv", "memory_bandwidth/summary.csv"):
            check((out / name).exists(), f"{name} is missing")
        info = (out / "run_info.txt").read_text()
        for line in ("commit: c0ffee", "timing, libraries: sherwood", "timing: exit status 0 after",
                     "memory_bandwidth: exit status 0 after", "command: "):
            check(line in info, f"{line} is missing from {info}")
        folder.run("--timing", "--build", folder.build, folders=False)
        check(list(folder.path.glob("output/*/timing/summary.csv")), "no output/<time>/timing")


@case
def missing():
    """run skips a study or library that is not built, with a notice that names the make target"""
    with Folder("timing", libraries="sherwood warpcore") as folder:
        text = folder.run("--all")
        equal(folder.calls(), [call("timing", folder, *COMMIT, "--libraries", "sherwood,warpcore")])
        for library, variable in (("cuco_linear", "CUCO"), ("cuco_double", "CUCO"),
                                  ("bght_b8", "BGHT"), ("bght_b16", "BGHT"), ("gpurhh", "GPURHH")):
            check(f"notice: {library} is skipped: " in text and
                  f"make bench-timing {variable}=/path/to/include" in text, text)
        for study in ("memory_bandwidth", "cuckoo", "cache", "rows"):
            check(f"notice: {study} is skipped: " in text and
                  f"make bench-{study.replace('_', '-')}" in text, text)
        check("study 1 of 1: timing" in text, text)
    with Folder("timing", "memory_bandwidth") as folder:
        text = folder.run("--gpurhh", "--memory-bandwidth")
        equal(folder.calls(), [call("memory_bandwidth", folder, *COMMIT)])
        check("notice: timing is skipped: none of the libraries" in text, text)
    with Folder("cache", libraries=CACHES.replace(",", " ")) as folder:
        text = folder.run("--cache", "--hkv")
        equal(folder.calls(), [call("cache", folder, *COMMIT, "--libraries", CACHES)])
        check("make bench-cache HKV=/path/to/include" in text, text)
    with Folder() as folder:
        check("nothing was measured" in folder.run("--all", rc=1), "did not say so")


@case
def failures():
    """a study that fails makes the exit status 1, and the next one still runs"""
    with Folder("timing", "memory_bandwidth", status=3) as folder:
        text = folder.run("--timing", "--memory-bandwidth", rc=1)
        equal(len(folder.calls()), 2)
        check("timing FAILED with status 3" in text and
              "FAILED: timing memory_bandwidth" in text and
              "2 of 5 studies ran, 2 failed" in text, text)
    with Folder("timing", "memory_bandwidth", list_status=1) as folder:
        text = folder.run("--all", rc=1)
        equal(folder.calls(), [call("memory_bandwidth", folder, *COMMIT)])
        check("--list-libraries failed" in text and "FAILED: timing" in text, text)


@case
def wrong_command_lines():
    """run refuses an unknown argument before it starts a study"""
    with Folder("timing", "memory_bandwidth") as folder:
        for arguments in (["--hkvs"], ["--all", "timing"], ["--quick"], ["--all", "--output"],
                          ["--all", "--build", ""]):
            text = folder.run(*arguments, rc=2, folders=False)
            check(text.startswith("run: ") and "see --help" in text, text)
        equal(folder.calls(), [])
        equal(sorted(p.name for p in folder.path.iterdir()), ["bin", "build"])


@case
def bundle():
    """in a bundle the programs lie beside the script, the plot scripts in plot/"""
    with Folder("timing", "memory_bandwidth") as folder:
        folder.script = folder.build / "run"
        shutil.copy(SCRIPT, folder.script)
        (folder.build / "plot").mkdir()
        (folder.build / "plot" / "timing.gp").write_text("plot\n")
        gnuplot = folder.bin / "gnuplot"
        gnuplot.write_text(f'#!/bin/sh\necho "$PWD $1" >>{folder.path}/plots\n')
        gnuplot.chmod(0o755)
        folder.run("--timing", "--memory-bandwidth", "--output", "out", folders=False)
        equal(len(folder.calls()), 2)
        equal((folder.path / "plots").read_text(),
              f"{folder.path}/out/timing {folder.build}/plot/timing.gp\n")


@case
def plots():
    """each study that ran is plotted in its folder; a gnuplot that fails is a notice"""
    with Folder("memory_bandwidth") as folder:
        gnuplot = folder.bin / "gnuplot"
        gnuplot.write_text(f'#!/bin/sh\necho "$PWD $1" >>{folder.path}/plots\nexit 1\n')
        gnuplot.chmod(0o755)
        text = folder.run("--memory-bandwidth")
        check("notice: memory_bandwidth is not plotted: gnuplot failed" in text, text)
        equal((folder.path / "plots").read_text(),
              f"{folder.path}/out/memory_bandwidth {ROOT}/bench/memory_bandwidth/plot.gp\n")


@case
def pictures_from_summaries():
    """plot.gp of each study draws every committed picture of its results from summary.csv alone"""
    if not shutil.which("gnuplot"):
        raise Skip("gnuplot is not installed")
    for summary in sorted((ROOT / "bench" / "results").glob("*/*/summary.csv")):
        study = summary.parent.name.partition("-")[0]
        scripts = {"served": ROOT / "bench/serve/plot.gp", "scaling": ROOT / "bench/scale/plot.gp"}
        script = scripts.get(study, ROOT / "bench" / study / "plot.gp")
        committed = {path.name for path in summary.parent.glob("*.svg")}
        if not committed:
            continue
        with tempfile.TemporaryDirectory(prefix="sherwood-plot-") as name:
            shutil.copy(summary, name)
            done = subprocess.run(["gnuplot", script], cwd=name, capture_output=True, text=True, timeout=120, check=False)
            equal(done.returncode, 0, f"{summary}: {done.stderr}")
            missing = committed - {path.name for path in pathlib.Path(name).glob("*.svg")}
            check(not missing, f"{script} draws no {missing} from {summary}")


@case
def clean_script():
    """shellcheck finds nothing in bench/run"""
    if not shutil.which("shellcheck"):
        raise Skip("shellcheck is not installed")
    run("shellcheck", SCRIPT)


@case
def pictures():
    """timing/plot.gp draws the tables, the writes and the key sets that a result has, and no empty picture"""
    if shutil.which("gnuplot") is None:
        raise Skip("gnuplot is not installed")
    for result, kinds in (("timing", ["table"]), ("timing-sets", ["sets"]), ("timing-writes", ["table", "writes"])):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(ROOT / "bench/results/h200" / result / "summary.csv", folder)
            subprocess.run(["gnuplot", ROOT / "bench/timing/plot.gp"], cwd=folder, check=True)
            drawn = sorted(path.name for path in pathlib.Path(folder).glob("*.svg"))
            equal(drawn, [f"{kind}_{bits}.svg" for kind in kinds for bits in (128, 64)], result)


if __name__ == "__main__":
    main()
