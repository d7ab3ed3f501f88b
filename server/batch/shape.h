/* SPDX-License-Identifier: MIT
 *
 * shape.h - what never changes of the table. The rest of sw_table_info moves when it grows: ask
 * when needed. Constant after the start; any thread.
 */
#ifndef SHERWOOD_SERVER_BATCH_SHAPE_H
#define SHERWOOD_SERVER_BATCH_SHAPE_H

#include <stdint.h>

#include "server/config/config.h"
#include "table/table.h"

struct sw_table_shape {
    enum sw_engine engine;
    const char *engine_name;
    enum sw_value_format value_format;
    uint32_t operations; /* as in sw_table_info */
    uint32_t batch_kinds;
    uint32_t slot_bits;
    uint32_t key_bytes;
    uint32_t value_bytes;
    uint32_t blob_bytes_max; /* of a value as clients see it; 0 where it is an integer */
    uint32_t entry_bytes;    /* what a key takes */
    uint32_t batch_ops_max;
    uint32_t scan_ops_max; /* entries of a scan, keys and values of which fit half the arena */
    uint64_t max_capacity_slots;
};

struct sw_table_shape sw_table_shape_of(const struct sw_table *table,
                                        const struct sw_config *config);

/* Operations of a batch into which others are copied: at most `most`, and what
 * SW_TOGETHER_BYTES_MAX and the table allow. */
uint32_t sw_together_max(const struct sw_table_shape *shape, uint32_t most);

/* Integers of the table's width in arrays. */
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
