// Switches between stacks (fibres), annotated for AddressSanitizer and ThreadSanitizer.
#pragma once

#include <ucontext.h>

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace kiln::test {

/// A stack and the saved registers of its fibre. REQUIRES: it is not moved once it has run.
struct SwitchedStack {
  ucontext_t context = {};
  const void* bottom = nullptr;  // of a thread's own stack: set when it is left
  std::size_t bytes = 0;
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
#endif
#if defined(__SANITIZE_THREAD__)
  void* fiber = nullptr;
#endif
};

/// Tells the sanitizers that `from` is left for `to`. `is_last`: `from` never runs again.
inline void leave_stack([[maybe_unused]] SwitchedStack& from, [[maybe_unused]] SwitchedStack& to,
                        [[maybe_unused]] bool is_last) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(is_last ? nullptr : &from.fake_stack, to.bottom, to.bytes);
#endif
#if defined(__SANITIZE_THREAD__)
  if (from.fiber == nullptr) from.fiber = __tsan_get_current_fiber();
  if (to.fiber == nullptr) to.fiber = __tsan_create_fiber(0);
  __tsan_switch_to_fiber(to.fiber, 0);
#endif
}

/// Tells the sanitizers that `to` runs now, after `from` has been left.
inline void enter_stack([[maybe_unused]] SwitchedStack& from, [[maybe_unused]] SwitchedStack& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(to.fake_stack, &from.bottom, &from.bytes);
#endif
}

/// Returns when another fibre switches back to `from`.
inline void switch_stack(SwitchedStack& from, SwitchedStack& to) {
  leave_stack(from, to, false);
  ::swapcontext(&from.context, &to.context);
  enter_stack(to, from);
}

/// Releases the annotations. REQUIRES: the stack is not switched to again.
inline void drop_stack([[maybe_unused]] SwitchedStack& stack) {
#if defined(__SANITIZE_THREAD__)
  if (stack.fiber != nullptr) __tsan_destroy_fiber(stack.fiber);
  stack.fiber = nullptr;
#endif
}

}  // namespace kiln::test
