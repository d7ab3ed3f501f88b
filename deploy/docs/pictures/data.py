# SPDX-License-Identifier: MIT
"""data.py - pictures that are computed: growth of the table, served rates, memory by what is stored."""

import csv
import re

from canvas import Picture, ROOT, constant, named

RESULTS = "bench/results/h200/served"
BUCKET = 4  # slots
OPTIONS = (ROOT / "server/config/table_option_rows.inl").read_text(encoding="utf-8")
MAX_LOAD = float(re.search(r'SW_OPTION\(max_load, .*?"([\d.]+)",', OPTIONS).group(1))


def mixed(count):
    """Mixed keys of entries, as parts of their range, ascending. The golden ratio spreads them."""
    return sorted((i * 0.6180339887498949 + 0.35) % 1 for i in range(1, count + 1))


def laid_out(keys, buckets):
    """{slot: key}, as table/robin_hood/rebuild.inl lays entries out: slot = max(last + 1, first slot of the home bucket)."""
    slots, last = {}, -1
    for key in keys:
        last = max(last + 1, BUCKET * int(key * buckets))
        slots[last] = key
    return slots


def draw_table(picture, x, y, slots, buckets):
    size = 20
    for bucket in range(buckets):
        left = x + bucket * (BUCKET * size + 8)
        for i in range(BUCKET):
            picture.rect(left + i * size, y, size - 2, size, "blue-wash" if bucket * BUCKET + i in slots else "box", 2)
    return {slot: x + slot // BUCKET * (BUCKET * size + 8) + slot % BUCKET * size + size / 2 - 1 for slot in slots}


def growth_over_keys(picture, y):
    """Bytes of slots over the number of keys, from 16 Mi slots on."""
    left, right, base, height = 70, 744, y + 150, 118
    first, most, top = 16, 52, 1.6

    def at(mi_keys, gib):
        return left + (right - left) * mi_keys / most, base - height * gib / top
    for gib in (0, 0.5, 1, 1.5):
        picture.line(left, at(0, gib)[1], right, at(0, gib)[1], "faint")
        picture.text(left - 6, at(0, gib)[1] + 4, f"{gib:g} GiB" if gib else "0", "small end")
    for mi_keys in range(0, most, 8):
        picture.text(at(mi_keys, 0)[0], base + 16, f"{mi_keys} M" if mi_keys else "0", "small middle")
    picture.text(right, base + 32, "keys (M = 2^20)", "small end")
    points, slots, held = [], first, 0
    while held < most:
        full = min(slots * MAX_LOAD, most)
        points += [at(held, slots / 64), at(full, slots / 64)]
        if full < most:
            x, peak = at(full, slots * 3 / 64)
            picture.line(x, at(full, slots / 64)[1], x, peak, "orange-line")
            picture.add("circle", "orange", cx=x, cy=peak, r=3)
            picture.text(x + 8, peak + 4, f"{slots} M to {2 * slots} M slots: both exist during the move", "small" + (" end" if x > 600 else ""))
        held, slots = full, slots * 2
    picture.path(points, "blue-line")


def growth():
    buckets = 4
    count = int(buckets * BUCKET * MAX_LOAD)
    picture = Picture(760, 520, "Growth of the table",
                      "A table of four buckets is filled to its maximum load. All entries move to eight buckets in one pass, in the same order. "
                      "Below: memory of slots over the number of keys; old and new slots exist at the same time during the move.")
    keys = mixed(count)
    before, after = laid_out(keys, buckets), laid_out(keys, 2 * buckets)
    picture.text(16, 28, "Growth: all entries move to twice the slots in one pass, in the same order", "head")
    picture.text(16, 56, f"1. A write would exceed --max-load ({MAX_LOAD}): {count} of {buckets * BUCKET} slots are full. New slots are allocated.")
    old_x = draw_table(picture, 206, 72, before, buckets)
    new_x = draw_table(picture, 30, 170, after, 2 * buckets)
    new_of = {key: slot for slot, key in after.items()}
    for slot, key in before.items():
        picture.arrow(old_x[slot], 94, new_x[new_of[key]], 168, "line")
    picture.lines(16, 216, (
        "2. Entries keep their order, because buckets follow the order of the mixed keys at every size.",
        "3. The write runs in the new slots, and the old ones are freed. Rows do not move. Other requests wait.",
        "4. Without memory for both, nothing changes. The write is refused if the old slots have no room for it."), "", 20)
    named("table/robin_hood/rebuild.inl")
    picture.text(16, 296, "Memory of slots with 64-bit keys and integers (16 bytes a slot), from 16 M slots on", "bold")
    growth_over_keys(picture, 310)
    picture.text(16, 510, "The table doubles up to --max-capacity. RESIZE makes it smaller or larger on request.", "small")
    return picture


def rates():
    """{(slot bits, operation, load): {keys a frame: keys a second}} of the daemon's socket."""
    found = {}
    with open(ROOT / RESULTS / "summary.csv", encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            if row["library"] == "sherwood" and row["metric"] == "keys_per_second":
                key = row["slot_bits"], row["operation"], row["F"]
                found.setdefault(key, {})[int(row["batch"])] = float(row["value"])
    return found


def run_facts():
    text = (ROOT / RESULTS / "run_info.txt").read_text(encoding="utf-8")
    return {name: re.search(rf"^{name}: (.*)$", text, flags=re.M).group(1) for name in ("date", "commit", "cpu", "gpu")}


SERIES = (("get", "0.85", "blue", "", "get, load .85"), ("update", "0.85", "orange", "", "set of stored keys, .85"),
          ("insert", "0.85", "green", "", "insert, empty to .85"), ("insert", "0.95", "green", "6 4", "insert, .85 to .95"),
          ("delete", "0.5", "red", "2 3", "delete, .5 to .4"), ("delete", "0.85", "red", "", "delete, .85 to .75"),
          ("delete", "0.95", "red", "6 4", "delete, .95 to .85"))


def rate_panel(picture, left, bits, found):
    width, base, height, top = 280, 330, 240, 7e9
    picture.text(left, 74, f"keys and values of {int(bits) // 2} bits", "bold")
    for g in range(8):
        y = base - height * g * 1e9 / top
        picture.line(left, y, left + width, y, "faint")
        picture.text(left - 6, y + 4, f"{g} G" if g else "0", "small end")
    frames = sorted(found[bits, "get", "0.85"])
    xs = {frame: left + 26 + i * (width - 60) / (len(frames) - 1) for i, frame in enumerate(frames)}
    for frame, x in xs.items():
        picture.text(x, base + 18, f"{frame // 1024} Ki", "small middle")
    for operation, load, colour, dashes, _ in SERIES:
        points = [(xs[frame], base - height * found[bits, operation, load][frame] / top) for frame in frames]
        values = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        picture.add("polyline", f"{colour}-line", points=values, **({"stroke_dasharray": dashes} if dashes else {}))
        for x, y in points:
            picture.add("circle", colour, cx=x, cy=y, r=3)


def served():
    facts, found = run_facts(), rates()
    picture = Picture(760, 480, "Served rates by frame size and load",
                      "Keys a second that clients get through a Unix socket, by keys a frame, for gets, sets, inserts and deletes at loads of "
                      "the table from one half to 0.95. One panel for 32-bit keys, one for 64-bit keys. The table on the page has the numbers.")
    picture.text(16, 28, "Served rates: keys a second by keys a frame, operation and load", "head")
    picture.text(16, 48, "16 connections by a Unix socket, 8 event loops, 64 Mi slots; medians of three", "small")
    for left, bits in ((60, "64"), (440, "128")):
        rate_panel(picture, left, bits, found)
        picture.text(left + 140, 366, "keys a frame", "small middle")
    for i, (_, _, colour, dashes, words) in enumerate(SERIES):
        x, y = 40 + 180 * (i % 4), 396 + 22 * (i // 4)
        picture.add("line", f"{colour}-line", x1=x, y1=y - 4, x2=x + 26, y2=y - 4, **({"stroke_dasharray": dashes} if dashes else {}))
        picture.text(x + 32, y, words, "small")
    picture.text(16, 448, f"{facts['gpu'].split(',')[0]} and {facts['cpu'].split(', ')[1]}, which the generator shares; "
                 f"commit {facts['commit'][:8]}, {facts['date'][:10]}", "small")
    picture.text(16, 466, f"Drawn from {named(RESULTS + '/summary.csv')}", "small")
    return picture


def stride(value_bytes):
    """sw_row_stride of table/robin_hood/rows.h."""
    size = constant("table/robin_hood/rows.h", "SW_ROW_BYTES_MIN")
    while size < value_bytes and value_bytes <= 16:
        size *= 2
    return size if value_bytes <= 16 else -(-value_bytes // 16) * 16


def text_bytes(most):
    """sw_config_text_bytes of server/config/engine.c: two bytes of length, rounded up to 8."""
    return (2 + most + 7) // 8 * 8


def memory():
    """Bytes a key in a robin_hood table that is filled to its maximum load."""
    length = constant("server/config/config.h", "SW_VALUE_LENGTH_BYTES")
    number = 4  # of a row, on the stack of free rows (robin_hood_backend.c:rows_bytes)
    kinds = (("integers, 32 bits", "--key-bits 32", 8, 0, 0), ("integers, 64 bits", "", 16, 0, 0),
             ("rows of 64 bytes", "--value-bytes 64 --value-type f32", 16, 64, 0),
             ("rows of 256 bytes", "--value-bytes 256 --value-type f32", 16, 256, 0),
             ("strings up to 60 bytes", "--value-bytes 60 --value-type string", 16, 60 + length, 0),
             ("the same, key texts", "--resp-keys hash --resp-key-text-bytes 38", 16, 60 + length, text_bytes(38)))
    picture = Picture(760, 420, "Memory by what is stored",
                      "Bytes a key at load 0.85 for integers, rows, strings, and strings with the texts of their keys, divided into slot, "
                      "free slots, row, key text and row number.")
    picture.text(16, 28, f"Memory: bytes a key of a robin_hood table at load {MAX_LOAD}", "head")
    left, scale = 312, 1.24
    for bytes_at in range(0, 301, 50):
        picture.line(left + bytes_at * scale, 56, left + bytes_at * scale, 336, "faint")
        picture.text(left + bytes_at * scale, 352, str(bytes_at), "small middle")
    for i, (name, option, slot, row, text) in enumerate(kinds):
        y, x = 62 + 46 * i, left
        picture.text(16, y + 14, name)
        if option:
            picture.text(16, y + 29, option, "code")
        whole = stride(row + text) if row else 0
        parts = ((slot, "blue"), (slot / MAX_LOAD - slot, "violet"), (row, "green"), (text, "orange"), (whole - row - text, "yellow"),
                 (number if row else 0, "red"))
        for size, colour in parts:
            if size:
                picture.rect(x, y + 2, size * scale, 24, f"{colour}-wash", 1)
                x += size * scale
        picture.text(x + 8, y + 19, f"{sum(size for size, _ in parts):.1f}")
    legend = (("blue", "slot: key and value, or key and row number"), ("violet", "free slots"), ("green", "row"),
              ("orange", "text of the key"), ("yellow", "rounding"), ("red", "stack of free rows"))
    for (colour, words), x in zip(legend, (16, 292, 374, 426, 536, 616)):
        picture.rect(x, 366, 11, 11, f"{colour}-wash", 1)
        picture.text(x + 16, 376, words, "small")
    picture.text(16, 398, "Besides: the stash (64 Ki slots and room for one batch), a slot of 16 bytes for each key that expires, I/O memory.", "small")
    picture.text(16, 413, "Growth needs the old and the new slots at the same time: half as much again as the new slots.", "small")
    return picture
