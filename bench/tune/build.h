/* SPDX-License-Identifier: MIT
 *
 * build.h - makes variants into programs or shared objects, several at once, each once.
 *
 * The file of a variant is named after it and a hash of its sources, its macros and the flags: if
 * the file exists, it is what a build would make. So files can be built on one machine and run on
 * another.
 */
#ifndef SHERWOOD_BENCH_TUNE_BUILD_H
#define SHERWOOD_BENCH_TUNE_BUILD_H

#include "bench/tune/interrupt.h"
#include "bench/tune/sources.h"
#include "bench/tune/space.h"

struct sw_tune_tools {
    char cc[SW_TUNE_PATH_MAX];     /* for kernels that end in .c: programs */
    char nvcc[SW_TUNE_PATH_MAX];   /* for those in .cu: shared objects */
    char arch[SW_TUNE_NAME_MAX];   /* of these, "sm_90" */
    char folder[SW_TUNE_PATH_MAX]; /* where files go */
    uint32_t jobs;                 /* at a time */
};

struct sw_tune_kernel {
    struct sw_tune_space *space;
    char sources[SW_TUNE_HASH_TEXT];
    char device[SW_TUNE_TEXT_MAX]; /* its programs run on; "" until one of them names it */
    char arch[SW_TUNE_NAME_MAX];
};

/* A variant, its sources and its file. */
struct sw_tune_product {
    struct sw_tune_kernel *kernel;
    uint32_t workload;
    struct sw_tune_variant variant;
    bool is_base;                 /* no macros: the #define lines hold */
    char point[SW_TUNE_TEXT_MAX]; /* the workload as text */
    char name[SW_TUNE_TEXT_MAX];  /* of the variant */
    char file[SW_TUNE_PATH_MAX];  /* of sw_tune_product_name */
    bool is_built;                /* the file exists */
    struct sw_tune_reason reason; /* why not: the compiler's first error */
};

/* Whether the kernel becomes a shared object, which a runner loads. */
bool sw_tune_is_object(const struct sw_tune_space *space);

/* Sets point, name, file and is_built. */
bool sw_tune_product_name(struct sw_tune_product *product, const struct sw_tune_tools *tools,
                          struct sw_tune_reason *reason);

/* Called after each: how many of how many are done. */
typedef void (*sw_tune_progress)(void *context, const struct sw_tune_product *product,
                                 uint32_t done, uint32_t total);

/* Builds those that are not built. The compiler's output is in FILE.log. False only if nothing can
 * be built at all; after an interrupt, or `until` (of sw_study_clock), the rest is left. */
bool sw_tune_build(struct sw_tune_product *products, uint32_t count,
                   const struct sw_tune_tools *tools, struct sw_tune_interrupt *interrupt,
                   double until, sw_tune_progress progress, void *context,
                   struct sw_tune_reason *reason);

#endif
