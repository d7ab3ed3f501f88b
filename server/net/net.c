/* SPDX-License-Identifier: MIT
 *
 * net.c - functions that work on all connections of a loop.
 */
#include "server/net/net.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/limits.h"
#include "server/net/conn.h"

int sw_net_init(struct sw_net *net, uv_loop_t *uv, const struct sw_config *config,
                struct sw_loop_counters *counters, struct sw_input_budget *budget)
{
    memset(net, 0, sizeof(*net));
    net->uv = uv;
    net->config = config;
    net->counters = counters;
    net->budget = budget;
    net->next_id = net->id_step = 1;
    net->users_version = &net->no_users;
    sw_iteration_init(&net->iteration);
    sw_list_init(&net->conns);
    sw_list_init(&net->stalled);
    sw_list_init(&net->paused);
    sw_inbox_init(&net->inbox);
    net->read_buffer = malloc(SW_READ_BYTES);
    return net->read_buffer == NULL ? -1 : 0;
}

int sw_net_set_tls(struct sw_net *net, struct sw_tls_credentials *credentials)
{
    net->tls_credentials = credentials;
    return sw_tls_loop_init(&net->tls, credentials != NULL);
}

void sw_net_fini(struct sw_net *net)
{
    assert(net->uv == NULL || sw_list_is_empty(&net->conns));
    if (net->uv != NULL) {
        sw_inbox_fini(&net->inbox);
    }
    sw_tls_loop_fini(&net->tls);
    free(net->read_buffer);
    net->read_buffer = NULL;
    net->uv = NULL;
}

void sw_net_set_users(struct sw_net *net, struct sw_users *users,
                      const struct sw_unix_users *unix_users)
{
    net->users = users;
    net->users_version = sw_users_version(users);
    net->unix_users = unix_users;
}

void sw_net_add_protocol(struct sw_net *net, uint32_t i, const struct sw_protocol *protocol,
                         void *loop_state)
{
    assert(i < SW_PROTOCOLS && net->protocols[i].protocol == NULL);
    net->protocols[i] = (struct sw_net_protocol){protocol, loop_state};
    if (protocol->state_bytes > net->state_bytes) {
        net->state_bytes = protocol->state_bytes;
    }
}

/* Puts the connections that were tried in vain back at the front of the stalled list, in their
 * order. If the time was over before all were tried, only those that wait for arena memory or for
 * room in the batch keep their place: others could take both, and a retry costs little. The rest go
 * to the end of the list. Otherwise each phase would begin with them and never get further. */
static void put_back(struct sw_net *net, struct sw_list *tried_in_vain, bool all_were_tried)
{
    struct sw_list others;
    sw_list_init(&others);
    while (!sw_list_is_empty(tried_in_vain)) {
        struct sw_list *last = tried_in_vain->previous;
        const enum sw_stall reason = SW_CONTAINER(last, struct sw_conn, stalled)->stall;
        sw_list_remove(last);
        if (all_were_tried || reason == SW_STALL_ARENA || reason == SW_STALL_BATCH_FULL ||
            reason == SW_STALL_BATCH_MEMORY) {
            sw_list_push_front(&net->stalled, last);
        } else {
            sw_list_push_front(&others, last);
        }
    }
    while (!sw_list_is_empty(&others)) {
        sw_list_push(&net->stalled, sw_list_pop(&others));
    }
}

/* Would a retry of the connection be in vain? */
static bool must_wait(const struct sw_conn *conn)
{
    if (conn->stall == SW_STALL_HELD) {
        return conn->net->held_closed && !conn->net->tries_held;
    }
    return (conn->stall == SW_STALL_BATCH_MEMORY || conn->stall == SW_STALL_BATCH_FULL) &&
           conn->protocol->must_wait != NULL && conn->protocol->must_wait(conn);
}

/* If one connection stalls for arena memory again, those after it get no arena memory either
 * (arena_closed): a large request must not starve behind smaller ones. A connection that has gone
 * on and stalls again goes to the end of the list; put_back places one that was tried in vain. If
 * one still waits for its held table, the others that do are tried in the next sweep. */
bool sw_net_retry_stalled(struct sw_net *net)
{
    struct sw_list tried_in_vain;
    uint64_t count = net->stalled_count - net->paused_count, left = count;
    if (!net->retry || (net->iteration.waiting == count && count > 0 &&
                        sw_iteration_leaves_yielded(&net->iteration))) {
        return net->retry;
    }
    net->retry = false;
    sw_list_init(&tried_in_vain);
    sw_iteration_begin_phase(&net->iteration);
    for (; left > 0 && !sw_list_is_empty(&net->stalled) && !net->iteration.is_spent; left--) {
        struct sw_conn *conn = SW_CONTAINER(net->stalled.next, struct sw_conn, stalled);
        size_t held = sw_input_held(&conn->input);
        if (!must_wait(conn)) {
            sw_conn_resume(conn);
        }
        net->arena_closed |= conn->stall == SW_STALL_ARENA;
        net->held_closed |= conn->stall == SW_STALL_HELD;
        if (conn->stall != SW_STALL_NONE && conn->stall != SW_STALL_PAUSED &&
            sw_input_held(&conn->input) == held) {
            sw_list_remove(&conn->stalled);
            sw_list_push(&tried_in_vain, &conn->stalled);
        }
    }
    const bool all_were_tried = left == 0 || sw_list_is_empty(&net->stalled);
    put_back(net, &tried_in_vain, all_were_tried);
    net->retry |= !all_were_tried;
    net->arena_closed = net->held_closed = false;
    net->tries_held &= !all_were_tried;
    assert(net->stalled_count - net->paused_count <= count);
    return count > 0;
}

void sw_net_retry_paused(struct sw_net *net)
{
    struct sw_list paused;
    sw_list_init(&paused);
    sw_iteration_begin_phase(&net->iteration);
    while (!sw_list_is_empty(&net->paused)) {
        sw_list_push(&paused, sw_list_pop(&net->paused));
    }
    while (!sw_list_is_empty(&paused)) {
        sw_conn_resume(SW_CONTAINER(paused.next, struct sw_conn, stalled));
    }
}

void sw_net_end_iteration(struct sw_net *net)
{
    const uint64_t single_at_ms = net->iteration.single_at_ms;
    sw_iteration_end(&net->iteration, single_at_ms != 0 && sw_net_now_ms(net) - single_at_ms <=
                                                               SW_ITERATION_SHARED_MS);
}

void sw_net_sweep(struct sw_net *net, bool all)
{
    uint64_t now_ms = sw_net_now_ms(net);
    uint64_t users = __atomic_load_n(net->users_version, __ATOMIC_RELAXED);
    bool look = users != net->users_seen; /* some may have been deleted */
    net->users_seen = users;
    SW_LIST_EACH(&net->conns, link)
    {
        struct sw_conn *conn = SW_CONTAINER(link, struct sw_conn, link);
        sw_clients_publish(conn);
        if (all) {
            sw_conn_abort(conn);
        } else if (look && net->users != NULL &&
                   sw_login_refresh(net->users, &conn->login) == SW_LOGIN_DELETED) {
            sw_conn_drain(conn, false);
        } else {
            sw_conn_sweep(conn, now_ms);
        }
    }
}

void sw_net_kill(struct sw_net *net)
{
    if (!__atomic_exchange_n(&net->kill_some, false, __ATOMIC_ACQUIRE)) {
        return;
    }
    SW_LIST_EACH(&net->conns, link)
    {
        struct sw_conn *conn = SW_CONTAINER(link, struct sw_conn, link);
        if (__atomic_load_n(&conn->shown.kill, __ATOMIC_RELAXED)) {
            SW_COUNT(net->counters, connections_killed, conn->state != SW_CONN_CLOSED);
            sw_conn_abort(conn);
        }
    }
}

/* Moves a moment `ms` later, but not past now. 0 means that there is no such moment. */
static void move(uint64_t *at_ms, uint64_t ms, uint64_t now_ms)
{
    if (*at_ms > 0) {
        *at_ms = *at_ms + ms < now_ms ? *at_ms + ms : now_ms;
    }
}

void sw_net_move_deadlines(struct sw_net *net, uint64_t ms)
{
    uint64_t now_ms = sw_net_now_ms(net);
    SW_LIST_EACH(&net->conns, link)
    {
        struct sw_conn_times *times = &SW_CONTAINER(link, struct sw_conn, link)->times;
        move(&times->request_since, ms, now_ms);
        move(&times->input_at, ms, now_ms);
        move(&times->output_at, ms, now_ms);
        move(&times->linger_since, ms, now_ms);
    }
}

void sw_net_drain(struct sw_net *net)
{
    SW_LIST_EACH(&net->conns, link)
    {
        struct sw_conn *conn = SW_CONTAINER(link, struct sw_conn, link);
        /* a request that CLIENT PAUSE holds back must not take effect */
        sw_conn_drain(conn, conn->stall != SW_STALL_PAUSED);
    }
}

void sw_net_check(const struct sw_net *net)
{
    uint64_t open = 0, refused = 0, waiting = 0, yielded = 0, lacking = 0, held = 0;
    assert(sw_list_check(&net->paused) == net->paused_count);
    assert(sw_list_check(&net->stalled) + net->paused_count == net->stalled_count);
    SW_LIST_EACH(&net->conns, link)
    {
        const struct sw_conn *conn = SW_CONTAINER(link, struct sw_conn, link);
        sw_conn_check(conn);
        open += !conn->is_refused;
        refused += conn->is_refused;
        waiting += conn->stall == SW_STALL_ARENA;
        lacking += conn->stall == SW_STALL_BATCH_MEMORY;
        held += conn->stall == SW_STALL_HELD;
        yielded += conn->stall == SW_STALL_YIELDED;
    }
    assert(sw_list_check(&net->conns) == open + refused);
    assert(open == net->connections && refused == net->refused);
    assert(waiting == net->arena_waiters && yielded == net->iteration.waiting);
    assert(lacking == net->memory_waiters && held == net->held_waiters);
    (void)open, (void)refused, (void)waiting, (void)yielded, (void)lacking, (void)held;
}
