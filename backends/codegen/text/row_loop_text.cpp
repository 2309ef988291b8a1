// Names: p<i> are pointers of the parameters, n<i> numbers; c<i> is carry i, d<i> the next one.
// Addresses of shared memory are shifted, so that the indices of rows are those of the whole
// tensor.
#include "backends/codegen/text/row_loop_text.h"

#include "backends/codegen/text/text_lines.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

class RowLoopText {
 public:
  RowLoopText(const RowLoop& loop, bool may_stop) : loop_(loop), may_stop_(may_stop) {
    for (const RowLoopTensor& one : loop.tensors) {
      const bool is_given = one.kind == RowLoopTensor::Kind::Given;
      given_.push_back(is_given ? pointers_++ : -1);
      moves_.push_back(is_given ? numbers_++ : -1);
    }
    for (const RowLoopCarry& one : loop.carries) {
      carry_pointers_.push_back(pointers_);
      pointers_ += one.is_stacked ? 3 : 2;
      carry_moves_.push_back(one.is_stacked ? numbers_++ : -1);
    }
  }

  std::string run() {
    std::string functions, kernels;
    for (const RowLoopStep& step : loop_.steps) {
      sizes_.push_back(numbers_);
      const auto* own = std::get_if<RowLoopKernel>(&step.work);
      if (own == nullptr) continue;
      numbers_ += static_cast<int>(own->kernel.sizes.size());
      functions += block_function(*own) + "\n";
      kernels += print(own->kernel) + print(own->schedule) + "\n";
    }
    if (loop_.bytes > 0) {
      functions += text("static __shared__ Bytes16 ", memory(), "[", loop_.bytes / 16, "];\n");
    }
    write();
    return functions + commented(print(loop_) + kernels) + lines_.str();
  }

 private:
  std::string memory() const { return loop_.name + "_memory"; }

  void write() {
    std::string parameters;
    for (int i = 0; i < pointers_; ++i) parameters += text("u8* const p", i, ", ");
    for (int i = 0; i < numbers_; ++i) parameters += text("const s64 n", i, ", ");
    lines_.line(text("extern \"C\" __global__ void __launch_bounds__(", loop_.threads, ")"));
    lines_.open(text(loop_.name, "(", parameters,
                     "const s64 rows, const s64 length, const s32 step, CallBlock* const call)"));
    if (may_stop_) lines_.line("if (is_stopped(call, step)) return;");
    if (loop_.bytes > 0) {
      lines_.line(text("u8* const memory = shared_memory(", memory(), ");"));
    }
    lines_.open(text("for (s64 first = s64(blockIdx.x) * ", loop_.rows,
                     "; first < rows; first += s64(gridDim.x) * ", loop_.rows, ")"));
    lines_.line(text("const s64 last = first + ", loop_.rows, " < rows ? first + ", loop_.rows,
                     " : rows;"));
    for (std::size_t c = 0; c < loop_.carries.size(); ++c) {
      lines_.line(text("u8* c", c, " = p", carry_pointers_[c], ";"));
    }
    lines_.open("for (s64 t = 0; t < length; ++t)");
    for (std::size_t c = 0; c < loop_.carries.size(); ++c) declare_next(c);
    int launches = 0;
    for (std::size_t s = 0; s < loop_.steps.size(); ++s) {
      const auto* own = std::get_if<RowLoopKernel>(&loop_.steps[s].work);
      own ? write_kernel(s, *own, launches++) : write_copy(loop_.steps[s]);
      if (loop_.steps[s].has_barrier) lines_.line("__syncthreads();");
    }
    for (std::size_t c = 0; c < loop_.carries.size(); ++c)
      lines_.line(text("c", c, " = d", c, ";"));
    lines_.close_to(0);
  }

  void declare_next(std::size_t c) {
    const RowLoopCarry& carry = loop_.carries[c];
    const int result = carry_pointers_[c] + 1;
    std::string next = text("p", result + 1, " + t * n", carry_moves_[c]);
    if (!carry.is_stacked) {
      const std::int64_t other = row_loop_buffer(carry.bytes, loop_.rows);
      next =
          text("memory + (", carry.offset, " + t % 2 * ", other, " - first * ", carry.bytes, ")");
    }
    lines_.line(text("u8* const d", c, " = t == length - 1 ? p", result, " : ", next, ";"));
  }

  std::string address(int tensor) const {
    const RowLoopTensor& one = loop_.tensors[at(tensor)];
    switch (one.kind) {
      case RowLoopTensor::Kind::Given:
        return text("p", given_[at(tensor)], " + t * n", moves_[at(tensor)]);
      case RowLoopTensor::Kind::Carry: return text("c", one.carry);
      case RowLoopTensor::Kind::NextCarry: return text("d", one.carry);
      case RowLoopTensor::Kind::Temporary: break;
    }
    const std::string shift = one.has_rows ? text(" - first * ", one.bytes) : "";
    return text("memory + (s64(", one.offset, ")", shift, ")");
  }

  /// "begin, end" of a step's points.
  static std::string range(const RowLoopStep& step) {
    if (step.is_whole) return text("s64(0), s64(", step.points, ")");
    return text("first * ", step.points, ", last * ", step.points);
  }

  void write_kernel(std::size_t s, const RowLoopKernel& own, int launch) {
    const RowLoopStep& step = loop_.steps[s];
    std::string arguments;
    for (const int tensor : step.tensors) arguments += address(tensor) + ", ";
    for (std::size_t i = 0; i < own.kernel.sizes.size(); ++i) {
      arguments += text("n", sizes_[s] + static_cast<int>(i), ", ");
    }
    lines_.line(text(own.kernel.name, "(", arguments, range(step), ", s32(step + t * ",
                     launches_per_iteration(loop_), " + ", launch, "), call);"));
  }

  void write_copy(const RowLoopStep& step) {
    const int width = std::get<RowLoopCopy>(step.work).width;
    lines_.line(text("copy_in_block<u", 8 * width, ">(", address(step.tensors[0]), ", ",
                     address(step.tensors[1]), ", ", range(step), ");"));
  }

  const RowLoop& loop_;
  const bool may_stop_;
  TextLines lines_;
  int pointers_ = 0, numbers_ = 0;
  std::vector<int> given_, moves_;  // of each tensor
  std::vector<int> carry_pointers_, carry_moves_;
  std::vector<int> sizes_;  // of each step: the first one's number
};

}  // namespace

const char* row_loop_functions() {
  return R"(
namespace {
struct alignas(16) Bytes16 {
  u8 at[16];
};
template <class Memory> u8* shared_memory(Memory& memory) {
  return reinterpret_cast<u8*>(&memory);
}
template <class T> void copy_in_block(u8* to, const u8* from, s64 begin, s64 end) {
  for (s64 i = begin + threadIdx.x; i < end; i += blockDim.x) store<T>(to, i, load<T>(from, i));
}
}  // namespace
)";
}

std::string row_loop_text(const RowLoop& loop, bool may_stop) {
  return RowLoopText(loop, may_stop).run();
}

}  // namespace kiln::codegen
