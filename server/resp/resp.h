/* SPDX-License-Identifier: MIT
 *
 * resp.h - the Redis protocol: its state of a loop, and of each connection.
 *
 * Bytes are parsed into commands, and commands on keys add operations to a RESP batch. Replies are
 * sent in the order of the commands, when the batch is done. A table has two batches on a loop: one
 * is filled while the other is in flight. A third one is for reads, which pass these two while the
 * table is held for writes alone. Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_RESP_RESP_H
#define SHERWOOD_SERVER_RESP_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/resp.h"
#include "server/batch/batches.h"
#include "server/net/conn.h"
#include "server/observe/server_stats.h"
#include "server/observe/text.h"
#include "server/repl/last_write.h"
#include "server/resp/admit.h"
#include "server/resp/data.h"
#include "server/resp/key_string.h"
#include "server/resp/redirect.h"
#include "server/resp/replies.h"
#include "server/resp/rmw.h"
#include "server/resp/session.h"

struct sw_ha;
struct sw_mover;
struct sw_registry;
struct sw_repl;
struct sw_resp_memory;
struct sw_saver;

/* The functions and shared objects of the server that this protocol uses; see struct sw_loop_owner.
 */
struct sw_resp_owner {
    void *server; /* argument of the functions */
    void (*snapshot)(void *server, struct sw_server_stats *snapshot);
    void (*stop)(void *server, bool save, int fd); /* begins the shutdown; loop.h explains fd */
    struct sw_saver *saver;                        /* NULL: there is no data directory */
    struct sw_repl *repl;                          /* NULL: no replication */
    struct sw_ha *ha;                              /* NULL: it is no member of a shard */
    struct sw_registry *registry;                  /* NULL: the topology is not in etcd */
    struct sw_mover *mover;                        /* NULL: no cluster mode */
    struct sw_live *live;                          /* changes options; shared by all loops */
    struct sw_timings *timings;                    /* shared by all loops; NULL: nothing is timed */
    struct sw_tables **tables; /* the server's, set before the loops run; NULL: one table */
};

/* The budget for text replies in an iteration of the loop. Iterations are numbered from 1. */
struct sw_resp_text_share {
    uint64_t iteration; /* the last iteration with a text reply */
    uint64_t bytes;     /* bytes of the text replies in that iteration */
    uint64_t spent_in;  /* the last iteration in which the budget was used up; 0: none */
};

struct sw_resp {
    struct sw_net *net;
    struct sw_batches *batches;
    struct sw_resp *first; /* that of the loop's first seat; this one if it is the first */
    struct sw_resp_owner owner;

    struct sw_replies replies[2];
    struct sw_replies *filling; /* the one that is being filled */
    struct sw_replies *running; /* the one that is in flight; NULL: none */
    bool is_plain;              /* the next command on keys goes to `filling` without checks, which
                                   the first one of the batch has passed in this iteration */
    struct sw_resp_passing {
        struct sw_replies replies; /* reads of one operation that pass these batches */
        uint64_t number;           /* of this batch among those of the loop that pass, from 1 on */
        uint8_t op;                /* enum sw_op, of the rows of its commands */
        bool is_in_flight;
    } passing;               /* while the table is held for writes alone */
    uint64_t passing_begun;  /* of `first` alone: batches that passed, with those aside */
    struct sw_aside *aside;  /* owned; NULL: no reply has passed a batch yet */
    uint32_t asides;         /* replies that are aside */
    uint64_t aside_number;   /* as passing.number, of these */
    uint64_t batches_done;   /* batches that are done, since the start */
    struct sw_rmw rmw;       /* the read-modify-write command */
    struct sw_list monitors; /* of `first` alone: connections that MONITOR shows commands to */
    uint64_t conns;          /* connections whose state refers to this struct */
    struct sw_resp_memory *memory; /* of all batches of the loop; `first` owns it */
    struct sw_list gated; /* of `first` alone: connections whose replies wait for the log */

    struct sw_command_set unsupported; /* commands that the engine does not support */
    struct sw_command_set unable;      /* these, and those that this kind of keys rules out */
    struct sw_key_string keys;         /* how keys are written */
    sw_data_run *run_data;             /* for the kind of the table's values */
    struct sw_admin admin;
    struct sw_list waits;           /* commands that wait for a reader of the table: DIGEST */
    struct sw_list idle_waits;      /* of `first` alone: SAVE, WAIT, TABLE: waits without a table */
    struct sw_list passes;          /* commands whose entries are processed in portions */
    uint64_t random_state;          /* for RANDOMKEY */
    struct sw_resp_text_share text; /* of all connections */

    /* All tables of the loop share the following, which `first` owns. The buffers are for one
     * command at a time. */
    char *scratch;                      /* SW_SCRATCH_BYTES, in which replies are formatted */
    struct sw_heeded *heeded;           /* what keeps each command from running now */
    struct sw_resp_argument *arguments; /* arguments of the command that is parsed */
    uint8_t *unquoted;                  /* arguments of an inline command, without quotes */
    struct sw_resp_limits limits;
    struct sw_resp_limits limits_before_login;
};

/* Replies that the socket has not taken: one buffer is being written, and the other is filled. */
struct sw_resp_output {
    struct sw_text unsent[2];
    unsigned filling; /* index of the buffer that is being filled */
    struct sw_resp_held {
        struct sw_text text;
        uint64_t sequence; /* of the write that it waits for */
    } held[2];             /* replies that wait for the write-ahead log, oldest first */
    struct sw_list gated;  /* link in resp->first->gated, while there are held replies */
};

/* The state of a connection, in conn->protocol_state. */
struct sw_resp_conn {
    struct sw_resp *resp; /* of the table that its next command is about */
    uint32_t place;       /* the number of the place that it has selected */
    uint64_t view_number; /* of the view in which `resp` is the table of the place; 0: none */
    bool lacks_place;     /* no table lies in the place: commands on keys are refused */
    bool uses_no_table;   /* its command waits in resp->idle_waits */
    uint32_t scanned_place, scanned_table; /* where its last SCAN was; 0: no table */
    struct sw_conn *conn;                  /* the connection that this state is part of */
    struct sw_last_write last_write;
    struct sw_slots slots;    /* of its last command on keys, in cluster mode */
    uint64_t frozen_since_ms; /* start of a command's wait for a frozen slot; 0: none waits */
    bool frozen_refused;      /* a command has waited in vain: the next ones do not wait */
    struct sw_session session;
    struct sw_resp_output output;
    bool in_exec;           /* EXEC carries out the queued commands */
    bool control_in_flight; /* a control command is in flight: no other command is accepted */
    const char *last_error; /* to be sent behind the reply of the control command; NULL: none */
    struct sw_transaction *transaction; /* the open transaction; NULL: none */
    struct sw_watch_state {
        struct sw_watcher watcher;
        uint64_t view_number;        /* the topology that admitted its first keys */
        uint64_t fence;              /* of replication then */
        uint64_t until;              /* when the first of its keys expires; UINT64_MAX: none does */
        bool is_lost;                /* its keys' table has left the place: they count as changed */
    } watch;                         /* WATCH */
    struct sw_resp_monitor *monitor; /* MONITOR sends commands here; NULL: not a monitor */
    uint64_t passing_number;         /* of the last batch that passed with a request of it */
    uint32_t operations_wanted;      /* of the command that waits for room in the batch; or 0 */
    bool waits_for_growth;           /* its command begins no batch before the table has grown */
    size_t reparsed;                 /* bytes of the incomplete command that were parsed in vain */
    struct sw_resp_text_share text;  /* of this connection */
};

static inline struct sw_resp_conn *sw_resp_of(struct sw_conn *conn)
{
    return (struct sw_resp_conn *)(void *)conn->protocol_state;
}
static inline const struct sw_resp_conn *sw_resp_of_const(const struct sw_conn *conn)
{
    return (const struct sw_resp_conn *)(const void *)conn->protocol_state;
}

extern const struct sw_protocol sw_resp_protocol;

/* Borrows `net`, `batches` and `first` until sw_resp_fini; `owner` is copied. `seed` starts the
 * random numbers. `first`: that of the loop's first seat, whose buffers this one shares; NULL: this
 * is the first. Returns 0, or -1 if there is no memory; sw_resp_fini may be called after either. */
int sw_resp_init(struct sw_resp *resp, struct sw_net *net, struct sw_batches *batches,
                 const struct sw_resp_owner *owner, uint64_t seed, struct sw_resp *first);
void sw_resp_fini(struct sw_resp *resp);

/* Are all requests of the connection that are in flight reads that pass the batches? */
static inline bool sw_resp_reads_pass(const struct sw_resp_conn *state)
{
    const struct sw_resp_passing *passing = &state->resp->passing;
    return passing->replies.pendings > 0 && state->passing_number == passing->number;
}

/* Do all requests of the connection that are in flight pass the batches? Then its next request
 * waits for them, unless it is another read that passes. */
static inline bool sw_resp_passes(const struct sw_resp_conn *state)
{
    const struct sw_resp *resp = state->resp;
    return sw_resp_reads_pass(state) ||
           (resp->asides > 0 && state->passing_number == resp->aside_number);
}

/* Submits the reads that pass, and the batch that is being filled, if they have pending replies and
 * those before them are not in flight. Writes the replies that are aside. Returns true if it did
 * one of these. */
bool sw_resp_submit(struct sw_resp *resp);

/* Is a batch in flight, is there one to submit, is a reply aside, or is a pass over the table under
 * way? */
static inline bool sw_resp_is_busy(const struct sw_resp *resp)
{
    return resp->running != NULL || resp->filling->pendings > 0 || resp->asides > 0 ||
           resp->passing.replies.pendings > 0 || !sw_list_is_empty(&resp->passes);
}

/* Returns the number of RESP batches that are done, in flight, or being filled, without those that
 * pass. */
static inline uint64_t sw_resp_batches_begun(const struct sw_resp *resp)
{
    return resp->batches_done + (resp->running != NULL) + (resp->filling->pendings > 0);
}

/* Asserts the invariants that hold between two events. */
void sw_resp_check(const struct sw_resp *resp);

#endif
