/* SPDX-License-Identifier: MIT
 *
 * state_file.h - the state file of a cluster node: its id, the topology of the highest epoch that
 * it has seen, and the slots that move to it or from it. The last field is a checksum of all bytes
 * before it. Threads: one at a time.
 */
#ifndef SHERWOOD_SERVER_CLUSTER_STATE_FILE_H
#define SHERWOOD_SERVER_CLUSTER_STATE_FILE_H

#include <stdbool.h>

#include "proto/cluster/topology.h"

/* Role of a node in a move. */
enum sw_cluster_role {
    SW_CLUSTER_RESTS,  /* there is no move */
    SW_CLUSTER_TAKES,  /* target */
    SW_CLUSTER_HANDED, /* source that has stopped serving the slots */
    SW_CLUSTER_DECIDES /* target that owns the slots by its topology, and serves them once its
                          replicas know that */
};

struct sw_cluster_move {
    enum sw_cluster_role role;
    uint64_t last;                 /* the last attempt that began here or was reported as failed */
    uint64_t attempt;              /* the current attempt, as the target numbers it */
    char peer[SW_TOPOLOGY_ID + 1]; /* the node at the other end */
    struct sw_slot_set slots;
    struct sw_slot_set leaving; /* slots of other nodes, whose keys must be removed here */
};

struct sw_cluster_state {
    char id[SW_TOPOLOGY_ID + 1];
    bool may_have_foreign;
    struct sw_cluster_move move;
    struct sw_topology *topology; /* NULL: none yet */
};

/* Longest error about a file: its name, a JSON path, and the cause. */
#define SW_CLUSTER_ERROR_BYTES (SW_TOPOLOGY_ERROR_BYTES + 256)

/* The error about a state of another node: the file, its node, and the node of the options. */
#define SW_CLUSTER_OTHER_NODE                                                                  \
    "%.160s has the state of node %s, but --cluster-node-id is %s: give the id of the state, " \
    "or name another file (--cluster-state)"

/* Reads a whole file of at most SW_TOPOLOGY_BYTES_MAX + 256 KiB. Returns its bytes, which the
 * caller frees; or NULL with an error in `error`, and errno. */
char *sw_cluster_read_file(const char *path, size_t *size, char error[SW_CLUSTER_ERROR_BYTES]);

/* Returns the bytes of the file, which the caller frees; NULL if memory is short. */
char *sw_cluster_state_print(const struct sw_cluster_state *state);
/* Parses these bytes. If it fails, returns false and an error in `error`. */
bool sw_cluster_state_parse(const char *text, size_t size, struct sw_cluster_state *state,
                            char error[SW_TOPOLOGY_ERROR_BYTES]);

/* Reads the state. Returns 1; 0 if there is no such file; or -1 with a sentence in `error`. */
int sw_cluster_state_read(const char *path, struct sw_cluster_state *state,
                          char error[SW_CLUSTER_ERROR_BYTES]);

/* Writes the state to a new file, syncs it, and renames it over the old one. Returns 0. Returns -1
 * and an error in `error` if it fails; the file is then unchanged. Returns -2 if the directory
 * could not be synced; the next start may then find the old file or the new one. */
int sw_cluster_state_write(const char *path, const struct sw_cluster_state *state,
                           char error[SW_CLUSTER_ERROR_BYTES]);

#endif
