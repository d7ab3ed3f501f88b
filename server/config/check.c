/* SPDX-License-Identifier: MIT
 *
 * check.c - checks the options: those of addresses, TLS, persistence, replication, several tables
 * and spans here, the others in engine.c, cluster.c and limits.c.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "server/config/config.h"
#include "server/config/options.h"
#include "server/config/save_points.h"
#include "table/configuration.h"

static int check_listeners(const struct sw_config *config, bool activated, char *error,
                           size_t error_bytes)
{
    if (config->bind[0] == '\0' && config->unix_socket[0] == '\0' && !activated) {
        snprintf(error, error_bytes,
                 "the server has no address to listen on: set bind or unix-socket, or let the "
                 "service manager pass a socket");
        return -1;
    }
    if (config->port != 0 && config->port == config->http_port && config->bind[0] != '\0' &&
        strcmp(config->bind, config->http_bind) == 0) {
        snprintf(error, error_bytes,
                 "port and http-port are both %u on %s: RESP and HTTP need ports of their own",
                 config->port, config->bind);
        return -1;
    }
    return 0;
}

/* Returns an error text about the certificates, or NULL. */
static const char *wrong_certificates(const struct sw_config *config)
{
    if (config->tls_port != 0 && (config->tls_cert[0] == '\0' || config->tls_key[0] == '\0')) {
        return "tls-port is set: tls-cert and tls-key are needed with it";
    }
    if (config->http_tls != 0 && (config->tls_cert[0] == '\0' || config->tls_key[0] == '\0')) {
        return "http-tls is yes: tls-cert and tls-key are needed with it";
    }
    if (config->tls_auth_clients != SW_CONFIG_TLS_CLIENTS_ANY && config->tls_ca[0] == '\0') {
        return "tls-auth-clients is set and tls-ca is not: set tls-ca to the roots of the clients' "
               "certificates";
    }
    if (config->tls_user_from_cert != 0 && config->tls_auth_clients == SW_CONFIG_TLS_CLIENTS_ANY) {
        return "tls-user-from-cert is yes and tls-auth-clients is no: set tls-auth-clients, so "
               "that clients send certificates";
    }
    return NULL;
}

/* Returns an error text about the TLS port, or NULL. */
static const char *wrong_tls_ports(const struct sw_config *config, bool activated)
{
    if (config->tls_port == 0) {
        return config->tls_only != 0 && !activated
                   ? "tls-only is yes and tls-port is not set: set tls-port"
                   : NULL;
    }
    if (config->bind[0] == '\0') {
        return "tls-port is set and bind is empty: set bind";
    }
    if (config->tls_port == config->port && config->tls_only == 0) {
        return "port and tls-port are the same: set tls-only, or give each its own";
    }
    if (config->tls_port == config->http_port && strcmp(config->bind, config->http_bind) == 0) {
        return "tls-port and http-port are the same: give each its own";
    }
    return NULL;
}

static int check_tls(const struct sw_config *config, bool activated, char *error,
                     size_t error_bytes)
{
    const char *wrong = wrong_certificates(config);
    if (wrong == NULL) {
        wrong = wrong_tls_ports(config, activated);
    }
    if (wrong != NULL) {
        snprintf(error, error_bytes, "%s", wrong);
        return -1;
    }
    return 0;
}

static int check_persistence(const struct sw_config *config, char *error, size_t error_bytes)
{
    struct sw_save_point points[SW_SAVE_POINTS_MAX];
    int count = sw_save_points_parse(config->save, points, error, error_bytes);
    if (count > 0 && config->data_dir[0] == '\0') {
        snprintf(error, error_bytes, "save is set and data-dir is not: set data-dir");
        return -1;
    }
    if (count < 0) {
        return -1;
    }
    if (config->appendonly != 0 && config->data_dir[0] == '\0') {
        snprintf(error, error_bytes, "appendonly is yes and data-dir is not set: set data-dir");
        return -1;
    }
    if (config->read_durable != 0 &&
        (config->appendonly == 0 || config->appendfsync != SW_CONFIG_ALWAYS)) {
        snprintf(error, error_bytes,
                 "read-durable is yes: set appendonly yes and appendfsync always, because "
                 "otherwise no reply means that a write is on storage");
        return -1;
    }
    if (config->appendonly != 0 && config->engine == SW_ENGINE_CACHE) {
        snprintf(error, error_bytes,
                 "appendonly is yes and the engine is cache: a cache may evict any entry, so it "
                 "has snapshots only");
        return -1;
    }
    return 0;
}

/* Returns the setting that a member of a shard cannot have, and why; NULL: none. */
static const char *wrong_with_member(const struct sw_config *config)
{
    return config->replicaof[0] != '\0' ? "replicaof: etcd names the primary"
           : config->engine == SW_ENGINE_CACHE
               ? "the cache engine: a cache may evict any entry, so it has no replicas"
           : sw_config_in_cluster(config) && !sw_config_shares_topology(config)
               ? "a topology in a file: the primary is elected, so the topology must also be in "
                 "etcd (cluster-config etcd://..)"
               : NULL;
}

static int check_ha(const struct sw_config *config, char *error, size_t error_bytes)
{
    const char *wrong = config->ha[0] == '\0' ? NULL : wrong_with_member(config);
    if (wrong != NULL) {
        snprintf(error, error_bytes, "ha cannot be combined with %s", wrong);
        return -1;
    }
    if ((config->ha_tls_cert[0] == '\0') != (config->ha_tls_key[0] == '\0')) {
        snprintf(error, error_bytes, "only one of ha-tls-cert and ha-tls-key is set: set both");
        return -1;
    }
    return 0;
}

static int check_replication(const struct sw_config *config, char *error, size_t error_bytes)
{
    if (config->replicaof[0] == '\0') {
        return 0;
    }
    if (config->engine == SW_ENGINE_CACHE) {
        snprintf(error, error_bytes,
                 "replicaof is set and the engine is cache: a cache may evict any entry, so it has "
                 "no replicas");
        return -1;
    }
    if (sw_config_in_cluster(config)) {
        snprintf(error, error_bytes,
                 "replicaof is set in cluster mode, in which the topology assigns the roles: leave "
                 "it out");
        return -1;
    }
    return 0;
}

/* Checks the options of several tables. Only the start finds out whether the table is on a GPU. */
static int check_databases(const struct sw_config *config, char *error, size_t error_bytes)
{
    const char *other = config->ha[0] != '\0'          ? "ha"
                        : config->replicaof[0] != '\0' ? "replicaof"
                                                       : NULL;
    if (config->databases > config->tables_max) {
        snprintf(error, error_bytes, "databases %u is more than tables-max %u: raise tables-max",
                 config->databases, config->tables_max);
        return -1;
    }
    if (config->databases > 1 && sw_config_in_cluster(config)) {
        snprintf(error, error_bytes,
                 "databases is %u in cluster mode, in which a node has one table: leave databases "
                 "out, and start a server of its own for the others",
                 config->databases);
        return -1;
    }
    if (config->databases > 1 && other != NULL) {
        snprintf(error, error_bytes,
                 "databases is %u and %s is set: such a server does not make tables at its start; "
                 "leave databases out, and send TABLE CREATE to the primary",
                 config->databases, other);
        return -1;
    }
    return 0;
}

/* Returns an error text about the export of spans, or NULL. */
static const char *wrong_traces(const struct sw_config *config)
{
    const char *url = config->otlp_endpoint;
    const bool is_tls = strncmp(url, "https://", 8) == 0;
    if (config->otlp_tls_ca[0] != '\0' && !is_tls) {
        return "otlp-tls-ca is set and otlp-endpoint is not https://host:port: set both, or leave "
               "otlp-tls-ca out";
    }
    if (url[0] == '\0') {
        return NULL;
    }
    if (!is_tls && strncmp(url, "http://", 7) != 0) {
        return "otlp-endpoint does not begin with http:// or https://: OTLP by gRPC is not "
               "supported; give the receiver's port of OTLP/HTTP";
    }
    const char *host = strstr(url, "//") + 2;
    for (const char *c = host; *c != '\0'; c++) {
        if (*c <= ' ' || *c > '~' || strchr("@?#\\\"", *c) != NULL) {
            return "otlp-endpoint has a user, a query or a character that no address has: give "
                   "http://host:port";
        }
    }
    return strcspn(host, "/:") == 0 ? "otlp-endpoint has no host: give http://host:port" : NULL;
}

static int check_traces(const struct sw_config *config, char *error, size_t error_bytes)
{
    const char *wrong = wrong_traces(config);
    if (wrong != NULL) {
        snprintf(error, error_bytes, "%s", wrong);
    }
    return wrong == NULL ? 0 : -1;
}

int sw_config_check(const struct sw_config *config, bool activated, char *error, size_t error_bytes)
{
    return check_listeners(config, activated, error, error_bytes) != 0 ||
                   check_tls(config, activated, error, error_bytes) != 0 ||
                   sw_config_check_table(config, error, error_bytes) != 0 ||
                   check_persistence(config, error, error_bytes) != 0 ||
                   sw_config_check_cluster(config, error, error_bytes) != 0 ||
                   check_ha(config, error, error_bytes) != 0 ||
                   check_replication(config, error, error_bytes) != 0 ||
                   check_databases(config, error, error_bytes) != 0 ||
                   sw_config_check_direct_reads(config, error, error_bytes) != 0 ||
                   check_traces(config, error, error_bytes) != 0 ||
                   sw_config_check_limits(config, error, error_bytes) != 0 ||
                   sw_config_check_batch_bytes(config, config, error, error_bytes) != 0
               ? -1
               : 0;
}
