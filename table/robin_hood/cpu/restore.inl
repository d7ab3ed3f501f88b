/* SPDX-License-Identifier: MIT
 *
 * restore.inl - writes entries to their segments, and lays out segments. Included by restore.c once
 * per width.
 */

/* Entries gathered for a segment: one cache line is stored at once. */
#define RH_LINE (64 / sizeof(struct RH(slot)))

static uint64_t RH(segment_slots)(const struct sw_cpu_restore *restore, uint32_t segment)
{
    const struct RH(view) *view = &restore->cpu->table.RH_FIELD.main;
    uint64_t first = (uint64_t)segment << restore->segment_shift;
    uint64_t rest = view->buckets - first;
    uint64_t buckets = 1ULL << restore->segment_shift;
    return (rest < buckets ? rest : buckets) * SW_BUCKET_SLOTS;
}

static struct RH(slot) * RH(segment_at)(const struct sw_cpu_restore *restore, uint32_t segment)
{
    return RH(bucket)(&restore->cpu->table.RH_FIELD.main,
                      (uint64_t)segment << restore->segment_shift);
}

/* --- adding ----------------------------------------------------------------------------------- */

static void RH(spill)(struct sw_cpu_restore *restore, const struct RH(slot) * entries,
                      uint64_t count)
{
    pthread_mutex_lock(&restore->mutex);
    if (restore->overflow_count + count > restore->overflow_room) {
        uint64_t room = 2 * restore->overflow_room + count + 64;
        void *overflow = realloc(restore->overflow, room * sizeof(*entries));
        if (overflow == NULL) {
            __atomic_store_n(&restore->failed, true, __ATOMIC_RELAXED);
            count = 0;
        } else {
            restore->overflow = overflow;
            restore->overflow_room = room;
        }
    }
    if (count > 0) {
        memcpy((struct RH(slot) *)restore->overflow + restore->overflow_count, entries,
               count * sizeof(*entries));
    }
    restore->overflow_count += count;
    pthread_mutex_unlock(&restore->mutex);
}

static void RH(put)(struct sw_cpu_restore *restore, uint32_t segment,
                    const struct RH(slot) * entries, uint64_t count)
{
    uint64_t slots = RH(segment_slots)(restore, segment);
    uint64_t at = __atomic_fetch_add(&restore->counts[segment], count, __ATOMIC_RELAXED);
    uint64_t room = at < slots ? slots - at : 0;
    struct RH(slot) *to = RH(segment_at)(restore, segment) + at;
    if (count == RH_LINE && room >= RH_LINE) {
        memcpy(to, entries, RH_LINE * sizeof(*entries));
        return;
    }
    uint64_t fits = count < room ? count : room;
    if (fits > 0) {
        memcpy(to, entries, fits * sizeof(*entries));
    }
    if (fits < count) {
        RH(spill)(restore, entries + fits, count - fits);
    }
}

static void RH(add_side)(struct sw_cpu_restore *restore, RH_WORD value)
{
    pthread_mutex_lock(&restore->mutex);
    if (restore->side) {
        __atomic_store_n(&restore->repeated, true, __ATOMIC_RELAXED);
    }
    restore->side = true;
    restore->side_value = value;
    pthread_mutex_unlock(&restore->mutex);
}

/* Adds entries. `lines` has room for one line of each segment; `counts` has the number of entries
 * in each line, 0 before and afterwards. */
static void RH(add)(struct sw_cpu_restore *restore, const RH_WORD *keys, const RH_WORD *values,
                    uint32_t count, struct RH(slot) * lines, uint8_t *counts)
{
    const struct RH(table) table = restore->cpu->table.RH_FIELD; /* stores do not change a copy */
    const uint32_t shift = restore->segment_shift;
    for (uint32_t i = 0; i < count; i++) {
        const struct RH(slot) entry =
            RH(slot_of)(RH(mix)(&table, keys[i]), RH(value_at)(values, i));
        if (entry.m == RH_EMPTY) {
            RH(add_side)(restore, RH(slot_value)(entry));
            continue;
        }
        uint32_t segment = (uint32_t)(RH(home)(&table.main, entry.m) >> shift);
        lines[segment * RH_LINE + counts[segment]++] = entry;
        if (counts[segment] == RH_LINE) {
            RH(put)(restore, segment, lines + segment * RH_LINE, RH_LINE);
            counts[segment] = 0;
        }
    }
    for (uint32_t segment = 0; segment < restore->segments; segment++) {
        if (counts[segment] > 0) {
            RH(put)(restore, segment, lines + segment * RH_LINE, counts[segment]);
            counts[segment] = 0;
        }
    }
}

/* --- laying out ------------------------------------------------------------------------------- */

/* Part of a counting sort. Each slot of a home bucket has a bin, which is the home of a finer
 * bucket: bins are in order of m, and most hold at most one entry. Turns the number of entries of
 * each bin into the first slot of the bin in the segment: the first free slot at or after the home,
 * as in rebuild.inl. An entry past the segment or the cap takes no slot. */
static void RH(place_bins)(uint32_t *bins, uint64_t count, uint64_t max_probe)
{
    uint64_t next = 0;
    for (uint64_t b = 0; b < count; b++) {
        uint64_t home = b / SW_BUCKET_SLOTS * SW_BUCKET_SLOTS;
        uint64_t end = home + (max_probe + 1) * SW_BUCKET_SLOTS;
        uint64_t begin = home > next ? home : next;
        end = end < count ? end : count;
        next = begin + bins[b];
        bins[b] = (uint32_t)begin;
        next = next < end ? next : end > begin ? end : begin;
    }
}

/* Sorts the slots. Only neighbouring entries of one bin can be out of order. Returns false if a key
 * occurs twice. */
static bool RH(order)(struct RH(slot) * slots, uint64_t count)
{
    bool distinct = true;
    for (uint64_t i = 1; i < count; i++) {
        const struct RH(slot) entry = slots[i];
        if (entry.m == RH_EMPTY || slots[i - 1].m < entry.m || slots[i - 1].m == RH_EMPTY) {
            continue;
        }
        uint64_t to = i;
        for (; to > 0 && slots[to - 1].m > entry.m && slots[to - 1].m != RH_EMPTY; to--) {
            slots[to] = slots[to - 1];
        }
        slots[to] = entry;
        distinct = distinct && (to == 0 || slots[to - 1].m != entry.m);
    }
    return distinct;
}

/* Lays out a segment. `entries` has room for the slots of a segment, `bins` for one number a
 * slot. */
static void RH(lay_out)(struct sw_cpu_restore *restore, uint32_t segment, struct RH(slot) * entries,
                        uint32_t *bins)
{
    const struct RH(view) view = restore->cpu->table.RH_FIELD.main;
    const struct RH(view) finer = {.buckets = view.buckets * SW_BUCKET_SLOTS};
    const uint64_t first = ((uint64_t)segment << restore->segment_shift) * SW_BUCKET_SLOTS;
    const uint64_t slots = RH(segment_slots)(restore, segment);
    struct RH(slot) *to = RH(segment_at)(restore, segment);
    const uint64_t count = restore->counts[segment] < slots ? restore->counts[segment] : slots;
    memset(bins, 0, slots * sizeof(*bins));
    for (uint64_t i = 0; i < count; i++) {
        entries[i] = to[i];
        bins[RH(home)(&finer, entries[i].m) - first]++;
    }
    memset(to, 0xFF, slots * sizeof(*to));
    RH(place_bins)(bins, slots, view.max_probe);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t b = RH(home)(&finer, entries[i].m) - first;
        uint64_t at = bins[b]++;
        if (at >= slots || at / SW_BUCKET_SLOTS > b / SW_BUCKET_SLOTS + view.max_probe) {
            RH(spill)(restore, &entries[i], 1);
        } else {
            to[at] = entries[i];
        }
    }
    if (!RH(order)(to, slots)) {
        __atomic_store_n(&restore->repeated, true, __ATOMIC_RELAXED);
    }
}

/* Inserts the entries that did not fit in their segments. Returns SW_OK; SW_E_FULL; SW_E_INVALID: a
 * key is already present. */
static int RH(insert_rest)(struct sw_cpu_restore *restore)
{
    struct sw_cpu *cpu = restore->cpu;
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    const struct RH(slot) *entries = restore->overflow;
    struct RH(slot) left_over[1];
    struct RH(work) work = {.leftovers = left_over};
    uint64_t probes = 0;
    for (uint64_t i = 0; i < restore->overflow_count; i++) {
        if (RH(locate)(table, entries[i].m, &probes).found) {
            return SW_E_INVALID;
        }
        if (cpu->state.stash_occupied > table->stash_max) {
            return SW_E_FULL;
        }
        RH(insert)(table, &work, entries[i].m, RH(slot_value)(entries[i]), &probes);
        if (work.leftover_count > 0) {
            return SW_E_FULL;
        }
    }
    return SW_OK;
}

#undef RH_LINE
