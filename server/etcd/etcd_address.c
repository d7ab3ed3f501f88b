/* SPDX-License-Identifier: MIT
 *
 * etcd_address.c - parses the address of etcd.
 */
#include "server/etcd/etcd_address.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool sw_etcd_address_take_name(const char **at, const char *ends, const char *more,
                               char out[SW_ETCD_NAME_BYTES])
{
    size_t size = strcspn(*at, ends);
    if (size == 0 || size >= SW_ETCD_NAME_BYTES) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        if (!isalnum((unsigned char)(*at)[i]) && strchr(more, (*at)[i]) == NULL) {
            return false;
        }
    }
    memcpy(out, *at, size);
    out[size] = '\0';
    *at += size;
    return true;
}

bool sw_etcd_is_address(const char *text)
{
    const char *colon = strrchr(text, ':');
    char *end;
    if (colon == NULL || colon == text || !isdigit((unsigned char)colon[1])) {
        return false;
    }
    unsigned long port = strtoul(colon + 1, &end, 10);
    return *end == '\0' && port > 0 && port < 65536;
}

const char *sw_etcd_address_parse(struct sw_etcd_address *address, const char *text,
                                  const char **rest)
{
    *address = (struct sw_etcd_address){.is_tls = strncmp(text, "etcds://", 8) == 0};
    if (!address->is_tls && strncmp(text, "etcd://", 7) != 0) {
        return "the address does not begin with etcd:// or etcds://";
    }
    const char *at = text + (address->is_tls ? 7 : 6);
    do {
        at++;
        if (address->endpoints == SW_ETCD_ENDPOINTS_MAX) {
            return "the address has more than 9 members of etcd";
        }
        char *endpoint = address->endpoint[address->endpoints++];
        if (!sw_etcd_address_take_name(&at, ",/?", "-_.:[]", endpoint) ||
            !sw_etcd_is_address(endpoint)) {
            return "a member of etcd is not host:port";
        }
    } while (*at == ',');
    if (*at != '/' || at[1] == '\0' || at[1] == '?') {
        return "/prefix is missing after the members of etcd";
    }
    if (!sw_etcd_address_take_name(&at, "?", "-_./", address->prefix) ||
        address->prefix[strlen(address->prefix) - 1] == '/') {
        return "the prefix is not 1 to 63 letters, digits, and -_./, or it ends with a slash";
    }
    *rest = at;
    return NULL;
}

static bool has(const struct sw_etcd_address *address, const char *endpoint)
{
    for (unsigned i = 0; i < address->endpoints; i++) {
        if (strcmp(address->endpoint[i], endpoint) == 0) {
            return true;
        }
    }
    return false;
}

bool sw_etcd_same_members(const struct sw_etcd_address *one, const struct sw_etcd_address *other)
{
    bool same = one->is_tls == other->is_tls;
    for (unsigned i = 0; i < one->endpoints; i++) {
        same = same && has(other, one->endpoint[i]);
    }
    for (unsigned i = 0; i < other->endpoints; i++) {
        same = same && has(one, other->endpoint[i]);
    }
    return same;
}
