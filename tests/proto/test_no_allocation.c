/* SPDX-License-Identifier: MIT
 *
 * test_no_allocation.c - nothing in proto/ touches the heap, whatever the bytes. This program's
 * malloc counts, and stands in for the C library's in shared libraries too (protobuf-c). With a
 * sanitizer, which has its own, the same calls run but nothing is counted.
 */
#include <stdio.h>
#include <stdlib.h>

#include "proto/decimal.h"
#include "proto/frame.h"
#include "proto/resp.h"
#include "proto/sherwood.pb-c.h"
#include "tests/proto/guard.h"
#include "tests/proto/largest_reply.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS false
static unsigned long allocations;
#else
#define COUNTS_ALLOCATIONS true
/* volatile: the compiler takes it that malloc leaves the program's variables alone. */
static _Thread_local volatile unsigned long allocations;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    allocations++;
    return __libc_realloc(memory, size);
}
#endif

static void start(void)
{
    if (!COUNTS_ALLOCATIONS) {
        fprintf(stderr, "a sanitizer has replaced malloc: allocations are not counted\n");
        return;
    }
    /* Does the counter see calls from this program and from libraries? */
    unsigned long before = allocations;
    void *volatile memory = malloc(1);
    free(memory);
    cr_assert(allocations == before + 1, "malloc is not counted");
    before = allocations;
    Sherwood__Request *message = sherwood__request__unpack(NULL, 0, (const uint8_t *)"");
    cr_assert(message != NULL && allocations > before, "protobuf-c's malloc is not counted");
    sherwood__request__free_unpacked(message, NULL);
}

TestSuite(no_allocation, .init = start);

static void roundtrip_frames(void)
{
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    struct sw_request request = {
        .request_id = 1, .operation = SW_OPERATION_GET, .count = 2, .declines_found = true};
    struct sw_reply reply = largest_reply();
    struct sw_frame_prefix prefix;

    sw_request_encode(&request, 64, head, sizeof(head));
    sw_frame_prefix_decode(head, sizeof(head), UINT64_MAX, &prefix);
    sw_request_decode(head + SW_FRAME_PREFIX_BYTES, prefix.header_bytes, &request);
    sw_request_check(&request, 8, 8, 100, 64);
    sw_reply_encode(&reply, 64, head, sizeof(head));
    sw_frame_prefix_decode(head, sizeof(head), UINT64_MAX, &prefix);
    sw_reply_decode(head + SW_FRAME_PREFIX_BYTES, prefix.header_bytes, &reply);
}

Test(no_allocation, frames_good_and_bad)
{
    unsigned long before = allocations;
    roundtrip_frames();
    static uint8_t header[SW_FRAME_HEADER_BYTES_MAX];
    static const uint8_t tags[] = {0x78, 0x7a, 0x52, 0x5a, 0x1a, 0x18, 0x08, 0xff};
    for (size_t i = 0; i < sizeof(tags); i++) {
        for (size_t size = 1; size < sizeof(header); size += 2) {
            struct sw_request request;
            struct sw_reply reply;
            memset(header, 0, sizeof(header));
            for (size_t at = 0; at < size; at += 2) {
                header[at] = tags[i];
            }
            sw_request_decode(header, size, &request);
            sw_reply_decode(header, size, &reply);
        }
    }
    cr_assert(allocations == before, "%lu allocations", allocations - before);
}

Test(no_allocation, resp_good_and_bad)
{
    static const char *const inputs[] = {
        "*2\r\n$3\r\nGET\r\n$2\r\n42\r\n",
        "GET 'a b' \"c\\x41\"\r\n",
        "*1\r\n:1\r\n",
        "*x\r\n",
        "ECHO \"\r\n",
        "*1\r\n$4\r\nPI",
    };
    struct sw_resp_limits limits = {16, 1024, 1024, 4096};
    struct sw_resp_argument arguments[16];
    uint8_t unquoted[1024];
    struct sw_resp_command command = {.arguments = arguments, .unquoted = unquoted};
    char out[64];
    uint64_t value;

    unsigned long before = allocations;
    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++) {
        int64_t result =
            sw_resp_parse((const uint8_t *)inputs[i], strlen(inputs[i]), &limits, &command);
        if (result < 0) {
            sw_resp_error_text((int)result, command.got, out, sizeof(out));
        }
    }
    sw_resp_put_bulk_integer(out, UINT64_MAX);
    sw_resp_put_integer(out, INT64_MIN);
    sw_decimal_parse((const uint8_t *)"12345678901", 11, UINT64_MAX, &value);
    cr_assert(allocations == before, "%lu allocations", allocations - before);
}
