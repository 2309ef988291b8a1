// The work of a row: a compiled function with its inputs.
#pragma once

#include <kiln/k.h>

#include <functional>
#include <vector>

namespace kiln::bench {

/// Where the inputs and results of a row are between calls.
enum class Memory {
  Host,    // in arrays of the caller, which every call reads and writes
  Device,  // in variables: a call copies nothing from or to the host
};

/// An array of floats drawn uniformly from [low, high), the same ones in each call. They repeat
/// after about a million elements.
Array drawn(const std::vector<std::int64_t>& dims, double low = -1, double high = 1);
/// An array of int32 drawn uniformly from [0, classes).
Array drawn_classes(const std::vector<std::int64_t>& dims, std::int64_t classes);

/// A compiled function with its inputs.
struct Work {
  std::function<void()> call;           // through call_into
  std::function<void()> operator_call;  // through operator(), whose results are dropped
  std::function<FunctionStats()> stats;
};

/// A call of the work calls the function with each of the feeds in turn, which differ in size.
Work rotating_work(const Function& function, const std::vector<std::vector<Array>>& feeds);
/// A call of the work calls the function `steps` times with `first` and replaces the inputs but
/// the first one by the results but the first one after each step. REQUIRES: results that grow.
Work growing_work(const Function& function, const std::vector<Array>& first, std::int64_t steps);

/// Makes the inputs of a row's graph and compiles its outputs.
class WorkBuilder {
 public:
  explicit WorkBuilder(Memory memory) : memory_(memory) {}

  /// Host: a placeholder, fed `value` at each call. Device: a variable with that value.
  Tensor input(Array value);
  /// A placeholder of that shape, fed `value` at each call, whatever the memory.
  Tensor placeholder_for(Array value, const Shape& shape);

  /// Compiles the function and calls it once, which gives the shapes of its outputs. Each later
  /// call allocates nothing on the caller's side. Device: variables are set to the outputs.
  Work work(const std::vector<Tensor>& outputs, const std::vector<UpdateOp>& updates = {}) const;

 private:
  Memory memory_;
  std::vector<Tensor> placeholders_;
  std::vector<Array> values_;
};

}  // namespace kiln::bench
