/* SPDX-License-Identifier: MIT
 *
 * row_image.cuh - images of a table with rows: a copy of the slots, which tell the rows' numbers,
 * and one of all rows that were used: where they lie, or in host memory where some of them do.
 *
 * Threads: as device/image.cuh.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_IMAGES_ROW_IMAGE_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_IMAGES_ROW_IMAGE_CUH

#include "table/device/image.cuh"
#include "table/robin_hood/cuda/host.cuh"
#include "table/robin_hood/cuda/images/times_image.cuh"

struct sw_cuda_rows_image : sw_cuda_slots_image {
    struct sw_cuda_rows view; /* of the copy, or of what is borrowed */
    uint32_t room;            /* rows of a piece */
    void *numbers;            /* [room] words of the table's width; pinned and mapped */
    uint8_t *packed;          /* [room] rows, likewise; NULL: all rows are in host memory */
    uint8_t *host;            /* a copy in host memory; NULL: there is none */
    uint64_t host_bytes;
    struct sw_cuda_times_image times;
};

/* The part of the image's copy on the device that the rows are, or what is borrowed. Waits for all
 * that was enqueued on the channel's stream: only then is it known how many rows were used. A copy
 * in host memory is made at once; nobody may write meanwhile. *done is false after an error and,
 * without one, if there is no memory. The other fields of the image are zero, but for those of
 * `kind`. */
cudaError_t sw_cuda_rows_image_begin(struct sw_cuda_rows_image *image, struct sw_cuda_queue *queue,
                                     bool borrow, struct sw_cuda_image_part *part, bool *done);
/* Frees what sw_cuda_rows_image_begin allocated. */
void sw_cuda_rows_image_end(struct sw_cuda_rows_image *image);

/* image_read of sw_backend, but for times. */
int sw_cuda_rows_image_read(struct sw_cuda_rows_image *image, struct sw_image_columns *columns);

#endif
