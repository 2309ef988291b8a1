// Matches kernels of a single map stage: y = x + bias, y = relu(x), y = relu(x + bias), where relu
// may have an upper bound. Kernels of tanh and sigmoid are not fused, but recorded in
// LibraryStep::followed_by for dumps.
#include "backends/codegen/plan/fuse_epilogues.h"

#include "core/ops/convert.h"

#include <algorithm>
#include <cmath>

namespace kiln::codegen {
namespace {

using ir::Dim;
using ir::Op;

constexpr std::pair<Op, EpilogueOp> kActivations[] = {{Op::Tanh, EpilogueOp::Tanh},
                                                      {Op::Sigmoid, EpilogueOp::Sigmoid}};

/// The matched kernel; its operands, or none.
struct Epilogue {
  OperandId source, bias, target;
  bool relu = false;
  double relu_bound = std::numeric_limits<double>::infinity();
};

class EpilogueMatcher {
 public:
  explicit EpilogueMatcher(const Kernel& kernel) : kernel_(kernel) {}

  std::optional<Epilogue> run() {
    if (kernel_.stages.size() != 1 || kernel_.stages.front().kind != StageKind::Map) return {};
    const std::vector<Store>& stores = kernel_.stages.front().stores;
    if (stores.size() != 1 || stores[0].accumulate) return {};
    out_.target = access(stores[0].access).operand;
    if (!is_dense(access(stores[0].access))) return {};
    const ExpressionId value = without_relu(stores[0].value);
    if (!is_sum(value) && !is_source(value)) return {};
    if (!out_.bias && !out_.relu) return {};
    return out_;
  }

  /// The activation, of the source or of source + bias, that one of the kernel's stores has.
  std::optional<EpilogueOp> activation() {
    if (kernel_.stages.empty() || kernel_.stages.front().kind != StageKind::Map) return {};
    for (const Store& store : kernel_.stages.front().stores) {
      for (const auto& [op, epilogue] : kActivations) {
        if (!store.value || !applies(store.value, op)) continue;
        const ExpressionId x = expression(store.value).arguments[0];
        if (is_sum(x) || is_source(x)) return epilogue;
      }
    }
    return {};
  }
  const Epilogue& epilogue() const { return out_; }

 private:
  const Expression& expression(ExpressionId i) const { return kernel_.expressions[i]; }
  const Access& access(AccessId i) const { return kernel_.accesses[i]; }

  bool applies(ExpressionId i, Op op) const {
    return expression(i).kind == ExpressionKind::Apply && expression(i).op == op &&
           is_float(expression(i).dtype);
  }
  bool is_zero(ExpressionId i) const {
    return expression(i).kind == ExpressionKind::Constant && expression(i).bits == 0;
  }

  /// x of relu(x), or of min(relu(x), c) for a constant c > 0, whose minimum may be taken before or
  /// after; else the value itself.
  ExpressionId without_relu(ExpressionId i) {
    const Clipped outer = without_minimum(i);
    const ExpressionId positive = without_zeros(outer.x);
    if (!positive) return i;
    const Clipped inner = without_minimum(positive);
    out_.relu = true;
    out_.relu_bound = std::min(outer.bound, inner.bound);
    return inner.x;
  }

  /// min(x, bound) of a constant bound above 0.
  struct Clipped {
    ExpressionId x;
    double bound = std::numeric_limits<double>::infinity();
  };
  Clipped without_minimum(ExpressionId i) const {
    if (!applies(i, Op::Minimum)) return {i};
    const auto& arguments = expression(i).arguments;
    for (const std::size_t constant : {1u, 0u}) {
      const Expression& bound = expression(arguments[constant]);
      if (bound.kind != ExpressionKind::Constant) continue;
      double value = 0;
      ir::load_floating(bound.dtype, reinterpret_cast<const std::byte*>(&bound.bits), &value, 1);
      if (value > 0) return {arguments[1 - constant], value};
    }
    return {i};
  }

  /// y of max(y, 0), or of select(x <= 0, 0, y), where y is x or the minimum of x and a positive
  /// constant. Both keep NaN.
  ExpressionId without_zeros(ExpressionId i) const {
    if (applies(i, Op::Maximum)) {
      const auto& [x, y, none] = expression(i).arguments;
      if (is_zero(y)) return x;
      return is_zero(x) ? y : ExpressionId();
    }
    if (!applies(i, Op::Select)) return {};
    const auto& [condition, zero, y] = expression(i).arguments;
    const Expression& test = expression(condition);
    const bool tests_sign = test.kind == ExpressionKind::Apply && test.op == Op::LessEqual &&
                            is_zero(test.arguments[1]) && is_zero(zero);
    if (!tests_sign) return {};
    const ExpressionId x = test.arguments[0];
    return x == y || x == without_minimum(y).x ? y : ExpressionId();
  }

  bool is_sum(ExpressionId i) {
    if (!applies(i, Op::Add)) return false;
    const auto& [left, right, none] = expression(i).arguments;
    return (is_source(left) && is_bias(right)) || (is_source(right) && is_bias(left));
  }
  bool is_source(ExpressionId i) {
    if (expression(i).kind != ExpressionKind::Load) return false;
    const Access& from = access(expression(i).access);
    if (!is_dense(from) || from.operand == out_.target) return false;
    out_.source = from.operand;
    return true;
  }
  /// Whether it loads a vector along the last axis.
  bool is_bias(ExpressionId i) {
    if (expression(i).kind != ExpressionKind::Load || kernel_.axes.size() < 2) return false;
    const Access& from = access(expression(i).access);
    const bool rows = std::any_of(from.strides.begin(), from.strides.end() - 1,
                                  [](const Dim& stride) { return stride != Dim(0); });
    const bool plain = from.offset == Dim(0) && !from.dynamic && !from.when;
    if (rows || !from.strides.back().is_one() || !plain) return false;
    out_.bias = from.operand;
    return true;
  }
  bool is_dense(const Access& access) const {
    return !access.dynamic && !access.when && access.offset == Dim(0) &&
           access.strides == dense_strides(kernel_.axes) &&
           is_float(kernel_.operands[access.operand].dtype);
  }

  const Kernel& kernel_;
  Epilogue out_;
};

class EpilogueFuser {
 public:
  EpilogueFuser(Plan& plan, const BuiltKernels& kernels, const LibraryClaims* library)
      : plan_(plan), kernels_(kernels), library_(library) {}

  void run() {
    count_readers();
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const auto* step = std::get_if<KernelStep>(&plan_.steps[s]);
      if (!step) continue;
      const Kernel& kernel = kernels_[step->kernel].kernel;
      const auto epilogue = EpilogueMatcher(kernel).run();
      if (epilogue) {
        fuse(s, *step, kernel, *epilogue);
      } else {
        note_activation(*step, kernel);
      }
    }
    std::erase_if(plan_.steps, [](const Step& step) {
      const LibraryStep* call = library_step(step);
      return call && call->node == nullptr;
    });
  }

 private:
  void read(SlotId slot) { ++readers_[slot]; }
  void read(const std::vector<SlotId>& slots) {
    for (const SlotId slot : slots) read(slot);
  }
  void count(const KernelStep& step) {
    const auto& operands = kernels_[step.kernel].kernel.operands;
    for (const OperandId i : operands.ids()) {
      if (operands[i].read) read(step.slots[i]);
    }
  }
  void count(const LibraryStep& step) { read({step.lhs, step.rhs}); }
  void count(const LoopStep& step) { read(step.operands); }
  void count(const BranchStep& step) { read(step.operands); }
  void count(const HostCallStep& step) { read(step.operands); }
  void count(const RowUpdateStep& step) {
    for (const RowUpdate& one : step.updates) {
      read({one.x, one.rate, one.indices, one.updates});
    }
  }
  void count(const AttentionStep& step) { read(step.operands); }
  void count(const CopyStep& step) { read(step.from); }
  void count_readers() {
    readers_.assign(plan_.slots.size(), 0);
    producers_.assign(plan_.slots.size(), nullptr);
    for (Step& step : plan_.steps) {
      std::visit([&](const auto& one) { count(one); }, step);
      if (const LibraryStep* call = library_step(step)) producers_[call->result] = &step;
    }
  }

  void note_activation(const KernelStep& step, const Kernel& kernel) {
    EpilogueMatcher matcher(kernel);
    const std::optional<EpilogueOp> op = matcher.activation();
    if (!op) return;
    Step* producer = producers_[step.slots[matcher.epilogue().source]];
    if (producer) library_step(*producer)->followed_by = op;
  }

  /// Replaces the kernel step by the fused library call. The call moves down to the kernel's
  /// position, because a step between the two may compute the bias.
  void fuse(std::size_t s, const KernelStep& step, const Kernel& kernel, const Epilogue& epilogue) {
    const SlotId source = step.slots[epilogue.source];
    if (readers_[source] != 1 || !plan_.slots[source].is<TemporarySlot>()) return;
    Step* producer = producers_[source];
    if (!producer) return;
    LibraryStep& old = *library_step(*producer);
    if (old.node->op == Op::Conv && !is_forward(*old.node)) return;
    if (epilogue.bias && !(takes_bias(old) && columns_fit(*producer, kernel))) return;
    if (epilogue.bias && note_rejection(old, EpilogueOp::Bias)) return;
    const bool is_bounded = std::isfinite(epilogue.relu_bound);
    if (epilogue.relu && note_rejection(old, EpilogueOp::Relu)) return;
    if (is_bounded && note_rejection(old, EpilogueOp::BoundedRelu)) return;
    Step fused = *producer;
    LibraryStep& call = *library_step(fused);
    call.result = step.slots[epilogue.target];
    if (epilogue.bias) call.bias = step.slots[epilogue.bias];
    call.relu = old.relu || epilogue.relu;
    call.relu_bound = std::min(old.relu_bound, epilogue.relu_bound);
    old.node = nullptr;  // run() erases the step
    producers_[source] = nullptr;
    producers_[call.result] = &plan_.steps[s];
    plan_.steps[s] = std::move(fused);
  }

  /// Returns whether the library rejects the epilogue, and records a rejected one for dumps.
  bool note_rejection(LibraryStep& call, EpilogueOp op) const {
    if (!library_->rejection_of_epilogue(*call.node, op)) return false;
    call.followed_by = op;
    return true;
  }

  /// A step adds its only bias before its ReLU. Once a kernel is fused, a further ReLU (reached
  /// through a reshape) may be fused, but no bias.
  static bool takes_bias(const LibraryStep& call) { return !call.bias && !call.relu; }

  static bool is_forward(const ir::Node& conv) {
    return conv.as<ir::ConvAttrs>().role == ir::ConvRole::Output;
  }

  static bool columns_fit(const Step& step, const Kernel& kernel) {
    if (const auto* convolution = std::get_if<ConvolutionStep>(&step)) {
      return convolution->node->types[0].dims.back() == kernel.axes.back();
    }
    const BatchedMatmul& form = std::get<MatmulStep>(step).form;
    return form.batch.empty() && form.n.size == kernel.axes.back() && form.n.result.is_one();
  }

  Plan& plan_;
  const BuiltKernels& kernels_;
  const LibraryClaims* library_;
  // Of each slot.
  IdVector<SlotId, int> readers_;
  IdVector<SlotId, Step*> producers_;  // the library step that writes it, or null
};

}  // namespace

void fuse_epilogues(Plan& plan, const BuiltKernels& kernels, const LibraryClaims* library) {
  EpilogueFuser(plan, kernels, library).run();
}

}  // namespace kiln::codegen
