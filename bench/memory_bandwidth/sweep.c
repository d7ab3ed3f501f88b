/* SPDX-License-Identifier: MIT
 *
 * sweep.c - repetitions of insert and get at each F, and the account after every insert.
 */
#include "bench/memory_bandwidth/sweep.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench/study/pass.h"
#include "bench/study/report.h"

uint64_t sw_bandwidth_count(const struct sw_bandwidth_options *options, double load)
{
    uint64_t count = (uint64_t)(load * (double)(1ULL << options->capacity_log2));
    return count < 64 ? 64 : count;
}

static bool failed(const char *what, int status)
{
    fprintf(stderr, "memory_bandwidth: %s: %s\n", what, sw_status_text(status));
    return false;
}

static uint32_t batch_ops(const struct sw_bandwidth_study *study)
{
    return 1U << study->options->batch_log2;
}

/* Returns the part of a pass that a repetition reports. */
static struct sw_bandwidth_rep describe(const struct sw_bandwidth_study *study, double load,
                                        uint32_t number, uint64_t count, enum sw_op_class class,
                                        const struct sw_study_passed *passed,
                                        const struct sw_study_took *took)
{
    const struct sw_op_counters *counters = &passed->counters.by_class[class];
    return (struct sw_bandwidth_rep){
        .load = load,
        .batch = batch_ops(study),
        .block_size = study->block_size,
        .number = number,
        .operations = count,
        .batches = passed->batches,
        .took = *took,
        .probes = counters->probes,
        .failures = passed->counters.failures,
        .hits = counters->hits,
        .misses = counters->misses,
        .copy_rate = study->ceilings->copy,
        .gather_rate = study->ceilings->bytes[SW_STUDY_GATHER_32],
    };
}

/* --- insert ----------------------------------------------------------------------------------- */

static bool clear(struct sw_bandwidth_study *study)
{
    struct sw_batch batch = {.kind = SW_BATCH_CLEAR};
    int status = sw_batch_run(study->queue, &batch);
    return status == SW_OK || failed("emptying the table", status);
}

/* Finds every operand again: in the table, or among the entries handed back. */
static bool settle(struct sw_bandwidth_study *study, uint64_t batches,
                   struct sw_bandwidth_account *account)
{
    struct sw_bandwidth_arrays *arrays = &study->arrays;
    struct sw_study_passed passed;
    struct sw_study_pass pass = {
        .key_bytes = sizeof(uint32_t),
        .op = SW_GET,
        .keys = arrays->distinct,
        .previous = arrays->answers,
        .found = arrays->found,
        .count = account->distinct,
        .batch_ops = batch_ops(study),
    };
    int status = sw_study_pass_run(study->queue, &pass, &passed);
    if (status != SW_OK) {
        return failed("reading every key", status);
    }
    return sw_bandwidth_settle_held(arrays, account) &&
           sw_bandwidth_settle_leftovers(arrays, batch_ops(study), study->leftovers, batches,
                                         account) &&
           sw_bandwidth_settle_end(arrays, account);
}

/* Returns whether every key is settled, the totals are equal, and the table's own count of entries
 * is right. */
static bool is_settled(const struct sw_bandwidth_study *study,
                       const struct sw_bandwidth_account *account,
                       const struct sw_study_passed *passed, uint64_t count)
{
    const struct sw_op_counters *counters = &passed->counters.by_class[SW_CLASS_UPSERT];
    struct sw_table_stats stats;
    sw_table_stats(study->table, &stats);
    bool right = account->unsettled == 0 && account->foreign == 0 &&
                 account->held_sum + account->handed_back_sum == account->offered_sum &&
                 stats.occupied == account->held && counters->hits + counters->misses == count;
    if (!right) {
        fprintf(stderr,
                "memory_bandwidth: OPERANDS LOST: %" PRIu64 " keys not settled, %" PRIu64
                " entries handed back that were never offered; offered %" PRIu64 ", held %" PRIu64
                ", handed back %" PRIu64 "; %" PRIu64 " keys held, %" PRIu64 " by statistics\n",
                account->unsettled, account->foreign, account->offered_sum, account->held_sum,
                account->handed_back_sum, account->held, stats.occupied);
    }
    return right;
}

static int pass_run(struct sw_bandwidth_study *study, const struct sw_study_pass *pass,
                    struct sw_study_passed *passed, struct sw_study_took *took)
{
    sw_study_span_begin(took);
    int status = sw_study_pass_run(study->queue, pass, passed);
    sw_study_span_end(took);
    return status;
}

/* Runs one repetition: an empty table, fresh keys, the timed launch, the account. */
static bool insert_once(struct sw_bandwidth_study *study, uint64_t count,
                        struct sw_study_passed *passed, struct sw_study_took *took,
                        struct sw_bandwidth_account *account)
{
    struct sw_bandwidth_arrays *arrays = &study->arrays;
    struct sw_study_pass pass = {
        .key_bytes = sizeof(uint32_t),
        .op = SW_SUM,
        .keys = arrays->keys,
        .values = arrays->operands,
        .leftover_keys = arrays->leftover_keys,
        .leftover_values = arrays->leftover_values,
        .count = count,
        .batch_ops = batch_ops(study),
        .leftovers = study->leftovers,
    };
    if (!clear(study) ||
        !sw_bandwidth_draw(arrays, count, study->options->seed, ++study->draws, account)) {
        return false;
    }
    int status = pass_run(study, &pass, passed, took);
    if (status != SW_OK) {
        return failed("insert", status);
    }
    if (!settle(study, passed->batches, account)) {
        return false;
    }
    study->is_correct = is_settled(study, account, passed, count) && study->is_correct;
    return true;
}

/* --- summaries -------------------------------------------------------------------------------- */

struct rates {
    double bytes[SW_BANDWIDTH_REPS_MAX]; /* a second, of each repetition */
    double operations[SW_BANDWIDTH_REPS_MAX];
    double bytes_by_events[SW_BANDWIDTH_REPS_MAX];
    double operations_by_events[SW_BANDWIDTH_REPS_MAX];
    uint32_t by_events; /* repetitions with a time by events */
};

static void note(struct rates *rates, const struct sw_bandwidth_rep *rep)
{
    rates->bytes[rep->number - 1] = sw_bandwidth_rate(rep, rep->took.seconds);
    rates->operations[rep->number - 1] = (double)rep->operations / rep->took.seconds;
    if (!isnan(rep->took.events)) {
        rates->bytes_by_events[rates->by_events] = sw_bandwidth_rate(rep, rep->took.events);
        rates->operations_by_events[rates->by_events++] =
            (double)rep->operations / rep->took.events;
    }
}

/* A block size has metrics of its own, so that the rows of the table's own choice stand alone. */
static void report(struct sw_bandwidth_study *study, const struct sw_bandwidth_subject *subject,
                   const char *metric, double value, const char *unit)
{
    char name[64];
    if (study->block_size > 0) {
        snprintf(name, sizeof(name), "%s_block%" PRIu32, metric, study->block_size);
    } else {
        snprintf(name, sizeof(name), "%s", metric);
    }
    sw_bandwidth_report_summary(study->report, subject, name, value, unit);
}

/* Medians of the rates; the counts are those of the last repetition. */
static void summarize(struct sw_bandwidth_study *study, const char *operation,
                      const struct sw_bandwidth_rep *last, struct rates *rates)
{
    const struct sw_bandwidth_ceilings *ceilings = study->ceilings;
    bool is_insert = strcmp(operation, "insert") == 0;
    enum sw_study_access ceiling = is_insert ? SW_STUDY_LOAD_CAS : SW_STUDY_GATHER_32;
    struct sw_bandwidth_subject subject = {"sherwood", operation, 0, last->load, last->batch};
    double bytes = sw_study_median(rates->bytes, last->number);
    double operations = sw_study_median(rates->operations, last->number);
    double probes = (double)last->probes / (double)last->operations;
    double of_copy = 100 * bytes / ceilings->copy;
    double of_gather = 100 * bytes / ceilings->bytes[SW_STUDY_GATHER_32];
    report(study, &subject, "bandwidth", bytes * 1e-9, "GB/s");
    report(study, &subject, "percent_of_copy", of_copy, "%");
    report(study, &subject, "percent_of_gather", of_gather, "%");
    report(study, &subject, "gops", operations * 1e-9, "Gops/s");
    report(study, &subject, is_insert ? "operations_of_load_cas" : "operations_of_gather_32",
           100 * operations / ceilings->operations[ceiling], "%");
    report(study, &subject, "probes_per_operation", probes, "buckets");
    if (rates->by_events > 0) {
        report(study, &subject, "bandwidth_by_events",
               sw_study_median(rates->bytes_by_events, rates->by_events) * 1e-9, "GB/s");
        report(study, &subject, "gops_by_events",
               sw_study_median(rates->operations_by_events, rates->by_events) * 1e-9, "Gops/s");
    }
    report(study, &subject, "reps", last->number, "");
    report(study, &subject, "total_probes", (double)last->probes, "buckets");
    report(study, &subject, "total_hits", (double)last->hits, "operations");
    report(study, &subject, "total_misses", (double)last->misses, "operations");
    if (is_insert) {
        report(study, &subject, "total_failures", (double)last->failures, "entries");
    }
    char block[32] = "";
    if (study->block_size > 0) {
        snprintf(block, sizeof(block), ", blocks of %" PRIu32, study->block_size);
    }
    fprintf(stderr,
            "%6.1f s  %s F %g%s: %.3f Gops/s, %.2f probes each, %.1f GB/s: %.1f %% of copy, %.1f "
            "%% of gather_32\n",
            sw_study_clock() - study->started, operation, last->load, block, operations * 1e-9,
            probes, bytes * 1e-9, of_copy, of_gather);
}

static void summarize_account(struct sw_bandwidth_study *study, const struct sw_bandwidth_rep *last,
                              const struct sw_bandwidth_account *account, uint64_t unsettled)
{
    struct sw_bandwidth_subject subject = {"sherwood", "insert", 0, last->load, last->batch};
    double slots = (double)(1ULL << study->options->capacity_log2);
    sw_bandwidth_report_summary(study->report, &subject, "load", (double)account->held / slots, "");
    sw_bandwidth_report_summary(study->report, &subject, "drops",
                                (double)(account->distinct - account->held), "keys");
    sw_bandwidth_report_summary(study->report, &subject, "handed_back",
                                (double)account->handed_back, "entries");
    sw_bandwidth_report_summary(study->report, &subject, "unsettled", (double)unsettled, "keys");
}

/* --- both operations at one F ----------------------------------------------------------------- */

/* Inserts at one F. Leaves the table as the last repetition left it. */
static bool inserts(struct sw_bandwidth_study *study, double load, uint64_t count)
{
    struct sw_study_passed passed;
    struct sw_bandwidth_account account;
    struct sw_bandwidth_rep rep;
    struct rates rates;
    struct sw_study_took took;
    uint64_t unsettled = 0; /* the worst number of all repetitions */
    rates.by_events = 0;
    for (uint32_t number = 0; number <= study->options->insert_reps; number++) {
        if (!insert_once(study, count, &passed, &took, &account)) {
            return false;
        }
        unsettled = account.unsettled > unsettled ? account.unsettled : unsettled;
        if (number > 0) { /* 0 warms up */
            rep = describe(study, load, number, count, SW_CLASS_UPSERT, &passed, &took);
            note(&rates, &rep);
            sw_bandwidth_report_insert(study->report, &rep, &account);
        }
    }
    summarize(study, "insert", &rep, &rates);
    summarize_account(study, &rep, &account, unsettled);
    return true;
}

/* Gets the offered keys in their order; keys that were handed back miss. */
static bool gets(struct sw_bandwidth_study *study, double load, uint64_t count)
{
    struct sw_bandwidth_arrays *arrays = &study->arrays;
    struct sw_study_passed passed;
    struct sw_bandwidth_rep rep;
    struct rates rates;
    struct sw_study_took took;
    struct sw_study_pass pass = {
        .key_bytes = sizeof(uint32_t),
        .op = SW_GET,
        .keys = arrays->keys,
        .previous = arrays->answers,
        .found = arrays->found,
        .count = count,
        .batch_ops = batch_ops(study),
    };
    rates.by_events = 0;
    for (uint32_t number = 0; number <= study->options->reps; number++) { /* 0 warms up */
        uint64_t found = 0;
        int status = pass_run(study, &pass, &passed, &took);
        if (status != SW_OK) {
            return failed("get", status);
        }
        if (!sw_bandwidth_count_found(arrays, count, &found)) {
            return false;
        }
        rep = describe(study, load, number, count, SW_CLASS_GET, &passed, &took);
        if (rep.hits != found || rep.hits + rep.misses != count) {
            fprintf(stderr,
                    "memory_bandwidth: GET WRONG: %" PRIu64 " of %" PRIu64 " found, but %" PRIu64
                    " hits and %" PRIu64 " misses counted\n",
                    found, count, rep.hits, rep.misses);
            study->is_correct = false;
        }
        if (number > 0) {
            note(&rates, &rep);
            sw_bandwidth_report_get(study->report, &rep);
        }
    }
    summarize(study, "get", &rep, &rates);
    return true;
}

/* Fills the table for the gets of a block size. Inserts ignore the block size. */
static bool fill(struct sw_bandwidth_study *study, uint64_t count)
{
    struct sw_study_passed passed;
    struct sw_study_took took;
    struct sw_bandwidth_account account;
    return insert_once(study, count, &passed, &took, &account);
}

bool sw_bandwidth_sweep(struct sw_bandwidth_study *study)
{
    for (uint32_t l = 0; l < study->options->loads_count; l++) {
        double load = study->options->loads[l];
        uint64_t count = sw_bandwidth_count(study->options, load);
        bool stored = study->block_size > 0 ? fill(study, count) : inserts(study, load, count);
        if (!stored || !gets(study, load, count)) {
            return false;
        }
    }
    return true;
}
