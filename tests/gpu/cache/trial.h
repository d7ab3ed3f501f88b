/* SPDX-License-Identifier: MIT
 *
 * trial.h - what the cases of the cache's GPU tests share: memory, values that tell on themselves,
 * and what a cache holds.
 *
 * A case returns the number of faults. It prints the first few faults of a kind.
 */
#ifndef SHERWOOD_TESTS_GPU_CACHE_TRIAL_H
#define SHERWOOD_TESTS_GPU_CACHE_TRIAL_H

#include "table/cache/cache.h"
#include "table/table.h"
#include "tests/support/io_memory.h"
#include "tests/support/random.h"

/* How the program was started. */
struct trial_setting {
    enum sw_backend_kind backend;
    uint64_t seed;
    uint32_t scale; /* 1: as small as makes sense; 16: full */
};

/* A table, a queue of it, and arrays that trial_close frees. */
struct trial_cache {
    struct sw_table *table;
    struct sw_queue *queue;
    struct io_memory io;
    struct sw_table_info info;
};
void trial_open(struct trial_cache *cache, const struct sw_table_config *config);
void trial_close(struct trial_cache *cache);

/* A value is `version` and words computed of key, version and place: a torn one, or one of another
 * key, does not check. value_bytes 4: the word is computed of the key alone. */
void trial_value(void *value, uint32_t value_bytes, uint64_t key, uint32_t version);
bool trial_value_checks(const void *value, uint32_t value_bytes, uint64_t key);

/* What a cache holds, by ascending key. */
struct trial_contents {
    uint64_t count;
    uint64_t *keys;
    uint64_t *scores;
    uint8_t *values;
};
struct trial_contents *trial_contents(struct trial_cache *cache);
void trial_contents_free(struct trial_contents *contents);

/* Prints, and counts, what is wrong; at most a few lines of a case. */
struct trial_faults {
    const char *name;
    uint64_t count;
};
__attribute__((format(printf, 2, 3))) void trial_fault(struct trial_faults *faults,
                                                       const char *format, ...);
void trial_expect(struct trial_faults *faults, int status, const char *what);
/* The scanner. */
void trial_audit(struct trial_faults *faults, struct trial_cache *cache);

/* Sorts numbers. */
void trial_sort(uint64_t *numbers, uint64_t count);

/* The cases (pressure.c, combined.c): of a cache like `config`, whose
 * sizes they set. */
uint64_t case_pressure(const struct trial_setting *setting, const struct sw_table_config *config);
uint64_t case_combined(const struct trial_setting *setting, const struct sw_table_config *config);

#endif
