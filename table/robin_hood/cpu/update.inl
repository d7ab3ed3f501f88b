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
static inline void RH(update_present)(const struct RH(table) * table, const struct RH(work) * work,
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

/* Neighbouring records of one batch. */
struct RH(run) {
    struct RH(record) * records;
    uint32_t count;
    const struct RH(work) * work;
    struct sw_counters *counters;
};

/* The place of a record in the runs of a thread. */
struct RH(cursor) {
    uint32_t run, at;
};

/* The records of one run in the lists of a block: each list up to these ends. */
struct RH(segment) {
    const struct RH(run) * run;
    uint32_t present_end, absent_end, later_end;
};

/* Records of one block, sorted by what one bucket tells of their keys. */
struct RH(sorted) {
    struct RH(record) * present[SW_CPU_BLOCK]; /* the bucket has the key, in the slot: */
    struct RH(slot) * slots[SW_CPU_BLOCK];
    struct RH(record) * absent[SW_CPU_BLOCK]; /* the bucket proves that the key is absent */
    struct RH(record) * later[SW_CPU_BLOCK];  /* the key may be in a later bucket */
    struct RH(segment) segments[SW_CPU_PARTS_MAX];
    uint32_t segment_count;
};

/* The updates of a thread: some runs, one after the other. */
struct RH(updates) {
    const struct RH(job) * job;
    const struct RH(run) * runs;
    uint32_t run_count;
    struct RH(cursor) next;  /* the next record */
    struct RH(cursor) ahead; /* the next record whose home bucket is prefetched */
    struct RH(gather) gather;
    struct RH(sorted) homes[2]; /* by home buckets: this block, and the one before */
    struct RH(sorted) nexts[2]; /* by the buckets after them: the two blocks before */
    uint32_t turn;
    bool stash; /* the stash holds entries */
};

/* --- records in the order of the runs --------------------------------------------------------- */

/* Cache lines of a run's records that are prefetched at the beginning, and in all before the first
 * record is read. */
#define RUN_LINES_FIRST 2U
#define RUN_LINES 8U

/* Prefetches the cache lines [from, to) of a run's records. */
static void RH(prefetch_records)(const struct RH(run) * run, uint32_t from, uint32_t to)
{
    const size_t bytes = run->count * sizeof(*run->records);
    for (size_t at = from * 64; at < bytes && at < to * 64; at += 64) {
        __builtin_prefetch((const uint8_t *)run->records + at, 0, 3);
    }
}

/* Returns the records at a cursor and advances it by their number. Sets *count to that number: at
 * least 1 and at most `most`, or 0 at the end of all runs. */
static struct RH(record) * RH(advance)(const struct RH(updates) * updates,
                                       struct RH(cursor) * cursor, uint32_t most, uint32_t *count)
{
    const struct RH(run) *runs = updates->runs;
    while (cursor->run < updates->run_count && cursor->at == runs[cursor->run].count) {
        cursor->run++;
        cursor->at = 0;
    }
    if (cursor->run == updates->run_count) {
        *count = 0;
        return NULL;
    }
    const uint32_t left = runs[cursor->run].count - cursor->at;
    struct RH(record) *records = runs[cursor->run].records + cursor->at;
    *count = left < most ? left : most;
    cursor->at += *count;
    return records;
}

/* Returns the next records, at most `most`, whose home buckets the caller prefetches. */
static const struct RH(record) *
    RH(advance_ahead)(struct RH(updates) * updates, uint32_t most, uint32_t *count)
{
    const struct RH(record) *records = RH(advance)(updates, &updates->ahead, most, count);
    if (updates->ahead.at == *count && updates->ahead.run + 1 < updates->run_count) {
        RH(prefetch_records)(&updates->runs[updates->ahead.run + 1], RUN_LINES_FIRST, RUN_LINES);
    }
    return records;
}

static void RH(updates_init)(struct RH(updates) * updates, const struct RH(job) * job,
                             const struct RH(partition) * partition, const struct RH(run) * runs,
                             uint32_t run_count)
{
    assert(job->table->main.max_probe > 0); /* there is a bucket after any home */
    assert(job->table->state->holes == 0);
    updates->job = job;
    updates->runs = runs;
    updates->run_count = run_count;
    updates->next = (struct RH(cursor)){0, 0};
    updates->ahead = (struct RH(cursor)){0, 0};
    updates->turn = 0;
    for (int k = 0; k < 2; k++) {
        updates->homes[k].segment_count = 0;
        updates->nexts[k].segment_count = 0;
    }
    updates->stash = job->table->state->stash_occupied != 0;
    RH(gather_init)(&updates->gather, job, partition);
}

/* --- passes over a block ---------------------------------------------------------------------- */

/* Sorts a record without a branch on what the bucket holds. If the key may be in a later bucket,
 * prefetches the next one. `proof` is ~0 if a larger slot proves that a key is absent, otherwise 0.
 */
__attribute__((always_inline)) static inline void
RH(sort_record)(struct RH(sorted) * sorted, struct RH(segment) * ends, struct RH(record) * record,
                struct RH(slot) * bucket, uint32_t proof)
{
    const struct RH(match) match = RH(search)(bucket, record->m);
    const uint32_t same = record->m == RH_EMPTY ? 0 : match.same;
    const uint32_t larger = match.larger & proof;
    const uint32_t later = (same | larger) == 0;
    sorted->present[ends->present_end] = record;
    sorted->slots[ends->present_end] = bucket + sw_first_slot(same);
    sorted->absent[ends->absent_end] = record;
    sorted->later[ends->later_end] = record;
    ends->present_end += same != 0;
    ends->absent_end += (same == 0) & (larger != 0);
    ends->later_end += later;
    __builtin_prefetch(bucket + later * SW_BUCKET_SLOTS, 0, 3);
}

/* Sorts `count` records by their home buckets. With `ahead` it prefetches the home buckets of as
 * many later records. */
__attribute__((always_inline)) static inline void
RH(sort_homes)(const struct RH(updates) * updates, struct RH(sorted) * sorted,
               struct RH(segment) * ends, struct RH(record) * records,
               const struct RH(record) * ahead, uint32_t count)
{
    const struct RH(view) main = updates->job->table->main;
    const uint32_t proof = updates->stash ? 0 : ~0U;
    struct RH(segment) counts = *ends;
    for (uint32_t r = 0; r < count; r++) {
        if (ahead != NULL) {
            RH(prefetch)(updates->job->table, ahead[r].m);
        }
        RH(sort_record)
        (sorted, &counts, &records[r], RH(bucket)(&main, RH(home)(&main, records[r].m)), proof);
    }
    *ends = counts;
}

/* The first pass over the next block: sorts its records by their home buckets. Returns whether
 * there are any. */
static bool RH(sort_block)(struct RH(updates) * updates, struct RH(sorted) * sorted)
{
    struct RH(segment) ends = {NULL, 0, 0, 0};
    uint32_t room = SW_CPU_BLOCK, count;
    sorted->segment_count = 0;
    while (room > 0) {
        struct RH(record) *records = RH(advance)(updates, &updates->next, room, &count);
        if (count == 0) {
            break;
        }
        room -= count;
        while (count > 0) {
            uint32_t step;
            const struct RH(record) *ahead = RH(advance_ahead)(updates, count, &step);
            if (ahead != NULL) {
                RH(sort_homes)(updates, sorted, &ends, records, ahead, step);
            } else {
                step = count;
                RH(sort_homes)(updates, sorted, &ends, records, NULL, step);
            }
            records += step;
            count -= step;
        }
        ends.run = &updates->runs[updates->next.run];
        sorted->segments[sorted->segment_count++] = ends;
    }
    return room < SW_CPU_BLOCK;
}

/* Sorts the records that a block left to its second pass, by the buckets after their homes. */
static void RH(sort_nexts)(const struct RH(updates) * updates, struct RH(sorted) * sorted,
                           struct RH(sorted) * homes)
{
    const struct RH(view) main = updates->job->table->main;
    const uint32_t proof = updates->stash ? 0 : ~0U;
    struct RH(segment) ends = {NULL, 0, 0, 0};
    uint32_t k = 0;
    for (uint32_t s = 0; s < homes->segment_count; s++) {
        for (; k < homes->segments[s].later_end; k++) {
            struct RH(record) *record = homes->later[k];
            RH(sort_record)
            (sorted, &ends, record, RH(bucket)(&main, RH(home)(&main, record->m) + 1), proof);
        }
        ends.run = homes->segments[s].run;
        sorted->segments[s] = ends;
    }
    sorted->segment_count = homes->segment_count;
    homes->segment_count = 0;
}

/* Counts operations that were searched by `probes` buckets each, after their answers. */
static void RH(count_updates)(const struct RH(run) * run, struct RH(record) *const *records,
                              uint32_t count, uint64_t probes)
{
    struct sw_counters *counters = run->counters;
    for (uint32_t k = 0; k < count; k++) {
        struct sw_op_counters *mine = &counters->by_class[sw_op_class_of(records[k]->op)];
        mine->operations++;
        mine->probes += probes;
        mine->hits += records[k]->found;
        mine->misses += !records[k]->found;
    }
}

/* Updates present keys, which lie in `slots`, by one operation without a second operand. Returns
 * the number of those that it wrote. Always inlined, since `verb` and `when` are constant. */
__attribute__((always_inline)) static inline uint32_t
RH(update_slots_by)(const struct RH(view) * main, enum sw_verb verb, enum sw_when when,
                    bool answers, struct RH(record) *const *records, struct RH(slot) *const *slots,
                    uint32_t count)
{
    uint32_t updated = 0;
    for (uint32_t k = 0; k < count; k++) {
        const struct RH(slot) held = RH(slot_load)(slots[k]);
        const RH_WORD old = RH(slot_value)(held);
        RH_WORD out;
        if (RH(verb_apply)(verb, when, true, old, records[k]->value, &out) == SW_EFFECT_WRITE) {
            SW_KEEP(main, slots[k]);
            RH(slot_store)(slots[k], RH(slot_of)(held.m, out));
            updated++;
        }
        if (answers) {
            records[k]->value = old;
        }
    }
    return updated;
}

/* Updates present keys, which lie in `slots` and were searched by `probes` buckets each. */
static void RH(update_slots)(const struct RH(updates) * updates, const struct RH(run) * run,
                             struct RH(record) *const *records, struct RH(slot) *const *slots,
                             uint32_t count, uint64_t probes)
{
    const struct RH(table) *table = updates->job->table;
    const struct RH(work) *work = run->work;
    struct sw_op_counters *mine = &run->counters->by_class[sw_op_class_of(work->op)];
#define SW_ROW(name, number, its_op, verb, guard, ...)                          \
    case (its_op):                                                              \
        run->counters->updated +=                                               \
            RH(update_slots_by)(&table->main, SW_VERB_##verb, SW_WHEN_##guard,  \
                                work->previous != NULL, records, slots, count); \
        break;
    switch (work->ops == NULL ? work->op : SW_OPS_END) {
        SW_CORE_OPERATION_MAP(SW_ROW)
    default:
        for (uint32_t k = 0; k < count; k++) {
            const struct RH(place) place = {
                .slot = slots[k], .found = true, .value = RH(slot_value)(RH(slot_load)(slots[k]))};
            RH(update_present)(table, work, &place, records[k], run->counters);
        }
    }
#undef SW_ROW
    if (work->ops != NULL) {
        RH(count_updates)(run, records, count, probes);
    } else {
        mine->operations += count;
        mine->probes += count * probes;
        mine->hits += count;
    }
}

/* Updates the sorted records that are present or absent, and were searched by `probes` buckets. */
static void RH(update_sorted)(struct RH(updates) * updates, const struct RH(sorted) * sorted,
                              uint64_t probes)
{
    uint32_t present = 0, absent = 0;
    for (uint32_t s = 0; s < sorted->segment_count; s++) {
        const struct RH(segment) *segment = &sorted->segments[s];
        const struct RH(run) *run = segment->run;
        RH(update_slots)
        (updates, run, sorted->present + present, sorted->slots + present,
         segment->present_end - present, probes);
        for (uint32_t k = absent; k < segment->absent_end; k++) {
            RH(update_absent)(run->work, &updates->gather, sorted->absent[k], run->counters);
        }
        RH(count_updates)(run, sorted->absent + absent, segment->absent_end - absent, probes);
        present = segment->present_end;
        absent = segment->absent_end;
    }
}

/* The third pass over a block: finds each record from its home on. */
static void RH(update_later)(struct RH(updates) * updates, struct RH(sorted) * sorted)
{
    const struct RH(table) *table = updates->job->table;
    uint32_t k = 0;
    for (uint32_t s = 0; s < sorted->segment_count; s++) {
        const struct RH(run) *run = sorted->segments[s].run;
        for (; k < sorted->segments[s].later_end; k++) {
            struct RH(record) *record = sorted->later[k];
            uint64_t probes = 0;
            const struct RH(place) place = RH(locate)(table, record->m, &probes);
            if (place.found || record->m == RH_EMPTY) {
                RH(update_present)(table, run->work, &place, record, run->counters);
            } else {
                RH(update_absent)(run->work, &updates->gather, record, run->counters);
            }
            RH(count_updates)(run, &record, 1, probes);
        }
    }
    sorted->segment_count = 0;
}

/* The second pass over the block before this one, and the third over the block before that. */
static void RH(update_before)(struct RH(updates) * updates)
{
    struct RH(sorted) *next = &updates->nexts[updates->turn];
    RH(sort_nexts)(updates, next, &updates->homes[updates->turn ^ 1]);
    RH(update_sorted)(updates, next, 2);
    RH(update_later)(updates, &updates->nexts[updates->turn ^ 1]);
    updates->turn ^= 1;
}

/* Updates the records of all runs, a block at a time. A block may have records of several runs. The
 * first SW_CPU_AHEAD home buckets are prefetched. As in get.inl, a second and a third pass update
 * the records whose keys may lie behind their home buckets, after the first passes over the next
 * blocks. No entry moves meanwhile (rule 6), and the stash does not change. So all operations on a
 * key are in the same pass and in the same list of their blocks, in their order. */
static void RH(update_runs)(struct RH(updates) * updates)
{
    for (uint32_t left = SW_CPU_AHEAD, count = 1; left > 0 && count > 0; left -= count) {
        const struct RH(record) *records = RH(advance_ahead)(updates, left, &count);
        for (uint32_t r = 0; r < count; r++) {
            RH(prefetch)(updates->job->table, records[r].m);
        }
    }
    while (RH(sort_block)(updates, &updates->homes[updates->turn])) {
        RH(update_sorted)(updates, &updates->homes[updates->turn], 1);
        RH(update_before)(updates);
    }
    RH(update_before)(updates);
    RH(update_before)(updates);
}
