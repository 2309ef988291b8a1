// Tests kiln/batches.h: which rows each batch has, in every option, and misuse. The orders of
// shuffled rows were computed by a Python program of the documented algorithm.
#include "tests/support/catch.h"
#include "tests/support/misuse.h"

#include <kiln/train.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

namespace kiln {
namespace {

using testing::throws;
using Rows = std::vector<std::int64_t>;

Array numbered(std::int64_t rows) {
  Rows numbers(static_cast<std::size_t>(rows));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// The rows of each batch.
std::vector<Rows> rows_of(const Epoch& epoch) {
  std::vector<Rows> batches;
  for (const std::vector<Array>& batch : epoch) {
    const auto rows = batch.at(0).as<std::int64_t>();
    batches.emplace_back(rows.begin(), rows.end());
  }
  return batches;
}

Rows joined(const std::vector<Rows>& batches) {
  Rows rows;
  for (const Rows& batch : batches) rows.insert(rows.end(), batch.begin(), batch.end());
  return rows;
}

}  // namespace

TEST_CASE("batches: rows of each batch") {
  struct Row {
    BatchesOptions options;
    std::int64_t epoch, start;
    std::vector<Rows> batches;
  };
  const std::vector<Row> rows{
      {{.size = 4}, 0, 0, {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}}},
      {{.size = 4, .drop_last = true}, 5, 0, {{0, 1, 2, 3}, {4, 5, 6, 7}}},
      {{.size = 5}, 0, 0, {{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}}},
      {{.size = 4}, 0, 2, {{8, 9}}},
      {{.size = 4}, 0, 3, {}},
      {{.size = std::int64_t{1} << 62}, 0, 0, {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}},
      {{.size = 3, .shard = {0, 3}}, 0, 0, {{0, 3, 6}}},
      {{.size = 2, .shard = {2, 3}}, 0, 0, {{2, 5}, {8}}},
      {{.size = 10, .shuffle = true}, 0, 0, {{0, 1, 4, 6, 3, 9, 8, 7, 2, 5}}},
      {{.size = 4, .shuffle = true, .seed = 1}, 0, 0, {{4, 2, 1, 3}, {7, 9, 5, 0}, {6, 8}}},
      {{.size = 4, .shuffle = true, .seed = 1}, 1, 1, {{0, 9, 7, 3}, {4, 5}}},
      {{.size = 10, .shuffle = true, .seed = -1}, 7, 0, {{9, 3, 7, 0, 8, 1, 2, 4, 5, 6}}},
      {{.size = 3, .shuffle = true, .seed = 1, .shard = {1, 2}}, 0, 0, {{2, 3, 9}, {0, 8}}}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    INFO("row " << i);
    const Row& row = rows[i];
    const Batches batches({numbered(10)}, row.options);
    const Epoch epoch = batches.epoch(row.epoch, {.start = row.start});
    CHECK(rows_of(epoch) == row.batches);
    CHECK(rows_of(epoch) == row.batches);  // a second loop starts anew
    CHECK(epoch.size() == static_cast<std::int64_t>(row.batches.size()));
    CHECK(batches.batches_per_epoch() == epoch.size() + row.start);
  }
}

TEST_CASE("batches: every epoch has each row once, in an order of its own") {
  const Batches batches({numbered(997)}, {.size = 64, .shuffle = true, .seed = 3});
  Rows all(997);
  std::iota(all.begin(), all.end(), 0);
  std::set<Rows> orders;
  for (int epoch = 0; epoch < 20; ++epoch) {
    Rows order = joined(rows_of(batches.epoch(epoch)));
    orders.insert(order);
    std::sort(order.begin(), order.end());
    CHECK(order == all);
  }
  CHECK(orders.size() == 20);
}

TEST_CASE("batches: a shuffled row is equally likely at each position") {
  // Chi-squared of 3 rows' 6 orders over 6000 epochs: 5 degrees of freedom, P(> 25) = 1.4e-4.
  const Batches batches({numbered(3)}, {.size = 3, .shuffle = true, .seed = 11});
  std::map<Rows, int> counts;
  for (int epoch = 0; epoch < 6000; ++epoch) ++counts[joined(rows_of(batches.epoch(epoch)))];
  REQUIRE(counts.size() == 6);
  double chi_squared = 0;
  for (const auto& [order, count] : counts) chi_squared += (count - 1000.0) * (count - 1000) / 1000;
  CHECK(chi_squared < 25);
}

TEST_CASE("batches: shards have equal batches, together those of one process") {
  const BatchesOptions options{.size = 12, .shuffle = true, .seed = 5};
  const std::vector<Rows> whole = rows_of(Batches({numbered(100)}, options).epoch(2));
  for (const std::int64_t count : {2, 3, 4}) {
    std::vector<Rows> together(whole.size());
    for (std::int64_t index = 0; index < count; ++index) {
      BatchesOptions part = options;
      part.size = 12 / count;
      part.shard = {index, count};
      const Batches batches({numbered(100)}, part);
      CHECK(batches.rows_per_epoch() == 100 / count);
      const std::vector<Rows> rows = rows_of(batches.epoch(2));
      REQUIRE(rows.size() == whole.size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        CHECK(rows[i].size() == std::min<std::size_t>(12 / count, 100 / count - i * (12 / count)));
        together[i].insert(together[i].end(), rows[i].begin(), rows[i].end());
      }
    }
    for (std::size_t i = 0; i < whole.size(); ++i) {
      Rows expected = whole[i];
      if (i + 1 == whole.size() && count == 3) expected.pop_back();  // 100 % 3 rows are left out
      std::sort(expected.begin(), expected.end());
      std::sort(together[i].begin(), together[i].end());
      CHECK(together[i] == expected);
    }
  }
}

TEST_CASE("batches: rows of every dtype and rank, together") {
  const std::vector<DType> dtypes{DType::Bool,   DType::Int8,    DType::Int16,    DType::Int32,
                                  DType::Int64,  DType::UInt8,   DType::UInt16,   DType::UInt32,
                                  DType::UInt64, DType::Float16, DType::BFloat16, DType::Float32,
                                  DType::Float64};
  std::vector<Array> arrays{numbered(7)};
  for (const DType dtype : dtypes) {
    std::vector<std::uint8_t> bytes(7 * 3 * 2 * dtype_bytes(dtype));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::uint8_t>(dtype == DType::Bool ? i % 2 : i * 37 % 251);
    }
    arrays.push_back(Array::copy_of(bytes.data(), {7, 3, 2}, dtype));
  }
  arrays.push_back(Array::zeros({7, 0, 2}));
  for (const bool shuffle : {false, true}) {
    for (const auto& batch : Batches(arrays, {.size = 3, .shuffle = shuffle}).epoch(1)) {
      REQUIRE(batch.size() == arrays.size());
      const auto rows = batch[0].as<std::int64_t>();
      const auto count = static_cast<std::int64_t>(rows.size());
      CHECK(batch.back() == Array::zeros({count, 0, 2}));
      for (std::size_t a = 1; a + 1 < arrays.size(); ++a) {
        REQUIRE(batch[a].dtype() == arrays[a].dtype());
        REQUIRE(batch[a].dims() == std::vector<std::int64_t>{count, 3, 2});
        const std::size_t bytes = 6 * dtype_bytes(arrays[a].dtype());
        for (std::size_t i = 0; i < rows.size(); ++i) {
          const auto* from = static_cast<const char*>(arrays[a].data());
          const auto* to = static_cast<const char*>(batch[a].data());
          CHECK(std::memcmp(to + i * bytes, from + static_cast<std::size_t>(rows[i]) * bytes,
                            bytes) == 0);
        }
      }
    }
  }
}

TEST_CASE("batches: a batch is the inputs of a function") {
  const auto x = placeholder({.shape = {None, 2}}), y = placeholder({.shape = {None}});
  const Function f = function({x, y}, {sum(x) + sum(y)});
  float total = 0;
  const Array pairs({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {3, 2}), ones{1.f, 1.f, 1.f};
  for (const auto& batch : Batches({pairs, ones}, {.size = 2}).epoch(0)) {
    total += f(batch)[0].item<float>();
  }
  CHECK(total == 24);
}

TEST_CASE("batches: misuse") {
  using testing::Misuse;
  const Array two = numbered(2), three = numbered(3), scalar(1.f), none = Array::zeros({0, 4});
  const Batches batches({three}, {.size = 2});
  // Its rows are a range of addresses of which little is memory.
  const Batches huge({Array::view(two.data(), {2, std::int64_t{1} << 60}, DType::Bool)});
  testing::run(std::vector<Misuse>{
      {throws<ValueError>(), [=] { Batches({}, {.size = 2}); },
       "Batches: the list of arrays is empty"},
      {throws<ValueError>(), [=] { Batches({three, two}); },
       "Batches: arrays[1] has 2 rows, arrays[0] has 3"},
      {throws<ValueError>(), [=] { Batches({three, scalar}); },
       "Batches: arrays[1] is a scalar: it has no rows"},
      {throws<ValueError>(), [=] { Batches({none}); }, "Batches: arrays[0] has no rows"},
      {throws<ValueError>(), [=] { Batches({three}, {.size = 0}); }, "Batches: size 0 is below 1"},
      {throws<ValueError>(), [=] { Batches({three}, {.shard = {2, 2}}); },
       "Batches: shard 2 of 2 is out of range"},
      {throws<ValueError>(), [=] { Batches({three}, {.shard = {-1, 2}}); },
       "Batches: shard -1 of 2 is out of range"},
      {throws<ValueError>(), [=] { Batches({three}, {.shard = {0, 0}}); },
       "Batches: shard 0 of 0 is out of range"},
      {throws<ValueError>(), [=] { Batches({three}, {.shard = {0, 4}}); },
       "Batches: 3 rows are fewer than 4 shards"},
      {throws<ValueError>(), [=] { Batches({three}, {.size = 4, .drop_last = true}); },
       "Batches: drop_last leaves no batch of size 4 of 3 rows"},
      {throws<ValueError>(), [=] { (void)batches.epoch(-1); },
       "Batches::epoch: epoch -1 is negative"},
      {throws<ValueError>(), [=] { (void)batches.epoch(0, {.start = 3}); },
       "Batches::epoch: start 3 is outside [0, 2]"},
      {throws<ValueError>(), [=] { (void)batches.epoch(0, {.start = -1}); },
       "Batches::epoch: start -1 is outside [0, 2]"},
      {throws<OutOfMemory>(), [=] { (void)huge.epoch(0).begin(); },
       "Batches::epoch: no memory for 2305843009213693952 bytes of bool[2,1152921504606846976]"}});
}

}  // namespace kiln
