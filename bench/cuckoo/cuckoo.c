/* SPDX-License-Identifier: MIT
 *
 * cuckoo.c - the cuckoo set as a table under test.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/cuckoo/library.h"
#include "bench/cuckoo/set/set.h"

struct under_test {
    struct sw_cset *set;
    const struct sw_cbench_place *place;
    uint32_t *left; /* host memory for keys handed back */
};

static bool succeeded(const struct under_test *self, int status, const char *what)
{
    struct sw_cset_facts facts;
    if (status == SW_OK) {
        return true;
    }
    sw_cset_facts(self->set, &facts);
    fprintf(stderr, "cuckoo: %s: %s %s\n", what, sw_status_text(status), facts.failure);
    return false;
}

static void cuckoo_close(void *table)
{
    struct under_test *self = table;
    sw_cset_close(self->set);
    free(self->left);
    free(self);
}

static void *cuckoo_open(const struct sw_cbench_options *options,
                         const struct sw_cbench_place *place, const struct sw_cbench_wanted *wanted,
                         char *reason, size_t reason_size)
{
    struct sw_cset_config config;
    struct under_test *self = calloc(1, sizeof(*self));
    sw_cset_config_init(&config);
    config.backend = place == &sw_cbench_host ? SW_BACKEND_CPU : SW_BACKEND_CUDA;
    config.device = options->device;
    config.functions = sw_cbench_library_of(wanted->table)->functions;
    config.cells_each = options->size_is_total
                            ? (wanted->size + config.functions - 1) / config.functions
                            : wanted->size;
    config.chain_max = wanted->bound;
    config.rehash_max = options->rehash_max;
    config.batch_max = (uint32_t)wanted->keys_max;
    config.way = wanted->variant->way;
    config.insert_keys = wanted->variant->insert_keys;
    config.find_keys = wanted->variant->find_keys;
    config.block_size = wanted->variant->block_size;
    config.find_together = wanted->variant->find_together;
    if (self != NULL) {
        self->place = place;
        self->left = malloc(wanted->keys_max * sizeof(*self->left));
    }
    if (self == NULL || self->left == NULL) {
        free(self);
        snprintf(reason, reason_size, "not enough memory");
        return NULL;
    }
    if (sw_cset_open(&config, &self->set, reason, reason_size) != SW_OK) {
        cuckoo_close(self);
        return NULL;
    }
    return self;
}

static bool cuckoo_clear(void *table)
{
    struct under_test *self = table;
    return succeeded(self, sw_cset_clear(self->set), "clear");
}

/* What became of an insert. */
static bool note(struct under_test *self, int status, struct sw_cbench_inserted *inserted)
{
    struct sw_cset_facts facts;
    sw_cset_facts(self->set, &facts);
    inserted->rehashes = facts.rehashes;
    inserted->left = facts.left;
    if (status == SW_E_FULL) {
        status = sw_cset_take_left(self->set, self->left);
    }
    return succeeded(self, status, "insert");
}

static bool cuckoo_insert(void *table, const uint32_t *keys, uint64_t count,
                          struct sw_cbench_inserted *inserted)
{
    struct under_test *self = table;
    return note(self, sw_cset_insert(self->set, keys, count), inserted);
}

static bool cuckoo_insert_and_find(void *table, const uint32_t *keys, uint64_t count,
                                   struct sw_cbench_inserted *inserted, const uint32_t *queries,
                                   uint32_t *found, uint64_t query_count)
{
    struct under_test *self = table;
    int status = sw_cset_insert_and_find(self->set, keys, count, queries, found, query_count);
    return note(self, status, inserted);
}

static bool cuckoo_find(void *table, const uint32_t *keys, uint32_t *found, uint64_t count)
{
    struct under_test *self = table;
    return succeeded(self, sw_cset_find(self->set, keys, found, count), "look-up");
}

static void cuckoo_facts(void *table, struct sw_cbench_facts *facts)
{
    struct under_test *self = table;
    struct sw_cset_facts own;
    sw_cset_facts(self->set, &own);
    facts->cells = own.cells;
    facts->slot_bits = 32;
    facts->bytes = own.bytes_reserved;
}

#define CUCKOO(t)                                                                              \
    {                                                                                          \
        .name = "cuckoo" #t, .has_bound = true, .functions = (t), .open = cuckoo_open,         \
        .close = cuckoo_close, .clear = cuckoo_clear, .insert = cuckoo_insert,                 \
        .find = cuckoo_find, .insert_and_find = cuckoo_insert_and_find, .facts = cuckoo_facts, \
    }

const struct sw_cbench_library sw_cbench_cuckoo2 = CUCKOO(2);
const struct sw_cbench_library sw_cbench_cuckoo3 = CUCKOO(3);
