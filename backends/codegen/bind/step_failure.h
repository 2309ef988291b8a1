// Errors of steps: the message, then the node's op, its K function and the user's source line.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/codegen/plan/plan.h"
#include "core/module/module.h"

#include <cstdint>
#include <string>

namespace kiln::codegen {

/// The failure with the text `text` + " (op dot of linear at model.cpp:12)", without the function
/// when it has the op's name, without the line when it is unknown.
sdk::Failure step_failure(const module::Module& module, const ir::Node& node, std::uint32_t code,
                          const std::string& text);
/// OUT_OF_RANGE: access number `access` of a kernel had `index` for an axis of size `limit`.
sdk::Failure index_failure(const module::Module& module, const Program& program,
                           const KernelStep& step, std::int64_t access, std::int64_t index,
                           std::int64_t limit);
/// OUT_OF_RANGE: an update has `index` for `rows` rows. Same text as for the scatter_add that the
/// update replaces (graph/update_rows.h).
sdk::Failure row_failure(const module::Module& module, const RowUpdate& update, std::int64_t index,
                         std::int64_t rows);
/// INVALID_ARGUMENT: `node`, an ArgMax, has an axis without elements.
sdk::Failure empty_axis_failure(const module::Module& module, const ir::Node& node);

}  // namespace kiln::codegen
