/* SPDX-License-Identifier: MIT
 *
 * robin_hood_backend.c - Robin Hood as an engine of a table.
 */
#include "table/robin_hood/robin_hood_backend.h"

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
