/* SPDX-License-Identifier: MIT
 *
 * values.h - elements of requests to etcd's JSON gateway and of its answers: keys and values in
 * base64, 64-bit numbers as texts, comparisons. Pure functions.
 */
#ifndef SHERWOOD_SERVER_ETCD_VALUES_H
#define SHERWOOD_SERVER_ETCD_VALUES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns a new reference; NULL if memory is short. */
json_t *sw_etcd_in_base64(const char *text, size_t size);
/* Returns the bytes of such a value and a NUL after them. The caller frees them. NULL: the value is
 * not base64, or it is empty, because etcd omits empty values. */
char *sw_etcd_from_base64(const json_t *value, size_t *size);

/* Returns the number in a field; 0 if the field is absent. */
uint64_t sw_etcd_number(const json_t *object, const char *name);
/* Returns true if etcd carried out the transaction. */
bool sw_etcd_succeeded(const json_t *answer);
/* Returns the revision of an answer. */
uint64_t sw_etcd_revision(const json_t *answer);

/* Return new references, which take over `key`. An absent key has the revision 0. */
json_t *sw_etcd_comparison(json_t *key, uint64_t revision);
json_t *sw_etcd_put(json_t *key, json_t *value);
json_t *sw_etcd_range(json_t *key);
/* Returns the key and its value in response number `place` to a transaction of ranges. NULL: the
 * key is absent. */
const json_t *sw_etcd_found(const json_t *answer, size_t place);

#endif
