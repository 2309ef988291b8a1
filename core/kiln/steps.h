// Steps: strides, dilations and window sizes, one number per spatial axis.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace kiln {

/// One integer per spatial axis, or one for all: {2, 1} or 2.
class Steps {
 public:
  Steps(int step) : steps_{step} {}                                               // NOLINT
  Steps(std::int64_t step) : steps_{step} {}                                      // NOLINT
  Steps(std::initializer_list<std::int64_t> steps) : steps_(steps) {}
  Steps(std::vector<std::int64_t> steps) : steps_(std::move(steps)) {}            // NOLINT
  const std::vector<std::int64_t>& steps() const { return steps_; }

 private:
  std::vector<std::int64_t> steps_;
};

}  // namespace kiln
