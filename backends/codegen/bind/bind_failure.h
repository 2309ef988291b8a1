// Errors of binding. A body that cannot be bound fails only when the call enters it.
#pragma once

#include "backends/codegen/bind/slot_sizes.h"

#include <kiln/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace kiln::codegen {

/// The error to throw when a call enters a body that cannot be bound to its sizes.
struct BindFailure {
  std::uint32_t code = 0;  // KILN_CODE_*
  std::string text;
};

/// Checks the guards of `body`, then calls `bind`, which binds it. Returns the failure of a guard,
/// and SizeFailure and kiln::ValueError of `bind`, as a value: they follow from the sizes.
/// Propagates other exceptions, after which the next call tries again.
template <class Bind>
std::optional<BindFailure> failure_of_body(const Plan& body, const EvaluateDim& evaluate,
                                           const Bind& bind) {
  try {
    std::string failure = ir::first_failure(body.guards, evaluate);
    if (!failure.empty()) return BindFailure{KILN_CODE_INVALID_ARGUMENT, std::move(failure)};
    bind();
    return std::nullopt;
  } catch (const SizeFailure& error) {
    return BindFailure{error.code(), error.what()};
  } catch (const ValueError& error) {
    return BindFailure{KILN_CODE_INVALID_ARGUMENT, error.message()};
  }
}

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
