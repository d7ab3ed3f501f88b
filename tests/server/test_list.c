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
    cr_assert_eq(sw_list_is_empty(list), count == 0);
    cr_assert_eq(sw_list_is_linked(list), count > 0);
    SW_LIST_EACH(list, link)
    {
        cr_assert_eq(member_at(link)->number, model[at++]);
    }
    cr_assert_eq(at, count);
}

static int index_of(const int *model, int count, int number)
{
    int at = 0;
    while (at < count && model[at] != number) {
        at++;
    }
    return at;
}

static void remove_at(int *model, int *count, int at)
{
    memmove(model + at, model + at + 1, (size_t)(--*count - at) * sizeof(*model));
}

/* Each step pops the first member, or draws one: it is removed if it is in the list, and added if
 * it is not. Another list has the popped ones until they are drawn. */
Test(list, random_steps_are_those_of_an_array)
{
    struct sw_list list, popped;
    struct member members[MEMBERS];
    int model[MEMBERS], count = 0;
    struct random random = random_of(0);
    init(&list, members, MEMBERS);
    sw_list_init(&popped);
    expect(&list, model, 0);
    for (int step = 0; step < 20000; step++) {
        int i = (int)random_below(&random, MEMBERS);
        int at = index_of(model, count, i);
        struct sw_list *link = &members[i].link;
        switch (random_below(&random, 3)) {
        case 0:
            if (count > 0) {
                struct sw_list *first = sw_list_pop(&list);
                cr_assert_eq(member_at(first)->number, model[0]);
                cr_assert_not(sw_list_is_linked(first));
                sw_list_push(&popped, first);
                remove_at(model, &count, 0);
            }
            break;
        case 1:
            sw_list_remove(link); /* from either list, or from none */
            sw_list_remove(link);
            cr_assert_not(sw_list_is_linked(link));
            if (at < count) {
                remove_at(model, &count, at);
            } else {
                sw_list_push_front(&list, link);
                memmove(model + 1, model, (size_t)count++ * sizeof(*model));
                model[0] = i;
            }
            break;
        default:
            if (at == count) {
                sw_list_remove(link);
                sw_list_push(&list, link);
                model[count++] = i;
            }
            break;
        }
        expect(&list, model, count);
        sw_list_check(&popped);
    }
}
