/* SPDX-License-Identifier: MIT
 *
 * watch.c - logs changes of the table's capacity.
 */
#include "server/observe/watch.h"

#include "proto/plural.h"
#include "server/limits.h"
#include "server/observe/log.h"
#include "table/info.h"

void sw_watch_init(struct sw_watch *watch, const struct sw_table *table)
{
    struct sw_table_info info;
    struct sw_table_stats stats;
    sw_table_stats(table, &stats);
    sw_table_info(table, &info);
    *watch = (struct sw_watch){
        .table = table,
        .capacity_slots = info.capacity_slots,
        .grown = stats.grown,
        .resized = stats.resized,
        .resize_failed = stats.resize_failed,
    };
}

static void log_change(struct sw_watch *watch, const struct sw_table_info *info,
                       const struct sw_table_stats *stats)
{
    uint64_t grown = stats->grown - watch->grown;
    uint64_t resized = stats->resized - watch->resized;
    if (grown == 0 && resized == 0 && info->capacity_slots == watch->capacity_slots) {
        return;
    }
    sw_log(SW_LOG_INFO,
           "the table has %llu slot%s now, %llu before (grew %llu time%s, resized %llu time%s): "
           "room for %llu key%s, %.1f MiB",
           (unsigned long long)info->capacity_slots, sw_plural_s(info->capacity_slots),
           (unsigned long long)watch->capacity_slots, (unsigned long long)grown, sw_plural_s(grown),
           (unsigned long long)resized, sw_plural_s(resized),
           (unsigned long long)info->occupied_max, sw_plural_s(info->occupied_max),
           (double)info->bytes_reserved / 1048576.0);
    watch->capacity_slots = info->capacity_slots;
    watch->grown = stats->grown;
    watch->resized = stats->resized;
}

static void log_failures(struct sw_watch *watch, const struct sw_table_info *info,
                         const struct sw_table_stats *stats, uint64_t now_ms)
{
    uint64_t failed = stats->resize_failed - watch->resize_failed;
    if (failed == 0 || (watch->warned_ms != 0 && now_ms - watch->warned_ms < SW_WATCH_WARNING_MS)) {
        return;
    }
    sw_log(
        SW_LOG_WARNING,
        "the table could not grow or be resized (%llu time%s): not enough memory for the old and "
        "the new slots at once, or too many keys would meet the probe cap; it keeps %llu slot%s "
        "and refuses new keys at its maximum load",
        (unsigned long long)failed, sw_plural_s(failed), (unsigned long long)info->capacity_slots,
        sw_plural_s(info->capacity_slots));
    watch->resize_failed = stats->resize_failed;
    watch->warned_ms = now_ms;
}

void sw_watch_check(struct sw_watch *watch, uint64_t now_ms)
{
    struct sw_table_info info;
    struct sw_table_stats stats;
    sw_table_stats(watch->table, &stats);
    sw_table_info(watch->table, &info);
    log_change(watch, &info, &stats);
    log_failures(watch, &info, &stats, now_ms);
}
