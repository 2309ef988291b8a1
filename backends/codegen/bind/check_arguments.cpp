// Compares dtypes, ranks and dims, and words the errors.
#include "backends/codegen/bind/check_arguments.h"

#include "backends/codegen/inspect/source.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {

sdk::Failure input_mismatch(const std::vector<ir::Value>& inputs, std::size_t i) {
  return {KILN_CODE_INVALID_ARGUMENT,
          text("input ", i, " does not have the type ", inputs[i].type())};
}

sdk::Failure result_mismatch(const ir::Value& result, std::size_t i) {
  return {KILN_CODE_INVALID_ARGUMENT,
          text("the buffer given for result ", i, " has another type than ", result.type())};
}

std::string result_source(const ir::Value& result, std::size_t i) {
  return text(" (result ", i, ", ", source_of(*result.node), ")");
}

void check_input(const std::vector<ir::Value>& inputs, std::size_t i, std::uint32_t dtype,
                 std::size_t rank) {
  const ir::Type& type = inputs[i].type();
  const bool fits = dtype == static_cast<std::uint32_t>(type.dtype) && rank == type.dims.size();
  if (!fits) throw input_mismatch(inputs, i);
}

void check_state(const module::Module& module, std::size_t i, const sdk::Buffer& buffer) {
  const ir::Value& variable = module.state[i].variable;
  bool fits = buffer.dtype() == static_cast<std::uint32_t>(variable.dtype()) &&
              buffer.dims().size() == variable.dims().size();
  for (std::size_t axis = 0; fits && axis < variable.dims().size(); ++axis) {
    fits = variable.dims()[axis] == ir::Dim(buffer.dims()[axis]);
  }
  if (fits) return;
  throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT,
                     text("the buffer of state ", i, " does not have the type ", variable.type(),
                          " of its variable"));
}

void check_given_result(const ir::Value& result, std::size_t i, sdk::Dims dims,
                        const sdk::Buffer& given) {
  const sdk::Dims found = given.dims();
  const bool fits = given.dtype() == static_cast<std::uint32_t>(result.dtype()) &&
                    std::equal(found.begin(), found.end(), dims.begin(), dims.end());
  if (!fits) throw result_mismatch(result, i);
}

}  // namespace kiln::codegen
