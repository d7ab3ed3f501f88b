/* SPDX-License-Identifier: MIT
 *
 * tested.h - what the tests of tests/table run on, by the environment:
 *
 *   SW_TEST_BACKEND   cpu (as without it) or cuda
 *   SW_TEST_ENGINE    robin_hood (as without it), cuckoo or cache; rows: robin_hood with rows
 *   SW_TEST_ROW_BYTES the size of these rows; without it each table draws one
 *   SW_TEST_ROWS_IN   where they lie on CUDA: gpu, host or both; without it each table draws one
 *   SW_TEST_SHARE     one in how many rounds of the longest tests is run: 1 without it. For kernels
 *                     that a CPU carries out, and under sanitizers
 *
 * Another value ends the process: a test must not run on another backend or engine than requested.
 * Threads: any.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_TESTED_H
#define SHERWOOD_TESTS_SUPPORT_TESTED_H

#include "table/table.h"

enum sw_backend_kind tested_backend(void);
enum sw_engine tested_engine(void);
/* value_bytes of the next table: 0, or the size of its rows. */
uint32_t tested_value_bytes(void);
/* Draws where the rows of a table on CUDA lie: in either memory, or in both, where the GPU has any
 * part of those that a small table may use. Values of a cache lie in one of the memories. For
 * configurations that have their value_bytes. */
void tested_place(struct sw_table_config *config);
/* The sizes that are drawn. */
#define TESTED_ROW_SIZES 5
extern const uint32_t tested_row_sizes[TESTED_ROW_SIZES];
/* Calls the function for both widths of slots and each size that is run (tested_now). */
void tested_with_rows(void (*run)(uint32_t slot_bits, uint32_t value_bytes));

uint32_t tested_share(void);

/* Whether the round of this number, of `count` in all, is among those that are run: another part in
 * each run, and at least one. */
bool tested_now(uint32_t number, uint32_t count);

/* Sets the tuning of a configuration that has its engine and mode: nothing where the CPU is tested.
 * On CUDA each call draws another one of the ways in which batches can be carried out, as often the
 * table's own choice as all others together; the seed of the process decides (random.h). */
void tested_tune(struct sw_table_config *config);

#endif
