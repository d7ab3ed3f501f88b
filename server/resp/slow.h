/* SPDX-License-Identifier: MIT
 *
 * slow.h - the times of RESP commands, for SLOWLOG and LATENCY.
 *
 * Commands of a batch are timed together: from the arrival of the batch's first command to the
 * moment in which its replies are written. So a batch costs two readings of the clock and a few
 * comparisons, and a command nothing. The wait of a reply for the write-ahead log does not count.
 * Everything is called on the loop's thread.
 */
#ifndef SHERWOOD_SERVER_RESP_SLOW_H
#define SHERWOOD_SERVER_RESP_SLOW_H

#include "server/resp/resp.h"

/* Commands of a slow batch that go to the slow log: the first ones. */
#define SW_SLOW_OF_A_BATCH 16U

/* A batch whose replies are written. */
struct sw_slow_batch {
    uint64_t us;
    bool tracks;                         /* for the histograms of LATENCY */
    uint64_t commands[SW_COMMAND_COUNT]; /* the loop's counters before the replies */
};

/* The time, or 0 where nothing is timed. */
uint64_t sw_slow_begin(const struct sw_resp *resp);

/* To be called before and after the replies of a batch are written. */
void sw_slow_batch_done(const struct sw_replies *replies, struct sw_slow_batch *batch);
void sw_slow_batch_written(const struct sw_replies *replies, const struct sw_slow_batch *batch);

/* Notes a finished command of kind REPORT or SESSION. Leaves out secrets. */
void sw_slow_admin(const struct sw_conn *conn, const struct sw_resp_command *arguments,
                   uint64_t began_ns);
/* Notes a command of kind CONTROL that has its reply. */
void sw_slow_control(const struct sw_conn *conn, const struct sw_command *command, uint64_t us);

#endif
