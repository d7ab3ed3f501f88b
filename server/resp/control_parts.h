/* SPDX-License-Identifier: MIT
 *
 * control_parts.h - a command of kind CONTROL that is being carried out: what control.c and
 * control_waits.c share. Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_RESP_CONTROL_PARTS_H
#define SHERWOOD_SERVER_RESP_CONTROL_PARTS_H

#include <uv.h>

#include "server/batch/batches.h"
#include "server/observe/text.h"
#include "server/repl/digest.h"
#include "server/repl/last_write.h"
#include "server/resp/command.h"

/* Longest pattern: room for each byte of the longest key, escaped, and more. */
#define SW_CONTROL_PATTERN_BYTES 4096
#define SW_CONTROL_ERROR_BYTES 400

struct sw_change_run;
struct sw_conn;
struct sw_control;
struct sw_resp;

/* A batch whose entries are processed in portions (control_pass.c). */
struct sw_control_pass {
    uint32_t next, entries;                                /* of the batch: from 0 */
    bool (*visit)(struct sw_control *control, uint32_t i); /* returns false to skip the others */
    void (*then)(struct sw_control *control);              /* called after the last entry */
};

struct sw_control {
    struct sw_flight flight;
    struct sw_conn *conn;
    struct sw_resp *resp;
    const struct sw_command *command;
    void *memory; /* in the arena: the scanned keys, then their values */
    size_t memory_bytes;
    uint64_t started_ns;
    bool has_pattern;     /* SCAN MATCH: `pattern` is to be matched */
    bool none;            /* SCAN TYPE of anything but string: no key matches */
    uint8_t passes;       /* RANDOMKEY: how often it has reached the end of the table */
    uint32_t drawn;       /* RANDOMKEY: the entry that it draws, counted from here on */
    uint64_t passed;      /* RANDOMKEY: entries since the beginning of this pass */
    uint8_t cursor_shift; /* SCAN: low bits that the cursors of clients lack */
    uint64_t given, next; /* SCAN: the client's cursor, and that of the reply */
    void (*put)(const struct sw_control *control, struct sw_text *text); /* appends the reply */
    struct sw_list waits; /* of those that wait: link in resp->waits, or in resp->passes */
    struct sw_control_pass pass;
    bool follows;                                /* SCAN, KEYS: another batch must follow */
    bool (*is_over)(struct sw_control *control); /* of commands that wait: can the reply be made? */
    uint64_t save_number;      /* number of the snapshot, promotion or pause that it waits for */
    unsigned wanted, reached;  /* WAIT: replicas */
    uint64_t sequence;         /* WAIT: of the write that the replicas must have */
    struct sw_last_write last; /* WAITAOF: the write that must be durable */
    uint64_t deadline_ms;      /* WAITAOF, WAIT, PAUSE: by the loop's clock; 0: none */
    bool is_durable;           /* WAITAOF: the write is durable */
    uv_work_t work;            /* DIGEST: by a thread of libuv */
    struct sw_digest digest;
    bool says_ok;        /* SAVE, REPLICAOF, PAUSE: the reply, unless there is an error */
    bool is_computed;    /* DIGEST: the thread has ended its work */
    uint64_t closures;   /* DIGEST: sw_repl_closures when it began */
    struct sw_text keys; /* SCAN: keys of the reply, encoded */
    uint32_t keys_count; /* SCAN: number of keys of the reply */
    int slot;            /* CLUSTER, DBSIZE: the slot to count; negative: all slots of this node */
    uint64_t keys_counted;     /* CLUSTER, DBSIZE: the keys counted so far */
    uint64_t keys_foreign;     /* DBSIZE: keys of other nodes */
    uint64_t keys_wanted;      /* GETKEYSINSLOT: most keys of the reply; others: 0 */
    uint64_t view_number;      /* that SETTOPOLOGY waits for, or that a count began with */
    uint64_t queued_number;    /* SETTOPOLOGY: the write of the registry that it waits for */
    bool is_text;              /* CLUSTER: `keys` is the whole reply */
    bool is_list;              /* GETKEYSINSLOT */
    bool counts_foreign;       /* COUNTFOREIGN */
    bool is_taken;             /* SETTOPOLOGY */
    struct sw_change_run *run; /* TABLE, SWAPDB: owned by the command; NULL: none */
    uint32_t last_table;       /* FLUSHALL: tables with ids up to this one are done */
    uint32_t pattern_bytes;
    uint8_t *pattern;                   /* behind this struct, in its allocation */
    char error[SW_CONTROL_ERROR_BYTES]; /* SAVE, DIGEST: empty: it went well */
};

/* From now on the connection waits for the reply. */
void sw_control_begin(struct sw_control *control);
/* Sends the reply, and frees the command. */
void sw_control_finish(struct sw_control *control);

/* Makes a command with room for a pattern of `pattern_bytes`, or replies with an error and returns
 * NULL. */
struct sw_control *sw_control_create(struct sw_conn *conn, const struct sw_command *command,
                                     uint32_t pattern_bytes);
/* Prepares the batch of a scan. Returns false, with `control` freed and the connection stalled, if
 * there is no arena memory now. */
bool sw_control_prepare_scan(struct sw_control *control, uint64_t cursor, uint32_t count);
void sw_control_submit(struct sw_control *control);
/* Entry i of the scan: its key, and the text of that, which `room` may hold. */
uint64_t sw_control_key_at(const struct sw_control *control, uint32_t i);
const char *sw_control_text_at(const struct sw_control *control, uint32_t i, char *room,
                               size_t *size);
/* Appends the key of entry i to `text`, or to `keys`, and counts it. */
void sw_control_put_key_to(const struct sw_control *control, struct sw_text *text, uint32_t i);
void sw_control_put_key(struct sw_control *control, uint32_t i);
/* Calls `visit` for the first `entries` entries of the completed batch, in portions, then `then`.
 */
void sw_control_visit(struct sw_control *control, uint32_t entries,
                      bool (*visit)(struct sw_control *control, uint32_t i),
                      void (*then)(struct sw_control *control));
/* Returns true if this node may show the key. Outside of a cluster it always may. */
bool sw_control_is_mine(const struct sw_control *control, uint64_t key);
/* Removes the keys of other nodes from the result of the batch. */
void sw_control_keep_mine(struct sw_control *control);
/* Most keys of a reply: with its cursor and array heads it must not exceed output-bytes-max, nor
 * the text of a batch. */
uint32_t sw_control_scan_count_max(const struct sw_config *config);
/* Returns `count`, or fewer keys if comparing `count` keys with the pattern could take more than a
 * few milliseconds; at least 1. */
uint32_t sw_control_match_count(const struct sw_control *control, uint32_t count);
/* Copies the pattern of SCAN or KEYS. Returns false, with an error in `control->error`, if it is
 * too long, or if no key can match it because keys are shown as integers. */
bool sw_control_take_pattern(struct sw_control *control, const struct sw_resp_argument *pattern);

/* sw_control_must_count: must DBSIZE count the keys? sw_control_is_pause: is this CLIENT PAUSE? */
bool sw_control_must_count(struct sw_conn *conn);
bool sw_control_is_pause(const struct sw_resp_command *arguments);
/* Run these two commands, as the functions of kind SAVER below do. */
bool sw_control_count_keys(struct sw_control *control);
bool sw_control_run_pause(struct sw_control *control, const struct sw_resp_command *arguments);
bool sw_control_run_cluster(struct sw_control *control, const struct sw_resp_command *arguments);

/* Replies with an error, and frees a command that did not begin. Returns true: it is done. */
bool sw_control_refuse(struct sw_control *control, const char *error);
/* Lets the command wait until is_over returns true. Then its reply is made. */
void sw_control_wait_until(struct sw_control *control, bool (*is_over)(struct sw_control *control));
/* The same for a command that CLIENT UNBLOCK may end. */
void sw_control_wait_unblocked(struct sw_control *control,
                               bool (*is_over)(struct sw_control *control));
bool sw_control_is_gone(const struct sw_control *control);

/* Moves the command to the next table (control->last_table). Returns false if there is none. A swap
 * changes no id, so the command meets each table once. */
bool sw_control_next_table(struct sw_control *control);

/* The functions of the rows of kind SAVER (control_waits.c, control_repl.c, control_table.c). */
bool sw_control_run_table(struct sw_control *control, const struct sw_resp_command *arguments);
bool sw_control_run_swapdb(struct sw_control *control, const struct sw_resp_command *arguments);
bool sw_control_run_save(struct sw_control *control, const struct sw_resp_command *arguments);
bool sw_control_run_digest(struct sw_control *control, const struct sw_resp_command *arguments);
bool sw_control_run_waitaof(struct sw_control *control, const struct sw_resp_command *arguments);
bool sw_control_run_wait(struct sw_control *control, const struct sw_resp_command *arguments);
bool sw_control_run_replicaof(struct sw_control *control, const struct sw_resp_command *arguments);

#endif
