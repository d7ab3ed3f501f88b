/* SPDX-License-Identifier: MIT
 *
 * wal_plan.h - decides which records a start recovers from each segment, or why it refuses to
 * start.
 *
 * The rules are those of server/log/README.md, "What a start does". Pure functions.
 */
#ifndef SHERWOOD_PROTO_WAL_PLAN_H
#define SHERWOOD_PROTO_WAL_PLAN_H

#include "proto/wal_first.h"
#include "proto/wal_segment.h"

/* A segment of a directory. */
struct sw_wal_found {
    uint64_t number; /* in its name */
    bool is_whole;   /* the header's check holds */
    bool is_newer;   /* the header is valid, but of a later version */
    struct sw_wal_segment segment;
    struct sw_wal_run run;
    bool is_alias;  /* out: its header has another number, so it is ignored */
    bool is_passed; /* out: writes are missing before it; a later segment may have them */
};

/* Writes to be replayed: those with these sequences of one segment. */
struct sw_wal_piece {
    size_t segment; /* index of the segment */
    uint64_t from, to;
};

/* Fills in all fields except the number, from the bytes of the segment's file, as sw_wal_run_read
 * takes them. */
void sw_wal_inspect(struct sw_wal_found *found, const uint8_t *bytes, uint64_t size,
                    uint64_t file_bytes, const uint8_t boot[SW_BOOT_ID_BYTES]);

/* The facts about the log in the header of a snapshot. */
struct sw_wal_beside {
    /* the segment in use when the snapshot began: it or a newer one must exist; 0: unknown */
    uint64_t segment;
    uint64_t from; /* no start from the snapshot needs a segment of a lower number */
};

struct sw_wal_plan {
    struct sw_wal_beside beside; /* in: of the snapshot `base`; zeros: unknown */
    struct sw_wal_first first;   /* in: of first-segment; its number becomes 0 if, without segments,
                                    it belongs to another log than the snapshot */
    uint8_t log_id[16];          /* in: the log of the snapshot `base` */
    uint64_t gone;      /* number of a missing segment that is needed; 0: nothing is missing */
    bool is_first_gone; /* `gone` is missing because `first` needs it, or a newer one */
    uint64_t base;      /* sequence of the snapshot; 0: none */
    uint64_t end;       /* sequence of the last write that is recovered */
    uint64_t evidence;  /* everything up to here was durable */
    bool is_torn;       /* a write after `end` cannot be read, as after a crash */
    size_t damaged;     /* the segment, + 1, in which a write behind the end was written whole and
                           cannot be read; 0: there is none */
    size_t pieces;
    struct sw_wal_piece *piece; /* the caller's, with room for every segment */
};

#define SW_WAL_REFUSAL_BYTES 256

/* Decides which records a start recovers from the segments, on top of a snapshot of sequence
 * `base`. The segments are sorted by number. `named` is the highest sequence in a name of a
 * snapshot, whole or not. Returns false with a sentence in `refusal` if durable writes are damaged
 * or missing, if a missing segment may have had more writes, or if a segment belongs to another log
 * or has another shape (unless `shape` is NULL). */
bool sw_wal_plan(struct sw_wal_plan *plan, struct sw_wal_found *found, size_t count, uint64_t base,
                 uint64_t named, const struct sw_wal_shape *shape,
                 char refusal[SW_WAL_REFUSAL_BYTES]);

#endif
