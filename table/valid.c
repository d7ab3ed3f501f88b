/* SPDX-License-Identifier: MIT
 *
 * valid.c - checks that a batch keeps the rules of batch.h, and that the table supports it.
 */
#include "table/valid.h"

#include "proto/ops/range_apply.h"
#include "table/backend.h"
#include "table/config.h"
#include "table/expiring.h"
#include "table/found_bytes.h"
#include "table/imported_memory.h"

static bool groups_are_valid(const struct sw_batch *batch)
{
    uint32_t before = 0;
    if (batch->group_count == 0) {
        return true;
    }
    if (batch->group_ends == NULL) {
        return false;
    }
    for (uint32_t g = 0; g < batch->group_count; g++) {
        if (batch->group_ends[g] < before) {
            return false;
        }
        before = batch->group_ends[g];
    }
    return before == batch->count;
}

/* Returns the set of the operations of a batch, as bits; 0 if one of them does not exist. */
static uint64_t operations_of(const struct sw_batch *batch)
{
    if (batch->ops == NULL) {
        return (unsigned)batch->op < SW_OP_END ? SW_OPS_ONE(batch->op) : 0;
    }
    uint64_t seen = SW_OPS_ONE(SW_GET); /* an empty batch is valid */
    uint8_t largest = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        largest = batch->ops[i] > largest ? batch->ops[i] : largest;
        seen |= SW_OPS_ONE(batch->ops[i] & 63);
    }
    return largest < SW_OP_END ? seen : 0;
}

#define WITHOUT_OPERANDS (~SW_OPS_OPERAND)

static bool has_scores(const struct sw_table *table)
{
    return (table->operations >> SW_SET_SCORE & 1) != 0;
}

/* Returns whether the engine, and the policy of a cache, accept the scores of the batch; `seen` is
 * the set of its operations. */
static bool scores_are_valid(const struct sw_table *table, const struct sw_batch *batch,
                             uint64_t seen)
{
    const enum sw_cache_policy policy = table->config.cache_policy;
    if (batch->not_admitted != NULL && table->config.engine != SW_ENGINE_CACHE) {
        return false;
    }
    if (!has_scores(table)) {
        return batch->scores == NULL && batch->scores_out == NULL &&
               batch->leftover_scores == NULL && !batch->restores;
    }
    const bool loads_ids = (seen & SW_OPS_ONE(SW_SET)) != 0 && sw_config_has_ids(&table->config);
    if (batch->restores || loads_ids) {
        return batch->restores && batch->scores != NULL && seen == SW_OPS_ONE(SW_SET);
    }
    if (batch->leftover_scores != NULL && batch->leftover_keys == NULL) {
        return false;
    }
    if (batch->scores != NULL) {
        return sw_cache_takes_scores(policy);
    }
    return policy != SW_CACHE_CUSTOM || (seen >> SW_SET_SCORE & 1) == 0;
}

/* Returns whether each part that the batch replaces or compares lies inside a row. */
static bool parts_are_valid(const struct sw_table *table, const struct sw_batch *batch,
                            uint64_t seen)
{
    const uint32_t bytes = table->config.value_bytes - table->config.key_text_bytes;
    const uint64_t of_parts = SW_OPS_PART | (table->config.value_bytes != 0 ? SW_OPS_PAIR : 0);
    if ((seen & of_parts & table->operations) == 0) {
        return true;
    }
    if (batch->ranges == NULL || batch->shared) {
        return batch->count == 0;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        const uint32_t op = batch->ops == NULL ? (uint32_t)batch->op : batch->ops[i];
        const uint32_t end = SW_OPS_HAS(SW_OPS_PART, op)   ? sw_range_end(batch->ranges[i])
                             : SW_OPS_HAS(SW_OPS_PAIR, op) ? batch->ranges[i]
                                                           : 0;
        if (end > bytes) {
            return false;
        }
    }
    return true;
}

/* Returns whether the batch has the second operands that its operations need. */
static bool pairs_are_valid(const struct sw_table *table, const struct sw_batch *batch,
                            uint64_t seen)
{
    return (seen & SW_OPS_PAIR & table->operations) == 0 || batch->count == 0 ||
           (batch->expected != NULL && !batch->shared);
}

/* Returns whether the batch has what its operations need beside keys and values. Few do. */
static bool has_the_rest(const struct sw_table *table, const struct sw_batch *batch, uint64_t seen)
{
    uint64_t special = SW_OPS_PART;
    special |= SW_OPS_PAIR;
    return (seen & special) == 0 ||
           (parts_are_valid(table, batch, seen) && pairs_are_valid(table, batch, seen));
}

/* Returns whether a batch that concerns times can be launched. If writes are combined, such a batch
 * is always gathered, even if it hands entries back, so it must have no more groups than
 * operations. */
static bool times_are_valid(const struct sw_table *table, const struct sw_batch *batch)
{
    const bool concerns = batch->_times || sw_table_may_expire(table);
    return !table->combines || !concerns || batch->group_count <= batch->count ||
           sw_batch_is_read(batch);
}

bool sw_batch_loads_once(const struct sw_table *table, const struct sw_batch *batch)
{
    return !table->combines || sw_batch_is_read(batch) ||
           sw_combiner_gathers(&table->combiner, batch);
}

/* Returns whether the backend can return `found` as bytes, if the batch wants that. */
static bool found_is_valid(const struct sw_table *table, const struct sw_batch *batch)
{
    return !sw_found_is_bytes(batch->found) ||
           (table->backend->importing != NULL && sw_batch_only_reads(batch));
}

/* Returns whether the batch needs no operands: a key set has no values, and a table of ids chooses
 * them for FIND_OR_INSERT. */
static bool needs_no_values(const struct sw_table *table, uint64_t seen)
{
    return table->config.is_set ||
           ((table->config.engine == SW_ENGINE_ROBIN_HOOD || sw_config_has_ids(&table->config)) &&
            (seen & ~WITHOUT_OPERANDS) == SW_OPS_ONE(SW_FIND_OR_INSERT));
}

static int check_operations(const struct sw_table *table, struct sw_batch *batch)
{
    if (batch->count > table->config.batch_ops_max || (batch->count > 0 && batch->keys == NULL)) {
        return SW_E_INVALID;
    }
    uint64_t seen = operations_of(batch);
    bool upserts = (seen & ~WITHOUT_OPERANDS) != 0 && batch->count > 0;
    if (seen == 0 || (upserts && batch->values == NULL && !needs_no_values(table, seen))) {
        return SW_E_INVALID;
    }
    if (upserts && table->config.engine == SW_ENGINE_ROBIN_HOOD && table->config.stash_slots == 0 &&
        (batch->leftover_keys == NULL || batch->leftover_values == NULL)) {
        return SW_E_INVALID;
    }
    if (!found_is_valid(table, batch) || !groups_are_valid(batch) ||
        !scores_are_valid(table, batch, seen) || !has_the_rest(table, batch, seen)) {
        return SW_E_INVALID;
    }
    const bool gathered = batch->shared || (table->combines && table->combiner.gathers_all);
    if (gathered && ((batch->shared && table->config.key_text_bytes > 0) ||
                     !sw_batch_loads_once(table, batch))) {
        return SW_E_INVALID;
    }
    if (batch->wide_operands &&
        ((seen & ~SW_OPS_16_BITS & ~WITHOUT_OPERANDS) != 0 || table->config.key_text_bytes > 0)) {
        return SW_E_INVALID;
    }
    batch->_adjusts = (seen & (SW_BACKEND_EXPIRES | SW_OPS_ONE(SW_SET_SCORE))) != 0;
    if (batch->expires != NULL || batch->expires_out != NULL || batch->remove_count > 0 ||
        (batch->expire_at != 0 && batch->expire_at != SW_EXPIRE_KEEP)) {
        seen |= SW_OPS_ONE(SW_EXPIRE);
    }
    batch->_times = (seen & SW_BACKEND_EXPIRES) != 0;
    if (!times_are_valid(table, batch)) {
        return SW_E_INVALID;
    }
    return (seen & ~table->operations) == 0 ? SW_OK : SW_E_UNSUPPORTED;
}

static int check_scan(const struct sw_table *table, const struct sw_batch *batch)
{
    bool valid = batch->count > 0 && batch->count <= table->config.batch_ops_max &&
                 batch->scan.keys != NULL && (batch->scan.values != NULL || table->config.is_set);
    if (!has_scores(table)) {
        valid = valid && batch->scan.scores == NULL && !batch->scan.by_score;
    }
    return valid ? SW_OK : SW_E_INVALID;
}

static bool filter_is_valid(const struct sw_table *table, const struct sw_batch *batch)
{
    return batch->filter == NULL ||
           (batch->ops == NULL && batch->op == SW_GET && table->filters_slots);
}

int sw_batch_check(const struct sw_table *table, struct sw_batch *batch)
{
    if ((unsigned)batch->kind >= (unsigned)SW_BATCH_KIND_COUNT) {
        return SW_E_INVALID;
    }
    if ((table->batch_kinds >> batch->kind & 1) == 0) {
        return SW_E_UNSUPPORTED;
    }
    switch (batch->kind) {
    case SW_BATCH_OPERATIONS:
        return filter_is_valid(table, batch) ? check_operations(table, batch) : SW_E_INVALID;
    case SW_BATCH_SCAN:
        return check_scan(table, batch);
    case SW_BATCH_SWEEP:
        return batch->count <= table->config.batch_ops_max ? SW_OK : SW_E_INVALID;
    case SW_BATCH_RESIZE:
        return batch->capacity <= table->capacity_max ? SW_OK : SW_E_INVALID;
    case SW_BATCH_EPOCH:
        return batch->epoch <= UINT32_MAX ? SW_OK : SW_E_INVALID;
    default: /* CLEAR, COUNT_SCORES, ERASE_SCORES */
        break;
    }
    return SW_OK;
}
