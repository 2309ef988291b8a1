// map_fn and folds: one Scan each, whose body is the traced function of the user.
#include <kiln/higher_order.h>
#include <kiln/shape_ops.h>

#include "core/ir/scope.h"
#include "core/k/base/tensor_impl.h"
#include "core/ops/lambda_builder.h"

namespace kiln {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Value;

/// The value of elems. Throws ValueError if fn is empty or elems is a scalar.
template <class F>
Value elements(const F& fn, const Tensor& elems) {
  if (!fn) Call::value_error("fn", "fn is empty");
  const Value x = value_of(elems, "elems");
  if (x.rank() > 0) return x;
  Call::value_error("elems", text("elems is a scalar (elems ", x.type(), ")"));
}

ir::Type element_type(const Value& x) {
  ir::Type type = x.type();
  type.dims.erase(type.dims.begin());
  return type;
}

/// Calls the user's function, records the nodes that it creates, and makes `step` the position of
/// its random draws.
template <class F, class... Arguments>
Value called(const F& fn, ir::Trace& trace, const Value& step, const Arguments&... arguments) {
  const ir::Trace::Scope tracing(trace);
  const ir::PositionScope position(step);
  const Tensor result = [&] {
    const ir::OriginScope callback(ir::origin_of_callback(), /*replace=*/true);
    return fn(wrap(arguments)...);
  }();
  return value_of(result, "fn");
}

/// The result of `function` with dims equal to `type`, by guards. Throws ValueError for another
/// type.
Value fitted(const Value& result, const ir::Type& type, const char* function = "fn",
             const char* argument = "the accumulated value") {
  const bool fits = equal(result.dims(), type.dims) != ir::Ternary::No;
  if (fits && result.dtype() == type.dtype) return ir::with_dims(result, type.dims);
  Call::value_error(
      function, text(function, " returns ", result.type(), " but got ", type, " as ", argument));
}

/// The initial value of a fold, and the elements to accumulate.
struct FoldStart {
  Value initial, rest;
};

FoldStart fold_start(const Value& x, const OptionalOperand& initializer, bool from_right) {
  if (!initializer.is_none()) {
    return {value_of(initializer.value(), x.dtype(), "initializer", "elems"), x};
  }
  const Dim& size = x.dims()[0];
  if (less_equal(1, size) == ir::Ternary::No) {
    Call::value_error("elems",
                      text("elems is empty and no initializer is given (elems ", x.type(), ")"));
  }
  const Dim start = from_right ? size - 1 : Dim(0);
  Dims smallest(x.dims().size(), Dim(0));
  smallest[0] = 1;
  const Value nonempty = ir::fits(x, smallest);  // guarded if the size is symbolic
  const Value first = ir::slice_axis(nonempty, 0, start, start + 1);
  const Value rest =
      from_right ? ir::slice_axis(nonempty, 0, 0, start) : ir::slice_axis(nonempty, 0, 1, size);
  return {ir::reshape(first, element_type(x).dims), rest};
}

Tensor fold(const FoldFunction& fn, const Tensor& elems, const FoldOptions& options,
            bool from_right) {
  const Value x = elements(fn, elems);
  const auto [initial, rest] = fold_start(x, options.initializer, from_right);
  const ir::LambdaBuilder builder({{DType::Int64, {}}, initial.type(), element_type(x)});
  const auto& parameters = builder.parameters();
  ir::Trace trace;
  const Value result =
      fitted(called(fn, trace, parameters[0], parameters[1], parameters[2]), initial.type());
  const std::vector<Value> results{result};
  const ir::TracedBody traced{.builder = builder, .results = results, .trace = trace};
  const ir::NodeRef scan = ir::make_scan(traced, {initial}, {rest}, rest.dims()[0], from_right);
  return wrap({scan, 0}, options.name);
}

/// Throws unless a bound of a loop is an integer scalar.
void require_bound(const Operand& bound, const char* argument) {
  const Value value = value_of(bound, DType::Int64, argument, "");
  if (!is_integer(value.dtype())) {
    Call::type_error(argument,
                     text(argument, " is not an integer (", argument, " ", value.type(), ")"));
  }
  if (value.rank() == 0) return;
  Call::value_error(argument,
                    text(argument, " is not a scalar (", argument, " ", value.type(), ")"));
}

}  // namespace

Tensor map_fn(const MapFunction& fn, const Tensor& elems, const MapOptions& options, Where where) {
  return api_call("map_fn", where, [&] {
    const Value x = elements(fn, elems);
    const DType dtype = dtype_of(options.dtype, x.dtype());
    const ir::LambdaBuilder builder({{DType::Int64, {}}, element_type(x)});
    const auto& parameters = builder.parameters();
    ir::Trace trace;
    const Value result = called(fn, trace, parameters[0], parameters[1]);
    if (result.dtype() != dtype) {
      Call::type_error("dtype", text("fn returns ", result.type(), " but dtype is ", dtype,
                                     options.dtype.is_set() ? "" : ", that of elems"));
    }
    const std::vector<Value> results{result};
    const ir::TracedBody traced{.builder = builder, .results = results, .trace = trace};
    const ir::NodeRef scan = ir::make_scan(traced, {}, {x}, x.dims()[0], /*reverse=*/false);
    return wrap({scan, 0}, options.name);
  });
}

Tensor foldl(const FoldFunction& fn, const Tensor& elems, const FoldOptions& options, Where where) {
  return api_call("foldl", where, [&] { return fold(fn, elems, options, /*from_right=*/false); });
}

Tensor foldr(const FoldFunction& fn, const Tensor& elems, const FoldOptions& options, Where where) {
  return api_call("foldr", where, [&] { return fold(fn, elems, options, /*from_right=*/true); });
}

Tensor fori_loop(const Operand& lower, const Operand& upper, const LoopFunction& body_fun,
                 const Operand& init_val, const NameOptions& options, Where where) {
  return api_call("fori_loop", where, [&] {
    if (!body_fun) Call::value_error("body_fun", "body_fun is empty");
    require_bound(lower, "lower");
    require_bound(upper, "upper");
    const Value steps = value_of(arange(lower, upper, {.dtype = "int64"}), "steps");
    const Value initial = input_of(init_val, "init_val");
    const ir::LambdaBuilder builder({{DType::Int64, {}}, initial.type(), {DType::Int64, {}}});
    const auto& parameters = builder.parameters();
    ir::Trace trace;
    const Value result =
        fitted(called(body_fun, trace, parameters[0], parameters[2], parameters[1]), initial.type(),
               "body_fun", "the value");
    const std::vector<Value> results{result};
    const ir::TracedBody traced{.builder = builder, .results = results, .trace = trace};
    const ir::NodeRef scan =
        ir::make_scan(traced, {initial}, {steps}, steps.dims()[0], /*reverse=*/false);
    return wrap({scan, 0}, options.name);
  });
}

}  // namespace kiln
