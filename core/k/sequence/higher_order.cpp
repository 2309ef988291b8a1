// map_fn and folds are one Scan each, whose body is what the user's function makes of parameters.
#include <kiln/higher_order.h>

#include "core/k/frame/tensor_impl.h"
#include "core/ops/lambda_builder.h"

namespace kiln {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Value;

/// elems, of which fn is called for each slice.
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

/// Calls the user's function at the step that is the position of its random draws, and records the
/// nodes that it writes.
template <class F, class... Arguments>
Value called(const F& fn, ir::Trace& trace, const Value& step, const Arguments&... arguments) {
  const ir::Trace::Scope tracing(trace);
  const ir::PositionScope position(step);
  const Tensor result = [&] {
    const ir::OriginScope users(ir::Origin(), /*replace=*/true);  // fn names its own lines
    return fn(wrap(arguments)...);
  }();
  return value_of(result, "fn");
}

/// The body's result of the type that went in.
Value fitted(const Value& result, const ir::Type& type) {
  const bool fits = equal(result.dims(), type.dims) != ir::Answer::No;
  if (fits && result.dtype() == type.dtype) return ir::with_dims(result, type.dims);
  Call::value_error("fn", text("fn gives ", result.type(), " but got ", type,
                               " as what was accumulated"));
}

/// A scan over xs with the carries `initial`; `results` are those of the body, whose nodes `trace`
/// has.
ir::NodeRef scan(const ir::LambdaBuilder& builder, const std::vector<Value>& results,
                 const std::vector<Value>& initial, const Value& xs, bool reverse,
                 const ir::Trace& trace) {
  const Dim& length = xs.dims()[0];
  const auto closed = builder.close(results, 1, ir::written_in(trace, length));
  return ir::make_scan(closed, initial, {xs}, length, reverse);
}

/// Where a fold begins, and the elements that are left.
struct Beginning {
  Value accumulated, rest;
};

Beginning beginning(const Value& x, const OptionalOperand& initializer, bool from_right) {
  if (!initializer.is_none()) return {value_of(initializer.value(), x.dtype(), "initializer"), x};
  const Dim& size = x.dims()[0];
  if (less_equal(1, size) == ir::Answer::No) {
    Call::value_error("elems", text("elems is empty and there is no initializer (elems ", x.type(),
                                    ")"));
  }
  const Dim at = from_right ? size - 1 : Dim(0);
  Dims least(x.dims().size(), Dim(0));
  least[0] = 1;
  const Value some = ir::fits(x, least);  // where the size is known at the call alone
  const Value first = ir::slice_axis(some, 0, at, at + 1);
  const Value rest = from_right ? ir::slice_axis(some, 0, 0, at) : ir::slice_axis(some, 0, 1, size);
  return {ir::reshape(first, element_type(x).dims), rest};
}

Tensor fold(const FoldFunction& fn, const Tensor& elems, const FoldOptions& options,
            bool from_right) {
  const Value x = elements(fn, elems);
  const auto [initial, rest] = beginning(x, options.initializer, from_right);
  const ir::LambdaBuilder builder({{DType::Int64, {}}, initial.type(), element_type(x)});
  const auto& own = builder.parameters();
  ir::Trace trace;
  const Value result = fitted(called(fn, trace, own[0], own[1], own[2]), initial.type());
  return wrap({scan(builder, {result}, {initial}, rest, from_right, trace), 0}, options.name);
}

}  // namespace

Tensor map_fn(const MapFunction& fn, const Tensor& elems, const MapOptions& options,
              Where where) try {
  const Call call("map_fn", where);
  const Value x = elements(fn, elems);
  const DType dtype = dtype_of(options.dtype, x.dtype());
  const ir::LambdaBuilder builder({{DType::Int64, {}}, element_type(x)});
  const auto& own = builder.parameters();
  ir::Trace trace;
  const Value result = called(fn, trace, own[0], own[1]);
  if (result.dtype() != dtype) {
    Call::type_error("dtype", text("fn gives ", result.type(), " but dtype is ", dtype,
                                   options.dtype.is_set() ? "" : ", that of elems"));
  }
  return wrap({scan(builder, {result}, {}, x, /*reverse=*/false, trace), 0}, options.name);
} catch (const std::bad_alloc&) {
  Call::out_of_memory("map_fn", where);
}

Tensor foldl(const FoldFunction& fn, const Tensor& elems, const FoldOptions& options,
             Where where) try {
  const Call call("foldl", where);
  return fold(fn, elems, options, /*from_right=*/false);
} catch (const std::bad_alloc&) {
  Call::out_of_memory("foldl", where);
}

Tensor foldr(const FoldFunction& fn, const Tensor& elems, const FoldOptions& options,
             Where where) try {
  const Call call("foldr", where);
  return fold(fn, elems, options, /*from_right=*/true);
} catch (const std::bad_alloc&) {
  Call::out_of_memory("foldr", where);
}

}  // namespace kiln
