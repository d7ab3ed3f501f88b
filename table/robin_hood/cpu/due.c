/* SPDX-License-Identifier: MIT
 *
 * due.c - a tree of the earliest times of the parts of a table of expiry times.
 */
#include "table/robin_hood/cpu/due.h"

#include <stdlib.h>

#include "table/robin_hood/expiry_times.h"

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Computes the inner nodes from the parts. */
static void build(struct sw_due *due)
{
    for (uint64_t i = sw_due_parts(due) - 1; i > 0; i--) {
        due->tree[i] = smaller(due->tree[2 * i], due->tree[2 * i + 1]);
    }
}

/* Allocates a tree of 1 << bits parts without times. Returns NULL if memory is short. */
static uint64_t *new_tree(uint32_t bits)
{
    const uint64_t nodes = 2ULL << bits;
    uint64_t *tree = malloc(nodes * sizeof(*tree));
    for (uint64_t i = 0; tree != NULL && i < nodes; i++) {
        tree[i] = SW_EXPIRY_NEVER;
    }
    return tree;
}

bool sw_due_open(struct sw_due *due)
{
    *due = (struct sw_due){.tree = new_tree(SW_DUE_BITS_MIN), .bits = SW_DUE_BITS_MIN};
    return due->tree != NULL;
}

void sw_due_close(struct sw_due *due)
{
    free(due->tree);
}

void sw_due_fit(struct sw_due *due, uint64_t slots)
{
    uint32_t bits = SW_DUE_BITS_MIN;
    while ((slots / SW_DUE_PART_SLOTS) >> (bits + 1) != 0) {
        bits++;
    }
    uint64_t *tree = bits != due->bits ? new_tree(bits) : NULL;
    if (tree == NULL) {
        return;
    }
    const uint64_t parts = 1ULL << bits;
    const uint64_t both = bits > due->bits ? parts : sw_due_parts(due);
    for (uint64_t i = 0; i < both; i++) { /* each part of the larger number of parts */
        const uint64_t from = bits > due->bits ? i >> (bits - due->bits) : i;
        const uint64_t to = parts + (bits > due->bits ? i : i >> (due->bits - bits));
        tree[to] = smaller(tree[to], sw_due_bound(due, from));
    }
    free(due->tree);
    due->tree = tree;
    due->bits = bits;
    due->follows = false;
    build(due);
}

void sw_due_know(struct sw_due *due, uint64_t part, uint64_t least)
{
    uint64_t i = sw_due_parts(due) + part;
    due->tree[i] = least;
    for (i /= 2; i > 0; i /= 2) {
        due->tree[i] = smaller(due->tree[2 * i], due->tree[2 * i + 1]);
    }
}

uint64_t sw_due_find(const struct sw_due *due, uint64_t first, uint64_t clock_ms)
{
    const uint64_t parts = sw_due_parts(due);
    uint64_t i = parts + first;
    if (first >= parts) {
        return parts;
    }
    /* up and to the right, until a node has such a part; then down */
    while (due->tree[i] > clock_ms) {
        while (i % 2 == 1) {
            i /= 2;
        }
        if (i == 0) {
            return parts;
        }
        i++;
    }
    while (i < parts) {
        i = 2 * i + (due->tree[2 * i] > clock_ms);
    }
    return i - parts;
}

/* The sweep has reached the part `part`: it knows the ones before it. */
static void pass_reaches(struct sw_due *due, uint64_t part)
{
    while (due->part < part) {
        sw_due_know(due, due->part, due->least);
        due->least = SW_EXPIRY_NEVER;
        due->part++;
    }
}

void sw_due_pass_begin(struct sw_due *due)
{
    due->follows = true;
    due->part = 0;
    due->least = SW_EXPIRY_NEVER;
}

void sw_due_pass_kept(struct sw_due *due, uint64_t m, uint64_t at)
{
    if (due->follows) {
        pass_reaches(due, sw_due_part_of(due, m));
        due->least = smaller(due->least, at);
    }
}

void sw_due_pass_reached(struct sw_due *due, uint64_t cursor)
{
    if (due->follows) {
        pass_reaches(due, cursor == 0 ? sw_due_parts(due) : sw_due_part_of(due, cursor));
        due->follows = cursor != 0;
    }
}

void sw_due_lower(struct sw_due *due, uint64_t at)
{
    for (uint64_t i = 1; i < 2 * sw_due_parts(due); i++) {
        due->tree[i] = smaller(due->tree[i], at);
    }
    due->least = smaller(due->least, at);
}

void sw_due_clear(struct sw_due *due)
{
    const uint64_t parts = sw_due_parts(due);
    uint64_t part = sw_due_find(due, 0, SW_EXPIRY_NEVER - 1);
    while (part < parts) { /* the next one is under no node of the path to this one */
        for (uint64_t i = parts + part; i > 0 && due->tree[i] != SW_EXPIRY_NEVER; i /= 2) {
            due->tree[i] = SW_EXPIRY_NEVER;
        }
        part = sw_due_find(due, part + 1, SW_EXPIRY_NEVER - 1);
    }
}
