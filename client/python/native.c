/* SPDX-License-Identifier: MIT
 *
 * native.c - calls of any length that return a byte for each key instead of a bit, and values for
 * absent keys; memory for regions.
 */
#include "client/python/native.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/handle.h"
#include "client/memory.h"
#include "client/step.h"
#include "proto/operation.h"
#include "proto/ops/number_apply.h"
#include "proto/ops/string_apply.h"

/* A call runs in parts of at most this many keys, so that the bits of a part need at most 2 MiB.
 * Each part has many frames, so that waiting between two parts costs little. */
#define PART_KEYS ((size_t)1 << 24)
/* The most keys of a call whose bits are on the stack. */
#define SHORT_KEYS 4096

static void fill_absent(const uint64_t *bits, size_t count, uint8_t *values, size_t value_bytes,
                        const void *fill)
{
    for (size_t i = 0; i < count; i++) {
        if (!sherwood_found(bits, i)) {
            memcpy(values + i * value_bytes, fill, value_bytes);
        }
    }
}

/* Spreads eight bits at a time: masks each bit out of its own copy of the byte, and moves it to the
 * lowest bit of that copy. */
static void spread_bits(const uint64_t *bits, size_t count, uint8_t *found)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        uint64_t byte = bits[i / 64] >> (i % 64) & 0xFF;
        uint64_t apart = byte * 0x0101010101010101U & 0x8040201008040201U;
        uint64_t ones = (apart + 0x7F7F7F7F7F7F7F7FU) >> 7 & 0x0101010101010101U;
        memcpy(found + i, &ones, sizeof(ones));
    }
    for (; i < count; i++) {
        found[i] = sherwood_found(bits, i);
    }
}

void swpy_spread(const uint64_t *bits, size_t count, uint8_t *found, void *previous,
                 size_t value_bytes, const void *fill)
{
    if (found != NULL) {
        spread_bits(bits, count, found);
    }
    if (fill != NULL && previous != NULL) {
        fill_absent(bits, count, previous, value_bytes, fill);
    }
}

static const void *skip(const void *array, size_t bytes)
{
    return array == NULL ? NULL : (const uint8_t *)array + bytes;
}

bool swpy_may_keep(int operation)
{
    return SW_OPS_HAS(SW_OPS_STRING | SW_OPS_FITTING, sw_operation_op((uint32_t)operation));
}

/* Does some number of a row keep its value? */
static bool keeps_number(uint32_t op, const uint8_t *row, const uint8_t *operand, uint32_t bytes)
{
    const uint32_t width = SW_OPS_HAS(SW_OPS_64_BITS, op) ? 8 : 4;
    bool keeps = false;
    for (uint32_t at = 0; at + width <= bytes; at += width) {
        uint64_t before = 0, more = 0;
        uint32_t narrow = 0;
        memcpy(&before, row + at, width); /* the low bytes come first */
        memcpy(&more, operand + at, width);
        keeps |= width == 8 ? !sw_64_bits_after(op, before, more, &before)
                            : !sw_f32_after((uint32_t)before, (uint32_t)more, &narrow);
    }
    return keeps;
}

static bool keeps_string(uint32_t op, bool found, const uint8_t *row, const uint8_t *operand,
                         uint32_t bytes)
{
    const uint32_t room = bytes - SW_STRING_HEAD_BYTES;
    struct sw_string_space space;
    uint32_t size = 0;
    return sw_string_after(sw_string_verb(op), found, sw_string_at(row, room),
                           sw_string_at(operand, room), room, &space, &size) != SW_STRING_DONE;
}

size_t swpy_kept(int operation, const uint64_t *found, const void *previous, const void *operands,
                 size_t count, uint32_t bytes)
{
    const uint32_t op = sw_operation_op((uint32_t)operation);
    const bool is_string = SW_OPS_HAS(SW_OPS_STRING, op);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *row = skip(previous, i * bytes), *operand = skip(operands, i * bytes);
        kept += is_string ? keeps_string(op, sherwood_found(found, i), row, operand, bytes)
                          : keeps_number(op, row, operand, bytes);
    }
    return kept;
}

/* `at`: index of the first key of this part in the call. */
static int run_timed(struct sherwood *client, int operation, const void *keys, const void *values,
                     size_t count, void *previous, uint64_t *found,
                     const struct swpy_details *details, size_t at)
{
    struct sherwood_times times = SHERWOOD_TIMES_INIT;
    times.when = (enum sherwood_when)details->when;
    times.time_ms = details->time_ms;
    times.times_ms = details->times_ms == NULL ? NULL : details->times_ms + at;
    return sherwood_run_times(client, (enum sherwood_operation)operation, keys, values, count,
                              previous, found, &times);
}

static int run_part(struct sherwood *client, int operation, const void *keys, const void *values,
                    size_t count, void *previous, uint64_t *found,
                    const struct swpy_details *details, size_t at)
{
    if (details != NULL && details->when != SHERWOOD_UNSAID) {
        return run_timed(client, operation, keys, values, count, previous, found, details, at);
    }
    const uint32_t number = (uint32_t)operation;
    if (sw_operation_answers_parts(number)) {
        return sherwood_get_range(client, keys, count, details->range_offset, details->range_bytes,
                                  previous, found);
    }
    if (sw_operation_has_range(number)) {
        return sherwood_set_range(client, keys, values, count, details->range_offset,
                                  details->range_bytes, found);
    }
    if (details != NULL && sw_operation_adds(number)) {
        return sherwood_add(client, keys, values, count, details->scale,
                            (enum sherwood_type)details->operand_type,
                            sw_operation_of_present(number));
    }
    return sherwood_run(client, (enum sherwood_operation)operation, keys, values, count, previous,
                        found);
}

int swpy_run(struct sherwood *client, int operation, const void *keys, const void *values,
             size_t count, void *previous, uint8_t *found, const void *fill, uint64_t *bits,
             const struct swpy_details *details)
{
    const struct sherwood_server *server = sherwood_server(client);
    const size_t operand_bytes = details == NULL ? server->value_bytes : details->operand_bytes;
    const size_t answer_bytes = details == NULL ? server->value_bytes : details->answer_bytes;
    uint64_t on_stack[SHORT_KEYS / 64];
    uint64_t *own = NULL;
    if (bits == NULL && (found != NULL || fill != NULL)) {
        size_t part = count < PART_KEYS ? count : PART_KEYS;
        own = count <= SHORT_KEYS ? on_stack : malloc(sherwood_found_words(part) * sizeof(*own));
        if (own == NULL) {
            return SHERWOOD_E_NOMEM;
        }
    }
    int rc = SHERWOOD_OK;
    for (size_t at = 0; at < count && rc == SHERWOOD_OK; at += PART_KEYS) {
        size_t part = count - at < PART_KEYS ? count - at : PART_KEYS;
        uint64_t *into = bits == NULL ? own : bits + at / 64;
        uint8_t *got = previous == NULL ? NULL : (uint8_t *)previous + at * answer_bytes;
        rc = run_part(client, operation, skip(keys, at * server->key_bytes),
                      skip(values, at * operand_bytes), part, got, into, details, at);
        if (rc == SHERWOOD_OK && into != NULL) {
            swpy_spread(into, part, found == NULL ? NULL : found + at, got, answer_bytes, fill);
        }
    }
    if (own != on_stack) {
        free(own);
    }
    return rc;
}

int swpy_memory_make(struct sherwood *client, size_t bytes, struct swpy_memory *out)
{
    out->address = sw_client_memfd(client->root, "sherwood region", bytes, &out->descriptor);
    out->bytes = bytes;
    return out->address == NULL ? SHERWOOD_E_NOMEM : SHERWOOD_OK;
}

int swpy_memory_share(struct sherwood *client, const struct swpy_memory *memory,
                      struct sherwood_region **out)
{
    struct sherwood_memory described = SHERWOOD_MEMORY_INIT;
    described.kind = SHERWOOD_MEMORY_DESCRIPTOR;
    described.descriptor = memory->descriptor;
    described.address = memory->address;
    described.bytes = memory->bytes;
    return sherwood_region_register(client, &described, out);
}

void swpy_memory_free(struct swpy_memory *memory)
{
    if (memory->address != NULL) {
        munmap(memory->address, memory->bytes);
    }
    sw_client_memfd_close(memory->descriptor);
}

uint32_t swpy_connections(const struct sherwood *client)
{
    return client->root->cluster != NULL ? 0 : client->root->connections_made;
}

uint64_t swpy_last_write(const struct sherwood *client)
{
    return client->root->last_write;
}

uint64_t swpy_log(const struct sherwood *client)
{
    return client->root->incarnation;
}

int swpy_wait_durable(struct sherwood *client, uint64_t log, uint64_t sequence, int timeout_ms)
{
    return sw_client_wait_durable(client, log, sequence, timeout_ms);
}

void swpy_waited(struct sherwood *client)
{
    struct sherwood *root = client->root;
    const uint64_t now_ms = sw_client_now_ms();
    root->clock += now_ms - root->polled_ms;
    root->polled_ms = now_ms;
}

bool swpy_has_written(const struct sherwood *client)
{
    const struct sherwood *root = client->root;
    bool has_written = root->lost_writes || root->lost_durable;
    for (uint32_t i = 0; i < root->connections_count; i++) {
        has_written |= root->connections[i]->has_written;
    }
    return has_written;
}

void swpy_close(struct sherwood *client)
{
    struct sherwood *root = client == NULL ? NULL : client->root;
    if (root != client) {
        sherwood_close(client);
    }
    sherwood_close(root);
}

/* sherwood_close would send the end of a TLS session on the parent's connection, with the parent's
 * keys. So /dev/null first takes the place of each socket. */
void swpy_forget(struct sherwood *client)
{
    const struct sherwood *root = client->root;
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere < 0) {
        return;
    }
    for (uint32_t i = 0; i < root->connections_count; i++) {
        (void)dup3(nowhere, root->connections[i]->transport->fd, O_CLOEXEC);
    }
    close(nowhere);
    swpy_close(client);
}
