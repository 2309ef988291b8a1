// The floating-point state that Kiln's own arithmetic counts on: rounding to nearest, no traps,
// subnormals kept. A host may have set another one, and gets it back, its exception flags too.
#pragma once

#include <cfenv>

namespace kiln {

/// The usual state while it lives.
class UsualFloatState {
 public:
  UsualFloatState() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~UsualFloatState() { std::fesetenv(&saved_); }
  UsualFloatState(const UsualFloatState&) = delete;
  UsualFloatState& operator=(const UsualFloatState&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace kiln
