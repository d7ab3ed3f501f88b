/* SPDX-License-Identifier: MIT
 *
 * combined.c - the waiting parts, their leader, and the threads that wait.
 */
#include "table/robin_hood/cpu/combined.h"

#include <assert.h>
#include <sched.h>

#include "table/host/parts.h"
#include "table/robin_hood/cpu/expiry.h"

/* A smaller batch costs less than to partition it. A larger one uses the threads of the pool, and
 * its part would need more memory. */
#define PART_OPS_MIN 256U
#define PART_OPS_MAX (1U << 16)
/* Fewer operations a unit would not hide the first waits for memory. */
#define UNIT_OPS_MIN 256U
/* Times that a thread checks for work before it sleeps: some 50 us. */
#define SPINS 1000

void sw_cpu_combined_open(struct sw_cpu *cpu)
{
    struct sw_cpu_combined *combined = &cpu->combined;
    /* the default attributes of Linux need no resources, so these cannot fail */
    pthread_mutex_init(&combined->mutex, NULL);
    pthread_cond_init(&combined->changed, NULL);
    combined->waiting_end = &combined->waiting;
    combined->next = SW_CPU_PARTITIONS;
}

void sw_cpu_combined_allow(struct sw_cpu *cpu)
{
    const uint32_t cores = sw_cpu_cores();
    uint32_t threads = sw_pool_threads(cpu->pool);
    threads = threads < cores ? threads : cores;
    if (threads >= SW_COMBINED_THREADS_MIN && cpu->config.value_bytes == 0 &&
        cpu->config.stash_slots > 0) {
        cpu->combined.parts_max = threads < SW_CPU_PARTS_MAX ? threads : SW_CPU_PARTS_MAX;
    }
}

void sw_cpu_combined_close(struct sw_cpu *cpu)
{
    assert(cpu->combined.waiting == NULL && cpu->combined.writers == 0);
    pthread_cond_destroy(&cpu->combined.changed);
    pthread_mutex_destroy(&cpu->combined.mutex);
}

/* --- the leader ------------------------------------------------------------------------------- */

/* Wakes the threads that sleep. The caller has changed `next` or `is_led`, which they wait for. All
 * these accesses are sequentially consistent. So either this thread sees the sleeper, or the
 * sleeper, which checks again after it has counted itself, sees the change. */
static void wake(struct sw_cpu_combined *combined)
{
    if (__atomic_load_n(&combined->sleepers, __ATOMIC_SEQ_CST) > 0) {
        pthread_mutex_lock(&combined->mutex);
        pthread_cond_broadcast(&combined->changed);
        pthread_mutex_unlock(&combined->mutex);
    }
}

static void cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void sw_cpu_run_step(struct sw_cpu *cpu, bool is_insert, void (*help)(struct sw_cpu *cpu))
{
    struct sw_cpu_combined *combined = &cpu->combined;
    const uint64_t step = __atomic_load_n(&combined->next, __ATOMIC_RELAXED) >> 32;
    combined->is_insert = is_insert;
    __atomic_store_n(&combined->done, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&combined->next, ((step + 1) << 32) + SW_CPU_PARTITIONS - combined->units,
                     __ATOMIC_SEQ_CST);
    wake(combined);
    help(cpu);
    for (int i = 0; __atomic_load_n(&combined->done, __ATOMIC_ACQUIRE) < combined->units; i++) {
        if (i < SPINS) {
            cpu_relax();
        } else {
            sched_yield(); /* the kernel may have stopped a thread in its partition */
        }
    }
}

/* Returns whether a launch with these operations may take one more part. Each batch must find the
 * stash not too full when it begins, and each operation before it may add an entry to the stash. */
static bool may_take(const struct sw_cpu *cpu, uint64_t operations)
{
    const struct sw_cpu_combined *combined = &cpu->combined;
    return combined->waiting != NULL && combined->count < SW_CPU_PARTS_MAX &&
           operations + combined->waiting->count <= cpu->config.batch_ops_max &&
           (combined->count == 0 ||
            cpu->state.stash_occupied + operations <= cpu->geometry.stash_max);
}

/* Takes the oldest parts for which a launch has room. Returns the number of their operations. In a
 * write phase. */
static uint64_t take_parts(struct sw_cpu *cpu)
{
    struct sw_cpu_combined *combined = &cpu->combined;
    uint64_t operations = 0;
    combined->count = 0;
    pthread_mutex_lock(&combined->mutex);
    while (may_take(cpu, operations)) {
        struct sw_cpu_part *part = combined->waiting;
        operations += part->count;
        __builtin_prefetch(part->batch, 1, 3); /* run_together writes to it */
        combined->parts[combined->count++] = part;
        combined->waiting = part->next;
    }
    if (combined->waiting == NULL) {
        combined->waiting_end = &combined->waiting;
    }
    combined->waiting_count -= combined->count;
    pthread_mutex_unlock(&combined->mutex);
    combined->units = SW_CPU_PARTITIONS;
    while (combined->units > 1 && operations / combined->units < UNIT_OPS_MIN) {
        combined->units /= 2;
    }
    return operations;
}

/* Returns whether a launch would admit these operations, and would concern no expiry times. */
static bool is_certain(const struct sw_cpu *cpu, uint64_t operations)
{
    return cpu->state.occupied + operations <= cpu->geometry.occupied_max &&
           cpu->state.stash_occupied <= cpu->geometry.stash_max && !sw_expiry_some(cpu);
}

/* Returns a part to its thread: the part may be gone then. */
static void set_stage(struct sw_cpu_part *part, enum sw_cpu_part_stage stage)
{
    __atomic_store_n(&part->stage, stage, __ATOMIC_RELEASE);
}

/* Carries out the parts of the leader as one launch. Takes all numbers before it writes one to a
 * batch: each needs a lock, which would wait for the stores before it. */
static void run_together(struct sw_cpu *cpu)
{
    struct sw_cpu_combined *combined = &cpu->combined;
    uint64_t sequences[SW_CPU_PARTS_MAX];
    for (uint32_t k = 0; k < combined->count; k++) {
        sequences[k] = sw_phase_lock_count(&cpu->lock);
    }
    for (uint32_t k = 0; k < combined->count; k++) {
        struct sw_batch *batch = combined->parts[k]->batch;
        batch->write_sequence = sequences[k];
        sw_expiry_report_clock(cpu, batch);
        sw_expiry_answer_never(batch);
    }
    if (combined->count > 0) {
        sw_cpu_borrow_scratch(cpu);
        SW_BY_FORMAT(sw_cpu_format(cpu), sw_run_launch, cpu);
        sw_cpu_return_scratch(cpu);
    }
}

/* Turns all parts away: a phase is long. */
static void turn_away(struct sw_cpu_combined *combined)
{
    pthread_mutex_lock(&combined->mutex);
    for (struct sw_cpu_part *part = combined->waiting, *next; part != NULL; part = next) {
        next = part->next;
        combined->waiting_count--;
        set_stage(part, SW_PART_TURNED_AWAY);
    }
    combined->waiting = NULL;
    combined->waiting_end = &combined->waiting;
    pthread_mutex_unlock(&combined->mutex);
}

/* Carries out the waiting parts, in a write phase. Other parts must not wait for a long phase, even
 * if the leader's own batch may: turned away, it waits by itself. */
static void lead(struct sw_cpu *cpu, sw_cpu_write_alone *write_alone)
{
    struct sw_cpu_combined *combined = &cpu->combined;
    if (!sw_phase_lock_try_uncounted(&cpu->lock)) {
        turn_away(combined);
        return;
    }
    const bool certain = is_certain(cpu, take_parts(cpu));
    uint32_t done = combined->count;
    bool in_phase = true;
    if (certain) {
        run_together(cpu);
    } else {
        for (done = 0; done < combined->count && in_phase; done++) {
            in_phase = write_alone(cpu, combined->parts[done]->batch);
        }
    }
    if (in_phase) {
        sw_phase_lock_leave_write(&cpu->lock);
    }
    for (uint32_t k = 0; k < combined->count; k++) {
        set_stage(combined->parts[k], k >= done ? SW_PART_TURNED_AWAY
                                      : certain ? SW_PART_LAUNCHED
                                                : SW_PART_ALONE);
    }
}

static bool is_done(const struct sw_cpu_part *part)
{
    return __atomic_load_n(&part->stage, __ATOMIC_ACQUIRE) != SW_PART_WAITS;
}

/* Leads if no other thread does, and if the part still waits. Returns false if another leads. */
static bool try_to_lead(struct sw_cpu *cpu, const struct sw_cpu_part *part,
                        sw_cpu_write_alone *write_alone)
{
    struct sw_cpu_combined *combined = &cpu->combined;
    if (__atomic_load_n(&combined->is_led, __ATOMIC_RELAXED) ||
        __atomic_exchange_n(&combined->is_led, true, __ATOMIC_ACQUIRE)) {
        return false;
    }
    if (!is_done(part)) { /* the leader before may have taken it */
        lead(cpu, write_alone);
    }
    __atomic_store_n(&combined->is_led, false, __ATOMIC_SEQ_CST);
    wake(combined);
    return true;
}

/* --- the threads that wait -------------------------------------------------------------------- */

/* Returns whether this thread has something to do. */
static bool may_go_on(const struct sw_cpu *cpu, const struct sw_cpu_part *part)
{
    return is_done(part) || sw_cpu_launch_has_work(cpu) ||
           !__atomic_load_n(&cpu->combined.is_led, __ATOMIC_SEQ_CST);
}

/* Waits until there may be something to do: first awake, then asleep. */
static void wait_for_work(struct sw_cpu *cpu, const struct sw_cpu_part *part)
{
    struct sw_cpu_combined *combined = &cpu->combined;
    for (int i = 0; i < SPINS; i++) {
        if (may_go_on(cpu, part)) {
            return;
        }
        cpu_relax();
    }
    pthread_mutex_lock(&combined->mutex);
    __atomic_fetch_add(&combined->sleepers, 1, __ATOMIC_SEQ_CST);
    while (!may_go_on(cpu, part)) {
        pthread_cond_wait(&combined->changed, &combined->mutex);
    }
    __atomic_fetch_sub(&combined->sleepers, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&combined->mutex);
}

static void wait_for(struct sw_cpu *cpu, const struct sw_cpu_part *part,
                     sw_cpu_write_alone *write_alone)
{
    while (!is_done(part)) {
        if (sw_cpu_launch_has_work(cpu)) {
            SW_BY_FORMAT(sw_cpu_format(cpu), sw_help_launch, cpu);
        } else if (!try_to_lead(cpu, part, write_alone)) {
            wait_for_work(cpu, part);
        }
    }
}

/* --- a part ----------------------------------------------------------------------------------- */

static bool may_combine(const struct sw_cpu *cpu, const struct sw_batch *batch)
{
    return cpu->combined.parts_max > 0 && batch->ops == NULL && batch->count >= PART_OPS_MIN &&
           batch->count <= PART_OPS_MAX && batch->leftover_keys == NULL &&
           !sw_expiry_sets_or_removes(batch);
}

/* Reserves a place among the parts that wait. */
static bool reserve(struct sw_cpu_combined *combined)
{
    bool fits = false;
    pthread_mutex_lock(&combined->mutex);
    fits = combined->waiting_count < combined->parts_max;
    combined->waiting_count += fits;
    pthread_mutex_unlock(&combined->mutex);
    return fits;
}

static void append(struct sw_cpu_combined *combined, struct sw_cpu_part *part)
{
    pthread_mutex_lock(&combined->mutex);
    *combined->waiting_end = part;
    combined->waiting_end = &part->next;
    pthread_mutex_unlock(&combined->mutex);
}

static void unreserve(struct sw_cpu_combined *combined)
{
    pthread_mutex_lock(&combined->mutex);
    combined->waiting_count--;
    pthread_mutex_unlock(&combined->mutex);
}

bool sw_cpu_write_combined(struct sw_cpu *cpu, struct sw_batch *batch,
                           sw_cpu_write_alone *write_alone)
{
    struct sw_cpu_combined *combined = &cpu->combined;
    const uint32_t ops =
        cpu->config.batch_ops_max < PART_OPS_MAX ? cpu->config.batch_ops_max : PART_OPS_MAX;
    if (!may_combine(cpu, batch) || !reserve(combined)) {
        return false;
    }
    const uint64_t bytes = SW_BY_FORMAT(sw_cpu_format(cpu), sw_part_bytes, ops);
    const int core = sched_getcpu(); /* the same memory for the same core: it may be in its cache */
    struct sw_scratch_area *area =
        sw_scratch_try_borrow(&cpu->device->combined, core > 0 ? (uint32_t)core : 0, bytes);
    if (area == NULL) {
        unreserve(combined);
        return false;
    }
    struct sw_cpu_part part = {.batch = batch,
                               .expected = batch->expected,
                               .previous = batch->previous,
                               .count = batch->count,
                               .op = (uint32_t)batch->op};
    SW_BY_FORMAT(sw_cpu_format(cpu), sw_partition_part, cpu, &part, area->memory);
    append(combined, &part);
    wait_for(cpu, &part, write_alone);
    if (part.stage == SW_PART_LAUNCHED) {
        SW_BY_FORMAT(sw_cpu_format(cpu), sw_answer_part, &part);
    }
    const bool carried_out = part.stage != SW_PART_TURNED_AWAY;
    sw_scratch_return(&cpu->device->combined, area);
    return carried_out;
}
