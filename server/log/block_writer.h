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

/* Opens a new file, truncated, past the page cache where its file system can do that. -1: errno. */
int sw_block_writer_file(const struct sw_io *io, int dir, const char *name);

/* Writes to the file from byte `at` on, in blocks of up to `block_bytes`, a multiple of
 * SW_BLOCK_ALIGN. NULL: errno, there is no memory or no thread. The file is borrowed. */
struct sw_block_writer *sw_block_writer_create(const struct sw_io *io, int fd, size_t block_bytes,
                                               uint64_t at);
/* Memory for the next block; waits until there is some. NULL: errno, a write has failed. */
uint8_t *sw_block_writer_next(struct sw_block_writer *writer);
/* Hands in that memory, filled so far, a multiple of SW_BLOCK_ALIGN: it goes behind the blocks
 * before. */
void sw_block_writer_put(struct sw_block_writer *writer, size_t bytes);
/* Waits until all is handed to the kernel. Returns 0; or -1 with errno, if a write has failed. */
int sw_block_writer_flush(struct sw_block_writer *writer);
/* Waits for the running write, and frees the writer. Blocks that were not begun are not written.
 * NULL is allowed. */
void sw_block_writer_destroy(struct sw_block_writer *writer);

#endif
