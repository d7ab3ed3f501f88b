/* SPDX-License-Identifier: MIT
 *
 * criterion.h - the tests and assertions of Criterion that our tests use, for the runner inproc.c.
 *
 * Tests are written as for Criterion. An assertion of its own header expands to 20 statements,
 * which took half of the time of compiling the tests. Here an assertion is a comparison, and a call
 * if the comparison fails. It evaluates its arguments once.
 *
 *   TestSuite(suite, .init = set_up, .fini = tear_down, .timeout = 120);
 *   Test(suite, name, .signal = SIGABRT) { cr_assert_eq(count, 3, "%d keys", count); }
 *
 * A failed cr_assert ends the test; after a failed cr_expect it continues. Each accepts a format
 * and arguments as its last arguments, and prints these if it fails. Threads: any of the test.
 */
#pragma GCC \
    system_header /* as with Criterion's: comparisons of signed and unsigned values are fine */
#ifndef SHERWOOD_TESTS_SUPPORT_CRITERION_H
#define SHERWOOD_TESTS_SUPPORT_CRITERION_H

/* clang warns where a macro is used: an assertion without a format has no further argument. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Options of a suite or a test. If both name a timeout, the test has its own. */
struct cr_options {
    void (*init)(void);
    void (*fini)(void);
    double timeout; /* seconds; 0: the default */
    int signal;     /* signal that must end the test; 0: none */
    int exit_code;  /* exit status of the test */
    char last;      /* so that a list of options may be empty */
};

struct cr_suite {
    const char *file;
    const char *name;
    struct cr_options options;
};

struct cr_test {
    const char *file;
    const char *suite;
    const char *name;
    void (*run)(void);
    struct cr_options options;
};

#define CR_OPTIONS(...) \
    {                   \
        __VA_ARGS__     \
    }

/* The linker gathers the pointers of each section. */
#define TestSuite(...) CR_SUITE(__VA_ARGS__, .last = 0)
#define CR_SUITE(suite, ...)                                                                     \
    static const struct cr_suite cr_suite_##suite = {__FILE__, #suite, CR_OPTIONS(__VA_ARGS__)}; \
    static const struct cr_suite *const cr_suite_at_##suite                                      \
        __attribute__((section("cr_suites"), used)) = &cr_suite_##suite

#define Test(...) CR_TEST(__VA_ARGS__, .last = 0)
#define CR_TEST(suite, name, ...)                                                   \
    static void cr_run_##suite##_##name(void);                                      \
    static const struct cr_test cr_test_##suite##_##name = {                        \
        __FILE__, #suite, #name, cr_run_##suite##_##name, CR_OPTIONS(__VA_ARGS__)}; \
    static const struct cr_test *const cr_test_at_##suite##_##name                  \
        __attribute__((section("cr_tests"), used)) = &cr_test_##suite##_##name;     \
    static void cr_run_##suite##_##name(void)

/* Prints where and why an assertion failed: cr_end_failed ends the process of the test. */
void cr_end_failed(const char *file, int line, const char *expression, const char *format, ...)
    __attribute__((format(printf, 4, 5), noreturn));
void cr_note_failed(const char *file, int line, const char *expression, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Returns whether the texts are equal if `equal`, or differ if not. Prints both if the result is
 * false. */
bool cr_compare_texts(const char *a, const char *b, bool equal);
/* Ends the test, which counts as skipped. The text is the reason. */
void cr_skip_test(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#define CR_CHECK(failed, condition, expression, ...) \
    ((condition) ? (void)0 : failed(__FILE__, __LINE__, expression, " " __VA_ARGS__))
#define CR_COMPARE(failed, a, operator, b, ...) \
    CR_CHECK(failed, (a) operator(b), #a " " #operator" " #b, __VA_ARGS__)

#define cr_assert(condition, ...) CR_CHECK(cr_end_failed, condition, #condition, __VA_ARGS__)
#define cr_assert_not(condition, ...) \
    CR_CHECK(cr_end_failed, !(condition), "!(" #condition ")", __VA_ARGS__)
#define cr_assert_eq(a, b, ...) CR_COMPARE(cr_end_failed, a, ==, b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...) CR_COMPARE(cr_end_failed, a, !=, b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...) CR_COMPARE(cr_end_failed, a, <, b, __VA_ARGS__)
#define cr_assert_leq(a, b, ...) CR_COMPARE(cr_end_failed, a, <=, b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...) CR_COMPARE(cr_end_failed, a, >, b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...) CR_COMPARE(cr_end_failed, a, >=, b, __VA_ARGS__)
#define cr_assert_null(a, ...) CR_COMPARE(cr_end_failed, a, ==, NULL, __VA_ARGS__)
#define cr_assert_not_null(a, ...) CR_COMPARE(cr_end_failed, a, !=, NULL, __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) \
    CR_CHECK(cr_end_failed, cr_compare_texts(a, b, true), #a " is " #b, __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...) \
    CR_CHECK(cr_end_failed, cr_compare_texts(a, b, false), #a " is not " #b, __VA_ARGS__)
#define cr_assert_str_empty(a, ...) \
    CR_CHECK(cr_end_failed, cr_compare_texts(a, "", true), #a " is empty", __VA_ARGS__)
#define cr_assert_str_not_empty(a, ...) \
    CR_CHECK(cr_end_failed, cr_compare_texts(a, "", false), #a " is not empty", __VA_ARGS__)
#define cr_assert_arr_eq(a, b, bytes, ...) \
    CR_CHECK(cr_end_failed, memcmp(a, b, bytes) == 0, #a " has the bytes of " #b, __VA_ARGS__)
#define cr_assert_float_eq(a, b, epsilon, ...)                                                    \
    CR_CHECK(cr_end_failed, __builtin_fabs((double)((a) - (b))) <= (epsilon), #a " is about " #b, \
             __VA_ARGS__)
#define cr_assert_fail(...) cr_end_failed(__FILE__, __LINE__, "never here", " " __VA_ARGS__)

#define cr_expect(condition, ...) CR_CHECK(cr_note_failed, condition, #condition, __VA_ARGS__)
#define cr_expect_not(condition, ...) \
    CR_CHECK(cr_note_failed, !(condition), "!(" #condition ")", __VA_ARGS__)
#define cr_expect_eq(a, b, ...) CR_COMPARE(cr_note_failed, a, ==, b, __VA_ARGS__)
#define cr_expect_neq(a, b, ...) CR_COMPARE(cr_note_failed, a, !=, b, __VA_ARGS__)
#define cr_expect_lt(a, b, ...) CR_COMPARE(cr_note_failed, a, <, b, __VA_ARGS__)
#define cr_expect_leq(a, b, ...) CR_COMPARE(cr_note_failed, a, <=, b, __VA_ARGS__)
#define cr_expect_gt(a, b, ...) CR_COMPARE(cr_note_failed, a, >, b, __VA_ARGS__)
#define cr_expect_geq(a, b, ...) CR_COMPARE(cr_note_failed, a, >=, b, __VA_ARGS__)
#define cr_expect_null(a, ...) CR_COMPARE(cr_note_failed, a, ==, NULL, __VA_ARGS__)
#define cr_expect_not_null(a, ...) CR_COMPARE(cr_note_failed, a, !=, NULL, __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...) \
    CR_CHECK(cr_note_failed, cr_compare_texts(a, b, true), #a " is " #b, __VA_ARGS__)
#define cr_expect_str_neq(a, b, ...) \
    CR_CHECK(cr_note_failed, cr_compare_texts(a, b, false), #a " is not " #b, __VA_ARGS__)
#define cr_expect_str_empty(a, ...) \
    CR_CHECK(cr_note_failed, cr_compare_texts(a, "", true), #a " is empty", __VA_ARGS__)
#define cr_expect_arr_eq(a, b, bytes, ...) \
    CR_CHECK(cr_note_failed, memcmp(a, b, bytes) == 0, #a " has the bytes of " #b, __VA_ARGS__)
#define cr_expect_float_eq(a, b, epsilon, ...)                                                     \
    CR_CHECK(cr_note_failed, __builtin_fabs((double)((a) - (b))) <= (epsilon), #a " is about " #b, \
             __VA_ARGS__)

#endif
