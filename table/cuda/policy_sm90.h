/* SPDX-License-Identifier: MIT
 *
 * policy_sm90.h - variants of kernels that are faster than base on one GPU.
 *
 * Written by bench/tune/analyze --export; bench/tune/README.md. Measured on
 * NVIDIA H200 (sm_90). A kernel's file includes it for its own part.
 */

#ifdef SW_POLICY_GET

/* Slot=64 Operation=plain: base
 * kif_2.lpk_1.tpb_256.tpm_0; of 59 variants of 60 the best scored 1.0000 (min 1.0000).
 */

/* Slot=64 Operation=hinted: base
 * kih_4.lpk_1.tpb_256.tpm_0; of 59 variants of 60 the best scored 1.0186 (min 0.9616).
 */

/* Slot=128 Operation=plain: base
 * kif_2.lpk_1.tpb_256.tpm_0; of 58 variants of 60 the best scored 1.0245 (min 0.9243).
 */

/* Slot=128 Operation=hinted: kih_4.lpk_2.tpb_256.tpm_1024
 * score 1.1311, speed-ups 1.0054 .. 1.2248, mean 1.1172 over 32 workloads;
 * 58 of 60 variants tried; measured 2026-11-21 05:50:28 UTC. */
template <> struct sw_policy_get_hinted<90, 128> {
    static constexpr int kih = 4;
    static constexpr int lpk = 2;
    static constexpr int tpb = 256;
    static constexpr int tpm = 1024;
};

#endif
