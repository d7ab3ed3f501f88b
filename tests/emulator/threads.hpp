/* SPDX-License-Identifier: MIT
 *
 * threads.hpp - the state of a running kernel: its blocks, warps and threads.
 */
#ifndef SHERWOOD_EMULATOR_THREADS_HPP
#define SHERWOOD_EMULATOR_THREADS_HPP

#include "fiber.hpp"
#include "schedule.hpp"

#include <vector>

namespace emu
{

enum thread_state { READY, AT_BARRIER, AT_GRID_BARRIER, FOLLOWING, TELLING, DONE };

struct heard {
    emu_told told;
    int listeners;
};

struct block;
struct warp;

struct thread {
    uint3 index;
    block *home;
    warp *company;
    unsigned lane;
    thread_state state;
    size_t place; /* in `ready` */
    char *stack;
    emu_fiber fiber;
    emu_telling kind; /* while TELLING, and the next two */
    unsigned mask;
    uint64_t word;
    heard *ear;
    int result; /* of the last barrier */
    bool lets_follow;
};

struct warp {
    thread *lane[32];
    unsigned live; /* lanes that have not returned */
    unsigned telling;
};

struct block {
    uint3 index;
    emu_grid *grid;
    std::vector<thread> threads;
    std::vector<warp> warps;
    unsigned live;
    unsigned waiting; /* at the barrier; those whose predicate holds */
    unsigned holding;
    emu_barrier_kind barrier;
    std::vector<char *> shared; /* by number of the variable */
    std::vector<size_t> shared_bytes;
    std::vector<const char *> shared_names;
    char *dynamic;
};

} // namespace emu

struct emu_grid {
    emu_launched launched;
    unsigned begun, ended, total; /* blocks */
    std::vector<emu::block *> resident;
    unsigned live, waiting; /* threads; at the grid's barrier */
    uint64_t letting;       /* threads that let the next kernel begin, or have returned */
    emu_grid *before;       /* the kernel that this one follows, if it is at work */
};

namespace emu
{

extern thread *now; /* whose turn it is; NULL: the host's */

/* Whether a thread may have the turn. */
void set_ready(thread *t);
void set_waiting(thread *t, thread_state state);
/* search.cpp, where schedules are not drawn: whose turn comes after that of `self` (NULL: the
 * host's), who may be among those ready. */
enum leaving { LEAVES_WAITING, LEAVES_AT_ACCESS, LEAVES_IN_VAIN };
extern bool is_searching;
bool is_watched(const void *at);
thread *search_next(const std::vector<thread *> &ready, thread *self, leaving why);

/* The turn goes to another thread, or to the host. Returns when it is back. */
void pass_on(enum leaving why = LEAVES_WAITING);

/* meet.cpp: a thread has returned; no other thread waits for it any more. */
void have_left(thread *t);
/* The kernel that this one follows is done. */
void go_on(emu_grid *g);
/* Ends the use of the last warp result by this thread. */
void stop_listening(thread *t);

} // namespace emu

#endif
