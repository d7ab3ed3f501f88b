/* SPDX-License-Identifier: MIT
 *
 * guard.h - puts test input right before an unreadable page, so that one byte of over-read crashes.
 */
#ifndef SHERWOOD_TESTS_PROTO_GUARD_H
#define SHERWOOD_TESTS_PROTO_GUARD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <criterion/criterion.h>

struct guard {
    uint8_t *memory;
    size_t bytes; /* readable and writable; the page behind is not */
};

static inline struct guard guard_create(size_t bytes_max)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct guard guard = {.bytes = (bytes_max + page - 1) / page * page};
    guard.memory =
        mmap(NULL, guard.bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(guard.memory != MAP_FAILED, "mmap failed");
    cr_assert(mprotect(guard.memory + guard.bytes, page, PROT_NONE) == 0, "mprotect failed");
    return guard;
}

static inline void guard_destroy(struct guard *guard)
{
    munmap(guard->memory, guard->bytes + (size_t)sysconf(_SC_PAGESIZE));
}

/* A copy of the bytes that ends at the unreadable page; valid until the next call. */
static inline uint8_t *guard_place(struct guard *guard, const void *bytes, size_t size)
{
    cr_assert(size <= guard->bytes, "guard of %zu bytes is too small for %zu", guard->bytes, size);
    uint8_t *out = guard->memory + guard->bytes - size;
    if (size > 0) {
        memcpy(out, bytes, size);
    }
    return out;
}

#endif
