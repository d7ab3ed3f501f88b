/* SPDX-License-Identifier: MIT
 *
 * test_password.c - what decoding a login leaves behind.
 */
#include <criterion/criterion.h>

#include "proto/frame.h"

#if !defined(__SANITIZE_ADDRESS__)
/* A HELLO's password, and the same before a byte that makes it no message. In static memory, so
 * that the stack has them only if they were copied there. */
static const uint8_t with_password[] = {0xb2, 0x01, 16,  'o', 'p', 'e', 'n', '-', 's', 'e',
                                        's',  'a',  'm', 'e', '-', 'n', 'o', 'w', '!', 0xff};

/* Looks for the password where the functions called before have had their variables. */
static __attribute__((noinline)) bool stack_has_password(void)
{
    const uint8_t *password = with_password + 3;
    const volatile uint8_t *top = __builtin_frame_address(0);
    for (size_t back = 256; back < 65536; back++) {
        size_t same = 0;
        while (same < 16 && top[same - back] == password[same]) {
            same++;
        }
        if (same == 16) {
            return true;
        }
    }
    return false;
}

Test(password, does_not_stay_on_the_stack)
{
    static struct sw_request request;
    static struct sw_frame_login login;
    cr_assert_eq(sw_request_decode(with_password, sizeof(with_password) - 1, &request), 0);
    cr_assert(!stack_has_password(), "after decoding a request");
    cr_assert_neq(sw_request_decode(with_password, sizeof(with_password), &request), 0);
    cr_assert(!stack_has_password(), "after a request that is not valid");
    cr_assert_eq(sw_frame_login_decode(with_password, sizeof(with_password) - 1, &login), 0);
    cr_assert(!stack_has_password(), "after decoding a login");
    cr_assert_eq(login.password_bytes, 16);
}
#else
Test(password, does_not_stay_on_the_stack)
{
    cr_skip_test("AddressSanitizer keeps the variables of functions elsewhere");
}
#endif
