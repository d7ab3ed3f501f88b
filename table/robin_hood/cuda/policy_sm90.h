/* SPDX-License-Identifier: MIT
 *
 * policy_sm90.h - variants of kernels that are faster than base on one GPU.
 *
 * Written by bench/tune/analyze.py --export; bench/tune/README.md. Measured on
 * NVIDIA H200 (sm_90). A kernel's file includes it for its own part.
 */

#ifdef SW_POLICY_GET

/* Slot=64 Operation=plain: base
 * kif_2.lpk_1.tpb_256.tpm_0; of 24 variants of 24 the best scored 1.0195 (min 0.9761).
 */

/* Slot=128 Operation=plain: base
 * kif_2.lpk_1.tpb_256.tpm_0; of 24 variants of 24 the best scored 1.0342 (min 0.9335).
 */

/* Slot=64 Operation=hinted: kih_4.lpk_1.tpb_256.tpm_1024
 * score 1.0534, speed-ups 0.9711 .. 1.0712 over 7 points;
 * 24 of 24 variants tried; measured 2026-11-29 22:26:50 UTC. */
template <> struct sw_policy_get_hinted<90, 64> {
    static constexpr int keys_in_flight = 4;
    static constexpr int lanes_per_key = 1;
    static constexpr int threads_per_block = 256;
    static constexpr int threads_per_multiprocessor = 1024;
};

/* Slot=128 Operation=hinted: kih_4.lpk_2.tpb_128.tpm_1024
 * score 1.1605, speed-ups 1.0155 .. 1.2005 over 7 points;
 * 24 of 24 variants tried; measured 2026-11-29 22:26:50 UTC. */
template <> struct sw_policy_get_hinted<90, 128> {
    static constexpr int keys_in_flight = 4;
    static constexpr int lanes_per_key = 2;
    static constexpr int threads_per_block = 128;
    static constexpr int threads_per_multiprocessor = 1024;
};

#endif

#ifdef SW_POLICY_RANGES

/* Slot=64 Operation=scatter: tps_512.kps_2
 * score 1.0528, speed-ups 0.9931 .. 1.0964 over 14 points;
 * 12 of 12 variants tried; measured 2026-11-29 22:25:17 UTC. */
template <> struct sw_policy_ranges_scatter<90, 64> {
    static constexpr int threads_per_block = 512;
    static constexpr int operations_per_thread = 2;
};

/* Slot=128 Operation=scatter: tps_512.kps_2
 * score 1.0706, speed-ups 1.0049 .. 1.1345 over 14 points;
 * 12 of 12 variants tried; measured 2026-11-29 22:25:17 UTC. */
template <> struct sw_policy_ranges_scatter<90, 128> {
    static constexpr int threads_per_block = 512;
    static constexpr int operations_per_thread = 2;
};

/* Slot=64 Operation=apply: tpb_512.tpm_0.hin_1
 * score 1.0505, speed-ups 1.0181 .. 1.1495 over 14 points;
 * 18 of 18 variants tried; measured 2026-11-29 22:26:17 UTC. */
template <> struct sw_policy_ranges_apply<90, 64> {
    static constexpr int threads_per_block = 512;
    static constexpr int threads_per_multiprocessor = 0;
    static constexpr int reads_hints = 1;
};

/* Slot=128 Operation=apply: tpb_512.tpm_1536.hin_1
 * score 1.1207, speed-ups 1.0041 .. 1.5029 over 14 points;
 * 18 of 18 variants tried; measured 2026-11-29 22:26:17 UTC. */
template <> struct sw_policy_ranges_apply<90, 128> {
    static constexpr int threads_per_block = 512;
    static constexpr int threads_per_multiprocessor = 1536;
    static constexpr int reads_hints = 1;
};

#endif
