// Tests the parser of the text forms of kernels and schedules: every part, and malformed texts.
#include "tests/support/catch.h"
#include "tests/backends/codegen/make_kernel.h"
#include "tests/backends/codegen/parse_kernel.h"

#include "backends/codegen/text/grid_text.h"

#include <stdexcept>

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Every form of a line.
constexpr const char* kEveryForm =
    "kernel all(x0: float32 read, x1: int32 read, y2: float32 read written, y3: int64 written)\n"
    "  # tanh at a.cpp:3 and  more\n"
    "  n0 = rows\n"
    "  n1 = 2*rows+1\n"
    "  i0 below n0, divided at multiples of 64\n"
    "  i1 below 7, inner, lanes\n"
    "  v0: int64 = i1\n"
    "  v1: int64 = size n1\n"
    "  v2: bool = less(v0, v1)\n"
    "  v3: int32 = load a0 x1[i0*n1 + 5] when v2\n"
    "  v4: float32 = load a4 x0[i0*-7 + i1 + v3*n0 below n1 + n1] when v2\n"
    "  v5: float64 = convert(v4)\n"
    "  v6: float32 = random(v0, v1) seed -3 stream 9\n"
    "  v7: float32 = result of stage 0\n"
    "  v8: float32 = select(v2, v6, v7)\n"
    "  v9: float32 = -1.09951163e+12\n"
    "  v10: float64 = inf\n"
    "  v11: float16 = bits 0x7e01\n"
    "  v12: int64 = result of stage 1\n"
    "  stage 0: running over inner axes, sum of v4\n"
    "    store v7 to a2 y2[i0*7 + i1]\n"
    "  stage 1: reduce over inner axes, arg_max of v5\n"
    "  stage 2: map once\n"
    "    store v12 to a3 y3[i0]\n"
    "  stage 3: map over inner axes\n"
    "    add v8 to a1 y2[v3*0 below 4]\n";

std::string print_parsed(std::string_view text) { return print(parse_kernel(text)); }

/// The text with one part of it replaced.
std::string changed(std::string text, std::string_view part, std::string_view other) {
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), other);
}

}  // namespace

TEST_CASE("parse_kernel: a kernel is read back from its text form") {
  CHECK(print_parsed(kEveryForm) == kEveryForm);
  const Kernel kernel = parse_kernel(kEveryForm);
  CHECK(kernel.comes_from == "tanh at a.cpp:3 and  more");
  CHECK(kernel.outer == 1);
  CHECK(kernel.accesses.size() == 5);
  CHECK(kernel.accesses[AccessId(4)].dynamic_stride == kernel.sizes[0]);
  CHECK(kernel.accesses[AccessId(4)].offset == kernel.sizes[1]);
  CHECK(kernel.accesses.front().strides[1] == ir::Dim(0));
  CHECK(kernel.stages[StageId(3)].stores[0].accumulate);
  CHECK_NOTHROW(verify(kernel));
}

TEST_CASE("parse_kernel: an access that nothing uses keeps its number") {
  KernelMaker k("holes", {4}, 1);
  const OperandId x = k.input(DType::Int8), y = k.output(DType::Int8);
  k.access(x, {9}, 8);
  const ExpressionId value = k.load(k.access(x, {1}));
  k.map({{k.access(y, {1}), value}});
  const Kernel kernel = parse_kernel(print(k.kernel));
  CHECK(print(kernel) == print(k.kernel));
  CHECK(kernel.accesses.size() == 3);
  CHECK_NOTHROW(verify(kernel));
}

TEST_CASE("parse_kernel: a constant is printed as a number where that gives the same bits") {
  const struct {
    DType dtype;
    std::uint64_t bits;
    const char* shown;
  } rows[] = {
      {DType::Bool, 1, "1"},
      {DType::Bool, 2, "bits 0x2"},
      {DType::Int8, 0x80, "-128"},
      {DType::Int64, 0x8000000000000000, "-9223372036854775808"},
      {DType::UInt64, ~std::uint64_t{0}, "18446744073709551615"},
      {DType::UInt16, 0xffff, "65535"},
      {DType::UInt16, 0x1ffff, "bits 0x1ffff"},
      {DType::Float32, 0x3dcccccd, "0.100000001"},
      {DType::Float32, 0x80000000, "-0"},
      {DType::Float32, 0xff800000, "-inf"},
      {DType::Float32, 0x00000001, "bits 0x1"},
      {DType::Float32, 0x7fc00001, "bits 0x7fc00001"},
      {DType::Float64, 0x3fb999999999999a, "0.10000000000000001"},
      {DType::Float16, 0x0001, "5.96046448e-08"},
      {DType::BFloat16, 0x3f80, "1"},
  };
  for (const auto& row : rows) {
    KernelMaker k("constant", {2}, 1);
    const ExpressionId value = k.number(row.dtype, 0);
    k.kernel.expressions.front().bits = row.bits;
    k.map({{k.access(k.output(row.dtype), {1}), value}});
    const std::string shown = print(k.kernel);
    INFO(shown);
    CHECK_THAT(shown, ContainsSubstring(std::string(" = ") + row.shown + "\n"));
    CHECK(parse_kernel(shown).expressions.front().bits == row.bits);
  }
}

TEST_CASE("parse_schedule: schedules are read back from their text form") {
  constexpr ExpressionId v3(3), v14(14);
  const GridSchedule schedules[] = {
      {.form = GridForm::Points, .threads = 128, .axes = {0, 1}},
      {.form = GridForm::Serial, .threads = 4},
      {.form = GridForm::Serial, .axes = {0, 2}, .reason = "few points; or: none"},
      {.form = GridForm::Rows, .axes = {1}, .teams = 8, .kept = {v3, v14}},
      {.form = GridForm::Columns, .axes = {0}, .teams = 32, .barrier_before = {StageId(2)}},
      {.form = GridForm::Rows, .kept = {v3}, .barrier_before = {StageId(1), StageId(3)}},
      {.form = GridForm::Owners, .axes = {0, 1}, .teams = 4},
      {.form = GridForm::Points, .axes = {0}, .elements = 16},
      {.form = GridForm::Points, .axes = {0}, .elements = 4, .unroll = 2},
      {.form = GridForm::Tile, .axes = {0, 1, 2}, .tile_axis = 1},
  };
  for (const GridSchedule& schedule : schedules) {
    INFO(print(schedule));
    CHECK(parse_schedule(print(schedule)) == schedule);
  }
}

TEST_CASE("parse_grid_text: kernels are read from the comments of CUDA text, for any node names") {
  Kernel first = parse_kernel(kEveryForm), second = first;
  first.comes_from = "\n  stage 0: map once\r\nint x;\\\n// kernel\\";
  second.name = "second";
  second.comes_from = "";
  second.sizes[0] = second.axes[0] = ir::Dim::fresh("a\nb\\");
  second.accesses[AccessId(4)].dynamic_stride = second.sizes[0];
  const GridSchedule one = schedule_grid(first, {}), other{GridForm::Serial, 32};
  const ScheduledKernel scheduled[] = {{first, one}, {second, other}};
  const std::string text = grid_text(scheduled);
  CHECK(text.find("\\\n") == std::string::npos);
  CHECK(text.find("\nint x") == std::string::npos);
  const std::vector<ParsedKernel> parsed = parse_grid_text(text);
  REQUIRE(parsed.size() == 2);
  CHECK(print(parsed[0].kernel) == print(first));
  CHECK(print(parsed[0].schedule) == print(one));
  CHECK(print(parsed[1].kernel) == print(second));
  CHECK(print(parsed[1].schedule) == print(other));
  CHECK(parsed[1].kernel.comes_from.empty());
}

TEST_CASE("parse_kernel: a malformed text is an error with its line") {
  const struct {
    const char *part, *other, *message;
  } rows[] = {
      {"kernel all", "kernels", "line 1: expected \"kernel \""},
      {"x1: int32", "x0: int32", "line 1: x0 is there twice"},
      {"float32 read", "float33 read", "line 1: no dtype is named float33"},
      {"  # tanh", "  tanh", "line 2: no line of a kernel"},
      {"  n1", "  n2", "line 4: 2 is not below 2"},
      {"i0 below n0", "i0 below n2", "line 5: 2 is not below 2"},
      {"i0 below n0, divided at multiples of 64\n  i1 below 7, inner",
       "i0 below n0, inner\n  i1 below 7", "line 6: an outer axis after an inner one"},
      {"inner, lanes", "inner lanes", "line 6: expected the end of the line"},
      {"size n1", "size n", "line 8: expected a number"},
      {"less(v0, v1)", "lesser(v0, v1)", "line 9: no op is named lesser"},
      {"less(v0, v1)", "less(v0, v2)", "line 9: 2 is not below 2"},
      {"less(v0, v1)", "less(v0, v1, v0, v1)", "line 9: too many arguments"},
      {"a0 x1[", "a0 z1[", "line 10: no operand is named z1"},
      {"i0*-7", "i2*-7", "line 11: 2 is not below 2"},
      {"-1.09951163e+12", "-1.09951163e+12f", "line 16: \"-1.09951163e+12f\" is no number"},
      {"bits 0x7e01", "bits 0x7g01", "line 18: \"7g01\" is no number"},
      {"running over", "walking over", "line 20: \"walking\" is not known"},
      {"a2 y2[i0*7", "a4 y2[i0*7", "line 21: another a4"},
      {"stage 1:", "stage 3:", "line 22: 3 is not below 2"},
  };
  for (const auto& row : rows) {
    INFO(row.part << " as " << row.other);
    const std::string text = changed(kEveryForm, row.part, row.other);
    CHECK_THROWS_AS(parse_kernel(text), std::runtime_error);
    CHECK_THROWS_WITH(parse_kernel(text), ContainsSubstring(row.message));
  }
  CHECK_THROWS_WITH(parse_kernel(""), ContainsSubstring("line 1: "));
  CHECK_THROWS_WITH(parse_schedule("tiles: blocks of 1 threads over i0"),
                    ContainsSubstring("line 1: \"tiles\" is not known"));
  CHECK_THROWS_WITH(parse_schedule("serial: blocks of 1 threads over 2 axes"),
                    ContainsSubstring("line 1: expected \" i\""));
  CHECK_THROWS_WITH(parse_schedule("points: blocks of 1 threads over i0, vectors of 0"),
                    ContainsSubstring("line 1: expected groups of points"));
  CHECK_THROWS_WITH(parse_schedule("tile: blocks of 32 threads over i0 i1"),
                    ContainsSubstring("line 1: expected \", rows along i\""));
  CHECK_THROWS_WITH(parse_schedule("rows: blocks of 1 threads over i0, 0 teams"),
                    ContainsSubstring("line 1: expected teams"));
}

TEST_CASE("parse_grid_text: a function without its kernel above it is an error with its line") {
  const Kernel kernel = parse_kernel(kEveryForm);
  const GridSchedule schedule = schedule_grid(kernel, {});
  const ScheduledKernel scheduled[] = {{kernel, schedule}};
  const std::string whole = grid_functions(scheduled);
  const std::size_t begin = whole.find("// kernel all");
  const std::size_t end = whole.find("extern \"C\"");
  REQUIRE(begin < end);
  const std::string bare = whole.substr(end);
  CHECK_THROWS_WITH(parse_grid_text(bare), ContainsSubstring("line 1: expected comments"));
  CHECK_THROWS_WITH(parse_grid_text(whole.substr(begin, end - begin) + "\n" + bare),
                    ContainsSubstring("expected comments"));
  CHECK_THROWS_WITH(parse_grid_text(changed(whole.substr(begin), "\nall(", "\nother(")),
                    ContainsSubstring("expected \"all(\" at \"other("));
}
