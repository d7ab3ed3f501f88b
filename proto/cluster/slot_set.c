/* SPDX-License-Identifier: MIT
 *
 * slot_set.c - sets of slots and their texts.
 */
#include "proto/cluster/slot_set.h"

#include <stdio.h>
#include <stdlib.h>

/* Bytes of the text of one slot or range, with its comma. */
#define RANGE_BYTES 12

unsigned sw_slot_set_count(const struct sw_slot_set *set)
{
    unsigned count = 0;
    for (size_t i = 0; i < SW_SLOTS / 64; i++) {
        count += (unsigned)__builtin_popcountll(set->words[i]);
    }
    return count;
}

/* Reads a slot. Returns where it ends, or NULL. */
static const char *read_slot(const char *text, const char *end, unsigned *slot)
{
    const char *begin = text;
    *slot = 0;
    while (text < end && *text >= '0' && *text <= '9' && *slot < SW_SLOTS) {
        *slot = *slot * 10 + (unsigned)(*text++ - '0');
    }
    return text == begin || *slot >= SW_SLOTS ? NULL : text;
}

bool sw_slot_set_parse(struct sw_slot_set *set, const char *text, size_t size)
{
    const char *end = text + size;
    while (text < end) {
        unsigned first, last;
        text = read_slot(text, end, &first);
        last = first;
        if (text != NULL && text < end && *text == '-') {
            text = read_slot(text + 1, end, &last);
        }
        if (text == NULL || last < first || (text < end && (*text != ',' || text + 1 == end))) {
            return false;
        }
        for (unsigned slot = first; slot <= last; slot++) {
            sw_slot_set_add(set, slot);
        }
        text += text < end;
    }
    return true;
}

char *sw_slot_set_print(const struct sw_slot_set *set)
{
    unsigned ranges = 0;
    for (unsigned slot = 0; slot < SW_SLOTS; slot++) {
        ranges += sw_slot_set_has(set, slot) && (slot == 0 || !sw_slot_set_has(set, slot - 1));
    }
    size_t room = (size_t)ranges * RANGE_BYTES + 1, size = 0;
    char *text = calloc(1, room);
    for (unsigned slot = 0; slot < SW_SLOTS && text != NULL; slot++) {
        unsigned first = slot;
        if (!sw_slot_set_has(set, slot)) {
            continue;
        }
        while (slot + 1 < SW_SLOTS && sw_slot_set_has(set, slot + 1)) {
            slot++;
        }
        const char *comma = size == 0 ? "" : ",";
        size += (size_t)(first == slot
                             ? snprintf(text + size, room - size, "%s%u", comma, first)
                             : snprintf(text + size, room - size, "%s%u-%u", comma, first, slot));
    }
    return text;
}
