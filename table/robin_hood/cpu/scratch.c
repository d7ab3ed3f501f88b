/* SPDX-License-Identifier: MIT
 *
 * scratch.c - the scratch of write batches, in memory that a batch borrows from the device.
 */
#include "table/host/memory.h"
#include "table/robin_hood/cpu/admit.h"
#include "table/robin_hood/cpu/parallel.h"

/* Cuts the scratch's arrays from one area and returns its size. With a base of NULL it only
 * counts. */
static uint64_t cut_scratch(struct sw_cpu *cpu, uint8_t *base)
{
    const uint32_t threads = sw_pool_threads(cpu->pool);
    struct sw_cpu_scratch *scratch = &cpu->scratch;
    const uint32_t format = sw_cpu_format(cpu);
    /* a set has the same records */
    uint64_t undo =
        cpu->config.slot_bits == 64 ? sizeof(struct sw_undo_s64) : sizeof(struct sw_undo_s128);
    uint64_t record = sw_parallel_record_bytes(cpu->config.slot_bits);
    record = undo > record ? undo : record;
    /* each array begins at a cache line */
    uint64_t ops = ((uint64_t)cpu->config.batch_ops_max + 63) / 64 * 64;
    uint64_t entries_at = ops * record;
    uint64_t index_at = entries_at + ops * sw_format_slot_bytes(format);
    uint64_t key = cpu->config.slot_bits / 16;
    uint64_t offsets_at = index_at + ops * (threads > 1 ? SW_PARALLEL_INDEX_BYTES : key);
    uint64_t slices = (uint64_t)threads * SW_CPU_SLICES_PER_THREAD;
    uint64_t key_strings_at =
        offsets_at + (threads > 1 ? slices * SW_CPU_PARTITIONS * sizeof(uint32_t) : 0);
    uint64_t key_strings =
        cpu->config.key_text_bytes > 0 ? 2 * ops * sizeof(*scratch->key_strings) : 0;

    if (base != NULL) {
        scratch->records = base;
        scratch->entries = base + entries_at;
        scratch->keys = base + index_at;
        scratch->index = threads > 1 ? (uint32_t *)(void *)(base + index_at) : NULL;
        scratch->offsets = threads > 1 ? (uint32_t *)(void *)(base + offsets_at) : NULL;
        scratch->key_strings =
            key_strings > 0 ? (const uint8_t **)(void *)(base + key_strings_at) : NULL;
    }
    return key_strings_at + key_strings;
}

int sw_cpu_reserve_scratch(struct sw_cpu *cpu)
{
    cpu->scratch.bytes = cut_scratch(cpu, NULL);
    return sw_scratch_reserve(&cpu->device->scratch, cpu->scratch.bytes);
}

void sw_cpu_borrow_scratch(struct sw_cpu *cpu)
{
    struct sw_cpu_scratch *scratch = &cpu->scratch;
    scratch->area = sw_scratch_borrow(&cpu->device->scratch, scratch->area, scratch->bytes);
    if (scratch->memory != scratch->area->memory) {
        scratch->memory = scratch->area->memory;
        (void)cut_scratch(cpu, scratch->memory);
    }
}

void sw_cpu_return_scratch(struct sw_cpu *cpu)
{
    sw_scratch_return(&cpu->device->scratch, cpu->scratch.area);
}

bool sw_cpu_map_scratch(struct sw_cpu *cpu)
{
    void *memory = sw_memory_map(cpu->scratch.bytes);
    if (memory != NULL) {
        cpu->scratch.memory = memory;
        (void)cut_scratch(cpu, memory);
    }
    return memory != NULL;
}

void sw_cpu_unmap_scratch(struct sw_cpu *cpu)
{
    sw_memory_unmap(cpu->scratch.memory, cpu->scratch.bytes);
    cpu->scratch.memory = NULL; /* the next batch that borrows an area cuts it */
}

uint64_t sw_cpu_own_scratch_bytes(const struct sw_cpu *cpu)
{
    return cpu->own_device != NULL ? cpu->scratch.bytes : 0;
}
