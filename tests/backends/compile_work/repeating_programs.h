// Programs that repeat one thing, as user code does in a loop.
#pragma once

#include <kiln/k.h>

#include <string_view>
#include <vector>

namespace compile_work_test {

struct Program {
  std::vector<kiln::Tensor> inputs, outputs;
  std::vector<kiln::Tensor> weights = {};  // a step of training updates them
  std::vector<kiln::UpdateOp> updates = {};
};

struct RepeatingProgram {
  std::string_view name;
  Program (*make)(int count);
};

const std::vector<RepeatingProgram>& repeating_programs();

}  // namespace compile_work_test
