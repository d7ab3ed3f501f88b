/* SPDX-License-Identifier: MIT
 *
 * loop.h - one I/O thread: a libuv loop, its connections, its queue into the table.
 *
 * One turn: libuv reads sockets; RESP commands gather in a round, bulk frames are submitted as they
 * are, but for small writes, which gather too (gather.h); what gathered is submitted, rounds that
 * write together with those of other loops (commit.h); finished batches are
 * answered, RESP first; stalled connections are tried again; bulk answers are sent. With work in
 * flight the loop polls; without, it sleeps in epoll. All fields belong to the loop's thread unless
 * said otherwise.
 */
#ifndef SHERWOOD_SERVER_LOOP_H
#define SHERWOOD_SERVER_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "server/batch/commit.h"
#include "server/batch/flight.h"
#include "server/batch/io_arena.h"
#include "server/batch/round.h"
#include "server/bulk/gather.h"
#include "server/config/config.h"
#include "server/limits.h"
#include "server/net/conn.h"
#include "server/observe/counters.h"
#include "server/observe/watch.h"
#include "server/resp/data.h"
#include "server/resp/session.h"
#include "table/table.h"

/* Sockets handed over by the listener. */
struct sw_inbox {
    pthread_mutex_t lock;
    struct sw_inbox_item {
        int fd;
        bool is_unix;
    } * items;
    size_t count;
    size_t capacity;
};

/* What never changes of the table. The rest of sw_table_info moves when it grows: ask when needed.
 */
struct sw_table_shape {
    enum sw_engine engine;
    const char *engine_name;
    enum sw_value_format value_format;
    uint32_t operations; /* as in sw_table_info */
    uint32_t batch_kinds;
    uint32_t slot_bits;
    uint32_t key_bytes;
    uint32_t value_bytes;
    uint32_t blob_bytes_max; /* of a value as clients see it; 0 where it is an integer */
    uint32_t entry_bytes;    /* what a key takes */
    uint32_t batch_ops_max;
    uint32_t scan_ops_max; /* entries of a scan, keys and values of which fit half the arena */
    uint64_t max_capacity_slots;
};

/* Operations of a batch that is copied together: at most `most`, and what SW_TOGETHER_BYTES_MAX and
 * the table allow. */
static inline uint32_t sw_together_max(const struct sw_table_shape *shape, uint32_t most)
{
    uint32_t fit = SW_TOGETHER_BYTES_MAX / (shape->key_bytes + 2 * shape->value_bytes);
    most = most < shape->batch_ops_max ? most : shape->batch_ops_max;
    return most < fit ? most : fit;
}

/* What a loop needs of the server around it. */
struct sw_loop_owner {
    void *server;
    void (*snapshot)(void *server, struct sw_snapshot *snapshot);
    void (*stop)(void *server);        /* begin the shutdown */
    void (*device_lost)(void *server); /* and exit with a failure */
    struct sw_commit *commit;          /* NULL: rounds that write go each by itself */
};

struct sw_loop {
    uv_loop_t uv;
    uv_async_t wake;
    uv_timer_t sweep;
    uv_thread_t thread;
    struct sw_loop_owner owner;
    const struct sw_config *config;
    struct sw_table *table;
    struct sw_table_shape shape;
    struct sw_command_set lacking; /* commands the engine does not have */
    sw_data_run *run_data;
    uint64_t frame_operations; /* bulk operations it has: bit 1 << enum sw_operation */

    /* RESP rounds have a queue of their own: batches of a queue are done one after the other, and a
     * round must not wait for large frames that came before it. */
    struct sw_queue *queue, *round_queue;
    struct sw_flights flights, round_flights;
    struct sw_io_arena arena;
    struct sw_gather gather;
    struct sw_commit_batch commit_batch;
    struct sw_round rounds[2];
    struct sw_round *gathering;
    struct sw_round *running; /* NULL: none in flight */
    struct sw_frame *spare_frames;
    uint32_t spare_count; /* of them, and the fewest .. */
    uint32_t spare_least; /* .. since sw_bulk_sweep looked */

    struct sw_conn *conns;
    uint64_t next_session_id; /* loops number theirs in turn, so ids are unique */
    uint64_t session_id_step;
    uint64_t random_state;
    struct sw_conn *stalled_first, *stalled_last;
    struct sw_conn *ready_first, *ready_last; /* with bulk answers to send */
    uint64_t turn_bytes;   /* what a connection may receive and send in this turn */
    unsigned bulk_active;  /* bulk connections that were read in this turn */
    uint64_t active_bytes; /* received and sent when .. */
    uint64_t active_at_ns; /* .. that last changed: for busy-poll-us */
    uint64_t round_at_ms;  /* last time a round was submitted */
    unsigned arena_waiters;
    bool retry;        /* something a stalled connection may wait for has changed */
    bool arena_closed; /* during a retry: an earlier connection still waits for memory */

    /* Shared by all connections of the loop, one at a time. */
    uint8_t *read_buffer; /* SW_READ_BYTES */
    char *scratch;        /* SW_SCRATCH_BYTES */
    struct sw_resp_argument *arguments;
    uint8_t *unquoted;
    struct sw_resp_limits resp_limits;
    struct sw_admin admin;

    struct sw_inbox inbox; /* any thread, under its lock */
    bool stop_asked;       /* any thread, atomic */
    bool stopping;
    bool initialised;
    struct sw_watch *watch; /* looked at every sweep; NULL on every loop but one. Borrowed */
    uint64_t stop_since_ms;

    /* Written here, read by any thread, relaxed. */
    struct sw_loop_counters counters;
    uint64_t connections;
    uint64_t stalled;
    uint64_t turns;

    uint64_t turns_seen; /* the watchdog's: turns when it last looked */
};

/* Allocates everything and does not start the thread. Returns 0, or -1 with a sentence logged; then
 * nothing is left. */
int sw_loop_init(struct sw_loop *loop, const struct sw_config *config, struct sw_table *table,
                 const struct sw_loop_owner *owner, uint32_t index, uint32_t loops);
int sw_loop_start(struct sw_loop *loop);
/* Asks the loop to close its connections and end. Any thread. */
void sw_loop_stop(struct sw_loop *loop);
/* Waits for the thread. */
void sw_loop_join(struct sw_loop *loop);
void sw_loop_fini(struct sw_loop *loop);

/* Hands over a connected socket. Any thread. Returns 0, or -1 (memory): then the caller keeps it.
 */
int sw_loop_hand_over(struct sw_loop *loop, int fd, bool is_unix);

/* Milliseconds of a monotonic clock, as of this turn. */
static inline uint64_t sw_loop_now_ms(const struct sw_loop *loop)
{
    return uv_now(&loop->uv);
}

/* A number nobody should be able to guess is not needed here: splitmix64 (Sebastiano Vigna). */
static inline uint64_t sw_loop_random(struct sw_loop *loop)
{
    uint64_t z = loop->random_state += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

/* Must the connection leave arena memory to others, which have waited for some longer? */
static inline bool sw_loop_memory_is_others(const struct sw_loop *loop, const struct sw_conn *conn)
{
    return loop->arena_closed || (loop->arena_waiters > 0 && !conn->retried);
}

/* List of stalled connections. */
void sw_loop_stalled_push(struct sw_loop *loop, struct sw_conn *conn);
void sw_loop_stalled_remove(struct sw_loop *loop, struct sw_conn *conn);

#endif
