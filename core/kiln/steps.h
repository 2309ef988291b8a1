// Steps: strides, dilations and window sizes, one number per spatial axis.
#pragma once

#include <kiln/whole_number.h>

#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

namespace kiln {

/// One integer per spatial axis, or one for all: {2, 1} or 2.
class Steps {
 public:
  template <class Integer, std::enable_if_t<is_whole_number_v<Integer>, int> = 0>
  Steps(Integer step) : steps_{saturated(step)} {}  // NOLINT: implicit on purpose
  template <class NoWholeNumber, std::enable_if_t<is_other_number_v<NoWholeNumber>, int> = 0>
  Steps(NoWholeNumber) = delete;  // NOLINT
  Steps(std::initializer_list<WholeNumber> steps) : steps_(steps.begin(), steps.end()) {}
  Steps(std::vector<std::int64_t> steps) : steps_(std::move(steps)) {}  // NOLINT
  const std::vector<std::int64_t>& steps() const { return steps_; }

 private:
  std::vector<std::int64_t> steps_;
};

}  // namespace kiln
