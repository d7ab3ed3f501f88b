/* SPDX-License-Identifier: MIT
 *
 * resp_fixture.h - parsing of the Redis protocol where the input ends at a guard page.
 */
#ifndef SHERWOOD_TESTS_PROTO_RESP_FIXTURE_H
#define SHERWOOD_TESTS_PROTO_RESP_FIXTURE_H

#include "proto/resp.h"
#include "tests/proto/guard.h"

#define ARGUMENTS_MAX 1024
#define INLINE_MAX 65536
#define INPUT_MAX (1U << 18)

static const struct sw_resp_limits limits = {
    .arguments_max = ARGUMENTS_MAX,
    .argument_bytes_max = 70000,
    .inline_bytes_max = INLINE_MAX,
    .request_bytes_max = INPUT_MAX,
};

static struct guard guard;
static struct guard unquoted_guard;
static struct sw_resp_argument arguments[ARGUMENTS_MAX];
static struct sw_resp_command command;

static inline void setup(void)
{
    guard = guard_create(INPUT_MAX);
    unquoted_guard = guard_create(INLINE_MAX);
    command = (struct sw_resp_command){.arguments = arguments, .unquoted = unquoted_guard.memory};
}

static inline void teardown(void)
{
    guard_destroy(&guard);
    guard_destroy(&unquoted_guard);
}

static inline int64_t parse(const void *bytes, size_t size)
{
    command.need = 0;
    return sw_resp_parse(guard_place(&guard, bytes, size), size, &limits, &command);
}

#endif
