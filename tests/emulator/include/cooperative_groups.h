/* SPDX-License-Identifier: MIT
 *
 * cooperative_groups.h - the grid of a cooperative launch.
 */
#ifndef SHERWOOD_EMULATOR_COOPERATIVE_GROUPS_H
#define SHERWOOD_EMULATOR_COOPERATIVE_GROUPS_H

#ifdef __cplusplus
#include "cuda_runtime.h"

namespace cooperative_groups
{
struct grid_group {
    void sync() const
    {
        emu_grid_barrier();
    }
};
static inline grid_group this_grid()
{
    return grid_group();
}
} // namespace cooperative_groups

#endif
#endif
