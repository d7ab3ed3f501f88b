/* SPDX-License-Identifier: MIT
 *
 * apply_targets.c - finds and opens the tables of records.
 */
#include "server/repl/apply_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/log/snapshot_fits.h"
#include "server/log/wal_of_table.h"
#include "server/tables/ledger.h"
#include "table/batch.h"
#include "table/table.h"

static void close_target(struct sw_apply_target *target)
{
    sw_queue_destroy(target->queue);
    free(target);
}

static struct sw_apply_target *open_target(uint32_t id, const struct sw_replay_table *found)
{
    struct sw_apply_target *target = calloc(1, sizeof(*target));
    if (target == NULL || sw_queue_create(found->table, &target->queue) != SW_OK) {
        free(target);
        return NULL;
    }
    target->id = id;
    target->table = found->table;
    target->shape = found->shape;
    target->account = found->account;
    target->through = found->through;
    sw_table_info(found->table, &target->info);
    target->expires = (target->info.operations >> SW_EXPIRE & 1) != 0;
    target->record_max = SW_WAL_RECORD_BYTES + (size_t)sw_wal_longest(found->table);
    return target;
}

static int find(const struct sw_apply *apply, uint32_t id, struct sw_replay_table *out)
{
    const struct sw_table_info *info = &apply->info;
    if (apply->tables != NULL) {
        return apply->tables->find(apply->tables->context, id, out, apply->reason);
    }
    *out = (struct sw_replay_table){.table = apply->table,
                                    .shape = {info->key_bytes, info->value_bytes,
                                              (uint32_t)info->engine, apply->value_format,
                                              apply->value_type, info->key_text_bytes}};
    return 1;
}

/* Makes room for another table. Returns whether there is memory. */
static bool has_room(struct sw_apply_targets *targets)
{
    if (targets->count < targets->room) {
        return true;
    }
    const size_t room = targets->room * 2 + 16;
    struct sw_apply_target **of =
        realloc((void *)targets->of, room * sizeof(struct sw_apply_target *));
    if (of != NULL) {
        targets->of = of;
        targets->room = room;
    }
    return of != NULL;
}

int sw_apply_target_of(struct sw_apply_targets *targets, uint32_t id, struct sw_apply_target **out)
{
    struct sw_replay_table found;
    for (size_t i = 0; i < targets->count; i++) {
        if (targets->of[i]->id == id) {
            *out = targets->of[i];
            targets->of[i] = targets->of[0];
            targets->of[0] = *out;
            return 1;
        }
    }
    *out = NULL;
    const int status = find(targets->apply, id, &found);
    if (status <= 0) {
        return status;
    }
    *out = has_room(targets) ? open_target(id, &found) : NULL;
    if (*out == NULL) {
        snprintf(targets->apply->reason, SW_REPL_REASON_BYTES,
                 "not enough memory to receive records");
        return -1;
    }
    targets->of[targets->count++] = *out;
    return 1;
}

void sw_apply_targets_close(struct sw_apply_targets *targets)
{
    while (targets->count > 0) {
        close_target(targets->of[--targets->count]);
    }
    free((void *)targets->of);
    targets->of = NULL;
    targets->room = 0;
}
