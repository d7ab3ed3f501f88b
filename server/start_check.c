/* SPDX-License-Identifier: MIT
 *
 * start_check.c - opens what a start opens, and closes it again.
 */
#include "server/start_check.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/data_lock.h"
#include "proto/tls/context.h"
#include "server/cluster/cluster.h"
#include "server/cluster/state_file.h"
#include "server/ha/shard.h"
#include "server/net/tls_credentials.h"
#include "server/observe/http_token.h"
#include "server/registry/registry.h"
#include "server/repl/login.h"
#include "server/resp/acl_catalog.h"
#include "server/tables/sections.h"
#include "server/users/secret.h"
#include "server/users/unix_users.h"
#include "server/users/users.h"

/* Bytes of a reason behind the name of an option. */
#define WHY_BYTES (SW_START_ERROR_BYTES - 128)
#define PASSWORD_BYTES 1024

struct check {
    const struct sw_config *config;
    const struct sw_activated *activated; /* NULL: none */
    char *error;
};

/* Writes "--option: why"; returns -1. */
static int start_check_failed(const struct check *check, const char *option, const char *why)
{
    snprintf(check->error, SW_START_ERROR_BYTES, "--%s: %s", option, why);
    return -1;
}

static int refuse_path(const struct check *check, const char *option, const char *path,
                       const char *cure)
{
    char why[WHY_BYTES];
    snprintf(why, sizeof(why), "'%.400s': %s%s", path, strerror(errno), cure);
    return start_check_failed(check, option, why);
}

/* --- users and tokens ------------------------------------------------------------------------- */

static int check_users(const struct check *check)
{
    const struct sw_config *config = check->config;
    const struct sw_users_options options = {sw_acl_catalog(), config->acl_file,
                                             config->requirepass_file,
                                             config->resp_keys == SW_RESP_KEYS_HASH};
    struct sw_unix_users peers;
    struct sw_users *users = NULL;
    struct sw_http_token token;
    char why[SW_USERS_ERROR_BYTES] = "";
    const bool good = sw_unix_users_parse(config->unix_users, &peers, why, sizeof(why)) == 0 &&
                      sw_users_create(&options, &users, why, sizeof(why)) == 0 &&
                      sw_http_token_read(config->http_token_file, &token, why, sizeof(why)) == 0;
    sw_users_destroy(users);
    if (!good) {
        snprintf(check->error, SW_START_ERROR_BYTES, "%s", why);
    }
    return good ? 0 : -1;
}

static int check_primary_password(const struct check *check)
{
    const char *file = check->config->primary_password_file;
    char password[PASSWORD_BYTES], why[WHY_BYTES] = "";
    if (file[0] == '\0') {
        return 0;
    }
    const int status = sw_secret_line("the password for the primary", file, password,
                                      sizeof(password), why, sizeof(why));
    sw_forget(password, sizeof(password));
    return status == 0 ? 0 : start_check_failed(check, "primary-password-file", why);
}

/* --- TLS -------------------------------------------------------------------------------------- */

/* Makes a context of a client from these files, and drops it. */
static int check_client(const struct check *check, const char *option, const char *cert,
                        const char *key, const char *ca)
{
    const struct sw_tls_settings settings = {.cert = cert, .key = key, .ca = ca};
    char why[WHY_BYTES] = "";
    SSL_CTX *context = sw_tls_client_context(&settings, why, sizeof(why));
    SSL_CTX_free(context);
    return context != NULL ? 0 : start_check_failed(check, option, why);
}

static int check_tls(const struct check *check)
{
    const struct sw_config *config = check->config;
    const bool serves = config->tls_port != 0 || config->http_tls != 0 ||
                        (check->activated != NULL && check->activated->any_tls);
    char why[WHY_BYTES] = "";
    if (serves && config->tls_cert[0] != '\0' && config->tls_key[0] != '\0' &&
        sw_tls_credentials_check(config, why, sizeof(why)) != 0) {
        snprintf(check->error, SW_START_ERROR_BYTES, "TLS cannot be served: %s", why);
        return -1;
    }
    if (config->tls_replication != 0 && check_client(check, "tls-replication", config->tls_cert,
                                                     config->tls_key, config->tls_ca) != 0) {
        return -1;
    }
    if (config->otlp_tls_ca[0] != '\0' &&
        check_client(check, "otlp-tls-ca", "", "", config->otlp_tls_ca) != 0) {
        return -1;
    }
    return config->ha_tls_cert[0] == '\0' && config->ha_tls_ca[0] == '\0'
               ? 0
               : check_client(check, "ha-tls-cert, --ha-tls-key or --ha-tls-ca",
                              config->ha_tls_cert, config->ha_tls_key, config->ha_tls_ca);
}

/* --- other servers ---------------------------------------------------------------------------- */

static int check_peers(const struct check *check)
{
    const struct sw_config *config = check->config;
    struct sw_ha_address address;
    char host[SW_REPL_ADDRESS_BYTES], why[SW_HA_REASON_BYTES] = "";
    uint16_t port = 0;
    if (config->replicaof[0] != '\0' && sw_login_parse(config->replicaof, host, &port) != 0) {
        return start_check_failed(check, "replicaof",
                                  "give \"host port\", host:port or unix:/path");
    }
    if (config->ha[0] != '\0' && sw_ha_address_parse(&address, config->ha, why, sizeof(why)) != 0) {
        return start_check_failed(check, "ha", why);
    }
    const char *wrong = sw_config_shares_topology(config) ? sw_registry_wrong(config) : NULL;
    return wrong == NULL ? 0 : start_check_failed(check, "cluster-config", wrong);
}

/* Checks the topology file. A node whose saved state has a later topology starts with that one. */
static int check_topology(const struct check *check)
{
    const char *path = check->config->cluster_config;
    char why[SW_CLUSTER_ERROR_BYTES] = "";
    size_t size = 0;
    if (path[0] == '\0' || sw_config_shares_topology(check->config)) {
        return 0;
    }
    char *text = sw_cluster_read_file(path, &size, why);
    if (text == NULL && errno == ENOENT) {
        const size_t used = strlen(why);
        snprintf(why + used, sizeof(why) - used, ": write it with sherwood-cli cluster create");
    }
    struct sw_topology *topology = text == NULL ? NULL : sw_topology_parse(text, size, why);
    const bool good = topology != NULL;
    free(text);
    sw_topology_free(topology);
    return good ? 0 : start_check_failed(check, "cluster-config", why);
}

static int check_state(const struct check *check)
{
    const struct sw_config *config = check->config;
    struct sw_cluster_state state = {.topology = NULL};
    char why[SW_CLUSTER_ERROR_BYTES] = "", path[SW_CLUSTER_PATH_BYTES];
    if (!sw_config_in_cluster(config)) {
        return 0;
    }
    sw_cluster_state_path(config, path);
    if (path[0] != '\0' && sw_cluster_state_read(path, &state, why) < 0) {
        return start_check_failed(check, "cluster-state", why);
    }
    sw_topology_free(state.topology);
    if (state.id[0] != '\0' && config->cluster_node_id[0] != '\0' &&
        strcmp(state.id, config->cluster_node_id) != 0) {
        snprintf(why, sizeof(why), SW_CLUSTER_OTHER_NODE, path, state.id, config->cluster_node_id);
        return start_check_failed(check, "cluster-node-id", why);
    }
    return 0;
}

static int check_tables(const struct check *check)
{
    struct sw_table_sections sections;
    const int status =
        sw_table_sections_read(check->config, &sections, check->error, SW_START_ERROR_BYTES);
    sw_table_sections_free(&sections);
    return status;
}

/* --- folders ---------------------------------------------------------------------------------- */

static int check_data_directory(const struct check *check)
{
    const char *path = check->config->data_dir;
    if (path[0] == '\0') {
        return 0;
    }
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return refuse_path(check, "data-dir", path,
                           errno == ENOENT    ? ": create it, for the user that runs the server"
                           : errno == EACCES  ? ": give it to the user that runs the server"
                           : errno == ENOTDIR ? ": name a directory"
                                              : "");
    }
    close(fd);
    char lock[SW_CONFIG_DIR_MAX + 16];
    snprintf(lock, sizeof(lock), "%s/" SW_DATA_LOCK_NAME, path);
    const bool has_lock = access(lock, F_OK) == 0;
    if (eaccess(path, W_OK | X_OK) != 0) {
        return refuse_path(check, "data-dir", path,
                           ": the server writes there; give it to the user that runs it");
    }
    return !has_lock || eaccess(lock, R_OK | W_OK) == 0
               ? 0
               : refuse_path(check, "data-dir", lock,
                             ": another user owns it, perhaps since root ran the server; give all "
                             "files there to the user that runs it, by chown -R");
}

static int check_unix_socket(const struct check *check)
{
    const char *path = check->config->unix_socket;
    char folder[SW_CONFIG_PATH_MAX];
    struct stat status;
    if (path[0] == '\0' || (check->activated != NULL && check->activated->listener_count > 0)) {
        return 0;
    }
    if (lstat(path, &status) == 0 && !S_ISSOCK(status.st_mode)) {
        errno = EEXIST;
        return refuse_path(check, "unix-socket", path, ", and it is not a socket: choose another");
    }
    snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL) {
        snprintf(folder, sizeof(folder), ".");
    } else {
        slash[slash == folder ? 1 : 0] = '\0';
    }
    if (eaccess(folder, W_OK | X_OK) == 0) {
        return 0;
    }
    char why[WHY_BYTES];
    snprintf(why, sizeof(why),
             "'%s' cannot be made: folder '%s': %s; choose a folder that exists and that the user "
             "that runs the server may write",
             path, folder, strerror(errno));
    return start_check_failed(check, "unix-socket", why);
}

int sw_start_check(const struct sw_config *config, const struct sw_activated *activated,
                   char error[SW_START_ERROR_BYTES])
{
    const struct check check = {config, activated, error};
    int (*const parts[])(const struct check *) = {
        check_users, check_primary_password, check_tls,         check_peers,  check_topology,
        check_state, check_data_directory,   check_unix_socket, check_tables,
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i](&check) != 0) {
            return -1;
        }
    }
    return 0;
}
