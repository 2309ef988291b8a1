// Imports losses over classes.
#include "core/k/math/formulas_impl.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/operands.h"
#include "core/onnx/import/positions.h"

namespace kiln::onnx {
namespace {

using ir::Dims;
using ir::Ints;
using ir::Value;
using Values = std::vector<Value>;

/// -x[target] weight[target] over axis 1 of x, 0 for ignored targets. The mean is that weighted by
/// the weights; ignored targets have none. A call with another target outside of the classes
/// throws.
Value class_loss(NodeContext& node, const Value& x) {
  if (x.rank() < 2) node.fail(text("the input has no axis of classes (", x.type(), ")"));
  Ints axes{0};
  for (int axis = 2; axis < x.rank(); ++axis) axes.push_back(axis);
  axes.push_back(1);
  const Value scores = ir::permute(x, axes);
  const Dims dims(scores.dims().begin(), scores.dims().end() - 1);
  Value target = fitted_operand(node, ir::cast(node.input(1), DType::Int64), dims, "the target");
  Value weight;
  if (node.has_attribute("ignore_index")) {
    const Value ignored =
        ir::broadcast_to(ir::scalar_constant_int(DType::Int64, node.integer("ignore_index")), dims);
    const Value is_ignored = ir::equal_to(target, ignored);
    target = ir::select(is_ignored, ir::zeros_like(target), target);
    weight = ir::cast(ir::logical_not(is_ignored), x.dtype());
  }
  target = checked_indices(target, scores.dims().back());
  if (node.has(2)) {
    const Value given = node.untrained_input(2);
    const Value weights = fitted_operand(node, given, {scores.dims().back()}, "the weight");
    const Value own = ir::gather(weights, target, 0);
    weight = weight ? weight * own : own;
  }
  const Value picked = -pick_last(scores, target);
  // A score of -inf that is ignored gives 0, not NaN.
  const Value loss = weight ? ir::select(ir::equal_to(weight, ir::zeros_like(weight)),
                                         ir::zeros_like(picked), picked * weight)
                            : picked;
  const std::string reduction = node.string("reduction", "mean");
  const Ints all = ir::all_axes(loss);
  if (reduction == "none") return loss;
  if (reduction == "sum") return ir::reduce_sum(loss, all);
  if (reduction != "mean") node.fail(text("reduction '", reduction, "' is unknown"));
  if (!weight) return ir::reduce_mean(loss, all);
  return ir::reduce_sum(loss, all) / ir::reduce_sum(weight, all);
}

Values import_negative_log_likelihood_loss(NodeContext& node) {
  return {class_loss(node, node.input(0))};
}

Values import_softmax_cross_entropy_loss(NodeContext& node) {
  const Value x = node.input(0);
  if (x.rank() < 2) node.fail(text("the scores have no axis of classes (", x.type(), ")"));
  const Value log_probabilities = ir::log_softmax(x, 1);
  return {class_loss(node, log_probabilities), log_probabilities};
}

constexpr OperatorRow kLossRows[] = {
    {"NegativeLogLikelihoodLoss", {12, 13, 22}, import_negative_log_likelihood_loss},
    {"SoftmaxCrossEntropyLoss", {12, 13}, import_softmax_cross_entropy_loss},
};

}  // namespace

std::span<const OperatorRow> loss_operators() { return kLossRows; }

}  // namespace kiln::onnx
