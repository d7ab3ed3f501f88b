/* SPDX-License-Identifier: MIT
 *
 * ha_address.c - parses the value of --ha, and the names of members.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/check.h"
#include "server/ha/shard.h"

#define TTL_SECONDS_MIN 1

static int bad_ha_address(char *reason, size_t bytes, const char *what)
{
    snprintf(
        reason, bytes,
        "%s: write etcd://host:port,host:port/prefix?shard=NAME, optionally with &ttl=SECONDS, "
        "&quorum=N and &announce=host:port; etcds:// for TLS",
        what);
    return -1;
}

static bool take_number(const char **at, uint64_t low, uint64_t high, uint64_t *out)
{
    char *end;
    if (!isdigit((unsigned char)**at)) {
        return false;
    }
    *out = strtoull(*at, &end, 10);
    *at = end;
    return *out >= low && *out <= high;
}

static const char *take_choice(struct sw_ha_address *address, const char **at)
{
    uint64_t number;
    if (strncmp(*at, "shard=", 6) == 0) {
        *at += 6;
        return sw_etcd_address_take_name(at, "&", "-_.", address->shard)
                   ? NULL
                   : "NAME of shard=NAME is not 1 to 63 letters, digits, and -_.";
    }
    if (strncmp(*at, "announce=", 9) == 0) {
        *at += 9;
        return sw_etcd_address_take_name(at, "&", "-_.:[]", address->announce) &&
                       sw_etcd_is_address(address->announce)
                   ? NULL
                   : "announce is not host:port";
    }
    if (strncmp(*at, "ttl=", 4) == 0) {
        *at += 4;
        if (!take_number(at, TTL_SECONDS_MIN, SW_HA_TTL_SECONDS_MAX, &number)) {
            return "ttl is not a number from 1 to 60";
        }
        address->ttl_ns = number * 1000000000U;
        return NULL;
    }
    if (strncmp(*at, "quorum=", 7) == 0) {
        *at += 7;
        return take_number(at, 1, SW_HA_MEMBERS_MAX - 1, &address->quorum)
                   ? NULL
                   : "quorum is not a number from 1 to 8";
    }
    return "a parameter after the question mark is not shard, announce, ttl or quorum";
}

int sw_ha_address_parse(struct sw_ha_address *address, const char *text, char *reason,
                        size_t reason_bytes)
{
    *address = (struct sw_ha_address){.ttl_ns = 3000000000U, .quorum = 1};
    const char *at = NULL, *wrong = sw_etcd_address_parse(&address->etcd, text, &at);
    if (wrong == NULL && *at != '?') { /* the prefix ends at the question mark or at the end */
        wrong = "?shard=NAME is missing after the prefix";
    }
    if (wrong != NULL) {
        return bad_ha_address(reason, reason_bytes, wrong);
    }
    do {
        at++;
        wrong = take_choice(address, &at);
        if (wrong != NULL) {
            return bad_ha_address(reason, reason_bytes, wrong);
        }
    } while (*at == '&');
    if (*at != '\0' || address->shard[0] == '\0') {
        return bad_ha_address(reason, reason_bytes,
                              *at == '\0' ? "shard=NAME is missing" : "unexpected text at the end");
    }
    return 0;
}

uint64_t sw_ha_node(const char *name)
{
    return sw_check64(name, strlen(name), 0) | 1;
}

bool sw_ha_names_add(struct sw_ha_names *names, const char *name)
{
    const uint64_t node = sw_ha_node(name);
    for (unsigned i = 0; i < names->count; i++) {
        if (names->at[i].node == node && strcmp(names->at[i].name, name) == 0) {
            const struct sw_ha_named known = names->at[i]; /* becomes the newest name again */
            memmove(&names->at[i], &names->at[i + 1],
                    (names->count - i - 1) * sizeof(names->at[0]));
            names->at[names->count - 1] = known;
            return true;
        }
        if (names->at[i].node == node) {
            return false;
        }
    }
    if (names->count == SW_HA_NAMES_MAX || strlen(name) >= SW_HA_NAME_BYTES) {
        return false;
    }
    names->at[names->count].node = node;
    snprintf(names->at[names->count++].name, SW_HA_NAME_BYTES, "%s", name);
    return true;
}

void sw_ha_names_tidy(struct sw_ha_names *names, const uint64_t *nodes, unsigned count)
{
    const unsigned most = SW_HA_NAMES_MAX - SW_HA_NAMES_ROOM;
    unsigned kept = 0, excess = names->count > most ? names->count - most : 0;
    for (unsigned i = 0; i < names->count; i++) {
        bool is_kept = excess == 0;
        for (unsigned j = 0; j < count; j++) {
            is_kept |= names->at[i].node == nodes[j];
        }
        excess -= !is_kept;
        if (is_kept) {
            names->at[kept++] = names->at[i];
        }
    }
    names->count = kept;
}

const char *sw_ha_name(const struct sw_ha_names *names, uint64_t node)
{
    for (unsigned i = 0; i < names->count; i++) {
        if (names->at[i].node == node) {
            return names->at[i].name;
        }
    }
    return "?";
}
