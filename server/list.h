/* SPDX-License-Identifier: MIT
 *
 * list.h - the one list type of the server: circular, doubly linked, with links inside the structs.
 *
 * The head of a list and the link of a member are the same struct. A link is in at most one list. A
 * link that is in no list points at itself, so removing it again changes nothing. Each list belongs
 * to one thread, or to a lock that its owner names. No function allocates or fails.
 */
#ifndef SHERWOOD_SERVER_LIST_H
#define SHERWOOD_SERVER_LIST_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_list {
    struct sw_list *next, *previous;
};

/* The struct of type `type` whose field `member` is at `pointer`. */
#define SW_CONTAINER(pointer, type, member) \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* Initialises the head of an empty list, or a link that is in no list. */
static inline void sw_list_init(struct sw_list *list)
{
    list->next = list->previous = list;
}

static inline bool sw_list_is_empty(const struct sw_list *list)
{
    return list->next == list;
}

/* Is this link in a list? */
static inline bool sw_list_is_linked(const struct sw_list *link)
{
    return link->next != link;
}

/* Adds `link`, which must not be in a list, at the end of the list. */
static inline void sw_list_push(struct sw_list *list, struct sw_list *link)
{
    assert(!sw_list_is_linked(link));
    link->previous = list->previous;
    link->next = list;
    list->previous->next = link;
    list->previous = link;
}

/* Adds `link`, which must not be in a list, at the beginning of the list. */
static inline void sw_list_push_front(struct sw_list *list, struct sw_list *link)
{
    sw_list_push(list->next, link);
}

static inline void sw_list_remove(struct sw_list *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    sw_list_init(link);
}

/* Removes and returns the first link; the list is not empty. */
static inline struct sw_list *sw_list_pop(struct sw_list *list)
{
    struct sw_list *first = list->next;
    assert(first != list);
    sw_list_remove(first);
    return first;
}

/* A loop over all links. Its body may remove the current link, and no other. */
#define SW_LIST_EACH(list, link)                                                                \
    for (struct sw_list * (link) = (list)->next, *link##_next = (link)->next; (link) != (list); \
         (link) = link##_next, link##_next = (link)->next)

/* Asserts that the two neighbours of every link point back at it. Returns the number of links. */
static inline uint64_t sw_list_check(const struct sw_list *list)
{
    uint64_t count = 0;
    const struct sw_list *link = list;
    do {
        assert(link->next->previous == link && link->previous->next == link);
        link = link->next;
        count++;
    } while (link != list);
    return count - 1;
}

#endif
