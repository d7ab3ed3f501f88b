/* SPDX-License-Identifier: MIT
 *
 * loop.c - one I/O thread, iteration by iteration.
 */
#include "server/loop.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/bulk/output.h"
#include "server/bulk/region_copies.h"
#include "server/bulk/ring_frames.h"
#include "server/bulk/waits.h"
#include "server/config/live.h"
#include "server/limits.h"
#include "server/observe/log.h"
#include "server/resp/monitor.h"
#include "server/resp/resp_memory.h"
#include "server/resp/rmw.h"

/* --- iterations ------------------------------------------------------------------------------- */

static uint64_t now_ms(const struct sw_loop *loop)
{
    return uv_now(&loop->uv);
}

/* Asserts the invariants that hold between two iterations. Only builds with a sanitizer do so. */
static void check(const struct sw_loop *loop)
{
#ifdef SHERWOOD_CHECKS
    sw_seats_check(&loop->seats, &loop->sweeps, loop->net.tables.number);
    sw_io_arena_check(&loop->first.batches.arena);
    sw_net_check(&loop->net);
    sw_bulk_check(&loop->bulk);
#else
    (void)loop;
#endif
}

static void report_lost_device(struct sw_loop *loop)
{
    if (sw_seats_lost_device(&loop->active)) {
        loop->owner.device_lost(loop->owner.server);
    }
}

/* Moves deadlines by the time in which the loop read no socket: a table in host memory grows inside
 * a submit, and that may take minutes. Such a time shows as a sweep that comes late. */
static void move_deadlines(struct sw_loop *loop)
{
    uint64_t due_ms = loop->swept_at_ms + SW_SWEEP_MS;
    if (now_ms(loop) > due_ms) {
        sw_timings_event(loop->owner.timings, SW_LATENCY_LOOP, (now_ms(loop) - due_ms) * 1000);
    }
    if (now_ms(loop) > due_ms + SW_LONG_ITERATION_MS) {
        sw_net_move_deadlines(&loop->net, now_ms(loop) - due_ms);
    }
    loop->swept_at_ms = now_ms(loop);
}

/* Closes connections whose deadlines have passed. It runs after the sockets have been read, because
 * bytes that arrived while the loop was busy are not late. */
static void sweep(struct sw_loop *loop)
{
    const uint64_t stopping_ms = loop->stopping ? now_ms(loop) - loop->stop_since_ms : 0;
    const bool expired = stopping_ms > SW_STOP_MS;
    loop->sweep_due = false;
    move_deadlines(loop);
    if (loop->watch != NULL) {
        sw_watch_check(loop->watch, now_ms(loop));
    }
    if (stopping_ms > SW_STOP_LOG_MS && sw_seats_are_held(&loop->active)) {
        sw_wal_abandon(loop->owner.wal); /* or the loop would never end */
    }
    sw_net_sweep(&loop->net, expired);
    sw_bulk_pool_sweep(&loop->bulk.pool);
    loop->net.retry |= sw_resp_memory_sweep(loop->first.resp.memory, now_ms(loop));
    sw_seats_sweep(&loop->seats, &loop->sweeps, loop->net.tables.number);
}

/* Disconnects the clients of a primary whose lease has ended: it is no longer primary, and the next
 * primary may undo the writes that they wait for. */
static void check_lease(void *context)
{
    struct sw_loop *loop = context;
    struct sw_repl_state *state = &loop->owner.repl->state;
    if (!sw_repl_is_lost(state) && sw_repl_lease_is_over(state)) {
        sw_repl_stop_serving(state);
    }
    const uint64_t losses = sw_repl_losses(state);
    if (losses != loop->losses) {
        loop->losses = losses;
        sw_net_sweep(&loop->net, true);
    }
}

/* Has the server become a replica that waits until this loop is quiet? Then the log may get another
 * history, and held replies would wait for its numbers. So the loop first drops the held replies:
 * their connections close, or get OUTCOME_UNKNOWN. */
static bool leaves_history(const struct sw_loop *loop, uint64_t fence)
{
    return fence != loop->quiet && sw_repl_is_replica(&loop->owner.repl->state);
}

/* Reports `fence` as quiet if no request that was parsed before `fence` was read is in flight. If
 * the server leaves its history, no reply may be held either. */
static void note_quiet(struct sw_loop *loop, uint64_t fence, bool leaves)
{
    if (fence != loop->quiet && !sw_seats_have_requests(&loop->active, leaves)) {
        __atomic_store_n(&loop->quiet, fence, __ATOMIC_RELEASE);
    }
}

/* Applies a change of CLIENT PAUSE, and retries the paused connections. */
static void follow_pause(struct sw_loop *loop)
{
    sw_seats_pause(&loop->seats, loop->net.pause.mode != SW_PAUSE_NONE,
                   loop->net.pause.mode == SW_PAUSE_ALL);
    sw_net_retry_paused(&loop->net);
}

/* Settles the pause once no request that it holds back, parsed before it was seen, is in flight. */
static void note_pause(struct sw_loop *loop)
{
    struct sw_pause_handle *handle = &loop->net.pause;
    if (!sw_pause_is_settled(handle) &&
        sw_seats_have_paused(&loop->active, handle->mode == SW_PAUSE_ALL)) {
        sw_pause_settle(handle);
    }
}

/* Opens the connections that the listener has accepted, while the phase has time for one. Returns
 * true if there was one. */
static bool open_accepted(struct sw_loop *loop)
{
    struct sw_iteration *iteration = &loop->net.iteration;
    struct sw_inbox_item item;
    bool any = false;
    sw_iteration_begin_phase(iteration);
    while (loop->has_accepted && !iteration->is_spent) {
        sw_iteration_start(iteration);
        loop->has_accepted = sw_inbox_take(&loop->net.inbox, &item);
        any |= loop->has_accepted;
        if (loop->has_accepted && loop->stopping) {
            close(item.fd);
        } else if (loop->has_accepted) {
            sw_conn_open(&loop->net, item);
        }
        (void)sw_iteration_add(iteration, SW_COST_OPEN);
    }
    return any;
}

/* Begins accepted connections, handshakes and requests of rings. Returns true if there were any. */
static bool begin_requests(struct sw_loop *loop)
{
    struct sw_net *net = &loop->net;
    bool began = open_accepted(loop);
    sw_iteration_begin_phase(&net->iteration);
    began |= sw_tls_shake_hands(&net->tls, &net->iteration);
    sw_iteration_begin_phase(&net->iteration);
    began |= sw_tls_resume(&net->tls);
    began |= sw_bulk_take_rings(&loop->bulk);
    return began;
}

/* Does everything of an iteration except reading sockets. Returns true if there may be work left
 * that needs no event: then the next iteration must not sleep. */
static bool run_iteration(struct sw_loop *loop)
{
    const uint64_t fence = loop->owner.repl == NULL ? 0 : sw_repl_fence(&loop->owner.repl->state);
    const bool leaves = leaves_history(loop, fence);
    if (sw_pause_poll(&loop->net.pause, now_ms(loop))) {
        follow_pause(loop);
    }
    if (loop->owner.ha != NULL) {
        check_lease(loop);
    }
    loop->net.retry |= sw_seats_follow(&loop->seats, &loop->first, &loop->net.tables, &loop->bulk);
    bool began = begin_requests(loop);
    bool moved = sw_seats_submit(&loop->active);
    if (moved) {
        loop->net.iteration.single_at_ms = now_ms(loop);
    }
    if (loop->net.cluster.view != NULL && loop->first.resp.filling->pendings == 0 &&
        sw_cluster_is_behind(&loop->net.cluster)) {
        sw_batches_begin_generation(&loop->first.batches);
        sw_cluster_follow(&loop->net.cluster); /* between two RESP batches */
        loop->net.retry = true;                /* for connections that wait for slots */
    }
    moved |= began;
    moved |= sw_seats_poll(&loop->active, !moved && sw_list_is_empty(&loop->bulk.ready));
    report_lost_device(loop);
    if (loop->net.cluster.view != NULL && loop->first.resp.running == NULL &&
        !sw_rmw_is_of_older_view(&loop->first.resp) &&
        sw_batches_are_of_one_generation(&loop->first.batches)) {
        sw_cluster_settle(&loop->net.cluster);
    }
    moved |= sw_seats_poll_commands(&loop->active);
    moved |= sw_bulk_poll_waits(&loop->bulk);
    moved |= sw_bulk_poll_copies(&loop->bulk);
    moved |= sw_seats_follow_log(&loop->active, leaves);
    if (loop->net.stalled_count > 0 && sw_iteration_is_slow(&loop->net.iteration)) {
        /* requests of stalled connections may be long, and replies are ready */
        moved |= sw_bulk_flush(&loop->bulk);
    }
    moved |= sw_net_retry_stalled(&loop->net);
    moved |= sw_monitor_send(&loop->first.resp);
    sw_bulk_publish_rings(&loop->bulk);
    moved |= sw_bulk_flush(&loop->bulk);
    if (loop->sweep_due) {
        sweep(loop);
    }
    sw_net_end_iteration(&loop->net);
    if (leaves && loop->owner.wal != NULL) { /* without a log no client has a number */
        sw_bulk_close_writers(&loop->bulk);
    }
    note_quiet(loop, fence, leaves);
    note_pause(loop);
    check(loop);
    __atomic_store_n(&loop->iterations, loop->iterations + 1, __ATOMIC_RELAXED);
    /* Sending may have ended the condition that a stalled connection waits for. */
    return moved || (loop->net.retry && loop->net.stalled_count > 0) ||
           sw_tls_is_ready(&loop->net.tls);
}

static bool is_finished(const struct sw_loop *loop)
{
    return loop->stopping && sw_list_is_empty(&loop->net.conns) &&
           sw_list_is_empty(&loop->active) && sw_list_is_empty(&loop->bulk.waits);
}

/* Has the loop received or sent anything in the last busy-poll-us? */
static bool is_awake(struct sw_loop *loop)
{
    uint64_t window_ns = SW_LIVE(loop->config->busy_poll_us) * 1000ULL;
    uint64_t bytes = loop->counters.net_input_bytes + loop->counters.net_output_bytes +
                     loop->counters.ring_requests;
    if (window_ns == 0) {
        return false;
    }
    uint64_t now_ns = uv_hrtime();
    if (bytes != loop->activity.bytes) {
        loop->activity = (struct sw_loop_activity){bytes, now_ns};
    }
    return now_ns - loop->activity.at_ns < window_ns;
}

static void close_handles(struct sw_loop *loop)
{
    sw_pause_leave(&loop->net.pause); /* other threads no longer wake it */
    uv_mutex_lock(&loop->wake_lock);
    loop->has_ended = true;
    uv_mutex_unlock(&loop->wake_lock);
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_close((uv_handle_t *)&loop->sweep, NULL);
    uv_close((uv_handle_t *)&loop->held, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
}

static void on_held(uv_timer_t *timer)
{
    (void)timer;
}

static void run_loop(void *argument)
{
    struct sw_loop *loop = argument;
    bool moved = false;
    enum sw_polling polls = SW_POLLS_NOT;
    while (!is_finished(loop)) {
        bool busy = moved || polls == SW_POLLS_NOW || !sw_list_is_empty(&loop->bulk.copying) ||
                    is_awake(loop);
        bool sleeps = !busy && sw_bulk_rings_may_sleep(&loop->bulk);
        if (sleeps && polls == SW_POLLS_SOON) {
            uv_timer_start(&loop->held, on_held, SW_HELD_POLL_MS, 0);
        }
        sw_iteration_begin_phase(&loop->net.iteration);
        uv_run(&loop->uv, sleeps ? UV_RUN_ONCE : UV_RUN_NOWAIT);
        if (!busy) {
            sw_bulk_rings_are_awake(&loop->bulk);
        }
        moved = run_iteration(loop);
        polls = sw_seats_settle(&loop->active);
    }
    sw_cluster_leave(&loop->net.cluster);
    sw_tables_leave(&loop->net.tables);
    close_handles(loop);
}

/* --- what wakes a loop ------------------------------------------------------------------------ */

static void on_wake(uv_async_t *wake)
{
    struct sw_loop *loop = wake->data;
    loop->has_accepted = true;
    sw_net_kill(&loop->net);
    loop->net.retry |= loop->owner.wal != NULL; /* connections may wait for room in the log */
    if (__atomic_load_n(&loop->stop_asked, __ATOMIC_ACQUIRE) && !loop->stopping) {
        loop->stopping = true;
        loop->stop_since_ms = now_ms(loop);
        sw_net_drain(&loop->net);
    }
}

static void on_sweep(uv_timer_t *timer)
{
    struct sw_loop *loop = timer->data;
    loop->sweep_due = true;
}

/* --- life ------------------------------------------------------------------------------------- */

static int init_uv(struct sw_loop *loop)
{
    int error = uv_mutex_init(&loop->wake_lock);
    if (error != 0) {
        return error;
    }
    error = uv_loop_init(&loop->uv);
    if (error != 0) {
        uv_mutex_destroy(&loop->wake_lock);
        return error;
    }
    error = uv_async_init(&loop->uv, &loop->wake, on_wake);
    if (error != 0) {
        uv_loop_close(&loop->uv);
        uv_mutex_destroy(&loop->wake_lock);
        return error;
    }
    loop->has_lock = true;
    loop->initialised = true;
    uv_timer_init(&loop->uv, &loop->sweep);
    uv_timer_init(&loop->uv, &loop->held);
    loop->wake.data = loop;
    loop->sweep.data = loop;
    loop->swept_at_ms = now_ms(loop);
    uv_timer_start(&loop->sweep, on_sweep, SW_SWEEP_MS, SW_SWEEP_MS);
    return 0;
}

static int init_net(struct sw_loop *loop, uint32_t index, uint32_t loops)
{
    struct sw_net *net = &loop->net;
    if (sw_net_init(net, &loop->uv, loop->config, &loop->counters, loop->owner.input_budget) != 0) {
        return -1;
    }
    if (sw_net_set_tls(net, loop->owner.tls_credentials) != 0) {
        return -1;
    }
    if (loop->owner.users != NULL) {
        sw_net_set_users(net, loop->owner.users, loop->owner.unix_users);
    }
    if (loop->owner.cluster != NULL) {
        sw_cluster_join(loop->owner.cluster, &net->cluster);
    }
    net->inbox.wake = &loop->wake;
    net->clients = loop->owner.clients;
    if (net->clients != NULL) {
        sw_pause_join(&net->clients->pause, &net->pause, &loop->wake);
    }
    net->next_id = index + 1;
    net->id_step = loops;
    sw_net_add_protocol(net, 0, &sw_bulk_protocol, &loop->bulk);
    sw_net_add_protocol(net, 1, &sw_resp_protocol, &loop->first.resp);
    return 0;
}

static struct sw_seat_parts parts_of(struct sw_loop *loop, struct sw_table *table,
                                     const struct sw_config *config, struct sw_gate *gate,
                                     struct sw_account *account)
{
    const struct sw_loop_owner *owner = &loop->owner;
    return (struct sw_seat_parts){
        .net = &loop->net,
        .active = &loop->active,
        .table = table,
        .config = config,
        .counters = &loop->counters,
        .owner = {owner->server, owner->snapshot, owner->stop, owner->saver, owner->repl, owner->ha,
                  owner->registry, owner->mover, owner->live, owner->timings, owner->tables},
        .wal = owner->wal,
        .gate = gate,
        .account = account,
        .check_lease = owner->ha != NULL ? check_lease : NULL,
        .may = loop->index == 0 ? sw_loop_sweeping : NULL,
        .context = loop,
        .seed = uv_hrtime() + loop->index,
        .thread = loop->index + 1,
    };
}

int sw_loop_open_seat(struct sw_loop *loop, struct sw_seat *seat, const struct sw_served *served)
{
    const struct sw_seat_parts parts =
        parts_of(loop, served->table, served->config, served->gate, served->account);
    return sw_seat_init(seat, &parts, &loop->first);
}

static int init_parts(struct sw_loop *loop, struct sw_table *table, uint32_t loops)
{
    const struct sw_loop_owner *owner = &loop->owner;
    const struct sw_bulk_owner bulk_owner = {
        owner->server,  owner->snapshot,
        owner->saver,   owner->repl,
        owner->timings, owner->region_budget,
        owner->tracer,  sw_tracer_queue(owner->tracer, loop->index),
        owner->run};
    const struct sw_seat_parts parts =
        parts_of(loop, table, loop->config, owner->gate, owner->account);
    if (init_net(loop, loop->index, loops) != 0 || sw_seat_init(&loop->first, &parts, NULL) != 0) {
        return -1;
    }
    sw_list_push(&loop->seats, &loop->first.link);
    sw_bulk_init(&loop->bulk, &loop->net, &loop->first.frames, &bulk_owner);
    return 0;
}

int sw_loop_init(struct sw_loop *loop, const struct sw_config *config, struct sw_table *table,
                 const struct sw_loop_owner *owner, uint32_t index, uint32_t loops)
{
    memset(loop, 0, sizeof(*loop));
    sw_list_init(&loop->seats);
    sw_list_init(&loop->active);
    sw_list_init(&loop->sweeps.seats);
    loop->owner = *owner;
    loop->index = index;
    loop->config = config;
    const int error = init_uv(loop);
    if (error != 0) {
        sw_log(SW_LOG_ERROR, "an I/O loop cannot start: %s", uv_strerror(error));
        sw_loop_fini(loop);
        return -1;
    }
    if (init_parts(loop, table, loops) != 0) {
        sw_log(SW_LOG_ERROR,
               "no memory for an I/O loop: lower loops, arena-bytes or round-ops-max");
        sw_loop_fini(loop);
        return -1;
    }
    return 0;
}

int sw_loop_start(struct sw_loop *loop)
{
    return uv_thread_create(&loop->thread, run_loop, loop);
}

void sw_loop_wake(struct sw_loop *loop)
{
    uv_mutex_lock(&loop->wake_lock);
    if (!loop->has_ended) {
        uv_async_send(&loop->wake);
    }
    uv_mutex_unlock(&loop->wake_lock);
}

void sw_loop_log_moved(struct sw_loop *loop)
{
    uint64_t *waits = &loop->first.batches.log_waits;
    if (__atomic_load_n(waits, __ATOMIC_SEQ_CST) != 0 &&
        __atomic_exchange_n(waits, 0, __ATOMIC_SEQ_CST) != 0) {
        sw_loop_wake(loop);
    }
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
        close_handles(loop);
        uv_loop_close(&loop->uv);
    }
    sw_tables_leave(&loop->net.tables); /* never started */
    sw_bulk_fini(&loop->bulk);
    sw_seat_fini(&loop->first);
    sw_net_fini(&loop->net);
    if (loop->has_lock) {
        uv_mutex_destroy(&loop->wake_lock);
    }
    memset(loop, 0, sizeof(*loop));
}
