// One function for all sizes: its axes are unknown when it is compiled.
#include "tests/distributed/collectives/op_rows.h"
#include "tests/distributed/collectives/expected_results.h"

namespace K = kiln;
namespace D = kiln::distributed;

namespace kiln::testing {
namespace {

constexpr DType kDTypes[] = {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16,
                             DType::Int32,   DType::UInt8,   DType::Bool};

constexpr struct {
  D::Reduction reduction;
  Combination combination;
} kReductions[] = {{D::Reduction::Sum, Combination::Sum},
                   {D::Reduction::Mean, Combination::Mean},
                   {D::Reduction::Max, Combination::Max},
                   {D::Reduction::Min, Combination::Min}};

bool has_meaning(DType dtype, D::Reduction reduction) {
  if (reduction == D::Reduction::Sum) return dtype != DType::Bool;
  return reduction != D::Reduction::Mean || is_float(dtype);
}

/// The operands of one call, by rank: vectors, vectors of which each rank gets a part, and tensors
/// of which it gets a part of axis 1 or 2.
struct Operands {
  std::vector<Array> vectors, divisible, tensors;
};

Operands operands_of(DType dtype, std::int64_t size, std::int64_t ranks) {
  Operands operands;
  const std::int64_t middle = ranks * std::min<std::int64_t>(size, 23);
  for (std::int64_t i = 0; i < ranks; ++i) {
    const auto rank = static_cast<std::uint64_t>(i);
    operands.vectors.push_back(operand_of(dtype, {size}, rank));
    operands.divisible.push_back(operand_of(dtype, {size * ranks}, rank));
    operands.tensors.push_back(operand_of(dtype, {2, middle, 3 * ranks}, rank));
  }
  return operands;
}

/// The roots from which values are broadcast begin with this rank: all for one dtype.
std::int64_t first_root(DType dtype, std::int64_t ranks) {
  return dtype == DType::Float32 ? 0 : ranks - 1;
}

/// The collectives of one dtype, in the order of their results below.
K::Function collectives_of(DType dtype, std::int64_t ranks, const char* backend) {
  const auto x = K::placeholder({.shape = {K::None}, .dtype = dtype});
  const auto divisible = K::placeholder({.shape = {K::None}, .dtype = dtype});
  const auto tensor = K::placeholder({.shape = {2, K::None, 3 * ranks}, .dtype = dtype});
  std::vector<K::Tensor> results;
  for (const auto& row : kReductions) {
    if (!has_meaning(dtype, row.reduction)) continue;
    results.push_back(D::all_reduce(x, {.reduction = row.reduction}));
  }
  results.push_back(D::all_gather(x));
  for (const int axis : {0, 1, -1}) results.push_back(D::all_gather(tensor, {.axis = axis}));
  for (std::int64_t root = first_root(dtype, ranks); root < ranks; ++root) {
    results.push_back(D::broadcast(x, {.root = root}));
  }
  if (dtype != DType::Bool) {
    results.push_back(D::reduce_scatter(divisible));
    for (const int axis : {1, -1}) results.push_back(D::reduce_scatter(tensor, {.axis = axis}));
  }
  return K::function({x, divisible, tensor}, results, {.backend = backend});
}

std::vector<Array> expected_of(const Operands& operands, DType dtype, std::int64_t rank) {
  const auto ranks = static_cast<std::int64_t>(operands.vectors.size());
  std::vector<Array> results;
  for (const auto& row : kReductions) {
    if (!has_meaning(dtype, row.reduction)) continue;
    // With one rank, each collective is its operand.
    results.push_back(ranks == 1 ? operands.vectors[0]
                                 : combined(operands.vectors, row.combination));
  }
  results.push_back(concatenated(operands.vectors, 0));
  for (const std::size_t axis : {0u, 1u, 2u}) {
    results.push_back(concatenated(operands.tensors, axis));
  }
  results.insert(results.end(), operands.vectors.begin() + first_root(dtype, ranks),
                 operands.vectors.end());
  if (dtype == DType::Bool) return results;
  const auto part_of_sum = [&](const std::vector<Array>& of, std::size_t axis) {
    if (ranks == 1) return of[0];
    return part_of(combined(of, Combination::Sum), axis, rank, ranks);
  };
  results.push_back(part_of_sum(operands.divisible, 0));
  for (const std::size_t axis : {1u, 2u}) results.push_back(part_of_sum(operands.tensors, axis));
  return results;
}

}  // namespace

std::string run_op_rows(const fake::Settings& settings, std::span<const char* const> backends) {
  const std::int64_t ranks = settings.ranks;
  const std::int64_t sizes[] = {0, 1, 7, ranks, 10'007};
  return run_sessions(settings, [&](const D::Group& world) {
    Faults faults;
    const auto rank = static_cast<std::size_t>(world.rank());
    for (const DType dtype : kDTypes) {
      std::vector<K::Function> functions;
      for (const char* backend : backends) {
        functions.push_back(collectives_of(dtype, ranks, backend));
      }
      for (const std::int64_t size : sizes) {
        const Operands operands = operands_of(dtype, size, ranks);
        const std::vector<Array> expected = expected_of(operands, dtype, world.rank());
        for (const K::Function& function : functions) {
          const auto found =
              function({operands.vectors[rank], operands.divisible[rank], operands.tensors[rank]});
          for (std::size_t i = 0; i < expected.size(); ++i) {
            faults.expect_equal(std::string(dtype_name(dtype)) + " of " + std::to_string(size) +
                                    " on " + function.backend() + ", result " + std::to_string(i),
                                found[i], expected[i]);
          }
        }
      }
    }
    return faults.text();
  });
}

}  // namespace kiln::testing
