/* SPDX-License-Identifier: MIT
 *
 * schedule.cpp - blocks, warps and threads: each thread is a fiber, and the next thread is drawn.
 *
 * A thread keeps its turn for a random number of memory accesses. Atomics, barriers and warp
 * operations count as several accesses. From time to time the schedule draws a new average and a
 * new slow warp. Some mistakes appear if the thread changes at every access, others if one thread
 * runs long after all others.
 */
#include "threads.hpp"

#include <algorithm>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

using namespace emu;

thread *emu::now;

extern "C" {
uint3 emu_thread_index, emu_block_index;
uint3 emu_block_threads = {1, 1, 1}, emu_grid_blocks = {1, 1, 1};
}

namespace
{

const char *const STATES[] = {"ready",
                              "at __syncthreads",
                              "at grid.sync",
                              "waiting for the kernel before",
                              "at a warp's operation",
                              "done"};

/* Bytes after a shared variable, and bytes of one before its first write. */
const unsigned char FENCE = 0xb7, UNWRITTEN = 0xa5;
const size_t FENCE_BYTES = 64;

std::vector<emu_grid *> grids;
std::vector<thread *> ready;
std::vector<char *> stacks; /* of nobody */
std::vector<block *> empty; /* blocks whose threads have all returned */
emu_fiber host;
int shared_count; /* variables that have a number */
uint64_t turns_left;
uint64_t turns_since; /* a thread returned */

uint64_t random_state;
int64_t accesses_left;    /* of this turn */
int64_t phase_left;       /* accesses until the next two are drawn again */
uint64_t accesses_a_turn; /* on average */
const warp *slow;

const uint64_t PHASE = 200000;
const uint64_t ENDLESS = 400000000; /* turns without a thread that returns */

__thread bool on_device;

void draw_phase()
{
    static const uint64_t grains[] = {1, 8, 8, 64, 64, 512, 512, 4096};
    accesses_a_turn = grains[emu_random() % 8];
    phase_left = PHASE;
    slow =
        ready.empty() || emu_random() % 2 == 0 ? NULL : ready[emu_random() % ready.size()]->company;
}

int64_t draw_turn()
{
    return 1 + (int64_t)(accesses_a_turn > 1 ? emu_random() % (2 * accesses_a_turn - 1) : 0);
}

thread *draw_thread()
{
    thread *t = ready[emu_random() % ready.size()];
    for (int i = 0; i < 3 && t->company == slow; i++) {
        t = ready[emu_random() % ready.size()];
    }
    return t;
}

} // namespace

void emu::set_ready(thread *t)
{
    t->state = READY;
    t->place = ready.size();
    ready.push_back(t);
}

void emu::set_waiting(thread *t, thread_state state)
{
    ready[t->place] = ready.back();
    ready[t->place]->place = t->place;
    ready.pop_back();
    t->state = state;
}

void emu::pass_on(enum leaving why)
{
    thread *self = now;
    const bool host_next = turns_left == 0 || ready.empty() || !empty.empty();
    thread *next = host_next ? NULL : is_searching ? search_next(ready, self, why) : draw_thread();
    turns_left -= turns_left > 0;
    accesses_left = draw_turn();
    if (next == self && next != NULL) {
        return;
    }
    if (next != NULL) {
        const emu_launched *launched = &next->home->grid->launched;
        emu_thread_index = next->index;
        emu_block_index = next->home->index;
        emu_block_threads.x = launched->threads.x;
        emu_grid_blocks.x = launched->blocks.x;
    }
    now = next;
    emu_fiber_switch(self != NULL ? &self->fiber : &host, next != NULL ? next->fiber : host);
}

namespace
{

/* --- blocks ----------------------------------------------------------------------------------- */

char *new_shared(size_t bytes)
{
    char *memory = (char *)aligned_alloc(64, (bytes + FENCE_BYTES + 63) / 64 * 64);
    memset(memory, UNWRITTEN, bytes);
    memset(memory + bytes, FENCE, FENCE_BYTES);
    return memory;
}

void end_shared(const block *b, char *memory, size_t bytes, const char *name)
{
    for (size_t i = 0; memory != NULL && i < FENCE_BYTES; i++) {
        if ((unsigned char)memory[bytes + i] != FENCE) {
            emu_fail("kernel %s (%s:%d), block %u: written %zu bytes behind the %zu of shared `%s`",
                     b->grid->launched.name, b->grid->launched.file, b->grid->launched.line,
                     b->index.x, i, bytes, name);
        }
    }
    free(memory);
}

/* Main function of each thread, on its own stack. */
void run_thread()
{
    now->home->grid->launched.body();
    thread *self = now;
    block *b = self->home;
    emu_grid *g = b->grid;
    stop_listening(self);
    set_waiting(self, DONE);
    turns_since = 0;
    self->company->live &= ~(1U << self->lane);
    g->live--;
    if (--b->live == 0) {
        empty.push_back(b);
    }
    emu_let_follow();
    have_left(self);
    pass_on();
    abort();
}

void begin_block(emu_grid *g)
{
    block *b = new block();
    const unsigned count = g->launched.threads.x;
    b->index = uint3{g->begun++, 0, 0};
    b->grid = g;
    b->threads.resize(count);
    b->warps.resize((count + 31) / 32);
    b->live = count;
    if (g->launched.shared_bytes > 0) {
        b->dynamic = new_shared(g->launched.shared_bytes);
    }
    g->resident.push_back(b);
    g->live += count;
    for (unsigned i = 0; i < count; i++) {
        thread *t = &b->threads[i];
        t->index = uint3{i, 0, 0};
        t->home = b;
        t->company = &b->warps[i / 32];
        t->lane = i % 32;
        t->company->lane[t->lane] = t;
        t->company->live |= 1U << t->lane;
        t->stack = stacks.empty() ? emu_stack_new() : stacks.back();
        if (!stacks.empty()) {
            stacks.pop_back();
        }
        t->fiber = emu_fiber_begin(t->stack, run_thread);
        set_ready(t);
    }
}

void end_block(block *b)
{
    emu_grid *g = b->grid;
    for (size_t i = 0; i < b->shared.size(); i++) {
        end_shared(b, b->shared[i], b->shared_bytes[i], b->shared_names[i]);
    }
    end_shared(b, b->dynamic, g->launched.shared_bytes, "memory of the launch");
    for (thread &t : b->threads) {
        stacks.push_back(t.stack);
    }
    if (slow >= b->warps.data() && slow < b->warps.data() + b->warps.size()) {
        slow = NULL;
    }
    g->resident.erase(std::find(g->resident.begin(), g->resident.end(), b));
    g->ended++;
    delete b;
}

/* Blocks begin in the order of their numbers, which kernels rely on. */
void begin_blocks(emu_grid *g)
{
    const size_t most = g->launched.combined ? g->total : emu_options_read()->blocks;
    while (g->begun < g->total && g->resident.size() < most) {
        begin_block(g);
    }
}

void describe(const emu_grid *g)
{
    fprintf(stderr, "emulator: kernel %s (%s:%d): %u of %u blocks done\n", g->launched.name,
            g->launched.file, g->launched.line, g->ended, g->total);
    for (const block *b : g->resident) {
        for (unsigned s = READY; s < DONE; s++) {
            unsigned count = 0, first = 0;
            for (const thread &t : b->threads) {
                first = t.state == s && count == 0 ? t.index.x : first;
                count += t.state == s;
            }
            if (count > 0) {
                fprintf(stderr, "emulator:   block %u: %u threads %s, the first is %u\n",
                        b->index.x, count, STATES[s], first);
            }
        }
    }
}

[[noreturn]] void fail_all(const char *what)
{
    for (const emu_grid *g : grids) {
        describe(g);
    }
    now = NULL;
    emu_fail("%s", what);
}

} // namespace

/* --- interface -------------------------------------------------------------------------------- */

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtoull(text, NULL, 0) : otherwise;
}

const emu_options *emu_options_read(void)
{
    static emu_options options;
    if (options.blocks == 0) {
        uint64_t drawn = 0;
        if (getrandom(&drawn, sizeof(drawn), 0) != (ssize_t)sizeof(drawn)) {
            abort();
        }
        options.seed = number_of("EMU_SEED", drawn % 1000000000);
        options.blocks = (unsigned)std::max(number_of("EMU_BLOCKS", 4), (uint64_t)1);
        options.async = number_of("EMU_ASYNC", 0) != 0;
        options.copy_ms = number_of("EMU_COPY_MS", 0);
        emu_draw_anew();
        fprintf(stderr, "emulator: EMU_SEED=%llu EMU_BLOCKS=%u EMU_ASYNC=%d\n",
                (unsigned long long)options.seed, options.blocks, options.async);
    }
    return &options;
}

void emu_draw_anew(void)
{
    random_state = (emu_options_read()->seed + 1) * 0x9e3779b97f4a7c15ULL;
    accesses_left = 0;
    phase_left = 0;
}

uint64_t emu_random(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (random_state * 0x2545f4914f6cdd1dULL) >> 16;
}

emu_grid *emu_grid_begin(const emu_launched *launched, emu_grid *before)
{
    emu_grid *g = new emu_grid();
    g->launched = *launched;
    g->total = launched->blocks.x;
    g->before = before;
    if (g->total == 0 || launched->threads.x == 0 || launched->threads.x > 1024 ||
        launched->blocks.y * launched->blocks.z * launched->threads.y * launched->threads.z != 1) {
        emu_fail("kernel %s: launched with %u blocks of %u threads", launched->name, g->total,
                 launched->threads.x);
    }
    grids.push_back(g);
    begin_blocks(g);
    draw_phase();
    return g;
}

bool emu_grid_is_done(const emu_grid *grid)
{
    return grid->ended == grid->total;
}

bool emu_grid_lets_follow(const emu_grid *grid)
{
    return grid->letting == (uint64_t)grid->total * grid->launched.threads.x;
}

void emu_grid_end(emu_grid *grid)
{
    for (emu_grid *g : grids) {
        if (g->before == grid) {
            go_on(g);
        }
    }
    grids.erase(std::find(grids.begin(), grids.end(), grid));
    delete grid;
}

void emu_run(uint64_t turns)
{
    turns_left = turns;
    turns_since += turns;
    if (turns_since > ENDLESS) {
        fail_all("no thread has returned for long");
    }
    while (turns_left > 0) {
        bool done = false;
        if (ready.empty() && empty.empty()) {
            fail_all("every thread waits for another");
        }
        if (!ready.empty()) {
            on_device = true;
            pass_on();
            on_device = false;
        }
        for (block *b : empty) {
            emu_grid *g = b->grid;
            end_block(b);
            begin_blocks(g);
            done |= emu_grid_is_done(g);
        }
        empty.clear();
        if (done) {
            return;
        }
    }
}

bool emu_on_device(void)
{
    return on_device;
}

void emu_spend(unsigned accesses, const void *at)
{
    if (!on_device || (size_t)((const char *)at - now->stack) < EMU_STACK_BYTES) {
        return;
    }
    if (is_searching) {
        if (is_watched(at)) {
            pass_on(LEAVES_AT_ACCESS);
        }
        return;
    }
    accesses_left -= accesses;
    phase_left -= accesses;
    if (accesses_left <= 0) {
        if (phase_left <= 0) {
            draw_phase();
        }
        pass_on();
    }
}

void emu_meet(const void *at)
{
    emu_spend(8, at);
}

void emu_in_vain(void)
{
    if (on_device && is_searching) {
        pass_on(LEAVES_IN_VAIN);
    }
}

void emu_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "emulator: FAILED: ");
    if (now != NULL) {
        const emu_launched *launched = &now->home->grid->launched;
        fprintf(stderr, "kernel %s (%s:%d), block %u, thread %u: ", launched->name, launched->file,
                launched->line, now->home->index.x, now->index.x);
    }
    vfprintf(stderr, format, arguments);
    fprintf(stderr, " (EMU_SEED=%llu EMU_BLOCKS=%u EMU_ASYNC=%d)\n",
            (unsigned long long)emu_options_read()->seed, emu_options_read()->blocks,
            emu_options_read()->async);
    va_end(arguments);
    fflush(stdout);
    _exit(70);
}

/* --- called by kernels ------------------------------------------------------------------------ */

void *emu_shared(int *place, size_t bytes, const char *name)
{
    block *b = now->home;
    if (*place == 0) {
        *place = ++shared_count;
    }
    const size_t i = (size_t)*place;
    if (b->shared.size() <= i) {
        b->shared.resize(i + 1);
        b->shared_bytes.resize(i + 1);
        b->shared_names.resize(i + 1);
    }
    if (b->shared[i] == NULL) {
        b->shared[i] = new_shared(bytes);
        b->shared_bytes[i] = bytes;
        b->shared_names[i] = name;
    }
    return b->shared[i];
}

void *emu_dynamic_shared(void)
{
    return now->home->dynamic;
}
