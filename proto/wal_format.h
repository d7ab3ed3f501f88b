/* SPDX-License-Identifier: MIT
 *
 * wal_format.h - the bytes of the write-ahead log: the header of a segment, and records.
 *
 * The format is described byte by byte in server/log/README.md. Numbers are little-endian, checks
 * are XXH3-64. Everything here is a pure function, for any thread.
 */
#ifndef SHERWOOD_PROTO_WAL_FORMAT_H
#define SHERWOOD_PROTO_WAL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/boot_id.h"

#define SW_WAL_PAGE 4096U         /* a page with durable bytes is never written again */
#define SW_WAL_HEADER_BYTES 4096U /* of a segment */
#define SW_WAL_ALIGN 64U          /* records, and their columns, begin at multiples of it */
#define SW_WAL_RECORD_BYTES 64U   /* header of a record */
#define SW_WAL_COLUMNS_MAX 5U     /* keys, operands, operations, times, expired keys */

/* The shape of keys and values in a log, the same in all of its files. */
struct sw_wal_shape {
    uint32_t key_bytes;
    uint32_t value_bytes;
    uint32_t engine;         /* enum sw_engine */
    uint32_t value_format;   /* enum sw_value_format */
    uint32_t value_type;     /* of rows: enum sw_value_type; else 0 */
    uint32_t key_text_bytes; /* the last bytes of value_bytes: the key string */
};

/* The header of a segment. */
struct sw_wal_segment {
    uint8_t log_id[16];
    uint64_t number; /* the one in its name */
    uint64_t salt;   /* seed of the checks of its records */
    struct sw_wal_shape shape;
    uint64_t through; /* everything up to here was durable when the segment got its name */
    uint64_t wall_us;
    bool by_recovery; /* written by a start, from the records that it recovered */
    /* The following fields are 0 in segments of earlier versions. */
    uint32_t key_form;              /* sw_key_form_told() */
    uint64_t bytes;                 /* length of the file */
    uint8_t boot[SW_BOOT_ID_BYTES]; /* the kernel that ran while it was written */
    uint64_t previous;              /* number of the newest segment beside it when it was begun, or
                                       SW_WAL_NO_PREVIOUS */
};
#define SW_WAL_NO_PREVIOUS UINT64_MAX

enum sw_wal_kind {
    SW_WAL_OPERATIONS = 1, /* executed in order */
    SW_WAL_CLEAR = 2,      /* all entries were removed */
    SW_WAL_SEAL = 3,       /* the segment is full: another one follows */
    SW_WAL_END = 4,        /* a clean stop: nothing follows in this segment */
    SW_WAL_MARK = 5,       /* only reports which writes are durable */
    SW_WAL_CHANGE = 6, /* a change of the tables: a write whose keys are a message (catalog.h) */
    SW_WAL_CATALOG = 7 /* all tables at the begin of a segment; not a write */
};

#define SW_WAL_HAS_OPERANDS 1U   /* there is a column of operands */
#define SW_WAL_HAS_OPERATIONS 2U /* there is a column of operations: they are not all the same */
/* The columns of expiry times. Programs that do not know them refuse such a record. */
#define SW_WAL_HAS_TIMES 0x0100U        /* times that operations set, 8 bytes each */
#define SW_WAL_HAS_TIME 0x0200U         /* one time, which all operations set */
#define SW_WAL_HAS_EXPIRED_KEYS 0x0400U /* expired keys, removed before the operations */
#define SW_WAL_HAS_TABLE 0x0800U        /* it is about the table `table`, not about the first one */
#define SW_WAL_FIRST_TABLE 1U           /* id of the first table */

/* The header of a record. */
struct sw_wal_record {
    enum sw_wal_kind kind;
    uint8_t operation; /* of all operations, unless SW_WAL_HAS_OPERATIONS; see below */
    uint16_t flags;
    uint64_t sequence; /* its own; a record that is no write has that of the record before */
    uint64_t synced;   /* everything up to here was durable when the record was written */
    uint64_t wall_us;
    uint32_t count;        /* operations; of CHANGE and CATALOG bytes of the message */
    uint32_t units;        /* length in units of SW_WAL_ALIGN bytes, header included */
    uint32_t expired_keys; /* keys; 0 without SW_WAL_HAS_EXPIRED_KEYS */
    uint32_t table;        /* id of the table */
    uint64_t columns_check;
};

/* Operations are those of table/op.h (enum sw_op), by number: 1 SET, 2 SUM, .. 9 DELETE, and of
 * rows 14 ADD_F32, .. 23 ADD_PRESENT_BF16, and 24 EXPIRE, .. 29. Returns the name, static storage;
 * NULL: no log has it.
 */
const char *sw_wal_operation_name(uint8_t operation);

/* Is the record a write, with a sequence of its own? */
static inline bool sw_wal_is_write(const struct sw_wal_record *record)
{
    return record->kind == SW_WAL_OPERATIONS || record->kind == SW_WAL_CLEAR ||
           record->kind == SW_WAL_CHANGE;
}

/* Is its only column a message of catalog.h? */
static inline bool sw_wal_has_message(const struct sw_wal_record *record)
{
    return record->kind == SW_WAL_CHANGE || record->kind == SW_WAL_CATALOG;
}

static inline uint64_t sw_wal_align(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* Bytes of the columns, in their order, each with its padding; 0 where a record has none. `shape`:
 * of the record's table. A message counts as keys. */
struct sw_wal_columns {
    uint64_t keys;
    uint64_t operands;
    uint64_t operations;
    uint64_t times;
    uint64_t expired_keys;
};
struct sw_wal_columns sw_wal_columns(const struct sw_wal_shape *shape,
                                     const struct sw_wal_record *record);
/* Returns the bytes of all columns together. */
static inline uint64_t sw_wal_columns_bytes(const struct sw_wal_columns *columns)
{
    return columns->keys + columns->operands + columns->operations + columns->times +
           columns->expired_keys;
}
/* Returns the most bytes that the columns of a record of this many operations have. */
uint64_t sw_wal_columns_bytes_max(const struct sw_wal_shape *shape, uint32_t operations,
                                  bool expires);
/* Length of a record with these columns, in units of SW_WAL_ALIGN bytes. */
uint64_t sw_wal_units(const struct sw_wal_columns *columns);

/* Returns false if the bytes are not a header, or its check is wrong. For a header of another
 * version it sets *newer, and nothing else. */
bool sw_wal_segment_decode(const uint8_t bytes[SW_WAL_HEADER_BYTES], struct sw_wal_segment *segment,
                           bool *newer);
void sw_wal_segment_encode(const struct sw_wal_segment *segment,
                           uint8_t bytes[SW_WAL_HEADER_BYTES]);

/* Decodes the header of a record. Returns false if the check of its 64 bytes is wrong. Does not
 * read the columns. */
bool sw_wal_record_decode(const uint8_t *bytes, uint64_t salt, struct sw_wal_record *record);
void sw_wal_record_encode(const struct sw_wal_record *record, uint64_t salt,
                          uint8_t bytes[SW_WAL_RECORD_BYTES]);

/* Returns whether these 64 bytes with a wrong check look like the damaged header of a write. `next`
 * is the sequence of the next write; 0: not known. Damage to the header of a MARK, an END or a SEAL
 * loses no write. */
bool sw_wal_record_resembles_write(const uint8_t bytes[SW_WAL_RECORD_BYTES], uint64_t next);
/* Returns the same for the damaged header of one of these three behind the write `next` - 1. */
bool sw_wal_record_resembles_mark(const uint8_t bytes[SW_WAL_RECORD_BYTES], uint64_t next);

/* Are the record's columns within its length? `shape`: of the record's table. */
bool sw_wal_record_holds_columns(const struct sw_wal_record *record,
                                 const struct sw_wal_shape *shape);

/* Can this version read the record, whose check is correct? `shape`: of the first table. The shape
 * of another one is in a message before the record: who finds it asks whether the record holds its
 * columns. */
bool sw_wal_record_is_known(const struct sw_wal_record *record, const struct sw_wal_shape *shape);

/* The name of a segment: "log-%016x". */
#define SW_WAL_NAME "log"
#define SW_WAL_NAME_BYTES 21
void sw_wal_name(uint64_t number, char name[SW_WAL_NAME_BYTES]);

#endif
