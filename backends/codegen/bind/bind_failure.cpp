// Turns the failures that follow from the sizes into a value.
#include "backends/codegen/bind/bind_failure.h"

namespace kiln::codegen {

std::optional<BindFailure> failure_of_body(const Plan& body, const EvaluateDim& evaluate,
                                           const std::function<void()>& bind) {
  try {
    const std::string failure = ir::first_failure(body.guards, evaluate);
    if (!failure.empty()) return BindFailure{KILN_CODE_INVALID_ARGUMENT, failure};
    bind();
    return std::nullopt;
  } catch (const SizeFailure& error) {
    return BindFailure{error.code(), error.what()};
  } catch (const ValueError& error) {
    return BindFailure{KILN_CODE_INVALID_ARGUMENT, error.message()};
  }
}

}  // namespace kiln::codegen
