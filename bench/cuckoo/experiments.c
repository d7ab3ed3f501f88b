/* SPDX-License-Identifier: MIT
 *
 * experiments.c - the four experiments of the cuckoo report, and inserts with look-ups in one call.
 */
#include <math.h>
#include <stdlib.h>

#include "bench/cuckoo/study.h"
#include "table/cuckoo/engine.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const uint32_t tables_list[] = {SW_CBENCH_CUCKOO2, SW_CBENCH_CUCKOO3, SW_CBENCH_ROBIN_HOOD,
                                       SW_CBENCH_BGHT_CHT, SW_CBENCH_BGHT_B16};

/* Returns the chain bound of inserts of `keys` keys; 0: the table is not a cuckoo table. */
static uint32_t bound_of(const struct sw_cbench_study *study, uint32_t table, uint64_t keys)
{
    uint32_t bound = sw_cuckoo_chain_bound(study->options->bound, keys);
    return sw_cbench_library_of(table)->functions == 0 ? 0 : bound;
}

static struct sw_cbench_wanted wanted_of(const struct sw_cbench_study *study, uint32_t table,
                                         uint64_t size, uint64_t keys)
{
    struct sw_cbench_wanted wanted = {
        .size = size,
        .table = table,
        .bound = bound_of(study, table, 1ULL << study->options->keys_log2),
        .keys_max = keys,
    };
    return wanted;
}

/* --- (1) -------------------------------------------------------------------------------------- */

/* All s share one table, which is made for the largest. */
static void experiment_of_calls(struct sw_cbench_study *study, uint32_t table,
                                enum sw_cbench_experiment experiment, uint64_t operations_a_key,
                                void (*measure)(struct sw_cbench_study *,
                                                const struct sw_cbench_subject *, void *table))
{
    const struct sw_cbench_options *options = study->options;
    struct sw_cbench_subject subject = {.experiment = experiment, .x = "all"};
    struct sw_cbench_wanted wanted =
        wanted_of(study, table, 1ULL << options->table_log2, 1ULL << options->keys_log2);
    void *open = sw_cbench_study_table(study, &wanted, 1ULL << options->keys_log2, &subject);
    for (uint32_t s = options->first_log2; s <= options->keys_log2 && open != NULL; s++) {
        snprintf(subject.x, sizeof(subject.x), "%u", (unsigned)s);
        subject.keys = 1ULL << s;
        subject.operations = operations_a_key * subject.keys;
        subject.load = (double)subject.keys / (double)subject.cells;
        measure(study, &subject, open);
    }
    sw_cbench_study_table_close(open, &subject);
}

static void experiment_insert(struct sw_cbench_study *study, uint32_t table)
{
    experiment_of_calls(study, table, SW_CBENCH_INSERT, 1, sw_cbench_measure_insert);
}

/* --- (2) -------------------------------------------------------------------------------------- */

/* Returns a table that holds S, or NULL. */
static void *filled_table(struct sw_cbench_study *study, const struct sw_cbench_wanted *wanted,
                          struct sw_cbench_subject *subject)
{
    struct sw_cbench_inserted inserted = {0};
    const struct sw_cbench_library *library = sw_cbench_library_of(wanted->table);
    void *open = sw_cbench_study_table(study, wanted, wanted->keys_max, subject);
    if (open == NULL) {
        return NULL;
    }
    if (!library->insert(open, study->keys, wanted->keys_max, &inserted) || inserted.left > 0) {
        sw_cbench_report_none(study->report, subject, "the keys could not be stored");
        study->is_complete = false;
        sw_cbench_study_table_close(open, subject);
        return NULL;
    }
    return open;
}

static void experiment_lookup(struct sw_cbench_study *study, uint32_t table)
{
    const struct sw_cbench_options *options = study->options;
    struct sw_cbench_subject subject = {.experiment = SW_CBENCH_LOOKUP, .x = "all"};
    struct sw_cbench_wanted wanted =
        wanted_of(study, table, 1ULL << options->table_log2, 1ULL << options->keys_log2);
    void *open = filled_table(study, &wanted, &subject);
    for (uint32_t tenths = 0; tenths <= 10 && open != NULL; tenths++) {
        snprintf(subject.x, sizeof(subject.x), "%u", (unsigned)tenths);
        sw_cbench_measure_find(study, &subject, open, tenths);
    }
    sw_cbench_study_table_close(open, &subject);
}

/* --- (1) and (2) in one call ---------------------------------------------------------------------
 */

static void experiment_both(struct sw_cbench_study *study, uint32_t table)
{
    experiment_of_calls(study, table, SW_CBENCH_BOTH, 2, sw_cbench_measure_both);
}

/* --- (3) and (4) ------------------------------------------------------------------------------ */

static void measure_table(struct sw_cbench_study *study, const struct sw_cbench_wanted *wanted,
                          struct sw_cbench_subject *subject)
{
    void *open = sw_cbench_study_table(study, wanted, wanted->keys_max, subject);
    if (open != NULL) {
        sw_cbench_measure_insert(study, subject, open);
    }
    sw_cbench_study_table_close(open, subject);
}

static uint64_t sized(const struct sw_cbench_study *study, double factor)
{
    return (uint64_t)ceil(factor * (double)(1ULL << study->options->keys_log2));
}

static void experiment_size(struct sw_cbench_study *study, uint32_t table)
{
    static const char *const sizes[] = {"2.0", "1.9", "1.8", "1.7",  "1.6",  "1.5", "1.4",
                                        "1.3", "1.2", "1.1", "1.05", "1.02", "1.01"};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct sw_cbench_subject subject = {.experiment = SW_CBENCH_SIZE};
        struct sw_cbench_wanted wanted = wanted_of(
            study, table, sized(study, strtod(sizes[i], NULL)), 1ULL << study->options->keys_log2);
        snprintf(subject.x, sizeof(subject.x), "%s", sizes[i]);
        measure_table(study, &wanted, &subject);
    }
}

static void experiment_bound(struct sw_cbench_study *study, uint32_t table)
{
    if (sw_cbench_library_of(table)->is_peer) { /* a peer sets its own bound */
        return;
    }
    static const char *const bounds[] = {"0.2", "0.4", "0.6", "0.8", "1.0",  "1.2",
                                         "1.4", "1.6", "1.8", "2.0", "2.2",  "2.4",
                                         "3.6", "4.8", "7.2", "9.6", "14.4", "19.2"};
    uint64_t keys = 1ULL << study->options->keys_log2;
    for (size_t i = 0; i < COUNT(bounds); i++) {
        struct sw_cbench_subject subject = {.experiment = SW_CBENCH_BOUND};
        struct sw_cbench_wanted wanted = wanted_of(study, table, sized(study, 1.4), keys);
        wanted.bound = sw_cuckoo_chain_bound(strtod(bounds[i], NULL), keys);
        snprintf(subject.x, sizeof(subject.x), "%s", bounds[i]);
        measure_table(study, &wanted, &subject);
    }
}

void sw_cbench_run(struct sw_cbench_study *study)
{
    static const struct {
        void (*run)(struct sw_cbench_study *study, uint32_t table);
        const char *what;
    } experiments[SW_CBENCH_EXPERIMENTS] = {
        [SW_CBENCH_INSERT] = {experiment_insert, "2^x keys into an empty table"},
        [SW_CBENCH_LOOKUP] = {experiment_lookup, "look-ups, x tenths of them miss"},
        [SW_CBENCH_SIZE] = {experiment_size, "n keys into a table of size x n"},
        [SW_CBENCH_BOUND] = {experiment_bound, "n keys, chains of at most x log2 n"},
        [SW_CBENCH_BOTH] = {experiment_both, "2^x keys into an empty table and 2^x look-ups"},
    };
    for (int e = 0; e < SW_CBENCH_EXPERIMENTS; e++) {
        if (!study->options->experiments[e]) {
            continue;
        }
        sw_cbench_report_begin(study->report, (enum sw_cbench_experiment)e, experiments[e].what);
        for (size_t f = 0; f < COUNT(tables_list); f++) {
            if (study->options->tables[tables_list[f]]) {
                experiments[e].run(study, tables_list[f]);
            }
        }
    }
}
