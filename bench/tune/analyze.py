#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""analyze - coverage of a search, its best variants, and the choice as a header of the table.

A speed-up is a variant's rate over base's at one point. The score is the mean of the speed-ups over all points.
"""

import argparse
import collections
import csv
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "serve"))
# pylint: disable=wrong-import-position
from failures import Failed, made, sentence, write_file  # noqa: E402
from space import KERNELS, ROOT, Wrong, has_policy, kernels_matching, name_of, parameters_of, read_results, variants_of  # noqa: E402

# The members of the policies for the labels of parameters.
MEMBERS = {"hin": "reads_hints", "kif": "keys_in_flight", "kih": "keys_in_flight", "kps": "operations_per_thread", "lpk": "lanes_per_key",
           "mov": "moves_percent", "pas": "pass_percent", "tpb": "threads_per_block", "tpm": "threads_per_multiprocessor",
           "tps": "threads_per_block"}
Score = collections.namedtuple("Score", "variant score min max points gbps")


def member_of(parameter):
    return MEMBERS.get(parameter.label, parameter.label)


class Workload:
    """The results of a kernel at one width on one device. headers: folder of the policies in force."""

    def __init__(self, name, bits, rows, headers):
        self.name, self.bits, self.headers = name, bits, headers
        self.kernel = KERNELS[name]
        self.parameters = parameters_of(self.kernel)
        self.variants = [variant for variant, _ in variants_of(self.kernel)]
        self.base = self.variants[0]
        mine = [row for row in rows if row["kernel"] == name and row["variant"] in self.variants]
        self.states = {row["variant"]: row["state"] for row in mine}
        self.device = next((row["device"] for row in mine if row["device"]), "")
        self.date = max((row["date"] for row in mine), default="")
        self.rates = collections.defaultdict(dict)
        for row in mine:  # the last row of a point is the newest
            if row["state"] == "good" and row["slot_bits"] == bits:
                self.rates[row["variant"]][row["operation"], row["F"], row["batch"]] = float(row["gops"])
        self.scores = sorted(filter(None, map(self.score, self.rates)), key=lambda s: -s.score)
        self.in_force = self.variant_in_force()

    @property
    def arch(self):
        match = re.search(r"\(sm_(\d+)\)$", self.device)
        return match.group(1) if match else "0"

    def variant_in_force(self):
        """The variant that the policy of this device has; base where it has none."""
        header = self.headers / f"policy_sm{self.arch}.h"
        text = header.read_text(encoding="utf-8") if header.is_file() else ""
        struct = re.search(rf"struct sw_policy_{self.name}<{self.arch}, {self.bits}> {{(.*?)}};", text, re.DOTALL)
        if not struct:
            return self.base
        values = dict(re.findall(r"int (\w+) = (\d+);", struct.group(1)))
        return name_of(self.parameters, [values.get(member_of(p), p.base) for p in self.parameters])

    def score(self, variant):
        base, own = self.rates[self.base], self.rates[variant]
        ups = [own[point] / base[point] for point in base if point in own]
        if not ups or self.states[variant] != "good":
            return None
        gbps = max(own.values()) * self.kernel.bytes * int(self.bits) / 64
        return Score(variant, sum(ups) / len(ups), min(ups), max(ups), len(ups), gbps)

    @property
    def title(self):
        return f"{self.name}, " + (f"{self.bits}-bit slots, " if self.bits else "") + (self.device or "no device")

    def share_tried(self):
        return sum(v in self.states for v in self.variants) / len(self.variants)

    def coverage(self):
        states = [self.states[v] for v in self.variants if v in self.states]
        tell = ", ".join(f"{states.count(s)} {s}" for s in ("wrong", "failed", "unbuilt") if s in states)
        return (f"{self.title}: {len(states)} of {len(self.variants)} variants ({100 * len(states) / len(self.variants):.1f} %)"
                + (f", of these {tell}" if tell else ""))

    def choice(self, options, tell=lambda text: None):
        """The variant with the highest score that loses nowhere much, and gains enough over base and over the one in
        force; otherwise the one in force. None: base."""
        if not self.rates[self.base]:
            raise Wrong(f"{self.title}: base was not measured: search on")
        points = len(self.rates[self.base])
        kept = next((one for one in self.scores if one.variant == self.in_force != self.base), None)
        if kept and kept.score < 1 + options.gain_min / 100:
            kept = None
        for one in self.scores:
            if one.score < (kept.score if kept else 1) * (1 + options.gain_min / 100):
                return kept
            if not re.search(options.variants, one.variant):
                continue
            if one.points < points:
                tell(f"{self.title}: {one.variant} is not exported: it was measured at {one.points} of {points} points")
            elif one.min < 1 - options.loss_max / 100:
                tell(f"{self.title}: {one.variant} is not exported: its score is {one.score:.4f}, but at one point its speed-up is {one.min:.4f}")
            else:
                return one
        return kept


def print_top(workload, count):
    print(f"{workload.title}:\n  {'variant':32} {'score':>8} {'min':>8} {'max':>8} {'points':>6} {'GB/s':>8}")
    for one in workload.scores[:count]:
        print(f"  {one.variant:32} {one.score:8.4f} {one.min:8.4f} {one.max:8.4f} {one.points:6} {one.gbps:8.1f}"
              + ("  base" if one.variant == workload.base else "") + ("  in force" if one.variant == workload.in_force else ""))


def struct_of(workload, choice, arch):
    """The comment and the specialisation of a choice."""
    best = workload.scores[0]
    tried = sum(v in workload.states for v in workload.variants)
    lines = ["", f"/* Slot={workload.bits} Operation={workload.kernel.workload}: {choice.variant if choice else 'base'}"]
    if not choice:
        return lines + [f" * {workload.base}; of {tried} variants of {len(workload.variants)} the best scored {best.score:.4f} "
                        f"(min {best.min:.4f}).", " */"]
    values = dict(part.split("_") for part in choice.variant.split("."))
    members = [f"    static constexpr int {member_of(p)} = {values[p.label]};" for p in workload.parameters]
    return lines + [f" * score {choice.score:.4f}, speed-ups {choice.min:.4f} .. {choice.max:.4f} over {choice.points} points;",
                    f" * {tried} of {len(workload.variants)} variants tried; measured {workload.date} UTC. */",
                    f"template <> struct sw_policy_{workload.name}<{arch}, {workload.bits}> {{", *members, "};"]


def export(workloads, options):
    for workload in workloads:
        if not has_policy(workload.name) and workload.rates[workload.base]:
            best = workload.choice(options)
            print(f"{workload.title}: {best.variant if best else 'base'}; {workload.kernel.source} has no policy: its #define lines serve every GPU")
    workloads = [workload for workload in workloads if has_policy(workload.name)]
    if not workloads:
        return
    choices = [workload.choice(options, print) for workload in workloads]
    devices = sorted({workload.device for workload in workloads})
    if len(devices) != 1:
        raise Wrong(f"results are of {' and '.join(devices)}: choose one by --device")
    arch = workloads[0].arch
    lines = ["/* SPDX-License-Identifier: MIT", " *", f" * policy_sm{arch}.h - variants of kernels that are faster than base on one GPU.", " *",
             f" * Written by bench/tune/analyze.py --export; bench/tune/README.md. Measured on\n * {devices[0]}. "
             "A kernel's file includes it for its own part.", " */"]
    guard = None
    for workload, choice in zip(workloads, choices):
        print(f"{workload.title}: {f'{choice.variant}, score {choice.score:.4f}' if choice else 'base'}")
        own = pathlib.Path(workload.kernel.source).stem.upper()
        if own != guard:
            lines += ["", *(["#endif", ""] if guard else []), f"#ifdef SW_POLICY_{own}"]
            guard = own
        lines += struct_of(workload, choice, arch)
    path = options.headers / f"policy_sm{arch}.h"
    write_file(path, "\n".join([*lines, "", "#endif", ""]))
    print(path)


def write_files(workloads, rows, options):
    made(options.files, "--files")
    with open(options.files / "raw.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    with open(options.files / "summary.csv", "w", encoding="utf-8") as file:
        print("study,library,operation,slot_bits,F,batch,metric,value,unit", file=file)
        for workload in workloads:
            def metric(library, name, value, unit="1", of=workload):
                print(f"tune,{library},{of.name},{of.bits},,,{name},{value:.6f},{unit}", file=file)
            metric("sherwood", "coverage", workload.share_tried())
            for one in workload.scores[:options.top or 5]:
                for name in ("score", "min", "max"):
                    metric(one.variant, name if name == "score" else f"speed_up_{name}", getattr(one, name))
                metric(one.variant, "bandwidth", one.gbps, "GB/s")
            if not workload.rates[workload.base]:
                continue  # without base there is no choice
            choice = workload.choice(options)
            metric(choice.variant if choice else workload.base, "choice", choice.score if choice else 1)
            for one in workload.scores:
                if one.variant == workload.in_force:
                    metric(one.variant, "in_force", one.score)


def widths_of(name, rows):
    """Returns the widths that a kernel was measured at, otherwise those of its study. Without results of the study: one empty width."""
    study = KERNELS[name].study
    found = {width: {row["slot_bits"] for row in rows if row["slot_bits"] and width(row["kernel"])}
             for width in (lambda kernel: kernel == name, lambda kernel: KERNELS[kernel].study == study)}
    return sorted(next(filter(None, found.values()), {""}), key=lambda width: int(width or 0))


def analyze(options):
    try:
        re.compile(options.variants)
    except re.error as error:
        raise Wrong(f"--variants {options.variants}: {error}") from error
    rows = [row for row in read_results(options.results) if options.device in row["device"] or not row["device"]]
    workloads = [Workload(name, bits, rows, options.headers) for name in kernels_matching(options.kernels) for bits in widths_of(name, rows)]
    if not rows:
        raise Wrong(f"{options.results} has no results of these sources: run bench/tune/search.py first")
    if options.coverage or not (options.top or options.export or options.files):
        for workload in workloads:
            print(workload.coverage())
    if options.top:
        for workload in workloads:
            print_top(workload, options.top)
    if options.files:
        write_files(workloads, rows, options)
    if options.export:
        export(workloads, options)


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="Exit status: 0; 1 if there are no such results; 2 if the "
                                     "command line is wrong.")
    parser.add_argument("--coverage", action="store_true", help="print how many variants were tried (the default)")
    parser.add_argument("--top", type=int, metavar="N", help="print the best N variants of each workload, with GB/s")
    parser.add_argument("--files", type=pathlib.Path, metavar="FOLDER", help="write raw.csv and summary.csv")
    parser.add_argument("--export", action="store_true", help="write the choice as policy_smNN.h")
    parser.add_argument("--headers", type=pathlib.Path, default=ROOT / "table/robin_hood/cuda", metavar="FOLDER", help="where it goes (table/robin_hood/cuda)")
    parser.add_argument("--variants", default="", metavar="RE", help="choose among variants whose name this expression finds (all)")
    parser.add_argument("--kernels", default="", metavar="RE", help="kernels whose name this expression finds (all)")
    parser.add_argument("--device", default="", metavar="TEXT", help="results of devices with this in their name (all)")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "build/tune/results.csv", help="build/tune/results.csv")
    parser.add_argument("--loss-max", type=float, default=2, metavar="PERCENT", help="a choice loses no more at any point (2)")
    parser.add_argument("--gain-min", type=float, default=3, metavar="PERCENT", help="a choice gains at least this (3)")
    return parser.parse_args()


def main():
    try:
        analyze(parsed())
        return 0
    except (Wrong, Failed, OSError) as wrong:
        print(f"analyze: {sentence(wrong)}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
