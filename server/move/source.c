/* SPDX-License-Identifier: MIT
 *
 * source.c - the source of a move: its steps until the target has decided, and requests for the
 * target's decision.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/batch/flight.h"
#include "server/cluster/fault.h"
#include "server/limits.h"
#include "server/log/clock.h"
#include "server/move/source_stream.h"
#include "server/observe/log.h"
#include "table/image.h"
#include "table/table.h"

/* The source hands the slots over when the target acknowledges the sent writes within CLOSE_NS. The
 * limit grows by 1/CLOSE_PART of the time since the catch-up began, up to the time that commands
 * wait. So the catch-up also ends on a slow network. */
#define CLOSE_NS 20000000ULL
#define CLOSE_PART 8

/* Sends the number of the last write, and waits until the target has applied all writes up to it.
 */
static int await_ack(struct source *source, uint64_t at)
{
    struct sw_move_head head = {.kind = SW_MOVE_UP_TO, .from = source->sent, .sequence = at};
    char line[SW_MOVE_LINE_BYTES], end;
    uint64_t acknowledged = 0;
    source->sent = at;
    if (sw_move_source_send(source, &head, NULL) != 0) {
        return -1;
    }
    if (sw_peer_connection_read_line(&source->connection, line, sizeof(line)) != 0) {
        return sw_move_source_connection_failed(source);
    }
    return sscanf(line, "+ACK %" SCNu64 "%c", &acknowledged, &end) == 1 && acknowledged == at
               ? 0
               : sw_mover_fail(source->mover, "the target did not reply with +ACK <sequence>");
}

/* Sends writes until the target is close behind. */
static int catch_up(struct source *source, uint64_t *at)
{
    struct sw_mover *mover = source->mover;
    const uint64_t first_ns = sw_log_now_ns();
    for (;;) {
        uint64_t began_ns = sw_log_now_ns();
        uint64_t through = sw_table_last_sequence(mover->parts.table);
        pthread_mutex_lock(&mover->lock);
        mover->facts.lag_writes = through - *at;
        pthread_mutex_unlock(&mover->lock);
        if (sw_move_source_send_through(source, at, through) != 0 || await_ack(source, *at) != 0) {
            return -1;
        }
        uint64_t close_ns = CLOSE_NS + (began_ns - first_ns) / CLOSE_PART;
        if (sw_log_now_ns() - began_ns <
            (close_ns < SW_FROZEN_MS * 1000000ULL ? close_ns : SW_FROZEN_MS * 1000000ULL)) {
            return 0;
        }
    }
}

/* --- the end ------------------------------------------------------------------------------------
 */

/* The digest of the slots at one instant. By then only expiry sweeps change the slots. */
struct ending {
    struct source *source;
    struct sw_digest digest;
    uint64_t clock_ms;
};

/* Adds entries to the digest, except expired ones. Sends the keys of the expired ones to the
 * target, which removes them whatever its clock says. So expired keys cannot reappear. */
static int add_living(struct sw_mover *mover, uint32_t count, void *user)
{
    struct ending *ending = user;
    const uint32_t kb = mover->info.key_bytes;
    uint32_t dead = 0, first = 0;
    for (uint32_t i = 0; i <= count; i++) {
        const bool is_dead =
            i < count && mover->times[i] != 0 && mover->times[i] <= ending->clock_ms;
        if (i == count || is_dead) {
            sw_mover_add(mover, &ending->digest, first, i);
            first = i + 1;
        }
        if (is_dead) { /* overwrites keys that are in the digest */
            memmove(mover->keys + (size_t)dead++ * kb, mover->keys + (size_t)i * kb, kb);
        }
    }
    return sw_move_source_send_expired(ending->source, mover->keys, dead);
}

/* Sends the last writes and the digest. By now the node serves no request of these slots. If an
 * earlier reply treated a key as expired, the key has also expired by the table's clock. */
static int send_final(struct source *source, uint64_t at, uint64_t epoch)
{
    struct sw_mover *mover = source->mover;
    struct ending ending = {source, {0}, sw_table_clock(mover->parts.table, sw_flight_wall_ms())};
    struct sw_image *image = NULL;
    if (sw_mover_image(mover, SW_MOVE_STEP_MS, &image) != 0) {
        return -1;
    }
    if (sw_move_source_send_through(source, &at, sw_image_sequence(image)) != 0) {
        sw_image_drop(image);
        mover->has_image = false;
        return -1;
    }
    source->of = at;
    if (sw_mover_each_in(mover, image, &source->hello->slots, add_living, &ending) != 0) {
        return -1;
    }
    const struct sw_move_head head = {.kind = SW_MOVE_FINAL,
                                      .from = source->sent,
                                      .sequence = at,
                                      .entries = ending.digest.entries,
                                      .sums = {ending.digest.sum[0], ending.digest.sum[1]},
                                      .epoch = epoch};
    return sw_move_source_send(source, &head, NULL);
}

/* Takes the target's topology, in which the slots are the target's. */
static int release_slots(struct sw_mover *mover, const char *text, size_t size)
{
    char error[SW_CLUSTER_ERROR_BYTES];
    sw_fault_at(mover->parts.config, "move.source.done");
    uint64_t number = sw_cluster_release_slots(mover->parts.cluster, text, size, error);
    if (number == 0) {
        return sw_mover_fail(mover, "the target's topology: %s", error);
    }
    pthread_mutex_lock(&mover->lock);
    mover->facts.handed_over++;
    mover->facts.keys_handed_over += mover->facts.keys;
    pthread_mutex_unlock(&mover->lock);
    sw_fault_at(mover->parts.config, "move.source.gone");
    return sw_mover_settle(mover, number);
}

/* Receives a topology of `size` bytes, and gives up the slots. */
static int take_topology(struct sw_mover *mover, struct sw_peer_connection *connection, size_t size)
{
    char *text = size > SW_TOPOLOGY_BYTES_MAX ? NULL : malloc(size + 1);
    int status = text == NULL ? sw_mover_fail(mover, "the target's topology is too long")
                 : size == 0 || sw_peer_connection_receive(connection, text, size, size) < 0
                     ? sw_mover_fail(mover, "the target's topology: %s", connection->reason)
                     : release_slots(mover, text, size);
    free(text);
    return status;
}

/* Waits for the target's decision. The target's topology follows it, with *size bytes. */
static int await_decision(struct source *source, uint64_t *size)
{
    char line[SW_MOVE_LINE_BYTES], end;
    if (sw_peer_connection_read_line(&source->connection, line, sizeof(line)) != 0) {
        return sw_move_source_connection_failed(source);
    }
    return sscanf(line, "+DONE %" SCNu64 "%c", size, &end) == 1
               ? 0
               : sw_mover_fail(source->mover, "the target did not reply with +DONE <bytes>");
}

/* Hands the slots over. No node serves them until the target has decided. */
static int hand_over(struct source *source, uint64_t at)
{
    struct sw_mover *mover = source->mover;
    const struct sw_config *config = mover->parts.config;
    const uint64_t epoch = source->hello->epoch;
    char error[SW_CLUSTER_ERROR_BYTES];
    uint64_t number =
        sw_cluster_hand_over(mover->parts.cluster, source->hello->target, source->hello->attempt,
                             &source->hello->slots, epoch, error);
    if (number == 0) {
        return sw_mover_fail(mover, "%s", error);
    }
    const uint64_t began_ns = sw_log_now_ns();
    sw_mover_phase(mover, SW_MOVE_HANDED);
    sw_fault_at(config, "move.source.frozen");
    if (sw_mover_notify_replicas(mover, 0) != 0) { /* a new primary can then ask the target */
        return -1;
    }
    sw_fault_at(config, "move.source.told");
    if (sw_mover_settle(mover, number) != 0 ||
        sw_move_source_send_through(source, &at, sw_table_last_sequence(mover->parts.table)) != 0 ||
        send_final(source, at, epoch) != 0) {
        return -1;
    }
    sw_fault_at(config, "move.source.final");
    uint64_t size = 0;
    int status = await_decision(source, &size);
    pthread_mutex_lock(&mover->lock);
    mover->facts.freeze_us = (sw_log_now_ns() - began_ns) / 1000;
    pthread_mutex_unlock(&mover->lock);
    return status != 0 ? -1 : take_topology(mover, &source->connection, (size_t)size);
}

static int export_slots(struct source *source)
{
    struct sw_mover *mover = source->mover;
    char line[48];
    uint64_t at = 0;
    int size = snprintf(line, sizeof(line), "+EXPORT %" PRIu64 "\r\n", source->salt);
    if (sw_peer_connection_send(&source->connection, line, (size_t)size) != 0) {
        return sw_move_source_connection_failed(source);
    }
    if (sw_mover_notify_replicas(mover, 0) !=
        0) { /* fail here, not while slots wait for a silent replica */
        return -1;
    }
    sw_backlog_enable(mover->parts.repl->backlog, mover->parts.table);
    sw_mover_phase(mover, SW_MOVE_SNAPSHOT);
    if (sw_mover_each(mover, &source->hello->slots, 0, sw_move_source_send_entries, source, &at) !=
        0) {
        return -1;
    }
    struct sw_move_head head = {.kind = SW_MOVE_BEGIN, .sequence = at};
    source->sent = at;
    if (sw_move_source_send(source, &head, NULL) != 0) {
        return -1;
    }
    sw_mover_phase(mover, SW_MOVE_STREAM);
    sw_fault_at(mover->parts.config, "move.source.snapshot");
    return catch_up(source, &at) != 0 ? -1 : hand_over(source, at);
}

void sw_mover_run_source(struct sw_mover *mover, struct sw_peer_socket socket,
                         const struct sw_move_hello *hello)
{
    struct source source = {.mover = mover,
                            .hello = hello,
                            .connection = sw_mover_connection(mover),
                            .salt = sw_backlog_salt(mover->parts.repl->backlog) ^ hello->attempt,
                            .most = hello->message_ops_max < mover->at_once
                                        ? (uint32_t)hello->message_ops_max
                                        : mover->at_once};
    struct sw_backlog_stats stats;
    sw_backlog_stats(mover->parts.repl->backlog, &stats);
    source.connection.socket = socket;
    (void)export_slots(&source);
    sw_peer_connection_close(&source.connection);
    if (!stats.is_on) {
        sw_backlog_disable(mover->parts.repl->backlog);
    }
}

/* --- asking -------------------------------------------------------------------------------------
 */

/* Asks the target once. Returns 0 if the outcome of the attempt is known, and then stores it in the
 * state. */
static int query_target(struct sw_mover *mover, const struct sw_cluster_move *move,
                        struct sw_peer_connection *connection)
{
    char line[SW_MOVE_LINE_BYTES], error[SW_CLUSTER_ERROR_BYTES], end;
    char number[24], head[256], *slots = sw_slot_set_print(&move->slots);
    size_t size = 0;
    if (slots == NULL) {
        return sw_mover_fail(mover, "not enough memory");
    }
    snprintf(number, sizeof(number), "%" PRIu64, move->attempt);
    snprintf(head, sizeof(head),
             "*6\r\n$7\r\nCLUSTER\r\n$4\r\nMOVE\r\n$7\r\nOUTCOME\r\n$40\r\n%s\r\n$%zu\r\n%s\r\n"
             "$%zu\r\n",
             sw_cluster_id(mover->parts.cluster), strlen(number), number, strlen(slots));
    bool sent = sw_mover_connect(mover, connection, move->peer) == 0 &&
                sw_peer_connection_send(connection, head, strlen(head)) == 0 &&
                sw_peer_connection_send(connection, slots, strlen(slots)) == 0 &&
                sw_peer_connection_send(connection, "\r\n", 2) == 0 &&
                sw_peer_connection_read_line(connection, line, sizeof(line)) == 0;
    free(slots);
    if (!sent) {
        return sw_mover_fail(mover, "cannot reach the target: %s", connection->reason);
    }
    if (sscanf(line, "$%zu%c", &size, &end) == 1) {
        return take_topology(mover, connection, size);
    }
    if (strcmp(line, "+NEVER") == 0) {
        return sw_cluster_serve_again(mover->parts.cluster, error) != 0
                   ? 0
                   : sw_mover_fail(mover, "%s", error);
    }
    return sw_mover_fail(mover, "the target: %.300s", line + 1);
}

void sw_mover_ask(struct sw_mover *mover, const struct sw_cluster_move *move)
{
    struct sw_peer_connection connection = sw_mover_connection(mover);
    sw_mover_phase(mover, SW_MOVE_HANDED);
    if (query_target(mover, move, &connection) != 0) {
        sw_log_limited(SW_LOG_MOVE, SW_LOG_WARNING,
                       "cluster: the outcome of a migration from this node is not known yet: %s",
                       mover->reason);
        sw_mover_pause_ms(mover, 50);
    }
    sw_peer_connection_close(&connection);
}
