/* SPDX-License-Identifier: MIT
 *
 * target.c - the target of a move: one attempt.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/check.h"
#include "proto/plural.h"
#include "proto/string_value.h"
#include "server/cluster/fault.h"
#include "server/limits.h"
#include "server/log/clock.h"
#include "server/move/mover_parts.h"
#include "server/observe/log.h"
#include "table/batch.h"
#include "table/table.h"

#define NOFIT "-NOFIT " /* the source refuses every further attempt */

struct target {
    struct sw_mover *mover;
    const struct sw_cluster_move *move;
    struct sw_peer_connection connection;
    uint64_t salt;
    uint64_t through; /* writes up to this one are applied; valid after BEGIN */
    bool has_begun;
    bool for_good;
};

static int connection_failed(struct target *target)
{
    return sw_mover_fail(target->mover, "the connection to the source: %s",
                         target->connection.reason);
}

/* --- the beginning ------------------------------------------------------------------------------
 */

static int ask_for_slots(struct target *target)
{
    struct sw_mover *mover = target->mover;
    struct sw_move_hello hello = {.version = SW_MOVE_VERSION,
                                  .attempt = target->move->attempt,
                                  .key_bytes = mover->info.key_bytes,
                                  .value_bytes = mover->info.value_bytes,
                                  .value_format = sw_mover_format(mover),
                                  .message_ops_max = mover->at_once,
                                  .expires = sw_mover_expires(mover),
                                  .slots = target->move->slots};
    struct sw_cluster_status facts;
    char line[SW_MOVE_LINE_BYTES], end;
    sw_cluster_show(mover->parts.cluster, &facts);
    hello.epoch = facts.epoch;
    snprintf(hello.target, sizeof(hello.target), "%s", sw_cluster_id(mover->parts.cluster));
    memcpy(hello.source, target->move->peer, sizeof(hello.source));
    if (sw_mover_connect(mover, &target->connection, hello.source) != 0) {
        return -1;
    }
    char *text = sw_move_hello_print(&hello);
    int status =
        text == NULL ? -1 : sw_peer_connection_send(&target->connection, text, strlen(text));
    free(text);
    if (status != 0 || sw_peer_connection_read_line(&target->connection, line, sizeof(line)) != 0) {
        return connection_failed(target);
    }
    target->for_good = strncmp(line, NOFIT, strlen(NOFIT)) == 0;
    const size_t code = target->for_good ? strlen(NOFIT) : line[0] == '-';
    return sscanf(line, "+EXPORT %" SCNu64 "%c", &target->salt, &end) == 1
               ? 0
               : sw_mover_fail(mover, "the source: %.300s", line + code);
}

/* --- messages -----------------------------------------------------------------------------------
 */

/* Receives the columns of a message into the mover's memory. */
static int take_columns(struct target *target, const struct sw_move_head *head)
{
    struct sw_mover *mover = target->mover;
    if (head->count > mover->at_once) {
        return sw_mover_fail(mover, "a message of the source is too long");
    }
    const struct iovec columns[4] = {
        {mover->keys, (size_t)head->count * mover->info.key_bytes},
        {mover->values, (head->flags & SW_MOVE_HAS_OPERANDS) == 0
                            ? 0
                            : (size_t)head->count * mover->info.value_bytes},
        {mover->ops, (head->flags & SW_MOVE_HAS_OPERATIONS) == 0 ? 0 : head->count},
        {mover->times,
         (head->flags & SW_MOVE_HAS_TIMES) == 0 ? 0 : (size_t)head->count * sizeof(*mover->times)}};
    uint64_t bytes = 0;
    for (int i = 0; i < 4; i++) {
        size_t size = columns[i].iov_len;
        if (size > 0 &&
            sw_peer_connection_receive(&target->connection, columns[i].iov_base, size, size) < 0) {
            return connection_failed(target);
        }
        bytes += size;
    }
    if (sw_check64_pieces(columns, 4, target->salt) != head->columns_check) {
        return sw_mover_fail(mover, "a message of the source is damaged");
    }
    sw_mover_count(mover, head->count, bytes);
    return 0;
}

static int write_columns(struct target *target, const struct sw_move_head *head)
{
    struct sw_mover *mover = target->mover;
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = (enum sw_op)head->operation,
                             .count = head->count,
                             .keys = mover->keys};
    if (take_columns(target, head) != 0) {
        return -1;
    }
    if (head->flags & SW_MOVE_HAS_OPERANDS) {
        if (sw_config_value_format(mover->parts.config) == SW_VALUE_STRING) {
            const uint32_t bytes = mover->info.value_bytes;
            sw_string_values_clear_tails(mover->values, bytes, bytes - mover->info.key_text_bytes,
                                         head->count);
        }
        batch.values = mover->values;
    }
    if (head->flags & SW_MOVE_HAS_OPERATIONS) {
        batch.ops = mover->ops;
    }
    if (head->flags & SW_MOVE_HAS_TIMES) {
        batch.expires = mover->times;
    }
    int status = sw_mover_run(mover, &batch);
    target->for_good |= status != 0 && batch.status == SW_E_FULL;
    return status;
}

/* Removes keys that have expired at the source. */
static int remove_expired_keys(struct target *target, const struct sw_move_head *head)
{
    struct sw_mover *mover = target->mover;
    struct sw_batch batch = {
        .kind = SW_BATCH_SWEEP, .remove_keys = mover->keys, .remove_count = head->count};
    return take_columns(target, head) != 0 ? -1 : sw_mover_run(mover, &batch);
}

/* Checks that the message continues after the last one. */
static int follows(struct target *target, const struct sw_move_head *head)
{
    bool is_next =
        target->has_begun && head->from == target->through && head->sequence >= head->from;
    if (!is_next) {
        return sw_mover_fail(target->mover, "a message of the source is out of order");
    }
    target->through = head->sequence;
    return 0;
}

static int acknowledge(struct target *target)
{
    char line[48];
    int size = snprintf(line, sizeof(line), "+ACK %" PRIu64 "\r\n", target->through);
    return sw_peer_connection_send(&target->connection, line, (size_t)size) == 0
               ? 0
               : connection_failed(target);
}

/* --- the end ------------------------------------------------------------------------------------
 */

static int compare(struct target *target, const struct sw_move_head *head)
{
    struct sw_digest digest;
    char here[SW_DIGEST_TEXT_BYTES], there[SW_DIGEST_TEXT_BYTES];
    struct sw_digest source = {.entries = head->entries, .sum = {head->sums[0], head->sums[1]}};
    if (sw_mover_digest(target->mover, &target->move->slots, &digest) != 0) {
        return -1;
    }
    if (digest.entries == source.entries && digest.sum[0] == source.sum[0] &&
        digest.sum[1] == source.sum[1]) {
        return 0;
    }
    sw_digest_text(&digest, here);
    sw_digest_text(&source, there);
    return sw_mover_fail(target->mover,
                         "the received keys (%" PRIu64 " key%s, %s) differ from the source's "
                         "(%" PRIu64 " key%s, %s)",
                         digest.entries, sw_plural_s(digest.entries), here, source.entries,
                         sw_plural_s(source.entries), there);
}

/* Decides the attempt. Once the state file may have the decision, the target repeats the write
 * until it is certain. While the file certainly lacks it, the target gives the move up after a
 * while. */
static int decide(struct target *target, const struct sw_move_head *head)
{
    struct sw_mover *mover = target->mover;
    char error[SW_CLUSTER_ERROR_BYTES];
    bool is_over = false;
    const uint64_t until_ns = sw_log_now_ns() + SW_MOVE_STEP_MS * 1000000ULL;
    while (sw_cluster_decide(mover->parts.cluster, target->move->attempt, head->epoch, &is_over,
                             error) == 0) {
        if (sw_log_now_ns() > until_ns &&
            sw_cluster_abandon(mover->parts.cluster, target->move->attempt)) {
            target->for_good = is_over = true;
        }
        if (is_over) {
            return sw_mover_fail(mover, "%s", error);
        }
        sw_log_limited(SW_LOG_MOVE, SW_LOG_ERROR, "cluster: cannot decide a migration: %s", error);
        sw_mover_pause_ms(mover, 100);
        if (sw_mover_is_stopping(
                mover)) { /* the next start begins another attempt, or finds it decided */
            return sw_mover_fail(mover, "the server stops");
        }
    }
    return 0;
}

int sw_mover_serve(struct sw_mover *mover)
{
    char error[SW_CLUSTER_ERROR_BYTES];
    struct sw_cluster_move move;
    sw_cluster_move_show(mover->parts.cluster, &move);
    if (move.role != SW_CLUSTER_DECIDES) {
        return 0;
    }
    sw_mover_phase(mover, SW_MOVE_DECIDES);
    if (sw_mover_notify_replicas(mover, 0) == 0) {
        sw_fault_at(mover->parts.config, "move.target.told");
        if (sw_cluster_serve(mover->parts.cluster, error)) {
            return 0;
        }
        sw_mover_fail(mover, "%s", error);
    }
    sw_log_limited(SW_LOG_MOVE, SW_LOG_WARNING, "cluster: received slots are not served yet: %s",
                   mover->reason);
    if (!sw_mover_decide_anew(mover)) {
        sw_mover_pause_ms(mover, 100);
    }
    return -1;
}

/* Sends the decided topology to the source. A source that does not receive it asks for it. */
static void send_done(struct target *target)
{
    char line[48];
    char *text = sw_cluster_topology(target->mover->parts.cluster);
    if (text == NULL) {
        return;
    }
    int size = snprintf(line, sizeof(line), "+DONE %zu\r\n", strlen(text));
    if (sw_peer_connection_send(&target->connection, line, (size_t)size) == 0) {
        (void)sw_peer_connection_send(&target->connection, text, strlen(text));
    }
    free(text);
}

static int take_final(struct target *target, const struct sw_move_head *head)
{
    struct sw_mover *mover = target->mover;
    const struct sw_config *config = mover->parts.config;
    if (follows(target, head) != 0) {
        return -1;
    }
    sw_mover_phase(mover, SW_MOVE_DECIDES);
    sw_fault_at(config, "move.target.final");
    if (compare(target, head) != 0) {
        return -1;
    }
    if (sw_mover_secure(mover, SW_MOVE_STEP_MS) != 0 ||
        sw_mover_notify_replicas(mover, sw_table_last_sequence(mover->parts.table)) != 0) {
        target->for_good = true; /* another attempt would freeze the slots again */
        return -1;
    }
    sw_fault_at(config, "move.target.secured");
    if (decide(target, head) != 0) {
        return -1;
    }
    if (sw_mover_serve(mover) != 0) { /* the source will ask */
        return -1;
    }
    sw_fault_at(config, "move.target.serves");
    if (mover->parts.saver != NULL && mover->parts.wal == NULL) {
        (void)sw_saver_ask(mover->parts.saver); /* the received keys are in no snapshot yet */
    }
    send_done(target);
    return 0;
}

static int take_begin(struct target *target, const struct sw_move_head *head)
{
    target->has_begun = true;
    target->through = head->sequence;
    sw_mover_phase(target->mover, SW_MOVE_STREAM);
    sw_fault_at(target->mover->parts.config, "move.target.snapshot");
    return 0;
}

/* Handles one message. Returns 1 after the last one, 0 after another one, -1 on an error. */
static int take_message(struct target *target)
{
    struct sw_mover *mover = target->mover;
    uint8_t bytes[SW_MOVE_HEAD_BYTES];
    struct sw_move_head head;
    if (sw_peer_connection_receive(&target->connection, bytes, sizeof(bytes), sizeof(bytes)) < 0) {
        return connection_failed(target);
    }
    if (!sw_move_head_read(&head, target->salt, bytes)) {
        return sw_mover_fail(mover, "a message of the source is damaged");
    }
    switch (head.kind) {
    case SW_MOVE_ENTRIES:
        return target->has_begun ? sw_mover_fail(mover, "the source sends a second snapshot")
                                 : write_columns(target, &head);
    case SW_MOVE_BEGIN:
        return take_begin(target, &head);
    case SW_MOVE_WRITES:
        return follows(target, &head) != 0 ? -1 : write_columns(target, &head);
    case SW_MOVE_EXPIRED:
        return follows(target, &head) != 0 ? -1 : remove_expired_keys(target, &head);
    case SW_MOVE_CLEAR:
        return follows(target, &head) != 0 ? -1 : sw_mover_remove(mover, &target->move->slots);
    case SW_MOVE_UP_TO:
        return follows(target, &head) != 0 ? -1 : acknowledge(target);
    case SW_MOVE_FINAL:
        return take_final(target, &head) != 0 ? -1 : 1;
    }
    return -1;
}

/* Returns true for keys of the slots. Until this node serves the slots, only the source decides
 * which of their keys have expired. */
static bool is_migrating(const void *context, uint64_t key)
{
    const struct target *target = context;
    return sw_mover_has_key(target->mover, &target->move->slots, key);
}

int sw_mover_attempt(struct sw_mover *mover, const struct sw_cluster_move *move, bool *for_good)
{
    struct target target = {.mover = mover, .move = move, .connection = sw_mover_connection(mover)};
    int status = sw_mover_notify_replicas(mover, 0);
    status = status != 0 ? status : sw_mover_remove(mover, &move->slots);
    sw_fault_at(mover->parts.config, "move.target.removed");
    if (status == 0) {
        sw_mover_phase(mover, SW_MOVE_CONNECTS);
        status = ask_for_slots(&target);
    }
    if (status == 0) {
        sw_table_suspend_expiry(mover->parts.table, is_migrating, &target);
        sw_mover_phase(mover, SW_MOVE_SNAPSHOT);
    }
    while (status == 0) {
        status = sw_mover_is_over(mover)
                     ? sw_mover_fail(mover, "the move was cancelled, or the server stops")
                     : take_message(&target);
    }
    sw_table_suspend_expiry(mover->parts.table, NULL, NULL);
    sw_peer_connection_close(&target.connection);
    *for_good = target.for_good;
    return status > 0 ? 0 : -1;
}
