/* SPDX-License-Identifier: MIT
 *
 * combined.inl - parts of a launch (combined.h). Included by parallel.c once per width, after
 * parallel.inl.
 */

uint64_t RH(part_bytes)(uint32_t operations)
{
    const uint64_t ops = ((uint64_t)operations + 63) / 64 * 64;
    return ops * (sizeof(struct RH(record)) + sizeof(RH_WORD));
}

void RH(partition_part)(const struct sw_cpu *cpu, struct sw_cpu_part *part, void *memory)
{
    const struct RH(table) seeded = {.seed = cpu->config.seed}; /* the table itself may change */
    const struct sw_batch *batch = part->batch;
    const RH_WORD *keys = batch->keys;
    const struct RH(work) work = {.op = batch->op, .values = RH(values_of)(batch->values)};
    struct RH(record) *records = memory;
    RH_WORD *m = (void *)(records + ((uint64_t)batch->count + 63) / 64 * 64);
    uint32_t next[SW_CPU_PARTITIONS + 1] = {0};
    for (uint32_t i = 0; i < batch->count; i++) {
        m[i] = RH(mix)(&seeded, SW_LOAD_ONCE(keys + i));
        next[RH(partition_of)(m[i]) + 1]++;
    }
    for (uint32_t p = 0; p < SW_CPU_PARTITIONS; p++) {
        next[p + 1] += next[p];
    }
    memcpy(part->first, next, sizeof(part->first));
    for (uint32_t i = 0; i < batch->count; i++) {
        RH(scatter_record)(&records[next[RH(partition_of)(m[i])]++], &work, i, m[i]);
    }
    part->records = records;
    part->keys = m;
}

/* Returns the index of the first record of a unit in part k. */
static uint32_t RH(unit_first)(const struct sw_cpu_combined *launch, uint32_t k, uint32_t unit)
{
    return launch->parts[k]->first[unit * (SW_CPU_PARTITIONS / launch->units)];
}

/* Updates a unit: the operations of all parts, in the order of the parts. Adds what they did to
 * counters[part]. */
static void RH(update_unit)(struct sw_cpu_combined *launch, uint32_t unit,
                            struct sw_counters *counters)
{
    struct RH(job) *job = launch->job;
    struct RH(partition) partition = {.first = 0};
    struct RH(work) works[SW_CPU_PARTS_MAX];
    struct RH(run) runs[SW_CPU_PARTS_MAX];
    struct RH(updates) updates;
    uint64_t inserted = 0;
    for (uint32_t k = 0; k < launch->count; k++) {
        const struct sw_cpu_part *part = launch->parts[k];
        const uint32_t first = RH(unit_first)(launch, k, unit);
        works[k] = (struct RH(work)){
            .op = part->op, .expected = part->expected, .previous = RH(values_of)(part->previous)};
        runs[k] =
            (struct RH(run)){(struct RH(record) *)part->records + first,
                             RH(unit_first)(launch, k, unit + 1) - first, &works[k], &counters[k]};
        RH(prefetch_records)(&runs[k], 0, RUN_LINES_FIRST);
        partition.first += first;
        partition.count += runs[k].count;
        inserted -= counters[k].inserted;
    }
    RH(updates_init)(&updates, job, &partition, runs, launch->count);
    RH(update_runs)(&updates);
    for (uint32_t k = 0; k < launch->count; k++) {
        inserted += counters[k].inserted;
    }
    if (inserted > 0) { /* otherwise no other thread reads the partition */
        partition.gathered = updates.gather.count;
        partition.counters.inserted = inserted;
        job->partitions[unit] = partition;
        __atomic_fetch_or(&launch->inserts, 1ULL << unit, __ATOMIC_RELAXED);
    }
}

/* Most counts are 0, and the threads would wait for one another's cache lines. */
static void RH(add_to)(uint64_t *sum, uint64_t count)
{
    if (count > 0) {
        __atomic_fetch_add(sum, count, __ATOMIC_RELAXED);
    }
}

/* Adds what a thread did to the operations of each part. */
static void RH(add_to_parts)(struct sw_cpu_combined *launch, const struct sw_counters *counters)
{
    uint64_t probes = 0;
    for (uint32_t k = 0; k < launch->count; k++) {
        struct sw_cpu_part *part = launch->parts[k];
        const struct sw_op_counters *mine = &counters[k].by_class[sw_op_class_of(part->op)];
        RH(add_to)(&part->misses, mine->misses);
        RH(add_to)(&part->inserted, counters[k].inserted);
        RH(add_to)
        (&part->unchanged, mine->operations - counters[k].inserted - counters[k].updated);
        probes += mine->probes;
    }
    RH(add_to)(&launch->probes, probes);
}

void RH(help_launch)(struct sw_cpu *cpu)
{
    struct sw_cpu_combined *launch = &cpu->combined;
    struct sw_counters counters[SW_CPU_PARTS_MAX];
    uint32_t taken = 0;
    for (;; taken++) {
        const uint32_t at = (uint32_t)__atomic_fetch_add(&launch->next, 1, __ATOMIC_ACQUIRE);
        if (at >= SW_CPU_PARTITIONS) {
            break; /* the launch may be over, if taken is 0 */
        }
        const uint32_t unit = at + launch->units - SW_CPU_PARTITIONS;
        if (taken == 0) {
            memset(counters, 0, launch->count * sizeof(counters[0]));
        }
        if (!launch->is_insert) {
            RH(update_unit)(launch, unit, counters);
        } else if ((launch->inserts >> unit & 1) != 0) {
            struct RH(job) *job = launch->job;
            RH(insert_partition)(job, &job->partitions[unit]);
        }
    }
    if (taken == 0) {
        return;
    }
    if (!launch->is_insert) {
        RH(add_to_parts)(launch, counters);
    }
    __atomic_fetch_add(&launch->done, taken, __ATOMIC_RELEASE);
}

/* Inserts the keys that the units gathered, and ends the inserts. */
static void RH(insert_units)(struct sw_cpu *cpu, struct RH(job) * job, struct RH(work) * work,
                             struct sw_counters *counters)
{
    static_assert(SW_CPU_PARTITIONS <= 64, "a bit for each unit");
    struct sw_cpu_combined *launch = &cpu->combined;
    for (uint32_t unit = 0; unit < SW_CPU_PARTITIONS; unit++) {
        if ((launch->inserts >> unit & 1) == 0) {
            job->partitions[unit].count = 0;
        }
    }
    sw_cpu_run_step(cpu, true, RH(help_launch));
    RH(finish_upsert)(job, work, counters);
}

void RH(run_launch)(struct sw_cpu *cpu)
{
    struct sw_cpu_combined *launch = &cpu->combined;
    struct sw_batch *last = launch->parts[launch->count - 1]->batch;
    const uint64_t stash_before = cpu->state.stash_occupied;
    struct RH(work) work = {.op = (uint32_t)last->op}; /* the table has a stash: no leftovers */
    struct RH(job) job;
    struct sw_counters counters = {0};
    job.table = &cpu->table.RH_FIELD;
    job.work = &work;
    job.entries = cpu->scratch.entries;
    job.index = cpu->scratch.index;
    launch->job = &job;
    launch->probes = 0;
    launch->inserts = 0;
    sw_cpu_run_step(cpu, false, RH(help_launch));
    if (launch->inserts != 0) {
        RH(insert_units)(cpu, &job, &work, &counters);
    }
    last->counters.by_class[SW_CLASS_UPSERT].probes +=
        launch->probes + counters.by_class[SW_CLASS_UPSERT].probes;
    last->counters.failures = counters.failures;
    last->_stash_change = (int64_t)(cpu->state.stash_occupied - stash_before);
}

/* Writes the answers in the order of the batch: all are present, and no values are wanted. */
static void RH(answer_present)(const struct sw_batch *batch)
{
    const uint32_t words = batch->count / 64, rest = batch->count % 64;
    if (batch->found != NULL) {
        memset(batch->found, 0xff, words * sizeof(*batch->found));
    }
    if (batch->found != NULL && rest > 0) {
        batch->found[words] = (1ULL << rest) - 1;
    }
}

static void RH(answer_records)(const struct sw_cpu_part *part)
{
    const struct sw_batch *batch = part->batch;
    const struct RH(record) *records = part->records;
    const size_t words = ((size_t)batch->count + 63) / 64;
    uint64_t *found = part->keys;
    RH_WORD *previous = RH(values_of)(batch->previous);
    memset(found, 0, words * sizeof(*found));
    for (uint32_t r = 0; r < batch->count; r++) {
        const struct RH(record) *record = &records[r];
        if (previous != NULL) {
            previous[record->i] = record->value;
        }
        found[record->i / 64] |= (uint64_t)record->found << (record->i % 64);
    }
    if (batch->found != NULL) {
        memcpy(batch->found, found, words * sizeof(*found));
    }
}

void RH(answer_part)(struct sw_cpu_part *part)
{
    struct sw_batch *batch = part->batch;
    struct sw_op_counters *count = &batch->counters.by_class[sw_op_class_of(batch->op)];
    if (part->misses == 0 && RH(values_of)(batch->previous) == NULL) {
        RH(answer_present)(batch);
    } else {
        RH(answer_records)(part);
    }
    count->operations += batch->count;
    count->hits += batch->count - part->misses;
    count->misses += part->misses;
    batch->counters.inserted += part->inserted;
    batch->counters.updated += batch->count - part->inserted - part->unchanged;
    sw_cpu_admit_all(batch);
}
