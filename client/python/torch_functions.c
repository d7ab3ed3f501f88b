/* SPDX-License-Identifier: MIT
 *
 * torch_functions.c - the names of torch's functions, and their addresses.
 */
#include "client/python/torch_functions.h"

#include <stddef.h>
#include <string.h>

#include "client/python/operators.h"

struct swpy_torch swpy_torch;

static const struct {
    const char *names;
    size_t offset;
} functions[] = {
#define ROW(field, names, result, arguments) {names, offsetof(struct swpy_torch, field)},
    SWPY_TORCH_MAP(ROW)
#undef ROW
};
_Static_assert(sizeof(void (*)(void)) == sizeof(uintptr_t), "an address holds a function");

const char *swpy_torch_function(uint32_t i)
{
    return i < sizeof(functions) / sizeof(functions[0]) ? functions[i].names : NULL;
}

void swpy_torch_use(const uintptr_t *addresses)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        memcpy((char *)&swpy_torch + functions[i].offset, &addresses[i], sizeof(addresses[i]));
    }
}
