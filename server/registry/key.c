/* SPDX-License-Identifier: MIT
 *
 * key.c - requests about a topology in etcd.
 */
#include "server/registry/key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/etcd/values.h"
#include "server/etcd/watch.h"

void sw_registry_name_keys(struct sw_registry_key *key, const struct sw_etcd_address *address,
                           const char *node)
{
    snprintf(key->topology, sizeof(key->topology), "%s/topology", address->prefix);
    snprintf(key->write, sizeof(key->write), "%s/topology-write/%s", address->prefix, node);
}

static json_t *name(const char *key)
{
    return sw_etcd_in_base64(key, strlen(key));
}

json_t *sw_registry_ask_watch(const struct sw_registry_key *key, uint64_t from)
{
    return sw_etcd_ask_watch(name(key->topology), from);
}

static json_t *both(const struct sw_registry_key *key)
{
    return json_pack("[o,o]", sw_etcd_range(name(key->topology)), sw_etcd_range(name(key->write)));
}

json_t *sw_registry_ask_read(const struct sw_registry_key *key)
{
    return json_pack("{s:[],s:o}", "compare", "success", both(key));
}

json_t *sw_registry_ask_write(const struct sw_registry_key *key, uint64_t epoch, const char *text,
                              const char *mark, const struct sw_registry_fence *fence)
{
    json_t *compare = json_pack("[o]", sw_etcd_comparison(name(key->topology), epoch));
    if (fence->key[0] != '\0') {
        json_array_append_new(compare, sw_etcd_comparison(name(fence->key), fence->revision));
    }
    json_t *success = json_pack("[o,o]", sw_etcd_put(name(key->topology), name(text)),
                                sw_etcd_put(name(key->write), name(mark)));
    return json_pack("{s:o,s:o,s:o}", "compare", compare, "success", success, "failure", both(key));
}

void sw_registry_read_kv(const json_t *kv, uint64_t revision, struct sw_registry_held *held)
{
    *held = (struct sw_registry_held){.revision = revision};
    held->epoch = sw_etcd_number(kv, "mod_revision");
    held->text = sw_etcd_from_base64(json_object_get(kv, "value"), &held->size);
}

void sw_registry_read_answer(const json_t *answer, struct sw_registry_held *held)
{
    const json_t *write = sw_etcd_found(answer, 1);
    size_t size = 0;
    sw_registry_read_kv(sw_etcd_found(answer, 0), sw_etcd_revision(answer), held);
    char *mark = sw_etcd_from_base64(json_object_get(write, "value"), &size);
    if (mark != NULL && size < sizeof(held->mark)) {
        memcpy(held->mark, mark, size + 1);
        held->written = sw_etcd_number(write, "mod_revision");
    }
    free(mark);
}
