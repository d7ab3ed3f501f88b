/* SPDX-License-Identifier: MIT
 *
 * capacity.c - derives the number of slots at start and at most, if capacity or max-capacity is
 * auto.
 */
#include <stdint.h>
#include <uv.h>

#include "server/config/options.h"
#include "server/limits.h"
#include "server/observe/gpu.h"
#include "table/configuration.h"
#include "table/status.h"

/* The first slots and their values take at most FIRST_BYTES_MAX, and at most 1/FIRST_PART of the
 * memory. */
#define FIRST_BYTES_MAX (640ULL << 20)
#define FIRST_PART 4
#define FIRST_SLOTS_MAX (16ULL << 20)
#define FIRST_SLOTS_MIN (64ULL << 10)
/* During growth, the old slots, the new slots and all rows take at most 1/GROWN_PART of the memory.
 * The rest is for images of the table while it is saved, for I/O and for other programs. */
#define GROWN_PART 2
/* If the first rows are in GPU memory and the others in host memory, 1/MIXED_PART of the GPU's
 * memory is for slots. */
#define MIXED_PART 8
#define GROWN_SLOTS_MAX (1ULL << 40)
/* Most rows of a table whose max-capacity is auto. Every backend can number this many rows. */
#define GROWN_ROWS_MAX (1ULL << 30)
/* Address space that the table and the arenas do not include. LOOP_SPACE: the stack of a loop's
 * thread, and the heap that malloc reserves for it. PROGRAM_SPACE: the program, its libraries and
 * its other threads. */
#define LOOP_SPACE (128ULL << 20)
#define PROGRAM_SPACE (512ULL << 20)
/* measure() divides the bytes of a table of this many slots by this number. In so large a table the
 * fixed costs are negligible. */
#define LARGE_SLOTS (1ULL << 30)

/* Bytes of a slot, and of the row that belongs to it. */
struct shares {
    double slot, row;
};

static double bytes_a_slot(const struct sw_table_config *table)
{
    return (double)sw_table_config_bytes(table) / (double)LARGE_SLOTS;
}

/* Fills `shares`. Returns false if no table of this configuration is possible:
 * sw_config_check_table reports why. */
static bool measure(const struct sw_config *config, struct shares *shares)
{
    struct sw_table_config table;
    sw_config_table(config, &table);
    table.capacity_slots = LARGE_SLOTS;
    table.max_capacity_slots = 0;
    table.rows_max = 0;
    shares->slot = bytes_a_slot(&table);
    shares->row = 0;
    if (shares->slot > 0 && sw_config_has_rows(config)) {
        const double both = shares->slot;
        table.value_bytes = 0;
        table.key_text_bytes = 0;
        table.rows_in = SW_ROWS_IN_GPU;
        table.rows_gpu_bytes = 0;
        shares->slot = bytes_a_slot(&table);
        shares->row = both - shares->slot;
    }
    return shares->slot > 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint32_t sw_config_loops(const struct sw_config *config)
{
    const unsigned cores = uv_available_parallelism();
    const unsigned half = cores < 2 ? 1 : cores / 2;
    return config->loops > 0 ? config->loops : half < SW_LOOPS_MAX ? half : SW_LOOPS_MAX;
}

/* Sets the memory for slots and for rows. The table may have `host` bytes of host memory and, if
 * `of_device` is not NULL, *of_device bytes of GPU memory. */
static void ask_memory(const struct sw_config *config, uint64_t host, const uint64_t *of_device,
                       struct sw_config_memory *memory)
{
    memory->host = memory->slots = memory->rows = host;
    if (of_device == NULL) {
        return;
    }
    const uint64_t device = *of_device;
    if (config->backend == SW_BACKEND_AUTO) {
        /* if no device answers, the table will be in host memory */
        memory->slots = device == SW_GPU_UNKNOWN ? memory->host : least(memory->host, device);
    } else {
        memory->slots = device == SW_GPU_UNKNOWN ? 0 : device;
    }
    memory->rows = config->rows_in == SW_ROWS_IN_GPU ? memory->slots : memory->host;
    if (config->rows_in == SW_ROWS_IN_GPU_HOST) {
        memory->slots /= MIXED_PART; /* the rest of the GPU's memory is for rows */
    }
}

void sw_config_ask_memory(const struct sw_config *config, struct sw_config_memory *memory)
{
    const uint64_t beside =
        PROGRAM_SPACE + sw_config_loops(config) * (config->arena_bytes + LOOP_SPACE);
    const uint64_t left = sw_table_host_memory(beside);
    struct sw_table_config table;
    uint64_t device = 0;
    const uint64_t *of_device = NULL;
    sw_config_table(config, &table);
    if (sw_table_config_may_use_device(&table)) {
        device = sw_gpu_memory_least(SW_NVML_LIBRARY);
        of_device = &device;
    }
    ask_memory(config, sw_table_host_memory(0), of_device, memory);
    memory->first = least(memory->slots, memory->rows);
    if (left != memory->host) {
        ask_memory(config, left, of_device, memory);
    }
}

static uint64_t first_slots(const struct shares *shares, const struct sw_config_memory *memory)
{
    const uint64_t room = memory->first / FIRST_PART;
    const double bytes = (double)(room > 0 ? least(FIRST_BYTES_MAX, room) : FIRST_BYTES_MAX);
    uint64_t slots = FIRST_SLOTS_MAX;
    /* 1.001: the bytes of a slot include a small share of the buckets behind the last one */
    while (slots > FIRST_SLOTS_MIN &&
           (double)slots * (shares->slot + shares->row) > bytes * 1.001) {
        slots /= 2;
    }
    return slots;
}

/* Returns true if the memory has room for a table of `slots` slots beside the half as large one
 * that it grows from, and if such a table is possible. */
static bool fits(const struct sw_config *config, const struct shares *shares,
                 const struct sw_config_memory *memory, uint64_t slots)
{
    struct sw_config grown = *config;
    struct sw_table_config table;
    const double slot_bytes = 1.5 * (double)slots * shares->slot;
    double rows = (double)slots;
    if (config->rows_max > 0 && (double)config->rows_max < rows * config->max_load) {
        rows = (double)config->rows_max / config->max_load;
    }
    const double row_bytes = rows * shares->row;
    const bool apart = sw_config_has_rows(config) && memory->rows != memory->slots;
    const bool holds = apart ? slot_bytes <= (double)memory->slots / GROWN_PART &&
                                   row_bytes <= (double)memory->rows / GROWN_PART
                             : slot_bytes + row_bytes <= (double)memory->slots / GROWN_PART;
    grown.max_capacity = slots;
    sw_config_table(&grown, &table);
    return holds && slots <= GROWN_SLOTS_MAX &&
           (shares->row == 0 || rows * config->max_load <= (double)GROWN_ROWS_MAX) &&
           sw_table_config_check(&table, NULL, 0) == SW_OK;
}

/* By default a table grows if its engine can grow and its probe cap is derived. A table hardly ever
 * reaches a derived cap. */
static bool may_grow(const struct sw_config *config)
{
    return config->engine == SW_ENGINE_ROBIN_HOOD && config->max_probe == 0;
}

void sw_config_fit_table(struct sw_config *config, const struct sw_config_memory *memory)
{
    struct shares shares = {0};
    const bool known = measure(config, &shares);
    const bool grows = config->max_capacity != 0 && config->max_capacity != SW_CONFIG_AUTO;
    if (config->capacity == SW_CONFIG_AUTO) {
        config->derived |= SW_DERIVED_CAPACITY;
        config->capacity = known ? first_slots(&shares, memory) : FIRST_SLOTS_MAX;
        if (sw_config_numbers_slots(config)) {
            config->capacity = grows ? least(config->capacity, config->ids) : config->ids;
        }
        if (config->max_capacity != 0) {
            config->capacity = least(config->capacity, config->max_capacity);
        }
    }
    if (config->max_capacity == SW_CONFIG_AUTO) {
        config->derived |= SW_DERIVED_MAX_CAPACITY;
        config->max_capacity = 0;
        if (known && may_grow(config)) {
            uint64_t slots = config->capacity;
            while (fits(config, &shares, memory, slots * 2)) {
                slots *= 2;
            }
            config->max_capacity = slots > config->capacity ? slots : 0;
        }
    }
}
