/* SPDX-License-Identifier: MIT
 *
 * faults.c - a library that is loaded before a daemon (LD_PRELOAD), so that its calls on files of
 * the data directory fail, take long, or are held. tests/integration/faults.py says when, through a
 * file that both map: SHERWOOD_FAULTS names it.
 *
 * The daemon does no other input and output on such files than these calls (server/log/io.c): there
 * is no io_uring. It opens, renames and removes relative to a directory's descriptor, and does so
 * with nothing else.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* In the order of the names in faults.py. */
enum kind { WRITE, SYNC, FOLDER, OPEN, RENAME, UNLINK, ALLOCATE, READ, KINDS };

/* Atomic; in the order of the fields in faults.py. */
struct fault {
    uint32_t error;         /* errno; 0: a write writes only a part */
    uint32_t pass, left;    /* `pass` calls succeed, then `left` calls fail */
    uint32_t us;            /* microseconds added to each call */
    uint32_t held, waiting; /* calls wait until `held` is 0; `waiting` counts them */
    uint32_t calls, failed;
};

struct faults {
    struct fault of[KINDS];
    uint32_t repeated;    /* writes and syncs of a file by a thread that may know that a sync of it
                             failed */
    uint32_t spare_small; /* syncs of files below SMALL bytes are left alone */
    uint32_t silent;      /* the resolver does not answer look-ups of names */
    uint32_t asking;      /* number of look-ups that wait for it */
    uint32_t work_held;   /* threads of libuv begin no work until this is 0 */
    uint32_t work_waits;  /* number of works that wait for it */
    uint32_t map_held;    /* no LARGE memory is mapped until this is 0 */
    uint32_t map_waits;   /* number of calls that wait for it */
};

enum {
    LOST_MAX = 1024,
    PART = 4096,
    SMALL = 65536,
    LARGE = 8 << 20,
    WORKS_MAX = 64,
    KNOWN_MS = 1000
};

static struct faults *faults;
static uint64_t lost[LOST_MAX]; /* atomic: inodes of files with a failed sync */
static struct {
    const void *thread; /* the one whose sync failed */
    uint64_t ms;        /* when */
} failures[LOST_MAX];
static uint32_t lost_count;
static _Thread_local char this_thread; /* its address names the thread */

static __attribute__((constructor)) void begin(void)
{
    const char *path = getenv("SHERWOOD_FAULTS");
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    void *memory = fd < 0 ? MAP_FAILED
                          : mmap(NULL, sizeof(*faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        abort(); /* or a test would pass that has injected nothing */
    }
    faults = memory;
    close(fd);
}

/* The arrays of a table that grows. */
void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (bytes >= LARGE && fd < 0 && faults != NULL &&
        __atomic_load_n(&faults->map_held, __ATOMIC_ACQUIRE) != 0) {
        __atomic_fetch_add(&faults->map_waits, 1, __ATOMIC_RELAXED);
        while (__atomic_load_n(&faults->map_held, __ATOMIC_ACQUIRE) != 0) {
            usleep(1000);
        }
        __atomic_fetch_sub(&faults->map_waits, 1, __ATOMIC_RELAXED);
    }
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

static void *next(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (function == NULL) {
        abort();
    }
    return function;
}

static void count(uint32_t *counter)
{
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* Decrements the counter, or returns false if it is 0. */
static bool decrement_if_positive(uint32_t *counter)
{
    uint32_t there = __atomic_load_n(counter, __ATOMIC_ACQUIRE);
    while (there > 0 && !__atomic_compare_exchange_n(counter, &there, there - 1, 0,
                                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    }
    return there > 0;
}

/* Called before each call: waits for the injected delay, and returns whether the call fails. */
static bool fails(enum kind kind)
{
    struct fault *fault = &faults->of[kind];
    count(&fault->calls);
    uint32_t us = __atomic_load_n(&fault->us, __ATOMIC_RELAXED);
    if (us > 0) {
        usleep(us);
    }
    if (__atomic_load_n(&fault->held, __ATOMIC_ACQUIRE) != 0) {
        __atomic_fetch_add(&fault->waiting, 1, __ATOMIC_RELAXED);
        while (__atomic_load_n(&fault->held, __ATOMIC_ACQUIRE) != 0) {
            usleep(1000);
        }
        __atomic_fetch_sub(&fault->waiting, 1, __ATOMIC_RELAXED);
    }
    if (__atomic_load_n(&fault->left, __ATOMIC_ACQUIRE) == 0 ||
        decrement_if_positive(&fault->pass) || !decrement_if_positive(&fault->left)) {
        return false;
    }
    count(&fault->failed);
    return true;
}

static uint32_t error_of(enum kind kind)
{
    return __atomic_load_n(&faults->of[kind].error, __ATOMIC_ACQUIRE);
}

static int fail(enum kind kind)
{
    errno = (int)error_of(kind);
    return -1;
}

/* --- files with a failed sync: their contents on storage are unknown ---------------------------
 */

static bool is_file(int fd, uint64_t *inode)
{
    struct stat facts;
    bool is = fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
    *inode = is ? facts.st_ino : 0;
    return is;
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void add_lost(int fd)
{
    uint64_t inode;
    if (!is_file(fd, &inode)) {
        return;
    }
    uint32_t i = __atomic_fetch_add(&lost_count, 1, __ATOMIC_ACQ_REL);
    if (i >= LOST_MAX) {
        abort();
    }
    failures[i].thread = &this_thread;
    failures[i].ms = now_ms();
    __atomic_store_n(&lost[i], inode, __ATOMIC_RELEASE);
}

/* Removes the file from the lost ones: its number may be given to another one. */
static void forget_lost(uint64_t inode)
{
    for (uint32_t i = 0; i < LOST_MAX && i < __atomic_load_n(&lost_count, __ATOMIC_ACQUIRE); i++) {
        if (__atomic_load_n(&lost[i], __ATOMIC_ACQUIRE) == inode) {
            __atomic_store_n(&lost[i], 0, __ATOMIC_RELEASE);
        }
    }
}

/* Counts the use of a lost file. Another thread than that of the failed sync learns of it a moment
 * later: until then it may begin a write. */
static void look_for_lost(uint64_t inode, enum kind kind)
{
    for (uint32_t i = 0; i < LOST_MAX && i < __atomic_load_n(&lost_count, __ATOMIC_ACQUIRE); i++) {
        if (__atomic_load_n(&lost[i], __ATOMIC_ACQUIRE) == inode &&
            (kind == SYNC || failures[i].thread == &this_thread ||
             now_ms() - failures[i].ms >= KNOWN_MS)) {
            count(&faults->repeated);
            return;
        }
    }
}

/* --- the calls -------------------------------------------------------------------------------- */

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    ssize_t (*real)(int, const void *, size_t, off_t) = next("pwrite");
    uint64_t inode;
    if (is_file(fd, &inode)) {
        look_for_lost(inode, WRITE);
        if (fails(WRITE)) {
            if (error_of(WRITE) != 0) {
                return fail(WRITE);
            }
            bytes = bytes > PART ? PART : bytes;
        }
    }
    return real(fd, data, bytes, at);
}

ssize_t pwritev(int fd, const struct iovec *pieces, int count_of, off_t at)
{
    ssize_t (*real)(int, const struct iovec *, int, off_t) = next("pwritev");
    uint64_t inode;
    if (is_file(fd, &inode)) {
        look_for_lost(inode, WRITE);
        if (fails(WRITE)) {
            if (error_of(WRITE) != 0) {
                return fail(WRITE);
            }
            struct iovec part = pieces[0];
            part.iov_len = part.iov_len > PART ? PART : part.iov_len;
            return real(fd, &part, 1, at);
        }
    }
    return real(fd, pieces, count_of, at);
}

int fdatasync(int fd)
{
    int (*real)(int) = next("fdatasync");
    uint64_t inode;
    if (is_file(fd, &inode)) {
        look_for_lost(inode, SYNC);
    }
    struct stat facts;
    bool spared = __atomic_load_n(&faults->spare_small, __ATOMIC_ACQUIRE) != 0 &&
                  fstat(fd, &facts) == 0 && facts.st_size < SMALL;
    if (!spared && fails(SYNC)) {
        add_lost(fd);
        return fail(SYNC);
    }
    return real(fd);
}

int fsync(int fd)
{
    int (*real)(int) = next("fsync");
    return fails(FOLDER) ? fail(FOLDER) : real(fd);
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **found)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
        next("getaddrinfo");
    if (hints != NULL && (hints->ai_flags & AI_NUMERICHOST) == 0) {
        __atomic_fetch_add(&faults->asking, 1, __ATOMIC_RELAXED);
        while (__atomic_load_n(&faults->silent, __ATOMIC_ACQUIRE) != 0) {
            usleep(1000);
        }
        __atomic_fetch_sub(&faults->asking, 1, __ATOMIC_RELAXED);
    }
    return real(node, service, hints, found);
}

/* --- work for the threads of libuv ------------------------------------------------------------ */

/* Requests of libuv that were queued. A request is freed after its work has ended. */
static struct {
    void *request; /* atomic; NULL: free */
    void (*work)(void *request);
} works[WORKS_MAX];

/* On a thread of libuv. */
static void begin_work(void *request)
{
    void (*work)(void *request) = NULL;
    for (int i = 0; i < WORKS_MAX && work == NULL; i++) {
        if (__atomic_load_n(&works[i].request, __ATOMIC_ACQUIRE) == request) {
            work = works[i].work;
            __atomic_store_n(&works[i].request, NULL, __ATOMIC_RELEASE);
        }
    }
    if (work == NULL) {
        abort();
    }
    __atomic_fetch_add(&faults->work_waits, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&faults->work_held, __ATOMIC_ACQUIRE) != 0) {
        usleep(1000);
    }
    __atomic_fetch_sub(&faults->work_waits, 1, __ATOMIC_RELAXED);
    work(request);
}

/* libuv's header is left out: the types of its arguments do not matter here. */
int uv_queue_work(void *loop, void *request, void (*work)(void *request),
                  void (*done)(void *request, int status))
{
    int (*real)(void *, void *, void (*)(void *), void (*)(void *, int)) = next("uv_queue_work");
    static uint32_t lock;
    int i = 0;
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0) {
        usleep(1);
    }
    while (i < WORKS_MAX && __atomic_load_n(&works[i].request, __ATOMIC_ACQUIRE) != NULL) {
        i++;
    }
    if (i == WORKS_MAX) {
        abort();
    }
    works[i].work = work;
    __atomic_store_n(&works[i].request, request, __ATOMIC_RELEASE);
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
    return real(loop, request, begin_work, done);
}

int openat(int dir, const char *name, int flags, ...)
{
    int (*real)(int, const char *, int, mode_t) = next("openat");
    va_list list;
    va_start(list, flags);
    mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    return fails(OPEN) ? fail(OPEN) : real(dir, name, flags, mode);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    int (*real)(int, const char *, int, const char *) = next("renameat");
    return fails(RENAME) ? fail(RENAME) : real(from_dir, from, to_dir, to);
}

int unlinkat(int dir, const char *name, int flags)
{
    int (*real)(int, const char *, int) = next("unlinkat");
    struct stat facts;
    if (fails(UNLINK)) {
        return fail(UNLINK);
    }
    if (fstatat(dir, name, &facts, 0) == 0) {
        forget_lost(facts.st_ino);
    }
    return real(dir, name, flags);
}

int fallocate(int fd, int mode, off_t at, off_t bytes)
{
    int (*real)(int, int, off_t, off_t) = next("fallocate");
    return fails(ALLOCATE) ? fail(ALLOCATE) : real(fd, mode, at, bytes);
}

ssize_t pread(int fd, void *data, size_t bytes, off_t at)
{
    ssize_t (*real)(int, void *, size_t, off_t) = next("pread");
    return fails(READ) ? fail(READ) : real(fd, data, bytes, at);
}
