/* SPDX-License-Identifier: MIT
 *
 * peer.h - what the C peers of the integration tests share: one TAP line a case, exit on the first
 * failure (the script that started the peer shows its output).
 */
#ifndef SHERWOOD_TESTS_INTEGRATION_PEER_H
#define SHERWOOD_TESTS_INTEGRATION_PEER_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define PEER_CHECK(condition, ...)                                       \
    do {                                                                 \
        if (!(condition)) {                                              \
            printf("not ok %s:%d %s: ", __FILE__, __LINE__, #condition); \
            printf(__VA_ARGS__);                                         \
            putchar('\n');                                               \
            exit(1);                                                     \
        }                                                                \
    } while (0)

static inline void peer_ok(const char *what)
{
    printf("ok %s\n", what);
    fflush(stdout);
}

/* The i-th of a sequence of distinct, scattered 64-bit keys. */
static inline uint64_t peer_key(uint64_t i)
{
    uint64_t x = i + 0x9e3779b97f4a7c15ULL;
    x ^= x >> 31;
    x *= 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 27;
    return x;
}

#endif
