/* SPDX-License-Identifier: MIT
 *
 * describe.c - addresses and table in words, for the start line.
 */
#include "server/describe.h"

#include <stdio.h>
#include <string.h>

#include "proto/plural.h"
#include "server/config/options.h"
#include "table/configuration.h"
#include "table/info.h"

void sw_describe_addresses(const struct sw_config *config, bool activated, uint16_t port,
                           uint16_t tls_port, char *out, size_t room)
{
    char each[3][160];
    unsigned count = 0;
    if (activated) {
        snprintf(each[count++], sizeof(each[0]), "the sockets of the service manager");
    } else if (config->bind[0] != '\0' && config->tls_only == 0) {
        snprintf(each[count++], sizeof(each[0]), "%s:%u", config->bind, port);
    }
    if (config->tls_port != 0) {
        snprintf(each[count++], sizeof(each[0]), "%s:%u by TLS", config->bind, tls_port);
    }
    if (config->unix_socket[0] != '\0' && !activated) {
        snprintf(each[count++], sizeof(each[0]), "unix:%s", config->unix_socket);
    }
    out[0] = '\0';
    for (unsigned i = 0; i < count; i++) {
        size_t used = strlen(out);
        snprintf(out + used, room - used, "%s%s", each[i],
                 i + 1 == count   ? ""
                 : i + 2 == count ? " and "
                                  : ", ");
    }
}

void sw_describe_widths(const struct sw_config *config, const struct sw_table_info *info, char *out,
                        size_t room)
{
    enum sw_value_format format = sw_config_value_format(config);
    uint32_t bytes = info->value_bytes - info->key_text_bytes;
    static const char of_hashes[] =
        ", RESP keys are hashes of texts (two of n texts are one key with "
        "a chance of n^2 / 2^65)";
    static const char of_both[] =
        ", RESP keys are integers or texts, which are hashed (two of n keys are one with a "
        "chance of at most n^2 / 2^65)";
    char of_texts[96];
    snprintf(of_texts, sizeof(of_texts),
             ", RESP keys are hashes of texts, which are kept and compared, of up to %u bytes",
             config->resp_key_text_bytes);
    const char *keys = info->key_text_bytes > 0                 ? of_texts
                       : config->resp_keys == SW_RESP_KEYS_HASH ? of_hashes
                       : config->resp_keys == SW_RESP_KEYS_AUTO ? of_both
                       : config->resp_keys == SW_RESP_KEYS_RAW  ? ", RESP keys are raw bytes"
                                                                : "";
    int used;
    if (sw_config_is_set(config)) {
        used = snprintf(out, room, "u%u keys without values", info->key_bytes * 8);
    } else if (format == SW_VALUE_INTEGER) {
        used = snprintf(out, room, "u%u keys, u%u values", info->key_bytes * 8, bytes * 8);
    } else if (format == SW_VALUE_STRING) {
        used = snprintf(out, room, "u%u keys, values of up to %u bytes", info->key_bytes * 8,
                        bytes - SW_VALUE_LENGTH_BYTES);
    } else {
        used = snprintf(out, room, "u%u keys, values of %u bytes", info->key_bytes * 8, bytes);
    }
    snprintf(out + used, room - (size_t)used, "%s", keys);
}

void sw_describe_slots(const struct sw_config *config, const struct sw_table_info *info, char *out,
                       size_t room)
{
    int used = snprintf(out, room, "%llu slot%s", (unsigned long long)info->capacity_slots,
                        sw_plural_s(info->capacity_slots));
    if (info->engine == SW_ENGINE_CACHE) {
        snprintf(out + used, room - (size_t)used, " (%s policy, %s mode)",
                 sw_option_text(config, "policy"), sw_option_text(config, "cache-mode"));
        return;
    }
    used += snprintf(out + used, room - (size_t)used, " (%llu key%s at load %.2f)",
                     (unsigned long long)info->occupied_max, sw_plural_s(info->occupied_max),
                     config->max_load);
    if (config->max_capacity > config->capacity) {
        snprintf(out + used, room - (size_t)used, ", growing to at most %llu%s",
                 (unsigned long long)info->max_capacity_slots,
                 (config->derived & SW_DERIVED_MAX_CAPACITY) != 0
                     ? " (max-capacity: what half of the memory holds)"
                     : "");
    }
}

void sw_describe_http(const struct sw_config *config, bool has_http, uint16_t port, char *out,
                      size_t room)
{
    if (has_http) {
        snprintf(out, room, "HTTP%s on %s:%u", config->http_tls != 0 ? " by TLS" : "",
                 config->http_bind, port);
    } else {
        snprintf(out, room, "no HTTP");
    }
}

void sw_describe_files(const struct sw_config *config, char *out, size_t room)
{
    if (config->data_dir[0] != '\0') {
        snprintf(out, room, "snapshots%s in %s", config->appendonly != 0 ? " and a log" : "",
                 config->data_dir);
    } else {
        snprintf(out, room, "in memory only");
    }
}
