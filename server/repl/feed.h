/* SPDX-License-Identifier: MIT
 *
 * feed.h - the last writes of a server, in memory and in their order, for its replicas.
 *
 * Loops hand in what they have carried out, as they do to the write-ahead log, and it is kept as
 * records of that log (proto/wal_format.h). Beyond so many bytes or records the oldest go: a
 * replica that needs them has to begin anew with a snapshot. Nothing is kept before the first
 * replica comes.
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

/* One write, which is counted by references. */
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

/* The seed of the checks of its records: random. */
uint64_t sw_feed_salt(const struct sw_feed *feed);

/* Are writes to be handed in? */
bool sw_feed_is_on(const struct sw_feed *feed);
/* From now on, unless it is on already. Whatever the table numbers after this call is handed in. */
void sw_feed_turn_on(struct sw_feed *feed, struct sw_table *table);
/* Keeps nothing from now on, unless somebody reads. */
void sw_feed_turn_off(struct sw_feed *feed);
/* Forgets everything; the next write is the one behind `sequence`. */
void sw_feed_restart(struct sw_feed *feed, uint64_t sequence);

/* Hands in a write, whose columns are copied; what it owns stays the caller's. */
void sw_feed_add(struct sw_feed *feed, const struct sw_wal_write *write);
/* .. one of which nobody knows what was written: everything up to it is forgotten. */
void sw_feed_skip(struct sw_feed *feed, uint64_t sequence);

/* Records behind `sequence`, in order, at most `max` of them and about `bytes_max` bytes, which the
 * caller gives back. Returns how many; 0: there is none yet; -1: the next one is gone. */
int sw_feed_take(struct sw_feed *feed, uint64_t sequence, struct sw_feed_record **records, int max,
                 size_t bytes_max);
void sw_feed_give(struct sw_feed_record **records, int count);

/* Who is told that there is more: `fd`, an eventfd, is written once, if `asks` was set since. */
struct sw_feed_reader {
    struct sw_feed_reader *next;
    int fd;
    bool asks; /* under the lock of the feed */
};
void sw_feed_join(struct sw_feed *feed, struct sw_feed_reader *reader);
void sw_feed_leave(struct sw_feed *feed, struct sw_feed_reader *reader);
/* Has the feed this write, and all before it, or had it them? False while a loop has done one and
 * not handed it in. */
bool sw_feed_has(struct sw_feed *feed, uint64_t sequence);
/* Asks to be told of what comes behind `sequence`. Returns false if there is something already. */
bool sw_feed_ask(struct sw_feed *feed, struct sw_feed_reader *reader, uint64_t sequence);

struct sw_feed_figures {
    bool is_on;
    uint64_t first; /* the oldest write that is kept; 0: none is */
    uint64_t last;  /* the newest, without a gap before it */
    uint64_t bytes;
    uint64_t bytes_max;
};
void sw_feed_figures(struct sw_feed *feed, struct sw_feed_figures *figures);

#endif
