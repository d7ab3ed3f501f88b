/* SPDX-License-Identifier: MIT
 *
 * snapshot_fits.c - what a table must have to hold the entries of a snapshot, a log or a primary.
 */
#include "server/log/snapshot_fits.h"

#include <stdio.h>

#include "proto/value_type.h"
#include "server/observe/log.h"
#include "server/tables/ledger.h"
#include "table/batch.h"
#include "table/info.h"
#include "table/op.h"
#include "table/table.h"

/* What to start with for the snapshot's widths. */
static const char *remedy(const struct sw_snapshot_header *header, const struct sw_table_info *info)
{
    return header->key_bytes > info->key_bytes ? "start with --key-bits 64"
           : header->value_format == SW_FRAME_VALUES_INTEGER
               ? "start with --engine robin_hood or cuckoo, and without --value-bytes"
               : "start with the --engine and the --value-bytes it was written with";
}

#define SAY(...) snprintf(reason, SW_LOAD_REASON_BYTES, __VA_ARGS__)

bool sw_snapshot_fits(const struct sw_load *load, const struct sw_table_info *info,
                      const char *name, char reason[SW_LOAD_REASON_BYTES])
{
    const struct sw_snapshot_header *header = &load->header;
    bool same = header->value_format == load->value_format;
    bool fixed = header->value_format == SW_FRAME_VALUES_FIXED;
    if ((header->value_type == SW_TYPE_NONE) != (load->value_type == SW_TYPE_NONE)) {
        SAY(header->value_type == SW_TYPE_NONE
                ? "%s/%s has keys without values: start with value-type none"
                : "%s/%s has keys with values: start without value-type none",
            load->directory->path, name);
        return false;
    }
    if (!sw_value_types_fit(header->value_type, load->value_type)) {
        SAY("%s/%s has rows of %s, and this table rows of %s: start with value-type %s",
            load->directory->path, name, sw_value_type_name(header->value_type),
            sw_value_type_name(load->value_type), sw_value_type_name(header->value_type));
        return false;
    }
    if (header->key_text_bytes != info->key_text_bytes) {
        SAY("%s/%s has rows with %u bytes for the key string, and this table has rows with %u: "
            "start with the --resp-key-text-bytes it was written with",
            load->directory->path, name, header->key_text_bytes, info->key_text_bytes);
        return false;
    }
    fixed |= header->key_text_bytes > 0; /* the key string stays at its place after the value */
    if ((header->columns & SW_SNAPSHOT_TIMES) != 0 && (info->operations >> SW_EXPIRE & 1) == 0) {
        SAY("%s/%s has keys that expire, but this table has no expiry: start with --engine "
            "robin_hood (see KEYS THAT EXPIRE in sherwoodd(8))",
            load->directory->path, name);
        return false;
    }
    if (same && header->key_bytes <= info->key_bytes &&
        (fixed ? header->value_bytes == info->value_bytes
               : header->value_bytes <= info->value_bytes)) {
        return true;
    }
    SAY("%s/%s has keys of %u bytes and %s values of %u bytes, which do not fit this table of keys "
        "of %u and %s values of %u: %s",
        load->directory->path, name, header->key_bytes, sw_frame_values_name(header->value_format),
        header->value_bytes, info->key_bytes, sw_frame_values_name(load->value_format),
        info->value_bytes, remedy(header, info));
    return false;
}

bool sw_table_gives_ids(const struct sw_table_info *info)
{
    const uint64_t gives = SW_OPS_ONE(SW_FIND_OR_INSERT);
    return (info->operations & (gives | SW_OPS_ONE(SW_SET_ABSENT))) == gives;
}

const char *sw_table_remedy(const struct sw_account *account, const struct sw_table_info *info)
{
    const char *remedy = sw_account_remedy(account);
    return remedy != NULL             ? remedy
           : sw_table_gives_ids(info) ? "start with a larger --ids, or --max-capacity if the table "
                                        "has fewer slots than keys"
                                      : "start with a larger --max-capacity";
}

/* Returns the slots of the table that was saved; at least what the entries need, and at most double
 * that. */
static uint64_t slots_for(const struct sw_table_info *info, const struct sw_snapshot_header *header)
{
    const uint64_t least = (uint64_t)((double)header->entries / info->max_load) + 1;
    const uint64_t slots = header->capacity < least       ? least
                           : header->capacity > 2 * least ? 2 * least
                                                          : header->capacity;
    return slots < info->max_capacity_slots ? slots : info->max_capacity_slots;
}

static bool resize(struct sw_queue *queue, uint64_t slots)
{
    struct sw_batch batch = {.kind = SW_BATCH_RESIZE, .capacity = slots};
    return sw_batch_run(queue, &batch) == SW_OK;
}

void sw_snapshot_reserve(struct sw_queue *queue, const struct sw_table_info *info,
                         const struct sw_snapshot_header *header)
{
    const uint64_t slots = slots_for(info, header);
    if ((info->batch_kinds >> SW_BATCH_RESIZE & 1) == 0 || header->entries <= info->occupied_max ||
        slots <= info->capacity_slots || resize(queue, slots)) {
        return;
    }
    if (!resize(queue, 1) || !resize(queue, slots)) {
        sw_log(SW_LOG_NOTICE,
               "the table cannot have %llu slots at once for the %llu entries of a snapshot; it "
               "grows while it is loaded, which takes longer",
               (unsigned long long)slots, (unsigned long long)header->entries);
    }
}

bool sw_table_shrink(struct sw_table *table)
{
    struct sw_table_info before, after;
    struct sw_queue *queue = NULL;
    sw_table_info(table, &before);
    const bool done = (before.batch_kinds >> SW_BATCH_RESIZE & 1) != 0 &&
                      sw_queue_create(table, &queue) == SW_OK && resize(queue, 1);
    sw_queue_destroy(queue);
    sw_table_info(table, &after);
    return done && after.capacity_slots < before.capacity_slots;
}
