/* SPDX-License-Identifier: MIT
 *
 * sender_sync.c - what a replica is sent first: a welcome, and snapshots unless it continues.
 *
 * The catalog and its number are noted while no change is carried out. The images are taken later,
 * so each has all writes up to that number, and those of its table that were sent before it.
 */
#include "server/repl/sender_parts.h"

#include <stdlib.h>
#include <string.h>

#include "server/log/catalog_encode.h"
#include "server/log/clock.h"
#include "server/log/snapshot_take.h"
#include "server/repl/snapshot_send.h"
#include "table/sequencer.h"

static int send_welcome(struct sw_sender *sender, bool resumes)
{
    const struct sw_senders_parts *parts = &sender->senders->parts;
    struct sw_repl_welcome welcome = {.resumes = resumes,
                                      .sequence =
                                          sw_sender_is_known(sender) ? sender->hello.sequence : 0,
                                      .salt = sw_backlog_salt(parts->backlog),
                                      .term = sender->who.term};
    const struct sw_repl_terms *terms = parts->state->terms;
    char line[SW_REPL_LINE_BYTES];
    pthread_mutex_lock(&parts->state->lock);
    memcpy(welcome.history, parts->state->history.id, sizeof(welcome.history));
    pthread_mutex_unlock(&parts->state->lock);
    welcome.start = terms == NULL ? 0 : terms->start(terms->context, welcome.term);
    if (terms != NULL && welcome.start == 0) {
        return sw_sender_failed(sender, &sender->senders->dropped, "the term has ended");
    }
    return sw_sender_send(sender, line, sw_repl_welcome_write(&welcome, line, sizeof(line)));
}

/* Returns true if this server has the replica's history, and the backlog has its next write. */
static bool can_resume(const struct sw_sender *sender)
{
    const struct sw_senders_parts *parts = &sender->senders->parts;
    struct sw_backlog_record *record;
    int got = sw_sender_is_known(sender)
                  ? sw_backlog_take(parts->backlog, sender->hello.sequence, &record, 1, 1)
                  : -1;
    if (got > 0) {
        sw_backlog_release(&record, got);
    }
    return got >= 0;
}

/* Is the table dropped whose snapshot is sent? Then the replica drops it as well. */
static bool is_dropped(void *context)
{
    const struct sw_sender *sender = context;
    return sender->served != NULL && sw_tables_leaves(sender->served);
}

/* Called while the sender waits for a table's image. Returns false if it need not wait. */
static bool goes_on(void *context)
{
    struct sw_sender *sender = context;
    if (__atomic_load_n(&sender->senders->stopping, __ATOMIC_ACQUIRE)) {
        return sw_sender_failed(sender, &sender->senders->dropped,
                                "the server stops before the replica has a snapshot") == 0;
    }
    /* the replica sends nothing meanwhile: do not time it out */
    __atomic_store_n(&sender->heard_ns, sw_log_now_ns(), __ATOMIC_RELAXED);
    return sw_sender_refuse_if_cut(sender) == 0 && sw_sender_take_acks(sender) == 0 &&
           !is_dropped(sender);
}

/* A snapshot may have a write that a loop has completed but not yet added to the backlog. Waits
 * until the backlog has it: otherwise the replica would be ahead of the backlog. */
static int wait_for_backlog(struct sw_sender *sender, uint64_t sequence)
{
    struct sw_senders *senders = sender->senders;
    sender->moved_ns = sw_log_now_ns();
    while (!sw_backlog_has(senders->parts.backlog, sequence)) {
        if (sw_sender_is_late(sender)) {
            return sw_sender_failed(
                sender, &senders->dropped,
                "the backlog lacks the last write of the snapshot after repl-timeout");
        }
        if (sw_sender_wait_for(sender, 0, 2) != 0) {
            return -1;
        }
    }
    return 0;
}

static int send_part(void *context, const void *bytes, size_t size)
{
    return sw_sender_send(context, bytes, size);
}

/* Sends the snapshot of one table. *sequence receives its last write. Sends nothing if the table is
 * dropped before. */
static int send_table(struct sw_sender *sender, struct sw_table *table,
                      const struct sw_config *config, uint32_t id, uint64_t *sequence)
{
    const struct sw_snapshot_sending what = {.table = table,
                                             .config = config,
                                             .id = id == SW_WAL_FIRST_TABLE ? 0 : id,
                                             .waits = goes_on,
                                             .is_over = is_dropped,
                                             .send = send_part,
                                             .context = sender};
    char reason[SW_SNAPSHOT_REASON_BYTES] = "";
    sender->table = table;
    sender->snapshot_ns = 0; /* the limit holds for each image */
    sender->sends_snapshot = true;
    const int status = sw_snapshot_send(&what, sequence, reason);
    const bool has_sent = sender->snapshot_ns != 0;
    sender->sends_snapshot = false;
    sender->snapshot_ns = 0;
    return status == 0 || (!has_sent && sender->reason[0] == '\0' && is_dropped(sender))
               ? 0
               : sw_sender_failed(sender, &sender->senders->errors, reason);
}

/* --- several tables --------------------------------------------------------------------------- */

/* The catalog that a replica begins with. */
struct sync {
    uint64_t sequence; /* the catalog has the changes up to here, and each image later writes */
    uint8_t *message;
    size_t bytes;
    uint32_t *ids; /* of the tables, ascending */
    uint32_t count;
};

static int by_id(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Notes the tables and the last number, while no change is carried out. */
static int note_tables(struct sw_sender *sender, struct sync *sync)
{
    const struct sw_senders_parts *parts = &sender->senders->parts;
    const struct sw_tables_view *view = sw_tables_hold(parts->tables);
    sync->count = view->catalog.count;
    sync->ids = calloc(sync->count, sizeof(*sync->ids));
    sync->message = sw_catalog_encode_view(view, &sync->bytes);
    sync->sequence = sw_sequencer_last(parts->sequencer);
    for (uint32_t i = 0; i < sync->count && sync->ids != NULL; i++) {
        sync->ids[i] = view->served[i]->id;
    }
    sw_tables_release(parts->tables);
    if (sync->ids == NULL || sync->message == NULL) {
        return sw_sender_failed(sender, &sender->senders->errors,
                                "not enough memory to send the tables");
    }
    qsort(sync->ids, sync->count, sizeof(*sync->ids), by_id);
    return 0;
}

static int send_record(struct sw_sender *sender, enum sw_wal_kind kind, uint64_t sequence,
                       const uint8_t *message, size_t bytes)
{
    uint8_t header[SW_WAL_RECORD_BYTES];
    sw_sender_encode(sender, kind, sequence, message, bytes, header);
    return sw_sender_send(sender, header, sizeof(header)) != 0 ||
                   (bytes > 0 &&
                    sw_sender_send(sender, message, (size_t)sw_wal_align(bytes, SW_WAL_ALIGN)) != 0)
               ? -1
               : 0;
}

/* Waits until a DROP that has published its view has its number. */
static int wait_for_drop(struct sw_sender *sender, uint64_t *whole)
{
    const struct sw_senders_parts *parts = &sender->senders->parts;
    sender->moved_ns = sw_log_now_ns();
    while (!sw_tables_rest(parts->tables)) {
        __atomic_store_n(&sender->heard_ns, sw_log_now_ns(), __ATOMIC_RELAXED);
        if (sw_sender_is_late(sender)) {
            return sw_sender_failed(sender, &sender->senders->dropped,
                                    "a DROP of a table did not end within repl-timeout");
        }
        if (sw_sender_wait_for(sender, 0, 2) != 0) {
            return -1;
        }
    }
    *whole = sw_sequencer_last(parts->sequencer);
    return 0;
}

/* Sends the records that the backlog has by now, so that it need not keep those of a whole
 * synchronisation. */
static int send_records(struct sw_sender *sender)
{
    struct sw_backlog_stats stats;
    int n = 1;
    sw_backlog_stats(sender->senders->parts.backlog, &stats);
    while (sender->sent < stats.last && n > 0) {
        n = sw_sender_send_records(sender);
    }
    return n < 0 ? -1 : 0;
}

/* Pins the table with this id, or the next one; NULL: there is none. Without a log the record of a
 * DROP is in the backlog before the table is hidden. A DROP holds the view until both are done, so
 * the record of a table that is found here is sent behind its snapshot. */
static struct sw_served *pin(struct sw_tables *tables, uint32_t id)
{
    (void)sw_tables_hold(tables);
    struct sw_served *served = sw_tables_pin(tables, id - 1);
    sw_tables_release(tables);
    return served;
}

/* Sends the snapshots, and records between them. *whole receives the number at which the tables of
 * the replica are at one position: the highest number in a snapshot, or that of the DROP of a table
 * whose snapshot is not sent completely. A DROP waits while a table is pinned. */
static int send_snapshots(struct sw_sender *sender, const struct sync *sync, uint64_t *whole)
{
    struct sw_tables *tables = sender->senders->parts.tables;
    bool lacks_one = false;
    int status = 0;
    for (uint32_t i = 0; i < sync->count && status == 0; i++) {
        struct sw_served *served = pin(tables, sync->ids[i]);
        uint64_t sequence = 0;
        lacks_one |= served == NULL || served->id != sync->ids[i];
        if (served != NULL && served->id == sync->ids[i]) {
            sender->served = served;
            status = send_table(sender, served->table, served->config, served->id, &sequence);
            sender->served = NULL;
            sender->table = NULL;
        }
        if (served != NULL) {
            lacks_one |= sw_tables_unpin(tables, served);
        }
        *whole = *whole < sequence ? sequence : *whole;
        status = status == 0 ? send_records(sender) : -1;
    }
    return status == 0 && lacks_one ? wait_for_drop(sender, whole) : status;
}

static int send_tables(struct sw_sender *sender)
{
    struct sync sync = {0};
    int status = note_tables(sender, &sync);
    uint64_t whole = sync.sequence;
    sender->sent = sync.sequence;
    if (status == 0) {
        status =
            send_record(sender, SW_WAL_CATALOG, sync.sequence, sync.message, sync.bytes) != 0 ||
                    send_snapshots(sender, &sync, &whole) != 0 ||
                    wait_for_backlog(sender, whole) != 0 ||
                    send_record(sender, SW_WAL_MARK, whole, NULL, 0) != 0
                ? -1
                : 0;
    }
    free(sync.ids);
    free(sync.message);
    return status;
}

/* --- the begin -------------------------------------------------------------------------------- */

static int send_only_table(struct sw_sender *sender)
{
    const struct sw_senders_parts *parts = &sender->senders->parts;
    return send_table(sender, parts->table, parts->config, SW_WAL_FIRST_TABLE, &sender->sent) != 0
               ? -1
               : wait_for_backlog(sender, sender->sent);
}

/* Refuses a replica that has one table, if this server has several. A table that is made later is a
 * record that ends the connection. */
static int refuse_one_table(struct sw_sender *sender)
{
    static const char line[] = "-ERR " SW_SENDER_ONE_TABLE "\r\n";
    struct sw_tables *tables = sender->senders->parts.tables;
    const bool are_several = sw_places_are_several(&sw_tables_hold(tables)->catalog);
    sw_tables_release(tables);
    if (!are_several || sender->hello.version != SW_REPL_ONE_TABLE) {
        return 0;
    }
    (void)sw_sender_send(sender, line, sizeof(line) - 1);
    return sw_sender_failed(sender, &sender->senders->dropped, SW_SENDER_ONE_TABLE);
}

int sw_sender_begin(struct sw_sender *sender)
{
    struct sw_senders *senders = sender->senders;
    if (refuse_one_table(sender) != 0) {
        return -1;
    }
    bool was_on = sw_backlog_is_on(senders->parts.backlog);
    sw_backlog_enable(senders->parts.backlog, senders->parts.table);
    if (was_on && can_resume(sender)) {
        sw_sender_count(&senders->resumes, 1);
        sender->sent = sender->hello.sequence;
        __atomic_store_n(&sender->acknowledged, sender->sent, __ATOMIC_RELAXED);
        return send_welcome(sender, true);
    }
    sw_sender_count(&senders->snapshots, 1);
    if (send_welcome(sender, false) != 0) {
        return -1;
    }
    return sender->hello.version == SW_REPL_ONE_TABLE ? send_only_table(sender)
                                                      : send_tables(sender);
}
