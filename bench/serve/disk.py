# SPDX-License-Identifier: MIT
"""disk - plain programs that write and read files, for the study of durability to compare daemons with.

What they reach is what the disk, its file system and the kernel give to a process that does nothing else. A way that the
file system refuses (O_DIRECT on some) is None.
"""

import errno
import mmap
import os
import statistics
import time

PAGE = 4096
STREAM_PIECE = 4 << 20
# Bytes of a file that is written again and again: the size of a segment of the log.
RECYCLED_BYTES = 256 << 20


def buffer_of(count):
    """Random bytes at the start of a page, as O_DIRECT needs them."""
    out = mmap.mmap(-1, count)
    out.write(os.urandom(count))
    return out


def opened(path, flags):
    """A descriptor; None if the file system has no O_DIRECT."""
    try:
        return os.open(path, flags, 0o600)
    except OSError as failed:
        if failed.errno != errno.EINVAL:
            raise
        return None


def write_whole(file, piece, offset):
    written = os.pwrite(file, piece, offset)
    if written != len(piece):
        raise OSError(errno.ENOSPC, f"{written} of {len(piece)} bytes were written")


def pieces(path, piece_bytes, seconds, direct=False, recycled=False):
    """Writes pieces with fdatasync after each, for so long: (pieces a second, median us of one); None if refused.
    `recycled`: into a file whose bytes were all written before, from its start again where it ends."""
    piece_bytes = -(-piece_bytes // PAGE) * PAGE
    file = opened(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | (os.O_DIRECT if direct else 0))
    if file is None:
        return None
    piece = buffer_of(piece_bytes)
    count = max(1, RECYCLED_BYTES // piece_bytes) if piece_bytes > PAGE else 1024
    try:
        if recycled:
            for index in range(count):
                write_whole(file, piece, index * piece_bytes)
            os.fsync(file)
        times, begun = [], time.monotonic()
        while not times or times[-1] - begun < seconds:
            write_whole(file, piece, len(times) % count * piece_bytes if recycled else len(times) * piece_bytes)
            os.fdatasync(file)
            times.append(time.monotonic())
    finally:
        os.close(file)
        os.unlink(path)
    each = [after - before for before, after in zip([begun, *times], times)]
    return len(times) / (times[-1] - begun), 1e6 * statistics.median(each)


def stream_way(path, count, direct):
    """Writes a new file of so many bytes, syncs it, forgets it and reads it: bytes a second of (writing, reading)."""
    piece = buffer_of(STREAM_PIECE)
    flags = os.O_DIRECT if direct else 0
    file = opened(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | flags)
    if file is None:
        return 0, 0
    total = max(1, -(-count // STREAM_PIECE)) * STREAM_PIECE
    try:
        begun = time.monotonic()
        for offset in range(0, total, STREAM_PIECE):
            write_whole(file, piece, offset)
        os.fdatasync(file)
        written = time.monotonic()
        forget(path)
        began_reading = time.monotonic()
        for offset in range(0, total, STREAM_PIECE):
            if os.preadv(file, [piece], offset) != STREAM_PIECE:
                raise OSError(errno.EIO, "a file is shorter than it was written")
        done = time.monotonic()
    finally:
        os.close(file)
        os.unlink(path)
    return total / (written - begun), total / (done - began_reading)


def stream(path, count):
    """The best of buffered and direct: bytes a second of (writing a new file and one fdatasync, reading it)."""
    ways = [stream_way(path, count, direct) for direct in (False, True)]
    return max(way[0] for way in ways), max(way[1] for way in ways)


def forget(path):
    """Drops the pages of a file, so that it is read from the disk."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fdatasync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)
