/* SPDX-License-Identifier: MIT
 *
 * interrupt.c - signals by signalfd, programs by posix_spawn.
 */
#include "bench/tune/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static void wanted_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
}

bool sw_tune_interrupt_open(struct sw_tune_interrupt *interrupt)
{
    sigset_t set;
    sigset_t blocked;
    wanted_signals(&set);
    blocked = set;
    sigaddset(&blocked, SIGPIPE); /* a program that ended is an error of write */
    interrupt->came = false;
    interrupt->fd = -1;
    if (sigprocmask(SIG_BLOCK, &blocked, NULL) == 0) {
        interrupt->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    }
    return interrupt->fd >= 0;
}

void sw_tune_interrupt_close(struct sw_tune_interrupt *interrupt)
{
    if (interrupt->fd >= 0) {
        (void)close(interrupt->fd);
    }
    interrupt->fd = -1;
}

bool sw_tune_interrupted(struct sw_tune_interrupt *interrupt)
{
    struct pollfd poll_fd = {.fd = interrupt->fd, .events = POLLIN};
    interrupt->came = interrupt->came || poll(&poll_fd, 1, 0) > 0;
    return interrupt->came;
}

pid_t sw_tune_start(char *const *argv, int in, int out, int err)
{
    const int given[3] = {in, out, err};
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t none;
    pid_t pid = -1;
    sigemptyset(&none);
    if (posix_spawnattr_init(&attributes) != 0) {
        return -1;
    }
    if (posix_spawn_file_actions_init(&actions) != 0) {
        (void)posix_spawnattr_destroy(&attributes);
        return -1;
    }
    int error =
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK) |
        posix_spawnattr_setpgroup(&attributes, 0) | posix_spawnattr_setsigmask(&attributes, &none);
    for (int fd = 0; fd < 3 && error == 0; fd++) {
        if (given[fd] >= 0) {
            error = posix_spawn_file_actions_adddup2(&actions, given[fd], fd);
        }
    }
    if (error != 0 || posix_spawnp(&pid, argv[0], &actions, &attributes, argv, environ) != 0) {
        pid = -1;
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return pid;
}

void sw_tune_kill(pid_t pid)
{
    (void)kill(-pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}
