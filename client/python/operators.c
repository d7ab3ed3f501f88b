/* SPDX-License-Identifier: MIT
 *
 * operators.c - kernels of torch's operators on tensors of a GPU.
 *
 * A kernel gets its arguments in a stack of words, and leaves its results there. It owns the
 * tensors in it. After a failure swpy_end frees them, and throws torch's exception.
 */
#include "client/python/operators.h"

#include <string.h>

#include "client/python/device_call.h"
#include "client/python/operator_arrays.h"
#include "client/python/operator_tables.h"
#include "client/python/torch_functions.h"
#include "client/sherwood.h"

/* The value of absent keys. */
struct filling {
    bool is_float;
    int64_t integer;
    double number;
};

/* A call that reads values, beside its struct swpy_work. */
struct lookup {
    struct swpy_array keys;
    struct swpy_array out;  /* for the values */
    struct swpy_array mask; /* for found bytes; no tensor: not wanted */
    struct filling filling;
};

static bool fills(const struct filling *filling)
{
    return filling->integer != 0 || filling->number != 0;
}

/* An unsigned integer becomes the signed one of its bits. */
static int check_filling(const struct swpy_table *table, struct filling *filling)
{
    const int64_t half = table->value_bytes < 8 ? INT64_C(1) << (8 * table->value_bytes - 1) : 0;
    const int64_t end = table->is_signed ? half : 2 * half;
    const int64_t number = filling->integer;
    if (!table->is_integer || !fills(filling)) {
        return SWPY_NONE;
    }
    if (filling->is_float || (half != 0 && (number < -half || number >= end))) {
        return swpy_fail(
            SWPY_ARGUMENTS,
            "default: the number is no value of the table: give an integer of %d bytes",
            table->value_bytes);
    }
    filling->integer -= half != 0 && number >= half ? 2 * half : 0;
    return SWPY_NONE;
}

/* Returns a view of the first elements of a mask, of the shape of the keys, with `more` dimensions
 * of one element. */
static void *view_as_keys(struct swpy_work *work, void *mask, const struct swpy_array *keys,
                          int64_t more)
{
    int64_t sizes[SWPY_DIMENSIONS_MAX + 1];
    int64_t strides[SWPY_DIMENSIONS_MAX + 1];
    int64_t stride = 1;
    const int64_t dimensions = keys->dimensions + more;
    for (int64_t i = dimensions; i-- > 0;) {
        sizes[i] = i < keys->dimensions ? keys->sizes[i] : 1;
        strides[i] = stride;
        stride *= sizes[i] > 0 ? sizes[i] : 1;
    }
    void *made = NULL;
    if (swpy_torch.reinterpret(mask, dimensions, sizes, strides, 0, &made) != 0) {
        (void)swpy_fail(SWPY_ARGUMENTS, "torch cannot view the mask in the shape of the keys");
        return NULL;
    }
    return swpy_own(work, made);
}

/* Stores the filling in the values of absent keys. */
static int fill(struct swpy_work *work, const struct lookup *lookup)
{
    const struct filling *filling = &lookup->filling;
    void *mask = view_as_keys(work, lookup->mask.tensor, &lookup->keys, work->table->row >= 0);
    void *number = NULL;
    void *values = NULL;
    if (mask == NULL) {
        return SWPY_ARGUMENTS;
    }
    uint64_t absent[1] = {(uintptr_t)swpy_disown(work, mask)}; /* the callee owns what it gets */
    bool is_done = swpy_torch.call("aten::logical_not", "", absent, SWPY_TORCH_VERSION) == 0;
    if (is_done) {
        mask = swpy_own(work, (void *)(uintptr_t)absent[0]);
        is_done = (filling->is_float ? swpy_torch.scalar_float(filling->number, &number)
                                     : swpy_torch.scalar_integer(filling->integer, &number)) == 0;
    }
    if (is_done) {
        (void)swpy_own(work, number);
        is_done = swpy_torch.new_handle(lookup->out.tensor, &values) == 0;
    }
    if (is_done) {
        uint64_t stack[3] = {(uintptr_t)values, (uintptr_t)swpy_disown(work, mask),
                             (uintptr_t)swpy_disown(work, number)};
        is_done = swpy_torch.call("aten::masked_fill_", "Tensor", stack, SWPY_TORCH_VERSION) == 0;
        (void)swpy_own(work, is_done ? (void *)(uintptr_t)stack[0] : NULL);
    }
    return is_done ? SWPY_NONE
                   : swpy_fail(SWPY_ARGUMENTS, "torch cannot store the default in the values");
}

/* Inspects the caller's tensor for the mask. Its memory is found if the server may store found
 * bytes there: otherwise the mask is copied to it. */
static int inspect_mask(const struct swpy_work *work, void *found, struct lookup *lookup)
{
    const struct swpy_array *keys = &lookup->keys;
    struct swpy_array *mask = &lookup->mask;
    const int32_t types[2] = {swpy_torch.dtype_bool(), swpy_torch.dtype_bool()};
    const int code = swpy_inspect(work, found, "found", types, mask);
    if (code != SWPY_NONE) {
        return code;
    }
    if (!swpy_same_shape(mask, keys)) {
        return swpy_fail(SWPY_ARGUMENTS, "found: the tensor has another shape than the keys: give "
                                         "a bool for each key");
    }
    if (keys->count % 8 != 0 || swpy_find_output(mask, "found") != SWPY_NONE ||
        (uintptr_t)mask->data % 8 != 0) {
        mask->data = NULL;
    }
    return SWPY_NONE;
}

/* Makes a tensor for found bytes, whose size is a multiple of 8. */
static int make_mask(struct swpy_work *work, struct lookup *lookup)
{
    const struct swpy_array *keys = &lookup->keys;
    const int64_t bytes = (keys->count + 7) / 8 * 8;
    const bool is_whole = bytes == keys->count;
    void *made = swpy_make(work, is_whole ? keys->dimensions : 1, is_whole ? keys->sizes : &bytes,
                           swpy_torch.dtype_bool());
    lookup->mask = (struct swpy_array){.tensor = made};
    return made == NULL ? SWPY_ARGUMENTS : swpy_find_output(&lookup->mask, "found");
}

/* Reads the values of the keys. Finds a mask if `wants_mask`, and stores it in `found` unless that
 * is NULL. */
static int look_up(struct swpy_work *work, struct lookup *lookup, void *found, bool wants_mask)
{
    int code = check_filling(work->table, &lookup->filling);
    if (code == SWPY_NONE) {
        code = swpy_find_output(&lookup->out, "out");
    }
    if (code == SWPY_NONE && found != NULL) {
        code = inspect_mask(work, found, lookup);
    }
    const bool needs = wants_mask || fills(&lookup->filling);
    const bool makes = needs && lookup->mask.data == NULL;
    if (code == SWPY_NONE && makes) {
        code = make_mask(work, lookup);
    }
    if (code == SWPY_NONE) {
        code = swpy_carry_out(work, SHERWOOD_GET, SHERWOOD_FOUND_BYTES, &lookup->keys, NULL,
                              lookup->out.data, lookup->mask.data);
    }
    if (code == SWPY_NONE && makes && lookup->keys.count % 8 != 0) {
        lookup->mask.tensor = view_as_keys(work, lookup->mask.tensor, &lookup->keys, 0);
        code = lookup->mask.tensor == NULL ? SWPY_ARGUMENTS : SWPY_NONE;
    }
    if (code == SWPY_NONE && fills(&lookup->filling)) {
        code = fill(work, lookup);
    }
    return code == SWPY_NONE && makes && found != NULL ? swpy_copy(found, lookup->mask.tensor)
                                                       : code;
}

static void look_up_new(uint64_t *stack, struct filling filling)
{
    struct swpy_work work;
    struct lookup lookup = {.filling = filling};
    int code = swpy_begin(&work, stack);
    if (code == SWPY_NONE) {
        code = swpy_read_keys(&work, (void *)(uintptr_t)stack[2], &lookup.keys);
    }
    if (code == SWPY_NONE) {
        lookup.out.tensor = swpy_make_values(&work, &lookup.keys);
        code = lookup.out.tensor == NULL ? SWPY_ARGUMENTS : look_up(&work, &lookup, NULL, true);
    }
    if (code == SWPY_NONE) {
        stack[0] = (uintptr_t)swpy_disown(&work, lookup.out.tensor);
        stack[1] = (uintptr_t)swpy_disown(&work, lookup.mask.tensor);
    }
    swpy_end(&work, code);
}

/* Takes the content of an optional argument; 0: there is none. */
static uint64_t take_optional(uint64_t argument)
{
    void *word = (void *)(uintptr_t)argument;
    uint64_t content = 0;
    if (word != NULL) {
        memcpy(&content, word, sizeof(content));
        swpy_torch.free_optional(word);
    }
    return content;
}

/* Refuses a tensor for values that requires a gradient. torch has no function for that: a view of
 * such a tensor is no leaf. */
static int check_gradient(struct swpy_work *work, void *out)
{
    void *handle = NULL;
    if (work->table->is_integer || !swpy_torch.has_gradients()) {
        return SWPY_NONE;
    }
    bool is_done = swpy_torch.new_handle(out, &handle) == 0;
    uint64_t stack[1] = {(uintptr_t)handle}; /* the callee owns what it gets */
    is_done = is_done && swpy_torch.call("aten::alias", "", stack, SWPY_TORCH_VERSION) == 0 &&
              swpy_torch.call("aten::is_leaf", "", stack, SWPY_TORCH_VERSION) == 0;
    if (!is_done) {
        return swpy_fail(SWPY_ARGUMENTS, "torch cannot view the tensor for values");
    }
    return (uint8_t)stack[0] != 0
               ? SWPY_NONE
               : swpy_fail(SWPY_ARGUMENTS, "out: the tensor requires a gradient, and a lookup has "
                                           "none: give out.detach()");
}

static void look_up_into(uint64_t *stack, struct filling filling)
{
    struct swpy_work work;
    struct lookup lookup = {.filling = filling};
    int code = swpy_begin(&work, stack);
    void *out = swpy_own(&work, (void *)(uintptr_t)stack[3]);
    void *found = swpy_own(&work, (void *)(uintptr_t)take_optional(stack[4]));
    if (code == SWPY_NONE) {
        code = swpy_read_keys(&work, (void *)(uintptr_t)stack[2], &lookup.keys);
    }
    if (code == SWPY_NONE) {
        code = swpy_inspect_values(&work, out, "out", &lookup.keys, &lookup.out);
    }
    if (code == SWPY_NONE) {
        code = check_gradient(&work, out);
    }
    if (code == SWPY_NONE) {
        code = look_up(&work, &lookup, found, found != NULL);
    }
    swpy_end(&work, code);
}

/* Carries out a write of keys, `stack[2]`, and values, `stack[3]`. */
static void write_values(uint64_t *stack, bool adds)
{
    struct swpy_work work;
    struct swpy_array keys, values;
    int code = swpy_begin(&work, stack);
    (void)swpy_own(&work, (void *)(uintptr_t)stack[3]);
    if (code == SWPY_NONE && adds && work.table->add == 0) {
        code = swpy_fail(SWPY_ARGUMENTS, "add_: the server adds no values of this type: use set_");
    }
    if (code == SWPY_NONE) {
        code = swpy_read_keys(&work, (void *)(uintptr_t)stack[2], &keys);
    }
    if (code == SWPY_NONE) {
        code = swpy_inspect_values(&work, (void *)(uintptr_t)stack[3], "values", &keys, &values);
    }
    if (code == SWPY_NONE) {
        code = swpy_find_input(&work, &values);
    }
    if (code == SWPY_NONE) {
        const int operation = adds ? work.table->add : SHERWOOD_SET;
        code = swpy_carry_out(&work, operation, 0, &keys, values.data, NULL, NULL);
    }
    swpy_end(&work, code);
}

/* Calls an operator of torch on two tensors. Returns its result, or NULL after a failure. */
static void *apply(struct swpy_work *work, const char *name, void *left, void *right)
{
    void *handles[2] = {NULL, NULL}; /* the callee owns those in the stack */
    if (left == NULL || right == NULL || swpy_torch.new_handle(left, &handles[0]) != 0 ||
        swpy_torch.new_handle(right, &handles[1]) != 0) {
        return NULL;
    }
    uint64_t stack[2] = {(uintptr_t)handles[0], (uintptr_t)handles[1]};
    const bool is_done = swpy_torch.call(name, "Tensor", stack, SWPY_TORCH_VERSION) == 0;
    return is_done ? swpy_own(work, (void *)(uintptr_t)stack[0]) : NULL;
}

/* Makes a bool for each key from found bits, eight in each of the `bytes`: whether the key was
 * present, or the opposite. Returns NULL after a failure. */
static void *spread(struct swpy_work *work, void *bytes, const struct swpy_array *keys,
                    bool is_opposite)
{
    const int64_t eight = 8, one = 1;
    const struct swpy_table *table = work->table;
    void *values = NULL;
    (void)swpy_torch.from_blob((void *)table->bit_values, 1, &eight, &one, 0,
                               swpy_torch.dtype_uint8(), table->device_type, table->device_index,
                               &values);
    (void)swpy_own(work, values);
    void *bits = apply(work, "aten::bitwise_and", bytes, values);
    void *mask = apply(work, is_opposite ? "aten::ne" : "aten::eq", bits, values);
    return mask == NULL ? NULL : view_as_keys(work, mask, keys, 0);
}

/* Carries out DELETE or ASSIGN. Returns the mask in *mask, see spread(), and if `previous` is not
 * NULL a tensor of values in *previous. Owns the keys, `stack[2]`. */
static int write_keys(struct swpy_work *work, const uint64_t *stack, int operation,
                      bool is_opposite, void **mask, void **previous)
{
    struct swpy_array keys, bits = {0}, values = {0};
    int code = swpy_read_keys(work, (void *)(uintptr_t)stack[2], &keys);
    if (code != SWPY_NONE) {
        return code;
    }
    const int64_t sizes[2] = {(keys.count + 63) / 64 * 8, 1};
    bits.tensor = swpy_make(work, 2, sizes, swpy_torch.dtype_uint8());
    values.tensor = previous == NULL ? NULL : swpy_make_values(work, &keys);
    if (bits.tensor == NULL || (previous != NULL && values.tensor == NULL)) {
        return SWPY_ARGUMENTS;
    }
    code = swpy_find_output(&bits, "found");
    if (code == SWPY_NONE && previous != NULL) {
        code = swpy_find_output(&values, "previous");
        *previous = values.tensor;
    }
    if (code == SWPY_NONE) {
        code = swpy_carry_out(work, operation, 0, &keys, NULL, values.data, bits.data);
    }
    if (code == SWPY_NONE) {
        *mask = spread(work, bits.tensor, &keys, is_opposite);
    }
    return code != SWPY_NONE || *mask != NULL
               ? code
               : swpy_fail(SWPY_LATE, "the server has carried the call out, but torch cannot make "
                                      "the mask: free memory of the device");
}

static struct filling integer_of(uint64_t argument)
{
    return (struct filling){.integer = (int64_t)take_optional(argument)};
}

static struct filling float_of(uint64_t argument)
{
    struct filling filling = {.is_float = true};
    memcpy(&filling.number, &argument, sizeof(filling.number));
    return filling;
}

/* --- the kernels ------------------------------------------------------------------------------ */

static void lookup_kernel(uint64_t *stack, uint64_t arguments, uint64_t results)
{
    (void)arguments, (void)results;
    look_up_new(stack, integer_of(stack[3]));
}

static void lookup_float_kernel(uint64_t *stack, uint64_t arguments, uint64_t results)
{
    (void)arguments, (void)results;
    look_up_new(stack, float_of(stack[3]));
}

static void lookup_into_kernel(uint64_t *stack, uint64_t arguments, uint64_t results)
{
    (void)arguments, (void)results;
    look_up_into(stack, integer_of(stack[5]));
}

static void lookup_into_float_kernel(uint64_t *stack, uint64_t arguments, uint64_t results)
{
    (void)arguments, (void)results;
    look_up_into(stack, float_of(stack[5]));
}

static void set_kernel(uint64_t *stack, uint64_t arguments, uint64_t results)
{
    (void)arguments, (void)results;
    write_values(stack, false);
}

static void add_kernel(uint64_t *stack, uint64_t arguments, uint64_t results)
{
    (void)arguments, (void)results;
    write_values(stack, true);
}

static void delete_kernel(uint64_t *stack, uint64_t arguments, uint64_t results)
{
    (void)arguments, (void)results;
    struct swpy_work work;
    void *mask = NULL;
    int code = swpy_begin(&work, stack);
    if (code == SWPY_NONE) {
        code = write_keys(&work, stack, SHERWOOD_DELETE, false, &mask, NULL);
    }
    if (code == SWPY_NONE) {
        stack[0] = (uintptr_t)swpy_disown(&work, mask);
    }
    swpy_end(&work, code);
}

static void assign_kernel(uint64_t *stack, uint64_t arguments, uint64_t results)
{
    (void)arguments, (void)results;
    struct swpy_work work;
    void *mask = NULL, *ids = NULL;
    int code = swpy_begin(&work, stack);
    if (code == SWPY_NONE) {
        code = write_keys(&work, stack, SHERWOOD_ASSIGN, true, &mask, &ids);
    }
    if (code == SWPY_NONE) {
        stack[0] = (uintptr_t)swpy_disown(&work, ids);
        stack[1] = (uintptr_t)swpy_disown(&work, mask);
    }
    swpy_end(&work, code);
}

static const struct {
    const char *name;
    swpy_torch_kernel *kernel;
} kernels[] = {
    {"lookup", lookup_kernel},
    {"lookup.float", lookup_float_kernel},
    {"lookup_into", lookup_into_kernel},
    {"lookup_into.float", lookup_into_float_kernel},
    {"set_", set_kernel},
    {"add_", add_kernel},
    {"delete_", delete_kernel},
    {"assign_", assign_kernel},
};

int swpy_torch_bind(const uintptr_t *addresses, const char *key)
{
    void *library = NULL; /* stays: it keeps the kernels registered */
    swpy_torch_use(addresses);
    swpy_tables_survive_forks();
    int32_t code = swpy_torch.library_init_impl("sherwood", key, "operators.c", 0, &library);
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]) && code == 0; i++) {
        code = swpy_torch.library_impl(library, kernels[i].name, kernels[i].kernel,
                                       SWPY_TORCH_VERSION);
    }
    return code == 0 ? 0 : -1;
}
