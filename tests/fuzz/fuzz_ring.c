/* SPDX-License-Identifier: MIT
 *
 * fuzz_ring.c - libFuzzer target for the server's side of a ring. The first byte picks widths; then
 * come steps, of a client that writes whatever it likes wherever it likes, and of the server, which
 * takes submissions, places their arrays in regions, and completes them.
 *
 * Invariants: the server judges the copy of a record; an array that is found lies in its region, as
 * it is to be aligned; no more is taken than there are slots for completions; the client's words
 * change nothing of what the server has counted.
 */
#include <stdlib.h>
#include <string.h>

#include "server/region/memory.h"
#include "server/region/ring.h"
#include "table/exported_table.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/require.h"

#define ENTRIES SW_RING_ENTRIES_MIN
#define REGIONS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Regions are made here and not registered, so nothing of a table is called. */
int sw_memory_import(struct sw_table *table, const struct sw_memory_source *source,
                     struct sw_memory *out, char *reason, size_t reason_size)
{
    (void)table, (void)source, (void)out, (void)reason, (void)reason_size;
    abort();
}

void sw_memory_release(struct sw_table *table, struct sw_memory *memory)
{
    (void)table, (void)memory;
    abort();
}

int sw_table_export(struct sw_table *table, bool adds, struct sw_table_export *out, char *reason,
                    size_t reason_size)
{
    (void)table, (void)adds, (void)out, (void)reason, (void)reason_size;
    abort();
}

void sw_table_unexport(struct sw_table *table)
{
    (void)table;
    abort();
}

struct world {
    struct fuzz_input input;
    uint32_t key_bytes, value_bytes;
    struct sw_ring ring;
    uint64_t pending[ENTRIES]; /* ids that were taken and not completed, in their order */
    uint32_t pending_count;
    struct sw_region regions[REGIONS];
};

/* Finds the arrays of a request as the server does, and looks at their ends. */
static void place(struct world *world, const struct sw_submission *submission,
                  const struct sw_request *request)
{
    struct sw_ring_extent extents[SW_RING_ARRAYS];
    sw_submission_extents(request, extents);
    for (int i = 0; i < SW_RING_ARRAYS; i++) {
        if (extents[i].bytes == 0) {
            continue;
        }
        const uint64_t at = sw_submission_place(submission, i);
        uint32_t index = sw_ring_place_region(at);
        uint64_t offset = sw_ring_place_offset(at);
        struct sw_region *region = index < REGIONS ? &world->regions[index] : NULL;
        volatile uint8_t *array = sw_region_at(region, offset, extents[i].bytes, extents[i].align);
        if (array == NULL) {
            return;
        }
        require(offset % extents[i].align == 0 && region->ready && !region->leaving);
        array[0] = array[extents[i].bytes - 1];
    }
}

static void judge(struct world *world, const struct sw_submission *submission)
{
    struct sw_request request, again;
    struct sw_submission encoded;
    if (sw_submission_decode(submission, world->key_bytes, world->value_bytes, &request) != NULL) {
        return;
    }
    require(request.key_bytes == world->key_bytes && request.value_bytes == world->value_bytes);
    require(request.count == submission->count && request.request_id == submission->id);
    place(world, submission, &request);
    if (!sw_operation_is_known(request.operation)) {
        return;
    }
    /* What was understood survives being written and read once more. */
    sw_submission_encode(&request, &encoded);
    for (int i = 0; i < (request.has_times ? SW_RING_ARRAYS : SW_RING_PLACES); i++) {
        sw_submission_set_place(&encoded, i, sw_submission_place(submission, i));
    }
    require(sw_submission_decode(&encoded, world->key_bytes, world->value_bytes, &again) == NULL);
    require(memcmp(&request, &again, sizeof(request)) == 0);
}

/* Takes a submission, if there is one. The client's writes after the copy have no effect. */
static void take_submission(struct world *world)
{
    struct sw_submission submission, before;
    int found = sw_ring_check(&world->ring);
    int peeked = sw_ring_peek(&world->ring, &submission);
    require(found >= -1 && found <= 1 && peeked == found);
    if (found <= 0) {
        return;
    }
    before = submission;
    fuzz_bytes(&world->input, sw_ring_submission(world->ring.memory, ENTRIES, world->ring.taken),
               fuzz_byte(&world->input) % (sizeof(submission) + 1));
    judge(world, &submission);
    require(memcmp(&submission, &before, sizeof(before)) == 0);
    sw_ring_take(&world->ring);
    require(world->pending_count < ENTRIES);
    world->pending[world->pending_count++] = submission.id;
}

static void complete(struct world *world)
{
    if (world->pending_count == 0) {
        return;
    }
    struct sw_reply reply = {.request_id = world->pending[0],
                             .status = fuzz_byte(&world->input) % 4};
    strcpy(reply.message, "a sentence");
    world->pending_count--;
    memmove(world->pending, world->pending + 1, world->pending_count * sizeof(*world->pending));
    struct sw_completion *slot =
        sw_ring_completion(world->ring.memory, ENTRIES, world->ring.completed);
    sw_ring_complete(&world->ring, &reply);
    require(slot->id == reply.request_id && slot->status == reply.status);
}

static void step(struct world *world)
{
    uint8_t what = fuzz_byte(&world->input);
    uint32_t word = 0;
    switch (what % 8) {
    case 0: /* the client writes a word, of its own or of the server's */
        fuzz_bytes(&world->input, &word, sizeof(word));
        *sw_ring_word(world->ring.memory, (what >> 3) % (SW_RING_CLIENT_SLEEPS + 1)) = word;
        break;
    case 1: /* writes a record */
        fuzz_bytes(&world->input, sw_ring_submission(world->ring.memory, ENTRIES, what >> 3),
                   sizeof(struct sw_submission));
        break;
    case 2: /* submits, and has seen, a few more */
        *sw_ring_word(world->ring.memory, SW_RING_SUBMITTED) += (what >> 3) % 4;
        break;
    case 3:
        *sw_ring_word(world->ring.memory, SW_RING_SEEN) += (what >> 3) % 4;
        break;
    case 4:
        take_submission(world);
        break;
    case 5:
        complete(world);
        break;
    case 6:
        (void)sw_ring_publish(&world->ring);
        require(!world->ring.moved);
        break;
    default:
        sw_ring_set_asleep(&world->ring, (what >> 3) % 2 != 0);
        break;
    }
    require(world->ring.taken - world->ring.completed == world->pending_count);
}

/* Regions of a page, of two, and one that is being given back: each in a block of just its size. */
static void make_regions(struct world *world)
{
    for (uint32_t i = 0; i < REGIONS; i++) {
        uint64_t size = SW_REGION_PAGE * (1 + i % 2);
        uint8_t *memory = aligned_alloc(SW_REGION_PAGE, size);
        require(memory != NULL);
        memset(memory, 0, size);
        world->regions[i] =
            (struct sw_region){.memory = {.kind = SW_MEMORY_HOST, .address = memory, .bytes = size},
                               .mapping = memory,
                               .ready = true,
                               .leaving = i == REGIONS - 1};
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world world = {.input = {data, size}};
    uint8_t shape = fuzz_byte(&world.input);
    world.key_bytes = (shape & 1) != 0 ? 4 : 8;
    world.value_bytes = (shape & 2) != 0 ? 4U * ((shape >> 2) + 1U) : world.key_bytes;
    world.ring.entries = ENTRIES;
    world.ring.memory = aligned_alloc(SW_REGION_PAGE, sw_ring_bytes(ENTRIES));
    require(world.ring.memory != NULL);
    memset(world.ring.memory, 0, sw_ring_bytes(ENTRIES));
    make_regions(&world);
    while (world.input.size > 0) {
        step(&world);
    }
    for (int i = 0; i < REGIONS; i++) {
        free(world.regions[i].memory.address);
    }
    free(world.ring.memory);
    return 0;
}
