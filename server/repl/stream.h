/* SPDX-License-Identifier: MIT
 *
 * stream.h - the protocol between primary and replica.
 *
 * The replica connects to the port of clients, logs in by AUTH, and sends the command
 *
 *     REPLICATE version history sequence key_bytes value_bytes value_format engine batch_ops_max
 *               [shard node incarnation closed]
 *
 * The word value_format is a sum: the format, SW_REPL_IDS if values are ids, SW_REPL_TYPE times the
 * type of rows
 * (proto/value_type.h), and SW_REPL_TEXT times the bytes of a row that hold its key string. The
 * word engine is a sum: the engine, and SW_REPL_FORM times the form of keys (proto/key_form.h).
 * Earlier versions neither write nor compare the form. The replica then waits for one line:
 *
 *     +RESUME history sequence salt [term start]    records after `sequence` follow
 *     +SNAPSHOT history sequence salt [term start]  a snapshot follows, then the records after it;
 *                                      `sequence` is the replica's if the primary has all of the
 *                                      replica's writes, else 0
 *     -ERR text                        the primary refuses the replica
 *
 * A snapshot is the file of server/log/README.md: header, blocks, footer. Its header has
 * about the number of entries: a replica chooses the slots of its table for them. Older primaries
 * send 0. To a replica of version 1 the primary sends a snapshot of its only table. To
 * others it sends a record CATALOG with the tables and the last number C. The records after C
 * follow, and among them a snapshot of each table, ascending by id, and then a record MARK with a
 * number R. A table that is dropped meanwhile may lack its snapshot, or a part of it. The image of
 * a table has its writes up to the number in the snapshot's header, which may be above C. So the
 * replica skips the records of the table up to that number, and the tables are at one position when
 * it has applied R.
 *
 * Records are those of the log, with `salt` as the seed of their checksums and
 * consecutive sequences. The primary sends a MARK with its last write at least every second. The
 * replica sends acknowledgements of 32 bytes: the last write that it has applied, and a checksum
 * with the same seed.
 *
 * Members of a shard (server/ha) add the words in brackets: the term of the connection, and the
 * sequence of the term's first record. Their acknowledgements also contain the replica's
 * incarnation.
 *
 * Pure functions, for any thread.
 */
#ifndef SHERWOOD_SERVER_REPL_STREAM_H
#define SHERWOOD_SERVER_REPL_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/repl/state.h"

#define SW_REPL_VERSION 2U   /* of this program; it also serves replicas of version 1 */
#define SW_REPL_ONE_TABLE 1U /* the version of replicas that have one table */
#define SW_REPL_LINE_BYTES 512
#define SW_REPL_ACK_BYTES 32
#define SW_REPL_NAME_BYTES 64

/* The words of REPLICATE. */
struct sw_repl_hello {
    uint64_t version;
    char history[SW_HISTORY_ID_BYTES];
    uint64_t sequence;
    uint64_t key_bytes, value_bytes, value_format, engine, batch_ops_max;
    char shard[SW_REPL_NAME_BYTES]; /* empty: not a member of a shard; the rest has no meaning */
    char node[SW_REPL_NAME_BYTES];
    uint64_t incarnation;
    uint64_t closed; /* the replica takes no record of this term or an earlier one */
};
#define SW_REPL_HELLO_WORDS 8
#define SW_REPL_FORM 16U
#define SW_REPL_IDS 8U
#define SW_REPL_TYPE 16U
#define SW_REPL_TEXT 4096U
#define SW_REPL_MEMBER_WORDS 12

/* Parses the 8 or 12 arguments of the command. Returns false if one is wrong. */
bool sw_repl_hello_parse(struct sw_repl_hello *hello, const uint8_t *const *words,
                         const uint32_t *sizes, unsigned count);
/* Writes the command, as RESP. Returns its size. */
size_t sw_repl_hello_write(const struct sw_repl_hello *hello, char *out, size_t bytes);
/* Compares a replica's words with the primary's. Returns false and an error with both values if
 * they differ. */
bool sw_repl_hello_fits(const struct sw_repl_hello *replica, const struct sw_repl_hello *primary,
                        char *reason, size_t reason_bytes);

struct sw_repl_welcome {
    bool resumes;
    char history[SW_HISTORY_ID_BYTES];
    uint64_t sequence;
    uint64_t salt;
    uint64_t term; /* 0: the primary is not a member of a shard */
    uint64_t start;
};
size_t sw_repl_welcome_write(const struct sw_repl_welcome *welcome, char *out, size_t bytes);
/* Parses the line, without its line end. Returns false if it is not a welcome. */
bool sw_repl_welcome_parse(struct sw_repl_welcome *welcome, const char *line);

void sw_repl_ack_write(uint64_t applied, uint64_t incarnation, uint64_t salt,
                       uint8_t out[SW_REPL_ACK_BYTES]);
bool sw_repl_ack_parse(const uint8_t bytes[SW_REPL_ACK_BYTES], uint64_t salt, uint64_t *applied,
                       uint64_t *incarnation);

#endif
