/* SPDX-License-Identifier: MIT
 *
 * export.cu - the export of a table's arrays to kernels of other processes (exported_table.h).
 */
#include "table/device/direct.cuh"
#include "table/robin_hood/cuda/times/expiry.cuh"
#include "table/robin_hood/ids_backend.h"

#include <stdio.h>
#include <string.h>

bool sw_cuda_may_export(const struct sw_table_config *config)
{
    return config->direct && !config->is_set && config->value_bytes == 0 &&
           !sw_config_has_ids(config);
}

/* Returns NULL, or why only the table itself can read its entries. */
static const char *refuse(struct sw_cuda_table *table)
{
    if (sw_cuda_has_rows(table) || sw_cuda_has_ids(table) || sw_cuda_is_set(table)) {
        return "tables of rows, of ids and of keys alone cannot be read directly: use integer "
               "values";
    }
    if (table->direct == NULL) {
        return "the table was created without direct reads: start the server with "
               "--direct-readers-max";
    }
    return sw_cuda_keeps_times(table)
               ? "keys of the table have had expiry times, which direct reads "
                 "do not know: read through the server"
               : NULL;
}

template <int BITS>
static void describe_as(struct sw_cuda_table *table, struct sw_table_export *out)
{
    const typename sw_width<BITS>::table *view = &sw_cuda_device_of<BITS>(table)->table;
    out->seed = view->seed;
    out->buckets = view->main.buckets;
    out->buckets_total = view->main.buckets_total;
    out->max_probe = view->main.max_probe;
    out->stash_buckets = view->stash.buckets;
    out->stash_buckets_total = view->stash.buckets_total;
}

/* Fills in the handle of an allocation, unless it has been filled in for that allocation. */
static cudaError_t handle_of(void *memory, struct sw_cuda_exported *exported)
{
    if (exported->memory == memory) {
        return cudaSuccess;
    }
    const cudaError_t error = cudaIpcGetMemHandle(&exported->handle, memory);
    exported->memory = error == cudaSuccess ? memory : NULL;
    return error;
}

/* Under `order`. */
static cudaError_t describe(struct sw_cuda_table *table, struct sw_table_export *out)
{
    out->layout = SW_DIRECT_LAYOUT;
    out->slot_bits = table->slot_bits;
    out->generation = table->direct->generation;
    out->bytes = table->arrays.bytes;
    struct sw_cuda_direct *direct = table->direct;
    static_assert(sizeof(direct->arrays.handle) == SW_DIRECT_HANDLE_BYTES, "an export's handle");
    SW_BY_BITS(table->slot_bits, describe_as, table, out);
    cudaError_t error = handle_of(direct->page, &direct->exported_page);
    if (error == cudaSuccess) {
        error = handle_of(table->arrays.memory, &direct->arrays);
    }
    if (error == cudaSuccess) {
        memcpy(out->page_handle, &direct->exported_page.handle, sizeof(out->page_handle));
        memcpy(out->arrays_handle, &direct->arrays.handle, sizeof(out->arrays_handle));
    }
    return error;
}

static int fail(cudaError_t error, char *reason, size_t reason_size)
{
    (void)cudaGetLastError(); /* clears the error, so that a later launch does not report it */
    snprintf(reason, reason_size,
             "cannot share the table's memory: %s; start the server without --direct-readers-max",
             cudaGetErrorString(error));
    return SW_E_DEVICE;
}

/* Under `order`: no write can set a time between the check and the description. */
static int describe_unless_refused(struct sw_cuda_table *table, struct sw_table_export *out,
                                   char *reason, size_t reason_size)
{
    const char *why = refuse(table);
    if (why != NULL) {
        snprintf(reason, reason_size, "%s", why);
        return SW_E_UNSUPPORTED;
    }
    const cudaError_t error = describe(table, out);
    return error == cudaSuccess ? SW_OK : fail(error, reason, reason_size);
}

static int export_table(void *context, bool adds, struct sw_table_export *out, char *reason,
                        size_t reason_size)
{
    struct sw_cuda_table *table = (struct sw_cuda_table *)context;
    cudaError_t error = cudaSetDevice(table->device);
    adds = adds && table->direct != NULL;
    if (error == cudaSuccess && adds) {
        error = sw_cuda_direct_add(table);
    }
    if (error != cudaSuccess) {
        return fail(error, reason, reason_size);
    }
    pthread_mutex_lock(&table->order);
    const int status = describe_unless_refused(table, out, reason, reason_size);
    pthread_mutex_unlock(&table->order);
    if (status != SW_OK && adds) {
        (void)sw_cuda_direct_remove(table);
    }
    return status;
}

static void leave(void *context)
{
    struct sw_cuda_table *table = (struct sw_cuda_table *)context;
    (void)cudaSetDevice(table->device);
    (void)sw_cuda_direct_remove(table); /* a failure marks the table as lost */
}

static void end_direct(void *context)
{
    struct sw_cuda_table *table = (struct sw_cuda_table *)context;
    if (table->direct != NULL && sw_cuda_use_device(table->device) == cudaSuccess) {
        (void)sw_cuda_direct_end(table); /* a failure marks the table as lost */
    }
}

static void read_counts(void *context, uint64_t *hits, uint64_t *misses)
{
    struct sw_cuda_table *table = (struct sw_cuda_table *)context;
    uint64_t counts[2] = {0, 0};
    if (table->direct != NULL && !sw_cuda_is_lost(table) &&
        sw_cuda_use_device(table->device) == cudaSuccess) {
        (void)sw_cuda_check(table, sw_cuda_direct_counts(table, counts), "counts of direct reads");
    }
    *hits = counts[0];
    *misses = counts[1];
}

const struct sw_exporting sw_cuda_exporting = {export_table, leave, end_direct, read_counts};
