/* SPDX-License-Identifier: MIT
 *
 * test_declined.c - arrays that a program leaves out are not sent, by a server that knows that a
 * request may decline the found bitmap; an older one sends the bitmap, and nobody notices but the
 * socket.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "client/sherwood.h"
#include "tests/support/fake_server.h"

enum { COUNT = 300, FRAME = 128, PRESENT = 200 };

static struct sw_fake_server server;
static struct sw_fake_table table;
static struct sherwood *client;
static uint64_t keys[COUNT], values[COUNT];

static void open_table(bool is_older)
{
    char text[512];
    sw_fake_table_init(&table, 8, 8, 1U << 12);
    table.ops_max = FRAME;
    table.in_flight_max = 4;
    table.is_older = is_older;
    sw_fake_start(&server, sw_fake_table_script, &table);
    int rc = sherwood_connect_text(server.address, NULL, &client, text, sizeof(text));
    cr_assert_eq(rc, SHERWOOD_OK, "%s", text);
    for (uint64_t i = 0; i < COUNT; i++) {
        keys[i] = 7 * i;
        values[i] = 1000 + i;
    }
}

static void close_table(void)
{
    sherwood_close(client);
    sw_fake_stop(&server);
    sw_fake_table_fini(&table);
}

static uint64_t received(void)
{
    struct sherwood_traffic traffic;
    sherwood_traffic(client, &traffic, sizeof(traffic));
    return traffic.bytes_received;
}

/* The length of the replies to a call of `count` keys. */
static uint64_t reply_bytes(size_t count, bool has_values, bool has_found)
{
    uint64_t bytes = 0;
    while (count > 0) {
        uint32_t part = count < FRAME ? (uint32_t)count : FRAME;
        bytes += SW_FRAME_ALIGN + (has_values ? sw_frame_align(8ULL * part) : 0) +
                 (has_found ? sw_frame_align(sw_found_bytes(part)) : 0);
        count -= part;
    }
    return bytes;
}

/* Checks the results of an operation on all keys; the first PRESENT of them existed. NULL: no such
 * array. */
static void check_results(const uint64_t *previous, const uint64_t *found, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cr_assert(previous == NULL || previous[i] == (i < PRESENT ? 1000 + i : 0), "value %zu", i);
        cr_assert(found == NULL || sherwood_found(found, i) == (i < PRESENT), "bit %zu", i);
    }
}

/* Every operation that leaves the keys as they are, by blocking calls. */
static void call(bool is_older, bool wants_values, bool wants_found)
{
    static const enum sherwood_operation operations[] = {SHERWOOD_GET, SHERWOOD_SET_PRESENT};
    for (size_t o = 0; o < sizeof(operations) / sizeof(operations[0]); o++) {
        uint64_t previous[COUNT], found[(COUNT + 63) / 64];
        uint64_t before = received();
        memset(previous, 0xAA, sizeof(previous));
        memset(found, 0xAA, sizeof(found));
        cr_assert_eq(sherwood_run(client, operations[o], keys, o > 0 ? values : NULL, COUNT,
                                  wants_values ? previous : NULL, wants_found ? found : NULL),
                     SHERWOOD_OK, "%s", sherwood_error(client));
        cr_assert_eq(received() - before,
                     reply_bytes(COUNT, wants_values, wants_found || is_older));
        check_results(wants_values ? previous : NULL, wants_found ? found : NULL, COUNT);
    }
}

/* The same by a request of one frame, whole or in two pieces. The first piece has `previous`. */
static void submit(bool is_older, bool wants_values, bool wants_found, bool drops, bool in_pieces)
{
    enum { FIRST = 50, LAST = FRAME };
    uint64_t previous[LAST], found[2] = {0};
    const struct sherwood_piece pieces[] = {
        {.keys = keys + PRESENT - FIRST,
         .previous = wants_values ? previous : NULL,
         .count = FIRST},
        {.keys = keys + PRESENT, .count = LAST - FIRST},
    };
    struct sherwood_request request = {.size = sizeof(struct sherwood_request),
                                       .operation = SHERWOOD_GET,
                                       .count = LAST,
                                       .found = wants_found ? found : NULL,
                                       .flags = drops ? SHERWOOD_DISCARD : 0};
    if (in_pieces) {
        request.pieces = pieces;
        request.pieces_count = 2;
    } else {
        request.keys = keys + PRESENT - FIRST;
        request.previous = wants_values ? previous : NULL;
    }
    uint64_t before = received();
    memset(previous, 0xAA, sizeof(previous));
    cr_assert_eq(sherwood_submit(client, &request), SHERWOOD_OK, "%s", sherwood_error(client));
    cr_assert_eq(sherwood_wait(client, &request), SHERWOOD_OK, "%s", sherwood_error(client));
    cr_assert_eq(request.hits, FIRST);
    cr_assert_eq(received() - before,
                 reply_bytes(LAST, wants_values || drops, wants_found || is_older));
    for (size_t i = 0; i < LAST; i++) {
        uint64_t value = i < FIRST ? 1000 + PRESENT - FIRST + i : 0;
        bool is_stored = wants_values && (!in_pieces || i < FIRST);
        cr_assert_eq(previous[i], is_stored ? value : 0xAAAAAAAAAAAAAAAAU, "value %zu", i);
        cr_assert_eq(sherwood_found(found, i), wants_found && i < FIRST, "bit %zu", i);
    }
}

static void in_every_way(bool is_older)
{
    open_table(is_older);
    uint64_t before = received();
    cr_assert_eq(sherwood_set(client, keys, values, PRESENT), SHERWOOD_OK);
    cr_assert_eq(received() - before, reply_bytes(PRESENT, false, is_older));
    for (int wants = 0; wants < 4; wants++) {
        bool wants_values = (wants & 1) != 0, wants_found = (wants & 2) != 0;
        call(is_older, wants_values, wants_found);
        for (int how = 0; how < 4; how++) {
            submit(is_older, wants_values, wants_found, (how & 1) != 0, (how & 2) != 0);
        }
    }
    before = received();
    cr_assert_eq(sherwood_delete(client, keys, COUNT, NULL), SHERWOOD_OK);
    cr_assert_eq(received() - before, reply_bytes(COUNT, false, is_older));
    cr_assert_eq(table.occupied, 0);
    close_table();
}

Test(declined, what_is_left_out_is_not_sent)
{
    in_every_way(false);
}

Test(declined, an_older_server_sends_the_bitmap_which_is_dropped)
{
    in_every_way(true);
}
