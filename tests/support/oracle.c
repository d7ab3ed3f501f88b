/* SPDX-License-Identifier: MIT
 *
 * oracle.c - a chained hash map with a journal for taking groups back.
 */
#include "tests/support/oracle.h"

#include <stdlib.h>
#include <string.h>

#define CHAINS (1U << 16)
#define NONE SIZE_MAX

struct node {
    uint64_t key;
    uint64_t value;
    size_t next;
    bool used;
};

struct oracle {
    uint64_t mask;
    uint64_t limit;
    uint64_t count;
    size_t chains[CHAINS];
    struct node *nodes;
    size_t nodes_used;
    size_t nodes_room;
    size_t free;
};

/* A key as it was before an operation. */
struct journal {
    uint64_t key;
    uint64_t value;
    bool present;
};

static size_t *chain_of(const struct oracle *oracle, uint64_t key)
{
    size_t chain = (size_t)((key ^ (key >> 32)) * 2654435761U % CHAINS);
    return (size_t *)&oracle->chains[chain];
}

static struct node *find(const struct oracle *oracle, uint64_t key)
{
    size_t at = *chain_of(oracle, key);
    while (at != NONE && oracle->nodes[at].key != key) {
        at = oracle->nodes[at].next;
    }
    return at == NONE ? NULL : &oracle->nodes[at];
}

static size_t new_node(struct oracle *oracle)
{
    if (oracle->free != NONE) {
        size_t at = oracle->free;
        oracle->free = oracle->nodes[at].next;
        return at;
    }
    if (oracle->nodes_used == oracle->nodes_room) {
        oracle->nodes_room = oracle->nodes_room > 0 ? 2 * oracle->nodes_room : 1024;
        oracle->nodes = realloc(oracle->nodes, oracle->nodes_room * sizeof(struct node));
        if (oracle->nodes == NULL) {
            abort();
        }
    }
    return oracle->nodes_used++;
}

static void put_entry(struct oracle *oracle, uint64_t key, uint64_t value)
{
    struct node *node = find(oracle, key);
    if (node != NULL) {
        node->value = value;
        return;
    }
    size_t *chain = chain_of(oracle, key);
    size_t at = new_node(oracle);
    oracle->nodes[at] = (struct node){key, value, *chain, true};
    *chain = at;
    oracle->count++;
}

bool oracle_remove(struct oracle *oracle, uint64_t key)
{
    size_t *link = chain_of(oracle, key);
    while (*link != NONE && oracle->nodes[*link].key != key) {
        link = &oracle->nodes[*link].next;
    }
    if (*link == NONE) {
        return false;
    }
    size_t at = *link;
    *link = oracle->nodes[at].next;
    oracle->nodes[at].used = false;
    oracle->nodes[at].next = oracle->free;
    oracle->free = at;
    oracle->count--;
    return true;
}

void oracle_clear(struct oracle *oracle)
{
    for (size_t i = 0; i < CHAINS; i++) {
        oracle->chains[i] = NONE;
    }
    oracle->nodes_used = 0;
    oracle->free = NONE;
    oracle->count = 0;
}

struct oracle *oracle_create(unsigned value_bits, uint64_t limit)
{
    struct oracle *oracle = calloc(1, sizeof(*oracle));
    if (oracle == NULL) {
        abort();
    }
    oracle->mask = value_bits == 64 ? UINT64_MAX : (1ULL << value_bits) - 1;
    oracle->limit = limit;
    oracle_clear(oracle);
    return oracle;
}

void oracle_destroy(struct oracle *oracle)
{
    if (oracle != NULL) {
        free(oracle->nodes);
        free(oracle);
    }
}

/* The product by additions. Returns false if it does not fit. */
static bool product_of(uint64_t a, uint64_t b, uint64_t mask, uint64_t *product)
{
    bool fits = true, doubled_fits = true;
    *product = 0;
    for (; b > 0; b /= 2) {
        if (b % 2 == 1) {
            fits = fits && doubled_fits && *product <= mask - a;
            *product = (*product + a) & mask;
        }
        doubled_fits = doubled_fits && a <= mask / 2;
        a = a * 2 & mask;
    }
    return fits;
}

/* What a verb makes of a number: a line each, which shares nothing with proto/ops/apply.inl.
 * Returns false if the result does not fit, or nothing is written. */
static bool result_of(enum sw_verb verb, bool found, uint64_t old, uint64_t x, uint64_t mask,
                      uint64_t *result)
{
    switch (verb) {
    case SW_VERB_SET:
        *result = x;
        return true;
    case SW_VERB_FIND:
        *result = x;
        return !found;
    case SW_VERB_ADD:
        *result = (old + x) & mask;
        return x <= mask - old;
    case SW_VERB_SUBTRACT:
        *result = (old - x) & mask;
        return x <= old;
    case SW_VERB_MULTIPLY:
        return found && product_of(old, x, mask, result);
    case SW_VERB_MIN:
        *result = !found || x < old ? x : old;
        return true;
    case SW_VERB_MAX:
        *result = !found || x > old ? x : old;
        return true;
    case SW_VERB_OR:
        *result = (old & ~x) + x;
        return true;
    case SW_VERB_XOR:
        *result = (old & ~x) + (x & ~old);
        return true;
    case SW_VERB_AND:
        *result = old - (old & ~x);
        return true;
    case SW_VERB_ANDNOT:
        *result = old & (x ^ mask);
        return true;
    case SW_VERB_SWAP:
        *result = x;
        return found;
    case SW_VERB_READ:
    case SW_VERB_DELETE:
        return false;
    default: /* a verb that the oracle does not know: add it here */
        abort();
    }
}

bool oracle_writes(uint32_t op, bool found, uint64_t before, uint64_t operand, uint64_t mask,
                   uint64_t *result)
{
#define ROW(name, number, op, verb, guard, ...) [op] = {SW_VERB_##verb, SW_WHEN_##guard},
    static const struct {
        enum sw_verb verb;
        enum sw_when when;
    } rows[] = {SW_DATA_OPERATION_MAP(ROW)};
#undef ROW
    const enum sw_when when = rows[op].when;
    const enum sw_verb verb = rows[op].verb;
    if ((when == SW_WHEN_ABSENT && found) || (when == SW_WHEN_PRESENT && !found)) {
        return false;
    }
    const bool fits = result_of(verb, found, found ? before : 0, operand, mask, result);
    const bool wraps = when != SW_WHEN_FITS && (verb == SW_VERB_ADD || verb == SW_VERB_SUBTRACT);
    return fits || wraps;
}

/* Returns false if the limit forbids it. */
static bool apply_one(struct oracle *oracle, struct oracle_operation *o,
                      struct sw_counters *counters)
{
    uint64_t result = 0;
    struct node *node = find(oracle, o->key);
    o->found = node != NULL;
    o->previous = node != NULL ? node->value : 0;
    const bool is_met = o->op != SW_CAS || o->previous == o->expected;
    if (is_met && oracle_writes(o->op, o->found, o->previous, o->operand, oracle->mask, &result)) {
        if (!o->found && oracle->count >= oracle->limit) {
            return false;
        }
        put_entry(oracle, o->key, result);
        counters->inserted += !o->found;
        counters->updated += o->found;
    }
    if (o->op == SW_DELETE && oracle_remove(oracle, o->key)) {
        counters->deleted++;
    }
    enum sw_op_class class = o->op == SW_GET      ? SW_CLASS_GET
                             : o->op == SW_DELETE ? SW_CLASS_DELETE
                                                  : SW_CLASS_UPSERT;
    counters->by_class[class].operations++;
    counters->by_class[class].hits += o->found;
    counters->by_class[class].misses += !o->found;
    return true;
}

bool oracle_apply(struct oracle *oracle, struct oracle_operation *operations, size_t count,
                  struct sw_counters *counters)
{
    struct sw_counters before = *counters;
    struct journal *journal = malloc((count + 1) * sizeof(*journal));
    bool admitted = true;
    if (journal == NULL) {
        abort();
    }
    for (size_t i = 0; i < count; i++) {
        struct journal *was = &journal[i];
        was->key = operations[i].key;
        was->present = oracle_get(oracle, was->key, &was->value);
        if (!apply_one(oracle, &operations[i], counters)) {
            admitted = false;
            while (i-- > 0) {
                was = &journal[i];
                if (was->present) {
                    put_entry(oracle, was->key, was->value);
                } else {
                    oracle_remove(oracle, was->key);
                }
            }
            *counters = before;
            counters->refused += count;
            break;
        }
    }
    free(journal);
    return admitted;
}

void oracle_limit(struct oracle *oracle, uint64_t limit)
{
    oracle->limit = limit;
}

bool oracle_get(const struct oracle *oracle, uint64_t key, uint64_t *value)
{
    const struct node *node = find(oracle, key);
    *value = node != NULL ? node->value : 0;
    return node != NULL;
}

uint64_t oracle_count(const struct oracle *oracle)
{
    return oracle->count;
}

bool oracle_next(const struct oracle *oracle, size_t *position, uint64_t *key, uint64_t *value)
{
    while (*position < oracle->nodes_used) {
        const struct node *node = &oracle->nodes[(*position)++];
        if (node->used) {
            *key = node->key;
            *value = node->value;
            return true;
        }
    }
    return false;
}
