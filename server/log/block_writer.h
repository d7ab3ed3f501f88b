/* SPDX-License-Identifier: MIT
 *
 * block_writer.h - a thread that writes blocks of a file, while the caller makes the next one.
 *
 * Blocks begin and end at multiples of SW_BLOCK_ALIGN, in memory and in the file, as O_DIRECT
 * requires. A copy in the page cache would cost more than the write.
 *
 * Threads: one at a time owns a block writer.
 */
#ifndef SHERWOOD_SERVER_LOG_BLOCK_WRITER_H
#define SHERWOOD_SERVER_LOG_BLOCK_WRITER_H

#include "server/log/io.h"

#define SW_BLOCK_ALIGN 4096U

struct sw_block_writer;

/* Opens a new or truncated file, for writes past the page cache if its file system supports that.
 * Returns the descriptor, or -1 with errno. */
int sw_block_writer_file(const struct sw_io *io, int dir, const char *name);

/* Creates a writer that writes to the file from byte `at` on, in blocks of up to `block_bytes`, a
 * multiple of SW_BLOCK_ALIGN. Borrows the file. Returns NULL with errno if there is no memory or no
 * thread. */
struct sw_block_writer *sw_block_writer_create(const struct sw_io *io, int fd, size_t block_bytes,
                                               uint64_t at);
/* Returns memory for the next block; waits until a block is free. Returns NULL with errno if a
 * write has failed. */
uint8_t *sw_block_writer_next(struct sw_block_writer *writer);
/* Appends the first `bytes` bytes of that memory to the file. `bytes`: a multiple of
 * SW_BLOCK_ALIGN. */
void sw_block_writer_put(struct sw_block_writer *writer, size_t bytes);
/* Waits until the kernel has all blocks. Returns 0; or -1 with errno if a write has failed. */
int sw_block_writer_flush(struct sw_block_writer *writer);
/* Waits for the running write, and frees the writer. Drops blocks whose write has not begun. NULL
 * is allowed. */
void sw_block_writer_destroy(struct sw_block_writer *writer);

#endif
