/* SPDX-License-Identifier: MIT
 *
 * last_write.c - a sequence, and the fence of replication under which it was given.
 */
#include "server/repl/last_write.h"

#include "server/repl/repl.h"

void sw_last_write_note(struct sw_last_write *last, const struct sw_repl *repl, uint64_t sequence)
{
    last->sequence = sequence > 0 ? sequence : last->sequence;
    if (repl != NULL && sequence > 0) {
        last->fence = sw_repl_is_replica(&repl->state) ? UINT64_MAX : sw_repl_fence(&repl->state);
    }
}

uint64_t sw_last_write_of(const struct sw_last_write *last, const struct sw_repl *repl)
{
    bool undone = repl != NULL && last->sequence > 0 && last->fence != sw_repl_fence(&repl->state);
    return undone ? UINT64_MAX : last->sequence;
}
