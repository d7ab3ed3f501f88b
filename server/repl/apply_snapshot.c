/* SPDX-License-Identifier: MIT
 *
 * apply_snapshot.c - turns each received block of a snapshot into batches, and makes the tables of
 * a received catalog.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/check.h"
#include "proto/snapshot_file.h"
#include "proto/string_value.h"
#include "proto/value_type.h"
#include "server/log/snapshot_fits.h"
#include "server/repl/apply_parts.h"
#include "table/batch.h"
#include "table/sequencer.h"
#include "table/table.h"

/* Size of the longest reason with what to do about it. */
#define FULL_BYTES 160

struct loading {
    struct sw_apply *apply;
    const struct sw_source *source;
    struct sw_table *table;
    const struct sw_account *account; /* of its memory; NULL: none */
    struct sw_table_info info;
    struct sw_wal_shape shape;
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

static int receive(const struct sw_source *source, void *out, size_t size)
{
    return source->receive(source->context, out, size, size) < 0 ? -1 : 0;
}

/* Receives and decodes the header of a snapshot. */
static int take_header(struct loading *loading)
{
    uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES];
    bool is_newer = false;
    if (receive(loading->source, bytes, sizeof(bytes)) != 0) {
        return -1;
    }
    const char *wrong = sw_snapshot_get_header(bytes, &loading->header, &is_newer);
    return wrong == NULL ? 0 : refuse_snapshot(loading->apply, wrong);
}

static int run_batch(struct loading *loading, struct sw_batch *batch)
{
    int status = sw_batch_run(loading->queue, batch);
    char full[FULL_BYTES];
    if (status == SW_OK) {
        return 0;
    }
    loading->apply->lacks_room = status == SW_E_FULL;
    snprintf(full, sizeof(full), "has more entries than this table has room for: %s",
             sw_table_remedy(loading->account, &loading->info));
    return refuse_snapshot(loading->apply, status != SW_E_FULL ? sw_status_text(status) : full);
}

static int check_header(struct loading *loading)
{
    struct sw_apply *apply = loading->apply;
    struct sw_snapshot_header *header = &loading->header;
    const struct sw_wal_shape *shape = &loading->shape;
    if (header->key_bytes != shape->key_bytes || header->value_bytes != shape->value_bytes ||
        header->key_text_bytes != shape->key_text_bytes ||
        header->value_format != shape->value_format ||
        !sw_value_types_fit(header->value_type, shape->value_type) ||
        (header->columns & ~(uint32_t)SW_SNAPSHOT_TIMES) !=
            (SW_SNAPSHOT_KEYS | SW_SNAPSHOT_VALUES) ||
        header->block_entries !=
            sw_snapshot_block_entries(header->key_bytes, header->value_bytes, header->columns)) {
        return refuse_snapshot(apply,
                               "does not fit this table: its keys, values or columns differ: if "
                               "TABLE SWAP gave the primary's default table another shape, swap it "
                               "back");
    }
    if ((header->columns & SW_SNAPSHOT_TIMES) != 0 &&
        (loading->info.operations >> SW_EXPIRE & 1) == 0) {
        return refuse_snapshot(
            apply, "has keys that expire, but this table has no expiry: start the replica with "
                   "--engine robin_hood (see KEYS THAT EXPIRE in sherwoodd(8))");
    }
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
    const uint32_t most = loading->info.batch_ops_max;
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
    if (receive(loading->source, loading->block + SW_SNAPSHOT_BLOCK_HEAD_BYTES,
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
    if (receive(loading->source, loading->block + head, SW_SNAPSHOT_FOOTER_BYTES - head) != 0) {
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
    sw_snapshot_reserve(loading->queue, &loading->info, &loading->header);
    loading->header.entries = 0; /* those that have arrived */
    for (;;) {
        if (receive(loading->source, loading->block, SW_SNAPSHOT_BLOCK_HEAD_BYTES) != 0) {
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

/* Receives the rest of a snapshot, whose header has arrived, and loads it into a table. */
static int load(struct loading *loading)
{
    if (check_header(loading) != 0) {
        return -1;
    }
    loading->room =
        (size_t)sw_snapshot_block_bytes(&loading->header, loading->header.block_entries);
    loading->room =
        loading->room < SW_SNAPSHOT_FOOTER_BYTES ? SW_SNAPSHOT_FOOTER_BYTES : loading->room;
    loading->block = sw_io_alloc(loading->table, loading->room);
    int status = loading->block == NULL || sw_queue_create(loading->table, &loading->queue) != SW_OK
                     ? refuse_snapshot(loading->apply, "needs more memory than there is")
                     : take_all(loading);
    sw_queue_destroy(loading->queue);
    if (loading->block != NULL) {
        sw_io_free(loading->table, loading->block, loading->room);
    }
    free(loading->checks);
    if (status == 0) {
        sw_table_set_sequence(loading->table, loading->header.sequence);
    }
    return status;
}

int sw_apply_snapshot(struct sw_apply *apply)
{
    const struct sw_table_info *info = &apply->info;
    struct loading loading = {.apply = apply,
                              .source = &apply->source,
                              .table = apply->table,
                              .info = *info,
                              .shape = {info->key_bytes, info->value_bytes, (uint32_t)info->engine,
                                        apply->value_format, apply->value_type,
                                        info->key_text_bytes}};
    if (take_header(&loading) != 0 || load(&loading) != 0) {
        return -1;
    }
    apply->applied = apply->primary_at = apply->whole_at = loading.header.sequence;
    return 0;
}

/* --- several tables --------------------------------------------------------------------------- */

/* Receives the record CATALOG and its message, which the caller frees. Returns NULL if it fails. */
static uint8_t *receive_catalog(const struct sw_apply *apply, struct sw_wal_record *record)
{
    uint8_t head[SW_WAL_RECORD_BYTES];
    if (receive(&apply->source, head, sizeof(head)) != 0) {
        return NULL;
    }
    const bool is_catalog =
        sw_wal_record_decode(head, apply->salt, record) && record->kind == SW_WAL_CATALOG;
    const size_t bytes =
        is_catalog ? (size_t)record->units * SW_WAL_ALIGN - SW_WAL_RECORD_BYTES : 0;
    if (bytes == 0 || bytes > SW_CATALOG_BYTES_MAX || bytes < record->count) {
        (void)refuse_snapshot(apply, "has no catalog of the tables");
        return NULL;
    }
    uint8_t *message = malloc(bytes);
    if (message == NULL) {
        (void)refuse_snapshot(apply, "needs more memory than there is");
        return NULL;
    }
    bool is_whole = receive(&apply->source, message, bytes) == 0;
    if (is_whole && record->columns_check != sw_check64(message, bytes, apply->salt)) {
        (void)refuse_snapshot(apply, "has a damaged catalog");
        is_whole = false;
    }
    if (!is_whole) {
        free(message);
        return NULL;
    }
    return message;
}

/* Empties the first table, and gives it the slots that it began with. It has keys of another
 * history, and records for it may arrive before its snapshot. The primary's table may have fewer
 * slots by a RESIZE, which is no record, and other tables may have taken their memory. */
static int empty_first(struct sw_apply *apply)
{
    struct loading loading = {.apply = apply};
    struct sw_batch clear = {.kind = SW_BATCH_CLEAR};
    struct sw_batch first = {.kind = SW_BATCH_RESIZE, .capacity = apply->info.capacity_slots};
    struct sw_table_info info;
    sw_table_info(apply->table, &info);
    const bool has_grown = (info.batch_kinds >> SW_BATCH_RESIZE & 1) != 0 &&
                           info.capacity_slots > apply->info.capacity_slots;
    int status = sw_queue_create(apply->table, &loading.queue) != SW_OK
                     ? refuse_snapshot(apply, "needs more memory than there is")
                     : run_batch(&loading, &clear);
    status = status == 0 && has_grown ? run_batch(&loading, &first) : status;
    sw_queue_destroy(loading.queue);
    return status;
}

int sw_apply_catalog(struct sw_apply *apply)
{
    const struct sw_apply_tables *tables = apply->tables;
    struct sw_wal_record record;
    uint8_t *message = receive_catalog(apply, &record);
    if (message == NULL) {
        return -1;
    }
    const int status = tables->begin(tables->context, message, record.count, apply->reason);
    free(message);
    if (status != 0) {
        apply->lacks_room = true; /* it would fail again at once */
        return -1;
    }
    if (empty_first(apply) != 0) {
        return -1;
    }
    sw_sequencer_set(tables->sequencer, record.sequence);
    apply->applied = apply->primary_at = record.sequence;
    apply->whole_at = SW_APPLY_NOT_KNOWN;
    apply->last_table = 0;
    return 0;
}

int sw_apply_table(struct sw_apply *apply, const struct sw_source *source)
{
    const struct sw_apply_tables *tables = apply->tables;
    struct sw_replay_table found;
    struct loading loading = {.apply = apply, .source = source};
    if (take_header(&loading) != 0) {
        return -1;
    }
    const uint32_t id = loading.header.table == 0 ? SW_WAL_FIRST_TABLE : loading.header.table;
    const int status =
        id <= apply->last_table ? 0 : tables->find(tables->context, id, &found, apply->reason);
    if (status <= 0) {
        return status < 0 ? -1 : refuse_snapshot(apply, "is of a table that the catalog lacks");
    }
    apply->last_table = id;
    loading.table = found.table;
    loading.account = found.account;
    loading.shape = found.shape;
    sw_table_info(found.table, &loading.info);
    return load(&loading);
}
