/* SPDX-License-Identifier: MIT
 *
 * main.c - the program sherwoodd: options, signals, the service manager. server.c does the rest.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "server/config/options.h"
#include "server/notify.h"
#include "server/observe/log.h"
#include "server/reload.h"
#include "server/server.h"
#include "server/start_check.h"
#include "server/tables/sections.h"

/* Exit status for errors of the options, and of the files and folders that they name. Another start
 * would fail alike, so deploy/sherwoodd.service does not restart the server after it. */
#define EXIT_CONFIG 2
#define START_LINE_BYTES 1024
/* Interval at which main checks whether the snapshot is loaded. */
#define LOAD_POLL_MS 10

/* Blocks SIGTERM, SIGINT and SIGHUP, in this thread and all that it starts later. Returns a
 * descriptor that delivers them instead, or -1. `stopping` receives the first two. */
static int take_signals(sigset_t *stopping)
{
    sigset_t taken;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of its write */
    sigemptyset(stopping);
    sigaddset(stopping, SIGTERM);
    sigaddset(stopping, SIGINT);
    taken = *stopping;
    sigaddset(&taken, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &taken, NULL) != 0) {
        return -1;
    }
    return signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
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

/* The state of main while it waits. */
struct waiting {
    struct sw_server *server;
    int signal_fd;
    bool is_ready;     /* the start line is printed */
    bool reload_asked; /* by SIGHUP, while a snapshot was being loaded */
    int stdin_fd;      /* standard input, whose end stops the server; -1: it does not */
    char line[START_LINE_BYTES];
};

static void announce(struct waiting *waiting)
{
    waiting->is_ready = true;
    sw_server_describe(waiting->server, waiting->line, sizeof(waiting->line));
    puts(waiting->line);
    fflush(stdout);
    sw_notify_ready(waiting->line);
}

static void reload(struct waiting *waiting)
{
    waiting->reload_asked = false;
    sw_notify_reloading();
    (void)sw_server_reload(waiting->server); /* it logs its errors */
    sw_notify_ready(waiting->line);
}

/* Reads the signals that have come. Returns true if the process is to end. */
static bool take_signal(struct waiting *waiting)
{
    struct signalfd_siginfo info;
    while (read(waiting->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo != SIGHUP) {
            sw_log(SW_LOG_NOTICE, "%s: sending the replies to accepted requests, then exiting",
                   info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
            return true;
        }
        waiting->reload_asked = true;
    }
    return false;
}

/* Reads standard input, and ignores the bytes. Returns true at the end of the input. */
static bool stdin_has_ended(int fd)
{
    char ignored[256];
    const ssize_t size = read(fd, ignored, sizeof(ignored));
    if (size > 0 || (size < 0 && (errno == EINTR || errno == EAGAIN))) {
        return false;
    }
    sw_log(SW_LOG_NOTICE, "standard input has ended: sending the replies to accepted requests, "
                          "then exiting");
    return true;
}

/* Waits for the end: a signal or the end of standard input, which return true, or until the server
 * stops by itself. Announces that it serves once everything is loaded, reloads at SIGHUP, and sends
 * watchdog messages. */
static bool wait_for_stop(struct waiting *waiting)
{
    uint64_t watchdog_us = sw_notify_watchdog_us();
    /* main checks the loops four times a period. sd_watchdog_enabled(3) advises two. But loops that
     * slept since the last check seem to make no progress, and one such check must not miss the
     * period. */
    int period_ms = watchdog_us == 0 ? -1 : (int)(watchdog_us / 4000 > 0 ? watchdog_us / 4000 : 1);
    struct pollfd fds[3] = {{.fd = waiting->signal_fd, .events = POLLIN},
                            {.fd = sw_server_stopped_fd(waiting->server), .events = POLLIN},
                            {.fd = waiting->stdin_fd, .events = POLLIN}};
    for (;;) {
        if (!waiting->is_ready && !sw_server_is_loading(waiting->server)) {
            announce(waiting);
        }
        if (waiting->is_ready && waiting->reload_asked) {
            reload(waiting);
        }
        int ready = poll(fds, 3, waiting->is_ready ? period_ms : LOAD_POLL_MS);
        if (ready < 0 && errno != EINTR) {
            sw_log(SW_LOG_ERROR, "poll failed: %s", strerror(errno));
            return false;
        }
        if (ready > 0 && fds[0].revents != 0 && take_signal(waiting)) {
            return true;
        }
        if (ready > 0 && fds[1].revents != 0) {
            return false;
        }
        if (ready > 0 && fds[2].revents != 0 && stdin_has_ended(waiting->stdin_fd)) {
            return true;
        }
        if (waiting->is_ready && ready == 0 && sw_server_alive(waiting->server)) {
            sw_notify_watchdog();
        }
    }
}

static int serve(const struct sw_config *config, const struct sw_activated *activated,
                 int signal_fd, const sigset_t *stopping)
{
    struct waiting waiting = {.signal_fd = signal_fd,
                              .stdin_fd = config->stop_with_stdin != 0 ? STDIN_FILENO : -1};
    int status = sw_server_start(config, activated, &waiting.server);
    if (status != 0) {
        return status == SW_START_CONFIG ? EXIT_CONFIG : 1;
    }
    bool signalled = wait_for_stop(&waiting);
    sw_notify_stopping();
    sw_server_stop(waiting.server);
    if (signalled) {
        arm_second_signal(stopping); /* after SHUTDOWN the first signal must not end the process */
    }
    return sw_server_join(waiting.server);
}

/* --check-config: runs the checks of a start, and prints the values of the options. */
static int check(const struct sw_config *config)
{
    struct sw_table_sections sections;
    char error[SW_START_ERROR_BYTES] = "";
    if (sw_start_check(config, NULL, error) != 0) {
        fprintf(stderr, "sherwoodd: %s\n", error);
        return EXIT_CONFIG;
    }
    sw_config_print(config, stdout);
    if (sw_table_sections_read(config, &sections, error, sizeof(error)) == 0) {
        sw_table_sections_print(&sections, stdout);
    }
    sw_table_sections_free(&sections);
    return fflush(stdout) == 0 ? 0 : 1;
}

static int check_and_serve(const struct sw_config *config, const struct sw_activated *activated,
                           int signal_fd, const sigset_t *stopping)
{
    char error[SW_START_ERROR_BYTES] = "";
    errno = 0;
    if (sw_start_check(config, activated, error) != 0) {
        const bool has_memory = errno != ENOMEM; /* a later start may find memory */
        sw_log(SW_LOG_ERROR, "%s", error);
        return has_memory ? EXIT_CONFIG : 1;
    }
    return serve(config, activated, signal_fd, stopping);
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
    case SW_CONFIG_CHECK:
        return check(&config);
    case SW_CONFIG_ERROR:
        return EXIT_CONFIG;
    case SW_CONFIG_RUN:
        break;
    }
    sw_log_init((enum sw_log_level)config.log_level);
    signal_fd = take_signals(&stopping);
    if (signal_fd < 0) {
        sw_log(SW_LOG_ERROR, "SIGTERM and SIGINT cannot be received: %s", strerror(errno));
        return 1;
    }
    if (sw_notify_sockets(&activated) == 0) {
        status = check_and_serve(&config, &activated, signal_fd, &stopping);
    }
    close(signal_fd);
    return status;
}
