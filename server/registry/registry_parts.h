/* SPDX-License-Identifier: MIT
 *
 * registry_parts.h - the thread of a topology in etcd. registry.c calls write.c, and write.c calls
 * read.c.
 */
#ifndef SHERWOOD_SERVER_REGISTRY_REGISTRY_PARTS_H
#define SHERWOOD_SERVER_REGISTRY_REGISTRY_PARTS_H

#include <pthread.h>
#include <uv.h>

#include "server/etcd/etcd.h"
#include "server/registry/key.h"
#include "server/registry/registry.h"

#define SW_REGISTRY_QUEUE_MAX 8     /* most queued writes */
#define SW_REGISTRY_OUTCOMES_MAX 64 /* outcomes that are kept */
#define SW_REGISTRY_QUEUED_NS 5000000000ULL

struct sw_registry_queued {
    struct sw_registry_queued *next;
    uint64_t number, until_ns;
    bool has_epoch;
    uint64_t only_if;
    char *text;
    size_t size;
};

struct sw_registry {
    const struct sw_config *config;
    struct sw_cluster *cluster;
    struct sw_ha *ha;
    struct sw_registry_owner owner;
    struct sw_etcd_address address;
    struct sw_registry_key key;
    uv_loop_t uv;
    uv_thread_t thread;
    uv_async_t wake;
    uv_timer_t tick;
    bool started;
    struct sw_etcd *etcd;

    pthread_mutex_t lock; /* a thread that holds it locks no other mutex */
    bool stopping;
    struct sw_registry_queued *queue; /* the oldest first */
    unsigned queue_count;
    uint64_t last_number;
    struct sw_registry_done {
        uint64_t number, view; /* view 0: refused */
        char error[SW_CLUSTER_ERROR_BYTES];
    } done[SW_REGISTRY_OUTCOMES_MAX];
    struct sw_registry_status facts;
    uint64_t answered_ns; /* when etcd last answered */

    /* Only the thread uses the fields below. First, the state of its reads. */
    bool is_known;     /* the key was read, and no change can have been missed since then */
    uint64_t revision; /* of etcd, up to which the thread knows the key */
    uint64_t epoch;    /* of the key at `revision`; 0: the key is absent */
    uint64_t refused_epoch;
    bool is_reading;
    uint64_t asked_revision; /* `revision` when the read was sent */
    uint64_t next_read_ns;
    struct sw_etcd_stream *watch;
    bool is_watching; /* etcd has confirmed the watch */
    uint64_t watch_began_ns, next_watch_ns;
    uint64_t told_epoch; /* last epoch from the watch, or from before it began */
    uint64_t doubt_ns;   /* since when a read has a newer epoch than the watch; 0: it has not */
    uint64_t doubt_epoch;

    /* The current write. */
    struct sw_registry_write {
        bool is_under_way;
        bool is_waiting; /* the answer was lost: read both keys at `next_ns` */
        uint64_t number; /* 0: a claim after an election */
        uint64_t epoch;  /* of the topology that it replaces */
        uint64_t until_ns, next_ns;
        char *text;
        char mark[SW_REGISTRY_MARK_BYTES];
        struct sw_registry_fence fence;
    } write;
};

/* --- read.c --- */

uint64_t sw_registry_now(void);
/* Note that etcd did not answer, or that it did. */
void sw_registry_failed(struct sw_registry *registry, const char *error);
void sw_registry_answered(struct sw_registry *registry);
/* Takes the topology that was read from etcd. Frees its text. */
void sw_registry_saw(struct sw_registry *registry, struct sw_registry_held *held);
void sw_registry_tick_read(struct sw_registry *registry, uint64_t now);

/* --- write.c --- */

/* Begins the next write, or continues the current one. */
void sw_registry_tick_write(struct sw_registry *registry, uint64_t now);
/* Frees the queued writes and the current write. Call it when the thread ends. */
void sw_registry_drop_writes(struct sw_registry *registry);

#endif
