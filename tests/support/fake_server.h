/* SPDX-License-Identifier: MIT
 *
 * fake_server.h - a server in the test process that does what a script says: the truth, or not.
 *
 * A thread accepts connections, one after another, and runs the script on each; the connection is
 * closed when the script returns. With SW_FAKE_PARALLEL each connection has a thread of its own.
 * Scripts are written with the helpers below, which block and return false when the peer is gone.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_FAKE_SERVER_H
#define SHERWOOD_TESTS_SUPPORT_FAKE_SERVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"

#define SW_FAKE_CONNECTIONS_MAX 64

enum { SW_FAKE_TCP = 1, SW_FAKE_PARALLEL = 2 };

struct sw_fake_server {
    char address[128]; /* for sherwood_connect */
    char folder[64];
    int listener;
    pthread_t thread;
    void (*script)(int fd, void *user);
    void *user;
    int flags;
    pthread_t threads[SW_FAKE_CONNECTIONS_MAX]; /* PARALLEL: of the connections so far */
    int fds[SW_FAKE_CONNECTIONS_MAX];
    int connections;
};

/* Starts the thread, on a Unix socket; aborts the test if that fails. `user` is borrowed until
 * stop. */
void sw_fake_start(struct sw_fake_server *server, void (*script)(int fd, void *user), void *user);
/* The same with flags: SW_FAKE_TCP (a port of the loopback interface), SW_FAKE_PARALLEL. */
void sw_fake_start_with(struct sw_fake_server *server, void (*script)(int fd, void *user),
                        void *user, int flags);
/* Waits until the running scripts return (close the client first), and ends the threads. */
void sw_fake_stop(struct sw_fake_server *server);

/* Reads one frame; its body, if not longer than `room`, into `body`. */
bool sw_fake_read(int fd, struct sw_request *request, uint8_t *body, size_t room);
/* Writes all bytes. */
bool sw_fake_write(int fd, const void *bytes, size_t size);
/* Writes a frame: head, then body_bytes of body. */
bool sw_fake_reply(int fd, const struct sw_reply *reply, const uint8_t *body, size_t body_bytes);
/* Reads HELLO and answers with these facts. */
bool sw_fake_hello(int fd, uint32_t key_bytes, uint32_t value_bytes, uint32_t ops_max,
                   uint32_t in_flight_max);
/* An OK reply that fits the request, without its body. */
struct sw_reply sw_fake_ok(const struct sw_request *request);

/* A table that tells the truth: a script with a struct sw_fake_table as `user`, for any number of
 * connections at once. Keys are found by linear probing in `slots` (a power of two, at most half
 * used). */
struct sw_fake_slot {
    uint64_t key, value;
    bool used, present;
};
struct sw_fake_table {
    uint32_t key_bytes, value_bytes, ops_max, in_flight_max;
    uint64_t occupied_max; /* 0: no limit */
    uint32_t
        reply_batch; /* answer this many requests at once, the last one first; 0: as they come */
    bool is_older;   /* it does not know that a request may decline the found bitmap */
    uint64_t slots_count;
    struct sw_fake_slot *slots;
    uint64_t occupied;
    uint64_t frames;         /* data frames applied */
    uint32_t last_operation; /* of the last of them */
    pthread_mutex_t mutex;
};
void sw_fake_table_init(struct sw_fake_table *table, uint32_t key_bytes, uint32_t value_bytes,
                        uint64_t slots_count);
void sw_fake_table_fini(struct sw_fake_table *table);
void sw_fake_table_script(int fd, void *table);
/* Carries out an operation on one key, by the oracle. Returns false if it left the key as it was
 * because the value would overflow. */
bool sw_fake_apply(uint32_t operation, bool *present, uint64_t *value, uint64_t operand,
                   uint64_t mask);
bool sw_fake_table_get(const struct sw_fake_table *table, uint64_t key, uint64_t *value);

#endif
