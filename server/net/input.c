/* SPDX-License-Identifier: MIT
 *
 * input.c - buffers of incomplete requests: small ones are on the heap, large ones are mapped.
 */
#include "server/net/input.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "server/limits.h"

static bool is_mapped(size_t capacity)
{
    return capacity >= SW_INPUT_MAPPED_BYTES;
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + 4095) / 4096 * 4096;
}

/* How many bytes of the budget may be in use after an input has grown to this capacity. Large
 * inputs leave an eighth to small ones, so that clients with large incomplete requests cannot keep
 * others from sending small ones. */
static uint64_t limit_of(const struct sw_input_budget *budget, size_t capacity)
{
    uint64_t most = __atomic_load_n(&budget->bytes_max, __ATOMIC_RELAXED);
    return is_mapped(capacity) ? most - most / 8 : most;
}

/* Replaces `from` bytes of the budget's use by `to` bytes. Returns false, with nothing done, if the
 * use would grow past what an input of `to` bytes may use. */
static bool charge(struct sw_input_budget *budget, size_t from, size_t to)
{
    uint64_t used = __atomic_load_n(&budget->bytes_used, __ATOMIC_RELAXED);
    uint64_t wanted;
    do {
        assert(used >= from);
        wanted = used - from + to;
        if (to > from && wanted > limit_of(budget, to)) {
            return false;
        }
    } while (!__atomic_compare_exchange_n(&budget->bytes_used, &used, wanted, true,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return true;
}

static void *map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Moves the input's bytes to memory of another capacity and returns it; the caller updates the
 * fields. Returns NULL, with the old memory untouched, if there is no memory. */
static uint8_t *resize(const struct sw_input *input, size_t capacity)
{
    if (!is_mapped(capacity)) {
        return realloc(input->bytes, capacity);
    }
    if (is_mapped(input->capacity)) {
        void *moved = mremap(input->bytes, input->capacity, capacity, MREMAP_MAYMOVE);
        return moved == MAP_FAILED ? NULL : moved;
    }
    uint8_t *bytes = map(capacity);
    if (bytes != NULL && input->bytes != NULL) {
        memcpy(bytes, input->bytes, input->end);
        free(input->bytes);
    }
    return bytes;
}

/* Moves the bytes that are not consumed to the beginning of the buffer. */
static void compact(struct sw_input *input)
{
    size_t held = sw_input_held(input);
    if (input->start > 0) {
        memmove(input->bytes, input->bytes + input->start, held);
        input->start = 0;
        input->end = held;
    }
}

/* Charges the budget for a capacity of at least `wanted` bytes. Returns the capacity, or 0 if the
 * budget does not allow it. */
static size_t charge_growth(const struct sw_input *input, struct sw_input_budget *budget,
                            size_t wanted)
{
    size_t least = is_mapped(wanted) ? whole_pages(wanted) : wanted;
    size_t doubled = input->capacity * 2;
    doubled = is_mapped(doubled) ? whole_pages(doubled) : doubled;
    if (doubled > least && charge(budget, input->capacity, doubled)) {
        return doubled;
    }
    return charge(budget, input->capacity, least) ? least : 0;
}

enum sw_input_result sw_input_grow(struct sw_input *input, struct sw_input_budget *budget,
                                   size_t bytes)
{
    compact(input);
    size_t wanted = input->end + bytes;
    if (input->capacity >= wanted) {
        return SW_INPUT_OK;
    }
    size_t capacity = charge_growth(input, budget, wanted);
    if (capacity == 0) {
        return SW_INPUT_OVER_BUDGET;
    }
    uint8_t *grown = resize(input, capacity);
    if (grown == NULL) {
        charge(budget, capacity, input->capacity);
        return SW_INPUT_NO_MEMORY;
    }
    input->bytes = grown;
    input->capacity = capacity;
    assert(input->start == 0 && capacity - input->end >= bytes);
    return SW_INPUT_OK;
}

void sw_input_free(struct sw_input *input, struct sw_input_budget *budget)
{
    if (input->bytes != NULL) {
        if (is_mapped(input->capacity)) {
            munmap(input->bytes, input->capacity);
        } else {
            free(input->bytes);
        }
        charge(budget, input->capacity, 0);
    }
    *input = (struct sw_input){0};
}

void sw_input_check(const struct sw_input *input)
{
    assert((input->bytes == NULL) == (input->capacity == 0));
    assert(input->start <= input->end && input->end <= input->capacity);
}
