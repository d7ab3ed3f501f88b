/* SPDX-License-Identifier: MIT
 *
 * sherwood.c - Sherwood's table as a library of the study, through table/table.h.
 *
 * table.h asks for I/O memory; the study passes device memory. That works on the CUDA backend
 * because only kernels access keys, values, previous and found.
 */
#include "bench/timing/sherwood.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/study/pass.h"
#include "table/instance.h"

/* Never reached: the probes of the other libraries have no cap either. */
#define MAX_PROBE (1U << 20)

struct sherwood {
    struct sw_table *table;
    struct sw_queue *queue;
    uint64_t *found; /* bits of the last call that reports them */
    uint32_t key_bytes;
    uint32_t batch_ops;
    bool reports_found;          /* also of writes */
    bool is_set;                 /* keys without values: sherwood_sets.c */
    bool on_device;              /* the study's arrays lie in device memory */
    struct sw_counters counters; /* of the last call */
};

static void sherwood_close(void *table)
{
    struct sherwood *self = table;
    sw_timing_free(self->found);
    sw_queue_destroy(self->queue);
    sw_table_destroy(self->table);
    free(self);
}

static bool open_parts(struct sherwood *self, const struct sw_table_config *config, char *reason,
                       size_t reason_size)
{
    if (sw_table_create(config, &self->table, reason, reason_size) != SW_OK) {
        return false;
    }
    int status = sw_queue_create(self->table, &self->queue);
    if (status != SW_OK) {
        snprintf(reason, reason_size, "a queue: %s", sw_status_text(status));
        return false;
    }
    self->found = sw_timing_alloc(self->batch_ops / 8);
    if (self->found == NULL) {
        snprintf(reason, reason_size, "no memory for the bits that say found");
        return false;
    }
    return true;
}

static void *open_as(struct sw_table_config *config, bool reports_found, uint64_t *slots,
                     char *reason, size_t reason_size)
{
    struct sw_table_info info;
    struct sherwood *self = calloc(1, sizeof(*self));
    if (self == NULL) {
        snprintf(reason, reason_size, "not enough memory");
        return NULL;
    }
    self->key_bytes = config->slot_bits / 16;
    self->is_set = config->is_set;
    self->on_device = config->backend == SW_BACKEND_CUDA;
    self->reports_found = reports_found;
    config->batch_ops_max = (config->batch_ops_max + 63) / 64 * 64; /* whole words of found */
    self->batch_ops = config->batch_ops_max;
    if (!open_parts(self, config, reason, reason_size)) {
        sherwood_close(self);
        return NULL;
    }
    sw_table_info(self->table, &info);
    *slots = info.capacity_slots;
    return self;
}

bool sw_timing_sherwood_open_side(const struct sw_timing_study *study,
                                  struct sw_table_config *config, struct sw_timing_study *side)
{
    char reason[512] = "";
    *side = *study;
    side->table = open_as(config, study->options->found, &side->slots, reason, sizeof(reason));
    if (side->table == NULL) {
        fprintf(stderr, "timing: sherwood: no table: %s\n", reason);
    }
    return side->table != NULL;
}

void sw_timing_sherwood_close_side(struct sw_timing_study *study, struct sw_timing_study *side)
{
    study->is_correct = study->is_correct && (side->table == NULL || side->is_correct);
    sw_timing_study_close(side);
}

static void config_of(const struct sw_timing_wanted *wanted, struct sw_table_config *config)
{
    sw_table_config_init(config);
    config->backend = wanted->device == SW_TIMING_HOST ? SW_BACKEND_CPU : SW_BACKEND_CUDA;
    config->device = wanted->device == SW_TIMING_HOST ? 0 : wanted->device;
    config->slot_bits = wanted->slot_bits;
    config->capacity_slots = wanted->slots;
    config->max_load = 1.0;
    config->max_probe = MAX_PROBE;
    config->batch_ops_max = wanted->batch_ops;
    config->tuning.block_size = wanted->block_size;
}

void sw_timing_sherwood_config(const struct sw_timing_study *study, struct sw_table_config *config)
{
    const struct sw_timing_wanted wanted = {
        .slot_bits = study->slot_bits,
        .slots = sw_timing_wanted_slots(study->options),
        .batch_ops = (uint32_t)sw_timing_wanted_slots(study->options),
        .device = study->device,
    };
    config_of(&wanted, config);
}

static void *sherwood_open(const struct sw_timing_wanted *wanted, uint64_t *slots, char *reason,
                           size_t reason_size)
{
    struct sw_table_config config;
    config_of(wanted, &config);
    return open_as(&config, wanted->found, slots, reason, reason_size);
}

static bool succeeded(int status, const char *what)
{
    if (status != SW_OK) {
        fprintf(stderr, "timing: sherwood: %s: %s\n", what, sw_status_text(status));
    }
    return status == SW_OK;
}

static bool sherwood_clear(void *table)
{
    struct sherwood *self = table;
    struct sw_batch batch;
    memset(&batch, 0, sizeof(batch));
    batch.kind = SW_BATCH_CLEAR;
    return succeeded(sw_batch_run(self->queue, &batch), "clear");
}

static bool run_pass(struct sherwood *self, struct sw_study_pass *pass, const char *what)
{
    struct sw_study_passed passed;
    pass->key_bytes = self->key_bytes;
    pass->batch_ops = self->batch_ops;
    pass->on_device = self->on_device;
    bool done = succeeded(sw_study_pass_run(self->queue, pass, &passed), what);
    self->counters = passed.counters;
    return done;
}

static bool sherwood_insert(void *table, const void *keys, const void *values, uint64_t count)
{
    struct sherwood *self = table;
    struct sw_study_pass pass = {.op = SW_SET, .keys = keys, .values = values, .count = count};
    pass.found = self->reports_found ? self->found : NULL;
    if (self->is_set) {
        pass.op = SW_SET_ABSENT;
        pass.values = NULL;
        pass.found = self->found;
    }
    return run_pass(self, &pass, "insert");
}

static bool sherwood_get(void *table, const void *keys, void *values, uint64_t count)
{
    struct sherwood *self = table;
    struct sw_study_pass pass = {
        .op = SW_GET, .keys = keys, .previous = values, .found = self->found, .count = count};
    if (self->is_set) {
        pass.previous = NULL;
    }
    if (count > self->batch_ops) {
        fprintf(stderr,
                "timing: sherwood: a get of more operations than the table was opened for\n");
        return false;
    }
    return run_pass(self, &pass, "get");
}

static void *sherwood_channel(void *table)
{
    const struct sherwood *self = table;
    return self->on_device ? self->queue->memory : NULL;
}

static bool sherwood_settle(void *table, void *values, uint64_t count)
{
    struct sherwood *self = table;
    return sw_timing_mark_absent(values, self->key_bytes, self->found, count);
}

static bool sherwood_erase(void *table, const void *keys, uint64_t count)
{
    struct sherwood *self = table;
    struct sw_study_pass pass = {.op = SW_DELETE, .keys = keys, .count = count};
    pass.found = self->reports_found ? self->found : NULL;
    return run_pass(self, &pass, "delete");
}

static bool sherwood_size(void *table, uint64_t *occupied)
{
    struct sherwood *self = table;
    struct sw_table_stats stats;
    sw_table_stats(self->table, &stats);
    *occupied = stats.occupied;
    return true;
}

/* Puts both into one array, and so into one batch. */
static bool sherwood_insert_and_update(void *table, const void *fresh, const void *fresh_values,
                                       uint64_t fresh_count, const void *stored,
                                       const void *stored_values, uint64_t stored_count)
{
    struct sherwood *self = table;
    size_t fresh_bytes = fresh_count * self->key_bytes;
    size_t stored_bytes = stored_count * self->key_bytes;
    char *keys = sw_timing_alloc(fresh_bytes + stored_bytes);
    char *values = sw_timing_alloc(fresh_bytes + stored_bytes);
    bool done = keys != NULL && values != NULL;
    if (!done) {
        fprintf(stderr, "timing: sherwood: no memory for inserts and updates in one batch\n");
    }
    done = done && sw_timing_copy(keys, fresh, fresh_bytes) &&
           sw_timing_copy(keys + fresh_bytes, stored, stored_bytes) &&
           sw_timing_copy(values, fresh_values, fresh_bytes) &&
           sw_timing_copy(values + fresh_bytes, stored_values, stored_bytes) &&
           sherwood_insert(table, keys, values, fresh_count + stored_count);
    sw_timing_free(keys);
    sw_timing_free(values);
    return done;
}

uint64_t sw_timing_sherwood_hits(const void *table)
{
    const struct sherwood *self = table;
    return self->counters.by_class[SW_CLASS_GET].hits;
}

struct sw_table *sw_timing_sherwood_table(void *table)
{
    struct sherwood *self = table;
    return self->table;
}

struct sw_queue *sw_timing_sherwood_queue(void *table)
{
    struct sherwood *self = table;
    return self->queue;
}

void sw_timing_sherwood_describe(void *table, FILE *out)
{
    struct sherwood *self = table;
    struct sw_table_info info;
    sw_table_info(self->table, &info);
    fprintf(out,
            "sherwood's table of %" PRIu32 "-bit slots: backend %s, %" PRIu64
            " slots in buckets of %" PRIu32 ", probe cap %" PRIu32 " buckets, stash of %" PRIu64
            ", batches of up to %" PRIu32 ", %.1f MiB reserved\n",
            info.slot_bits, info.backend_name, info.capacity_slots, info.bucket_slots,
            info.max_probe, info.stash_slots, info.batch_ops_max,
            (double)info.bytes_reserved / (1 << 20));
}

bool sw_timing_sherwood_audit(struct sw_timing_study *study)
{
    struct sherwood *self = study->table;
    char violation[256] = "";
    struct sw_timing_subject subject = sw_timing_study_subject(study, "audit", study->count);
    int status = sw_table_check(self->table, violation, sizeof(violation));
    if (status != SW_OK && status != SW_E_INVALID) {
        return succeeded(status, "audit");
    }
    sw_timing_report_summary(study->report, &subject, "violations", status != SW_OK, "");
    sw_timing_study_say(study, "audit", "%s\n", status == SW_OK ? "no violation" : violation);
    study->is_correct = study->is_correct && status == SW_OK;
    return true;
}

const struct sw_timing_library sw_timing_sherwood = {
    .name = "sherwood",
    .version = SHERWOOD_VERSION,
    .slot_bits = 64 | 128,
    .takes_block_size = true,
    .last_wins = true,
    .open = sherwood_open,
    .close = sherwood_close,
    .clear = sherwood_clear,
    .insert = sherwood_insert,
    .get = sherwood_get,
    .channel = sherwood_channel,
    .erase = sherwood_erase,
    .size = sherwood_size,
    .insert_and_update = sherwood_insert_and_update,
    .settle = sherwood_settle,
};
