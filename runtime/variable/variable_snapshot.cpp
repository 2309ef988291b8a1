// Takes the writer locks before the snapshot, in the order in which a single program takes them.
#include "runtime/variable/variable_snapshot.h"

namespace kiln::runtime {

VariableSnapshot::VariableSnapshot(std::span<VariableStorage* const> variables,
                                   std::span<VariableStorage* const> writers,
                                   std::string_view function,
                                   std::optional<std::uint64_t> call_number)
    : locks_(writers, function), call_number_(call_number) {
  std::vector<VersionRef> values(variables.size());
  VariableStorage::snapshot(variables, values);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    values_.emplace(variables[i], std::move(values[i]));
  }
}

const VersionRef& VariableSnapshot::value_of(const VariableStorage& variable) const {
  return values_.at(&variable);
}

}  // namespace kiln::runtime
