// Checks a loop that is one kernel: its steps, and the ranges of shared memory.
#include "backends/codegen/grid/row_loop.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>

namespace kiln::codegen {
namespace {

class RowLoopVerifier {
 public:
  RowLoopVerifier(const RowLoop& loop, const GridDescription& device)
      : loop_(loop), device_(device) {}

  void run() {
    require(loop_.threads > 0 && loop_.threads <= device_.max_threads,
            "its blocks do not fit the device");
    require(loop_.rows > 0, "its blocks have no rows");
    check_memory();
    std::int64_t bytes = loop_.bytes;
    for (const RowLoopStep& step : loop_.steps) {
      for (const int tensor : step.tensors) {
        require(tensor >= 0 && at(tensor) < loop_.tensors.size(), "a step has an unknown tensor");
      }
      require(step.points >= 0, "the points of a step are not static");
      const auto* own = std::get_if<RowLoopKernel>(&step.work);
      if (own == nullptr) {
        require(step.tensors.size() == 2, "a copy is not from one tensor to another");
        require(kind_of(step.tensors[0]) != RowLoopTensor::Kind::Carry, "it writes a carry");
        continue;
      }
      check(step, *own);
      bytes += shared_bytes(own->kernel, own->schedule);
    }
    check_barriers();
    require(bytes <= device_.shared_bytes, "its blocks do not fit shared memory");
  }

 private:
  RowLoopTensor::Kind kind_of(int tensor) const { return loop_.tensors[at(tensor)].kind; }

  void check(const RowLoopStep& step, const RowLoopKernel& own) const {
    verify(own.kernel, own.schedule, device_);
    const GridSchedule& schedule = own.schedule;
    require(schedule.threads == loop_.threads, "a step has blocks of another size");
    require(!schedule.split_k && schedule.form != GridForm::Owners &&
                schedule.form != GridForm::Tile && schedule.unroll == 1,
            "a step needs the whole grid");
    require(step.is_whole || (!schedule.axes.empty() && schedule.axes[0] == 0),
            "the rows of a step run in order");
    require(step.tensors.size() == own.kernel.operands.size(), "an operand has no tensor");
    for (const OperandId i : own.kernel.operands.ids()) {
      const bool is_carry = kind_of(step.tensors[at(i.number)]) == RowLoopTensor::Kind::Carry;
      require(!is_carry || !own.kernel.operands[i].written, "it writes a carry");
    }
  }

  void check_barriers() const {
    const std::vector<RowLoopStep>& steps = loop_.steps;
    require(!steps.empty() && steps.back().has_barrier, "an iteration ends without a barrier");
    for (std::size_t later = 0; later < steps.size(); ++later) {
      for (std::size_t s = later; s > 0 && !steps[s - 1].has_barrier; --s) {
        require(!needs_barrier(steps[s - 1], steps[later]),
                "steps share a tensor without a barrier");
      }
    }
  }

  void check_memory() {
    for (const RowLoopCarry& carry : loop_.carries) {
      if (!carry.is_stacked) add(carry.offset, 2 * row_loop_buffer(carry.bytes, loop_.rows));
    }
    for (const RowLoopTensor& one : loop_.tensors) {
      const bool is_next = one.kind == RowLoopTensor::Kind::NextCarry;
      const bool has_carry = is_next || one.kind == RowLoopTensor::Kind::Carry;
      require(!has_carry || (one.carry >= 0 && at(one.carry) < loop_.carries.size()),
              "a tensor is of an unknown carry");
      if (one.kind != RowLoopTensor::Kind::Temporary) continue;
      add(one.offset, row_loop_buffer(one.bytes, one.has_rows ? loop_.rows : 1));
    }
    std::sort(ranges_.begin(), ranges_.end());
    std::int64_t end = 0;
    for (const auto& [first, last] : ranges_) {
      require(first >= end && last <= loop_.bytes, "ranges of its shared memory overlap");
      end = last;
    }
  }

  void add(std::int64_t offset, std::int64_t bytes) {
    if (bytes > 0) ranges_.emplace_back(offset, offset + bytes);
  }

  void require(bool holds, const char* what) const {
    if (!holds) throw InternalError("compile", "", text("the loop ", loop_.name, ": ", what));
  }

  const RowLoop& loop_;
  const GridDescription& device_;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges_;
};

}  // namespace

void verify(const RowLoop& loop, const GridDescription& device) {
  RowLoopVerifier(loop, device).run();
}

}  // namespace kiln::codegen
