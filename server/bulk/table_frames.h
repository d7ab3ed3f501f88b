/* SPDX-License-Identifier: MIT
 *
 * table_frames.h - TABLE, which changes the places of the server, and TABLES, which lists them.
 *
 * A change runs on a thread (tables/change_run.h), and its frame waits for it in bulk->waits.
 * Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_BULK_TABLE_FRAMES_H
#define SHERWOOD_SERVER_BULK_TABLE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"
#include "proto/resp.h"

struct sw_bulk_frame;
struct sw_conn;

/* Lists the words of a TABLE as arguments, which point into `words`. Returns how many there are. */
uint32_t sw_bulk_change_words(const struct sw_frame_words *words,
                              struct sw_resp_argument out[SW_FRAME_WORDS_MAX]);

/* Returns whether the header of a TABLE asks for a SAVE. */
bool sw_bulk_saves_table(const uint8_t *header, size_t header_bytes);

/* Reads the change in the header of a TABLE, whose frame starts next. Returns SW_REPLY_OK, or the
 * status of the refusal, with its sentence in `message`. */
enum sw_reply_status sw_bulk_note_change(struct sw_conn *conn, const uint8_t *header,
                                         size_t header_bytes, char *message, size_t message_bytes);
/* Starts the change that was noted, and lets the frame wait for it. */
void sw_bulk_start_change(struct sw_bulk_frame *frame);
/* Is the change of the frame over? Starts it when it gets its turn. */
bool sw_bulk_is_changed(struct sw_bulk_frame *frame);
/* Replies to a TABLE whose change is over. */
void sw_bulk_answer_change(struct sw_bulk_frame *frame);

/* Returns the number of tables in a reply to a TABLES that wants this number; 0: all. */
uint32_t sw_bulk_tables_count(uint32_t wanted);
/* Replies to TABLES: lists the tables that the user may use. */
void sw_bulk_start_tables(struct sw_bulk_frame *frame);

#endif
