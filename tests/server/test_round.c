/* SPDX-License-Identifier: MIT
 *
 * test_round.c - operations that are gathered, taken back and grouped.
 */
#include "tests/server/serve_fixture.h"
#include "tests/support/random.h"

static struct sw_round *start(struct serve *serve)
{
    serve_init(serve);
    serve_start(serve);
    return &serve->loop->resp.replies[0].round;
}

Test(round, a_new_one_is_empty_and_uniform)
{
    struct serve serve;
    struct sw_round *round = start(&serve);
    cr_assert_eq(round->operations, 0);
    cr_assert(sw_round_is_uniform(round));
    cr_assert(sw_round_has_room(round, 1024));
    cr_assert_not(sw_round_has_room(round, 1025));
    serve_stop_loop(&serve);
}

Test(round, another_operation_makes_it_mixed)
{
    struct serve serve;
    struct sw_round *round = start(&serve);
    sw_round_add(round, SW_GET, 1, 0);
    sw_round_add(round, SW_GET, 2, 0);
    cr_assert(sw_round_is_uniform(round));
    sw_round_add(round, SW_SET, 3, 0);
    sw_round_add(round, SW_GET, 4, 0);
    cr_assert_not(sw_round_is_uniform(round));
    sw_round_reset(round);
    cr_assert(sw_round_is_uniform(round));
    serve_stop_loop(&serve);
}

/* A refused command leaves no trace: reads after it go the way of reads. */
Test(round, what_is_taken_back_mixes_nothing)
{
    struct serve serve;
    struct sw_round *round = start(&serve);
    sw_round_add(round, SW_GET, 1, 0);
    cr_assert_eq(sw_round_end_group(round), 0);
    sw_round_add(round, SW_SET, 2, 5);
    sw_round_add(round, SW_SET, 3, 5);
    sw_round_rewind(round, 1);
    cr_assert(sw_round_is_uniform(round));
    sw_round_add(round, SW_GET, 4, 0);
    cr_assert_eq(sw_round_end_group(round), 1);
    cr_assert(sw_round_is_uniform(round));
    sw_round_reset(round);
    serve_stop_loop(&serve);
}

Test(round, the_first_one_may_be_taken_back)
{
    struct serve serve;
    struct sw_round *round = start(&serve);
    sw_round_add(round, SW_SET, 1, 0);
    sw_round_rewind(round, 0);
    sw_round_add(round, SW_GET, 1, 0);
    cr_assert(sw_round_is_uniform(round));
    sw_round_reset(round);
    serve_stop_loop(&serve);
}

/* By RESP: the GETs around a refused MSET are one batch of GETs. */
Test(round, reads_around_a_refused_write_are_reads)
{
    struct serve serve;
    struct fake peer;
    struct sw_round *round = start(&serve);
    serve_open(&serve, &peer);
    fake_say(&peer, "GET 1\r\nMSET 1 2 3 x\r\nGET 2\r\n");
    cr_assert_eq(round->operations, 2);
    cr_assert(sw_round_is_uniform(round));
    serve_ask(&serve, &peer, "",
              "$-1\r\n-ERR value is not an unsigned integer or out of range\r\n$-1\r\n");
    serve_close(&serve, &peer);
    serve_stop_loop(&serve);
}

Test(round, random_steps_are_those_of_an_array)
{
    struct serve serve;
    struct sw_round *round = start(&serve);
    struct random random = random_of(0);
    static uint8_t model[1024];
    for (int step = 0; step < 20000; step++) {
        uint32_t grouped = round->groups > 0 ? round->group_ends[round->groups - 1] : 0;
        uint64_t what = random_below(&random, 20);
        if (what == 0 && round->operations > grouped) {
            sw_round_end_group(round);
        } else if (what == 1) {
            sw_round_rewind(
                round, grouped + (uint32_t)random_below(&random, round->operations - grouped + 1));
        } else if (!sw_round_has_room(round, 1)) {
            sw_round_reset(round);
        } else {
            enum sw_op op = random_below(&random, 10) == 0 ? SW_SET : SW_GET;
            model[round->operations] = (uint8_t)op;
            sw_round_add(round, op, step, 0);
        }
        bool uniform = true;
        for (uint32_t i = 1; i < round->operations; i++) {
            uniform &= model[i] == model[0];
        }
        cr_assert_eq(sw_round_is_uniform(round), uniform, "%u operations", round->operations);
        cr_assert_eq(memcmp(model, round->ops, round->operations), 0);
    }
    sw_round_reset(round);
    serve_stop_loop(&serve);
}
