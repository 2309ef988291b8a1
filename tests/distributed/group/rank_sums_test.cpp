// Reductions over ranks have the bits of reduce_ranks over all tensors in one process, whatever the
// levels, the order of transfers and the size.
#include "tests/distributed/group/group_ranks.h"
#include "tests/support/catch.h"

#include "core/types/half.h"
#include "runtime/distributed/cost_model.h"
#include "runtime/distributed/levels.h"
#include "runtime/distributed/rank_sums.h"

#include <cstring>
#include <random>

namespace kiln::runtime::distributed {
namespace {

using Bytes = std::vector<std::byte>;

struct Row {
  DType dtype;
  Reduction reduction;
};

template <class T>
void store(Bytes& bytes, std::size_t i, T value) {
  std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
}

/// Values whose sums round differently in any other order; integers that wrap.
Bytes values_of(DType dtype, std::size_t count, std::uint32_t seed) {
  Bytes bytes(count * dtype_bytes(dtype));
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = normal(random) * (i % 3 == 0 ? 100 : 1);
    switch (dtype) {
      case DType::Float32: store(bytes, i, static_cast<float>(x)); break;
      case DType::Float64: store(bytes, i, x); break;
      case DType::Float16: store(bytes, i, float16_of_double(x)); break;
      case DType::BFloat16: store(bytes, i, bfloat16_of_double(x)); break;
      case DType::Bool: store(bytes, i, random() % 2 == 0); break;
      case DType::Int32: store(bytes, i, static_cast<std::uint32_t>(random())); break;
      default: store(bytes, i, std::uint64_t{random()} << 32); break;
    }
  }
  return bytes;
}

Bytes expected(const Row& row, const std::vector<Bytes>& tensors) {
  std::vector<const std::byte*> leaves;
  for (const Bytes& tensor : tensors) leaves.push_back(tensor.data());
  Bytes sum(tensors[0].size());
  reduce_ranks(row.dtype, row.reduction, row.dtype, row.dtype, leaves,
               sum.size() / dtype_bytes(row.dtype), sum.data());
  return sum;
}

/// Reduces tensors of `count` elements on each rank; the result of each.
std::string check_all_reduce(const fake::Settings& settings, const Row& row, std::size_t count) {
  std::vector<Bytes> tensors, results(settings.ranks);
  for (std::uint32_t rank = 0; rank < settings.ranks; ++rank) {
    tensors.push_back(values_of(row.dtype, count, rank + 1));
  }
  const Bytes sum = expected(row, tensors);
  std::string wrong;
  for (const std::string& text :
       testing::run_groups(settings, [&](Group& group, std::uint32_t rank) {
         Bytes own = tensors[rank];
         group.run({HeadKind::Barrier, "all_reduce", Where{"a.cpp", 1}}, [&](Channel&) {
           group.sums().reserve(row.dtype, row.reduction, own.size());
           group.sums().all_reduce(row.dtype, row.reduction, own.data(), own.size());
         });
         return std::string(own == sum ? "" : "other bits");
       })) {
    wrong += text;
  }
  return wrong;
}

std::string check_reduce_scatter(const fake::Settings& settings, const Row& row,
                                 std::size_t count) {
  std::vector<Bytes> tensors;
  for (std::uint32_t rank = 0; rank < settings.ranks; ++rank) {
    tensors.push_back(values_of(row.dtype, count * settings.ranks, rank + 1));
  }
  const Bytes sum = expected(row, tensors);
  std::string wrong;
  for (const std::string& text :
       testing::run_groups(settings, [&](Group& group, std::uint32_t rank) {
         const std::size_t bytes = count * dtype_bytes(row.dtype);
         Bytes own(bytes);
         group.run({HeadKind::Barrier, "reduce_scatter", Where{"a.cpp", 1}}, [&](Channel&) {
           group.sums().reserve(row.dtype, row.reduction, tensors[rank].size());
           group.sums().reduce_scatter(row.dtype, row.reduction, tensors[rank], own);
         });
         const bool is_right = std::equal(own.begin(), own.end(), sum.data() + rank * bytes);
         return std::string(is_right ? "" : "other bits");
       })) {
    wrong += text;
  }
  return wrong;
}

const Row kRows[] = {{DType::Float32, Reduction::Sum},  {DType::Float64, Reduction::Sum},
                     {DType::Float16, Reduction::Sum},  {DType::BFloat16, Reduction::Sum},
                     {DType::BFloat16, Reduction::Max}, {DType::Int32, Reduction::Sum},
                     {DType::Bool, Reduction::Max},     {DType::Int64, Reduction::Min}};

const fake::Settings kWorlds[] = {
    {.ranks = 1},
    {.ranks = 2, .seed = 1},
    {.ranks = 3, .seed = 2},
    {.ranks = 4, .seed = 3, .ranks_per_host = 2},
    {.ranks = 6, .seed = 4, .ranks_per_host = 2},
    {.ranks = 8, .seed = 5, .ranks_per_host = 4},
};

TEST_CASE("rank sums: bits of one process for all dtypes, ranks and levels", "[concurrency]") {
  for (const fake::Settings& world : kWorlds) {
    for (const Row& row : kRows) {
      for (const std::size_t count : {std::size_t{7}, std::size_t{10'007}}) {
        INFO(world.ranks << " ranks, " << dtype_name(row.dtype) << ", " << count);
        CHECK(check_all_reduce(world, row, count) == "");
        CHECK(check_reduce_scatter(world, row, count) == "");
      }
    }
  }
}

TEST_CASE("rank sums: empty and single elements", "[concurrency]") {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}}) {
    CHECK(check_all_reduce({.ranks = 3, .seed = 7}, kRows[0], count) == "");
    CHECK(check_reduce_scatter({.ranks = 3, .seed = 7}, kRows[0], count) == "");
  }
}

TEST_CASE("rank sums: tensors larger than a chunk", "[concurrency]") {
  const fake::Settings world{.ranks = 2, .seed = 1};
  CHECK(check_all_reduce(world, kRows[2], (std::size_t{20} << 20) + 3) == "");
  CHECK(check_reduce_scatter(world, kRows[0], (std::size_t{5} << 20) + 3) == "");
}

std::string count_text(const TransferCount& sent) {
  return std::to_string(sent.messages) + " messages, " + std::to_string(sent.bytes) + " bytes\n";
}

/// The messages and bytes that each rank sends in all-reduces, a line for each.
std::vector<std::string> counted(fake::Settings settings, const std::vector<Summand>& summands) {
  settings.threads = true;
  fake::Ranks ranks(settings);
  const auto sent = [&](std::uint32_t rank) {
    const fake::Locked lock(ranks.world());
    const fake::RankEntry& entry = ranks.world().ranks[rank];
    return TransferCount{entry.messages, entry.bytes};
  };
  std::vector<std::string> texts;
  for (const fake::RankEnd& end : ranks.run([&](std::uint32_t rank) {
         const auto group = testing::open_group(ranks, rank);
         std::string text;
         group->run({HeadKind::Barrier, "all_reduce", Where{"a.cpp", 1}}, [&](Channel&) {
           for (const Summand& one : summands) {
             Bytes own(one.bytes);
             group->sums().reserve(one.dtype, one.reduction, own.size());
             const TransferCount before = sent(rank);
             group->sums().all_reduce(one.dtype, one.reduction, own.data(), own.size());
             const TransferCount after = sent(rank);
             text += count_text({after.messages - before.messages, after.bytes - before.bytes});
           }
         });
         group->leave("");
         return text;
       })) {
    texts.push_back(end.text);
  }
  return texts;
}

TEST_CASE("rank sums: messages and bytes are those of the model", "[concurrency]") {
  std::vector<Summand> summands;
  for (const Row& row : kRows) {
    for (const std::size_t count : {0, 1, 7, 10'007}) {
      summands.push_back({row.dtype, row.reduction, count * dtype_bytes(row.dtype)});
    }
  }
  const auto check = [](const fake::Settings& world, const std::vector<Summand>& all) {
    const auto levels = level_sizes(world.ranks, world.ranks_per_host);
    std::string model;
    for (const Summand& one : all) model += count_text(all_reduce_work(levels, one).sent());
    for (const std::string& text : counted(world, all)) CHECK(text == model);
  };
  for (const fake::Settings& world : kWorlds) check(world, summands);
  // Bytes after a whole chunk: gathered, or in levels.
  check({.ranks = 4, .ranks_per_host = 2}, {{DType::Float32, Reduction::Sum, kSumChunk + 4},
                                            {DType::Float32, Reduction::Sum, kSumChunk + 40'000}});
}

}  // namespace
}  // namespace kiln::runtime::distributed
