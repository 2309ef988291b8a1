// The stages of compiling a function that can be dumped.
#pragma once

#include <cstdint>

namespace kiln {

/// The parts of a dump, combined with |. Their names in KILN_DUMP: graph, passes, module,
/// collectives, claims, kernels, plan, memory_plan, llvm_ir, assembly, timings, backend and all.
enum class Stage : std::uint32_t {
  Graph = 1,        ///< the user's graph, as .kir text
  Passes = 2,       ///< the graph after each pass, and after the backend's steps
  Module = 4,       ///< the module that the backend compiles, binary and text
  Claims = 8,       ///< ops that libraries implement, and the reason of each rejection
  Kernels = 16,     ///< fused loops, named after K functions and source lines
  Plan = 32,        ///< the steps of a call
  MemoryPlan = 64,  ///< offsets of temporary tensors, before and after sizes are known
  LlvmIr = 128,     ///< before and after LLVM's passes
  Assembly = 256,
  /// Times of compiling, per pass, and of the steps of calls. Calls are measured only once this
  /// stage has been requested, so that others have no overhead.
  Timings = 512,
  Other = 1024,    ///< other items of a backend
  Backend = 2040,  ///< all items of a backend
  Collectives = 2048,  ///< what runs over the ranks of a group, in its order
  All = 4095,
};
constexpr Stage operator|(Stage a, Stage b) {
  return static_cast<Stage>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}

}  // namespace kiln
