/* SPDX-License-Identifier: MIT
 *
 * test_block_writer.c - blocks written by a thread, where the file system takes direct writes and
 * where it does not.
 */
#include "server/log/block_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#define BLOCK_BYTES (4 * SW_BLOCK_ALIGN)
#define BLOCKS 20U

static struct sw_io io;
static unsigned refused; /* writes */

static bool is_direct(int fd)
{
    return (fcntl(fd, F_GETFL) & O_DIRECT) != 0;
}

/* As a file system that opens files for direct writes, and takes none. */
static ssize_t never_direct(int fd, const void *data, size_t bytes, off_t at)
{
    if (is_direct(fd)) {
        refused++;
        errno = EINVAL;
        return -1;
    }
    return pwrite(fd, data, bytes, at);
}

/* As a system that takes a part of the third block, at which no direct write can go on. */
static ssize_t in_part(int fd, const void *data, size_t bytes, off_t at)
{
    if (is_direct(fd) && at % SW_BLOCK_ALIGN != 0) {
        refused++;
        errno = EINVAL;
        return -1;
    }
    if (is_direct(fd) && at == 2 * BLOCK_BYTES) {
        return 1000;
    }
    return pwrite(fd, data, bytes, at);
}

static ssize_t full(int fd, const void *data, size_t bytes, off_t at)
{
    (void)fd, (void)data, (void)bytes, (void)at;
    errno = ENOSPC;
    return -1;
}

/* Writes all blocks. Returns 0, or errno. */
static int write_blocks(int fd)
{
    struct sw_block_writer *writer = sw_block_writer_create(&io, fd, BLOCK_BYTES, 0);
    cr_assert_not_null(writer);
    int error = 0;
    for (unsigned i = 0; i < BLOCKS && error == 0; i++) {
        uint8_t *block = sw_block_writer_next(writer);
        if (block == NULL) {
            error = errno;
            break;
        }
        memset(block, (int)i + 1, BLOCK_BYTES);
        sw_block_writer_put(writer, BLOCK_BYTES);
    }
    if (error == 0 && sw_block_writer_flush(writer) != 0) {
        error = errno;
    }
    sw_block_writer_destroy(writer);
    return error;
}

static int new_file(char *folder)
{
    io = *sw_io_system();
    refused = 0;
    cr_assert_not_null(mkdtemp(folder));
    int dir = open(folder, O_RDONLY | O_DIRECTORY);
    int fd = sw_block_writer_file(&io, dir, "file");
    cr_assert(fd >= 0);
    cr_assert_eq(unlinkat(dir, "file", 0), 0);
    cr_assert_eq(rmdir(folder), 0);
    close(dir);
    return fd;
}

static void expect_blocks(int fd)
{
    static uint8_t bytes[BLOCK_BYTES] __attribute__((aligned(SW_BLOCK_ALIGN)));
    for (unsigned i = 0; i < BLOCKS; i++) {
        cr_assert_eq(pread(fd, bytes, BLOCK_BYTES, (off_t)i * BLOCK_BYTES), BLOCK_BYTES);
        for (size_t k = 0; k < BLOCK_BYTES; k++) {
            cr_assert_eq(bytes[k], i + 1, "block %u, byte %zu", i, k);
        }
    }
}

Test(block_writer, all_blocks_are_in_the_file_in_their_order)
{
    char folder[] = "sherwood-blocks-XXXXXX";
    int fd = new_file(folder);
    cr_assert_eq(write_blocks(fd), 0);
    expect_blocks(fd);
    close(fd);
}

static void expect_fallback(ssize_t (*write)(int, const void *, size_t, off_t))
{
    char folder[] = "sherwood-blocks-XXXXXX";
    int fd = new_file(folder);
    if (!is_direct(fd)) {
        close(fd);
        cr_skip_test("this file system has no direct writes");
    }
    io.pwrite = write;
    cr_assert_eq(write_blocks(fd), 0);
    cr_assert_eq(refused, 1);
    cr_assert(!is_direct(fd));
    expect_blocks(fd);
    close(fd);
}

Test(block_writer, a_file_system_that_refuses_direct_writes_gets_others)
{
    expect_fallback(never_direct);
}

Test(block_writer, a_block_that_is_taken_in_part_is_written_again)
{
    expect_fallback(in_part);
}

Test(block_writer, an_error_is_told_and_ends_the_writing)
{
    char folder[] = "sherwood-blocks-XXXXXX";
    int fd = new_file(folder);
    io.pwrite = full;
    cr_assert_eq(write_blocks(fd), ENOSPC);
    close(fd);
}
