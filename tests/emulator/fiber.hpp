/* SPDX-License-Identifier: MIT
 *
 * fiber.hpp - a stack of its own for each thread of a kernel, and the way from one to another.
 */
#ifndef SHERWOOD_EMULATOR_FIBER_HPP
#define SHERWOOD_EMULATOR_FIBER_HPP

#include <stddef.h>

/* Where a stack that has no turn goes on. */
typedef void *emu_fiber;

/* What lies between two stacks cannot be touched: a thread that needs more than this fails. */
#define EMU_STACK_BYTES ((size_t)1 << 16)

/* The lowest byte of a new stack. */
char *emu_stack_new(void);
/* Makes `entry`, which never returns, what the stack begins with. */
emu_fiber emu_fiber_begin(char *stack, void (*entry)(void));
/* Goes to `to`; returns when another fiber switches to *from. */
extern "C" void emu_fiber_switch(emu_fiber *from, emu_fiber to);

#endif
