/* SPDX-License-Identifier: MIT
 *
 * test_rmw_values.c - frames of CAS, which look before they write: whatever the keys, the steps and
 * the memory, they leave what their operations leave one after the other.
 */
#include "server/bulk/rmw_values.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/random.h"

enum { KEYS = 12, COUNT_MAX = 150, VALUE_MAX = 24 };

/* The contents of a table: the value of each key, and whether an operation wrote it. */
struct model {
    bool found[KEYS];
    uint8_t values[KEYS][VALUE_MAX];
    bool changed[KEYS];
};

/* One operation, byte by byte. Returns whether it writes. */
static bool apply(struct model *model, const struct sw_request *request, uint32_t key,
                  const uint8_t *operand)
{
    const uint32_t bytes = request->value_bytes;
    uint8_t *value = model->values[key];
    const bool found = model->found[key];
    if (!found || memcmp(value, operand, bytes) != 0) {
        return false;
    }
    memcpy(value, operand + bytes, bytes);
    model->found[key] = model->changed[key] = true;
    return true;
}

/* Draws a table whose values are few, so that CAS meets them. */
static void draw_model(struct random *random, struct model *model, uint32_t bytes)
{
    memset(model, 0, sizeof(*model));
    for (int k = 0; k < KEYS; k++) {
        model->found[k] = random_below(random, 2) == 0;
        model->values[k][bytes - 1] = model->found[k] ? (uint8_t)random_below(random, 3) : 0;
    }
}

static struct sw_request draw_request(struct random *random, uint32_t key_bytes,
                                      uint32_t value_bytes)
{
    return (struct sw_request){
        .operation = SW_OPERATION_CAS,
        .count = 1 + (uint32_t)random_below(random, COUNT_MAX),
        .key_bytes = key_bytes,
        .value_bytes = value_bytes,
        .want_values = random_below(random, 2) == 0,
        .declines_found = random_below(random, 2) == 0,
    };
}

/* A frame's arrays, each with the padding that frames have. */
struct arrays {
    uint8_t *keys, *operands, *previous, *memory;
    uint64_t *found;
};

static void *aligned(uint64_t bytes)
{
    void *memory = aligned_alloc(SW_FRAME_ALIGN, sw_frame_align(bytes + 1));
    memset(memory, 0xa5, sw_frame_align(bytes + 1));
    return memory;
}

static void run_random_request(struct random *random, const struct sw_table_shape *shape,
                               uint64_t step_bytes)
{
    struct model model;
    struct sw_rmw_values rmw;
    const uint32_t bytes = shape->value_bytes;
    const struct sw_request request = draw_request(random, shape->key_bytes, bytes);
    const uint32_t n = request.count, each = sw_request_operand_bytes(&request);
    const struct arrays arrays = {aligned((uint64_t)n * shape->key_bytes),
                                  aligned((uint64_t)n * each), aligned((uint64_t)n * bytes),
                                  aligned(sw_rmw_values_bytes(shape, &request)),
                                  aligned(sw_found_bytes(n))};
    draw_model(random, &model, bytes);
    const uint64_t default_at = shape->expires ? random_below(random, 2) * 99 : 0;
    sw_rmw_values_begin(&rmw, shape, &request, arrays.keys, arrays.operands,
                        request.want_values ? arrays.previous : NULL,
                        request.declines_found ? NULL : arrays.found, arrays.memory,
                        random_next(random));
    rmw.default_at = default_at;
    uint8_t key_of[COUNT_MAX], *operands = malloc((uint64_t)n * each);
    for (uint32_t i = 0; i < n; i++) { /* what a client sends, and what the look finds */
        key_of[i] = (uint8_t)random_below(random, KEYS);
        sw_integer_put(arrays.keys, shape->key_bytes, i, key_of[i] * 0x01000000ULL);
        for (uint32_t b = 0; b < each; b++) {
            operands[i * each + b] = b % bytes == bytes - 1 ? (uint8_t)random_below(random, 3) : 0;
        }
        memcpy(rmw.previous + (uint64_t)i * bytes, model.values[key_of[i]], bytes);
        rmw.found[i / 64] = i % 64 == 0 ? 0 : rmw.found[i / 64];
        rmw.found[i / 64] |= (uint64_t)model.found[key_of[i]] << (i % 64);
        if (rmw.expires != NULL) {
            rmw.expires[i] = key_of[i] == 3 && model.found[3] ? 77 : 0;
        }
    }
    memcpy(arrays.operands, operands, (uint64_t)n * each);
    while (!sw_rmw_values_step(&rmw, step_bytes)) {
    }
    uint64_t hits = 0;
    const struct model before = model;
    bool gives = default_at != 0;
    for (uint32_t i = 0; i < n; i++) {
        cr_assert_arr_eq(rmw.previous + (uint64_t)i * bytes, model.values[key_of[i]], bytes,
                         "value before operation %u", i);
        const bool writes = apply(&model, &request, key_of[i], operands + i * each);
        cr_assert_eq(rmw.found[i / 64] >> (i % 64) & 1, writes, "bit %u", i);
        hits += writes;
    }
    cr_assert_eq(rmw.hits, hits);
    uint32_t written = 0;
    for (uint32_t w = 0; w < rmw.write_count; w++) {
        const uint64_t key = sw_integer_at(rmw.keys, shape->key_bytes, w) >> 24;
        cr_assert(key < KEYS && model.changed[key], "key %u is written once, as it has changed", w);
        model.changed[key] = false;
        cr_assert_arr_eq(rmw.writes + (uint64_t)w * bytes, model.values[key], bytes);
        const uint64_t at = !before.found[key] ? default_at : key == 3 ? 77 : 0;
        gives |= at != 0;
        cr_assert(rmw.expires == NULL || rmw.expires[w] == at);
        written++;
    }
    cr_assert_eq(rmw.gives_times, shape->expires && gives && rmw.write_count > 0);
    for (int k = 0; k < KEYS; k++) {
        cr_assert_not(model.changed[k], "key %d has changed, and is not written", k);
    }
    free(operands);
    free(arrays.keys);
    free(arrays.operands);
    free(arrays.previous);
    free(arrays.memory);
    free(arrays.found);
}

Test(rmw, leaves_what_operations_leave_one_after_the_other)
{
    struct random random = random_of(0);
    static const uint32_t widths[][2] = {{8, 8}, {4, 4}, {8, 20}, {8, 24}, {4, 12}};
    for (uint32_t round = 0; round < 3000; round++) {
        const uint32_t *width = widths[round % 5];
        const struct sw_table_shape shape = {.key_bytes = width[0],
                                             .value_bytes = width[1],
                                             .blob_bytes_max = width[1],
                                             .value_format = SW_VALUE_FIXED,
                                             .expires = round % 3 == 0};
        run_random_request(&random, &shape, round % 4 == 0 ? 0 : 1U << round % 13);
    }
}
