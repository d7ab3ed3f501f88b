/* SPDX-License-Identifier: MIT
 *
 * search.cpp - schedules by depth-first search. A list of choices identifies a run. The next run
 * makes the same choices, except the last one that has an alternative.
 */
#include "search.hpp"
#include "threads.hpp"

#include <algorithm>
#include <time.h>

using namespace emu;

namespace
{

struct choice {
    unsigned taken, options;
};

struct search {
    const char *from;
    size_t bytes;
    unsigned turns_lost_max;
    std::vector<choice> path;
    size_t depth; /* choices made in this run */
    unsigned turns_lost;
    /* Of blocks, by number. In vain: it waits for something that another has to do, so it gets no
     * turn until another has done anything. Doing: it was about to make an access, and if that was
     * not in vain, has made it. */
    uint64_t in_vain, doing;
    unsigned rounds; /* since all blocks were in vain, and were all given another turn */
} searching;

/* So many rounds without anything else: they wait for each other. Few blocks ask again because
 * something is not as it was, though nobody did anything meanwhile. */
const unsigned ROUNDS = 100;

unsigned choose(unsigned options)
{
    if (options == 1) {
        return 0;
    }
    if (searching.depth == searching.path.size()) {
        searching.path.push_back({0, options});
    }
    const choice made = searching.path[searching.depth++];
    if (made.options != options) {
        emu_fail("a run does not repeat what the one before did");
    }
    return made.taken;
}

/* The next path, or false: this was the last one. */
bool next_path()
{
    std::vector<choice> &path = searching.path;
    while (!path.empty() && path.back().taken + 1 == path.back().options) {
        path.pop_back();
    }
    if (path.empty()) {
        return false;
    }
    path.back().taken++;
    return true;
}

uint64_t bit_of(const block *b)
{
    return 1ULL << b->index.x % 64;
}

/* Returns the first ready thread of each block, in the order of the blocks. Leaves out the block
 * `but` and blocks that wait in vain. */
std::vector<thread *> others(const std::vector<thread *> &ready, const block *but)
{
    std::vector<thread *> firsts;
    for (thread *t : ready) {
        if (t->home == but || (searching.in_vain & bit_of(t->home)) != 0) {
            continue;
        }
        auto same = std::find_if(firsts.begin(), firsts.end(),
                                 [t](const thread *f) { return f->home == t->home; });
        if (same == firsts.end()) {
            firsts.push_back(t);
        } else if (t->index.x < (*same)->index.x) {
            *same = t;
        }
    }
    std::sort(firsts.begin(), firsts.end(),
              [](const thread *a, const thread *b) { return a->home->index.x < b->home->index.x; });
    return firsts;
}

} // namespace

bool emu::is_searching;

bool emu::is_watched(const void *at)
{
    return (size_t)((const char *)at - searching.from) < searching.bytes;
}

thread *emu::search_next(const std::vector<thread *> &ready, thread *self, leaving why)
{
    const block *home = self != NULL ? self->home : NULL;
    if (why == LEAVES_IN_VAIN) {
        searching.doing &= ~bit_of(home);
        searching.in_vain |= bit_of(home);
    } else if (home == NULL || (searching.doing & bit_of(home)) != 0) {
        searching.in_vain = 0;
        searching.rounds = 0;
    }
    if (why == LEAVES_AT_ACCESS) {
        searching.doing |= bit_of(home);
        const std::vector<thread *> rest = others(ready, home);
        if (searching.turns_lost == searching.turns_lost_max) {
            return self;
        }
        const unsigned taken = choose(1 + (unsigned)rest.size());
        searching.turns_lost += taken > 0;
        return taken > 0 ? rest[taken - 1] : self;
    }
    if (why == LEAVES_WAITING && home != NULL) { /* the other threads of its block go on */
        thread *first = NULL;
        for (thread *t : ready) {
            first = t->home == home && (first == NULL || t->index.x < first->index.x) ? t : first;
        }
        if (first != NULL) {
            return first;
        }
    }
    std::vector<thread *> rest = others(ready, home);
    if (rest.empty()) {
        if (++searching.rounds == ROUNDS) {
            emu_fail("every block waits for something that another has to do");
        }
        searching.in_vain = 0;
        rest = others(ready, NULL);
    }
    return rest[choose((unsigned)rest.size())];
}

emu_searched emu_search(const void *from, size_t bytes, unsigned turns_lost,
                        const std::function<bool()> &run)
{
    emu_searched searched = {0, true};
    searching = {(const char *)from, bytes, turns_lost, {}, 0, 0, 0, 0, 0};
    is_searching = true;
    do {
        searching.depth = 0;
        searching.turns_lost = 0;
        searching.in_vain = searching.doing = 0;
        searching.rounds = 0;
        searched.schedules++;
        searched.good = run();
    } while (searched.good && next_path());
    is_searching = false;
    return searched;
}

double emu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
