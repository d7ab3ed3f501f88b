/* SPDX-License-Identifier: MIT
 *
 * sherwood-times.h - when keys expire: sherwood.h includes it, and says what keys, values, bitmaps
 * and statuses are.
 *
 * A key that has expired is absent for every operation. Times are milliseconds: AT counts them from
 * 1970 on, IN from the moment at which the server carries the request out, by its clock. They are
 * from 1 to 2^63 - 1; a time that is over removes its key at once. Servers without takes_times
 * (struct sherwood_server) have none of this: SHERWOOD_E_REQUEST.
 */
#ifndef SHERWOOD_TIMES_H
#define SHERWOOD_TIMES_H

#include "sherwood.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sherwood_when {
    SHERWOOD_UNSAID = 0, /* as the server's --default-ttl says, or never */
    SHERWOOD_AT = 1,
    SHERWOOD_IN = 2,
    SHERWOOD_KEEP = 3 /* SET, SET_PRESENT: a present key keeps its time; a new one as UNSAID */
};

/* What a request says of when its keys expire. Begin with SHERWOOD_TIMES_INIT. */
struct sherwood_times {
    size_t size; /* sizeof(struct sherwood_times) */
    enum sherwood_when when;
    uint64_t time_ms;         /* AT, IN: of all keys; 0: they have one each, .. */
    const uint64_t *times_ms; /* .. [count], borrowed as the keys are; or NULL */
};
#define SHERWOOD_TIMES_INIT SHERWOOD_INIT_OF(sherwood_times)

/* Does what sherwood_run does, of an operation that stores values (SET, SUM, MIN, MAX, SET_ABSENT,
 * SET_PRESENT, INCREMENT, ADD), or of SHERWOOD_EXPIRE and its kinds. A new key gets the time; a
 * present one does by SET and SET_PRESENT, and keeps its own where others write it. `times` may be
 * NULL. SHERWOOD_E_REQUEST: one of them is no time, and the frame that has it changed nothing.
 *
 * EXPIRE gives present keys the time, and leaves their values, which `previous` receives; its kinds
 * do where a condition holds: EXPIRE_NONE where the key does not expire yet, EXPIRE_SOME where it
 * does, EXPIRE_LATER where it does earlier than that, EXPIRE_EARLIER where it does later or never,
 * EXPIRE_SHORTEN where it does later. Of these, and PERSIST, `found` tells which keys were changed.
 */
int sherwood_run_times(struct sherwood *client, enum sherwood_operation operation, const void *keys,
                       const void *values, size_t count, void *previous, uint64_t *found,
                       const struct sherwood_times *times);
int sherwood_set_times(struct sherwood *client, const void *keys, const void *values, size_t count,
                       const struct sherwood_times *times);
/* `changed`, which may be NULL, is a bitmap as `found`. */
int sherwood_expire(struct sherwood *client, const void *keys, size_t count,
                    const struct sherwood_times *times, uint64_t *changed);
/* The keys never expire any more; `changed` tells which did, and may be NULL. */
int sherwood_persist(struct sherwood *client, const void *keys, size_t count, uint64_t *changed);
/* When keys expire: times_ms[i] is in milliseconds since 1970; 0: never, or the key is absent,
 * which `found` tells apart, and may be NULL. sherwood_submit has times of 8 bytes in `previous`,
 * whatever value_bytes is. */
int sherwood_ttl(struct sherwood *client, const void *keys, size_t count, uint64_t *times_ms,
                 uint64_t *found);

#ifdef __cplusplus
}
#endif

#endif
