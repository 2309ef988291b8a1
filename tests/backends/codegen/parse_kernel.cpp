// One function per kind of line, in the order of print_kernel.cpp.
#include "tests/backends/codegen/parse_kernel.h"

#include "core/ops/convert.h"
#include "core/types/text.h"
#include "tests/backends/codegen/kernel_lines.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>

namespace kiln::test {
namespace {

using namespace codegen;

constexpr std::string_view kStageNames[] = {"map", "reduce", "running"};
constexpr std::string_view kCombinerNames[] = {"", "sum", "prod", "max", "min", "arg_max"};

template <std::size_t Count>
int index_of(std::string_view name, const std::string_view (&names)[Count], LineScanner& line) {
  for (std::size_t i = 0; i < Count; ++i) {
    if (names[i] == name) return i;
  }
  line.fail(text("\"", name, "\" is not known"));
}

template <class Number>
Number number_of(std::string_view words, LineScanner& line, int base = 10) {
  Number value{};
  const char* const end = words.data() + words.size();
  std::from_chars_result found{};
  if constexpr (std::is_floating_point_v<Number>) {
    found = std::from_chars(words.data(), end, value);
  } else {
    found = std::from_chars(words.data(), end, value, base);
  }
  if (found.ec != std::errc() || found.ptr != end) {
    line.fail(text("\"", words, "\" is no number of the dtype"));
  }
  return value;
}

std::uint64_t bits_of(DType dtype, std::string_view words, LineScanner& line) {
  std::uint64_t bits = 0;
  if (is_float(dtype)) {
    const auto bytes = ir::scalar_bytes(dtype, number_of<double>(words, line));
    std::memcpy(&bits, bytes.data(), bytes.size());
    return bits;
  }
  const bool is_negative = words.starts_with('-');
  bits = is_negative ? static_cast<std::uint64_t>(number_of<std::int64_t>(words, line))
                     : number_of<std::uint64_t>(words, line);
  return bits & (~std::uint64_t{0} >> (64 - 8 * dtype_bytes(dtype)));
}

class KernelParser {
 public:
  explicit KernelParser(std::span<const NumberedLine> lines) : lines_(lines) {}

  Kernel run() {
    if (lines_.empty()) throw std::runtime_error("line 1: expected a kernel in an empty text");
    head(LineScanner(lines_[0]));
    for (std::size_t i = 1; i < lines_.size(); ++i) line(LineScanner(lines_[i]), i == 1);
    return std::move(kernel_);
  }

 private:
  void head(LineScanner line) {
    line.expect("kernel ");
    kernel_.name = line.name();
    line.expect("(");
    while (!line.take(")")) {
      if (!kernel_.operands.empty()) line.expect(", ");
      operand(line);
    }
    line.expect_end();
  }

  void operand(LineScanner& line) {
    Operand operand;
    operand.name = line.name();
    if (find_operand(operand.name)) line.fail(operand.name + " is there twice");
    line.expect(": ");
    operand.dtype = dtype(line);
    operand.read = line.take(" read");
    operand.written = line.take(" written");
    kernel_.operands.push_back(std::move(operand));
  }

  void line(LineScanner line, bool is_second) {
    if (is_second && line.take("  # ")) {
      kernel_.comes_from = line.rest();
    } else if (line.take("  n")) {
      size(line);
    } else if (line.take("  i")) {
      axis(line);
    } else if (line.take("  v")) {
      expression(line);
    } else if (line.take("  stage ")) {
      stage(line);
    } else if (line.take("    store v")) {
      store(line, false);
    } else if (line.take("    add v")) {
      store(line, true);
    } else {
      line.fail("no line of a kernel");
    }
    line.expect_end();
  }

  /// The number of what a line declares, which must be the next one.
  template <class List>
  static void declare(LineScanner& line, const List& list) {
    if (line.index(list.size() + 1) != static_cast<int>(list.size())) {
      line.fail(text("expected number ", list.size()));
    }
  }

  void size(LineScanner& line) {
    declare(line, kernel_.sizes);
    line.expect(" = ");
    kernel_.sizes.push_back(ir::Dim::fresh(std::string(line.rest())));
  }

  void axis(LineScanner& line) {
    declare(line, kernel_.axes);
    line.expect(" below ");
    kernel_.axes.push_back(dim(line));
    const int count = static_cast<int>(kernel_.axes.size());
    if (!line.take(", inner")) {
      if (++kernel_.outer != count) line.fail("an outer axis after an inner one");
    }
    if (line.take(", lanes")) kernel_.vector_axis = count - 1;
    if (count == 1 && line.take(", divided at multiples of ")) {
      kernel_.part_multiple = line.integer();
    }
  }

  void expression(LineScanner& line) {
    declare(line, kernel_.expressions);
    line.expect(": ");
    Expression e;
    e.dtype = dtype(line);
    line.expect(" = ");
    meaning(line, e);
    kernel_.expressions.push_back(e);
  }

  void meaning(LineScanner& line, Expression& e) {
    if (line.take("load ")) {
      e.kind = ExpressionKind::Load;
      e.access = access_id(line);
    } else if (line.take("size n")) {
      e.kind = ExpressionKind::SizeValue;
      e.number = line.index(kernel_.sizes.size());
    } else if (line.take("result of stage ")) {
      e.kind = ExpressionKind::StageResult;
      e.stage = StageId(line.index(std::numeric_limits<int>::max()));  // stages come later
    } else if (line.take("bits 0x")) {
      e.bits = number_of<std::uint64_t>(line.rest(), line, 16);
    } else if (line.left().ends_with(')') || line.left().starts_with("random(")) {
      application(line, e);
    } else if (line.left().starts_with('i') && line.left() != "inf") {
      line.expect("i");
      e.kind = ExpressionKind::AxisIndex;
      e.number = line.index(kernel_.axes.size());
    } else {
      e.bits = bits_of(e.dtype, line.rest(), line);
    }
  }

  void application(LineScanner& line, Expression& e) {
    const std::string_view name = line.name();
    arguments(line, e);
    if (name == "convert") {
      e.kind = ExpressionKind::Convert;
    } else if (name == "bitcast") {
      e.kind = ExpressionKind::Bitcast;
    } else if (name == "random") {
      e.kind = ExpressionKind::Random;
      e.op = ir::Op::RandomUniform;
      line.expect(" seed ");
      e.seed = line.integer();
      line.expect(" stream ");
      e.stream = line.integer();
    } else {
      const ir::OpDef* d = ir::find_op(name);
      if (d == nullptr) line.fail(text("no op is named ", name));
      e.kind = ExpressionKind::Apply;
      e.op = d->op;
    }
  }

  void arguments(LineScanner& line, Expression& e) const {
    line.expect("(");
    std::size_t count = 0;
    while (!line.take(")")) {
      if (count == e.arguments.size()) line.fail("too many arguments");
      if (count > 0) line.expect(", ");
      e.arguments[count++] = known_value(line);
    }
  }

  /// "v" and the number of an expression above.
  ExpressionId known_value(LineScanner& line) const {
    line.expect("v");
    return ExpressionId(line.index(kernel_.expressions.size()));
  }

  void stage(LineScanner& line) {
    declare(line, kernel_.stages);
    line.expect(": ");
    Stage stage;
    stage.kind = static_cast<StageKind>(index_of(line.name(), kStageNames, line));
    stage.inner = line.take(" over inner axes");
    if (!stage.inner) line.expect(" once");
    if (stage.kind != StageKind::Map) {
      line.expect(", ");
      stage.combiner = static_cast<Combiner>(index_of(line.name(), kCombinerNames, line));
      line.expect(" of ");
      stage.value = known_value(line);
    }
    kernel_.stages.push_back(std::move(stage));
  }

  void store(LineScanner& line, bool is_sum) {
    if (kernel_.stages.empty()) line.fail("a store outside of stages");
    Store store;
    store.accumulate = is_sum;
    store.value = ExpressionId(line.index(kernel_.expressions.size()));
    line.expect(" to ");
    store.access = access_id(line);
    kernel_.stages.back().stores.push_back(store);
  }

  /// An access. Its text is the same wherever its number is read or written.
  AccessId access_id(LineScanner& line) {
    const std::string_view words = line.left();
    line.expect("a");
    const AccessId id(line.index(std::numeric_limits<int>::max()));
    const Access found = access(line);
    Access unused;
    unused.operand = OperandId(0);
    unused.strides.resize(kernel_.axes.size(), 0);
    while (kernel_.accesses.back_id() < id) {
      kernel_.accesses.push_back(unused);
      texts_.push_back("");
    }
    if (!texts_[id].empty() && texts_[id] != words) line.fail(text("another a", id.number));
    kernel_.accesses[id] = found;
    texts_[id] = words;
    return id;
  }

  Access access(LineScanner& line) const {
    Access access;
    access.strides.resize(kernel_.axes.size(), 0);
    line.expect(" ");
    const std::string_view name = line.name();
    access.operand = find_operand(name);
    if (!access.operand) line.fail(text("no operand is named ", name));
    line.expect("[");
    do term(line, access);
    while (line.take(" + "));
    line.expect("]");
    if (line.take(" when ")) access.when = known_value(line);
    return access;
  }

  void term(LineScanner& line, Access& access) const {
    if (line.take("i")) {
      const auto axis = static_cast<std::size_t>(line.index(access.strides.size()));
      access.strides[axis] = factor(line);
    } else if (line.take("v")) {
      access.dynamic = ExpressionId(line.index(kernel_.expressions.size()));
      access.dynamic_stride = factor(line);
      line.expect(" below ");
      access.dynamic_limit = dim(line);
    } else {
      access.offset = dim(line);
    }
  }

  ir::Dim factor(LineScanner& line) const { return line.take("*") ? dim(line) : ir::Dim(1); }

  ir::Dim dim(LineScanner& line) const {
    if (!line.take("n")) return line.integer();
    return kernel_.sizes[static_cast<std::size_t>(line.index(kernel_.sizes.size()))];
  }

  static DType dtype(LineScanner& line) {
    const std::string_view name = line.name();
    const std::optional<DType> found = dtype_of_name(name);
    if (!found) line.fail(text("no dtype is named ", name));
    return *found;
  }

  OperandId find_operand(std::string_view name) const {
    for (const OperandId i : kernel_.operands.ids()) {
      if (kernel_.operands[i].name == name) return i;
    }
    return {};
  }

  std::span<const NumberedLine> lines_;
  Kernel kernel_;
  IdVector<AccessId, std::string> texts_;
};

/// Numbers with that prefix, at least one.
template <class Number>
std::vector<Number> numbers(LineScanner& line, std::string_view prefix) {
  std::vector<Number> list;
  line.expect(prefix);
  do list.push_back(Number(line.index(std::numeric_limits<int>::max())));
  while (line.take(prefix));
  return list;
}

}  // namespace

std::vector<NumberedLine> lines_of(std::string_view text) {
  std::vector<NumberedLine> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back({static_cast<int>(lines.size()) + 1, text.substr(0, end)});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Kernel kernel_of(std::span<const NumberedLine> lines) { return KernelParser(lines).run(); }

GridSchedule schedule_of(LineScanner line) {
  static constexpr std::string_view kForms[] = {"points",  "serial", "rows",
                                                "columns", "owners", "tile"};
  GridSchedule schedule;
  schedule.form = static_cast<GridForm>(index_of(line.name(), kForms, line));
  line.expect(": blocks of ");
  schedule.threads = line.index(std::numeric_limits<int>::max());
  line.expect(" threads over");
  if (!line.take(" one point")) schedule.axes = numbers<int>(line, " i");
  if (has_blocks(schedule)) {
    line.expect(", ");
    schedule.teams = line.index(std::numeric_limits<int>::max());
    line.expect(" teams");
  }
  if (schedule.teams < 1) line.fail("expected teams");
  if (schedule.form == GridForm::Tile) {
    line.expect(", rows along i");
    schedule.tile_axis = line.index(std::numeric_limits<int>::max());
  }
  if (line.take(", vectors of ")) schedule.elements = line.index(std::numeric_limits<int>::max());
  if (line.take(", unroll ")) schedule.unroll = line.index(std::numeric_limits<int>::max());
  if (schedule.elements < 1 || schedule.unroll < 1) line.fail("expected groups of points");
  schedule.split_k = line.take(", split");
  if (line.take(", up to ")) {
    schedule.batch = line.index(std::numeric_limits<int>::max());
    line.expect(" launches at a time");
  }
  if (line.take(", keep")) schedule.kept = numbers<ExpressionId>(line, " v");
  if (line.take(", hold")) schedule.held = numbers<OperandId>(line, " operand ");
  if (line.take(", barriers before")) schedule.barrier_before = numbers<StageId>(line, " stage ");
  if (line.take("; ")) schedule.reason = line.rest();
  line.expect_end();
  return schedule;
}

Kernel parse_kernel(std::string_view text) { return kernel_of(lines_of(text)); }

GridSchedule parse_schedule(std::string_view line) {
  return schedule_of(LineScanner(NumberedLine{1, line}));
}

}  // namespace kiln::test
