# SPDX-License-Identifier: MIT
"""table - the study's rates as a table of a README, with the sources that tests/lint/figures checks."""

FRAMES = (("4 Ki", "4096"), ("64 Ki", "65536"), ("256 Ki", "262144"))
# What a row of frames is called, its operation and F.
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
SCALES = {"1/s": ((1e9, "G"), (1e6, "M"), (1e3, "k")), "us": ((1e3, "ms"), (1, "us"))}


def figure(value, unit):
    """Two or three digits and a unit."""
    factor, name = next((s for s in SCALES[unit] if value >= s[0]), SCALES[unit][-1])
    scaled = value / factor
    places = 0 if scaled >= 9.95 else 1 if scaled >= 0.995 else 2
    return f"{scaled:.{places}f} {name}"


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
