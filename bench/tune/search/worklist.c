/* SPDX-License-Identifier: MIT
 *
 * worklist.c - reads kernels and lists the variants that the command line selects.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/tune/search/search.h"

/* A product and its place in the order. */
struct entry {
    uint32_t round; /* 0: base; then as it is drawn within its workload */
    uint32_t order; /* of workloads */
    struct sw_tune_product product;
};

struct entries {
    struct entry *list;
    uint32_t count;
    uint32_t workloads;
};

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static bool add(struct entries *entries, struct sw_tune_kernel *kernel, uint32_t workload,
                const struct sw_tune_variant *variant, bool is_base)
{
    if ((entries->count & (entries->count - 1)) == 0) { /* full: room for twice as many */
        size_t room = entries->count == 0 ? 1 : 2 * (size_t)entries->count;
        struct entry *list = realloc(entries->list, room * sizeof(*list));
        if (list == NULL) {
            return false;
        }
        entries->list = list;
    }
    struct entry *entry = &entries->list[entries->count++];
    memset(entry, 0, sizeof(*entry));
    entry->order = entries->workloads;
    entry->product.kernel = kernel;
    entry->product.workload = workload;
    entry->product.variant = *variant;
    entry->product.is_base = is_base;
    return true;
}

/* Numbers the entries from `first` on, all of one workload, in a shuffled order. */
static void shuffle(struct entries *entries, uint32_t first)
{
    uint64_t state = entries->workloads + 1;
    for (uint32_t i = first; i < entries->count; i++) {
        uint32_t j = first + (uint32_t)(next_random(&state) % (i - first + 1));
        entries->list[i].round = entries->list[j].round;
        entries->list[j].round = i - first + 1;
    }
}

static bool add_workload(struct entries *entries, const struct sw_tune_search_options *options,
                         struct sw_tune_kernel *kernel, uint32_t workload)
{
    const struct sw_tune_space *space = kernel->space;
    struct sw_tune_variant variant;
    char name[SW_TUNE_TEXT_MAX];
    sw_tune_variant_base(space, &variant);
    if (!add(entries, kernel, workload, &variant, true)) {
        return false;
    }
    uint32_t first = entries->count;
    for (uint64_t v = 0; v < sw_tune_variant_count(space, workload); v++) {
        sw_tune_variant_at(space, workload, v, &variant);
        sw_tune_variant_name(space, workload, &variant, name);
        if (!sw_tune_variant_is_base(space, workload, &variant) &&
            sw_tune_selects_variant(&options->select, name) &&
            !add(entries, kernel, workload, &variant, false)) {
            return false;
        }
    }
    shuffle(entries, first);
    entries->workloads++;
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    if (x->round != y->round) {
        return x->round < y->round ? -1 : 1;
    }
    return (x->order > y->order) - (x->order < y->order);
}

/* Into products, in order, with the names of their files. */
static bool name_products(struct sw_tune_worklist *worklist, struct entries *entries,
                          const struct sw_tune_search_options *options,
                          struct sw_tune_reason *reason)
{
    if (entries->count == 0) {
        return sw_tune_refuse(reason, "nothing is selected: the filters leave no workload");
    }
    qsort(entries->list, entries->count, sizeof(entries->list[0]), compare);
    worklist->products = calloc(entries->count, sizeof(worklist->products[0]));
    if (worklist->products == NULL) {
        return sw_tune_refuse(reason, "not enough memory");
    }
    for (; worklist->count < entries->count; worklist->count++) {
        worklist->products[worklist->count] = entries->list[worklist->count].product;
        if (!sw_tune_product_name(&worklist->products[worklist->count], &options->tools, reason)) {
            return false;
        }
    }
    return true;
}

/* The kernels whose names match, and whether the filters fit their axes. */
static bool read_kernels(struct sw_tune_worklist *worklist,
                         const struct sw_tune_search_options *options,
                         struct sw_tune_reason *reason)
{
    for (uint32_t i = 0; i < options->file_count; i++) {
        struct sw_tune_kernel *kernel = &worklist->kernels[worklist->kernel_count];
        uint64_t own = 0;
        uint64_t tuned = 0;
        if (!sw_tune_space_read(options->files[i], &kernel->space, reason)) {
            return false;
        }
        if (!sw_tune_selects_kernel(&options->select, kernel->space->kernel)) {
            free(kernel->space);
            kernel->space = NULL;
            continue;
        }
        worklist->kernel_count++;
        /* the file that is tuned counts even if the kernel does not include it */
        if (!sw_tune_selection_fits(&options->select, kernel->space, reason) ||
            !sw_tune_hash_sources(options->files[i], &own, reason) ||
            !sw_tune_hash_sources(kernel->space->tunes, &tuned, reason)) {
            return false;
        }
        sw_tune_hash_text(tuned, kernel->sources);
        sw_tune_hash_text(sw_tune_hash(own, kernel->sources, strlen(kernel->sources)),
                          kernel->sources);
    }
    return worklist->kernel_count > 0 ||
           sw_tune_refuse(reason, "nothing is selected: no kernel's name matches");
}

bool sw_tune_worklist_make(struct sw_tune_worklist *worklist,
                           const struct sw_tune_search_options *options,
                           struct sw_tune_reason *reason)
{
    struct entries entries = {.list = NULL};
    memset(worklist, 0, sizeof(*worklist));
    bool good = read_kernels(worklist, options, reason);
    for (uint32_t k = 0; good && k < worklist->kernel_count; k++) {
        const struct sw_tune_space *space = worklist->kernels[k].space;
        for (uint32_t w = 0; good && w < sw_tune_point_count(space, true); w++) {
            if (sw_tune_point_taken(space, true, w, options->select.filters,
                                    options->select.filter_count) &&
                !add_workload(&entries, options, &worklist->kernels[k], w)) {
                good = sw_tune_refuse(reason, "not enough memory");
            }
        }
    }
    good = good && name_products(worklist, &entries, options, reason);
    free(entries.list);
    if (!good) {
        sw_tune_worklist_free(worklist);
    }
    return good;
}

void sw_tune_worklist_free(struct sw_tune_worklist *worklist)
{
    for (uint32_t k = 0; k < SW_TUNE_KERNELS_MAX; k++) {
        free(worklist->kernels[k].space);
    }
    free(worklist->products);
    memset(worklist, 0, sizeof(*worklist));
}
