/* SPDX-License-Identifier: MIT
 *
 * steps.cu - keys, batches of the library's own, and checks of answers.
 */
#include "bench/tune/runner/stand.cuh"

#define BLOCK 256

static uint32_t blocks_for(uint64_t threads)
{
    return (uint32_t)((threads + BLOCK - 1) / BLOCK);
}

template <int BITS>
static __global__ void __launch_bounds__(BLOCK)
    write_kernel(typename sw_width<BITS>::word *keys, typename sw_width<BITS>::word *values,
                 const struct sw_tune_draw draw, uint64_t count)
{
    uint64_t j = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (j < count) {
        uint64_t number = sw_tune_number(draw, j);
        keys[j] = sw_tune_key<BITS>(number);
        if (values != NULL) {
            values[j] = sw_tune_value<BITS>(number, draw.generation);
        }
    }
}

/* `answers` may be NULL. `all`: every key is present, else those that are not fresh. */
template <int BITS>
static __global__ void __launch_bounds__(BLOCK)
    verify_kernel(const typename sw_width<BITS>::word *answers, const uint32_t *found,
                  const struct sw_tune_draw draw, uint32_t count, bool all,
                  unsigned long long *wrong)
{
    uint32_t j = blockIdx.x * BLOCK + threadIdx.x;
    if (j >= count) {
        return;
    }
    uint64_t number = sw_tune_number(draw, j);
    bool present = all || number < SW_TUNE_FRESH;
    typename sw_width<BITS>::word wanted =
        present ? sw_tune_value<BITS>(number, draw.generation) : 0;
    bool is_found = (found[j / 32] >> j % 32 & 1) != 0;
    if (is_found != present || (answers != NULL && answers[j] != wanted)) {
        atomicAdd(wrong, 1ULL);
    }
}

template <int BITS>
bool sw_tune_write_keys(struct sw_tune_stand<BITS> *stand, const struct sw_tune_draw &draw,
                        uint64_t count, char why[SW_SERVE_TEXT_MAX])
{
    write_kernel<BITS><<<blocks_for(count), BLOCK, 0, stand->queue->stream>>>(
        stand->keys, count <= SW_TUNE_FILL_MAX ? stand->values : NULL, draw, count);
    return sw_tune_good(cudaGetLastError(), "writing keys", why) &&
           sw_tune_good(cudaStreamSynchronize(stand->queue->stream), "writing keys", why);
}

template <int BITS>
bool sw_tune_run_batch(struct sw_tune_stand<BITS> *stand, enum sw_op op, uint64_t offset,
                       uint32_t count, char why[SW_SERVE_TEXT_MAX])
{
    struct sw_batch batch;
    memset(&batch, 0, sizeof(batch));
    batch.kind = SW_BATCH_OPERATIONS;
    batch.op = op;
    batch.count = count;
    batch.keys = stand->keys + offset;
    batch.values = op == SW_SET ? stand->values + offset : NULL;
    if (op == SW_GET) {
        batch.previous = stand->answers;
        batch.found = (uint64_t *)stand->found;
    }
    return sw_tune_wait_for<BITS>(stand, &batch, why);
}

template <int BITS>
bool sw_tune_wait_for(struct sw_tune_stand<BITS> *stand, struct sw_batch *batch,
                      char why[SW_SERVE_TEXT_MAX])
{
    int status = stand->backend->submit(stand->queue, batch);
    if (status == SW_OK) {
        do {
            status = stand->backend->poll(stand->queue, batch);
        } while (status == SW_PENDING);
    }
    if (status != SW_OK) {
        snprintf(why, SW_SERVE_TEXT_MAX, "a batch of the table: %s", sw_status_text(status));
    }
    return status == SW_OK;
}

template <int BITS>
bool sw_tune_verify(struct sw_tune_stand<BITS> *stand, enum sw_tune_verified what,
                    char why[SW_SERVE_TEXT_MAX])
{
    unsigned long long wrong = 0;
    auto good = [&](cudaError_t error) { return sw_tune_good(error, "checking answers", why); };
    if (!good(cudaMemset(stand->wrong, 0, sizeof(*stand->wrong)))) {
        return false;
    }
    verify_kernel<BITS><<<blocks_for(stand->batch), BLOCK>>>(
        what == SW_TUNE_WAS_FOUND ? NULL : stand->answers, stand->found, stand->draw, stand->batch,
        what == SW_TUNE_ALL_STORED, stand->wrong);
    if (!good(cudaGetLastError()) ||
        !good(cudaMemcpy(&wrong, stand->wrong, sizeof(wrong), cudaMemcpyDeviceToHost))) {
        return false;
    }
    if (wrong != 0) {
        snprintf(why, SW_SERVE_TEXT_MAX, "%llu of %u answers are not what was stored", wrong,
                 (unsigned)stand->batch);
    }
    return wrong == 0;
}

#define INSTANTIATE(BITS)                                                                          \
    template bool sw_tune_write_keys<BITS>(struct sw_tune_stand<BITS> *,                           \
                                           const struct sw_tune_draw &, uint64_t, char *);         \
    template bool sw_tune_run_batch<BITS>(struct sw_tune_stand<BITS> *, enum sw_op, uint64_t,      \
                                          uint32_t, char *);                                       \
    template bool sw_tune_wait_for<BITS>(struct sw_tune_stand<BITS> *, struct sw_batch *, char *); \
    template bool sw_tune_verify<BITS>(struct sw_tune_stand<BITS> *, enum sw_tune_verified, char *);
INSTANTIATE(64)
INSTANTIATE(128)
