/* SPDX-License-Identifier: MIT
 *
 * lane.c - drawing the units of a mix and checking their answers (see lane.h).
 */
#include "bench/load/lane.h"

#include "bench/load/random.h"

#include <stdlib.h>

#define AHEAD 16

/* A place that no unit has written yet is unknown: an earlier run may have left something there. */
enum state { UNKNOWN, ABSENT, PRESENT };

static uint64_t positions_of(const struct sw_load_lane_setup *setup, uint64_t loaded)
{
    return setup->mix->weights[SW_LOAD_MIX_INSERT] ? 2 * loaded : loaded;
}

uint64_t sw_load_lanes_bytes(const struct sw_load_lane_setup *setup)
{
    uint64_t positions = positions_of(setup, setup->workload->keys);
    uint64_t unit = (uint64_t)setup->unit_keys * (sizeof(uint64_t) + 1);
    uint64_t model = setup->verify ? positions * (setup->workload->value_bytes + 1) : 0;
    return model + setup->lanes * unit;
}

bool sw_load_lane_init(struct sw_load_lane *lane, const struct sw_load_lane_setup *setup,
                       uint32_t number)
{
    const struct sw_load_workload *workload = setup->workload;
    uint64_t loaded = (workload->keys - number + setup->lanes - 1) / setup->lanes;
    uint64_t misses = setup->hit_ratio >= 1 ? 0 : (uint64_t)((1 - setup->hit_ratio) * 0x1p63);
    *lane = (struct sw_load_lane){
        .setup = setup,
        .number = number,
        .loaded = loaded,
        .positions = positions_of(setup, loaded),
        .head = loaded,
        .random = sw_load_mix64(workload->seed) + sw_load_mix64(number + 1ULL),
        .miss_below = misses,
    };
    sw_load_distribution_init(&lane->distribution, setup->distribution, setup->theta, loaded);
    lane->unit = calloc(setup->unit_keys, sizeof(*lane->unit));
    lane->operations = calloc(setup->unit_keys, 1);
    if (setup->verify) {
        lane->values = calloc(lane->positions, workload->value_bytes);
        lane->states = calloc(lane->positions, 1);
    }
    return lane->unit && lane->operations && (!setup->verify || (lane->values && lane->states));
}

void sw_load_lane_fini(struct sw_load_lane *lane)
{
    free(lane->values);
    free(lane->states);
    free(lane->unit);
    free(lane->operations);
    *lane = (struct sw_load_lane){.setup = NULL};
}

static uint64_t index_of(const struct sw_load_lane *lane, uint64_t position)
{
    return position * lane->setup->lanes + lane->number;
}

static void place(struct sw_load_lane *lane, uint32_t i, uint8_t operation, uint64_t position,
                  void *keys)
{
    const struct sw_load_workload *workload = lane->setup->workload;
    lane->unit[i] = position;
    lane->operations[i] = (uint8_t)operation;
    sw_load_put_element(keys, workload->key_bytes, i,
                        sw_load_key(workload, index_of(lane, position)));
}

void sw_load_lane_rewind(struct sw_load_lane *lane)
{
    lane->next = 0;
}

uint32_t sw_load_lane_sweep(struct sw_load_lane *lane, bool is_fill, void *keys, void *operands)
{
    const struct sw_load_workload *workload = lane->setup->workload;
    const uint64_t end = is_fill ? lane->loaded : lane->positions;
    uint32_t count = 0;
    for (; lane->next < end && count < lane->setup->unit_keys; lane->next++) {
        if (is_fill) {
            place(lane, count, SW_LOAD_MIX_SET, lane->next, keys);
            uint64_t key = sw_load_element(keys, workload->key_bytes, count);
            sw_load_put_element(operands, workload->value_bytes, count,
                                sw_load_value(workload, key) & lane->setup->set_mask);
            count++;
        } else if (lane->states[lane->next] != UNKNOWN) {
            place(lane, count++, SW_LOAD_MIX_GET, lane->next, keys);
        }
    }
    return count;
}

/* A position by the distribution, among those that were written at least once. */
static uint64_t draw_position(struct sw_load_lane *lane)
{
    uint64_t used = lane->head < lane->positions ? lane->head : lane->positions;
    switch (lane->distribution.kind) {
    case SW_LOAD_ZIPF:
        return sw_load_zipf_draw(&lane->distribution.zipf, &lane->random);
    case SW_LOAD_LATEST:
        return (lane->head - 1 - sw_load_zipf_draw(&lane->distribution.zipf, &lane->random)) %
               lane->positions;
    case SW_LOAD_SEQUENTIAL:
        return lane->next++ % used;
    default:
        return sw_load_random_below(&lane->random, used);
    }
}

/* The key of a read that shall miss. */
static void place_miss(struct sw_load_lane *lane, uint32_t i, void *keys)
{
    const struct sw_load_workload *workload = lane->setup->workload;
    lane->unit[i] = SW_LOAD_NOWHERE;
    lane->operations[i] = SW_LOAD_MIX_GET;
    sw_load_put_element(keys, workload->key_bytes, i,
                        sw_load_absent_key(workload, index_of(lane, draw_position(lane))));
}

static void draw_one(struct sw_load_lane *lane, uint8_t operation, uint32_t i, void *keys,
                     void *operands)
{
    const struct sw_load_lane_setup *setup = lane->setup;
    if (operation == SW_LOAD_MIX_GET && lane->miss_below &&
        sw_load_random(&lane->random) >> 1 < lane->miss_below) {
        place_miss(lane, i, keys);
        return;
    }
    bool is_insert = operation == SW_LOAD_MIX_INSERT;
    place(lane, i, operation, is_insert ? lane->head++ % lane->positions : draw_position(lane),
          keys);
    if (operation != SW_LOAD_MIX_GET && operation != SW_LOAD_MIX_DELETE) {
        uint64_t mask = operation == SW_LOAD_MIX_SUM ? setup->sum_mask : setup->set_mask;
        sw_load_put_element(operands, setup->workload->value_bytes, i,
                            sw_load_random(&lane->random) & mask);
    }
}

void sw_load_lane_draw(struct sw_load_lane *lane, uint32_t count, void *keys, void *operands)
{
    uint8_t operation = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || lane->setup->per_key) {
            operation = (uint8_t)sw_load_mix_draw(lane->setup->mix, sw_load_random(&lane->random));
        }
        draw_one(lane, operation, i, keys, operands);
    }
}

/* What the key must hold after the operation. */
static void apply(struct sw_load_lane *lane, uint64_t position, uint8_t operation, uint64_t operand)
{
    const uint32_t value_bytes = lane->setup->workload->value_bytes;
    uint64_t value = sw_load_element(lane->values, value_bytes, position);
    switch (operation) {
    case SW_LOAD_MIX_GET:
        return;
    case SW_LOAD_MIX_DELETE:
        lane->states[position] = ABSENT;
        return;
    case SW_LOAD_MIX_SUM:
        value = lane->states[position] == PRESENT ? value + operand : operand;
        break;
    default:
        value = operand;
        break;
    }
    lane->states[position] = PRESENT;
    sw_load_put_element(lane->values, value_bytes, position, value);
}

/* The model is larger than the caches: asks for what element i + AHEAD needs. */
static void look_ahead(const struct sw_load_lane *lane, uint32_t i)
{
    if (i + AHEAD < lane->setup->unit_keys) {
        uint64_t position = lane->unit[i + AHEAD];
        if (position < lane->positions) {
            const char *values = lane->values;
            __builtin_prefetch(&lane->states[position]);
            __builtin_prefetch(values + position * lane->setup->workload->value_bytes);
        }
    }
}

struct sw_load_verdict sw_load_lane_check(struct sw_load_lane *lane, uint32_t i, uint64_t operand,
                                          const struct sw_load_answer *answer)
{
    const uint32_t value_bytes = lane->setup->workload->value_bytes;
    const uint64_t position = lane->unit[i];
    const uint8_t operation = lane->operations[i];
    struct sw_load_verdict verdict = {.right = true};
    look_ahead(lane, i);
    uint8_t state = position == SW_LOAD_NOWHERE ? ABSENT : lane->states[position];
    const uint64_t before =
        state == PRESENT ? sw_load_element(lane->values, value_bytes, position) : 0;
    if (position != SW_LOAD_NOWHERE) {
        apply(lane, position, operation, operand);
        verdict.expected = sw_load_element(lane->values, value_bytes, position);
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
