/* SPDX-License-Identifier: MIT
 *
 * engine.c - the table of engines: one line each.
 */
#include "table/engine.h"

#include "table/cache/cache_backend.h"
#include "table/config.h"
#include "table/cuckoo/cuckoo_backend.h"
#include "table/robin_hood/geometry.h"

static int robin_hood_valid(const struct sw_table_config *config, char *reason, size_t reason_size)
{
    struct sw_geometry geometry;
    return sw_geometry_plan(config, &geometry, reason, reason_size);
}

static uint64_t robin_hood_bytes(const struct sw_table_config *config)
{
    struct sw_geometry geometry = {0};
    (void)sw_geometry_plan(config, &geometry, NULL, 0); /* valid: it does not fail */
    return geometry.bytes_total;
}

/* By enum sw_engine. An engine without a line is not in this build. */
static const struct sw_engine_parts engines[] = {
    [SW_ENGINE_ROBIN_HOOD] = {robin_hood_valid, robin_hood_bytes, &sw_backend_cpu, sw_backend_cuda},
    [SW_ENGINE_CUCKOO] = {sw_cuckoo_valid, sw_cuckoo_bytes, &sw_cuckoo_backend_cpu,
                          sw_cuckoo_backend_cuda},
    [SW_ENGINE_CACHE] = {sw_cache_valid, sw_cache_bytes, &sw_cache_backend_cpu,
                         sw_cache_backend_cuda},
};

int sw_engine_find(const struct sw_table_config *config, const struct sw_engine_parts **parts,
                   char *reason, size_t reason_size)
{
    *parts = NULL;
    int status = sw_config_valid(config, reason, reason_size);
    if (status != SW_OK) {
        return status;
    }
    size_t index = (size_t)config->engine;
    if (index >= sizeof(engines) / sizeof(engines[0]) || engines[index].cpu == NULL) {
        sw_config_refuse(reason, reason_size, "this build has no %s engine: choose another",
                         sw_engine_name(config->engine));
        return SW_E_NOTBUILT;
    }
    if (engines[index].valid != NULL) {
        status = engines[index].valid(config, reason, reason_size);
    }
    if (status == SW_OK) {
        *parts = &engines[index];
    }
    return status;
}
