/* SPDX-License-Identifier: MIT
 *
 * io_memory.h - arrays of I/O memory that belong to a test and are freed together.
 *
 * Ends the process if memory is short: it is for tests. Threads: an object belongs to one thread.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_IO_MEMORY_H
#define SHERWOOD_TESTS_SUPPORT_IO_MEMORY_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/table.h"

#define IO_ARRAYS_MAX 48

struct io_memory {
    struct sw_table *table;
    uint32_t count;
    struct {
        void *memory;
        size_t bytes;
    } arrays[IO_ARRAYS_MAX];
};

/* Returns an array of zeros. io_free frees it. */
static inline void *io_array(struct io_memory *io, size_t bytes)
{
    const bool has_room = io->count < IO_ARRAYS_MAX;
    void *memory = has_room ? sw_io_alloc(io->table, bytes) : NULL;
    if (memory == NULL) {
        fprintf(stderr, "array %u of a test, %zu bytes: %s\n", io->count, bytes,
                has_room ? "no I/O memory" : "raise IO_ARRAYS_MAX");
        abort();
    }
    memset(memory, 0, bytes);
    io->arrays[io->count].memory = memory;
    io->arrays[io->count++].bytes = bytes;
    return memory;
}

/* Frees all arrays. Call it before sw_table_destroy. */
static inline void io_free(struct io_memory *io)
{
    while (io->count > 0) {
        io->count--;
        sw_io_free(io->table, io->arrays[io->count].memory, io->arrays[io->count].bytes);
    }
}

#endif
