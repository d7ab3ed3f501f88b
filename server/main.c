/* SPDX-License-Identifier: MIT
 *
 * main.c - the program sherwoodd: options, signals, the service manager. server.c does the rest.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "server/config/config.h"
#include "server/notify.h"
#include "server/observe/log.h"
#include "server/server.h"

#define START_LINE_BYTES 1024
/* How soon it is seen that a snapshot is loaded. */
#define LOAD_POLL_MS 10
/* File descriptors of everything but connections: loops, listeners, HTTP, device. */
#define OTHER_FDS 512

/* Raises the soft limit of file descriptors, which is usually 1024 (for select()), so that
 * connections-max connections can be open. Warns if that is not possible. */
static void raise_fd_limit(const struct sw_config *config)
{
    struct rlimit limit;
    const uint32_t connections_max = config->connections_max;
    rlim_t needed = (rlim_t)connections_max + (rlim_t)config->http_connections_max + OTHER_FDS;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) {
        return;
    }
    limit.rlim_cur = limit.rlim_max < needed ? limit.rlim_max : needed;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < needed) {
        sw_log(SW_LOG_WARNING,
               "the limit of open files is %llu, and connections-max %u needs %llu: raise "
               "LimitNOFILE= or ulimit -n, or lower connections-max",
               (unsigned long long)limit.rlim_cur, connections_max, (unsigned long long)needed);
    }
}

/* Blocks SIGTERM and SIGINT, in this thread and all that it starts later. Returns a descriptor that
 * delivers them instead, or -1. */
static int take_signals(sigset_t *stopping)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of its write */
    sigemptyset(stopping);
    sigaddset(stopping, SIGTERM);
    sigaddset(stopping, SIGINT);
    if (sigprocmask(SIG_BLOCK, stopping, NULL) != 0) {
        return -1;
    }
    return signalfd(-1, stopping, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void on_second_signal(int number)
{
    static const char line[] = "second signal: exiting at once\n";
    ssize_t wrote = write(STDERR_FILENO, line, sizeof(line) - 1);
    (void)number;
    (void)wrote;
    _exit(1);
}

/* From now on a signal ends the process, even if the shutdown is not complete. */
static void arm_second_signal(const sigset_t *stopping)
{
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_second_signal;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigprocmask(SIG_UNBLOCK, stopping, NULL);
}

/* Waits for a signal or until the server stops by itself, and sends watchdog messages meanwhile.
 * Returns true for a signal. */
static bool wait_for_stop(struct sw_server *server, int signal_fd)
{
    uint64_t watchdog_us = sw_notify_watchdog_us();
    /* It looks four times a period. sd_watchdog_enabled(3) advises two, but loops that slept since
     * the last look seem to make no progress, and one such look must not exceed the period. */
    int timeout_ms = watchdog_us == 0 ? -1 : (int)(watchdog_us / 4000 > 0 ? watchdog_us / 4000 : 1);
    struct pollfd fds[2] = {{.fd = signal_fd, .events = POLLIN},
                            {.fd = sw_server_stopped_fd(server), .events = POLLIN}};
    for (;;) {
        int ready = poll(fds, 2, timeout_ms);
        if (ready < 0 && errno != EINTR) {
            sw_log(SW_LOG_ERROR, "poll failed: %s", strerror(errno));
            return false;
        }
        if (ready > 0) {
            break;
        }
        if (timeout_ms >= 0 && sw_server_alive(server)) {
            sw_notify_watchdog();
        }
    }
    if (fds[0].revents != 0) {
        struct signalfd_siginfo info;
        ssize_t got = read(signal_fd, &info, sizeof(info));
        sw_log(SW_LOG_NOTICE, "%s: sending the replies to accepted requests, then exiting",
               got == (ssize_t)sizeof(info) && info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
    }
    return fds[0].revents != 0;
}

/* Waits until the snapshot is loaded. Returns false if the server is to stop before. */
static bool wait_for_load(struct sw_server *server, int signal_fd)
{
    struct pollfd fds[2] = {{.fd = signal_fd, .events = POLLIN},
                            {.fd = sw_server_stopped_fd(server), .events = POLLIN}};
    while (sw_server_is_loading(server)) {
        if (poll(fds, 2, LOAD_POLL_MS) > 0) {
            return false;
        }
    }
    return true;
}

static int serve(const struct sw_config *config, const struct sw_activated *activated,
                 int signal_fd, const sigset_t *stopping)
{
    struct sw_server *server = NULL;
    char line[START_LINE_BYTES];
    if (sw_server_start(config, activated, &server) != 0) {
        return 1;
    }
    if (wait_for_load(server, signal_fd)) {
        sw_server_describe(server, line, sizeof(line));
        puts(line);
        fflush(stdout);
        sw_notify_ready(line);
    }

    bool signalled = wait_for_stop(server, signal_fd);
    sw_notify_stopping();
    sw_server_stop(server);
    if (signalled) {
        arm_second_signal(stopping); /* after SHUTDOWN the first signal must not end the process */
    }
    return sw_server_join(server);
}

int main(int argc, char **argv)
{
    struct sw_config config;
    struct sw_activated activated;
    sigset_t stopping;
    int signal_fd = -1, status = 1;

    switch (sw_config_load(&config, argc, argv)) {
    case SW_CONFIG_EXIT:
        return fflush(stdout) == 0 ? 0 : 1;
    case SW_CONFIG_ERROR:
        return 2;
    case SW_CONFIG_RUN:
        break;
    }
    sw_log_init((enum sw_log_level)config.log_level);
    raise_fd_limit(&config);
    signal_fd = take_signals(&stopping);
    if (signal_fd < 0) {
        sw_log(SW_LOG_ERROR, "SIGTERM and SIGINT cannot be received: %s", strerror(errno));
        return 1;
    }
    if (sw_notify_sockets(&activated) == 0) {
        status = serve(&config, &activated, signal_fd, &stopping);
    }
    close(signal_fd);
    return status;
}
