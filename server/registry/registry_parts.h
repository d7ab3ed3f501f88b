/* SPDX-License-Identifier: MIT
 *
 * registry_parts.h - the thread of a topology in etcd: registry.c calls write.c, that look.c.
 */
#ifndef SHERWOOD_SERVER_REGISTRY_REGISTRY_PARTS_H
#define SHERWOOD_SERVER_REGISTRY_REGISTRY_PARTS_H

#include <pthread.h>
#include <uv.h>

#include "server/etcd/etcd.h"
#include "server/registry/key.h"
#include "server/registry/registry.h"

#define SW_REGISTRY_ORDERS_MAX 8    /* that wait */
#define SW_REGISTRY_OUTCOMES_MAX 64 /* that are remembered */
#define SW_REGISTRY_ORDER_NS 5000000000ULL

struct sw_registry_wanted {
    struct sw_registry_wanted *next;
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
    struct sw_etcd_where where;
    struct sw_registry_key key;
    uv_loop_t uv;
    uv_thread_t thread;
    uv_async_t wake;
    uv_timer_t tick;
    bool started;
    struct sw_etcd *etcd;

    pthread_mutex_t lock; /* no other one is taken under it */
    bool stopping;
    struct sw_registry_wanted *orders; /* the oldest first */
    unsigned order_count;
    uint64_t last_order;
    struct sw_registry_done {
        uint64_t order, view; /* view 0: refused */
        char error[SW_CLUSTER_ERROR_BYTES];
    } done[SW_REGISTRY_OUTCOMES_MAX];
    struct sw_registry_facts facts;
    uint64_t answered_ns; /* when etcd last did */

    /* The thread's: what was seen. */
    bool is_known;     /* the key was read, and nothing can have been missed since then */
    uint64_t revision; /* of etcd, up to which the key is known */
    uint64_t epoch;    /* of the key then; 0: it is absent */
    uint64_t refused_epoch;
    bool is_reading;
    uint64_t asked_revision; /* what was known when the read was sent */
    uint64_t next_read_ns;
    struct sw_etcd_stream *watch;
    bool is_watching; /* etcd has said that the watch is there */
    uint64_t watch_began_ns, next_watch_ns;
    uint64_t told_epoch; /* by the watch, or before it began */
    uint64_t doubt_ns;   /* a read knew more than the watch had told: since then; 0: no */
    uint64_t doubt_epoch;

    /* .. and what is written. */
    struct sw_registry_write {
        bool is_under_way;
        bool is_waiting; /* for `next_ns`, to look again */
        uint64_t order;  /* 0: a claim */
        uint64_t epoch;  /* that it replaces */
        uint64_t until_ns, next_ns;
        char *text;
        char mark[SW_REGISTRY_MARK_BYTES];
        struct sw_registry_fence fence;
    } write;
};

/* --- look.c --- */

uint64_t sw_registry_now(void);
/* etcd did not answer; it did. */
void sw_registry_failed(struct sw_registry *registry, const char *error);
void sw_registry_answered(struct sw_registry *registry);
/* This is what etcd holds: takes it. Frees its text. */
void sw_registry_saw(struct sw_registry *registry, struct sw_registry_held *held);
void sw_registry_tick_look(struct sw_registry *registry, uint64_t now);

/* --- write.c --- */

/* Begins what is to be written, and goes on with it. */
void sw_registry_tick_write(struct sw_registry *registry, uint64_t now);
/* The thread ends: frees what is under way. */
void sw_registry_drop_writes(struct sw_registry *registry);

#endif
