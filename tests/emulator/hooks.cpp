/* SPDX-License-Identifier: MIT
 *
 * hooks.cpp - what the compiler calls at each access of memory (-fsanitize=thread), in the place of
 * ThreadSanitizer's own.
 *
 * In a kernel the turn may go to another thread before the access is made. On the host an atomic
 * load is a look at what a kernel may have written meanwhile, so here the device does some work.
 */
#include "schedule.hpp"

void emu_host_looks(void);

/* A volatile access is as likely a place to meet as an atomic. */
#define PLAIN 1
#define ORDERED 8

extern "C" {

void __tsan_init(void)
{
}
void __tsan_func_entry(void *)
{
}
void __tsan_func_exit(void)
{
}
void __tsan_vptr_update(void **, void *)
{
}
void __tsan_vptr_read(void **)
{
}
void __tsan_read_range(void *at, unsigned long)
{
    emu_spend(PLAIN, at);
}
void __tsan_write_range(void *at, unsigned long)
{
    emu_spend(PLAIN, at);
}

#define ACCESSES(size)                                   \
    void __tsan_read##size(void *at)                     \
    {                                                    \
        emu_spend(PLAIN, at);                            \
    }                                                    \
    void __tsan_write##size(void *at)                    \
    {                                                    \
        emu_spend(PLAIN, at);                            \
    }                                                    \
    void __tsan_unaligned_read##size(void *at)           \
    {                                                    \
        emu_spend(PLAIN, at);                            \
    }                                                    \
    void __tsan_unaligned_write##size(void *at)          \
    {                                                    \
        emu_spend(PLAIN, at);                            \
    }                                                    \
    void __tsan_volatile_read##size(void *at)            \
    {                                                    \
        emu_spend(ORDERED, at);                          \
    }                                                    \
    void __tsan_volatile_write##size(void *at)           \
    {                                                    \
        emu_spend(ORDERED, at);                          \
    }                                                    \
    void __tsan_unaligned_volatile_read##size(void *at)  \
    {                                                    \
        emu_spend(ORDERED, at);                          \
    }                                                    \
    void __tsan_unaligned_volatile_write##size(void *at) \
    {                                                    \
        emu_spend(ORDERED, at);                          \
    }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

/* Host code's, most of them: kernels have atomics of their own. */
static void meet(bool is_load)
{
    if (emu_on_device()) {
        emu_spend(ORDERED, NULL);
    } else if (is_load) {
        emu_host_looks();
    }
}

#define ATOMICS(bits, type)                                                              \
    type __tsan_atomic##bits##_load(const volatile type *at, int)                        \
    {                                                                                    \
        meet(true);                                                                      \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                    \
    }                                                                                    \
    void __tsan_atomic##bits##_store(volatile type *at, type value, int)                 \
    {                                                                                    \
        meet(false);                                                                     \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                   \
    }                                                                                    \
    type __tsan_atomic##bits##_exchange(volatile type *at, type value, int)              \
    {                                                                                    \
        meet(false);                                                                     \
        return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                         \
    }                                                                                    \
    type __tsan_atomic##bits##_fetch_add(volatile type *at, type value, int)             \
    {                                                                                    \
        meet(false);                                                                     \
        return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);                          \
    }                                                                                    \
    type __tsan_atomic##bits##_fetch_sub(volatile type *at, type value, int)             \
    {                                                                                    \
        meet(false);                                                                     \
        return __atomic_fetch_sub(at, value, __ATOMIC_SEQ_CST);                          \
    }                                                                                    \
    type __tsan_atomic##bits##_fetch_or(volatile type *at, type value, int)              \
    {                                                                                    \
        meet(false);                                                                     \
        return __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST);                           \
    }                                                                                    \
    type __tsan_atomic##bits##_fetch_and(volatile type *at, type value, int)             \
    {                                                                                    \
        meet(false);                                                                     \
        return __atomic_fetch_and(at, value, __ATOMIC_SEQ_CST);                          \
    }                                                                                    \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type *at, type *expected, \
                                                      type value, int, int)              \
    {                                                                                    \
        meet(false);                                                                     \
        return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, \
                                           __ATOMIC_SEQ_CST);                            \
    }
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
}
