/* SPDX-License-Identifier: MIT
 *
 * test_segment_file.c - the reader of a segment's file reads its written part, and nothing else.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/log/segment_file.h"
#include "tests/support/random.h"

#define FILE_BYTES (24U << 20)
#define NAME "segment"

static uint64_t bytes_read;

static ssize_t counted_pread(int fd, void *data, size_t bytes, off_t at)
{
    ssize_t got = pread(fd, data, bytes, at);
    bytes_read += got > 0 ? (uint64_t)got : 0;
    return got;
}

static int cannot_tell(int fd, uint64_t at, uint64_t *from, uint64_t *to)
{
    (void)fd, (void)at, (void)from, (void)to;
    return 0;
}

struct place {
    char path[64];
    struct sw_io io;
    struct sw_directory directory;
    int fd;
};

/* A file of zeros: written ones, or none. */
static void make_place(struct place *place, bool is_written)
{
    static const uint8_t zeros[1 << 20];
    strcpy(place->path, "/tmp/sherwood-segment-XXXXXX");
    cr_assert_not_null(mkdtemp(place->path));
    place->io = *sw_io_system();
    place->io.pread = counted_pread;
    place->io.data = is_written ? cannot_tell : place->io.data;
    place->directory = (struct sw_directory){.io = &place->io};
    place->directory.fd = open(place->path, O_RDONLY | O_DIRECTORY);
    place->fd = openat(place->directory.fd, NAME, O_RDWR | O_CREAT, 0600);
    cr_assert(place->fd >= 0);
    cr_assert_eq(ftruncate(place->fd, FILE_BYTES), 0);
    for (off_t at = 0; is_written && at < (off_t)FILE_BYTES; at += (off_t)sizeof(zeros)) {
        cr_assert_eq(pwrite(place->fd, zeros, sizeof(zeros), at), (ssize_t)sizeof(zeros));
    }
}

static void remove_place(const struct place *place)
{
    close(place->fd);
    unlinkat(place->directory.fd, NAME, 0);
    close(place->directory.fd);
    rmdir(place->path);
}

static void put(const struct place *place, uint64_t at, uint64_t bytes)
{
    uint8_t *some = malloc(bytes);
    memset(some, 0x5a, bytes);
    cr_assert_eq(pwrite(place->fd, some, bytes, (off_t)at), (ssize_t)bytes);
    free(some);
}

/* Reads the file, and compares. Returns how much memory it takes. */
static uint64_t read_back(const struct place *place)
{
    struct sw_segment_file file;
    uint8_t *whole = malloc(FILE_BYTES);
    bytes_read = 0;
    cr_assert_eq(sw_segment_file_read(&file, &place->directory, NAME), 0, "%s", strerror(errno));
    cr_assert_eq(pread(place->fd, whole, FILE_BYTES, 0), (ssize_t)FILE_BYTES);
    cr_assert_eq(file.file_bytes, FILE_BYTES);
    cr_assert_eq(memcmp(file.bytes, whole, file.size), 0);
    for (uint64_t at = file.size; at < FILE_BYTES; at++) {
        cr_assert_eq(whole[at], 0, "byte %lu was left out", (unsigned long)at);
    }
    uint64_t size = file.size;
    sw_segment_file_free(&file);
    free(whole);
    return size;
}

Test(segment_file, holes_are_not_read)
{
    struct place place;
    make_place(&place, false);
    uint64_t nothing = read_back(&place);
    cr_assert_eq(nothing, 0);
    cr_assert_eq(bytes_read, 0);
    put(&place, 0, 100000);
    put(&place, 20U << 20, 5000); /* behind a hole that is longer than a run of zeros */
    cr_assert(read_back(&place) >= (20U << 20) + 5000);
    cr_assert(bytes_read < 300000, "%lu", (unsigned long)bytes_read);
    remove_place(&place);
}

Test(segment_file, written_zeros_are_read_up_to_a_run_of_them)
{
    struct place place;
    make_place(&place, true);
    put(&place, 0, 100000);
    cr_assert_eq(read_back(&place), 25 * 4096);
    cr_assert(bytes_read <= SW_SEGMENT_ZEROS + (3U << 20), "%lu", (unsigned long)bytes_read);
    put(&place, SW_SEGMENT_ZEROS - 1, 1); /* in the run */
    cr_assert_eq(read_back(&place), SW_SEGMENT_ZEROS);
    put(&place, 13U << 20, SW_SEGMENT_PROBE + 4096); /* behind it, and met by a probe */
    cr_assert_eq(read_back(&place), (14U << 20) + 4096);
    put(&place, FILE_BYTES - 1, 1); /* behind that */
    (void)read_back(&place);
    remove_place(&place);
}

Test(segment_file, any_place_of_a_record_is_read, .timeout = 120)
{
    struct random random = random_of(0);
    for (int round = 0; round < 12; round++) {
        struct place place;
        make_place(&place, round % 2 == 0);
        uint64_t at = 4096;
        put(&place, 0, at);
        for (int i = 0; i < 20; i++) { /* no gap is longer than a run of zeros */
            uint64_t bytes = 1 + random_below(&random, 300000);
            at += random_below(&random, 700000);
            if (at + bytes < FILE_BYTES) {
                put(&place, at, bytes);
                at += bytes;
            }
        }
        cr_assert(read_back(&place) >= at);
        remove_place(&place);
    }
}

Test(segment_file, what_is_absent_is_told)
{
    struct place place;
    struct sw_segment_file file;
    make_place(&place, false);
    cr_assert_eq(sw_segment_file_read(&file, &place.directory, "other"), -1);
    cr_assert_eq(errno, ENOENT);
    cr_assert_null(file.bytes);
    remove_place(&place);
}
