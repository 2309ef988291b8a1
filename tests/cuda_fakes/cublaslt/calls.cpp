// Failures are searched one by one: tests ask for few.
#include "tests/cuda_fakes/cublaslt/calls.h"

#include <algorithm>

namespace kiln::fake_cublaslt {

Calls::Calls() {
#define FAKE_CUBLASLT_NAME(member, symbol, ...) counts_.emplace(#symbol, 0);
  KILN_CUBLASLT_FUNCTIONS(FAKE_CUBLASLT_NAME)
#undef FAKE_CUBLASLT_NAME
}

std::optional<CublasStatus> Calls::count(std::string_view name) {
  const int call = ++counts_.find(name)->second;
  const auto found = std::find_if(failures_.begin(), failures_.end(), [&](const Failure& one) {
    return one.name == name && (one.call == 0 || one.call == call);
  });
  if (found == failures_.end()) return std::nullopt;
  return found->status;
}

bool Calls::fail(std::string_view name, int nth, CublasStatus status) {
  const int before = count_of(name);
  if (before < 0) return false;
  failures_.push_back({std::string(name), nth == 0 ? 0 : before + nth, status});
  return true;
}

int Calls::count_of(std::string_view name) const {
  const auto found = counts_.find(name);
  return found == counts_.end() ? -1 : found->second;
}

}  // namespace kiln::fake_cublaslt
