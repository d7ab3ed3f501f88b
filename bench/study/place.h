/* SPDX-License-Identifier: MIT
 *
 * place.h - the memory of a study's arrays: host memory or device memory.
 *
 * Members that return bool wait until their work is done; on false, and where memory is NULL, one
 * line on stderr says why. Threads: one.
 */
#ifndef SHERWOOD_BENCH_STUDY_PLACE_H
#define SHERWOOD_BENCH_STUDY_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_study_place {
    const char *name; /* "cpu" or "cuda" */
    bool (*choose)(int device);
    void (*describe)(int device, FILE *out); /* lines "name: value" for run_info.txt */
    void *(*alloc)(size_t bytes);            /* NULL: no memory */
    void (*free)(void *memory);              /* NULL is allowed */
    bool (*fill)(void *memory, int byte, size_t bytes);
    bool (*copy)(void *to, const void *from, size_t bytes); /* also between host and device */
};

extern const struct sw_study_place sw_study_host;
extern const struct sw_study_place sw_study_device; /* only in builds with nvcc */

#ifdef __cplusplus
}
#endif

#endif
