/* SPDX-License-Identifier: MIT
 *
 * power_file.h - a file of the disk that can lose power: as it is, and as it would survive.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_POWER_FILE_H
#define SHERWOOD_TESTS_SUPPORT_POWER_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "tests/support/random.h"

enum { POWER_FILE_MAX = 1 << 17 }; /* bytes */

struct power_file {
    uint8_t *now,
        *safe; /* POWER_FILE_MAX each, zeros behind the size; NULL: there is no such file */
    uint64_t now_bytes, safe_bytes;
    bool is_lost[POWER_FILE_MAX / 4096]; /* a sync of the page failed: it counts as clean */
    bool is_direct; /* only whole pages of memory are written, as whole pages */
};

/* The power ends: of each page that was not synced some sectors are old, or it is garbage. */
void power_file_lose(struct random *random, struct power_file *file);
/* Returns true if O_DIRECT refuses the piece. Some descriptors refuse every piece. */
bool power_file_refuses(const struct power_file *file, int fd, const struct iovec *piece, off_t at);

/* Whether the path names the directory: always. */
int power_file_is_at(int dir, const char *path);

#endif
