// Sizes are solved for the program's symbols, one input after the other, and checked.
#include "backends/codegen/host/sized_plans.h"

#include "backends/codegen/host/bind/bind_plan.h"
#include "backends/codegen/host/bind/memory_report.h"
#include "core/types/float_state.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>

namespace kiln::codegen {
namespace {

constexpr std::size_t kKept = 8;

bool has_sizes(const SizedPlan& plan, const InputSizes& sizes) {
  std::size_t next = 0;
  for (const sdk::Dims dims : sizes) {
    for (const std::int64_t size : dims) {
      if (plan.sizes[next++] != size) return false;
    }
  }
  return true;
}

std::uint64_t bytes_of(std::int64_t count) { return static_cast<std::uint64_t>(count); }

}  // namespace

FrameLease::FrameLease(SizedPlan& plan) : plan_(plan) {
  {
    const std::lock_guard lock(plan.mutex);
    if (!plan.frames.empty()) {
      frame_ = std::move(plan.frames.back());
      plan.frames.pop_back();
    }
  }
  if (!frame_) frame_ = std::make_unique<Frame>(*plan.plan);
}

FrameLease::~FrameLease() {
  const std::lock_guard lock(plan_.mutex);
  plan_.frames.push_back(std::move(frame_));
}

std::shared_ptr<SizedPlan> SizedPlans::of(const InputSizes& sizes) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(plans_.begin(), plans_.end(), [&](const auto& plan) {
    return has_sizes(*plan, sizes);
  });
  if (found != plans_.end()) {
    std::rotate(plans_.begin(), found, found + 1);
    return plans_.front();
  }
  const UsualFloatState usual;
  plans_.insert(plans_.begin(), make(sizes));
  const BoundPlan& plan = *plans_.front()->plan;
  plans_.front()->number = ++stats_.bindings;
  // Sizes may change at every call: only the first that are seen leave a file by themselves.
  if (stats_.bindings == 1) dump_binding(parts_.dumps, parts_.program, plan, 1);
  const std::int64_t packed = plan.packed_bytes;
  stats_.planned_bytes = std::max(stats_.planned_bytes, bytes_of(plan.arena_bytes + packed));
  stats_.live_bytes = std::max(stats_.live_bytes, bytes_of(plan.live_bytes + packed));
  if (plans_.size() > kKept) plans_.pop_back();
  return plans_.front();
}

std::vector<std::shared_ptr<SizedPlan>> SizedPlans::all() const {
  const std::lock_guard lock(mutex_);
  return plans_;
}

sdk::ExecutableStats SizedPlans::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

std::shared_ptr<SizedPlan> SizedPlans::make(const InputSizes& given) const {
  auto made = std::make_shared<SizedPlan>();
  std::unordered_map<std::int64_t, std::int64_t> symbols;
  const auto value_of = [&](const ir::Symbol& symbol) -> std::optional<std::int64_t> {
    const auto found = symbols.find(symbol.id);
    return found == symbols.end() ? std::nullopt : std::optional(found->second);
  };
  const EvaluateDim evaluate = [&](const ir::Dim& dim) {
    return dim.is_static() ? dim.value() : ir::evaluate(dim, value_of);
  };
  try {
    for (std::size_t i = 0; i < given.size(); ++i) {
      const ir::Dims& dims = parts_.inputs[i].dims();
      for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        const std::int64_t size = given[i][axis];
        if (const auto solved = solve(dims[axis], size, value_of)) {
          symbols.emplace(solved->first.id, solved->second);
        }
        if (evaluate(dims[axis]) != size) throw input_mismatch(parts_.inputs, i);
        made->sizes.push_back(size);
      }
    }
    check_guards(evaluate);
    const BindInputs inputs{parts_.program.kernels, parts_.functions, evaluate, parts_.library,
                            parts_.host};
    made->plan = bind_plan(parts_.program.plan, inputs, PlanUse{parts_.kept, -1, nullptr});
    for (const ir::Value& result : parts_.results) {
      made->result_dims.emplace_back();
      for (const ir::Dim& dim : result.dims()) made->result_dims.back().push_back(evaluate(dim));
    }
  } catch (const Error& error) {
    throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT, error.message());
  }
  return made;
}

void SizedPlans::check_guards(const EvaluateDim& evaluate) const {
  const std::string failure = ir::first_failure(parts_.guards, evaluate);
  if (!failure.empty()) throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT, failure);
}

sdk::Failure input_mismatch(const std::vector<ir::Value>& inputs, std::size_t i) {
  return {KILN_CODE_INVALID_ARGUMENT,
          text("input ", i, " does not have the type ", inputs[i].type())};
}

void dump_binding(const Dumps& dumps, const Program& program, const BoundPlan& bound,
                  std::uint64_t number) {
  const std::string name = text("sizes-", number);
  dumps.hand_over("claims", name, [&] { return print_products(bound); });
  dumps.hand_over("memory_plan", name, [&] { return print_memory(program, bound); });
}

}  // namespace kiln::codegen
