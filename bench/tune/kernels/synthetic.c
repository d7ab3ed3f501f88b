/* SPDX-License-Identifier: MIT
 *
 * synthetic.c - a kernel whose best variant is known: what the search and the analysis are tested
 * with, and an example of a kernel that is one C file.
 *
 * It adds numbers up. The answers are computed; the times are not measured but follow a model, so
 * that every run finds the same. By the model
 *   Width=32: unr_8.blk_128 has the highest score, but is slower than base on one workload, so that
 *             it may not be exported; unr_4.blk_128 is the best that may;
 *   Width=64: unr_2.blk_192.pre_1 is the best.
 * unr_3 forgets the last numbers: it is wrong. unr_8.blk_256 does not compile.
 *
 * Arguments: --slow SECONDS makes every answer to `time` take so long; --no-device says that there
 * is none; --silent answers no `time`; --die ends at the first `time`.
 *
 * %AXIS% Width{ct} {32,64}
 * %AXIS% Load {0.5,0.9}
 * %AXIS% Size{io} {2^10,2^16}
 * %RANGE% SW_SYNTHETIC_UNROLL unr {1,2,3,4,8}
 * %RANGE% SW_SYNTHETIC_BLOCK blk 64:256:64
 * %RANGE% SW_SYNTHETIC_PREFETCH pre {0,1} Width{ct}=[64]
 */
#include <time.h>

#include "bench/tune/kernels/serve.h"

#ifndef SW_SYNTHETIC_UNROLL
#define SW_SYNTHETIC_UNROLL 1
#endif
#ifndef SW_SYNTHETIC_BLOCK
#define SW_SYNTHETIC_BLOCK 64
#endif
#ifndef SW_SYNTHETIC_PREFETCH
#define SW_SYNTHETIC_PREFETCH 0
#endif
#ifndef SW_TUNE_WIDTH
#define SW_TUNE_WIDTH 32
#endif

#if SW_SYNTHETIC_UNROLL == 8 && SW_SYNTHETIC_BLOCK == 256
#error "blocks of 256 have no room for 8 at once"
#endif

#define SIZE_MAX_LOG2 16
/* Of a time, at most, to either side. */
#define NOISE 0.002

struct synthetic {
    uint32_t numbers[1U << SIZE_MAX_LOG2];
    uint32_t size;
    double load;
    double slow_seconds;
    bool is_silent;
    bool dies;
    uint64_t noise;
};

/* The function that is tuned. */
static uint64_t add_up(const uint32_t *numbers, uint32_t size)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i + SW_SYNTHETIC_UNROLL <= size; i += SW_SYNTHETIC_UNROLL) {
        for (uint32_t k = 0; k < SW_SYNTHETIC_UNROLL; k++) {
            sum += numbers[i + k];
        }
    }
    return sum;
}

/* How many times as fast as base. */
static double speed_up(const struct synthetic *self)
{
    const bool wide = SW_TUNE_WIDTH == 64;
    double unroll = 1;
    double block = 1;
    switch (SW_SYNTHETIC_UNROLL) {
    case 2:
        unroll = wide ? 1.3 : 1.2;
        break;
    case 4:
        unroll = wide ? 1.1 : 1.4;
        break;
    case 8:
        unroll = wide ? 1.05 : self->size < 2048 && self->load > 0.8 ? 0.8 : 1.6;
        break;
    default:
        break;
    }
    switch (SW_SYNTHETIC_BLOCK) {
    case 128:
        block = wide ? 1.05 : 1.1;
        break;
    case 192:
        block = wide ? 1.15 : 1.06;
        break;
    default:
        break;
    }
    return unroll * block * (SW_SYNTHETIC_PREFETCH != 0 ? 1.1 : 1.0);
}

static bool setup(void *context, const char *point, double *bytes, char why[SW_SERVE_TEXT_MAX])
{
    struct synthetic *self = (struct synthetic *)context;
    double size = 0;
    if (!sw_serve_number(point, "Load", &self->load) || !sw_serve_number(point, "Size", &size) ||
        size < 1 || size > (double)(1U << SIZE_MAX_LOG2)) {
        snprintf(why, SW_SERVE_TEXT_MAX, "%s is no workload of this kernel", point);
        return false;
    }
    self->size = (uint32_t)size;
    for (uint32_t i = 0; i < self->size; i++) {
        self->numbers[i] = i + 1;
    }
    *bytes = self->size * sizeof(self->numbers[0]);
    return true;
}

static bool check(void *context, char why[SW_SERVE_TEXT_MAX])
{
    const struct synthetic *self = (const struct synthetic *)context;
    uint64_t sum = add_up(self->numbers, self->size);
    uint64_t wanted = (uint64_t)self->size * (self->size + 1) / 2;
    if (sum != wanted) {
        snprintf(why, SW_SERVE_TEXT_MAX, "the sum is %llu and should be %llu",
                 (unsigned long long)sum, (unsigned long long)wanted);
    }
    return sum == wanted;
}

static void wait_for(double seconds)
{
    struct timespec pause = {.tv_sec = (time_t)seconds};
    pause.tv_nsec = (long)((seconds - (double)pause.tv_sec) * 1e9);
    (void)nanosleep(&pause, NULL);
}

static bool time_passes(void *context, uint32_t count, double *seconds, char why[SW_SERVE_TEXT_MAX])
{
    struct synthetic *self = (struct synthetic *)context;
    double base = self->size * 1e-9 * (1 + self->load);
    if (self->dies) {
        snprintf(why, SW_SERVE_TEXT_MAX, "it was told to die");
        return false;
    }
    wait_for(self->is_silent ? 3600 : self->slow_seconds);
    for (uint32_t i = 0; i < count; i++) {
        self->noise = self->noise * 6364136223846793005ULL + 1442695040888963407ULL;
        double noise = (double)(self->noise >> 40) / (1 << 24) * 2 - 1; /* -1 .. 1 */
        seconds[i] = base / speed_up(self) * (1 + NOISE * noise);
    }
    return true;
}

int main(int argc, char **argv)
{
    static struct synthetic self = {.noise = 1};
    const struct sw_serve serve = {
        .arch = "cpu",
        .device = "synthetic model",
        .context = &self,
        .setup = setup,
        .check = check,
        .time = time_passes,
    };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--no-device") == 0) {
            printf("no-device no synthetic device answers, as --no-device asks\n");
            return EXIT_FAILURE;
        }
        self.is_silent = self.is_silent || strcmp(argv[i], "--silent") == 0;
        self.dies = self.dies || strcmp(argv[i], "--die") == 0;
        if (strcmp(argv[i], "--slow") == 0 && i + 1 < argc) {
            self.slow_seconds = strtod(argv[++i], NULL);
        }
    }
    return sw_serve(&serve);
}
