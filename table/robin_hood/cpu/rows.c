/* SPDX-License-Identifier: MIT
 *
 * rows.c - batches of a table with rows, for both widths.
 */
#include "table/robin_hood/cpu/rows.h"

#include <string.h>

#include "proto/ops/range_apply.h"
#include "table/robin_hood/cpu/admit.h"
#include "table/robin_hood/cpu/expiry.h"
#include "table/robin_hood/cpu/key_strings.h"
#include "table/robin_hood/cpu/parallel.h"
#include "table/robin_hood/cpu/row_image.h"
#include "table/robin_hood/rows.h"

/* Reads run in blocks of one word of `found`; threads take chunks of blocks. */
#define SW_ROWS_BLOCK 64U
#define SW_ROWS_CHUNK 1024U
/* From this number of copied bytes a batch uses all threads, even if it has few keys. */
#define SW_ROWS_PARALLEL_BYTES (1ULL << 20)

struct row_reads {
    const struct sw_cpu *cpu;
    struct sw_batch *batch;
    uint64_t next; /* operation, atomic */
};

/* Returns whether the present key of read i has not expired. Also writes its expiry time to
 * expires_out. */
static bool is_unexpired(const struct sw_cpu *cpu, const struct sw_batch *batch, uint32_t i,
                         uint64_t key)
{
    const uint64_t at = sw_expiry_of(cpu->expiry, key);
    const bool lives = at == 0 || at > batch->clock_ms;
    if (batch->expires_out != NULL) {
        batch->expires_out[i] = lives ? at : 0;
    }
    return lives;
}

/* Answers operation i with its key's row; row NULL: with zeros. */
static void answer_row(const struct sw_batch *batch, uint32_t i, uint32_t bytes, const uint8_t *row)
{
    uint8_t *to = (uint8_t *)batch->previous + (size_t)i * bytes;
    if (row != NULL) {
        memcpy(to, row, bytes);
    } else {
        memset(to, 0, bytes);
    }
}

/* Refuses the group of operation i in a read batch, because the key has another key string. All
 * threads write the same value for one group. */
static void refuse_collision(struct sw_batch *batch, uint32_t i)
{
    uint32_t low = 0, high = batch->group_count;
    while (low < high) { /* the first group that ends after i */
        const uint32_t middle = low + (high - low) / 2;
        if (batch->group_ends[middle] > i) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if (batch->group_count > 0 && batch->group_refused != NULL) {
        __atomic_store_n(&batch->group_refused[low], SW_REFUSED_COLLISION, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&batch->status, SW_E_FULL, __ATOMIC_RELAXED);
}

/* Refuses the groups of the operations [begin, end) in a read batch whose key strings differ from
 * those in rows[]. */
static void compare_key_strings(const struct sw_arena *arena, struct sw_batch *batch,
                                uint32_t begin, uint32_t end, const uint8_t *const *rows)
{
    for (uint32_t i = begin; i < end; i++) {
        const uint8_t *row = rows[i - begin];
        if (row != NULL && sw_key_strings_collide(arena, sw_key_string_of_row(arena, row),
                                                  sw_key_string_of_operation(arena, batch, i))) {
            refuse_collision(batch, i);
        }
    }
}

/* Returns the operand of operation i. */
static const uint8_t *operand_of(const struct sw_arena *arena, const struct sw_batch *batch,
                                 uint32_t i)
{
    return (const uint8_t *)batch->values +
           (size_t)i * arena->value_bytes * (batch->wide_operands ? 2 : 1);
}

/* Adds the numbers of an operand, of 16 or 32 bits, to the 16-bit numbers of a row. */
#define ADD_TO_16(type)                                                                      \
    static void add_to_##type(uint16_t *row, const void *operand, uint32_t count, bool wide) \
    {                                                                                        \
        for (uint32_t k = 0; k < count && wide; k++) {                                       \
            row[k] = sw_row_sum_##type(row[k], SW_LOAD_ONCE((const uint32_t *)operand + k)); \
        }                                                                                    \
        for (uint32_t k = 0; k < count && !wide; k++) {                                      \
            const uint16_t number = SW_LOAD_ONCE((const uint16_t *)operand + k);             \
            row[k] = sw_row_sum_##type(row[k], sw_row_of_##type(number));                    \
        }                                                                                    \
    }
ADD_TO_16(f16)
ADD_TO_16(bf16)

/* Carries out an operation of SW_OPS_BITS on a row. The verb is a constant in each loop. */
static void change_bits(const uint32_t *operand, uint32_t op, uint32_t bytes, uint32_t *row)
{
#define SW_ROW(name, number, its_op, verb, ...)                                    \
    if ((int)SW_VERB_REPEATED_##verb == (int)SW_REPEATED_BITS && op == (its_op)) { \
        for (uint32_t k = 0; k < bytes / sizeof(*row); k++) {                      \
            sw_verb_apply_s64(SW_VERB_##verb, SW_WHEN_ALWAYS, true, row[k],        \
                              SW_LOAD_ONCE(operand + k), &row[k]);                 \
        }                                                                          \
    }
    SW_INTEGER_OPERATION_MAP(SW_ROW)
#undef SW_ROW
}

/* Changes a row by an operand: with bit operations, or by adding number by number; integers wrap
 * around. Loads each element of the operand once, since others may change it meanwhile. */
static void update_row(const struct sw_batch *batch, const void *operand, uint32_t op,
                       uint32_t bytes, uint8_t *row)
{
    const uint32_t *from = operand;
    uint32_t *to = (uint32_t *)(void *)row;
    if (SW_OPS_HAS(SW_OPS_BITS, op)) {
        change_bits(from, op, bytes, to);
    } else if (SW_OPS_HAS(SW_OPS_U64, op)) {
        const uint64_t *wide = operand;
        for (uint32_t k = 0; k < bytes / sizeof(*wide); k++) {
            ((uint64_t *)(void *)row)[k] += SW_LOAD_ONCE(wide + k);
        }
    } else if (SW_OPS_HAS(SW_OPS_F32, op)) {
        for (uint32_t k = 0; k < bytes / sizeof(*from); k++) {
            to[k] = sw_row_sum_f32(to[k], SW_LOAD_ONCE(from + k));
        }
    } else if (SW_OPS_HAS(SW_OPS_F64, op)) {
        const uint64_t *wide = operand;
        for (uint32_t k = 0; k < bytes / sizeof(*wide); k++) {
            uint64_t *number = (uint64_t *)(void *)row + k;
            *number = sw_row_sum_f64(*number, SW_LOAD_ONCE(wide + k));
        }
    } else if (SW_OPS_HAS(SW_OPS_F16, op)) {
        add_to_f16((uint16_t *)(void *)row, operand, bytes / 2, batch->wide_operands);
    } else if (SW_OPS_HAS(SW_OPS_BF16, op)) {
        add_to_bf16((uint16_t *)(void *)row, operand, bytes / 2, batch->wide_operands);
    } else {
        for (uint32_t k = 0; k < bytes / sizeof(*from); k++) {
            to[k] += SW_LOAD_ONCE(from + k);
        }
    }
}

/* Replaces the row if its first bytes are those of the expected one. */
static void swap_row(const struct sw_arena *arena, const struct sw_batch *batch, uint32_t i,
                     const uint8_t *operand, uint8_t *row)
{
    const uint8_t *expected = (const uint8_t *)batch->expected + (size_t)i * arena->value_bytes;
    if (memcmp(row, expected, batch->ranges[i]) == 0) {
        memcpy(row, operand, arena->value_bytes - arena->key_string_bytes);
    }
}

/* Changes a row by operation i, which is not a SET: so the common operation stays short. */
__attribute__((noinline)) static void change_row(const struct sw_arena *arena,
                                                 const struct sw_batch *batch, uint32_t i,
                                                 bool found, const uint8_t *operand, uint8_t *row)
{
    const uint32_t op = sw_cpu_op_at(batch, i);
    const uint32_t bytes = arena->value_bytes - arena->key_string_bytes;
    if (!found) {
        memset(row, 0, bytes);
    }
    if (sw_row_updates(op)) {
        update_row(batch, operand, op, bytes, row);
    } else if (SW_OPS_HAS(SW_OPS_PART, op)) {
        sw_range_apply(batch->ranges[i], row, bytes, operand);
    } else if (SW_OPS_HAS(SW_OPS_FITTING, op)) {
        sw_numbers_apply(op, row, operand, bytes, 0, 1);
    } else if (SW_OPS_HAS(SW_OPS_PAIR, op)) {
        swap_row(arena, batch, i, operand, row);
    } else {
        struct sw_string_space space;
        sw_string_apply(sw_string_verb(op), found, row, operand, bytes - SW_STRING_HEAD_BYTES,
                        &space);
    }
}

/* Carries out operation i on its key's row, which counts as zeros if the key was absent. Others may
 * change the operand meanwhile, except its key string. */
static inline void write_row(const struct sw_arena *arena, const struct sw_batch *batch, uint32_t i,
                             bool found, uint8_t *row)
{
    const uint32_t op = sw_cpu_op_at(batch, i);
    const uint32_t bytes = arena->value_bytes - arena->key_string_bytes;
    const uint8_t *operand = operand_of(arena, batch, i);
    if (sw_row_updates(op) || sw_row_is_in_order(op)) {
        change_row(arena, batch, i, found, operand, row);
    } else {
        sw_copy_once(row, operand, bytes);
    }
    if (arena->key_string_bytes > 0 && (!found || sw_key_string_of_row(arena, operand) != NULL)) {
        memcpy(row + bytes, operand + bytes, arena->key_string_bytes);
    }
}

/* The effect of an operation on the bytes of a row. */
struct row_effect {
    uint32_t row; /* SW_NO_ROW: the key has no row */
    bool found;   /* the key was present and had this row */
    bool writes;
    bool answers; /* the answer is the row before the operation */
    bool fresh;   /* the row was never used before: no earlier operation of the batch has it */
};
#define SW_NO_ROW UINT32_MAX /* never used as a row number */

static inline void carry_out(const struct sw_arena *arena, const struct sw_batch *batch, uint32_t i,
                             struct row_effect effect)
{
    uint8_t *row = effect.row != SW_NO_ROW ? sw_arena_row(arena, effect.row) : NULL;
    if (effect.answers) {
        answer_row(batch, i, arena->value_bytes, effect.found ? row : NULL);
    }
    if (effect.writes) {
        write_row(arena, batch, i, effect.found, row);
    }
}

struct row_effects {
    const struct sw_arena *arena;
    const struct sw_batch *batch;
    struct row_effect
        *effects; /* [batch->count], filled from `first` on; NULL: nothing is deferred */
    uint32_t first, left;
};

/* Number of neighbouring rows, which may share a cache line, that one thread processes. */
#define SW_ROWS_COMBINED 64U

static bool is_of(struct row_effect effect, uint32_t i, uint32_t thread, uint32_t threads)
{
    const uint32_t lot = (effect.row != SW_NO_ROW ? effect.row : i) / SW_ROWS_COMBINED;
    return (uint64_t)(lot * 0x9e3779b1U) * threads >> 32 == thread;
}

/* Carries out the effects on the rows of this thread, in order. A row that was freed and reused
 * keeps its thread, so the thread answers from the row before it writes the row. */
static void carry_out_job(void *context, uint32_t thread, uint32_t threads)
{
    const struct row_effects *all = context;
    const struct row_effect *effects = all->effects;
    const uint32_t count = all->batch->count;
    for (uint32_t i = all->first; i < count; i++) {
        const uint32_t ahead = i + SW_CPU_AHEAD;
        if (ahead < count && effects[ahead].row != SW_NO_ROW &&
            is_of(effects[ahead], ahead, thread, threads)) {
            sw_row_prefetch(sw_arena_row(all->arena, effects[ahead].row), all->arena->value_bytes);
        }
        if (is_of(effects[i], i, thread, threads)) {
            carry_out(all->arena, all->batch, i, effects[i]);
        }
    }
}

/* Carries out the effect of operation i on its row, or defers it to all threads. A fresh row is
 * written immediately, since no deferred effect concerns it. This is cheap, since such rows are
 * neighbours; several threads would wait for the same new pages. */
static inline void carry_out_or_leave(struct row_effects *all, uint32_t i, struct row_effect effect)
{
    const bool leave = all->effects != NULL && !effect.fresh && (effect.writes || effect.answers);
    if (!leave) {
        carry_out(all->arena, all->batch, i, effect);
    } else if (all->left++ == 0) {
        all->first = i;
    }
    if (all->left > 0) {
        all->effects[i] = leave ? effect : (struct row_effect){.row = SW_NO_ROW};
    }
}

/* Carries out the deferred effects, on all threads if they copy enough bytes. */
static void carry_out_left(struct sw_cpu *cpu, struct row_effects *all)
{
    if ((uint64_t)all->left * cpu->arena.value_bytes >= SW_ROWS_PARALLEL_BYTES) {
        sw_pool_run(cpu->pool, carry_out_job, all);
    } else if (all->left > 0) {
        carry_out_job(all, 0, 1);
    }
}

#define RH_FIELD SW_WIDTH_SUFFIX
#define SW_WIDTH_BODY "table/robin_hood/cpu/rows.inl"
#include "table/each_width.inl"
