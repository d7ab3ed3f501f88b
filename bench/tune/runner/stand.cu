/* SPDX-License-Identifier: MIT
 *
 * stand.cu - opens a table, fills it, and times passes of the variant over it.
 */
#include "bench/tune/runner/stand.cuh"
#include "table/robin_hood/cuda/walk.cuh"

/* Never reached, so that the stash is not timed. */
#define MAX_PROBE (1U << 20)
/* A sample of gets is of so many launches that it lasts so long: events tell half microseconds. */
#define SAMPLE_SECONDS 1e-4
#define LAUNCHES_MAX 64

/* --- the table -------------------------------------------------------------------------------- */

template <int BITS>
static bool open_table(struct sw_tune_stand<BITS> *stand, int device, char why[SW_SERVE_TEXT_MAX])
{
    struct sw_table_config config;
    void *table = NULL;
    void *queue = NULL;
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CUDA;
    config.device = device;
    config.slot_bits = BITS;
    config.capacity_slots = stand->slots;
    config.max_load = 1.0;
    config.max_probe = MAX_PROBE;
    config.batch_ops_max = SW_TUNE_FILL_MAX;
    stand->backend = sw_robin_hood_backend_cuda();
    int status = stand->backend->open(&config, &table, why, SW_SERVE_TEXT_MAX);
    if (status != SW_OK) {
        return false;
    }
    stand->table = (struct sw_cuda_table *)table;
    status = stand->backend->queue_open(table, &queue);
    stand->queue = (struct sw_cuda_queue *)queue;
    if (status != SW_OK) {
        snprintf(why, SW_SERVE_TEXT_MAX, "a queue: %s", sw_status_text(status));
    }
    return status == SW_OK;
}

template <int BITS>
bool sw_tune_stand_open(struct sw_tune_stand<BITS> *stand,
                        const struct sw_tune_cuda_variant *variant, uint64_t slots, int device,
                        char why[SW_SERVE_TEXT_MAX])
{
    const size_t word = sizeof(typename sw_width<BITS>::word);
    memset(stand, 0, sizeof(*stand));
    stand->variant = variant;
    stand->slots = slots;
    stand->load = -1;
    stand->room = slots > SW_TUNE_POOL_MAX ? slots : SW_TUNE_POOL_MAX;
    if (!open_table(stand, device, why)) {
        return false;
    }
    auto good = [&](cudaError_t error) {
        return sw_tune_good(error, "memory for keys and answers", why);
    };
    return good(cudaMalloc((void **)&stand->keys, stand->room * word)) &&
           good(cudaMalloc((void **)&stand->values, SW_TUNE_FILL_MAX * word)) &&
           good(cudaMalloc((void **)&stand->answers, stand->room * word)) &&
           good(cudaMalloc((void **)&stand->found, stand->room / 8)) &&
           good(cudaMalloc((void **)&stand->tally, sizeof(*stand->tally))) &&
           good(cudaMemset(stand->tally, 0, sizeof(*stand->tally))) &&
           good(cudaMalloc((void **)&stand->wrong, sizeof(*stand->wrong))) &&
           good(cudaHostAlloc((void **)&stand->record, sizeof(*stand->record),
                              cudaHostAllocMapped)) &&
           good(cudaEventCreate(&stand->begun)) && good(cudaEventCreate(&stand->ended));
}

/* Makes hints exact, as after a merge, so that times do not depend on earlier passes. */
template <int BITS>
static bool renew_hints(struct sw_tune_stand<BITS> *stand, char why[SW_SERVE_TEXT_MAX])
{
    return !stand->table->has_hints ||
           sw_tune_good(sw_cuda_launch_hints<BITS>(sw_cuda_device_of<BITS>(stand->table),
                                                   stand->queue->stream),
                        "making the hints exact", why);
}

template <int BITS>
bool sw_tune_fill(struct sw_tune_stand<BITS> *stand, double load, char why[SW_SERVE_TEXT_MAX])
{
    struct sw_batch clear;
    uint64_t wanted = (uint64_t)(load * (double)stand->slots);
    struct sw_tune_draw draw = {0, wanted, 1.0, 0, true};
    memset(&clear, 0, sizeof(clear));
    clear.kind = SW_BATCH_CLEAR;
    if (!sw_tune_wait_for<BITS>(stand, &clear, why)) {
        return false;
    }
    for (uint64_t done = 0; done < wanted;) {
        uint64_t left = wanted - done;
        uint32_t count = (uint32_t)(left < SW_TUNE_FILL_MAX ? left : SW_TUNE_FILL_MAX);
        draw.first = done;
        if (!sw_tune_write_keys<BITS>(stand, draw, count, why) ||
            !sw_tune_run_batch<BITS>(stand, SW_SET, 0, count, why)) {
            return false;
        }
        done += count;
    }
    stand->stored = wanted;
    stand->load = load;
    return renew_hints(stand, why);
}

/* --- gets ------------------------------------------------------------------------------------- */

template <int BITS> static bool is_get(const struct sw_tune_stand<BITS> *stand)
{
    return stand->variant->operation == SW_TUNE_GET ||
           stand->variant->operation == SW_TUNE_GET_HINTED;
}

/* One launch, of the next keys of the pool. */
template <int BITS> static cudaError_t launch_get(struct sw_tune_stand<BITS> *stand)
{
    struct sw_cuda_reads<BITS, 1> reads;
    uint64_t offset = stand->passes++ * stand->batch % stand->pool;
    memset(&reads, 0, sizeof(reads));
    reads.batch_count = 1;
    reads.batches[0].keys = stand->keys + offset;
    reads.batches[0].previous = stand->answers;
    reads.batches[0].found = stand->found;
    reads.batches[0].record = stand->record;
    reads.batches[0].tally = stand->tally;
    reads.batches[0].ticket = stand->passes;
    reads.batches[0].count = stand->batch;
    stand->draw.first = offset;
    stand->answered = true;
    return stand->variant->launch(sw_cuda_device_of<BITS>(stand->table), &reads,
                                  stand->queue->stream);
}

template <int BITS>
static bool time_gets(struct sw_tune_stand<BITS> *stand, double *seconds,
                      char why[SW_SERVE_TEXT_MAX])
{
    float milliseconds = 0;
    auto good = [&](cudaError_t error) { return sw_tune_good(error, "a get", why); };
    bool done = good(cudaEventRecord(stand->begun, stand->queue->stream));
    for (uint32_t n = 0; n < stand->launches && done; n++) {
        done = good(launch_get(stand));
    }
    done = done && good(cudaEventRecord(stand->ended, stand->queue->stream)) &&
           good(cudaEventSynchronize(stand->ended)) &&
           good(cudaEventElapsedTime(&milliseconds, stand->begun, stand->ended));
    *seconds = milliseconds / 1e3 / stand->launches;
    return done;
}

template <int BITS>
static bool setup_gets(struct sw_tune_stand<BITS> *stand, char why[SW_SERVE_TEXT_MAX])
{
    double seconds = 0;
    stand->pool = SW_TUNE_POOL_MAX / stand->batch * stand->batch;
    stand->pool = stand->pool == 0 ? stand->batch : stand->pool;
    stand->draw = (struct sw_tune_draw){0, stand->stored, stand->hit, 0, false};
    stand->launches = 1;
    if (!sw_tune_write_keys<BITS>(stand, stand->draw, stand->pool, why) ||
        !time_gets(stand, &seconds, why) || /* the first launch loads the kernel */
        !time_gets(stand, &seconds, why)) {
        return false;
    }
    double launches = seconds > 0 ? SAMPLE_SECONDS / seconds + 1 : LAUNCHES_MAX;
    stand->launches = launches < LAUNCHES_MAX ? (uint32_t)launches : LAUNCHES_MAX;
    stand->answered = false; /* the check makes a pass of its own, into poisoned memory */
    return true;
}

template <int BITS>
static bool check_gets(struct sw_tune_stand<BITS> *stand, char why[SW_SERVE_TEXT_MAX])
{
    auto good = [&](cudaError_t error) { return sw_tune_good(error, "a get", why); };
    if (!stand->answered &&
        !(good(cudaMemset(stand->answers, 0xA5, stand->batch * sizeof(*stand->answers))) &&
          good(cudaMemset(stand->found, 0xA5, stand->batch / 8)) && good(cudaDeviceSynchronize()) &&
          good(launch_get(stand)) && good(cudaStreamSynchronize(stand->queue->stream)))) {
        return false;
    }
    stand->answered = false;
    return sw_tune_verify<BITS>(stand, SW_TUNE_AS_DRAWN, why);
}

/* --- upserts ---------------------------------------------------------------------------------- */

/* Everything of one batch that is enqueued; waits for it. */
template <int BITS>
static bool launch_upsert(struct sw_tune_stand<BITS> *stand,
                          const struct sw_cuda_device<BITS> *device,
                          struct sw_cuda_batch<BITS> *batch, char why[SW_SERVE_TEXT_MAX])
{
    cudaStream_t stream = stand->queue->stream;
    enum sw_tune_operation operation = stand->variant->operation;
    struct sw_cuda_batch<BITS> rest = *batch;
    rest.found = NULL; /* as write.cu has it */
    rest.count = 0;
    auto good = [&](cudaError_t error) { return sw_tune_good(error, "an upsert", why); };
    return (operation != SW_TUNE_RANGES_APPLY ||
            good(sw_cuda_launch_scatter<BITS>(device, batch, stream))) &&
           good(cudaEventRecord(stand->begun, stream)) &&
           good(stand->variant->launch(device, batch, stream)) &&
           good(cudaEventRecord(stand->ended, stream)) &&
           (operation != SW_TUNE_RANGES_SCATTER ||
            good(sw_cuda_launch_ranges<BITS>(device, batch, stream))) &&
           good(sw_cuda_launch_inserts<BITS>(device, batch->count, stream)) && /* those listed */
           good(sw_cuda_launch_finish<BITS>(device, &rest, stream)) &&
           good(cudaStreamSynchronize(stream));
}

/* The number of inserts that a draw makes: all of it or none. */
template <int BITS> static uint32_t inserts_of(const struct sw_tune_stand<BITS> *stand)
{
    return stand->draw.hit > 0 ? 0 : stand->batch;
}

template <int BITS>
static bool upsert_once(struct sw_tune_stand<BITS> *stand, double *seconds,
                        char why[SW_SERVE_TEXT_MAX])
{
    struct sw_cuda_device<BITS> device = *sw_cuda_device_of<BITS>(stand->table);
    struct sw_cuda_batch<BITS> batch;
    float milliseconds = 0;
    uint64_t windows = stand->stored / stand->batch;
    stand->draw.first = stand->passes++ % (windows > 0 ? windows : 1) * stand->batch;
    stand->draw.generation++;
    if (!sw_tune_write_keys<BITS>(stand, stand->draw, stand->batch, why)) {
        return false;
    }
    memset(&batch, 0, sizeof(batch));
    batch.op = SW_SET;
    batch.count = stand->batch;
    batch.keys = stand->keys;
    batch.values = stand->values;
    batch.found = stand->found;
    batch.record = stand->record;
    batch.ticket = stand->passes;
    batch.group_count = 1;
    if (!sw_cuda_hints_pay(stand->table)) {
        device.hints = NULL;
    }
    if (!launch_upsert(stand, &device, &batch, why) ||
        !sw_tune_good(cudaEventElapsedTime(&milliseconds, stand->begun, stand->ended), "an upsert",
                      why)) {
        return false;
    }
    *seconds = milliseconds / 1e3;
    uint64_t inserted = stand->record->counters.inserted;
    /* the library did not run this batch: its bound of the entries is corrected here */
    __atomic_fetch_add(&stand->table->entries, inserted, __ATOMIC_RELAXED);
    if (inserted != inserts_of(stand)) {
        snprintf(why, SW_SERVE_TEXT_MAX, "%llu keys were inserted, not %u",
                 (unsigned long long)inserted, (unsigned)inserts_of(stand));
    }
    return inserted == inserts_of(stand);
}

/* Deletes the inserted keys, so that the load stays the same. */
template <int BITS>
static bool take_back(struct sw_tune_stand<BITS> *stand, char why[SW_SERVE_TEXT_MAX])
{
    return inserts_of(stand) == 0 ||
           (sw_tune_run_batch<BITS>(stand, SW_DELETE, 0, stand->batch, why) &&
            renew_hints(stand, why));
}

/* The found bits of the upsert, then a get of every key of the batch by the library. */
template <int BITS>
static bool check_upserts(struct sw_tune_stand<BITS> *stand, char why[SW_SERVE_TEXT_MAX])
{
    double seconds = 0;
    /* the queue's stream waits for no other: hence the wait */
    return sw_tune_good(cudaMemset(stand->found, 0xA5, stand->batch / 8), "clearing answers",
                        why) &&
           sw_tune_good(cudaDeviceSynchronize(), "clearing answers", why) &&
           upsert_once(stand, &seconds, why) &&
           sw_tune_verify<BITS>(stand, SW_TUNE_WAS_FOUND, why) &&
           sw_tune_run_batch<BITS>(stand, SW_GET, 0, stand->batch, why) &&
           sw_tune_verify<BITS>(stand, SW_TUNE_ALL_STORED, why) && take_back(stand, why);
}

/* Keys, operands or answers, and bits once, and of each key one bucket; of scatter, which looks at
 * no bucket, the operations once more, as they are written. */
template <int BITS> static double bytes_of(const struct sw_tune_stand<BITS> *stand)
{
    const double operation = 2 * sizeof(typename sw_width<BITS>::word);
    const double bucket = SW_BUCKET_SLOTS * sizeof(typename sw_width<BITS>::slot);
    const bool is_scatter = stand->variant->operation == SW_TUNE_RANGES_SCATTER;
    return stand->batch * (is_scatter ? 2 * operation : operation + 1.0 / 8 + bucket);
}

/* --- for sw_serve ----------------------------------------------------------------------------- */

template <int BITS>
bool sw_tune_setup(void *context, const char *point, double *bytes, char why[SW_SERVE_TEXT_MAX])
{
    struct sw_tune_stand<BITS> *stand = (struct sw_tune_stand<BITS> *)context;
    double load = 0;
    double batch = 0;
    double most = is_get(stand) ? (double)stand->room : SW_TUNE_FILL_MAX;
    if (!sw_serve_number(point, "Load", &load) || !sw_serve_number(point, "Batch", &batch) ||
        !sw_serve_number(point, "Hit", &stand->hit) || load <= 0 || load > 1 || batch < 64 ||
        batch > most || stand->hit < 0 || stand->hit > 1) {
        snprintf(why, SW_SERVE_TEXT_MAX, "%s is no workload of this kernel", point);
        return false;
    }
    stand->batch = (uint32_t)batch / 64 * 64; /* whole words of found */
    stand->answered = false;
    *bytes = bytes_of(stand);
    if (load != stand->load && !sw_tune_fill<BITS>(stand, load, why)) {
        return false;
    }
    if (is_get(stand)) {
        return setup_gets(stand, why);
    }
    if (stand->hit != 0 && stand->hit != 1) {
        snprintf(why, SW_SERVE_TEXT_MAX, "%s: of upserts all keys are stored, or none", point);
        return false;
    }
    if (stand->stored < stand->batch ||
        (stand->hit == 0 && stand->stored + stand->batch > stand->slots)) {
        snprintf(why, SW_SERVE_TEXT_MAX, "%s does not fit a table of %llu slots", point,
                 (unsigned long long)stand->slots);
        return false;
    }
    uint32_t generation = stand->draw.generation;
    stand->draw = (struct sw_tune_draw){0, stand->stored, stand->hit, generation, true};
    return true;
}

template <int BITS> bool sw_tune_check(void *context, char why[SW_SERVE_TEXT_MAX])
{
    struct sw_tune_stand<BITS> *stand = (struct sw_tune_stand<BITS> *)context;
    return is_get(stand) ? check_gets(stand, why) : check_upserts(stand, why);
}

template <int BITS>
bool sw_tune_time(void *context, uint32_t count, double *seconds, char why[SW_SERVE_TEXT_MAX])
{
    struct sw_tune_stand<BITS> *stand = (struct sw_tune_stand<BITS> *)context;
    for (uint32_t i = 0; i < count; i++) {
        if (is_get(stand) ? !time_gets(stand, &seconds[i], why)
                          : !upsert_once(stand, &seconds[i], why) || !take_back(stand, why)) {
            return false;
        }
    }
    return true;
}

#define INSTANTIATE(BITS)                                                                          \
    template bool sw_tune_stand_open<BITS>(                                                        \
        struct sw_tune_stand<BITS> *, const struct sw_tune_cuda_variant *, uint64_t, int, char *); \
    template bool sw_tune_fill<BITS>(struct sw_tune_stand<BITS> *, double, char *);                \
    template bool sw_tune_setup<BITS>(void *, const char *, double *, char *);                     \
    template bool sw_tune_check<BITS>(void *, char *);                                             \
    template bool sw_tune_time<BITS>(void *, uint32_t, double *, char *);
INSTANTIATE(64)
INSTANTIATE(128)
