/* SPDX-License-Identifier: MIT
 *
 * growth.h - the owner of a table decides whether the table may take more memory.
 *
 * A table in host memory calls the functions when it grows or is resized, while its writes wait.
 * Both must be brief, and must not call a function of the same table except sw_table_info.
 */
#ifndef SHERWOOD_TABLE_GROWTH_H
#define SHERWOOD_TABLE_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_growth {
    /* Returns whether the table may take `bytes` for new arrays of `slots` slots, beside those that
     * it has. A growth may try several times; `settled` ends it. */
    bool (*permits)(struct sw_growth *growth, uint64_t slots, uint64_t bytes);
    /* The new arrays have replaced the old ones, or nothing has changed: sw_table_info has the
     * memory of the table. */
    void (*settled)(struct sw_growth *growth);
};

/* Ask the owner, if the table has one. */
static inline bool sw_growth_permits(struct sw_growth *growth, uint64_t slots, uint64_t bytes)
{
    return growth == NULL || growth->permits(growth, slots, bytes);
}
static inline void sw_growth_settled(struct sw_growth *growth)
{
    if (growth != NULL) {
        growth->settled(growth);
    }
}

#endif
