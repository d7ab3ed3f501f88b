/* SPDX-License-Identifier: MIT
 *
 * last_write.h - the last write of a connection, for WAIT and WAITAOF.
 *
 * Threads: the connection's loop.
 */
#ifndef SHERWOOD_SERVER_REPL_LAST_WRITE_H
#define SHERWOOD_SERVER_REPL_LAST_WRITE_H

#include <stdint.h>

struct sw_repl;

struct sw_last_write {
    uint64_t sequence;  /* 0: none */
    uint64_t demotions; /* the server's count at that time; later demotions may have undone it */
};

/* Notes a write before its reply; 0: the request wrote nothing. `repl`: NULL without replication.
 */
void sw_last_write_note(struct sw_last_write *last, const struct sw_repl *repl, uint64_t sequence);

/* Returns the write that WAIT and WAITAOF wait for; 0: no write. Returns UINT64_MAX if the server
 * has been a replica since: the number may now belong to another write, so no replica and no log is
 * known to have it. A caller first reads the progress of replicas or the log, then calls this. */
uint64_t sw_last_write_of(const struct sw_last_write *last, const struct sw_repl *repl);

#endif
