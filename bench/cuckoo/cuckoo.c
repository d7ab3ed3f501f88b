/* SPDX-License-Identifier: MIT
 *
 * cuckoo.c - the cuckoo set as a table under test.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/cuckoo/library.h"
#include "table/cuckoo/standalone.h"

struct under_test {
    struct sw_cuckoo *table;
    const struct sw_cbench_place *place;
    uint32_t *left; /* host memory for keys handed back */
};

static void cuckoo_close(void *table)
{
    struct under_test *self = table;
    sw_cuckoo_close(self->table);
    free(self->left);
    free(self);
}

static void *cuckoo_open(const struct sw_cbench_options *options,
                         const struct sw_cbench_place *place, const struct sw_cbench_wanted *wanted,
                         char *reason, size_t reason_size)
{
    struct sw_cuckoo_config config;
    struct under_test *self = calloc(1, sizeof(*self));
    sw_cuckoo_config_init(&config);
    config.backend = place == &sw_cbench_host ? SW_BACKEND_CPU : SW_BACKEND_CUDA;
    config.device = options->device;
    config.functions = wanted->functions;
    config.cells_each = options->size_is_total
                            ? (wanted->size + wanted->functions - 1) / wanted->functions
                            : wanted->size;
    config.chain_max = wanted->bound;
    config.rehash_max = options->rehash_max;
    config.batch_max = (uint32_t)wanted->keys_max;
    config.way = wanted->variant->way;
    config.insert_keys = wanted->variant->insert_keys;
    config.find_keys = wanted->variant->find_keys;
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
    if (sw_cuckoo_open(&config, &self->table, reason, reason_size) != SW_OK) {
        cuckoo_close(self);
        return NULL;
    }
    return self;
}

static bool succeeded(const struct under_test *self, int status, const char *what)
{
    struct sw_cuckoo_facts facts;
    if (status == SW_OK) {
        return true;
    }
    sw_cuckoo_facts(self->table, &facts);
    fprintf(stderr, "cuckoo: %s: %s %s\n", what, sw_status_text(status), facts.failure);
    return false;
}

static bool cuckoo_clear(void *table)
{
    struct under_test *self = table;
    return succeeded(self, sw_cuckoo_clear(self->table), "clear");
}

static bool cuckoo_insert(void *table, const uint32_t *keys, uint64_t count,
                          struct sw_cbench_inserted *inserted)
{
    struct under_test *self = table;
    struct sw_cuckoo_facts facts;
    int status = sw_cuckoo_insert(self->table, keys, NULL, count);
    sw_cuckoo_facts(self->table, &facts);
    inserted->rehashes = facts.rehashes;
    inserted->left = facts.left;
    if (status == SW_E_FULL) {
        status = sw_cuckoo_take_left(self->table, self->left, NULL);
    }
    return succeeded(self, status, "insert");
}

static bool cuckoo_find(void *table, const uint32_t *keys, uint32_t *found, uint64_t count)
{
    struct under_test *self = table;
    return succeeded(self, sw_cuckoo_find(self->table, keys, NULL, found, count), "look-up");
}

static void cuckoo_facts(void *table, struct sw_cbench_facts *facts)
{
    struct under_test *self = table;
    struct sw_cuckoo_facts own;
    sw_cuckoo_facts(self->table, &own);
    facts->cells = own.cells;
    facts->slot_bits = 32;
    facts->bytes = own.bytes_reserved;
}

const struct sw_cbench_library sw_cbench_cuckoo = {
    .open = cuckoo_open,
    .close = cuckoo_close,
    .clear = cuckoo_clear,
    .insert = cuckoo_insert,
    .find = cuckoo_find,
    .facts = cuckoo_facts,
};
