/* SPDX-License-Identifier: MIT
 *
 * role.h - the role that REPLICAOF gives a server with a data directory, and a restart takes up
 * again: the newest decision of an operator holds, whether it came by REPLICAOF or by the option.
 *
 * A topology, or etcd (--ha), decides alone where there is one: then nothing is kept here.
 *
 * Lock order: the lock of roles, then that of the replica (replica_parts.h). It is held while the
 * file is written: of the loops only CONFIG REWRITE takes it, which writes a file itself.
 */
#ifndef SHERWOOD_SERVER_REPL_ROLE_H
#define SHERWOOD_SERVER_REPL_ROLE_H

#include <pthread.h>

#include "server/config/config.h"
#include "server/log/saver.h"
#include "server/repl/state.h"

struct sw_role_keeper {
    pthread_mutex_t lock;
    struct sw_saver *saver;                /* NULL: nothing is kept */
    const struct sw_config *config;        /* borrowed */
    char replicaof[SW_ROLE_PRIMARY_BYTES]; /* what a start would find in that option */
};

void sw_role_init(struct sw_role_keeper *keeper, const struct sw_config *config,
                  struct sw_saver *saver);
void sw_role_fini(struct sw_role_keeper *keeper);

/* The role at the start: copies the primary, or "" if this server is one. Logs where the file
 * decides against the option. Before any thread starts. Returns 0; or -1 with a sentence in
 * `reason`. */
int sw_role_at_start(struct sw_role_keeper *keeper, bool has_terms,
                     char primary[SW_ROLE_PRIMARY_BYTES], char reason[SW_REPL_REASON_BYTES]);

/* With the lock held: the role is this one from now on; `primary` is "" if this server is one.
 * Returns 0; or -1 with a sentence in `reason`, and nothing changed. May block for the disk. */
int sw_role_keep(struct sw_role_keeper *keeper, const char *primary,
                 char reason[SW_REPL_REASON_BYTES]);

/* Does an operator decide on the role, rather than a topology? Shards (--ha) are the caller's to
 * tell apart. */
bool sw_role_is_free(const struct sw_config *config);

/* CONFIG REWRITE has written `replicaof` into the file, and no flag hides it: a start finds that.
 */
void sw_role_rewritten(struct sw_role_keeper *keeper, const char *replicaof);

#endif
