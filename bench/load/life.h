/* SPDX-License-Identifier: MIT
 *
 * life.h - the time until which a key with an expiry time (--ttl) lives. Pure; any thread.
 *
 * The server counts from the moment at which it executes the write, between request and reply. So
 * the key expires between two bounds, and a read that overlaps this interval may find the key or
 * not. Times are those of sw_load_now_ns.
 */
#ifndef SHERWOOD_LOAD_LIFE_H
#define SHERWOOD_LOAD_LIFE_H

#include <stdint.h>

/* The largest error of the server's clock during the life of a key: the server counts milliseconds.
 */
#define SW_LOAD_CLOCK_NS 20000000

/* The key lives before `first_ns`, and has expired after `last_ns`. */
struct sw_load_life {
    uint64_t first_ns, last_ns;
};
/* It never expires. */
#define SW_LOAD_LIFE_ENDLESS ((struct sw_load_life){UINT64_MAX, UINT64_MAX})
/* Unknown: another run wrote the key. */
#define SW_LOAD_LIFE_UNKNOWN ((struct sw_load_life){0, UINT64_MAX})

enum sw_load_stage { SW_LOAD_ALIVE, SW_LOAD_EITHER, SW_LOAD_EXPIRED };

/* Returns the life of a key that a write set with this time; the write was under way from
 * `since_ns` to `until_ns`. */
static inline struct sw_load_life sw_load_life_of(uint64_t ttl_ns, uint64_t since_ns,
                                                  uint64_t until_ns)
{
    const uint64_t least = since_ns + ttl_ns, most = until_ns + ttl_ns + SW_LOAD_CLOCK_NS;
    return (struct sw_load_life){least > SW_LOAD_CLOCK_NS ? least - SW_LOAD_CLOCK_NS : 0, most};
}

/* Returns what a request between `since_ns` and `until_ns` can find. */
static inline enum sw_load_stage sw_load_life_at(const struct sw_load_life *life, uint64_t since_ns,
                                                 uint64_t until_ns)
{
    return until_ns < life->first_ns  ? SW_LOAD_ALIVE
           : since_ns > life->last_ns ? SW_LOAD_EXPIRED
                                      : SW_LOAD_EITHER;
}

#endif
