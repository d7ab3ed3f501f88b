/* SPDX-License-Identifier: MIT
 *
 * each_width.inl - includes the file RH_BODY names twice: for 64-bit slots, where RH(x) is
 * sw_x_s64, and for 128-bit slots, where it is sw_x_s128. Needs robin_hood.h before it.
 */
#define RH_BITS 64
#define RH_WORD uint32_t
#define RH_EMPTY UINT32_MAX
#define RH(name) sw_##name##_s64
#include RH_BODY
#undef RH_BITS
#undef RH_WORD
#undef RH_EMPTY
#undef RH

#define RH_BITS 128
#define RH_WORD uint64_t
#define RH_EMPTY UINT64_MAX
#define RH(name) sw_##name##_s128
#include RH_BODY
#undef RH_BITS
#undef RH_WORD
#undef RH_EMPTY
#undef RH
#undef RH_BODY
