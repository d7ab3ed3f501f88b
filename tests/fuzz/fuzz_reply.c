/* SPDX-License-Identifier: MIT
 *
 * fuzz_reply.c - libFuzzer target for the client's side of a connection: calls of several frames on
 * one to three connections, of every operation, answered by a server that errs or lies
 * (memory_server.h). Each array of the caller is a block of just its size.
 *
 * Held: each call ends; where its status is OK its counts are such as its keys allow.
 */
#include <stdlib.h>

#include "tests/fuzz/memory_server.h"

#define KEYS_MAX 300 /* of a call: five frames */
#define CALLS_MAX 12

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* --- calls ------------------------------------------------------------------------------------ */

/* The arrays of a call. */
struct arrays {
    void *keys, *values, *previous;
    uint64_t *found, *times;
    struct sherwood_cache cache;
};

static struct arrays take_arrays(enum sherwood_operation operation, size_t count, uint8_t wants)
{
    const struct sherwood_server *server = sherwood_server(world.client);
    const struct sw_request one = {.operation = (uint32_t)operation,
                                   .key_bytes = server->key_bytes,
                                   .value_bytes = server->value_bytes};
    const size_t value = server->value_bytes, words = sherwood_found_words(count) * 8;
    struct arrays arrays = {.cache = SHERWOOD_CACHE_INIT};
    arrays.keys = block(count * server->key_bytes);
    arrays.values = block(count * sw_request_operand_bytes(&one) + 1);
    arrays.previous = (wants & 1) != 0 ? block(count * sw_request_answer_bytes(&one)) : NULL;
    arrays.found = (wants & 2) != 0 ? block(words) : NULL;
    arrays.times = (wants & 4) != 0 ? block(count * 8) : NULL;
    arrays.cache.scores_out = (wants & 8) != 0 ? block(count * 8) : NULL;
    arrays.cache.not_admitted = (wants & 16) != 0 ? block(words) : NULL;
    arrays.cache.evicted_keys = (wants & 32) != 0 ? block(count * server->key_bytes) : NULL;
    arrays.cache.evicted_values = (wants & 96) == 96 ? block(count * value) : NULL;
    arrays.cache.evicted_scores = (wants & 160) == 160 ? block(count * 8) : NULL;
    return arrays;
}

static void free_arrays(struct arrays *arrays)
{
    free(arrays->keys);
    free(arrays->values);
    free(arrays->previous);
    free(arrays->found);
    free(arrays->times);
    free(arrays->cache.scores_out);
    free(arrays->cache.not_admitted);
    free(arrays->cache.evicted_keys);
    free(arrays->cache.evicted_values);
    free(arrays->cache.evicted_scores);
}

/* An operation that takes no more than arrays. */
static enum sherwood_operation any_operation(uint8_t what)
{
    static const enum sherwood_operation operations[] = {
        SHERWOOD_GET,           SHERWOOD_SET,       SHERWOOD_DELETE,
        SHERWOOD_SUM,           SHERWOOD_INCREMENT, SHERWOOD_SET_ABSENT,
        SHERWOOD_PEEK,          SHERWOOD_TTL,       SHERWOOD_OR,
        SHERWOOD_CAS,           SHERWOOD_PERSIST,   SHERWOOD_EXPIRE,
        SHERWOOD_FIND_OR_INSERT};
    return operations[what % (sizeof(operations) / sizeof(operations[0]))];
}

static void run_call(void)
{
    const enum sherwood_operation operation = any_operation(fuzz_byte(&world.input));
    const size_t count = 1 + any_number(&world.input) % KEYS_MAX;
    const uint8_t wants = fuzz_byte(&world.input);
    const bool is_cache = world.info.policy[0] != '\0' && (wants & 248) != 0;
    struct arrays arrays = take_arrays(operation, count, wants);
    struct sherwood_times times = SHERWOOD_TIMES_INIT;
    times.when = arrays.times != NULL ? SHERWOOD_AT : SHERWOOD_UNSAID;
    times.times_ms = arrays.times;
    int rc = is_cache ? sherwood_run_cache(world.client, operation, arrays.keys, arrays.values,
                                           count, arrays.previous, arrays.found, &arrays.cache)
                      : sherwood_run_times(world.client, operation, arrays.keys, arrays.values,
                                           count, arrays.previous, arrays.found, &times);
    require(rc <= SHERWOOD_OK);
    require(arrays.cache.evicted_count <= count && arrays.cache.not_admitted_count <= count);
    free_arrays(&arrays);
}

/* Requests that are in flight together, one of them of pieces. */
static void run_submitted(void)
{
    struct sherwood_request requests[4];
    struct sherwood_piece pieces[4][2];
    struct arrays arrays[4][2];
    const uint8_t wants = fuzz_byte(&world.input);
    const bool is_cache = world.info.policy[0] != '\0' && (wants & 248) != 0;
    bool flies[4] = {false};
    for (int i = 0; i < 4; i++) {
        const enum sherwood_operation operation = any_operation(fuzz_byte(&world.input));
        const uint32_t count = 1 + fuzz_byte(&world.input) % (FRAME_KEYS / 2);
        arrays[i][0] = take_arrays(operation, 2 * (size_t)count, wants);
        arrays[i][1] = take_arrays(operation, 2 * (size_t)count, wants);
        for (int p = 0; p < 2; p++) {
            struct arrays *of = &arrays[i][p];
            pieces[i][p] = (struct sherwood_piece){of->keys, of->values, of->previous, count};
        }
        requests[i] = (struct sherwood_request)SHERWOOD_REQUEST_INIT;
        requests[i].operation = operation;
        requests[i].count = 2 * count;
        requests[i].pieces = pieces[i];
        requests[i].pieces_count = 2;
        requests[i].found = arrays[i][0].found;
        requests[i].scale = 1;
        requests[i].operand_type = sherwood_server(world.client)->value_type;
        requests[i].cache = is_cache ? &arrays[i][0].cache : NULL;
        flies[i] = sherwood_submit(world.client, &requests[i]) == SHERWOOD_OK;
    }
    for (int i = 0; i < 4; i++) {
        int rc = flies[i] ? sherwood_wait(world.client, &requests[i]) : SHERWOOD_OK;
        require(rc <= SHERWOOD_OK && (!flies[i] || requests[i].hits <= requests[i].count));
        require(arrays[i][0].cache.evicted_count <= requests[i].count);
        free_arrays(&arrays[i][0]);
        free_arrays(&arrays[i][1]);
    }
}

static void run_control(uint8_t which)
{
    struct sherwood_stats stats;
    uint64_t number = 0;
    switch (which % 4) {
    case 0:
        (void)sherwood_stats(world.client, &stats, sizeof(stats));
        require(world.client->figures_count <= SW_FIGURES_MAX);
        break;
    case 1:
        (void)sherwood_ping(world.client);
        break;
    case 2:
        (void)sherwood_resize(world.client, 1000, &number);
        break;
    default:
        (void)sherwood_epoch(world.client, 1, &number);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sherwood_options options = SHERWOOD_OPTIONS_INIT;
    world = (struct world){.info = any_server(size > 0 ? data[0] : 0)};
    options.stripes = 1 + (size > 1 ? data[1] : 0U) % 3;
    options.request_timeout_ms = 1000;
    int rc = sw_client_connect(&wire_connector, "fuzz", &options, &world.client, NULL, 0);
    require(rc == SHERWOOD_OK);
    world.input = (struct fuzz_input){data + 2, size > 2 ? size - 2 : 0};
    for (int calls = 0; calls < CALLS_MAX && world.input.size > 0; calls++) {
        const uint8_t what = fuzz_byte(&world.input);
        switch (what % 4) {
        case 0:
            run_scan();
            break;
        case 1:
            run_control(what / 4);
            break;
        case 2:
            run_submitted();
            break;
        default:
            run_call();
            break;
        }
    }
    sherwood_close(world.client);
    return 0;
}
