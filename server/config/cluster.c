/* SPDX-License-Identifier: MIT
 *
 * cluster.c - checks of the options of a cluster.
 */
#include <stdio.h>

#include "proto/cluster/topology.h"
#include "server/config/options.h"

/* Returns what is wrong, or NULL. */
static const char *wrong(const struct sw_config *config)
{
    char ip[SW_TOPOLOGY_IP_MAX + 1];
    bool is_wanted = sw_config_in_cluster(config);
    if (config->cluster_node_id[0] != '\0' && !sw_topology_is_id(config->cluster_node_id)) {
        return "cluster-node-id is not 40 hex digits in lower case: copy it from the topology";
    }
    if (config->cluster_announce_ip[0] != '\0' &&
        !sw_topology_is_ip(config->cluster_announce_ip, ip)) {
        return "cluster-announce-ip is not a literal address: for a name use "
               "cluster-announce-hostname";
    }
    if (config->cluster_announce_hostname[0] != '\0' &&
        !sw_topology_is_hostname(config->cluster_announce_hostname)) {
        return "cluster-announce-hostname is not a host name";
    }
    if (!is_wanted &&
        (config->cluster_node_id[0] != '\0' || config->cluster_announce_ip[0] != '\0' ||
         config->cluster_announce_hostname[0] != '\0' || config->cluster_announce_port != 0)) {
        return "options of a cluster are set without a cluster: set cluster-config or "
               "cluster-state, or leave them out";
    }
    if (is_wanted && config->ids > 0) {
        return "two nodes of a cluster would give two keys one id: leave --ids out, or start a "
               "server without a cluster";
    }
    if (is_wanted && config->resp_keys == SW_RESP_KEYS_HASH) {
        return "resp-keys is hash in a cluster: slots are computed from key strings, which the "
               "table does not store; choose --resp-keys decimal or raw";
    }
    if (is_wanted && config->resp_keys == SW_RESP_KEYS_AUTO) {
        return "resp-keys is auto in a cluster: slots are computed from key strings, which the "
               "table does not store; leave --resp-keys out, which is decimal in a cluster, or "
               "choose raw";
    }
    return NULL;
}

int sw_config_check_cluster(const struct sw_config *config, char *error, size_t error_bytes)
{
    const char *sentence = wrong(config);
    if (sentence != NULL) {
        snprintf(error, error_bytes, "%s", sentence);
    }
    return sentence != NULL ? -1 : 0;
}
