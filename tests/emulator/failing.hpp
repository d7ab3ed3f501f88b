/* SPDX-License-Identifier: MIT
 *
 * failing.hpp - what each call of the runtime asks first: whether it is to fail (failing.h).
 */
#ifndef SHERWOOD_EMULATOR_FAILING_HPP
#define SHERWOOD_EMULATOR_FAILING_HPP

#include <cuda_runtime.h>
#include <functional>

/* By a call that allocates; by any other. Not cudaSuccess: the call does nothing but return it. */
cudaError_t emu_allocates(void);
cudaError_t emu_called(void);
/* By one that gives something back, which it does in any case: what it returns. */
cudaError_t emu_gives_back(void);
/* Drops what the streams have not begun, ends the kernels at work, and frees what the streams are
 * to free. */
void emu_lose_device(void);
/* Work of a stream that frees memory: it is done even if the device is lost. */
void emu_enqueue_free(cudaStream_t stream, std::function<void()> work);

#define EMU_MAY_FAIL(asked)                  \
    do {                                     \
        const cudaError_t emu_error = asked; \
        if (emu_error != cudaSuccess) {      \
            return emu_error;                \
        }                                    \
    } while (0)

#endif
