/* SPDX-License-Identifier: MIT
 *
 * boot_id.h - the identity of the running kernel.
 *
 * While the id is unchanged, the machine has not lost power: bytes that a process wrote to a file
 * are there, unless they were damaged.
 *
 * Threads: any.
 */
#ifndef SHERWOOD_PROTO_BOOT_ID_H
#define SHERWOOD_PROTO_BOOT_ID_H

#include <stdint.h>

#define SW_BOOT_ID_BYTES 16

/* Fills in the id from /proc/sys/kernel/random/boot_id; zeros if it cannot be read. */
void sw_boot_id(uint8_t id[SW_BOOT_ID_BYTES]);

#endif
