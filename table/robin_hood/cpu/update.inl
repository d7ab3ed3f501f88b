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

/* Records of one block, sorted by what one bucket tells of their keys. */
struct RH(sorted) {
    const struct RH(work) * work;
    struct sw_counters *counters;
    struct RH(record) * present[SW_CPU_BLOCK]; /* the bucket has the key, in the slot: */
    struct RH(slot) * slots[SW_CPU_BLOCK];
    struct RH(record) * absent[SW_CPU_BLOCK]; /* the bucket proves that the key is absent */
    struct RH(record) * later[SW_CPU_BLOCK];  /* the key may be in a later bucket */
    uint32_t present_count, absent_count, later_count;
};

/* The updates of a thread: some runs, one after the other. */
struct RH(updates) {
    const struct RH(job) * job;
    struct RH(gather) gather;
    struct RH(sorted) homes[2]; /* by home buckets: this block, and the one before */
    struct RH(sorted) nexts[2]; /* by the buckets after them: the two blocks before */
    uint32_t turn;
    bool stash; /* the stash holds entries */
};

static void RH(updates_init)(struct RH(updates) * updates, const struct RH(job) * job,
                             const struct RH(partition) * partition)
{
    assert(job->table->main.max_probe > 0); /* there is a bucket after any home */
    assert(job->table->state->holes == 0);
    updates->job = job;
    updates->turn = 0;
    for (int k = 0; k < 2; k++) {
        updates->homes[k].later_count = 0;
        updates->nexts[k].later_count = 0;
        updates->homes[k].work = NULL;
        updates->homes[k].counters = NULL;
    }
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

/* Sorts a record without a branch on what the bucket holds. If the key may be in a later bucket,
 * prefetches the next one. `proof` is ~0 if a larger slot proves that a key is absent, otherwise 0.
 */
__attribute__((always_inline)) static inline void
RH(sort_record)(struct RH(sorted) * sorted, struct RH(record) * record, struct RH(slot) * bucket,
                uint32_t proof, uint32_t counts[3])
{
    const struct RH(match) match = RH(search)(bucket, record->m);
    const uint32_t same = record->m == RH_EMPTY ? 0 : match.same;
    const uint32_t larger = match.larger & proof;
    const uint32_t later = (same | larger) == 0;
    sorted->present[counts[0]] = record;
    sorted->slots[counts[0]] = bucket + sw_first_slot(same);
    sorted->absent[counts[1]] = record;
    sorted->later[counts[2]] = record;
    counts[0] += same != 0;
    counts[1] += (same == 0) & (larger != 0);
    counts[2] += later;
    __builtin_prefetch(bucket + later * SW_BUCKET_SLOTS, 0, 3);
}

static void RH(end_sorted)(struct RH(sorted) * sorted, const uint32_t counts[3])
{
    sorted->present_count = counts[0];
    sorted->absent_count = counts[1];
    sorted->later_count = counts[2];
}

/* Sorts the records [begin, end) of a run by their home buckets. Prefetches those of later
 * records. */
static void RH(sort_homes)(const struct RH(updates) * updates, struct RH(sorted) * sorted,
                           const struct RH(run) * run, uint32_t begin, uint32_t end)
{
    const struct RH(view) main = updates->job->table->main;
    const uint32_t proof = updates->stash ? 0 : ~0U;
    uint32_t counts[3] = {0, 0, 0};
    for (uint32_t r = begin; r < end; r++) {
        struct RH(record) *record = &run->records[r];
        const struct RH(record) *ahead = RH(record_ahead)(run, r + SW_CPU_AHEAD);
        if (ahead != NULL) {
            RH(prefetch)(updates->job->table, ahead->m);
        }
        RH(sort_record)
        (sorted, record, RH(bucket)(&main, RH(home)(&main, record->m)), proof, counts);
    }
    RH(end_sorted)(sorted, counts);
}

/* Sorts the records that a block left to its second pass, by the buckets after their homes. */
static void RH(sort_nexts)(const struct RH(updates) * updates, struct RH(sorted) * sorted,
                           struct RH(sorted) * homes)
{
    const struct RH(view) main = updates->job->table->main;
    const uint32_t proof = updates->stash ? 0 : ~0U;
    uint32_t counts[3] = {0, 0, 0};
    for (uint32_t k = 0; k < homes->later_count; k++) {
        struct RH(record) *record = homes->later[k];
        RH(sort_record)
        (sorted, record, RH(bucket)(&main, RH(home)(&main, record->m) + 1), proof, counts);
    }
    RH(end_sorted)(sorted, counts);
    sorted->work = homes->work;
    sorted->counters = homes->counters;
    homes->later_count = 0;
}

/* Updates the sorted records that are present or absent, and were searched by `probes` buckets. */
static void RH(update_sorted)(struct RH(updates) * updates, const struct RH(sorted) * sorted,
                              uint64_t probes)
{
    for (uint32_t k = 0; k < sorted->present_count; k++) {
        struct RH(slot) *slot = sorted->slots[k];
        const struct RH(place)
            place = {.slot = slot, .found = true, .value = RH(slot_value)(RH(slot_load)(slot))};
        RH(update_at)(updates, sorted, &place, sorted->present[k], probes);
    }
    for (uint32_t k = 0; k < sorted->absent_count; k++) {
        const struct RH(place) place = {.slot = NULL};
        RH(update_at)(updates, sorted, &place, sorted->absent[k], probes);
    }
}

/* The second pass over the block before this one, and the third over the block before that. */
static void RH(update_before)(struct RH(updates) * updates)
{
    struct RH(sorted) *next = &updates->nexts[updates->turn];
    struct RH(sorted) *last = &updates->nexts[updates->turn ^ 1];
    RH(sort_nexts)(updates, next, &updates->homes[updates->turn ^ 1]);
    RH(update_sorted)(updates, next, 2);
    for (uint32_t k = 0; k < last->later_count; k++) {
        uint64_t probes = 0;
        const struct RH(place) place = RH(locate)(updates->job->table, last->later[k]->m, &probes);
        RH(update_at)(updates, last, &place, last->later[k], probes);
    }
    last->later_count = 0;
    updates->turn ^= 1;
}

/* Updates the records of a run, a block at a time. The first SW_CPU_AHEAD home buckets are
 * prefetched. As in get.inl, a second and a third pass update the records whose keys may lie behind
 * their home buckets, after the first passes over the next blocks, which may be of the next runs.
 * No entry moves meanwhile (rule 6), and the stash does not change. So all operations on a key are
 * in the same pass and in the same list of their blocks, in their order. */
static void RH(update_run)(struct RH(updates) * updates, const struct RH(work) * work,
                           const struct RH(run) * run, struct sw_counters *counters)
{
    for (uint32_t begin = 0; begin < run->count; begin += SW_CPU_BLOCK) {
        const uint32_t end = run->count - begin < SW_CPU_BLOCK ? run->count : begin + SW_CPU_BLOCK;
        struct RH(sorted) *sorted = &updates->homes[updates->turn];
        sorted->work = work;
        sorted->counters = counters;
        RH(sort_homes)(updates, sorted, run, begin, end);
        RH(update_sorted)(updates, sorted, 1);
        RH(update_before)(updates);
    }
}

/* Ends the updates: the passes over the last two blocks. */
static void RH(updates_end)(struct RH(updates) * updates)
{
    RH(update_before)(updates);
    RH(update_before)(updates);
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
