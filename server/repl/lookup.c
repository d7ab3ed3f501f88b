/* SPDX-License-Identifier: MIT
 *
 * lookup.c - starts a detached thread for each look-up of a name; an address needs no thread.
 *
 * The thread and the caller share the request. The last of them to leave frees it.
 */
#include "server/repl/lookup.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

struct sw_lookups {
    unsigned users; /* atomic: the owner, and threads */
};

struct request {
    struct sw_lookups *lookups;
    unsigned users; /* atomic: the caller, and the thread */
    int done_fd;    /* an eventfd, readable once the thread has ended its work */
    int error;
    struct addrinfo *found;
    char host[256], port[8];
};

static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};

static void leave_lookups(struct sw_lookups *lookups)
{
    if (__atomic_sub_fetch(&lookups->users, 1, __ATOMIC_ACQ_REL) == 0) {
        free(lookups);
    }
}

static void leave_request(struct request *request)
{
    if (__atomic_sub_fetch(&request->users, 1, __ATOMIC_ACQ_REL) == 0) {
        if (request->found != NULL) {
            freeaddrinfo(request->found);
        }
        close(request->done_fd);
        free(request);
    }
}

static void *run_lookup(void *context)
{
    struct request *request = context;
    struct sw_lookups *lookups = request->lookups;
    const uint64_t one = 1;
    request->error = getaddrinfo(request->host, request->port, &hints, &request->found);
    ssize_t written = write(request->done_fd, &one, sizeof(one));
    (void)written; /* cannot fail: this is the first write to the eventfd */
    leave_request(request);
    leave_lookups(lookups);
    return NULL;
}

static bool start(struct request *request)
{
    pthread_attr_t detached;
    pthread_t thread;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    request->users = 2;
    __atomic_add_fetch(&request->lookups->users, 1, __ATOMIC_ACQ_REL);
    const bool started = pthread_create(&thread, &detached, run_lookup, request) == 0;
    pthread_attr_destroy(&detached);
    if (!started) {
        request->users = 1;
        leave_lookups(request->lookups);
    }
    return started;
}

static const char *wait_for(struct request *request, int wake_fd, uint64_t timeout_ms,
                            struct addrinfo **found)
{
    struct pollfd fds[2] = {{.fd = request->done_fd, .events = POLLIN},
                            {.fd = wake_fd, .events = POLLIN}};
    int ready = 0;
    do {
        ready = poll(fds, 2, timeout_ms > INT_MAX ? INT_MAX : (int)timeout_ms);
    } while (ready < 0 && errno == EINTR);
    uint64_t told;
    if (ready <= 0 || fds[0].revents == 0 ||
        read(request->done_fd, &told, sizeof(told)) != (ssize_t)sizeof(told)) {
        return ready == 0 ? "the resolver did not reply in time"
                          : "REPLICAOF, or the stop of the server, ended this connection";
    }
    if (request->error != 0) {
        return gai_strerror(request->error);
    }
    *found = request->found;
    request->found = NULL;
    return NULL;
}

struct sw_lookups *sw_lookups_create(void)
{
    struct sw_lookups *lookups = calloc(1, sizeof(*lookups));
    if (lookups != NULL) {
        lookups->users = 1;
    }
    return lookups;
}

void sw_lookups_destroy(struct sw_lookups *lookups)
{
    if (lookups != NULL) {
        leave_lookups(lookups);
    }
}

/* Returns true and sets *found if the host is a numeric address, which needs no look-up. */
static bool is_address(const char *host, const char *port, struct addrinfo **found)
{
    const struct addrinfo numeric = {.ai_socktype = SOCK_STREAM,
                                     .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    return getaddrinfo(host, port, &numeric, found) == 0;
}

const char *sw_lookup(struct sw_lookups *lookups, const char *host, const char *port, int wake_fd,
                      uint64_t timeout_ms, struct addrinfo **found)
{
    if (is_address(host, port, found)) {
        return NULL;
    }
    if (lookups == NULL) {
        return "the host is not an address";
    }
    if (__atomic_load_n(&lookups->users, __ATOMIC_ACQUIRE) > SW_LOOKUPS_MAX) {
        return "the resolver has not replied to earlier requests";
    }
    struct request *request = calloc(1, sizeof(*request));
    const int done_fd = request == NULL ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (done_fd < 0 || strlen(host) >= sizeof(request->host) ||
        strlen(port) >= sizeof(request->port)) {
        if (done_fd >= 0) {
            close(done_fd);
        }
        free(request);
        return "cannot look up a host name: no memory or no file descriptor";
    }
    request->lookups = lookups;
    request->done_fd = done_fd;
    snprintf(request->host, sizeof(request->host), "%s", host);
    snprintf(request->port, sizeof(request->port), "%s", port);
    const char *wrong = "cannot look up a host name: no thread";
    if (start(request)) {
        wrong = wait_for(request, wake_fd, timeout_ms, found);
    }
    leave_request(request);
    return wrong;
}
