/* SPDX-License-Identifier: MIT
 *
 * options.c - command line to struct sw_rowbench_options.
 */
#include "bench/rows/options.h"

#include <string.h>

#define SLOT_BYTES 16
#define FIELD(name) SW_STUDY_FIELD(struct sw_rowbench_options, name)
#define LIST(name) SW_STUDY_LIST(struct sw_rowbench_options, name)

static const char *const operation_names[] = {SW_ROWBENCH_OPERATION_MAP(SW_STUDY_MAP_TEXT) NULL};
static const char *const operation_abouts[] = {SW_ROWBENCH_OPERATION_MAP(SW_STUDY_MAP_WHAT)};
static const char *const places[] = {"gpu", "host", "gpu+host", NULL}; /* as enum sw_rows_in */

const char *sw_rowbench_operation_name(enum sw_rowbench_operation operation)
{
    return operation_names[operation];
}

uint64_t sw_rowbench_capacity(const struct sw_rowbench_options *options, uint32_t value_bytes)
{
    uint64_t capacity = 1;
    while (2 * capacity <= options->capacity_max &&
           2 * capacity * (value_bytes + SLOT_BYTES) <= options->memory) {
        capacity *= 2;
    }
    return capacity >= SW_ROWBENCH_BATCHES_MIN * options->batch ? capacity : 0;
}

static const struct sw_study_option rows[] = {
    {"operations", SW_STUDY_NAMES, FIELD(operations), .words = operation_names,
     .about = operation_abouts, .help = "operations (all) of"},
    {"value-bytes", SW_STUDY_U32S, LIST(value_bytes), .min = 16, .max = 4096, .is_filled = true,
     .usual = "32,256,512,1024,4096", .quick = "256", .help = "bytes of a row, multiples of 16"},
    {"loads", SW_STUDY_REALS, LIST(loads), .least = 0.3, .most = 0.97, .is_filled = true,
     .usual = "0.50,0.85,0.95", .quick = "0.85", .help = "load factors, ascending"},
    {"memory", SW_STUDY_U64, FIELD(memory), .min = 1ULL << 20, .max = 1ULL << 42, .usual = "36G",
     .help = "for slots and rows: the capacity is the largest power of two\nthat fits; K, M, G are "
             "powers of 1024. The ceilings use as much before"},
    {"capacity-max", SW_STUDY_U64, FIELD(capacity_max), .min = 64, .max = 1ULL << 31,
     .usual = "128M", .help = "entries at most"},
    {"batch", SW_STUDY_U64, FIELD(batch), .min = 64, .max = 1ULL << 24, .usual = "1M",
     .help = "operations a call"},
    {"hit-ratio", SW_STUDY_REAL, FIELD(hit_ratio), .least = 0.01, .most = 1, .usual = "0.6",
     .help = "part of the keys of a get that are present"},
    {"skew", SW_STUDY_REAL, FIELD(skew), .least = 0.01, .most = 4, .usual = "1.05",
     .help = "of get_skewed: key r has a probability as r^-skew"},
    {"reps", SW_STUDY_U32, FIELD(reps), .min = 1, .max = SW_ROWBENCH_REPS_MAX, .usual = "7",
     .quick = "2", .help = "timed repetitions, after one that warms up"},
    {"seconds", SW_STUDY_REAL, FIELD(seconds), .most = 1e6, .usual = "4",
     .help = "a series that takes longer ends after its second repetition"},
    SW_STUDY_BACKEND_ROW("where table, operands and answers lie"),
    {"rows-in", SW_STUDY_WORD, FIELD(rows_in), .words = places, .usual = "gpu",
     .value = "gpu|host|gpu+host",
     .help =
         "memory of the rows (CUDA) and of the ceilings' arena\n(gpu+host: arena in host memory)"},
    {"rows-gpu-bytes", SW_STUDY_U64, FIELD(rows_gpu_bytes), .max = 1ULL << 42, .usual = "0",
     .help = "bytes of rows on the GPU with gpu+host; 0: all that fit"},
    SW_STUDY_DEVICE_ROW,
    SW_STUDY_SEED_ROW,
    {"quick", SW_STUDY_FLAG, FIELD(quick),
     .help = "where these are not given: rows of 256 bytes, load 0.85, 2 repetitions"},
    SW_STUDY_COMMIT_ROW,
    SW_STUDY_OUTPUT_ROW("rows"),
};

/* Returns an error text if valid options contradict each other, else NULL. */
static const char *contradiction(const void *parsed)
{
    const struct sw_rowbench_options *options = parsed;
    if (options->on_host && options->rows_in != 0) {
        return "--rows-in is of --backend cuda";
    }
    for (uint32_t l = 1; l < options->loads_count; l++) {
        if (options->loads[l] <= options->loads[l - 1]) {
            return "--loads must ascend";
        }
    }
    for (uint32_t v = 0; v < options->value_bytes_count; v++) {
        if (options->value_bytes[v] % 16 != 0) {
            return "--value-bytes must be multiples of 16";
        }
        if (sw_rowbench_capacity(options, options->value_bytes[v]) == 0) {
            return "--memory and --capacity-max must have room for 4 times --batch rows";
        }
    }
    return NULL;
}

static const struct sw_study_command command = {
    .name = "rows",
    .usage = "[options]",
    .about = "Measures tables of rows of floats, and HierarchicalKV where it was built in. Every\n"
             "answer is checked.\n",
    .options = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
    .contradiction = contradiction,
};

enum sw_study_parsed sw_rowbench_options_parse(struct sw_rowbench_options *options, int argc,
                                               char **argv)
{
    memset(options, 0, sizeof(*options));
    memset(options->operations, true, sizeof(options->operations));
    return sw_study_options(&command, options, argc, argv);
}
