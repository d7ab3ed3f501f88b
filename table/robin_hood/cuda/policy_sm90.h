/* SPDX-License-Identifier: MIT
 *
 * policy_sm90.h - variants of kernels that are faster than base on one GPU.
 *
 * Written by bench/tune/analyze --export; bench/tune/README.md. Measured on
 * NVIDIA H200 (sm_90). A kernel's file includes it for its own part.
 */

#ifdef SW_POLICY_GET

/* Slot=64 Operation=plain: base
 * kif_2.lpk_1.tpb_256.tpm_0.spb_4; of 20 variants of 72 the best scored 1.0086 (min 0.9446).
 */

/* Slot=64 Operation=hinted: kih_4.lpk_1.tpb_256.tpm_1024.spb_4
 * score 1.0430, speed-ups 0.9918 .. 1.0911, mean 1.0399 over 32 workloads;
 * 29 of 72 variants tried; measured 2026-11-22 02:31:55 UTC. */
template <> struct sw_policy_get_hinted<90, 64> {
    static constexpr int keys_in_flight = 4;
    static constexpr int lanes_per_key = 1;
    static constexpr int threads_per_block = 256;
    static constexpr int threads_per_multiprocessor = 1024;
};

/* Slot=128 Operation=plain: base
 * kif_2.lpk_1.tpb_256.tpm_0.spb_4; of 20 variants of 72 the best scored 1.2104 (min 0.9556).
 */

/* Slot=128 Operation=hinted: kih_4.lpk_2.tpb_128.tpm_1024.spb_4
 * score 1.1653, speed-ups 0.9887 .. 1.2926, mean 1.1448 over 32 workloads;
 * 28 of 72 variants tried; measured 2026-11-22 02:31:27 UTC. */
template <> struct sw_policy_get_hinted<90, 128> {
    static constexpr int keys_in_flight = 4;
    static constexpr int lanes_per_key = 2;
    static constexpr int threads_per_block = 128;
    static constexpr int threads_per_multiprocessor = 1024;
};

#endif

#ifdef SW_POLICY_RANGES

/* Slot=64 Operation=scatter: tps_512.kps_2
 * score 1.3263, speed-ups 1.2267 .. 1.4826, mean 1.3606 over 12 workloads;
 * 2 of 12 variants tried; measured 2026-11-22 02:32:14 UTC. */
template <> struct sw_policy_ranges_scatter<90, 64> {
    static constexpr int threads_per_block = 512;
    static constexpr int operations_per_thread = 2;
};

/* Slot=64 Operation=apply: base
 * tpb_256.tpm_0.hin_1; of 2 variants of 18 the best scored 1.0356 (min 0.9302).
 */

/* Slot=128 Operation=scatter: tps_1024.kps_2
 * score 1.1762, speed-ups 1.0263 .. 1.5028, mean 1.2565 over 12 workloads;
 * 2 of 12 variants tried; measured 2026-11-22 02:32:09 UTC. */
template <> struct sw_policy_ranges_scatter<90, 128> {
    static constexpr int threads_per_block = 1024;
    static constexpr int operations_per_thread = 2;
};

/* Slot=128 Operation=apply: base
 * tpb_256.tpm_0.hin_1; of 2 variants of 18 the best scored 1.0000 (min 1.0000).
 */

#endif
