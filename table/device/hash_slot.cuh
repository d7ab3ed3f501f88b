/* SPDX-License-Identifier: MIT
 *
 * hash_slot.cuh - computes the hash slot of a key (slot_filter.h) without lookup tables.
 *
 * The CRC is linear and starts at 0. So the CRC of a text is the XOR of one term for each set bit,
 * and a term depends only on the bit's position. A decimal digit is the character '0' plus a number
 * from 0 to 9, which has four bits. So each position has four constants, one for each bit of the
 * digit. One more constant for each text length is the CRC of that many characters '0'.
 */
#ifndef SHERWOOD_TABLE_DEVICE_HASH_SLOT_CUH
#define SHERWOOD_TABLE_DEVICE_HASH_SLOT_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#include "table/slot_filter.h"

/* Continues the CRC `crc` over `bits` zero bits. */
static constexpr uint32_t sw_crc16_zeros(uint32_t crc, int bits)
{
    return bits == 0 ? crc
                     : sw_crc16_zeros((crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff, bits - 1);
}

/* The CRC term of bit BIT of a byte that PLACE bytes follow. */
template <int PLACE, int BIT> struct sw_crc16_bit {
    static constexpr uint32_t value = sw_crc16_bit<PLACE - 1, BIT>::next;
    static constexpr uint32_t next = sw_crc16_zeros(value, 8);
};
template <int BIT> struct sw_crc16_bit<0, BIT> {
    static constexpr uint32_t value = sw_crc16_zeros(1U << (8 + BIT), 8);
    static constexpr uint32_t next = sw_crc16_zeros(value, 8);
};

/* CRC16 of LENGTH characters '0'. */
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

/* XORs the CRC terms of the last DIGITS digits of a number. PLACE digits follow them. */
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

/* Returns the CRC16 of a text of characters '0' that is as long as the key's decimal text. The
 * decimal text has at least LENGTH digits; `power` is 10^LENGTH. */
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
    const uint64_t above = key / 100000000; /* digits from the ninth on, counted from the end */
    const uint32_t crc = sw_crc16_digits<0, 8>((uint32_t)(key % 100000000)) ^
                         sw_crc16_digits<8, 8>((uint32_t)(above % 100000000)) ^
                         sw_crc16_digits<16, 4>((uint32_t)(above / 100000000)) ^
                         sw_crc16_length<1, 20>(key, 10);
    return crc % SW_FILTER_SLOTS;
}

/* Returns the hash slot of the bytes of a key. */
template <typename WORD> static __device__ inline uint32_t sw_hash_slot_raw(WORD key)
{
    constexpr int size = sizeof(WORD);
    int first = 0; /* first byte that is hashed */
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
