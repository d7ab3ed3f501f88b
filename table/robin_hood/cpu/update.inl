/* SPDX-License-Identifier: MIT
 *
 * update.inl - the update step of parallel writes: present keys change in place, absent keys are
 * gathered. Included by parallel.inl, once per width.
 *
 * Threads: one for each partition, or for each unit of a launch.
 */

/* The keys gathered in one partition, with open addressing. 0 marks a free place; k + 1 stands for
 * entries[k]. */
struct RH(gather) {
    struct RH(slot) * entries;
    uint32_t *index; /* cleared before the first key enters */
    uint32_t shift;
    uint32_t mask;
    uint32_t count;
    bool cleared;
};

static void RH(gather_init)(struct RH(gather) * gather, const struct RH(job) * job,
                            const struct RH(partition) * partition)
{
    uint32_t bits = 1;
    while ((1U << bits) < 2 * partition->count) {
        bits++;
    }
    gather->entries = job->entries + partition->first;
    gather->index = job->index + 4 * (size_t)partition->first;
    gather->shift = 64 - bits;
    gather->mask = (1U << bits) - 1;
    gather->count = 0;
    gather->cleared = false;
}

/* Returns the place of m in the index, or the free place where m belongs. */
static uint32_t *RH(gather_find)(const struct RH(gather) * gather, RH_WORD m)
{
    uint32_t at = (uint32_t)((m * 0x9e3779b97f4a7c15ULL) >> gather->shift);
    while (gather->index[at] != 0 && gather->entries[gather->index[at] - 1].m != m) {
        at = (at + 1) & gather->mask;
    }
    return &gather->index[at];
}

/* Writes the answer to a record only if it is wanted and not there yet: scatter sets `found`. Then
 * the record stays in the cache of the thread that partitioned it. */
static void RH(put_answer)(const struct RH(work) * work, struct RH(record) * record, RH_WORD old,
                           bool found)
{
    if (work->previous != NULL) {
        record->value = old;
    }
    if (record->found != found) {
        record->found = found;
    }
}

static void RH(update_absent)(const struct RH(work) * work, struct RH(gather) * gather,
                              struct RH(record) * record, struct sw_counters *counters)
{
    if (!gather->cleared) {
        memset(gather->index, 0, sizeof(*gather->index) * ((size_t)gather->mask + 1));
        gather->cleared = true;
    }
    uint32_t *name = RH(gather_find)(gather, record->m);
    struct RH(slot) *entry = *name != 0 ? &gather->entries[*name - 1] : NULL;
    RH_WORD old = entry != NULL ? RH(slot_value)(*entry) : 0;
    RH_WORD out;
    if (RH(decide_at)(work, record->i, record->op, entry != NULL, old, record->value, &out) ==
        SW_EFFECT_WRITE) {
        if (entry != NULL) {
            *entry = RH(slot_of)(entry->m, out);
            counters->updated++;
        } else {
            gather->entries[gather->count] = RH(slot_of)(record->m, out);
            *name = ++gather->count;
            counters->inserted++;
        }
    }
    RH(put_answer)(work, record, old, entry != NULL);
}

/* Applies an operation to a present key, or to the key of the side cell. */
static void RH(update_present)(const struct RH(table) * table, const struct RH(work) * work,
                               const struct RH(place) * place, struct RH(record) * record,
                               struct sw_counters *counters)
{
    RH_WORD out;
    if (RH(decide_at)(work, record->i, record->op, place->found, place->value, record->value,
                      &out) == SW_EFFECT_WRITE) {
        RH(write_at)(table, place, record->m, out);
        if (place->found) {
            counters->updated++;
        } else {
            table->state->side_present = 1;
            counters->inserted++;
        }
    }
    RH(put_answer)(work, record, place->value, place->found);
}

/* A run of records, and the run that the same thread updates next. */
struct RH(run) {
    struct RH(record) * records;
    uint32_t count;
    const struct RH(record) * after;
    uint32_t after_count;
};

static const struct RH(record) * RH(record_ahead)(const struct RH(run) * run, uint32_t r)
{
    return r < run->count                      ? &run->records[r]
           : r - run->count < run->after_count ? &run->after[r - run->count]
                                               : NULL;
}

/* Records of one block, sorted by what their home buckets tell. */
struct RH(sorted) {
    const struct RH(work) * work;
    struct sw_counters *counters;
    struct RH(record) * present[SW_CPU_BLOCK]; /* the home bucket has the key, in the slot: */
    struct RH(slot) * slots[SW_CPU_BLOCK];
    struct RH(record) * absent[SW_CPU_BLOCK]; /* the home bucket proves that the key is absent */
    struct RH(record) * later[SW_CPU_BLOCK];  /* the key may be in a later bucket */
    uint32_t present_count, absent_count, later_count;
};

/* The updates of a thread: some runs, one after the other. */
struct RH(updates) {
    const struct RH(job) * job;
    struct RH(gather) gather;
    struct RH(sorted) blocks[2]; /* this block; and the one before, whose second pass is to come */
    uint32_t turn;
    bool stash; /* the stash holds entries */
};

static void RH(updates_init)(struct RH(updates) * updates, const struct RH(job) * job,
                             const struct RH(partition) * partition)
{
    updates->job = job;
    updates->turn = 0;
    updates->blocks[0].later_count = 0;
    updates->blocks[1].later_count = 0;
    updates->stash = job->table->state->stash_occupied != 0;
    RH(gather_init)(&updates->gather, job, partition);
}

/* Updates a record, whose place is known. */
static void RH(update_at)(struct RH(updates) * updates, const struct RH(sorted) * sorted,
                          const struct RH(place) * place, struct RH(record) * record,
                          uint64_t probes)
{
    struct sw_counters *counters = sorted->counters;
    struct sw_op_counters *count = &counters->by_class[sw_op_class_of(record->op)];
    if (place->found || record->m == RH_EMPTY) {
        RH(update_present)(updates->job->table, sorted->work, place, record, counters);
    } else {
        RH(update_absent)(sorted->work, &updates->gather, record, counters);
    }
    count->operations++;
    count->probes += probes;
    count->hits += record->found;
    count->misses += !record->found;
}

/* Sorts the records [begin, end) of a run, without a branch on what their home buckets hold.
 * Prefetches the buckets of later records, and the second buckets of these. */
static void RH(sort_homes)(const struct RH(updates) * updates, struct RH(sorted) * sorted,
                           const struct RH(run) * run, uint32_t begin, uint32_t end)
{
    const struct RH(table) *table = updates->job->table;
    const struct RH(view) main = table->main;
    const uint32_t proof = updates->stash ? 0 : ~0U; /* whether a larger slot proves absence */
    uint32_t present = 0, absent = 0, later = 0;
    for (uint32_t r = begin; r < end; r++) {
        struct RH(record) *record = &run->records[r];
        const struct RH(record) *ahead = RH(record_ahead)(run, r + SW_CPU_AHEAD);
        struct RH(slot) *bucket = RH(bucket)(&main, RH(home)(&main, record->m));
        if (ahead != NULL) {
            RH(prefetch)(table, ahead->m);
        }
        const struct RH(match) match = RH(search)(bucket, record->m);
        const uint32_t same = record->m == RH_EMPTY ? 0 : match.same;
        const uint32_t larger = match.larger & proof;
        sorted->present[present] = record;
        sorted->slots[present] = bucket + sw_first_slot(same);
        sorted->absent[absent] = record;
        sorted->later[later] = record;
        present += same != 0;
        absent += (same == 0) & (larger != 0);
        later += (same | larger) == 0;
        __builtin_prefetch(bucket + ((same | larger) == 0) * SW_BUCKET_SLOTS, 0, 3);
    }
    sorted->present_count = present;
    sorted->absent_count = absent;
    sorted->later_count = later;
}

/* Updates the records of a block whose home buckets decide. */
static void RH(update_homes)(struct RH(updates) * updates, const struct RH(sorted) * sorted)
{
    for (uint32_t k = 0; k < sorted->present_count; k++) {
        struct RH(slot) *slot = sorted->slots[k];
        const struct RH(place)
            place = {.slot = slot, .found = true, .value = RH(slot_value)(RH(slot_load)(slot))};
        RH(update_at)(updates, sorted, &place, sorted->present[k], 1);
    }
    for (uint32_t k = 0; k < sorted->absent_count; k++) {
        const struct RH(place) place = {.slot = NULL};
        RH(update_at)(updates, sorted, &place, sorted->absent[k], 1);
    }
}

/* The second pass over a block: updates the other records. */
static void RH(update_later)(struct RH(updates) * updates, struct RH(sorted) * sorted)
{
    for (uint32_t k = 0; k < sorted->later_count; k++) {
        struct RH(record) *record = sorted->later[k];
        uint64_t probes = 0;
        const struct RH(place) place =
            RH(locate_next)(updates->job->table, record->m, updates->stash, &probes);
        RH(update_at)(updates, sorted, &place, record, probes);
    }
    sorted->later_count = 0;
}

/* Updates the records of a run, a block at a time. The first SW_CPU_AHEAD home buckets are
 * prefetched. As in get.inl, a second pass updates the records whose keys may lie behind their home
 * buckets, after the first pass over the next block, which may be of the next run. No entry moves
 * meanwhile (rule 6), and the stash does not change. So all operations on a key are in the same
 * pass and in the same list of their blocks, in their order. */
static void RH(update_run)(struct RH(updates) * updates, const struct RH(work) * work,
                           const struct RH(run) * run, struct sw_counters *counters)
{
    for (uint32_t begin = 0; begin < run->count; begin += SW_CPU_BLOCK) {
        const uint32_t end = run->count - begin < SW_CPU_BLOCK ? run->count : begin + SW_CPU_BLOCK;
        struct RH(sorted) *sorted = &updates->blocks[updates->turn];
        updates->turn ^= 1;
        sorted->work = work;
        sorted->counters = counters;
        RH(sort_homes)(updates, sorted, run, begin, end);
        RH(update_homes)(updates, sorted);
        RH(update_later)(updates, &updates->blocks[updates->turn]);
    }
}

/* Ends the updates: the second pass over the last block. */
static void RH(updates_end)(struct RH(updates) * updates)
{
    RH(update_later)(updates, &updates->blocks[updates->turn ^ 1]);
}

/* Prefetches the home buckets of the first records of a run. */
static void RH(begin_run)(const struct RH(job) * job, const struct RH(run) * run)
{
    for (uint32_t r = 0; r < SW_CPU_AHEAD; r++) {
        const struct RH(record) *record = RH(record_ahead)(run, r);
        if (record != NULL) {
            RH(prefetch)(job->table, record->m);
        }
    }
}
