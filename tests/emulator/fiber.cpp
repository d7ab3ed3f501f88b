/* SPDX-License-Identifier: MIT
 *
 * fiber.cpp - stacks, and the switch between them: by hand on x86-64, by ucontext elsewhere. Faults
 * of a stack or of memory end the program.
 */
#include "fiber.hpp"
#include "memory.hpp"
#include "schedule.hpp"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE ((size_t)4096)

char *emu_stack_new(void)
{
    void *memory = mmap(NULL, EMU_STACK_BYTES + PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, PAGE, PROT_NONE) != 0) {
        perror("emulator: no memory for the stack of a thread");
        abort();
    }
    return (char *)memory + PAGE;
}

/* Not all stacks begin at the same place of a page: they would share few lines of the cache. */
static char *top_of(char *stack)
{
    size_t number = (uintptr_t)stack / (EMU_STACK_BYTES + PAGE);
    return stack + EMU_STACK_BYTES - number * 7 % 32 * 128;
}

#if defined(__x86_64__)

/* What a function must keep, and the stack. */
asm(".text\n"
    ".globl emu_fiber_switch\n"
    ".type emu_fiber_switch, @function\n"
    "emu_fiber_switch:\n"
    "    pushq %rbp\n"
    "    pushq %rbx\n"
    "    pushq %r12\n"
    "    pushq %r13\n"
    "    pushq %r14\n"
    "    pushq %r15\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    popq %r15\n"
    "    popq %r14\n"
    "    popq %r13\n"
    "    popq %r12\n"
    "    popq %rbx\n"
    "    popq %rbp\n"
    "    ret\n"
    ".size emu_fiber_switch, . - emu_fiber_switch\n");

emu_fiber emu_fiber_begin(char *stack, void (*entry)(void))
{
    void **top = (void **)top_of(stack);
    *--top = NULL; /* where `entry` would return to */
    *--top = (void *)entry;
    for (int saved = 0; saved < 6; saved++) {
        *--top = NULL;
    }
    return top;
}

#else

#include <ucontext.h>

/* A stack that does not run has its context at its low end. */
extern "C" void emu_fiber_switch(emu_fiber *from, emu_fiber to)
{
    ucontext_t here;
    *from = &here;
    swapcontext(&here, (ucontext_t *)to);
}

emu_fiber emu_fiber_begin(char *stack, void (*entry)(void))
{
    ucontext_t *context = (ucontext_t *)stack;
    getcontext(context);
    context->uc_stack.ss_sp = stack + sizeof(*context);
    context->uc_stack.ss_size = (size_t)(top_of(stack) - stack) - sizeof(*context);
    context->uc_link = NULL;
    makecontext(context, entry, 0);
    return context;
}

#endif

static void fault(int, siginfo_t *info, void *)
{
    emu_fail("access of %p, which is no memory", info->si_addr);
}

/* Once a host thread: the stack of a thread of a kernel may be what is exhausted. */
void emu_watch_faults(void)
{
    static __thread bool has_signal_stack;
    if (has_signal_stack) {
        return;
    }
    has_signal_stack = true;
    stack_t stack = {};
    stack.ss_size = 1 << 16;
    stack.ss_sp = new char[stack.ss_size];
    sigaltstack(&stack, NULL);
    struct sigaction action = {};
    action.sa_sigaction = fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}
