/* SPDX-License-Identifier: MIT
 *
 * score.c - weights and means.
 */
#include "bench/tune/score.h"

#include <string.h>

double sw_tune_point_weight(const struct sw_tune_space *space, uint32_t point)
{
    double weight = 1;
    for (uint32_t a = 0; a < space->axis_count; a++) {
        if (space->axes[a].kind == SW_TUNE_ORDERED) {
            weight *= sw_tune_point_value(space, false, point, a) + 1;
        }
    }
    return weight;
}

bool sw_tune_score(const struct sw_tune_space *space, const double *base, const double *variant,
                   struct sw_tune_score *out)
{
    double weights = 0;
    memset(out, 0, sizeof(*out));
    for (uint32_t p = 0; p < sw_tune_point_count(space, false); p++) {
        if (base[p] <= 0 || variant[p] <= 0) {
            continue;
        }
        double speed_up = base[p] / variant[p];
        double weight = sw_tune_point_weight(space, p);
        weights += weight;
        out->score += weight * speed_up;
        out->mean += speed_up;
        out->min = out->points == 0 || speed_up < out->min ? speed_up : out->min;
        out->max = speed_up > out->max ? speed_up : out->max;
        out->points++;
    }
    if (out->points == 0) {
        return false;
    }
    out->score /= weights;
    out->mean /= out->points;
    return true;
}
