/* SPDX-License-Identifier: MIT
 *
 * ids.h - the ids in use of a table of ids (ids_backend.h): a bitmap of several levels.
 *
 * Bit i of level 0 is set if id i is in use. Bit w of level n + 1 is set if word w of level n is
 * full. So one word of each level leads to the lowest free id. The map takes N / 8 bytes, and 1/63
 * more.
 *
 * The ids in use decide which id is next. The order in which ids were freed does not matter, so a
 * log, a snapshot and a replica need only the entries. A stack of free ids, like that of rows,
 * would make its order part of that state, and take 4 bytes an id.
 *
 * An id is taken only if all lower ids are in use. So every id is lower than the largest number of
 * entries that the table ever had.
 *
 * Threads: write phases change it, read phases may read it.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_IDS_H
#define SHERWOOD_TABLE_ROBIN_HOOD_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "table/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Ids are below 2^32, and 64^6 is more than that. */
#define SW_IDS_LEVELS_MAX 6U

struct sw_ids {
    uint64_t limit;  /* ids are 0 .. limit - 1; 0: not a table of ids */
    uint64_t high;   /* ids from this one on have not been in use since the last clear */
    uint64_t in_use; /* number of ids in use */
    uint64_t *levels[SW_IDS_LEVELS_MAX];
    uint32_t level_count;
    uint64_t bytes; /* of all levels, which are one memory */
};

/* Returns the bytes of memory for `limit` ids. A pure function. */
uint64_t sw_ids_bytes(uint64_t limit);
/* Maps the memory of `limit` free ids, 1 to 2^32. Returns SW_OK, or SW_E_NOMEM; then it holds no
 * resources. */
SW_MUST_CHECK int sw_ids_open(struct sw_ids *ids, uint64_t limit);
void sw_ids_close(struct sw_ids *ids);
/* Frees all ids. */
void sw_ids_clear(struct sw_ids *ids);

static inline bool sw_ids_is_in_use(const struct sw_ids *ids, uint64_t id)
{
    return (ids->levels[0][id / 64] >> (id % 64) & 1) != 0;
}

/* Marks an id, which is below the limit and free, as in use. */
void sw_ids_mark(struct sw_ids *ids, uint64_t id);
/* Marks the lowest free id as in use, and returns it. Call it only if some id is free. */
uint64_t sw_ids_take(struct sw_ids *ids);
/* Frees an id that is in use. */
void sw_ids_give(struct sw_ids *ids, uint64_t id);

#ifdef __cplusplus
}
#endif

#endif
