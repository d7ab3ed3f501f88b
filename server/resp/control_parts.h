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
#include "server/resp/command.h"

#define SW_CONTROL_PATTERN_BYTES 64
#define SW_CONTROL_ERROR_BYTES 400

struct sw_conn;
struct sw_resp;

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
    bool wrapped;         /* RANDOMKEY: the scan has reached the end of the table */
    uint8_t cursor_shift; /* SCAN: low bits that the cursors of clients lack */
    uint64_t given, next; /* SCAN: the client's cursor, and that of the reply */
    struct sw_list waits; /* SAVE, DIGEST, WAITAOF: link in resp->waits */
    bool (*is_over)(struct sw_control *control); /* of these: may the reply be made? */
    uint64_t save_number;                        /* SAVE: of the snapshot that it waits for */
    uint64_t sequence;                           /* WAITAOF: of the write that is to be durable */
    uint64_t deadline_ms;                        /* WAITAOF: by the loop's clock; 0: none */
    bool is_durable;                             /* WAITAOF: it is */
    uv_work_t work;                              /* DIGEST: by a thread of libuv */
    struct sw_digest digest;
    bool is_computed;    /* DIGEST: the thread has ended its work */
    struct sw_text keys; /* SCAN: keys of the reply, encoded */
    uint32_t keys_count; /* SCAN: number of keys of the reply */
    uint32_t pattern_bytes;
    uint8_t pattern[SW_CONTROL_PATTERN_BYTES];
    char error[SW_CONTROL_ERROR_BYTES]; /* SAVE, DIGEST: empty: it went well */
};

/* From now on the connection waits for the reply. */
void sw_control_begin(struct sw_control *control);
/* Sends the reply, and frees the command. */
void sw_control_finish(struct sw_control *control);

/* The rows of kind SAVER (control_waits.c). */
bool sw_control_run_save(struct sw_control *control, const struct sw_resp_command *arguments);
bool sw_control_run_digest(struct sw_control *control, const struct sw_resp_command *arguments);
bool sw_control_run_waitaof(struct sw_control *control, const struct sw_resp_command *arguments);

#endif
