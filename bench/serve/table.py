# SPDX-License-Identifier: MIT
"""table - the study's rates as a table of a README, with the sources that tests/lint/figures checks."""

import math

FRAMES = (("4 Ki", "4096"), ("64 Ki", "65536"), ("256 Ki", "262144"))
# Rows of frames: label, operation, F.
BY_FRAMES = (("get", "get", "0.85"), ("fresh inserts, empty to .85", "insert", "0.85"),
             ("fresh inserts, .85 to .95", "insert", "0.95"), ("sets of stored keys", "update", "0.85"),
             ("deletes, .5 to .4", "delete", "0.5"), ("deletes, .85 to .75", "delete", "0.85"),
             ("deletes, .95 to .85", "delete", "0.95"), ("get beside a tenth of sets", "get_beside_updates", "0.85"))
BY_RESP = (("GET, pipeline of 64, 64 connections", "resp_get_p64", "keys_per_second"),
           ("SET, pipeline of 64, 64 connections", "resp_set_p64", "keys_per_second"),
           ("MGET of 100 keys, pipeline of 16, 64 connections", "resp_mget100", "keys_per_second"),
           ("GET, one at a time, 64 connections", "resp_get_p1", "keys_per_second"),
           ("the same: p50", "resp_get_p1", "latency_p50"), ("the same: p99", "resp_get_p1", "latency_p99"),
           ("GET, one at a time, one connection", "resp_get_one", "keys_per_second"))
SCALES = {"1/s": ((1e9, "G"), (1e6, "M"), (1e3, "k")), "us": ((1e3, "ms"), (1, "us")), "GB/s": ((1, "GB/s"),),
          "": ((1, ""),)}
# Rows of durability: label, operation, batch, metric, (library, operation, metric) of the comparison, ratio.
BY_DURABILITY = (
    ("sets by frames of 256 Ki, `always`; a plain program", "set_always", "262144", "keys_per_second",
     ("plain", "write_best", "keys_per_second"), "ratio_to_plain"),
    ("the same, `everysec`; memory only", "set_everysec", "262144", "keys_per_second",
     ("sherwood", "set_memory", "keys_per_second"), "ratio_to_memory"),
    ("gets beside such sets; memory only", "get_beside_sets_everysec", "262144", "keys_per_second",
     ("sherwood", "get_beside_sets_memory", "keys_per_second"), "ratio_to_memory"),
    ("RESP SET, one at a time, 64 connections, `always`; redis", "resp_set_p1_always", "1", "keys_per_second",
     ("redis", "resp_set_p1_always", "keys_per_second"), "ratio_to_redis"),
    ("a snapshot; the disk", "snapshot", "0", "bandwidth", ("plain", "write_stream", "bandwidth"), "ratio_to_disk"),
    ("loading it; the disk", "load_from_disk", "0", "bandwidth", ("plain", "read_stream", "bandwidth"), "ratio_to_disk"),
    ("the longest wait of a set beside a snapshot; without", "set_beside_snapshot", "4096", "latency_max",
     ("sherwood", "set_without_snapshot", "latency_max"), None))


def figure(value, unit):
    """Two or three digits and a unit."""
    factor, name = next((s for s in SCALES[unit] if value >= s[0]), SCALES[unit][-1])
    scaled = value / factor
    places = 0 if scaled >= 9.95 else 1 if scaled >= 0.995 else 1 - math.floor(math.log10(scaled)) if scaled > 0 else 2
    return f"{scaled:.{places}f} {name}".strip()


def block(head, rows, folder):
    """A table with the comment behind it. `rows`: (name, [(figure, source) or None])."""
    lines = [head, "| --- |" + " --- |" * (head.count("|") - 2)]
    lines += [f"| {name} | {' | '.join(c[0] if c else '' for c in cells)} |" for name, cells in rows]
    sources = [c[1] for _, cells in rows for c in cells if c]
    return "\n".join([*lines, "", f"<!-- figures {folder}", *sources, "-->", ""])


def tables(summary, folder):
    """All of them, of a summary (results.py); `folder` of bench/results is where it will lie."""
    values = {(*key, metric): (value, unit) for key, metric, unit, value in summary}

    def cell(library, operation, bits, load, batch, metric="keys_per_second"):
        found = values.get(("served", library, operation, bits, load, batch, metric))
        if found is None:
            return None
        words = [f"bits={bits}"] * bool(bits) + [f"F={load}"] * bool(load) + [f"batch={batch}"]
        words += [f"metric={metric}"] * (metric != "keys_per_second")
        return figure(*found), f"{library} {operation} {' '.join(words)}"

    out = []
    for bits in ("64", "128"):
        rows = [(name, [cell("sherwood", operation, bits, load, batch) for _, batch in FRAMES])
                for name, operation, load in BY_FRAMES]
        head = f"| u{int(bits) // 2}, keys a second, by frames of | {' | '.join(name for name, _ in FRAMES)} |"
        out.append(block(head, rows, folder))
    rows = [(name, [cell("sherwood", operation, "64", "0.5", "100" if "mget" in operation else "1", metric),
                    cell("redis", operation, "", "", "100" if "mget" in operation else "1", metric)])
            for name, operation, metric in BY_RESP]
    out.append(block("| RESP, keys a second | Sherwood | redis |", rows, folder))
    return "\n".join(out)


def durability_table(summary, folder):
    """What the log and snapshots cost, beside what each is compared with."""
    values = {(key[1], key[2], key[5], metric): (value, unit, key) for key, metric, unit, value in summary}

    def cell(library, operation, batch, metric):
        found = values.get((library, operation, batch, metric))
        if found is None:
            return None
        words = [f"bits={found[2][3]}"] * bool(found[2][3]) + [f"batch={batch}"]
        words += [f"metric={metric}"] * (metric != "keys_per_second")
        return figure(*found[:2]), f"{library} {operation} {' '.join(words)}"

    rows = [(name, [cell("sherwood", operation, batch, metric), cell(beside[0], beside[1], batch, beside[2]),
                    cell("sherwood", operation, batch, ratio) if ratio else None])
            for name, operation, batch, metric, beside, ratio in BY_DURABILITY]
    return block("| keys or bytes a second; beside it | Sherwood | beside it | ratio |", rows, folder)
