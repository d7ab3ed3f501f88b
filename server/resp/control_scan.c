/* SPDX-License-Identifier: MIT
 *
 * control_scan.c - shared by all passes over the table: their batch, and the keys that this node
 * shows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/config/live.h"
#include "server/limits.h"
#include "server/net/conn.h"
#include "server/resp/control_parts.h"
#include "server/resp/glob.h"
#include "server/resp/resp.h"

/* Steps of sw_glob_matches between two batches: a few milliseconds. */
#define MATCH_STEPS_MAX (4ULL << 20)
/* Bytes of a pattern that an error shows. */
#define PATTERN_SHOWN_BYTES 128

uint64_t sw_control_key_at(const struct sw_control *control, uint32_t i)
{
    return sw_integer_at(control->flight.batch.scan.keys, control->resp->batches->shape.key_bytes,
                         i);
}

const char *sw_control_text_at(const struct sw_control *control, uint32_t i, char *room,
                               size_t *size)
{
    return sw_key_string_at(&control->resp->keys, &control->resp->batches->shape,
                            sw_control_key_at(control, i), control->flight.batch.scan.values, i,
                            room, size);
}

void sw_control_put_key_to(const struct sw_control *control, struct sw_text *text, uint32_t i)
{
    char room[SW_KEY_STRING_BYTES_MAX];
    size_t size = 0;
    const char *key = sw_control_text_at(control, i, room, &size);
    sw_text_bulk(text, key, size);
}

void sw_control_put_key(struct sw_control *control, uint32_t i)
{
    sw_control_put_key_to(control, &control->keys, i);
    control->keys_count++;
}

bool sw_control_is_mine(const struct sw_control *control, uint64_t key)
{
    const struct sw_cluster_view *view = control->conn->net->cluster.view;
    return view == NULL || sw_cluster_holds(view, sw_cluster_slot(view, key));
}

void sw_control_keep_mine(struct sw_control *control)
{
    struct sw_batch *batch = &control->flight.batch;
    const uint32_t bytes = control->resp->batches->shape.key_bytes;
    uint8_t *keys = batch->scan.keys;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < batch->scan.got; i++) {
        if (sw_control_is_mine(control, sw_integer_at(keys, bytes, i))) {
            memmove(keys + (size_t)kept++ * bytes, keys + (size_t)i * bytes, bytes);
        }
    }
    batch->scan.got = kept;
}

bool sw_control_prepare_scan(struct sw_control *control, uint64_t cursor, uint32_t count)
{
    struct sw_conn *conn = control->conn;
    struct sw_batches *batches = control->resp->batches;
    const struct sw_table_shape *shape = &batches->shape;
    count = count < shape->scan_ops_max ? count : shape->scan_ops_max;
    size_t keys_bytes = ((size_t)count * shape->key_bytes + 63) / 64 * 64;
    control->memory_bytes = keys_bytes + (size_t)count * shape->value_bytes;
    const bool leaves = sw_batches_must_leave(batches, true, control->memory_bytes);
    if (!leaves && !sw_conn_arena_is_reserved(conn)) {
        control->memory = sw_io_arena_alloc(batches->io, control->memory_bytes);
    }
    if (control->memory == NULL) {
        free(control);
        SW_COUNT(conn->net->counters, arena_pauses, !conn->retried);
        sw_conn_stall(conn, leaves ? SW_STALL_HELD : SW_STALL_ARENA);
        return false;
    }
    control->flight.batch = (struct sw_batch){
        .kind = SW_BATCH_SCAN,
        .count = count,
        .scan.cursor = cursor,
        .scan.keys = control->memory,
        .scan.values = (uint8_t *)control->memory + keys_bytes,
    };
    return true;
}

uint32_t sw_control_scan_count_max(const struct sw_config *config)
{
    const uint64_t key = SW_RESP_INTEGER_BYTES_MAX + config->resp_key_text_bytes;
    const uint64_t bytes = SW_LIVE(config->output_bytes_max);
    const uint64_t room =
        bytes < SW_RESP_BATCH_TEXT_BYTES_MAX ? bytes : SW_RESP_BATCH_TEXT_BYTES_MAX;
    uint64_t fit = room / key - 3;
    return fit < SW_SCAN_COUNT_MAX ? (uint32_t)fit : SW_SCAN_COUNT_MAX;
}

uint32_t sw_control_match_count(const struct sw_control *control, uint32_t count)
{
    const uint32_t text_bytes = control->resp->keys.text_bytes;
    const uint64_t steps =
        (control->pattern_bytes + 1ULL) *
        (text_bytes > SW_KEY_STRING_BYTES_MAX ? text_bytes : SW_KEY_STRING_BYTES_MAX);
    const uint64_t most = MATCH_STEPS_MAX / steps;
    return most >= count ? count : most > 1 ? (uint32_t)most : 1;
}

bool sw_control_take_pattern(struct sw_control *control, const struct sw_resp_argument *pattern)
{
    if (pattern->size > SW_CONTROL_PATTERN_BYTES) {
        snprintf(control->error, sizeof(control->error), "ERR the pattern is longer than %u bytes",
                 (unsigned)SW_CONTROL_PATTERN_BYTES);
        return false;
    }
    if (control->resp->keys.form == SW_RESP_KEYS_AUTO &&
        !sw_glob_may_match_digits(pattern->text, pattern->size)) {
        char shown[PATTERN_SHOWN_BYTES];
        sw_key_string_show(pattern, shown, sizeof(shown));
        snprintf(control->error, sizeof(control->error),
                 "ERR the pattern '%s' matches no key: keys that are texts are listed as the "
                 "integers of their hashes (--resp-keys auto); rows list texts with --resp-keys "
                 "hash and --resp-key-text-bytes",
                 shown);
        return false;
    }
    if (pattern->size > 0) {
        memcpy(control->pattern, pattern->text, pattern->size);
    }
    control->pattern_bytes = pattern->size;
    control->has_pattern = true;
    return true;
}
