// Where LLVM runs: a thread of its own with a large stack, whatever the caller's is. LLVM ends the
// process on what it calls a fatal error; here such an error ends that thread alone, and the caller
// gets a failure.
#pragma once

#include <functional>

namespace kiln::cpu {

/// Runs `work` there and waits for it. What it throws is thrown here. Throws sdk::Failure with
/// LLVM's text after a fatal error, and when there is no thread to be had. After a fatal error the
/// thread sleeps for ever and keeps what it had made: nothing can be said about its state.
void on_compile_thread(const std::function<void()>& work);

}  // namespace kiln::cpu
