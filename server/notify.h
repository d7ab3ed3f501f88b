/* SPDX-License-Identifier: MIT
 *
 * notify.h - what the daemon tells the service manager, and the sockets it gets from it.
 */
#ifndef SHERWOOD_SERVER_NOTIFY_H
#define SHERWOOD_SERVER_NOTIFY_H

#include <stdint.h>

/* Sockets passed by the service manager, by FileDescriptorName= ("sherwood", "http"); -1 if none.
 * An unnamed or unknown stream socket counts as "sherwood". Not more than these are supported:
 * others are an error. */
#define SW_ACTIVATED_MAX 8
struct sw_activated {
    int listeners[SW_ACTIVATED_MAX]; /* RESP and bulk: TCP or Unix */
    uint32_t listener_count;
    int http;
};
/* Returns 0, or -1 with a sentence logged. Unsets LISTEN_*. */
int sw_notify_sockets(struct sw_activated *activated);

void sw_notify_ready(const char *status_line);
void sw_notify_stopping(void);
void sw_notify_watchdog(void);
/* Microseconds between watchdog pings that the manager expects; 0: none. */
uint64_t sw_notify_watchdog_us(void);

#endif
