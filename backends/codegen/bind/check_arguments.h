// Checks a call's arguments against the types of the program. All functions throw or return
// sdk::Failure INVALID_ARGUMENT.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "core/module/module.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::codegen {

/// The error of an input of another type than the program's.
sdk::Failure input_mismatch(const std::vector<ir::Value>& inputs, std::size_t i);
/// The error of a buffer, given for result `i`, of another type.
sdk::Failure result_mismatch(const ir::Value& result, std::size_t i);

/// " (result 1, dot at model.cpp:12)": the end of errors about the memory of result `i`.
std::string result_source(const ir::Value& result, std::size_t i);

/// Checks dtype and rank; CallSizes checks the dims.
void check_input(const std::vector<ir::Value>& inputs, std::size_t i, std::uint32_t dtype,
                 std::size_t rank);
/// `buffer`: of state `i`, or of its new value. REQUIRES: the variable's dims are static.
void check_state(const module::Module& module, std::size_t i, const sdk::Buffer& buffer);
/// `given`: the buffer for result `i`; `dims`: of the result in this call.
void check_given_result(const ir::Value& result, std::size_t i, sdk::Dims dims,
                        const sdk::Buffer& given);

}  // namespace kiln::codegen
