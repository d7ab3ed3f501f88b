/* SPDX-License-Identifier: MIT
 *
 * ha.h - this server as a member of a shard: etcd names one primary, and a replica takes over by
 * itself if the primary fails.
 *
 * One thread runs a libuv loop of its own. It sends requests to etcd and to the other members, and
 * orders replication to follow, to hold or to become primary. The loops of clients never wait for
 * it: they read a lease and a flag (server/repl/state.h).
 *
 * Threads: any. Create, start, stop and destroy are the exceptions: only the owner calls them.
 */
#ifndef SHERWOOD_SERVER_HA_HA_H
#define SHERWOOD_SERVER_HA_HA_H

#include "server/ha/ha_status.h"
#include "server/ha/shard.h"
#include "server/repl/repl.h"

struct sw_ha;

/* `port`: the port of the listener that members connect to. Create returns 0 and sets *out to NULL
 * if --ha is empty. Both log an error and return -1 if they fail. Borrows all arguments. */
int sw_ha_create(const struct sw_config *config, struct sw_repl *repl, struct sw_ha **out);
int sw_ha_start(struct sw_ha *ha, uint16_t port);
/* If this member is primary, hands over to another member, and waits at most two seconds for that.
 * NULL is allowed. */
void sw_ha_leave(struct sw_ha *ha);
void sw_ha_stop(struct sw_ha *ha);
void sw_ha_destroy(struct sw_ha *ha);

/* Writes the name of the shard in --ha; "" if --ha is empty or wrong. */
void sw_ha_shard(const struct sw_config *config, char name[SW_HA_NAME_BYTES]);
/* Registers `elected`, which the thread of the shard calls when this member was elected. Call this
 * before start. `ha` may be NULL here and in sw_ha_fence. */
void sw_ha_on_elected(struct sw_ha *ha, void (*elected)(void *context), void *context);
/* Returns true if this member is the primary, as far as it knows. No other member is primary while
 * `key` in etcd has this revision. */
bool sw_ha_fence(struct sw_ha *ha, char *key, size_t bytes, uint64_t *revision);

#define SW_HA_LINE_BYTES 256
/* HA POLL: a member stands for the term after `term`. Writes the reply, a line of RESP. */
void sw_ha_answer_poll(struct sw_ha *ha, const char *shard, uint64_t term,
                       char line[SW_HA_LINE_BYTES]);
/* HA LOOK: the keys in etcd have changed; reads them. */
void sw_ha_reread(struct sw_ha *ha);
/* HA SWITCH, HA FORGET: only on a primary. Begin and return NULL, or return an error line. */
const char *sw_ha_switch(struct sw_ha *ha);
const char *sw_ha_forget(struct sw_ha *ha, const char *name);

#define SW_HA_TEXT_BYTES 1536
/* HA ADOPT: the first writes a text that describes what is lost if this member is made primary. The
 * second begins that; `sequence` is the member's last write, as in the text. Both return NULL, or
 * an error line. */
const char *sw_ha_show_adoption(struct sw_ha *ha, char text[SW_HA_TEXT_BYTES]);
const char *sw_ha_adopt(struct sw_ha *ha, uint64_t sequence);

/* `ha` may be NULL: there is no shard. */
void sw_ha_status(struct sw_ha *ha, struct sw_ha_status *facts);

#endif
