// Counts the calls of each function, and makes calls fail on demand.
#pragma once

#include "backends/cuda/api/driver_api.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::fake_cuda {

using namespace cuda::api;

class Calls {
 public:
  Calls();

  /// Counts a call of the row; its status if it is to fail.
  std::optional<Status> count(std::size_t row);
  /// False for an unknown name.
  bool fail(std::string_view name, int nth, Status status);
  void forget_failures() { failures_.clear(); }
  /// -1 for an unknown name.
  int count_of(std::string_view name) const;

 private:
  struct Failure {
    std::size_t row;
    int call;  // 0: every call
    Status status;
  };

  std::vector<int> counts_;
  std::vector<Failure> failures_;
};

/// The rows of the table of functions.
struct FunctionRow {
  std::string_view name;
  int version;
};
const std::vector<FunctionRow>& function_rows();
/// The number of rows where there is none of that name.
std::size_t row_of(std::string_view name);

}  // namespace kiln::fake_cuda
