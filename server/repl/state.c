/* SPDX-License-Identifier: MIT
 *
 * state.c - roles and histories.
 */
#include "server/repl/state.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "proto/random_id.h"

void sw_repl_state_init(struct sw_repl_state *state)
{
    memset(state, 0, sizeof(*state));
    state->lease = UINT64_MAX;
    pthread_mutex_init(&state->lock, NULL);
    sw_random_id(state->history.id);
    memset(state->history.before, '0', SW_HISTORY_ID_BYTES - 1);
}

void sw_repl_state_fini(struct sw_repl_state *state)
{
    pthread_mutex_destroy(&state->lock);
}

bool sw_repl_lease_is_over(const struct sw_repl_state *state)
{
    uint64_t until = __atomic_load_n(&state->lease, __ATOMIC_SEQ_CST);
    struct timespec now;
    if (until == UINT64_MAX) {
        return false;
    }
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec >= until;
}

void sw_repl_set_lease(struct sw_repl_state *state, uint64_t until_ns)
{
    __atomic_store_n(&state->lease, until_ns, __ATOMIC_SEQ_CST);
}

void sw_repl_stop_serving(struct sw_repl_state *state)
{
    if (!__atomic_exchange_n(&state->is_down, true, __ATOMIC_SEQ_CST)) {
        __atomic_fetch_add(&state->losses, 1, __ATOMIC_SEQ_CST);
    }
    __atomic_store_n(&state->is_paused, false, __ATOMIC_SEQ_CST);
}

uint64_t sw_repl_pause(struct sw_repl_state *state)
{
    __atomic_store_n(&state->is_paused, true, __ATOMIC_SEQ_CST);
    return __atomic_add_fetch(&state->fence, 1, __ATOMIC_SEQ_CST);
}

void sw_repl_resume_serving(struct sw_repl_state *state)
{
    __atomic_store_n(&state->is_paused, false, __ATOMIC_SEQ_CST);
    __atomic_store_n(&state->is_down, false, __ATOMIC_SEQ_CST);
}

uint64_t sw_repl_close_reads(struct sw_repl_state *state)
{
    __atomic_store_n(&state->lacks_data, true, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&state->closures, 1, __ATOMIC_SEQ_CST);
    return __atomic_add_fetch(&state->fence, 1, __ATOMIC_SEQ_CST);
}

uint64_t sw_repl_close_writes(struct sw_repl_state *state)
{
    __atomic_store_n(&state->is_replica, true, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&state->demotions, 1, __ATOMIC_SEQ_CST);
    return __atomic_add_fetch(&state->fence, 1, __ATOMIC_SEQ_CST);
}

void sw_repl_open_reads(struct sw_repl_state *state)
{
    __atomic_store_n(&state->lacks_data, false, __ATOMIC_SEQ_CST);
}

bool sw_repl_history_has(const struct sw_repl_history *history, const char *id, uint64_t sequence)
{
    /* zeros mean "no history": of a replica without data, and before the first history of a primary
     */
    if (strspn(id, "0") == SW_HISTORY_ID_BYTES - 1) {
        return false;
    }
    return strcmp(history->id, id) == 0 ||
           (strcmp(history->before, id) == 0 && sequence <= history->before_through);
}

void sw_repl_next_history(struct sw_repl_state *state, uint64_t sequence,
                          struct sw_repl_history *next)
{
    pthread_mutex_lock(&state->lock);
    memcpy(next->before, state->history.id, SW_HISTORY_ID_BYTES);
    const uint64_t own_from = state->history.own_from;
    pthread_mutex_unlock(&state->lock);
    next->before_through = sequence;
    next->own_from = own_from == SW_OWNS_NOTHING ? sequence : own_from;
    next->terms = (struct sw_terms){0};
    sw_random_id(next->id);
}

void sw_repl_forget_position(struct sw_repl_state *state)
{
    pthread_mutex_lock(&state->lock);
    sw_random_id(state->history.id);
    memset(state->history.before, '0', SW_HISTORY_ID_BYTES - 1);
    state->history.before_through = 0;
    pthread_mutex_unlock(&state->lock);
}

void sw_repl_promote(struct sw_repl_state *state, const struct sw_repl_history *next)
{
    pthread_mutex_lock(&state->lock);
    state->history = *next;
    state->link = SW_LINK_NONE;
    pthread_mutex_unlock(&state->lock);
    __atomic_store_n(&state->is_replica, false, __ATOMIC_SEQ_CST);
}

void sw_repl_primary(struct sw_repl_state *state, char *text, size_t bytes)
{
    pthread_mutex_lock(&state->lock);
    if (state->port == 0) {
        snprintf(text, bytes, "%s", state->host);
    } else {
        snprintf(text, bytes, "%s:%u", state->host, state->port);
    }
    pthread_mutex_unlock(&state->lock);
}
