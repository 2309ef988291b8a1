// A compiled module: regions of steps over numbered slots. Immutable; a run has its own slots.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/reference/tensor.h"
#include "core/ir/lambda.h"
#include "core/module/module.h"

#include <map>
#include <optional>
#include <unordered_map>

namespace kiln::reference {

/// What a step took in all its runs.
struct StepTime {
  std::int64_t calls = 0;
  double seconds = 0;
  void add(const StepTime& other) {
    calls += other.calls;
    seconds += other.seconds;
  }
};
struct Step;
using StepTimes = std::unordered_map<const Step*, StepTime>;

/// What one run knows beside its tensors.
struct Run {
  std::map<std::int64_t, std::int64_t> symbols;  // by symbol id
  std::uint64_t seed = 0;
  std::uint64_t call_counter = 0;
  const module::Module* module = nullptr;  // for the source lines of errors
  const sdk::Host* host = nullptr;
  void* host_call_context = nullptr;
  StepTimes* times = nullptr;  // null: nobody wants them

  std::int64_t evaluate(const ir::Dim& dim) const;
  Sizes evaluate(const ir::Dims& dims) const;
};

struct Region;

/// One node being executed.
struct Context {
  const ir::Node& node;
  const std::vector<Tensor>& x;
  const std::vector<Region>& bodies;
  Run& run;

  template <class Struct>
  const Struct& as() const {
    return node.as<Struct>();
  }
  /// A result of the node's inferred type, not initialised.
  Tensor result(std::size_t i = 0) const;
};
/// Executes a node: operands in, results out.
using Kernel = std::vector<Tensor> (*)(const Context& context);

struct Step {
  const ir::Node* node = nullptr;
  Kernel kernel = nullptr;
  std::vector<std::size_t> operands;
  std::size_t first_result = 0;
  std::vector<std::size_t> last_uses;  // slots that nobody reads after this step
  std::vector<Region> bodies;
};

struct Region {
  std::vector<ir::Guard> guards;  // of a lambda; those of the program are in Program
  std::vector<std::pair<std::size_t, std::size_t>> parameters;  // parameter index, slot
  std::vector<Step> steps;
  std::vector<std::size_t> results;
  std::size_t slots = 0;
};

struct Program {
  module::Module module;  // keeps the nodes alive
  std::vector<ir::Value> roots;
  std::vector<ir::Guard> guards;  // of straight-line code: a host need not have checked them
  Region region;          // parameters: inputs, then states
};

/// Parts of compiling and their seconds.
using CompileTimes = std::vector<std::pair<std::string, double>>;

Program compile(sdk::Bytes bytes, const std::vector<sdk::Bytes>& constants, CompileTimes& times);
/// Throws sdk::Failure for the first guard that does not hold.
void check_guards(const std::vector<ir::Guard>& guards, const Run& run);
/// Checks the region's guards, then runs it.
std::vector<Tensor> run_region(const Region& region, const std::vector<Tensor>& arguments,
                               Run& run);

/// The kernel of a node; null only for ops without one, which the table refuses to compile.
Kernel kernel_of(const ir::Node& node);

// Kernels, by the op's lowering class and file.
using Results = std::vector<Tensor>;
Results run_constant(const Context& c);
Results run_iota(const Context& c);
Results run_random(const Context& c);
Results run_dim_size(const Context& c);
Results run_cast(const Context& c);
Results run_elementwise(const Context& c);
Results run_sum(const Context& c);
Results run_prod(const Context& c);
Results run_max(const Context& c);
Results run_min(const Context& c);
Results run_arg_max(const Context& c);
Results run_cum_sum(const Context& c);
Results run_cum_prod(const Context& c);
Results run_reshape(const Context& c);
Results run_permute(const Context& c);
Results run_broadcast(const Context& c);
Results run_slice(const Context& c);
Results run_pad(const Context& c);
Results run_reverse(const Context& c);
Results run_concat(const Context& c);
Results run_gather(const Context& c);
Results run_scatter_add(const Context& c);
Results run_dot(const Context& c);
Results run_window(const Context& c);
Results run_fold(const Context& c);
Results run_scan(const Context& c);
Results run_cond(const Context& c);
Results run_identity(const Context& c);
Results run_host_call(const Context& c);

}  // namespace kiln::reference
