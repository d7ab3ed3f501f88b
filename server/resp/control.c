/* SPDX-License-Identifier: MIT
 *
 * control.c - FLUSHALL, RESIZE, SCAN, KEYS and RANDOMKEY.
 */
#include "server/resp/control.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/decimal.h"
#include "server/batch/refusals.h"
#include "server/config/live.h"
#include "server/limits.h"
#include "server/net/conn.h"
#include "server/resp/admin_call.h"
#include "server/resp/control_parts.h"
#include "server/resp/glob.h"
#include "server/resp/output.h"
#include "server/resp/place.h"
#include "server/resp/resp.h"
#include "server/resp/slow.h"

#define SCAN_COUNT_DEFAULT 10
/* RANDOMKEY draws one of RANDOM_COUNT entries from a random cursor on, as if the table were a ring.
 * The chance of a key is proportional to the sum of the RANDOM_COUNT gaps between hashes before it.
 * The more gaps, the more equal the chances (within 6 % for 256, within 25 % for 16). In a sparse
 * table it draws among the entries of about RANDOM_SLOTS slots, at least RANDOM_COUNT_MIN. Tables
 * of at most RANDOM_SLOTS_ALL slots always use RANDOM_COUNT. */
#define RANDOM_COUNT 256U
#define RANDOM_COUNT_MIN 16U
#define RANDOM_SLOTS (128U << 10)
#define RANDOM_SLOTS_ALL (8 * RANDOM_SLOTS)
/* Bytes of a batch. */
#define RANDOM_BYTES (64U << 10)
/* Passes of RANDOMKEY over the table, if other clients remove keys meanwhile. */
#define RANDOM_PASSES 4

/* Entries that KEYS scans at a time: about 0.1 ms in host memory. */
#define KEYS_COUNT (16U << 10)

/* A cursor of the table is a hash of a key, as wide as keys are. RESP clients keep cursors in
 * signed or floating-point numbers, so a cursor of 64 bits is cut to its upper 53 bits. A SCAN
 * continues at the beginning of the range of 2^11 hashes that its cursor names. */
#define CURSOR_BITS 53
#define CURSOR_SHIFT (64 - CURSOR_BITS)
/* Entries of a further batch, for a SCAN whose first batch did not reach the end of its range. */
#define SCAN_COUNT_MORE 64
static_assert(((1 << CURSOR_SHIFT) + SCAN_COUNT_MORE + 3) * SW_RESP_INTEGER_BYTES_MAX <= 64 * 1024,
              "a reply of this size fits the smallest output-bytes-max");

/* --- replies ---------------------------------------------------------------------------------- */

static void put_number(struct sw_text *text, uint64_t number)
{
    if (sw_text_reserve(text, SW_RESP_INTEGER_BYTES_MAX)) {
        char *end = sw_resp_put_bulk_integer(text->data + text->size, number);
        text->size = (size_t)(end - text->data);
    }
}

static bool matches(const struct sw_control *control, uint32_t i)
{
    char room[SW_KEY_STRING_BYTES_MAX];
    size_t size = 0;
    if (control->none || !sw_control_is_mine(control, sw_control_key_at(control, i))) {
        return false;
    }
    if (!control->has_pattern) {
        return true;
    }
    const char *text = sw_control_text_at(control, i, room, &size);
    return sw_glob_matches(control->pattern, control->pattern_bytes, (const uint8_t *)text, size);
}

/* Adds an entry to the reply, if it matches. */
static bool take_entry(struct sw_control *control, uint32_t i)
{
    if (matches(control, i)) {
        sw_control_put_key(control, i);
    }
    return !control->keys.failed;
}

/* Returns how many entries of a SCAN's batch belong to the reply, and computes the next cursor.
 * Another batch must follow if the range of the given cursor has more entries.
 *
 * Where cursors are cut, a batch has one entry more than the client has asked for. The next cursor
 * names the range of this last entry, which is left to the next SCAN. Without it, each SCAN would
 * repeat the last entry of the one before. */
static uint32_t count_entries(struct sw_control *control)
{
    struct sw_batch *batch = &control->flight.batch;
    uint32_t count = batch->scan.got;
    bool is_full = control->cursor_shift > 0 && batch->scan.cursor != 0 && count == batch->count;
    control->next = (batch->scan.cursor - is_full) >> control->cursor_shift;
    control->follows = batch->scan.cursor != 0 && control->next == control->given;
    batch->count = batch->count < SCAN_COUNT_MORE ? batch->count : SCAN_COUNT_MORE;
    return count - (is_full && !control->follows);
}

/* Appends the reply to SCAN: *2, the next cursor, and the keys that match. */
static void put_scan(const struct sw_control *control, struct sw_text *text)
{
    sw_text_array(text, 2);
    put_number(text, control->next);
    sw_text_array(text, control->keys_count);
    if (control->keys.size > 0) {
        sw_text_append(text, control->keys.data, control->keys.size);
    }
    text->failed |= control->keys.failed;
}

/* splitmix64 (Sebastiano Vigna). Not cryptographically secure: it only picks a random key. */
static uint64_t random_number(struct sw_resp *resp)
{
    uint64_t z = resp->random_state += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static void put_digest(const struct sw_digest *digest, struct sw_text *text)
{
    char sums[SW_DIGEST_TEXT_BYTES];
    sw_digest_text(digest, sums);
    sw_text_array(text, 3);
    sw_text_unsigned(text, digest->sequence);
    sw_text_unsigned(text, digest->entries);
    sw_text_bulk_string(text, sums);
}

static void put_reply(const struct sw_control *control, struct sw_text *text)
{
    const struct sw_batch *batch = &control->flight.batch;
    if (control->command->id == SW_COMMAND_DIGEST) {
        put_digest(&control->digest, text);
    } else if (control->command->id == SW_COMMAND_WAITAOF) {
        sw_text_array(text, 2);
        sw_text_unsigned(text, control->is_durable);
        sw_text_unsigned(text, 0);
    } else if (control->command->id == SW_COMMAND_WAIT) {
        sw_text_unsigned(text, control->reached);
    } else if (batch->kind == SW_BATCH_CLEAR || control->says_ok) {
        sw_text_simple(text, "OK");
    } else if (batch->kind == SW_BATCH_RESIZE) {
        sw_text_unsigned(text, batch->capacity);
    } else if (control->command->id == SW_COMMAND_SCAN) {
        put_scan(control, text);
    } else if (control->command->id == SW_COMMAND_KEYS) {
        sw_text_array(text, control->keys_count);
        if (control->keys.size > 0) {
            sw_text_append(text, control->keys.data, control->keys.size);
        }
    } else if (batch->scan.got > 0) {
        sw_control_put_key_to(control, text, control->drawn);
    } else {
        sw_text_null(text, sw_resp_of(control->conn)->session.resp3);
    }
}

/* --- flights ---------------------------------------------------------------------------------- */

static struct sw_control *control_of(struct sw_flight *flight)
{
    return SW_CONTAINER(flight, struct sw_control, flight);
}

/* Continues after the entries of a batch of SCAN or KEYS: with another batch, or with the reply. */
static void go_on(struct sw_control *control)
{
    const bool is_long = control->keys.failed && control->command->id == SW_COMMAND_KEYS;
    if (is_long) {
        snprintf(control->error, sizeof(control->error),
                 "ERR the reply is longer than output-bytes-max: use SCAN");
    }
    if (control->follows && !is_long) {
        sw_control_submit(control);
    } else {
        sw_control_finish(control);
    }
}

/* Looks for the entry that RANDOMKEY has drawn. Returns true if another batch must follow. */
static bool draws_again(struct sw_control *control)
{
    struct sw_batch *batch = &control->flight.batch;
    sw_control_keep_mine(control);
    control->passed += batch->scan.got;
    if (control->drawn < batch->scan.got) {
        return false;
    }
    control->drawn -= batch->scan.got;
    batch->scan.got = 0;
    if (batch->scan.cursor == 0) {
        const bool is_whole = control->passes > 0; /* the pass began at the beginning */
        if (control->passes++ == RANDOM_PASSES || (is_whole && control->passed == 0)) {
            return false;
        }
        control->drawn = is_whole ? control->drawn % control->passed : control->drawn;
        control->passed = 0;
    }
    batch->count = control->drawn < batch->count ? control->drawn + 1 : batch->count;
    return true;
}

static void on_done(struct sw_flight *flight)
{
    struct sw_control *control = control_of(flight);
    const struct sw_batch *batch = &flight->batch;
    if (batch->status != SW_OK) {
        sw_control_finish(control);
    } else if (control->command->id == SW_COMMAND_SCAN) {
        sw_control_visit(control, count_entries(control), take_entry, go_on);
    } else if (control->command->id == SW_COMMAND_KEYS) {
        control->follows = batch->scan.cursor != 0;
        sw_control_visit(control, batch->scan.got, take_entry, go_on);
    } else if (control->command->id == SW_COMMAND_FLUSHALL && sw_control_next_table(control)) {
        sw_control_submit(control);
    } else if (control->command->id == SW_COMMAND_RANDOMKEY && draws_again(control)) {
        sw_control_visit(control, 0, NULL, sw_control_submit);
    } else {
        sw_control_finish(control);
    }
}

static void start(struct sw_control *control)
{
    control->flight.done = on_done;
    sw_control_begin(control);
    sw_control_submit(control);
}

/* --- commands --------------------------------------------------------------------------------- */

/* Parses the options behind SCAN's cursor. Returns an error line, or NULL. */
static const char *scan_options(struct sw_control *control, const struct sw_resp_command *arguments,
                                uint64_t *count)
{
    int64_t given = 0;
    for (uint32_t i = 2; i < arguments->count; i += 2) {
        const struct sw_resp_argument *name = &arguments->arguments[i];
        const struct sw_resp_argument *value = name + 1;
        if (i + 1 == arguments->count) {
            return "ERR syntax error";
        }
        if (sw_argument_is(name, "COUNT")) {
            if (!sw_argument_integer(value, &given)) {
                return "ERR value is not an integer or out of range";
            }
            if (given < 1) {
                return "ERR syntax error";
            }
            *count = (uint64_t)given;
        } else if (sw_argument_is(name, "MATCH")) {
            if (!sw_control_take_pattern(control, value)) {
                return control->error;
            }
        } else if (sw_argument_is(name, "TYPE")) {
            control->none = !sw_argument_is(value, "STRING");
        } else {
            return "ERR syntax error";
        }
    }
    return NULL;
}

static bool run_scan(struct sw_control *control, const struct sw_resp_command *arguments)
{
    const uint32_t count_max = sw_control_scan_count_max(control->conn->net->config);
    const struct sw_table_shape *shape = &control->resp->batches->shape;
    uint64_t count = SCAN_COUNT_DEFAULT;
    const struct sw_resp_argument *text = &arguments->arguments[1];
    bool is_cut = shape->engine == SW_ENGINE_ROBIN_HOOD && shape->key_bytes == 8;
    control->cursor_shift = is_cut ? CURSOR_SHIFT : 0;
    const char *error = sw_decimal_parse(text->text, text->size,
                                         UINT64_MAX >> control->cursor_shift, &control->given)
                            ? scan_options(control, arguments, &count)
                            : "ERR invalid cursor";
    if (error == NULL && sw_place_cuts_scan(sw_resp_of(control->conn), control->given)) {
        error = "ERR the table was swapped: begin again with the cursor 0";
    }
    if (error != NULL) {
        sw_resp_error(control->conn, control->command, "%s", error);
        free(control);
        return true;
    }
    count = sw_control_match_count(control, count < count_max ? (uint32_t)count : count_max);
    sw_text_init(&control->keys, SW_RESP_BATCH_TEXT_BYTES_MAX);
    if (!sw_control_prepare_scan(control, control->given << control->cursor_shift,
                                 (uint32_t)count + is_cut)) {
        return false;
    }
    start(control);
    return true;
}

static bool run_keys(struct sw_control *control, const struct sw_resp_command *arguments)
{
    if (!sw_control_take_pattern(control, &arguments->arguments[1])) {
        return sw_control_refuse(control, control->error);
    }
    sw_text_init(&control->keys, SW_LIVE(control->conn->net->config->output_bytes_max));
    if (!sw_control_prepare_scan(control, 0, sw_control_match_count(control, KEYS_COUNT))) {
        return false;
    }
    start(control);
    return true;
}

/* Returns the number of entries that RANDOMKEY chooses from. */
static uint32_t random_count(const struct sw_control *control, uint64_t capacity_slots)
{
    struct sw_table_stats stats;
    sw_table_stats(control->resp->batches->table, &stats);
    const uint64_t most = stats.occupied < RANDOM_COUNT ? stats.occupied : RANDOM_COUNT;
    const double near = (double)stats.occupied / (double)capacity_slots * RANDOM_SLOTS;
    uint64_t count = near < (double)most ? (uint64_t)near : most;
    if (capacity_slots <= RANDOM_SLOTS_ALL) {
        count = most;
    } else if (count < RANDOM_COUNT_MIN) {
        count = most < RANDOM_COUNT_MIN ? most : RANDOM_COUNT_MIN;
    }
    return count > 0 ? (uint32_t)count : 1;
}

static bool run_random(struct sw_control *control, const struct sw_resp_command *arguments)
{
    (void)arguments;
    /* Cursors are hashes, so any number of the table's width is a fair place to begin. Cursors of
     * the cache engine are slots. */
    const struct sw_table_shape *shape = &control->resp->batches->shape;
    struct sw_table_info info;
    sw_table_info(control->resp->batches->table, &info);
    uint64_t place = random_number(control->resp);
    if (shape->engine == SW_ENGINE_CACHE) {
        place %= info.capacity_slots;
    } else if (shape->key_bytes == 4) {
        place &= UINT32_MAX;
    }
    const uint32_t room = RANDOM_BYTES / (shape->key_bytes + shape->value_bytes);
    control->drawn =
        (uint32_t)(random_number(control->resp) >> 32) % random_count(control, info.capacity_slots);
    if (!sw_control_prepare_scan(control, place,
                                 control->drawn < room ? control->drawn + 1 : room)) {
        return false;
    }
    start(control);
    return true;
}

static bool run_clear(struct sw_control *control, const struct sw_resp_command *arguments)
{
    if (arguments->count > 2 ||
        (arguments->count == 2 && !sw_argument_is(&arguments->arguments[1], "SYNC") &&
         !sw_argument_is(&arguments->arguments[1], "ASYNC"))) {
        sw_resp_error(control->conn, control->command, "ERR syntax error");
        free(control);
        return true;
    }
    const struct sw_cluster_view *view = control->conn->net->cluster.view;
    if (view != NULL && view->is_target) {
        return sw_control_refuse(control, "ERR " SW_NO_CLEAR);
    }
    if (control->command->id == SW_COMMAND_FLUSHALL) {
        (void)sw_control_next_table(control);
    }
    control->flight.batch = (struct sw_batch){.kind = SW_BATCH_CLEAR};
    start(control);
    return true;
}

static bool run_resize(struct sw_control *control, const struct sw_resp_command *arguments)
{
    const struct sw_resp_argument *text = &arguments->arguments[1];
    uint64_t max = control->resp->batches->shape.max_capacity_slots;
    uint64_t wanted = 0;
    if (!sw_decimal_parse_size(text->text, text->size, UINT64_MAX, &wanted)) {
        sw_resp_error(control->conn, control->command,
                      "ERR slots is not an integer (K, M, G or T may follow) or out of range");
        free(control);
    } else if (wanted == 0 || wanted > max) {
        sw_resp_error(control->conn, control->command, "ERR " SW_RESIZE_RANGE,
                      (unsigned long long)wanted, (unsigned long long)max);
        free(control);
    } else {
        control->flight.batch = (struct sw_batch){.kind = SW_BATCH_RESIZE, .capacity = wanted};
        start(control);
    }
    return true;
}

/* The functions of the rows of kind CONTROL. */
#define SW_CONTROL_TABLE(batch, function) run_##function
#define SW_CONTROL_SAVER(function) sw_control_run_##function
#define SW_CONTROL_REPORT(...) NULL
#define SW_CONTROL_SESSION(...) NULL
#define SW_CONTROL_TRANSACTION(...) NULL
#define SW_CONTROL_RMW(...) NULL
#define SW_CONTROL_ONE_KEY(...) NULL
#define SW_CONTROL_EACH_KEY(...) NULL
#define SW_CONTROL_KEY_FUNCTION(...) NULL
#define SW_CONTROL(id, name, arity, keys, group, effect, speed, in_multi, how, summary) \
    SW_CONTROL_##how,
static bool (*const runs[SW_COMMAND_COUNT])(struct sw_control *control,
                                            const struct sw_resp_command *arguments) = {
    SW_COMMAND_MAP(SW_CONTROL)};

bool sw_control_takes(struct sw_conn *conn, const struct sw_command *command,
                      const struct sw_resp_command *arguments)
{
    return (command->id == SW_COMMAND_DBSIZE && sw_control_must_count(conn)) ||
           (command->id == SW_COMMAND_CLIENT && sw_control_is_pause(arguments));
}

/* Bytes of the longest argument that may be a pattern. */
static uint32_t pattern_room(const struct sw_command *command,
                             const struct sw_resp_command *arguments)
{
    uint32_t most = 0;
    if (command->id != SW_COMMAND_SCAN && command->id != SW_COMMAND_KEYS) {
        return 0;
    }
    for (uint32_t i = 1; i < arguments->count; i++) {
        most = arguments->arguments[i].size > most ? arguments->arguments[i].size : most;
    }
    return most < SW_CONTROL_PATTERN_BYTES ? most : SW_CONTROL_PATTERN_BYTES;
}

bool sw_control_run(struct sw_conn *conn, const struct sw_command *command,
                    const struct sw_resp_command *arguments)
{
    struct sw_control *control = sw_control_create(conn, command, pattern_room(command, arguments));
    if (control == NULL) {
        return true;
    }
    control->put = put_reply;
    if (command->id == SW_COMMAND_DBSIZE) {
        return sw_control_count_keys(control);
    }
    if (command->id == SW_COMMAND_CLIENT) {
        return sw_control_run_pause(control, arguments);
    }
    return runs[command->id](control, arguments);
}
