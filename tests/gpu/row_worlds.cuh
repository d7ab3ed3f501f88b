/* SPDX-License-Identifier: MIT
 *
 * row_worlds.cuh - worlds of rows, for test_rows_gpu.cu: batches that are drawn, and the model that
 * carries them out one operation after the other.
 */
#ifndef SHERWOOD_TESTS_GPU_ROW_WORLDS_CUH
#define SHERWOOD_TESTS_GPU_ROW_WORLDS_CUH

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/robin_hood/cuda/rows/rows.cuh"
#include "tests/support/random.h"

namespace
{

#define BYTES_MAX 4096
#define UNTOUCHED 0xA5

const uint32_t sizes[] = {4, 8, 12, 16, 20, 32, 60, 64, 256, 1028, 4096};

/* The shape of a world: its table and its batches. */
struct shape {
    uint32_t slot_bits, value_bytes;
    uint32_t number; /* the ADD of its numbers */
    uint32_t keys;
    uint32_t count_max;
    uint32_t batches;
    uint32_t parts_max;
    bool hot;    /* one key has most of the operations */
    bool chains; /* most operations are sums */
    bool plain;  /* all of them are, and no answers are requested */
};

void good(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        printf("%s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

template <typename T> T *host_array(uint64_t count)
{
    void *memory = NULL;
    good(cudaHostAlloc(&memory, count * sizeof(T), cudaHostAllocMapped | cudaHostAllocPortable),
         "memory of the host");
    memset(memory, 0, count * sizeof(T));
    return (T *)memory;
}

template <int BITS> struct world {
    typedef typename sw_width<BITS>::word word;
    struct shape shape;
    struct random random;
    struct sw_cuda_rows rows;
    struct sw_cuda_row_batch<BITS> batch;
    uint64_t rows_max;
    void *scratch;
    bool on_device;   /* the arena, up to its split */
    uint8_t *further; /* the arena after its split */
    /* of a batch */
    uint8_t *ops;
    uint32_t *key_of;
    word *previous;
    uint64_t *found;
    uint32_t *group_ends;
    uint8_t *group_refused;
    int32_t *status;
    struct sw_cuda_parts *parts;
    uint8_t *operands, *answers; /* those of part p begin 32 bytes further than they would */
    uint8_t *expected;
    /* the model */
    uint64_t *row_of; /* of a key; UINT64_MAX: absent */
    uint8_t *contents;
    const char *fault;
};

uint32_t below(struct random *random, uint64_t bound)
{
    return (uint32_t)random_below(random, bound);
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* The distribution of the floats of a batch. */
enum like {
    ODD,        /* of them some are no number, or very small, or anything */
    WHOLE,      /* small integers */
    GRADIENTS,  /* of both signs, alike in size */
    ONE_SIGN,   /* of one sign, alike in size */
    FEW_DIGITS, /* of any size: sums lie half way between two numbers, or leave powers of two */
    FEW_LARGE,  /* what large ones take away depends on the order in which sums are made */
    LIKES
};

uint32_t draw_number(struct random *random, bool is_float, enum like like)
{
    static const uint32_t odd[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000,
                                   0xffc01234, 0x7f800001, 1,          0x807fffff, 0x7f7fffff};
    static const uint32_t whole[] = {0,          0x3f800000, 0x40000000, 0x40400000,
                                     0x40800000, 0x40a00000, 0x40c00000, 0x40e00000};
    const uint32_t any = (uint32_t)random_next(random);
    if (is_float && like != ODD) {
        return like == WHOLE       ? whole[any % 8]
               : like == GRADIENTS ? 0x3f000000U + (any & 0x81ffffffU)
               : like == ONE_SIGN  ? 0x3f000000U + (any & 0x01ffffffU)
               : like == FEW_LARGE
                   ? (any % 128 == 0 ? 0x4e800000U : 0x43000000U + (any & 0x01ffffffU)) |
                         (any & 0x80000000U)
                   : (any & 0x80700000U) + ((0x66U + (any & 31)) << 23);
    }
    if (!is_float || any % 8 == 0) {
        return any;
    }
    if (any % 64 == 1) {
        return odd[below(random, sizeof(odd) / sizeof(odd[0]))];
    }
    return 0x3f000000U | (any & 0x83ffffffU);
}

/* Whether an operation adds numbers of 16 bits. */
bool is_of_16_bits(uint32_t op)
{
    return (SW_OPS_F16 >> op & 1) != 0 || (SW_OPS_BF16 >> op & 1) != 0;
}

/* Whether an operation adds numbers of 8 bytes. */
bool is_of_pairs(uint32_t op)
{
    return (SW_OPS_64_BITS & SW_OPS_ADD) >> op & 1;
}

/* The operation on present keys that is drawn beside one that inserts. */
uint32_t present_of(uint32_t number)
{
    return number == SW_OR         ? (uint32_t)SW_AND
           : number == SW_XOR      ? (uint32_t)SW_ANDNOT
           : number == SW_ADD_F64  ? (uint32_t)SW_ADD_PRESENT_F64
           : is_of_16_bits(number) ? number + SW_ADD_PRESENT_F16 - SW_ADD_F16
                                   : number + SW_ADD_PRESENT_F32 - SW_ADD_F32;
}

/* A batch of wide operands has no other ones. */
uint32_t draw_op(struct random *random, const struct shape &shape, bool wide)
{
    const uint32_t present = present_of(shape.number);
    if (shape.plain || (shape.chains && below(random, 50) != 0)) {
        return shape.number;
    }
    switch (below(random, wide ? 5 : 8)) {
    case 0:
        return SW_GET;
    case 1:
        return SW_DELETE;
    case 2:
        return present;
    case 3:
    case 4:
        return shape.number;
    case 5:
        return SW_SET_ABSENT;
    case 6:
        return SW_SET_PRESENT;
    default:
        return SW_SET;
    }
}

uint32_t draw_key(struct random *random, const struct shape &shape)
{
    return shape.hot && below(random, 4) != 0 ? 0 : below(random, shape.keys);
}

/* Cuts the batch into parts and chunks. */
template <int BITS> void draw_parts(struct world<BITS> *w)
{
    const uint32_t bytes = w->shape.value_bytes;
    const uint32_t align = is_of_pairs(w->shape.number) ? 8 : 4;
    struct sw_cuda_row_batch<BITS> *batch = &w->batch;
    uint32_t first = 0;
    batch->part_count = 0;
    batch->chunks = 0;
    const bool aligned = below(&w->random, 2) == 0;
    while (first < batch->count) {
        const uint32_t p = batch->part_count++;
        const uint32_t left = batch->count - first;
        const bool last = p + 1 == w->shape.parts_max;
        const uint32_t count = last ? left : 1 + below(&w->random, left);
        const uint64_t at = (uint64_t)first * bytes + 32 * p; /* none overlaps the next one */
        const uint64_t odd = aligned ? 0 : below(&w->random, 16 / align) * align;
        const uint64_t even = (at + 15) / 16 * 16;
        const uint64_t wider = batch->wide ? 2 : 1;
        struct sw_cuda_part *part = &w->parts->parts[p];
        *part = {};
        part->values = w->operands + wider * even + odd;
        part->previous =
            !w->shape.plain && below(&w->random, 2) == 0 ? w->answers + even + odd : NULL;
        part->count = count;
        part->first = first;
        part->first_chunk = batch->chunks;
        for (uint32_t c = 0; c < count; c += SW_COMBINED_CHUNK) {
            w->parts->of_chunk[batch->chunks++] = (uint16_t)p;
        }
        first += count;
    }
}

template <int BITS> void draw_groups(struct world<BITS> *w)
{
    const bool refuses = below(&w->random, 3) == 0;
    uint32_t first = 0;
    w->batch.group_count = 0;
    *w->status = SW_OK;
    while (first < w->batch.count) {
        const uint32_t left = w->batch.count - first;
        const uint32_t g = w->batch.group_count++;
        first += 1 + below(&w->random, left < 20 ? left : left / 4);
        w->group_ends[g] = first;
        w->group_refused[g] = refuses && below(&w->random, 4) == 0;
        *w->status = w->group_refused[g] ? SW_E_FULL : *w->status;
    }
}

template <int BITS> void draw_batch(struct world<BITS> *w)
{
    struct sw_cuda_row_batch<BITS> *batch = &w->batch;
    batch->count = 1 + below(&w->random, w->shape.count_max);
    batch->wide = is_of_16_bits(w->shape.number) && below(&w->random, 2) == 0;
    batch->op = draw_op(&w->random, w->shape, batch->wide);
    batch->ops = below(&w->random, 3) == 0 ? NULL : w->ops;
    batch->answers = true; /* some part may */
    batch->inserts = batch->ops != NULL || sw_row_effect(batch->op, false) == SW_EFFECT_WRITE;
    for (uint32_t i = 0; i < batch->count; i++) {
        w->ops[i] =
            (uint8_t)(batch->ops == NULL ? batch->op : draw_op(&w->random, w->shape, batch->wide));
        w->key_of[i] = draw_key(&w->random, w->shape);
    }
    draw_parts<BITS>(w);
    draw_groups<BITS>(w);
    const uint64_t bytes = (uint64_t)batch->count * w->shape.value_bytes + 32 * w->shape.parts_max;
    const enum like like = (enum like)below(&w->random, LIKES);
    for (uint64_t at = 0; at < (batch->wide ? 2 : 1) * bytes / 4; at++) {
        ((uint32_t *)w->operands)[at] = draw_number(
            &w->random,
            w->shape.number == SW_ADD_F32 || w->shape.number == SW_ADD_F64 || batch->wide, like);
    }
    memset(w->answers, UNTOUCHED, bytes);
    memset(w->expected, UNTOUCHED, bytes);
}

/* --- the model -------------------------------------------------------------------------------- */

void add_wide(uint8_t *row, bool brain, const uint8_t *operand, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes; at += 2) {
        uint16_t *to = (uint16_t *)(row + at);
        const uint32_t more = *(const uint32_t *)(operand + 2 * at);
        *to = brain ? sw_row_sum_bf16(*to, more) : sw_row_sum_f16(*to, more);
    }
}

void write_bits(uint8_t *row, uint32_t op, const uint8_t *operand, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes; at++) {
        const uint8_t x = operand[at];
        row[at] = (uint8_t)(op == SW_OR    ? (row[at] & ~x) + x
                            : op == SW_XOR ? (row[at] & ~x) + (x & ~row[at])
                            : op == SW_AND ? row[at] - (row[at] & ~x)
                                           : row[at] & (x ^ 0xff));
    }
}

void write_pair(uint8_t *row, uint32_t op, const uint8_t *operand)
{
    double x, y;
    if (op == SW_ADD_U64 || op == SW_ADD_PRESENT_U64) {
        *(uint64_t *)row += *(const uint64_t *)operand;
        return;
    }
    memcpy(&x, row, 8);
    memcpy(&y, operand, 8);
    const double sum = x + y;
    memcpy(row, &sum, 8);
    if (sum != sum) {
        *(uint64_t *)row = 0x7ff8000000000000;
    }
}

void write_row(uint8_t *row, uint32_t op, const uint8_t *operand, uint32_t bytes)
{
    if (op >= SW_OR && op <= SW_ANDNOT) {
        write_bits(row, op, operand, bytes);
        return;
    }
    if ((SW_OPS_ADD >> op & 1) == 0) {
        memcpy(row, operand, bytes);
        return;
    }
    for (uint32_t at = 0; at < bytes; at += is_of_pairs(op) ? 8 : 4) {
        if (is_of_pairs(op)) {
            write_pair(row + at, op, operand + at);
        } else if (op == SW_ADD_F32 || op == SW_ADD_PRESENT_F32) {
            const uint32_t a = *(uint32_t *)(row + at), b = *(const uint32_t *)(operand + at);
            float x, y;
            memcpy(&x, &a, 4);
            memcpy(&y, &b, 4);
            const float sum = x + y;
            memcpy(row + at, &sum, 4);
            if (sum != sum) {
                *(uint32_t *)(row + at) = 0x7fc00000;
            }
        } else if (op == SW_ADD_U32 || op == SW_ADD_PRESENT_U32) {
            *(uint32_t *)(row + at) += *(const uint32_t *)(operand + at);
        } else {
            const bool brain = op == SW_ADD_BF16 || op == SW_ADD_PRESENT_BF16;
            for (uint32_t half = at; half < at + 4; half += 2) {
                uint16_t *to = (uint16_t *)(row + half);
                const uint16_t more = *(const uint16_t *)(operand + half);
                *to = brain ? sw_row_sum_bf16(*to, sw_row_of_bf16(more))
                            : sw_row_sum_f16(*to, sw_row_of_f16(more));
            }
        }
    }
}

/* Carries out the batch, and answers as the engine would. */
template <int BITS> void model_batch(struct world<BITS> *w)
{
    typedef typename sw_width<BITS>::word word;
    const uint32_t bytes = w->shape.value_bytes;
    uint32_t g = 0;
    uint32_t p = 0;
    memset(w->found, 0, (w->batch.count + 63) / 64 * 8);
    for (uint32_t i = 0; i < w->batch.count; i++) {
        g += w->group_ends[g] <= i;
        p += w->parts->parts[p].first + w->parts->parts[p].count <= i;
        const struct sw_cuda_part *part = &w->parts->parts[p];
        const uint64_t at = (uint64_t)(i - part->first) * bytes;
        const uint32_t key = w->key_of[i];
        const bool found = w->row_of[key] != UINT64_MAX;
        uint8_t *row = w->contents + (uint64_t)key * bytes;
        w->previous[i] = (word)random_next(&w->random);
        if (w->group_refused[g]) {
            w->found[i / 64] |= (uint64_t)below(&w->random, 2) << i % 64;
            continue;
        }
        if (found) {
            w->found[i / 64] |= 1ULL << i % 64;
            w->previous[i] = (word)w->row_of[key];
        } else {
            memset(row, 0, bytes);
        }
        if (part->previous != NULL) {
            memcpy(w->expected + (part->previous - w->answers) + at, row, bytes);
        }
        const enum sw_effect effect = sw_row_effect(w->ops[i], found);
        if (effect == SW_EFFECT_WRITE) {
            const bool brain = w->ops[i] == SW_ADD_BF16 || w->ops[i] == SW_ADD_PRESENT_BF16;
            if (w->batch.wide) {
                add_wide(row, brain, part->values + 2 * at, bytes);
            } else {
                write_row(row, w->ops[i], part->values + at, bytes);
            }
            w->row_of[key] = found ? w->row_of[key] : w->batch.preallocated[i];
        } else if (effect == SW_EFFECT_REMOVE) {
            w->row_of[key] = UINT64_MAX;
        }
    }
}

} // namespace

#endif
