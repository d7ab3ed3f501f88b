/* SPDX-License-Identifier: MIT
 *
 * wal_plan.c - putting the runs of segments together.
 */
#include "proto/wal_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/value_type.h"

void sw_wal_inspect(struct sw_wal_found *found, const uint8_t *bytes, uint64_t size,
                    uint64_t file_bytes, const uint8_t boot[SW_BOOT_ID_BYTES])
{
    found->is_whole = size >= SW_WAL_HEADER_BYTES &&
                      sw_wal_segment_decode(bytes, &found->segment, &found->is_newer);
    if (found->is_whole && !found->is_newer) {
        sw_wal_run_read(bytes, size, file_bytes, &found->segment, boot, &found->run);
    }
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool shapes_are_equal(const struct sw_wal_shape *a, const struct sw_wal_shape *b)
{
    return a->key_bytes == b->key_bytes && a->value_bytes == b->value_bytes &&
           a->engine == b->engine && a->value_format == b->value_format &&
           sw_value_types_fit(a->value_type, b->value_type);
}

/* Returns the error in the header of a segment, or NULL; `first` is a segment of the same log. */
static const char *wrong_header(const struct sw_wal_found *found, const struct sw_wal_found *first,
                                const struct sw_wal_shape *shape)
{
    if (!found->is_whole) {
        return "is damaged at byte 0: its header is not valid; copy it back, or run sherwood-cli "
               "log check "
               "--fix";
    }
    if (found->is_newer || found->run.is_unknown) {
        return "was written by a later version of sherwoodd: start that version";
    }
    if (memcmp(found->segment.log_id, first->segment.log_id, sizeof(first->segment.log_id)) != 0) {
        return "belongs to another log: move it out of the data directory";
    }
    if (found->segment.shape.key_text_bytes != first->segment.shape.key_text_bytes ||
        (shape != NULL && found->segment.shape.key_text_bytes != shape->key_text_bytes)) {
        return "has rows with another --resp-key-text-bytes than the server or the other segments: "
               "start with that of the server that wrote it";
    }
    if (!shapes_are_equal(&found->segment.shape, &first->segment.shape)) {
        return "has keys or values of another width, format, type or engine than the other "
               "segments";
    }
    if (shape != NULL && !shapes_are_equal(&found->segment.shape, shape)) {
        return "has keys or values of another width, format, type or engine than the server: start "
               "with the --engine, --key-bits, --value-bytes and --value-type that wrote it";
    }
    return NULL;
}

static bool headers_hold(struct sw_wal_found *found, size_t count, const struct sw_wal_shape *shape,
                         char refusal[SW_WAL_REFUSAL_BYTES])
{
    char name[SW_WAL_NAME_BYTES];
    for (size_t i = 0; i < count; i++) {
        const char *wrong = wrong_header(&found[i], &found[0], shape);
        if (wrong != NULL) {
            sw_wal_name(found[i].number, name);
            snprintf(refusal, SW_WAL_REFUSAL_BYTES, "%s %s", name, wrong);
            return false;
        }
        found[i].is_alias = found[i].segment.number != found[i].number;
    }
    return true;
}

/* Adds the writes of a segment, from `from` on, and drops what older segments have of them. */
static void add_piece(struct sw_wal_plan *plan, size_t segment, uint64_t from, uint64_t to)
{
    while (plan->pieces > 0 && plan->piece[plan->pieces - 1].from >= from) {
        plan->pieces--;
    }
    if (plan->pieces > 0 && plan->piece[plan->pieces - 1].to >= from) {
        plan->piece[plan->pieces - 1].to = from - 1;
    }
    plan->piece[plan->pieces++] = (struct sw_wal_piece){segment, from, to};
    plan->end = to;
}

/* If a segment continues at `end`, a start began it after it had decided which bytes before it were
 * cut. */
static void use_segment(struct sw_wal_plan *plan, struct sw_wal_found *found, size_t i)
{
    const struct sw_wal_run *run = &found[i].run;
    plan->evidence = most(plan->evidence, run->evidence);
    if (run->first != 0 && run->last > plan->base) {
        found[i].is_passed = run->first > plan->end + 1;
        if (!found[i].is_passed) {
            add_piece(plan, i, most(run->first, plan->base + 1), run->last);
            plan->is_torn = false;
            plan->damaged = 0;
        }
    }
    /* what follows a write that was cut was not durable either */
    if (run->damaged > plan->end && !plan->is_torn && !found[i].is_passed && plan->damaged == 0) {
        plan->damaged = i + 1;
    }
    plan->is_torn |= found[i].is_passed || run->behind > plan->end;
}

/* Is the newest segment one that says that there is a newer one? */
static const struct sw_wal_found *lost_follower(const struct sw_wal_found *found, size_t count)
{
    while (count > 0 && found[count - 1].is_alias) {
        count--;
    }
    const struct sw_wal_found *last = count > 0 ? &found[count - 1] : NULL;
    return last != NULL && last->run.is_sealed && !last->is_passed ? last : NULL;
}

/* The segment in which the recovered writes end, or NULL if it is not known. */
static const struct sw_wal_found *damaged(const struct sw_wal_plan *plan,
                                          const struct sw_wal_found *found, size_t count)
{
    if (plan->pieces > 0) {
        return &found[plan->piece[plan->pieces - 1].segment];
    }
    for (size_t i = 0; i < count; i++) {
        if (!found[i].is_alias && found[i].run.first == 0 && found[i].run.behind != 0) {
            return &found[i];
        }
    }
    return NULL;
}

/* Writes where the recovered writes end, though later ones were durable. */
static void report_damage(const struct sw_wal_plan *plan, const struct sw_wal_found *found,
                          size_t count, char refusal[SW_WAL_REFUSAL_BYTES])
{
    char name[SW_WAL_NAME_BYTES];
    const struct sw_wal_found *last = damaged(plan, found, count);
    if (last == NULL) {
        snprintf(refusal, SW_WAL_REFUSAL_BYTES,
                 "segments or snapshots are missing: writes up to %" PRIu64
                 " were durable, those up to %" PRIu64
                 " can be recovered; copy the files back, or run sherwood-cli log check --fix",
                 plan->evidence, plan->end);
        return;
    }
    sw_wal_name(last->number, name);
    snprintf(refusal, SW_WAL_REFUSAL_BYTES,
             "%s is damaged at byte %" PRIu64 " (sequence %" PRIu64 "); writes up to %" PRIu64
             " were durable; sherwood-cli log check --fix cuts it",
             name, last->run.end, plan->end + 1, plan->evidence);
}

/* Writes where a write cannot be read that may have been acknowledged. */
static void report_unreadable(const struct sw_wal_found *found, uint64_t end,
                              char refusal[SW_WAL_REFUSAL_BYTES])
{
    char name[SW_WAL_NAME_BYTES];
    sw_wal_name(found->number, name);
    snprintf(refusal, SW_WAL_REFUSAL_BYTES,
             "%s is damaged at byte %" PRIu64 " (sequence %" PRIu64
             "): the record was written completely, so it may have been acknowledged; sherwood-cli "
             "log check --fix cuts it",
             name, found->run.end, end + 1);
}

static const struct sw_wal_found *find(const struct sw_wal_found *found, size_t count,
                                       uint64_t number)
{
    for (size_t i = 0; i < count; i++) {
        if (found[i].number == number && !found[i].is_alias) {
            return &found[i];
        }
    }
    return NULL;
}

/* Looks for a missing segment that may have had writes behind the snapshot. Each segment names the
 * newest segment at the time it was begun, so the chain from the newest segment has all segments
 * that a start needs. An earlier start has read and given up the segments outside the chain.
 * Without any segment the search ends: a snapshot alone may be a backup. */
static uint64_t find_gone(const struct sw_wal_plan *plan, const struct sw_wal_found *found,
                          size_t count, uint64_t *by)
{
    const struct sw_wal_found *at = NULL;
    uint64_t newest = 0; /* it may be of an earlier version, which told no previous one */
    for (size_t i = 0; i < count; i++) {
        at = !found[i].is_alias && found[i].segment.previous != 0 ? &found[i] : at;
        newest = !found[i].is_alias ? found[i].number : newest;
    }
    *by = 0;
    if (count > 0 && newest < plan->beside.segment) {
        return plan->beside.segment;
    }
    while (at != NULL && at->segment.previous != 0) {
        const uint64_t previous = at->segment.previous;
        /* one with writes that follow the others without a gap has had nothing else before it */
        bool ends = previous == SW_WAL_NO_PREVIOUS || previous < plan->beside.from ||
                    previous >= at->number || (at->run.first != 0 && !at->is_passed);
        const struct sw_wal_found *before = ends ? NULL : find(found, count, previous);
        if (!ends && before == NULL) {
            *by = at->number;
            return previous;
        }
        at = before;
    }
    return 0;
}

/* Returns whether all segments of the newest run are missing. If the file is of another log, an
 * operator has put other segments there. If a segment was begun after the file was written, a
 * release that does not know the file numbers them anew. Without any segment, the file proves the
 * loss if the snapshot was begun beside a segment, or does not exist. Otherwise a run without a log
 * may have written the snapshot. */
static bool is_newest_run_gone(const struct sw_wal_plan *plan, const struct sw_wal_found *found,
                               size_t count)
{
    const struct sw_wal_first *first = &plan->first;
    uint64_t newest = 0, begun_us = 0;
    for (size_t i = 0; i < count; i++) {
        newest = found[i].is_alias ? newest : found[i].number;
        begun_us = found[i].is_alias ? begun_us : found[i].segment.wall_us;
    }
    const bool is_of_other =
        count > 0 && memcmp(first->log_id, found[0].segment.log_id, sizeof(first->log_id)) != 0;
    if (newest >= first->number || is_of_other || begun_us > first->wall_us) {
        return false;
    }
    return count > 0 || plan->beside.segment != 0 || plan->base == 0;
}

static void report_gone(const struct sw_wal_plan *plan, uint64_t by,
                        char refusal[SW_WAL_REFUSAL_BYTES])
{
    char gone[SW_WAL_NAME_BYTES], beside[SW_WAL_NAME_BYTES] = "the newest snapshot";
    sw_wal_name(plan->gone, gone);
    if (plan->is_first_gone) {
        snprintf(refusal, SW_WAL_REFUSAL_BYTES,
                 "%s and all newer segments are missing, and " SW_WAL_FIRST_NAME
                 " names it, so writes after %" PRIu64
                 " may be lost: copy them back, or run sherwood-cli log check --fix to go on "
                 "without them",
                 gone, plan->end);
        return;
    }
    if (by != 0) {
        sw_wal_name(by, beside);
    }
    snprintf(refusal, SW_WAL_REFUSAL_BYTES,
             "%s is missing, and %s names it, so writes after %" PRIu64
             " may be lost: copy it back, or run sherwood-cli log check --fix to go on without it",
             gone, beside, plan->end);
}

bool sw_wal_plan(struct sw_wal_plan *plan, struct sw_wal_found *found, size_t count, uint64_t base,
                 uint64_t named, const struct sw_wal_shape *shape,
                 char refusal[SW_WAL_REFUSAL_BYTES])
{
    plan->base = base;
    plan->end = base;
    plan->evidence = most(base, named);
    plan->pieces = 0;
    plan->is_torn = false;
    plan->damaged = 0;
    plan->gone = 0;
    plan->is_first_gone = false;
    if (count == 0 && base != 0 &&
        memcmp(plan->first.log_id, plan->log_id, sizeof(plan->log_id)) != 0) {
        plan->first.number = 0;
    }
    if (!headers_hold(found, count, shape, refusal)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!found[i].is_alias) {
            use_segment(plan, found, i);
        }
    }
    const struct sw_wal_found *sealed = lost_follower(found, count);
    if (plan->end < plan->evidence) {
        report_damage(plan, found, count, refusal);
        return false;
    }
    if (plan->damaged != 0) {
        report_unreadable(&found[plan->damaged - 1], plan->end, refusal);
        return false;
    }
    if (sealed != NULL) {
        char name[SW_WAL_NAME_BYTES];
        sw_wal_name(sealed->number, name);
        snprintf(
            refusal, SW_WAL_REFUSAL_BYTES,
            "the segment after %s is missing: copy it back, or run sherwood-cli log check --fix",
            name);
        return false;
    }
    uint64_t by = 0;
    plan->is_first_gone = is_newest_run_gone(plan, found, count);
    plan->gone = plan->is_first_gone ? plan->first.number : find_gone(plan, found, count, &by);
    if (plan->gone != 0) {
        report_gone(plan, by, refusal);
        return false;
    }
    return true;
}
