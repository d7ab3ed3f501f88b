/* SPDX-License-Identifier: MIT
 *
 * fuzz_resp.c - libFuzzer target for commands of the Redis protocol. The first byte picks limits,
 * the second a split point; the rest is what a peer sent.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/decimal.h"
#include "proto/resp.h"
#include "tests/fuzz/require.h"

#define ARGUMENTS_MAX 256
#define INLINE_MAX 4096
#define REQUEST_MAX 16384

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct parsed {
    struct sw_resp_argument arguments[ARGUMENTS_MAX];
    uint8_t unquoted[INLINE_MAX];
    struct sw_resp_command command;
    int64_t result;
};

/* Parses, and checks what holds for every answer. */
static void parse(const uint8_t *bytes, size_t size, const struct sw_resp_limits *limits,
                  struct parsed *out)
{
    out->command = (struct sw_resp_command){.arguments = out->arguments, .unquoted = out->unquoted};
    out->result = sw_resp_parse(bytes, size, limits, &out->command);
    if (out->result == 0) {
        require(out->command.need > size);
        require(size < limits->request_bytes_max);
        require(out->command.need <= limits->request_bytes_max);
    } else if (out->result < 0) {
        char text[64];
        require(out->result >= SW_RESP_E_REQUEST_SIZE);
        sw_resp_error_text((int)out->result, out->command.got, text, sizeof(text));
        require(strlen(text) > 0 && strchr(text, '\n') == NULL);
    } else {
        require((uint64_t)out->result <= size);
        require(out->result <= limits->request_bytes_max);
        require(out->command.count <= limits->arguments_max);
    }
}

static void check_arguments(const uint8_t *bytes, const struct sw_resp_limits *limits,
                            const struct parsed *parsed)
{
    for (uint32_t i = 0; i < parsed->command.count; i++) {
        struct sw_resp_argument argument = parsed->arguments[i];
        bool in_input =
            argument.text >= bytes && argument.text + argument.size <= bytes + parsed->result;
        bool in_unquoted =
            argument.text >= parsed->unquoted &&
            argument.text + argument.size <= parsed->unquoted + limits->inline_bytes_max;
        require(in_input || in_unquoted);
        require(argument.size <= limits->argument_bytes_max);
        uint64_t value;
        if (sw_decimal_parse(argument.text, argument.size, UINT64_MAX, &value)) {
            char digits[SW_DECIMAL_DIGITS_MAX];
            size_t count = sw_decimal_format(value, digits);
            require(count <= argument.size);
            require(memcmp(digits, argument.text + argument.size - count, count) == 0);
        }
    }
}

/* Written as an array, the same arguments must come back. */
static void check_round_trip(const struct parsed *parsed)
{
    static const struct sw_resp_limits wide = {ARGUMENTS_MAX, REQUEST_MAX, INLINE_MAX, 1U << 20};
    static char text[1U << 17];
    static struct parsed again;
    char *end = sw_resp_put_array(text, parsed->command.count);
    for (uint32_t i = 0; i < parsed->command.count; i++) {
        end = sw_resp_put_bulk_header(end, parsed->arguments[i].size);
        end = sw_resp_put_bytes(end, parsed->arguments[i].text, parsed->arguments[i].size);
        end = sw_resp_put_bytes(end, "\r\n", 2);
    }
    parse((const uint8_t *)text, (size_t)(end - text), &wide, &again);
    require(again.result == end - text);
    require(again.command.count == parsed->command.count);
    for (uint32_t i = 0; i < parsed->command.count; i++) {
        require(again.arguments[i].size == parsed->arguments[i].size);
        require(memcmp(again.arguments[i].text, parsed->arguments[i].text,
                       parsed->arguments[i].size) == 0);
    }
}

/* A prefix gives the answer of the whole, or asks for more, but never for more than the whole. It
 * is parsed in a heap block of just its size, so that over-reads are seen. */
static void check_prefix(const uint8_t *bytes, size_t size, const struct sw_resp_limits *limits,
                         const struct parsed *whole)
{
    static struct parsed part;
    uint8_t *copy = malloc(size + (size == 0));
    require(copy != NULL);
    if (size > 0) {
        memcpy(copy, bytes, size);
    }
    parse(copy, size, limits, &part);
    free(copy);
    if (part.result != 0) {
        require(part.result == whole->result);
    } else if (whole->result > 0) {
        require(part.command.need <= (uint64_t)whole->result);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct sw_resp_limits choices[] = {
        {ARGUMENTS_MAX, REQUEST_MAX, INLINE_MAX, REQUEST_MAX},
        {4, 16, 32, 64},
        {ARGUMENTS_MAX, 64, 16, REQUEST_MAX},
        {ARGUMENTS_MAX, REQUEST_MAX, INLINE_MAX, 48},
    };
    static struct parsed whole;

    if (size < 2 || size > REQUEST_MAX) {
        return 0;
    }
    const struct sw_resp_limits *limits = &choices[data[0] % 4];
    uint8_t split = data[1];
    data += 2;
    size -= 2;
    for (;;) {
        parse(data, size, limits, &whole);
        check_prefix(data, size * split / 256, limits, &whole);
        check_prefix(data, size > 0 ? size - 1 : 0, limits, &whole);
        if (whole.result <= 0) {
            return 0;
        }
        check_prefix(data, (size_t)whole.result, limits, &whole);
        check_prefix(data, (size_t)whole.result - 1, limits, &whole);
        check_arguments(data, limits, &whole);
        check_round_trip(&whole);
        data += whole.result;
        size -= (size_t)whole.result;
    }
}
