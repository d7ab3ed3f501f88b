/* SPDX-License-Identifier: MIT
 *
 * zipf.c - rejection-inversion sampling (see zipf.h).
 *
 * The hat is h(x) = x^-theta, its integral H(x) = (x^(1-theta) - 1) / (1-theta), or log x for
 * theta = 1. Both are written with expm1 and log1p, so that nothing cancels near theta = 1.
 */
#include "bench/load/zipf.h"

#include "bench/load/random.h"

#include <math.h>

/* Below this the code uses the Taylor series of the quotients. */
#define SMALL 1e-8

static double hat(double x, double theta)
{
    return exp(-theta * log(x));
}

static double integral(double x, double theta)
{
    double log_x = log(x), t = (1 - theta) * log_x;
    return fabs(t) > SMALL ? expm1(t) / t * log_x : log_x * (1 + t / 2);
}

static double inverse(double y, double theta)
{
    double t = y * (1 - theta);
    if (t < -1) { /* a rounding error */
        t = -1;
    }
    return exp(fabs(t) > SMALL ? log1p(t) / t * y : y * (1 - t / 2));
}

void sw_load_zipf_init(struct sw_load_zipf *zipf, uint64_t count, double theta)
{
    *zipf = (struct sw_load_zipf){
        .count = count,
        .theta = theta,
        .low = integral(1.5, theta) - 1,
        .high = integral((double)count + 0.5, theta),
        .shortcut = 2 - inverse(integral(2.5, theta) - hat(2, theta), theta),
    };
}

uint64_t sw_load_zipf_draw(const struct sw_load_zipf *zipf, uint64_t *random)
{
    for (;;) {
        double y = zipf->high + sw_load_random_unit(random) * (zipf->low - zipf->high);
        double x = inverse(y, zipf->theta);
        double k = floor(x + 0.5);
        if (k < 1) {
            k = 1;
        } else if (k > (double)zipf->count) {
            k = (double)zipf->count;
        }
        if (k - x <= zipf->shortcut || y >= integral(k + 0.5, zipf->theta) - hat(k, zipf->theta)) {
            return (uint64_t)k - 1;
        }
    }
}
