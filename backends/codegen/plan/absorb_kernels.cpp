// The kernels are recognised by their expressions: y = x + bias, y = relu(x), y = relu(x + bias).
// Tanh and sigmoid kernels are not fused; they are recorded in LibraryStep::followed_by.
#include "backends/codegen/plan/absorb_kernels.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

using ir::Dim;
using ir::Op;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

constexpr std::pair<Op, EpilogueOp> kActivations[] = {{Op::Tanh, EpilogueOp::Tanh},
                                                      {Op::Sigmoid, EpilogueOp::Sigmoid}};

/// Whether kernels compute in this dtype what they store in it.
bool is_wide(DType dtype) { return dtype == DType::Float32 || dtype == DType::Float64; }

/// Operands of the kernel; bias may be none.
struct Extras {
  int source = -1, bias = -1, target = -1;
  bool relu = false;
};

class Recognizer {
 public:
  explicit Recognizer(const Kernel& kernel) : kernel_(kernel) {}

  std::optional<Extras> run() {
    if (kernel_.stages.size() != 1 || kernel_.stages[0].kind != StageKind::Map) return {};
    const std::vector<Store>& stores = kernel_.stages[0].stores;
    if (stores.size() != 1 || stores[0].accumulate) return {};
    out_.target = access(stores[0].access).operand;
    if (!is_dense(access(stores[0].access))) return {};
    const int value = without_relu(stores[0].value);
    if (!is_sum(value) && !is_source(value)) return {};
    if (out_.bias < 0 && !out_.relu) return {};
    return out_;
  }

  /// An activation of the source, or of it and a bias, that the kernel stores.
  std::optional<EpilogueOp> activation() {
    if (kernel_.stages.empty() || kernel_.stages[0].kind != StageKind::Map) return {};
    for (const Store& store : kernel_.stages[0].stores) {
      for (const auto& [op, epilogue] : kActivations) {
        if (store.value < 0 || !applies(store.value, op)) continue;
        const int x = expression(store.value).arguments[0];
        if (is_sum(x) || is_source(x)) return epilogue;
      }
    }
    return {};
  }
  const Extras& extras() const { return out_; }

 private:
  const Expression& expression(int i) const { return kernel_.expressions[at(i)]; }
  const Access& access(int i) const { return kernel_.accesses[at(i)]; }

  bool applies(int i, Op op) const {
    return expression(i).kind == ExpressionKind::Apply && expression(i).op == op &&
           is_wide(expression(i).dtype);
  }
  bool is_zero(int i) const {
    return expression(i).kind == ExpressionKind::Constant && expression(i).bits == 0;
  }

  /// What relu is taken of: select(x <= 0, 0, x), the form in which NaN stays what it is.
  int without_relu(int i) {
    if (!applies(i, Op::Select)) return i;
    const auto& [condition, zero, x] = expression(i).arguments;
    const Expression& test = expression(condition);
    const bool matches = test.kind == ExpressionKind::Apply && test.op == Op::LessEqual &&
                         test.arguments[0] == x && is_zero(test.arguments[1]) && is_zero(zero);
    if (!matches) return i;
    out_.relu = true;
    return x;
  }

  bool is_sum(int i) {
    if (!applies(i, Op::Add)) return false;
    const auto& [left, right, none] = expression(i).arguments;
    return (is_source(left) && is_bias(right)) || (is_source(right) && is_bias(left));
  }
  bool is_source(int i) {
    if (expression(i).kind != ExpressionKind::Load) return false;
    const Access& from = access(expression(i).number);
    if (!is_dense(from) || from.operand == out_.target) return false;
    out_.source = from.operand;
    return true;
  }
  /// One element for each index of the last axis.
  bool is_bias(int i) {
    if (expression(i).kind != ExpressionKind::Load || kernel_.axes.size() < 2) return false;
    const Access& from = access(expression(i).number);
    const bool rows = std::any_of(from.strides.begin(), from.strides.end() - 1,
                                  [](const Dim& stride) { return stride != Dim(0); });
    const bool plain = from.offset == Dim(0) && from.dynamic < 0 && from.when < 0;
    if (rows || !from.strides.back().is_one() || !plain) return false;
    out_.bias = from.operand;
    return true;
  }
  bool is_dense(const Access& access) const {
    return access.dynamic < 0 && access.when < 0 && access.offset == Dim(0) &&
           access.strides == dense_strides(kernel_.axes) &&
           is_wide(kernel_.operands[at(access.operand)].dtype);
  }

  const Kernel& kernel_;
  Extras out_;
};

class Absorber {
 public:
  Absorber(Plan& plan, const std::vector<BuiltKernel>& kernels, const LibraryClaims* library)
      : plan_(plan), kernels_(kernels), library_(library) {}

  void run() {
    count_readers();
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const auto* step = std::get_if<KernelStep>(&plan_.steps[s]);
      if (!step) continue;
      const Kernel& kernel = kernels_[at(step->kernel)].kernel;
      const auto extras = Recognizer(kernel).run();
      if (extras) {
        absorb(s, *step, kernel, *extras);
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
  void read(int slot) { ++readers_[at(slot)]; }
  void read(const std::vector<int>& slots) {
    for (const int slot : slots) read(slot);
  }
  void count(const KernelStep& step) {
    const auto& operands = kernels_[at(step.kernel)].kernel.operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
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
  void count(const CopyStep& step) { read(step.from); }
  void count_readers() {
    readers_.assign(plan_.slots.size(), 0);
    makers_.assign(plan_.slots.size(), nullptr);
    for (Step& step : plan_.steps) {
      std::visit([&](const auto& one) { count(one); }, step);
      if (const LibraryStep* call = library_step(step)) makers_[at(call->result)] = &step;
    }
  }

  void note_activation(const KernelStep& step, const Kernel& kernel) {
    Recognizer recognizer(kernel);
    const std::optional<EpilogueOp> op = recognizer.activation();
    if (!op) return;
    Step* maker = makers_[at(step.slots[at(recognizer.extras().source)])];
    if (maker) library_step(*maker)->followed_by = op;
  }

  /// Replaces the kernel step by the fused library call. The call moves down to the kernel's
  /// position, because the bias may be computed between the two.
  void absorb(std::size_t s, const KernelStep& step, const Kernel& kernel, const Extras& extras) {
    const int source = step.slots[at(extras.source)];
    if (readers_[at(source)] != 1 || plan_.slots[at(source)].kind != Slot::Kind::Temporary) return;
    Step* maker = makers_[at(source)];
    if (!maker) return;
    LibraryStep& old = *library_step(*maker);
    if (old.node->op == Op::Conv && !makes_output(*old.node)) return;
    if (extras.bias >= 0 && !(takes_bias(old) && columns_fit(*maker, kernel))) return;
    if (extras.bias >= 0 && is_rejected(old, EpilogueOp::Bias)) return;
    if (extras.relu && is_rejected(old, EpilogueOp::Relu)) return;
    Step whole = *maker;
    LibraryStep& call = *library_step(whole);
    call.result = step.slots[at(extras.target)];
    if (extras.bias >= 0) call.bias = step.slots[at(extras.bias)];
    call.relu = old.relu || extras.relu;
    old.node = nullptr;  // erased in the end
    makers_[at(source)] = nullptr;
    makers_[at(call.result)] = &plan_.steps[s];
    plan_.steps[s] = std::move(whole);
  }

  /// Whether the library leaves this to a kernel.
  bool is_rejected(LibraryStep& call, EpilogueOp op) const {
    if (!library_->rejection_of_epilogue(*call.node, op)) return false;
    call.followed_by = op;
    return true;
  }

  /// The step adds its one bias before its relu. After an already fused kernel (reached through a
  /// reshape) another relu may be fused, but no bias.
  static bool takes_bias(const LibraryStep& call) { return call.bias < 0 && !call.relu; }

  static bool makes_output(const ir::Node& conv) {
    return conv.as<ir::ConvAttrs>().role == static_cast<std::int64_t>(ir::ConvRole::Output);
  }

  static bool columns_fit(const Step& step, const Kernel& kernel) {
    if (const auto* convolution = std::get_if<ConvolutionStep>(&step)) {
      return convolution->node->types[0].dims.back() == kernel.axes.back();
    }
    const ProductForm& form = std::get<MatmulStep>(step).form;
    return form.batch.empty() && form.columns.size == kernel.axes.back() &&
           form.columns.result.is_one();
  }

  Plan& plan_;
  const std::vector<BuiltKernel>& kernels_;
  const LibraryClaims* library_;
  // Of each slot.
  std::vector<int> readers_;
  std::vector<Step*> makers_;  // the library step that writes it, or null
};

}  // namespace

void absorb_kernels(Plan& plan, const std::vector<BuiltKernel>& kernels,
                    const LibraryClaims* library) {
  Absorber(plan, kernels, library).run();
}

}  // namespace kiln::codegen
