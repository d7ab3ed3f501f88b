/* SPDX-License-Identifier: MIT
 *
 * lookup.h - look-up of a host name with a time limit.
 *
 * getaddrinfo(3) cannot be interrupted, so a thread calls it. If it takes too long, the caller
 * abandons the thread.
 *
 * Threads: any. Create and destroy are the exceptions: their owner calls them.
 */
#ifndef SHERWOOD_SERVER_REPL_LOOKUP_H
#define SHERWOOD_SERVER_REPL_LOOKUP_H

#include <netdb.h>
#include <stdint.h>

#define SW_LOOKUPS_MAX 16

/* Counts running look-ups, abandoned ones included, and allows at most SW_LOOKUPS_MAX. The last of
 * their threads frees it after sw_lookups_destroy. */
struct sw_lookups;

/* Returns NULL if there is no memory. */
struct sw_lookups *sw_lookups_create(void);
void sw_lookups_destroy(struct sw_lookups *lookups);

/* Looks up a name or an address, and a port. Ends early when `wake_fd` is readable, or after
 * `timeout_ms`. Returns NULL and sets *found, which the caller frees with freeaddrinfo(3). If it
 * fails, returns an error text. */
const char *sw_lookup(struct sw_lookups *lookups, const char *host, const char *port, int wake_fd,
                      uint64_t timeout_ms, struct addrinfo **found);

#endif
