/* SPDX-License-Identifier: MIT
 *
 * key.h - the keys of a topology in etcd, and the bodies of requests about them.
 *
 *     PREFIX/topology             the topology, without an epoch: that is the key's mod_revision
 *     PREFIX/topology-write/NODE  which write of this node was carried out last: 16 hex digits that
 *                                 the node has drawn for it
 *
 * Both are written by one transaction, so a node whose answer was lost finds out whether its write
 * was carried out, also when another one has followed it. Pure functions.
 */
#ifndef SHERWOOD_SERVER_REGISTRY_KEY_H
#define SHERWOOD_SERVER_REGISTRY_KEY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/etcd/where.h"

#define SW_REGISTRY_KEY_BYTES 160
#define SW_REGISTRY_MARK_BYTES 17

struct sw_registry_key {
    char topology[SW_REGISTRY_KEY_BYTES];
    char write[SW_REGISTRY_KEY_BYTES];
};

void sw_registry_name_keys(struct sw_registry_key *key, const struct sw_etcd_where *where,
                           const char *node);

/* Another key that must have this revision: the term of a shard. */
struct sw_registry_fence {
    char key[SW_REGISTRY_KEY_BYTES]; /* empty: none */
    uint64_t revision;
};

/* Bodies, for the caller to free. NULL: no memory. */
json_t *sw_registry_ask_watch(const struct sw_registry_key *key, uint64_t from);
json_t *sw_registry_ask_read(const struct sw_registry_key *key);
/* Puts the text where the topology has this epoch (0: there is none), or reads both keys. */
json_t *sw_registry_ask_write(const struct sw_registry_key *key, uint64_t epoch, const char *text,
                              const char *mark, const struct sw_registry_fence *fence);

/* What etcd holds. */
struct sw_registry_held {
    uint64_t revision; /* of etcd, as of which this is so */
    uint64_t epoch;    /* of the topology; 0: there is none */
    char *text;        /* NULL: there is none, or it is no text at all; to be freed */
    size_t size;
    char mark[SW_REGISTRY_MARK_BYTES]; /* of this node's last write; "": it has written nothing */
    uint64_t written;                  /* the revision of that */
};

/* Reads the answer to a read, or to a write that was not carried out. */
void sw_registry_read_answer(const json_t *answer, struct sw_registry_held *held);
/* .. the key as a watch has it: NULL, and it is deleted. */
void sw_registry_read_kv(const json_t *kv, uint64_t revision, struct sw_registry_held *held);

#endif
