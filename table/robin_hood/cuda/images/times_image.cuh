/* SPDX-License-Identifier: MIT
 *
 * times_image.cuh - when the entries of an image expire: a copy of the second table (expiry.cuh) in
 * memory of the host, of the same instant, in which each entry that is read is looked up.
 *
 * Threads: as device/image.cuh.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_IMAGES_TIMES_IMAGE_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_IMAGES_TIMES_IMAGE_CUH

#include <cuda_runtime.h>

#include "table/backend.h"
#include "table/robin_hood/geometry.h"
#include "table/robin_hood/robin_hood.h"

struct sw_cuda_expiry;

struct sw_cuda_times_image {
    struct sw_geometry geometry;
    struct sw_state state;
    uint64_t seed;
    void *slots; /* NULL: no entry expires */
};

/* Waits for the copy; nobody may write meanwhile. *done is false if there is no memory. */
cudaError_t sw_cuda_times_image_take(struct sw_cuda_times_image *image,
                                     const struct sw_cuda_expiry *expiry, bool *done);
void sw_cuda_times_image_drop(struct sw_cuda_times_image *image);

/* The times of the keys from `first` on; 0: never. */
void sw_cuda_times_image_fill(struct sw_cuda_times_image *image, uint32_t slot_bits,
                              struct sw_image_columns *columns, uint32_t first);

#endif
