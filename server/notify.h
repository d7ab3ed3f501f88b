/* SPDX-License-Identifier: MIT
 *
 * notify.h - messages to the service manager, and the sockets that it passes (socket activation).
 * Everything is called on the main thread, except sw_notify_extend.
 */
#ifndef SHERWOOD_SERVER_NOTIFY_H
#define SHERWOOD_SERVER_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/* The listening sockets that the service manager passed. FileDescriptorName=http marks the one for
 * HTTP, and tls those for RESP and bulk frames by TLS; every other stream socket is for these
 * without TLS. */
#define SW_ACTIVATED_MAX 8
struct sw_activated {
    int listeners[SW_ACTIVATED_MAX]; /* TCP or Unix sockets for RESP and bulk frames; -1: none */
    bool is_tls[SW_ACTIVATED_MAX];
    uint32_t listener_count;
    bool any_tls;
    int http; /* the socket for HTTP; -1: none */
};
/* Takes the sockets, which the caller owns from then on, and unsets LISTEN_*. Returns 0, or -1 with
 * a sentence logged: a socket of another type, or more sockets than SW_ACTIVATED_MAX. */
int sw_notify_sockets(struct sw_activated *activated);

/* Returns true if one of them is a TCP socket for RESP and bulk frames without TLS. */
bool sw_activated_has_plain(const struct sw_activated *activated);

/* Messages to the service manager. Without one they do nothing. */
void sw_notify_ready(const char *status_line);
/* Reports that options are read again. sw_notify_ready reports the end. */
void sw_notify_reloading(void);
void sw_notify_stopping(void);
/* Reports progress of a long operation: the manager allows 30 more seconds. Threads: any. */
void sw_notify_extend(void);
void sw_notify_watchdog(void);
/* The time in microseconds within which the manager expects the next watchdog message; 0: it
 * expects none. */
uint64_t sw_notify_watchdog_us(void);

#endif
