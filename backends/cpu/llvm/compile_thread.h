// Where LLVM runs: a thread of its own with a large stack, whatever the caller's is. LLVM ends the
// process on what it calls a fatal error; here such an error ends that thread alone, and the caller
// gets a failure.
#pragma once

#include <functional>

namespace kiln::cpu {

/// Runs `work` there and waits for it. What it throws is thrown here. Throws sdk::Failure with
/// LLVM's text after a fatal error; its code is KILN_CODE_RESOURCE_EXHAUSTED when LLVM had no
/// memory or no thread can be started. After a fatal error the thread sleeps for ever and keeps
/// all that it made: nothing can be said about its state.
void on_compile_thread(const std::function<void()>& work);

}  // namespace kiln::cpu
