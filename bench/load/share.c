/* SPDX-License-Identifier: MIT
 *
 * share.c - drawing the units of a mix and checking their answers (see share.h).
 */
#include "bench/load/share.h"

#include "bench/load/random.h"

#include <stdlib.h>

#define AHEAD 16

/* A place that no unit has written yet is unknown: an earlier run may have left something there. */
enum state { UNKNOWN, ABSENT, PRESENT };

static uint64_t positions_of(const struct sw_load_share_setup *setup, uint64_t loaded)
{
    return setup->mix->weights[SW_LOAD_MIX_INSERT] ? 2 * loaded : loaded;
}

uint64_t sw_load_shares_bytes(const struct sw_load_share_setup *setup)
{
    uint64_t positions = positions_of(setup, setup->workload->keys);
    uint64_t unit = (uint64_t)setup->unit_keys * (sizeof(uint64_t) + 1);
    uint64_t each = setup->workload->value_bytes + 1;
    each += setup->ttl_ns ? sizeof(struct sw_load_life) : 0;
    uint64_t model = setup->verify ? positions * each : 0;
    return model + setup->shares * unit;
}

bool sw_load_share_init(struct sw_load_share *share, const struct sw_load_share_setup *setup,
                        uint32_t number)
{
    const struct sw_load_workload *workload = setup->workload;
    uint64_t loaded = (workload->keys - number + setup->shares - 1) / setup->shares;
    uint64_t misses = setup->hit_ratio >= 1 ? 0 : (uint64_t)((1 - setup->hit_ratio) * 0x1p63);
    *share = (struct sw_load_share){
        .setup = setup,
        .number = number,
        .loaded = loaded,
        .positions = positions_of(setup, loaded),
        .head = loaded,
        .random = sw_load_mix64(workload->seed) + sw_load_mix64(number + 1ULL),
        .miss_below = misses,
    };
    sw_load_distribution_init(&share->distribution, setup->distribution, setup->theta, loaded);
    share->unit = calloc(setup->unit_keys, sizeof(*share->unit));
    share->operations = calloc(setup->unit_keys, 1);
    if (setup->verify) {
        share->values = calloc(share->positions, workload->value_bytes);
        share->states = calloc(share->positions, 1);
    }
    if (setup->verify && setup->ttl_ns) {
        share->lives = calloc(share->positions, sizeof(*share->lives));
    }
    return share->unit && share->operations &&
           (!setup->verify || (share->values && share->states && (!setup->ttl_ns || share->lives)));
}

void sw_load_share_fini(struct sw_load_share *share)
{
    free(share->values);
    free(share->states);
    free(share->lives);
    free(share->unit);
    free(share->operations);
    *share = (struct sw_load_share){.setup = NULL};
}

static uint64_t index_of(const struct sw_load_share *share, uint64_t position)
{
    return position * share->setup->shares + share->number;
}

static void place(struct sw_load_share *share, uint32_t i, uint8_t operation, uint64_t position,
                  void *keys)
{
    const struct sw_load_workload *workload = share->setup->workload;
    share->unit[i] = position;
    share->operations[i] = (uint8_t)operation;
    sw_load_put_element(keys, workload->key_bytes, i,
                        sw_load_key(workload, index_of(share, position)));
}

void sw_load_share_rewind(struct sw_load_share *share)
{
    share->next = 0;
}

uint32_t sw_load_share_sweep(struct sw_load_share *share, bool is_fill, void *keys, void *operands)
{
    const struct sw_load_workload *workload = share->setup->workload;
    const uint64_t end = is_fill ? share->loaded : share->positions;
    uint32_t count = 0;
    for (; share->next < end && count < share->setup->unit_keys; share->next++) {
        if (is_fill) {
            place(share, count, SW_LOAD_MIX_SET, share->next, keys);
            uint64_t key = sw_load_element(keys, workload->key_bytes, count);
            sw_load_put_element(operands, workload->value_bytes, count,
                                sw_load_value(workload, key) & share->setup->set_mask);
            count++;
        } else if (share->states[share->next] != UNKNOWN) {
            place(share, count++, SW_LOAD_MIX_GET, share->next, keys);
        }
    }
    return count;
}

/* A position by the distribution, among those that were written at least once. */
static uint64_t draw_position(struct sw_load_share *share)
{
    uint64_t used = share->head < share->positions ? share->head : share->positions;
    switch (share->distribution.kind) {
    case SW_LOAD_ZIPF:
        return sw_load_zipf_draw(&share->distribution.zipf, &share->random);
    case SW_LOAD_LATEST:
        return (share->head - 1 - sw_load_zipf_draw(&share->distribution.zipf, &share->random)) %
               share->positions;
    case SW_LOAD_SEQUENTIAL:
        return share->next++ % used;
    default:
        return sw_load_random_below(&share->random, used);
    }
}

/* The key of a read that shall miss. */
static void place_miss(struct sw_load_share *share, uint32_t i, void *keys)
{
    const struct sw_load_workload *workload = share->setup->workload;
    share->unit[i] = SW_LOAD_NOWHERE;
    share->operations[i] = SW_LOAD_MIX_GET;
    sw_load_put_element(keys, workload->key_bytes, i,
                        sw_load_absent_key(workload, index_of(share, draw_position(share))));
}

static void draw_one(struct sw_load_share *share, uint8_t operation, uint32_t i, void *keys,
                     void *operands)
{
    const struct sw_load_share_setup *setup = share->setup;
    if (operation == SW_LOAD_MIX_GET && share->miss_below &&
        sw_load_random(&share->random) >> 1 < share->miss_below) {
        place_miss(share, i, keys);
        return;
    }
    bool is_insert = operation == SW_LOAD_MIX_INSERT;
    place(share, i, operation, is_insert ? share->head++ % share->positions : draw_position(share),
          keys);
    if (operation != SW_LOAD_MIX_GET && operation != SW_LOAD_MIX_DELETE) {
        uint64_t mask = operation == SW_LOAD_MIX_SUM ? setup->sum_mask : setup->set_mask;
        sw_load_put_element(operands, setup->workload->value_bytes, i,
                            sw_load_random(&share->random) & mask);
    }
}

void sw_load_share_draw(struct sw_load_share *share, uint32_t count, void *keys, void *operands)
{
    uint8_t operation = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || share->setup->per_key) {
            operation =
                (uint8_t)sw_load_mix_draw(share->setup->mix, sw_load_random(&share->random));
        }
        draw_one(share, operation, i, keys, operands);
    }
}

/* Whether a key whose time is ending was there, as far as the answer tells; otherwise UNKNOWN. */
static uint8_t state_told(uint8_t operation, uint64_t operand, uint64_t before,
                          const struct sw_load_answer *answer)
{
    const bool is_sum = operation == SW_LOAD_MIX_SUM && answer->has_value;
    if (answer->has_found) {
        return answer->found ? PRESENT : ABSENT;
    }
    if (before == 0 || (!answer->has_value && !answer->has_previous)) {
        return UNKNOWN; /* absent keys have the value 0 */
    }
    return answer->value == (is_sum ? operand : 0) ? ABSENT : PRESENT;
}

/* Whether a key that the model has is there: what its time says, and, while that ends, the answer.
 * *is_certain: either told. */
static uint8_t state_in_time(const struct sw_load_share *share, uint32_t i, uint64_t operand,
                             uint64_t before, const struct sw_load_answer *answer, bool *is_certain)
{
    const struct sw_load_life *life = &share->lives[share->unit[i]];
    const enum sw_load_stage stage = sw_load_life_at(life, answer->since_ns, answer->until_ns);
    *is_certain = stage != SW_LOAD_EITHER;
    if (*is_certain) {
        return stage == SW_LOAD_ALIVE ? PRESENT : ABSENT;
    }
    const uint8_t told = state_told(share->operations[i], operand, before, answer);
    *is_certain = told != UNKNOWN;
    return told == ABSENT ? ABSENT : PRESENT;
}

/* Updates the life of a key after an operation. `state` is its state before the operation. */
static void give_time(struct sw_load_share *share, uint32_t i, uint8_t state, bool is_certain,
                      uint64_t before, const struct sw_load_answer *answer)
{
    const uint64_t position = share->unit[i];
    struct sw_load_life *life = &share->lives[position];
    const uint8_t operation = share->operations[i];
    if (operation == SW_LOAD_MIX_SET || operation == SW_LOAD_MIX_INSERT) {
        *life = sw_load_life_of(share->setup->ttl_ns, answer->since_ns, answer->until_ns);
    } else if (operation == SW_LOAD_MIX_SUM && state != PRESENT) {
        *life = SW_LOAD_LIFE_ENDLESS; /* a present key keeps its time, a new one gets none */
    } else if (operation == SW_LOAD_MIX_SUM && !is_certain) {
        life->last_ns = UINT64_MAX;
        share->states[position] = before == 0 ? PRESENT : UNKNOWN; /* which of two values? */
    }
}

/* What the key must hold after the operation. */
static void apply(struct sw_load_share *share, uint64_t position, uint8_t operation,
                  uint64_t operand)
{
    const uint32_t value_bytes = share->setup->workload->value_bytes;
    uint64_t value = sw_load_element(share->values, value_bytes, position);
    switch (operation) {
    case SW_LOAD_MIX_GET:
        return;
    case SW_LOAD_MIX_DELETE:
        share->states[position] = ABSENT;
        return;
    case SW_LOAD_MIX_SUM:
        if (share->states[position] == UNKNOWN) {
            return;
        }
        value = share->states[position] == PRESENT ? value + operand : operand;
        break;
    default:
        value = operand;
        break;
    }
    share->states[position] = PRESENT;
    sw_load_put_element(share->values, value_bytes, position, value);
}

/* The model is larger than the caches: asks for what element i + AHEAD needs. */
static void look_ahead(const struct sw_load_share *share, uint32_t i)
{
    if (i + AHEAD < share->setup->unit_keys) {
        uint64_t position = share->unit[i + AHEAD];
        if (position < share->positions) {
            const char *values = share->values;
            __builtin_prefetch(&share->states[position]);
            __builtin_prefetch(values + position * share->setup->workload->value_bytes);
        }
    }
}

struct sw_load_verdict sw_load_share_check(struct sw_load_share *share, uint32_t i,
                                           uint64_t operand, const struct sw_load_answer *answer)
{
    const uint32_t value_bytes = share->setup->workload->value_bytes;
    const uint64_t position = share->unit[i];
    const uint8_t operation = share->operations[i];
    struct sw_load_verdict verdict = {.right = true};
    look_ahead(share, i);
    uint8_t state = position == SW_LOAD_NOWHERE ? ABSENT : share->states[position];
    uint64_t before = state == PRESENT ? sw_load_element(share->values, value_bytes, position) : 0;
    bool is_certain = true;
    if (state == PRESENT && share->lives) {
        state = state_in_time(share, i, operand, before, answer, &is_certain);
        share->states[position] = state;
        verdict.expired = state == ABSENT && operation == SW_LOAD_MIX_GET;
        before = state == PRESENT ? before : 0;
    }
    if (position != SW_LOAD_NOWHERE) {
        apply(share, position, operation, operand);
        if (share->lives) {
            give_time(share, i, state, is_certain, before, answer);
        }
        verdict.expected = sw_load_element(share->values, value_bytes, position);
    }
    if (answer->has_found && state != UNKNOWN) {
        verdict.missing = state == PRESENT && !answer->found;
        verdict.surplus = state == ABSENT && answer->found;
    }
    bool wrong = answer->has_value && !verdict.missing && !verdict.surplus && state != UNKNOWN &&
                 (operation != SW_LOAD_MIX_GET || state == PRESENT) &&
                 answer->value != verdict.expected;
    if (answer->has_previous && state != UNKNOWN && answer->value != before) {
        verdict.expected = before;
        wrong = true;
    }
    verdict.right = !verdict.missing && !verdict.surplus && !wrong;
    return verdict;
}
