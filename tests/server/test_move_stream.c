/* SPDX-License-Identifier: MIT
 *
 * test_move_stream.c - the words of the two sides of a move: a reader accepts written words, and no
 * changed ones.
 */
#include "server/move/stream.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/random.h"

Test(move_stream, heads)
{
    struct random random = random_of(0);
    for (int round = 0; round < 200; round++) {
        uint8_t bytes[SW_MOVE_HEAD_BYTES];
        const uint64_t salt = random_next(&random);
        const struct sw_move_head head = {
            .kind = (enum sw_move_kind)(SW_MOVE_ENTRIES + random_next(&random) % 7),
            .operation = (uint8_t)random_next(&random),
            .flags = (uint16_t)random_next(&random),
            .count = (uint32_t)random_next(&random),
            .from = random_next(&random),
            .sequence = random_next(&random),
            .entries = random_next(&random),
            .sums = {random_next(&random), random_next(&random)},
            .epoch = random_next(&random),
            .columns_check = random_next(&random)};
        struct sw_move_head again;
        sw_move_head_write(&head, salt, bytes);
        cr_assert(sw_move_head_read(&again, salt, bytes));
        cr_assert(again.kind == head.kind && again.operation == head.operation &&
                  again.flags == head.flags && again.count == head.count &&
                  again.from == head.from && again.sequence == head.sequence &&
                  again.entries == head.entries && again.sums[0] == head.sums[0] &&
                  again.sums[1] == head.sums[1] && again.epoch == head.epoch &&
                  again.columns_check == head.columns_check);
        cr_assert_not(sw_move_head_read(&again, salt + 1, bytes), "of another process");
        bytes[random_next(&random) % sizeof(bytes)] ^= (uint8_t)(1U << random_next(&random) % 8);
        cr_assert_not(sw_move_head_read(&again, salt, bytes), "damaged");
    }
}

Test(move_stream, hello)
{
    struct sw_move_hello hello = {.version = SW_MOVE_VERSION,
                                  .attempt = UINT64_MAX,
                                  .epoch = 7,
                                  .key_bytes = 8,
                                  .value_bytes = 8,
                                  .message_ops_max = 100,
                                  .expires = 1};
    struct sw_move_hello again;
    const uint8_t *words[SW_MOVE_HELLO_WORDS];
    uint32_t sizes[SW_MOVE_HELLO_WORDS];
    memset(hello.target, 'a', SW_TOPOLOGY_ID);
    memset(hello.source, '1', SW_TOPOLOGY_ID);
    cr_assert(sw_slot_set_parse(&hello.slots, "0-9,77", 6));
    char *text = sw_move_hello_print(&hello);
    char *at = strstr(text, "EXPORTSLOTS\r\n");
    cr_assert_eq(strncmp(text, "*12\r\n$11\r\n", 10), 0);
    at += strlen("EXPORTSLOTS\r\n");
    for (int i = 0; i < SW_MOVE_HELLO_WORDS; i++) {
        sizes[i] = (uint32_t)strtoul(at + 1, &at, 10);
        words[i] = (const uint8_t *)at + 2;
        at += 2 + sizes[i] + 2;
    }
    cr_assert_eq(*at, '\0');
    cr_assert(sw_move_hello_parse(&again, words, sizes));
    cr_assert_eq(memcmp(&again, &hello, sizeof(hello)), 0);
    for (int i = 0; i < SW_MOVE_HELLO_WORDS; i++) {
        const uint8_t *kept = words[i];
        words[i] = (const uint8_t *)"x";
        uint32_t size = sizes[i];
        sizes[i] = 1;
        cr_assert_not(sw_move_hello_parse(&again, words, sizes), "word %d", i);
        words[i] = kept;
        sizes[i] = size;
    }
    free(text);
}
