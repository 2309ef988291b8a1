// Guards the floating-point environment. Kiln's own arithmetic assumes rounding to nearest, no
// traps and no flushing of subnormals; the host program may have set anything else on the calling
// thread.
#pragma once

#include <cfenv>

namespace kiln {

/// Sets the default floating-point environment of this thread and restores the caller's at the end
/// of the scope, exception flags included.
class ScopedFpEnvironment {
 public:
  ScopedFpEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~ScopedFpEnvironment() { std::fesetenv(&saved_); }
  ScopedFpEnvironment(const ScopedFpEnvironment&) = delete;
  ScopedFpEnvironment& operator=(const ScopedFpEnvironment&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace kiln
