/* SPDX-License-Identifier: MIT
 *
 * idle.h - connections that are open and silent while a run goes on, as those of many clients that
 * have nothing to do. One thread.
 */
#ifndef SHERWOOD_LOAD_IDLE_H
#define SHERWOOD_LOAD_IDLE_H

#include <stddef.h>
#include <stdint.h>

struct sw_load_idle {
    int *sockets; /* owned */
    uint32_t count;
};

/* Opens `count` connections, and makes each a used one by a PING of the Redis protocol, which every
 * server here speaks. Raises the limit of descriptors as far as it may. Returns an sw_load_status,
 * with a sentence in `error` (SW_LOAD_ERROR_BYTES); fini may be called in any case. */
int sw_load_idle_open(struct sw_load_idle *idle, const char *address, uint32_t count, char *error);
/* How many are still open, with nothing to read. */
uint32_t sw_load_idle_alive(const struct sw_load_idle *idle);
void sw_load_idle_fini(struct sw_load_idle *idle);

#endif
