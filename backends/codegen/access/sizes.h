// One name for sizes that guards hold equal, so that values over the same points are seen as such.
#pragma once

#include "core/ir/graph.h"

#include <span>
#include <unordered_map>

namespace kiln::codegen {

class SizeNames {
 public:
  SizeNames() = default;
  /// Reads guards of the form `symbol == size`; they are checked before anything runs. Guards that
  /// contradict each other give no names: one of them always fails.
  explicit SizeNames(std::span<const ir::Guard> guards);
  /// These names and those by further guards, for code that runs after they were checked.
  SizeNames with(std::span<const ir::Guard> guards) const;
  ir::Dim operator()(const ir::Dim& dim) const;
  ir::Dims operator()(const ir::Dims& dims) const;

 private:
  void learn(std::span<const ir::Guard> guards);
  void learn(const ir::Dim& symbol, const ir::Dim& size);
  std::unordered_map<std::int64_t, ir::Dim> names_;  // by symbol id
};

/// Elements from one index to the next of each axis of a dense row-major tensor.
ir::Dims dense_strides(const ir::Dims& dims);

}  // namespace kiln::codegen
