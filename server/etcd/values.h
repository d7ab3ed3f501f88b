/* SPDX-License-Identifier: MIT
 *
 * values.h - what requests to etcd's JSON gateway, and its answers, are made of: keys and values in
 * base64, 64-bit numbers as texts, comparisons. Pure functions.
 */
#ifndef SHERWOOD_SERVER_ETCD_VALUES_H
#define SHERWOOD_SERVER_ETCD_VALUES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A new reference; NULL if there is no memory. */
json_t *sw_etcd_in_base64(const char *text, size_t size);
/* The bytes of such a value, with a NUL behind them, which the caller frees; NULL if it is none. An
 * empty value is left out by etcd: NULL as well. */
char *sw_etcd_from_base64(const json_t *value, size_t *size);

/* The number of a field; 0 where it is left out. */
uint64_t sw_etcd_number(const json_t *object, const char *name);
/* Did etcd carry out the transaction? */
bool sw_etcd_succeeded(const json_t *answer);
/* The revision of an answer. */
uint64_t sw_etcd_revision(const json_t *answer);

/* New references, which take over `key`. A key that is absent has the revision 0. */
json_t *sw_etcd_comparison(json_t *key, uint64_t revision);
json_t *sw_etcd_put(json_t *key, json_t *value);
json_t *sw_etcd_range(json_t *key);
/* The key in answer `place` to a transaction of ranges; NULL: it is absent. */
const json_t *sw_etcd_found(const json_t *answer, size_t place);

#endif
