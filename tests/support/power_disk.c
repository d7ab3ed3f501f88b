/* SPDX-License-Identifier: MIT
 *
 * power_disk.c - files and names, as they are and as they would survive.
 */
#include "tests/support/power_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/power_directory.h"
#include "tests/support/power_file.h"

enum {
    FILES_MAX = 512,
    FIRST_FD = 100000,
    DIRECTORY_FD = FIRST_FD - 1,
    BYTES_MAX = POWER_FILE_MAX,
    PAGE = 4096
};

/* In memory that the processes of a test share. */
static struct disk {
    pthread_mutex_t lock;
    struct power_file files[FILES_MAX];
    uint8_t *memory; /* 2 * BYTES_MAX of each file */
    struct power_directory directory;
    bool is_dead;
    bool lost_power;
    uint32_t calls_left; /* until the power goes; 0: it does not */
    struct random *crash_random;
    uint32_t fail_one_of;
    struct random *fail_random;
} * disk;

static bool ends_process; /* of the crash: power_disk_end_process */

/* --- the calls -------------------------------------------------------------------------------- */

static void crash(struct random *random);

static int begin_call(void)
{
    pthread_mutex_lock(&disk->lock);
    if (disk->calls_left > 0 && --disk->calls_left == 0) {
        crash(disk->crash_random);
    }
    if (disk->is_dead) {
        pthread_mutex_unlock(&disk->lock);
        if (ends_process) {
            _exit(POWER_DISK_EXIT);
        }
        errno = EIO;
        return -1;
    }
    return 0;
}

static int done(int result, int error)
{
    pthread_mutex_unlock(&disk->lock);
    errno = error;
    return result;
}

static bool fails(void)
{
    return disk->fail_one_of > 0 && random_below(disk->fail_random, disk->fail_one_of) == 0;
}

static struct power_file *file_of(int fd)
{
    return &disk->files[fd - FIRST_FD];
}

static int new_file(const char *name)
{
    int at = 0;
    while (disk->files[at].now != NULL) {
        if (++at == FILES_MAX) {
            abort(); /* the test keeps too many files */
        }
    }
    uint8_t *memory = disk->memory + (size_t)at * 2 * BYTES_MAX;
    disk->files[at] = (struct power_file){.now = memory, .safe = memory + BYTES_MAX};
    memset(memory, 0, (size_t)2 * BYTES_MAX);
    power_directory_add(&disk->directory, name, at);
    return at;
}

/* Frees the files without a name, which no process has open. */
static void free_files(void)
{
    for (int i = 0; i < FILES_MAX; i++) {
        if (!power_directory_names(&disk->directory, i)) {
            disk->files[i].now = NULL;
        }
    }
}

static int disk_open(int dir, const char *name, int flags, mode_t mode)
{
    (void)dir;
    (void)mode;
    if (begin_call() != 0) {
        return -1;
    }
    if (flags & O_DIRECTORY) {
        return done(DIRECTORY_FD, 0);
    }
    int file = power_directory_find(&disk->directory, name);
    if (file < 0 && !(flags & O_CREAT)) {
        return done(-1, ENOENT);
    }
    file = file >= 0 ? file : new_file(name);
    if (flags & O_TRUNC) {
        memset(disk->files[file].now, 0, BYTES_MAX);
        disk->files[file].now_bytes = 0;
    }
    return done(FIRST_FD + file, 0);
}

/* It cannot tell. */
static int disk_data(int fd, uint64_t at, uint64_t *from, uint64_t *to)
{
    (void)fd, (void)at, (void)from, (void)to;
    return 0;
}

/* Each life may be behind a loss of power. */
static void disk_boot_id(uint8_t id[SW_BOOT_ID_BYTES])
{
    memset(id, 0, SW_BOOT_ID_BYTES);
}

static int disk_close(int fd) /* also of the descriptor of a lock */
{
    (void)fd;
    return 0;
}

static ssize_t disk_pread(int fd, void *data, size_t bytes, off_t at)
{
    if (begin_call() != 0) {
        return -1;
    }
    const struct power_file *file = file_of(fd);
    uint64_t rest = (uint64_t)at < file->now_bytes ? file->now_bytes - (uint64_t)at : 0;
    size_t got = bytes < rest ? bytes : (size_t)rest;
    memcpy(data, file->now + at, got);
    return done((int)got, 0);
}

/* Every second file takes it, of the others some take it and then no write. */
static int disk_direct(int fd, bool is_direct)
{
    if (begin_call() != 0) {
        return -1;
    }
    if (is_direct && fd % 2 == 0) {
        return done(-1, EINVAL);
    }
    file_of(fd)->is_direct = is_direct;
    return done(0, 0);
}

static ssize_t disk_pwritev(int fd, const struct iovec *pieces, int count, off_t at)
{
    int put = 0;
    if (begin_call() != 0) {
        return -1;
    }
    struct power_file *file = file_of(fd);
    const bool breaks = fails(); /* it has written some of the pieces */
    for (int i = 0; i < count; i++) {
        if ((size_t)at + pieces[i].iov_len > BYTES_MAX) {
            return done(-1, ENOSPC);
        }
        if (power_file_refuses(file, fd, &pieces[i], at)) {
            return done(-1, EINVAL);
        }
        if (breaks && random_below(disk->fail_random, 2) == 0) {
            return done(-1, EIO);
        }
        for (size_t page = (size_t)at / PAGE;
             pieces[i].iov_len > 0 && page <= ((size_t)at + pieces[i].iov_len - 1) / PAGE; page++) {
            file->is_lost[page] = false;
        }
        memcpy(file->now + at, pieces[i].iov_base, pieces[i].iov_len);
        at += (off_t)pieces[i].iov_len;
        put += (int)pieces[i].iov_len;
    }
    file->now_bytes = file->now_bytes < (uint64_t)at ? (uint64_t)at : file->now_bytes;
    return breaks ? done(-1, EIO) : done(put, 0);
}

static ssize_t disk_pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    const struct iovec piece = {(void *)(uintptr_t)data, bytes};
    return disk_pwritev(fd, &piece, 1, at);
}

/* A sync takes its time, and promises what was written before it began. */
static int disk_fdatasync(int fd)
{
    uint8_t *copy = malloc(BYTES_MAX);
    if (copy == NULL || begin_call() != 0) {
        free(copy);
        return -1;
    }
    struct power_file *file = file_of(fd);
    uint64_t bytes = file->now_bytes;
    memcpy(copy, file->now, BYTES_MAX);
    pthread_mutex_unlock(&disk->lock);
    usleep(100);
    if (begin_call() != 0) {
        free(copy);
        return -1;
    }
    bool failed = fails();
    for (size_t page = 0; page < BYTES_MAX / PAGE; page++) {
        bool differs = memcmp(file->safe + page * PAGE, copy + page * PAGE, PAGE) != 0;
        bool is_lost = file->is_lost[page] || (failed && random_below(disk->fail_random, 2) == 0);
        if (differs && !is_lost) {
            memcpy(file->safe + page * PAGE, copy + page * PAGE, PAGE);
        }
        file->is_lost[page] |= differs && is_lost;
    }
    file->safe_bytes = bytes;
    free(copy);
    return failed ? done(-1, EIO) : done(0, 0);
}

static int disk_fsync(int fd)
{
    (void)fd; /* the directory's */
    if (begin_call() != 0) {
        return -1;
    }
    bool failed = fails();
    if (!failed) {
        power_directory_sync(&disk->directory);
    }
    return failed ? done(-1, EIO) : done(0, 0);
}

static int disk_write_out(int fd, off_t at, off_t bytes)
{
    return fd < 0 && at < 0 && bytes < 0;
}

static int disk_truncate(int fd, off_t bytes)
{
    if (begin_call() != 0) {
        return -1;
    }
    memset(file_of(fd)->now + bytes, 0, (size_t)(BYTES_MAX - bytes));
    file_of(fd)->now_bytes = (uint64_t)bytes;
    return done(0, 0);
}

static int disk_size(int fd, uint64_t *bytes)
{
    if (begin_call() != 0) {
        return -1;
    }
    *bytes = file_of(fd)->now_bytes;
    return done(0, 0);
}

static int disk_links(int fd, uint64_t *count)
{
    *count = fd >= FIRST_FD;
    return 0;
}

static int disk_rename(int dir, const char *from, const char *to)
{
    (void)dir;
    if (begin_call() != 0) {
        return -1;
    }
    if (power_directory_find(&disk->directory, from) < 0) {
        return done(-1, ENOENT);
    }
    power_directory_rename(&disk->directory, from, to);
    return done(0, 0);
}

static int disk_link(int dir, const char *from, const char *to)
{
    (void)dir;
    if (begin_call() != 0) {
        return -1;
    }
    const int file = power_directory_find(&disk->directory, from);
    if (file < 0 || power_directory_find(&disk->directory, to) >= 0) {
        return done(-1, file < 0 ? ENOENT : EEXIST);
    }
    power_directory_add(&disk->directory, to, file);
    return done(0, 0);
}

static int disk_unlink(int dir, const char *name)
{
    (void)dir;
    if (begin_call() != 0) {
        return -1;
    }
    if (power_directory_find(&disk->directory, name) < 0) {
        return done(-1, ENOENT);
    }
    power_directory_remove(&disk->directory, name);
    return done(0, 0);
}

static int disk_list(int dir, bool (*each)(void *context, const char *name), void *context)
{
    struct power_name names[POWER_NAMES_MAX];
    (void)dir;
    if (begin_call() != 0) {
        return -1;
    }
    memcpy(names, disk->directory.now, sizeof(names));
    done(0, 0);
    for (int i = 0; i < POWER_NAMES_MAX; i++) {
        if (names[i].text[0] != '\0' && !each(context, names[i].text)) {
            break;
        }
    }
    return 0;
}

const struct sw_io *power_disk_io(void)
{
    static const struct sw_io io = {
        .open = disk_open,
        .close = disk_close,
        .pread = disk_pread,
        .pwrite = disk_pwrite,
        .pwritev = disk_pwritev,
        .fdatasync = disk_fdatasync,
        .fsync = disk_fsync,
        .write_out = disk_write_out,
        .truncate = disk_truncate,
        .direct = disk_direct,
        .allocate = disk_truncate, /* zeros, whichever of them reach the disk before a sync */
        .size = disk_size,
        .data = disk_data,
        .links = disk_links,
        .is_at = power_file_is_at,
        .rename = disk_rename,
        .unlink = disk_unlink,
        .link = disk_link,
        .boot_id = disk_boot_id,
        .lock_directory = disk_close,
        .lock = disk_close,
        .list = disk_list,
    };
    return &io;
}

/* --- the end of the power --------------------------------------------------------------------- */

/* `lock` is held. */
static void crash(struct random *random)
{
    disk->is_dead = true;
    disk->lost_power = random != NULL;
    disk->calls_left = 0;
    if (random != NULL) {
        for (int i = 0; i < FILES_MAX; i++) {
            if (disk->files[i].now != NULL) {
                power_file_lose(random, &disk->files[i]);
            }
        }
        power_directory_lose(&disk->directory, random);
    }
}

void power_disk_crash(struct random *random)
{
    pthread_mutex_lock(&disk->lock);
    if (!disk->is_dead) {
        crash(random);
    }
    pthread_mutex_unlock(&disk->lock);
}

void power_disk_crash_before(uint32_t calls, struct random *random)
{
    pthread_mutex_lock(&disk->lock);
    disk->calls_left = calls;
    disk->crash_random = random;
    pthread_mutex_unlock(&disk->lock);
}

void power_disk_end_process(void)
{
    ends_process = true;
}

bool power_disk_is_dead(void)
{
    return __atomic_load_n(&disk->is_dead, __ATOMIC_ACQUIRE);
}

bool power_disk_lost_power(void)
{
    return __atomic_load_n(&disk->lost_power, __ATOMIC_ACQUIRE);
}

void power_disk_fail(uint32_t one_of, struct random *random)
{
    pthread_mutex_lock(&disk->lock);
    disk->fail_one_of = one_of;
    disk->fail_random = random;
    pthread_mutex_unlock(&disk->lock);
}

static void init_lock(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&disk->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

void power_disk_reboot(void)
{
    init_lock(); /* the process that had it may have been killed */
    pthread_mutex_lock(&disk->lock);
    if (disk->lost_power) {
        for (int i = 0; i < FILES_MAX; i++) {
            struct power_file *file = &disk->files[i];
            if (file->now != NULL) {
                memcpy(file->now, file->safe, BYTES_MAX);
                memset(file->is_lost, 0, sizeof(file->is_lost));
                file->now_bytes = file->safe_bytes;
            }
        }
        power_directory_reboot(&disk->directory);
    }
    free_files();
    disk->is_dead = false;
    disk->lost_power = false;
    pthread_mutex_unlock(&disk->lock);
}

static void *shared(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        abort();
    }
    return memory;
}

void power_disk_init(void)
{
    power_disk_free();
    disk = shared(sizeof(*disk));
    disk->memory = shared((size_t)FILES_MAX * 2 * BYTES_MAX);
    init_lock();
}

void power_disk_free(void)
{
    if (disk != NULL) {
        munmap(disk->memory, (size_t)FILES_MAX * 2 * BYTES_MAX);
        munmap(disk, sizeof(*disk));
        disk = NULL;
    }
}
