/* SPDX-License-Identifier: MIT
 *
 * wal_segment.h - reading the records of a segment that lies in memory.
 *
 * A reader takes a record if both of its checks hold with the segment's salt and its sequence is
 * the next one: so whatever a crash or a bad disk has left, what is read is a prefix of what was
 * written. Pure functions, for any thread.
 */
#ifndef SHERWOOD_PROTO_WAL_SEGMENT_H
#define SHERWOOD_PROTO_WAL_SEGMENT_H

#include "proto/wal_format.h"

/* Goes through the records of a segment. The bytes are borrowed. */
struct sw_wal_reader {
    const uint8_t *bytes; /* the whole file */
    uint64_t size;
    const struct sw_wal_segment *segment;
    uint64_t at;       /* offset behind the last record that was read */
    uint64_t next;     /* sequence of the next write; 0: no write read yet, any is valid */
    bool ended;        /* nothing follows: an END was read, or what follows is no record */
    bool unknown;      /* what follows is a record of a later version */
    bool is_same_boot; /* no power was lost since it was written */
};

void sw_wal_reader_init(struct sw_wal_reader *reader, const uint8_t *bytes, uint64_t size,
                        const struct sw_wal_segment *segment);
/* Reads the next record, of any kind, and points *columns to the first of its columns. Returns
 * false where the run of records ends. */
bool sw_wal_reader_next(struct sw_wal_reader *reader, struct sw_wal_record *record,
                        const uint8_t **columns);

/* What a segment holds. */
struct sw_wal_run {
    uint64_t first;  /* sequence of the first write; 0: there is none */
    uint64_t last;   /* .. of the last write, or what the first MARK says */
    uint64_t end;    /* offset behind the last record of the run */
    uint64_t behind; /* highest sequence of a record behind the run; 0: none */
    /* A record at the end of the run was written whole and cannot be read: a lower bound of its
     * sequence, UINT64_MAX if that is not known; 0: there is none. It may have been acknowledged.
     * The proof: one byte of it is another, or no power was lost since, so that a crash can have
     * left only zeros where it was cut. */
    uint64_t damaged;
    uint64_t wants; /* out: call again with this many bytes, some of them zero; 0: it was enough */
    uint64_t evidence; /* everything up to here was durable once, the segment says */
    bool is_sealed;    /* the run ends with a SEAL */
    bool is_ended;     /* .. with an END */
    bool is_unknown;   /* .. before a record of a later version */
};

/* Reads the run of a segment of `file_bytes`. The first `size` of them are given; all behind them
 * are zero. `boot` is sw_boot_id(), zeros if it is not known. Searches what is behind the run for
 * records that say what was durable. */
void sw_wal_run_read(const uint8_t *bytes, uint64_t size, uint64_t file_bytes,
                     const struct sw_wal_segment *segment, const uint8_t boot[SW_BOOT_ID_BYTES],
                     struct sw_wal_run *run);

#endif
