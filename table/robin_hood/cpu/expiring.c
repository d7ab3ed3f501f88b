/* SPDX-License-Identifier: MIT
 *
 * expiring.c - batches of integers that concern expiry times, for both widths.
 */
#include "table/robin_hood/cpu/expiring.h"

#include <string.h>

#include "table/robin_hood/cpu/admit.h"
#include "table/robin_hood/cpu/expiry.h"
#include "table/robin_hood/cpu/parallel.h"

/* Threads take chunks of reads. */
#define CHUNK 1024U

struct expiring_reads {
    const struct sw_cpu *cpu;
    struct sw_batch *batch;
    uint64_t next; /* operation, atomic */
};

#define RH_FIELD SW_WIDTH_SUFFIX
#define SW_WIDTH_BODY "table/robin_hood/cpu/expiring.inl"
#include "table/each_width.inl"
