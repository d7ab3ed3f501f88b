/* SPDX-License-Identifier: MIT
 *
 * stream.h - what primary and replica say to each other.
 *
 * The replica connects to the port of clients, logs in by AUTH, and sends the command
 *
 *     REPLICATE version history sequence key_bytes value_bytes value_format engine batch_ops_max
 *               [shard node incarnation closed]
 *
 * where value_format is the format, and SW_REPL_TYPE times the type of rows (proto/value_type.h),
 * and SW_REPL_TEXT times the bytes of a row that are the text of its key; engine is the engine, and
 * SW_REPL_FORM times the told form of keys (proto/key_form.h), which earlier versions neither write
 * nor compare;
 * and nothing more before the line that answers it:
 *
 *     +RESUME history sequence salt [term start]    records behind the sequence follow
 *     +SNAPSHOT history sequence salt [term start]  a snapshot follows, then the records behind it;
 *                                      the sequence again if the primary has the replica's writes,
 *                                      too, or 0
 *     -ERR a sentence                  neither
 *
 * A snapshot is the file of server/log/README.md as it would lie on disk, but that the header does
 * not know the number of entries: header, blocks, footer. Records are those of the log, with `salt`
 * as the seed of their checks; each has the sequence that comes next. A MARK comes at least every
 * second, and tells the primary's last write. The replica sends acknowledgements of 32 bytes: what
 * it has carried out, with a check of the same seed. What is in brackets comes among the members of
 * a shard (server/ha): the term of everything on this connection, and the sequence of its first
 * record; and the replica's incarnation is in its acknowledgements, too.
 *
 * Pure functions, for any thread.
 */
#ifndef SHERWOOD_SERVER_REPL_STREAM_H
#define SHERWOOD_SERVER_REPL_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/repl/state.h"

#define SW_REPL_VERSION 1U
#define SW_REPL_LINE_BYTES 512
#define SW_REPL_ACK_BYTES 32
#define SW_REPL_NAME_BYTES 64

/* What a replica says of itself. */
struct sw_repl_hello {
    uint64_t version;
    char history[SW_HISTORY_ID_BYTES];
    uint64_t sequence;
    uint64_t key_bytes, value_bytes, value_format, engine, batch_ops_max;
    char shard[SW_REPL_NAME_BYTES]; /* empty: it is no member of one, and what follows is nothing */
    char node[SW_REPL_NAME_BYTES];
    uint64_t incarnation;
    uint64_t closed; /* it takes nothing of this term, or of one before */
};
#define SW_REPL_HELLO_WORDS 8
#define SW_REPL_FORM 16U
#define SW_REPL_TYPE 16U
#define SW_REPL_TEXT 4096U
#define SW_REPL_MEMBER_WORDS 12

/* Parses the words behind the name of the command: 8 or 12 texts of their sizes. Returns false if
 * one is wrong. */
bool sw_repl_hello_parse(struct sw_repl_hello *hello, const uint8_t *const *words,
                         const uint32_t *sizes, unsigned count);
/* Writes the command, as RESP. Returns its size. */
size_t sw_repl_hello_write(const struct sw_repl_hello *hello, char *out, size_t bytes);
/* Compares a replica's words with the primary's. Returns false with a sentence that says both. */
bool sw_repl_hello_fits(const struct sw_repl_hello *replica, const struct sw_repl_hello *primary,
                        char *reason, size_t reason_bytes);

struct sw_repl_welcome {
    bool resumes;
    char history[SW_HISTORY_ID_BYTES];
    uint64_t sequence;
    uint64_t salt;
    uint64_t term; /* 0: the primary is no member of a shard */
    uint64_t start;
};
size_t sw_repl_welcome_write(const struct sw_repl_welcome *welcome, char *out, size_t bytes);
/* Returns false if the line, without its end, is not one. */
bool sw_repl_welcome_parse(struct sw_repl_welcome *welcome, const char *line);

void sw_repl_ack_write(uint64_t applied, uint64_t incarnation, uint64_t salt,
                       uint8_t out[SW_REPL_ACK_BYTES]);
bool sw_repl_ack_parse(const uint8_t bytes[SW_REPL_ACK_BYTES], uint64_t salt, uint64_t *applied,
                       uint64_t *incarnation);

#endif
