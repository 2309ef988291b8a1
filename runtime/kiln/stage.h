// The stages of compiling a function that can be dumped.
#pragma once

#include <cstdint>

namespace kiln {

/// The parts of a dump, in any combination. KILN_DUMP knows them as graph, passes, module, claims,
/// kernels, plan, memory_plan, llvm_ir, assembly, timings, backend and all.
enum class Stage : std::uint32_t {
  Graph = 1,        ///< the user's graph: .kir text and .dot; the launches of a call on cuda
  Passes = 2,       ///< the graph after every pass, and what the backend's steps made of it
  Module = 4,       ///< the module as it crosses to the backend, binary and text
  Claims = 8,       ///< what libraries take, and the reason of each rejection
  Kernels = 16,     ///< fused loops, named after K functions and source lines
  Plan = 32,        ///< the steps of a call
  MemoryPlan = 64,  ///< where temporary tensors lie, before and after sizes are known
  LlvmIr = 128,     ///< before and after LLVM's passes
  Assembly = 256,
  /// What compiling took, pass by pass, and each step of the calls since this stage was first asked
  /// for: nothing is measured before, and no time is lost on it.
  Timings = 512,
  Other = 1024,    ///< what else a backend offers
  Backend = 2040,  ///< all that a backend offers
  All = 2047,
};
constexpr Stage operator|(Stage a, Stage b) {
  return static_cast<Stage>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}

}  // namespace kiln
