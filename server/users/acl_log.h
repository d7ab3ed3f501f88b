/* SPDX-License-Identifier: MIT
 *
 * acl_log.h - the last refusals, for ACL LOG: at most SW_ACL_LOG_MAX entries. An entry counts equal
 * refusals within a minute. Threads: any; the log has a lock of its own.
 */
#ifndef SHERWOOD_SERVER_USERS_ACL_LOG_H
#define SHERWOOD_SERVER_USERS_ACL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_ACL_LOG_MAX 128
#define SW_ACL_LOG_TEXT_BYTES 65
#define SW_ACL_LOG_CLIENT_BYTES 256

enum sw_acl_reason { SW_ACL_COMMAND, SW_ACL_KEY, SW_ACL_AUTH, SW_ACL_DATABASE };

struct sw_acl_entry {
    uint64_t count;
    uint64_t at_ms; /* of the last one, by the monotonic clock */
    enum sw_acl_reason reason;
    bool in_multi;                      /* a command of a transaction */
    char object[SW_ACL_LOG_TEXT_BYTES]; /* the command, key or table: texts are cut to fit */
    char user[SW_ACL_LOG_TEXT_BYTES];
    char client[SW_ACL_LOG_CLIENT_BYTES]; /* the connection, as in CLIENT LIST */
};

struct sw_acl_log;
struct sw_acl_log *sw_acl_log_create(void);
void sw_acl_log_destroy(struct sw_acl_log *log);

/* Adds an entry, or increments the count of an equal one. Ignores `count` of the argument. */
void sw_acl_log_add(struct sw_acl_log *log, const struct sw_acl_entry *entry);
/* Copies at most `max` of the newest entries, the newest first. Returns their number. */
size_t sw_acl_log_copy(struct sw_acl_log *log, struct sw_acl_entry *out, size_t max);
void sw_acl_log_reset(struct sw_acl_log *log);

#endif
