/* SPDX-License-Identifier: MIT
 *
 * sweeping.h - whether a loop may remove expired keys.
 */
#ifndef SHERWOOD_SERVER_SWEEPING_H
#define SHERWOOD_SERVER_SWEEPING_H

#include "server/batch/sweeper.h"

/* A sweep is a write: the obstacles of clients' writes also stop it, and on a replica it removes no
 * key. `loop` is a struct sw_loop. Call it on the loop's thread. */
enum sw_sweeping sw_loop_sweeping(void *loop);

#endif
