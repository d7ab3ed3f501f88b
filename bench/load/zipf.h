/* SPDX-License-Identifier: MIT
 *
 * zipf.h - ranks by Zipf's law: rank r of 0 .. n-1 with probability (r + 1)^-theta / H(n, theta).
 *
 * Rejection-inversion after W. Hormann and G. Derflinger, "Rejection-inversion to generate variates
 * from monotone discrete distributions", ACM TOMACS 6 (1996): the exact distribution for every
 * theta > 0, 1 included, with no table and no sum over n; fewer than 1.2 rounds a draw on average.
 * Plain storage; read-only after init.
 */
#ifndef SHERWOOD_LOAD_ZIPF_H
#define SHERWOOD_LOAD_ZIPF_H

#include <stdint.h>

struct sw_load_zipf {
    uint64_t count;
    double theta;
    double low;      /* integral of the hat up to 1.5, minus the mass of rank 0 */
    double high;     /* integral of the hat up to count + 0.5 */
    double shortcut; /* a candidate that is this close to its integer is accepted without a test */
};

/* Initializes the sampler: count >= 1, theta > 0. */
void sw_load_zipf_init(struct sw_load_zipf *zipf, uint64_t count, double theta);
/* Draws a rank; *random is the generator's state (random.h). */
uint64_t sw_load_zipf_draw(const struct sw_load_zipf *zipf, uint64_t *random);

#endif
