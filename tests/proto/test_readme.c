/* SPDX-License-Identifier: MIT
 *
 * test_readme.c - the worked example of proto/README.md is what the encoder writes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/frame.h"
#include "tests/proto/guard.h"

#define README "proto/README.md"
#define FRAME_BYTES_MAX 256

/* Prints a frame 16 bytes a line; lines of zeros are left out, as "*" says. */
static void dump(FILE *out, const uint8_t *bytes, size_t size)
{
    bool skipping = false;
    for (size_t at = 0; at < size; at += 16) {
        static const uint8_t zeros[16];
        bool zero = memcmp(bytes + at, zeros, 16) == 0;
        if (zero && skipping) {
            continue;
        }
        if (zero) {
            fprintf(out, "*\n");
            skipping = true;
            continue;
        }
        skipping = false;
        fprintf(out, "%04zx ", at);
        for (size_t i = 0; i < 16; i++) {
            fprintf(out, "%s%02x", i == 8 ? "  " : " ", bytes[at + i]);
        }
        fprintf(out, "\n");
    }
    fprintf(out, "%04zx\n", size);
}

static void put_u64(uint8_t *out, uint64_t value)
{
    for (int i = 0; i < 8; i++) {
        out[i] = (uint8_t)(value >> (8 * i));
    }
}

/* GET of keys 42 and 1000000. 42 is present with the value 7. */
static void write_example(FILE *out)
{
    uint8_t frame[FRAME_BYTES_MAX] = {0};
    struct sw_request request = {.request_id = 1,
                                 .operation = SW_OPERATION_GET,
                                 .count = 2,
                                 .key_bytes = 8,
                                 .value_bytes = 8,
                                 .want_values = true};
    struct sw_body_layout layout = sw_request_layout(&request);
    int head = sw_request_encode(&request, layout.bytes, frame, sizeof(frame));
    cr_assert(head > 0 && (size_t)head + layout.bytes <= sizeof(frame));
    cr_assert(sw_request_check(&request, 8, 8, 2, layout.bytes) == 0);
    put_u64(frame + head + layout.first, 42);
    put_u64(frame + head + layout.first + 8, 1000000);
    fprintf(out, "Request: GET of the keys 42 and 1000000, with values\n");
    dump(out, frame, (size_t)head + layout.bytes);

    memset(frame, 0, sizeof(frame));
    struct sw_reply reply = {.request_id = 1,
                             .status = SW_REPLY_OK,
                             .count = 2,
                             .key_bytes = 8,
                             .value_bytes = 8,
                             .has_values = true,
                             .hits = 1};
    layout = sw_reply_layout(&reply, SW_OPERATION_GET);
    head = sw_reply_encode(&reply, layout.bytes, frame, sizeof(frame));
    cr_assert(head > 0 && (size_t)head + layout.bytes <= sizeof(frame));
    put_u64(frame + head + layout.first, 7);
    put_u64(frame + head + layout.second, 1);
    fprintf(out, "Reply: OK, 42 is present with the value 7, 1000000 is absent\n");
    dump(out, frame, (size_t)head + layout.bytes);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    cr_assert(file != NULL, "cannot open %s: run this from the root of the source tree", path);
    char *text = calloc(1, 1 << 17);
    cr_assert(text != NULL);
    size_t size = fread(text, 1, (1 << 17) - 1, file);
    cr_assert(size > 0 && size < (1 << 17) - 1, "%s has %zu bytes", path, size);
    fclose(file);
    return text;
}

Test(readme, the_worked_example_is_what_the_encoder_writes)
{
    char *want = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&want, &size);
    cr_assert(out != NULL);
    write_example(out);
    fclose(out);
    char *readme = read_file(README);
    cr_assert(strstr(readme, want) != NULL, "%s lacks this text:\n%s", README, want);
    free(readme);
    free(want);
}

Test(readme, every_error_text_is_listed)
{
    char *readme = read_file(README);
#define LISTED(name, value, text) cr_assert(strstr(readme, text) != NULL, "%s", text);
    SW_FRAME_ERROR_MAP(LISTED)
    free(readme);
}
