/* SPDX-License-Identifier: MIT
 *
 * row_image.cuh - images of a table with rows: a copy of the slots, which hold the row numbers, and
 * a copy of all rows ever used. The copy of rows lies where the rows lie, or in host memory if some
 * rows lie there.
 *
 * Threads: see device/image.cuh.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_IMAGES_ROW_IMAGE_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_IMAGES_ROW_IMAGE_CUH

#include "table/device/image.cuh"
#include "table/robin_hood/cuda/host.cuh"
#include "table/robin_hood/cuda/images/times_image.cuh"

struct sw_cuda_rows_image : sw_cuda_slots_image {
    struct sw_cuda_rows view; /* points to the copy, or to the borrowed rows */
    uint32_t room;            /* rows of a piece */
    void *numbers;            /* [room] words of the table's width; pinned and mapped */
    uint8_t *packed;          /* [room] rows, likewise; NULL: all rows are in host memory */
    uint8_t *host;            /* the copy in host memory; NULL: none */
    uint64_t host_bytes;
    struct sw_cuda_times_image times;
};

/* Sets *part to the rows that the image copies on the device, or borrows. Waits for all work on the
 * channel's stream: the number of used rows is not known earlier. A copy in host memory is made
 * here; no writes may run meanwhile. *done is false after an error, and also, without an error, if
 * memory is short. The fields of the image except `kind` and `times` must be zero. */
cudaError_t sw_cuda_rows_image_begin(struct sw_cuda_rows_image *image, struct sw_cuda_queue *queue,
                                     bool borrow, struct sw_cuda_image_part *part, bool *done);
/* Frees what sw_cuda_rows_image_begin allocated. */
void sw_cuda_rows_image_end(struct sw_cuda_rows_image *image);

/* image_read of sw_backend, without expiry times. */
int sw_cuda_rows_image_read(struct sw_cuda_rows_image *image, struct sw_image_columns *columns);

#endif
