#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""bench/tune: search and analysis of a kernel whose best variants are known, on the CPU."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

from harness import BUILD, ROOT, Skip, case, check, equal, eventually, main

SEARCH = BUILD / "tune" / "search"
ANALYZE = BUILD / "tune" / "analyze"
KERNEL = "bench/tune/kernels/synthetic.c"
# Of Width=32: 5 x 4. Of Width=64: 5 x 4 x 2.
VARIANTS = 60
WRONG = 12
UNBUILT = 3
# Variants are built once for all cases that do not change a kernel.
SHARED = pathlib.Path(tempfile.mkdtemp(prefix="sherwood-tune-variants-"))


class Folder:
    """Where one case has its results; leaving its "with" block removes it."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="sherwood-tune-"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def command(self, *arguments, kernel=KERNEL, folder=None):
        arguments = list(arguments)
        behind = arguments.index("--") if "--" in arguments else len(arguments)
        return [str(a) for a in (SEARCH, "--db", self.path / "tune.db", "--folder",
                                 folder or SHARED, *arguments[:behind], kernel,
                                 *arguments[behind:])]

    def search(self, *arguments, rc=0, **where):
        return told(self.command(*arguments, **where), rc)

    def analyze(self, *arguments, rc=0):
        return told([str(a) for a in (ANALYZE, "--db", self.path / "tune.db", *arguments)], rc)

    def kernel(self, *changes):
        """A copy of the kernel with pieces of its text replaced."""
        text = (ROOT / KERNEL).read_text()
        for old, new in changes:
            check(old in text, f"{old} is not in {KERNEL}")
            text = text.replace(old, new)
        path = self.path / "copy.c"
        path.write_text(text)
        return path


def told(command, rc):
    result = subprocess.run(command, cwd=ROOT, text=True, timeout=120, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, check=False)
    equal(result.returncode, rc, f"{command}: {result.stdout}")
    return result.stdout


def totals(text):
    """The numbers of the search's last line about variants."""
    match = re.search(r"^(\d+) of (\d+) variants: (\d+) measured now \((\d+) of them refused\), "
                      r"(\d+) stored before, (\d+) not built, (\d+) left$", text, re.M)
    check(match, f"no totals in {text}")
    names = ("done", "all", "measured", "refused", "kept", "missing", "left")
    return dict(zip(names, map(int, match.groups())))


def refuses(text, sentence):
    """It says one sentence, in one line, and what it is about."""
    equal(text.count("\n"), 1, text)
    check(re.search(sentence, text), f"{sentence!r} is not in {text!r}")


@case
def end_to_end():
    """the known best variants win; what is wrong or does not compile is refused; export"""
    with Folder() as folder:
        text = folder.search()
        count = totals(text)
        equal(count["done"], VARIANTS)
        equal(count["refused"], WRONG + UNBUILT, text)
        check("unr_3.blk_64: wrong: Load=0.5 Size=2^10: the sum is" in text, text)
        check("unr_8.blk_256: unbuilt: " in text and "have no room for 8" in text, text)
        coverage = folder.analyze("--coverage")
        check("synthetic[Width=32], synthetic model coverage: 20 / 20 (100.00%), of these 4 wrong, "
              "0 failed, 1 not built\n" in coverage, coverage)
        check("synthetic[Width=64], synthetic model coverage: 40 / 40 (100.00%), of these 8 wrong, "
              "0 failed, 2 not built\n" in coverage, coverage)
        equal(folder.analyze(), coverage, "without options")
        top = folder.analyze("--top", "3")
        equal(re.findall(r"^ +(\S+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)  +4/4 +[\d.]+$", top, re.M)[::3],
              [("unr_8.blk_128", "1.613333", "0.880000", "1.540000", "1.760000"),
               ("unr_2.blk_192.pre_1", "1.644500", "1.644500", "1.644500", "1.644500")], top)
        check("unr_3" not in folder.analyze("--top", "60"), "a wrong variant has a score")
        check(re.search(r"unr_1.blk_64 +1.000000.*  base$", folder.analyze("--top", "60"), re.M),
              "base is not marked")
        exported(folder)
        written(folder)


def written(folder):
    """--files writes every point to raw.csv; coverage, the best and the choice to summary.csv"""
    out = folder.path / "out"
    folder.analyze("--files", out)
    raw = (out / "raw.csv").read_text().splitlines()
    equal(raw[0], "kernel,workload,variant,state,load,size,median_s,low_s,high_s,samples,bytes,"
          "bytes_per_second")
    equal(len(raw) - 1, 4 * (VARIANTS - WRONG - UNBUILT), "points")
    for row in (line.split(",") for line in raw[1:]):
        size = 2 ** int(row[5].split("^")[1])
        equal(int(row[10]), 4 * size, "the bytes of a pass")
        check(abs(float(row[11]) * float(row[6]) / (4 * size) - 1) < 1e-4, f"bytes a second: {row}")
    summary = (out / "summary.csv").read_text()
    equal(summary.splitlines()[0], "study,library,operation,slot_bits,F,batch,metric,value,unit")
    for row in ("tune,sherwood,synthetic,64,,,coverage,1.000000,1\n",
                "tune,unr_4.blk_128,synthetic,32,,,choice,1.540000,1\n",
                "tune,unr_8.blk_128,synthetic,32,,,speed_up_min,0.880000,1\n"):
        check(row in summary, f"{row} is not in {summary}")


def exported(folder):
    text = folder.analyze("--export", "--headers", folder.path)
    check("unr_8.blk_128 is not exported: its score is 1.6133, but at Load=0.9 Size=2^10 its "
          "speed-up is 0.8800" in text, text)
    header = folder.path / "policy_cpu.h"
    content = header.read_text()
    for wanted in ("#ifdef SW_POLICY_SYNTHETIC", "template <> struct sw_policy_synthetic<0, 32> {",
                   "static constexpr int unr = 4;\n    static constexpr int blk = 128;\n};",
                   "template <> struct sw_policy_synthetic<0, 64> {",
                   "unr = 2;\n    static constexpr int blk = 192;\n    static constexpr int pre = 1;",
                   "score 1.5400, speed-ups 1.5400 .. 1.5400", "synthetic model (cpu)"):
        check(wanted in content, f"{wanted} is not in {content}")
    check(re.search(r"measured 20\d\d-\d\d-\d\d", content), "no date")
    use = folder.path / "use.cc"
    use.write_text("template <int A, int W> struct sw_policy_synthetic { static constexpr int unr = "
                   "1; };\n#define SW_POLICY_SYNTHETIC\n#include \"policy_cpu.h\"\n"
                   "static_assert(sw_policy_synthetic<0, 32>::unr == 4, \"\");\n"
                   "static_assert(sw_policy_synthetic<90, 32>::unr == 1, \"base\");\n")
    told(["clang-14", "-x", "c++", "-std=c++17", "-Wall", "-Werror", "-fsyntax-only", str(use)], 0)
    formatted = told(["clang-format-14", f"--style=file:{ROOT}/.clang-format", str(header)], 0)
    equal(content, formatted, "the header's format")
    new = folder.path / "not" / "yet"
    folder.analyze("--export", "--headers", new)
    equal((new / header.name).read_text(), content, "the header in a folder that was not there")
    refuses(folder.analyze("--export", "--headers", use / "below", rc=1).splitlines()[-1] + "\n",
            f"the folder {use}/below cannot be made: Not a directory")


@case
def resume():
    """a second search measures nothing, one with --again everything; analysis stays the same"""
    with Folder() as folder:
        folder.search("--variants", "blk_128")
        top = folder.analyze("--top", "9")
        count = totals(folder.search("--variants", "blk_128"))
        equal((count["measured"], count["kept"], count["done"]), (0, 17, 17))
        equal(folder.analyze("--top", "9"), top)
        count = totals(folder.search("--variants", "blk_128", "--again"))
        equal((count["measured"], count["kept"]), (17, 0))
        count = totals(folder.search())
        equal((count["kept"], count["done"]), (17, VARIANTS))


@case
def changed_sources():
    """results of changed sources are not looked at, and are measured again"""
    with Folder() as folder:
        pick = ("-a", "Width=32", "--variants", "unr_2.blk_64")
        where = {"folder": folder.path / "v"}
        folder.search(*pick, kernel=folder.kernel(), **where)
        check("unr_2.blk_64  1.200000" in folder.analyze("--top", "1"), folder.analyze("--top", "1"))
        changed = folder.kernel(("unroll = wide ? 1.3 : 1.2;", "unroll = wide ? 1.3 : 1.25;"))
        refuses(folder.search(*pick, "--no-build", kernel=changed, rc=1, **where).splitlines()[-1]
                + "\n", "base of copy Width=32 is not built: run the search with --build-only")
        count = totals(folder.search(*pick, kernel=changed, **where))
        equal((count["measured"], count["kept"]), (2, 0))
        check("unr_2.blk_64  1.250000" in folder.analyze("--top", "1"), folder.analyze("--top", "1"))


@case
def selections():
    """-a selects workloads of both kinds, -R kernels, --variants variants"""
    with Folder() as folder:
        text = folder.search("-a", "Width{ct}=[64]", "-a", "Load{rt}=[0.9]", "--variants",
                             "unr_2.blk_192")
        equal(totals(text)["done"], 3)
        check("Width=32" not in text, text)
        check("over 2 points" in text, text)
        top = folder.analyze("--top", "5")
        check("2/4" in top and "Width=32" in top, top)
        check("coverage: 0 / 40 (0.00%), and 3 measured in part" in folder.analyze("--coverage"),
              folder.analyze("--coverage"))
        check("coverage: 0 / 20" in folder.analyze("--coverage", "-a", "Width=32"), "with -a")
        refuses(folder.analyze("--export", "--headers", folder.path, "-a", "Width=64", rc=1),
                "base was not measured on every workload")
        # the rest of the same variants: only what is missing
        text = folder.search("-a", "Width{ct}=[64]", "--variants", "unr_2.blk_192")
        check("over 4 points" in text, text)
        check("coverage: 3 / 40 (7.50%)\n" in folder.analyze("--coverage"), "after the rest")
        refuses(folder.search("-R", "^get$", rc=2), "no kernel's name matches")
        equal(totals(folder.search("-R", "synth", "--variants", "none"))["done"], 2)
        refuses(folder.analyze("-R", "^get$", rc=1), "has no results that match")


@case
def interrupted():
    """Ctrl-C loses nothing: the next search goes on where this one ended"""
    slow = ("--variants", "blk_(64|192)", "--", "--slow", "0.02")
    for sent in (signal.SIGINT, signal.SIGTERM):
        with Folder() as folder:
            folder.search("--build-only")
            with subprocess.Popen(folder.command(*slow), cwd=ROOT, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
                lines = [process.stdout.readline() for _ in range(4)]
                check("60 of 60" not in lines[-1], lines)
                process.send_signal(sent)
                text = "".join(lines) + process.stdout.read()
            equal(process.returncode, 130, text)
            check("interrupted: what was measured is stored" in text, text)
            count = totals(text)
            check(0 < count["done"] < count["all"], text)
            rest = totals(folder.search(*slow[:2]))
            equal(rest["done"], rest["all"])
            check(rest["kept"] >= 2, rest)
            check(rest["kept"] + rest["measured"] >= rest["all"] - UNBUILT, rest)
            check("unr_2.blk_192.pre_1  1.644500" in folder.analyze("--top", "1"),
                  folder.analyze("--top", "1"))


@case
def interrupted_builds():
    """Ctrl-C while compilers run: what is built stays, nothing half built does"""
    with Folder() as folder:
        where = folder.path / "v"
        with subprocess.Popen(folder.command("-j", "2", folder=where), cwd=ROOT, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            eventually(lambda: where.exists() and len(list(where.iterdir())) > 4, "builds")
            process.send_signal(signal.SIGINT)
            text = process.stdout.read()
        equal(process.returncode, 130, text)
        check(not list(where.glob("*.new")), "a half built variant is left")
        check(list(where.iterdir()), "nothing is left")


@case
def budget():
    """--budget ends a search in time, and the next one goes on"""
    with Folder() as folder:
        folder.search("--build-only")  # compilers could take all of the budget
        for _ in range(20):  # a busy machine may take all of 0.6 s for the first one
            text = folder.search("--budget", "0.01", "--no-build", "--", "--slow", "0.02")
            check("the budget is spent" in text, text)
            if totals(text)["left"] < VARIANTS:
                break
        check(0 < totals(text)["left"] < VARIANTS, text)
        check(re.search(r"about \d+ s left", text), text)
        text = folder.search("--budget", "5")
        equal((totals(text)["left"], totals(text)["done"]), (0, VARIANTS))


@case
def two_machines():
    """--build-only needs no device; --no-build runs what was built elsewhere, and misses the rest"""
    with Folder() as folder:
        where = folder.path / "v"
        text = folder.search("--build-only", "-a", "Width=32", "--variants", "unr_4", folder=where)
        check("5 of 5 variants are built" in text, text)
        check(not (folder.path / "tune.db").exists(), "a build wrote results")
        moved = folder.path / "elsewhere"
        where.rename(moved)
        text = folder.search("--no-build", "-a", "Width=32", "--cc", "/nowhere/cc", folder=moved)
        equal(totals(text)["measured"], 5, text)
        equal(totals(text)["missing"], 15, text)
        text = folder.search("-a", "Width=32", "--cc", "/nowhere/cc", "--variants", "unr_2.blk_64",
                             folder=moved)
        check("the compiler /nowhere/cc cannot be started" in text, text)


@case
def broken_kernels():
    """a broken comment, a missing base, an unknown axis: one sentence with its place, status 2"""
    with Folder() as folder:
        for change, sentence in (
                (("blk 64:256:64", "blk 64:256"), r"copy\.c:\d+: a range is first:last:step"),
                (("unr {1,2,3,4,8}", "{1,2}"), r"copy\.c:\d+: it is %RANGE% NAME label range"),
                (("#define SW_SYNTHETIC_BLOCK 64", ""), "no line \"#define SW_SYNTHETIC_BLOCK"),
                (("Size{io} {2^10,2^16}", "Size{io} 2^10"), r"copy\.c:\d+: a list begins with {")):
            refuses(folder.search(kernel=folder.kernel(change), rc=2), sentence)
        refuses(folder.search("-a", "Slot{ct}=[64]", rc=2), "has no axis Slot; it has Width{ct}")
        refuses(folder.search("-a", "Width{rt}=[64]", rc=2), "is a compile-time {ct} axis")
        refuses(folder.search("-a", "Width=65", rc=2), "has no value 65")
        refuses(folder.search(kernel="nowhere.c", rc=2), "nowhere.c cannot be read")
        refuses(folder.search("--budget", "soon", rc=2), "--budget soon: a number from 0 to 1e.06 is needed")
        refuses(folder.search("-R", "(", rc=2), "is no regular expression")
        check(not (folder.path / "tune.db").exists(), "results of nothing")


@case
def failures():
    """no device, a silent program, one that dies, a base that is wrong: one sentence, status 1"""
    def last(text):
        return text.splitlines()[-1] + "\n"
    pick = ("-a", "Width=32", "--variants", "unr_2.blk_64")
    with Folder() as folder:
        folder.search("--build-only", *pick)
        refuses(last(folder.search(*pick, "--", "--no-device", rc=1)),
                "no synthetic device answers, as --no-device asks")
        refuses(last(folder.search(*pick, "--answer-seconds", "0.2", "--", "--silent", rc=1)),
                "base of synthetic Width=32 cannot be used.*it did not answer within 0.2 s")
        refuses(last(folder.search(*pick, "--again", "--", "--die", rc=1)), "it was told to die")
        wrong = folder.kernel(("#define SW_SYNTHETIC_UNROLL 1\n", "#define SW_SYNTHETIC_UNROLL 3\n"))
        refuses(last(folder.search(*pick, kernel=wrong, folder=folder.path / "v", rc=1)),
                "base of copy Width=32 cannot be used.*wrong: .*the sum is")
        unbuilt = folder.kernel(("struct synthetic {", "struct synthetic"))
        refuses(last(folder.search(*pick, kernel=unbuilt, folder=folder.path / "v", rc=1)),
                "base of copy Width=32 is not built: .*error")
        (folder.path / "tune.db").write_text("no database" * 100)
        refuses(last(folder.search(*pick, rc=1)), "file is not a database")
    with Folder() as folder:
        refuses(folder.analyze(rc=1), "run bench/tune/search first")
        folder.search(*pick, "--build-only")
        failing = folder.search(*pick)
        equal(totals(failing)["done"], 2, "after all that the same search works")


@case
def plots():
    """--variant plots the times of base and of the variants that match"""
    with Folder() as folder:
        folder.search("-a", "Width=32", "--variants", "blk_128")
        script = folder.analyze("--variant", "unr_(2|4)[.]", "--script")
        for wanted in ("'unr_1.blk_64 (base)'", "'unr_2.blk_128'", "'unr_4.blk_128'",
                       "'Load=0.9 Size=2^16' 3.5", "set output", "$v2 index 3 using"):
            check(wanted in script, f"{wanted} is not in {script[-2000:]}")
        check("unr_8" not in script, "a variant that does not match")
        only = folder.analyze("--variant", "unr_2", "--script", "-a", "Load=0.5")
        check("Load=0.9" not in only and "Load=0.5" in only, only)
        refuses(folder.analyze("--variant", "unr_9", rc=1, *("--folder", folder.path)),
                "no measured variant matches")
        if not shutil.which("gnuplot"):
            raise Skip("gnuplot is not installed")
        file = folder.path / "plots" / "synthetic.Width_32.svg"
        equal(folder.analyze("--variant", "unr_2", "--folder", folder.path / "plots"), f"{file}\n")
        drawing = file.read_text()
        check(drawing.startswith("<?xml") and "unr_2.blk_128" in drawing, drawing[:300])


@case
def help_texts():
    """--help names every option, and wrong ones are refused"""
    for program, options in (
            (SEARCH, ("-a, --axis", "-R, --kernels", "--variants", "--again", "--db", "--folder",
                      "--build-only", "--no-build", "-j, --jobs", "--cc", "--nvcc", "--arch",
                      "--runner", "--budget", "--interval", "--samples-min", "--point-seconds",
                      "--answer-seconds", "-h, --help", "Exit status")),
            (ANALYZE, ("--coverage", "--top", "--variant", "--export", "-a, --axis",
                       "-R, --kernels", "--device", "--db", "--folder", "--script", "--files",
                       "--headers", "--loss-max", "--gain-min", "-h, --help", "Exit status"))):
        text = told([str(program), "--help"], 0)
        for option in options:
            check(re.search(rf"^ *{option}\b", text, re.M), f"{option} is missing from {text}")
        check(max(map(len, text.splitlines())) <= 100, "a line is too long")
        told([str(program), "--wat"], 2)
    refuses(told([str(ANALYZE), "--top", "0"], 2), "--top 0: a number from 1 to 1000000 is needed")
    refuses(told([str(ANALYZE), "more"], 2), "more: there are no arguments besides options")
    refuses(told([str(ANALYZE), "--script"], 2), "--script is of --variant")


if __name__ == "__main__":
    os.environ.pop("CC", None)
    try:
        main()
    finally:
        shutil.rmtree(SHARED, ignore_errors=True)
