/* SPDX-License-Identifier: MIT
 *
 * cpu.inl - batches and rehashes of a cuckoo table in host memory. Included by cuckoo_cpu.c once
 * per width.
 */

static struct CK(table) CK(table_of)(struct cuckoo *cuckoo)
{
    struct CK(table) table = {
        .view = {.cells = cuckoo->cells[cuckoo->current], .shape = cuckoo->shape},
        .stash = cuckoo->stash,
        .state = &cuckoo->state,
        .occupied_max = cuckoo->geometry.occupied_max,
        .stash_max = cuckoo->geometry.stash_max,
        .stash_most = cuckoo->geometry.stash_most,
    };
    return table;
}

struct CK(reads) {
    const struct CK(table) * table;
    struct CK(work) * work;
    struct sw_counters counters[PARTS_MAX];
};

/* Executes one thread's part of the reads: whole words of `found`. At most PARTS_MAX threads have a
 * part. */
static void CK(read_part)(void *context, uint32_t thread, uint32_t threads)
{
    struct CK(reads) *reads = context;
    uint64_t words = ((uint64_t)reads->work->count + 63) / 64;
    const uint32_t parts = threads < PARTS_MAX ? threads : PARTS_MAX;
    if (thread >= parts) {
        return;
    }
    uint64_t begin = words * thread / parts * 64;
    uint64_t end = words * (thread + 1) / parts * 64;
    end = end < reads->work->count ? end : reads->work->count;
    if (begin < end) {
        CK(get_range)
        (reads->table, reads->work, (uint32_t)begin, (uint32_t)end, &reads->counters[thread]);
    }
}

static void CK(run_reads)(struct cuckoo *cuckoo, struct sw_batch *batch)
{
    struct CK(table) table = CK(table_of)(cuckoo);
    struct CK(work) work = CK(work_of)(batch);
    struct CK(reads) reads = {.table = &table, .work = &work};
    if (batch->count >= PARALLEL_MIN && sw_pool_threads(cuckoo->pool) > 1 &&
        sw_pool_try_lock(cuckoo->pool)) {
        sw_pool_run(cuckoo->pool, CK(read_part), &reads);
        sw_pool_unlock(cuckoo->pool);
    } else {
        CK(get_range)(&table, &work, 0, batch->count, &reads.counters[0]);
    }
    for (uint32_t t = 0; t < PARTS_MAX; t++) {
        sw_cuckoo_add_counters(&batch->counters, &reads.counters[t]);
    }
    if (work.group_refused != NULL) {
        memset(work.group_refused, 0, work.group_count);
    }
}

/* Copies all entries to the other arrays, under the next seeds. Returns false if an entry reached
 * the chain bound; then the table is unchanged. */
static bool CK(move)(struct cuckoo *cuckoo, const struct sw_cuckoo_shape *next)
{
    const struct CK(cell) *old = cuckoo->cells[cuckoo->current];
    const struct CK(cell) *stash = cuckoo->stash;
    struct CK(view) new = {.cells = cuckoo->cells[!cuckoo->current], .shape = *next};
    uint64_t cells = cuckoo->geometry.cells;
    memset(new.cells, 0xFF, cells * sizeof(*new.cells));
    for (uint64_t c = 0; c < cells + cuckoo->state.stash_occupied; c++) {
        struct CK(cell) carried = c < cells ? old[c] : stash[c - cells];
        if (carried.key != CK_ONES && !CK(insert)(&new, &carried)) {
            return false;
        }
    }
    return true;
}

/* `undo` has room for the operations of the batch. */
static void CK(run_writes)(struct cuckoo *cuckoo, struct sw_batch *batch, void *undo)
{
    struct CK(table) table = CK(table_of)(cuckoo);
    struct CK(work) work = CK(work_of)(batch);
    work.undo = undo;
    if (!CK(execute_in_order)(&table, &work, &batch->counters)) {
        batch->status = SW_E_FULL;
    }
}

static void CK(rehash)(struct cuckoo *cuckoo)
{
    rehash(cuckoo, CK(move));
}
