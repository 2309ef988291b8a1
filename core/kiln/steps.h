// Strides, dilations and sizes of windows: one number for each spatial axis.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace kiln {

/// A whole number for each spatial axis, or one for all of them: 2 or {2, 1}.
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
