/* SPDX-License-Identifier: MIT
 *
 * power_disk.h - a data directory in memory, behind the table of system calls, that can lose power.
 *
 * A power loss keeps or loses unsynced data in pieces. Each sector of 512 bytes is old or new, a
 * page that was being rewritten may be garbage, names and renames survive separately, and a rename
 * may survive by half. A process has one disk, and shares it with the processes that it forks.
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

/* Ends the power (`random`), or only the process (NULL). Draws the surviving contents now. Every
 * later call fails, until power_disk_reboot. */
void power_disk_crash(struct random *random);
/* The same after `calls` more calls, before the next one. */
void power_disk_crash_before(uint32_t calls, struct random *random);
/* Lets the crash end this process, a child of the test's: at once, with this status. */
#define POWER_DISK_EXIT 77
void power_disk_end_process(void);
/* No process uses the disk any more. */
void power_disk_reboot(void);
bool power_disk_is_dead(void);
/* Whether the power was lost, and not only the process. */
bool power_disk_lost_power(void);

/* Makes one of `one_of` writes to files and syncs of files fail (0: none fails). A failed sync
 * loses the data, as in the kernel: a later sync does not make it durable, unless it is written
 * again. */
void power_disk_fail(uint32_t one_of, struct random *random);

#endif
