/* SPDX-License-Identifier: MIT
 *
 * endpoints.c - copies of addresses and options.
 */
#include "client/endpoints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/transport_tls.h"
#include "proto/plural.h"

#define TEXTS(X) X(tls_ca) X(tls_cert) X(tls_key) X(tls_server_name) X(user) X(password)

static void free_text(const char *text)
{
    char *owned = (char *)(uintptr_t)text;
    if (owned != NULL) {
        explicit_bzero(owned, strlen(owned));
    }
    free(owned);
}

/* Copies the options, with their texts. */
static bool keep_options(struct sw_client_endpoints *endpoints,
                         const struct sherwood_options *options)
{
    bool done = true;
    endpoints->options = *options;
#define COPY_TEXT(name)                                                             \
    endpoints->options.name = options->name == NULL ? NULL : strdup(options->name); \
    done &= options->name == NULL || endpoints->options.name != NULL;
    TEXTS(COPY_TEXT)
    return done;
}

static bool keep_addresses(struct sw_client_endpoints *endpoints, const char *const *addresses,
                           size_t count)
{
    endpoints->addresses = calloc(count, sizeof(*endpoints->addresses));
    for (size_t i = 0; i < count && endpoints->addresses != NULL; i++) {
        snprintf(endpoints->addresses[i], sizeof(endpoints->addresses[i]), "%s", addresses[i]);
    }
    endpoints->count = endpoints->addresses != NULL ? count : 0;
    return endpoints->addresses != NULL;
}

/* Returns NULL or a phrase for what is wrong with the addresses. */
static const char *check(const char *const *addresses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (addresses[i] == NULL || strlen(addresses[i]) >= SW_CLIENT_ADDRESS_BYTES) {
            return "an address is NULL, or has more than 127 bytes";
        }
        if (sw_client_is_secure(addresses[i]) != sw_client_is_secure(addresses[0])) {
            return "some addresses begin with tls:// and some do not: use it for all or for none";
        }
    }
    return NULL;
}

int sw_client_endpoints_init(struct sw_client_endpoints *endpoints, const char *const *addresses,
                             size_t count, const struct sherwood_options *options, char *text,
                             size_t text_bytes)
{
    const char *wrong = check(addresses, count);
    *endpoints = (struct sw_client_endpoints){.connector = sw_client_socket_connector};
    if (wrong != NULL) {
        snprintf(text, text_bytes, "connect: %s", wrong);
        return SHERWOOD_E_INVALID;
    }
    if (!keep_options(endpoints, options) || !keep_addresses(endpoints, addresses, count)) {
        snprintf(text, text_bytes, "not enough memory for %zu address%s", count,
                 sw_plural(count, "", "es"));
        return SHERWOOD_E_NOMEM;
    }
    if (!sw_client_is_secure(addresses[0])) {
        return SHERWOOD_OK;
    }
    int status =
        sw_client_secure_begin(&endpoints->connector, &endpoints->options, text, text_bytes);
    endpoints->is_secure = status == SHERWOOD_OK;
    return status;
}

void sw_client_endpoints_fini(struct sw_client_endpoints *endpoints)
{
#define FREE_TEXT(name) free_text(endpoints->options.name);
    TEXTS(FREE_TEXT)
    if (endpoints->is_secure) {
        sw_client_secure_end(&endpoints->connector);
    }
    free(endpoints->addresses);
}

/* Returns the comma before the next address, or NULL. */
static char *next_comma(const char *text)
{
    for (const char *comma = strchr(text, ','); comma != NULL; comma = strchr(comma + 1, ',')) {
        const size_t size = strcspn(comma + 1, ",");
        if (memchr(comma + 1, ':', size) != NULL) {
            return (char *)(uintptr_t)comma;
        }
    }
    return NULL;
}

size_t sw_client_endpoints_split(char *list, const char **addresses, size_t room)
{
    size_t count = 0;
    while (list != NULL && count < room) {
        char *comma = next_comma(list);
        addresses[count++] = list;
        if (comma != NULL) {
            *comma = '\0';
        }
        list = comma == NULL ? NULL : comma + 1;
    }
    return count;
}

bool sw_client_is_list(const char *text)
{
    return next_comma(text) != NULL;
}
