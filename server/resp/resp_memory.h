/* SPDX-License-Identifier: MIT
 *
 * resp_memory.h - the memory of the RESP batches of a table on one loop: three batches, with about
 * 150 bytes for each of round_ops_max operations. A table has it while connections use it.
 *
 * Threads: the loop's.
 */
#ifndef SHERWOOD_SERVER_RESP_RESP_MEMORY_H
#define SHERWOOD_SERVER_RESP_RESP_MEMORY_H

struct sw_resp;

#define SW_NO_PLACE_MEMORY "OOM there is no memory for commands on this table: try again later"

/* Allocates the memory, unless it is there. The first seat keeps its memory. Call it before a
 * connection or a command of another table uses the struct. Returns 0, or -1. */
int sw_resp_open(struct sw_resp *resp);
/* Frees it. No batch is in flight or has operations. */
void sw_resp_close(struct sw_resp *resp);
/* Frees it when no connection has used the table for SW_RESP_IDLE_MS. Call it every SW_SWEEP_MS. */
void sw_resp_sweep(struct sw_resp *resp);

#endif
