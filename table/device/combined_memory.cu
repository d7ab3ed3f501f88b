/* SPDX-License-Identifier: MIT
 *
 * combined_memory.cu - the memory of combined launches: borrows a launch buffer, and places the
 * arrays in it.
 */
#include "table/device/cutter.cuh"
#include "table/device/launcher.cuh"
#include "table/device/parts.cuh"

/* Maximum bytes of keys and values of one launch. */
#define VALUE_BYTES_MAX (32U << 20)

uint32_t sw_cuda_combined_max(uint32_t most, uint32_t batch_ops_max, uint32_t key_bytes,
                              uint32_t value_bytes)
{
    const uint32_t bytes_allow = VALUE_BYTES_MAX / (key_bytes + value_bytes);
    most = most < bytes_allow ? most : bytes_allow;
    return batch_ops_max < most ? batch_ops_max : most;
}

/* Cuts the arrays of launch `number`, of n operations or groups, from `base`; returns their bytes.
 * With NULL it only counts. The arrays that are zero between launches are first, at the same place
 * for all launches of all tables. */
static size_t cut(struct sw_cuda_combined *memory, uint32_t number, void *base, uint64_t n)
{
    struct sw_cuda_cutter cutter = {(char *)base, 0};
    struct sw_cuda_gathered *in = &memory->gathered[number];
    const bool is_cache = memory->is_cache;
    sw_cuda_cut(&cutter, &memory->words, (uint64_t)SW_COMBINED_BATCHES_MAX * SW_PART_WORDS);
    sw_cuda_cut(&cutter, &memory->blocks_done, 1);
    sw_cuda_cut(&cutter, &memory->launches, 1);
    sw_cuda_cut(&cutter, &memory->record, memory->record_bytes / sizeof(uint64_t));
    sw_cuda_cut(&cutter, &in->parts, 1);
    sw_cuda_cut(&cutter, &in->keys, n * memory->key_bytes);
    sw_cuda_cut(&cutter, &in->values, n * memory->value_bytes);
    sw_cuda_cut(&cutter, &in->ops, n);
    sw_cuda_cut(&cutter, &in->group_ends, n);
    sw_cuda_cut(&cutter, &in->group_refused, n);
    sw_cuda_cut(&cutter, &memory->previous, n * memory->value_bytes);
    sw_cuda_cut(&cutter, &memory->found, (n + 63) / 64);
    sw_cuda_cut(&cutter, &memory->not_admitted, is_cache ? (n + 63) / 64 : 0);
    sw_cuda_cut(&cutter, &memory->expected, is_cache ? 0 : n * memory->value_bytes);
    sw_cuda_cut(&cutter, &memory->unmet, is_cache || memory->value_bytes == 0 ? 0 : n);
    if (!is_cache) {
        memory->not_admitted = NULL;
    }
    return cutter.used;
}

/* Has the launch use the memory of the buffer. */
static void use(struct sw_cuda_combined *memory, uint32_t number,
                const struct sw_cuda_launch_buffer *buffer, uint64_t n)
{
    struct sw_cuda_launch_host *host = (struct sw_cuda_launch_host *)buffer->host;
    (void)cut(memory, number, buffer->memory, n);
    memory->staged[number] = &host->staged;
    memory->results = host->results;
    memory->gather_done = buffer->gathered;
}

/* Operations for which the smallest buffers have room. */
#define LEAST_ROOM 4096U

/* Returns the operations or groups of the largest launch. A part without operations has a group. */
static uint64_t room_max(const struct sw_cuda_combined *memory)
{
    return (uint64_t)memory->operations_max + SW_COMBINED_BATCHES_MAX;
}

/* Returns the operations or groups for which the launch gets room: a power of two, so that a buffer
 * is enlarged a few times. */
static uint64_t room_of(const struct sw_cuda_combined *memory,
                        const struct sw_combined_launch *combined)
{
    const uint64_t most = room_max(memory);
    uint64_t needed = combined->count;
    uint64_t room = LEAST_ROOM;
    for (uint32_t p = 0; p < combined->count; p++) {
        needed += combined->parts[p]->count;
    }
    while (room < needed) {
        room *= 2;
    }
    return room < most ? room : most;
}

cudaError_t sw_cuda_combined_reserve(struct sw_cuda_combined *memory,
                                     struct sw_cuda_launcher *launcher)
{
    memory->buffers = &launcher->buffers;
    memory->bytes = cut(memory, 0, NULL, room_max(memory));
    return sw_cuda_launch_buffers_reserve(&launcher->buffers, &memory->bytes,
                                          sizeof(struct sw_cuda_launch_host));
}

cudaError_t sw_cuda_combined_reserve_own(struct sw_cuda_combined *memory,
                                         struct sw_cuda_launch_buffer *buffer)
{
    memory->bytes = cut(memory, 0, NULL, room_max(memory));
    const cudaError_t error =
        sw_cuda_launch_buffer_open(buffer, memory->bytes, sizeof(struct sw_cuda_launch_host));
    if (error == cudaSuccess) {
        use(memory, 0, buffer, room_max(memory));
    }
    return error;
}

bool sw_cuda_combined_borrow(struct sw_cuda_combined *memory, struct sw_cuda_channel_owner *owner,
                             const struct sw_combined_launch *combined)
{
    struct sw_cuda_buffer_loan *loan = &memory->loans[combined->number];
    const uint64_t room = room_of(memory, combined);
    const cudaError_t error =
        sw_cuda_buffer_borrow(memory->buffers, cut(memory, combined->number, NULL, room), loan);
    if (!sw_cuda_check(owner, error, "memory of a launch")) {
        return false;
    }
    use(memory, combined->number, loan->buffer, room);
    loan->results = memory->results;
    loan->result_bytes = (size_t)combined->count * SW_PART_WORDS * sizeof(*memory->results);
    return true;
}

void sw_cuda_combined_started(struct sw_cuda_combined *memory,
                              const struct sw_combined_launch *combined,
                              const struct sw_cuda_channel *channel, uint64_t ticket)
{
    sw_cuda_buffer_started(memory->buffers, &memory->loans[combined->number],
                           (const uint64_t *)sw_cuda_channel_record(channel, ticket), ticket,
                           channel->stream);
}

void sw_cuda_combined_cancel(struct sw_cuda_combined *memory,
                             const struct sw_combined_launch *combined,
                             const struct sw_cuda_channel *channel, bool begun)
{
    struct sw_cuda_buffer_loan *loan = &memory->loans[combined->number];
    if (begun) {
        sw_cuda_buffer_abandon(memory->buffers, loan, channel->stream, memory->stream);
    } else {
        sw_cuda_buffer_return(memory->buffers, loan);
    }
}
