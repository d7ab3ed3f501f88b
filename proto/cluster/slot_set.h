/* SPDX-License-Identifier: MIT
 *
 * slot_set.h - a set of slots, and its text: ascending ranges, "0-99,200". Pure functions, for any
 * thread.
 */
#ifndef SHERWOOD_PROTO_CLUSTER_SLOT_SET_H
#define SHERWOOD_PROTO_CLUSTER_SLOT_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cluster/slot.h"

struct sw_slot_set {
    uint64_t words[SW_SLOTS / 64];
};

static inline bool sw_slot_set_has(const struct sw_slot_set *set, unsigned slot)
{
    return (set->words[slot / 64] >> (slot % 64) & 1) != 0;
}
static inline void sw_slot_set_add(struct sw_slot_set *set, unsigned slot)
{
    set->words[slot / 64] |= UINT64_C(1) << (slot % 64);
}

unsigned sw_slot_set_count(const struct sw_slot_set *set);

/* Adds the slots of a text. The empty text is no slot. Returns false if it is not of this form. */
bool sw_slot_set_parse(struct sw_slot_set *set, const char *text, size_t size);

/* The text of a set, which the caller frees; NULL if there is no memory. */
char *sw_slot_set_print(const struct sw_slot_set *set);

#endif
