/* SPDX-License-Identifier: MIT
 *
 * resp_memory.h - the memory of a loop's RESP batches, which it lends to its tables.
 *
 * A batch borrows memory when its first command comes, and has it until the batch is done. Then
 * another table may borrow it, but until one does, the batch keeps it: a loop whose commands use
 * one table lends once. There is memory for at most resp-batches-max batches, of at most
 * resp-batch-bytes. While all of it is in use, connections of other tables wait, and the one that
 * has waited longest goes first. A borrower waits for no more memory, so the memory comes back.
 *
 * A table that grows has its memory until it has grown. So the batches of held tables count towards
 * resp-batch-bytes alone, and no command begins a second batch of such a table.
 *
 * Memory of a batch has about 80 bytes and twice the size of a value for each of round-ops-max
 * operations. A table with wider values replaces idle memory by larger memory, and frees other idle
 * memory if it passes the limit otherwise.
 *
 * Threads: the loop's.
 */
#ifndef SHERWOOD_SERVER_RESP_RESP_MEMORY_H
#define SHERWOOD_SERVER_RESP_RESP_MEMORY_H

#include <stdbool.h>

#include "server/resp/resp.h"

struct sw_resp_memory {
    struct sw_table *table; /* the loop's first, which allocates I/O memory for all; borrowed */
    struct sw_loop_counters *counters;
    uint32_t pending_max; /* pending replies of a batch */
    uint32_t most;        /* resp-batches-max; batches of held tables come on top */
    uint64_t bytes_max;   /* resp-batch-bytes */
    bool is_derived;      /* that is its default, which a wide table may raise */
    uint64_t bytes;       /* of I/O memory and pending replies */
    uint32_t count, room; /* length and size of `all` */
    uint32_t kept;        /* never freed: those of the first table's batches */
    bool is_exhausted;    /* no batch has ended or been held since all memory was found in use */
    size_t kept_bytes;    /* I/O memory of each, once larger tables no longer use them */
    struct sw_replies_memory **all;
};

/* Creates the memory of a loop, and lends it to the batches of its first table. Returns NULL if
 * there is no memory. */
struct sw_resp_memory *sw_resp_memory_create(struct sw_resp *first);
/* Frees the memory, which nothing borrows. NULL: does nothing. */
void sw_resp_memory_destroy(struct sw_resp_memory *memory);

/* Would the next batch only wait behind the one in flight, until the table has grown, with memory
 * that other tables need? */
static inline bool sw_resp_only_waits(const struct sw_resp *resp)
{
    return resp->running != NULL && resp->filling->pendings == 0 &&
           sw_table_holds(resp->batches->table, true);
}

/* Does a connection that waits for memory, or for a batch, still wait? Its table has no memory, and
 * all is in use; or its table still grows. */
static inline bool sw_resp_must_wait(const struct sw_resp_conn *state)
{
    const struct sw_resp *resp = state->resp;
    const bool waits = state->conn->stall == SW_STALL_BATCH_MEMORY
                           ? resp->filling->memory == NULL && resp->memory->is_exhausted
                           : state->waits_for_growth && sw_resp_only_waits(resp);
    return waits && state->view_number == state->conn->net->tables.number;
}

/* Lends memory to the replies, which have none. Returns false if all is in use, or is promised to
 * connections that have waited for it longer than this one, or if it cannot be allocated. */
bool sw_resp_lend(const struct sw_conn *conn, struct sw_replies *replies);
/* Have the replies memory now? If not, the connection has stalled, or was closed because memory
 * cannot be allocated. */
bool sw_resp_has_memory(struct sw_conn *conn, struct sw_replies *replies);
/* The same, and has the batch that the connection's table fills room for these operations? */
bool sw_resp_find_room(struct sw_conn *conn, uint32_t operations);
static inline bool sw_resp_has_room(struct sw_conn *conn, uint32_t operations)
{
    return sw_replies_has_room(sw_resp_of(conn)->resp->filling, operations) ||
           sw_resp_find_room(conn, operations);
}

/* Allocates memory in which commands on the table of `resp` fit, unless there is some. Takes no
 * memory from `keeps`. Returns 0, or -1 if there is no memory. */
int sw_resp_reserve(struct sw_resp *resp, const struct sw_replies *keeps);
#define SW_NO_PLACE_MEMORY "OOM there is no memory for commands on this table: try again later"

/* Takes the memory of a table's batches back. They are empty. */
void sw_resp_give_back(struct sw_resp *resp);

/* Frees unused memory above resp-batches-max. */
void sw_resp_memory_trim(struct sw_resp_memory *memory);
/* A batch has ended. */
static inline void sw_resp_memory_returned(struct sw_resp_memory *memory)
{
    memory->is_exhausted = false;
    if (memory->count > memory->most) {
        sw_resp_memory_trim(memory);
    }
}
/* Frees what no batch has used for SW_RESP_IDLE_MS, but keeps what the first table needs. Call it
 * every SW_SWEEP_MS. Returns whether to try connections again that wait for memory: a table may be
 * held since they stalled. */
bool sw_resp_memory_sweep(struct sw_resp_memory *memory, uint64_t now_ms);

/* Asserts the invariants that hold between two events. */
void sw_resp_memory_check(const struct sw_resp_memory *memory);

#endif
