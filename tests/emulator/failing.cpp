/* SPDX-License-Identifier: MIT
 *
 * failing.cpp - counts the calls of the runtime, and lets one fail.
 */
#include "failing.h"
#include "failing.hpp"

#include <atomic>

namespace
{

std::atomic<uint64_t> calls, failing;
std::atomic<bool> has_failed, lost;
__thread cudaError_t last_error;

} // namespace

/* A place for a breakpoint: who is to fail calls it. */
extern "C" __attribute__((noinline)) void emu_fails_here(void)
{
    has_failed = true;
}

/* Whether this call is the one. */
static bool is_it(void)
{
    const bool fails = ++calls == failing;
    if (fails) {
        emu_fails_here();
    }
    return fails;
}

void emu_fail_call(uint64_t number)
{
    calls = 0;
    failing = number;
    has_failed = lost = false;
    last_error = cudaSuccess;
}

uint64_t emu_calls(void)
{
    return calls;
}

bool emu_has_failed(void)
{
    return has_failed;
}

bool emu_is_lost(void)
{
    return lost;
}

bool emu_allocation_fails(void)
{
    return is_it();
}

cudaError_t emu_allocates(void)
{
    const bool fails = is_it();
    last_error = lost ? cudaErrorUnknown : fails ? cudaErrorMemoryAllocation : last_error;
    return lost ? cudaErrorUnknown : fails ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t emu_called(void)
{
    if (is_it()) {
        lost = true;
        emu_lose_device();
    }
    return emu_gives_back();
}

cudaError_t emu_gives_back(void)
{
    last_error = lost ? cudaErrorUnknown : last_error;
    return lost ? cudaErrorUnknown : cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = lost ? cudaErrorUnknown : last_error;
    last_error = cudaSuccess;
    return error;
}
