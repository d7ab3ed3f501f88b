/* SPDX-License-Identifier: MIT
 *
 * backlog.c - a ring of records by sequence. The oldest records are dropped first.
 */
#include "server/repl/backlog.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "proto/check.h"
#include "server/log/clock.h"
#include "table/sequencer.h"
#include "table/table.h"

struct sw_backlog {
    uint64_t bytes_max;
    uint64_t salt;
    bool is_on; /* atomic; changes under `lock` */
    pthread_mutex_t lock;
    struct sw_backlog_record **ring; /* by sequence % SW_BACKLOG_RECORDS_MAX */
    uint64_t first;                  /* writes before this one were dropped */
    uint64_t next;                   /* the records [first, next) are stored without a gap */
    uint64_t high;                   /* no record from here on is stored; [next, high) has gaps */
    uint64_t bytes;                  /* of all records */
    struct sw_backlog_reader *readers;
    const struct sw_sequencer *sequencer; /* NULL: there is one table */
};

struct sw_backlog *sw_backlog_create(uint64_t bytes_max)
{
    struct sw_backlog *backlog = calloc(1, sizeof(*backlog));
    if (backlog == NULL) {
        return NULL;
    }
    backlog->ring = calloc(SW_BACKLOG_RECORDS_MAX,
                           /* pages that are not used need no memory */
                           sizeof(struct sw_backlog_record *));
    if (backlog->ring == NULL || getrandom(&backlog->salt, sizeof(backlog->salt), 0) < 0) {
        free(backlog->ring);
        free(backlog);
        return NULL;
    }
    backlog->bytes_max = bytes_max;
    pthread_mutex_init(&backlog->lock, NULL);
    return backlog;
}

static void drop(struct sw_backlog_record *record)
{
    if (__atomic_sub_fetch(&record->references, 1, __ATOMIC_ACQ_REL) == 0) {
        free(record);
    }
}

static struct sw_backlog_record **place(struct sw_backlog *backlog, uint64_t sequence)
{
    return &backlog->ring[sequence % SW_BACKLOG_RECORDS_MAX];
}

/* The caller holds the lock. This also holds for the static functions below it. */
static void forget_below(struct sw_backlog *backlog, uint64_t first)
{
    for (; backlog->first < first && backlog->first < backlog->high; backlog->first++) {
        struct sw_backlog_record **slot = place(backlog, backlog->first);
        if (*slot != NULL) {
            backlog->bytes -= (*slot)->size;
            drop(*slot);
            *slot = NULL;
        }
    }
    backlog->first = backlog->first < first ? first : backlog->first;
    backlog->next = backlog->next < backlog->first ? backlog->first : backlog->next;
    backlog->high = backlog->high < backlog->first ? backlog->first : backlog->high;
}

static void advance(struct sw_backlog *backlog)
{
    while (backlog->next < backlog->high && *place(backlog, backlog->next) != NULL) {
        backlog->next++;
    }
    /* keep the newest record, even if it is larger than bytes_max: otherwise no replica gets it */
    while (backlog->bytes > backlog->bytes_max && backlog->first + 1 < backlog->next) {
        forget_below(backlog, backlog->first + 1);
    }
}

static void wake_readers(struct sw_backlog *backlog)
{
    const uint64_t one = 1;
    for (struct sw_backlog_reader *reader = backlog->readers; reader != NULL;
         reader = reader->next) {
        if (reader->asks) {
            reader->asks = false;
            ssize_t written = write(reader->fd, &one, sizeof(one));
            (void)written; /* if the counter is full, the eventfd is readable already */
        }
    }
}

static void restart(struct sw_backlog *backlog, uint64_t sequence)
{
    forget_below(backlog, backlog->high);
    backlog->first = backlog->next = backlog->high = sequence + 1;
    wake_readers(backlog); /* readers find that their next record was dropped */
}

void sw_backlog_destroy(struct sw_backlog *backlog)
{
    if (backlog != NULL) {
        forget_below(backlog, backlog->high);
        pthread_mutex_destroy(&backlog->lock);
        free(backlog->ring);
        free(backlog);
    }
}

void sw_backlog_set_sequencer(struct sw_backlog *backlog, const struct sw_sequencer *sequencer)
{
    backlog->sequencer = sequencer;
}

uint64_t sw_backlog_salt(const struct sw_backlog *backlog)
{
    return backlog->salt;
}

bool sw_backlog_is_on(const struct sw_backlog *backlog)
{
    return __atomic_load_n(&backlog->is_on, __ATOMIC_SEQ_CST);
}

void sw_backlog_enable(struct sw_backlog *backlog, struct sw_table *table)
{
    pthread_mutex_lock(&backlog->lock);
    if (!sw_backlog_is_on(backlog)) {
        /* before the read of the sequence: a write with a higher number completes later, so its
         * loop finds the backlog on and adds it */
        __atomic_store_n(&backlog->is_on, true, __ATOMIC_SEQ_CST);
        restart(backlog, backlog->sequencer != NULL ? sw_sequencer_last(backlog->sequencer)
                                                    : sw_table_last_sequence(table));
    }
    pthread_mutex_unlock(&backlog->lock);
}

void sw_backlog_disable(struct sw_backlog *backlog)
{
    pthread_mutex_lock(&backlog->lock);
    if (backlog->readers == NULL) {
        __atomic_store_n(&backlog->is_on, false, __ATOMIC_SEQ_CST);
        forget_below(backlog, backlog->high);
    }
    pthread_mutex_unlock(&backlog->lock);
}

void sw_backlog_restart(struct sw_backlog *backlog, uint64_t sequence)
{
    pthread_mutex_lock(&backlog->lock);
    __atomic_store_n(&backlog->is_on, true, __ATOMIC_SEQ_CST);
    restart(backlog, sequence);
    pthread_mutex_unlock(&backlog->lock);
}

/* Makes a record of a write. Returns NULL if there is no memory. */
static struct sw_backlog_record *record_of(const struct sw_backlog *backlog,
                                           const struct sw_wal_write *write)
{
    uint64_t bytes = SW_WAL_RECORD_BYTES;
    for (unsigned i = 0; i < SW_WAL_COLUMNS_MAX; i++) {
        bytes += write->columns[i].iov_len;
    }
    struct sw_backlog_record *record = aligned_alloc(SW_WAL_ALIGN, sizeof(*record) + bytes);
    if (record == NULL) {
        return NULL;
    }
    record->references = 1;
    record->sequence = write->sequence;
    record->size = bytes;
    const bool has_table = write->table > SW_WAL_FIRST_TABLE;
    record->needs_tables = has_table || write->kind == SW_WAL_CHANGE;
    uint8_t *at = record->bytes + SW_WAL_RECORD_BYTES;
    for (unsigned i = 0; i < SW_WAL_COLUMNS_MAX; i++) {
        if (write->columns[i].iov_len > 0) {
            memcpy(at, write->columns[i].iov_base, write->columns[i].iov_len);
            at += write->columns[i].iov_len;
        }
    }
    const struct sw_wal_record header = {
        .kind = write->kind,
        .operation = write->operation,
        .flags = (uint16_t)(write->flags | (has_table ? SW_WAL_HAS_TABLE : 0)),
        .table = write->table,
        .sequence = write->sequence,
        .wall_us = sw_log_wall_us(),
        .count = write->count,
        .expired_keys = write->expired_keys,
        .units = (uint32_t)(bytes / SW_WAL_ALIGN),
        .columns_check = sw_check64(record->bytes + SW_WAL_RECORD_BYTES,
                                    (size_t)bytes - SW_WAL_RECORD_BYTES, backlog->salt),
    };
    sw_wal_record_encode(&header, backlog->salt, record->bytes);
    return record;
}

void sw_backlog_add(struct sw_backlog *backlog, const struct sw_wal_write *write)
{
    struct sw_backlog_record *record = record_of(backlog, write);
    if (record == NULL) {
        sw_backlog_skip(backlog, write->sequence);
        return;
    }
    pthread_mutex_lock(&backlog->lock);
    if (write->sequence >= backlog->first + SW_BACKLOG_RECORDS_MAX) {
        forget_below(backlog, write->sequence - SW_BACKLOG_RECORDS_MAX + 1);
    }
    if (!sw_backlog_is_on(backlog) || write->sequence < backlog->first) {
        drop(record);
    } else {
        *place(backlog, write->sequence) = record;
        backlog->bytes += record->size;
        backlog->high = backlog->high <= write->sequence ? write->sequence + 1 : backlog->high;
        uint64_t before = backlog->next;
        advance(backlog);
        if (backlog->next > before) {
            wake_readers(backlog);
        }
    }
    pthread_mutex_unlock(&backlog->lock);
}

void sw_backlog_skip(struct sw_backlog *backlog, uint64_t sequence)
{
    pthread_mutex_lock(&backlog->lock);
    if (sw_backlog_is_on(backlog) && sequence >= backlog->first) {
        forget_below(backlog, sequence + 1);
        advance(backlog);
        wake_readers(backlog);
    }
    pthread_mutex_unlock(&backlog->lock);
}

int sw_backlog_take(struct sw_backlog *backlog, uint64_t sequence,
                    struct sw_backlog_record **records, int max, size_t bytes_max)
{
    int count = 0;
    size_t bytes = 0;
    pthread_mutex_lock(&backlog->lock);
    if (sequence + 1 < backlog->first || sequence >= backlog->next) {
        count = -1;
    }
    while (count >= 0 && count < max && bytes < bytes_max && ++sequence < backlog->next) {
        struct sw_backlog_record *record = *place(backlog, sequence);
        __atomic_add_fetch(&record->references, 1, __ATOMIC_RELAXED);
        bytes += record->size;
        records[count++] = record;
    }
    pthread_mutex_unlock(&backlog->lock);
    return count;
}

void sw_backlog_release(struct sw_backlog_record **records, int count)
{
    for (int i = 0; i < count; i++) {
        drop(records[i]);
    }
}

void sw_backlog_join(struct sw_backlog *backlog, struct sw_backlog_reader *reader)
{
    pthread_mutex_lock(&backlog->lock);
    reader->next = backlog->readers;
    backlog->readers = reader;
    pthread_mutex_unlock(&backlog->lock);
}

void sw_backlog_leave(struct sw_backlog *backlog, struct sw_backlog_reader *reader)
{
    pthread_mutex_lock(&backlog->lock);
    struct sw_backlog_reader **link = &backlog->readers;
    while (*link != reader) {
        link = &(*link)->next;
    }
    *link = reader->next;
    pthread_mutex_unlock(&backlog->lock);
}

bool sw_backlog_has(struct sw_backlog *backlog, uint64_t sequence)
{
    pthread_mutex_lock(&backlog->lock);
    bool has = sequence < backlog->next;
    pthread_mutex_unlock(&backlog->lock);
    return has;
}

bool sw_backlog_ask(struct sw_backlog *backlog, struct sw_backlog_reader *reader, uint64_t sequence)
{
    pthread_mutex_lock(&backlog->lock);
    reader->asks = sequence + 1 == backlog->next && sequence + 1 >= backlog->first;
    bool asks = reader->asks;
    pthread_mutex_unlock(&backlog->lock);
    return asks;
}

void sw_backlog_stats(struct sw_backlog *backlog, struct sw_backlog_stats *stats)
{
    pthread_mutex_lock(&backlog->lock);
    *stats = (struct sw_backlog_stats){
        .is_on = sw_backlog_is_on(backlog),
        .first = backlog->first < backlog->next ? backlog->first : 0,
        .last = backlog->next == 0 ? 0 : backlog->next - 1,
        .bytes = backlog->bytes,
        .bytes_max = backlog->bytes_max,
    };
    pthread_mutex_unlock(&backlog->lock);
}
