// How often each function was called, and the calls that fail on demand.
#pragma once

#include "backends/cuda/api/cublaslt_api.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::fake_cublaslt {

using namespace cuda::api;

class Calls {
 public:
  Calls();

  /// Counts a call; its status if it is to fail.
  std::optional<CublasStatus> count(std::string_view name);
  /// False for an unknown name.
  bool fail(std::string_view name, int nth, CublasStatus status);
  void forget_failures() { failures_.clear(); }
  /// -1 for an unknown name.
  int count_of(std::string_view name) const;

 private:
  struct Failure {
    std::string name;
    int call;  // 0: every call
    CublasStatus status;
  };

  std::map<std::string, int, std::less<>> counts_;
  std::vector<Failure> failures_;
};

}  // namespace kiln::fake_cublaslt
