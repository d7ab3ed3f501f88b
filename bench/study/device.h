/* SPDX-License-Identifier: MIT
 *
 * device.h - the device the study runs on.
 */
#ifndef SHERWOOD_BENCH_STUDY_DEVICE_H
#define SHERWOOD_BENCH_STUDY_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes it the device of the calling thread. On false one line on stderr says why not. */
bool sw_study_device_choose(uint32_t device);

/* Lines "name: value" about it, the driver and the compiler. */
void sw_study_device_describe(uint32_t device, FILE *out);

#ifdef __cplusplus
}
#endif

#endif
