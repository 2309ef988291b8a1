// Checks of arguments that several schedules have.
#pragma once

#include <kiln/error.h>

#include "core/types/text.h"

#include <cmath>
#include <cstdint>

namespace kiln::schedules {

/// Throws ValueError for arguments of `function`.
struct Checks {
  const char* function;
  Where where;

  [[noreturn]] void fail(const char* argument, double value, const char* reason) const {
    throw ValueError(function, argument, text(argument, " ", value, " ", reason), where);
  }
  void not_negative(double value, const char* argument) const {
    if (!std::isfinite(value) || value < 0) fail(argument, value, "is negative or not finite");
  }
  void in_unit_interval(double value, const char* argument) const {
    if (!(value >= 0 && value <= 1)) fail(argument, value, "is outside [0, 1]");
  }
  void positive(std::int64_t value, const char* argument) const {
    if (value <= 0) fail(argument, static_cast<double>(value), "is not positive");
  }
};

}  // namespace kiln::schedules
