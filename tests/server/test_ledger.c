/* SPDX-License-Identifier: MIT
 *
 * test_ledger.c - what the ledger permits tables that grow, shrink, are altered and dropped.
 */
#include <criterion/criterion.h>

#include "server/tables/ledger.h"

enum { TABLES = 3 };

static struct sw_ledger ledger;
static struct sw_account accounts[TABLES];

/* Table i has 10 * (i + 1) bytes, a slot for each byte, and 1 byte of rows in host memory. */
static void set_up(void)
{
    sw_ledger_init(&ledger, 100, 10, NULL, NULL);
    for (uint32_t t = 0; t < TABLES; t++) {
        const uint64_t bytes = 10 * (t + 1);
        cr_assert_eq(sw_account_open(&accounts[t], &ledger, 5, 0, 0), SW_LEDGER_PERMITS);
        cr_assert_eq(sw_account_set_table(&accounts[t], bytes, 1), SW_LEDGER_PERMITS);
        sw_growth_has_slots(&accounts[t].growth, bytes);
    }
}

static void tear_down(void)
{
    for (uint32_t t = 0; t < TABLES; t++) {
        sw_account_close(&accounts[t]);
    }
    sw_ledger_fini(&ledger);
}

TestSuite(ledger, .init = set_up, .fini = tear_down);

static bool grows(uint32_t table, uint64_t slots, uint64_t bytes)
{
    return sw_growth_permits(&accounts[table].growth, slots, bytes);
}

/* A table reports its new arrays before it settles. Until then the others may not be refused memory
 * that is free, and may not take that of the old arrays. */
Test(ledger, growth_counts_once)
{
    struct sw_growth *growth = &accounts[0].growth;
    cr_assert(grows(0, 20, 20));
    cr_assert_not(grows(1, 40, 21));
    sw_growth_has(growth, 20);
    cr_assert_not(grows(1, 40, 21), "10 old and 20 new bytes");
    cr_assert(grows(1, 40, 20));
    sw_growth_settled(&accounts[1].growth, 20);
    sw_growth_settled(growth, 20);
    cr_assert_not(grows(1, 40, 31));
    cr_assert(grows(1, 40, 30));
    sw_growth_settled(&accounts[1].growth, 30);

    cr_assert(sw_growth_permits_host(growth, 6));
    sw_growth_has_host(growth, 7);
    cr_assert_not(sw_growth_permits_host(&accounts[1].growth, 2));
    cr_assert_eq(sw_account_refusal(&accounts[1]), SW_LEDGER_HOST_MAX);
    cr_assert(sw_growth_permits_host(&accounts[1].growth, 1));
    sw_growth_settled_host(&accounts[1].growth, 1);
    sw_growth_settled_host(growth, 6);
    cr_assert_not(sw_growth_permits_host(&accounts[1].growth, 2));
}

/* Two moves of one table at a time count together: of its slots, and of those of its second set. */
Test(ledger, growths_of_a_table_add_up)
{
    cr_assert(grows(0, 20, 20));
    cr_assert(grows(0, 0, 20));
    cr_assert_not(grows(1, 40, 1));
    sw_growth_has(&accounts[0].growth, 20);
    sw_growth_settled(&accounts[0].growth, 20);
    cr_assert_not(grows(1, 40, 11));
    cr_assert(grows(1, 40, 10));
    sw_growth_settled(&accounts[1].growth, 10);
    sw_growth_settled(&accounts[0].growth, 20);
    cr_assert(grows(1, 40, 30));
    sw_growth_settled(&accounts[1].growth, 30);
}

/* No limit refuses a table fewer slots. Its new slots count, also for the others. */
Test(ledger, fewer_slots_are_permitted)
{
    cr_assert_eq(sw_account_set(&accounts[2], 0, 30, 0, false), SW_LEDGER_PERMITS);
    cr_assert_eq(sw_account_set(&accounts[1], 60, 0, 0, false), SW_LEDGER_PERMITS);
    cr_assert_not(grows(2, 30, 1));
    cr_assert_eq(sw_account_refusal(&accounts[2]), SW_LEDGER_TABLE_MAX);
    cr_assert(grows(2, 29, 29));
    cr_assert_not(grows(0, 20, 1));
    cr_assert_eq(sw_account_refusal(&accounts[0]), SW_LEDGER_TABLES_MAX);
    sw_growth_has(&accounts[2].growth, 10);
    sw_growth_has_slots(&accounts[2].growth, 10);
    sw_growth_settled(&accounts[2].growth, 29);
    cr_assert(grows(0, 20, 20));
    sw_growth_settled(&accounts[0].growth, 20);
    cr_assert_not(grows(2, 30, 21), "it has fewer slots now");
}

static bool is_eased(uint32_t table)
{
    return sw_growth_is_eased(&accounts[table].growth);
}

/* A table that was refused may ask again as soon as the ledger would permit it, and not before. */
Test(ledger, refused_growth_is_eased)
{
    cr_assert_eq(sw_account_set(&accounts[0], 0, 30, 15, false), SW_LEDGER_PERMITS);
    cr_assert_not(grows(0, 20, 20));
    cr_assert_eq(sw_account_refusal(&accounts[0]), SW_LEDGER_CAPACITY);
    cr_assert_eq(sw_account_set(&accounts[0], 0, 29, 0, false), SW_LEDGER_PERMITS);
    cr_assert_not(is_eased(0));
    cr_assert_eq(sw_account_refusal(&accounts[0]), SW_LEDGER_TABLE_MAX, "the limit of now");
    cr_assert_eq(sw_account_set(&accounts[0], 0, 30, 0, false), SW_LEDGER_PERMITS);
    cr_assert(is_eased(0));
    cr_assert(grows(0, 20, 20));
    cr_assert_not(is_eased(0), "it has asked again");

    cr_assert_not(grows(1, 50, 30));
    cr_assert_not(grows(1, 0, 60), "a set of slots that it does without");
    cr_assert_not(sw_growth_permits_host(&accounts[2].growth, 8));
    cr_assert_not(is_eased(1));
    sw_growth_settled(&accounts[0].growth, 20); /* a growth of another table has failed */
    cr_assert(is_eased(1));
    cr_assert_not(is_eased(2));
    sw_account_close(&accounts[0]);
    cr_assert(is_eased(2));
    cr_assert_not(grows(1, 50, 60));
    cr_assert_eq(sw_account_set(&accounts[2], 0, 0, 0, false), SW_LEDGER_PERMITS);
    cr_assert_not(is_eased(1));
}

/* While expiry times take more than the limit of all tables, no table is promised more. Promises
 * fall, and the other limits change. */
Test(ledger, limits_change_beside_too_much_memory)
{
    cr_assert_eq(sw_account_set(&accounts[1], 25, 0, 0, false), SW_LEDGER_PERMITS);
    sw_growth_has(&accounts[0].growth, 60);
    cr_assert_eq(sw_account_set(&accounts[1], 26, 0, 0, false), SW_LEDGER_TABLES_MAX);
    cr_assert_eq(sw_account_set(&accounts[1], 25, 19, 0, false), SW_LEDGER_TABLE_MAX);
    cr_assert_eq(sw_account_set(&accounts[1], 25, 40, 30, false), SW_LEDGER_PERMITS);
    cr_assert_not(grows(1, 31, 1));
    cr_assert_eq(sw_account_refusal(&accounts[1]), SW_LEDGER_CAPACITY);
    cr_assert_eq(sw_account_set(&accounts[1], 24, 40, 0, false), SW_LEDGER_PERMITS);
    cr_assert_not(grows(1, 31, 1));
    cr_assert_eq(sw_account_refusal(&accounts[1]), SW_LEDGER_TABLES_MAX);
}

/* A table that the server keeps behind its DROP leaves others all memory until it has limits
 * again. */
Test(ledger, a_table_that_leaves_does_not_count)
{
    cr_assert_eq(sw_account_set(&accounts[1], 70, 0, 0, false), SW_LEDGER_TABLES_MAX);
    sw_account_leave(&accounts[0]);
    cr_assert_eq(sw_account_set(&accounts[1], 71, 0, 0, false), SW_LEDGER_TABLES_MAX);
    cr_assert_eq(sw_account_set(&accounts[1], 70, 0, 0, false), SW_LEDGER_PERMITS);
    cr_assert_eq(sw_account_set(&accounts[0], 1, 0, 0, false), SW_LEDGER_TABLES_MAX);
    cr_assert_not(grows(2, 40, 1), "it counts again");
    cr_assert_eq(sw_account_set(&accounts[1], 59, 0, 0, false), SW_LEDGER_PERMITS);
    cr_assert(grows(2, 31, 1));
    sw_growth_settled(&accounts[2].growth, 1);
}

/* The replay of a log lets new arrays count in place of those that they replace. */
Test(ledger, new_arrays_in_place_of_others)
{
    sw_growth_has_arrays(&accounts[2].growth, 25);
    cr_assert_not(grows(2, 70, 41));
    sw_account_replace(&accounts[2], true);
    cr_assert_not(grows(2, 70, 66));
    cr_assert(grows(2, 70, 65));
    sw_growth_settled(&accounts[2].growth, 65);
    cr_assert(grows(2, 31, 20), "fewer bytes than the arrays have");
    sw_growth_settled(&accounts[2].growth, 20);
    sw_account_replace(&accounts[2], false);
    cr_assert_not(grows(2, 70, 41));
}

/* Memory for expiry times is not refused, so tables may have more than their limit. A start must
 * load such tables, and a replica must follow them. */
Test(ledger, times_do_not_count_while_tables_load)
{
    sw_growth_has_times(&accounts[1].growth, 50);
    sw_growth_has(&accounts[1].growth, 70);
    cr_assert_not(grows(0, 20, 20));
    cr_assert_eq(sw_account_refusal(&accounts[0]), SW_LEDGER_TABLES_MAX);
    ledger.loads = true;
    cr_assert_not(grows(0, 50, 41));
    cr_assert(grows(0, 40, 40));
    sw_growth_settled(&accounts[0].growth, 40);
    cr_assert(grows(1, 90, 40), "its own times do not count either");
    sw_growth_settled(&accounts[1].growth, 40);
    ledger.loads = false;
    cr_assert_not(grows(0, 20, 20));
}
