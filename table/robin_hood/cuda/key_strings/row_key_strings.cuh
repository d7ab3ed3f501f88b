/* SPDX-License-Identifier: MIT
 *
 * row_key_strings.cuh - the state of key strings, for a thread that decides groups in order
 * (row_key_strings.cu, expiry_groups.cu): the current key string of each key, and whether an
 * operation has a different one.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_KEY_STRINGS_ROW_KEY_STRINGS_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_KEY_STRINGS_ROW_KEY_STRINGS_CUH

#include "table/robin_hood/cuda/rows/row_effects.cuh"
#include "table/robin_hood/cuda/rows/row_move.cuh"

/* The state of a key before an operation: absent; present without a key string; with the key string
 * of the row it had before the batch. Any other number is the operation whose key string the key
 * has. */
#define SW_ROW_ABSENT UINT32_MAX
#define SW_ROW_NO_KEY_STRING (UINT32_MAX - 1)
#define SW_ROW_OF_ROW (UINT32_MAX - 2)

static __device__ inline bool same_unit(uint32_t a, uint32_t b)
{
    return a == b;
}

static __device__ inline bool same_unit(uint2 a, uint2 b)
{
    return a.x == b.x && a.y == b.y;
}

static __device__ inline bool same_unit(uint4 a, uint4 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
}

/* Loads all units, so that the loads do not wait for each other. */
template <typename T>
static __device__ inline bool same_units(const uint8_t *one, const uint8_t *other, uint32_t bytes)
{
    bool same = true;
#pragma unroll 4
    for (uint32_t at = 0; at < bytes; at += sizeof(T)) {
        const bool alike =
            same_unit(__ldcg((const T *)(one + at)), __ldcg((const T *)(other + at)));
        same = same && alike;
    }
    return same;
}

/* Compares in the largest possible units: each unit loaded from host memory crosses the bus on its
 * own. */
static __device__ inline bool same_key_string(const struct sw_cuda_rows &rows, const uint8_t *one,
                                              const uint8_t *other)
{
    const uint32_t bytes = rows.key_string_bytes;
    const uint32_t unit = row_unit((uintptr_t)one | (uintptr_t)other | bytes);
    return unit == 16  ? same_units<uint4>(one, other, bytes)
           : unit == 8 ? same_units<uint2>(one, other, bytes)
                       : same_units<uint32_t>(one, other, bytes);
}

/* Returns the key string of operation i; NULL: it has none. */
static __device__ inline const uint8_t *key_string_of(const struct sw_cuda_rows &rows,
                                                      const struct sw_cuda_parts *parts,
                                                      uint32_t part_count, uint32_t i)
{
    const struct sw_cuda_part *part = part_of(parts, part_count, i);
    return part->values != NULL
               ? row_key_string(rows, part->values + (uint64_t)(i - part->first) * rows.value_bytes)
               : NULL;
}

/* Returns the state of the key of operation i. */
static __device__ inline uint32_t *key_string_state(const struct sw_cuda_rows &rows, uint32_t i)
{
    return &rows.key_strings.states[rows.key_strings.slots[i]];
}

/* Returns whether the key string of operation i differs from that of its key, whose state is
 * `state`. */
static __device__ inline bool key_string_collides(const struct sw_cuda_rows &rows,
                                                  const struct sw_cuda_parts *parts,
                                                  uint32_t part_count, uint32_t i, uint32_t state)
{
    const uint32_t facts = rows.key_strings.facts[i];
    if ((facts & SW_ROW_HAS_KEY_STRING) == 0 || state == SW_ROW_ABSENT ||
        state == SW_ROW_NO_KEY_STRING) {
        return false;
    }
    if (state == SW_ROW_OF_ROW) {
        return (facts & SW_ROW_AS_STORED) == 0;
    }
    const uint32_t others = rows.key_strings.facts[state];
    if (((facts | others) & SW_ROW_AS_FIRST) != 0) {
        return (facts & others & SW_ROW_AS_FIRST) == 0;
    }
    return !same_key_string(rows, key_string_of(rows, parts, part_count, i),
                            key_string_of(rows, parts, part_count, state));
}

/* Applies operation i, which has this effect, to the state of its key. */
static __device__ inline void key_string_step(const struct sw_cuda_rows &rows, uint32_t i,
                                              enum sw_effect effect)
{
    uint32_t *state = key_string_state(rows, i);
    const uint32_t was = *state;
    if (effect == SW_EFFECT_REMOVE) {
        *state = SW_ROW_ABSENT;
    } else if (effect == SW_EFFECT_WRITE &&
               (rows.key_strings.facts[i] & SW_ROW_HAS_KEY_STRING) != 0) {
        *state = i;
    } else if (effect == SW_EFFECT_WRITE && was == SW_ROW_ABSENT) {
        *state = SW_ROW_NO_KEY_STRING;
    }
    rows.key_strings.saved[i] = was;
}

/* Undoes key_string_step. */
static __device__ inline void key_string_step_back(const struct sw_cuda_rows &rows, uint32_t i)
{
    *key_string_state(rows, i) = rows.key_strings.saved[i];
}

#endif
