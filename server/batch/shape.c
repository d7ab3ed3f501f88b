/* SPDX-License-Identifier: MIT
 *
 * shape.c - the table's shape, from sw_table_info and the configuration.
 */
#include "server/batch/shape.h"

#include "server/batch/refusals.h"
#include "server/limits.h"
#include "table/info.h"

/* Returns the operations on rows of one element. */
static uint64_t operations_on(uint32_t element)
{
    static const uint8_t elements[] = {
#define ELEMENT(name, number, op, verb, guard, element, ...) [op] = SW_ELEMENT_##element,
        SW_DATA_OPERATION_MAP(ELEMENT)
#undef ELEMENT
    };
    uint64_t operations = 0;
    for (uint32_t op = 0; op < SW_OPS_END && element != SW_ELEMENT_OWN; op++) {
        operations |= elements[op] == element ? SW_OPS_ONE(op) : 0;
    }
    return operations;
}

/* Returns the engine's operations without those that clients may not use. Only the log and
 * replicas set ids. For rows these are operations that the type of the rows excludes. Rows of
 * numbers only have the sums of their type. Rows of bytes have all sums: the client chooses the
 * type. Only rows of strings have the operations on strings. Only rows of the element of an
 * operation have those that keep a number whose result does not fit. Rows of strings and of floats
 * have no operations on bits. */
static uint64_t without_those_of_others(uint64_t operations, const struct sw_config *config)
{
    if (!sw_config_has_rows(config)) {
        return config->ids > 0 ? operations & ~SW_OPS_PUT : operations;
    }
    const uint32_t type = config->value_type;
    if (type != SW_TYPE_STRING) {
        operations &= ~SW_OPS_STRING;
    }
    if (type == SW_TYPE_STRING || sw_value_type_kind(type) == SW_NUMBER_FLOAT) {
        operations &= ~SW_OPS_BITS;
    }
    operations &= ~SW_OPS_ADD |
                  (type == SW_TYPE_BYTES ? UINT64_MAX : operations_on(sw_value_type_adds(type)));
    return operations & (~SW_OPS_FITTING | operations_on(type));
}

struct sw_table_shape sw_table_shape_of(const struct sw_table *table,
                                        const struct sw_config *config)
{
    struct sw_table_info info;
    sw_table_info(table, &info);
    struct sw_table_shape shape = {
        .engine = info.engine,
        .engine_name = info.engine_name,
        .of_rows = sw_config_has_rows(config) ? SW_OF_ROWS
                   : config->ids > 0          ? SW_OF_IDS
                   : sw_config_is_set(config) ? SW_OF_SETS
                                              : "",
        .value_format = sw_config_value_format(config),
        .operations = without_those_of_others(info.operations, config),
        .batch_kinds = info.batch_kinds,
        .is_in_host = info.backend == SW_BACKEND_CPU,
        .expires = (info.operations >> SW_EXPIRE & 1) != 0,
        .default_ttl_ms = sw_default_ttl_ms(config),
        .has_ids = config->ids > 0,
        .is_set = sw_config_is_set(config),
        .has_scores = (info.operations >> SW_SET_SCORE & 1) != 0,
        .policy = info.cache_policy,
        .slot_bits = info.slot_bits,
        .key_bytes = info.key_bytes,
        .value_bytes = info.value_bytes,
        .key_text_bytes = info.key_text_bytes,
        .entry_bytes = info.slot_bits / 8,
        .batch_ops_max = info.batch_ops_max,
        .filters_slots = info.filters_slots,
        .max_capacity_slots = info.max_capacity_slots,
    };
    shape.frame_bytes_max =
        config->arena_bytes < SW_FRAME_BYTES_MAX ? config->arena_bytes : SW_FRAME_BYTES_MAX;
    uint64_t scan = config->arena_bytes / 2 / (info.key_bytes + info.value_bytes);
    shape.scan_ops_max = scan < info.batch_ops_max ? (uint32_t)scan : info.batch_ops_max;
    if (shape.is_set) {
        shape.entry_bytes = info.key_bytes;
    } else if (sw_config_numbers_slots(config)) {
        shape.entry_bytes = SW_CACHE_SLOT_BYTES + info.value_bytes;
    } else if (shape.value_format != SW_VALUE_INTEGER) {
        uint32_t slot = sw_config_has_rows(config) ? shape.entry_bytes : SW_CACHE_SLOT_BYTES;
        shape.entry_bytes = slot + info.value_bytes;
        shape.blob_bytes_max = info.value_bytes - info.key_text_bytes -
                               (shape.value_format == SW_VALUE_STRING ? SW_VALUE_LENGTH_BYTES : 0);
    }
    return shape;
}

/* The error text of a full table of each kind, and the error line. */
static const char *const full[][2] = {
#define BOTH(text)                \
    {                             \
        text, "-OOM " text "\r\n" \
    }
    BOTH(SW_FULL_FIXED), BOTH(SW_FULL_ROWS), BOTH(SW_FULL_IDS), BOTH(SW_FULL_GROWS)};

static const char *const *texts_of(const struct sw_table_shape *shape)
{
    return shape->engine == SW_ENGINE_CUCKOO         ? full[0]
           : shape->is_set                           ? full[3]
           : shape->value_format != SW_VALUE_INTEGER ? full[1]
           : shape->has_ids                          ? full[2]
                                                     : full[3];
}

const char *sw_table_full(const struct sw_table_shape *shape)
{
    return texts_of(shape)[0];
}

const char *sw_table_full_line(const struct sw_table_shape *shape)
{
    return texts_of(shape)[1];
}

const char *sw_table_no_times(const struct sw_table_shape *shape)
{
    return shape->is_set    ? SW_OF_SETS SW_WHY_NO_VALUES
           : shape->has_ids ? SW_OF_IDS SW_WHY_ENGINE
           : shape->engine == SW_ENGINE_ROBIN_HOOD
               ? " with the CUDA backend and batches this large: lower --round-ops-max and "
                 "--frame-ops-max"
               : SW_WHY_ENGINE;
}
