/* SPDX-License-Identifier: MIT
 *
 * emu_launch.cuh - launches of kernels, as rewrite.py writes them and as the runtime has them.
 */
#ifndef SHERWOOD_EMULATOR_LAUNCH_CUH
#define SHERWOOD_EMULATOR_LAUNCH_CUH

/* std::function alone: each kernel's file would parse the rest of <functional>. */
#if __has_include(<bits/std_function.h>)
#include <bits/std_function.h>
#else
#include <functional>
#endif
#include <tuple>

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1)
        : x(x_), y(y_), z(z_)
    {
    }
};

/* Compute capability that the kernels are compiled for, times 10. */
#ifdef __CUDA_ARCH__
#define EMU_ARCH (__CUDA_ARCH__ / 10)
#else
#define EMU_ARCH 0 /* not a kernel's file: it asks for none */
#endif

/* The configuration of a launch, by CUDA's syntax or without it. */
struct emu_launched {
    dim3 blocks, threads;
    size_t shared_bytes;
    cudaStream_t stream;
    bool combined; /* all blocks run at once: a cooperative launch */
    bool follows;  /* may begin once the kernel before it on the stream lets it: programmatic
                      dependent launch */
    const char *name, *file;
    int line;
    std::function<void()> body; /* what each thread does */
};
cudaError_t emu_called(void); /* whether the launch fails (failing.hpp) */
void emu_enqueue_kernel(const emu_launched &launched);
void emu_enqueue_work(cudaStream_t stream, std::function<void()> work);

static inline emu_launched emu_shape(dim3 blocks, dim3 threads, size_t shared_bytes = 0,
                                     cudaStream_t stream = 0)
{
    return emu_launched{blocks, threads, shared_bytes, stream, false, false, "", "", 0, nullptr};
}

/* The arguments are copied when the kernel is launched, as parameters of the kernel's types. */
template <typename... PARAMETERS, typename... ARGUMENTS>
static inline cudaError_t emu_launch_at(const char *file, int line, emu_launched launched,
                                        const char *name, void (*kernel)(PARAMETERS...),
                                        ARGUMENTS &&...arguments)
{
    const cudaError_t error = emu_called();
    if (error != cudaSuccess) {
        return error;
    }
    std::tuple<std::remove_cv_t<PARAMETERS>...> copies(std::forward<ARGUMENTS>(arguments)...);
    launched.name = name;
    launched.file = file;
    launched.line = line;
    launched.body = [kernel, copies] { std::apply(kernel, copies); };
    emu_enqueue_kernel(launched);
    return cudaSuccess;
}
#define emu_launch(...) emu_launch_at(__FILE__, __LINE__, __VA_ARGS__)

template <typename... PARAMETERS, size_t... I>
static inline cudaError_t emu_launch_together(emu_launched launched, void (*kernel)(PARAMETERS...),
                                              void **arguments, std::index_sequence<I...>)
{
    launched.combined = true;
    return emu_launch_at("", 0, launched, "a cooperative kernel", kernel,
                         *(std::remove_cv_t<PARAMETERS> *)arguments[I]...);
}
template <typename... PARAMETERS>
static inline cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(PARAMETERS...), dim3 blocks,
                                                      dim3 threads, void **arguments,
                                                      size_t shared_bytes, cudaStream_t stream)
{
    return emu_launch_together(emu_shape(blocks, threads, shared_bytes, stream), kernel, arguments,
                               std::index_sequence_for<PARAMETERS...>());
}

enum cudaLaunchAttributeID { cudaLaunchAttributeProgrammaticStreamSerialization = 6 };
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    struct {
        int programmaticStreamSerializationAllowed;
    } val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned int numAttrs;
};
template <typename... PARAMETERS, typename... ARGUMENTS>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config,
                                             void (*kernel)(PARAMETERS...),
                                             ARGUMENTS &&...arguments)
{
    emu_launched launched =
        emu_shape(config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream);
    for (unsigned int a = 0; a < config->numAttrs; a++) {
        launched.follows |= config->attrs[a].val.programmaticStreamSerializationAllowed != 0;
    }
    return emu_launch_at("", 0, launched, "a kernel of cudaLaunchKernelEx", kernel,
                         std::forward<ARGUMENTS>(arguments)...);
}

template <typename KERNEL>
static inline cudaError_t cudaFuncSetAttribute(KERNEL *, cudaFuncAttribute, int)
{
    return cudaSuccess;
}
template <typename KERNEL>
static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, KERNEL *)
{
    *attributes = cudaFuncAttributes();
    attributes->ptxVersion = attributes->binaryVersion = EMU_ARCH;
    return cudaSuccess;
}
template <typename KERNEL>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, KERNEL *, int,
                                                                        size_t)
{
    *blocks = 2;
    return cudaSuccess;
}

#endif
