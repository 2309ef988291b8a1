// gradients: the vector-Jacobian product (core/autodiff/vjp.h) with ones; a variable that the loss
// does not depend on gets a tensor that throws when it is used.
#include <kiln/gradients.h>

#include "core/autodiff/vjp.h"
#include "core/kiln/tensor_impl.h"

namespace kiln {
namespace {

std::string missing_text(const Tensor& variable, const std::string& cut_by) {
  const std::string name = variable.name();
  const std::string what = name.empty() ? text(variable) : name;
  std::string fact = text("the loss does not depend on ", what, ", so it has no gradient");
  if (!cut_by.empty()) fact += text("; ", cut_by, " on the way is not differentiable");
  return fact;
}

Tensor missing(std::string text) {
  TensorImpl impl;
  impl.missing = std::move(text);
  return Tensor(std::make_shared<const TensorImpl>(std::move(impl)));
}

}  // namespace

std::vector<Tensor> gradients(const Operand& loss, const std::vector<Tensor>& variables) {
  const Call call("gradients", loss.where());
  const ir::Value y = value_of(loss, floatx_dtype(), "loss");
  if (!is_float(y.dtype())) {
    Call::type_error("loss", text("loss is not floating point (loss ", y.type(), ")"));
  }
  std::vector<ir::Value> x;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    x.push_back(value_of(variables, i, "variables"));
  }
  const ir::Value dy = ir::like(y, 1.0);
  const autodiff::Vjp result = autodiff::vjp({&y, 1}, {&dy, 1}, x);
  std::vector<Tensor> gradients;
  for (std::size_t i = 0; i < x.size(); ++i) {
    gradients.push_back(result.dx[i] ? wrap(result.dx[i])
                                     : missing(missing_text(variables[i], result.cut_by)));
  }
  return gradients;
}

Tensor stop_gradient(const Operand& x) {
  const Call call("stop_gradient", x.where());
  return wrap(ir::stop_gradient(value_of(x, floatx_dtype(), "variables")));
}

std::vector<Tensor> stop_gradient(const std::vector<Tensor>& variables, Where where) {
  const Call call("stop_gradient", where);
  std::vector<Tensor> stopped;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    stopped.push_back(wrap(ir::stop_gradient(value_of(variables, i, "variables"))));
  }
  return stopped;
}

}  // namespace kiln
