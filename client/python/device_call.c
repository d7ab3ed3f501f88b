/* SPDX-License-Identifier: MIT
 *
 * device_call.c - a call on arrays of a GPU, and the last failure of a thread.
 */
#include "client/python/device_call.h"

#include <stdarg.h>
#include <stdio.h>

#include "client/python/operators.h"
#include "client/sherwood-cuda.h"

typedef int call_function(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call);
typedef int check_function(struct sherwood_cuda *cuda, bool waits);
typedef const char *error_function(void);

static _Thread_local struct {
    int code;
    char text[512];
} failure;

int swpy_fail(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(failure.text, sizeof(failure.text), format, arguments);
    va_end(arguments);
    failure.code = code;
    return code;
}

const char *swpy_failure(void)
{
    return failure.text;
}

void swpy_forget_failure(void)
{
    failure.code = SWPY_NONE;
}

int swpy_torch_failure(char *text, size_t text_bytes)
{
    const int code = failure.code;
    (void)snprintf(text, text_bytes, "%s", failure.text);
    failure.code = SWPY_NONE;
    return code;
}

static int result(const struct swpy_table *table, int status)
{
    return status == SHERWOOD_OK ? SWPY_NONE
                                 : swpy_fail(status, "%s", ((error_function *)table->error)());
}

int swpy_device_call(const struct swpy_table *table, struct sherwood_cuda_call *call)
{
    call->when = table->in_order != 0 ? SHERWOOD_CUDA_IN_ORDER : SHERWOOD_CUDA_AFTER;
    call->table = table->table;
    return result(table, ((call_function *)table->call)((struct sherwood_cuda *)table->cuda, call));
}

int swpy_device_check(const struct swpy_table *table)
{
    return result(table,
                  ((check_function *)table->check)((struct sherwood_cuda *)table->cuda, false));
}
