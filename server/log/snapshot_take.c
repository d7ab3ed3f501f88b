/* SPDX-License-Identifier: MIT
 *
 * snapshot_take.c - takes images of the table, and fills in the header of a snapshot.
 */
#include "server/log/snapshot_take.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "proto/key_form.h"
#include "proto/value_type.h"
#include "server/log/clock.h"
#include "table/batch.h"
#include "table/configuration.h"
#include "table/expiring.h"
#include "table/image.h"
#include "table/info.h"

static_assert((int)SW_VALUE_INTEGER == (int)SW_FRAME_VALUES_INTEGER &&
                  (int)SW_VALUE_STRING == (int)SW_FRAME_VALUES_STRING &&
                  (int)SW_VALUE_FIXED == (int)SW_FRAME_VALUES_FIXED,
              "a snapshot has the numbers of the table's value formats");

static void fill_header(struct sw_snapshot_write *write, const struct sw_table *table,
                        const struct sw_config *config)
{
    struct sw_snapshot_header *header = &write->header;
    struct sw_table_info info;
    sw_table_info(table, &info);
    bool is_cache = info.engine == SW_ENGINE_CACHE;
    *header = (struct sw_snapshot_header){
        .sequence = sw_image_sequence(write->image),
        .key_bytes = info.key_bytes,
        .value_bytes = info.value_bytes,
        .engine = (uint32_t)info.engine,
        .value_format = (uint32_t)sw_config_value_format(config),
        .columns = SW_SNAPSHOT_KEYS | SW_SNAPSHOT_VALUES | (is_cache ? SW_SNAPSHOT_SCORES : 0) |
                   (sw_image_expires(write->image) ? SW_SNAPSHOT_TIMES : 0),
        .capacity = info.capacity_slots,
        .epoch = sw_image_epoch(write->image),
        .incarnation = header->incarnation,
        .segment = header->segment,
        .segments_from = header->segments_from,
        .table = header->table,
        .wall_us = sw_log_wall_us(),
        .policy = is_cache ? (uint32_t)info.cache_policy : 0,
        .value_type = is_cache ? SW_TYPE_BYTES : sw_config_value_type(config),
        .key_text_bytes = info.key_text_bytes,
        .key_form = sw_key_form_told(config->resp_keys),
        .writer = "sherwoodd " SHERWOOD_VERSION,
    };
    header->block_entries =
        sw_snapshot_block_entries(header->key_bytes, header->value_bytes, header->columns);
    memcpy(header->log_id, write->directory->log_id, SW_LOG_ID_BYTES);
}

static void say_why(struct sw_table *table, int status, char reason[SW_SNAPSHOT_REASON_BYTES])
{
    struct sw_table_info info;
    sw_table_info(table, &info);
    if (status == SW_E_NOMEM) {
        snprintf(reason, SW_SNAPSHOT_REASON_BYTES,
                 "not enough memory for a snapshot: it needs %llu MiB of %s memory",
                 (unsigned long long)(sw_image_bytes(table) >> 20),
                 info.backend == SW_BACKEND_CUDA ? "device" : "host");
    } else {
        snprintf(reason, SW_SNAPSHOT_REASON_BYTES, "the table cannot be copied: %s",
                 sw_status_text(status));
    }
}

/* Takes an image, unless another caller has claimed it with precedence. */
static int try_image(struct sw_queue *queue, struct sw_table *table, bool first, bool borrow,
                     struct sw_image **out)
{
    const uint32_t claims = sw_image_claims(table);
    int status =
        first || !sw_image_is_claimed(table) ? sw_image_take(queue, borrow, out) : SW_E_BUSY;
    if (status == SW_OK && !first && sw_image_claims(table) != claims) {
        sw_image_drop(*out); /* it may have a number that the other caller gives back */
        *out = NULL;
        status = SW_E_BUSY;
    }
    /* another image has the memory, and its holder will drop it soon */
    return first && status == SW_E_NOMEM && sw_table_images(table) > 0 ? SW_E_BUSY : status;
}

int sw_snapshot_image(struct sw_table *table, bool first, bool borrow, bool (*waits)(void *context),
                      void *context, struct sw_image **out)
{
    const struct timespec rest = {.tv_nsec = 2000000};
    struct sw_queue *queue = NULL;
    int status = sw_queue_create(table, &queue);
    if (status != SW_OK) {
        return status;
    }
    if (first) {
        sw_image_claim(table);
    }
    while ((status = try_image(queue, table, first, borrow, out)) == SW_E_BUSY &&
           (waits == NULL || waits(context))) {
        nanosleep(&rest, NULL);
    }
    if (first) {
        sw_image_unclaim(table);
    }
    sw_queue_destroy(queue);
    return status;
}

int sw_snapshot_take(struct sw_snapshot_write *write, struct sw_table *table,
                     const struct sw_config *config, bool borrow,
                     char reason[SW_SNAPSHOT_REASON_BYTES])
{
    int status = sw_snapshot_image(table, write->goes_first, borrow, write->waits, write->context,
                                   &write->image);
    if (status != SW_OK) {
        say_why(table, status, reason);
        return -1;
    }
    fill_header(write, table, config);
    return 0;
}
