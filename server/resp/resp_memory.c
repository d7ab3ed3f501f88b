/* SPDX-License-Identifier: MIT
 *
 * resp_memory.c - lends memory to RESP batches.
 */
#include "server/resp/resp_memory.h"

#include <assert.h>
#include <stdlib.h>

#include "server/limits.h"
#include "server/net/conn.h"
#include "server/observe/log.h"

/* --- allocating ------------------------------------------------------------------------------- */

static void show_bytes(const struct sw_resp_memory *memory)
{
    SW_GAUGE(memory->counters, resp_batch_bytes, memory->bytes);
}

static uint64_t pending_bytes(const struct sw_resp_memory *memory)
{
    return memory->pending_max * sizeof(struct sw_pending);
}

static bool is_in_use(const struct sw_replies_memory *one)
{
    return one->borrower != NULL && one->borrower->pendings > 0;
}

static bool is_held(const struct sw_replies *replies)
{
    return sw_table_is_held(replies->resp->batches->table);
}

/* Returns how many count towards resp-batches-max: not those of batches that wait for long work of
 * their tables. */
static uint32_t counted(const struct sw_resp_memory *memory)
{
    uint32_t held = 0;
    for (uint32_t i = 0; memory->count >= memory->most && i < memory->count; i++) {
        held += is_in_use(memory->all[i]) && is_held(memory->all[i]->borrower);
    }
    return memory->count - held;
}

/* Raises a derived limit to what tables need whose batches have `bytes` of I/O memory: that of two
 * batches, the table of one may be held, beside two batches of the first table. */
static void raise_limit(struct sw_resp_memory *memory, uint64_t bytes)
{
    const uint64_t needs = 4 * pending_bytes(memory) + 2 * memory->kept_bytes + 2 * bytes;
    if (memory->is_derived && memory->bytes_max < needs) {
        memory->bytes_max = needs;
    }
}

/* Returns whether the limits allow memory with `bytes` of I/O memory more. */
static bool may_add(const struct sw_resp_memory *memory, uint64_t bytes)
{
    return counted(memory) < memory->most &&
           memory->bytes + pending_bytes(memory) + bytes <= memory->bytes_max;
}

/* Replaces the I/O memory by another with `bytes`. Returns false, with none left, if there is no
 * memory. */
static bool set_io(struct sw_resp_memory *memory, struct sw_replies_memory *one, size_t bytes)
{
    if (one->io != NULL) {
        sw_io_free(memory->table, one->io, one->io_bytes);
    }
    memory->bytes -= one->io_bytes;
    one->io = bytes == 0 ? NULL : sw_io_alloc(memory->table, bytes);
    one->io_bytes = one->io == NULL ? 0 : bytes;
    memory->bytes += one->io_bytes;
    return one->io != NULL;
}

static void free_one(struct sw_resp_memory *memory, struct sw_replies_memory *one)
{
    (void)set_io(memory, one, 0);
    memory->bytes -= one->pending == NULL ? 0 : pending_bytes(memory);
    free(one->pending);
    sw_text_fini(&one->text);
    free(one);
}

/* Makes room for the address of one more. Returns false if there is no memory. */
static bool reserve_address(struct sw_resp_memory *memory)
{
    if (memory->count < memory->room) {
        return true;
    }
    const uint32_t room = memory->room == 0 ? memory->most : 2 * memory->room;
    struct sw_replies_memory **all =
        realloc((void *)memory->all, room * sizeof(struct sw_replies_memory *));
    if (all != NULL) {
        memory->all = all;
        memory->room = room;
    }
    return all != NULL;
}

static struct sw_replies_memory *add(struct sw_resp_memory *memory, size_t bytes)
{
    struct sw_replies_memory *one = reserve_address(memory) ? calloc(1, sizeof(*one)) : NULL;
    if (one == NULL) {
        return NULL;
    }
    sw_text_init(&one->text, SW_RESP_BATCH_TEXT_BYTES_MAX);
    one->pending = calloc(memory->pending_max, sizeof(*one->pending));
    memory->bytes += one->pending == NULL ? 0 : pending_bytes(memory);
    if (one->pending == NULL || !set_io(memory, one, bytes)) {
        free_one(memory, one);
        return NULL;
    }
    one->is_used = true; /* the next sweep begins to count its time */
    memory->all[memory->count++] = one;
    show_bytes(memory);
    return one;
}

/* Frees memory that is idle, or the part of it that the first table does not need. */
static void shrink(struct sw_resp_memory *memory, uint32_t i)
{
    struct sw_replies_memory *one = memory->all[i];
    const bool is_kept = i < memory->kept;
    if (is_kept && one->io_bytes <= memory->kept_bytes) {
        return;
    }
    if (one->borrower != NULL) {
        sw_replies_give_back(one->borrower);
    }
    if (is_kept) {
        (void)set_io(memory, one, memory->kept_bytes); /* in vain: the next batch tries again */
    } else {
        free_one(memory, one);
        memory->all[i] = memory->all[--memory->count];
    }
    show_bytes(memory);
}

void sw_resp_memory_trim(struct sw_resp_memory *memory)
{
    for (uint32_t i = memory->count; i-- > memory->kept && counted(memory) > memory->most;) {
        if (!is_in_use(memory->all[i])) {
            shrink(memory, i);
        }
    }
}

/* --- finding ---------------------------------------------------------------------------------- */

static bool is_free(const struct sw_replies_memory *one, const struct sw_replies *keeps)
{
    return !is_in_use(one) && (keeps == NULL || one->borrower != keeps);
}

/* Frees idle memory until the limit allows `small`, which is idle, to have `bytes`, and takes
 * `small` from its table. Returns false if memory in use takes too much. Then no table whose memory
 * was taken gets other memory before the connection that waits, so there will be enough. */
static bool make_room(struct sw_resp_memory *memory, struct sw_replies_memory *small, size_t bytes,
                      const struct sw_replies *keeps)
{
    const uint64_t most = memory->bytes_max + small->io_bytes;
    for (uint32_t i = memory->count; i-- > 0 && memory->bytes + bytes > most;) {
        if (memory->all[i] != small && is_free(memory->all[i], keeps)) {
            shrink(memory, i);
        }
    }
    if (small->borrower != NULL) {
        sw_replies_give_back(small->borrower);
    }
    return memory->bytes + bytes <= most;
}

/* Returns memory with `bytes` that no batch uses, and that `keeps` does not have, or allocates
 * some. The first one in the array comes first, so that the last ones are freed when fewer batches
 * run. Returns NULL if all is in use, or with *failed set if memory cannot be allocated. */
static struct sw_replies_memory *find(struct sw_resp_memory *memory, size_t bytes,
                                      const struct sw_replies *keeps, bool *failed)
{
    struct sw_replies_memory *small = NULL;
    bool fits = false; /* what is in use fits: then it will do, later */
    if (keeps == NULL && memory->is_exhausted) {
        return NULL;
    }
    for (uint32_t i = 0; i < memory->count; i++) {
        struct sw_replies_memory *one = memory->all[i];
        const bool frees = is_free(one, keeps);
        if (frees && one->io_bytes >= bytes) {
            return one;
        }
        /* first what is kept: the limit is sure to hold the rest of it beside `bytes` */
        small = frees && (small == NULL || i < memory->kept) ? one : small;
        fits |= one->io_bytes >= bytes;
    }
    raise_limit(memory, bytes);
    bool allocates = may_add(memory, bytes);
    struct sw_replies_memory *added = allocates ? add(memory, bytes) : NULL;
    if (added != NULL) {
        return added;
    }
    if (small != NULL && make_room(memory, small, bytes, keeps)) {
        allocates = true;
        const bool done = set_io(memory, small, bytes);
        show_bytes(memory);
        if (done) {
            return small;
        }
    }
    *failed = !fits && allocates;
    memory->is_exhausted = keeps == NULL && !*failed;
    return NULL;
}

static bool lend(struct sw_resp_memory *memory, struct sw_replies *replies, bool *failed)
{
    struct sw_replies_memory *one = find(memory, replies->batch.memory_bytes, NULL, failed);
    if (one == NULL) {
        return false;
    }
    if (one->borrower != NULL) {
        sw_replies_give_back(one->borrower);
    }
    sw_replies_borrow(replies, one);
    return true;
}

/* --- lending ---------------------------------------------------------------------------------- */

static bool lend_to(const struct sw_conn *conn, struct sw_replies *replies, bool *failed)
{
    const bool goes_first = conn->retried || conn->net->memory_waiters == 0;
    *failed = false;
    return goes_first && lend(replies->resp->memory, replies, failed);
}

bool sw_resp_lend(const struct sw_conn *conn, struct sw_replies *replies)
{
    bool failed;
    return lend_to(conn, replies, &failed);
}

bool sw_resp_has_memory(struct sw_conn *conn, struct sw_replies *replies)
{
    bool failed;
    if (replies->memory != NULL || lend_to(conn, replies, &failed)) {
        return true;
    }
    if (failed) {
        sw_log_limited(SW_LOG_NO_MEMORY, SW_LOG_ERROR,
                       "no memory for a RESP batch: a connection was closed; lower round-ops-max "
                       "or resp-batches-max");
        sw_conn_abort(conn);
        return false;
    }
    SW_COUNT(conn->net->counters, resp_batches_pauses, !conn->retried);
    sw_conn_stall(conn, SW_STALL_BATCH_MEMORY);
    return false;
}

bool sw_resp_find_room(struct sw_conn *conn, uint32_t operations)
{
    struct sw_replies *filling = sw_resp_of(conn)->resp->filling;
    if (!sw_resp_has_memory(conn, filling)) {
        return false;
    }
    if (sw_replies_has_room(filling, operations)) {
        return true;
    }
    SW_COUNT(conn->net->counters, round_pauses, !conn->retried);
    sw_conn_stall(conn, SW_STALL_BATCH_FULL);
    return false;
}

int sw_resp_reserve(struct sw_resp *resp, const struct sw_replies *keeps)
{
    bool failed = false;
    (void)find(resp->memory, resp->filling->batch.memory_bytes, keeps, &failed);
    return failed ? -1 : 0;
}

void sw_resp_give_back(struct sw_resp *resp)
{
    sw_replies_give_back(&resp->replies[0]);
    sw_replies_give_back(&resp->replies[1]);
    sw_replies_give_back(&resp->rmw.replies);
    sw_replies_give_back(&resp->passing.replies);
}

/* --- the memory of a loop --------------------------------------------------------------------- */

struct sw_resp_memory *sw_resp_memory_create(struct sw_resp *first)
{
    struct sw_replies *const lent[] = {&first->replies[0], &first->replies[1], &first->rmw.replies};
    /* a cache has no read-modify-write commands */
    const uint32_t count = first->batches->shape.engine == SW_ENGINE_CACHE ? 2 : 3;
    struct sw_resp_memory *memory = calloc(1, sizeof(*memory));
    if (memory == NULL) {
        return NULL;
    }
    memory->table = first->batches->table;
    memory->counters = first->net->counters;
    memory->pending_max = first->net->config->round_ops_max;
    memory->most = first->net->config->resp_batches_max;
    memory->bytes_max = first->net->config->resp_batch_bytes;
    memory->is_derived = (first->net->config->derived & SW_DERIVED_BATCH_BYTES) != 0;
    memory->kept_bytes = first->replies[0].batch.memory_bytes;
    for (; memory->kept < count; memory->kept++) {
        struct sw_replies_memory *one = add(memory, memory->kept_bytes);
        if (one == NULL) {
            sw_resp_give_back(first);
            sw_resp_memory_destroy(memory);
            return NULL;
        }
        sw_replies_borrow(lent[memory->kept], one);
    }
    return memory;
}

void sw_resp_memory_destroy(struct sw_resp_memory *memory)
{
    for (uint32_t i = 0; memory != NULL && i < memory->count; i++) {
        assert(memory->all[i]->borrower == NULL);
        free_one(memory, memory->all[i]);
    }
    if (memory != NULL) {
        free(memory->all);
    }
    free(memory);
}

bool sw_resp_memory_sweep(struct sw_resp_memory *memory, uint64_t now_ms)
{
    const bool was_exhausted = memory->is_exhausted;
    memory->is_exhausted = false;
    for (uint32_t i = memory->count; i-- > 0;) {
        struct sw_replies_memory *one = memory->all[i];
        if (one->is_used || is_in_use(one)) {
            one->is_used = false;
            one->used_ms = now_ms;
        } else if (now_ms - one->used_ms >= SW_RESP_IDLE_MS) {
            shrink(memory, i);
        }
    }
    return was_exhausted;
}

void sw_resp_memory_check(const struct sw_resp_memory *memory)
{
    assert(memory->kept <= memory->count && memory->count <= memory->room);
    assert(memory->bytes <= memory->bytes_max);
    for (uint32_t i = 0; i < memory->count; i++) {
        const struct sw_replies_memory *one = memory->all[i];
        assert(one->borrower == NULL || (one->borrower->memory == one &&
                                         one->io_bytes >= one->borrower->batch.memory_bytes));
        (void)one;
    }
}
