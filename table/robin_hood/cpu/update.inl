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

/* Updates a record, whose place is known. */
static void RH(update_at)(const struct RH(job) * job, const struct RH(work) * work,
                          const struct RH(place) * place, struct RH(record) * record,
                          struct RH(gather) * gather, struct sw_counters *counters)
{
    struct sw_op_counters *count = &counters->by_class[sw_op_class_of(record->op)];
    if (place->found || record->m == RH_EMPTY) {
        RH(update_present)(job->table, work, place, record, counters);
    } else {
        RH(update_absent)(work, gather, record, counters);
    }
    count->operations++;
    count->hits += record->found;
    count->misses += !record->found;
}

/* Updates a record if its home bucket has the key or proves that it is absent. Otherwise prefetches
 * the next bucket, and returns false. */
static bool RH(update_home)(const struct RH(job) * job, const struct RH(work) * work,
                            struct RH(record) * record, struct RH(gather) * gather,
                            struct sw_counters *counters)
{
    const struct RH(table) *table = job->table;
    struct RH(slot) *bucket = RH(bucket)(&table->main, RH(home)(&table->main, record->m));
    struct RH(slot) held[SW_BUCKET_SLOTS];
    struct RH(place) place = {.slot = bucket};
    RH(bucket_read)(bucket, held);
    const int at = record->m == RH_EMPTY ? SW_PROBE_NEXT : RH(probe)(held, record->m, &place.value);
    if (at == SW_PROBE_NEXT || (at == SW_PROBE_ABSENT && table->state->stash_occupied != 0)) {
        __builtin_prefetch(bucket + SW_BUCKET_SLOTS, 0, 3);
        return false;
    }
    place.slot += at > 0 ? at : 0;
    place.found = at >= 0;
    counters->by_class[sw_op_class_of(record->op)].probes++;
    RH(update_at)(job, work, &place, record, gather, counters);
    return true;
}

/* Updates the records of a run, a block at a time. The first SW_CPU_AHEAD home buckets are
 * prefetched. As in get.inl, a second pass updates the records whose keys may lie behind their home
 * buckets. No entry moves meanwhile (rule 6). So all operations of a block on a key are in the same
 * pass, in their order. */
static void RH(update_run)(const struct RH(job) * job, const struct RH(work) * work,
                           const struct RH(run) * run, struct RH(gather) * gather,
                           struct sw_counters *counters)
{
    struct RH(record) * later[SW_CPU_BLOCK];
    for (uint32_t begin = 0; begin < run->count; begin += SW_CPU_BLOCK) {
        const uint32_t end = run->count - begin < SW_CPU_BLOCK ? run->count : begin + SW_CPU_BLOCK;
        uint32_t count = 0;
        for (uint32_t r = begin; r < end; r++) {
            const struct RH(record) *ahead = RH(record_ahead)(run, r + SW_CPU_AHEAD);
            if (ahead != NULL) {
                RH(prefetch)(job->table, ahead->m);
            }
            if (!RH(update_home)(job, work, &run->records[r], gather, counters)) {
                later[count++] = &run->records[r];
            }
        }
        for (uint32_t k = 0; k < count; k++) {
            uint64_t *probes = &counters->by_class[sw_op_class_of(later[k]->op)].probes;
            const struct RH(place) place = RH(locate)(job->table, later[k]->m, probes);
            RH(update_at)(job, work, &place, later[k], gather, counters);
        }
    }
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
