// dot_product_attention as one Attention node.
#include <kiln/attention.h>

#include "core/k/base/tensor_impl.h"
#include "core/types/at.h"

#include <cmath>

namespace kiln {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Value;

/// q, k and v, checked against each other.
struct AttentionOperands {
  Value q, k, v;

  std::string types() const {
    return text("(q ", q.type(), ", k ", k.type(), ", v ", v.type(), ")");
  }

  void check() const {
    check_form(k, "k");
    check_form(v, "v");
    const int rank = q.rank();
    if (rank < 2) Call::value_error("q", text("q has rank ", rank, ", not 2 or more ", types()));
    for (int axis = 0; axis < rank - 2; ++axis) {
      check_sizes(k, axis, "k", q, axis, "q");
      check_sizes(v, axis, "v", q, axis, "q");
    }
    check_sizes(k, rank - 1, "k", q, rank - 1, "q");
    check_sizes(v, rank - 2, "v", k, rank - 2, "k");
  }

  Dims score_dims() const {
    Dims dims = q.dims();
    dims.back() = k.dims()[at(q.rank() - 2)];
    return dims;
  }

 private:
  void check_form(const Value& x, const char* name) const {
    if (x.dtype() != q.dtype()) {
      Call::type_error(name, text("q has dtype ", q.dtype(), " but ", name, " has dtype ",
                                  x.dtype(), " ", types()));
    }
    if (x.rank() == q.rank()) return;
    Call::value_error(
        name, text("q has rank ", q.rank(), " but ", name, " has rank ", x.rank(), " ", types()));
  }

  void check_sizes(const Value& x, int x_axis, const char* x_name, const Value& y, int y_axis,
                   const char* y_name) const {
    const Dim &a = x.dims()[at(x_axis)], &b = y.dims()[at(y_axis)];
    if (equal(a, b) != ir::Ternary::No) return;
    Call::value_error(x_name, text("axis ", y_axis, " of ", y_name, " has size ", b, " but axis ",
                                   x_axis, " of ", x_name, " has size ", a, " ", types()));
  }
};

Value scale_of(const AttentionOptions& options, const Value& q) {
  if (!options.scale.is_none()) {
    const Value scale = value_of(options.scale.value(), q.dtype(), "scale", "");
    if (scale.dtype() != q.dtype()) {
      Call::type_error(
          "scale", text("q has dtype ", q.dtype(), " but scale has dtype ", scale.dtype(), " (q ",
                        q.type(), ", scale ", scale.type(), ")"));
    }
    if (scale.rank() == 0) return scale;
    Call::value_error("scale", text("scale is not a scalar (scale ", scale.type(), ")"));
  }
  const Dim& depth = q.dims().back();
  if (depth.is_static()) {
    return ir::scalar_constant(q.dtype(), 1 / std::sqrt(static_cast<double>(depth.value())));
  }
  const Value size = ir::cast(ir::dim_size(depth), DType::Float64);
  return ir::cast(1.0 / ir::unary(ir::Op::Sqrt, size), q.dtype());
}

/// The bias with as many axes as the scores; empty without one.
Value bias_of(const AttentionOptions& options, const AttentionOperands& operands) {
  if (options.bias.is_none()) return {};
  const Value bias = value_of(options.bias.value(), operands.q.dtype(), "bias", "");
  const Dims scores = operands.score_dims();
  const std::string types =
      text("(bias ", bias.type(), ", scores ", ir::Type{operands.q.dtype(), scores}, ")");
  if (bias.dtype() != operands.q.dtype()) {
    Call::type_error("bias", text("q has dtype ", operands.q.dtype(), " but bias has dtype ",
                                  bias.dtype(), " ", types));
  }
  if (bias.rank() > operands.q.rank()) {
    Call::value_error("bias", text("bias has more axes than the scores ", types));
  }
  Dims dims(at(operands.q.rank() - bias.rank()), 1);
  dims.insert(dims.end(), bias.dims().begin(), bias.dims().end());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].is_one() || equal(dims[i], scores[i]) != ir::Ternary::No) continue;
    Call::value_error("bias", text("bias does not broadcast to the scores: sizes ", dims[i],
                                   " and ", scores[i], " ", types));
  }
  return ir::reshape(bias, dims);
}

}  // namespace

Tensor dot_product_attention(const Operand& q, const Operand& k, const Operand& v,
                             const AttentionOptions& options) {
  return api_call("dot_product_attention", where_of(q, k), [&] {
    const Value query = float_of(q, "q");
    const AttentionOperands operands{query, value_of(k, query.dtype(), "k", ""),
                                     value_of(v, query.dtype(), "v", "")};
    operands.check();
    const ir::AttentionAttrs attrs{.divides = false, .causal = options.causal};
    return wrap(ir::attention(operands.q, operands.k, operands.v, scale_of(options, query),
                              bias_of(options, operands), attrs));
  });
}

}  // namespace kiln
