// bincount: scatters ones or weights to a vector; its length is data-dependent unless it is given.
#include <kiln/linalg.h>

#include "core/k/base/tensor_impl.h"

namespace kiln {
namespace {

using ir::Dim;
using ir::Op;
using ir::Value;

void require_rank_1(const Value& x, const char* argument) {
  if (x.rank() == 1) return;
  Call::value_error(
      argument, text(argument, " has rank ", x.rank(), ", not 1 (", argument, " ", x.type(), ")"));
}

void require_not_negative(std::int64_t count, const char* argument) {
  if (count < 0) Call::value_error(argument, text(argument, " is ", count));
}

/// The summand of each element of x in its entry.
Value weights_of(const OptionalOperand& weights, const Value& x) {
  if (weights.is_none())
    return ir::broadcast_to(ir::scalar_constant_int(DType::Int64, 1), x.dims());
  const Value value = number_of(weights.value(), "weights");
  require_rank_1(value, "weights");
  if (equal(value.dims()[0], x.dims()[0]) == ir::Ternary::No) {
    Call::value_error("weights", text("x and weights have different lengths (x ", x.type(),
                                      ", weights ", value.type(), ")"));
  }
  return ir::with_dims(value, x.dims());
}

/// The length of the result.
Dim count_of_bins(const Value& x, const BincountOptions& options) {
  require_not_negative(options.minlength, "minlength");
  if (options.length) {
    require_not_negative(*options.length, "length");
    if (options.minlength != 0) Call::value_error("minlength", "both minlength and length are set");
    return std::int64_t{*options.length};
  }
  // Over no elements the maximum is the lowest integer.
  const Value needed = ir::reduce(Op::Max, x, {0});
  const Value one = ir::scalar_constant_int(DType::Int64, 1);
  const Value least = ir::scalar_constant_int(DType::Int64, options.minlength);
  return dims_of(Shape{wrap(ir::binary(Op::Maximum, needed + one, least))}, "x").front();
}

}  // namespace

Tensor bincount(const Operand& x, const BincountOptions& options) {
  return api_call("bincount", x.where(), [&] {
    const Value given = input_of(x);
    if (!is_integer(given.dtype())) {
      Call::type_error("x", text("x are not integers (x ", given.type(), ")"));
    }
    require_rank_1(given, "x");
    const Value value = ir::cast(given, DType::Int64);
    const Value weights = weights_of(options.weights, given);
    return wrap(ir::scatter_add(value, weights, 0, count_of_bins(value, options)));
  });
}

}  // namespace kiln
