// The gradient of a Scan is two scans. The augmented forward scan runs the same body and also
// stores the residuals; the pass scan_merge fuses it with the user's own scan. The backward scan
// runs in the other direction, carries the cotangents of the carries and the sums of the cotangents
// of consts, and outputs the cotangents of xs.
//
//   Before: %c, %y = scan: (c', y) = body(t, consts, c, x)
//   After:  %c, %r = scan: (c', residuals), t = 0 .. T-1
//           %dc, %dconsts, %dx = scan(%r): vjp(body), t = T-1 .. 0
#include "core/autodiff/activity.h"
#include "core/autodiff/control_gradient.h"
#include "core/autodiff/residuals.h"
#include "core/autodiff/vjp.h"
#include "core/ops/build.h"
#include "core/ops/halves.h"
#include "core/ops/lambda_builder.h"

#include <optional>

namespace kiln::autodiff {
namespace {

using ir::Grad;
using ir::ScanAttrs;
using ir::Type;
using ir::Value;

class ScanGradient {
 public:
  explicit ScanGradient(const Grad& g)
      : g_(g), attrs_(g.node.as<ScanAttrs>()), forward_(attrs_.body->parameters) {
    consts_ = static_cast<std::size_t>(attrs_.consts);
    carry_ = static_cast<std::size_t>(attrs_.carry);
    xs_ = static_cast<std::size_t>(attrs_.xs);
    results_ = without_host_calls(ir::inline_lambda(*attrs_.body, forward_.parameters()));
    select_active();
  }

  std::vector<Value> build() {
    differentiate_body();
    choose_stored();
    make_forward_scan();
    return make_backward_scan();
  }

 private:
  const Value& parameter(std::size_t operand) const { return forward_.parameters()[operand + 1]; }

  void select_active() {
    std::vector<bool> given;
    for (const Value& dy : g_.dy) given.push_back(static_cast<bool>(dy));
    const std::vector<bool> wanted(g_.wanted.begin(), g_.wanted.end());
    const Activity activity = find_activity(attrs_, wanted, given);
    for (std::size_t c = 0; c < carry_; ++c) {
      if (activity.carries[c]) active_.push_back(c);
    }
    for (std::size_t i = carry_; i < g_.dy.size(); ++i) {
      if (g_.dy[i]) given_ys_.push_back(i);
    }
    for (std::size_t i = 0; i < consts_; ++i) {
      if (g_.wanted[i]) wanted_consts_.push_back(i);
    }
    for (std::size_t i = consts_ + carry_; i < g_.x.size(); ++i) {
      if (g_.wanted[i]) wanted_xs_.push_back(i);
    }
  }

  /// Cotangents of one step: of the active carries, then wanted consts, then wanted xs.
  void differentiate_body() {
    std::vector<Value> y, x;
    std::vector<Type> types;
    for (std::size_t c : active_) y.push_back(results_[c]);
    for (std::size_t i : given_ys_) y.push_back(results_[i]);
    for (const Value& value : y) types.push_back(value.type());
    cotangents_.emplace(types);
    for (std::size_t c : active_) x.push_back(parameter(consts_ + c));
    for (std::size_t i : wanted_consts_) x.push_back(parameter(i));
    for (std::size_t i : wanted_xs_) x.push_back(parameter(i));
    step_ = vjp(y, cotangents_->parameters(), x).dx;
    for (std::size_t i = 0; i < step_.size(); ++i) {
      if (!step_[i]) step_[i] = ir::zeros_like(x[i]);
    }
  }

  void choose_stored() {
    ValueSet cotangents(cotangents_->parameters().begin(), cotangents_->parameters().end());
    ValueSet available{forward_.parameters()[0]};
    for (std::size_t i = 0; i < g_.x.size(); ++i) {
      const bool is_carry = i >= consts_ && i < consts_ + carry_;
      if (!is_carry) available.insert(parameter(i));
    }
    residuals_ = choose_residuals(step_, cotangents, available);
  }

  /// The augmented forward scan: the same operands and carries, residuals as outputs.
  void make_forward_scan() {
    if (residuals_.empty()) return;
    std::vector<Value> results(results_.begin(),
                               results_.begin() + static_cast<std::ptrdiff_t>(carry_));
    results.insert(results.end(), residuals_.begin(), residuals_.end());
    ScanAttrs attrs = attrs_;
    attrs.body.lambda = forward_.close_without_captures(results, attrs_.body->guards);
    const ir::NodeRef scan = ir::make_node(ir::Op::Scan, attrs, g_.node.operands);
    for (std::size_t i = 0; i < residuals_.size(); ++i) {
      stored_.push_back({scan, static_cast<std::uint32_t>(carry_ + i)});
    }
  }

  std::vector<Value> make_backward_scan() {
    // Operands: initial cotangents and sums, then the stacked inputs of each step.
    std::vector<Value> carry, stacked;
    for (std::size_t c : active_) {
      carry.push_back(g_.dy[c] ? g_.dy[c] : ir::zeros_like(g_.y[c]));
    }
    // In float32 for float16 and bfloat16, rounded once after the loop.
    for (std::size_t i : wanted_consts_) carry.push_back(ir::zeros_like(ir::widened(g_.x[i])));
    stacked.insert(stacked.end(), g_.x.begin() + static_cast<std::ptrdiff_t>(consts_ + carry_),
                   g_.x.end());
    stacked.insert(stacked.end(), stored_.begin(), stored_.end());
    for (std::size_t i : given_ys_) stacked.push_back(g_.dy[i]);

    std::vector<Type> types{forward_.parameters()[0].type()};
    for (const Value& value : carry) types.push_back(value.type());
    for (const Value& value : stacked) {
      Type slice = value.type();
      slice.dims.erase(slice.dims.begin());
      types.push_back(slice);
    }
    const ir::LambdaBuilder backward(types);
    const ir::Closure closure =
        backward.close(backward_results(backward.parameters(), carry.size()), ir::kAfterStepNumber,
                       capture_policy());
    return operand_cotangents(
        ir::make_scan(closure, carry, stacked, attrs_.length, !attrs_.reverse));
  }

  /// In the backward body the forward consts are outer values, so nodes that use only them would be
  /// hoisted; nodes that may fail must stay in the body.
  ir::CapturePolicy capture_policy() const {
    std::vector<Value> outer(g_.x.begin(), g_.x.end());
    for (const Value& dy : g_.dy) {
      if (dy) outer.push_back(dy);
    }
    return {.is_created_inside = [is_outer = ir::reached_from(outer)](
                                     const ir::Node& node) { return !is_outer(node); },
            .is_outside = ir::one_of(outer),
            .always_runs = ir::has_step(attrs_.length),
            .guards = attrs_.body->guards};
  }

  /// The cotangents of a step on the backward body's parameters; those of consts are accumulated.
  std::vector<Value> backward_results(std::span<const Value> parameters,
                                      std::size_t carry_count) const {
    ir::Replacements map;
    map.emplace(forward_.parameters()[0], parameters[0]);
    for (std::size_t i = 0; i < consts_; ++i) map.emplace(parameter(i), g_.x[i]);
    std::size_t next = 1 + carry_count;
    for (std::size_t i = 0; i < xs_; ++i) {
      map.emplace(parameter(consts_ + carry_ + i), parameters[next++]);
    }
    for (const Value& residual : residuals_) map.emplace(residual, parameters[next++]);
    const std::vector<Value>& cotangents = cotangents_->parameters();
    for (std::size_t i = 0; i < active_.size(); ++i) map.emplace(cotangents[i], parameters[1 + i]);
    for (std::size_t i = 0; i < given_ys_.size(); ++i) {
      map.emplace(cotangents[active_.size() + i], parameters[next++]);
    }
    std::vector<Value> results = ir::replace_values(step_, map);
    for (std::size_t i = 0; i < wanted_consts_.size(); ++i) {
      Value& sum = results[active_.size() + i];
      sum = parameters[1 + active_.size() + i] + ir::widened(sum);
    }
    return results;
  }

  /// The cotangent of each operand of the forward Scan, from the results of the backward one.
  std::vector<Value> operand_cotangents(const ir::NodeRef& scan) const {
    std::vector<Value> dx(g_.x.size());
    std::uint32_t next = 0;
    for (std::size_t c : active_) dx[consts_ + c] = {scan, next++};
    for (std::size_t i : wanted_consts_) {
      dx[i] = ir::cast({scan, next++}, g_.x[i].dtype());
    }
    for (std::size_t i : wanted_xs_) dx[i] = {scan, next++};
    return dx;
  }

  const Grad& g_;
  const ScanAttrs& attrs_;
  ir::LambdaBuilder forward_;
  std::optional<ir::LambdaBuilder> cotangents_;
  std::size_t consts_ = 0, carry_ = 0, xs_ = 0;
  std::vector<Value> results_;  // of the body on forward_'s parameters
  std::vector<std::size_t> active_;  // carries
  std::vector<std::size_t> given_ys_;  // results with a cotangent
  std::vector<std::size_t> wanted_consts_, wanted_xs_;  // operands
  std::vector<Value> step_, residuals_, stored_;
};

}  // namespace

std::vector<Value> scan_gradient(const Grad& g) { return ScanGradient(g).build(); }

}  // namespace kiln::autodiff
