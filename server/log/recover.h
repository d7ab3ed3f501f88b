/* SPDX-License-Identifier: MIT
 *
 * recover.h - applies the log to the table after the newest snapshot is loaded, and begins a new
 * log.
 */
#ifndef SHERWOOD_SERVER_LOG_RECOVER_H
#define SHERWOOD_SERVER_LOG_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "server/config/config.h"
#include "server/log/replay.h"
#include "server/log/snapshot_load.h"
#include "server/log/wal.h"

/* Options for a start. */
struct sw_recover_options {
    bool cuts_torn_tail;   /* otherwise a log whose end is torn is refused */
    bool has_form;         /* otherwise the form of keys is not compared */
    uint32_t resp_keys;    /* enum sw_resp_keys */
    bool takes_other_form; /* files of another form are not refused */
};

struct sw_recover {
    struct sw_directory *directory; /* gets the log_id of the segments, if there is no snapshot */
    struct sw_table *table;         /* has the snapshot; no other thread writes to it */
    struct sw_wal_shape shape;
    bool has_snapshot;
    uint64_t
        base; /* the snapshot has the writes up to here, of each of its tables; 0: there is none */
    uint64_t named;                            /* highest sequence in the name of a snapshot */
    const struct sw_snapshot_header *snapshot; /* or NULL */
    struct sw_recover_options options;
    struct sw_replay_owner owner;
    const struct sw_replay_tables *tables; /* NULL: there is one table */
    struct sw_wal *wal;                    /* the log to begin; NULL: later writes are not logged */
};

/* Recovers all segments of the directory, also if `wal` is NULL. Logs a summary. Returns 0; or -1
 * and an error in `reason`. */
int sw_recover(const struct sw_recover *recover, char reason[SW_WAL_REASON_BYTES]);

/* Calls sw_recover with the results of sw_snapshot_load, which may have found no snapshot.
 * `tables`: NULL if the server has one table. */
int sw_recover_after_snapshot(const struct sw_load *load, const struct sw_config *config,
                              const struct sw_replay_tables *tables, struct sw_wal *wal,
                              char reason[SW_WAL_REASON_BYTES]);

#endif
