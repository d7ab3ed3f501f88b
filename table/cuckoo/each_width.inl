/* SPDX-License-Identifier: MIT
 *
 * each_width.inl - includes the file CK_BODY names twice: for cells of 64 bits, where CK(x) is
 * sw_cuckoo_x_s64, and of 128 bits, where it is sw_cuckoo_x_s128.
 */
#define CK_BITS 64
#define CK_WORD uint32_t
#define CK_ONES UINT32_MAX
#define CK(name) sw_cuckoo_##name##_s64
#include CK_BODY
#undef CK_BITS
#undef CK_WORD
#undef CK_ONES
#undef CK

#define CK_BITS 128
#define CK_WORD uint64_t
#define CK_ONES UINT64_MAX
#define CK(name) sw_cuckoo_##name##_s128
#include CK_BODY
#undef CK_BITS
#undef CK_WORD
#undef CK_ONES
#undef CK
#undef CK_BODY
