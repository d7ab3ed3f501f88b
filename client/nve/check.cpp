/* SPDX-License-Identifier: MIT
 *
 * check.cpp - loads the plug-in as nv-embedding-cache does, runs random calls on a server, and
 * compares the results with a map:
 *
 *     check PLUGIN ADDRESS [SEED]
 *
 * The server needs rows of 128 f32 (--value-bytes 512 --value-type f32). The check empties its
 * default table, and makes and empties two other tables, nve_check_a and nve_check_b.
 */
#include <buffer_wrapper.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <host_table.hpp>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace
{

using namespace nve;
using Row = std::vector<float>;

template <typename T>
std::shared_ptr<BufferWrapper<T>> wrap(context_ptr_t &ctx, const char *name, T *array, size_t bytes)
{
    return std::make_shared<BufferWrapper<T>>(ctx, name, array, bytes);
}

void require(bool is_true, const std::string &what)
{
    if (!is_true) {
        std::fprintf(stderr, "not ok %s\n", what.c_str());
        std::exit(1);
    }
}

/* A caller of the table with its own context and keys, and the expected contents of these keys. */
class Caller
{
  public:
    Caller(host_table_ptr_t table, int64_t first_key, unsigned seed)
        : table_(std::move(table)), first_key_(first_key), random_(seed),
          ctx_(table_->create_execution_context(nullptr, nullptr, nullptr, nullptr)),
          numbers_(static_cast<size_t>(table_->get_max_row_size()) / sizeof(float))
    {
    }

    void run(int steps)
    {
        for (int step = 0; step < steps; step++) {
            draw();
            switch (random_() % 5) {
            case 0:
                table_->insert(ctx_, n(), keys(), stride(), bytes(), rows());
                each([&](int64_t key, const Row &row) { model_[key] = row; });
                break;
            case 1:
                table_->update(ctx_, n(), keys(), stride(), bytes(), rows());
                each([&](int64_t key, const Row &row) {
                    if (model_.count(key) != 0) {
                        model_[key] = row;
                    }
                });
                break;
            case 2:
                table_->update_accumulate(ctx_, n(), keys(), stride(), bytes(), rows(),
                                          DataType_t::Float32);
                each([&](int64_t key, const Row &row) {
                    for (size_t i = 0; i < numbers_ && model_.count(key) != 0; i++) {
                        model_[key][i] += row[i];
                    }
                });
                break;
            case 3:
                table_->erase(ctx_, n(), keys());
                each([&](int64_t key, const Row &) { model_.erase(key); });
                break;
            default:
                find();
            }
        }
    }

    size_t size() const
    {
        return model_.size();
    }

  private:
    int64_t bytes() const
    {
        return static_cast<int64_t>(numbers_ * sizeof(float));
    }
    int64_t stride() const
    {
        return bytes() + gap_;
    }
    int64_t n() const
    {
        return static_cast<int64_t>(keys_.size());
    }

    /* Draws keys, some of them twice, and rows with or without a gap between them. */
    void draw()
    {
        keys_.resize(1 + random_() % 200);
        gap_ = random_() % 2 * 16;
        for (int64_t &key : keys_) {
            key = first_key_ + static_cast<int64_t>(random_() % 300);
        }
        rows_.resize(keys_.size() * static_cast<size_t>(stride()));
        for (size_t k = 0; k < keys_.size(); k++) {
            for (size_t i = 0; i < numbers_; i++) {
                const float number = static_cast<float>(random_() % 1000) / 7;
                std::memcpy(&rows_[k * static_cast<size_t>(stride()) + i * sizeof(float)], &number,
                            sizeof(number));
            }
        }
    }

    std::shared_ptr<BufferWrapper<const void>> keys()
    {
        return wrap<const void>(ctx_, "keys", keys_.data(), keys_.size() * sizeof(int64_t));
    }
    std::shared_ptr<BufferWrapper<const void>> rows()
    {
        return wrap<const void>(ctx_, "rows", rows_.data(), rows_.size());
    }

    template <typename Do> void each(Do what)
    {
        for (size_t k = 0; k < keys_.size(); k++) {
            Row row(numbers_);
            std::memcpy(row.data(), &rows_[k * static_cast<size_t>(stride())],
                        numbers_ * sizeof(float));
            what(keys_[k], row);
        }
    }

    void find()
    {
        const size_t count = keys_.size();
        std::vector<max_bitmask_repr_t> mask((count + 63) / 64);
        std::vector<int64_t> sizes(count, -1);
        std::vector<char> out(count * static_cast<size_t>(stride()), 'x');
        const bool wants_rows = random_() % 4 != 0;
        int64_t before = 0, after = 0, hits = 0;
        for (size_t k = 0; k < count; k += 1 + random_() % 3) { /* found elsewhere before */
            mask[k / 64] |= uint64_t{1} << (k % 64);
        }
        const std::vector<max_bitmask_repr_t> masked = mask;
        table_->get_lookup_counter(ctx_, &before);
        table_->find(ctx_, n(), keys(), wrap(ctx_, "mask", mask.data(), mask.size() * 8), stride(),
                     wants_rows ? wrap<void>(ctx_, "out", out.data(), out.size()) : nullptr,
                     wrap(ctx_, "sizes", sizes.data(), sizes.size() * 8));
        table_->get_lookup_counter(ctx_, &after);
        for (size_t k = 0; k < count; k++) {
            const bool was = (masked[k / 64] >> (k % 64) & 1) != 0;
            const bool is = (mask[k / 64] >> (k % 64) & 1) != 0;
            const bool hit = !was && model_.count(keys_[k]) != 0;
            const char *row = &out[k * static_cast<size_t>(stride())];
            hits += hit;
            require(is == (was || hit), "a hit is in the mask, and nothing else");
            require(sizes[k] == (hit ? bytes() : -1), "the size of a row");
            require(hit && wants_rows ? std::memcmp(row, model_[keys_[k]].data(),
                                                    static_cast<size_t>(bytes())) == 0
                                      : *row == 'x',
                    "a row that was found, and no other");
        }
        require(after - before == hits, "hits are counted");
    }

    host_table_ptr_t table_;
    const int64_t first_key_;
    std::mt19937 random_;
    context_ptr_t ctx_;
    const size_t numbers_;
    std::map<int64_t, Row> model_;
    std::vector<int64_t> keys_;
    std::vector<char> rows_;
    int64_t gap_ = 0;
};

} // namespace

int main(int count, char **words)
{
    if (count < 3) {
        std::fprintf(stderr, "usage: check PLUGIN ADDRESS [SEED]\n");
        return 2;
    }
    const unsigned seed =
        count > 3 ? static_cast<unsigned>(std::stoul(words[3])) : std::random_device{}();
    std::printf("# seed %u\n", seed);
    load_host_table_plugin(words[1]);
    /* The default table, a table of a factory with the settings, and one with settings of its own.
     */
    const nlohmann::json types = DataType_t::Float32;
    const host_table_factory_ptr_t factory = create_host_table_factory(
        {{"implementation", "sherwood"}, {"address", words[2]}, {"max_value_size", 512}});
    const host_table_factory_ptr_t second =
        create_host_table_factory({{"implementation", "sherwood"},
                                   {"address", words[2]},
                                   {"table", "nve_check_a"},
                                   {"create", true},
                                   {"max_value_size", 64},
                                   {"value_dtype", types}});
    const std::vector<host_table_ptr_t> tables = {
        factory->produce(1, nlohmann::json::object()), second->produce(2, "second"),
        factory->produce(3, {{"table", "nve_check_b"},
                             {"create", true},
                             {"max_value_size", 128},
                             {"value_dtype", types},
                             {"options", {{"max-capacity", "1M"}, {"seed", 7}}}})};
    std::vector<context_ptr_t> contexts;
    std::vector<std::unique_ptr<Caller>> callers;
    std::vector<std::thread> threads;
    for (const host_table_ptr_t &table : tables) {
        require(table->get_value_type() == DataType_t::Float32, "rows of f32");
        contexts.push_back(table->create_execution_context(nullptr, nullptr, nullptr, nullptr));
        table->clear(contexts.back());
    }
    for (unsigned i = 0; i < 3 * tables.size(); i++) { /* three callers a table */
        callers.push_back(
            std::make_unique<Caller>(tables[i / 3], int64_t{1000} * (i % 3) - 1, seed + i));
        threads.emplace_back([caller = callers.back().get()] { caller->run(400); });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    size_t entries = 0;
    for (size_t i = 0; i < tables.size(); i++) {
        size_t wanted = 0;
        for (size_t k = 3 * i; k < 3 * i + 3; k++) {
            wanted += callers[k]->size();
        }
        require(static_cast<size_t>(tables[i]->size(contexts[i])) == wanted,
                "the number of entries is that of the maps");
        entries += wanted;
    }
    const nlohmann::json wrongs = {{"max_value_size", 1028},
                                   {"table", "nve_check_none"},
                                   {"options", {{"max-capacity", "1M"}}}};
    for (const auto &[name, value] : wrongs.items()) {
        nlohmann::json wrong = nlohmann::json::object();
        wrong[name] = value;
        bool refused = false;
        try {
            factory->produce(8, wrong);
        } catch (const std::exception &) {
            refused = true;
        }
        require(refused, "another " + name + " is refused");
    }
    for (size_t i = 0; i < tables.size(); i++) {
        tables[i]->clear(contexts[i]);
        require(tables[i]->size(contexts[i]) == 0, "an empty table at the end");
    }
    callers.clear();
    std::printf("ok find, insert, update, update_accumulate, erase, clear and size of %zu entries "
                "in %zu tables of one server\n",
                entries, tables.size());
    return 0;
}
