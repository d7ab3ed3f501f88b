/* SPDX-License-Identifier: MIT
 *
 * partition.c - draws the units of a mix and checks their replies (see partition.h).
 */
#include "bench/load/partition.h"

#include "bench/load/random.h"

#include <stdlib.h>

#define AHEAD 16

/* UNKNOWN: no unit has written the position yet, and an earlier run may have left a value there. */
enum state { UNKNOWN, ABSENT, PRESENT };

static uint64_t positions_of(const struct sw_load_partition_setup *setup, uint64_t loaded)
{
    return setup->mix->weights[SW_LOAD_MIX_INSERT] ? 2 * loaded : loaded;
}

uint64_t sw_load_partitions_bytes(const struct sw_load_partition_setup *setup)
{
    uint64_t positions = positions_of(setup, setup->workload->keys);
    uint64_t unit = (uint64_t)setup->unit_keys * (sizeof(uint64_t) + 1);
    uint64_t each = setup->workload->value_bytes + 1;
    each += setup->ttl_ns ? sizeof(struct sw_load_life) : 0;
    uint64_t model = setup->verify ? positions * each : 0;
    return model + setup->partitions * unit;
}

bool sw_load_partition_init(struct sw_load_partition *partition,
                            const struct sw_load_partition_setup *setup, uint32_t number)
{
    const struct sw_load_workload *workload = setup->workload;
    uint64_t loaded = (workload->keys - number + setup->partitions - 1) / setup->partitions;
    uint64_t misses = setup->hit_ratio >= 1 ? 0 : (uint64_t)((1 - setup->hit_ratio) * 0x1p63);
    *partition = (struct sw_load_partition){
        .setup = setup,
        .number = number,
        .loaded = loaded,
        .positions = positions_of(setup, loaded),
        .head = loaded,
        .random = sw_load_mix64(workload->seed) + sw_load_mix64(number + 1ULL),
        .miss_below = misses,
    };
    sw_load_distribution_init(&partition->distribution, setup->distribution, setup->theta, loaded);
    partition->unit = calloc(setup->unit_keys, sizeof(*partition->unit));
    partition->operations = calloc(setup->unit_keys, 1);
    if (setup->verify) {
        partition->values = calloc(partition->positions, workload->value_bytes);
        partition->states = calloc(partition->positions, 1);
    }
    if (setup->verify && setup->ttl_ns) {
        partition->lives = calloc(partition->positions, sizeof(*partition->lives));
    }
    return partition->unit && partition->operations &&
           (!setup->verify ||
            (partition->values && partition->states && (!setup->ttl_ns || partition->lives)));
}

void sw_load_partition_fini(struct sw_load_partition *partition)
{
    free(partition->values);
    free(partition->states);
    free(partition->lives);
    free(partition->unit);
    free(partition->operations);
    *partition = (struct sw_load_partition){.setup = NULL};
}

static uint64_t index_of(const struct sw_load_partition *partition, uint64_t position)
{
    return position * partition->setup->partitions + partition->number;
}

static void place(struct sw_load_partition *partition, uint32_t i, uint8_t operation,
                  uint64_t position, void *keys)
{
    const struct sw_load_workload *workload = partition->setup->workload;
    partition->unit[i] = position;
    partition->operations[i] = (uint8_t)operation;
    sw_load_put_element(keys, workload->key_bytes, i,
                        sw_load_key(workload, index_of(partition, position)));
}

void sw_load_partition_rewind(struct sw_load_partition *partition)
{
    partition->next = 0;
}

uint32_t sw_load_partition_sweep(struct sw_load_partition *partition, bool is_fill, void *keys,
                                 void *operands)
{
    const struct sw_load_workload *workload = partition->setup->workload;
    const uint64_t end = is_fill ? partition->loaded : partition->positions;
    uint32_t count = 0;
    for (; partition->next < end && count < partition->setup->unit_keys; partition->next++) {
        if (is_fill) {
            place(partition, count, SW_LOAD_MIX_SET, partition->next, keys);
            uint64_t key = sw_load_element(keys, workload->key_bytes, count);
            sw_load_put_element(operands, workload->value_bytes, count,
                                sw_load_value(workload, key) & partition->setup->set_mask);
            count++;
        } else if (partition->states[partition->next] != UNKNOWN) {
            place(partition, count++, SW_LOAD_MIX_GET, partition->next, keys);
        }
    }
    return count;
}

/* Draws a position by the distribution, from those that were written at least once. */
static uint64_t draw_position(struct sw_load_partition *partition)
{
    uint64_t used = partition->head < partition->positions ? partition->head : partition->positions;
    switch (partition->distribution.kind) {
    case SW_LOAD_ZIPF:
        return sw_load_zipf_draw(&partition->distribution.zipf, &partition->random);
    case SW_LOAD_LATEST:
        return (partition->head - 1 -
                sw_load_zipf_draw(&partition->distribution.zipf, &partition->random)) %
               partition->positions;
    case SW_LOAD_SEQUENTIAL:
        return partition->next++ % used;
    default:
        return sw_load_random_below(&partition->random, used);
    }
}

/* Stores the key of a read that shall miss. */
static void place_miss(struct sw_load_partition *partition, uint32_t i, void *keys)
{
    const struct sw_load_workload *workload = partition->setup->workload;
    partition->unit[i] = SW_LOAD_NOWHERE;
    partition->operations[i] = SW_LOAD_MIX_GET;
    sw_load_put_element(
        keys, workload->key_bytes, i,
        sw_load_absent_key(workload, index_of(partition, draw_position(partition))));
}

static void draw_one(struct sw_load_partition *partition, uint8_t operation, uint32_t i, void *keys,
                     void *operands)
{
    const struct sw_load_partition_setup *setup = partition->setup;
    if (operation == SW_LOAD_MIX_GET && partition->miss_below &&
        sw_load_random(&partition->random) >> 1 < partition->miss_below) {
        place_miss(partition, i, keys);
        return;
    }
    bool is_insert = operation == SW_LOAD_MIX_INSERT;
    place(partition, i, operation,
          is_insert ? partition->head++ % partition->positions : draw_position(partition), keys);
    if (operation != SW_LOAD_MIX_GET && operation != SW_LOAD_MIX_DELETE) {
        uint64_t mask = operation == SW_LOAD_MIX_SUM ? setup->sum_mask : setup->set_mask;
        sw_load_put_element(operands, setup->workload->value_bytes, i,
                            sw_load_random(&partition->random) & mask);
    }
}

void sw_load_partition_draw(struct sw_load_partition *partition, uint32_t count, void *keys,
                            void *operands)
{
    uint8_t operation = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || partition->setup->per_key) {
            operation = (uint8_t)sw_load_mix_draw(partition->setup->mix,
                                                  sw_load_random(&partition->random));
        }
        draw_one(partition, operation, i, keys, operands);
    }
}

/* Returns the state of an expiring key, as far as the reply shows it; otherwise UNKNOWN. */
static uint8_t state_told(uint8_t operation, uint64_t operand, uint64_t before,
                          const struct sw_load_answer *answer)
{
    const bool is_sum = operation == SW_LOAD_MIX_SUM && answer->has_value;
    if (answer->has_found) {
        return answer->found ? PRESENT : ABSENT;
    }
    if (before == 0 || (!answer->has_value && !answer->has_previous)) {
        return UNKNOWN; /* a previous value of 0 is also that of an absent key */
    }
    return answer->value == (is_sum ? operand : 0) ? ABSENT : PRESENT;
}

/* Returns the state of a key of the model: by its expiry time, or by the reply while it may be
 * expiring. *is_certain: the state is known. */
static uint8_t state_in_time(const struct sw_load_partition *partition, uint32_t i,
                             uint64_t operand, uint64_t before, const struct sw_load_answer *answer,
                             bool *is_certain)
{
    const struct sw_load_life *life = &partition->lives[partition->unit[i]];
    const enum sw_load_stage stage = sw_load_life_at(life, answer->since_ns, answer->until_ns);
    *is_certain = stage != SW_LOAD_EITHER;
    if (*is_certain) {
        return stage == SW_LOAD_ALIVE ? PRESENT : ABSENT;
    }
    const uint8_t told = state_told(partition->operations[i], operand, before, answer);
    *is_certain = told != UNKNOWN;
    return told == ABSENT ? ABSENT : PRESENT;
}

/* Updates the life of a key after an operation. `state` is its state before the operation. */
static void give_time(struct sw_load_partition *partition, uint32_t i, uint8_t state,
                      bool is_certain, uint64_t before, const struct sw_load_answer *answer)
{
    const uint64_t position = partition->unit[i];
    struct sw_load_life *life = &partition->lives[position];
    const uint8_t operation = partition->operations[i];
    if (operation == SW_LOAD_MIX_SET || operation == SW_LOAD_MIX_INSERT) {
        *life = sw_load_life_of(partition->setup->ttl_ns, answer->since_ns, answer->until_ns);
    } else if (operation == SW_LOAD_MIX_SUM && state != PRESENT) {
        *life = SW_LOAD_LIFE_ENDLESS; /* a present key keeps its expiry time, a new key gets none */
    } else if (operation == SW_LOAD_MIX_SUM && !is_certain) {
        life->last_ns = UINT64_MAX;
        partition->states[position] = before == 0 ? PRESENT : UNKNOWN; /* one of two values */
    }
}

/* Computes what the key must hold after the operation. */
static void apply(struct sw_load_partition *partition, uint64_t position, uint8_t operation,
                  uint64_t operand)
{
    const uint32_t value_bytes = partition->setup->workload->value_bytes;
    uint64_t value = sw_load_element(partition->values, value_bytes, position);
    switch (operation) {
    case SW_LOAD_MIX_GET:
        return;
    case SW_LOAD_MIX_DELETE:
        partition->states[position] = ABSENT;
        return;
    case SW_LOAD_MIX_SUM:
        if (partition->states[position] == UNKNOWN) {
            return;
        }
        value = partition->states[position] == PRESENT ? value + operand : operand;
        break;
    default:
        value = operand;
        break;
    }
    partition->states[position] = PRESENT;
    sw_load_put_element(partition->values, value_bytes, position, value);
}

/* Prefetches the model's data for element i + AHEAD, because the model is larger than the caches.
 */
static void look_ahead(const struct sw_load_partition *partition, uint32_t i)
{
    if (i + AHEAD < partition->setup->unit_keys) {
        uint64_t position = partition->unit[i + AHEAD];
        if (position < partition->positions) {
            const char *values = partition->values;
            __builtin_prefetch(&partition->states[position]);
            __builtin_prefetch(values + position * partition->setup->workload->value_bytes);
        }
    }
}

struct sw_load_verdict sw_load_partition_check(struct sw_load_partition *partition, uint32_t i,
                                               uint64_t operand,
                                               const struct sw_load_answer *answer)
{
    const uint32_t value_bytes = partition->setup->workload->value_bytes;
    const uint64_t position = partition->unit[i];
    const uint8_t operation = partition->operations[i];
    struct sw_load_verdict verdict = {.right = true};
    look_ahead(partition, i);
    uint8_t state = position == SW_LOAD_NOWHERE ? ABSENT : partition->states[position];
    uint64_t before =
        state == PRESENT ? sw_load_element(partition->values, value_bytes, position) : 0;
    bool is_certain = true;
    if (state == PRESENT && partition->lives) {
        state = state_in_time(partition, i, operand, before, answer, &is_certain);
        partition->states[position] = state;
        verdict.expired = state == ABSENT && operation == SW_LOAD_MIX_GET;
        before = state == PRESENT ? before : 0;
    }
    if (position != SW_LOAD_NOWHERE) {
        apply(partition, position, operation, operand);
        if (partition->lives) {
            give_time(partition, i, state, is_certain, before, answer);
        }
        verdict.expected = sw_load_element(partition->values, value_bytes, position);
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
