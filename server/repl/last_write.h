/* SPDX-License-Identifier: MIT
 *
 * last_write.h - the last write of a connection, for WAIT. On the connection's loop.
 */
#ifndef SHERWOOD_SERVER_REPL_LAST_WRITE_H
#define SHERWOOD_SERVER_REPL_LAST_WRITE_H

#include <stdint.h>

struct sw_repl;

struct sw_last_write {
    uint64_t sequence; /* 0: none */
    uint64_t fence;    /* of replication then: later ones may have undone it */
};

/* Notes a write that is about to be answered; 0: there was none. No replication: NULL. */
void sw_last_write_note(struct sw_last_write *last, const struct sw_repl *repl, uint64_t sequence);

/* The write that replicas are asked for; 0: none; UINT64_MAX: one that none of them is known to
 * have, since this server has followed another one after it, and its number may be another's. */
uint64_t sw_last_write_of(const struct sw_last_write *last, const struct sw_repl *repl);

#endif
