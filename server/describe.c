/* SPDX-License-Identifier: MIT
 *
 * describe.c - the table in words, for the start line.
 */
#include "server/describe.h"

#include <stdio.h>

#include "server/config/options.h"

void sw_describe_widths(const struct sw_config *config, const struct sw_table_info *info, char *out,
                        size_t room)
{
    enum sw_value_format format = sw_config_value_format(config);
    uint32_t bytes = info->value_bytes;
    if (format == SW_VALUE_INTEGER) {
        snprintf(out, room, "u%u keys, u%u values", info->key_bytes * 8, bytes * 8);
    } else if (format == SW_VALUE_STRING) {
        snprintf(out, room, "u%u keys, values of up to %u bytes", info->key_bytes * 8,
                 bytes - SW_VALUE_LENGTH_BYTES);
    } else {
        snprintf(out, room, "u%u keys, values of %u bytes", info->key_bytes * 8, bytes);
    }
}

void sw_describe_slots(const struct sw_config *config, const struct sw_table_info *info, char *out,
                       size_t room)
{
    int used = snprintf(out, room, "%llu slots", (unsigned long long)info->capacity_slots);
    if (info->engine == SW_ENGINE_CACHE) {
        snprintf(out + used, room - (size_t)used, " (%s policy, %s mode)",
                 sw_option_text(config, "policy"), sw_option_text(config, "cache-mode"));
        return;
    }
    used += snprintf(out + used, room - (size_t)used, " (%llu keys at load %.2f)",
                     (unsigned long long)info->occupied_max, config->max_load);
    if (config->max_capacity > config->capacity) {
        snprintf(out + used, room - (size_t)used, ", growing to at most %llu",
                 (unsigned long long)info->max_capacity_slots);
    }
}
