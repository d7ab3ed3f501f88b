/* SPDX-License-Identifier: MIT
 *
 * role.h - the stored role of a server with a data directory. A restart takes the newest decision
 * of an operator, by REPLICAOF or by the option.
 *
 * If a topology or etcd (--ha) decides on the role, this module stores nothing.
 *
 * Lock order: the lock of roles, then the replica's lock (replica_parts.h). The lock of roles is
 * held while the file is written. On loops only CONFIG REWRITE locks it, which also writes a file.
 */
#ifndef SHERWOOD_SERVER_REPL_ROLE_H
#define SHERWOOD_SERVER_REPL_ROLE_H

#include <pthread.h>

#include "server/config/config.h"
#include "server/log/saver.h"
#include "server/repl/state.h"

struct sw_role_store {
    pthread_mutex_t lock;
    struct sw_saver *saver;                /* NULL: the role is not stored */
    const struct sw_config *config;        /* borrowed */
    char replicaof[SW_ROLE_PRIMARY_BYTES]; /* value of that option at the next start */
};

void sw_role_init(struct sw_role_store *store, const struct sw_config *config,
                  struct sw_saver *saver);
void sw_role_fini(struct sw_role_store *store);

/* Decides the role at the start: writes the primary's address, or "" if this server is a primary.
 * Logs a line if the file overrides the option. Call it before any thread starts. Returns 0; or -1
 * and an error in `reason`. */
int sw_role_at_start(struct sw_role_store *store, bool has_terms,
                     char primary[SW_ROLE_PRIMARY_BYTES], char reason[SW_REPL_REASON_BYTES]);

/* Stores the role. `primary`: "" if this server is a primary. The caller holds the lock. May block
 * for the disk. Returns 0; or changes nothing and returns -1 with an error in `reason`. */
int sw_role_keep(struct sw_role_store *store, const char *primary,
                 char reason[SW_REPL_REASON_BYTES]);

/* Returns true if an operator decides on the role, not a topology. The caller checks for a shard
 * (--ha). */
bool sw_role_is_free(const struct sw_config *config);

/* CONFIG REWRITE has written `replicaof` to the configuration file, and no flag overrides it: the
 * next start will find this value. */
void sw_role_rewritten(struct sw_role_store *store, const char *replicaof);

#endif
