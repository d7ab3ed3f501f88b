/* SPDX-License-Identifier: MIT
 *
 * snapshot_file.h - the bytes of a snapshot: the contents of a table at one instant, in a file.
 *
 * | part    | bytes                                        | how often | | header  | 4096 | once |
 * | block   | 64, the columns, zeros up to a multiple 4096 | until all entries are there | | footer
 * | 4096                                         | once                                   |
 *
 * server/log/README.md describes every byte. Integers are little-endian. A file is whole if header,
 * footer, totals and the checks of all blocks hold.
 *
 * All functions are pure and may be called from any thread. What reads returns NULL, or a sentence
 * without its subject that says what is wrong with the bytes ("is not a snapshot").
 */
#ifndef SHERWOOD_PROTO_SNAPSHOT_FILE_H
#define SHERWOOD_PROTO_SNAPSHOT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_SNAPSHOT_VERSION 1
#define SW_SNAPSHOT_VERSION_CATALOG 2 /* the file is the catalog of several tables */
#define SW_SNAPSHOT_HEADER_BYTES 4096
#define SW_SNAPSHOT_FOOTER_BYTES 4096
#define SW_SNAPSHOT_BLOCK_HEAD_BYTES 64
#define SW_SNAPSHOT_ALIGN 4096              /* of parts in the file */
#define SW_SNAPSHOT_BLOCK_TARGET (4U << 20) /* bytes of a full block's columns, about */
#define SW_SNAPSHOT_ID_BYTES 16
#define SW_SNAPSHOT_TEXT_BYTES 64
#define SW_SNAPSHOT_VALUE_BYTES_MAX 4096

/* Columns, in the order in which they lie in a block. Keys and values are always there. */
enum {
    SW_SNAPSHOT_KEYS = 1,
    SW_SNAPSHOT_VALUES = 2,
    SW_SNAPSHOT_SCORES = 4, /* of a cache: u64 each */
    SW_SNAPSHOT_TIMES = 8   /* when each entry expires, u64: milliseconds since 1970; 0: never */
};

struct sw_snapshot_header {
    uint8_t log_id[SW_SNAPSHOT_ID_BYTES]; /* of the data directory it was written in */
    uint64_t sequence;                    /* sequence of the last write that it has */
    uint64_t entries;
    uint32_t key_bytes;     /* 4 or 8 */
    uint32_t value_bytes;   /* 4 or 8; of a cache 4..1024, of rows 4..4096, of key sets 0 */
    uint32_t engine;        /* 0 robin_hood, 1 cuckoo, 2 cache: the one that wrote it */
    uint32_t value_format;  /* enum sw_frame_values */
    uint32_t block_entries; /* of every block but the last, a multiple of 64 */
    uint32_t columns;
    uint64_t capacity; /* slots of the table that was saved: a hint */
    uint64_t epoch;    /* of a cache */
    uint64_t incarnation;
    uint64_t wall_us; /* when it was taken, since 1970; for people */
    uint32_t policy;  /* of a cache: what its scores mean, 0 lru, 1 lfu, 2 epoch-lru, 3 epoch-lfu,
                         4 custom */
    uint32_t value_type;                 /* of rows: enum sw_value_type; else 0 */
    uint32_t key_text_bytes;             /* of value_bytes, the last ones: the text of the key */
    char writer[SW_SNAPSHOT_TEXT_BYTES]; /* version of the daemon */
    uint64_t segment;                    /* of the log, written at that time; 0: none, or unknown */
    uint64_t segments_from; /* number of the first segment that a start from it may need */
    uint32_t key_form;      /* sw_key_form_told(): how clients by RESP wrote keys */
    uint32_t table;         /* id of the table; 0: the first one */
};

/* The header of a catalog. A message Catalog (sherwood.proto) follows it, then zeros. */
struct sw_catalog_header {
    uint8_t log_id[SW_SNAPSHOT_ID_BYTES];
    uint64_t sequence; /* changes up to here are in it */
    uint64_t bytes;    /* of the message, at most SW_CATALOG_BYTES_MAX */
    uint64_t check;    /* of the message; its seed is 0 */
    uint64_t incarnation;
    uint64_t wall_us;
    uint64_t segment, segments_from; /* as in a snapshot */
    char writer[SW_SNAPSHOT_TEXT_BYTES];
};
#define SW_CATALOG_BYTES_MAX (64U << 20)

struct sw_snapshot_block {
    uint32_t entries;
    uint64_t number; /* 0, 1, 2, .. */
    uint64_t column_bytes;
    uint64_t check; /* of the columns; its seed is the number */
};

struct sw_snapshot_footer {
    uint64_t blocks;
    uint64_t entries;
    uint64_t file_bytes;
    uint64_t check; /* of all blocks' checks in order, 8 bytes each; its seed is 0 */
    uint64_t sequence;
};

/* Returns the number of entries of a full block, for columns of these widths. */
uint32_t sw_snapshot_block_entries(uint32_t key_bytes, uint32_t value_bytes, uint32_t columns);
/* Returns the offset of a column in bytes from the first column; with `column` 0 the bytes of all
 * columns. Each column is padded to a multiple of 64 bytes. */
uint64_t sw_snapshot_column_at(const struct sw_snapshot_header *header, uint32_t entries,
                               uint32_t column);
/* Return the bytes of a block of `entries` in the file, with head and padding; the number of
 * entries of block `number`; and its offset in the file. */
uint64_t sw_snapshot_block_bytes(const struct sw_snapshot_header *header, uint32_t entries);
uint32_t sw_snapshot_entries_of(const struct sw_snapshot_header *header, uint64_t number);
uint64_t sw_snapshot_block_at(const struct sw_snapshot_header *header, uint64_t number);
uint64_t sw_snapshot_blocks(const struct sw_snapshot_header *header);
uint64_t sw_snapshot_file_bytes(const struct sw_snapshot_header *header);

void sw_snapshot_put_header(const struct sw_snapshot_header *header,
                            uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES]);
/* Returns whether the first SW_SNAPSHOT_MAGIC_BYTES bytes are those of a header. */
#define SW_SNAPSHOT_MAGIC_BYTES 8U
bool sw_snapshot_begins(const uint8_t bytes[SW_SNAPSHOT_MAGIC_BYTES]);
/* Decodes a header. Returns NULL or an error. *is_newer: the bytes are intact, but only a newer
 * program can read them. */
const char *sw_snapshot_get_header(const uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES],
                                   struct sw_snapshot_header *header, bool *is_newer);
/* Return whether an intact header is a catalog's; encode one; decode one, as sw_snapshot_get_header
 * does. */
bool sw_snapshot_is_catalog(const uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES]);
void sw_catalog_put_header(const struct sw_catalog_header *header,
                           uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES]);
const char *sw_catalog_get_header(const uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES],
                                  struct sw_catalog_header *header, bool *is_newer);
/* Returns the bytes of a catalog's file. */
uint64_t sw_catalog_file_bytes(const struct sw_catalog_header *header);

/* Completes a block whose columns are in place, with their padding: fills in the head and the
 * padding of the block. `bytes` has sw_snapshot_block_bytes() bytes. Returns the check of the
 * columns. */
uint64_t sw_snapshot_seal_block(const struct sw_snapshot_header *header, uint64_t number,
                                uint32_t entries, uint8_t *bytes);
/* Checks a whole block, which must have this number. Returns NULL or an error. Sets *check to the
 * check of its columns. */
const char *sw_snapshot_check_block(const struct sw_snapshot_header *header, uint64_t number,
                                    const uint8_t *bytes, uint64_t *check);

void sw_snapshot_put_footer(const struct sw_snapshot_footer *footer,
                            uint8_t bytes[SW_SNAPSHOT_FOOTER_BYTES]);
/* Checks that the bytes are a footer, and that its totals equal the header's. Returns NULL or an
 * error. `checks`: the checks of all blocks, or NULL if the blocks have not been read. */
const char *sw_snapshot_check_footer(const struct sw_snapshot_header *header,
                                     const uint64_t *checks,
                                     const uint8_t bytes[SW_SNAPSHOT_FOOTER_BYTES]);

#endif
