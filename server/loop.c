/* SPDX-License-Identifier: MIT
 *
 * loop.c - one I/O thread, turn by turn.
 */
#include "server/loop.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/bulk/bulk.h"
#include "server/limits.h"
#include "server/net/output.h"
#include "server/observe/log.h"

/* --- stalled connections ---------------------------------------------------------------------- */

static void count_stalled(struct sw_loop *loop, const struct sw_conn *conn, int change)
{
    __atomic_store_n(&loop->stalled, loop->stalled + (uint64_t)(int64_t)change, __ATOMIC_RELAXED);
    if (conn->stall == SW_STALL_ARENA) {
        loop->arena_waiters += (unsigned)change;
    }
}

void sw_loop_stalled_push(struct sw_loop *loop, struct sw_conn *conn)
{
    conn->stalled_next = NULL;
    conn->stalled_previous = loop->stalled_last;
    if (loop->stalled_last != NULL) {
        loop->stalled_last->stalled_next = conn;
    } else {
        loop->stalled_first = conn;
    }
    loop->stalled_last = conn;
    count_stalled(loop, conn, 1);
}

void sw_loop_stalled_remove(struct sw_loop *loop, struct sw_conn *conn)
{
    if (conn->stalled_previous != NULL) {
        conn->stalled_previous->stalled_next = conn->stalled_next;
    } else {
        loop->stalled_first = conn->stalled_next;
    }
    if (conn->stalled_next != NULL) {
        conn->stalled_next->stalled_previous = conn->stalled_previous;
    } else {
        loop->stalled_last = conn->stalled_previous;
    }
    count_stalled(loop, conn, -1);
}

/* Gives every stalled connection one more try, oldest first. Once one still lacks memory, those
 * after it get none either: nobody starves behind smaller requests. */
static void retry_stalled(struct sw_loop *loop)
{
    uint64_t count = loop->stalled;
    loop->retry = false;
    for (; count > 0 && loop->stalled_first != NULL; count--) {
        struct sw_conn *conn = loop->stalled_first;
        sw_loop_stalled_remove(loop, conn);
        sw_conn_resume(conn);
        loop->arena_closed |= conn->stall == SW_STALL_ARENA;
    }
    loop->arena_closed = false;
}

/* --- turns ------------------------------------------------------------------------------------ */

static inline void rest_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Batches to poll. A round that another loop sees to is not: that loop wakes us. */
static bool has_flights(const struct sw_loop *loop)
{
    return loop->flights.count + loop->round_flights.count > 0;
}

/* Answers what is done. A loop that `waits` looks for some time. Returns true if anything was. */
static bool poll_flights(struct sw_loop *loop, bool waits)
{
    unsigned left = waits ? SW_POLLS_A_TURN : 1;
    bool done = false;
    while (has_flights(loop) && !done && left-- > 0) {
        done = sw_flights_poll(&loop->round_flights) > 0;
        done |= sw_flights_poll(&loop->flights) > 0;
        if (!done) {
            rest_briefly();
        }
    }
    return done;
}

static void tell_if_lost(struct sw_loop *loop)
{
    if (loop->flights.device_lost || loop->round_flights.device_lost) {
        loop->flights.device_lost = loop->round_flights.device_lost = false;
        loop->owner.device_lost(loop->owner.server);
    }
}

/* What a connection may do in the next turn. */
static void share_turn(struct sw_loop *loop)
{
    uint64_t bytes = SW_TURN_BYTES / (loop->bulk_active > 0 ? loop->bulk_active : 1);
    bytes = bytes < SW_TURN_BYTES_MIN ? SW_TURN_BYTES_MIN : bytes;
    bytes = bytes > SW_TURN_BYTES_MAX ? SW_TURN_BYTES_MAX : bytes;
    bool shared =
        loop->round_at_ms != 0 && sw_loop_now_ms(loop) - loop->round_at_ms <= SW_TURN_SHARED_MS;
    loop->turn_bytes = shared ? bytes : SW_TURN_BYTES_ALONE;
    loop->bulk_active = 0;
}

/* Everything but reading sockets. Returns true if anything moved, or waits for nothing but its next
 * turn. */
static bool turn(struct sw_loop *loop)
{
    bool moved = false;
    if (loop->running == NULL && loop->gathering->pendings > 0) {
        sw_round_submit(loop->gathering);
        loop->round_at_ms = sw_loop_now_ms(loop);
        moved = true;
    }
    moved |= sw_gather_submit(loop);
    moved |= poll_flights(loop, !moved && loop->ready_first == NULL);
    moved |= loop->running != NULL && sw_round_poll_shared(loop->running);
    tell_if_lost(loop);
    if (loop->retry) {
        moved |= loop->stalled > 0;
        retry_stalled(loop);
    }
    moved |= sw_output_flush(loop);
    share_turn(loop);
    __atomic_store_n(&loop->turns, loop->turns + 1, __ATOMIC_RELAXED);
    /* what was sent may be what a stalled connection waits for */
    return moved || (loop->retry && loop->stalled > 0);
}

static bool is_finished(const struct sw_loop *loop)
{
    return loop->stopping && loop->conns == NULL && !has_flights(loop) && loop->running == NULL &&
           loop->gathering->pendings == 0 && loop->gather.first == NULL;
}

/* Has the loop received or sent anything in the last busy-poll-us? */
static bool is_awake(struct sw_loop *loop)
{
    uint64_t window_ns = loop->config->busy_poll_us * 1000ULL;
    uint64_t bytes = loop->counters.net_input_bytes + loop->counters.net_output_bytes;
    if (window_ns == 0) {
        return false;
    }
    uint64_t now_ns = uv_hrtime();
    if (bytes != loop->active_bytes) {
        loop->active_bytes = bytes;
        loop->active_at_ns = now_ns;
    }
    return now_ns - loop->active_at_ns < window_ns;
}

static void run(void *argument)
{
    struct sw_loop *loop = argument;
    bool moved = false;
    while (!is_finished(loop)) {
        bool busy = moved || has_flights(loop) || is_awake(loop);
        uv_run(&loop->uv, busy ? UV_RUN_NOWAIT : UV_RUN_ONCE);
        moved = turn(loop);
    }
    if (loop->owner.commit != NULL) {
        sw_commit_leave(loop->owner.commit);
    }
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_close((uv_handle_t *)&loop->sweep, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
}

/* --- what wakes a loop ------------------------------------------------------------------------ */

static void take_inbox(struct sw_loop *loop)
{
    struct sw_inbox *inbox = &loop->inbox;
    pthread_mutex_lock(&inbox->lock);
    struct sw_inbox_item *items = inbox->items;
    size_t count = inbox->count;
    inbox->items = NULL;
    inbox->count = inbox->capacity = 0;
    pthread_mutex_unlock(&inbox->lock);
    for (size_t i = 0; i < count; i++) {
        if (loop->stopping) {
            close(items[i].fd);
        } else {
            sw_conn_open(loop, items[i].fd, items[i].is_unix);
        }
    }
    free(items);
}

static void begin_stop(struct sw_loop *loop)
{
    loop->stopping = true;
    loop->stop_since_ms = sw_loop_now_ms(loop);
    for (struct sw_conn *conn = loop->conns, *next; conn != NULL; conn = next) {
        next = conn->next;
        sw_conn_drain(conn, true);
    }
}

static void on_wake(uv_async_t *wake)
{
    struct sw_loop *loop = wake->data;
    take_inbox(loop);
    if (__atomic_load_n(&loop->stop_asked, __ATOMIC_ACQUIRE) && !loop->stopping) {
        begin_stop(loop);
    }
}

static void on_sweep(uv_timer_t *timer)
{
    struct sw_loop *loop = timer->data;
    uint64_t now_ms = sw_loop_now_ms(loop);
    bool expired = loop->stopping && now_ms - loop->stop_since_ms > SW_STOP_MS;
    if (loop->watch != NULL) {
        sw_watch_look(loop->watch, now_ms);
    }
    for (struct sw_conn *conn = loop->conns, *next; conn != NULL; conn = next) {
        next = conn->next;
        if (expired) {
            sw_conn_abort(conn);
        } else {
            sw_conn_sweep(conn, now_ms);
        }
    }
    sw_bulk_sweep(loop);
}

int sw_loop_hand_over(struct sw_loop *loop, int fd, bool is_unix)
{
    struct sw_inbox *inbox = &loop->inbox;
    int result = -1;
    pthread_mutex_lock(&inbox->lock);
    if (inbox->count == inbox->capacity) {
        size_t capacity = inbox->capacity > 0 ? inbox->capacity * 2 : SW_ACCEPT_BURST;
        struct sw_inbox_item *grown = realloc(inbox->items, capacity * sizeof(*grown));
        if (grown != NULL) {
            inbox->items = grown;
            inbox->capacity = capacity;
        }
    }
    if (inbox->count < inbox->capacity) {
        inbox->items[inbox->count++] = (struct sw_inbox_item){.fd = fd, .is_unix = is_unix};
        result = 0;
    }
    pthread_mutex_unlock(&inbox->lock);
    uv_async_send(&loop->wake);
    return result;
}

/* --- life ------------------------------------------------------------------------------------- */

static int init_table_side(struct sw_loop *loop)
{
    if (sw_queue_create(loop->table, &loop->queue) != SW_OK ||
        sw_queue_create(loop->table, &loop->round_queue) != SW_OK) {
        return -1;
    }
    sw_flights_init(&loop->flights, loop->queue, &loop->counters);
    sw_flights_init(&loop->round_flights, loop->round_queue, &loop->counters);
    if (sw_io_arena_init(&loop->arena, loop->table, loop->config->arena_bytes) != 0 ||
        sw_gather_init(loop) != 0 || sw_commit_batch_init(loop) != 0) {
        return -1;
    }
    for (int i = 0; i < 2; i++) {
        if (sw_round_init(&loop->rounds[i], loop) != 0) {
            return -1;
        }
    }
    loop->gathering = &loop->rounds[0];
    return 0;
}

static int init_buffers(struct sw_loop *loop)
{
    const struct sw_config *config = loop->config;
    loop->resp_limits = (struct sw_resp_limits){
        .arguments_max = config->resp_arguments_max,
        .argument_bytes_max = (uint32_t)config->resp_request_bytes_max,
        .inline_bytes_max = SW_RESP_INLINE_BYTES_MAX,
        .request_bytes_max = (uint32_t)config->resp_request_bytes_max,
    };
    loop->read_buffer = malloc(SW_READ_BYTES);
    loop->scratch = malloc(SW_SCRATCH_BYTES);
    loop->unquoted = malloc(SW_RESP_INLINE_BYTES_MAX);
    loop->arguments = calloc(config->resp_arguments_max, sizeof(*loop->arguments));
    return loop->read_buffer == NULL || loop->scratch == NULL || loop->unquoted == NULL ||
                   loop->arguments == NULL
               ? -1
               : 0;
}

static int init_uv(struct sw_loop *loop)
{
    if (uv_loop_init(&loop->uv) != 0) {
        return -1;
    }
    if (uv_async_init(&loop->uv, &loop->wake, on_wake) != 0) {
        uv_loop_close(&loop->uv);
        return -1;
    }
    loop->initialised = true;
    uv_timer_init(&loop->uv, &loop->sweep);
    loop->wake.data = loop;
    loop->sweep.data = loop;
    uv_timer_start(&loop->sweep, on_sweep, SW_SWEEP_MS, SW_SWEEP_MS);
    return 0;
}

static struct sw_table_shape shape_of(const struct sw_table *table, const struct sw_config *config)
{
    struct sw_table_info info;
    sw_table_info(table, &info);
    struct sw_table_shape shape = {
        .engine = info.engine,
        .engine_name = info.engine_name,
        .value_format = sw_config_value_format(config),
        .operations = info.operations,
        .batch_kinds = info.batch_kinds,
        .slot_bits = info.slot_bits,
        .key_bytes = info.key_bytes,
        .value_bytes = info.value_bytes,
        .entry_bytes = info.slot_bits / 8,
        .batch_ops_max = info.batch_ops_max,
        .max_capacity_slots = info.max_capacity_slots,
    };
    uint64_t scan = config->arena_bytes / 2 / (info.key_bytes + info.value_bytes);
    shape.scan_ops_max = scan < info.batch_ops_max ? (uint32_t)scan : info.batch_ops_max;
    if (shape.value_format != SW_VALUE_INTEGER) {
        shape.entry_bytes = SW_CACHE_SLOT_BYTES + info.value_bytes;
        shape.blob_bytes_max =
            info.value_bytes - (shape.value_format == SW_VALUE_STRING ? SW_VALUE_LENGTH_BYTES : 0);
    }
    return shape;
}

int sw_loop_init(struct sw_loop *loop, const struct sw_config *config, struct sw_table *table,
                 const struct sw_loop_owner *owner, uint32_t index, uint32_t loops)
{
    memset(loop, 0, sizeof(*loop));
    pthread_mutex_init(&loop->inbox.lock, NULL);
    loop->owner = *owner;
    loop->config = config;
    loop->table = table;
    loop->turn_bytes = SW_TURN_BYTES_ALONE;
    loop->next_session_id = index + 1;
    loop->session_id_step = loops;
    loop->random_state = uv_hrtime() + index;
    loop->shape = shape_of(table, config);
    sw_commands_lacking(loop->shape.operations, loop->shape.batch_kinds, &loop->lacking);
    loop->frame_operations = sw_bulk_operations(&loop->shape);
    loop->run_data =
        loop->shape.value_format == SW_VALUE_INTEGER ? sw_data_run_integers : sw_data_run_blobs;
    loop->admin = (struct sw_admin){.config = config,
                                    .snapshot = owner->snapshot,
                                    .server = owner->server,
                                    .lacking = loop->lacking,
                                    .engine = loop->shape.engine_name};
    if (init_table_side(loop) != 0 || init_buffers(loop) != 0 || init_uv(loop) != 0) {
        sw_log(SW_LOG_ERROR,
               "no memory for an I/O loop: lower loops, arena-bytes or round-ops-max");
        sw_loop_fini(loop);
        return -1;
    }
    return 0;
}

int sw_loop_start(struct sw_loop *loop)
{
    return uv_thread_create(&loop->thread, run, loop);
}

void sw_loop_stop(struct sw_loop *loop)
{
    __atomic_store_n(&loop->stop_asked, true, __ATOMIC_RELEASE);
    uv_async_send(&loop->wake);
}

void sw_loop_join(struct sw_loop *loop)
{
    uv_thread_join(&loop->thread);
    loop->initialised = false;
    int error = uv_loop_close(&loop->uv);
    if (error != 0) {
        sw_log(SW_LOG_ERROR, "an I/O loop ended with handles open: %s", uv_strerror(error));
    }
}

void sw_loop_fini(struct sw_loop *loop)
{
    if (loop->initialised) { /* never started */
        uv_close((uv_handle_t *)&loop->wake, NULL);
        uv_close((uv_handle_t *)&loop->sweep, NULL);
        uv_run(&loop->uv, UV_RUN_DEFAULT);
        uv_loop_close(&loop->uv);
    }
    for (size_t i = 0; i < loop->inbox.count; i++) {
        close(loop->inbox.items[i].fd);
    }
    free(loop->inbox.items);
    pthread_mutex_destroy(&loop->inbox.lock);
    sw_bulk_fini(loop);
    for (int i = 0; i < 2; i++) {
        if (loop->rounds[i].loop != NULL) {
            sw_round_fini(&loop->rounds[i]);
        }
    }
    if (loop->arena.memory != NULL) {
        sw_io_arena_fini(&loop->arena);
    }
    sw_gather_fini(loop);
    sw_commit_batch_fini(loop);
    sw_queue_destroy(loop->queue);
    sw_queue_destroy(loop->round_queue);
    free(loop->read_buffer);
    free(loop->scratch);
    free(loop->unquoted);
    free(loop->arguments);
    memset(loop, 0, sizeof(*loop));
}
