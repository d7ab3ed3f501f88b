/* SPDX-License-Identifier: MIT
 *
 * idle.h - connections that stay open and silent during a run, like those of many idle clients. One
 * thread.
 */
#ifndef SHERWOOD_LOAD_IDLE_H
#define SHERWOOD_LOAD_IDLE_H

#include <stddef.h>
#include <stdint.h>

struct sw_load_idle {
    int *sockets; /* owned */
    uint32_t count;
};

/* Opens `count` connections, and sends a PING of the Redis protocol on each, which every server
 * here supports. Raises the limit of descriptors as far as necessary and allowed. Returns an
 * sw_load_status, with a sentence in `error` (SW_LOAD_ERROR_BYTES); call fini in each case. */
int sw_load_idle_open(struct sw_load_idle *idle, const char *address, uint32_t count, char *error);
/* Returns how many connections are still open, without input. */
uint32_t sw_load_idle_alive(const struct sw_load_idle *idle);
void sw_load_idle_fini(struct sw_load_idle *idle);

#endif
