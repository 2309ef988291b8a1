// Finds the last writer of every slot, then checks the readers.
#include "backends/codegen/plan/verify_plan.h"

#include "backends/codegen/plan/step_effects.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>

namespace kiln::codegen {
namespace {

[[noreturn]] void broken(const std::string& message) {
  throw InternalError("verify", "", "the plan is broken: " + message);
}

/// list[id]. Throws if the list has none with that id.
template <class Key, class Value>
const Value& element_of(const IdVector<Key, Value>& list, Key id, const char* things) {
  if (id && id <= list.back_id()) return list[id];
  broken(text("a step has number ", id.number, " of ", list.size(), " ", things));
}

const Slot& slot_of(const Plan& plan, SlotId slot) { return element_of(plan.slots, slot, "slots"); }

bool is_given(const Slot& slot) { return slot.is<ArgumentSlot>() || slot.is<ConstantSlot>(); }

template <class Number>
bool has(const std::vector<Number>& list, Number one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

/// Elements of a tensor; empty when a size is unknown.
std::optional<std::int64_t> known_elements(const ir::Dims& dims) {
  if (std::find(dims.begin(), dims.end(), ir::Dim(0)) != dims.end()) return 0;
  std::int64_t elements = 1;
  for (const ir::Dim& dim : dims) {
    if (!dim.is_static()) return std::nullopt;
    elements *= dim.value();
  }
  return elements;
}

/// The first and the last element of an operand that a matmul touches.
struct Extent {
  std::int64_t first = 0, last = 0;
};

/// Empty when a size is unknown.
std::optional<Extent> extent_of(const BatchedMatmul& form, const ir::Dim& offset,
                                ir::Dim MatmulAxis::* stride) {
  std::vector<MatmulAxis> axes = form.batch;
  axes.insert(axes.end(), {form.m, form.n, form.k});
  if (!offset.is_static()) return std::nullopt;
  Extent extent{offset.value(), offset.value()};
  for (const MatmulAxis& axis : axes) {
    const ir::Dim& by = axis.*stride;
    if (by == ir::Dim(0)) continue;
    if (!axis.size.is_static() || !by.is_static()) return std::nullopt;
    (by.value() < 0 ? extent.first : extent.last) += (axis.size.value() - 1) * by.value();
  }
  return extent;
}

class LibraryStepVerifier {
 public:
  LibraryStepVerifier(const Plan& plan, std::size_t step) : plan_(plan), step_(step) {}

  void verify(const LibraryStep& call, bool has_narrow_rhs) const {
    for (const SlotId slot : {call.lhs, call.rhs, call.result, call.bias}) {
      if (!slot || slot_at(slot).dtype == call.dtype) continue;
      if (has_narrow_rhs && slot == call.rhs) continue;
      broken(text("step ", step_, " computes in ", call.dtype, " but ", slot, " has ",
                  slot_at(slot).dtype));
    }
  }

  void verify(const MatmulStep& matmul) const {
    const BatchedMatmul& form = matmul.form;
    if (matmul.narrow_rhs) verify_narrow_rhs(matmul);
    verify_view(matmul.lhs, form, form.lhs_offset, &MatmulAxis::lhs);
    verify_view(matmul.rhs, form, form.rhs_offset, &MatmulAxis::rhs);
    verify_view(matmul.result, form, 0, &MatmulAxis::result);
    if (known_elements(slot_at(matmul.result).dims) == 0) return;  // has strides of 0
    for (const MatmulAxis& axis : form.batch) {
      if (axis.size.is_one() || axis.result != ir::Dim(0)) continue;
      broken(text("step ", step_, " writes ", axis.size, " matrices of its batch over each other"));
    }
  }

 private:
  void verify_narrow_rhs(const MatmulStep& matmul) const {
    const DType narrow = *matmul.narrow_rhs;
    const bool widens =
        matmul.dtype == DType::Float32 && is_float(narrow) && dtype_bytes(narrow) == 2;
    const Slot& rhs = slot_at(matmul.rhs);
    if (widens && rhs.dtype == narrow && rhs.is<ArgumentSlot>() && matmul.form.batch.empty())
      return;
    broken(text("step ", step_, " widens ", matmul.rhs, " of ", rhs.dtype, " as a weight of ",
                narrow));
  }

  const Slot& slot_at(SlotId slot) const { return slot_of(plan_, slot); }

  /// Checks that the view is within its tensor, where sizes are known. An empty tensor has no view.
  void verify_view(SlotId slot, const BatchedMatmul& form, const ir::Dim& offset,
                   ir::Dim MatmulAxis::* stride) const {
    const auto elements = known_elements(slot_at(slot).dims);
    const auto extent = extent_of(form, offset, stride);
    if (!elements || !extent || *elements == 0) return;
    if (extent->first >= 0 && extent->last < *elements) return;
    const std::int64_t outside = extent->first < 0 ? extent->first : extent->last;
    broken(text("step ", step_, " reaches element ", outside, " of ", slot, ", which has ",
                *elements));
  }

  const Plan& plan_;
  std::size_t step_;
};

void verify_library_step(const Plan& plan, const Step& step, std::size_t number) {
  const LibraryStep* call = library_step(step);
  if (call == nullptr) return;
  const LibraryStepVerifier verifier(plan, number);
  const auto* matmul = std::get_if<MatmulStep>(&step);
  verifier.verify(*call, matmul && matmul->narrow_rhs);
  if (matmul) verifier.verify(*matmul);
}

/// `stacked`: results that no step writes, because they store a carry.
void verify(const Plan& plan, const BuiltKernels& kernels, const std::vector<int>& stacked);

/// The stacked results of a loop that its body does not write, each of one carry.
std::vector<int> results_in_stacks(const Plan& plan, const LoopStep& loop) {
  std::vector<int> found;
  const auto is_temporary = [&](int result) {
    const SlotId slot = loop.results.at(static_cast<std::size_t>(result));
    return slot_of(plan, slot).is<TemporarySlot>();
  };
  for (const CarryStacks& stacks : loop.carry_stacks) {
    for (const int result : {stacks.before, stacks.after}) {
      if (result < 0) continue;
      if (has(found, result)) broken(text("result ", result, " of a loop stacks two carries"));
      found.push_back(result);
    }
    if (stacks.before < 0 || stacks.after < 0) continue;
    if (is_temporary(stacks.before) && is_temporary(stacks.after)) continue;
    broken(text("stacks of carry ", stacks.carry, " of a loop are not temporary"));
  }
  return found;
}

/// Groups of rows divide axis 0 of a kernel at multiples of its indices per row.
void verify_groups(const LoopStep& loop, const BuiltKernels& kernels) {
  if (!loop.independent_rows) return;
  const std::vector<std::int64_t>& scales = loop.independent_rows->scales;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const auto* step = std::get_if<KernelStep>(&loop.body->steps.at(i));
    if (!step) continue;
    const Kernel& kernel = element_of(kernels, step->kernel, "kernels").kernel;
    if (scales[i] % kernel.part_multiple == 0) continue;
    broken(text("groups of rows divide kernel ", kernel.name, " at multiples of ", scales[i],
                ", not of ", kernel.part_multiple));
  }
}

/// Steps of the opening depend on no step.
void verify_opening(const Plan& plan, const BuiltKernels& kernels) {
  if (plan.opening_end > plan.steps.size()) broken("the opening has more steps than the plan");
  for (std::size_t s = 0; s < plan.opening_end; ++s) {
    for (const SlotId slot : effects_of(plan.steps[s], kernels).read) {
      if (is_given(slot_of(plan, slot))) continue;
      broken(text("step ", s, " of the opening reads ", slot, ", which is not given"));
    }
  }
}

/// A loop that is one kernel has steps that one can run, and a scale for each.
void verify_fusion(const LoopStep& loop) {
  if (!loop.fusion || !loop.fusion->reason.empty()) return;
  const std::vector<Step>& steps = loop.body->steps;
  if (loop.node->op == ir::Op::While) broken("a loop that may end early is one kernel");
  if (loop.fusion->division.scales.size() != steps.size()) {
    broken(text("blocks divide ", loop.fusion->division.scales.size(), " steps of a loop of ",
                steps.size()));
  }
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const bool is_kernel = std::holds_alternative<KernelStep>(steps[s]);
    if (is_kernel || std::holds_alternative<CopyStep>(steps[s])) continue;
    broken(text("step ", s, " of a loop that is one kernel is none"));
  }
}

void verify_bodies(const Plan& plan, const Step& step, const BuiltKernels& kernels) {
  if (const auto* loop = std::get_if<LoopStep>(&step)) {
    verify_groups(*loop, kernels);
    verify_fusion(*loop);
    verify(*loop->body, kernels, results_in_stacks(plan, *loop));
  }
  const auto* branch = std::get_if<BranchStep>(&step);
  if (branch == nullptr) return;
  for (const auto& body : branch->branches) verify(*body, kernels);
}

void verify(const Plan& plan, const BuiltKernels& kernels, const std::vector<int>& stacked) {
  IdVector<SlotId, std::ptrdiff_t> last_writer(plan.slots.size(), -1);
  std::vector<StepEffects> all;
  for (const Step& step : plan.steps) {
    all.push_back(effects_of(step, kernels));
    const auto number = static_cast<std::ptrdiff_t>(all.size()) - 1;
    for (const SlotId slot : all.back().written) {
      if (is_given(slot_of(plan, slot))) {
        broken(text("step ", number, " writes ", slot, ", an argument or a constant"));
      }
      last_writer[slot] = number;
    }
    verify_library_step(plan, step, all.size() - 1);
    verify_bodies(plan, step, kernels);
  }
  for (std::size_t step = 0; step < all.size(); ++step) {
    for (const SlotId slot : all[step].read) {
      if (is_given(slot_of(plan, slot)) || has(all[step].written, slot)) continue;
      const std::ptrdiff_t writer = last_writer[slot];
      if (writer >= 0 && writer < static_cast<std::ptrdiff_t>(step)) continue;
      broken(text("step ", step, " reads ", slot, ", which ",
                  writer < 0 ? "nothing writes" : text("step ", writer, " writes")));
    }
  }
  for (std::size_t i = 0; i < plan.results.size(); ++i) {
    const SlotId slot = plan.results[i];
    const bool is_stacked = has(stacked, static_cast<int>(i));
    const bool is_written = last_writer[slot] >= 0;
    if (is_stacked && is_written) broken(text("the body writes the stack ", slot, " of a carry"));
    if (!is_stacked && !is_written) broken(text("nothing writes the result ", slot));
  }
}

}  // namespace

void verify(const Plan& plan, const BuiltKernels& kernels) {
  verify(plan, kernels, {});
  verify_opening(plan, kernels);
}

}  // namespace kiln::codegen
