/* SPDX-License-Identifier: MIT
 *
 * frame_table.h - the table that a frame is for.
 *
 * A frame names a place by its number. The loop finds the table in that place when the head of the
 * frame has arrived, to validate the request and to choose its memory, and again when the frame
 * starts: a SWAP or DROP may have changed the place while the body arrived. Invariant: a frame that
 * starts after the loop has adopted a view is for a table of that view.
 *
 * A frame points to its table only from its start until its reply, so an incomplete frame does not
 * keep a dropped table. Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_BULK_FRAME_TABLE_H
#define SHERWOOD_SERVER_BULK_FRAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"
#include "server/batch/batches.h"

struct sw_bulk;
struct sw_conn;
struct sw_bulk_frame;

/* A table as the frames of one loop use it. */
struct sw_bulk_table {
    struct sw_batches *batches;
    bool operations[SW_OPERATION_NUMBERS]; /* those that the engine supports */
};

/* Borrows the batches for as long as the table is used. */
void sw_bulk_table_init(struct sw_bulk_table *table, struct sw_batches *batches);

/* The table of a request. */
struct sw_bulk_target {
    struct sw_bulk_table *table; /* NULL: `status` says why */
    uint32_t id;                 /* of the table, in this process */
    enum sw_reply_status status; /* OK, NO_TABLE, LOADING or TABLE_CHANGED */
    uint64_t reshaped;           /* of its place (struct sw_place) */
};

/* Returns the table in the place that the request names. */
struct sw_bulk_target sw_bulk_find_table(const struct sw_bulk *bulk,
                                         const struct sw_request *request);
/* Did the place get a table of another shape after the connection began? The client may know only
 * the widths of before. */
bool sw_bulk_is_reshaped(struct sw_conn *conn, const struct sw_bulk_target *target);
/* Writes the sentence of a status that is not OK. */
void sw_bulk_explain_table(const struct sw_request *request, enum sw_reply_status status,
                           char *message, size_t message_bytes);
/* Sets request->table of a HELLO to the number of the place that its table_name names, or to a
 * number that no place has. Returns false if the header has no valid name. */
bool sw_bulk_name_table(const struct sw_bulk *bulk, const uint8_t *header, size_t header_bytes,
                        struct sw_request *request);

/* Returns the table of a request at the start of its frame. `table_id` and `body_bytes`: those of
 * its head. If another table lies in the place by now, checks the request, its memory and the
 * user's right again; the status is then TABLE_CHANGED if one of them does not fit. */
struct sw_bulk_target sw_bulk_find_again(const struct sw_bulk_frame *frame,
                                         const struct sw_request *request, uint32_t table_id,
                                         uint64_t body_bytes);
/* Sets frame->table at the start of the frame. If another table than `target` of its head lies in
 * its place, checks the request and its memory again. Returns false after a reply that refuses the
 * frame. */
bool sw_bulk_enter_table(struct sw_bulk_frame *frame);

/* Begins with the table of the loop's first seat in place 0. */
void sw_bulk_begin_tables(struct sw_bulk *bulk, struct sw_bulk_table *first);
/* Adopts the view of the tables that the loop has adopted. */
void sw_bulk_follow_tables(struct sw_bulk *bulk);
/* Returns the most bytes that the body of a frame may have, for the widest table. */
uint64_t sw_bulk_body_bytes_max(const struct sw_bulk *bulk);

/* Fills in the place of a HELLO that has a table_name. */
void sw_bulk_table_info(const struct sw_bulk_frame *frame, struct sw_server_info *info);

#endif
