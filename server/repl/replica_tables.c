/* SPDX-License-Identifier: MIT
 *
 * replica_tables.c - makes and changes the tables of a replica as its primary's catalog says.
 *
 * Only the replica's thread changes the tables of a replica. It must not call sw_tables_hold while
 * it has applied writes that are not in the log: the saver may hold the view until they are.
 */
#include <stdio.h>
#include <string.h>

#include "server/log/catalog_view.h"
#include "server/log/saver.h"
#include "server/log/snapshot_fits.h"
#include "server/repl/replica_parts.h"
#include "server/tables/tables.h"
#include "table/batch.h"
#include "table/image.h"
#include "table/info.h"
#include "table/sequencer.h"

static int refuse(char reason[SW_REPL_REASON_BYTES], const char *what, const char *why)
{
    snprintf(reason, SW_REPL_REASON_BYTES, "%s: %.220s", what, why);
    return -1;
}

static int begin(void *context, const uint8_t *message, size_t bytes,
                 char reason[SW_REPL_REASON_BYTES])
{
    struct sw_replica *replica = context;
    struct sw_catalog catalog;
    char why[SW_LOAD_REASON_BYTES] = "";
    bool newer = false;
    const char *wrong = sw_catalog_decode(message, bytes, &catalog, &newer);
    if (wrong != NULL) {
        return refuse(reason, "the primary's catalog of the tables is wrong", wrong);
    }
    sw_tables_begin_small(replica->parts.tables, replica->lacked_room);
    int status = sw_catalog_restore(&catalog, replica->parts.tables, replica->parts.config, why);
    if (status != 0 && !replica->lacked_room) { /* perhaps for lack of memory */
        sw_tables_begin_small(replica->parts.tables, true);
        status = sw_catalog_restore(&catalog, replica->parts.tables, replica->parts.config, why);
    }
    sw_tables_begin_small(replica->parts.tables, false);
    sw_catalog_free(&catalog);
    return status == 0 ? 0 : refuse(reason, "the primary's tables cannot be made here", why);
}

static int find(void *context, uint32_t id, struct sw_replay_table *out,
                char reason[SW_REPL_REASON_BYTES])
{
    const struct sw_replica *replica = context;
    struct sw_served *served = sw_tables_pin(replica->parts.tables, id - 1);
    const bool is_found = served != NULL && served->id == id;
    (void)reason;
    if (is_found) {
        *out = (struct sw_replay_table){.table = served->table,
                                        .shape = sw_catalog_shape(served),
                                        .through = sw_table_last_sequence(served->table),
                                        .account = served->account};
    }
    if (served != NULL) { /* this thread alone could drop it */
        (void)sw_tables_unpin(replica->parts.tables, served);
    }
    return is_found;
}

/* Takes the slots that a table does not need, if they are many. It keeps its number: a record with
 * the number of the RESIZE will come, and an image must not have it. Returns whether it had some.
 */
static bool shrink(struct sw_table *table)
{
    const uint64_t last = sw_table_last_sequence(table);
    struct sw_table_stats stats;
    struct sw_table_info info;
    sw_table_stats(table, &stats);
    sw_table_info(table, &info);
    sw_image_claim(table);
    const bool shrinks = stats.occupied < info.occupied_max / 2 && sw_table_shrink(table);
    sw_table_set_sequence(table, last);
    sw_image_unclaim(table);
    return shrinks;
}

/* Does so with all tables, unless a snapshot of one is being written. The stream has no RESIZE, so
 * they may have more slots than those of the primary. */
static bool shrink_all(const struct sw_replica *replica)
{
    /* before the tables are at one position, no snapshot begins */
    struct sw_saver *saver = replica->apply.is_settled ? replica->files.saver : NULL;
    const uint64_t last = sw_sequencer_last(replica->parts.sequencer);
    struct sw_served *served;
    bool some = false;
    if (saver != NULL && !sw_saver_hold(saver)) {
        sw_saver_release(saver);
        return false;
    }
    for (uint32_t id = 0; (served = sw_tables_pin(replica->parts.tables, id)) != NULL;) {
        id = served->id;
        some |= shrink(served->table);
        (void)sw_tables_unpin(replica->parts.tables, served); /* this thread alone could drop it */
    }
    sw_sequencer_set(replica->parts.sequencer, last);
    if (saver != NULL) {
        sw_saver_release(saver);
    }
    return some;
}

static int change(void *context, uint64_t sequence, const uint8_t *message, size_t bytes,
                  char reason[SW_REPL_REASON_BYTES])
{
    struct sw_replica *replica = context;
    /* before the tables are at one position, the files are those of another history */
    const struct sw_tables_applied applied = {replica->apply.is_settled ? sequence : 0};
    struct sw_catalog catalog;
    char why[SW_LOAD_REASON_BYTES] = "";
    bool newer = false;
    const char *wrong = sw_catalog_decode_change(message, bytes, &catalog, &newer);
    if (wrong != NULL) {
        return refuse(reason, "a change of the primary's tables is wrong", wrong);
    }
    int status =
        sw_catalog_carry_out(&catalog, replica->parts.tables, replica->parts.config, &applied, why);
    if (status != 0 && shrink_all(replica)) { /* a new table may have lacked memory */
        status = sw_catalog_carry_out(&catalog, replica->parts.tables, replica->parts.config,
                                      &applied, why);
    }
    sw_catalog_free(&catalog);
    return status == 0
               ? 0
               : refuse(reason, "a change of the primary's tables cannot be made here", why);
}

void sw_replica_set_tables(struct sw_replica *replica, struct sw_tables *tables,
                           struct sw_sequencer *sequencer)
{
    replica->parts.tables = tables;
    replica->parts.sequencer = sequencer;
    replica->tables = (struct sw_apply_tables){
        .begin = begin, .find = find, .change = change, .sequencer = sequencer, .context = replica};
    replica->apply.tables = &replica->tables;
}

uint64_t sw_replica_last(const struct sw_replica *replica)
{
    return sw_sequencer_last(replica->parts.sequencer);
}

int sw_replica_leave_one(struct sw_replica *replica)
{
    char error[SW_TABLES_ERROR_BYTES] = "";
    const bool are_several = sw_places_are_several(&sw_tables_hold(replica->parts.tables)->catalog);
    sw_tables_release(replica->parts.tables);
    return !are_several ||
                   sw_tables_restore(replica->parts.tables, NULL, NULL, error, sizeof(error)) == 0
               ? 0
               : refuse(replica->apply.reason, "the tables of this server cannot be closed", error);
}
