# SPDX-License-Identifier: MIT
"""snapshot_file - a reader of snapshots, written from server/log/README.md alone."""

import struct

import xxhash

from harness import check, equal


def check64(data, seed=0):
    return xxhash.xxh3_64_intdigest(data, seed)


def padded(size, to):
    return (size + to - 1) // to * to


def read_ends(data):
    header = data[:4096]
    equal(header[:8], b"SWSNAP\0\1", "magic")
    equal(struct.unpack_from("<II", header, 8), (1, 4096), "version, header bytes")
    equal(struct.unpack_from("<Q", header, 4088)[0], check64(header[:4088]), "check of the header")
    names = ("key_bytes", "value_bytes", "engine", "value_format", "block_entries", "columns")
    facts = dict(zip(names, struct.unpack_from("<6I", header, 48)))
    facts["sequence"], facts["entries"] = struct.unpack_from("<QQ", header, 32)
    facts["epoch"] = struct.unpack_from("<Q", header, 80)[0]
    facts["policy"], facts["value_type"] = struct.unpack_from("<II", header, 104)
    footer = data[-4096:]
    equal(footer[:8], b"SWSNAPEN", "magic of the footer")
    equal(struct.unpack_from("<Q", footer, 4088)[0], check64(footer[:4088]), "check of the footer")
    return facts, struct.unpack_from("<5Q", footer, 8)


def read_snapshot(path):
    """Returns ({key: (value, score)}, facts). A value is bytes; a score is a number or None."""
    data = path.read_bytes()
    facts, (blocks, entries, size, check_of_all, sequence) = read_ends(data)
    equal((entries, size, sequence), (facts["entries"], len(data), facts["sequence"]), "totals")
    at, found, checks = 4096, {}, b""
    for number in range(blocks):
        magic, count, its, length, columns_check, head_check = struct.unpack_from("<IIQQQQ", data, at)
        equal((magic, its), (0x42535753, number), "head of a block")
        equal(head_check, check64(data[at:at + 32]), "check of a head")
        columns = data[at + 64:at + 64 + length]
        equal(columns_check, check64(columns, number), "check of a block")
        checks += struct.pack("<Q", columns_check)
        check(number + 1 == blocks or count == facts["block_entries"], "a full block")
        k, v = facts["key_bytes"], facts["value_bytes"]
        values_at = padded(count * k, 64)
        scores_at = values_at + padded(count * v, 64)
        for i in range(count):
            key = int.from_bytes(columns[i * k:i * k + k], "little")
            check(key not in found, "each key once")
            score = struct.unpack_from("<Q", columns, scores_at + 8 * i)[0] if facts["columns"] & 4 else None
            found[key] = (columns[values_at + i * v:values_at + i * v + v], score)
        at += padded(64 + length, 4096)
    equal(at, len(data) - 4096, "blocks end where the footer begins")
    equal(check_of_all, check64(checks), "check of all blocks")
    equal(len(found), entries, "entries")
    return found, facts
