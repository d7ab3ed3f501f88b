/* SPDX-License-Identifier: MIT
 *
 * sweeping.h - whether a loop may remove keys whose time has come.
 */
#ifndef SHERWOOD_SERVER_SWEEPING_H
#define SHERWOOD_SERVER_SWEEPING_H

#include "server/batch/sweeper.h"

/* A sweep is a write: it waits where those of clients would, and a replica makes none. `loop` is a
 * struct sw_loop. By its thread. */
enum sw_sweeping sw_loop_sweeping(void *loop);

#endif
