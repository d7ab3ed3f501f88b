#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""bench/tune: search and analysis of variants whose rates are known. Stand-ins take the place of the study's programs."""

import csv
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from harness import ROOT, case, check, equal, eventually, main

sys.path.insert(0, str(ROOT / "bench/tune"))
import space  # noqa: E402  pylint: disable=wrong-import-position

SEARCH = ROOT / "bench/tune/search.py"
ANALYZE = ROOT / "bench/tune/analyze.py"
# A study's program by its name: rates of get_plain are known, one variant is wrong, one does not end well.
STUDY = """#!/bin/sh
for last; do :; done
name=${0##*/}
[ -z "$SLOW" ] || sleep "$SLOW"
rate=10 more=10 wide=5
case "$name" in
*kif_4.lpk_1.tpb_128.tpm_0) rate=13 more=12 ;;
*kif_4.lpk_1.tpb_256.tpm_0) rate=20 more=9 ;;
*kif_1.lpk_1.tpb_128.tpm_0) rate=11 more=11 wide=7 ;;
*kif_1.lpk_2.*) echo "a value is wrong" >&2; exit 1 ;;
*kif_4.lpk_2.tpb_128.tpm_0) exit 3 ;;
esac
echo "gpu: NVIDIA H200, compute capability 9.0, 132 multiprocessors" >"$last/run_info.txt"
cat >"$last/summary.csv" <<END
study,library,operation,slot_bits,F,batch,metric,value,unit
timing,memory,get,64,,,gops,99,Gops/s
timing,sherwood,insert,64,0.5,100,gops,99,Gops/s
timing,sherwood,get,64,0.5,100,gops,$rate,Gops/s
timing,sherwood,get,64,0.5,100,gops_min,1,Gops/s
timing,sherwood,get_batch,64,0.5,65536,gops,$more,Gops/s
timing,sherwood,get,128,0.5,100,gops,$wide,Gops/s
cuckoo,cuckoo2,lookup_0,64,0.25,100,mops,2000,Mops/s
cuckoo,robin_hood,lookup_0,64,0.25,100,mops,9000,Mops/s
END
"""
PICK = ("--kernels", "get_plain")


class Folder:
    """Programs and results of a case; leaving its "with" block removes them."""

    def __init__(self, kernels="get_plain"):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="sherwood-tune-"))
        self.results = self.path / "results.csv"
        self.programs = self.path / space.sources()
        self.programs.mkdir()
        for name, kernel in space.kernels_matching(kernels).items():
            for variant, _ in space.variants_of(kernel):
                program = self.programs / f"{name}.{variant}"
                program.write_text(STUDY)
                program.chmod(0o755)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def search(self, *arguments, rc=0):
        return told([SEARCH, "--no-build", "--folder", self.path, "--results", self.results, *arguments], rc)

    def analyze(self, *arguments, rc=0):
        return told([ANALYZE, "--results", self.results, *arguments], rc)


def told(command, rc):
    result = subprocess.run([str(word) for word in command], cwd=ROOT, text=True, timeout=120, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, check=False)
    equal(result.returncode, rc, f"{command}: {result.stdout}")
    return result.stdout


def refuses(text, sentence):
    """Checks that the error is one sentence in one line."""
    equal(text.count("\n"), 1, text)
    check(re.search(sentence, text), f"{sentence!r} is not in {text!r}")


@case
def best_variants():
    """the search chooses the known best variants; wrong ones count as tried; header and files are right"""
    with Folder() as folder:
        text = folder.search(*PICK)
        check("24 of 24 variants: 19 good, 4 wrong, 1 failed, 0 unbuilt" in text, text)
        check("kif_1.lpk_2.tpb_128.tpm_0: wrong: status 1: a value is wrong" in text, text)
        coverage = folder.analyze()
        check("get_plain, 64-bit slots, NVIDIA H200 (sm_90): 24 of 24 variants (100.0 %), of these 4 wrong, 1 failed" in coverage, coverage)
        check("\ncuckoo_read, no device: 0 of 4 variants (0.0 %)\n" in coverage, f"a kernel of a study that did not run:\n{coverage}")
        top = folder.analyze("--top", "3")
        equal(re.findall(r"^  (kif\S+) +([\d.]+) +([\d.]+) +([\d.]+) +(\d+) +([\d.]+)", top, re.M)[:3],
              [("kif_4.lpk_1.tpb_256.tpm_0", "1.4500", "0.9000", "2.0000", "2", "802.5"),
               ("kif_4.lpk_1.tpb_128.tpm_0", "1.2500", "1.2000", "1.3000", "2", "521.6"),
               ("kif_1.lpk_1.tpb_128.tpm_0", "1.1000", "1.1000", "1.1000", "2", "441.4")], top)
        check(re.search(r"kif_2.lpk_1.tpb_256.tpm_0 +1.0000.*  base  in force$", folder.analyze("--top", "30", "--headers", folder.path), re.M), "base is not marked")
        text = folder.analyze("--export", "--headers", folder.path, *PICK)
        check("kif_4.lpk_1.tpb_256.tpm_0 is not exported: its score is 1.4500, but at one point its speed-up is 0.9000" in text, text)
        refuses(folder.analyze("--export", "--headers", folder.path, rc=1).splitlines()[-1] + "\n", "get_hinted, .*: base was not measured: search on")
        check_header(folder, folder.path / "policy_sm90.h")
        folder.analyze("--files", folder.path / "out")
        summary = (folder.path / "out/summary.csv").read_text()
        for row in ("tune,sherwood,get_plain,64,,,coverage,1.000000,1\n", "tune,kif_4.lpk_1.tpb_128.tpm_0,get_plain,64,,,choice,1.250000,1\n",
                    "tune,kif_4.lpk_1.tpb_128.tpm_0,get_plain,64,,,bandwidth,521.625000,GB/s\n"):
            check(row in summary, f"{row} is not in {summary}")
        with open(folder.path / "out/raw.csv", encoding="utf-8", newline="") as file:
            equal(len(list(csv.DictReader(file))), 19 * 3 + 5, "points, and variants without one")


def check_header(folder, header):
    content = header.read_text()
    for wanted in ("#ifdef SW_POLICY_GET\n", "/* Slot=64 Operation=plain: kif_4.lpk_1.tpb_128.tpm_0\n * score 1.2500, speed-ups 1.2000 .. 1.3000 "
                   "over 2 points;\n * 24 of 24 variants tried; measured 20", "template <> struct sw_policy_get_plain<90, 128> {\n"
                   "    static constexpr int keys_in_flight = 1;\n    static constexpr int lanes_per_key = 1;\n", "NVIDIA H200 (sm_90)"):
        check(wanted in content, f"{wanted} is not in {content}")
    use = folder.path / "use.cc"
    use.write_text("template <int A, int W> struct sw_policy_get_plain { static constexpr int keys_in_flight = 2; };\n"
                   "#define SW_POLICY_GET\n#include \"policy_sm90.h\"\n"
                   "static_assert(sw_policy_get_plain<90, 64>::keys_in_flight == 4, \"\");\n"
                   "static_assert(sw_policy_get_plain<80, 64>::keys_in_flight == 2, \"base\");\n")
    told(["clang-14", "-x", "c++", "-std=c++17", "-Wall", "-Werror", "-fsyntax-only", use], 0)
    equal(content, told(["clang-format-14", f"--style=file:{ROOT}/.clang-format", header], 0), "the header's format")


@case
def policies_in_force():
    """a choice must gain 3 % over the policy in force too, which stays otherwise; --variants limits the choice"""
    with Folder() as folder:
        folder.search(*PICK)
        export = ("--export", "--headers", folder.path, *PICK)
        for chosen, wanted in ((("--variants", "kif_1"), "kif_1.lpk_1.tpb_128.tpm_0, score 1.1000"), ((), "kif_4.lpk_1.tpb_128.tpm_0, score 1.2500"),
                               (("--variants", "kif_1"), "kif_4.lpk_1.tpb_128.tpm_0, score 1.2500"),
                               (("--gain-min", "30"), "base")):
            text = folder.analyze(*export, *chosen)
            check(f"get_plain, 64-bit slots, NVIDIA H200 (sm_90): {wanted}\n" in text, f"{chosen}: {text}")
        folder.analyze(*export)
        check(re.search(r"kif_4.lpk_1.tpb_128.tpm_0 .* in force$", folder.analyze("--top", "9", "--headers", folder.path), re.M), "not marked")
        folder.analyze("--files", folder.path / "out", "--headers", folder.path)
        check("tune,kif_4.lpk_1.tpb_128.tpm_0,get_plain,64,,,in_force,1.250000,1\n" in (folder.path / "out/summary.csv").read_text(), "in_force")
        refuses(folder.analyze("--variants", "(", rc=1), r"--variants \(: ")


@case
def kernels_without_policy():
    """points of other studies are named after their library, in G/s; a kernel without a policy is printed, not exported"""
    with Folder("cuckoo_read") as folder:
        folder.search("--kernels", "cuckoo_read")
        with open(folder.results, encoding="utf-8", newline="") as file:
            equal({(row["operation"], float(row["gops"])) for row in csv.DictReader(file)}, {("cuckoo2:lookup_0", 2.0)})
        check("cuckoo_read, 64-bit slots, NVIDIA H200 (sm_90): 4 of 4 variants" in folder.analyze("--kernels", "cuckoo_read"), "coverage")
        text = folder.analyze("--kernels", "cuckoo_read", "--export", "--headers", folder.path)
        check("base; table/cuckoo/cuda/engine_read.cu has no policy" in text and not list(folder.path.glob("policy*")), text)


@case
def searches_go_on():
    """a second search measures nothing new, --again everything; --variants selects; base is always measured"""
    with Folder() as folder:
        check("13 of 13 variants" in folder.search(*PICK, "--variants", "tpb_128"), "base and 12 of 128 threads")
        check("0 of 0 variants" in folder.search(*PICK, "--variants", "tpb_128"), "a second time")
        check("11 of 11 variants" in folder.search(*PICK), "the rest")
        top = folder.analyze("--top", "9")
        check("24 of 24 variants" in folder.search(*PICK, "--again"), "with --again")
        equal(folder.analyze("--top", "9"), top)
        check("(50.0 %)" not in folder.analyze(), "coverage of all")


@case
def kernels_in_turns():
    """a search over all kernels begins with each one's base; results of other sources are ignored"""
    with Folder("get|ranges") as folder:
        lines = folder.search("--kernels", "get_plain|get_hinted", "--variants", "tpb_128").splitlines()
        equal([line.split(":")[0] for line in lines[:4]], ["get_plain", "get_hinted"] * 2)
        check("kif_2.lpk_1.tpb_256.tpm_0" in lines[0] and "kih_4.lpk_1.tpb_256.tpm_0" in lines[1], lines[:2])
        coverage = folder.analyze()
        check("get_hinted, 64-bit slots, NVIDIA H200 (sm_90): 13 of 24 variants (54.2 %)" in coverage, coverage)
        folder.results.write_text(folder.results.read_text().replace(space.sources(), "0123abcd"))
        refuses(folder.analyze(rc=1), "has no results of these sources: run bench/tune/search.py first")


@case
def ended_early():
    """--budget, Ctrl-C and SIGTERM end a search without loss of measured variants; it prints how many of them there are"""
    with Folder() as folder:
        text = folder.search(*PICK, "--budget", "0", rc=1)
        check("the budget is spent\n0 of 24 variants" in text, text)
    for ends in (signal.SIGINT, signal.SIGTERM):
        ended_by(ends)


def ended_by(ends):
    with Folder() as folder:
        command = [str(SEARCH), "--no-build", "--folder", str(folder.path), "--results", str(folder.results), *PICK]
        with subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=dict(os.environ, SLOW="0.2")) as process:
            eventually(lambda: folder.results.is_file() and folder.results.read_text().count("\n") > 1, "a row")
            process.send_signal(ends)
            text = process.stdout.read()
        equal(process.returncode, 130, text)
        check("interrupted: what was measured is kept" in text and re.search(r"^\d+ of 24 variants: [1-9]\d* good", text, re.M), text)
        rest = re.search(r"^(\d+) of (\d+) variants", folder.search(*PICK), re.M)
        check(0 < int(rest.group(1)) == int(rest.group(2)) < 24, rest)


@case
def builds():
    """make builds a variant with its defines, once; a failed build is a result with the compiler's error"""
    with Folder() as folder:
        maker = folder.path / "make"
        maker.write_text("#!/bin/sh\nto=/dev/null\nfor word; do case $word in PROGRAM=*) to=${word#*=} ;; DEFINES=*) defines=$word ;; esac; done\n"
                         "echo \"$*\" >>$MADE\ncase $defines in *KEYS=4*) echo 'get.cu(7): error: too many keys'; exit 2 ;; esac\n"
                         f"cp '{folder.programs}/get_plain.kif_2.lpk_1.tpb_256.tpm_0' \"$to\"\n")
        maker.chmod(0o755)
        os.environ["MADE"] = str(folder.path / "made")
        flags = ("--make", maker, "--folder", folder.path / "new", "--results", folder.results, "--jobs", "2", *PICK)
        text = told([SEARCH, "--build-only", *flags], 0)
        check("24 of 24 variants: 16 good, 0 wrong, 0 failed, 8 unbuilt" in text, text)
        check("kif_4.lpk_1.tpb_128.tpm_0: unbuilt: get.cu(7): error: too many keys" in text, text)
        check(not folder.results.exists(), "a build wrote results")
        made = (folder.path / "made").read_text().splitlines()
        check(any("tune-variant STUDY=timing SOURCE=table/robin_hood/cuda/look_up/get.cu DEFINES=-DSW_GET_KEYS=1 -DSW_GET_LANES=2 -DSW_GET_BLOCK=128 "
                  "-DSW_GET_RESIDENT=1024 PROGRAM=" in line for line in made), made[0])
        text = told([SEARCH, *flags], 0)
        check("24 of 24 variants: 12 good, 4 wrong, 0 failed, 8 unbuilt" in text, text)
        equal(made[0].split()[-3:], ["-j2", "tune-objects", "STUDY=timing"], "what variants share comes first, once")
        equal(len(made), 1 + 24, made)
        equal(len((folder.path / "made").read_text().splitlines()), len(made) + 1 + 8, "what is built is not built again")
        check("24 of 24 variants (100.0 %), of these 4 wrong, 8 unbuilt" in folder.analyze(), folder.analyze())


@case
def declarations():
    """a wrong declaration, command line or file gives one sentence that names it"""
    good = "// %RANGE% SW_X kif {1,2}\n#ifndef SW_X\n#define SW_X 1\n#endif\n"
    with tempfile.NamedTemporaryFile("w", suffix=".cu", dir=ROOT / "build") as file:
        kernel = space.KERNELS["get_plain"]._replace(source=pathlib.Path(file.name).relative_to(ROOT).as_posix())
        for old, new, sentence in (("", "", ""), ("{1,2}", "1:5:2", ""), ("{1,2}", "{2,3}", "the range of SW_X lacks its value 1"),
                                   ("{1,2}", "1:5", "'1:5' is neither"), ("{1,2}", "{1,b}", "no number"), (" kif", "", r"cu:1: write %RANGE%"),
                                   ("#define SW_X 1", "", "the file has no lines"), ("%RANGE%", "", "declares no parameter")):
            pathlib.Path(file.name).write_text(good.replace(old, new) if old else good)
            try:
                variants = space.variants_of(kernel)
                equal(sentence, "", new)
                equal(sorted(v[0] for v in variants), ["kif_1", "kif_3", "kif_5"] if new else ["kif_1", "kif_2"], "variants")
            except space.Wrong as wrong:
                check(sentence and re.search(sentence, str(wrong)), f"{new}: {wrong}")
    with Folder() as folder:
        refuses(folder.search("--kernels", "insert", rc=2), "no kernel has such a name; there are get_plain, get_hinted,")
        refuses(folder.search("--kernels", "(", rc=2), r"--kernels \(: ")
        refuses(folder.search("--variants", "(", rc=2), "--variants: ")
        refuses(folder.analyze(rc=1), "has no results of these sources")
        folder.results.write_text("not,a,file\n")
        refuses(folder.analyze(rc=1), "is no file of results: remove it")
        text = told(["make", "NVCC=", "-s", "tune-variant"], 2)
        check("make tune-variant needs nvcc" in text, text)
        folder.results.unlink()
        refuses(told([SEARCH, "--build-only", "--folder", folder.path / "new", "--results", folder.results, *PICK, "--make", "make NVCC="], 1),
                "the study timing cannot be built: make tune-objects needs nvcc")


if __name__ == "__main__":
    main()
