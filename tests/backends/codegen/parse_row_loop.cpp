// One function per kind of line, in the order of print(const RowLoop&).
#include "tests/backends/codegen/parse_kernel.h"

#include "core/types/text.h"
#include "tests/backends/codegen/kernel_lines.h"

#include <limits>
#include <stdexcept>

namespace kiln::test {
namespace {

using namespace codegen;

/// A function of the text, with the comments right above it.
struct Function {
  std::vector<NumberedLine> comments;
  NumberedLine line, next;  // its first two lines
};

std::vector<Function> functions_of(std::string_view text) {
  std::vector<Function> functions;
  std::vector<NumberedLine> comments;
  const std::vector<NumberedLine> lines = lines_of(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const NumberedLine& line = lines[i];
    if (line.text.starts_with("// ")) {
      comments.push_back({line.number, line.text.substr(3)});
      continue;
    }
    if (line.text.starts_with("extern \"C\" __global__ ")) {
      functions.push_back({comments, line, i + 1 < lines.size() ? lines[i + 1] : NumberedLine()});
    }
    comments.clear();
  }
  return functions;
}

bool is_loop(const Function& function) {
  return !function.comments.empty() && function.comments[0].text.starts_with("loop ");
}

void expect_name(const Function& function, const std::string& name) {
  if (!function.next.text.empty()) LineScanner(function.next).expect(name + "(");
}

class RowLoopParser {
 public:
  explicit RowLoopParser(std::span<const NumberedLine> lines) : lines_(lines) {}

  RowLoop run() {
    if (lines_.empty()) throw std::runtime_error("line 1: expected a loop in an empty text");
    head(LineScanner(lines_[0]));
    std::size_t next = 1;
    for (; next < lines_.size() && lines_[next].text.starts_with("  "); ++next) {
      line(LineScanner(lines_[next]));
    }
    for (RowLoopStep& step : loop_.steps) {
      if (auto* own = std::get_if<RowLoopKernel>(&step.work)) next = kernel(next, *own);
    }
    if (next < lines_.size()) LineScanner(lines_[next]).fail("no line of a loop");
    return std::move(loop_);
  }

 private:
  static constexpr std::size_t kAny = std::numeric_limits<int>::max();

  void head(LineScanner line) {
    line.expect("loop ");
    loop_.name = line.name();
    line.expect(": blocks of ");
    loop_.threads = line.index(kAny);
    line.expect(" threads with ");
    loop_.rows = line.integer();
    line.expect(" rows each, ");
    loop_.bytes = line.integer();
    line.expect(" bytes");
    line.expect_end();
  }

  void line(LineScanner line) {
    if (line.take("  t")) {
      tensor(line);
    } else if (line.take("  carry ")) {
      carry(line);
    } else {
      step(line);
    }
    line.expect_end();
  }

  static bool place(LineScanner& line, std::int64_t& bytes, std::int64_t& offset) {
    bytes = line.integer();
    line.expect(" bytes");
    const bool has_rows = line.take(" a row");
    line.expect(" at ");
    offset = line.integer();
    return has_rows;
  }

  void tensor(LineScanner& line) {
    if (at_number(line) != loop_.tensors.size()) line.fail("not the next tensor");
    line.expect(": ");
    RowLoopTensor one;
    if (line.take("carry ") || line.left().starts_with("next carry ")) {
      one.kind =
          line.take("next carry ") ? RowLoopTensor::Kind::NextCarry : RowLoopTensor::Kind::Carry;
      one.carry = line.index(kAny);
    } else if (line.take("temporary of ")) {
      one.kind = RowLoopTensor::Kind::Temporary;
      one.has_rows = place(line, one.bytes, one.offset);
    } else {
      line.expect("given");
    }
    loop_.tensors.push_back(one);
  }

  void carry(LineScanner& line) {
    if (at_number(line) != loop_.carries.size()) line.fail("not the next carry");
    line.expect(": ");
    RowLoopCarry one;
    one.is_stacked = line.take("stacked");
    if (!one.is_stacked) place(line, one.bytes, one.offset);
    loop_.carries.push_back(one);
  }

  void step(LineScanner& line) {
    RowLoopStep one;
    const bool is_copy = line.take("  copy: ");
    if (!is_copy) line.expect("  kernel: ");
    one.points = line.integer();
    line.expect(" points");
    one.is_whole = !line.take(" a row");
    if (is_copy) {
      line.expect(" of ");
      one.work = RowLoopCopy{line.index(kAny)};
      line.expect(" bytes");
    }
    line.expect(" (");
    while (!line.take(")")) {
      if (!one.tensors.empty()) line.expect(", ");
      line.expect("t");
      one.tensors.push_back(line.index(loop_.tensors.size()));
    }
    one.has_barrier = line.take(", barrier");
    loop_.steps.push_back(std::move(one));
  }

  /// Reads the kernel that begins at the line; returns the line after its schedule.
  std::size_t kernel(std::size_t begin, RowLoopKernel& own) {
    std::size_t end = begin + 1;
    while (end < lines_.size() && lines_[end].text.starts_with("  ")) ++end;
    if (end >= lines_.size()) {
      throw std::runtime_error(text("line ", lines_.back().number, ": expected a kernel below"));
    }
    own.kernel = kernel_of(lines_.subspan(begin, end - begin));
    own.schedule = schedule_of(LineScanner(lines_[end]));
    return end + 1;
  }

  static std::size_t at_number(LineScanner& line) {
    return static_cast<std::size_t>(line.index(kAny));
  }

  std::span<const NumberedLine> lines_;
  RowLoop loop_;
};

}  // namespace

std::vector<ParsedKernel> parse_grid_text(std::string_view text) {
  std::vector<ParsedKernel> kernels;
  for (const Function& function : functions_of(text)) {
    if (is_loop(function)) continue;
    const std::span<const NumberedLine> above(function.comments);
    if (above.size() < 2) LineScanner(function.line).fail("expected comments above the function");
    Kernel kernel = kernel_of(above.first(above.size() - 1));
    const GridSchedule schedule = schedule_of(LineScanner(above.back()));
    expect_name(function, kernel.name);
    kernels.push_back({std::move(kernel), schedule});
  }
  return kernels;
}

std::vector<RowLoop> parse_row_loops(std::string_view text) {
  std::vector<RowLoop> loops;
  for (const Function& function : functions_of(text)) {
    if (!is_loop(function)) continue;
    loops.push_back(RowLoopParser(function.comments).run());
    expect_name(function, loops.back().name);
  }
  return loops;
}

RowLoop parse_row_loop(std::string_view text) {
  const std::vector<NumberedLine> lines = lines_of(text);
  return RowLoopParser(lines).run();
}

std::string print_whole(const RowLoop& loop) {
  std::string out = print(loop);
  for (const RowLoopStep& step : loop.steps) {
    const auto* own = std::get_if<RowLoopKernel>(&step.work);
    if (own) out += print(own->kernel) + print(own->schedule) + "\n";
  }
  return out;
}

}  // namespace kiln::test
