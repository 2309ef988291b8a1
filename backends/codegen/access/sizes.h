// Canonical form of symbolic dims: dims that guards prove equal get one name, so that values over
// equal shapes compare equal.
#pragma once

#include "core/ir/graph.h"

#include <span>
#include <unordered_map>
#include <vector>

namespace kiln::codegen {

/// A substitution of symbols. Example: under the guard `m == n`, names([m, 8]) == names([n, 8]), so
/// that values of both shapes have the same iteration space and can share a kernel.
class SizeNames {
 public:
  SizeNames() = default;
  /// Learns from guards of the form `symbol == size`, which are checked before anything runs.
  /// Guards that contradict each other teach nothing: one of them always fails.
  explicit SizeNames(std::span<const ir::Guard> guards);
  /// These names extended by further guards, for code that runs after those were checked.
  SizeNames with(std::span<const ir::Guard> guards) const;
  ir::Dim operator()(const ir::Dim& dim) const;
  ir::Dims operator()(const ir::Dims& dims) const;

 private:
  /// By the id of a symbol, the symbols (ids) whose sizes contain it.
  using Users = std::unordered_map<std::int64_t, std::vector<std::int64_t>>;

  void learn(std::span<const ir::Guard> guards);
  void learn(const ir::Dim& symbol, const ir::Dim& size, Users& users);
  std::unordered_map<std::int64_t, ir::Dim> names_;  // by symbol id
};

/// Strides, in elements, of a dense row-major tensor.
ir::Dims dense_strides(const ir::Dims& dims);

}  // namespace kiln::codegen
