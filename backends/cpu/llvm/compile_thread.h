// Where LLVM runs: a thread of its own with a large stack, whatever the caller's is. LLVM ends the
// process on what it calls a fatal error; here such an error ends that thread alone, and the caller
// gets a failure. So does the end of memory: LLVM is written without exceptions, and unwinding it
// leaves queries, tables and locks behind that later calls trip over.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"

#include <cstddef>
#include <functional>

namespace kiln::cpu {

/// No thread can be started: nothing was done, and the same call may succeed later.
class NoCompileThread final : public sdk::Failure {
 public:
  NoCompileThread();
};

/// Runs `work` there and waits for it. What it throws is thrown here. Throws sdk::Failure with
/// LLVM's text after a fatal error; its code is KILN_CODE_RESOURCE_EXHAUSTED where memory ended, in
/// LLVM or in `work`, and where no thread can be started. After a fatal error and the end of memory
/// the thread never returns and leaks its objects: LLVM's state is undefined. Meanwhile a
/// std::new_handler of this file is in place; on other threads it does what the one before it does.
void on_compile_thread(const std::function<void()>& work);

/// Runs `work` on up to `count` such threads at once and returns when all have ended: with the
/// first failure, in the order in which the threads were started. Threads that cannot be started
/// are left out; throws NoCompileThread when none can. REQUIRES: count > 0; each run of `work` does
/// what the others have not begun, and nothing is lost where one of them ends early.
void on_compile_threads(std::size_t count, const std::function<void()>& work);

}  // namespace kiln::cpu
