/* SPDX-License-Identifier: MIT
 *
 * server_parts.h - the parts of the daemon. For server.c and server_show.c alone.
 */
#ifndef SHERWOOD_SERVER_SERVER_PARTS_H
#define SHERWOOD_SERVER_SERVER_PARTS_H

#include <time.h>

#include "server/access.h"
#include "server/ha/ha.h"
#include "server/log/saver.h"
#include "server/loop.h"
#include "server/move/move.h"
#include "server/net/listener.h"
#include "server/observe/http.h"
#include "server/region/memory.h"
#include "server/registry/registry.h"
#include "server/reload.h"
#include "server/server.h"
#include "server/tables/ledger.h"
#include "server/tables/sections.h"
#include "server/tables/tables.h"
#include "server/trace/tracer.h"
#include "table/device.h"
#include "table/info.h"
#include "table/sequencer.h"

struct sw_server {
    struct sw_config config; /* only `live` changes it, and only the live options */
    struct sw_live live;
    struct sw_reload reload;
    struct sw_gate *gate; /* of all writes */
    struct sw_timings timings;
    struct sw_table *table;             /* the one that it starts with, in place 0 */
    struct sw_sequencer sequencer;      /* numbers the writes of all tables */
    struct sw_ledger ledger;            /* of the memory of all tables */
    struct sw_account account;          /* of `table` */
    struct sw_device *device;           /* resources that all tables share */
    struct sw_tables *tables;           /* NULL: before the loops exist */
    struct sw_served_loop *first_loops; /* the seats of `table` */
    struct sw_table_sections sections;  /* of the configuration file, at the start */
    struct sw_table_stats retired;      /* counters of dropped tables; under the lock of `tables` */
    struct sw_watch watch;              /* belongs to the first loop's thread while it runs */
    struct sw_input_budget input_budget;
    struct sw_region_budget region_budget;
    struct sw_access access;
    struct sw_clients clients;
    struct sw_saver *saver; /* NULL: there is no data directory */
    struct sw_repl *repl;
    struct sw_ha *ha;             /* NULL: it is no member of a shard */
    struct sw_wal *wal;           /* NULL: writes are not logged */
    struct sw_gpu *gpu;           /* NULL: the table is in host memory */
    struct sw_cluster *cluster;   /* NULL: no cluster mode */
    struct sw_registry *registry; /* NULL: the topology, if there is one, is not in etcd */
    struct sw_mover *mover;       /* NULL: no cluster mode */
    struct sw_tracer *tracer;     /* NULL: nothing is traced */
    struct sw_loop *loops;
    uint32_t loop_count, loops_running; /* initialised; those whose thread has been started */
    struct sw_tls_credentials *tls_credentials; /* NULL: nobody connects by TLS */
    struct sw_listener *listener;
    struct sw_http *http;
    uint16_t port, http_port;
    bool has_activated; /* the service manager has passed listening sockets */
    int stopped_fd;     /* an eventfd, readable once a stop is requested */
    int asker_fds[16];  /* sockets of the clients that sent SHUTDOWN: the first asker_count */
    uint32_t
        asker_count; /* atomic: such clients; the server closes sockets beyond the array at once */
    bool ready;      /* atomic: started, and no stop is requested */
    bool failed;     /* atomic: the device was lost, or nothing could be loaded */
    bool unsaved;    /* atomic: SHUTDOWN NOSAVE */
    uint64_t started_ns;
    time_t started_at;
    char run_id[41];
};

#endif
