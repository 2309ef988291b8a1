// The learning rate of an optimiser: a number, a schedule or, the project's own, a scalar tensor.
#pragma once

#include <kiln/tensor.h>

#include <functional>
#include <utility>

namespace kiln::schedules {

/// A learning rate as a function of the step: from the number of steps done, an integer scalar that
/// is 0 in the first step, to a floating-point scalar. Any function of that kind can be one.
using Schedule = std::function<Tensor(const Tensor& step)>;

}  // namespace kiln::schedules

namespace kiln::optimizers {

/// The `learning_rate` argument. A number becomes a variable, which can be changed between steps. A
/// tensor, such as a placeholder that is an input of the function, and a schedule cannot be changed
/// through the optimiser.
class KILN_API LearningRate {
 public:
  template <class Number,
            std::enable_if_t<is_operand_number_v<Number> && !std::is_same_v<Number, bool>, int> = 0>
  LearningRate(Number rate) : number_(static_cast<double>(rate)) {}  // NOLINT: implicit on purpose
  LearningRate(bool) = delete;  // NOLINT
  LearningRate(const Tensor& rate)  // NOLINT
      : is_number_(false), schedule_([rate](const Tensor&) { return rate; }) {}
  template <
      class Function,
      std::enable_if_t<std::is_invocable_r_v<Tensor, const Function&, const Tensor&>, int> = 0>
  LearningRate(Function schedule)  // NOLINT
      : is_number_(false), schedule_(std::move(schedule)) {}

  bool is_number() const { return is_number_; }
  /// REQUIRES: is_number().
  double number() const { return number_; }
  /// REQUIRES: not is_number(). Empty if it was made of an empty function.
  const schedules::Schedule& schedule() const { return schedule_; }

 private:
  bool is_number_ = true;
  double number_ = 0;
  schedules::Schedule schedule_;
};

}  // namespace kiln::optimizers
