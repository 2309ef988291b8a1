// Tests the CUDA text of kernels with the machine's NVRTC, where there is one. The emulation cannot
// show whether NVRTC accepts the text, nor which resources the machine code needs.
#include "tests/support/catch.h"
#include "tests/backends/codegen/machines_compiler.h"
#include "tests/backends/codegen/make_kernel.h"

#include "backends/codegen/text/grid_text.h"
#include "backends/codegen/text/op_text.h"
#include "core/types/text.h"

#include <algorithm>

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Op;

namespace {

bool takes(const ir::OpDef& d, DType dtype) {
  return d.op == Op::Select || (d.dtypes & ir::dtype_bit(dtype)) != 0;
}

/// y = op(x, z, ..) for every op that takes the dtype, and a cast to each dtype.
Kernel every_op(DType dtype) {
  KernelMaker k(text("ops_of_", dtype_name(dtype)), {64, 32}, 2);
  const ExpressionId x = k.load(k.access(k.input(dtype), {32, 1}));
  const ExpressionId z = k.load(k.access(k.input(dtype), {1, 64}));
  const ExpressionId condition = k.load(k.access(k.input(DType::Bool), {32, 1}));
  std::vector<Store> stores;
  const auto store = [&](ExpressionId value) {
    const DType result = k.kernel.expressions[value].dtype;
    stores.push_back({k.access(k.output(result), {32, 1}), value});
  };
  for (const OpText& row : op_texts()) {
    const ir::OpDef& d = ir::def(row.op);
    if (!takes(d, dtype)) continue;
    const std::vector<ExpressionId> arguments = d.arity == 1   ? std::vector{x}
                                                : d.arity == 2 ? std::vector{x, z}
                                                               : std::vector{condition, x, z};
    store(k.apply(row.op, arguments));
  }
  for (int i = 0; i < kDTypeCount; ++i) {
    if (static_cast<DType>(i) != dtype) store(k.convert(static_cast<DType>(i), x));
  }
  k.map(stores);
  return k.kernel;
}

/// Rows gathered by an index, reduced, and random numbers: every expression that is not an op.
Kernel every_form() {
  const ir::Dim rows = ir::Dim::fresh("rows");
  KernelMaker k("forms", {rows, 8}, 1);
  const ExpressionId index = k.load(k.access(k.input(DType::Int32), {1, 0}));
  const OperandId table = k.input(DType::Float32);
  const ExpressionId x = k.load(k.access_at(table, {0, 1}, index, 8, 100));
  const ExpressionId draw = k.random(DType::Float32, k.axis(0), k.axis(1), 7, 9);
  const StageId sum = k.reduce(Combiner::Sum, k.apply(Op::Mul, {x, draw}));
  const StageId arg_max = k.reduce(Combiner::ArgMax, x);
  k.map({{k.access(k.output(DType::Float32), {1, 0}), k.result(sum)},
         {k.access(k.output(DType::Int64), {1, 0}), k.result(arg_max)}},
        false);
  return k.kernel;
}

/// Reductions of rows or columns by teams, a value that stages keep, and memory that lanes share.
Kernel by_teams(const char* name, DType dtype, const ir::Dim& inner, bool is_columns) {
  KernelMaker k(name, {64, inner}, 1);
  const OperandId in = k.input(dtype), y = k.output(dtype, true);
  const auto access = [&](OperandId operand) {
    return is_columns ? k.access(operand, {1, 64}) : k.access(operand, {inner, 1});
  };
  const AccessId out = access(y);
  const ExpressionId x = k.load(access(in)), first = k.load(k.access(y, {1, 0}));
  const StageId sum = k.reduce(dtype == DType::Bool ? Combiner::Max : Combiner::Sum, x, {{out, x}});
  const StageId min = k.reduce(Combiner::Min, x), arg_max = k.reduce(Combiner::ArgMax, x);
  k.map({{k.access(k.output(DType::Int64), {1, 0}), k.result(arg_max)}}, false);
  const Op join = dtype == DType::Bool ? Op::Or : Op::Maximum;
  const ExpressionId larger = k.apply(join, {k.result(sum), k.result(min)});
  const ExpressionId result = k.apply(join, {larger, k.apply(join, {first, x})});
  k.map({{access(k.output(dtype)), result}});
  return k.kernel;
}

/// Every combiner, over an inner range that several blocks share.
Kernel divided(const char* name, DType dtype, const ir::Dim& inner, bool is_columns) {
  KernelMaker k(name, {2, inner}, 1);
  const OperandId in = k.input(dtype);
  const ExpressionId x = k.load(is_columns ? k.access(in, {1, 2}) : k.access(in, {inner, 1}));
  std::vector<Store> stores;
  for (const Combiner combiner :
       {Combiner::Max, Combiner::Sum, Combiner::ArgMax, Combiner::Min, Combiner::Prod}) {
    const ExpressionId result = k.result(k.reduce(combiner, x));
    const DType result_dtype = k.kernel.expressions[result].dtype;
    stores.push_back({k.access(k.output(result_dtype), {1, 0}), result});
  }
  k.map(stores, false);
  return k.kernel;
}

/// Running values of each row.
Kernel running(const char* name, DType dtype, const ir::Dim& inner) {
  KernelMaker k(name, {64, inner}, 1);
  const StageId sum = k.running(Combiner::Sum, k.load(k.access(k.input(dtype), {inner, 1})), {});
  const AccessId to = k.access(k.output(dtype), {inner, 1});
  k.kernel.stages.back().stores.push_back({to, k.result(sum)});
  return k.kernel;
}

/// Teams that are a part of a warp, a warp, and several warps, with and without unrolled loops.
std::vector<Kernel> every_team() {
  const ir::Dim n = ir::Dim::fresh("n");
  return {by_teams("rows_8", DType::Float32, 8, false),
          by_teams("rows_100", DType::Float64, 100, false),
          by_teams("rows_1000", DType::Float32, 1000, false),
          by_teams("rows_huge", DType::Int8, 1 << 20, false),
          by_teams("rows_n", DType::Bool, n, false),
          by_teams("rows_n_64", DType::Int64, n, false),
          by_teams("columns_100", DType::Float32, 100, true),
          by_teams("columns_n", DType::UInt16, n, true),
          divided("divided_rows", DType::Float32, 1 << 20, false),
          divided("divided_rows_n", DType::Int16, n, false),
          divided("divided_columns", DType::Float64, n, true),
          running("running_100", DType::Float64, 100),
          running("running_n", DType::Int8, n)};
}

/// Additions at an index by owners of columns and of single numbers.
std::vector<Kernel> every_owner() {
  std::vector<Kernel> kernels;
  const ir::Dim n = ir::Dim::fresh("n");
  for (const DType dtype : {DType::Float32, DType::Float16, DType::Int8, DType::Float64}) {
    for (const ir::Dim& columns : {ir::Dim(1), ir::Dim(256), n}) {
      KernelMaker k(text("owners_", kernels.size()), {columns, 2048}, 1);
      const ExpressionId index = k.load(k.access(k.input(DType::Int32), {0, 1}));
      const ExpressionId from = k.load(k.access(k.input(DType::Int64), {0, 1}));
      const OperandId table = k.input(dtype), y = k.output(dtype, true);
      const bool is_found = columns == n;  // loaded at an index that may be out of range
      const ExpressionId x = k.load(is_found ? k.access_at(table, {1, 0}, from, columns, 86)
                                             : k.access(table, {1, columns}));
      k.map({{k.access_at(y, {1, 0}, index, columns, 86), x, true}});
      kernels.push_back(k.kernel);
    }
  }
  return kernels;
}

/// y += x, and y only where a row's guard holds, for sizes known at the launch.
Kernel by_groups(DType dtype) {
  const ir::Dim rows = ir::Dim::fresh("rows"), columns = ir::Dim::fresh("columns");
  KernelMaker k(text("groups_of_", dtype_name(dtype)), {rows, columns}, 2);
  const ExpressionId guard = k.apply(Op::Less, {k.axis(0), k.number(DType::Int64, 5)});
  const ExpressionId x = k.load(k.guard(k.access(k.input(dtype), {columns, 1}), guard));
  const ExpressionId z = k.load(k.access(k.input(dtype), {1, 0}));
  const ExpressionId both = k.apply(dtype == DType::Bool ? Op::Or : Op::Maximum, {x, z});
  k.map({{k.access(k.output(dtype, true), {columns, 1}), both, dtype != DType::Bool},
         {k.guard(k.access(k.output(dtype), {columns, 1}), guard), x}});
  return k.kernel;
}

/// y[j, i] = x[i, j], and the same transposed back.
Kernel by_tiles(DType dtype) {
  const ir::Dim rows = ir::Dim::fresh("rows"), columns = ir::Dim::fresh("columns");
  KernelMaker k(text("tiles_of_", dtype_name(dtype)), {columns, rows}, 2);
  const ExpressionId x = k.load(k.access(k.input(dtype), {1, columns}));
  k.map({{k.access(k.output(dtype), {rows, 1}), x}, {k.access(k.output(dtype), {1, columns}), x}});
  return k.kernel;
}

}  // namespace

TEST_CASE("NVRTC: the CUDA text of every op, cast and form compiles", "[slow]") {
  const auto compiler = machines_compiler();
  if (compiler == nullptr) return;
  std::vector<Kernel> kernels = every_team();
  kernels.push_back(every_form());
  for (const Kernel& kernel : every_owner()) kernels.push_back(kernel);
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    kernels.push_back(every_op(dtype));
    kernels.push_back(by_groups(dtype));
    kernels.push_back(by_tiles(dtype));
  }
  std::vector<GridSchedule> schedules;
  for (const Kernel& kernel : kernels) schedules.push_back(schedule_grid(kernel, {}));
  std::vector<ScheduledKernel> scheduled;
  for (std::size_t i = 0; i < kernels.size(); ++i) scheduled.push_back({kernels[i], schedules[i]});
  const std::string program = grid_text(scheduled);
  const std::vector<int>& known = compiler->architectures();
  int compiled = 0;
  for (const int architecture : {80, 90, 100}) {
    if (std::find(known.begin(), known.end(), architecture) == known.end()) continue;
    INFO("sm_" << architecture);
    const cuda::api::CompiledText result = compiler->compile(program, architecture, "kernels.cu");
    for (const Kernel& kernel : kernels) {
      CHECK(result.ptx.find(".visible .entry " + kernel.name + "(") != std::string::npos);
    }
    // Elements are loaded as words, not byte by byte.
    CHECK(result.ptx.find("ld.global.f32") != std::string::npos);
    CHECK(result.ptx.find("st.global.v4.f32") != std::string::npos);
    ++compiled;
  }
  CHECK(compiled >= 1);
}

TEST_CASE("NVRTC: teams and owners keep values and partial results in registers", "[slow]") {
  const auto compiler = machines_compiler();
  if (compiler == nullptr) return;
  std::vector<Kernel> kernels = every_team();
  for (const Kernel& kernel : every_owner()) kernels.push_back(kernel);
  std::vector<GridSchedule> schedules;
  for (const Kernel& kernel : kernels) schedules.push_back(schedule_grid(kernel, {}));
  CHECK(!schedules[2].kept.empty());
  CHECK(schedules.back().form == GridForm::Owners);
  CHECK((schedules[8].split_k && schedules[9].split_k && schedules[10].split_k));
  std::vector<ScheduledKernel> scheduled;
  for (std::size_t i = 0; i < kernels.size(); ++i) scheduled.push_back({kernels[i], schedules[i]});
  const std::string ptx = compiler->compile(grid_text(scheduled), 90, "kernels.cu").ptx;
  CHECK(ptx.find("shfl.sync.bfly") != std::string::npos);
  CHECK(ptx.find("vote.sync.ballot") != std::string::npos);
  CHECK(ptx.find("bar.sync") != std::string::npos);
  CHECK(ptx.find("atom.global.add.u32") != std::string::npos);
  CHECK(ptx.find(".local") == std::string::npos);
}
