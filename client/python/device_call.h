/* SPDX-License-Identifier: MIT
 *
 * device_call.h - a call on arrays of a GPU, and the last failure of a thread, for the operators of
 * torch and the handler of XLA.
 */
#ifndef SHERWOOD_PYTHON_DEVICE_CALL_H
#define SHERWOOD_PYTHON_DEVICE_CALL_H

struct sherwood_cuda_call;
struct swpy_table;

/* Carries out a call on a table, after the work of its stream or in its order. Stores `when` and
 * `table` in it. Returns SWPY_NONE, or the status of libsherwood-cuda, as a failure. */
int swpy_device_call(const struct swpy_table *table, struct sherwood_cuda_call *call);

/* Returns SWPY_NONE, or the first failure of the calls in order of streams that ended since the
 * last check of the handle. */
int swpy_device_check(const struct swpy_table *table);

/* Stores a failure of this thread. Returns its code. */
int swpy_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns the sentence of this thread's last failure, until the next one. */
const char *swpy_failure(void);
void swpy_forget_failure(void);

#endif
