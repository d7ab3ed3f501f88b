/* SPDX-License-Identifier: MIT
 *
 * device_place.cu - the arrays of the study of rows in device memory, and what that memory can do:
 * a kernel that moves rows as one stream of 16-byte units, with no table in between.
 */
#include "bench/rows/place.inl"

#define BLOCK 256
#define IN_FLIGHT 4

static __device__ uint4 sum_of(uint4 a, uint4 b)
{
    return make_uint4(__float_as_uint(__uint_as_float(a.x) + __uint_as_float(b.x)),
                      __float_as_uint(__uint_as_float(a.y) + __uint_as_float(b.y)),
                      __float_as_uint(__uint_as_float(a.z) + __uint_as_float(b.z)),
                      __float_as_uint(__uint_as_float(a.w) + __uint_as_float(b.w)));
}

static __global__ void __launch_bounds__(BLOCK) move_kernel(const struct sw_rowbench_moved moved)
{
    uint64_t total = moved.count * moved.units;
    uint64_t first = (uint64_t)blockIdx.x * BLOCK * IN_FLIGHT + threadIdx.x;
    uint4 part[IN_FLIGHT];
    uint4 *packed = (uint4 *)moved.packed;
    uint4 *arena[IN_FLIGHT];
#pragma unroll
    for (uint32_t u = 0; u < IN_FLIGHT; u++) {
        uint64_t at = first + u * BLOCK;
        uint64_t row = at / moved.units;
        uint64_t place = moved.move == SW_ROWBENCH_COPY ? row : sw_rowbench_place_of(&moved, row);
        arena[u] = (uint4 *)moved.arena + place * moved.units + at % moved.units;
        if (at < total) {
            bool is_gathered = moved.move <= SW_ROWBENCH_GATHER;
            bool is_absent = moved.move == SW_ROWBENCH_GATHER && !sw_rowbench_has(&moved, row);
            part[u] = is_absent ? make_uint4(0, 0, 0, 0) : is_gathered ? *arena[u] : packed[at];
        }
    }
#pragma unroll
    for (uint32_t u = 0; u < IN_FLIGHT; u++) {
        uint64_t at = first + u * BLOCK;
        if (at < total) {
            if (moved.move <= SW_ROWBENCH_GATHER) {
                packed[at] = part[u];
            } else {
                *arena[u] = moved.move == SW_ROWBENCH_SUM ? sum_of(*arena[u], part[u]) : part[u];
            }
        }
    }
}

static bool device_move(const struct sw_rowbench_moved *moved, double *seconds)
{
    auto launch = [&] {
        move_kernel<<<sw_study_blocks(moved->count * moved->units, BLOCK * IN_FLIGHT), BLOCK>>>(
            *moved);
        return cudaGetLastError();
    };
    return sw_study_time(launch, "moving rows", seconds);
}

const struct sw_rowbench_place *sw_rowbench_device(void)
{
    static const struct sw_rowbench_place place = {
        &sw_study_device, draw_keys, draw_rows, expand, judge, note, device_move,
    };
    return &place;
}
