/* SPDX-License-Identifier: MIT
 *
 * meet.cpp - where threads wait for each other: barriers, and what the lanes of a warp tell each
 * other.
 */
#include "threads.hpp"

namespace emu
{

static std::vector<heard *> ears; /* of nobody */

void stop_listening(thread *t)
{
    if (t->ear != NULL && --t->ear->listeners == 0) {
        ears.push_back(t->ear);
    }
    t->ear = NULL;
}

/* Lets the lanes of the mask go on if all of them have come. */
static bool have_told(warp *w, unsigned mask)
{
    const unsigned lanes = mask & w->live;
    const thread *first = NULL;
    if (lanes == 0 || (lanes & ~w->telling) != 0) {
        return false;
    }
    for (unsigned l = 0; l < 32; l++) {
        const thread *t = w->lane[l];
        if ((lanes >> l & 1) == 0) {
            continue;
        }
        if (t->mask != mask) {
            return false;
        }
        first = first != NULL ? first : t;
        if (t->kind != first->kind) {
            emu_fail("lane %u and lane %u of a warp do different things", first->lane, l);
        }
    }
    heard *ear = ears.empty() ? new heard : ears.back();
    if (!ears.empty()) {
        ears.pop_back();
    }
    ear->told.lanes = lanes;
    ear->listeners = __builtin_popcount(lanes);
    w->telling &= ~lanes;
    for (unsigned l = 0; l < 32; l++) {
        if ((lanes >> l & 1) != 0) {
            thread *t = w->lane[l];
            ear->told.word[l] = t->word;
            t->ear = ear;
            if (t != now) {
                set_ready(t);
            }
        }
    }
    return true;
}

/* --- barriers --------------------------------------------------------------------------------- */

static int barrier_result(const block *b)
{
    return b->barrier == EMU_SYNC_AND
               ? b->holding == b->live
               : (int)(b->barrier == EMU_SYNC_OR ? b->holding != 0 : b->holding);
}

/* Threads that have returned are not waited for. */
static void open_barrier(block *b)
{
    if (b->live == 0 || b->waiting < b->live) {
        return;
    }
    const int result = barrier_result(b);
    b->waiting = 0;
    b->holding = 0;
    for (thread &t : b->threads) {
        if (t.state == AT_BARRIER) {
            t.result = result;
            set_ready(&t);
        }
    }
}

static void open_grid_barrier(emu_grid *g)
{
    if (g->live == 0 || g->waiting < g->live) {
        return;
    }
    g->waiting = 0;
    for (block *b : g->resident) {
        for (thread &t : b->threads) {
            if (t.state == AT_GRID_BARRIER) {
                set_ready(&t);
            }
        }
    }
}

void go_on(emu_grid *g)
{
    g->before = NULL;
    for (block *b : g->resident) {
        for (thread &t : b->threads) {
            if (t.state == FOLLOWING) {
                set_ready(&t);
            }
        }
    }
}

void have_left(thread *t)
{
    warp *w = t->company;
    const unsigned telling = w->telling;
    for (unsigned l = 0; l < 32; l++) {
        if ((telling & w->telling) >> l & 1) {
            have_told(w, w->lane[l]->mask);
        }
    }
    open_barrier(t->home);
    open_grid_barrier(t->home->grid);
}

} // namespace emu

using namespace emu;

int emu_barrier(emu_barrier_kind kind, int predicate)
{
    thread *self = now;
    block *b = self->home;
    if (b->waiting > 0 && b->barrier != kind) {
        emu_fail("threads of a block wait at different barriers");
    }
    b->barrier = kind;
    b->waiting++;
    b->holding += predicate != 0;
    set_waiting(self, AT_BARRIER);
    open_barrier(b);
    pass_on();
    return self->result;
}

void emu_grid_barrier(void)
{
    emu_grid *g = now->home->grid;
    if (!g->launched.combined) {
        emu_fail("grid.sync in a launch that is not cooperative");
    }
    g->waiting++;
    set_waiting(now, AT_GRID_BARRIER);
    open_grid_barrier(g);
    pass_on();
}

void emu_let_follow(void)
{
    now->home->grid->letting += !now->lets_follow;
    now->lets_follow = true;
}

void emu_follow(void)
{
    if (now->home->grid->before != NULL) {
        set_waiting(now, FOLLOWING);
        pass_on();
    }
}

const emu_told *emu_tell(emu_telling kind, unsigned mask, uint64_t word)
{
    thread *self = now;
    warp *w = self->company;
    if ((mask >> self->lane & 1) == 0) {
        emu_fail("lane %u is not in the mask %#x that it gives", self->lane, mask);
    }
    stop_listening(self);
    self->kind = kind;
    self->mask = mask;
    self->word = word;
    w->telling |= 1U << self->lane;
    if (have_told(w, mask)) {
        emu_spend(8, NULL);
    } else {
        set_waiting(self, TELLING);
        pass_on();
    }
    return &self->ear->told;
}
