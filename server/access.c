/* SPDX-License-Identifier: MIT
 *
 * access.c - reads the users, the users of Unix peers, and the token of HTTP.
 */
#include "server/access.h"

#include <errno.h>

#include "server/observe/log.h"
#include "server/resp/acl_catalog.h"
#include "server/server.h"
#include "server/warnings.h"

int sw_access_open(struct sw_access *access, const struct sw_config *config, bool activated)
{
    const struct sw_users_options options = {sw_acl_catalog(), config->acl_file,
                                             config->requirepass_file,
                                             config->resp_keys == SW_RESP_KEYS_HASH};
    char error[SW_USERS_ERROR_BYTES] = "";
    errno = 0;
    if (sw_unix_users_parse(config->unix_users, &access->unix_users, error, sizeof(error)) != 0 ||
        sw_users_create(&options, &access->users, error, sizeof(error)) != 0 ||
        sw_http_token_read(config->http_token_file, &access->http_token, error, sizeof(error)) !=
            0) {
        const bool has_memory = errno != ENOMEM; /* sw_log may change errno */
        sw_log(SW_LOG_ERROR, "%s", error);
        return has_memory ? SW_START_CONFIG : -1;
    }
    sw_warn_of_rules(access->users);
    if (!activated) {
        sw_warn_of_open_address(config, sw_users_are_open(access->users));
    }
    return 0;
}

int sw_access_open_tls(const struct sw_config *config, const struct sw_activated *activated,
                       struct sw_tls_credentials **credentials)
{
    bool any_tls = activated != NULL && activated->any_tls;
    if (any_tls && (config->tls_cert[0] == '\0' || config->tls_key[0] == '\0')) {
        sw_log(SW_LOG_ERROR, "the service manager passed a socket named tls: tls-cert and tls-key "
                             "are needed with it");
        return -1;
    }
    if (activated != NULL && activated->listener_count > 0 && config->tls_only != 0 &&
        sw_activated_has_plain(activated)) {
        sw_log(SW_LOG_ERROR, "tls-only is yes, and the service manager passed a TCP socket that is "
                             "not named tls");
        return -1;
    }
    if (any_tls || config->tls_port != 0 || config->http_tls != 0) {
        return sw_tls_credentials_create(config, credentials);
    }
    sw_warn_of_unused_certificate(config);
    return 0;
}

void sw_access_close(struct sw_access *access)
{
    sw_users_destroy(access->users);
    access->users = NULL;
}
