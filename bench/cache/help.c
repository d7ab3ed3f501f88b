/* SPDX-License-Identifier: MIT
 *
 * help.c - the cache study's names and its --help.
 */
#include "bench/cache/help.h"

#include <stdio.h>

const char *sw_cachebench_experiment_name(enum sw_cachebench_experiment experiment)
{
    static const char *const names[] = {
#define SW_CACHEBENCH_EXPERIMENT_NAME(name, text, what) text,
        SW_CACHEBENCH_EXPERIMENT_MAP(SW_CACHEBENCH_EXPERIMENT_NAME)
#undef SW_CACHEBENCH_EXPERIMENT_NAME
    };
    return names[experiment];
}

const char *sw_cachebench_operation_name(enum sw_cachebench_operation operation)
{
    static const char *const names[] = {
#define SW_CACHEBENCH_OPERATION_NAME(name, text, what) text,
        SW_CACHEBENCH_OPERATION_MAP(SW_CACHEBENCH_OPERATION_NAME)
#undef SW_CACHEBENCH_OPERATION_NAME
    };
    return names[operation];
}

void sw_cachebench_print_libraries(void)
{
    for (size_t l = 0; sw_cachebench_libraries[l] != NULL; l++) {
        printf("%s\n", sw_cachebench_libraries[l]->name);
    }
}

void sw_cachebench_print_help(void)
{
    printf("usage: cache [options]\n"
           "\n"
           "Sherwood's cache of values of floats in both modes, and HierarchicalKV where it was "
           "built\n"
           "in. Every answer is checked.\n"
           "\n"
           "  --experiments LIST   of:\n");
#define SW_CACHEBENCH_EXPERIMENT_HELP(name, text, what) printf("      %-11s %s\n", text, what);
    SW_CACHEBENCH_EXPERIMENT_MAP(SW_CACHEBENCH_EXPERIMENT_HELP)
#undef SW_CACHEBENCH_EXPERIMENT_HELP
    printf("  --operations LIST    of the experiment operations:\n");
#define SW_CACHEBENCH_OPERATION_HELP(name, text, what) printf("      %-17s %s\n", text, what);
    SW_CACHEBENCH_OPERATION_MAP(SW_CACHEBENCH_OPERATION_HELP)
#undef SW_CACHEBENCH_OPERATION_HELP
    printf(
        "  --libraries LIST     of those that --list-libraries prints (all)\n"
        "  --modes LIST         of memory, throughput: leaves Sherwood's other one out (both)\n"
        "  --dims LIST          floats of a value (8,32,64)\n"
        "  --loads LIST         entries of a slot (0.50,0.75,1.00)\n"
        "  --capacity N         entries; K, M, G: powers of 1024 (128M, for dims above 32 64M)\n"
        "  --fill-capacity N    of fill and retention (1M)\n"
        "  --fill-dim N         of fill and retention (64)\n"
        "  --fill-loads LIST    ascending (0.25,0.50,0.75,0.90,0.95,1.00)\n"
        "  --offers LIST        retention offers so many times the capacity (1,4)\n"
        "  --batch N            operations of a call (1M)\n"
        "  --hit-ratio F        share of a call's keys that are present (0.6)\n"
        "  --window N           they are drawn from the N newest keys (a quarter of the capacity)\n"
        "  --reps N             repetitions after one that warms up (5)\n"
        "  --seconds S          a series that takes longer ends after its second repetition (4)\n"
        "  --backend cpu|cuda   where the caches lie (cuda)\n"
        "  --device N           CUDA device (0)\n"
        "  --seed N             of the keys (1)\n"
        "  --quick              dims 64, loads 0.50 and 1.00, capacity 8M, 2 repetitions\n"
        "  --commit TEXT        noted in run_info.txt\n"
        "  --output DIR         where the files go (output/<time>/cache)\n"
        "  --list-libraries\n"
        "  --help\n");
}
