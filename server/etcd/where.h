/* SPDX-License-Identifier: MIT
 *
 * where.h - where etcd is: the beginning of the texts of --ha and --cluster-config. Pure functions.
 */
#ifndef SHERWOOD_SERVER_ETCD_WHERE_H
#define SHERWOOD_SERVER_ETCD_WHERE_H

#include <stdbool.h>
#include <stddef.h>

#define SW_ETCD_ENDPOINTS_MAX 9
#define SW_ETCD_NAME_BYTES 64

struct sw_etcd_where {
    bool is_tls;
    unsigned endpoints;
    char endpoint[SW_ETCD_ENDPOINTS_MAX][SW_ETCD_NAME_BYTES]; /* "host:port" of etcd's members */
    char prefix[SW_ETCD_NAME_BYTES];                          /* of the keys */
};

/* Parses etcd://host:port,../prefix, or etcds://.., and sets *rest to what is behind it. Returns
 * NULL, or what is wrong. */
const char *sw_etcd_where_parse(struct sw_etcd_where *where, const char *text, const char **rest);

/* Takes the bytes up to one of `ends`, which must be letters, digits or of `more`. */
bool sw_etcd_take_name(const char **at, const char *ends, const char *more,
                       char out[SW_ETCD_NAME_BYTES]);
/* Is the text "host:port" or "[v6]:port"? */
bool sw_etcd_is_address(const char *text);
/* Do both name the same members, in whatever order? */
bool sw_etcd_same_members(const struct sw_etcd_where *one, const struct sw_etcd_where *other);

#endif
