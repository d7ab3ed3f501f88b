/* SPDX-License-Identifier: MIT
 *
 * hkv.cu - HierarchicalKV as a library of the cache study: one bucket a key, with values in device
 * memory (`hkv`) or in pinned host memory (`hkv_host`), and two, with values in pinned host memory
 * (`hkv_memory`, as the library allocates them) or in device memory (`hkv_memory_gpu`).
 */
#include <merlin_hashtable.cuh>

#include <exception>
#include <memory>
#include <stdio.h>

#include "bench/cache/library.h"
#include "bench/study/device.cuh"
#include "bench/study/span.h"

/* peers.mk defines it: the commit of the headers, where git knows it. */
#ifndef SW_PEER_VERSION
#define SW_PEER_VERSION "version not known"
#endif

#define BUCKET_SLOTS 128
/* Buckets of one allocation, a power of two. Otherwise each bucket is its own allocation. */
#define BUCKETS_AN_ALLOCATION 4096

namespace
{

using nv::merlin::EvictStrategy;
using nv::merlin::HashTableOptions;
using nv::merlin::MemoryType;
using nv::merlin::TableMode;

/* Each of the two policies gives the table another type. */
struct under_test {
    virtual ~under_test()
    {
    }
    virtual void clear() = 0;
    virtual uint64_t size() = 0;
    virtual uint64_t capacity() = 0;
    virtual bool call(enum sw_cachebench_operation operation,
                      const struct sw_cachebench_arrays *arrays, uint64_t count) = 0;
    virtual cudaStream_t stream() = 0;
};

struct own_stream {
    cudaStream_t stream = nullptr;

    own_stream()
    {
        CUDA_CHECK(cudaStreamCreate(&stream));
    }

    own_stream(const own_stream &) = delete;

    ~own_stream()
    {
        (void)cudaStreamDestroy(stream);
    }
};

/* With two buckets a key the library accepts only max_hbm_for_vectors 0, and so allocates values in
 * pinned host memory. This allocator raises the table's limit behind the library's check, before
 * the library allocates the values. */
class device_values : public nv::merlin::DefaultAllocator
{
    using core = nv::merlin::Table<uint64_t, float, uint64_t>;

  public:
    void alloc(const MemoryType type, void **address, size_t size,
               unsigned int flags = cudaHostAllocDefault) override
    {
        DefaultAllocator::alloc(type, address, size, flags);
        if (table_ != nullptr) {
            table_->remaining_hbm_for_vectors = SIZE_MAX;
        } else if (type == MemoryType::Host && size == sizeof(core)) {
            table_ = (core *)*address; /* create_table() fills it in, then allocates its parts */
        }
    }

    void free(const MemoryType type, void *address) override
    {
        table_ = address == table_ ? nullptr : table_;
        DefaultAllocator::free(type, address);
    }

  private:
    core *table_ = nullptr;
};

template <int POLICY> class table : public under_test
{
  public:
    table(const HashTableOptions &options, bool values_on_host)
    {
        bool raises = options.table_mode == TableMode::kMemory && !values_on_host;
        hkv_.init(options, raises ? &device_values_ : nullptr);
    }

    void clear() override
    {
        hkv_.clear(stream_);
    }

    uint64_t size() override
    {
        return hkv_.size(stream_);
    }

    uint64_t capacity() override
    {
        return hkv_.capacity();
    }

    cudaStream_t stream() override
    {
        return stream_;
    }

    bool call(enum sw_cachebench_operation operation, const struct sw_cachebench_arrays *a,
              uint64_t count) override
    {
        bool *found = (bool *)a->results;
        switch (operation) {
        case SW_CACHEBENCH_FIND:
            hkv_.find(count, a->keys, a->values_out, found, nullptr, stream_);
            return true;
        case SW_CACHEBENCH_INSERT_OR_ASSIGN:
            hkv_.insert_or_assign(count, a->keys, a->values, a->scores, stream_);
            return true;
        default:
            return other(operation, a, count);
        }
    }

  private:
    /* The study needs only insert_or_assign and find of tables with custom scores. */
    bool other(enum sw_cachebench_operation operation, const struct sw_cachebench_arrays *a,
               uint64_t count)
    {
        if constexpr (POLICY == EvictStrategy::kLru) {
            bool *found = (bool *)a->results;
            switch (operation) {
            case SW_CACHEBENCH_FIND_PLACES:
                hkv_.find(count, a->keys, (float **)a->places, found, nullptr, stream_);
                return true;
            case SW_CACHEBENCH_CONTAINS:
                hkv_.contains(count, a->keys, found, stream_);
                return true;
            case SW_CACHEBENCH_INSERT_AND_EVICT:
                CUDA_CHECK(cudaMemsetAsync(a->evicted_count, 0, sizeof(uint64_t), stream_));
                hkv_.insert_and_evict(count, a->keys, a->values, nullptr, a->evicted_keys,
                                      a->evicted_values, a->evicted_scores,
                                      (size_t *)a->evicted_count, stream_);
                return true;
            case SW_CACHEBENCH_FIND_OR_INSERT:
                hkv_.find_or_insert(count, a->keys, a->values_out, nullptr, stream_);
                return true;
            case SW_CACHEBENCH_ASSIGN:
                hkv_.assign(count, a->keys, a->values, nullptr, stream_);
                return true;
            case SW_CACHEBENCH_ACCUM_OR_ASSIGN:
                hkv_.accum_or_assign(count, a->keys, a->values, (const bool *)a->accumulate,
                                     nullptr, stream_);
                return true;
            case SW_CACHEBENCH_ERASE:
                hkv_.erase(count, a->keys, stream_);
                return true;
            default:
                break;
            }
        }
        fprintf(stderr, "cache: hkv: there is no such operation of this table\n");
        return false;
    }

    own_stream own_; /* this and the allocator outlive the table */
    device_values device_values_;
    cudaStream_t stream_ = own_.stream;
    nv::merlin::HashTable<uint64_t, float, uint64_t, POLICY> hkv_;
};

HashTableOptions options_of(const struct sw_cachebench_wanted *wanted, TableMode mode,
                            bool values_on_host)
{
    HashTableOptions options;
    uint64_t buckets = wanted->capacity / BUCKET_SLOTS;
    options.init_capacity = wanted->capacity;
    options.max_capacity = wanted->capacity;
    options.dim = wanted->dim;
    options.max_bucket_size = BUCKET_SLOTS;
    options.device_id = wanted->device;
    options.table_mode = mode;
    /* All values in one memory. The mode of two buckets a key accepts only 0: see device_values. */
    bool is_zero = values_on_host || mode == TableMode::kMemory;
    options.max_hbm_for_vectors =
        is_zero ? 0 : (buckets + 1) * BUCKET_SLOTS * wanted->dim * sizeof(float);
    options.num_of_buckets_per_alloc = 1;
    while (options.num_of_buckets_per_alloc < BUCKETS_AN_ALLOCATION &&
           options.num_of_buckets_per_alloc * 2 <= buckets) {
        options.num_of_buckets_per_alloc *= 2;
    }
    return options;
}

void *hkv_open(const struct sw_cachebench_wanted *wanted, TableMode mode, bool values_on_host,
               char *reason, size_t reason_size)
{
    try {
        HashTableOptions options = options_of(wanted, mode, values_on_host);
        if (wanted->custom) {
            return static_cast<under_test *>(
                new table<EvictStrategy::kCustomized>(options, values_on_host));
        }
        return static_cast<under_test *>(new table<EvictStrategy::kLru>(options, values_on_host));
    } catch (const std::exception &e) {
        snprintf(reason, reason_size, "%s", e.what());
        (void)cudaGetLastError(); /* `reason` reports the error: clear it */
        return nullptr;
    }
}

template <TableMode MODE, bool VALUES_ON_HOST>
void *open_as(const struct sw_cachebench_wanted *wanted, char *reason, size_t reason_size)
{
    return hkv_open(wanted, MODE, VALUES_ON_HOST, reason, reason_size);
}

/* Runs `work` and waits for the device. On false one line on stderr says what failed. */
template <class Work> bool run(const char *what, Work work)
{
    try {
        if (!work()) {
            return false;
        }
    } catch (const std::exception &e) {
        fprintf(stderr, "cache: hkv: %s: %s\n", what, e.what());
        return false;
    }
    return sw_study_done(what);
}

void hkv_close(void *cache)
{
    (void)run("close", [=] {
        delete (under_test *)cache;
        return true;
    });
}

bool hkv_clear(void *cache)
{
    return run("clear", [=] {
        ((under_test *)cache)->clear();
        return true;
    });
}

bool hkv_size(void *cache, uint64_t *entries)
{
    return run("size", [=] {
        *entries = ((under_test *)cache)->size();
        return true;
    });
}

uint64_t hkv_capacity(void *cache)
{
    return ((under_test *)cache)->capacity();
}

bool hkv_call(void *cache, enum sw_cachebench_operation operation,
              const struct sw_cachebench_arrays *arrays, uint64_t count)
{
    return run("call", [=] {
        under_test *self = (under_test *)cache;
        bool done = self->call(operation, arrays, count);
        sw_study_span_mark(self->stream());
        return done;
    });
}

#define ABOUT "HierarchicalKV " SW_PEER_VERSION

/* `fills_only`: it shows the place of the values alone, for which `fill` and `retention` are
 * enough.
 */
constexpr struct sw_cachebench_library library(const char *name, const char *about, bool fills_only,
                                               decltype(sw_cachebench_library::open) open)
{
    struct sw_cachebench_library made = {};
    made.name = name;
    made.about = about;
    made.operations = fills_only ? SW_CACHEBENCH_BIT(INSERT_OR_ASSIGN) | SW_CACHEBENCH_BIT(FIND)
                                 : (1U << SW_CACHEBENCH_OPERATIONS) - 1;
    made.on_device_only = true;
    made.in_place = true;
    made.fills_only = fills_only;
    made.open = open;
    made.close = hkv_close;
    made.clear = hkv_clear;
    made.size = hkv_size;
    made.capacity = hkv_capacity;
    made.call = hkv_call;
    return made;
}

} // namespace

const struct sw_cachebench_library sw_cachebench_hkv =
    library("hkv", ABOUT ", TableMode::kThroughput, values in device memory", false,
            open_as<TableMode::kThroughput, false>);

const struct sw_cachebench_library sw_cachebench_hkv_host =
    library("hkv_host", ABOUT ", TableMode::kThroughput, values in pinned host memory", true,
            open_as<TableMode::kThroughput, true>);

const struct sw_cachebench_library sw_cachebench_hkv_memory =
    library("hkv_memory", ABOUT ", TableMode::kMemory, values in pinned host memory", true,
            open_as<TableMode::kMemory, true>);

const struct sw_cachebench_library sw_cachebench_hkv_memory_gpu =
    library("hkv_memory_gpu",
            ABOUT ", TableMode::kMemory, values in device memory by an allocator of the study",
            true, open_as<TableMode::kMemory, false>);
