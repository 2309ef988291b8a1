// Emits the loads that a thread issues before it computes: of one group of consecutive points, or
// of several turns (points or groups of points). Compilers do not hoist loads above stores that may
// alias, so loads between stores would be in flight one at a time.
//
// Example, two turns of y = x + 1: x1[0] = load(..); x1[1] = load(..); then the stores of both.
#pragma once

#include "backends/codegen/text/point_text.h"
#include "backends/codegen/text/vector_memory.h"

#include <string>
#include <vector>

namespace kiln::codegen {

/// The loaded values are `x<load>`: vectors of VectorMemory where the access is a vector, else
/// values. With declare(), they are the arrays `x<load>[turn]`.
class TurnLoads {
 public:
  TurnLoads(const Kernel& kernel, const VectorMemory& memory, IdVector<AccessId, bool> is_vector,
            TextLines& lines)
      : kernel_(kernel), memory_(memory), is_vector_(std::move(is_vector)), lines_(lines) {}

  bool is_vector(AccessId access) const { return is_vector_[access]; }

  /// Declares the arrays of values, for several turns.
  void declare(const std::vector<ExpressionId>& loads, std::int64_t turns);
  /// Loads the value of this turn; `point` declares it where it is no vector. REQUIRES: `point`
  /// declares the dynamic index and the guard of the access.
  void load(ExpressionId load, PointText& point);
  /// Loads element `e` of a vector.
  void load_element(ExpressionId load, const PointText& point);
  /// Declares the values of this turn that are no vectors, in another scope than load().
  void use(const std::vector<ExpressionId>& loads, PointText& point) const;
  /// Declares element `e` of the vectors of this turn.
  void use_elements(const std::vector<ExpressionId>& loads, PointText& element) const;

 private:
  bool is_vector(ExpressionId load) const { return is_vector(kernel_.expressions[load].access); }
  std::string name(ExpressionId load) const;

  const Kernel& kernel_;
  const VectorMemory& memory_;
  const IdVector<AccessId, bool> is_vector_;
  TextLines& lines_;
  bool has_arrays_ = false;
};

}  // namespace kiln::codegen
