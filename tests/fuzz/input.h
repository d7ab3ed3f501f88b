/* SPDX-License-Identifier: MIT
 *
 * input.h - the fuzzer's bytes, taken from their beginning. Behind their end all are 0.
 */
#ifndef SHERWOOD_TESTS_FUZZ_INPUT_H
#define SHERWOOD_TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct fuzz_input {
    const uint8_t *data;
    size_t size;
};

static inline uint8_t fuzz_byte(struct fuzz_input *input)
{
    if (input->size == 0) {
        return 0;
    }
    input->size--;
    return *input->data++;
}

static inline void fuzz_bytes(struct fuzz_input *input, void *out, size_t size)
{
    size_t there = size < input->size ? size : input->size;
    memset(out, 0, size);
    memcpy(out, input->data, there);
    input->data += there;
    input->size -= there;
}

#endif
