/* SPDX-License-Identifier: MIT
 *
 * watch.c - writes the request of a watch, and parses the lines of its answer.
 */
#include "server/etcd/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/etcd/values.h"

json_t *sw_etcd_ask_watch(json_t *key, uint64_t from)
{
    return json_pack("{s:{s:o,s:o}}", "create_request", "key", key, "start_revision",
                     json_sprintf("%" PRIu64, from));
}

/* Reads the last event: it has the newest state of the key. Returns false if the event is
 * malformed. */
static bool read_events(const json_t *events, struct sw_etcd_news *news)
{
    const json_t *last = json_array_get(events, json_array_size(events) - 1);
    const json_t *kv = json_object_get(last, "kv");
    const char *type = json_string_value(json_object_get(last, "type")); /* etcd omits PUT */
    bool is_put = type == NULL || strcmp(type, "PUT") == 0;
    news->kind = SW_ETCD_CHANGED;
    news->kv = is_put ? kv : NULL;
    news->revision = sw_etcd_number(kv, "mod_revision"); /* the header may have a later one */
    return news->revision > 0 && (is_put || strcmp(type, "DELETE") == 0);
}

static void format_reason(char reason[SW_ETCD_REASON_BYTES], const char *text, const json_t *more)
{
    const char *why = json_string_value(more);
    snprintf(reason, SW_ETCD_REASON_BYTES, "%s%s%.160s", text, why == NULL ? "" : ": ",
             why == NULL ? "" : why);
}

/* Returns false if the document is not an answer to a watch. */
static bool read_change(const json_t *root, struct sw_etcd_news *news,
                        char reason[SW_ETCD_REASON_BYTES])
{
    const json_t *result = json_object_get(root, "result"), *error = json_object_get(root, "error");
    const json_t *events = json_object_get(result, "events");
    if (error != NULL) {
        const json_t *message = json_object_get(error, "message");
        news->kind = SW_ETCD_ENDED;
        format_reason(reason, "etcd ended the watch", message == NULL ? error : message);
        return true;
    }
    news->revision = sw_etcd_number(json_object_get(result, "header"), "revision");
    if (json_is_true(json_object_get(result, "canceled"))) {
        const bool is_compacted = sw_etcd_number(result, "compact_revision") > 0;
        news->kind = is_compacted ? SW_ETCD_COMPACTED : SW_ETCD_ENDED;
        format_reason(reason, "etcd canceled the watch", json_object_get(result, "cancel_reason"));
        return true;
    }
    if (news->revision == 0) {
        return false;
    }
    if (json_array_size(events) > 0) {
        return read_events(events, news);
    }
    news->kind =
        json_is_true(json_object_get(result, "created")) ? SW_ETCD_CREATED : SW_ETCD_PROGRESS;
    return true;
}

bool sw_etcd_read_news(const char *line, size_t size, struct sw_etcd_news *news,
                       char reason[SW_ETCD_REASON_BYTES])
{
    memset(news, 0, sizeof(*news));
    reason[0] = '\0';
    news->root = json_loadb(line, size, 0, NULL);
    if (news->root == NULL || !read_change(news->root, news, reason)) {
        snprintf(reason, SW_ETCD_REASON_BYTES, "unexpected line in the answer to etcd's watch");
        json_decref(news->root);
        news->root = NULL;
        return false;
    }
    return true;
}
