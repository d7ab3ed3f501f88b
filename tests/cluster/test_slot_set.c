/* SPDX-License-Identifier: MIT
 *
 * test_slot_set.c - sets of slots and their texts, and topologies that assign slots to other
 * shards.
 */
#include "proto/cluster/slot_set.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "proto/cluster/topology.h"
#include "tests/support/random.h"

Test(slot_set, texts)
{
    static const char *const whole[] = {"",        "0",        "16383",
                                        "0-16383", "0-99,200", "1,3,5-7,16380-16383"};
    static const char *const wrong[] = {"x",  "-1", "1-",    "5-3", "16384", "1,,2",
                                        "1,", ",1", "1-2-3", "0x1", " 1",    "99999999999999999999",
                                        "1 "};
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        struct sw_slot_set set = {{0}};
        cr_assert(sw_slot_set_parse(&set, whole[i], strlen(whole[i])), "%s", whole[i]);
        char *text = sw_slot_set_print(&set);
        cr_assert_str_eq(text, whole[i]);
        free(text);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct sw_slot_set set = {{0}};
        cr_assert_not(sw_slot_set_parse(&set, wrong[i], strlen(wrong[i])), "%s", wrong[i]);
    }
}

static const char two[] =
    "{\"format\":1,\"cluster\":\"c\",\"epoch\":1,\"keys\":\"decimal\",\"shards\":["
    "{\"id\":\"0000000000000000000000000000000000000001\",\"name\":\"a\",\"slots\":[[0,8191]]},"
    "{\"id\":\"0000000000000000000000000000000000000002\",\"name\":\"b\",\"slots\":[[8192,16000]]}]"
    ","
    "\"nodes\":[{\"id\":\"0000000000000000000000000000000000000003\",\"shard\":\"a\","
    "\"role\":\"primary\",\"ip\":\"10.0.0.1\",\"port\":1},"
    "{\"id\":\"0000000000000000000000000000000000000004\",\"shard\":\"b\","
    "\"role\":\"primary\",\"ip\":\"10.0.0.2\",\"port\":1}]}";

/* The text of a topology whose slots were reassigned parses, and gives the same topology. */
Test(slot_set, random_gifts)
{
    struct random random = random_of(0);
    char error[SW_TOPOLOGY_ERROR_BYTES];
    struct sw_topology *topology = sw_topology_parse(two, strlen(two), error);
    cr_assert_not_null(topology, "%s", error);
    for (int round = 0; round < 50; round++) {
        struct sw_slot_set set = {{0}};
        uint16_t to = (uint16_t)(random_next(&random) % 2);
        unsigned first = (unsigned)(random_next(&random) % SW_SLOTS);
        unsigned step = 1 + (unsigned)(random_next(&random) % 200);
        uint16_t owner[SW_SLOTS];
        memcpy(owner, topology->owner, sizeof(owner));
        for (unsigned slot = first; slot < SW_SLOTS; slot += step) {
            sw_slot_set_add(&set, slot);
            owner[slot] = to;
        }
        cr_assert(sw_topology_assign(topology, &set, to));
        cr_assert_arr_eq(topology->owner, owner, sizeof(owner));
        char *text = sw_topology_print(topology);
        struct sw_topology *again = sw_topology_parse(text, strlen(text), error);
        cr_assert_not_null(again, "%s", error);
        cr_assert(sw_topology_equal(topology, again));
        cr_assert_arr_eq(again->owner, owner, sizeof(owner));
        cr_assert_eq(again->slot_count, topology->slot_count);
        cr_assert_eq(again->shards[to].slot_count, topology->shards[to].slot_count);
        sw_topology_free(again);
        free(text);
    }
    sw_topology_free(topology);
}
