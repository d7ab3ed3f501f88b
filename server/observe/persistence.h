/* SPDX-License-Identifier: MIT
 *
 * persistence.h - status of snapshots, for INFO, /metrics, STATS and /readyz.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_PERSISTENCE_H
#define SHERWOOD_SERVER_OBSERVE_PERSISTENCE_H

#include <stdbool.h>
#include <stdint.h>

/* All zero without a data directory. Times of the wall clock are seconds since 1970. */
struct sw_persistence {
    bool enabled; /* there is a data directory */
    bool loading;
    uint64_t loading_since; /* wall clock */
    uint64_t loading_bytes; /* of the file */
    uint64_t loaded_bytes;  /* of them so far */
    uint64_t loaded_keys;   /* by the load at the start */
    bool saving;
    uint64_t saving_since;   /* wall clock */
    bool last_failed;        /* the last snapshot tried */
    bool refuses_writes;     /* because it failed (stop-writes-on-bgsave-error) */
    uint64_t saved_at;       /* wall clock: the last snapshot, or the start */
    uint64_t changes;        /* keys changed since then */
    uint64_t saves;          /* since the start */
    uint64_t failures;       /* likewise */
    uint64_t last_ms;        /* how long the last one took */
    uint64_t last_hold_us;   /* and how long writes waited for it */
    uint64_t last_bytes;     /* of the newest file */
    uint64_t last_keys;      /* in it */
    uint64_t saved_sequence; /* the last write that is in it */
};

/* Returns the loaded part of the file in percent. */
static inline unsigned sw_persistence_percent(const struct sw_persistence *persistence)
{
    return persistence->loading_bytes == 0
               ? 0
               : (unsigned)(100 * persistence->loaded_bytes / persistence->loading_bytes);
}

#endif
