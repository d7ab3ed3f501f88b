/* SPDX-License-Identifier: MIT
 *
 * memory.hpp - memory that the device reaches.
 */
#ifndef SHERWOOD_EMULATOR_MEMORY_HPP
#define SHERWOOD_EMULATOR_MEMORY_HPP

#include <stddef.h>

#define EMU_DEVICE_BYTES ((size_t)4 << 30)

/* Whether memory is the device's, or the host's that the device reaches. */
bool emu_is_reached(const void *memory);
/* Whether another process has allocated the memory. */
bool emu_is_foreign(const void *memory);
/* Whether memory begins in a piece that was registered, and ends behind it: CUDA refuses the copy. */
bool emu_crosses_a_piece(const void *memory, size_t bytes);

/* Reports accesses of this host thread to unmapped memory from here on. */
void emu_watch_faults(void);

#endif
