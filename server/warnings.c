/* SPDX-License-Identifier: MIT
 *
 * warnings.c - warnings about configurations that an operator may not have meant.
 */
#include "server/warnings.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "server/config/live.h"
#include "server/observe/log.h"
#include "table/configuration.h"
#include "table/info.h"

void sw_warn_of_growth(const struct sw_config *config, const struct sw_table *table)
{
    struct sw_table_info info;
    uint64_t bytes = 0, installed = 0;
    sw_table_info(table, &info);
    if (info.backend == SW_BACKEND_CPU && sw_config_outgrows_memory(config, &bytes, &installed)) {
        sw_log(SW_LOG_WARNING,
               "the table cannot grow to max-capacity: that takes %llu MiB, and this machine has "
               "%llu MiB of memory",
               (unsigned long long)(bytes >> 20), (unsigned long long)(installed >> 20));
    }
}

void sw_warn_of_open_address(const struct sw_config *config, bool is_open)
{
    struct in_addr v4;
    struct in6_addr v6;
    bool loopback = true;
    if (inet_pton(AF_INET, config->bind, &v4) == 1) {
        loopback = ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
    } else if (inet_pton(AF_INET6, config->bind, &v6) == 1) {
        loopback = IN6_IS_ADDR_LOOPBACK(&v6) ||
                   (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == IN_LOOPBACKNET);
    }
    if (loopback || !is_open ||
        (config->tls_only && config->tls_auth_clients == SW_CONFIG_TLS_CLIENTS_REQUIRED)) {
        return;
    }
    if (SW_LIVE(config->protected_mode) != 0) {
        sw_log(SW_LOG_WARNING,
               "bind %s: no password is set, so the server accepts loopback addresses only: see "
               "requirepass-file, acl-file and protected-mode",
               config->bind);
    } else {
        sw_log(SW_LOG_WARNING,
               "bind %s: no password is set%s; any client that reaches this address can read, "
               "write and delete everything, and stop the server",
               config->bind, config->tls_only ? "" : " and the port is not encrypted");
    }
}

void sw_warn_of_unused_certificate(const struct sw_config *config)
{
    if ((config->tls_cert[0] != '\0' || config->tls_key[0] != '\0') &&
        config->tls_replication == 0) {
        sw_log(SW_LOG_NOTICE,
               "%s is set and not used, because TLS is off: set --tls-port or --http-tls to serve "
               "TLS, or --tls-replication to use it to the primary",
               config->tls_cert[0] != '\0' ? "tls-cert" : "tls-key");
    }
}

void sw_warn_of_rules(struct sw_users *users)
{
    char notes[SW_ACL_NOTES_BYTES];
    if (sw_users_notes(users, notes, sizeof(notes)) > 0) {
        sw_log(SW_LOG_WARNING, "%s", notes);
    }
}
