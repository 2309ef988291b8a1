// Higher-order functions. `fn` is called once, when the graph is built, and the loop repeats the
// nodes that it creates. It may use any other tensor; gradients flow through it.
#pragma once

#include <kiln/optional_operand.h>
#include <kiln/tensor.h>

#include <functional>
#include <string>

namespace kiln {

/// Maps an element (a slice of axis 0, without that axis) to a tensor.
using MapFunction = std::function<Tensor(const Tensor& element)>;
/// Maps the value accumulated so far and an element to the next accumulated value.
using FoldFunction = std::function<Tensor(const Tensor& accumulated, const Tensor& element)>;

/// Maps the number of a step, an int64 scalar, and the value so far to the next value.
using LoopFunction = std::function<Tensor(const Tensor& step, const Tensor& value)>;

struct MapOptions {
  StringArgument name = {};
  DTypeArgument dtype = {};  ///< the dtype that fn returns; unset: that of elems
};
struct FoldOptions {
  OptionalOperand initializer = None;  ///< the initial value; None: the first element
  StringArgument name = {};
};

/// Applies fn to each slice of axis 0 and stacks the results: (n, ..) to (n, shape of the result of
/// fn). n may be 0. Semantics: TensorFlow's map_fn, as Keras 2.2.5 calls it.
/// Errors: ValueError if elems is a scalar or fn is empty; TypeError if fn returns another dtype
/// than `dtype`.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::map_fn([](const K::Tensor& row) { return K::sum(row); }, x));  // [3. 7.]
KILN_API Tensor map_fn(const MapFunction& fn, const Tensor& elems, const MapOptions& options = {},
                       Where where = Where::here());

/// Folds elems from the left: returns fn(.. fn(fn(initializer, elems[0]), elems[1]) ..,
/// elems[n-1]), with the shape and dtype of the initial value. Without an initializer the initial
/// value is elems[0]. Without further elements the result is the initial value.
/// Errors: ValueError if elems is a scalar, if fn is empty or does not return the type of its first
/// argument, or if there is neither an initializer nor an element (at the call for an unknown
/// size); TypeError for an initializer that does not fit the dtype.
///     const auto append = [](const K::Tensor& a, const K::Tensor& e) { return 10 * a + e; };
///     K::eval(K::foldl(append, K::constant({1., 2., 3.})));  // 123.0
KILN_API Tensor foldl(const FoldFunction& fn, const Tensor& elems, const FoldOptions& options = {},
                      Where where = Where::here());

/// Folds elems from the right: returns fn(.. fn(initializer, elems[n-1]) .., elems[0]). Without an
/// initializer the initial value is elems[n-1]. The arguments of fn are in the same order as for
/// foldl.
/// Errors: those of foldl.
///     const auto append = [](const K::Tensor& a, const K::Tensor& e) { return 10 * a + e; };
///     K::eval(K::foldr(append, K::constant({1., 2., 3.})));  // 321.0
KILN_API Tensor foldr(const FoldFunction& fn, const Tensor& elems, const FoldOptions& options = {},
                      Where where = Where::here());

/// Repeats a step: returns body_fun(upper - 1, .. body_fun(lower + 1, body_fun(lower, init_val))),
/// with the shape and dtype of init_val, a number of which has dtype floatx(); init_val if lower >=
/// upper. lower, upper: integers or integer scalar tensors. Meaning: Keras 3.5's ops.fori_loop, for
/// one value.
/// Errors: TypeError for a bound that is not an integer; ValueError for one that is not a scalar,
/// if body_fun is empty or does not return the type of its second argument.
///     const auto add = [](const K::Tensor& step, const K::Tensor& x) {
///       return x + K::cast(step, "float32");
///     };
///     K::eval(K::fori_loop(1, 4, add, 0));  // 6.0
KILN_API Tensor fori_loop(const Operand& lower, const Operand& upper, const LoopFunction& body_fun,
                          const Operand& init_val, const NameOptions& options = {},
                          Where where = Where::here());

}  // namespace kiln
