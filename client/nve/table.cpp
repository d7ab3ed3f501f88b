/* SPDX-License-Identifier: MIT
 *
 * table.cpp - a plug-in that keeps tables of NVIDIA's nv-embedding-cache in a sherwoodd, by
 * libsherwood (README.md).
 *
 * Each call takes a connection from the table's pool, and returns it, or closes it after a failure.
 * Threads: any number, each with its own execution context, as nv-embedding-cache requires.
 */
#include <sherwood-tables.h>

#include <buffer_wrapper.hpp>
#include <cstring>
#include <host_table.hpp>
#include <memory>
#include <mutex>
#include <plugin.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

using namespace nve;

/* Returns elements without gaps: the array itself if its stride is `size`, otherwise a copy in
 * `copy`. */
const void *packed(const void *array, int64_t n, int64_t stride, int64_t size,
                   std::vector<char> &copy)
{
    const char *from = static_cast<const char *>(array);
    if (stride == size) {
        return from;
    }
    copy.resize(static_cast<size_t>(n * size));
    for (int64_t i = 0; i < n; i++) {
        std::memcpy(copy.data() + i * size, from + i * stride, static_cast<size_t>(size));
    }
    return copy.data();
}

DataType_t type_of(const struct sherwood_server &server)
{
    switch (server.value_type) {
    case SHERWOOD_F32:
        return DataType_t::Float32;
    case SHERWOOD_F16:
        return DataType_t::Float16;
    case SHERWOOD_BF16:
        return DataType_t::BFloat;
    default:
        return DataType_t::Unknown;
    }
}

/* Returns the option value-type for rows of this type. */
const char *name_of(DataType_t type)
{
    switch (type) {
    case DataType_t::Float32:
        return "f32";
    case DataType_t::Float16:
        return "f16";
    case DataType_t::BFloat:
        return "bf16";
    default:
        return "bytes";
    }
}

/* A connection, and the handle of the table on it. */
struct Connection {
    sherwood *root = nullptr;
    sherwood *table = nullptr; /* `root` for the default table */

    void close() const
    {
        if (table != root) {
            sherwood_close(table);
        }
        sherwood_close(root);
    }
};

/* The connections that no call uses now. */
class Pool
{
  public:
    /* `table`: a name or a number; empty: the default table. */
    Pool(std::string address, std::string user, std::string password, std::string table)
        : address_(std::move(address)), user_(std::move(user)), password_(std::move(password)),
          table_(std::move(table))
    {
    }
    ~Pool()
    {
        for (const Connection &connection : idle_) {
            connection.close();
        }
    }
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;

    Connection take()
    {
        {
            std::lock_guard<std::mutex> guard(lock_);
            if (!idle_.empty()) {
                const Connection connection = idle_.back();
                idle_.pop_back();
                return connection;
            }
        }
        Connection connection;
        connection.root = connection.table = connect();
        if (!table_.empty() && sherwood_table_open(connection.root, table_.c_str(),
                                                   &connection.table) != SHERWOOD_OK) {
            fail(connection.root);
        }
        return connection;
    }
    void put(const Connection &connection)
    {
        std::lock_guard<std::mutex> guard(lock_);
        idle_.push_back(connection);
    }
    /* Creates the table with these options, unless it exists. */
    void create(std::vector<std::string> options) const
    {
        std::vector<const char *> words = {"IF", "NOT", "EXISTS"};
        for (const std::string &option : options) {
            words.push_back(option.c_str());
        }
        sherwood *root = connect();
        if (sherwood_table_create(root, table_.c_str(), words.data(), words.size()) !=
            SHERWOOD_OK) {
            fail(root);
        }
        sherwood_close(root);
    }

  private:
    sherwood *connect() const
    {
        sherwood_options options = {};
        options.size = sizeof(options);
        options.user = user_.empty() ? nullptr : user_.c_str();
        options.password = password_.empty() ? nullptr : password_.c_str();
        sherwood *client = nullptr;
        char text[256] = "";
        if (sherwood_connect_text(address_.c_str(), &options, &client, text, sizeof(text)) !=
            SHERWOOD_OK) {
            throw std::runtime_error("sherwood: " + address_ + ": " + text);
        }
        return client;
    }
    /* Closes the connection and throws its error. */
    [[noreturn]] void fail(sherwood *root) const
    {
        const std::string text = sherwood_error(root);
        sherwood_close(root);
        throw std::runtime_error("sherwood: " + address_ + ": table " + table_ + ": " + text);
    }

    const std::string address_, user_, password_, table_;
    std::mutex lock_;
    std::vector<Connection> idle_;
};

/* A connection that one call uses. */
class Lease
{
  public:
    explicit Lease(Pool &pool) : pool_(pool), connection_(pool.take())
    {
    }
    ~Lease()
    {
        if (failed_) {
            connection_.close();
        } else {
            pool_.put(connection_);
        }
    }
    Lease(const Lease &) = delete;
    Lease &operator=(const Lease &) = delete;

    sherwood *get() const
    {
        return connection_.table;
    }
    /* Throws an exception with the error, if there is one. */
    void check(int status)
    {
        if (status != SHERWOOD_OK) {
            failed_ = status != SHERWOOD_E_FULL && status != SHERWOOD_E_REQUEST;
            throw std::runtime_error(std::string("sherwood: ") + sherwood_error(get()));
        }
    }

  private:
    Pool &pool_;
    const Connection connection_;
    bool failed_ = false;
};

class SherwoodTable final : public HostTableLike
{
  public:
    SherwoodTable(table_id_t id, std::unique_ptr<Pool> pool, const nlohmann::json &json)
        : HostTableLike(id), pool_(std::move(pool))
    {
        Lease lease(*pool_);
        const struct sherwood_server *server = sherwood_server(lease.get());
        if (server->value_format != SHERWOOD_VALUES_FIXED) {
            throw std::invalid_argument(
                "sherwood: the server's values must be rows of a fixed size: "
                "--value-bytes, and --value-type bytes or a type of numbers");
        }
        config_.mask_size = sizeof(max_bitmask_repr_t);
        config_.key_size = server->key_bytes;
        config_.max_value_size = server->value_bytes;
        config_.value_dtype = type_of(*server);
        must_be(json, "mask_size", config_.mask_size);
        must_be(json, "key_size", config_.key_size);
        must_be(json, "max_value_size", config_.max_value_size);
        if (json.contains("value_dtype") &&
            json.at("value_dtype").get<DataType_t>() != config_.value_dtype) {
            throw std::invalid_argument("sherwood: value_dtype is not the server's --value-type");
        }
        if (json.contains("invalid_key")) {
            config_.invalid_key = json.at("invalid_key").get<int64_t>();
        }
    }

    const HostTableConfig &config() const override
    {
        return config_;
    }

    int64_t size(context_ptr_t &, bool) const override
    {
        Lease lease(*pool_);
        struct sherwood_stats stats = {};
        lease.check(sherwood_stats(lease.get(), &stats, sizeof(stats)));
        return static_cast<int64_t>(stats.occupied);
    }

    void clear(context_ptr_t &) override
    {
        Lease lease(*pool_);
        lease.check(sherwood_clear(lease.get()));
    }

    void erase(context_ptr_t &ctx, int64_t n, buffer_ptr<const void> keys) override
    {
        Lease lease(*pool_);
        lease.check(sherwood_delete(lease.get(), read(keys, ctx->get_modify_stream()),
                                    static_cast<size_t>(n), nullptr));
    }

    void find(context_ptr_t &ctx, int64_t n, buffer_ptr<const void> keys,
              buffer_ptr<max_bitmask_repr_t> hit_mask, int64_t value_stride,
              buffer_ptr<void> values, buffer_ptr<int64_t> value_sizes) const override
    {
        const int64_t bytes = config_.max_value_size, key_bytes = config_.key_size;
        const cudaStream_t stream = ctx->get_lookup_stream();
        if (values && value_stride < bytes) {
            throw std::invalid_argument("sherwood: value_stride is smaller than the server's rows");
        }
        const char *all = static_cast<const char *>(read(keys, stream));
        max_bitmask_repr_t *mask =
            hit_mask ? hit_mask->access_buffer(cudaMemoryTypeUnregistered, true, stream) : nullptr;
        char *out = values ? static_cast<char *>(
                                 values->access_buffer(cudaMemoryTypeUnregistered, true, stream))
                           : nullptr;
        int64_t *sizes = value_sizes
                             ? value_sizes->access_buffer(cudaMemoryTypeUnregistered, true, stream)
                             : nullptr;
        /* The keys that the mask does not mark as found, and their indices. */
        std::vector<int64_t> at;
        std::vector<char> wanted;
        at.reserve(static_cast<size_t>(n));
        wanted.reserve(static_cast<size_t>(n * key_bytes));
        for (int64_t i = 0; i < n; i++) {
            if (mask == nullptr || (mask[i / 64] >> (i % 64) & 1) == 0) {
                at.push_back(i);
                wanted.insert(wanted.end(), all + i * key_bytes, all + (i + 1) * key_bytes);
            }
        }
        if (at.empty()) {
            return;
        }
        std::vector<char> rows(out == nullptr ? 0 : at.size() * static_cast<size_t>(bytes));
        std::vector<uint64_t> found(sherwood_found_words(at.size()));
        Lease lease(*pool_);
        lease.check(sherwood_run(lease.get(), SHERWOOD_GET, wanted.data(), nullptr, at.size(),
                                 out == nullptr ? nullptr : rows.data(), found.data()));
        int64_t hits = 0;
        for (size_t k = 0; k < at.size(); k++) {
            if (!sherwood_found(found.data(), k)) {
                continue;
            }
            const int64_t i = at[k];
            hits++;
            if (out != nullptr) {
                std::memcpy(out + i * value_stride, rows.data() + k * static_cast<size_t>(bytes),
                            static_cast<size_t>(bytes));
            }
            if (sizes != nullptr) {
                sizes[i] = bytes;
            }
            if (mask != nullptr) {
                mask[i / 64] |= uint64_t{1} << (i % 64);
            }
        }
        *lookup_counter_storage(ctx) += hits;
    }

    void insert(context_ptr_t &ctx, int64_t n, buffer_ptr<const void> keys, int64_t value_stride,
                int64_t value_size, buffer_ptr<const void> values) override
    {
        write(ctx, SHERWOOD_SET, n, keys, value_stride, value_size, values);
    }

    void update(context_ptr_t &ctx, int64_t n, buffer_ptr<const void> keys, int64_t value_stride,
                int64_t value_size, buffer_ptr<const void> values) override
    {
        write(ctx, SHERWOOD_SET_PRESENT, n, keys, value_stride, value_size, values);
    }

    void update_accumulate(context_ptr_t &ctx, int64_t n, buffer_ptr<const void> keys,
                           int64_t update_stride, int64_t update_size,
                           buffer_ptr<const void> updates, DataType_t update_dtype) override
    {
        if (config_.value_dtype != DataType_t::Float32 || update_dtype != DataType_t::Float32) {
            throw std::invalid_argument(
                "sherwood: update_accumulate is for rows and updates of f32");
        }
        write(ctx, SHERWOOD_ADD_PRESENT_F32, n, keys, update_stride, update_size, updates);
    }

  private:
    static void must_be(const nlohmann::json &json, const char *name, int64_t value)
    {
        if (json.contains(name) && json.at(name).get<int64_t>() != value) {
            throw std::invalid_argument(std::string("sherwood: ") + name + " must be " +
                                        std::to_string(value) + ", as the server has it");
        }
    }

    static const void *read(const buffer_ptr<const void> &buffer, cudaStream_t stream)
    {
        return buffer->access_buffer(cudaMemoryTypeUnregistered, true, stream);
    }

    void write(context_ptr_t &ctx, sherwood_operation operation, int64_t n,
               const buffer_ptr<const void> &keys, int64_t stride, int64_t size,
               const buffer_ptr<const void> &values)
    {
        const cudaStream_t stream = ctx->get_modify_stream();
        if (size != config_.max_value_size) {
            throw std::invalid_argument("sherwood: a value must have exactly " +
                                        std::to_string(config_.max_value_size) + " bytes");
        }
        std::vector<char> copy;
        const void *rows = packed(read(values, stream), n, stride, size, copy);
        Lease lease(*pool_);
        const int status = sherwood_run(lease.get(), operation, read(keys, stream), rows,
                                        static_cast<size_t>(n), nullptr, nullptr);
        if (status == SHERWOOD_E_FULL) { /* nv-embedding-cache treats inserts as best effort */
            NVE_LOG_WARNING_("sherwood: the server's table is full: an insert was refused");
            return;
        }
        lease.check(status);
    }

    HostTableConfig config_;
    std::unique_ptr<Pool> pool_;
};

class SherwoodFactory final : public HostTableLikeFactory
{
  public:
    /* `defaults`: settings of each table that does not have its own. */
    explicit SherwoodFactory(nlohmann::json defaults) : defaults_(std::move(defaults))
    {
    }

    /* A host database passes the name of the factory instead of settings. */
    host_table_ptr_t produce(table_id_t id, const nlohmann::json &own) override
    {
        nlohmann::json json = defaults_;
        if (own.is_object()) {
            json.update(own);
        }
        const auto table = json.value("table", std::string());
        const bool creates = json.value("create", false);
        if (creates && table.empty()) {
            throw std::invalid_argument("sherwood: create needs table, the name of the table");
        }
        if (!creates && json.contains("options")) {
            throw std::invalid_argument("sherwood: options needs \"create\": true");
        }
        auto pool =
            std::make_unique<Pool>(json.at("address").get<std::string>(), json.value("user", ""),
                                   json.value("password", ""), table);
        if (creates) {
            pool->create(options_of(json));
        }
        return std::make_shared<SherwoodTable>(id, std::move(pool), json);
    }

  private:
    /* Returns the options of a new table, by name and value. */
    static std::vector<std::string> options_of(const nlohmann::json &json)
    {
        if (!json.contains("max_value_size")) {
            throw std::invalid_argument(
                "sherwood: create needs max_value_size, the bytes of a row");
        }
        const auto type = json.value("value_dtype", DataType_t::Unknown);
        std::vector<std::string> words = {
            "key-bits",    std::to_string(8 * json.value("key_size", int64_t{8})),
            "value-bytes", std::to_string(json.at("max_value_size").get<int64_t>()),
            "value-type",  name_of(type)};
        const nlohmann::json more = json.value("options", nlohmann::json::object());
        for (const auto &option : more.items()) {
            words.push_back(option.key());
            words.push_back(option.value().is_string() ? option.value().get<std::string>()
                                                       : option.value().dump());
        }
        return words;
    }

    const nlohmann::json defaults_;
};

} // namespace

extern "C" const char *plugin_ident()
{
    return "tables in a sherwoodd";
}

extern "C" const char *plugin_developer()
{
    return "Sherwood";
}

extern "C" void enum_host_table_implementations(void *library, void (*each)(void *, const char *))
{
    each(library, "sherwood");
}

extern "C" nve::host_table_factory_ptr_t create_sherwood_table_factory(const nlohmann::json &json)
{
    return std::make_shared<SherwoodFactory>(json);
}
