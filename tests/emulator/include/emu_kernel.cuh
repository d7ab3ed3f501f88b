/* SPDX-License-Identifier: MIT
 *
 * emu_kernel.cuh - what kernels call: qualifiers, the numbers of threads, barriers, warps, atomics
 * and the PTX of the table.
 *
 * Accesses to memory need nothing here: the compiler calls hooks.cpp at each of them
 * (-fsanitize=thread), and there another thread may be given the turn.
 */
#ifndef SHERWOOD_EMULATOR_KERNEL_CUH
#define SHERWOOD_EMULATOR_KERNEL_CUH

#include <string.h>

#include <type_traits>

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

struct uint3 {
    unsigned int x, y, z;
};
struct alignas(8) uint2 {
    unsigned int x, y;
};
struct alignas(16) uint4 {
    unsigned int x, y, z, w;
};
struct alignas(16) ulonglong2 {
    unsigned long long x, y;
};
static inline uint2 make_uint2(unsigned int x, unsigned int y)
{
    return uint2{x, y};
}
static inline uint4 make_uint4(unsigned int x, unsigned int y, unsigned int z, unsigned int w)
{
    return uint4{x, y, z, w};
}
static inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y)
{
    return ulonglong2{x, y};
}

/* The indices of the thread that runs now; to each thread they are constant. */
extern const uint3 threadIdx __asm__("emu_thread_index");
extern const uint3 blockIdx __asm__("emu_block_index");
extern const uint3 blockDim __asm__("emu_block_threads");
extern const uint3 gridDim __asm__("emu_grid_blocks");
#define warpSize 32

/* --- the schedule (schedule.cpp) -------------------------------------------------------------- */

/* Where a thread may lose its turn to another: before it does something at `at`, if anywhere. */
void emu_meet(const void *at);
/* Reports that the last atomic of this thread changed nothing: the thread may have to wait. */
void emu_in_vain(void);

/* A shared variable of this block; *place is its number once it has one. */
void *emu_shared(int *place, size_t bytes, const char *name);
void *emu_dynamic_shared(void);

enum emu_barrier_kind { EMU_SYNC, EMU_SYNC_OR, EMU_SYNC_AND, EMU_SYNC_COUNT };
int emu_barrier(enum emu_barrier_kind kind, int predicate);
void emu_grid_barrier(void);
/* The kernel after this one may begin, once all threads have said so or returned. */
void emu_let_follow(void);
/* Returns when the kernel before this one is done. */
void emu_follow(void);

/* What the lanes of a warp told each other. */
struct emu_told {
    unsigned int lanes; /* those that took part */
    uint64_t word[32];
};
enum emu_telling { EMU_SYNCWARP, EMU_BALLOT, EMU_SHUFFLE, EMU_REDUCE, EMU_MATCH };
/* Returns when all lanes of the mask have called it with their words. The result is valid until the
 * next call of this thread. */
const struct emu_told *emu_tell(enum emu_telling kind, unsigned int mask, uint64_t word);

#define EMU_PLAIN __attribute__((no_sanitize("thread")))

/* --- barriers --------------------------------------------------------------------------------- */

static inline void __syncthreads(void)
{
    emu_barrier(EMU_SYNC, 0);
}
static inline int __syncthreads_or(int predicate)
{
    return emu_barrier(EMU_SYNC_OR, predicate);
}
static inline int __syncthreads_and(int predicate)
{
    return emu_barrier(EMU_SYNC_AND, predicate);
}
static inline int __syncthreads_count(int predicate)
{
    return emu_barrier(EMU_SYNC_COUNT, predicate);
}
static inline void __threadfence(void)
{
    emu_meet(NULL);
}
static inline void __threadfence_block(void)
{
    emu_meet(NULL);
}
/* What comes before it the host sees first. */
static inline void __threadfence_system(void)
{
    __asm__ volatile("" : : : "memory");
    emu_meet(NULL);
}
static inline void __nanosleep(unsigned int)
{
    emu_meet(NULL);
}
static inline void cudaTriggerProgrammaticLaunchCompletion(void)
{
    emu_let_follow();
}
static inline void cudaGridDependencySynchronize(void)
{
    emu_follow();
}

/* --- warps ------------------------------------------------------------------------------------ */

template <typename T> EMU_PLAIN static inline uint64_t emu_word_of(T value)
{
    static_assert(sizeof(T) <= 8, "a lane tells one word");
    uint64_t word = 0;
    memcpy(&word, &value, sizeof(value));
    return word;
}
template <typename T> EMU_PLAIN static inline T emu_value_of(uint64_t word)
{
    T value;
    memcpy(&value, &word, sizeof(value));
    return value;
}

static inline void __syncwarp(unsigned int mask = 0xffffffffU)
{
    emu_tell(EMU_SYNCWARP, mask, 0);
}
EMU_PLAIN static inline unsigned int __ballot_sync(unsigned int mask, int predicate)
{
    const emu_told *told = emu_tell(EMU_BALLOT, mask, predicate != 0);
    unsigned int all = 0;
    for (int lane = 0; lane < 32; lane++) {
        all |= (unsigned int)((told->lanes >> lane & 1) != 0 && told->word[lane] != 0) << lane;
    }
    return all;
}
static inline int __any_sync(unsigned int mask, int predicate)
{
    return __ballot_sync(mask, predicate) != 0;
}
EMU_PLAIN static inline int __all_sync(unsigned int mask, int predicate)
{
    return __ballot_sync(mask, !predicate) == 0;
}

/* From lane `from`; from itself where that is no lane. */
template <typename T> EMU_PLAIN static inline T emu_shuffle(unsigned int mask, T value, int from)
{
    const emu_told *told = emu_tell(EMU_SHUFFLE, mask, emu_word_of(value));
    /* of a lane that did not take part anything may come */
    return from < 0 ? value
                    : emu_value_of<T>((told->lanes >> from & 1) != 0 ? told->word[from]
                                                                     : 0xa5a5a5a5a5a5a5a5ULL);
}
template <typename T>
static inline T __shfl_sync(unsigned int mask, T value, int from, int width = 32)
{
    int lane = (int)(threadIdx.x % 32);
    return emu_shuffle(mask, value, lane / width * width + from % width);
}
template <typename T>
static inline T __shfl_up_sync(unsigned int mask, T value, unsigned int by, int width = 32)
{
    int lane = (int)(threadIdx.x % 32);
    return emu_shuffle(mask, value, lane % width < (int)by ? -1 : lane - (int)by);
}
template <typename T>
static inline T __shfl_down_sync(unsigned int mask, T value, unsigned int by, int width = 32)
{
    int lane = (int)(threadIdx.x % 32);
    return emu_shuffle(mask, value, lane % width + (int)by >= width ? -1 : lane + (int)by);
}
template <typename T>
static inline T __shfl_xor_sync(unsigned int mask, T value, int by, int width = 32)
{
    int lane = (int)(threadIdx.x % 32);
    int from = lane ^ by;
    return emu_shuffle(mask, value, from / width > lane / width ? -1 : from);
}

template <typename T, typename JOIN>
EMU_PLAIN static inline T emu_reduce(unsigned int mask, T value, JOIN join)
{
    const emu_told *told = emu_tell(EMU_REDUCE, mask, emu_word_of(value));
    bool first = true;
    T all = value;
    for (int lane = 0; lane < 32; lane++) {
        if ((told->lanes >> lane & 1) != 0) {
            T one = emu_value_of<T>(told->word[lane]);
            all = first ? one : join(all, one);
            first = false;
        }
    }
    return all;
}
template <typename T> static inline T __reduce_add_sync(unsigned int mask, T value)
{
    return emu_reduce(mask, value, [](T a, T b) { return (T)(a + b); });
}
template <typename T> static inline T __reduce_min_sync(unsigned int mask, T value)
{
    return emu_reduce(mask, value, [](T a, T b) { return b < a ? b : a; });
}
template <typename T> static inline T __reduce_max_sync(unsigned int mask, T value)
{
    return emu_reduce(mask, value, [](T a, T b) { return a < b ? b : a; });
}
template <typename T> static inline T __reduce_or_sync(unsigned int mask, T value)
{
    return emu_reduce(mask, value, [](T a, T b) { return (T)(a | b); });
}
template <typename T>
EMU_PLAIN static inline unsigned int __match_any_sync(unsigned int mask, T value)
{
    const uint64_t own = emu_word_of(value);
    const emu_told *told = emu_tell(EMU_MATCH, mask, own);
    unsigned int same = 0;
    for (int lane = 0; lane < 32; lane++) {
        same |= (unsigned int)((told->lanes >> lane & 1) != 0 && told->word[lane] == own) << lane;
    }
    return same;
}

/* --- atomics: nobody has a turn in between ---------------------------------------------------- */

template <typename T, typename CHANGE> EMU_PLAIN static inline T emu_atomic(T *at, CHANGE change)
{
    emu_meet(at);
    const T before = *(volatile T *)at;
    const T after = change(before);
    *(volatile T *)at = after;
    if (after == before) {
        emu_in_vain();
    }
    return before;
}
template <typename T> using emu_same = typename std::enable_if<true, T>::type;

template <typename T> static inline T atomicAdd(T *at, emu_same<T> by)
{
    return emu_atomic(at, [by](T was) { return (T)(was + by); });
}
template <typename T> static inline T atomicSub(T *at, emu_same<T> by)
{
    return emu_atomic(at, [by](T was) { return (T)(was - by); });
}
template <typename T> static inline T atomicMin(T *at, emu_same<T> by)
{
    return emu_atomic(at, [by](T was) { return by < was ? by : was; });
}
template <typename T> static inline T atomicMax(T *at, emu_same<T> by)
{
    return emu_atomic(at, [by](T was) { return was < by ? by : was; });
}
template <typename T> static inline T atomicOr(T *at, emu_same<T> by)
{
    return emu_atomic(at, [by](T was) { return (T)(was | by); });
}
template <typename T> static inline T atomicAnd(T *at, emu_same<T> by)
{
    return emu_atomic(at, [by](T was) { return (T)(was & by); });
}
template <typename T> static inline T atomicExch(T *at, emu_same<T> by)
{
    return emu_atomic(at, [by](T) { return by; });
}
template <typename T> static inline T atomicCAS(T *at, emu_same<T> held, emu_same<T> by)
{
    return emu_atomic(at, [held, by](T was) { return was == held ? by : was; });
}

/* --- the PTX of the table, by its names ------------------------------------------------------- */

#define __cvta_generic_to_global(pointer) (pointer)

static inline void emu_atom_acquire_gpu_global_or_b32(uint32_t &was, uint32_t *at, uint32_t bits)
{
    was = atomicOr(at, bits);
}
static inline void emu_red_release_gpu_global_and_b32(uint32_t *at, uint32_t bits)
{
    atomicAnd(at, bits);
}
static inline void emu_atom_acquire_gpu_global_cas_b32(uint32_t &was, uint32_t *at, uint32_t held,
                                                       uint32_t by)
{
    was = atomicCAS(at, held, by);
}
static inline void emu_st_release_gpu_global_u32(uint32_t *at, uint32_t word)
{
    atomicExch(at, word);
}
/* The halves may be of different times. */
EMU_PLAIN static inline void emu_ld_relaxed_gpu_v2_u64(uint64_t &low, uint64_t &high,
                                                       const void *at)
{
    emu_meet(at);
    low = ((const volatile uint64_t *)at)[0];
    emu_meet(at);
    high = ((const volatile uint64_t *)at)[1];
}
EMU_PLAIN static inline void emu_atom_relaxed_gpu_global_cas_b128(uint64_t &was_low,
                                                                  uint64_t &was_high, void *at,
                                                                  uint64_t low, uint64_t high,
                                                                  uint64_t by_low, uint64_t by_high)
{
    emu_meet(at);
    volatile uint64_t *word = (volatile uint64_t *)at;
    const uint64_t was[2] = {word[0], word[1]};
    if (was[0] == low && was[1] == high) {
        word[0] = by_low;
        word[1] = by_high;
    }
    was_low = was[0];
    was_high = was[1];
}
EMU_PLAIN static inline void emu_atom_relaxed_gpu_global_exch_b128(uint64_t &was_low,
                                                                   uint64_t &was_high, void *at,
                                                                   uint64_t low, uint64_t high)
{
    emu_meet(at);
    volatile uint64_t *word = (volatile uint64_t *)at;
    const uint64_t was[2] = {word[0], word[1]};
    word[0] = low;
    word[1] = high;
    was_low = was[0];
    was_high = was[1];
}
/* Loads of what no one changes meanwhile. */
static inline void emu_ld_global_nc_L2_cache_hint_v4_u32(unsigned int &x, unsigned int &y,
                                                         unsigned int &z, unsigned int &w,
                                                         const void *at, uint64_t)
{
    uint4 all = *(const uint4 *)at;
    x = all.x;
    y = all.y;
    z = all.z;
    w = all.w;
}
static inline void emu_ld_global_nc_L1_no_allocate_L2_cache_hint_u8(uint32_t &byte, const void *at,
                                                                    uint64_t)
{
    byte = *(const uint8_t *)at;
}
/* What is only about speed. */
static inline void emu_createpolicy_fractional_L2_evict_first_b64(uint64_t &policy, double)
{
    policy = 0;
}
static inline void emu_createpolicy_fractional_L2_evict_last_b64(uint64_t &policy, double)
{
    policy = 0;
}
static inline void emu_prefetch_global_L2(const void *)
{
}
static inline void emu_cp_async_bulk_prefetch_L2_global(const void *, int)
{
}

/* --- arithmetic and loads --------------------------------------------------------------------- */

template <typename T> static inline T __ldcg(const T *at)
{
    return *at;
}
template <typename T> static inline T __ldcs(const T *at)
{
    return *at;
}
template <typename T> static inline T __ldg(const T *at)
{
    return *at;
}
template <typename T> static inline void __stcs(T *at, emu_same<T> value)
{
    *at = value;
}
static inline unsigned int __umulhi(unsigned int a, unsigned int b)
{
    return (unsigned int)((uint64_t)a * b >> 32);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline int __popc(unsigned int x)
{
    return __builtin_popcount(x);
}
static inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
static inline int __clz(int x)
{
    return x == 0 ? 32 : __builtin_clz((unsigned int)x);
}
static inline int __clzll(long long x)
{
    return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}
static inline float __uint_as_float(unsigned int bits)
{
    float number;
    __builtin_memcpy(&number, &bits, sizeof(number));
    return number;
}
static inline unsigned int __float_as_uint(float number)
{
    unsigned int bits;
    __builtin_memcpy(&bits, &number, sizeof(bits));
    return bits;
}
static inline double __longlong_as_double(long long bits)
{
    return __builtin_bit_cast(double, bits);
}
static inline long long __double_as_longlong(double number)
{
    return __builtin_bit_cast(long long, number);
}
/* The CPU also rounds to the nearest, ties to even. */
static inline double __dadd_rn(double a, double b)
{
    return a + b;
}
static inline float __fadd_rn(float a, float b)
{
    return a + b;
}
static inline float __fsub_rn(float a, float b)
{
    return a - b;
}
static inline float __fmul_rn(float a, float b)
{
    return a * b;
}
static inline unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int by)
{
    return (unsigned int)(((uint64_t)high << 32 | low) << (by & 31) >> 32);
}
/* Byte by byte. */
template <typename OF> static inline unsigned int emu_bytes(unsigned int a, unsigned int b, OF of)
{
    unsigned int all = 0;
    for (int shift = 0; shift < 32; shift += 8) {
        all |= (of(a >> shift & 0xff, b >> shift & 0xff) & 0xffU) << shift;
    }
    return all;
}
static inline unsigned int __vminu4(unsigned int a, unsigned int b)
{
    return emu_bytes(a, b, [](unsigned int x, unsigned int y) { return x < y ? x : y; });
}
static inline unsigned int __vcmpleu4(unsigned int a, unsigned int b)
{
    return emu_bytes(a, b, [](unsigned int x, unsigned int y) { return x <= y ? 0xffU : 0U; });
}
template <typename A, typename B> static constexpr inline std::common_type_t<A, B> min(A a, B b)
{
    typedef std::common_type_t<A, B> common;
    return (common)b < (common)a ? (common)b : (common)a;
}
template <typename A, typename B> static constexpr inline std::common_type_t<A, B> max(A a, B b)
{
    typedef std::common_type_t<A, B> common;
    return (common)a < (common)b ? (common)b : (common)a;
}

#endif
