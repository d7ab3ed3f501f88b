/* SPDX-License-Identifier: MIT
 *
 * valid.c - checks configurations and batches.
 */
#include "table/cache/valid.h"

#include "table/cache/work.h"
#include "table/config.h"

/* Slots of all caches: enough for any machine, and no product of sizes overflows. */
#define CAPACITY_MAX (1ULL << 48)

int sw_cache_config_valid(const struct sw_cache_config *config, char *reason, size_t reason_size)
{
    bool epochs = config->policy == SW_CACHE_EPOCH_LRU || config->policy == SW_CACHE_EPOCH_LFU;
    if (config->value_bytes < 4 || config->value_bytes > SW_CACHE_VALUE_BYTES_MAX ||
        config->value_bytes % 4 != 0) {
        return sw_config_refuse(reason, reason_size,
                                "value_bytes must be a multiple of 4 from 4 to %d, not %u",
                                SW_CACHE_VALUE_BYTES_MAX, config->value_bytes);
    }
    if (config->capacity == 0 || config->capacity > CAPACITY_MAX) {
        return sw_config_refuse(reason, reason_size, "capacity must be from 1 to 2^48 slots");
    }
    if ((uint32_t)config->mode > SW_CACHE_THROUGHPUT) {
        return sw_config_refuse(reason, reason_size, "there is no cache mode %d",
                                (int)config->mode);
    }
    if ((uint32_t)config->policy > SW_CACHE_CUSTOM) {
        return sw_config_refuse(reason, reason_size, "there is no cache policy %d",
                                (int)config->policy);
    }
    if ((uint32_t)config->writing > SW_CACHE_WRITING_LONG_ROWS) {
        return sw_config_refuse(reason, reason_size, "there is no way of writing %d",
                                (int)config->writing);
    }
    if (config->epoch > (epochs ? UINT32_MAX : 0)) {
        return sw_config_refuse(reason, reason_size,
                                "epoch must be below 2^32, and 0 for a policy without epochs");
    }
    return SW_OK;
}

/* Which of the arrays an operation must have, and which it may have. */
struct arrays {
    bool values;
    bool values_out;
    bool places;
    bool scores_out; /* may */
    bool evicted;
};

static const struct arrays arrays_of[SW_CACHE_OP_COUNT] = {
    [SW_CACHE_INSERT_OR_ASSIGN] = {.values = true},
    [SW_CACHE_INSERT_AND_EVICT] = {.values = true, .evicted = true},
    [SW_CACHE_FIND] = {.values_out = true, .scores_out = true},
    [SW_CACHE_FIND_PLACES] = {.places = true, .scores_out = true},
    [SW_CACHE_FIND_OR_INSERT] = {.values = true, .values_out = true, .scores_out = true},
    [SW_CACHE_ACCUM_OR_ASSIGN] = {.values = true},
    [SW_CACHE_ASSIGN] = {.values = true},
    [SW_CACHE_ASSIGN_VALUES] = {.values = true},
};

static bool scores_fit(const struct sw_cache_config *config, const struct sw_cache_batch *batch)
{
    bool uses = sw_cache_op_uses(batch->op, batch->touch);
    bool timed = config->policy == SW_CACHE_LRU || config->policy == SW_CACHE_EPOCH_LRU;
    if (batch->scores != NULL) {
        return uses && !timed;
    }
    return !uses || config->policy != SW_CACHE_CUSTOM;
}

static bool arrays_fit(const struct sw_cache_batch *batch)
{
    struct arrays has = arrays_of[batch->op];
    bool optional = batch->evicted_values != NULL || batch->evicted_scores != NULL;
    return batch->keys != NULL && has.values == (batch->values != NULL) &&
           has.values_out == (batch->values_out != NULL) && has.places == (batch->places != NULL) &&
           (has.scores_out || batch->scores_out == NULL) &&
           has.evicted == (batch->evicted_keys != NULL) &&
           has.evicted == (batch->evicted_count != NULL) && (has.evicted || !optional);
}

int sw_cache_batch_valid(const struct sw_cache_config *config, const struct sw_cache_batch *batch)
{
    bool adds = batch->op == SW_CACHE_ACCUM_OR_ASSIGN;
    if ((uint32_t)batch->op >= SW_CACHE_OP_COUNT || batch->count > SW_CACHE_BATCH_MAX ||
        (uint32_t)batch->element > SW_CACHE_U64) {
        return SW_E_INVALID;
    }
    if (batch->element == SW_CACHE_U64 && config->value_bytes % 8 != 0) {
        return SW_E_INVALID;
    }
    if ((batch->touch && (sw_cache_op_writes(batch->op) || config->policy == SW_CACHE_CUSTOM)) ||
        (batch->accumulate != NULL && !adds)) {
        return SW_E_INVALID;
    }
    return arrays_fit(batch) && scores_fit(config, batch) ? SW_OK : SW_E_INVALID;
}
