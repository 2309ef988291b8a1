// Functions of functions: group P of the K functions. `fn` is called once, when the graph is built,
// and the loop repeats what it made; it may use any other tensor, and gradients flow through it.
#pragma once

#include <kiln/optional_operand.h>
#include <kiln/tensor.h>

#include <functional>
#include <string>

namespace kiln {

/// One element (a slice of axis 0, without that axis) to a tensor.
using MapFunction = std::function<Tensor(const Tensor& element)>;
/// What was accumulated so far and one element to what is accumulated then.
using FoldFunction = std::function<Tensor(const Tensor& accumulated, const Tensor& element)>;

struct MapOptions {
  std::string name = {};
  DTypeArgument dtype = {};  ///< of what fn gives; unset: the dtype of elems
};
struct FoldOptions {
  OptionalOperand initializer = None;  ///< accumulated before the first element; None: that element
  std::string name = {};
};

/// fn of each slice of axis 0, stacked along a new axis 0: (n, ...) to (n, what fn gives). Over
/// nothing it is (0, ...). Semantics: TensorFlow's map_fn, as Keras 2.2.5 calls it.
/// Errors: ValueError when elems is a scalar and when fn is empty; TypeError when fn gives another
/// dtype than `dtype`.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::map_fn([](const K::Tensor& row) { return K::sum(row); }, x));  // [3. 7.]
KILN_API Tensor map_fn(const MapFunction& fn, const Tensor& elems, const MapOptions& options = {},
                       Where where = Where::here());

/// fn(.. fn(fn(initializer, elems[0]), elems[1]) .., elems[n-1]). Without an initializer it begins
/// with elems[0] and goes on with elems[1]; a single element is the result itself. The result has
/// the type of what it begins with; over nothing it is the initializer.
/// Errors: ValueError when elems is a scalar, when fn is empty, when there is neither an
/// initializer nor an element (at the call, when the size is unknown) and when fn gives another
/// type than it got; TypeError for an initializer that does not fit the dtype.
///     const auto append = [](const K::Tensor& a, const K::Tensor& e) { return 10 * a + e; };
///     K::eval(K::foldl(append, K::constant({1., 2., 3.})));  // 123.0
KILN_API Tensor foldl(const FoldFunction& fn, const Tensor& elems,
                      const FoldOptions& options = {}, Where where = Where::here());

/// foldl from the last element to the first: fn(.. fn(initializer, elems[n-1]) .., elems[0]), where
/// no initializer means elems[n-1]. The order of fn's arguments is the same.
/// Errors: those of foldl.
///     const auto append = [](const K::Tensor& a, const K::Tensor& e) { return 10 * a + e; };
///     K::eval(K::foldr(append, K::constant({1., 2., 3.})));  // 321.0
KILN_API Tensor foldr(const FoldFunction& fn, const Tensor& elems,
                      const FoldOptions& options = {}, Where where = Where::here());

}  // namespace kiln
