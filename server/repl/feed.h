/* SPDX-License-Identifier: MIT
 *
 * feed.h - the replication backlog: the last writes of a server, in memory and in order.
 *
 * Loops add applied writes, as they do to the write-ahead log. The feed stores them as records of
 * that log (proto/wal_format.h). Beyond a limit of bytes or records it drops the oldest ones. A
 * replica that needs a dropped record must begin anew with a snapshot. The feed stores nothing
 * before the first replica connects.
 *
 * Threads: any.
 */
#ifndef SHERWOOD_SERVER_REPL_FEED_H
#define SHERWOOD_SERVER_REPL_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/log/wal.h"

struct sw_table;

#define SW_FEED_RECORDS_MAX (1U << 20)

/* One write, with a reference count. */
struct sw_feed_record {
    uint32_t references; /* atomic */
    uint64_t sequence;
    size_t size;
    _Alignas(SW_WAL_ALIGN) uint8_t bytes[];
};

struct sw_feed;

/* Returns NULL if there is no memory. */
struct sw_feed *sw_feed_create(uint64_t bytes_max);
void sw_feed_destroy(struct sw_feed *feed);

/* Returns the random seed of the checksums of its records. */
uint64_t sw_feed_salt(const struct sw_feed *feed);

/* Returns true if writes must be added. */
bool sw_feed_is_on(const struct sw_feed *feed);
/* Turns the feed on, unless it is on. Loops then add every write that the table numbers after this
 * call. */
void sw_feed_turn_on(struct sw_feed *feed, struct sw_table *table);
/* Turns the feed off and drops its records, unless it has a reader. */
void sw_feed_turn_off(struct sw_feed *feed);
/* Drops all records and turns the feed on. The next write is `sequence` + 1. */
void sw_feed_restart(struct sw_feed *feed, uint64_t sequence);

/* Adds a write. Copies its columns; the caller keeps what it owns. If memory is short, skips the
 * write. */
void sw_feed_add(struct sw_feed *feed, const struct sw_wal_write *write);
/* Skips a write whose effect is unknown, and drops all records up to it. */
void sw_feed_skip(struct sw_feed *feed, uint64_t sequence);

/* Takes references to the records after `sequence`, in order: at most `max` records and about
 * `bytes_max` bytes. The caller releases them with sw_feed_give. Returns their number; 0: the next
 * write does not exist yet; -1: its record was dropped. */
int sw_feed_take(struct sw_feed *feed, uint64_t sequence, struct sw_feed_record **records, int max,
                 size_t bytes_max);
void sw_feed_give(struct sw_feed_record **records, int count);

/* A waiting reader. The feed writes to its eventfd `fd` once per sw_feed_ask, when more records
 * arrive. */
struct sw_feed_reader {
    struct sw_feed_reader *next;
    int fd;
    bool asks; /* under the lock of the feed */
};
void sw_feed_join(struct sw_feed *feed, struct sw_feed_reader *reader);
void sw_feed_leave(struct sw_feed *feed, struct sw_feed_reader *reader);
/* Returns true if all writes up to this one were added or skipped. Returns false while a loop has
 * applied one of them but not added it yet. */
bool sw_feed_has(struct sw_feed *feed, uint64_t sequence);
/* Requests a wake-up of the reader when a record after `sequence` arrives. Returns false if the
 * reader need not wait: the feed has that record, or has dropped it. */
bool sw_feed_ask(struct sw_feed *feed, struct sw_feed_reader *reader, uint64_t sequence);

struct sw_feed_stats {
    bool is_on;
    uint64_t first; /* the oldest stored write; 0: the feed is empty */
    uint64_t last;  /* the newest, without a gap before it */
    uint64_t bytes;
    uint64_t bytes_max;
};
void sw_feed_stats(struct sw_feed *feed, struct sw_feed_stats *figures);

#endif
