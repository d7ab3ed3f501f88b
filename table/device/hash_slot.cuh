/* SPDX-License-Identifier: MIT
 *
 * hash_slot.cuh - the hash slot of a key (slot_filter.h), without tables.
 *
 * The CRC is linear, and begins with 0: that of a text is the XOR of what each bit of each byte
 * adds, which depends on the bit's place alone. The digits of a decimal text are '0' plus 0 to 9:
 * so four constants for each place, one of which is added for each bit of the digit, and one for
 * all the '0's of a text, by its length.
 */
#ifndef SHERWOOD_TABLE_DEVICE_HASH_SLOT_CUH
#define SHERWOOD_TABLE_DEVICE_HASH_SLOT_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#include "table/slot_filter.h"

/* The CRC goes on over bits that are 0. */
static constexpr uint32_t sw_crc16_zeros(uint32_t crc, int bits)
{
    return bits == 0 ? crc
                     : sw_crc16_zeros((crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff, bits - 1);
}

/* What bit BIT of a byte adds, which has PLACE bytes behind it. */
template <int PLACE, int BIT> struct sw_crc16_bit {
    static constexpr uint32_t value = sw_crc16_bit<PLACE - 1, BIT>::next;
    static constexpr uint32_t next = sw_crc16_zeros(value, 8);
};
template <int BIT> struct sw_crc16_bit<0, BIT> {
    static constexpr uint32_t value = sw_crc16_zeros(1U << (8 + BIT), 8);
    static constexpr uint32_t next = sw_crc16_zeros(value, 8);
};

/* What so many '0's add. */
template <int LENGTH> struct sw_crc16_text {
    static constexpr uint32_t value = sw_crc16_text<LENGTH - 1>::value ^
                                      sw_crc16_bit<LENGTH - 1, 4>::value ^
                                      sw_crc16_bit<LENGTH - 1, 5>::value;
};
template <> struct sw_crc16_text<0> {
    static constexpr uint32_t value = 0;
};

template <int PLACE, int BIT> static __device__ inline uint32_t sw_crc16_if(uint32_t digit)
{
    return digit >> BIT & 1 ? sw_crc16_bit<PLACE, BIT>::value : 0;
}

/* What the last DIGITS digits of a number add, which have PLACE ones behind them. */
template <int PLACE, int DIGITS> static __device__ inline uint32_t sw_crc16_digits(uint32_t number)
{
    if constexpr (DIGITS == 0) {
        return 0;
    } else {
        const uint32_t digit = number % 10;
        return sw_crc16_if<PLACE, 0>(digit) ^ sw_crc16_if<PLACE, 1>(digit) ^
               sw_crc16_if<PLACE, 2>(digit) ^ sw_crc16_if<PLACE, 3>(digit) ^
               sw_crc16_digits<PLACE + 1, DIGITS - 1>(number / 10);
    }
}

/* What the '0's of a key's text add; `power` is 10^LENGTH. */
template <int LENGTH, int LENGTH_MAX>
static __device__ inline uint32_t sw_crc16_length(uint64_t key, uint64_t power)
{
    if constexpr (LENGTH == LENGTH_MAX) {
        return sw_crc16_text<LENGTH>::value;
    } else {
        return key < power ? sw_crc16_text<LENGTH>::value
                           : sw_crc16_length<LENGTH + 1, LENGTH_MAX>(key, power * 10);
    }
}

static __device__ inline uint32_t sw_hash_slot(uint32_t key)
{
    const uint32_t crc = sw_crc16_digits<0, 10>(key) ^ sw_crc16_length<1, 10>(key, 10);
    return crc % SW_FILTER_SLOTS;
}

static __device__ inline uint32_t sw_hash_slot(uint64_t key)
{
    const uint64_t above = key / 100000000; /* digits 8 on */
    const uint32_t crc = sw_crc16_digits<0, 8>((uint32_t)(key % 100000000)) ^
                         sw_crc16_digits<8, 8>((uint32_t)(above % 100000000)) ^
                         sw_crc16_digits<16, 4>((uint32_t)(above / 100000000)) ^
                         sw_crc16_length<1, 20>(key, 10);
    return crc % SW_FILTER_SLOTS;
}

/* Of the bytes of a key. */
template <typename WORD> static __device__ inline uint32_t sw_hash_slot_raw(WORD key)
{
    constexpr int size = sizeof(WORD);
    int first = 0; /* of the bytes that are hashed */
    int end = size;
    int open = size;
    int close = size;
#pragma unroll
    for (int i = size - 1; i >= 0; i--) {
        open = (uint8_t)(key >> 8 * i) == '{' ? i : open;
    }
#pragma unroll
    for (int i = size - 1; i >= 0; i--) {
        close = i > open && (uint8_t)(key >> 8 * i) == '}' ? i : close;
    }
    if (close < size && close > open + 1) {
        first = open + 1;
        end = close;
    }
    uint32_t crc = 0;
    for (int i = first; i < end; i++) {
        crc ^= (uint32_t)(uint8_t)(key >> 8 * i) << 8;
#pragma unroll
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
        }
    }
    return crc % SW_FILTER_SLOTS;
}

#endif
