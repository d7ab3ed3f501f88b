/* SPDX-License-Identifier: MIT
 *
 * expiry_model.h - a model of a table of a few integers, with and without expiry times. It
 * carries out one operation after the other.
 */
#ifndef SHERWOOD_TESTS_TABLE_EXPIRY_MODEL_H
#define SHERWOOD_TESTS_TABLE_EXPIRY_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "table/table.h"
#include "tests/support/oracle.h"

#define KEYS 40U

struct entry {
    bool held; /* in the table: dead or alive */
    uint64_t value, at;
};

struct model {
    struct entry entries[KEYS];
    uint64_t held, limit;
    uint64_t value_max;
    uint64_t expired;
};

static bool model_is_dead(const struct entry *entry, uint64_t clock)
{
    return entry->held && entry->at != 0 && entry->at <= clock;
}

static void model_drop(struct model *model, uint32_t k)
{
    model->entries[k] = (struct entry){0};
    model->held--;
}

/* The time has come at which the key expires. */
static void model_expire(struct model *model, uint32_t k)
{
    if (model->entries[k].held) {
        model_drop(model, k);
        model->expired++;
    }
}

/* Whether the operation may change when a present key expires, and does. */
static bool model_holds(enum sw_op op, uint64_t before, uint64_t at)
{
    const uint64_t end = UINT64_MAX, b = before == 0 ? end : before, a = at == 0 ? end : at;
    switch (op) {
    case SW_EXPIRE_NONE:
        return before == 0;
    case SW_EXPIRE_SOME:
        return before != 0;
    case SW_EXPIRE_LATER:
        return a > b;
    case SW_EXPIRE_EARLIER:
        return a < b;
    case SW_EXPIRE_SHORTEN:
        return before != 0 && a < b;
    default:
        return op == SW_EXPIRE;
    }
}

/* Returns false if the operation inserts and there is no room. `before` is how the key was. */
static bool model_apply(struct model *model, enum sw_op op, uint32_t k, uint64_t operand,
                        uint64_t at, uint64_t past, struct entry *before)
{
    struct entry *entry = &model->entries[k];
    const struct entry was = *entry;
    struct entry next = {.held = true, .at = was.at};
    *before = was;
    if (op == SW_DELETE && was.held) {
        model_drop(model, k);
    } else if (SW_OPS_HAS(SW_OPS_EXPIRE, op) && was.held && at != SW_EXPIRE_KEEP &&
               model_holds(op, was.at, at)) {
        if (at != 0 && at <= past) {
            model_expire(model, k);
        } else {
            entry->at = at;
        }
    }
    if (SW_OPS_HAS(SW_OPS_EXPIRE, op)) {
        return true;
    }
    if (!oracle_writes(op, was.held, was.value, operand, model->value_max, &next.value)) {
        return true;
    }
    if (at != SW_EXPIRE_KEEP && (!was.held || op == SW_SET || op == SW_SET_PRESENT)) {
        next.at = at;
        if (at != 0 && at <= past) {
            model_expire(model, k);
            return true;
        }
    }
    if (!was.held && model->held >= model->limit) {
        return false;
    }
    model->held += !was.held;
    *entry = next;
    return true;
}

#endif
