/* SPDX-License-Identifier: MIT
 *
 * check.inl - the invariants of one array, then of the whole table. Included by check.c once per
 * width.
 */

/* One scan, left to right. */
struct RH(audit) {
    const struct RH(view) * view;
    const char *array;
    bool has_holes; /* slots with m = 0 behind bucket 0 are holes */
    uint64_t entries;
    uint64_t holes;
    bool any;            /* an entry was seen; then `largest` is valid */
    RH_WORD largest;     /* largest m of all earlier buckets */
    uint64_t full_since; /* every bucket from here to the one before has no EMPTY slot */
};

static int RH(audit_slot)(struct RH(audit) * audit, uint64_t b, int i, struct RH(slot) slot,
                          struct text *text)
{
    uint64_t home = RH(home)(audit->view, slot.m);
    if (audit->any && slot.m <= audit->largest) {
        return report(text,
                      "I1: %s bucket %llu slot %d holds m %llx, a bucket before it holds %llx",
                      audit->array, ULL(b), i, ULL(slot.m), ULL(audit->largest));
    }
    if (home > b) {
        return report(text, "I3: %s bucket %llu slot %d holds m %llx of the later bucket %llu",
                      audit->array, ULL(b), i, ULL(slot.m), ULL(home));
    }
    if (b - home > audit->view->max_probe) {
        return report(text, "I3: %s bucket %llu slot %d holds m %llx, %llu buckets from its home",
                      audit->array, ULL(b), i, ULL(slot.m), ULL(b - home));
    }
    if (home < audit->full_since && home < b) {
        return report(text,
                      "I4: %s bucket %llu slot %d holds m %llx of bucket %llu, but bucket %llu is "
                      "not full",
                      audit->array, ULL(b), i, ULL(slot.m), ULL(home), ULL(audit->full_since - 1));
    }
    return SW_OK;
}

static int RH(audit_bucket)(struct RH(audit) * audit, uint64_t b, struct text *text)
{
    struct RH(slot) held[SW_BUCKET_SLOTS];
    RH_WORD largest = 0;
    int entries = 0;
    int holes = 0;
    RH(bucket_load)(RH(bucket)(audit->view, b), held);
    for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
        if (audit->has_holes && RH(hole_at)(b, held[i].m)) {
            holes++;
            continue;
        }
        if (held[i].m == RH_EMPTY) {
            if (!RH(slot_same)(held[i], RH(slot_empty)())) {
                return report(text, "I5: %s bucket %llu slot %d is EMPTY with a value of %llx",
                              audit->array, ULL(b), i, ULL(RH(slot_value)(held[i])));
            }
            continue;
        }
        for (int k = 0; k < i; k++) {
            if (held[k].m == held[i].m) {
                return report(text, "I2: %s bucket %llu slots %d and %d both hold m %llx",
                              audit->array, ULL(b), k, i, ULL(held[i].m));
            }
        }
        int status = RH(audit_slot)(audit, b, i, held[i], text);
        if (status != SW_OK) {
            return status;
        }
        largest = held[i].m > largest ? held[i].m : largest;
        entries++;
    }
    if (entries > 0) {
        audit->any = true;
        audit->largest = largest;
    }
    if (entries + holes < SW_BUCKET_SLOTS) {
        audit->full_since = b + 1;
    }
    audit->entries += (uint64_t)entries;
    audit->holes += (uint64_t)holes;
    return SW_OK;
}

/* `holes`: how many holes the array should have. */
static int RH(audit_array)(const struct RH(view) * view, const char *array, uint64_t holes,
                           uint64_t *entries, struct text *text)
{
    struct RH(audit) audit = {.view = view, .array = array, .has_holes = holes > 0};
    for (uint64_t b = 0; b < view->buckets_total; b++) {
        int status = RH(audit_bucket)(&audit, b, text);
        if (status != SW_OK) {
            return status;
        }
    }
    *entries = audit.entries;
    return audit.holes == holes ? SW_OK
                                : report(text, "I6: %s has %llu holes; counted %llu", array,
                                         ULL(audit.holes), ULL(holes));
}

/* A key has one place: no entry of the stash is also in the main array (I2). */
static int RH(audit_twins)(const struct RH(view) * main, const struct RH(view) * stash,
                           struct text *text)
{
    for (uint64_t i = 0; i < stash->buckets_total * SW_BUCKET_SLOTS; i++) {
        struct RH(slot) slot = RH(slot_load)(stash->slots + i);
        RH_WORD value;
        uint64_t probes = 0;
        if (slot.m != RH_EMPTY && RH(find)(main, slot.m, &value, &probes) != NULL) {
            return report(text, "I2: m %llx is in the main array and in the stash", ULL(slot.m));
        }
    }
    return SW_OK;
}

static int RH(check)(const struct sw_geometry *geometry, const struct sw_state *state,
                     const void *slots, struct text *text)
{
    /* the views are only read */
    struct RH(slot) *first = (struct RH(slot) *)(uintptr_t)slots;
    struct RH(view)
        main = {first, geometry->buckets, geometry->buckets_total, geometry->max_probe, NULL, 0};
    struct RH(view) stash = {first + geometry->buckets_total * SW_BUCKET_SLOTS,
                             geometry->stash_buckets,
                             geometry->stash_buckets_total,
                             geometry->stash_buckets_total,
                             NULL,
                             0};
    uint64_t in_main = 0;
    uint64_t in_stash = 0;
    int status = RH(audit_array)(&main, "main", state->holes, &in_main, text);
    if (status == SW_OK) {
        status = RH(audit_array)(&stash, "stash", 0, &in_stash, text);
    }
    if (status == SW_OK) {
        status = RH(audit_twins)(&main, &stash, text);
    }
    if (status != SW_OK) {
        return status;
    }
    if (in_stash != state->stash_occupied) {
        return report(text, "I6: the stash holds %llu entries, its count is %llu", ULL(in_stash),
                      ULL(state->stash_occupied));
    }
    if (state->holes != 0 && in_stash != 0) {
        return report(text, "I7: %llu holes in main, and %llu entries in the stash",
                      ULL(state->holes), ULL(in_stash));
    }
    if (state->side_present > 1 || in_main + in_stash + state->side_present != state->occupied) {
        return report(text,
                      "I6: %llu entries in main, %llu in the stash, %llu beside; counted %llu",
                      ULL(in_main), ULL(in_stash), ULL(state->side_present), ULL(state->occupied));
    }
    return SW_OK;
}
