/* SPDX-License-Identifier: MIT
 *
 * sources.h - a hash of a kernel's sources, by which changes are noticed.
 */
#ifndef SHERWOOD_BENCH_TUNE_SOURCES_H
#define SHERWOOD_BENCH_TUNE_SOURCES_H

#include "bench/tune/space.h"

/* Sixteen hexadecimal digits. */
#define SW_TUNE_HASH_TEXT 17

/* Of text, going on from `hash`; 0 to begin. FNV-1a, 64 bits: it distinguishes versions, it is not
 * cryptographic. */
uint64_t sw_tune_hash(uint64_t hash, const char *text, size_t length);
void sw_tune_hash_text(uint64_t hash, char text[SW_TUNE_HASH_TEXT]);

/* Of the file and of every file that it or they include by #include "..", looked for beside the
 * including file and from the working directory. Others (of the system) and exported
 * policies (policy_*) do not count. */
bool sw_tune_hash_sources(const char *file, uint64_t *out, struct sw_tune_reason *reason);

#endif
