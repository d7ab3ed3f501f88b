/* SPDX-License-Identifier: MIT
 *
 * watch.h - a watch of one key: the request, and the lines that etcd's JSON gateway writes, one
 * JSON document each. Pure functions.
 *
 *     {"result":{"header":{"revision":"7",..},"created":true}}
 *     {"result":{"header":{..},"events":[{"kv":{"mod_revision":"9","value":"..",..}}]}}
 *     {"result":{"header":{..},"events":[{"type":"DELETE","kv":{"mod_revision":"10",..}}]}}
 *     {"result":{"header":{..},"canceled":true,"compact_revision":"51"}}
 *     {"error":{"message":"..",..}}
 */
#ifndef SHERWOOD_SERVER_ETCD_WATCH_H
#define SHERWOOD_SERVER_ETCD_WATCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_ETCD_REASON_BYTES 256

enum sw_etcd_news_kind {
    SW_ETCD_CREATED,   /* the watch is there */
    SW_ETCD_PROGRESS,  /* nothing has changed up to `revision` */
    SW_ETCD_CHANGED,   /* the key has, at last to `kv`, or was deleted */
    SW_ETCD_COMPACTED, /* events are missing: the key is to be read, and watched anew */
    SW_ETCD_ENDED      /* the watch is over, for the reason that is given */
};

struct sw_etcd_news {
    enum sw_etcd_news_kind kind;
    uint64_t revision; /* of PROGRESS, CHANGED: all changes up to it have been told */
    const json_t *kv;  /* of CHANGED: lives as long as `root`; NULL: the key is deleted */
    json_t *root;      /* the caller's reference */
};

/* New reference: a watch of the key, taken over, from this revision on. */
json_t *sw_etcd_ask_watch(json_t *key, uint64_t from);
/* Returns false, with a sentence in `reason` and nothing to free, if the line is none of these. Of
 * ENDED there is a reason, too. */
bool sw_etcd_read_news(const char *line, size_t size, struct sw_etcd_news *news,
                       char reason[SW_ETCD_REASON_BYTES]);

#endif
