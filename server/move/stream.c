/* SPDX-License-Identifier: MIT
 *
 * stream.c - encodes and decodes messages between source and target.
 */
#include "server/move/stream.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/check.h"
#include "proto/decimal.h"

#define MAGIC 0x31564d53U /* "SMV1" */
#define HEAD_WORDS (SW_MOVE_HEAD_BYTES / 8)

static bool read_id(char id[SW_TOPOLOGY_ID + 1], const uint8_t *word, uint32_t size)
{
    if (size != SW_TOPOLOGY_ID) {
        return false;
    }
    memcpy(id, word, size);
    id[size] = '\0';
    return sw_topology_is_id(id);
}

bool sw_move_hello_parse(struct sw_move_hello *hello, const uint8_t *const *words,
                         const uint32_t *sizes)
{
    uint64_t *const numbers[SW_MOVE_HELLO_WORDS] = {&hello->version,
                                                    &hello->attempt,
                                                    NULL,
                                                    NULL,
                                                    &hello->epoch,
                                                    &hello->key_bytes,
                                                    &hello->value_bytes,
                                                    &hello->value_format,
                                                    &hello->message_ops_max,
                                                    &hello->expires,
                                                    NULL};
    memset(hello, 0, sizeof(*hello));
    for (int i = 0; i < SW_MOVE_HELLO_WORDS; i++) {
        if (numbers[i] != NULL && !sw_decimal_parse(words[i], sizes[i], UINT64_MAX, numbers[i])) {
            return false;
        }
    }
    return hello->message_ops_max > 0 && read_id(hello->target, words[2], sizes[2]) &&
           read_id(hello->source, words[3], sizes[3]) &&
           sw_slot_set_parse(&hello->slots, (const char *)words[10], sizes[10]);
}

char *sw_move_hello_print(const struct sw_move_hello *hello)
{
    const uint64_t numbers[] = {hello->version,         hello->attempt,     hello->epoch,
                                hello->key_bytes,       hello->value_bytes, hello->value_format,
                                hello->message_ops_max, hello->expires};
    char digits[8][24];
    char *slots = sw_slot_set_print(&hello->slots), *text = NULL;
    for (size_t i = 0; i < 8; i++) {
        snprintf(digits[i], sizeof(digits[i]), "%" PRIu64, numbers[i]);
    }
    if (slots == NULL) {
        return NULL;
    }
    const char *const words[1 + SW_MOVE_HELLO_WORDS] = {
        "EXPORTSLOTS", digits[0], digits[1], hello->target, hello->source, digits[2],
        digits[3],     digits[4], digits[5], digits[6],     digits[7],     slots};
    size_t room = 32, size;
    for (size_t i = 0; i < 1 + SW_MOVE_HELLO_WORDS; i++) {
        room += strlen(words[i]) + 32;
    }
    text = malloc(room);
    if (text != NULL) {
        size = (size_t)snprintf(text, room, "*%d\r\n", 1 + SW_MOVE_HELLO_WORDS);
        for (size_t i = 0; i < 1 + SW_MOVE_HELLO_WORDS; i++) {
            size += (size_t)snprintf(text + size, room - size, "$%zu\r\n%s\r\n", strlen(words[i]),
                                     words[i]);
        }
    }
    free(slots);
    return text;
}

void sw_move_head_write(const struct sw_move_head *head, uint64_t salt,
                        uint8_t out[SW_MOVE_HEAD_BYTES])
{
    const uint64_t first = MAGIC | (uint64_t)head->kind << 32 | (uint64_t)head->operation << 40 |
                           (uint64_t)head->flags << 48;
    uint64_t words[HEAD_WORDS] = {
        htole64(first),          htole64(head->count),   htole64(head->from),
        htole64(head->sequence), htole64(head->entries), htole64(head->sums[0]),
        htole64(head->sums[1]),  htole64(head->epoch),   htole64(head->columns_check)};
    words[HEAD_WORDS - 1] = htole64(sw_check64(words, sizeof(words) - 8, salt));
    memcpy(out, words, sizeof(words));
}

bool sw_move_head_read(struct sw_move_head *head, uint64_t salt,
                       const uint8_t bytes[SW_MOVE_HEAD_BYTES])
{
    uint64_t words[HEAD_WORDS];
    memcpy(words, bytes, sizeof(words));
    if (le64toh(words[HEAD_WORDS - 1]) != sw_check64(words, sizeof(words) - 8, salt)) {
        return false;
    }
    for (size_t i = 0; i < HEAD_WORDS; i++) {
        words[i] = le64toh(words[i]);
    }
    *head = (struct sw_move_head){.kind = (enum sw_move_kind)(words[0] >> 32 & 0xff),
                                  .operation = (uint8_t)(words[0] >> 40),
                                  .flags = (uint16_t)(words[0] >> 48),
                                  .count = (uint32_t)words[1],
                                  .from = words[2],
                                  .sequence = words[3],
                                  .entries = words[4],
                                  .sums = {words[5], words[6]},
                                  .epoch = words[7],
                                  .columns_check = words[8]};
    return (uint32_t)words[0] == MAGIC && words[1] <= UINT32_MAX && head->kind >= SW_MOVE_ENTRIES &&
           head->kind <= SW_MOVE_FINAL;
}
