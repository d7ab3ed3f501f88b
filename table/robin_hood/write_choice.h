/* SPDX-License-Identifier: MIT
 *
 * write_choice.h - the choice of the write path of a batch on CUDA, by estimates of costs.
 *
 * Pure functions, so that they are tested without a device. table/robin_hood/README.md, "The CUDA
 * backend", lists the paths. Without holes, all paths leave the same entries in the same buckets.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_WRITE_CHOICE_H
#define SHERWOOD_TABLE_ROBIN_HOOD_WRITE_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "table/batch.h"
#include "table/configuration.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A batch of fewer operations never streams the table, unless tuning.bulk requires it. */
#define SW_WRITE_LARGE_MIN 65536

/* Holes and what they save. A run of deletes is the deletes between two batches that need the table
 * without holes. */
struct sw_hole_facts {
    uint64_t most;    /* upper bound of the holes */
    double saving_ns; /* time that holes save, or would save, in the present run */
    double before_ns; /* the same of the run before */
};

/* Factors for the costs in write_choice.c, which are of an H200. An operation that moves no entry
 * keeps its cost, because the choice depends on ratios of costs alone. The tuner measures both
 * factors (bench/tune/README.md). They are 1 unless the GPU has a policy. */
struct sw_write_costs {
    double pass;  /* of a slot in a pass over the table */
    double moves; /* of the entries that an insert or a removal in place moves */
};

/* The table as the host knows it when it submits the batch. */
struct sw_write_facts {
    const struct sw_table_tuning *tuning;
    struct sw_write_costs costs;
    uint64_t slots;        /* of the home buckets */
    uint64_t entries;      /* upper bound of the entries before the batch */
    uint64_t occupied_max; /* most entries */
    uint64_t stash;        /* entries of the stash after the batches polled so far */
    uint64_t stash_max;
    uint32_t piece_ops; /* most operations that are cut into ranges at once */
    bool has_stash;
    bool is_set;       /* a key set: SET_ABSENT is folded in any order, as SET is */
    bool clears_hints; /* a removal must clear hints */
    double new_share;  /* share of the upserts that inserted, over recent batches */
    bool can_have_holes;
    struct sw_hole_facts holes;
};

/* Returns whether the table's entries are sure to stay within the limit during the batch, which has
 * `upserts` operations that may insert. The stash may still be a reason to refuse some groups. Then
 * the batch is applied again from its arrays, which must belong to the table (`gathered`). */
bool sw_write_is_certain(const struct sw_write_facts *facts, const struct sw_batch *batch,
                         bool gathered, uint32_t upserts);

/* Returns whether a batch of deletes leaves holes. They save the moves of other entries. The next
 * batch that needs the table without holes has to close them first, by one pass over the table. So
 * the present run, this batch included, or the run before must save as much as a pass takes. A
 * batch of any length leaves holes if the table has some already. */
bool sw_write_leaves_holes(const struct sw_write_facts *facts, const struct sw_batch *batch);

/* Returns whether the holes must be closed before a batch that leaves holes: too many slots would
 * be holes. */
bool sw_write_fills_up(const struct sw_write_facts *facts, const struct sw_batch *batch);

/* Records a batch of writes: one of deletes that might leave holes, or any other, which ends the
 * run. `leaves`: it leaves holes. */
void sw_hole_facts_note(struct sw_hole_facts *holes, const struct sw_write_facts *facts,
                        const struct sw_batch *batch, bool leaves);
/* Ends the run of deletes. */
void sw_hole_facts_end(struct sw_hole_facts *holes);

/* Returns whether to rebuild the table without the deleted entries. */
bool sw_write_streams_delete(const struct sw_write_facts *facts, const struct sw_batch *batch);

/* Returns whether to merge the batch, which is certain to fit, with the table in one pass. The host
 * does not know how many keys are new: it assumes the share of recent batches. */
bool sw_write_merges(const struct sw_write_facts *facts, const struct sw_batch *batch);

/* Returns whether a batch that is certain to fit is cut into ranges. Its operations have one
 * operand. Without a stash it must be one
 * piece: entries that met the cap wait until the end of the batch, and the next piece would not
 * find them. */
bool sw_write_is_ranged(const struct sw_write_facts *facts, const struct sw_batch *batch);

/* Returns whether the look-up of a batch by ranges carries out at once what moves no entry. That is
 * a kernel of its own, for batches that insert or remove many keys. */
bool sw_write_is_direct(const struct sw_write_facts *facts, const struct sw_batch *batch);

/* Returns whether the third kernel of a batch by ranges also inserts and reports, so that no kernel
 * follows: at most a few keys are new. The batch must be one piece, in which no operation removes
 * and no group may be refused alone. */
bool sw_write_ends_by_ranges(const struct sw_write_facts *facts, const struct sw_batch *batch);

#ifdef __cplusplus
}
#endif

#endif
