/* SPDX-License-Identifier: MIT
 *
 * snapshot_load.c - reads the blocks of a file, checks them, and submits them as batches.
 */
#include "server/log/snapshot_load.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/plural.h"
#include "proto/regular_file.h"
#include "proto/string_value.h"
#include "proto/value_type.h"
#include "server/log/snapshot_fits.h"
#include "server/log/snapshot_restore.h"
#include "server/log/snapshot_write.h"
#include "server/observe/log.h"
#include "server/tables/ledger.h"
#include "table/batch.h"
#include "table/configuration.h"
#include "table/info.h"
#include "table/table.h"

/* One batch is filled while the other runs. */
#define BATCHES 2

/* A batch and its arrays, in I/O memory. */
struct piece {
    struct sw_batch batch;
    void *keys, *values;
    uint64_t *scores; /* or times */
    bool in_flight;
};

struct loading {
    struct sw_load *load;
    const struct sw_io *io;
    struct sw_table_info info;
    struct sw_queue *queue;
    int fd;
    char name[SW_DIRECTORY_NAME_MAX];
    uint8_t *block;
    uint64_t *checks;
    struct piece pieces[BATCHES];
    unsigned next;        /* of the pieces */
    bool restores;        /* the batches have scores, and the table stores them unchanged */
    bool restores_scores; /* these are the scores in the file; otherwise all are 0 */
    char *reason;
};

#define SAY(loading, ...) snprintf((loading)->reason, SW_LOAD_REASON_BYTES, __VA_ARGS__)

static enum sw_load_outcome unreadable(struct loading *loading, uint64_t at)
{
    if (errno == ENODATA) {
        SAY(loading, "%s/%s ends too early, at byte %" PRIu64, loading->load->directory->path,
            loading->name, at);
        return SW_LOAD_DAMAGED;
    }
    SAY(loading, "%s/%s cannot be read at byte %" PRIu64 ": %s", loading->load->directory->path,
        loading->name, at, strerror(errno));
    return SW_LOAD_REFUSED;
}

static enum sw_load_outcome damaged(struct loading *loading, const char *what, uint64_t at)
{
    SAY(loading, "%s/%s %s, at byte %" PRIu64, loading->load->directory->path, loading->name, what,
        at);
    return SW_LOAD_DAMAGED;
}

/* --- batches ---------------------------------------------------------------------------------- */

static size_t batch_max(const struct loading *loading)
{
    uint32_t full = loading->load->header.block_entries;
    return loading->info.batch_ops_max < full ? loading->info.batch_ops_max : full;
}

static bool open_pieces(struct loading *loading)
{
    const size_t most = batch_max(loading);
    for (int i = 0; i < BATCHES; i++) {
        struct piece *piece = &loading->pieces[i];
        struct sw_table *table = loading->load->table;
        piece->keys = sw_io_alloc(table, most * loading->info.key_bytes);
        piece->values = sw_io_alloc(table, most * loading->info.value_bytes);
        piece->scores = sw_io_alloc(table, most * sizeof(uint64_t));
        if (piece->keys == NULL || piece->values == NULL || piece->scores == NULL) {
            return false;
        }
    }
    return true;
}

static void close_pieces(struct loading *loading)
{
    const size_t most = batch_max(loading);
    struct sw_table *table = loading->load->table;
    for (int i = 0; i < BATCHES; i++) {
        sw_io_free(table, loading->pieces[i].keys, most * loading->info.key_bytes);
        sw_io_free(table, loading->pieces[i].values, most * loading->info.value_bytes);
        sw_io_free(table, loading->pieces[i].scores, most * sizeof(uint64_t));
    }
    memset(loading->pieces, 0, sizeof(loading->pieces));
}

static enum sw_load_outcome refuse_full(struct loading *loading)
{
    const struct sw_snapshot_header *header = &loading->load->header;
    const struct sw_account *account = loading->load->account;
    const char *remedy = sw_account_remedy(account);
    /* memory-max of a table and TABLE ALTER refuse nothing during a load */
    if (remedy != NULL) {
        SAY(loading, "%s/%s has %" PRIu64 " key%s, more than the table takes; %s",
            loading->load->directory->path, loading->name, header->entries,
            sw_plural_s(header->entries), remedy);
        return SW_LOAD_REFUSED;
    }
    uint64_t needed = (uint64_t)((double)header->entries / loading->info.max_load) + 1;
    SAY(loading,
        "%s/%s has %" PRIu64 " key%s, more than the table takes: it needs --capacity, or "
        "--max-capacity, of at least %" PRIu64 "%s",
        loading->load->directory->path, loading->name, header->entries,
        sw_plural_s(header->entries), needed,
        sw_table_gives_ids(&loading->info) ? ", and --ids of at least the number of keys" : "");
    return SW_LOAD_REFUSED;
}

static enum sw_load_outcome cannot_load(struct loading *loading, int status)
{
    SAY(loading, "%s/%s cannot be loaded: %s", loading->load->directory->path, loading->name,
        sw_status_text(status));
    return SW_LOAD_REFUSED;
}

/* Refuses a snapshot that has a key twice, or an id that does not fit. Its checksums are right: a
 * server with other options wrote such ids, and an older snapshot is no remedy. */
static enum sw_load_outcome refuse_repeated(struct loading *loading)
{
    if (!sw_table_gives_ids(&loading->info)) {
        return damaged(loading, "has a key twice", SW_SNAPSHOT_HEADER_BYTES);
    }
    SAY(loading,
        "%s/%s has a value that is not below --ids, or has it twice: start the server with the "
        "--ids that it had when it wrote the file",
        loading->load->directory->path, loading->name);
    return SW_LOAD_REFUSED;
}

static enum sw_load_outcome wait_for(struct loading *loading, struct piece *piece)
{
    int status = SW_PENDING;
    if (!piece->in_flight) {
        return SW_LOAD_WHOLE;
    }
    while (status == SW_PENDING) {
        status = sw_batch_poll(loading->queue, &piece->batch);
    }
    piece->in_flight = false;
    if (status == SW_E_FULL) {
        return refuse_full(loading);
    }
    if (status == SW_E_INVALID && sw_table_gives_ids(&loading->info)) {
        return refuse_repeated(loading);
    }
    return status == SW_OK ? SW_LOAD_WHOLE : cannot_load(loading, status);
}

/* Copies elements to an array of the same or a larger width. Fills the rest of each element with
 * zeros. */
static void copy_wide(void *to, uint32_t to_bytes, const uint8_t *from, uint32_t from_bytes,
                      uint32_t count)
{
    if (to_bytes == from_bytes) {
        memcpy(to, from, (size_t)count * to_bytes);
        return;
    }
    memset(to, 0, (size_t)count * to_bytes);
    for (uint32_t i = 0; i < count; i++) {
        memcpy((uint8_t *)to + (size_t)i * to_bytes, from + (size_t)i * from_bytes, from_bytes);
    }
}

/* Submits entries [first, first + count) of the block. */
static enum sw_load_outcome submit(struct loading *loading, uint32_t entries, uint32_t first,
                                   uint32_t count)
{
    const struct sw_snapshot_header *header = &loading->load->header;
    const uint8_t *columns = loading->block + SW_SNAPSHOT_BLOCK_HEAD_BYTES;
    const uint8_t *values = columns + sw_snapshot_column_at(header, entries, SW_SNAPSHOT_VALUES);
    struct piece *piece = &loading->pieces[loading->next++ % BATCHES];
    enum sw_load_outcome outcome = wait_for(loading, piece);
    if (outcome != SW_LOAD_WHOLE) {
        return outcome;
    }
    copy_wide(piece->keys, loading->info.key_bytes, columns + (size_t)first * header->key_bytes,
              header->key_bytes, count);
    copy_wide(piece->values, loading->info.value_bytes,
              values + (size_t)first * header->value_bytes, header->value_bytes, count);
    if (header->value_format == SW_FRAME_VALUES_STRING) {
        sw_string_values_clear_tails(piece->values, loading->info.value_bytes,
                                     loading->info.value_bytes - header->key_text_bytes, count);
    }
    piece->batch = (struct sw_batch){
        .op = SW_SET, .count = count, .keys = piece->keys, .values = piece->values};
    if ((header->columns & SW_SNAPSHOT_TIMES) != 0) {
        memcpy(piece->scores,
               columns + sw_snapshot_column_at(header, entries, SW_SNAPSHOT_TIMES) +
                   (size_t)first * 8,
               (size_t)count * 8);
        piece->batch.expires = piece->scores;
    }
    if (loading->restores_scores) {
        const uint8_t *scores =
            columns + sw_snapshot_column_at(header, entries, SW_SNAPSHOT_SCORES);
        memcpy(piece->scores, scores + (size_t)first * 8, (size_t)count * 8);
    }
    if (loading->restores) {
        if (!loading->restores_scores) {
            memset(piece->scores, 0, (size_t)count * 8);
        }
        piece->batch.scores = piece->scores;
        piece->batch.restores = true;
    }
    int status = sw_batch_submit(loading->queue, &piece->batch);
    if (status != SW_OK) {
        return cannot_load(loading, status);
    }
    piece->in_flight = true;
    return SW_LOAD_WHOLE;
}

static enum sw_load_outcome wait_for_all(struct loading *loading)
{
    enum sw_load_outcome worst = SW_LOAD_WHOLE;
    for (int i = 0; i < BATCHES; i++) {
        enum sw_load_outcome outcome = wait_for(loading, &loading->pieces[i]);
        worst = outcome != SW_LOAD_WHOLE ? outcome : worst;
    }
    return worst;
}

/* --- one file --------------------------------------------------------------------------------- */

static enum sw_load_outcome load_block(struct loading *loading, uint64_t number)
{
    struct sw_load *load = loading->load;
    const uint32_t entries = sw_snapshot_entries_of(&load->header, number);
    const uint64_t at = sw_snapshot_block_at(&load->header, number);
    const size_t bytes = (size_t)sw_snapshot_block_bytes(&load->header, entries);
    const uint32_t most = (uint32_t)batch_max(loading);
    if (sw_io_read(loading->io, loading->fd, loading->block, bytes, at) != 0) {
        return unreadable(loading, at);
    }
    const char *wrong =
        sw_snapshot_check_block(&load->header, number, loading->block, &loading->checks[number]);
    if (wrong != NULL) {
        return damaged(loading, wrong, at);
    }
    for (uint32_t first = 0; first < entries; first += most) {
        uint32_t count = entries - first < most ? entries - first : most;
        enum sw_load_outcome outcome = submit(loading, entries, first, count);
        if (outcome != SW_LOAD_WHOLE) {
            return outcome;
        }
    }
    __atomic_store_n(&load->done_bytes, at + bytes, __ATOMIC_RELAXED);
    if (load->progress != NULL) {
        load->progress(load->context);
    }
    return SW_LOAD_WHOLE;
}

static enum sw_load_outcome stopped(struct loading *loading)
{
    SAY(loading, "loading was stopped");
    return SW_LOAD_REFUSED;
}

/* Reads and checks the footer, after all blocks. */
static enum sw_load_outcome check_footer(struct loading *loading)
{
    uint8_t footer[SW_SNAPSHOT_FOOTER_BYTES];
    const uint64_t end = loading->load->file_bytes - sizeof(footer);
    if (sw_io_read(loading->io, loading->fd, footer, sizeof(footer), end) != 0) {
        return unreadable(loading, end);
    }
    const char *wrong = sw_snapshot_check_footer(&loading->load->header, loading->checks, footer);
    return wrong == NULL ? SW_LOAD_WHOLE : damaged(loading, wrong, end);
}

/* Submits the blocks as batches, one block after the other. */
static enum sw_load_outcome submit_blocks(struct loading *loading)
{
    struct sw_load *load = loading->load;
    const uint64_t blocks = sw_snapshot_blocks(&load->header);
    enum sw_load_outcome outcome = SW_LOAD_WHOLE;
    sw_snapshot_reserve(loading->queue, &loading->info, &load->header);
    for (uint64_t number = 0; number < blocks && outcome == SW_LOAD_WHOLE; number++) {
        outcome = load_block(loading, number);
        if (__atomic_load_n(load->stop, __ATOMIC_RELAXED)) {
            outcome = stopped(loading);
        }
    }
    enum sw_load_outcome last = wait_for_all(loading);
    outcome = outcome == SW_LOAD_WHOLE ? last : outcome;
    return outcome == SW_LOAD_WHOLE ? check_footer(loading) : outcome;
}

static enum sw_load_outcome restore_blocks(struct loading *loading, struct sw_restore *restore)
{
    struct sw_load *load = loading->load;
    struct sw_snapshot_restore job = {.io = loading->io,
                                      .fd = loading->fd,
                                      .header = &load->header,
                                      .restore = restore,
                                      .key_bytes = loading->info.key_bytes,
                                      .value_bytes = loading->info.value_bytes,
                                      .checks = loading->checks,
                                      .done_bytes = &load->done_bytes,
                                      .stop = load->stop,
                                      .progress = load->progress,
                                      .context = load->context};
    enum sw_load_outcome outcome = SW_LOAD_WHOLE;
    if (!sw_snapshot_restore(&job)) {
        errno = job.error;
        outcome = job.error != 0      ? unreadable(loading, job.failed_at)
                  : job.wrong != NULL ? damaged(loading, job.wrong, job.failed_at)
                                      : stopped(loading);
    }
    outcome = outcome == SW_LOAD_WHOLE ? check_footer(loading) : outcome;
    int status = sw_restore_end(restore, outcome == SW_LOAD_WHOLE);
    return status == SW_OK          ? outcome
           : status == SW_E_FULL    ? refuse_full(loading)
           : status == SW_E_INVALID ? refuse_repeated(loading)
                                    : cannot_load(loading, status);
}

static enum sw_load_outcome load_blocks(struct loading *loading)
{
    struct sw_restore *restore = NULL;
    if ((loading->load->header.columns & SW_SNAPSHOT_TIMES) != 0) {
        return submit_blocks(loading);
    }
    int status = sw_restore_begin(loading->load->table, loading->load->header.entries, &restore);
    if (status == SW_E_FULL) { /* it would double its slots, beside those that it has */
        sw_snapshot_reserve(loading->queue, &loading->info, &loading->load->header);
        status = sw_restore_begin(loading->load->table, loading->load->header.entries, &restore);
    }
    if (status == SW_OK) {
        return restore_blocks(loading, restore);
    }
    if (status == SW_E_FULL) {
        return refuse_full(loading);
    }
    return status == SW_E_UNSUPPORTED ? submit_blocks(loading) : cannot_load(loading, status);
}

static enum sw_load_outcome prepare(struct loading *loading)
{
    struct sw_load *load = loading->load;
    const struct sw_snapshot_header *header = &load->header;
    const uint64_t blocks = sw_snapshot_blocks(header);
    bool is_cache = loading->info.engine == SW_ENGINE_CACHE;
    loading->restores_scores = is_cache && (header->columns & SW_SNAPSHOT_SCORES) != 0 &&
                               header->policy == (uint32_t)loading->info.cache_policy;
    /* A cache takes ids only from a batch that restores. Without scores of its policy these entries
     * leave first. */
    loading->restores =
        loading->restores_scores || (is_cache && sw_table_gives_ids(&loading->info));
    loading->block = malloc((size_t)sw_snapshot_block_bytes(header, header->block_entries));
    loading->checks = calloc((size_t)blocks + 1, sizeof(*loading->checks));
    if (loading->block == NULL || loading->checks == NULL || !open_pieces(loading)) {
        SAY(loading, "not enough memory to load %s/%s", load->directory->path, loading->name);
        return SW_LOAD_REFUSED;
    }
    struct sw_batch epoch = {.kind = SW_BATCH_EPOCH, .epoch = header->epoch};
    if ((loading->info.batch_kinds >> SW_BATCH_EPOCH & 1) != 0 && header->epoch > 0 &&
        sw_batch_run(loading->queue, &epoch) != SW_OK) {
        SAY(loading, "%s/%s has an epoch that this table does not take", load->directory->path,
            loading->name);
        return SW_LOAD_REFUSED;
    }
    return SW_LOAD_WHOLE;
}

/* Reads and checks header and size. */
static enum sw_load_outcome read_header(struct loading *loading)
{
    struct sw_load *load = loading->load;
    uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES];
    uint64_t size = 0;
    if (sw_io_read(loading->io, loading->fd, bytes, sizeof(bytes), 0) != 0 ||
        loading->io->size(loading->fd, &size) != 0) {
        return unreadable(loading, 0);
    }
    bool newer = false;
    const char *wrong = sw_snapshot_get_header(bytes, &load->header, &newer);
    if (wrong != NULL) {
        enum sw_load_outcome outcome = damaged(loading, wrong, 0);
        return newer ? SW_LOAD_REFUSED : outcome;
    }
    if (size != sw_snapshot_file_bytes(&load->header)) {
        SAY(loading, "%s/%s has %" PRIu64 " bytes where its header says %" PRIu64,
            load->directory->path, loading->name, size, sw_snapshot_file_bytes(&load->header));
        return SW_LOAD_DAMAGED;
    }
    __atomic_store_n(&load->file_bytes, size, __ATOMIC_RELAXED);
    return sw_snapshot_fits(load, &loading->info, loading->name, loading->reason) ? SW_LOAD_WHOLE
                                                                                  : SW_LOAD_REFUSED;
}

static enum sw_load_outcome load_open(struct loading *loading)
{
    enum sw_load_outcome outcome = read_header(loading);
    if (outcome == SW_LOAD_WHOLE) {
        outcome = prepare(loading);
        outcome = outcome == SW_LOAD_WHOLE ? load_blocks(loading) : outcome;
        close_pieces(loading);
    }
    free(loading->block);
    free(loading->checks);
    loading->block = NULL;
    loading->checks = NULL;
    return outcome;
}

static enum sw_load_outcome load_file(struct loading *loading, uint64_t number)
{
    struct sw_load *load = loading->load;
    loading->fd = loading->io->open(load->directory->fd, loading->name, O_RDONLY, 0);
    if (loading->fd < 0) {
        uint32_t id = 0;
        const bool is_lacking =
            errno == ENOENT && sw_table_file_is_named(loading->name, &id, &number);
        SAY(loading, "%s/%s cannot be opened: %s%s", load->directory->path, loading->name,
            sw_file_error(errno),
            is_lacking ? "; copy all files table-* of the snapshot beside its file snapshot-*"
                       : "");
        return SW_LOAD_REFUSED;
    }
    enum sw_load_outcome outcome = load_open(loading);
    if (outcome == SW_LOAD_WHOLE && load->header.sequence != number) {
        outcome = damaged(loading, "has the name of another snapshot", 32);
    }
    loading->io->close(loading->fd);
    return outcome;
}

enum sw_load_outcome sw_snapshot_load_file(struct sw_load *load, const char *name, uint64_t number,
                                           char reason[SW_LOAD_REASON_BYTES])
{
    struct loading loading = {.load = load, .io = load->directory->io, .reason = reason};
    snprintf(loading.name, sizeof(loading.name), "%s", name);
    sw_table_info(load->table, &loading.info);
    if (sw_queue_create(load->table, &loading.queue) != SW_OK) {
        SAY(&loading, "not enough memory to load snapshots");
        return SW_LOAD_REFUSED;
    }
    const enum sw_load_outcome outcome = load_file(&loading, number);
    sw_queue_destroy(loading.queue);
    return outcome;
}
