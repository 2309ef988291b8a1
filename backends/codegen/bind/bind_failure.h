// Errors of binding: of a whole call, and of a body that the call may never enter.
#pragma once

#include "backends/codegen/bind/slot_sizes.h"

#include <kiln/error.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace kiln::codegen {

/// The error of entering a body that cannot be bound to the call's sizes.
struct BindFailure {
  std::uint32_t code = 0;  // KILN_CODE_*
  std::string text;
};

/// Checks the guards of `body`, then calls `bind`, which binds it. Returns the error to throw when
/// the body is entered, if these sizes make one of them fail: a guard, SizeFailure or
/// kiln::ValueError. Other exceptions pass: the next call tries again.
std::optional<BindFailure> failure_of_body(const Plan& body, const EvaluateDim& evaluate,
                                           const std::function<void()>& bind);

/// Calls `bind` and returns its result. Throws sdk::Failure INVALID_ARGUMENT with the text of a
/// kiln::Error.
template <class Bind>
auto with_call_errors(const Bind& bind) {
  try {
    return bind();
  } catch (const Error& error) {
    throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT, error.message());
  }
}

}  // namespace kiln::codegen
