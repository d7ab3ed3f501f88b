/* SPDX-License-Identifier: MIT
 *
 * watch.h - a watch of one key: the request, and the lines of the answer. Each line is a JSON
 * document. Pure functions.
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
    SW_ETCD_CREATED,   /* etcd has created the watch */
    SW_ETCD_PROGRESS,  /* nothing has changed up to `revision` */
    SW_ETCD_CHANGED,   /* the key was changed, last to `kv`, or was deleted */
    SW_ETCD_COMPACTED, /* events are missing: the caller must read the key and watch it again */
    SW_ETCD_ENDED      /* the watch has ended; `reason` has the cause */
};

struct sw_etcd_news {
    enum sw_etcd_news_kind kind;
    uint64_t revision; /* of PROGRESS, CHANGED: the watch has reported all changes up to it */
    const json_t *kv;  /* of CHANGED: valid as long as `root`; NULL: the key was deleted */
    json_t *root;      /* the caller's reference */
};

/* Returns a new reference: a request to watch the key from this revision on. Takes over `key`. */
json_t *sw_etcd_ask_watch(json_t *key, uint64_t from);
/* Parses a line. If it is not one of the lines above, returns false with an error in `reason` and
 * nothing to free. Also sets `reason` for COMPACTED and ENDED. */
bool sw_etcd_read_news(const char *line, size_t size, struct sw_etcd_news *news,
                       char reason[SW_ETCD_REASON_BYTES]);

#endif
