/* SPDX-License-Identifier: MIT
 *
 * notify.c - sends messages to the service manager by libsystemd. Without a service manager every
 * call does nothing.
 */
#include "server/notify.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include "server/observe/log.h"

static int take_socket(struct sw_activated *activated, int fd, const char *name)
{
    if (sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1) <= 0) {
        sw_log(SW_LOG_ERROR,
               "file descriptor %d (%s) from the service manager is not a listening stream socket",
               fd, name);
        return -1;
    }
    if (strcmp(name, "http") == 0) {
        if (activated->http != -1) {
            sw_log(SW_LOG_ERROR, "the service manager passed more than one socket named http");
            return -1;
        }
        activated->http = fd;
        return 0;
    }
    if (activated->listener_count == SW_ACTIVATED_MAX) {
        sw_log(SW_LOG_ERROR, "the service manager passed more than %d sockets", SW_ACTIVATED_MAX);
        return -1;
    }
    bool is_tls = strcmp(name, "tls") == 0;
    if (is_tls && sd_is_socket(fd, AF_UNIX, SOCK_STREAM, 1) > 0) {
        sw_log(SW_LOG_ERROR,
               "the service manager passed a Unix socket named tls: only TCP has TLS");
        return -1;
    }
    activated->is_tls[activated->listener_count] = is_tls;
    activated->any_tls |= is_tls;
    activated->listeners[activated->listener_count++] = fd;
    return 0;
}

int sw_notify_sockets(struct sw_activated *activated)
{
    char **names = NULL;
    int count = 0, result = 0;
    memset(activated, 0, sizeof(*activated));
    activated->http = -1;
    for (int i = 0; i < SW_ACTIVATED_MAX; i++) {
        activated->listeners[i] = -1;
    }
    count = sd_listen_fds_with_names(1, &names);
    if (count < 0) {
        sw_log(SW_LOG_ERROR, "the service manager's sockets cannot be used: %s", strerror(-count));
        return -1;
    }
    for (int i = 0; i < count && result == 0; i++) {
        result = take_socket(activated, SD_LISTEN_FDS_START + i,
                             names != NULL && names[i] != NULL ? names[i] : "unknown");
    }
    for (int i = 0; names != NULL && names[i] != NULL; i++) {
        free(names[i]);
    }
    free(names);
    return result;
}

bool sw_activated_has_plain(const struct sw_activated *activated)
{
    for (uint32_t i = 0; i < activated->listener_count; i++) {
        if (!activated->is_tls[i] &&
            sd_is_socket(activated->listeners[i], AF_UNIX, SOCK_STREAM, 1) <= 0) {
            return true;
        }
    }
    return false;
}

void sw_notify_ready(const char *status_line)
{
    sd_notifyf(0, "READY=1\nSTATUS=%s", status_line);
}

void sw_notify_reloading(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld\nSTATUS=reading the configuration",
               (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
}

void sw_notify_stopping(void)
{
    sd_notify(0, "STOPPING=1\nSTATUS=sending the replies to accepted requests");
}

void sw_notify_extend(void)
{
    sd_notify(0, "EXTEND_TIMEOUT_USEC=30000000");
}

void sw_notify_watchdog(void)
{
    sd_notify(0, "WATCHDOG=1");
}

uint64_t sw_notify_watchdog_us(void)
{
    uint64_t period_us = 0;
    return sd_watchdog_enabled(0, &period_us) > 0 ? period_us : 0;
}
