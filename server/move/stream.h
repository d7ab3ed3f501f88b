/* SPDX-License-Identifier: MIT
 *
 * stream.h - the protocol between the source and the target of a move.
 *
 * The target connects to the source's port of clients, logs in by AUTH, and sends
 *
 *     EXPORTSLOTS version attempt target source epoch key_bytes value_bytes value_format
 *                 message_ops_max expires slots
 *
 * The word value_format is a sum: the format, and SW_MOVE_TYPE times the type of rows
 * (proto/value_type.h). `expires` is 1 if keys of the target's table may expire. The source replies
 * "+EXPORT salt", "-ERR text", or "-NOFIT text". After NOFIT every further attempt would also fail.
 * Then it sends messages: a head of 80 bytes, and columns of keys, operands, operations and times
 * (8 bytes each, as in a record of the log: server/log/README.md). Checks are XXH3-64 with the
 * salt. Each process has its own salt, so messages of an earlier process are refused.
 *
 *     ENTRIES    keys and values of the snapshot, and their expiry times
 *     BEGIN      end of the snapshot, whose last write is `sequence`
 *     WRITES     operations of the write `sequence`. The writes between `from` and it concern other
 *                slots. A write that is longer than a message continues in further ones, with
 *                `from` equal to `sequence`
 *     EXPIRED    expired keys that this write removed before its operations; before FINAL, expired
 *                keys that the source has not removed yet
 *     CLEAR      the write `sequence` removed all keys
 *     UP_TO      the writes after `from`, up to `sequence`, concern other slots. The target replies
 *                "+ACK sequence" once it has applied everything before
 *     FINAL      as UP_TO, and the source does not serve the slots any more; entries, sums: the
 *                digest
 *
 * The target replies to FINAL with "+DONE n", and n bytes of the topology that it has decided.
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

/* Parses the arguments of the command. Returns false if one is wrong. */
bool sw_move_hello_parse(struct sw_move_hello *hello, const uint8_t *const *words,
                         const uint32_t *sizes);
/* Returns the command as RESP, which the caller frees; NULL if memory is short. */
char *sw_move_hello_print(const struct sw_move_hello *hello);

enum sw_move_kind {
    SW_MOVE_ENTRIES = 1,
    SW_MOVE_BEGIN,
    SW_MOVE_WRITES,
    SW_MOVE_EXPIRED,
    SW_MOVE_CLEAR,
    SW_MOVE_UP_TO,
    SW_MOVE_FINAL
};
#define SW_MOVE_HAS_OPERANDS 1U
#define SW_MOVE_HAS_OPERATIONS 2U
#define SW_MOVE_HAS_TIMES 4U

struct sw_move_head {
    enum sw_move_kind kind;
    uint8_t operation; /* of all keys, unless SW_MOVE_HAS_OPERATIONS is set */
    uint16_t flags;
    uint32_t count;
    uint64_t from, sequence;
    uint64_t entries, sums[2];
    uint64_t epoch;
    uint64_t columns_check;
};

void sw_move_head_write(const struct sw_move_head *head, uint64_t salt,
                        uint8_t out[SW_MOVE_HEAD_BYTES]);
/* Parses a head. Returns false if its check is wrong or its kind is unknown. */
bool sw_move_head_read(struct sw_move_head *head, uint64_t salt,
                       const uint8_t bytes[SW_MOVE_HEAD_BYTES]);

#endif
