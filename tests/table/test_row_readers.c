/* SPDX-License-Identifier: MIT
 *
 * test_row_readers.c - threads that read rows beside threads that write them: every row that is
 * read is one that some batch wrote, whole.
 */
#include <criterion/criterion.h>

#include "tests/support/io_memory.h"
#include "tests/support/must.h"
#include "tests/support/table_fixture.h"
#include "tests/support/tested.h"
#include "tests/support/threads.h"

TestSuite(row_readers, .timeout = 120);

#define KEYS 64U
#define ROUNDS 200U
#define WORDS 65U /* 260 bytes */

struct client {
    struct sw_table *table;
    uint32_t number;
    uint64_t wrong;
};

/* Sets, deletes and reads all keys: every row read is one that some batch wrote, whole. */
static void *client_main(void *argument)
{
    struct client *me = argument;
    struct random random = random_of(me->number);
    struct sw_queue *queue = must_queue(me->table);
    struct io_memory io = {.table = me->table};
    uint64_t *keys = io_array(&io, KEYS * sizeof(*keys));
    uint32_t(*rows)[WORDS] = io_array(&io, KEYS * sizeof(*rows));
    uint64_t *found = io_array(&io, sizeof(*found));
    for (uint32_t round = 0; round < ROUNDS; round += tested_share()) {
        const bool reads = random_below(&random, 2) == 0;
        const uint32_t mark = me->number << 16 | round;
        struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                                 .op = reads                           ? SW_GET
                                       : random_below(&random, 3) == 0 ? SW_DELETE
                                                                       : SW_SET,
                                 .count = KEYS,
                                 .keys = keys,
                                 .values = reads ? NULL : rows,
                                 .previous = reads ? rows : NULL,
                                 .found = found};
        for (uint32_t i = 0; i < KEYS; i++) {
            keys[i] = random_below(&random, KEYS);
            for (uint32_t w = 0; w < WORDS; w++) {
                rows[i][w] = mark;
            }
        }
        me->wrong += sw_batch_run(queue, &batch) != SW_OK;
        for (uint32_t i = 0; i < KEYS && reads; i++) {
            for (uint32_t w = 1; w < WORDS; w++) {
                me->wrong += rows[i][w] != rows[i][0];
            }
            me->wrong += (*found >> i & 1) == 0 && rows[i][0] != 0;
        }
    }
    io_free(&io);
    sw_queue_destroy(queue);
    return NULL;
}

Test(row_readers, read_whole_rows_beside_writers)
{
    struct sw_table_config config = fixture_config_of(SW_ENGINE_ROBIN_HOOD, 128);
    struct client clients[3];
    config.value_bytes = WORDS * 4;
    tested_place(&config);
    config.capacity_slots = 16;
    config.max_capacity_slots = 1024;
    config.batch_ops_max = KEYS;
    config.threads = 2;
    struct sw_table *table = must_create(&config);
    for (uint32_t i = 0; i < 3; i++) {
        clients[i] = (struct client){table, i + 1, 0};
    }
    threads_run(3, client_main, clients, sizeof(clients[0]));
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(clients[i].wrong, 0, "client %u", i);
    }
    must_check(table);
    sw_table_destroy(table);
}
