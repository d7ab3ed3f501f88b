/* SPDX-License-Identifier: MIT
 *
 * feed.c - a ring of records by sequence. The oldest records are dropped first.
 */
#include "server/repl/feed.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "proto/check.h"
#include "server/log/clock.h"
#include "table/table.h"

struct sw_feed {
    uint64_t bytes_max;
    uint64_t salt;
    bool is_on; /* atomic; changes under `lock` */
    pthread_mutex_t lock;
    struct sw_feed_record **ring; /* by sequence % SW_FEED_RECORDS_MAX */
    uint64_t first;               /* everything before is gone */
    uint64_t next;                /* everything before, from `first` on, is there */
    uint64_t high;                /* nothing from here on is there */
    uint64_t bytes;               /* of all records */
    struct sw_feed_reader *readers;
};

struct sw_feed *sw_feed_create(uint64_t bytes_max)
{
    struct sw_feed *feed = calloc(1, sizeof(*feed));
    if (feed == NULL) {
        return NULL;
    }
    feed->ring = calloc(SW_FEED_RECORDS_MAX,
                        sizeof(struct sw_feed_record *)); /* untouched pages cost nothing */
    if (feed->ring == NULL || getrandom(&feed->salt, sizeof(feed->salt), 0) < 0) {
        free(feed->ring);
        free(feed);
        return NULL;
    }
    feed->bytes_max = bytes_max;
    pthread_mutex_init(&feed->lock, NULL);
    return feed;
}

static void drop(struct sw_feed_record *record)
{
    if (__atomic_sub_fetch(&record->references, 1, __ATOMIC_ACQ_REL) == 0) {
        free(record);
    }
}

static struct sw_feed_record **place(struct sw_feed *feed, uint64_t sequence)
{
    return &feed->ring[sequence % SW_FEED_RECORDS_MAX];
}

/* With the lock held, as all that follows up to sw_feed_add. */
static void forget_below(struct sw_feed *feed, uint64_t first)
{
    for (; feed->first < first && feed->first < feed->high; feed->first++) {
        struct sw_feed_record **slot = place(feed, feed->first);
        if (*slot != NULL) {
            feed->bytes -= (*slot)->size;
            drop(*slot);
            *slot = NULL;
        }
    }
    feed->first = feed->first < first ? first : feed->first;
    feed->next = feed->next < feed->first ? feed->first : feed->next;
    feed->high = feed->high < feed->first ? feed->first : feed->high;
}

static void advance(struct sw_feed *feed)
{
    while (feed->next < feed->high && *place(feed, feed->next) != NULL) {
        feed->next++;
    }
    /* the newest one stays, however large it is: else no replica could ever get it */
    while (feed->bytes > feed->bytes_max && feed->first + 1 < feed->next) {
        forget_below(feed, feed->first + 1);
    }
}

static void tell(struct sw_feed *feed)
{
    const uint64_t one = 1;
    for (struct sw_feed_reader *reader = feed->readers; reader != NULL; reader = reader->next) {
        if (reader->asks) {
            reader->asks = false;
            ssize_t written = write(reader->fd, &one, sizeof(one));
            (void)written; /* if the counter is full, it is readable already */
        }
    }
}

static void restart(struct sw_feed *feed, uint64_t sequence)
{
    forget_below(feed, feed->high);
    feed->first = feed->next = feed->high = sequence + 1;
    tell(feed); /* readers find that their next record was dropped */
}

void sw_feed_destroy(struct sw_feed *feed)
{
    if (feed != NULL) {
        forget_below(feed, feed->high);
        pthread_mutex_destroy(&feed->lock);
        free(feed->ring);
        free(feed);
    }
}

uint64_t sw_feed_salt(const struct sw_feed *feed)
{
    return feed->salt;
}

bool sw_feed_is_on(const struct sw_feed *feed)
{
    return __atomic_load_n(&feed->is_on, __ATOMIC_SEQ_CST);
}

void sw_feed_turn_on(struct sw_feed *feed, struct sw_table *table)
{
    pthread_mutex_lock(&feed->lock);
    if (!sw_feed_is_on(feed)) {
        /* before the number is read: what the table numbers later is done later, and handed in */
        __atomic_store_n(&feed->is_on, true, __ATOMIC_SEQ_CST);
        restart(feed, sw_table_last_sequence(table));
    }
    pthread_mutex_unlock(&feed->lock);
}

void sw_feed_turn_off(struct sw_feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    if (feed->readers == NULL) {
        __atomic_store_n(&feed->is_on, false, __ATOMIC_SEQ_CST);
        forget_below(feed, feed->high);
    }
    pthread_mutex_unlock(&feed->lock);
}

void sw_feed_restart(struct sw_feed *feed, uint64_t sequence)
{
    pthread_mutex_lock(&feed->lock);
    __atomic_store_n(&feed->is_on, true, __ATOMIC_SEQ_CST);
    restart(feed, sequence);
    pthread_mutex_unlock(&feed->lock);
}

/* Makes a record of a write. Returns NULL if there is no memory. */
static struct sw_feed_record *record_of(const struct sw_feed *feed,
                                        const struct sw_wal_write *write)
{
    uint64_t bytes = SW_WAL_RECORD_BYTES;
    for (unsigned i = 0; i < SW_WAL_COLUMNS_MAX; i++) {
        bytes += write->columns[i].iov_len;
    }
    struct sw_feed_record *record = aligned_alloc(SW_WAL_ALIGN, sizeof(*record) + bytes);
    if (record == NULL) {
        return NULL;
    }
    record->references = 1;
    record->sequence = write->sequence;
    record->size = bytes;
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
        .flags = write->flags,
        .sequence = write->sequence,
        .wall_us = sw_log_wall_us(),
        .count = write->count,
        .buried = write->buried,
        .units = (uint32_t)(bytes / SW_WAL_ALIGN),
        .columns_check = sw_check64(record->bytes + SW_WAL_RECORD_BYTES,
                                    (size_t)bytes - SW_WAL_RECORD_BYTES, feed->salt),
    };
    sw_wal_record_encode(&header, feed->salt, record->bytes);
    return record;
}

void sw_feed_add(struct sw_feed *feed, const struct sw_wal_write *write)
{
    struct sw_feed_record *record = record_of(feed, write);
    if (record == NULL) {
        sw_feed_skip(feed, write->sequence);
        return;
    }
    pthread_mutex_lock(&feed->lock);
    if (write->sequence >= feed->first + SW_FEED_RECORDS_MAX) {
        forget_below(feed, write->sequence - SW_FEED_RECORDS_MAX + 1);
    }
    if (!sw_feed_is_on(feed) || write->sequence < feed->first) {
        drop(record);
    } else {
        *place(feed, write->sequence) = record;
        feed->bytes += record->size;
        feed->high = feed->high <= write->sequence ? write->sequence + 1 : feed->high;
        uint64_t before = feed->next;
        advance(feed);
        if (feed->next > before) {
            tell(feed);
        }
    }
    pthread_mutex_unlock(&feed->lock);
}

void sw_feed_skip(struct sw_feed *feed, uint64_t sequence)
{
    pthread_mutex_lock(&feed->lock);
    if (sw_feed_is_on(feed) && sequence >= feed->first) {
        forget_below(feed, sequence + 1);
        advance(feed);
        tell(feed);
    }
    pthread_mutex_unlock(&feed->lock);
}

int sw_feed_take(struct sw_feed *feed, uint64_t sequence, struct sw_feed_record **records, int max,
                 size_t bytes_max)
{
    int count = 0;
    size_t bytes = 0;
    pthread_mutex_lock(&feed->lock);
    if (sequence + 1 < feed->first || sequence >= feed->next) {
        count = -1;
    }
    while (count >= 0 && count < max && bytes < bytes_max && ++sequence < feed->next) {
        struct sw_feed_record *record = *place(feed, sequence);
        __atomic_add_fetch(&record->references, 1, __ATOMIC_RELAXED);
        bytes += record->size;
        records[count++] = record;
    }
    pthread_mutex_unlock(&feed->lock);
    return count;
}

void sw_feed_give(struct sw_feed_record **records, int count)
{
    for (int i = 0; i < count; i++) {
        drop(records[i]);
    }
}

void sw_feed_join(struct sw_feed *feed, struct sw_feed_reader *reader)
{
    pthread_mutex_lock(&feed->lock);
    reader->next = feed->readers;
    feed->readers = reader;
    pthread_mutex_unlock(&feed->lock);
}

void sw_feed_leave(struct sw_feed *feed, struct sw_feed_reader *reader)
{
    pthread_mutex_lock(&feed->lock);
    struct sw_feed_reader **link = &feed->readers;
    while (*link != reader) {
        link = &(*link)->next;
    }
    *link = reader->next;
    pthread_mutex_unlock(&feed->lock);
}

bool sw_feed_has(struct sw_feed *feed, uint64_t sequence)
{
    pthread_mutex_lock(&feed->lock);
    bool has = sequence < feed->next;
    pthread_mutex_unlock(&feed->lock);
    return has;
}

bool sw_feed_ask(struct sw_feed *feed, struct sw_feed_reader *reader, uint64_t sequence)
{
    pthread_mutex_lock(&feed->lock);
    reader->asks = sequence + 1 == feed->next && sequence + 1 >= feed->first;
    bool asks = reader->asks;
    pthread_mutex_unlock(&feed->lock);
    return asks;
}

void sw_feed_stats(struct sw_feed *feed, struct sw_feed_stats *figures)
{
    pthread_mutex_lock(&feed->lock);
    *figures = (struct sw_feed_stats){
        .is_on = sw_feed_is_on(feed),
        .first = feed->first < feed->next ? feed->first : 0,
        .last = feed->next == 0 ? 0 : feed->next - 1,
        .bytes = feed->bytes,
        .bytes_max = feed->bytes_max,
    };
    pthread_mutex_unlock(&feed->lock);
}
