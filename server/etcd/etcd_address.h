/* SPDX-License-Identifier: MIT
 *
 * etcd_address.h - the address of etcd: the first part of --ha and --cluster-config. Pure
 * functions.
 */
#ifndef SHERWOOD_SERVER_ETCD_ETCD_ADDRESS_H
#define SHERWOOD_SERVER_ETCD_ETCD_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#define SW_ETCD_ENDPOINTS_MAX 9
#define SW_ETCD_NAME_BYTES 64

struct sw_etcd_address {
    bool is_tls;
    unsigned endpoints;
    char endpoint[SW_ETCD_ENDPOINTS_MAX][SW_ETCD_NAME_BYTES]; /* "host:port" of etcd's members */
    char prefix[SW_ETCD_NAME_BYTES];                          /* of the keys */
};

/* Parses etcd://host:port,../prefix, or etcds://.., and sets *rest to the text after it. Returns
 * NULL, or an error text. */
const char *sw_etcd_address_parse(struct sw_etcd_address *address, const char *text,
                                  const char **rest);

/* Copies the bytes up to one of `ends` to `out`, and moves *at behind them. The bytes must be
 * letters, digits or in `more`. Returns false if they are not, if they are too many, or if no byte
 * comes before the end. */
bool sw_etcd_address_take_name(const char **at, const char *ends, const char *more,
                               char out[SW_ETCD_NAME_BYTES]);
/* Returns true if the text is "host:port" or "[v6]:port". */
bool sw_etcd_is_address(const char *text);
/* Returns true if both name the same members, in any order. */
bool sw_etcd_same_members(const struct sw_etcd_address *one, const struct sw_etcd_address *other);

#endif
