/* SPDX-License-Identifier: MIT
 *
 * shape.h - the properties of the table that never change. Other fields of sw_table_info change
 * when the table grows, so they must be read when they are needed. The struct is constant after the
 * start, and may be read by any thread. default_ttl_ms is the exception: it is the loop's own.
 */
#ifndef SHERWOOD_SERVER_BATCH_SHAPE_H
#define SHERWOOD_SERVER_BATCH_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "server/config/config.h"
#include "table/configuration.h"

struct sw_table;

struct sw_table_shape {
    enum sw_engine engine;
    const char *engine_name;
    const char *of_rows; /* " for rows", " for ids" or " for keys without values", else "" */
    enum sw_value_format value_format;
    uint64_t operations;         /* operations that clients may use: bit 1 << enum sw_op */
    uint32_t batch_kinds;        /* kinds of batches of the engine: bit 1 << enum sw_batch_kind */
    bool is_in_host;             /* the table is on the CPU backend */
    bool expires;                /* the engine has EXPIRE */
    uint64_t default_ttl_ms;     /* lifetime of keys written without an expiry time; 0: unlimited.
                                    TABLE ALTER changes it between two iterations of the loop */
    bool has_scores;             /* the engine has scores */
    bool has_ids;                /* values are ids, which the table chooses */
    bool is_set;                 /* keys have no values: value_bytes is 0 */
    enum sw_cache_policy policy; /* the cache's replacement policy */
    uint32_t slot_bits;
    uint32_t key_bytes;
    uint32_t value_bytes; /* size of a value in the table, key string and string length included */
    uint32_t key_text_bytes;     /* bytes of the key string at the end of each value */
    uint32_t blob_bytes_max;     /* longest value that a client may send; 0: integers, or is_set */
    uint32_t entry_bytes;        /* memory that one entry takes in the table */
    uint32_t batch_ops_max;      /* most operations of a batch */
    bool filters_slots;          /* batches of GET may have a filter */
    uint32_t scan_ops_max;       /* most entries of a scan: they fit half of the arena */
    uint64_t max_capacity_slots; /* slots to which the table may grow */
    uint64_t frame_bytes_max;    /* bodies of a frame and of its longest reply together */
};

static inline uint64_t sw_default_ttl_ms(const struct sw_config *config)
{
    return 1000ULL * __atomic_load_n(&config->default_ttl, __ATOMIC_RELAXED);
}

struct sw_table_shape sw_table_shape_of(const struct sw_table *table,
                                        const struct sw_config *config);

/* Returns the error text of a write that the table has no room for: for the reply to a frame, and
 * as the error line of a command ("-OOM ..\r\n"). Static storage. */
const char *sw_table_full(const struct sw_table_shape *shape);
const char *sw_table_full_line(const struct sw_table_shape *shape);

/* Returns the end of the error "the .. engine has no EXPIRE" for a table whose keys do not expire:
 * which tables lack it, and what to do. Static storage. */
const char *sw_table_no_times(const struct sw_table_shape *shape);

/* Reads and writes element `i` of an array of integers of `bytes` bytes each (4 or 8). */
static inline uint64_t sw_integer_at(const void *array, uint32_t bytes, uint32_t i)
{
    return bytes == 8 ? ((const uint64_t *)array)[i] : ((const uint32_t *)array)[i];
}
static inline void sw_integer_put(void *array, uint32_t bytes, uint32_t i, uint64_t value)
{
    if (bytes == 8) {
        ((uint64_t *)array)[i] = value;
    } else {
        ((uint32_t *)array)[i] = (uint32_t)value;
    }
}

#endif
