/* SPDX-License-Identifier: MIT
 *
 * shard.c - the keys of a shard as JSON, and requests about them.
 */
#include "server/ha/shard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/etcd/values.h"

#define KEY_BYTES 160
#define VALUE_BYTES 4096

/* --- texts -------------------------------------------------------------------------------------
 */

static json_t *key_of(const struct sw_ha_address *address, const char *name)
{
    char key[KEY_BYTES];
    int size = snprintf(key, sizeof(key), "%s/%s/%s", address->etcd.prefix, address->shard, name);
    return sw_etcd_in_base64(key, (size_t)size);
}

static json_t *put_of(const struct sw_ha_address *address, const char *name, json_t *value)
{
    char *text = value == NULL ? NULL : json_dumps(value, JSON_COMPACT);
    json_t *base64 = text == NULL ? NULL : sw_etcd_in_base64(text, strlen(text));
    free(text);
    json_decref(value);
    return json_pack("{s:{s:o,s:o}}", "request_put", "key", key_of(address, name), "value", base64);
}

static json_t *comparison_of(const struct sw_ha_address *address, const char *name,
                             uint64_t revision)
{
    return sw_etcd_comparison(key_of(address, name), revision);
}

/* --- requests ----------------------------------------------------------------------------------
 */

json_t *sw_ha_ask_all(const struct sw_ha_address *address)
{
    char end[KEY_BYTES]; /* the byte '0' follows '/' */
    int size = snprintf(end, sizeof(end), "%s/%s0", address->etcd.prefix, address->shard);
    return json_pack("{s:o,s:o}", "key", key_of(address, ""), "range_end",
                     sw_etcd_in_base64(end, (size_t)size));
}

/* Takes over the arrays. */
static json_t *transaction(const struct sw_ha_address *address, json_t *compare, json_t *success)
{
    return json_pack("{s:o,s:o,s:[{s:o}]}", "compare", compare, "success", success, "failure",
                     "request_range", sw_ha_ask_all(address));
}

static json_t *incarnation_of(struct sw_ha_id id)
{
    return json_sprintf("%016" PRIx64, id.incarnation);
}

static json_t *sync_value(const struct sw_ha_sync *sync, const struct sw_ha_names *names)
{
    json_t *members = json_array(), *in_sync = json_array();
    for (uint64_t i = 0; i < sync->members; i++) {
        json_array_append_new(members, json_string(sw_ha_name(names, sync->member[i])));
    }
    for (uint64_t i = 0; i < sync->count; i++) {
        json_array_append_new(in_sync, json_pack("[s,o]", sw_ha_name(names, sync->in_sync[i].node),
                                                 incarnation_of(sync->in_sync[i])));
    }
    return json_pack("{s:I,s:o,s:o}", "quorum", (json_int_t)sync->quorum, "members", members,
                     "in_sync", in_sync);
}

static json_t *renewal_value(const struct sw_ha_address *address, uint64_t term, uint64_t number)
{
    return json_pack("{s:I,s:I,s:I}", "term", (json_int_t)term, "renewals", (json_int_t)number,
                     "ttl_ms", (json_int_t)(address->ttl_ns / 1000000U));
}

json_t *sw_ha_ask_election(const struct sw_ha_address *address, const struct sw_ha_shard *shard,
                           const struct sw_ha_sync *next, struct sw_ha_id self,
                           const struct sw_ha_names *names)
{
    json_t *term = json_pack("{s:I,s:s,s:o}", "term", (json_int_t)(shard->term + 1), "primary",
                             sw_ha_name(names, self.node), "incarnation", incarnation_of(self));
    json_t *compare = json_pack("[o,o,o]", comparison_of(address, "term", shard->term_revision),
                                comparison_of(address, "sync", shard->sync_revision),
                                comparison_of(address, "renewal", shard->renewal_revision));
    json_t *success = json_pack(
        "[o,o,o]", put_of(address, "term", term), put_of(address, "sync", sync_value(next, names)),
        put_of(address, "renewal", renewal_value(address, shard->term + 1, 0)));
    return transaction(address, compare, success);
}

json_t *sw_ha_ask_renewal(const struct sw_ha_address *address, const struct sw_ha_shard *shard,
                          uint64_t number)
{
    return transaction(
        address, json_pack("[o]", comparison_of(address, "term", shard->term_revision)),
        json_pack("[o]", put_of(address, "renewal", renewal_value(address, shard->term, number))));
}

json_t *sw_ha_ask_change(const struct sw_ha_address *address, const struct sw_ha_shard *shard,
                         const struct sw_ha_sync *next, const struct sw_ha_names *names)
{
    return transaction(address,
                       json_pack("[o,o]", comparison_of(address, "term", shard->term_revision),
                                 comparison_of(address, "sync", shard->sync_revision)),
                       json_pack("[o]", put_of(address, "sync", sync_value(next, names))));
}

json_t *sw_ha_ask_end(const struct sw_ha_address *address, const struct sw_ha_shard *shard)
{
    return transaction(
        address, json_pack("[o]", comparison_of(address, "term", shard->term_revision)),
        json_pack("[{s:{s:o}}]", "request_delete_range", "key", key_of(address, "renewal")));
}

/* --- answers ------------------------------------------------------------------------------------
 */

static bool read_id(const json_t *name, const json_t *incarnation, struct sw_ha_id *id,
                    struct sw_ha_names *names)
{
    const char *text = json_string_value(name), *digits = json_string_value(incarnation);
    char *end;
    if (text == NULL || digits == NULL || strlen(digits) != 16 || !sw_ha_names_add(names, text)) {
        return false;
    }
    id->node = sw_ha_node(text);
    id->incarnation = strtoull(digits, &end, 16);
    return *end == '\0' && id->incarnation != 0;
}

static bool read_term(const json_t *value, struct sw_ha_shard *shard, struct sw_ha_names *names)
{
    shard->term = (uint64_t)json_integer_value(json_object_get(value, "term"));
    return shard->term > 0 &&
           read_id(json_object_get(value, "primary"), json_object_get(value, "incarnation"),
                   &shard->primary, names);
}

static bool read_sync(const json_t *value, struct sw_ha_shard *shard, struct sw_ha_names *names)
{
    struct sw_ha_sync *sync = &shard->sync;
    const json_t *members = json_object_get(value, "members");
    const json_t *in_sync = json_object_get(value, "in_sync");
    sync->quorum = (uint64_t)json_integer_value(json_object_get(value, "quorum"));
    sync->members = json_array_size(members);
    sync->count = json_array_size(in_sync);
    if (sync->quorum == 0 || sync->members == 0 || sync->members > SW_HA_MEMBERS_MAX ||
        sync->count >= sync->members) {
        return false;
    }
    for (uint64_t i = 0; i < sync->members; i++) {
        const char *name = json_string_value(json_array_get(members, i));
        if (name == NULL || !sw_ha_names_add(names, name)) {
            return false;
        }
        sync->member[i] = sw_ha_node(name);
    }
    for (uint64_t i = 0; i < sync->count; i++) {
        const json_t *pair = json_array_get(in_sync, i);
        if (!read_id(json_array_get(pair, 0), json_array_get(pair, 1), &sync->in_sync[i], names)) {
            return false;
        }
    }
    return true;
}

static bool read_renewal(const json_t *value, struct sw_ha_shard *shard)
{
    const json_int_t ttl_ms = json_integer_value(json_object_get(value, "ttl_ms"));
    shard->ttl_ns = (uint64_t)ttl_ms * 1000000U;
    return value != NULL && ttl_ms >= 0 && ttl_ms <= SW_HA_TTL_SECONDS_MAX * 1000;
}

/* Reads one key. Skips keys that Sherwood does not use. */
static bool read_key(const struct sw_ha_address *address, const json_t *kv,
                     struct sw_ha_shard *shard, struct sw_ha_names *names)
{
    const size_t folder = strlen(address->etcd.prefix) + strlen(address->shard) + 2;
    size_t size = 0;
    char *key = sw_etcd_from_base64(json_object_get(kv, "key"), &size);
    const char *which = key == NULL || size <= folder ? "" : key + folder;
    bool is_term = strcmp(which, "term") == 0, is_sync = strcmp(which, "sync") == 0;
    bool is_ours = is_term || is_sync || strcmp(which, "renewal") == 0;
    free(key);
    if (!is_ours) {
        return true;
    }
    char *value = sw_etcd_from_base64(json_object_get(kv, "value"), &size);
    json_t *parsed = value == NULL || size > VALUE_BYTES ? NULL : json_loadb(value, size, 0, NULL);
    bool is_right = is_term   ? read_term(parsed, shard, names)
                    : is_sync ? read_sync(parsed, shard, names)
                              : read_renewal(parsed, shard);
    json_decref(parsed);
    free(value);
    *(is_term   ? &shard->term_revision
      : is_sync ? &shard->sync_revision
                : &shard->renewal_revision) = sw_etcd_number(kv, "mod_revision");
    return is_right;
}

int sw_ha_read_shard(const struct sw_ha_address *address, const json_t *answer,
                     struct sw_ha_shard *shard, struct sw_ha_names *names, char *reason,
                     size_t reason_bytes)
{
    const json_t *range = json_array_get(json_object_get(answer, "responses"), 0);
    const json_t *kvs =
        json_object_get(range == NULL ? answer : json_object_get(range, "response_range"), "kvs");
    memset(shard, 0, sizeof(*shard));
    for (size_t i = 0; i < json_array_size(kvs); i++) {
        if (!read_key(address, json_array_get(kvs, i), shard, names)) {
            snprintf(reason, reason_bytes,
                     "what etcd holds under %s/%s/ was not written by a "
                     "server of this version",
                     address->etcd.prefix, address->shard);
            return -1;
        }
    }
    if ((shard->term_revision == 0) != (shard->sync_revision == 0) ||
        (shard->term_revision == 0 && shard->renewal_revision != 0)) {
        snprintf(reason, reason_bytes, "etcd holds only a part of the keys under %s/%s/",
                 address->etcd.prefix, address->shard);
        return -1;
    }
    shard->sync.quorum = shard->sync.quorum == 0 ? address->quorum : shard->sync.quorum;
    return 0;
}
