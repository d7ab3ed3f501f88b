/* SPDX-License-Identifier: MIT
 *
 * ha.h - this server as a member of a shard: one primary, which etcd knows of, and replicas that
 * take over by themselves.
 *
 * One thread has a libuv loop of its own. It asks etcd and the other members, and orders
 * replication to follow, to hold or to become primary. The loops of clients never wait for it: they
 * read a lease and a flag (server/repl/state.h).
 *
 * Threads: any, but for create, start, stop and destroy.
 */
#ifndef SHERWOOD_SERVER_HA_HA_H
#define SHERWOOD_SERVER_HA_HA_H

#include "server/ha/facts.h"
#include "server/ha/shard.h"
#include "server/repl/repl.h"

struct sw_ha;

/* `port`: of the listener, where the options say 0. Returns 0 and NULL in *out where --ha is empty;
 * -1 with a sentence logged. Borrows everything. */
int sw_ha_create(const struct sw_config *config, struct sw_repl *repl, struct sw_ha **out);
int sw_ha_start(struct sw_ha *ha, uint16_t port);
/* Hands over, if this is a primary and another member has everything soon. NULL is allowed. */
void sw_ha_leave(struct sw_ha *ha);
void sw_ha_stop(struct sw_ha *ha);
void sw_ha_destroy(struct sw_ha *ha);

/* The shard of --ha; "" where there is none, or the option is wrong. */
void sw_ha_shard(const struct sw_config *config, char name[SW_HA_NAME_BYTES]);
/* Before start: `elected` is called on the thread of the shard when this member was elected. `ha`
 * may be NULL in this and the next one. */
void sw_ha_tell(struct sw_ha *ha, void (*elected)(void *context), void *context);
/* Is this member the primary, as far as it knows? Then no other one is while this key of etcd has
 * that revision. */
bool sw_ha_fence(struct sw_ha *ha, char *key, size_t bytes, uint64_t *revision);

#define SW_HA_LINE_BYTES 256
/* HA POLL: a member stands for the term behind this one. Writes the answer: a line of RESP. */
void sw_ha_answer_poll(struct sw_ha *ha, const char *shard, uint64_t term,
                       char line[SW_HA_LINE_BYTES]);
/* HA LOOK: etcd has news. */
void sw_ha_look(struct sw_ha *ha);
/* HA SWITCH, HA FORGET: of a primary. Return NULL, and it is begun; or an error line. */
const char *sw_ha_switch(struct sw_ha *ha);
const char *sw_ha_forget(struct sw_ha *ha, const char *name);

#define SW_HA_TEXT_BYTES 1536
/* HA ADOPT: what is lost if this member is made primary, in words; and with its last write, as the
 * text says it, that is begun. Return NULL, or an error line. */
const char *sw_ha_show_adoption(struct sw_ha *ha, char text[SW_HA_TEXT_BYTES]);
const char *sw_ha_adopt(struct sw_ha *ha, uint64_t sequence);

/* NULL: there is none. */
void sw_ha_facts(struct sw_ha *ha, struct sw_ha_facts *facts);

#endif
