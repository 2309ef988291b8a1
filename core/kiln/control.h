// Choosing between values at run time: the learning phase and switch.
#pragma once

#include <kiln/optional_operand.h>
#include <kiln/tensor.h>

#include <functional>

namespace kiln {

/// A branch: a tensor or number, or a function of no arguments that makes one. What a function
/// makes is computed only when its branch is taken (when the condition is a scalar). Exception:
/// sizes that are data (tensors among the entries of a shape, bounds of a range) are computed and
/// checked before anything runs.
class KILN_API Branch {
 public:
  Branch(const Operand& value) : value_(value), where_(value.where()) {}                // NOLINT
  Branch(const Tensor& value, Where where = Where::here())                              // NOLINT
      : value_(value, where), where_(where) {}
  template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
  Branch(Number number, Where where = Where::here())                                    // NOLINT
      : value_(number, where), where_(where) {}
  template <class Make, std::enable_if_t<std::is_invocable_r_v<Tensor, const Make&>, int> = 0>
  Branch(Make make, Where where = Where::here())                                        // NOLINT
      : value_(0, where), make_(std::move(make)), is_function_(true), where_(where) {}

  bool is_function() const { return is_function_; }
  /// Whether it is a std::function that holds nothing.
  bool is_empty() const { return is_function_ && !make_; }
  const Operand& value() const { return value_; }
  /// REQUIRES: is_function() and not is_empty().
  Tensor make() const { return make_(); }
  Where where() const { return where_; }

 private:
  Operand value_;
  std::function<Tensor()> make_;
  bool is_function_ = false;
  Where where_;
};

/// 0 at test time, 1 at training time: a bool scalar that may be fed as an input of a function
/// (0, 1, 0., 1. or bool) and is 0 when it is not. After set_learning_phase it is that constant.
///     const auto is_training = K::cast(K::learning_phase(), "int32");
///     K::function({K::learning_phase()}, {is_training})({K::Array(1)})[0];  // 1
KILN_API Tensor learning_phase();

/// New session state: uids and the learning phase start over; no variable is lost.
///     K::get_uid("dense"), K::clear_session();
///     K::get_uid("dense");  // 1
KILN_API void clear_session();

/// then_expression where condition is not 0, else else_expression; both of one type. A scalar
/// condition chooses one branch, and only that one runs if it is a function. Otherwise it is
/// elementwise: a condition of lower rank is extended with trailing axes, so (4,3) selects rows of
/// (4,3,2). Formula: Keras 2.2.5.
/// The condition is of any dtype, the branches are, too; no gradient flows to the condition.
/// Errors: ValueError when the condition's rank is higher or the shapes differ; TypeError when the
/// dtypes differ.
///     const auto x = K::constant({-1., 4.});
///     K::eval(K::switch_(x > 0, x, K::zeros_like(x)));  // [0. 4.]
KILN_API Tensor switch_(const Operand& condition, const Branch& then_expression,
                        const Branch& else_expression);

/// x in the training phase, else alt: `training` is not 0, or, when it is None, learning_phase().
/// A number or a constant scalar picks the branch when the graph is built; then the other one is
/// not called and may have another type. A tensor chooses at run time, as switch_ does.
/// Errors: those of switch_ when a tensor chooses.
///     const auto x = K::constant(2), alt = K::constant(3);
///     K::eval(K::in_train_phase(x, alt));  // 3.0
///     K::eval(K::in_train_phase(x, alt, 1));  // 2.0
KILN_API Tensor in_train_phase(const Branch& x, const Branch& alt,
                               const OptionalOperand& training = None);
/// in_train_phase(alt, x, training).
///     const auto x = K::constant(2), alt = K::constant(3);
///     K::eval(K::in_test_phase(x, alt));  // 2.0
KILN_API Tensor in_test_phase(const Branch& x, const Branch& alt,
                              const OptionalOperand& training = None);

struct PrintOptions {
  std::string message = {};
};
/// x, of any dtype and shape; each time it is computed, the message and the value are printed to
/// standard output or the sink of set_print_sink. Nothing is printed when the result is not used.
/// Gradients pass. Errors: ValueError for an empty tensor; at the call, what the sink throws.
///     const auto x = K::print_tensor(K::constant({1., 2.}), {.message = "x is"});
///     K::eval(x + 1);  // [2. 3.]
KILN_API Tensor print_tensor(const Operand& x, const PrintOptions& options = {});

}  // namespace kiln
