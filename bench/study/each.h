/* SPDX-License-Identifier: MIT
 *
 * each.h - loops over the elements of a study's arrays: on the host in a .c file, by a kernel in a
 * .cu file. A study writes what happens to one element once, for both.
 *
 * SW_STUDY_EACH(function, Arguments) defines
 *     bool function_each(const Arguments *arguments, uint64_t count)
 * which calls function(arguments, i) for every i below count. SW_STUDY_TALLY(function, Arguments,
 * CLASSES) defines
 *     bool function_tally(const Arguments *arguments, uint64_t count, unsigned long long *counts)
 * which also adds to counts[c] how often the function returned c, below CLASSES. Both wait until
 * everything is done; on false one line on stderr says why.
 */
#ifndef SHERWOOD_BENCH_STUDY_EACH_H
#define SHERWOOD_BENCH_STUDY_EACH_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#include "bench/study/each.cuh"
#else

#define SW_STUDY_EACH(function, Arguments)                                  \
    static bool function##_each(const Arguments *arguments, uint64_t count) \
    {                                                                       \
        for (uint64_t i = 0; i < count; i++) {                              \
            function(arguments, i);                                         \
        }                                                                   \
        return true;                                                        \
    }

#define SW_STUDY_TALLY(function, Arguments, CLASSES)                         \
    static bool function##_tally(const Arguments *arguments, uint64_t count, \
                                 unsigned long long *counts)                 \
    {                                                                        \
        for (uint64_t i = 0; i < count; i++) {                               \
            counts[function(arguments, i)]++;                                \
        }                                                                    \
        return true;                                                         \
    }

#endif

#endif
