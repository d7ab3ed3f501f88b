/* SPDX-License-Identifier: MIT
 *
 * parallel.inl - one large batch on all threads of the pool. Included by parallel.c once per width,
 * and by sets.c.
 *
 * Threads take chunks of reads. Writes run in the steps below. All threads work on each step, and
 * finish it before the next begins; sw_pool_run is the barrier (rule 5):
 *
 *   count, scatter  count loads and keeps the keys, which others may change (rule 9). scatter
 *                   partitions the operations by the top bits of m; a partition keeps their order.
 *   update          One thread applies the operations of a partition in order (rule 7). Present
 *                   keys change in place and no entry moves (rule 6). Each absent key is gathered
 *                   once; later operations on the key apply to the gathered entry.
 *   insert, answer  The gathered entries, which are absent and distinct, are inserted (rules 1 to
 *                   4). In parallel the answers, in order of partition, are copied to the caller.
 *
 * All operations on a key are in one partition, so one thread applies them in their order.
 */

/* An operation in its partition; after `update`, its answer. */
struct RH(record) {
    RH_WORD m;
    RH_WORD value; /* operand, then the value before the operation */
    uint32_t i;    /* position in the batch */
    uint8_t op;
    uint8_t found;
};

struct RH(partition) {
    uint32_t first; /* index of its first record, and entry */
    uint32_t count;
    uint32_t gathered;  /* entries to insert */
    uint32_t left_over; /* entries that met the cap, at the front of the partition's entries */
    struct sw_counters counters;
};

struct RH(job) {
    const struct RH(table) * table;
    const struct RH(work) * work;
    const RH_WORD *given; /* the caller's keys, if get_job must copy them */
    struct RH(record) * records;
    struct RH(slot) * entries;
    RH_WORD *keys; /* scratch: the loaded keys of a write batch; then m of each operation */
    uint32_t *index;
    uint32_t (*offsets)[SW_CPU_PARTITIONS]; /* [slice]: its next record in each partition */
    uint32_t slices;
    uint32_t slice_ops; /* multiple of 64 */
    uint32_t next;      /* the next unit of work, atomic */
    struct sw_counters *counters;
    struct RH(partition) partitions[SW_CPU_PARTITIONS];
};

static uint32_t RH(partition_of)(RH_WORD m)
{
    return (uint32_t)(m >> (sizeof(RH_WORD) * 8 - SW_CPU_PARTITION_BITS));
}

static uint32_t RH(slice_end)(const struct RH(job) * job, uint32_t slice)
{
    uint64_t end = ((uint64_t)slice + 1) * job->slice_ops;
    return end < job->work->count ? (uint32_t)end : job->work->count;
}

/* --- reads ------------------------------------------------------------------------------------ */

#define GET_CHUNK 1024U

/* Copies the keys [begin, end) of a write batch. Later steps read only the copy (rule 9). */
static void RH(keep_keys)(const struct RH(job) * job, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end; i++) {
        job->keys[i] = SW_LOAD_ONCE(job->given + i);
    }
}

static void RH(get_job)(void *context, uint32_t thread, uint32_t threads)
{
    struct RH(job) *job = context;
    struct sw_counters counters = {0};
    uint32_t count = job->work->count;
    (void)thread;
    (void)threads;
    for (;;) {
        uint64_t begin = (uint64_t)sw_cpu_next_unit(&job->next) * GET_CHUNK;
        if (begin >= count) {
            break;
        }
        uint32_t end = count - begin < GET_CHUNK ? count : (uint32_t)begin + GET_CHUNK;
        if (job->keys != NULL) {
            RH(keep_keys)(job, (uint32_t)begin, end);
        }
        RH(get_range)(job->table, job->work, (uint32_t)begin, end, &counters);
    }
    const struct sw_op_counters *mine = &counters.by_class[SW_CLASS_GET];
    struct sw_op_counters *all = &job->counters->by_class[SW_CLASS_GET];
    __atomic_fetch_add(&all->operations, mine->operations, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all->probes, mine->probes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all->hits, mine->hits, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all->misses, mine->misses, __ATOMIC_RELAXED);
}

void RH(parallel_get)(struct sw_cpu *cpu, const struct RH(work) * work,
                      struct sw_counters *counters)
{
    struct RH(job) job = {.table = &cpu->table.RH_FIELD, .work = work, .counters = counters};
    sw_pool_run(cpu->pool, RH(get_job), &job);
}

uint64_t RH(parallel_absent)(struct sw_cpu *cpu, struct RH(work) * work)
{
    struct sw_counters counters = {0};
    struct RH(work) reads = {.count = work->count, .keys = cpu->scratch.keys};
    struct RH(job) job = {.table = &cpu->table.RH_FIELD,
                          .work = &reads,
                          .given = work->keys,
                          .keys = cpu->scratch.keys,
                          .counters = &counters};
    sw_pool_run(cpu->pool, RH(get_job), &job);
    work->keys = reads.keys;
    return counters.by_class[SW_CLASS_GET].misses;
}

#undef GET_CHUNK

/* --- writes: partition ------------------------------------------------------------------------ */

static void RH(count_job)(void *context, uint32_t thread, uint32_t threads)
{
    struct RH(job) *job = context;
    (void)thread;
    (void)threads;
    for (uint32_t s = sw_cpu_next_unit(&job->next); s < job->slices;
         s = sw_cpu_next_unit(&job->next)) {
        uint32_t counts[SW_CPU_PARTITIONS] = {0};
        uint32_t end = RH(slice_end)(job, s);
        for (uint32_t i = s * job->slice_ops; i < end; i++) {
            RH_WORD m = RH(mix)(job->table, SW_LOAD_ONCE(job->work->keys + i));
            job->keys[i] = m;
            counts[RH(partition_of)(m)]++;
        }
        memcpy(job->offsets[s], counts, sizeof(counts));
    }
}

/* Turns the counts into the offsets where each slice writes in each partition. */
static void RH(place_slices)(struct RH(job) * job)
{
    uint32_t at = 0;
    for (uint32_t p = 0; p < SW_CPU_PARTITIONS; p++) {
        job->partitions[p].first = at;
        for (uint32_t s = 0; s < job->slices; s++) {
            uint32_t count = job->offsets[s][p];
            job->offsets[s][p] = at;
            at += count;
        }
        job->partitions[p].count = at - job->partitions[p].first;
    }
}

#define SCATTER_AHEAD_BYTES 128

/* Loads operation i, whose mixed key is m. */
static inline void RH(fill_record)(struct RH(record) * record, const struct RH(work) * work,
                                   uint32_t i, RH_WORD m)
{
    record->m = m;
    record->value = work->values != NULL ? SW_LOAD_ONCE(work->values + i) : 0;
    record->i = i;
    record->op = work->ops != NULL ? work->ops[i] : (uint8_t)work->op;
    record->found = 1;
}

/* Loads an operation to its place in its partition. Prefetches the place of a later operation of
 * the partition, since a processor does not foresee stores to 64 places in turns. */
static inline void RH(scatter_record)(struct RH(record) * record, const struct RH(work) * work,
                                      uint32_t i, RH_WORD m)
{
    __builtin_prefetch((const uint8_t *)record + SCATTER_AHEAD_BYTES, 1, 3);
    RH(fill_record)(record, work, i, m);
}

static void RH(scatter_job)(void *context, uint32_t thread, uint32_t threads)
{
    struct RH(job) *job = context;
    const struct RH(work) *work = job->work;
    (void)thread;
    (void)threads;
    for (uint32_t s = sw_cpu_next_unit(&job->next); s < job->slices;
         s = sw_cpu_next_unit(&job->next)) {
        uint32_t *offsets = job->offsets[s];
        uint32_t end = RH(slice_end)(job, s);
        for (uint32_t i = s * job->slice_ops; i < end; i++) {
            const RH_WORD m = job->keys[i];
            RH(scatter_record)(&job->records[offsets[RH(partition_of)(m)]++], work, i, m);
        }
    }
}

/* --- writes: update in place, gather what is absent ------------------------------------------- */

#include "table/robin_hood/cpu/update.inl"

static void RH(update_partition)(const struct RH(job) * job, struct RH(partition) * partition)
{
    struct sw_counters counters = {0};
    const struct RH(run)
        run = {job->records + partition->first, partition->count, job->work, &counters};
    struct RH(updates) updates;
    RH(updates_init)(&updates, job, partition, &run, 1);
    RH(update_runs)(&updates);
    partition->gathered = updates.gather.count;
    partition->left_over = 0;
    partition->counters = counters;
}

static void RH(update_job)(void *context, uint32_t thread, uint32_t threads)
{
    struct RH(job) *job = context;
    (void)thread;
    (void)threads;
    for (uint32_t p = sw_cpu_next_unit(&job->next); p < SW_CPU_PARTITIONS;
         p = sw_cpu_next_unit(&job->next)) {
        if (job->partitions[p].count > 0) {
            RH(update_partition)(job, &job->partitions[p]);
        }
    }
}

/* --- writes: insert, answer ------------------------------------------------------------------- */

static void RH(insert_partition)(const struct RH(job) * job, struct RH(partition) * partition)
{
    const struct RH(view) *main = &job->table->main;
    struct RH(slot) *entries = job->entries + partition->first;
    uint64_t probes = 0;
    for (uint32_t k = 0; k < partition->gathered && k < SW_CPU_AHEAD; k++) {
        RH(prefetch)(job->table, entries[k].m);
    }
    for (uint32_t k = 0; k < partition->gathered; k++) {
        struct RH(slot) carried = entries[k];
        if (partition->gathered - k > SW_CPU_AHEAD) {
            RH(prefetch)(job->table, entries[k + SW_CPU_AHEAD].m);
        }
        if (partition->gathered - k > SW_CPU_NEAR) {
            const uint64_t near = RH(home)(main, entries[k + SW_CPU_NEAR].m);
            __builtin_prefetch(RH(bucket)(main, near + 1), 0, 3); /* what the insert displaces */
        }
        if (!RH(insert_absent)(main, &carried, &probes)) {
            entries[partition->left_over++] = carried;
        }
    }
    partition->counters.by_class[SW_CLASS_UPSERT].probes += probes;
    partition->counters.failures += partition->left_over;
}

/* Writes the answers of a slice. Assembles `found` in the memory of the index, which is no longer
 * needed, and stores it once. */
static void RH(answer_slice)(const struct RH(job) * job, uint32_t slice)
{
    const struct RH(work) *work = job->work;
    uint32_t begin = slice * job->slice_ops;
    uint32_t end = RH(slice_end)(job, slice);
    uint64_t *found = (uint64_t *)(void *)job->index;
    size_t found_bytes = ((size_t)end - begin + 63) / 64 * sizeof(*found);
    if (work->found != NULL) {
        memset(found + begin / 64, 0, found_bytes);
    }
    for (uint32_t p = 0; p < SW_CPU_PARTITIONS; p++) {
        uint32_t r = slice > 0 ? job->offsets[slice - 1][p] : job->partitions[p].first;
        for (; r < job->offsets[slice][p]; r++) {
            const struct RH(record) *record = &job->records[r];
            if (work->previous != NULL) {
                work->previous[record->i] = record->value;
            }
            if (work->found != NULL) {
                found[record->i / 64] |= (uint64_t)record->found << (record->i % 64);
            }
        }
    }
    if (work->found != NULL) {
        memcpy(work->found + begin / 64, found + begin / 64, found_bytes);
    }
}

static void RH(insert_job)(void *context, uint32_t thread, uint32_t threads)
{
    struct RH(job) *job = context;
    uint32_t pieces = SW_CPU_PARTITIONS + job->slices;
    (void)thread;
    (void)threads;
    for (uint32_t p = sw_cpu_next_unit(&job->next); p < pieces; p = sw_cpu_next_unit(&job->next)) {
        if (p >= SW_CPU_PARTITIONS) {
            RH(answer_slice)(job, p - SW_CPU_PARTITIONS);
        } else if (job->partitions[p].count > 0) {
            RH(insert_partition)(job, &job->partitions[p]);
        }
    }
}

/* Adds up the counters, and moves entries that met the cap to the stash, or to the front of the
 * entries as leftovers. Runs on one thread, after all inserts. */
static void RH(finish_upsert)(struct RH(job) * job, struct RH(work) * work,
                              struct sw_counters *counters)
{
    const struct RH(table) *table = job->table;
    struct sw_state *state = table->state;
    for (uint32_t p = 0; p < SW_CPU_PARTITIONS; p++) {
        const struct RH(partition) *partition = &job->partitions[p];
        if (partition->count == 0) {
            continue;
        }
        struct sw_counters sum = partition->counters;
        for (uint32_t k = 0; k < partition->left_over; k++) {
            struct RH(slot) carried = job->entries[partition->first + k];
            if (table->stash.slots != NULL) {
                state->stash_occupied++;
                RH(insert_absent)
                (&table->stash, &carried, &sum.by_class[SW_CLASS_UPSERT].probes);
            } else {
                state->occupied--;
                work->leftovers[work->leftover_count++] = carried;
            }
        }
        state->occupied += sum.inserted;
        RH(add_counters)(counters, &sum);
    }
}

void RH(parallel_upsert)(struct sw_cpu *cpu, struct RH(work) * work, struct sw_counters *counters)
{
    uint32_t slices = sw_pool_threads(cpu->pool) * SW_CPU_SLICES_PER_THREAD;
    struct RH(job) job = {.table = &cpu->table.RH_FIELD,
                          .work = work,
                          .records = cpu->scratch.records,
                          .entries = cpu->scratch.entries,
                          .keys = cpu->scratch.keys,
                          .index = cpu->scratch.index,
                          .offsets = (uint32_t(*)[SW_CPU_PARTITIONS])cpu->scratch.offsets};
    job.slice_ops = ((work->count + slices - 1) / slices + 63) / 64 * 64;
    job.slices = (work->count + job.slice_ops - 1) / job.slice_ops;
    sw_pool_run(cpu->pool, RH(count_job), &job);
    RH(place_slices)(&job);
    job.next = 0;
    sw_pool_run(cpu->pool, RH(scatter_job), &job);
    job.next = 0;
    sw_pool_run(cpu->pool, RH(update_job), &job);
    job.next = 0;
    sw_pool_run(cpu->pool, RH(insert_job), &job);
    RH(finish_upsert)(&job, work, counters);
}

/* --- one thread ------------------------------------------------------------------------------- */

/* Writes the answers of records that are in the order of the batch. */
static void RH(answer_in_order)(const struct RH(work) * work, const struct RH(record) * records)
{
    uint64_t word = 0;
    for (uint32_t i = 0; i < work->count; i++) {
        if (work->previous != NULL) {
            work->previous[i] = records[i].value;
        }
        RH(answer)(work, i, work->count, records[i].found != 0, &word);
    }
}

void RH(upsert_alone)(struct sw_cpu *cpu, struct RH(work) * work, struct sw_counters *counters)
{
    struct RH(job) filled, *job = &filled; /* the batch is one partition, in its order */
    struct RH(record) *records = cpu->scratch.records;
    job->table = &cpu->table.RH_FIELD;
    job->work = work;
    job->records = records;
    job->entries = cpu->scratch.entries;
    job->index = cpu->scratch.index;
    for (uint32_t p = 0; p < SW_CPU_PARTITIONS; p++) {
        job->partitions[p].count = 0;
    }
    job->partitions[0].first = 0;
    job->partitions[0].count = work->count;
    for (uint32_t i = 0; i < work->count; i++) {
        RH(fill_record)(&records[i], work, i, RH(mix)(job->table, SW_LOAD_ONCE(work->keys + i)));
    }
    RH(update_partition)(job, &job->partitions[0]);
    RH(insert_partition)(job, &job->partitions[0]);
    RH(finish_upsert)(job, work, counters);
    RH(answer_in_order)(work, records);
}
