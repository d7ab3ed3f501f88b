/* SPDX-License-Identifier: MIT
 *
 * power_file.c - what becomes of the pages of a file.
 */
#include "tests/support/power_file.h"

#include <string.h>

enum { PAGE = 4096, SECTOR = 512 };

bool power_file_refuses(const struct power_file *file, int fd, const struct iovec *piece, off_t at)
{
    return file->is_direct && (fd % 4 == 3 || (uintptr_t)piece->iov_base % PAGE != 0 ||
                               piece->iov_len % PAGE != 0 || at % PAGE != 0);
}

static bool coin(struct random *random)
{
    return random_below(random, 2) == 0;
}

static void lose_page(struct random *random, struct power_file *file, size_t at)
{
    if (random_below(random, 7) == 0) { /* it was being written */
        for (size_t i = 0; i < PAGE; i++) {
            file->safe[at + i] = (uint8_t)random_next(random);
        }
        return;
    }
    for (size_t sector = at; sector < at + PAGE; sector += SECTOR) {
        if (coin(random)) {
            memcpy(file->safe + sector, file->now + sector, SECTOR);
        }
    }
}

void power_file_lose(struct random *random, struct power_file *file)
{
    for (size_t at = 0; at < POWER_FILE_MAX; at += PAGE) {
        if (memcmp(file->safe + at, file->now + at, PAGE) != 0 && !file->is_lost[at / PAGE]) {
            lose_page(random, file, at);
        }
    }
    file->safe_bytes = coin(random) ? file->now_bytes : file->safe_bytes;
    memset(file->safe + file->safe_bytes, 0, POWER_FILE_MAX - file->safe_bytes);
}

int power_file_is_at(int dir, const char *path)
{
    (void)dir;
    (void)path;
    return 1;
}
