/* SPDX-License-Identifier: MIT
 *
 * engine.c - the list of engines: one line each.
 */
#include "table/engine.h"

#include <stdio.h>

#include "table/cache/cache_backend.h"
#include "table/config.h"
#include "table/cuckoo/cuckoo_backend.h"
#include "table/robin_hood/ids_backend.h"
#include "table/robin_hood/robin_hood_backend.h"
#include "table/robin_hood/set_backend.h"

static const struct sw_engine_parts *const engines[] = {
    [SW_ENGINE_ROBIN_HOOD] = &sw_robin_hood_engine,
    [SW_ENGINE_CUCKOO] = &sw_cuckoo_engine,
    [SW_ENGINE_CACHE] = &sw_cache_engine,
};
#define ENGINES (sizeof(engines) / sizeof(engines[0]))

/* "the engine must be robin_hood, cuckoo or cache" */
static int refuse_engine(char *reason, size_t reason_size)
{
    char names[128] = "";
    size_t used = 0;
    for (size_t i = 0; i < ENGINES; i++) {
        const char *join = i == 0 ? "" : i + 1 == ENGINES ? " or " : ", ";
        used +=
            (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", join, engines[i]->name);
    }
    return sw_config_refuse(reason, reason_size, "the engine must be %s", names);
}

/* Robin Hood has four lists of parts: for values that are integers, for rows, for ids, and for keys
 * without values. */
static const struct sw_engine_parts *parts_of(const struct sw_table_config *config)
{
    const bool is_robin_hood = config->engine == SW_ENGINE_ROBIN_HOOD;
    return is_robin_hood && config->is_set             ? &sw_robin_hood_set_engine
           : is_robin_hood && config->value_bytes != 0 ? &sw_robin_hood_rows_engine
           : is_robin_hood && config->rows_max != 0    ? &sw_robin_hood_ids_engine
                                                       : engines[config->engine];
}

int sw_engine_find(const struct sw_table_config *config, const struct sw_engine_parts **parts,
                   char *reason, size_t reason_size)
{
    const size_t index = (size_t)config->engine;
    const struct sw_engine_parts *found = NULL;
    *parts = NULL;
    int status = sw_config_valid(config, reason, reason_size);
    if (status == SW_OK && index >= ENGINES) {
        status = refuse_engine(reason, reason_size);
    }
    if (status == SW_OK) {
        found = parts_of(config);
        status = sw_config_own(config, found->name, found->fields, reason, reason_size);
    }
    if (status == SW_OK) {
        status = found->valid(config, reason, reason_size);
    }
    if (status == SW_OK) {
        *parts = found;
    }
    return status;
}

bool sw_table_config_may_use_device(const struct sw_table_config *config)
{
    const struct sw_engine_parts *parts;
    return config->backend != SW_BACKEND_CPU && sw_engine_find(config, &parts, NULL, 0) == SW_OK &&
           parts->cuda() != NULL;
}
