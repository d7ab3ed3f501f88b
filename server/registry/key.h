/* SPDX-License-Identifier: MIT
 *
 * key.h - the keys of a topology in etcd, and the bodies of requests about them.
 *
 *     PREFIX/topology             the topology, without an epoch: that is the key's mod_revision
 *     PREFIX/topology-write/NODE  mark of this node's last write: 16 hex digits, drawn by the node
 *
 * One transaction writes both. So a node that has lost the answer can find out whether etcd carried
 * out its write, even if another write has followed. Pure functions.
 */
#ifndef SHERWOOD_SERVER_REGISTRY_KEY_H
#define SHERWOOD_SERVER_REGISTRY_KEY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/etcd/etcd_address.h"

#define SW_REGISTRY_KEY_BYTES 160
#define SW_REGISTRY_MARK_BYTES 17

struct sw_registry_key {
    char topology[SW_REGISTRY_KEY_BYTES];
    char write[SW_REGISTRY_KEY_BYTES];
};

void sw_registry_name_keys(struct sw_registry_key *key, const struct sw_etcd_address *address,
                           const char *node);

/* A condition of a write: another key, the term of a shard, must have this revision. */
struct sw_registry_fence {
    char key[SW_REGISTRY_KEY_BYTES]; /* empty: none */
    uint64_t revision;
};

/* Return bodies of requests, which the caller frees. NULL: no memory. */
json_t *sw_registry_ask_watch(const struct sw_registry_key *key, uint64_t from);
json_t *sw_registry_ask_read(const struct sw_registry_key *key);
/* Writes the text if the topology has this epoch (0: no topology), else reads both keys. */
json_t *sw_registry_ask_write(const struct sw_registry_key *key, uint64_t epoch, const char *text,
                              const char *mark, const struct sw_registry_fence *fence);

/* The values of both keys in etcd. */
struct sw_registry_held {
    uint64_t revision; /* revision of etcd at the read */
    uint64_t epoch;    /* of the topology; 0: no topology */
    char *text;        /* the caller frees it; NULL: no topology, or a value that is not text */
    size_t size;
    char mark[SW_REGISTRY_MARK_BYTES]; /* of this node's last write; "": it has written nothing */
    uint64_t written;                  /* revision of that write */
};

/* Reads the answer to a read, or to a write that etcd did not carry out. */
void sw_registry_read_answer(const json_t *answer, struct sw_registry_held *held);
/* Reads the topology's key from an event of a watch. `kv` is NULL if the key was deleted. */
void sw_registry_read_kv(const json_t *kv, uint64_t revision, struct sw_registry_held *held);

#endif
