/* SPDX-License-Identifier: MIT
 *
 * rows.inl - batches of a table with rows. Included by rows.c once per
 * width.
 *
 * The value of an entry is the number of its row. One thread carries out the effects on entries,
 * and assigns rows, in array order. Rows are freed and reused immediately, since no reads run
 * meanwhile. The bytes of rows are copied in the same order: by that thread immediately, or
 * afterwards by all threads, where each thread has its own rows. That thread writes never-used rows
 * immediately. If room is not certain, each group is first decided by presence alone, so that a
 * refused group changes no row and no entry. If the table stores key strings, every group is first
 * decided, by presence and key string, and one thread carries out the whole batch. Reads are
 * answered 64 at a time: first the entries, then the rows, so that the latencies overlap.
 */

/* Prefetches the buckets of a key, and those of its expiry time if the batch concerns times. */
static void RH(prefetch_entry)(const struct sw_cpu *cpu, RH_WORD m, bool times)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    RH(prefetch)(table, m);
    if (times) {
        sw_expiry_prefetch(cpu->expiry, RH(unmix)(table, m));
    }
}

/* --- reads ------------------------------------------------------------------------------------ */

static void RH(read_block)(const struct sw_cpu *cpu, struct sw_batch *batch, uint32_t begin,
                           uint32_t end, struct sw_op_counters *count)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    const struct sw_arena *arena = &cpu->arena;
    const RH_WORD *keys = batch->keys;
    const uint8_t *rows[SW_ROWS_BLOCK];
    RH_WORD m[SW_ROWS_BLOCK];
    const bool expire = sw_expiry_some(cpu);
    uint64_t word = 0;
    for (uint32_t i = begin; i < end; i++) {
        m[i - begin] = RH(mix)(table, SW_LOAD_ONCE(keys + i));
        RH(prefetch_entry)(cpu, m[i - begin], expire);
    }
    for (uint32_t i = 0; i < end - begin; i++) {
        RH(prefetch_next)(table, m[i]);
    }
    for (uint32_t i = 0; i < end - begin; i++) {
        struct RH(place) place = RH(locate)(table, m[i], &count->probes);
        if (expire && place.found) {
            place.found = is_unexpired(cpu, batch, begin + i, RH(unmix)(table, m[i]));
        } else if (batch->expires_out != NULL) {
            batch->expires_out[begin + i] = 0;
        }
        rows[i] = place.found ? sw_arena_row(arena, place.value) : NULL;
        word |= (uint64_t)place.found << i;
        if (place.found && (batch->previous != NULL || arena->key_string_bytes > 0)) {
            sw_row_prefetch(rows[i], arena->value_bytes);
        }
    }
    if (arena->key_string_bytes > 0) {
        compare_key_strings(arena, batch, begin, end, rows);
    }
    for (uint32_t i = begin; i < end && batch->previous != NULL; i++) {
        answer_row(batch, i, arena->value_bytes, rows[i - begin]);
    }
    if (batch->found != NULL) {
        batch->found[begin / SW_ROWS_BLOCK] = word;
    }
    count->operations += end - begin;
    count->hits += (uint64_t)__builtin_popcountll(word);
    count->misses += end - begin - (uint64_t)__builtin_popcountll(word);
}

/* Carries out reads, a chunk at a time. All participating threads share the chunks of the batch. */
static void RH(read_job)(void *context, uint32_t thread, uint32_t threads)
{
    struct row_reads *reads = context;
    struct sw_op_counters mine = {0};
    (void)thread;
    (void)threads;
    for (;;) {
        uint64_t begin = __atomic_fetch_add(&reads->next, SW_ROWS_CHUNK, __ATOMIC_RELAXED);
        uint64_t end = begin + SW_ROWS_CHUNK;
        end = end < reads->batch->count ? end : reads->batch->count;
        if (begin >= end) {
            break;
        }
        for (uint64_t at = begin; at < end; at += SW_ROWS_BLOCK) {
            uint64_t last = at + SW_ROWS_BLOCK < end ? at + SW_ROWS_BLOCK : end;
            RH(read_block)(reads->cpu, reads->batch, (uint32_t)at, (uint32_t)last, &mine);
        }
    }
    struct sw_op_counters *all = &reads->batch->counters.by_class[SW_CLASS_GET];
    __atomic_fetch_add(&all->operations, mine.operations, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all->probes, mine.probes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all->hits, mine.hits, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all->misses, mine.misses, __ATOMIC_RELAXED);
}

void RH(run_row_reads)(struct sw_cpu *cpu, struct sw_batch *batch)
{
    struct row_reads reads = {.cpu = cpu, .batch = batch};
    const uint64_t bytes = (uint64_t)batch->count * cpu->arena.value_bytes;
    sw_cpu_admit_all(batch);
    if ((batch->count >= SW_PARALLEL_GETS_MIN || bytes >= SW_ROWS_PARALLEL_BYTES) &&
        sw_cpu_try_parallel(cpu)) {
        sw_pool_run(cpu->pool, RH(read_job), &reads);
        sw_pool_unlock(cpu->pool);
    } else {
        RH(read_job)(&reads, 0, 1);
    }
}

/* --- writes ----------------------------------------------------------------------------------- */

/* Carries out the admitted operation i, except for the bytes of its row. */
static struct row_effect RH(apply_to_row)(struct sw_cpu *cpu, const struct sw_batch *batch,
                                          uint32_t i, RH_WORD m, struct sw_counters *counters)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    struct sw_arena *arena = &cpu->arena;
    struct RH(work) work = {0}; /* no leftovers, since the table has a stash */
    const uint32_t op = sw_cpu_op_at(batch, i);
    struct sw_op_counters *count = &counters->by_class[sw_op_class_of(op)];
    struct RH(place) place = RH(locate)(table, m, &count->probes);
    enum sw_effect change = sw_row_effect(op, place.found);
    if (cpu->expiry != NULL && cpu->expiry->active) {
        change =
            sw_expiry_apply(cpu->expiry, batch, i, op, RH(unmix)(table, m), place.found, change);
    }
    struct row_effect effect = {.row = place.found ? (uint32_t)place.value : SW_NO_ROW,
                                .found = place.found,
                                .writes = change == SW_EFFECT_WRITE,
                                .answers = batch->previous != NULL};
    if (change != SW_EFFECT_NONE && place.found) {
        sw_row_image_before_write(cpu->row_image, m, place.value);
    }
    if (change == SW_EFFECT_REMOVE) {
        sw_arena_give(arena, place.value);
        RH(remove)(table, &work, &place, m, &count->probes);
        counters->deleted += op == SW_DELETE;
    } else if (change == SW_EFFECT_WRITE && place.found) {
        counters->updated++;
    } else if (change == SW_EFFECT_WRITE) {
        const uint64_t in_stash = table->state->stash_occupied, high = arena->high;
        effect.row = sw_row_image_allocate(cpu->row_image, &cpu->arena);
        effect.fresh = effect.row >= high;
        RH(insert)(table, &work, m, effect.row, &count->probes);
        counters->failures += table->state->stash_occupied - in_stash;
        counters->inserted++;
    }
    count->operations++;
    count->hits += place.found;
    count->misses += !place.found;
    return effect;
}

static_assert(sizeof(struct RH(slot)) >= sizeof(struct row_effect),
              "the scratch has room for effects");

/* Carries out the batch. Returns whether every group was admitted. The keys are mixed already. */
static bool RH(execute_rows)(struct sw_cpu *cpu, struct sw_batch *batch, const RH_WORD *m,
                             struct row_effects *effects)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    const bool stash_full = table->state->stash_occupied > table->stash_max;
    const uint32_t groups = batch->group_count > 0 ? batch->group_count : 1;
    const struct RH(work) answers = {.found = batch->found};
    const bool times = cpu->expiry != NULL && cpu->expiry->active;
    uint64_t word = 0;
    bool all = true;
    uint32_t i = 0;
    for (; i < batch->count && i < SW_CPU_AHEAD; i++) {
        RH(prefetch_entry)(cpu, m[i], times);
    }
    i = 0;
    for (uint32_t g = 0; g < groups; g++) {
        const uint32_t first = i;
        const uint32_t end = batch->group_count > 0 ? batch->group_ends[g] : batch->count;
        const enum sw_admission admission = RH(admit)(cpu, batch, m, NULL, first, end, stash_full);
        const bool admitted = admission == SW_ADMITTED;
        for (; i < end; i++) {
            if (batch->count - i > SW_CPU_AHEAD) {
                RH(prefetch_entry)(cpu, m[i + SW_CPU_AHEAD], times);
            }
            if (batch->count - i > SW_CPU_NEAR) {
                RH(prefetch_next)(table, m[i + SW_CPU_NEAR]);
            }
            struct row_effect effect = {.row = SW_NO_ROW};
            if (admitted) {
                effect = RH(apply_to_row)(cpu, batch, i, m[i], &batch->counters);
            }
            carry_out_or_leave(effects, i, effect);
            RH(answer)(&answers, i, batch->count, effect.found, &word);
        }
        batch->counters.refused += admission == SW_REFUSED_FULL ? end - first : 0;
        all &= admitted;
        if (!admitted) {
            sw_cpu_answer_refused(batch, first, end, cpu->arena.value_bytes);
        }
        if (batch->group_count > 0 && batch->group_refused != NULL) {
            batch->group_refused[g] = (uint8_t)admission;
        }
    }
    return all;
}

void RH(run_row_writes)(struct sw_cpu *cpu, struct sw_batch *batch, const struct sw_cpu_mix *mix)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    struct RH(work) work = {.ops = batch->ops,
                            .op = batch->op,
                            .count = batch->count,
                            .keys = batch->keys,
                            .group_count = batch->group_count > 0 ? batch->group_count : 1};
    const uint64_t stash_before = table->state->stash_occupied;
    RH_WORD *m = cpu->scratch.keys;
    if (!RH(make_room)(cpu, &work, mix)) {
        return;
    }
    if (cpu->expiry != NULL && cpu->expiry->active) {
        sw_expiry_make_room(cpu, batch);
    }
    for (uint32_t i = 0; i < batch->count; i++) { /* in place, if make_room has copied the keys */
        m[i] = RH(mix)(table, SW_LOAD_ONCE(work.keys + i));
    }
    const uint64_t bytes = (uint64_t)batch->count * cpu->arena.value_bytes;
    const bool parallel = bytes >= SW_ROWS_PARALLEL_BYTES && cpu->arena.key_string_bytes == 0 &&
                          sw_cpu_try_parallel(cpu);
    struct row_effects effects = {&cpu->arena, batch, parallel ? cpu->scratch.entries : NULL, 0, 0};
    if (!RH(execute_rows)(cpu, batch, m, &effects)) {
        batch->status = SW_E_FULL;
    }
    if (parallel) {
        carry_out_left(cpu, &effects);
        sw_pool_unlock(cpu->pool);
    }
    batch->_stash_change = (int64_t)(table->state->stash_occupied - stash_before);
}
