// A compiled module: regions of steps over numbered slots. Immutable; each run has its own slots.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/reference/tensor.h"
#include "core/ir/lambda.h"
#include "core/module/module.h"

#include <map>
#include <optional>
#include <unordered_map>

namespace kiln::reference {

/// The time of a step, summed over its runs.
struct StepTime {
  std::int64_t calls = 0;
  double seconds = 0;
  double bytes = 0;  // of operands and results
  void add(const StepTime& other) {
    calls += other.calls;
    seconds += other.seconds;
    bytes += other.bytes;
  }
};
struct Step;
using StepTimes = std::unordered_map<const Step*, StepTime>;

class NodeTrace;

/// The state of one run besides its tensors.
struct Run {
  std::map<std::int64_t, std::int64_t> symbols;  // by symbol id
  std::uint64_t seed = 0;
  std::uint64_t call_counter = 0;
  const module::Module* module = nullptr;  // for the source lines of errors
  const sdk::Host* host = nullptr;
  void* host_call_context = nullptr;
  StepTimes* times = nullptr;  // null: not measured
  NodeTrace* trace = nullptr;  // null: not traced

  std::int64_t evaluate(const ir::Dim& dim) const;
  Sizes evaluate(const ir::Dims& dims) const;
};

struct Region;

/// The execution of one node.
struct Context {
  const ir::Node& node;
  const std::vector<Tensor>& x;  // operands
  const std::vector<Region>& bodies;
  Run& run;

  template <class Struct>
  const Struct& as() const {
    return node.as<Struct>();
  }
  /// An uninitialised tensor of the type of result `i`.
  Tensor result(std::size_t i = 0) const;
};
/// Executes a node and returns its results. Throws sdk::Failure.
using OpFunction = std::vector<Tensor> (*)(const Context& context);

struct Step {
  const ir::Node* node = nullptr;
  OpFunction function = nullptr;
  std::vector<std::size_t> operands;
  std::size_t first_result = 0;
  std::vector<std::size_t> last_uses;  // slots that no later step reads
  std::vector<Region> bodies;
};

struct Region {
  std::vector<ir::Guard> guards;  // of a lambda; those of the whole graph are in Interpretation
  std::vector<std::pair<std::size_t, std::size_t>> parameters;  // parameter index, slot
  std::vector<Step> steps;
  std::vector<std::size_t> results;
  std::size_t slots = 0;
};

struct Interpretation {
  module::Module module;  // keeps the nodes alive
  std::vector<ir::Value> roots;
  std::vector<ir::Guard> guards;  // of straight-line code; the host may not have checked them
  Region region;  // parameters: inputs, then states
};

/// Phases of compilation and their seconds.
using CompileTimes = std::vector<std::pair<std::string, double>>;

/// Reads a module, expands composites and builds the steps. Throws kiln::Error.
Interpretation compile(sdk::Bytes bytes, const std::vector<sdk::Bytes>& constants,
                       CompileTimes& times);
/// Throws sdk::Failure for the first guard that does not hold.
void check_guards(const std::vector<ir::Guard>& guards, const Run& run);
/// Checks the region's guards, then executes its steps in order.
std::vector<Tensor> run_region(const Region& region, const std::vector<Tensor>& arguments,
                               Run& run);

/// The function of a node; null for arguments and composites, which have none.
OpFunction function_of(const ir::Node& node);

// Functions of ops, by lowering class and file.
using Results = std::vector<Tensor>;
Results run_constant(const Context& c);
Results run_iota(const Context& c);
Results run_random(const Context& c);
Results run_dim_size(const Context& c);
Results run_cast(const Context& c);
Results run_bitcast(const Context& c);
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
Results run_loop(const Context& c);
Results run_cond(const Context& c);
Results run_identity(const Context& c);
Results run_host_call(const Context& c);

}  // namespace kiln::reference
