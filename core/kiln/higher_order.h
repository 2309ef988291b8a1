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

}  // namespace kiln
