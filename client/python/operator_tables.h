/* SPDX-License-Identifier: MIT
 *
 * operator_tables.h - the tables that operators of torch and the handler of XLA know by their
 * numbers.
 */
#ifndef SHERWOOD_PYTHON_OPERATOR_TABLES_H
#define SHERWOOD_PYTHON_OPERATOR_TABLES_H

#include "client/python/operators.h"

/* Returns the table with this number, which stays until swpy_table_leave; NULL if there is none, or
 * if a process that has forked made it. */
const struct swpy_table *swpy_table_enter(int64_t number);
void swpy_table_leave(const struct swpy_table *table);
/* Keeps the lock of the tables usable in forked children. */
void swpy_tables_survive_forks(void);

#endif
