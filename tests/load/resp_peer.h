/* SPDX-License-Identifier: MIT
 *
 * resp_peer.h - the server's side of a RESP connection, for scripts of fake_server.h.
 */
#ifndef SHERWOOD_TESTS_LOAD_RESP_PEER_H
#define SHERWOOD_TESTS_LOAD_RESP_PEER_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "proto/decimal.h"
#include "proto/resp.h"
#include "tests/support/fake_server.h"

#define RESP_PEER_BYTES (1U << 20)
#define RESP_PEER_ARGUMENTS 512

/* Writes the reply to a command to `out` and returns its end; NULL closes the connection. */
typedef char *resp_peer_answer(void *context, const struct sw_resp_command *command, char *out);

/* Answers commands until the peer is gone. */
static inline void resp_peer_serve(int fd, resp_peer_answer *answer, void *context)
{
    static const struct sw_resp_limits limits = {RESP_PEER_ARGUMENTS, 64, 64, RESP_PEER_BYTES};
    struct sw_resp_argument arguments[RESP_PEER_ARGUMENTS];
    uint8_t unquoted[64];
    struct sw_resp_command command = {.arguments = arguments, .unquoted = unquoted};
    uint8_t *input = malloc(RESP_PEER_BYTES);
    char *output = malloc(RESP_PEER_BYTES), *end = output;
    size_t have = 0;
    ssize_t got;
    while (end && (got = recv(fd, input + have, RESP_PEER_BYTES - have, 0)) > 0) {
        size_t at = 0;
        int64_t used;
        have += (size_t)got;
        end = output;
        while (end && (used = sw_resp_parse(input + at, have - at, &limits, &command)) > 0) {
            end = answer(context, &command, end);
            at += (size_t)used;
        }
        have -= at;
        memmove(input, input + at, have);
        if (end && end > output) {
            sw_fake_write(fd, output, (size_t)(end - output));
        }
    }
    free(input);
    free(output);
}

/* Returns an argument that must be a number. */
static inline uint64_t resp_peer_number(const struct sw_resp_command *command, uint32_t i)
{
    uint64_t value = 0;
    cr_assert(sw_decimal_parse(command->arguments[i].text, command->arguments[i].size, UINT64_MAX,
                               &value));
    return value;
}

#endif
