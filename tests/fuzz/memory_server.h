/* SPDX-License-Identifier: MIT
 *
 * memory_server.h - a server that errs or lies, and in-memory transports that connect a client to
 * it. The fuzzer's bytes choose the order of the replies and the lies in them. When these bytes
 * end, the server becomes honest, so that each call ends.
 */
#ifndef SHERWOOD_TESTS_FUZZ_MEMORY_SERVER_H
#define SHERWOOD_TESTS_FUZZ_MEMORY_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/handle.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/require.h"

#define FRAME_KEYS 64 /* of a frame, as the server says */

struct world {
    struct fuzz_input input;
    struct sw_server_info info;
    struct sherwood *client;
};
extern struct world world;

/* How the client connects. */
extern const struct sw_client_connector wire_connector;

/* Allocates a block of exactly `bytes` bytes, so that AddressSanitizer finds accesses beyond it. */
void *block(size_t bytes);
/* A number of one to four bytes. */
uint32_t any_number(struct fuzz_input *input);
/* The facts of a server, drawn by a byte. */
struct sw_server_info any_server(uint8_t what);
/* Scans once, into arrays of any length. */
void run_scan(void);

#endif
