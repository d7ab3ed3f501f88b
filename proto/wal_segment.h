/* SPDX-License-Identifier: MIT
 *
 * wal_segment.h - reading the records of a segment that lies in memory.
 *
 * A reader accepts a record if both of its checks hold with the segment's salt and its sequence is
 * the next one. So after a crash or with a bad disk it reads a prefix of the written records. Pure
 * functions, for any thread.
 */
#ifndef SHERWOOD_PROTO_WAL_SEGMENT_H
#define SHERWOOD_PROTO_WAL_SEGMENT_H

#include "proto/wal_format.h"

/* Reads the records of a segment in order. The bytes are borrowed. */
struct sw_wal_reader {
    const uint8_t *bytes; /* the whole file */
    uint64_t size;
    const struct sw_wal_segment *segment;
    uint64_t at;       /* offset behind the last record that was read */
    uint64_t next;     /* sequence of the next write; 0: no write read yet, any is valid */
    bool ended;        /* an END was read, or the next bytes are not a record */
    bool unknown;      /* the next record is of a later version */
    bool is_same_boot; /* no power was lost since it was written */
};

void sw_wal_reader_init(struct sw_wal_reader *reader, const uint8_t *bytes, uint64_t size,
                        const struct sw_wal_segment *segment);
/* Reads the next record, of any kind, and points *columns to the first of its columns. Returns
 * false at the end of the run of records. */
bool sw_wal_reader_next(struct sw_wal_reader *reader, struct sw_wal_record *record,
                        const uint8_t **columns);

/* The run of records in a segment. */
struct sw_wal_run {
    uint64_t first;  /* sequence of the first write; 0: there is none */
    uint64_t last;   /* sequence of the last write; without writes that of the first MARK */
    uint64_t end;    /* offset behind the last record of the run */
    uint64_t behind; /* highest sequence of a record behind the run; 0: none */
    /* A lower bound of the sequence of a damaged record at the end of the run, UINT64_MAX if it is
     * not known; 0: no such record. The record was written whole and cannot be read, so its write
     * may have been acknowledged. The proof: its check holds after a change of one byte, or no
     * power was lost since. Without a loss of power a crash leaves only zeros behind the place
     * where a record was cut. */
    uint64_t damaged;
    /* out: call again with this many bytes of the file, zeros included; 0: `size` was enough */
    uint64_t wants;
    uint64_t evidence; /* the segment proves that everything up to here was durable */
    bool is_sealed;    /* the run ends with a SEAL */
    bool is_ended;     /* the run ends with an END */
    bool is_unknown;   /* the run ends before a record of a later version */
};

/* Reads the run of a segment of `file_bytes`. `bytes` has the first `size` of them; the others are
 * zero. `boot` is sw_boot_id(), zeros if it is not known. Also searches the bytes behind the run
 * for records that prove which writes were durable. */
void sw_wal_run_read(const uint8_t *bytes, uint64_t size, uint64_t file_bytes,
                     const struct sw_wal_segment *segment, const uint8_t boot[SW_BOOT_ID_BYTES],
                     struct sw_wal_run *run);

#endif
