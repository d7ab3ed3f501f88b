/* SPDX-License-Identifier: MIT
 *
 * apply_snapshot.c - turns each received block of a snapshot into batches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/snapshot_file.h"
#include "proto/string_value.h"
#include "proto/value_type.h"
#include "server/repl/apply.h"
#include "table/batch.h"
#include "table/table.h"

struct loading {
    struct sw_apply *apply;
    struct sw_queue *queue;
    struct sw_snapshot_header header;
    uint8_t *block; /* I/O memory */
    size_t room;
    uint64_t *checks;
    uint64_t blocks, checks_room, bytes;
};

static int refuse_snapshot(const struct sw_apply *apply, const char *what)
{
    snprintf(apply->reason, SW_REPL_REASON_BYTES, "the primary's snapshot %s", what);
    return -1;
}

static int receive(const struct sw_apply *apply, void *out, size_t size)
{
    return apply->source.receive(apply->source.context, out, size, size) < 0 ? -1 : 0;
}

static int run_batch(struct loading *loading, struct sw_batch *batch)
{
    int status = sw_batch_run(loading->queue, batch);
    if (status == SW_OK) {
        return 0;
    }
    loading->apply->lacks_room = status == SW_E_FULL;
    return refuse_snapshot(loading->apply,
                           status == SW_E_FULL
                               ? "has more entries than this table has room for: raise "
                                 "--max-capacity"
                               : sw_status_text(status));
}

static int take_header(struct loading *loading)
{
    struct sw_apply *apply = loading->apply;
    struct sw_snapshot_header *header = &loading->header;
    uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES];
    bool is_newer = false;
    if (receive(apply, bytes, sizeof(bytes)) != 0) {
        return -1;
    }
    const char *wrong = sw_snapshot_get_header(bytes, header, &is_newer);
    if (wrong != NULL) {
        return refuse_snapshot(apply, wrong);
    }
    if (header->key_bytes != apply->info.key_bytes ||
        header->value_bytes != apply->info.value_bytes ||
        header->key_text_bytes != apply->info.key_text_bytes ||
        header->value_format != apply->value_format ||
        !sw_value_types_fit(header->value_type, apply->value_type) ||
        (header->columns & ~(uint32_t)SW_SNAPSHOT_TIMES) !=
            (SW_SNAPSHOT_KEYS | SW_SNAPSHOT_VALUES) ||
        header->block_entries !=
            sw_snapshot_block_entries(header->key_bytes, header->value_bytes, header->columns)) {
        return refuse_snapshot(apply,
                               "does not fit this table: its keys, values or columns differ");
    }
    if ((header->columns & SW_SNAPSHOT_TIMES) != 0 &&
        (apply->info.operations >> SW_EXPIRE & 1) == 0) {
        return refuse_snapshot(
            apply, "has keys that expire, but this table has no expiry: start the replica with "
                   "--engine robin_hood (see KEYS THAT EXPIRE in sherwoodd(8))");
    }
    header->entries = 0;
    return 0;
}

static int add_check(struct loading *loading, uint64_t check)
{
    if (loading->blocks == loading->checks_room) {
        uint64_t room = loading->checks_room == 0 ? 256 : loading->checks_room * 2;
        uint64_t *checks = realloc(loading->checks, room * sizeof(*checks));
        if (checks == NULL) {
            return refuse_snapshot(loading->apply, "needs more memory than is free");
        }
        loading->checks = checks;
        loading->checks_room = room;
    }
    loading->checks[loading->blocks++] = check;
    return 0;
}

static int add_entries(struct loading *loading, uint32_t entries)
{
    const struct sw_snapshot_header *header = &loading->header;
    uint8_t *keys = loading->block + SW_SNAPSHOT_BLOCK_HEAD_BYTES;
    uint8_t *values = keys + sw_snapshot_column_at(header, entries, SW_SNAPSHOT_VALUES);
    const uint64_t *times =
        (header->columns & SW_SNAPSHOT_TIMES) == 0
            ? NULL
            : (const uint64_t *)(const void *)(keys + sw_snapshot_column_at(header, entries,
                                                                            SW_SNAPSHOT_TIMES));
    const uint32_t most = loading->apply->info.batch_ops_max;
    if (header->value_format == SW_FRAME_VALUES_STRING) {
        sw_string_values_clear_tails(values, header->value_bytes,
                                     header->value_bytes - header->key_text_bytes, entries);
    }
    for (uint32_t first = 0; first < entries; first += most) {
        uint32_t rest = entries - first;
        struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                                 .op = SW_SET,
                                 .count = rest < most ? rest : most,
                                 .keys = keys + (size_t)first * header->key_bytes,
                                 .values = values + (size_t)first * header->value_bytes,
                                 .expires = times != NULL ? times + first : NULL};
        if (run_batch(loading, &batch) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Receives the rest of a block, whose head has arrived, and applies it. Only the last block may
 * have fewer than block_entries entries. */
static int take_block(struct loading *loading)
{
    struct sw_apply *apply = loading->apply;
    struct sw_snapshot_header *header = &loading->header;
    uint32_t entries;
    uint64_t check = 0;
    memcpy(&entries, loading->block + 4, sizeof(entries));
    if (entries == 0 || entries > header->block_entries ||
        header->entries != loading->blocks * header->block_entries) {
        return refuse_snapshot(apply, "has a block of a wrong length");
    }
    header->entries += entries;
    size_t bytes = (size_t)sw_snapshot_block_bytes(header, entries);
    if (receive(apply, loading->block + SW_SNAPSHOT_BLOCK_HEAD_BYTES,
                bytes - SW_SNAPSHOT_BLOCK_HEAD_BYTES) != 0) {
        return -1;
    }
    const char *wrong = sw_snapshot_check_block(header, loading->blocks, loading->block, &check);
    if (wrong != NULL) {
        return refuse_snapshot(apply, wrong);
    }
    loading->bytes += bytes;
    if (add_check(loading, check) != 0 || add_entries(loading, entries) != 0) {
        return -1;
    }
    apply->loaded(apply->context, loading->bytes);
    return 0;
}

static int take_footer(struct loading *loading)
{
    const size_t head = SW_SNAPSHOT_BLOCK_HEAD_BYTES;
    if (receive(loading->apply, loading->block + head, SW_SNAPSHOT_FOOTER_BYTES - head) != 0) {
        return -1;
    }
    const char *wrong = sw_snapshot_check_footer(&loading->header, loading->checks, loading->block);
    return wrong == NULL ? 0 : refuse_snapshot(loading->apply, wrong);
}

static int take_all(struct loading *loading)
{
    static const char end[8] = {'S', 'W', 'S', 'N', 'A', 'P', 'E', 'N'};
    struct sw_batch clear = {.kind = SW_BATCH_CLEAR};
    if (run_batch(loading, &clear) != 0) {
        return -1;
    }
    for (;;) {
        if (receive(loading->apply, loading->block, SW_SNAPSHOT_BLOCK_HEAD_BYTES) != 0) {
            return -1;
        }
        if (memcmp(loading->block, end, sizeof(end)) == 0) {
            return take_footer(loading);
        }
        if (take_block(loading) != 0) {
            return -1;
        }
    }
}

int sw_apply_snapshot(struct sw_apply *apply)
{
    struct loading loading = {.apply = apply};
    if (take_header(&loading) != 0) {
        return -1;
    }
    loading.room = (size_t)sw_snapshot_block_bytes(&loading.header, loading.header.block_entries);
    loading.room =
        loading.room < SW_SNAPSHOT_FOOTER_BYTES ? SW_SNAPSHOT_FOOTER_BYTES : loading.room;
    loading.block = sw_io_alloc(apply->table, loading.room);
    int status = loading.block == NULL || sw_queue_create(apply->table, &loading.queue) != SW_OK
                     ? refuse_snapshot(apply, "needs more memory than there is")
                     : take_all(&loading);
    sw_queue_destroy(loading.queue);
    if (loading.block != NULL) {
        sw_io_free(apply->table, loading.block, loading.room);
    }
    free(loading.checks);
    if (status == 0) {
        sw_table_set_sequence(apply->table, loading.header.sequence);
        apply->applied = apply->primary_at = loading.header.sequence;
    }
    return status;
}
