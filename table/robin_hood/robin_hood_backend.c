/* SPDX-License-Identifier: MIT
 *
 * robin_hood_backend.c - the Robin Hood table engines: integers, rows, ids and key sets.
 */
#include "table/robin_hood/robin_hood_backend.h"

#include "table/config.h"
#include "table/robin_hood/ids.h"
#include "table/robin_hood/ids_backend.h"
#include "table/robin_hood/rows.h"
#include "table/robin_hood/set_backend.h"

static int valid(const struct sw_table_config *config, char *reason, size_t reason_size)
{
    struct sw_geometry geometry;
    return sw_geometry_compute(config, &geometry, reason, reason_size);
}

static uint64_t bytes(const struct sw_table_config *config)
{
    struct sw_geometry geometry = {0};
    (void)sw_geometry_compute(config, &geometry, NULL, 0); /* valid: it does not fail */
    return geometry.bytes_total;
}

const struct sw_engine_parts sw_robin_hood_engine = {
    .name = "robin_hood",
    .fields = SW_FIELD_MAX_CAPACITY | SW_FIELD_MAX_PROBE | SW_FIELD_BULK | SW_FIELD_RANGES |
              SW_FIELD_HINTS,
    .valid = valid,
    .bytes = bytes,
    .cpu = &sw_robin_hood_backend_cpu,
    .cuda = sw_robin_hood_backend_cuda,
};

/* --- rows ------------------------------------------------------------------------------------- */

/* A table that hands no entry back needs a stash. */
static bool stash_is_valid(const struct sw_table_config *config, const char *what, char *reason,
                           size_t reason_size)
{
    const bool valid = config->stash_slots > 0 && config->max_load <= 1.0;
    if (!valid) {
        (void)sw_config_refuse(reason, reason_size,
                               "a table with %s must have a stash and a maximum load of at most 1",
                               what);
    }
    return valid;
}

/* Checks the limits that rows and ids share; `what` names the two. */
static bool numbers_are_valid(const struct sw_table_config *config, const char *what, char *reason,
                              size_t reason_size)
{
    if (config->rows_max > sw_geometry_rows_limit(config)) {
        (void)sw_config_refuse(
            reason, reason_size, "a table of %u-bit slots must have at most %llu %s, not %llu",
            (unsigned)config->slot_bits, (unsigned long long)sw_geometry_rows_limit(config), what,
            (unsigned long long)config->rows_max);
        return false;
    }
    return stash_is_valid(config, what, reason, reason_size);
}

static int rows_valid(const struct sw_table_config *config, char *reason, size_t reason_size)
{
    const uint32_t bytes = config->value_bytes;
    if (bytes < SW_ROW_BYTES_MIN || bytes > SW_ROW_BYTES_MAX || bytes % 4 != 0) {
        return sw_config_refuse(reason, reason_size,
                                "rows must have %u to %u bytes, a multiple of 4, not %u",
                                SW_ROW_BYTES_MIN, SW_ROW_BYTES_MAX, (unsigned)bytes);
    }
    if (!numbers_are_valid(config, "rows", reason, reason_size)) {
        return SW_E_INVALID;
    }
    if (config->key_text_bytes % 8 != 0 || config->key_text_bytes > bytes - SW_ROW_BYTES_MIN) {
        return sw_config_refuse(reason, reason_size,
                                "key strings must take a multiple of 8 bytes of a row and leave %u "
                                "bytes for the value: %u of %u do not",
                                SW_ROW_BYTES_MIN, (unsigned)config->key_text_bytes,
                                (unsigned)bytes);
    }
    if ((unsigned)config->rows_in > SW_ROWS_IN_GPU_HOST) {
        return sw_config_refuse(reason, reason_size, "rows must be in gpu or host memory, or both");
    }
    if (config->rows_gpu_bytes != 0 && config->rows_in != SW_ROWS_IN_GPU_HOST) {
        return sw_config_refuse(
            reason, reason_size,
            "a limit of GPU memory for rows needs rows in both memories: use rows-in gpu+host");
    }
    return valid(config, reason, reason_size);
}

static uint64_t rows_bytes(const struct sw_table_config *config)
{
    struct sw_geometry geometry = {0};
    (void)sw_geometry_compute(config, &geometry, NULL, 0); /* valid: it does not fail */
    return geometry.bytes_total +
           geometry.occupied_max * (sw_row_stride(config->value_bytes) + sizeof(uint32_t));
}

const struct sw_engine_parts sw_robin_hood_rows_engine = {
    .name = "robin_hood",
    .fields = SW_FIELD_MAX_CAPACITY | SW_FIELD_MAX_PROBE | SW_FIELD_BULK | SW_FIELD_RANGES |
              SW_FIELD_HINTS | SW_FIELD_VALUE_BYTES | SW_FIELD_ROWS_MAX | SW_FIELD_ROWS_IN |
              SW_FIELD_KEY_STRINGS,
    .valid = rows_valid,
    .bytes = rows_bytes,
    .cpu = &sw_robin_hood_rows_backend_cpu,
    .cuda = sw_robin_hood_rows_backend_cuda,
};

/* --- ids -------------------------------------------------------------------------------------- */

static int ids_valid(const struct sw_table_config *config, char *reason, size_t reason_size)
{
    return numbers_are_valid(config, "ids", reason, reason_size)
               ? valid(config, reason, reason_size)
               : SW_E_INVALID;
}

static uint64_t ids_bytes(const struct sw_table_config *config)
{
    return bytes(config) + sw_ids_bytes(config->rows_max);
}

const struct sw_engine_parts sw_robin_hood_ids_engine = {
    .name = "robin_hood",
    .fields = SW_FIELD_MAX_CAPACITY | SW_FIELD_MAX_PROBE | SW_FIELD_BULK | SW_FIELD_RANGES |
              SW_FIELD_HINTS | SW_FIELD_ROWS_MAX,
    .valid = ids_valid,
    .bytes = ids_bytes,
    .cpu = &sw_robin_hood_ids_backend_cpu,
    .cuda = sw_robin_hood_ids_backend_cuda,
};

/* --- key sets --------------------------------------------------------------------------------- */

static int set_valid(const struct sw_table_config *config, char *reason, size_t reason_size)
{
    return stash_is_valid(config, "keys without values", reason, reason_size)
               ? valid(config, reason, reason_size)
               : SW_E_INVALID;
}

const struct sw_engine_parts sw_robin_hood_set_engine = {
    .name = "robin_hood",
    .fields = SW_FIELD_MAX_CAPACITY | SW_FIELD_MAX_PROBE | SW_FIELD_BULK | SW_FIELD_RANGES |
              SW_FIELD_HINTS | SW_FIELD_SET,
    .valid = set_valid,
    .bytes = bytes,
    .cpu = &sw_robin_hood_set_backend_cpu,
    .cuda = sw_robin_hood_set_backend_cuda,
};
