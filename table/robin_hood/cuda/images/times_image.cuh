/* SPDX-License-Identifier: MIT
 *
 * times_image.cuh - expiry times of the entries of an image: a copy of the second table
 * (expiry.cuh) in host memory, of the same instant as the image. The reader looks up each entry in
 * it.
 *
 * Threads: see device/image.cuh.
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

/* Copies the table and waits for the copy; no writes may run meanwhile. *done is false if memory is
 * short. */
cudaError_t sw_cuda_times_image_take(struct sw_cuda_times_image *image,
                                     const struct sw_cuda_expiry *expiry, bool *done);
void sw_cuda_times_image_drop(struct sw_cuda_times_image *image);

/* Fills in the expiry times of the keys from `first` on; 0: never. */
void sw_cuda_times_image_fill(struct sw_cuda_times_image *image, uint32_t slot_bits,
                              struct sw_image_columns *columns, uint32_t first);

#endif
