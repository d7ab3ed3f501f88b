/* SPDX-License-Identifier: MIT
 *
 * sherwood-times.h - when keys expire. sherwood.h includes it, and defines keys, values, bitmaps
 * and statuses.
 *
 * A key that has expired is absent for every operation. Times are in milliseconds, at least 1 and
 * below 2^63. AT counts them from 1970, IN from the moment at which the server executes the
 * request, by its clock. A time in the past removes its key at once. Servers without takes_times
 * (struct sherwood_server) refuse times with SHERWOOD_E_REQUEST.
 */
#ifndef SHERWOOD_TIMES_H
#define SHERWOOD_TIMES_H

#include "sherwood.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sherwood_when {
    SHERWOOD_UNSAID = 0, /* the server's --default-ttl; without it, the key never expires */
    SHERWOOD_AT = 1,
    SHERWOOD_IN = 2,
    SHERWOOD_KEEP = 3 /* SET, SET_PRESENT: a present key keeps its time; a new one as UNSAID */
};

/* The expiry times of a request's keys. Begin with SHERWOOD_TIMES_INIT. */
struct sherwood_times {
    size_t size; /* sizeof(struct sherwood_times) */
    enum sherwood_when when;
    uint64_t time_ms;         /* AT, IN: for all keys; 0: times_ms has one for each key */
    const uint64_t *times_ms; /* [count], in ms, borrowed as the keys are; or NULL */
};
#define SHERWOOD_TIMES_INIT SHERWOOD_INIT_OF(sherwood_times)

/* Does what sherwood_run does, for an operation that stores values (SET, SUM, MIN, MAX, SET_ABSENT,
 * SET_PRESENT, INCREMENT, ADD), or for SHERWOOD_EXPIRE and its kinds. A new key gets the time. A
 * present key gets it from SET and SET_PRESENT; the other operations that store values leave its
 * time as it is. `times` may be NULL. SHERWOOD_E_REQUEST: a time is out of range, and its frame
 * changed nothing.
 *
 * EXPIRE sets the time of present keys. It leaves their values, which `previous` receives. Its
 * kinds set the time only under a condition: EXPIRE_NONE if the key has no expiry time, EXPIRE_SOME
 * if it has one, EXPIRE_LATER if it has an earlier one, EXPIRE_EARLIER if it has a later one or
 * none, EXPIRE_SHORTEN if it has a later one. After these operations and PERSIST, `found` has the
 * keys that were changed. */
SHERWOOD_MUST_CHECK int sherwood_run_times(struct sherwood *client,
                                           enum sherwood_operation operation, const void *keys,
                                           const void *values, size_t count, void *previous,
                                           uint64_t *found, const struct sherwood_times *times);
SHERWOOD_MUST_CHECK int sherwood_set_times(struct sherwood *client, const void *keys,
                                           const void *values, size_t count,
                                           const struct sherwood_times *times);
/* Sets the expiry times of present keys. `changed`, which may be NULL, is a bitmap as `found`, of
 * the keys whose time was set. */
SHERWOOD_MUST_CHECK int sherwood_expire(struct sherwood *client, const void *keys, size_t count,
                                        const struct sherwood_times *times, uint64_t *changed);
/* Removes the expiry times of keys. `changed`, which may be NULL, has the keys that had one. */
SHERWOOD_MUST_CHECK int sherwood_persist(struct sherwood *client, const void *keys, size_t count,
                                         uint64_t *changed);
/* Reads when keys expire: times_ms[i] is in milliseconds since 1970, or 0 if the key never expires
 * or is absent. `found`, which may be NULL, has the keys that are present. sherwood_submit stores
 * the times in `previous`, 8 bytes each, whatever value_bytes is. */
SHERWOOD_MUST_CHECK int sherwood_ttl(struct sherwood *client, const void *keys, size_t count,
                                     uint64_t *times_ms, uint64_t *found);

#ifdef __cplusplus
}
#endif

#endif
