/* SPDX-License-Identifier: MIT
 *
 * prefill.c - frames drawn before a run (see prefill.h).
 */
#include "bench/load/prefill.h"

#include <sys/mman.h>

#define PAGE 4096

static size_t pages(uint64_t bytes)
{
    return (size_t)((bytes + PAGE - 1) / PAGE * PAGE);
}

uint64_t sw_load_prefill_bytes(const struct sw_load_workload *workload, uint32_t frames,
                               uint32_t frame)
{
    return frames * (uint64_t)(pages((uint64_t)frame * workload->key_bytes) +
                               pages((uint64_t)frame * workload->value_bytes));
}

bool sw_load_prefill_init(struct sw_load_prefill *prefill, const struct sw_load_workload *workload,
                          const struct sw_load_distribution *distribution, uint64_t random,
                          uint32_t frames, uint32_t frame)
{
    *prefill = (struct sw_load_prefill){
        .keys_bytes = pages((uint64_t)frame * workload->key_bytes),
        .values_bytes = pages((uint64_t)frame * workload->value_bytes),
        .bytes = (size_t)sw_load_prefill_bytes(workload, frames, frame),
    };
    void *memory =
        mmap(NULL, prefill->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    (void)madvise(memory, prefill->bytes, MADV_HUGEPAGE);
    prefill->memory = memory;
    prefill->frames = frames;
    uint64_t first = random % workload->keys;
    for (uint32_t i = 0; i < frames; i++) {
        void *keys, *values;
        sw_load_prefill_take(prefill, &keys, &values);
        if (distribution->kind == SW_LOAD_SEQUENTIAL) {
            sw_load_fill_range(workload, first + (uint64_t)i * frame, frame, keys);
        } else {
            sw_load_fill_drawn(workload, distribution, &random, frame, keys);
        }
        sw_load_fill_values(workload, keys, frame, values);
    }
    return true;
}

void sw_load_prefill_fini(struct sw_load_prefill *prefill)
{
    if (prefill->memory) {
        munmap(prefill->memory, prefill->bytes);
    }
    *prefill = (struct sw_load_prefill){.frames = 0};
}

void sw_load_prefill_take(struct sw_load_prefill *prefill, void **keys, void **values)
{
    char *at = prefill->memory + prefill->next * (prefill->keys_bytes + prefill->values_bytes);
    *keys = at;
    *values = at + prefill->keys_bytes;
    prefill->next = (prefill->next + 1) % prefill->frames;
}
