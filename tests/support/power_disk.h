/* SPDX-License-Identifier: MIT
 *
 * power_disk.h - a data directory in memory, behind the table of system calls, that can lose power.
 *
 * What was not synced is kept or lost in pieces: each sector of 512 bytes old or new, a page that
 * is being rewritten perhaps garbage, names and renames each on its own, a rename perhaps half.
 * There is one disk in a process.
 *
 * Threads: the calls may come from any; the functions below belong to the test's.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_POWER_DISK_H
#define SHERWOOD_TESTS_SUPPORT_POWER_DISK_H

#include "server/log/io.h"
#include "tests/support/random.h"

/* An empty disk. */
void power_disk_init(void);
void power_disk_free(void);
const struct sw_io *power_disk_io(void);

/* Ends the power (`random`), or only the process (NULL): what is there then is drawn now, and every
 * later call fails, until power_disk_reboot. */
void power_disk_crash(struct random *random);
/* The same before the call that comes after so many others. */
void power_disk_crash_before(uint32_t calls, struct random *random);
void power_disk_reboot(void);
bool power_disk_is_dead(void);
/* .. and not only the process. */
bool power_disk_lost_power(void);

/* Of so many writes to files, and syncs of them, one fails (0: none). A sync that failed has lost
 * what it should have made durable, as the kernel has it: no later sync does, unless it is written
 * again. */
void power_disk_fail(uint32_t one_of, struct random *random);

#endif
