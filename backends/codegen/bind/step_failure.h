// Errors of steps, with the node's op, its K function and the user's line.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/codegen/plan/plan.h"
#include "core/module/module.h"

#include <cstdint>
#include <string>

namespace kiln::codegen {

/// `text` + " (op dot of linear at model.cpp:12)". The function is left out when it has the op's
/// name, the line when it is unknown.
sdk::Failure step_failure(const module::Module& module, const ir::Node& node, std::uint32_t code,
                          const std::string& text);
/// OUT_OF_RANGE: a kernel's access `access` had `index` for an axis of size `limit`.
sdk::Failure index_failure(const module::Module& module, const Program& program,
                           const KernelStep& step, std::int64_t access, std::int64_t index,
                           std::int64_t limit);
/// OUT_OF_RANGE: an update has `index` for `rows` rows; as the scatter_add of the expansion has it.
sdk::Failure row_failure(const module::Module& module, const RowUpdate& update, std::int64_t index,
                         std::int64_t rows);
/// INVALID_ARGUMENT: `node`, an ArgMax, has an axis without elements.
sdk::Failure empty_axis_failure(const module::Module& module, const ir::Node& node);

}  // namespace kiln::codegen
