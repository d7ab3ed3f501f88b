/* SPDX-License-Identifier: MIT
 *
 * available_memory.c - reads /proc, the files of control groups, and RLIMIT_AS.
 */
#include "proto/host/available_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Most bytes, with the final NUL, read of a file of /proc or of a control group. The kernel writes
 * at most 4 KiB to memory.stat. /proc/self/cgroup has a line for each of up to 14 hierarchies of
 * version 1, so only paths of more than 500 bytes make it longer. */
#define TEXT_BYTES 8192

uint64_t sw_memory_installed(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page_bytes <= 0) {
        return UINT64_MAX;
    }
    return (uint64_t)pages * (uint64_t)page_bytes;
}

/* Reads a file of a directory, of a longer one its beginning. Returns false if it cannot be read.
 * Allocates no memory, because the function must also work when memory is short. */
static bool read_text(const char *directory, const char *name, char text[TEXT_BYTES])
{
    char path[PATH_MAX];
    int path_size = snprintf(path, sizeof(path), "%s/%s", directory, name);
    if (path_size < 0 || (size_t)path_size >= sizeof(path)) {
        return false;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    size_t size = 0;
    ssize_t count = 0;
    do { /* read() may return a file of /proc in pieces */
        count = read(file, text + size, TEXT_BYTES - 1 - size);
        size += count > 0 ? (size_t)count : 0;
    } while (count > 0 || (count < 0 && errno == EINTR));
    close(file);
    text[size] = '\0';
    return count == 0;
}

static bool parse_number(const char *text, uint64_t *number)
{
    char *end = NULL;
    text += strspn(text, " \t");
    if (*text < '0' || *text > '9') { /* "max": no limit */
        return false;
    }
    errno = 0;
    *number = strtoull(text, &end, 10);
    return errno == 0 && (*end == '\0' || *end == '\n' || *end == ' ');
}

/* Finds the number of the line "name: number" or "name number". */
static bool find_number(const char *text, const char *name, uint64_t *number)
{
    size_t size = strlen(name);
    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, name, size) == 0 && (line[size] == ':' || line[size] == ' ')) {
            return parse_number(line + size + 1, number);
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return false;
}

/* Names of the files of a version of control groups, and of the lines of memory.stat that count
 * page cache. */
struct names {
    const char *limit, *usage, *cache[2];
};

static const struct names names_2 = {
    "memory.max", "memory.current", {"inactive_file", "active_file"}};
static const struct names names_1 = {
    "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}};

/* Returns the bytes that a group leaves: its limit minus its usage, page cache not counted. If
 * `whole`, returns its limit. */
static uint64_t room_of_level(const char *directory, const struct names *names, bool whole)
{
    char text[TEXT_BYTES];
    uint64_t limit = 0;
    uint64_t used = 0;
    if (!read_text(directory, names->limit, text) || !parse_number(text, &limit)) {
        return UINT64_MAX;
    }
    if (whole) {
        return limit;
    }
    if (!read_text(directory, names->usage, text) || !parse_number(text, &used)) {
        return UINT64_MAX;
    }
    if (read_text(directory, "memory.stat", text)) {
        for (int i = 0; i < 2; i++) {
            uint64_t cache = 0;
            if (find_number(text, names->cache[i], &cache)) {
                used -= cache < used ? cache : used;
            }
        }
    }
    return limit > used ? limit - used : 0;
}

/* Returns the minimum of room_of_level over all levels of root/path, root included. */
static uint64_t room_of_path(const char *root, const char *path, size_t path_size,
                             const struct names *names, bool whole)
{
    char directory[PATH_MAX];
    size_t root_size = strlen(root);
    uint64_t least = UINT64_MAX;
    int size = snprintf(directory, sizeof(directory), "%s%.*s", root, (int)path_size, path);
    if (size < 0 || (size_t)size >= sizeof(directory)) {
        return UINT64_MAX;
    }
    for (;;) {
        uint64_t room = room_of_level(directory, names, whole);
        least = room < least ? room : least;
        char *slash = strrchr(directory + root_size, '/');
        if (slash == NULL) {
            return least;
        }
        *slash = '\0';
    }
}

/* Returns whether [list, list + size), words that commas separate, contains `word`. */
static bool lists(const char *list, size_t size, const char *word)
{
    size_t word_size = strlen(word);
    for (size_t at = 0; at < size;) {
        size_t length = strcspn(list + at, ",:");
        if (length == word_size && strncmp(list + at, word, length) == 0) {
            return true;
        }
        at += length + 1;
    }
    return false;
}

uint64_t sw_memory_of_groups(const char *text, const char *root_2, const char *root_1, bool whole)
{
    uint64_t least = UINT64_MAX;
    for (const char *line = text; *line != '\0';) { /* number:controllers:path */
        size_t size = strcspn(line, "\n");
        const char *first = memchr(line, ':', size);
        const char *second =
            first != NULL ? memchr(first + 1, ':', size - (size_t)(first + 1 - line)) : NULL;
        if (second != NULL) {
            size_t list_size = (size_t)(second - first - 1);
            size_t path_size = size - (size_t)(second + 1 - line);
            uint64_t room = UINT64_MAX;
            if (list_size == 0) {
                room = room_of_path(root_2, second + 1, path_size, &names_2, whole);
            } else if (lists(first + 1, list_size, "memory")) {
                room = room_of_path(root_1, second + 1, path_size, &names_1, whole);
            }
            least = room < least ? room : least;
        }
        line += size + (line[size] == '\n');
    }
    return least;
}

uint64_t sw_memory_of_meminfo(const char *text)
{
    uint64_t kib = 0;
    return find_number(text, "MemAvailable", &kib) && kib < UINT64_MAX / 1024 ? kib * 1024
                                                                              : UINT64_MAX;
}

/* Returns the bytes of address space that RLIMIT_AS (ulimit -v) leaves. Every mapping counts,
 * touched or not. */
static uint64_t room_of_address_space(void)
{
    struct rlimit limit;
    char text[TEXT_BYTES];
    uint64_t pages = 0;
    long page_bytes = sysconf(_SC_PAGESIZE);
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || page_bytes <= 0 ||
        !read_text("/proc/self", "statm", text) || !parse_number(text, &pages)) {
        return UINT64_MAX;
    }
    uint64_t used = pages * (uint64_t)page_bytes;
    return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

uint64_t sw_memory_available(void)
{
    char text[TEXT_BYTES];
    uint64_t available = UINT64_MAX;
    if (read_text("/proc", "meminfo", text)) {
        available = sw_memory_of_meminfo(text);
    }
    if (read_text("/proc/self", "cgroup", text)) {
        uint64_t room = sw_memory_of_groups(text, "/sys/fs/cgroup", "/sys/fs/cgroup/memory", false);
        available = room < available ? room : available;
    }
    uint64_t room = room_of_address_space();
    return room < available ? room : available;
}

uint64_t sw_memory_limit(uint64_t mapped)
{
    char text[TEXT_BYTES];
    struct rlimit space;
    uint64_t most = sw_memory_installed();
    if (read_text("/proc/self", "cgroup", text)) {
        uint64_t limit = sw_memory_of_groups(text, "/sys/fs/cgroup", "/sys/fs/cgroup/memory", true);
        most = limit < most ? limit : most;
    }
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
        const uint64_t left = space.rlim_cur > mapped ? space.rlim_cur - mapped : 0;
        most = left < most ? left : most;
    }
    return most;
}
