/* SPDX-License-Identifier: MIT
 *
 * lookup.h - looks a host name up without waiting for the resolver longer than the caller wants to:
 * getaddrinfo(3) cannot be interrupted, so a thread calls it, and is left alone if it takes too
 * long.
 *
 * Threads: any, but for create and destroy.
 */
#ifndef SHERWOOD_SERVER_REPL_LOOKUP_H
#define SHERWOOD_SERVER_REPL_LOOKUP_H

#include <netdb.h>
#include <stdint.h>

#define SW_LOOKUPS_MAX 16

/* Counts the look-ups that were left alone and have not ended: at most SW_LOOKUPS_MAX begin. The
 * last of their threads frees it after sw_lookups_destroy. */
struct sw_lookups;

/* Returns NULL if there is no memory. */
struct sw_lookups *sw_lookups_create(void);
void sw_lookups_destroy(struct sw_lookups *lookups);

/* Looks up a name or an address, and a port. Ends early when `wake_fd` is readable, or after
 * `timeout_ms`. Returns NULL, with what getaddrinfo(3) found in *found, for freeaddrinfo(3); or a
 * sentence. */
const char *sw_lookup(struct sw_lookups *lookups, const char *host, const char *port, int wake_fd,
                      uint64_t timeout_ms, struct addrinfo **found);

#endif
