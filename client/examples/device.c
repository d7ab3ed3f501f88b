/* SPDX-License-Identifier: MIT
 *
 * device.c - a million keys of 64 bits in the memory of the GPU that the server uses: the server's
 * kernels store and read them, first by calls that wait, then in the order of a stream. The host
 * makes the keys and checks the answers; it copies nothing else. The server has keys and values of
 * 8 bytes, which are integers.
 *
 *     cc device.c $(pkg-config --cflags --libs sherwood-cuda) -I$CUDA/include -L$CUDA/lib64 \
 *        -lcudart -o device && ./device unix:/run/sherwood/sherwood.sock
 */
#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sherwood-cuda.h"

#define COUNT 1000000
#define BYTES (COUNT * sizeof(uint64_t))

/* Keys, values, answers and found bits, one array after the other. */
struct arrays {
    uint64_t *keys, *values, *answers, *found;
};
#define ARRAYS_BYTES (3 * BYTES + sherwood_found_words(COUNT) * sizeof(uint64_t))

static struct arrays arrays_in(uint64_t *memory)
{
    return (struct arrays){memory, memory + COUNT, memory + 2 * COUNT, memory + 3 * COUNT};
}

/* Ends the program if a call of CUDA fails. */
static void must(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

/* Copies the answers to the host, and counts the right ones: key 7 i has the value i times
 * `factor`. */
static uint64_t right_answers(const struct arrays *device, struct arrays *host, uint64_t factor)
{
    uint64_t right = 0;
    must(cudaMemcpy(host->answers, device->answers, ARRAYS_BYTES - 2 * BYTES,
                    cudaMemcpyDeviceToHost),
         "copying the answers");
    for (uint64_t i = 0; i < COUNT; i++) {
        right += sherwood_found(host->found, i) && host->answers[i] == factor * i;
    }
    return right;
}

/* Calls that wait. The keys and values are in device memory already. */
static int waiting(struct sherwood_cuda *cuda, const struct arrays *device)
{
    int status =
        sherwood_cuda_run(cuda, SHERWOOD_SET, device->keys, device->values, COUNT, NULL, NULL);
    return status != SHERWOOD_OK ? status
                                 : sherwood_cuda_run(cuda, SHERWOOD_GET, device->keys, NULL, COUNT,
                                                     device->answers, device->found);
}

/* Calls in the order of a stream: add each value to itself, then read it. */
static int in_stream_order(struct sherwood_cuda *cuda, const struct arrays *device)
{
    cudaStream_t stream;
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    int status = sherwood_cuda_run_on(cuda, SHERWOOD_SUM, device->keys, device->values, COUNT, NULL,
                                      NULL, stream);
    if (status == SHERWOOD_OK) {
        status =
            sherwood_cuda_get(cuda, device->keys, COUNT, device->answers, device->found, stream);
    }
    must(cudaStreamSynchronize(stream), "waiting for the stream");
    must(cudaStreamDestroy(stream), "destroying the stream");
    return status == SHERWOOD_OK ? sherwood_cuda_check(cuda, true) : status;
}

/* Checks that the table has the types of the arrays. */
static bool has_our_types(const struct sherwood_server *server)
{
    bool same = server->key_bytes == 8 && server->value_bytes == 8 &&
                server->value_format == SHERWOOD_VALUES_INTEGER;
    if (!same) {
        fprintf(stderr,
                "the server has keys of %u bytes and values of %u bytes: this example needs "
                "integers of 8 bytes: start sherwoodd with --key-bits 64, and without "
                "--value-bytes and --value-type\n",
                server->key_bytes, server->value_bytes);
    }
    return same;
}

int main(int argc, char **argv)
{
    struct sherwood_cuda *cuda;
    char text[256];
    uint64_t *memory, *copy = malloc(ARRAYS_BYTES);
    const char *address = argc > 1 ? argv[1] : "unix:/run/sherwood/sherwood.sock";
    if (copy == NULL ||
        sherwood_cuda_attach(address, NULL, &cuda, text, sizeof(text)) != SHERWOOD_OK) {
        fprintf(stderr, "%s\n", copy == NULL ? "not enough memory" : text);
        free(copy);
        return 1;
    }
    if (!has_our_types(sherwood_cuda_server(cuda))) {
        sherwood_cuda_close(cuda);
        free(copy);
        return 1;
    }
    struct arrays host = arrays_in(copy);
    for (uint64_t i = 0; i < COUNT; i++) {
        host.keys[i] = i * 7;
        host.values[i] = i;
    }
    must(cudaSetDevice(sherwood_cuda_device(cuda)), "the server's device");
    must(cudaMalloc((void **)&memory, ARRAYS_BYTES), "memory of the device");
    must(cudaMemcpy(memory, copy, 2 * BYTES, cudaMemcpyHostToDevice), "copying the keys");
    must(cudaDeviceSynchronize(), "waiting for the device");
    struct arrays device = arrays_in(memory);
    int status = waiting(cuda, &device);
    if (status == SHERWOOD_OK) {
        printf("%" PRIu64 " of %d values are right", right_answers(&device, &host, 1), COUNT);
        status = in_stream_order(cuda, &device);
    }
    if (status == SHERWOOD_OK) {
        printf(", and %" PRIu64 " after the stream\n", right_answers(&device, &host, 2));
    } else {
        fprintf(stderr, "%s: %s\n", sherwood_status_text(status), sherwood_cuda_error());
    }
    sherwood_cuda_close(cuda);
    (void)cudaFree(memory);
    free(copy);
    return status == SHERWOOD_OK ? 0 : 1;
}
