/* SPDX-License-Identifier: MIT
 *
 * native.h - what the Python package adds to libsherwood: found bits as bytes, values for absent
 * keys, and shared memory that outlives a handle. These functions use nothing of Python; the module
 * calls them without the GIL.
 */
#ifndef SHERWOOD_PYTHON_NATIVE_H
#define SHERWOOD_PYTHON_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sherwood;
struct sherwood_region;

/* The arguments of some calls beside arrays, as in struct sherwood_request; and the bytes of each
 * element of `values` and `previous`. */
struct swpy_details {
    uint32_t operand_bytes, answer_bytes;
    float scale;
    int operand_type;
    uint32_t range_offset, range_bytes;
    int when; /* enum sherwood_when; the times are as in struct sherwood_times */
    uint64_t time_ms;
    const uint64_t *times_ms;
};

/* Does what sherwood_run does. With `details`, which may be NULL, does what sherwood_add,
 * sherwood_get_range, sherwood_set_range and sherwood_run_times do. `found`, which may be NULL,
 * receives a byte of 0 or 1 for each key. `fill`, which may be NULL, is the value that `previous`
 * receives for absent keys. `bits`, which may be NULL, has room for the found bits of all keys, for
 * example in a region. Returns SHERWOOD_OK or a negative code; after an error the arrays are
 * undefined. Only the caller may use the handle meanwhile. */
int swpy_run(struct sherwood *client, int operation, const void *keys, const void *values,
             size_t count, void *previous, uint8_t *found, const void *fill, uint64_t *bits,
             const struct swpy_details *details);

/* Writes `found` and `previous` of swpy_run from the bits of `count` keys; either may be NULL. */
void swpy_spread(const uint64_t *bits, size_t count, uint8_t *found, void *previous,
                 size_t value_bytes, const void *fill);

/* Does the operation on rows leave a value that cannot take the operand, without an overflow in the
 * reply? INCRBY, INCRBYFLOAT and APPEND leave the string, the others the numbers that do not fit.
 */
bool swpy_may_keep(int operation);
/* Returns how many of `count` rows of `bytes` bytes such an operation has left, or a number of
 * them. The row of an absent key, whose found bit is 0, counts as zeros. */
size_t swpy_kept(int operation, const uint64_t *found, const void *previous, const void *operands,
                 size_t count, uint32_t bytes);

/* Memory for regions of any handles. `descriptor` is -1 before swpy_memory_make, and after a
 * failure. */
struct swpy_memory {
    void *address;
    size_t bytes;
    int descriptor;
};
/* Makes `bytes` bytes of memory, in whole pages. Returns a status; the handle has the sentence. */
int swpy_memory_make(struct sherwood *client, size_t bytes, struct swpy_memory *out);
/* Registers the memory with the server of a handle. */
int swpy_memory_share(struct sherwood *client, const struct swpy_memory *memory,
                      struct sherwood_region **out);
void swpy_memory_free(struct swpy_memory *memory);

/* Returns a number that changes when the handle replaces its connections, because cursors of scans
 * end then. Returns 0 for a handle of a cluster, which checks its cursors itself. */
uint32_t swpy_connections(const struct sherwood *client);

/* Returns the highest sequence of a write that the server has sent to the handle, and stores the id
 * of the log of this sequence; 0: none. */
uint64_t swpy_last_write(const struct sherwood *client);
uint64_t swpy_log(const struct sherwood *client);
/* Does what sherwood_wait_durable does, for the writes up to `sequence` of a log. */
int swpy_wait_durable(struct sherwood *client, uint64_t log, uint64_t sequence, int timeout_ms);
/* The program has waited on the descriptor since the last call of the library, with requests in
 * flight: this time counts towards the time-out, as the time of waiting calls does. */
void swpy_waited(struct sherwood *client);
/* Returns whether the handle has sent a request that may change the table. */
bool swpy_has_written(const struct sherwood *client);

/* Closes a handle, and the handle whose connections it uses if it is that of a table. */
void swpy_close(struct sherwood *client);
/* Closes a handle in a forked child. Sends no byte on its sockets, because the parent also uses
 * them. */
void swpy_forget(struct sherwood *client);

#endif
