/* SPDX-License-Identifier: MIT
 *
 * gate.c - counting the writes inside, and closing.
 *
 * A write counts itself before it reads whether the gate is closed. A side that closes the gate
 * writes that before it reads the counts. All four accesses are sequentially consistent. So either
 * the write finds the gate closed, or the side finds the write in the counts.
 */
#include "server/batch/gate.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "server/batch/watched.h"

struct sw_gate {
    pthread_mutex_t lock;        /* protects the fields below; `holder` is also read without it */
    struct sw_gate_side *holder; /* atomic; NULL: it is open */
    struct sw_list sides;
    uint64_t kept_out;          /* sides with was_kept_out */
    struct sw_watched *watched; /* constant */
};

struct sw_gate *sw_gate_create(uint32_t watched_keys_max)
{
    struct sw_gate *gate = calloc(1, sizeof(*gate));
    struct sw_watched *watched = sw_watched_create(watched_keys_max);
    if (gate == NULL || watched == NULL) {
        sw_watched_destroy(watched);
        free(gate);
        return NULL;
    }
    pthread_mutex_init(&gate->lock, NULL);
    sw_list_init(&gate->sides);
    gate->watched = watched;
    return gate;
}

struct sw_watched *sw_gate_watched(struct sw_gate *gate)
{
    return gate->watched;
}

void sw_gate_destroy(struct sw_gate *gate)
{
    if (gate != NULL) {
        assert(gate->holder == NULL && sw_list_is_empty(&gate->sides));
        pthread_mutex_destroy(&gate->lock);
        sw_watched_destroy(gate->watched);
        free(gate);
    }
}

void sw_gate_side_init(struct sw_gate_side *side, struct sw_gate *gate)
{
    *side = (struct sw_gate_side){.gate = gate};
    sw_list_init(&side->link);
    pthread_mutex_lock(&gate->lock);
    sw_list_push(&gate->sides, &side->link);
    pthread_mutex_unlock(&gate->lock);
}

void sw_gate_side_fini(struct sw_gate_side *side)
{
    struct sw_gate *gate = side->gate;
    assert(side->writes == 0 && gate->holder != side);
    pthread_mutex_lock(&gate->lock);
    sw_list_remove(&side->link);
    gate->kept_out -= side->was_kept_out;
    pthread_mutex_unlock(&gate->lock);
}

static bool is_closed(const struct sw_gate *gate)
{
    return __atomic_load_n(&gate->holder, __ATOMIC_SEQ_CST) != NULL;
}

static void note_kept_out(struct sw_gate_side *side, bool was_kept_out)
{
    struct sw_gate *gate = side->gate;
    pthread_mutex_lock(&gate->lock);
    gate->kept_out += was_kept_out;
    gate->kept_out -= side->was_kept_out;
    side->was_kept_out = was_kept_out;
    pthread_mutex_unlock(&gate->lock);
}

bool sw_gate_enter(struct sw_gate_side *side)
{
    __atomic_fetch_add(&side->writes, 1, __ATOMIC_SEQ_CST);
    bool closed = is_closed(side->gate);
    if (closed) {
        __atomic_fetch_sub(&side->writes, 1, __ATOMIC_SEQ_CST);
    }
    if (closed != side->was_kept_out) { /* this side alone changes it */
        note_kept_out(side, closed);
    }
    return !closed;
}

void sw_gate_leave(struct sw_gate_side *side)
{
    __atomic_fetch_sub(&side->writes, 1, __ATOMIC_SEQ_CST);
}

bool sw_gate_close(struct sw_gate_side *side)
{
    struct sw_gate *gate = side->gate;
    pthread_mutex_lock(&gate->lock);
    bool closes = !is_closed(gate) && gate->kept_out == 0;
    if (closes) {
        __atomic_store_n(&gate->holder, side, __ATOMIC_SEQ_CST);
    }
    pthread_mutex_unlock(&gate->lock);
    return closes;
}

bool sw_gate_is_empty(const struct sw_gate_side *side)
{
    struct sw_gate *gate = side->gate;
    bool empty = true;
    pthread_mutex_lock(&gate->lock);
    SW_LIST_EACH(&gate->sides, link)
    {
        const struct sw_gate_side *other = SW_CONTAINER(link, struct sw_gate_side, link);
        empty &= __atomic_load_n(&other->writes, __ATOMIC_SEQ_CST) == 0;
    }
    pthread_mutex_unlock(&gate->lock);
    return empty;
}

void sw_gate_open(struct sw_gate_side *side)
{
    assert(side->gate->holder == side);
    __atomic_store_n(&side->gate->holder, NULL, __ATOMIC_SEQ_CST);
}

bool sw_gates_close(struct sw_gates *gates)
{
    while (gates->closed < gates->count && sw_gate_close(gates->sides[gates->closed])) {
        gates->closed++;
    }
    bool holds = gates->closed == gates->count;
    for (uint32_t i = 0; i < gates->closed; i++) {
        holds &= sw_gate_is_empty(gates->sides[i]);
    }
    return holds;
}

void sw_gates_open(struct sw_gates *gates)
{
    while (gates->closed > 0) {
        sw_gate_open(gates->sides[--gates->closed]);
    }
}
