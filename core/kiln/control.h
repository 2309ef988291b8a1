// Conditionals: switch, and branches by the learning phase.
#pragma once

#include <kiln/optional_operand.h>
#include <kiln/tensor.h>

#include <functional>

namespace kiln {

/// A branch: a tensor, a number, or a function without arguments that returns a tensor. If the
/// condition is a scalar, the nodes that the function creates run only when the branch is taken.
/// Exception: data-dependent sizes (shape entries and bounds of ranges that are tensors) are
/// computed and checked before anything else runs.
class KILN_API Branch {
 public:
  Branch(const Operand& value) : content_(value), where_(value.where()) {}              // NOLINT
  Branch(const Tensor& value, Where where = Where::here())                              // NOLINT
      : content_(Operand(value, where)), where_(where) {}
  template <class Number, std::enable_if_t<is_operand_number_v<Number>, int> = 0>
  Branch(Number number, Where where = Where::here())                                    // NOLINT
      : content_(Operand(number, where)), where_(where) {}
  template <class Make, std::enable_if_t<std::is_invocable_r_v<Tensor, const Make&>, int> = 0>
  Branch(Make make, Where where = Where::here())                                        // NOLINT
      : content_(std::in_place_type<std::function<Tensor()>>, std::move(make)), where_(where) {}

  bool is_function() const { return content_.index() == 1; }
  /// Whether it is a std::function without a target.
  bool is_empty() const { return is_function() && !std::get<1>(content_); }
  /// REQUIRES: not is_function().
  const Operand& value() const { return std::get<0>(content_); }
  /// Calls the function. REQUIRES: is_function() and not is_empty().
  Tensor make() const { return std::get<1>(content_)(); }
  Where where() const { return where_; }

 private:
  std::variant<Operand, std::function<Tensor()>> content_;
  Where where_;
};

/// Returns the learning phase: 0 for testing, 1 for training. The phase is a bool scalar that can
/// be fed as an input of a function (as 0, 1, 0.0, 1.0 or bool) and otherwise is 0; after
/// set_learning_phase, it is that constant.
///     const auto is_training = K::cast(K::learning_phase(), "int32");
///     K::function({K::learning_phase()}, {is_training})({K::Array(1)})[0];  // 1
KILN_API Tensor learning_phase();

/// Resets the session: uid counters and the learning phase. Variables are kept.
///     K::get_uid("dense"), K::clear_session();
///     K::get_uid("dense");  // 1
KILN_API void clear_session();

/// Returns then_expression where condition is not 0, else else_expression; both have one shape and
/// dtype. A scalar condition selects one branch, and only that one runs if it is a function.
/// Otherwise the choice is elementwise; a condition of lower rank is extended by trailing axes, so
/// that (4,3) selects rows of (4,3,2). Condition and branches are of any dtype; no gradient flows
/// to the condition. An elementwise choice computes both branches, and the gradient of an element
/// that is not chosen is 0 times its slope: NaN if that is infinite, as in NumPy and TensorFlow.
/// Replace the operand of such a branch where it is not chosen, or use a scalar condition with
/// functions as branches, of which only one runs.
/// Errors: ValueError if the condition has a higher rank or shapes differ; TypeError if the dtypes
/// of the branches differ. Formula: Keras 2.2.5.
///     const auto x = K::constant({-1., 4.});
///     K::eval(K::switch_(x > 0, x, K::zeros_like(x)));  // [0. 4.]
KILN_API Tensor switch_(const Operand& condition, const Branch& then_expression,
                        const Branch& else_expression);

/// Returns x if `training` is not 0, else alt; None means learning_phase(). A number or a constant
/// scalar selects the branch when the graph is built: the other one is not called and may have
/// another type. Another tensor selects at run time, as switch_ does.
/// Errors: those of switch_ for a selection at run time.
///     const auto x = K::constant(2), alt = K::constant(3);
///     K::eval(K::in_train_phase(x, alt));  // 3.0
///     K::eval(K::in_train_phase(x, alt, 1));  // 2.0
KILN_API Tensor in_train_phase(const Branch& x, const Branch& alt,
                               const OptionalOperand& training = None);
/// Returns x if `training` is 0, else alt: in_train_phase(alt, x, training).
/// Errors: those of in_train_phase.
///     const auto x = K::constant(2), alt = K::constant(3);
///     K::eval(K::in_test_phase(x, alt));  // 2.0
KILN_API Tensor in_test_phase(const Branch& x, const Branch& alt,
                              const OptionalOperand& training = None);

struct PrintOptions {
  StringArgument message = {};  ///< printed before the value
};
/// Prints a message and the value of x each time it is computed, and returns x. x: any dtype and
/// shape. Prints to standard output or the sink of set_print_sink, and not at all if the result is
/// not used. Gradients pass.
/// Errors: ValueError for an empty tensor; at the call, what the sink throws.
///     const auto x = K::print_tensor(K::constant({1., 2.}), {.message = "x is"});
///     K::eval(x + 1);  // [2. 3.]
KILN_API Tensor print_tensor(const Operand& x, const PrintOptions& options = {});

}  // namespace kiln
