/* SPDX-License-Identifier: MIT
 *
 * last_write.c - notes a sequence together with the number of demotions to replica so far.
 */
#include "server/repl/last_write.h"

#include "server/repl/repl.h"

void sw_last_write_note(struct sw_last_write *last, const struct sw_repl *repl, uint64_t sequence)
{
    last->sequence = sequence > 0 ? sequence : last->sequence;
    if (repl != NULL && sequence > 0) {
        const uint64_t demotions = sw_repl_demotions(&repl->state);
        last->demotions = sw_repl_is_replica(&repl->state) ? UINT64_MAX : demotions;
    }
}

uint64_t sw_last_write_of(const struct sw_last_write *last, const struct sw_repl *repl)
{
    bool undone =
        repl != NULL && last->sequence > 0 && last->demotions != sw_repl_demotions(&repl->state);
    return undone ? UINT64_MAX : last->sequence;
}
