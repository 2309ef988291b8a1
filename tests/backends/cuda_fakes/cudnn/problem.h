// Checks convolutions as a whole, and lists engines for them.
#pragma once

#include "tests/backends/cuda_fakes/cudnn/descriptors.h"

#include <span>
#include <string>

namespace kiln::fake_cudnn {

/// The problem of an operation whose attributes are set.
Problem problem_of(const Descriptor& operation);
/// The reason why the library rejects the convolution; empty: it does not.
std::string reason_to_reject(const Problem& problem);

/// Engines by number: an engine for each note that the plugin has to reject, one that supports few
/// convolutions, a good one for aligned tensors, and one for any.
enum Engine : int {
  kNondeterministic,
  kTensorCore,
  kDownConverting,
  kNarrowAdding,
  kFft,
  kWinograd,
  kPicky,
  kAligned,
  kGeneral,
};

/// The engines in the order in which the heuristics return them.
std::span<const Engine> engines_of(HeuristicMode mode);
std::span<const NumericalNote> notes_of(int engine);
bool supports(int engine, const Problem& problem);
/// Bytes of workspace, a multiple of no alignment; 0 for some sizes.
std::int64_t workspace_bytes(int engine, const Problem& problem);

}  // namespace kiln::fake_cudnn
