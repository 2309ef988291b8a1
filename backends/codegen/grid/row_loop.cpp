// Counts parameters, and prints loops in the form that tests parse.
#include "backends/codegen/grid/row_loop.h"

#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

bool writes(const RowLoopStep& step, std::size_t operand) {
  const auto* own = std::get_if<RowLoopKernel>(&step.work);
  if (own == nullptr) return operand == 0;
  return own->kernel.operands[OperandId(static_cast<int>(operand))].written;
}

}  // namespace

std::int64_t row_loop_buffer(std::int64_t bytes, std::int64_t rows) {
  constexpr std::int64_t kAlignment = 16;
  return (bytes * rows + kAlignment - 1) / kAlignment * kAlignment;
}

bool needs_barrier(const RowLoopStep& earlier, const RowLoopStep& later) {
  for (std::size_t i = 0; i < earlier.tensors.size(); ++i) {
    for (std::size_t j = 0; j < later.tensors.size(); ++j) {
      const bool is_shared = earlier.tensors[i] == later.tensors[j];
      if (is_shared && (writes(earlier, i) || writes(later, j))) return true;
    }
  }
  return false;
}

int launches_per_iteration(const RowLoop& loop) {
  return static_cast<int>(std::count_if(
      loop.steps.begin(), loop.steps.end(),
      [](const RowLoopStep& step) { return std::holds_alternative<RowLoopKernel>(step.work); }));
}

std::int64_t given_tensors(const RowLoop& loop) {
  return std::count_if(loop.tensors.begin(), loop.tensors.end(), [](const RowLoopTensor& one) {
    return one.kind == RowLoopTensor::Kind::Given;
  });
}

std::int64_t stacked_carries(const RowLoop& loop) {
  return std::count_if(loop.carries.begin(), loop.carries.end(),
                       [](const RowLoopCarry& one) { return one.is_stacked; });
}

std::string print(const RowLoop& loop) {
  std::string out = text("loop ", loop.name, ": blocks of ", loop.threads, " threads with ",
                         loop.rows, " rows each, ", loop.bytes, " bytes\n");
  const auto place = [](std::int64_t bytes, bool has_rows, std::int64_t offset) {
    return text(bytes, has_rows ? " bytes a row at " : " bytes at ", offset, "\n");
  };
  for (std::size_t i = 0; i < loop.tensors.size(); ++i) {
    const RowLoopTensor& one = loop.tensors[i];
    out += text("  t", i, ": ");
    switch (one.kind) {
      case RowLoopTensor::Kind::Given: out += "given\n"; break;
      case RowLoopTensor::Kind::Carry: out += text("carry ", one.carry, "\n"); break;
      case RowLoopTensor::Kind::NextCarry: out += text("next carry ", one.carry, "\n"); break;
      case RowLoopTensor::Kind::Temporary:
        out += "temporary of " + place(one.bytes, one.has_rows, one.offset);
    }
  }
  for (std::size_t i = 0; i < loop.carries.size(); ++i) {
    const RowLoopCarry& one = loop.carries[i];
    out += text("  carry ", i, ": ",
                one.is_stacked ? "stacked\n" : place(one.bytes, true, one.offset));
  }
  for (const RowLoopStep& step : loop.steps) {
    const auto* copy = std::get_if<RowLoopCopy>(&step.work);
    std::string tensors;
    for (const int one : step.tensors) tensors += text(tensors.empty() ? "t" : ", t", one);
    out += text(copy ? "  copy: " : "  kernel: ", step.points, " points",
                step.is_whole ? "" : " a row", copy ? text(" of ", copy->width, " bytes") : "",
                " (", tensors, ")", step.has_barrier ? ", barrier\n" : "\n");
  }
  return out;
}

}  // namespace kiln::codegen
