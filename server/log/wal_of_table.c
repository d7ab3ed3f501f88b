/* SPDX-License-Identifier: MIT
 *
 * wal_of_table.c - turns the options into the configuration of the log.
 */
#include "server/log/wal_of_table.h"

#include "proto/key_form.h"
#include "server/observe/log.h"
#include "table/info.h"

/* Enough time to write a snapshot of a few GiB, which restarts a broken log. */
#define PATIENCE_MS 10000

uint64_t sw_wal_longest(const struct sw_table *table)
{
    struct sw_table_info info;
    sw_table_info(table, &info);
    const struct sw_wal_shape widths = {.key_bytes = info.key_bytes,
                                        .value_bytes = info.value_bytes};
    return sw_wal_columns_bytes_max(&widths, info.batch_ops_max,
                                    (info.operations >> SW_EXPIRE & 1) != 0);
}

int sw_wal_of_table(const struct sw_config *config, const struct sw_table *table,
                    void (*wake)(void *context), void (*synced)(void *context, uint64_t us),
                    void *context, struct sw_wal **out)
{
    static const enum sw_wal_level levels[] = {[SW_CONFIG_ALWAYS] = SW_WAL_ALWAYS,
                                               [SW_CONFIG_EVERYSEC] = SW_WAL_EVERYSEC,
                                               [SW_CONFIG_NO] = SW_WAL_NO};
    struct sw_table_info info;
    sw_table_info(table, &info);
    const struct sw_wal_shape shape = {info.key_bytes,
                                       info.value_bytes,
                                       (uint32_t)info.engine,
                                       (uint32_t)sw_config_value_format(config),
                                       sw_config_value_type(config),
                                       info.key_text_bytes};
    const struct sw_wal_config wal = {
        .level = levels[config->appendfsync],
        .segment_bytes = config->log_segment_bytes,
        .backlog_bytes = config->log_backlog_bytes,
        .patience_ms = PATIENCE_MS,
        .columns_bytes_max = sw_wal_longest(table),
        .shape = shape,
        .key_form = sw_key_form_told(config->resp_keys),
        .wake = wake,
        .synced = synced,
        .context = context,
    };
    *out = sw_wal_create(&wal);
    if (*out == NULL) {
        sw_log(SW_LOG_ERROR, "no memory for the write-ahead log");
        return -1;
    }
    return 0;
}
