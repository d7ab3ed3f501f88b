/* SPDX-License-Identifier: MIT
 *
 * test_config_cluster.c - options of a cluster that contradict others, each with its sentence.
 */
#include "tests/server/config_fixture.h"

#define ID "0123456789abcdef0123456789abcdef01234567"

static struct output output;

Test(config_cluster, what_contradicts_is_refused)
{
    static const struct {
        const char *flags[6];
        const char *error;
    } rows[] = {
        {{"--cluster-config", "c.json", "--cluster-node-id", "0123"},
         "cluster-node-id is not 40 hex digits in lower case: copy it from the topology"},
        {{"--cluster-config", "c.json", "--cluster-announce-ip", "a.example"},
         "cluster-announce-ip is not a literal address: for a name use cluster-announce-hostname"},
        {{"--cluster-state", "c.json", "--cluster-announce-hostname", "10.0.0.1"},
         "cluster-announce-hostname is not a host name"},
        {{"--cluster-config", "c.json", "--resp-keys", "hash"},
         "resp-keys is hash in a cluster: slots are computed from key strings"},
        {{"--cluster-state", "c.json", "--resp-keys", "auto"},
         "resp-keys is auto in a cluster: slots are computed from key strings"},
        {{"--cluster-state", "c.json", "--databases", "4"},
         "in which a node has one table: leave databases out, and start a server of its own"},
        {{"--cluster-announce-port", "7379"}, "options of a cluster are set without a cluster"},
        {{"--cluster-node-id", ID}, "or leave them out"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sw_config config;
        cr_assert_eq(load(&config, &output, rows[i].flags), SW_CONFIG_ERROR, "row %zu", i);
        cr_assert_not_null(strstr(output.err, rows[i].error), "row %zu: %s", i, output.err);
    }
}

Test(config_cluster, what_does_not_is_taken)
{
    struct sw_config config;
    cr_assert_eq(
        load(&config, &output,
             FLAGS("--cluster-config=c.json", "--cluster-node-id=" ID, "--cluster-announce-ip=::1",
                   "--cluster-announce-hostname=a.example",
                   "--cluster-preferred-endpoint-type=hostname", "--cluster-multi-slot=node")),
        SW_CONFIG_RUN, "%s", output.err);
    cr_assert_str_eq(config.cluster_node_id, ID);
    cr_assert_eq(config.cluster_multi_slot, SW_CONFIG_MULTI_SLOT_NODE);
    cr_assert_eq(config.cluster_preferred_endpoint_type, SW_CONFIG_ENDPOINT_HOSTNAME);
}
