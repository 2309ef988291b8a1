// Runs LLVM on threads of its own, with a large stack. LLVM aborts the process on a fatal error;
// here the fatal error parks its thread for ever, and the caller gets sdk::Failure. Exhausted
// memory is handled in the same way: LLVM is written without exceptions, and unwinding it would
// leave inconsistent tables and held locks behind.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"

#include <cstddef>
#include <functional>

namespace kiln::cpu {

/// Thrown where no thread can be started: nothing was done, and the same call may succeed later.
class NoCompileThread final : public sdk::Failure {
 public:
  NoCompileThread();
};

/// Runs `work` on a compile thread and waits for it. Rethrows what `work` throws. Throws
/// sdk::Failure with LLVM's text after a fatal error; its code is KILN_CODE_RESOURCE_EXHAUSTED
/// where memory was exhausted, in LLVM or in `work`, and where no thread can be started. After a
/// fatal error or exhausted memory the thread never returns and leaks its objects: LLVM's state is
/// undefined. While `work` runs, a std::new_handler of this file is installed; on other threads it
/// calls the handler before it. Any thread.
void on_compile_thread(const std::function<void()>& work);

/// Runs `work` on up to `count` compile threads at once and returns when all have ended; throws the
/// first failure in the order in which the threads were started. Threads that cannot be started are
/// left out; throws NoCompileThread where none can. REQUIRES: count > 0; the runs of `work` share
/// one queue, so that no item is lost where a run ends early.
void on_compile_threads(std::size_t count, const std::function<void()>& work);

}  // namespace kiln::cpu
