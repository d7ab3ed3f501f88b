/* SPDX-License-Identifier: MIT
 *
 * commit.c - copying rounds into one batch, and its results back to the rounds.
 */
#include "server/batch/commit.h"

#include <assert.h>
#include <string.h>

#include "server/batch/bits.h"
#include "server/batch/round.h"
#include "server/limits.h"

void sw_commit_init(struct sw_commit *commit)
{
    memset(commit, 0, sizeof(*commit));
    sw_list_init(&commit->rounds);
    pthread_mutex_init(&commit->lock, NULL);
}

void sw_commit_fini(struct sw_commit *commit)
{
    pthread_mutex_destroy(&commit->lock);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Takes `bytes` at *offset, 64-byte aligned, and moves on. */
static void *carve(uint8_t *memory, size_t *offset, size_t bytes)
{
    void *at = memory == NULL ? NULL : memory + *offset;
    *offset += (bytes + 63) / 64 * 64;
    return at;
}

/* Lays the arrays out in `memory`; with NULL it only measures. */
static size_t lay_out(struct sw_commit_batch *batch, uint8_t *memory)
{
    const struct sw_table_shape *shape = &batch->batches->shape;
    size_t n = batch->operations_max;
    size_t offset = 0;
    batch->keys = carve(memory, &offset, n * shape->key_bytes);
    batch->values = carve(memory, &offset, n * shape->value_bytes);
    batch->previous = carve(memory, &offset, n * shape->value_bytes);
    batch->found = carve(memory, &offset, (n + 63) / 64 * 8);
    batch->not_admitted =
        shape->engine == SW_ENGINE_CACHE ? carve(memory, &offset, (n + 63) / 64 * 8) : NULL;
    batch->ops = carve(memory, &offset, n);
    batch->group_ends = carve(memory, &offset, n * sizeof(uint32_t));
    batch->group_refused = carve(memory, &offset, n);
    return offset;
}

int sw_commit_batch_init(struct sw_commit_batch *batch, struct sw_commit *commit,
                         struct sw_batches *batches, uv_async_t *wake)
{
    memset(batch, 0, sizeof(*batch));
    batch->commit = commit;
    batch->batches = batches;
    batch->wake = wake;
    sw_list_init(&batch->rounds);
    batch->operations_max = sw_together_max(&batches->shape, SW_COMMIT_OPS_MAX);
    batch->memory_bytes = lay_out(batch, NULL);
    batch->memory = sw_io_alloc(batches->table, batch->memory_bytes);
    if (batch->memory == NULL) {
        return -1;
    }
    lay_out(batch, batch->memory);
    return 0;
}

void sw_commit_batch_fini(struct sw_commit_batch *batch)
{
    if (batch->memory != NULL) {
        sw_io_free(batch->batches->table, batch->memory, batch->memory_bytes);
    }
    memset(batch, 0, sizeof(*batch));
}

/* --- apart ------------------------------------------------------------------------------------ */

/* Gives a round the results of its operations, which begin at `first`, and of its groups. */
static void give(const struct sw_commit_batch *together, struct sw_round *round, uint32_t first,
                 uint32_t first_group)
{
    const struct sw_batch *whole = &together->flight.batch;
    struct sw_batch *batch = &round->flight.batch;
    size_t bytes = together->batches->shape.value_bytes;
    batch->status = whole->status;
    if (whole->keys != batch->keys) { /* otherwise the batch has worked on the round's own arrays */
        if (batch->previous != NULL) {
            memcpy(batch->previous, together->previous + first * bytes, batch->count * bytes);
        }
        sw_copy_bits(batch->found, whole->found, first, batch->count);
        if (batch->not_admitted != NULL) {
            sw_copy_bits(batch->not_admitted, whole->not_admitted, first, batch->count);
        }
        memcpy(batch->group_refused, together->group_refused + first_group, batch->group_count);
    }
}

/* Marks the rounds as committed and wakes their loops. Once `committed` is set, the owner may reuse
 * the round, and may even end its thread. The lock, which sw_commit_leave takes too, keeps the
 * owner from closing its wake handle before uv_async_send has returned. */
static void tell(struct sw_commit_batch *together)
{
    pthread_mutex_lock(&together->commit->lock);
    while (!sw_list_is_empty(&together->rounds)) {
        struct sw_round *round =
            SW_CONTAINER(sw_list_pop(&together->rounds), struct sw_round, link);
        struct sw_commit_batch *owner = round->commit;
        __atomic_store_n(&round->committed, true, __ATOMIC_RELEASE);
        if (owner != together) {
            uv_async_send(owner->wake);
        }
    }
    pthread_mutex_unlock(&together->commit->lock);
}

void sw_commit_leave(struct sw_commit *commit)
{
    pthread_mutex_lock(&commit->lock);
    pthread_mutex_unlock(&commit->lock);
}

static void take_and_submit(struct sw_commit_batch *together);

static void on_done(struct sw_flight *flight)
{
    struct sw_commit_batch *together = SW_CONTAINER(flight, struct sw_commit_batch, flight);
    uint32_t first = 0;
    uint32_t first_group = 0;
    SW_LIST_EACH(&together->rounds, link)
    {
        struct sw_round *round = SW_CONTAINER(link, struct sw_round, link);
        give(together, round, first, first_group);
        first += round->flight.batch.count;
        first_group += round->flight.batch.group_count;
    }
    assert(first == together->flight.batch.count);
    tell(together);
    take_and_submit(together);
}

/* --- together --------------------------------------------------------------------------------- */

static struct sw_batch *batch_at(struct sw_list *link)
{
    return &SW_CONTAINER(link, struct sw_round, link)->flight.batch;
}

/* Takes as many queued rounds as fit one batch, but at least one. If none is queued, this loop
 * stops being a leader. The caller holds the lock. */
static void take(struct sw_commit_batch *together)
{
    struct sw_list *waiting = &together->commit->rounds;
    uint32_t operations = 0;
    assert(sw_list_is_empty(&together->rounds));
    while (!sw_list_is_empty(waiting)) {
        uint32_t count = batch_at(waiting->next)->count;
        if (operations > 0 && (operations >= together->operations_max ||
                               count > together->operations_max - operations)) {
            break;
        }
        operations += count;
        sw_list_push(&together->rounds, sw_list_pop(waiting));
    }
    assert(together->commit->batches > 0 && together->commit->batches <= SW_COMMITS);
    together->commit->batches -= operations == 0;
}

/* Appends a round's batch to `whole`. */
static void copy_in(struct sw_commit_batch *together, struct sw_batch *whole,
                    const struct sw_batch *batch)
{
    const struct sw_table_shape *shape = &together->batches->shape;
    uint32_t first = whole->count;
    memcpy(together->keys + (size_t)first * shape->key_bytes, batch->keys,
           (size_t)batch->count * shape->key_bytes);
    memcpy(together->values + (size_t)first * shape->value_bytes, batch->values,
           (size_t)batch->count * shape->value_bytes);
    if (batch->ops != NULL) {
        memcpy(together->ops + first, batch->ops, batch->count);
    } else {
        memset(together->ops + first, batch->op, batch->count);
    }
    for (uint32_t g = 0; g < batch->group_count; g++) {
        together->group_ends[whole->group_count + g] = first + batch->group_ends[g];
    }
    whole->count += batch->count;
    whole->group_count += batch->group_count;
}

static struct sw_batch join(struct sw_commit_batch *together)
{
    const struct sw_batch *sample = batch_at(together->rounds.next);
    bool uniform = true;
    struct sw_batch whole = {
        .kind = SW_BATCH_OPERATIONS,
        .op = sample->op,
        .keys = together->keys,
        .values = together->values,
        .found = together->found,
        .not_admitted = together->not_admitted,
        .group_ends = together->group_ends,
        .group_refused = together->group_refused,
    };
    SW_LIST_EACH(&together->rounds, link)
    {
        const struct sw_batch *batch = batch_at(link);
        SW_COUNT(together->batches->counters, rounds_shared, 1);
        uniform &= batch->ops == NULL && batch->op == sample->op;
        if (batch->previous != NULL) {
            whole.previous = together->previous;
        }
        copy_in(together, &whole, batch);
    }
    whole.ops = uniform ? NULL : together->ops;
    return whole;
}

/* Submits queued rounds as this loop's combined batch. */
static void take_and_submit(struct sw_commit_batch *together)
{
    pthread_mutex_lock(&together->commit->lock);
    take(together);
    pthread_mutex_unlock(&together->commit->lock);
    struct sw_list *first = together->rounds.next;
    if (first == &together->rounds) {
        return;
    }
    /* A single round is submitted in place, without copying, even if it is another loop's. */
    together->flight.batch = first->next == &together->rounds ? *batch_at(first) : join(together);
    together->flight.done = on_done;
    sw_flight_start(&together->batches->round_flights, &together->flight);
}

void sw_commit_start(struct sw_round *round)
{
    struct sw_commit_batch *own = round->commit;
    struct sw_commit *commit = own->commit;
    round->committed = false;
    pthread_mutex_lock(&commit->lock);
    sw_list_push(&commit->rounds, &round->link);
    bool leads = commit->batches < SW_COMMITS && sw_list_is_empty(&own->rounds);
    commit->batches += leads;
    pthread_mutex_unlock(&commit->lock);
    if (leads) {
        take_and_submit(own);
    }
}

bool sw_commit_is_done(const struct sw_round *round)
{
    return __atomic_load_n(&round->committed, __ATOMIC_ACQUIRE);
}
