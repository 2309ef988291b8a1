// Failures are searched linearly: tests set few.
#include "tests/backends/cuda_fakes/driver/calls.h"

#include "core/types/no_destructor.h"

#include <algorithm>

namespace kiln::fake_cuda {

const std::vector<FunctionRow>& function_rows() {
#define FAKE_CUDA_ROW(member, symbol, version, presence, ...) FunctionRow{#symbol, version},
  // Never destroyed: threads may call functions while the process ends.
  static const NoDestructor<std::vector<FunctionRow>> rows(
      std::initializer_list<FunctionRow>{KILN_CUDA_DRIVER_FUNCTIONS(FAKE_CUDA_ROW)});
#undef FAKE_CUDA_ROW
  return *rows;
}

std::size_t row_of(std::string_view name) {
  const auto& rows = function_rows();
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const FunctionRow& row) { return row.name == name; });
  return static_cast<std::size_t>(found - rows.begin());
}

Calls::Calls() : counts_(function_rows().size()) {}

std::optional<Status> Calls::count(std::size_t row) {
  const int call = ++counts_[row];
  const auto found = std::find_if(failures_.begin(), failures_.end(), [&](const Failure& one) {
    return one.row == row && (one.call == 0 || one.call == call);
  });
  if (found == failures_.end()) return std::nullopt;
  return found->status;
}

bool Calls::fail(std::string_view name, int nth, Status status) {
  const std::size_t row = row_of(name);
  if (row == counts_.size()) return false;
  failures_.push_back({row, nth == 0 ? 0 : counts_[row] + nth, status});
  return true;
}

int Calls::count_of(std::string_view name) const {
  const std::size_t row = row_of(name);
  return row == counts_.size() ? -1 : counts_[row];
}

}  // namespace kiln::fake_cuda
