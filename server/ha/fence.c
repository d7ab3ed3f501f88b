/* SPDX-License-Identifier: MIT
 *
 * fence.c - what the cluster topology needs from the shard: whether this member was elected, and
 * the etcd revision of its term that fences its writes.
 */
#include <stdio.h>

#include "server/ha/ha_parts.h"

void sw_ha_shard(const struct sw_config *config, char name[SW_HA_NAME_BYTES])
{
    struct sw_ha_address address;
    char reason[SW_HA_REASON_BYTES];
    bool is_right = config->ha[0] != '\0' &&
                    sw_ha_address_parse(&address, config->ha, reason, sizeof(reason)) == 0;
    snprintf(name, SW_HA_NAME_BYTES, "%s", is_right ? address.shard : "");
}

void sw_ha_on_elected(struct sw_ha *ha, void (*elected)(void *context), void *context)
{
    if (ha != NULL) {
        ha->elected = elected;
        ha->elected_context = context;
    }
}

bool sw_ha_fence(struct sw_ha *ha, char *key, size_t bytes, uint64_t *revision)
{
    if (ha == NULL) {
        return false;
    }
    snprintf(key, bytes, "%s/%s/term", ha->address.etcd.prefix, ha->address.shard);
    pthread_mutex_lock(&ha->lock);
    bool serves = ha->member.serves > 0;
    *revision = ha->member.shard.term_revision;
    pthread_mutex_unlock(&ha->lock);
    return serves;
}
