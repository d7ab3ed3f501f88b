/* SPDX-License-Identifier: MIT
 *
 * test_list.c - the server's one list type, against an array as the model.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "server/list.h"
#include "tests/support/random.h"

enum { MEMBERS = 24 };

struct member {
    int number;
    struct sw_list link;
};

static struct member *member_at(struct sw_list *link)
{
    return SW_CONTAINER(link, struct member, link);
}

static void init(struct sw_list *list, struct member *members, int count)
{
    sw_list_init(list);
    for (int i = 0; i < count; i++) {
        members[i].number = i;
        sw_list_init(&members[i].link);
    }
}

Test(list, a_new_one_is_empty)
{
    struct sw_list list;
    sw_list_init(&list);
    cr_assert(sw_list_is_empty(&list));
    cr_assert_not(sw_list_is_linked(&list));
    cr_assert_eq(sw_list_check(&list), 0);
}

Test(list, push_adds_at_the_end)
{
    struct sw_list list;
    struct member members[3];
    init(&list, members, 3);
    for (int i = 0; i < 3; i++) {
        sw_list_push(&list, &members[i].link);
        cr_assert_eq(sw_list_check(&list), (uint64_t)i + 1);
    }
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(member_at(sw_list_pop(&list))->number, i);
    }
    cr_assert(sw_list_is_empty(&list));
}

Test(list, push_front_adds_at_the_beginning)
{
    struct sw_list list;
    struct member members[3];
    init(&list, members, 3);
    for (int i = 0; i < 3; i++) {
        sw_list_push_front(&list, &members[i].link);
    }
    for (int i = 2; i >= 0; i--) {
        cr_assert_eq(member_at(sw_list_pop(&list))->number, i);
    }
}

Test(list, a_removed_link_is_in_no_list)
{
    struct sw_list list;
    struct member members[3];
    init(&list, members, 3);
    for (int i = 0; i < 3; i++) {
        sw_list_push(&list, &members[i].link);
    }
    cr_assert(sw_list_is_linked(&members[1].link));
    sw_list_remove(&members[1].link);
    cr_assert_not(sw_list_is_linked(&members[1].link));
    cr_assert_eq(sw_list_check(&list), 2);
    cr_assert_eq(member_at(list.next)->number, 0);
    cr_assert_eq(member_at(list.previous)->number, 2);
}

Test(list, removing_again_changes_nothing)
{
    struct sw_list list;
    struct member members[2];
    init(&list, members, 2);
    sw_list_push(&list, &members[0].link);
    sw_list_remove(&members[1].link);
    sw_list_remove(&members[1].link);
    cr_assert_eq(sw_list_check(&list), 1);
    cr_assert_eq(sw_list_pop(&list), &members[0].link);
}

Test(list, a_link_may_move_to_another_list)
{
    struct sw_list one, other;
    struct member members[1];
    init(&one, members, 1);
    sw_list_init(&other);
    sw_list_push(&one, &members[0].link);
    sw_list_push(&other, sw_list_pop(&one));
    cr_assert(sw_list_is_empty(&one));
    cr_assert_eq(sw_list_check(&other), 1);
}

Test(list, each_visits_all_in_order)
{
    struct sw_list list;
    struct member members[MEMBERS];
    int next = 0;
    init(&list, members, MEMBERS);
    for (int i = 0; i < MEMBERS; i++) {
        sw_list_push(&list, &members[i].link);
    }
    SW_LIST_EACH(&list, link)
    {
        cr_assert_eq(member_at(link)->number, next++);
    }
    cr_assert_eq(next, MEMBERS);
}

Test(list, each_lets_the_body_remove_the_link_it_is_at)
{
    struct sw_list list;
    struct member members[MEMBERS];
    init(&list, members, MEMBERS);
    for (int i = 0; i < MEMBERS; i++) {
        sw_list_push(&list, &members[i].link);
    }
    int visited = 0;
    SW_LIST_EACH(&list, link)
    {
        if (member_at(link)->number % 2 == 0) {
            sw_list_remove(link);
        }
        visited++;
    }
    cr_assert_eq(visited, MEMBERS);
    cr_assert_eq(sw_list_check(&list), MEMBERS / 2);
    SW_LIST_EACH(&list, link)
    {
        cr_assert_eq(member_at(link)->number % 2, 1);
    }
}

Test(list, each_of_an_empty_one_visits_nothing)
{
    struct sw_list list;
    sw_list_init(&list);
    SW_LIST_EACH(&list, link)
    {
        cr_assert_fail("visited %p", (void *)link);
    }
}

Test(list, a_linked_one_must_not_be_pushed, .signal = SIGABRT)
{
    struct sw_list list;
    struct member members[1];
    init(&list, members, 1);
    sw_list_push(&list, &members[0].link);
    sw_list_push(&list, &members[0].link);
}

Test(list, an_empty_one_must_not_be_popped, .signal = SIGABRT)
{
    struct sw_list list;
    sw_list_init(&list);
    sw_list_pop(&list);
}

Test(list, check_sees_a_neighbour_that_does_not_point_back, .signal = SIGABRT)
{
    struct sw_list list;
    struct member members[3];
    init(&list, members, 3);
    for (int i = 0; i < 3; i++) {
        sw_list_push(&list, &members[i].link);
    }
    members[1].link.previous = &list;
    sw_list_check(&list);
}

static void expect(struct sw_list *list, const int *model, int count)
{
    int at = 0;
    cr_assert_eq(sw_list_check(list), (uint64_t)count);
    SW_LIST_EACH(list, link)
    {
        cr_assert_eq(member_at(link)->number, model[at++]);
    }
}

static int index_of(const int *model, int count, int number)
{
    int at = 0;
    while (at < count && model[at] != number) {
        at++;
    }
    return at;
}

Test(list, random_steps_are_those_of_an_array)
{
    struct sw_list list;
    struct member members[MEMBERS];
    int model[MEMBERS], count = 0;
    struct random random = random_of(0);
    init(&list, members, MEMBERS);
    for (int step = 0; step < 20000; step++) {
        int i = (int)random_below(&random, MEMBERS);
        int at = index_of(model, count, i);
        bool front = random_below(&random, 2) == 0;
        cr_assert_eq(sw_list_is_linked(&members[i].link), at < count);
        if (at < count) { /* it is there: it goes */
            sw_list_remove(&members[i].link);
            memmove(model + at, model + at + 1, (size_t)(--count - at) * sizeof(*model));
        } else if (front) {
            sw_list_push_front(&list, &members[i].link);
            memmove(model + 1, model, (size_t)count++ * sizeof(*model));
            model[0] = i;
        } else {
            sw_list_push(&list, &members[i].link);
            model[count++] = i;
        }
        expect(&list, model, count);
    }
}
