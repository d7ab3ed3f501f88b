/* SPDX-License-Identifier: MIT
 *
 * prefill.c - frames drawn before a run (see prefill.h).
 */
#include "bench/load/prefill.h"

#include "bench/load/random.h"

#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096

static size_t pages(uint64_t bytes)
{
    return (size_t)((bytes + PAGE - 1) / PAGE * PAGE);
}

static size_t keys_bytes(const struct sw_load_workload *workload, uint32_t frame)
{
    return pages((uint64_t)frame * workload->key_bytes);
}

static size_t values_bytes(const struct sw_load_workload *workload, uint32_t frame)
{
    return pages((uint64_t)frame * workload->value_bytes);
}

uint64_t sw_load_prefill_bytes(const struct sw_load_workload *workload, uint32_t frames,
                               uint32_t frame)
{
    return frames * (uint64_t)(keys_bytes(workload, frame) + values_bytes(workload, frame));
}

/* Allocates memory for the frames, and sets the address of each. */
static bool lay_out(struct sw_load_prefill *prefill, const struct sw_load_prefill_plan *plan)
{
    const struct sw_load_workload *workload = plan->workload;
    *prefill = (struct sw_load_prefill){
        .bytes = (size_t)sw_load_prefill_bytes(workload, plan->frames, plan->frame),
        .each = calloc(plan->frames, sizeof(*prefill->each)),
    };
    if (!prefill->each) {
        return false;
    }
    char *at = plan->memory;
    if (!at) {
        at = mmap(NULL, prefill->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) {
            return false;
        }
        (void)madvise(at, prefill->bytes, MADV_HUGEPAGE);
        prefill->memory = at;
    }
    prefill->frames = plan->frames;
    for (uint32_t i = 0; i < plan->frames; i++) {
        prefill->each[i].keys = at;
        at += keys_bytes(workload, plan->frame);
        prefill->each[i].values = at;
        at += values_bytes(workload, plan->frame);
    }
    return true;
}

/* Draws frame i of a run with several tables. */
static void draw_of_tables(const struct sw_load_prefill_plan *plan, uint32_t i, uint64_t *random,
                           struct sw_load_prefilled *one)
{
    const uint32_t parts = plan->by_segments ? plan->tables : 1;
    const uint32_t each = plan->frame / parts;
    const uint32_t turn = plan->by_segments ? i : i / plan->tables; /* of this table's frames */
    one->table = plan->by_segments ? 0 : i % plan->tables;
    for (uint32_t t = 0; t < parts; t++) {
        const struct sw_load_workload own =
            sw_load_workload_of_table(plan->workload, plan->tables, one->table + t);
        char *keys = (char *)one->keys + (size_t)t * each * own.key_bytes;
        if (plan->distribution->kind == SW_LOAD_SEQUENTIAL) {
            sw_load_fill_range(&own, (uint64_t)turn * each % own.keys, each, keys);
        } else {
            sw_load_fill_drawn(&own, plan->distribution, random, each, keys);
        }
    }
}

bool sw_load_prefill_init(struct sw_load_prefill *prefill, const struct sw_load_prefill_plan *plan)
{
    const struct sw_load_workload *workload = plan->workload;
    uint64_t random = plan->random;
    if (!lay_out(prefill, plan)) {
        return false;
    }
    uint64_t first = random % workload->keys;
    for (uint32_t i = 0; i < plan->frames; i++) {
        struct sw_load_prefilled *one = &prefill->each[i];
        const uint32_t choice = plan->frame - plan->frame_min + 1;
        one->count = plan->frame_min + (uint32_t)sw_load_random_below(&random, choice);
        if (plan->mix) {
            one->operation = (uint8_t)sw_load_mix_draw(plan->mix, sw_load_random(&random));
        }
        if (plan->tables > 0) {
            draw_of_tables(plan, i, &random, one);
        } else if (plan->distribution->kind == SW_LOAD_SEQUENTIAL) {
            sw_load_fill_range(workload, first + (uint64_t)i * plan->frame, plan->frame, one->keys);
        } else {
            sw_load_fill_drawn(workload, plan->distribution, &random, plan->frame, one->keys);
        }
        sw_load_fill_values(workload, one->keys, plan->frame, one->values);
    }
    return true;
}

bool sw_load_prefill_all(struct sw_load_prefill *prefill, const struct sw_load_workload *workload,
                         uint32_t frame)
{
    const struct sw_load_distribution sequential = {.kind = SW_LOAD_SEQUENTIAL};
    const struct sw_load_prefill_plan plan = {
        .workload = workload,
        .distribution = &sequential,
        .frames = (uint32_t)((workload->keys + frame - 1) / frame),
        .frame = frame,
        .frame_min = frame,
    };
    return sw_load_prefill_init(prefill, &plan);
}

void sw_load_prefill_fini(struct sw_load_prefill *prefill)
{
    if (prefill->memory) {
        munmap(prefill->memory, prefill->bytes);
    }
    free(prefill->each);
    *prefill = (struct sw_load_prefill){.frames = 0};
}

const struct sw_load_prefilled *sw_load_prefill_take(struct sw_load_prefill *prefill)
{
    const struct sw_load_prefilled *one = &prefill->each[prefill->next];
    prefill->next = (prefill->next + 1) % prefill->frames;
    return one;
}
