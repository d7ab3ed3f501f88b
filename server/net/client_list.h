/* SPDX-License-Identifier: MIT
 *
 * client_list.h - the list of the connections of all loops and both protocols, for CLIENT LIST,
 * KILL and UNBLOCK, and the state of CLIENT PAUSE.
 *
 * A connection enters when it is opened and leaves before its memory is freed. Only its loop writes
 * its entry. The loop writes texts under the lock when they change, and statistics at every sweep.
 * So other threads see statistics that are at most SW_SWEEP_MS old, and a request costs nothing.
 * Threads: any, except where a comment names the loop.
 */
#ifndef SHERWOOD_SERVER_NET_CLIENT_LIST_H
#define SHERWOOD_SERVER_NET_CLIENT_LIST_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "server/list.h"
#include "server/net/pause.h"
#include "server/users/users.h"

struct sw_conn;

#define SW_CLIENTS_ADDRESS_BYTES 64
#define SW_CLIENTS_NAME_BYTES 64

/* The statistics of a connection that change while it is open. */
struct sw_clients_stats {
    uint64_t active_ms;    /* when it last received something, by the monotonic clock */
    uint64_t input_bytes;  /* received and not consumed */
    uint64_t output_bytes; /* of replies that were not sent */
    uint64_t memory_bytes; /* of the connection and its buffers */
    uint64_t last_request; /* sw_clients_command or sw_clients_frame; 0: none */
    int64_t queued;        /* commands that wait for EXEC; -1: no transaction */
    uint64_t is_paused;    /* CLIENT PAUSE holds its next request back */
    uint64_t is_monitor;   /* MONITOR sends commands to it */
};

/* Whether a connection waits in a command that CLIENT UNBLOCK ends. */
enum sw_clients_wait {
    SW_CLIENTS_WAITS_NOT,
    SW_CLIENTS_WAITS,
    SW_CLIENTS_ENDED,    /* as if its time were over */
    SW_CLIENTS_UNBLOCKED /* with an error */
};

struct sw_clients_entry {
    struct sw_list link; /* of the client list */
    uint64_t id;
    uint64_t open_at_ms;                 /* by the monotonic clock */
    char peer[SW_CLIENTS_ADDRESS_BYTES]; /* constant after sw_clients_enter, as all fields above */
    char own[SW_CLIENTS_ADDRESS_BYTES];  /* the server's address */
    char user[SW_USER_NAME_BYTES];       /* under the lock, as the three below */
    char name[SW_CLIENTS_NAME_BYTES];    /* what the client calls itself */
    char library_name[SW_CLIENTS_NAME_BYTES];
    char library_version[SW_CLIENTS_NAME_BYTES];
    uint32_t place;                /* atomic: the number of the place that it has selected */
    uint8_t resp_version;          /* atomic; 0: it sends frames, or has sent nothing yet */
    bool kill;                     /* atomic: it is to be closed */
    uint8_t waits;                 /* atomic: enum sw_clients_wait */
    bool *kill_some;               /* atomic: its loop has connections to close */
    uv_async_t *wake;              /* its loop's handle. Borrowed */
    struct sw_clients_stats stats; /* atomic */
};

struct sw_clients {
    pthread_mutex_t lock;
    struct sw_list entries; /* in the order in which they entered */
    size_t count;
    struct sw_pause pause; /* has a lock of its own */
};

void sw_clients_init(struct sw_clients *clients);
/* To be called when every connection has left. */
void sw_clients_fini(struct sw_clients *clients);

void sw_clients_enter(struct sw_clients *clients, struct sw_clients_entry *entry);
/* Does nothing if the entry is not in the list. */
void sw_clients_leave(struct sw_clients *clients, struct sw_clients_entry *entry);

/* Returns true if a command selects this connection. Called under the lock, so it must call no
 * function of this file. */
typedef bool sw_clients_is_meant(void *context, const struct sw_clients_entry *entry);

/* Returns copies of the selected entries, which the caller frees; NULL if there is no memory. */
struct sw_clients_entry *sw_clients_copy(struct sw_clients *clients, sw_clients_is_meant *is_meant,
                                         void *context, size_t *count);
/* Copies the entry of a connection. Call it under the lock, or on the connection's loop. */
void sw_clients_copy_entry(const struct sw_clients_entry *from, struct sw_clients_entry *to);

/* Requests that the loops close the selected connections soon. Returns their number. */
size_t sw_clients_kill(struct sw_clients *clients, sw_clients_is_meant *is_meant, void *context);

/* Ends the wait of the connection with this id soon: as if its timeout had passed, or with an
 * error. Returns false if no connection has this id, or it does not wait. */
bool sw_clients_unblock(struct sw_clients *clients, uint64_t id, bool with_error);

/* The encoding of last_request: a RESP command's id, or an operation of a frame. */
#define SW_CLIENTS_FRAME (1ULL << 32)
static inline uint64_t sw_clients_command(uint32_t id)
{
    return (uint64_t)id + 1;
}
static inline uint64_t sw_clients_frame(uint32_t operation)
{
    return SW_CLIENTS_FRAME | operation;
}

/* The functions below run on the connection's loop, also if the server has no client list.
 *
 * sw_clients_publish writes the statistics and the user of the connection; the sweep calls it.
 * sw_clients_publish_user writes the user, after a login. sw_clients_set_text writes a text that is
 * shorter than its field of the entry. */
void sw_clients_publish(struct sw_conn *conn);
void sw_clients_publish_user(struct sw_conn *conn);
void sw_clients_set_text(struct sw_conn *conn, char *field, const uint8_t *text, size_t size);

#endif
