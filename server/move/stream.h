/* SPDX-License-Identifier: MIT
 *
 * stream.h - what the source and the target of a move say to each other.
 *
 * The target connects to the source's port of clients, logs in by AUTH, and sends
 *
 *     EXPORTSLOTS version attempt target source epoch key_bytes value_bytes value_format
 *                 message_ops_max expires slots
 *
 * where value_format is the format, and SW_MOVE_TYPE times the type of rows (proto/value_type.h),
 * and `expires` is 1 if keys of the target's table may expire. The source answers "+EXPORT salt",
 * "-ERR a sentence", or "-NOFIT a sentence": another attempt would be of no use. Then come
 * messages: a head of 80 bytes, and columns of keys, operands, operations and times (8 bytes each,
 * as in a record of the log: server/log/README.md). Checks are XXH3-64 with the salt, which is
 * another one for each process, so nothing of an earlier one is taken.
 *
 *     ENTRIES    keys and values of the snapshot, and when they expire
 *     BEGIN      the snapshot is that of `sequence`, and whole
 *     WRITES     of the write `sequence`; those behind `from` and before it were of other slots.
 *                What is longer than a message follows in more of them, from that write to it
 *     BURIED     keys that this write removed before its operations, since their time had come;
 *                before FINAL, those that the source has not removed yet
 *     CLEAR      everything was removed by that write
 *     UP_TO      those behind `from`, up to `sequence`, were of other slots; answered by
 *                "+ACK sequence" once everything before it is carried out
 *     FINAL      the same, and the source serves the slots no more; entries, sums: the digest
 *
 * FINAL is answered by "+DONE n", and n bytes of the topology that the target has decided.
 */
#ifndef SHERWOOD_SERVER_MOVE_STREAM_H
#define SHERWOOD_SERVER_MOVE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cluster/slot_set.h"
#include "proto/cluster/topology.h"

#define SW_MOVE_VERSION 3U
#define SW_MOVE_TYPE 16U
#define SW_MOVE_HEAD_BYTES 80
#define SW_MOVE_LINE_BYTES 512
#define SW_MOVE_HELLO_WORDS 11

struct sw_move_hello {
    uint64_t version, attempt, epoch, key_bytes, value_bytes, value_format, message_ops_max,
        expires;
    char target[SW_TOPOLOGY_ID + 1], source[SW_TOPOLOGY_ID + 1];
    struct sw_slot_set slots;
};

/* Parses the words behind the name of the command. Returns false if one is wrong. */
bool sw_move_hello_parse(struct sw_move_hello *hello, const uint8_t *const *words,
                         const uint32_t *sizes);
/* The command as RESP, which the caller frees; NULL if there is no memory. */
char *sw_move_hello_print(const struct sw_move_hello *hello);

enum sw_move_kind {
    SW_MOVE_ENTRIES = 1,
    SW_MOVE_BEGIN,
    SW_MOVE_WRITES,
    SW_MOVE_BURIED,
    SW_MOVE_CLEAR,
    SW_MOVE_UP_TO,
    SW_MOVE_FINAL
};
#define SW_MOVE_HAS_OPERANDS 1U
#define SW_MOVE_HAS_OPERATIONS 2U
#define SW_MOVE_HAS_TIMES 4U

struct sw_move_head {
    enum sw_move_kind kind;
    uint8_t operation; /* of all, unless SW_MOVE_HAS_OPERATIONS */
    uint16_t flags;
    uint32_t count;
    uint64_t from, sequence;
    uint64_t entries, sums[2];
    uint64_t epoch;
    uint64_t columns_check;
};

void sw_move_head_write(const struct sw_move_head *head, uint64_t salt,
                        uint8_t out[SW_MOVE_HEAD_BYTES]);
/* Returns whether the check holds and the kind is known. */
bool sw_move_head_read(struct sw_move_head *head, uint64_t salt,
                       const uint8_t bytes[SW_MOVE_HEAD_BYTES]);

#endif
