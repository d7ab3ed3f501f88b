/* SPDX-License-Identifier: MIT
 *
 * test_chains.cu - the displacement chains of table/robin_hood/cuda/displacement/, and direct
 * writes (writes/range_direct.cuh), in tables of a few buckets, under every schedule in which
 * chains lose their turn at most --turns-lost times.
 *
 *   test_chains [--direct|--short] [--seconds N] [--turns-lost N] [--must-fail]
 *
 * A lock range is two buckets here, a bucket two slots, and a block one chain (emulator.mk). Two or
 * three chains insert or remove in a table that is drawn; after each schedule all buckets must hold
 * what they hold when the chains run one after the other, on the CPU, and no lock may be held.
 * Then the next table, until the time is over. --turns-lost: 2; of three chains one fewer.
 * --must-fail is for chains without a part of their code: some schedule of inserts must be wrong,
 * and some schedule of removals.
 *
 * --direct: each block carries out one operation as a batch by ranges does, instead of a chain. It
 * looks its key up and inserts or removes without moving an entry. --short: each block carries out
 * one operation as one thread of displace_short.cu does. The CPU then carries out, one after the
 * other, what the blocks left.
 */
#include "table/robin_hood/cuda/displacement/displace.cu"
#undef INSTANTIATE
#include "table/robin_hood/cuda/displacement/displace_short.cu" /* its kernels are launched first */

#include "table/robin_hood/cuda/writes/range_direct.cuh"

#include "search.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.hpp"

namespace
{

#define CHAINS_MAX 3
#define BUCKETS_MAX 20
#define STASH_HOMES 2
#define STASH_BUCKETS 4
#define LOCK_WORDS 2

enum mode { LONG, DIRECT, SHORT };

uint64_t below(uint64_t bound)
{
    return emu_random() % bound;
}

template <int BITS> struct arrays {
    typename sw_width<BITS>::slot slots[(BUCKETS_MAX + STASH_BUCKETS) * SW_BUCKET_SLOTS];
    uint32_t locks[LOCK_WORDS];
    uint8_t hints[BUCKETS_MAX];
};

void close_gap(const struct sw_view_s64 *view, struct sw_slot_s64 *slot)
{
    uint64_t probes = 0;
    sw_remove_at_s64(view, slot, &probes);
}

void close_gap(const struct sw_view_s128 *view, struct sw_slot_s128 *slot)
{
    uint64_t probes = 0;
    sw_remove_at_s128(view, slot, &probes);
}

/* Each block has one operation. rests[b]: the operation of block b moves other entries, and is
 * left. */
template <int BITS>
__global__ void direct_insert_kernel(struct sw_cuda_device<BITS> device,
                                     const typename sw_width<BITS>::slot *keys, bool *rests)
{
    typedef sw_width<BITS> W;
    uint64_t probes = 0;
    typename W::slot *gap = NULL;
    const typename W::slot entry = keys[blockIdx.x];
    const typename W::place place = locate_gap<BITS>(device, entry.m, &gap, &probes);
    rests[blockIdx.x] = write_one<BITS>(device, place, entry) &&
                        (gap == NULL || !W::fill_gap(&device.table.main, gap, entry));
}

template <int BITS>
__global__ void direct_removal_kernel(struct sw_cuda_device<BITS> device,
                                      const struct sw_cuda_removal<BITS> *removals, bool *rests)
{
    struct sw_cuda_removal<BITS> removal = removals[blockIdx.x];
    bool found = false;
    uint64_t probes = 0;
    rests[blockIdx.x] = !remove_one<BITS>(device, removal.m, &removal, &found, &probes) ||
                        !clear_direct<BITS>(device, removal.slot, &probes);
    if (!found) {
        device.control->lost = 1;
    }
}

template <int BITS>
__global__ void short_insert(struct sw_cuda_device<BITS> device,
                             typename sw_width<BITS>::slot *carried, bool *rests)
{
    uint64_t probes = 0;
    rests[blockIdx.x] =
        !insert_short<BITS>(device, &carried[blockIdx.x], SW_SHORT_BUCKETS, &probes);
}

template <int BITS>
__global__ void short_removal(struct sw_cuda_device<BITS> device,
                              const struct sw_cuda_removal<BITS> *removals, bool *rests)
{
    uint64_t probes = 0;
    rests[blockIdx.x] = !remove_short<BITS>(device, removals[blockIdx.x], &probes);
}

/* A table, and what is to be done to it. */
template <int BITS> struct trial {
    typedef sw_width<BITS> W;
    typedef typename W::slot slot;
    typedef typename W::word word;
    bool removes;
    enum mode mode;
    bool has_hints;
    uint32_t chains;
    bool rests[CHAINS_MAX];
    slot keys[CHAINS_MAX];
    slot carried[CHAINS_MAX]; /* of single threads */
    struct sw_cuda_removal<BITS> removals[CHAINS_MAX];
    uint64_t homes, buckets;
    arrays<BITS> before, wanted, now;
    struct sw_cuda_device<BITS> device;
    struct sw_cuda_control control;
    struct sw_state state;
    char fault[160];

    typename W::table table_of(arrays<BITS> *of) const
    {
        typename W::table table;
        memset(&table, 0, sizeof(table));
        table.main = {of->slots, homes, buckets, buckets - homes};
        table.stash = {of->slots + buckets * SW_BUCKET_SLOTS, STASH_HOMES, STASH_BUCKETS,
                       STASH_BUCKETS};
        return table;
    }

    /* One after the other. False if there is no place even in the stash. */
    bool insert(arrays<BITS> *of, slot entry) const
    {
        const typename W::table table = table_of(of);
        uint64_t probes = 0;
        return W::insert_absent(&table.main, &entry, &probes) ||
               W::insert_absent(&table.stash, &entry, &probes);
    }

    uint64_t slots_used() const
    {
        return (buckets + STASH_BUCKETS) * SW_BUCKET_SLOTS;
    }

    void clear(arrays<BITS> *of) const
    {
        memset(of, 0, sizeof(*of));
        memset(of->slots, 0xff, sizeof(of->slots));
    }

    /* In a band of the homes, so that many are displaced. */
    slot draw_entry(uint64_t first, uint64_t span) const
    {
        const word unit = W::empty / (word)homes;
        slot entry;
        entry.m = (word)(first + below(span)) * unit + (word)below(unit - 1) + 1;
        entry.value = (word)below(1000);
        return entry;
    }

    bool holds(const arrays<BITS> *of, word m) const
    {
        bool any = false;
        for (uint64_t s = 0; s < slots_used(); s++) {
            any |= of->slots[s].m == m;
        }
        return any;
    }

    /* Draws the table before, and `wanted`. Returns false if the draw is of no use. */
    bool draw(bool of_removals, enum mode of_mode)
    {
        removes = of_removals;
        mode = of_mode;
        has_hints = !(removes && mode == DIRECT) && below(2) == 0; /* a removal that clears a slot
                                                                 at once clears no hints */
        chains = 2 + (uint32_t)below(2);
        homes = 4 + below(6);
        buckets = homes + 3 + below(6);
        clear(&before);
        const uint64_t first = below(homes - 2);
        const uint64_t span = 1 + below(homes - first);
        const uint64_t fewest = mode == LONG ? 70 : 40;
        const uint64_t count = span * SW_BUCKET_SLOTS * (fewest + below(70)) / 100;
        for (uint64_t i = 0; i < count; i++) {
            const slot entry = draw_entry(first, span);
            arrays<BITS> tried = before;
            if (!holds(&before, entry.m) && insert(&tried, entry)) {
                before = tried;
            }
        }
        for (uint64_t g = 0; has_hints && g < sw_hint_count(homes); g++) {
            const typename W::table table = table_of(&before);
            before.hints[g] = W::hint_pair(&table.main, g, 0);
        }
        wanted = before;
        return removes ? draw_removals() : draw_inserts(first, span);
    }

    bool draw_inserts(uint64_t first, uint64_t span)
    {
        for (uint32_t k = 0; k < chains; k++) {
            keys[k] = draw_entry(first, span);
            if (mode == DIRECT && below(4) == 0 && draw_update(&keys[k], k)) {
                continue;
            }
            if (holds(&wanted, keys[k].m) || !insert(&wanted, keys[k])) {
                return false;
            }
        }
        return true;
    }

    /* Turns one of the inserts into a new value of an entry that no other operation has. */
    bool draw_update(slot *key, uint32_t number)
    {
        const uint64_t from = below(slots_used());
        for (uint64_t i = 0; i < slots_used(); i++) {
            slot *held = &wanted.slots[(from + i) % slots_used()];
            bool taken = held->m == W::empty;
            for (uint32_t k = 0; k < number; k++) {
                taken |= keys[k].m == held->m;
            }
            if (!taken) {
                key->m = held->m;
                held->value = key->value;
                return true;
            }
        }
        return false;
    }

    /* Entries that lie near each other. */
    bool draw_removals()
    {
        const uint64_t from = below(slots_used());
        uint32_t found = 0;
        for (uint64_t i = 0; i < 6 * SW_BUCKET_SLOTS && found < chains; i++) {
            const uint64_t s = (from + i) % slots_used();
            if (before.slots[s].m != W::empty && below(4) != 0) {
                removals[found].slot = s;
                removals[found++].m = before.slots[s].m;
            }
        }
        clear(&wanted);
        const typename W::table from_table = table_of(&before);
        const typename W::table table = table_of(&wanted);
        for (uint64_t s = 0; s < slots_used(); s++) {
            slot entry = before.slots[s];
            bool stays = entry.m != W::empty;
            for (uint32_t r = 0; r < found; r++) {
                stays &= removals[r].m != entry.m;
            }
            uint64_t probes = 0;
            if (stays) { /* what is in the stash stays there */
                W::insert_absent(before.slots + s < from_table.stash.slots ? &table.main
                                                                           : &table.stash,
                                 &entry, &probes);
            }
        }
        return found == chains;
    }

    void run()
    {
        now = before;
        memset(&control, 0, sizeof(control));
        memset(&state, 0, sizeof(state));
        memset(&device, 0, sizeof(device));
        device.table = table_of(&now);
        device.table.state = &state;
        device.locks = now.locks;
        device.hints = has_hints ? now.hints : NULL;
        device.control = &control;
        device.scratch.long_inserts = keys;
        device.scratch.long_removals = removals;
        control.mode = SW_CUDA_ADMITTED;
        control.long_inserts = control.long_removals = chains;
        emu_launched shape = emu_shape(chains, mode == LONG ? LANES : 1);
        shape.combined = true;
        if (mode != LONG) {
            run_single(shape);
        } else if (removes) {
            emu_launch(shape, "removal_kernel", removal_kernel<BITS>, device);
        } else {
            emu_launch(shape, "insert_kernel", insert_kernel<BITS>, device);
        }
    }

    /* One thread each; then the CPU. */
    void run_single(emu_launched shape)
    {
        for (uint64_t s = buckets * SW_BUCKET_SLOTS; s < slots_used(); s++) {
            state.stash_occupied += now.slots[s].m != W::empty;
        }
        memset(rests, 0, sizeof(rests));
        memcpy(carried, keys, sizeof(carried));
        if (mode == DIRECT && removes) {
            emu_launch(shape, "direct_removal_kernel", direct_removal_kernel<BITS>, device,
                       removals, rests);
        } else if (mode == DIRECT) {
            emu_launch(shape, "direct_insert_kernel", direct_insert_kernel<BITS>, device, keys,
                       rests);
        } else if (removes) {
            emu_launch(shape, "short_removal", short_removal<BITS>, device, removals, rests);
        } else {
            emu_launch(shape, "short_insert", short_insert<BITS>, device, carried, rests);
        }
        for (uint32_t k = 0; k < chains; k++) {
            if (rests[k]) {
                finish_single(k);
            }
        }
    }

    /* Entries that a removal before this one moved are elsewhere by now. A removal of the CPU
     * clears no single hints, so all are cleared. */
    void finish_single(uint32_t k)
    {
        const typename W::table table = table_of(&now);
        if (!removes) {
            control.lost += !insert(&now, carried[k]);
            return;
        }
        for (uint64_t s = 0; s < slots_used(); s++) {
            if (now.slots[s].m == removals[k].m) {
                const bool in_stash = s / SW_BUCKET_SLOTS >= buckets;
                memset(now.hints, 0, sizeof(now.hints));
                close_gap(in_stash ? &table.stash : &table.main, now.slots + s);
                return;
            }
        }
        control.lost++;
    }

    bool is_right()
    {
        for (uint64_t b = 0; b < buckets + STASH_BUCKETS; b++) {
            slot got[SW_BUCKET_SLOTS], right[SW_BUCKET_SLOTS];
            memcpy(got, now.slots + b * SW_BUCKET_SLOTS, sizeof(got));
            memcpy(right, wanted.slots + b * SW_BUCKET_SLOTS, sizeof(right));
            W::bucket_sort(got);
            W::bucket_sort(right);
            if (memcmp(got, right, sizeof(got)) != 0) {
                snprintf(fault, sizeof(fault), "bucket %llu holds something else",
                         (unsigned long long)b);
                return false;
            }
        }
        for (uint32_t w = 0; w < LOCK_WORDS; w++) {
            if (now.locks[w] != 0) {
                snprintf(fault, sizeof(fault), "a lock is held");
                return false;
            }
        }
        if (control.lost != 0) {
            snprintf(fault, sizeof(fault), "an entry was lost");
            return false;
        }
        return hints_are_right();
    }

    bool hints_are_right()
    {
        const typename W::table table = table_of(&now);
        for (uint64_t h = 0; has_hints && h < homes; h++) {
            uint8_t exact = W::hint_pair(&table.main, h / 2, 0);
            if (sw_hint_lead(now.hints[h / 2], h % 2 != 0) > sw_hint_lead(exact, h % 2 != 0)) {
                snprintf(fault, sizeof(fault), "the hint of home %llu is too large",
                         (unsigned long long)h);
                return false;
            }
        }
        return true;
    }

    void describe() const
    {
        printf("# %u %s%s, %d-bit slots, %llu homes of %llu buckets%s: %s\n", chains,
               mode == DIRECT  ? "direct "
               : mode == SHORT ? "short "
                               : "",
               removes ? "removals" : "inserts", BITS, (unsigned long long)homes,
               (unsigned long long)buckets, has_hints ? ", hints" : "", fault);
        for (uint32_t k = 0; k < chains; k++) {
            printf("#   chain %u: m %#llx\n", k,
                   (unsigned long long)(removes ? removals[k].m : keys[k].m));
        }
        for (uint64_t b = 0; b < buckets + STASH_BUCKETS; b++) {
            describe_bucket(b, "before", before.slots + b * SW_BUCKET_SLOTS);
            describe_bucket(b, "after", now.slots + b * SW_BUCKET_SLOTS);
            describe_bucket(b, "wanted", wanted.slots + b * SW_BUCKET_SLOTS);
        }
    }

    void describe_bucket(uint64_t b, const char *when, const slot *held) const
    {
        if (held[0].m == W::empty && memcmp(held, held + 1, sizeof(*held)) == 0) {
            return;
        }
        printf("#   bucket %llu of %s, %s:", (unsigned long long)(b < buckets ? b : b - buckets),
               b < buckets ? "the main array" : "the stash", when);
        for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
            printf(" %llx", (unsigned long long)held[i].m);
        }
        printf("\n");
    }
};

struct options {
    double seconds;
    unsigned turns_lost;
    enum mode mode;
    bool must_fail;
};

struct sums {
    uint64_t tables, schedules;
    bool good;
};

template <int BITS> void search_one(const struct options *options, bool removes, struct sums *sum)
{
    static trial<BITS> trial;
    if (!trial.draw(removes, options->mode)) {
        return;
    }
    const emu_searched searched =
        emu_search(&trial.now, sizeof(trial.now), options->turns_lost - (trial.chains > 2), [] {
            trial.run();
            return trial.is_right();
        });
    sum->tables++;
    sum->schedules += searched.schedules;
    sum->good &= searched.good;
    if (!searched.good) {
        trial.describe();
    }
}

} // namespace

int main(int argc, char **argv)
{
    struct options options = {10, 2, LONG, false};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
            options.seconds = atof(argv[++i]);
        } else if (strcmp(argv[i], "--turns-lost") == 0 && i + 1 < argc) {
            options.turns_lost = (unsigned)atoi(argv[++i]);
        } else if (strcmp(argv[i], "--direct") == 0) {
            options.mode = DIRECT;
        } else if (strcmp(argv[i], "--short") == 0) {
            options.mode = SHORT;
        } else if (strcmp(argv[i], "--must-fail") == 0) {
            options.must_fail = true;
        } else {
            fprintf(stderr,
                    "usage: %s [--direct|--short] [--seconds N] [--turns-lost N] [--must-fail]\n",
                    argv[0]);
            return 2;
        }
    }
    emu_draw_anew();
    struct sums sums[2] = {{0, 0, true}, {0, 0, true}};
    const double end = emu_seconds() + options.seconds;
    while (emu_seconds() < end && (sums[0].good || sums[1].good)) {
        const bool removes = !sums[0].good || (sums[1].good && below(2) == 0);
        if (below(2) == 0) {
            search_one<64>(&options, removes, &sums[removes]);
        } else {
            search_one<128>(&options, removes, &sums[removes]);
        }
    }
    unsigned passed = 0;
    for (int removes = 0; removes < 2; removes++) {
        const bool good = sums[removes].good != options.must_fail && sums[removes].tables > 0;
        printf("%s %s%s: %llu tables, %llu schedules\n", good ? "ok    " : "FAILED",
               removes ? "removals" : "inserts", options.must_fail ? " that must fail" : "",
               (unsigned long long)sums[removes].tables,
               (unsigned long long)sums[removes].schedules);
        passed += good;
    }
    printf("%u passed, %u failed\n", passed, 2 - passed);
    return passed == 2 ? 0 : 1;
}
