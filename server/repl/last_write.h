/* SPDX-License-Identifier: MIT
 *
 * last_write.h - the last write of a connection, for WAIT and WAITAOF. On the connection's loop.
 */
#ifndef SHERWOOD_SERVER_REPL_LAST_WRITE_H
#define SHERWOOD_SERVER_REPL_LAST_WRITE_H

#include <stdint.h>

struct sw_repl;

struct sw_last_write {
    uint64_t sequence;  /* 0: none */
    uint64_t demotions; /* of the server by then: later ones may have undone it */
};

/* Notes a write that is about to be answered; 0: there was none. No replication: NULL. */
void sw_last_write_note(struct sw_last_write *last, const struct sw_repl *repl, uint64_t sequence);

/* The write that replicas, or the log, are asked about; 0: none; UINT64_MAX: one that none of them
 * is known to have. The server has been a replica since, so its number may be another write's. A
 * caller reads how far they are first, and calls this afterwards. */
uint64_t sw_last_write_of(const struct sw_last_write *last, const struct sw_repl *repl);

#endif
