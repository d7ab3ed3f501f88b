/* SPDX-License-Identifier: MIT
 *
 * write_choice.c - the choice of the write path of a batch on CUDA.
 */
#include "table/robin_hood/write_choice.h"

/* Costs of the write paths, in nanoseconds on an H200 with 2^27 slots of 64 bits. On another GPU
 * the costs of SLOT and MOVE differ by the factors of struct sw_write_costs. A merge reads the
 * whole table twice and writes it once. Merges of 2^22 took 1.9 to 2.2 ms, and of 2^24 2.5 to 2.8
 * ms. A merge into an empty table only writes: 1.8 to 2.0 ms for 2^20 keys. An upsert of an absent
 * key at load f moves about 1 / (1 - f)^2 other entries. 2^22 new keys by ranges took 0.51, 0.80
 * and 1.25 ms at f 0.5, 0.75 and 0.85. */
#define MERGE_SLOT_NS 0.013
#define BUILD_SLOT_NS 0.009
#define MERGE_OP_NS 0.05
#define UPSERT_OP_NS 0.12
#define UPSERT_NEW_NS 0.01
#define UPSERT_MOVE_NS 0.004
/* A removal moves other entries back. 2^22 by ranges took 0.64, 1.28 and 2.34 ms at f 0.5, 0.75 and
 * 0.85. Rebuilds without 2^22 entries took 2.4 ms, and without 2^24 4.4 ms. */
#define DELETE_OP_NS 0.10
#define DELETE_MOVE_NS 0.012
#define REBUILD_OP_NS 0.16
/* A batch of deletes of at least HOLES_OPS_MIN operations may be the first to leave holes. At most
 * one of HOLES_PART slots becomes a hole: with a quarter, 0.4 % of full buckets hold only holes. */
#define HOLES_OPS_MIN (1U << 18)
#define HOLE_OP_NS 0.12
#define HOLES_PASS_SLOT_NS 0.0085
#define HOLES_PART 4
/* Least share of new keys for direct inserts. */
#define DIRECT_SHARE_MIN 0.125
/* The third kernel of a batch by ranges has fewer threads than the kernels that insert. So it
 * inserts only if the batch has at most ENDS_OPS_MAX operations, or few new keys. */
#define ENDS_OPS_MAX 8192
#define ENDS_SHARE_MAX (1.0 / 64)

bool sw_write_is_certain(const struct sw_write_facts *facts, const struct sw_batch *batch,
                         bool gathered, uint32_t upserts)
{
    if (batch->ops != NULL && facts->stash > facts->stash_max) {
        return false; /* one thread would apply the batch */
    }
    return upserts == 0 || ((batch->group_count <= 1 || gathered) &&
                            facts->entries + upserts <= facts->occupied_max);
}

/* Returns whether to stream the table, by tuning or because that takes less time. */
static bool is_faster(const struct sw_write_facts *facts, const struct sw_batch *batch,
                      double stream_ns, double in_place_ns)
{
    switch (facts->tuning->bulk) {
    case SW_CHOICE_ALWAYS:
        return true;
    case SW_CHOICE_NEVER:
        return false;
    default:
        return batch->count >= SW_WRITE_LARGE_MIN && stream_ns < in_place_ns;
    }
}

/* Returns whether every operation deletes. */
static bool only_deletes(const struct sw_batch *batch)
{
    return batch->ops == NULL && batch->op == SW_DELETE;
}

/* Estimates of a batch of deletes without holes, in nanoseconds. */
struct delete_ns {
    double in_place;
    double rebuild;
};

static struct delete_ns delete_ns(const struct sw_write_facts *facts, const struct sw_batch *batch)
{
    const struct sw_write_costs *costs = &facts->costs;
    const double slots = (double)facts->slots;
    double room = 1.0 - (double)facts->entries / slots;
    room = room < 0.0001 ? 0.0001 : room;
    return (struct delete_ns){
        .in_place = batch->count * (DELETE_OP_NS + DELETE_MOVE_NS * costs->moves / (room * room)),
        .rebuild = slots * MERGE_SLOT_NS * costs->pass + batch->count * REBUILD_OP_NS};
}

bool sw_write_streams_delete(const struct sw_write_facts *facts, const struct sw_batch *batch)
{
    const struct delete_ns ns = delete_ns(facts, batch);
    return only_deletes(batch) && is_faster(facts, batch, ns.rebuild, ns.in_place);
}

/* Returns the time that a batch of deletes saves if it leaves holes, without the pass. */
static double saving_ns(const struct sw_write_facts *facts, const struct sw_batch *batch)
{
    const struct delete_ns ns = delete_ns(facts, batch);
    const double without = ns.rebuild < ns.in_place ? ns.rebuild : ns.in_place;
    return without - batch->count * HOLE_OP_NS;
}

/* Returns whether the batch could leave holes. */
static bool may_leave_holes(const struct sw_write_facts *facts, const struct sw_batch *batch)
{
    return facts->can_have_holes && facts->tuning->holes != SW_CHOICE_NEVER &&
           only_deletes(batch) && batch->previous == NULL && sw_write_is_ranged(facts, batch);
}

bool sw_write_leaves_holes(const struct sw_write_facts *facts, const struct sw_batch *batch)
{
    const struct sw_hole_facts *holes = &facts->holes;
    const double pass_ns = (double)facts->slots * HOLES_PASS_SLOT_NS * facts->costs.pass;
    const bool pays =
        holes->before_ns >= pass_ns || holes->saving_ns + saving_ns(facts, batch) >= pass_ns;
    return may_leave_holes(facts, batch) &&
           (facts->tuning->holes == SW_CHOICE_ALWAYS || holes->most != 0 ||
            (pays && batch->count >= HOLES_OPS_MIN));
}

bool sw_write_fills_up(const struct sw_write_facts *facts, const struct sw_batch *batch)
{
    return facts->holes.most != 0 && facts->holes.most + batch->count > facts->slots / HOLES_PART;
}

void sw_hole_facts_end(struct sw_hole_facts *holes)
{
    if (holes->saving_ns > 0) {
        holes->before_ns = holes->saving_ns;
    }
    holes->saving_ns = 0;
}

void sw_hole_facts_note(struct sw_hole_facts *holes, const struct sw_write_facts *facts,
                        const struct sw_batch *batch, bool leaves)
{
    if (!may_leave_holes(facts, batch)) {
        sw_hole_facts_end(holes);
        return;
    }
    holes->saving_ns += saving_ns(facts, batch);
    holes->most += leaves ? batch->count : 0;
}

/* Returns whether the batch's operations on a key may be folded in any order, and may insert. A
 * rebuild can merge such a batch. */
static bool is_mergeable(const struct sw_write_facts *facts, const struct sw_batch *batch)
{
    const bool op = batch->op == SW_SET || batch->op == SW_SUM || batch->op == SW_MIN ||
                    batch->op == SW_MAX ||
                    (facts->is_set && SW_OPS_HAS(SW_OPS_ABSENT, (uint32_t)batch->op));
    return op && batch->ops == NULL && batch->previous == NULL;
}

bool sw_write_merges(const struct sw_write_facts *facts, const struct sw_batch *batch)
{
    const double slots = (double)facts->slots;
    const double count = batch->count;
    const bool is_empty = facts->entries == 0;
    const double fresh = is_empty ? count : count * facts->new_share;
    double room = 1.0 - ((double)facts->entries + fresh) / slots;
    room = room < 0.01 ? 0.01 : room; /* the batch may have fewer keys than operations */
    const double pass = slots * (is_empty ? BUILD_SLOT_NS : MERGE_SLOT_NS) * facts->costs.pass;
    const double merge = pass + count * MERGE_OP_NS;
    const double moves = UPSERT_MOVE_NS * facts->costs.moves / (room * room);
    const double upsert = count * UPSERT_OP_NS + fresh * (UPSERT_NEW_NS + moves);
    return is_mergeable(facts, batch) && is_faster(facts, batch, merge, upsert);
}

bool sw_write_is_ranged(const struct sw_write_facts *facts, const struct sw_batch *batch)
{
    return facts->tuning->ranges != SW_CHOICE_NEVER && batch->expected == NULL &&
           (batch->count <= facts->piece_ops || facts->has_stash);
}

bool sw_write_is_direct(const struct sw_write_facts *facts, const struct sw_batch *batch)
{
    return only_deletes(batch) ? batch->previous == NULL && !facts->clears_hints
                               : is_mergeable(facts, batch) && facts->new_share >= DIRECT_SHARE_MIN;
}

bool sw_write_ends_by_ranges(const struct sw_write_facts *facts, const struct sw_batch *batch)
{
    return facts->has_stash && batch->ops == NULL && !only_deletes(batch) &&
           batch->group_count <= 1 && batch->count <= facts->piece_ops &&
           (batch->count <= ENDS_OPS_MAX || facts->new_share < ENDS_SHARE_MAX);
}
