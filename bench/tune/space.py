# SPDX-License-Identifier: MIT
"""space - the kernels that are tuned, their variants, and the files of a sweep.

A kernel's file declares its parameters in a comment, beside the lines `#define MACRO value` that are base:

    %RANGE% SW_GET_KEYS kif {1,2,4} Operation{ct}=[plain]       macro, label, values; of this workload only
    %RANGE% SW_GET_BLOCK tpb 64:256:64                          the same by first:last:step; of all workloads of the file

KERNELS says which study measures a workload. README.md has the terms.
"""

import collections
import csv
import hashlib
import itertools
import pathlib
import random
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIELDS = ["sources", "device", "kernel", "variant", "state", "operation", "slot_bits", "F", "batch", "gops", "date", "reason"]
CODE = (".c", ".h", ".cu", ".cuh", ".inl")
RANGE = re.compile(r"%RANGE%\s+(\w+)\s+([a-z]+)\s+(\S+)(?:\s+Operation\{ct\}=\[(\w+)\])?\s*$")

# arguments: command line of the study. operations: the beginnings of names in its summary.csv that count. bytes: the least
# that an operation reads and writes, for each 64 bits of key and value: key, value, answer bit, one bucket, and the slot of a
# write. Of rows: the row twice. The cache's values likewise, and a line of digests.
Kernel = collections.namedtuple("Kernel", "source workload study arguments operations bytes")
TIMING = "--libraries sherwood --capacity-log2 26 --miss 0,100 --reps 9 --series-seconds 0.3 --operations "
GET = TIMING + "get,get_batch --get-batches 2^16,2^20,2^24 "
MOVES = "--delete-batches 2^18,2^20 --insert-batches 2^18,2^20 "
RANGES = TIMING + "upsert_at_F,insert_batch,delete --F 0.5,0.85 --upsert-batches 2^18,2^20,2^22 " + MOVES
PATHS = TIMING + "insert_batch,delete --F 0.5,0.75,0.85 --insert-batches 2^20,2^21,2^22 --delete-batches 2^20,2^21,2^22"
CHAINS = TIMING + "insert_batch,delete --F 0.85,0.95 " + MOVES
ROWS = "--value-bytes 256 --loads 0.85 --memory 4G --reps 5 --seconds 0.5 --operations "
CACHE = "--experiments operations --dims 16 --loads 0.5,1.0 --capacity 16M --reps 5 --seconds 0.5 --operations "
KERNELS = {
    # The table reads by hints above a load of 0.86.
    "get_plain": Kernel("table/robin_hood/cuda/look_up/get.cu", "plain", "timing", GET + "--F 0.5,0.75 --batch-F 0.5", "get", 40.125),
    "get_hinted": Kernel("table/robin_hood/cuda/look_up/get.cu", "hinted", "timing", GET + "--F 0.9,0.95 --batch-F 0.95", "get", 40.125),
    "ranges_scatter": Kernel("table/robin_hood/cuda/writes/ranges.cu", "scatter", "timing", RANGES, "upsert_at_F insert_batch delete", 48),
    # Updates, and direct inserts and removals.
    "ranges_apply": Kernel("table/robin_hood/cuda/writes/ranges.cu", "apply", "timing", RANGES, "upsert_at_F insert_batch delete", 48),
    "write_choice": Kernel("table/robin_hood/cuda/launch/choose_write_path.cu", "choice", "timing", PATHS, "insert_batch delete", 48),
    "displace": Kernel("table/robin_hood/cuda/displacement/displace.cu", "chains", "timing", CHAINS, "insert_batch delete", 48),
    "displace_short": Kernel("table/robin_hood/cuda/displacement/displace_short.cu", "short", "timing", CHAINS, "insert_batch delete", 48),
    "stream_table": Kernel("table/robin_hood/cuda/rebuild/stream_table.cu", "mix", "timing", TIMING + "insert --F 0.5,0.95", "insert", 16),
    "rebuild": Kernel("table/robin_hood/cuda/rebuild/rebuild.cu", "pass", "timing", TIMING + "insert,delete --F 0.5,0.95 --delete-batches 2^23",
                      "insert delete", 16),
    "row_get": Kernel("table/robin_hood/cuda/rows/row_get.cu", "copy", "rows", ROWS + "get", "get", 292),
    "row_look_up": Kernel("table/robin_hood/cuda/rows/row_look_up.cu", "find", "rows", ROWS + "set_stored,add", "set_stored add", 292),
    "cuckoo_read": Kernel("table/cuckoo/cuda/engine_read.cu", "read", "cuckoo", "--experiments lookup --tables cuckoo2,cuckoo3 --reps 5", "lookup", 40.125),
    "cache_present": Kernel("table/cache/cuda/present.cu", "present", "cache", CACHE + "insert_or_assign,assign --modes memory", "insert_or_assign assign", 31),
    "cache_short_rows": Kernel("table/cache/cuda/short_rows.cu", "rows", "cache", CACHE + "insert_or_assign,insert_and_evict --modes throughput",
                               "insert_or_assign insert_and_evict", 31),
}


class Wrong(Exception):
    """What is wrong with the command line, a declaration or the results, in a sentence."""


Parameter = collections.namedtuple("Parameter", "macro label values base")


def values_of(text, where):
    if text.startswith("{") and text.endswith("}"):
        values = text[1:-1].split(",")
    elif re.fullmatch(r"\d+:\d+:[1-9]\d*", text):
        first, last, step = map(int, text.split(":"))
        values = [str(value) for value in range(first, last + 1, step)]
    else:
        raise Wrong(f"{where}: '{text}' is neither {{a,b}} nor first:last:step")
    if not all(re.fullmatch(r"\d+", value) for value in values):
        raise Wrong(f"{where}: '{text}' has a value that is no number")
    return values


def parameters_of(kernel):
    """The parameters of a workload, in the order of the file."""
    path = ROOT / kernel.source
    if not path.is_file():
        raise Wrong(f"{kernel.source} cannot be read")
    text = path.read_text(encoding="utf-8")
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if "%RANGE%" not in line:
            continue
        where = f"{kernel.source}:{number}"
        match = RANGE.search(line)
        if not match:
            raise Wrong(f"{where}: write %RANGE% MACRO label values [Operation{{ct}}=[workload]]")
        macro, label, values, workload = match.groups()
        if workload not in (None, kernel.workload):
            continue
        base = re.search(rf"^#ifndef {macro}\n#define {macro} (\d+)$", text, re.MULTILINE)
        if not base:
            raise Wrong(f"{where}: the file has no lines '#ifndef {macro}' and '#define {macro} value'")
        values = values_of(values, where)
        if base.group(1) not in values:
            raise Wrong(f"{where}: the range of {macro} lacks its value {base.group(1)}")
        found.append(Parameter(macro, label, values, base.group(1)))
    if not found:
        raise Wrong(f"{kernel.source} declares no parameter of {kernel.workload}")
    return found


def name_of(parameters, values):
    return ".".join(f"{parameter.label}_{value}" for parameter, value in zip(parameters, values))


def variants_of(kernel):
    """(name, flags of the compiler) of each variant: base first, the others in an order that is the same each time."""
    parameters = parameters_of(kernel)
    base = tuple(parameter.base for parameter in parameters)
    others = [values for values in itertools.product(*(p.values for p in parameters)) if values != base]
    random.Random(1).shuffle(others)
    return [(name_of(parameters, values), [f"-D{p.macro}={value}" for p, value in zip(parameters, values)])
            for values in [base, *others]]


def has_policy(name):
    """Whether the file of a kernel takes its constants from a policy. Those of another one serve every GPU."""
    return f"struct sw_policy_{name} " in (ROOT / KERNELS[name].source).read_text(encoding="utf-8")


def kernels_matching(pattern):
    try:
        found = {name: kernel for name, kernel in KERNELS.items() if re.search(pattern, name)}
    except re.error as error:
        raise Wrong(f"--kernels {pattern}: {error}") from error
    if not found:
        raise Wrong(f"--kernels {pattern}: no kernel has such a name; there are {', '.join(KERNELS)}")
    return found


def sources():
    """A hash of the code that is measured. Results belong to it."""
    whole = hashlib.sha256()
    folders = ["table", "bench/study", *sorted({f"bench/{kernel.study}" for kernel in KERNELS.values()})]
    for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*")):
        if path.suffix in CODE and not path.name.startswith("policy_"):
            whole.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()[:8]


def read_results(path):
    """The rows that belong to the present sources."""
    if not path.is_file():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != FIELDS:
            raise Wrong(f"{path} is no file of results: remove it, or name another one by --results")
        present = sources()
        return [row for row in reader if row["sources"] == present]
