/* SPDX-License-Identifier: MIT
 *
 * space.h - the parameters and workloads of a kernel, read from its comments.
 *
 * A kernel is a program in bench/tune/kernels; README.md has the comments it declares itself by. A
 * variant is one value for each parameter; base is the variant that the #define lines make. A point
 * is one value for each axis of a kind.
 *
 * Threads: any; a space is not changed once it is read.
 */
#ifndef SHERWOOD_BENCH_TUNE_SPACE_H
#define SHERWOOD_BENCH_TUNE_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_TUNE_NAME_MAX 64
#define SW_TUNE_PATH_MAX 1024
#define SW_TUNE_TEXT_MAX 256 /* a variant's name, a point, a file's */
#define SW_TUNE_VALUES_MAX 64
#define SW_TUNE_PARAMETERS_MAX 12
#define SW_TUNE_AXES_MAX 8
/* Workloads of either kind. */
#define SW_TUNE_POINTS_MAX 4096
/* Variants of one compile-time workload. */
#define SW_TUNE_VARIANTS_MAX 65536

enum sw_tune_axis_kind {
    SW_TUNE_COMPILED, /* {ct}: one build for each value */
    SW_TUNE_RUN,      /* each value is as important as the others */
    SW_TUNE_ORDERED   /* {io}: later values are more important; a run-time axis, too */
};

/* A value is a word: a number, 2^20, get. */
struct sw_tune_axis {
    char name[SW_TUNE_NAME_MAX];
    enum sw_tune_axis_kind kind;
    char values[SW_TUNE_VALUES_MAX][SW_TUNE_NAME_MAX];
    uint32_t count;
};

/* Values of an axis that are wanted. */
struct sw_tune_filter {
    char axis[SW_TUNE_NAME_MAX];
    enum sw_tune_axis_kind kind; /* COMPILED, or RUN for both others */
    bool has_kind;
    char values[SW_TUNE_VALUES_MAX][SW_TUNE_NAME_MAX];
    uint32_t count;
};

struct sw_tune_parameter {
    char name[SW_TUNE_NAME_MAX];  /* of the macro */
    char label[SW_TUNE_NAME_MAX]; /* in names of variants */
    int64_t values[SW_TUNE_VALUES_MAX];
    uint32_t count;
    int64_t base;
    bool is_limited; /* it exists only in compile-time workloads that `only` takes */
    struct sw_tune_filter only;
};

struct sw_tune_space {
    char kernel[SW_TUNE_NAME_MAX]; /* the file's name without its ending */
    char file[SW_TUNE_TEXT_MAX];
    char tunes[SW_TUNE_TEXT_MAX]; /* the file with the parameters; `file` if it names none */
    struct sw_tune_parameter parameters[SW_TUNE_PARAMETERS_MAX];
    uint32_t parameter_count;
    struct sw_tune_axis axes[SW_TUNE_AXES_MAX];
    uint32_t axis_count;
};

/* One value for each parameter that exists in its compile-time workload. */
struct sw_tune_variant {
    int64_t values[SW_TUNE_PARAMETERS_MAX];
};

/* A sentence about what is wrong, usually with file and line. */
struct sw_tune_reason {
    char text[640];
};

/* Reads a kernel's comments and those of the file it tunes. The caller frees *out. */
bool sw_tune_space_read(const char *file, struct sw_tune_space **out,
                        struct sw_tune_reason *reason);

/* "Slot{ct}=[64,128]", "Slot=64", "Batch=[2^16,2^20]". */
bool sw_tune_filter_parse(const char *text, struct sw_tune_filter *out,
                          struct sw_tune_reason *reason);
/* Whether the space has the axis, and it the values. */
bool sw_tune_filter_fits(const struct sw_tune_filter *filter, const struct sw_tune_space *space,
                         struct sw_tune_reason *reason);

/* The values of an axis, numbered over all filters that speak of it; true if none forbids it. */
bool sw_tune_filters_take(const struct sw_tune_filter *filters, uint32_t filter_count,
                          const char *axis, const char *value);

/* Points of the compile-time axes (compiled) or of the others, numbered from 0; 1 if there is no
 * such axis. "Slot=64 Operation=plain", the later axes vary first. */
uint32_t sw_tune_point_count(const struct sw_tune_space *space, bool compiled);
void sw_tune_point_text(const struct sw_tune_space *space, bool compiled, uint32_t number,
                        char text[SW_TUNE_TEXT_MAX]);
/* The index of its value on an axis of that kind. */
uint32_t sw_tune_point_value(const struct sw_tune_space *space, bool compiled, uint32_t number,
                             uint32_t axis);
bool sw_tune_point_taken(const struct sw_tune_space *space, bool compiled, uint32_t number,
                         const struct sw_tune_filter *filters, uint32_t filter_count);

/* Variants of a compile-time workload, in which not every parameter need exist. */
bool sw_tune_parameter_exists(const struct sw_tune_space *space, uint32_t workload,
                              uint32_t parameter);
uint64_t sw_tune_variant_count(const struct sw_tune_space *space, uint32_t workload);
void sw_tune_variant_at(const struct sw_tune_space *space, uint32_t workload, uint64_t number,
                        struct sw_tune_variant *out);
void sw_tune_variant_base(const struct sw_tune_space *space, struct sw_tune_variant *out);
bool sw_tune_variant_is_base(const struct sw_tune_space *space, uint32_t workload,
                             const struct sw_tune_variant *variant);
/* "kif_4.tpb_256"; "base" where no parameter exists. */
void sw_tune_variant_name(const struct sw_tune_space *space, uint32_t workload,
                          const struct sw_tune_variant *variant, char name[SW_TUNE_TEXT_MAX]);

/* A workload as part of a file's name: "Slot_64.Operation_plain". */
void sw_tune_file_text(const char *workload, char text[SW_TUNE_TEXT_MAX]);

/* Words: letters, digits and what numbers have besides (^ . - _). Returns its length, 0 if there is
 * none. */
size_t sw_tune_word_length(const char *text);
/* "{a,b,c}" or "[a,b,c]" into values; returns what follows, or NULL with a reason. */
const char *sw_tune_list_parse(const char *text, char open, char close,
                               char values[][SW_TUNE_NAME_MAX], uint32_t *count,
                               struct sw_tune_reason *reason);

__attribute__((format(printf, 2, 3))) bool sw_tune_refuse(struct sw_tune_reason *reason,
                                                          const char *format, ...);

#endif
