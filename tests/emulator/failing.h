/* SPDX-License-Identifier: MIT
 *
 * failing.h - calls of the runtime that fail, for tests.
 *
 * Threads: any.
 */
#ifndef SHERWOOD_EMULATOR_FAILING_H
#define SHERWOOD_EMULATOR_FAILING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Calls are counted from 1 on, from here on. The one with this number fails (0: none does): one
 * that allocates for lack of memory, and the next one may succeed; any other one loses the device,
 * as a kernel that faults does: no kernel begins and no call succeeds until emu_fail_call is called
 * again. A lost device drops what its streams have not begun, but frees their memory. */
void emu_fail_call(uint64_t number);

/* Calls since then. */
uint64_t emu_calls(void);

/* Whether the call has failed; whether the device is lost. */
bool emu_has_failed(void);
bool emu_is_lost(void);

/* Counts a call, by someone who allocates. True if it is to fail. */
bool emu_allocation_fails(void);

/* Bytes of memory that was allocated by the runtime and is not given back. */
size_t emu_allocated(void);

/* Streams that were created and not destroyed. */
size_t emu_streams(void);

/* Bytes that pools of memory mapped because the calling thread allocated. */
size_t emu_mapped_by_thread(void);

#ifdef __cplusplus
}
#endif

#endif
