/* SPDX-License-Identifier: MIT
 *
 * backlog.h - the replication backlog: the last writes of a server, in memory and in order.
 *
 * Loops add applied writes, as they do to the write-ahead log. The backlog stores them as records
 * of that log (proto/wal_format.h). Beyond a limit of bytes or records it drops the oldest ones. A
 * replica that needs a dropped record must begin anew with a snapshot. The backlog stores nothing
 * before the first replica connects.
 *
 * Threads: any.
 */
#ifndef SHERWOOD_SERVER_REPL_BACKLOG_H
#define SHERWOOD_SERVER_REPL_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/log/wal.h"

struct sw_sequencer;
struct sw_table;

#define SW_BACKLOG_RECORDS_MAX (1U << 20)

/* One write, with a reference count. */
struct sw_backlog_record {
    uint32_t references; /* atomic */
    uint64_t sequence;
    size_t size;
    bool needs_tables; /* only a replica with several tables can apply it */
    _Alignas(SW_WAL_ALIGN) uint8_t bytes[];
};

struct sw_backlog;

/* Returns NULL if there is no memory. */
struct sw_backlog *sw_backlog_create(uint64_t bytes_max);
void sw_backlog_destroy(struct sw_backlog *backlog);
/* Sets the sequencer of all tables, which is borrowed. NULL: there is one table. Call it before
 * other threads use the backlog. */
void sw_backlog_set_sequencer(struct sw_backlog *backlog, const struct sw_sequencer *sequencer);

/* Returns the random seed of the checksums of its records. */
uint64_t sw_backlog_salt(const struct sw_backlog *backlog);

/* Returns true if writes must be added. */
bool sw_backlog_is_on(const struct sw_backlog *backlog);
/* Turns the backlog on, unless it is on. Loops then add every write that a table numbers after this
 * call. `table`: the only one, unless a sequencer was set. */
void sw_backlog_enable(struct sw_backlog *backlog, struct sw_table *table);
/* Turns the backlog off and drops its records, unless it has a reader. */
void sw_backlog_disable(struct sw_backlog *backlog);
/* Drops all records and turns the backlog on. The next write is `sequence` + 1. */
void sw_backlog_restart(struct sw_backlog *backlog, uint64_t sequence);

/* Adds a write. Copies its columns; the caller keeps what it owns. If memory is short, skips the
 * write. */
void sw_backlog_add(struct sw_backlog *backlog, const struct sw_wal_write *write);
/* Skips a write whose effect is unknown, and drops all records up to it. */
void sw_backlog_skip(struct sw_backlog *backlog, uint64_t sequence);

/* Takes references to the records after `sequence`, in order: at most `max` records and about
 * `bytes_max` bytes. The caller releases them with sw_backlog_release. Returns their number; 0: the
 * next write does not exist yet; -1: its record was dropped. */
int sw_backlog_take(struct sw_backlog *backlog, uint64_t sequence,
                    struct sw_backlog_record **records, int max, size_t bytes_max);
void sw_backlog_release(struct sw_backlog_record **records, int count);

/* A waiting reader. The backlog writes to its eventfd `fd` once per sw_backlog_ask, when more
 * records arrive. */
struct sw_backlog_reader {
    struct sw_backlog_reader *next;
    int fd;
    bool asks; /* under the lock of the backlog */
};
void sw_backlog_join(struct sw_backlog *backlog, struct sw_backlog_reader *reader);
void sw_backlog_leave(struct sw_backlog *backlog, struct sw_backlog_reader *reader);
/* Returns true if all writes up to this one were added or skipped. Returns false while a loop has
 * applied one of them but not added it yet. */
bool sw_backlog_has(struct sw_backlog *backlog, uint64_t sequence);
/* Requests a wake-up of the reader when a record after `sequence` arrives. Returns false if the
 * reader need not wait: the backlog has that record, or has dropped it. */
bool sw_backlog_ask(struct sw_backlog *backlog, struct sw_backlog_reader *reader,
                    uint64_t sequence);

struct sw_backlog_stats {
    bool is_on;
    uint64_t first; /* the oldest stored write; 0: the backlog is empty */
    uint64_t last;  /* the newest write; all writes from `first` to it are stored */
    uint64_t bytes;
    uint64_t bytes_max;
};
void sw_backlog_stats(struct sw_backlog *backlog, struct sw_backlog_stats *stats);

#endif
