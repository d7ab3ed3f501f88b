/* SPDX-License-Identifier: MIT
 *
 * session.h - the settings of a RESP connection, and the commands of kind REPORT and SESSION.
 * Everything is called on the connection's loop.
 */
#ifndef SHERWOOD_SERVER_RESP_SESSION_H
#define SHERWOOD_SERVER_RESP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/resp.h"
#include "server/cluster/cluster.h"
#include "server/config/config.h"
#include "server/observe/server_stats.h"
#include "server/observe/text.h"
#include "server/resp/command.h"
#include "server/resp/key_string.h"
#include "server/users/users.h"

/* The value of redis_version in INFO and HELLO, which clients compare with the version of redis
 * that introduced a feature. The version of this server is SHERWOOD_VERSION. */
#define SW_REDIS_VERSION "7.4.0"

enum sw_session_reply_mode { SW_REPLY_ON, SW_REPLY_OFF, SW_REPLY_SKIP_NEXT };

struct sw_session {
    struct sw_conn
        *conn;  /* the connection, whose entry of the client list has the rest; borrowed */
    bool resp3; /* HELLO 3 */
    bool close_after_reply; /* QUIT: the connection is closed after the reply */
    bool shutdown_asked;    /* SHUTDOWN: the server is to be stopped */
    bool shutdown_unsaved;  /* SHUTDOWN NOSAVE */
    bool reads_replicas;    /* READONLY: in a cluster, replicas serve reads of this connection */
    bool handed_over;       /* REPLICATE, EXPORTSLOTS: another thread owns the socket now */
    uint8_t reply_mode;     /* CLIENT REPLY: enum sw_session_reply_mode */
};

void sw_session_init(struct sw_session *session, struct sw_conn *conn);
/* Chooses the version of RESP. */
void sw_session_set_resp3(struct sw_session *session, bool resp3);
/* Milliseconds of the monotonic clock, which is also the clock of the loops. */
uint64_t sw_session_now_ms(void);

struct sw_live;
struct sw_table;
struct sw_ha;
struct sw_ha_status;
struct sw_mover;
struct sw_repl;
struct sw_clients;
struct sw_timings;
struct sw_saver;

/* The parts of the server that commands of kind REPORT and SESSION use. Each loop fills in its own;
 * constant afterwards. */
struct sw_admin {
    const struct sw_config *config; /* constant, except the live options */
    struct sw_live *live;           /* changes it */
    struct sw_timings *timings;     /* for SLOWLOG and LATENCY; NULL: nothing is timed */
    void (*snapshot)(void *server, struct sw_server_stats *snapshot);
    void *server;
    const struct sw_command_set
        *unsupported; /* commands that the engine lacks, which are not listed */
    const char *engine;
    struct sw_key_string keys;  /* how keys are written */
    struct sw_clients *clients; /* connections of all loops, also of frames; NULL: none */
    struct sw_users *users;     /* who may do what */
    struct sw_table *table;     /* that these commands are about */
    struct sw_saver *saver;     /* NULL: there is no data directory */
    const struct sw_cluster_handle *cluster; /* of the loop */
    struct sw_repl *repl;                    /* NULL: no replication */
    struct sw_mover *mover;                  /* NULL: no cluster mode */
    struct sw_ha *ha;                        /* NULL: it is no member of a shard */
};

/* Carries out a command of kind REPORT or SESSION, whose arity has been checked. Changes `session`,
 * and appends exactly one reply, or none after CLIENT REPLY OFF or SKIP. */
void sw_admin_run(const struct sw_admin *admin, const struct sw_command *command,
                  const struct sw_resp_command *arguments, struct sw_session *session,
                  struct sw_text *reply);

/* sw_info_render appends the text of INFO with these sections, or with the default ones if `count`
 * is 0 (info.c). The other two append the fields of a shard and the section Replication
 * (info_repl.c). */
void sw_info_shard(const struct sw_ha_status *facts, struct sw_text *text);
void sw_info_replication(const struct sw_server_stats *snapshot, struct sw_text *text);
void sw_info_render(const struct sw_server_stats *snapshot, const struct sw_resp_argument *sections,
                    uint32_t count, struct sw_text *text);

#endif
