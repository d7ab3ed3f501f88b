/* SPDX-License-Identifier: MIT
 *
 * state_file.h - what a node of a cluster remembers: its id, the topology of the highest epoch that
 * it has seen, and the slots that are on their way to it or from it, in a file whose last field is
 * a check of all bytes before it. For one thread at a time.
 */
#ifndef SHERWOOD_SERVER_CLUSTER_STATE_FILE_H
#define SHERWOOD_SERVER_CLUSTER_STATE_FILE_H

#include <stdbool.h>

#include "proto/cluster/topology.h"

/* What a node does with slots that are on their way. */
enum sw_cluster_role {
    SW_CLUSTER_RESTS,
    SW_CLUSTER_TAKES,  /* it is the target of a move */
    SW_CLUSTER_HANDED, /* it is the source, and serves the slots no more */
    SW_CLUSTER_DECIDES /* it is the target, and the topology has the slots here: they are served
                          once the replicas know that */
};

struct sw_cluster_move {
    enum sw_cluster_role role;
    uint64_t last;                 /* the last attempt that began here, or was said no to */
    uint64_t attempt;              /* that is under way; of the target's numbers */
    char peer[SW_TOPOLOGY_ID + 1]; /* the node at the other end */
    struct sw_slot_set slots;
    struct sw_slot_set leaving; /* slots of others, whose keys are to be removed */
};

struct sw_cluster_state {
    char id[SW_TOPOLOGY_ID + 1];
    bool may_have_foreign;
    struct sw_cluster_move move;
    struct sw_topology *topology; /* NULL: none yet */
};

/* The longest sentence about a file: its name, a path of JSON, and what is wrong. */
#define SW_CLUSTER_ERROR_BYTES (SW_TOPOLOGY_ERROR_BYTES + 256)

/* Reads a whole file of at most SW_TOPOLOGY_BYTES_MAX + 256 KiB. Returns it, to be freed, or NULL
 * with a sentence in `error`, and errno. */
char *sw_cluster_read_file(const char *path, size_t *size, char error[SW_CLUSTER_ERROR_BYTES]);

/* The bytes of the file, which the caller frees; NULL if there is no memory. */
char *sw_cluster_state_print(const struct sw_cluster_state *state);
/* Takes such bytes. Returns false with a sentence in `error`. */
bool sw_cluster_state_parse(const char *text, size_t size, struct sw_cluster_state *state,
                            char error[SW_TOPOLOGY_ERROR_BYTES]);

/* Reads the state. Returns 1; 0 if there is no such file; or -1 with a sentence in `error`. */
int sw_cluster_state_read(const char *path, struct sw_cluster_state *state,
                          char error[SW_CLUSTER_ERROR_BYTES]);

/* Writes the state beside the file, syncs it, and puts it in the file's place. Returns 0, or -1
 * with a sentence in `error`, and the file is as it was; or -2, and the next start may find the
 * old one or the new one: the folder could not be synced. */
int sw_cluster_state_write(const char *path, const struct sw_cluster_state *state,
                           char error[SW_CLUSTER_ERROR_BYTES]);

#endif
