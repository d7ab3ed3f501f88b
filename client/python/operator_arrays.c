/* SPDX-License-Identifier: MIT
 *
 * operator_arrays.c - one call of an operator, and tensors as arrays of it.
 */
#include "client/python/operator_arrays.h"

#include <string.h>

#include "client/python/device_call.h"
#include "client/python/operator_tables.h"
#include "client/python/torch_functions.h"
#include "client/sherwood-cuda.h"

int swpy_begin(struct swpy_work *work, const uint64_t *stack)
{
    *work = (struct swpy_work){.table = swpy_table_enter((int64_t)stack[0])};
    (void)swpy_own(work, (void *)(uintptr_t)stack[1]);
    (void)swpy_own(work, (void *)(uintptr_t)stack[2]);
    if (work->table == NULL) {
        return swpy_fail(SWPY_ARGUMENTS,
                         "the table %lld of this operator no longer exists in this process: keep a "
                         "reference to its sherwood.torch.Table, and its Device open",
                         (long long)stack[0]);
    }
    return SWPY_NONE;
}

void swpy_end(struct swpy_work *work, int code)
{
    for (uint32_t i = 0; i < work->owned_count; i++) {
        (void)swpy_torch.delete_tensor(work->owned[i]);
    }
    if (work->table != NULL) {
        swpy_table_leave(work->table);
    }
    if (code != SWPY_NONE) {
        swpy_torch.check(false, "sherwood", "operators.c", 0, swpy_failure());
    }
    swpy_forget_failure(); /* of what was tried on the way */
}

void *swpy_own(struct swpy_work *work, void *tensor)
{
    if (tensor != NULL) {
        work->owned[work->owned_count++] = tensor;
    }
    return tensor;
}

void *swpy_disown(struct swpy_work *work, void *tensor)
{
    uint32_t i = 0;
    while (work->owned[i] != tensor) {
        i++;
    }
    work->owned[i] = work->owned[--work->owned_count];
    return tensor;
}

void *swpy_make(struct swpy_work *work, int64_t dimensions, const int64_t *sizes, int32_t type)
{
    int64_t strides[SWPY_DIMENSIONS_MAX + 1];
    int64_t stride = 1;
    for (int64_t i = dimensions; i-- > 0;) {
        strides[i] = stride;
        stride *= sizes[i] > 0 ? sizes[i] : 1;
    }
    void *made = NULL;
    if (swpy_torch.empty_strided(dimensions, sizes, strides, type, work->table->device_type,
                                 work->table->device_index, &made) != 0) {
        (void)swpy_fail(SWPY_ARGUMENTS,
                        "torch cannot allocate %lld elements: free memory of the "
                        "device",
                        (long long)stride);
        return NULL;
    }
    return swpy_own(work, made);
}

void *swpy_make_values(struct swpy_work *work, const struct swpy_array *keys)
{
    int64_t sizes[SWPY_DIMENSIONS_MAX + 1];
    memcpy(sizes, keys->sizes, (size_t)keys->dimensions * sizeof(*sizes));
    sizes[keys->dimensions] = work->table->row;
    return swpy_make(work, keys->dimensions + (work->table->row >= 0), sizes,
                     work->table->value_types[0]);
}

int swpy_copy(void *to, void *from)
{
    void *handles[2] = {NULL, NULL}; /* the callee owns those in the stack */
    if (swpy_torch.new_handle(to, &handles[0]) != 0 ||
        swpy_torch.new_handle(from, &handles[1]) != 0) {
        return swpy_fail(SWPY_ARGUMENTS, "torch has no memory for a handle: free memory");
    }
    uint64_t stack[3] = {(uintptr_t)handles[0], (uintptr_t)handles[1], false};
    if (swpy_torch.call("aten::copy_", "", stack, SWPY_TORCH_VERSION) != 0) {
        return swpy_fail(SWPY_ARGUMENTS, "torch cannot copy a tensor of this call: give contiguous "
                                         "tensors of the shape of the results");
    }
    (void)swpy_torch.delete_tensor((void *)(uintptr_t)stack[0]);
    return SWPY_NONE;
}

/* Refuses a tensor whose storage a program has resized to 0: no call may take it for a result that
 * is not wanted. */
static int inspect_memory(const struct swpy_array *array, const char *what)
{
    const void *data = NULL;
    if (array->count > 0 && swpy_torch.const_data(array->tensor, &data) == 0 && data == NULL) {
        return swpy_fail(SHERWOOD_E_INVALID,
                         "%s: the storage of the tensor is empty: resize it to its elements", what);
    }
    return SWPY_NONE;
}

int swpy_inspect(const struct swpy_work *work, void *tensor, const char *what,
                 const int32_t types[2], struct swpy_array *array)
{
    int32_t device_type = -1, device_index = -1;
    int64_t *sizes = NULL;
    *array = (struct swpy_array){.tensor = tensor};
    const bool has_shape = swpy_torch.get_dtype(tensor, &array->type) == 0 &&
                           swpy_torch.get_device_type(tensor, &device_type) == 0 &&
                           swpy_torch.get_device_index(tensor, &device_index) == 0 &&
                           swpy_torch.get_numel(tensor, &array->count) == 0 &&
                           swpy_torch.get_dim(tensor, &array->dimensions) == 0 &&
                           swpy_torch.get_sizes(tensor, &sizes) == 0;
    array->sizes = sizes;
    if (!has_shape || array->dimensions >= SWPY_DIMENSIONS_MAX) {
        return swpy_fail(SWPY_ARGUMENTS, "%s: give a dense tensor of less than %d dimensions", what,
                         SWPY_DIMENSIONS_MAX);
    }
    if (array->type != types[0] && array->type != types[1]) {
        return swpy_fail(SWPY_ARGUMENTS,
                         "%s: the tensor has another dtype than the table: convert "
                         "the tensor yourself",
                         what);
    }
    if (device_type != work->table->device_type || device_index != work->table->device_index) {
        return swpy_fail(SWPY_ARGUMENTS,
                         "%s: the tensor is on another device than the table: move "
                         "it there",
                         what);
    }
    return inspect_memory(array, what);
}

/* Returns whether the first dimensions of `wide` are those of `array`. */
static bool begins_like(const struct swpy_array *wide, const struct swpy_array *array)
{
    return memcmp(wide->sizes, array->sizes, (size_t)array->dimensions * sizeof(int64_t)) == 0;
}

bool swpy_same_shape(const struct swpy_array *a, const struct swpy_array *b)
{
    return a->dimensions == b->dimensions && begins_like(a, b);
}

int swpy_inspect_values(const struct swpy_work *work, void *tensor, const char *what,
                        const struct swpy_array *keys, struct swpy_array *values)
{
    const int64_t row = work->table->row;
    const int code = swpy_inspect(work, tensor, what, work->table->value_types, values);
    if (code != SWPY_NONE) {
        return code;
    }
    const bool fits = values->dimensions == keys->dimensions + (row >= 0) &&
                      begins_like(values, keys) &&
                      (row < 0 || values->sizes[keys->dimensions] == row);
    return fits ? SWPY_NONE
                : swpy_fail(SWPY_ARGUMENTS,
                            "%s: the tensor has another shape than the values of "
                            "these keys: give a value for each key",
                            what);
}

int swpy_find_input(struct swpy_work *work, struct swpy_array *array)
{
    bool is_contiguous = false;
    if (swpy_torch.is_contiguous(array->tensor, &is_contiguous) != 0 || !is_contiguous) {
        void *whole = swpy_make(work, array->dimensions, array->sizes, array->type);
        if (whole == NULL || swpy_copy(whole, array->tensor) != SWPY_NONE) {
            return SWPY_ARGUMENTS;
        }
        array->tensor = whole;
    }
    const void *data = NULL;
    if (swpy_torch.const_data(array->tensor, &data) != 0) {
        return swpy_fail(SWPY_ARGUMENTS, "a tensor of this call has no memory: give a dense one");
    }
    array->data = (void *)(uintptr_t)data;
    return SWPY_NONE;
}

int swpy_find_output(struct swpy_array *array, const char *what)
{
    bool is_contiguous = false;
    if (swpy_torch.is_contiguous(array->tensor, &is_contiguous) != 0 || !is_contiguous ||
        swpy_torch.data(array->tensor, &array->data) != 0) {
        return swpy_fail(SWPY_ARGUMENTS, "%s: the tensor has gaps: give a contiguous one", what);
    }
    return SWPY_NONE;
}

int swpy_read_keys(struct swpy_work *work, void *tensor, struct swpy_array *keys)
{
    const int code = swpy_inspect(work, tensor, "keys", work->table->key_types, keys);
    return code != SWPY_NONE ? code : swpy_find_input(work, keys);
}

int swpy_carry_out(const struct swpy_work *work, int operation, uint32_t flags,
                   const struct swpy_array *keys, const void *values, void *previous, void *found)
{
    const struct swpy_table *table = work->table;
    struct sherwood_cuda_call call = SHERWOOD_CUDA_CALL_INIT;
    call.operation = (enum sherwood_operation)operation;
    call.flags = found != NULL ? flags : 0;
    call.keys = keys->data;
    call.values = values;
    call.count = (size_t)keys->count;
    call.previous = previous;
    call.found = found;
    if (swpy_torch.current_stream(table->device_index, &call.stream) != 0) {
        return swpy_fail(SWPY_ARGUMENTS, "torch has no current stream on the device of the table");
    }
    return swpy_device_call(table, &call);
}
