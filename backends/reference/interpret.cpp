// Executes a region step by step and frees tensors after their last use.
#include "backends/reference/inspect.h"
#include "backends/reference/node_trace.h"

#include "core/ir/scope.h"
#include "core/ops/op.h"
#include "core/types/text.h"

#include <kiln/error.h>

namespace kiln::reference {
namespace {

/// Adds the op and the user's source line to a failure.
[[noreturn]] void fail_at(const ir::Node& node, const Run& run, const sdk::Failure& failure) {
  const ir::Origin origin = run.module->origin_of(node);
  std::string what = failure.what();
  const auto has = [&](const char* text) { return what.find(text) != std::string::npos; };
  if (!has(" (op ") && !has(" (at ")) what += text(" (", op_text(origin, def(node).name), ")");
  throw sdk::Failure(failure.code(), what);
}

std::vector<Tensor> run_function(const Step& step, const std::vector<Tensor>& operands, Run& run) {
  const bool is_measured = run.times != nullptr || run.trace != nullptr;
  if (!is_measured) return step.function({*step.node, operands, step.bodies, run});
  const Clock::time_point start = Clock::now();
  std::vector<Tensor> results = step.function({*step.node, operands, step.bodies, run});
  if (run.trace != nullptr) run.trace->add(step, start);
  if (run.times == nullptr) return results;
  const double seconds = seconds_since(start);
  double bytes = 0;
  for (const Tensor& operand : operands) bytes += static_cast<double>(operand.bytes());
  for (const Tensor& result : results) bytes += static_cast<double>(result.bytes());
  (*run.times)[&step].add({1, seconds, bytes});
  return results;
}

std::vector<Tensor> run_step(const Step& step, const std::vector<Tensor>& operands, Run& run) {
  try {
    return run_function(step, operands, run);
  } catch (const sdk::Failure& failure) {
    fail_at(*step.node, run, failure);
  } catch (const Error& error) {  // a dim that overflows 64 bits or divides by zero
    fail_at(*step.node, run, sdk::Failure(KILN_CODE_INVALID_ARGUMENT, error.message()));
  } catch (const std::bad_alloc&) {
    fail_at(*step.node, run, sdk::Failure(KILN_CODE_RESOURCE_EXHAUSTED, "no memory"));
  }
}

}  // namespace

void check_guards(const std::vector<ir::Guard>& guards, const Run& run) {
  const std::string failure =
      ir::first_failure(guards, [&](const ir::Dim& dim) { return run.evaluate(dim); });
  if (!failure.empty()) throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT, failure);
}

std::int64_t Run::evaluate(const ir::Dim& dim) const {
  if (dim.is_static()) return dim.value();
  return ir::evaluate(dim, [this](const ir::Symbol& symbol) -> std::optional<std::int64_t> {
    const auto found = symbols.find(symbol.id);
    return found == symbols.end() ? std::nullopt : std::optional(found->second);
  });
}

Sizes Run::evaluate(const ir::Dims& dims) const {
  Sizes sizes;
  sizes.reserve(dims.size());
  for (const ir::Dim& dim : dims) sizes.push_back(evaluate(dim));
  return sizes;
}

Tensor Context::result(std::size_t i) const {
  return Tensor::allocate(node.types[i].dtype, run.evaluate(node.types[i].dims));
}

std::vector<Tensor> run_region(const Region& region, const std::vector<Tensor>& arguments,
                               Run& run) {
  check_guards(region.guards, run);
  std::vector<Tensor> slots(region.slots);
  for (const auto& [index, slot] : region.parameters) slots[slot] = arguments[index];
  std::vector<Tensor> operands;
  for (const Step& step : region.steps) {
    operands.clear();
    for (std::size_t slot : step.operands) operands.push_back(slots[slot]);
    std::vector<Tensor> results = run_step(step, operands, run);
    for (std::size_t i = 0; i < results.size(); ++i) {
      slots[step.first_result + i] = std::move(results[i]);
    }
    for (std::size_t slot : step.last_uses) slots[slot] = Tensor();
  }
  std::vector<Tensor> results;
  for (std::size_t slot : region.results) results.push_back(slots[slot]);
  return results;
}

}  // namespace kiln::reference
