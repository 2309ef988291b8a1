// The text of the dump stage "profile" (backends/abi/kiln_backend_profile.h).
#pragma once

#include "backends/codegen/bind/arena.h"
#include "backends/codegen/bind/binding_times.h"
#include "backends/codegen/plan/step_times.h"
#include "core/module/module.h"

#include <optional>
#include <string>

namespace kiln::codegen {

/// The memory of the plan that needs most.
struct ProfiledMemory {
  PlanMemory plan;
  std::int64_t packed_bytes = 0;  // of packed operands and cached tensors
};

/// Rows of steps end in the dtypes of their results.
/// `module`: that the program was compiled from. `note`: a line for the user, or empty. A fused
/// kernel belongs to the places of its nodes in equal parts, a parallel region to those of its
/// kernels by their bytes.
std::string print_profile(const module::Module& module, const Program& program,
                          const StepTimes& times, const BindingTimes& bindings,
                          const std::optional<ProfiledMemory>& memory,
                          const std::string& note = "");

}  // namespace kiln::codegen
