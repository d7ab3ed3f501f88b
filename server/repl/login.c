/* SPDX-License-Identifier: MIT
 *
 * login.c - the address of a primary, the login, and this server's words of REPLICATE.
 */
#include "server/repl/login.h"

#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/key_form.h"
#include "proto/tls/context.h"
#include "server/users/password.h"
#include "server/users/secret.h"
#include "table/info.h"

#define PASSWORD_BYTES 513

/* Checks the characters of a host name or path. It is written into lines of INFO, of the log, of
 * the configuration file and of the file `role`, where a control character could begin a new line.
 * A host name also has no spaces.
 */
static bool is_one_word(const char *host, char least)
{
    for (; *host != '\0'; host++) {
        if ((unsigned char)*host < (unsigned char)least || *host == 0x7f) {
            return false;
        }
    }
    return true;
}

int sw_login_parse(const char *primary, char host[SW_REPL_ADDRESS_BYTES], uint16_t *port)
{
    char *end = NULL;
    if (strncmp(primary, "unix:", 5) == 0) {
        *port = 0;
        snprintf(host, SW_REPL_ADDRESS_BYTES, "%s", primary + 5);
        return primary[5] == '/' && is_one_word(primary + 5, ' ') ? 0 : -1;
    }
    const char *split = strchr(primary, ' ');
    split = split == NULL ? strrchr(primary, ':') : split;
    if (split == NULL || split == primary || split - primary >= SW_REPL_ADDRESS_BYTES) {
        return -1;
    }
    size_t size = (size_t)(split - primary);
    bool brackets = primary[0] == '[' && primary[size - 1] == ']' && size > 2;
    snprintf(host, SW_REPL_ADDRESS_BYTES, "%.*s", (int)(brackets ? size - 2 : size),
             primary + brackets);
    unsigned long number = strtoul(split + 1, &end, 10);
    *port = (uint16_t)number;
    return split[1] < '0' || split[1] > '9' || *end != '\0' || number == 0 || number > UINT16_MAX ||
                   !is_one_word(host, '!')
               ? -1
               : 0;
}

int sw_login_secure(struct sw_peer_connection *connection, const struct sw_config *config,
                    const char *host, uint16_t port)
{
    const struct sw_tls_settings settings = {.cert = config->tls_cert,
                                             .key = config->tls_key,
                                             .ca = config->tls_ca,
                                             .only_13 = config->tls_min_version == 13};
    if (config->tls_replication == 0 || port == 0) {
        return 0;
    }
    SSL_CTX *context =
        sw_tls_client_context(&settings, connection->reason, sizeof(connection->reason));
    if (context == NULL) {
        return -1;
    }
    int status = sw_peer_connection_secure(connection, context, host);
    SSL_CTX_free(context);
    return status;
}

int sw_login_send(struct sw_peer_connection *connection, const struct sw_config *config)
{
    char password[PASSWORD_BYTES] = "", command[PASSWORD_BYTES + 128], line[SW_REPL_LINE_BYTES];
    if (config->primary_password_file[0] == '\0') {
        return 0;
    }
    if (sw_secret_line("the password for the primary", config->primary_password_file, password,
                       sizeof(password), connection->reason, sizeof(connection->reason)) != 0) {
        return -1;
    }
    const char *user = config->primary_user[0] == '\0' ? "default" : config->primary_user;
    int size =
        snprintf(command, sizeof(command), "*3\r\n$4\r\nAUTH\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
                 strlen(user), user, strlen(password), password);
    int status = sw_peer_connection_send(connection, command, (size_t)size);
    sw_forget(password, sizeof(password));
    sw_forget(command, sizeof(command));
    if (status != 0 || sw_peer_connection_read_line(connection, line, sizeof(line)) != 0) {
        return -1;
    }
    if (strcmp(line, "+OK") != 0) {
        snprintf(connection->reason, sizeof(connection->reason), "the login at the primary: %.200s",
                 line);
        return -1;
    }
    return 0;
}

void sw_login_hello(const struct sw_table *table, const struct sw_config *config,
                    struct sw_repl_hello *hello)
{
    struct sw_table_info info;
    sw_table_info(table, &info);
    *hello = (struct sw_repl_hello){
        .version = SW_REPL_VERSION,
        .key_bytes = info.key_bytes,
        .value_bytes = info.value_bytes,
        .value_format =
            (uint64_t)sw_config_value_format(config) + (config->ids > 0 ? SW_REPL_IDS : 0) +
            SW_REPL_TYPE * sw_config_value_type(config) + SW_REPL_TEXT * info.key_text_bytes,
        .engine = (uint64_t)info.engine + SW_REPL_FORM * sw_key_form_told(config->resp_keys),
        .batch_ops_max = info.batch_ops_max};
}
