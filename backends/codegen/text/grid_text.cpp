// Emits the grid-stride loop of a kernel, and the bodies by form (GridForm). A kernel within a loop
// (grid/row_loop.h) is a function that a block calls for a range of points.
#include "backends/codegen/text/grid_text.h"

#include "backends/codegen/text/digits_text.h"
#include "backends/codegen/text/owners_text.h"
#include "backends/codegen/text/row_loop_text.h"
#include "backends/codegen/text/stage_text.h"
#include "backends/codegen/text/team_text.h"
#include "backends/codegen/text/text_prelude.h"
#include "backends/codegen/text/tile_text.h"
#include "backends/codegen/text/vector_memory.h"
#include "backends/codegen/text/vector_text.h"
#include "core/types/text.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace kiln::codegen {
namespace {

constexpr const char* kCallBlock = R"(
struct CallBlock {
  u64 seed, call_counter;
  s64 point, access, index, limit;
  s32 step;
  u32 lock;
};
namespace {
// Blocks of the recorded step are not stopped, so that its lowest point is recorded.
inline bool is_stopped(const volatile CallBlock* call, s32 step) { return call->step < step; }
// Only threads with an index out of range take the lock; most of them see a lower point first.
inline bool record(CallBlock* call, s32 step, s64 point, s64 access, s64 index, s64 limit) {
  volatile CallBlock* known = call;
  if (known->step == step && known->point < point) return false;
  while (atomicCAS(&call->lock, 0u, 1u) != 0u) {
  }
  __threadfence();
  const bool is_first = known->access < 0 || step < known->step ||
                        (step == known->step && point < known->point);
  if (is_first) {
    known->step = step;
    known->point = point;
    known->access = access;
    known->index = index;
    known->limit = limit;
  }
  __threadfence();
  atomicExch(&call->lock, 0u);
  return false;
}
}  // namespace
)";

/// A parameter that each launch has: the declaration without the name, and the name.
struct Parameter {
  std::string type, name;
};

/// Operands, sizes and points, in the order of the launch.
std::vector<Parameter> parameters(const Kernel& kernel) {
  std::vector<Parameter> list;
  for (const OperandId i : kernel.operands.ids()) {
    const char* type = kernel.operands[i].written ? "u8* const" : "const u8* const";
    list.push_back({type, text("b", i.number)});
  }
  for (std::size_t i = 0; i < kernel.sizes.size(); ++i) {
    list.push_back({"const s64", text("n", i)});
  }
  list.push_back({"const s64", "points"});
  return list;
}

bool may_record(const Kernel& kernel) {
  return std::any_of(kernel.accesses.begin(), kernel.accesses.end(),
                     [](const Access& access) { return bool(access.dynamic); });
}

template <class Visit>
void visit_kernels(std::span<const RowLoop> loops, const Visit& visit) {
  for (const RowLoop& loop : loops) {
    for (const RowLoopStep& step : loop.steps) {
      if (const auto* own = std::get_if<RowLoopKernel>(&step.work)) visit(*own);
    }
  }
}

class FunctionText {
 public:
  /// `may_stop`: a kernel of the program may record an index out of range.
  FunctionText(const Kernel& kernel, const GridSchedule& schedule, bool may_stop)
      : kernel_(kernel),
        schedule_(schedule),
        may_stop_(may_stop),
        stages_(kernel, lines_),
        split_(kernel, schedule, lines_) {}

  /// A function for the blocks of a loop: they compute the points from `begin` to `points`.
  std::string run_in_block() {
    is_in_block_ = true;
    std::string list;
    for (const Parameter& one : parameters(kernel_)) {
      list += (one.name == "points" ? "const s64 begin, " : "") + one.type + " " + one.name + ", ";
    }
    lines_.open(
        text("inline void ", kernel_.name, "(", list, "const s32 step, CallBlock* const call)"));
    lines_.line("const u64 seed = call->seed, call_counter = call->call_counter;");
    const std::string shared = write_body();
    lines_.close_to(0);
    return shared + lines_.str();
  }

  std::string run() {
    lines_.line(text("extern \"C\" __global__ void __launch_bounds__(", schedule_.threads, ")"));
    const std::string table = schedule_.batch > 1 ? open_batch() : "";
    if (schedule_.batch == 1) open_one();
    if (may_stop_) lines_.line("if (is_stopped(call, step)) return;");
    lines_.line("const u64 seed = call->seed, call_counter = call->call_counter;");
    const std::string shared = write_body();
    lines_.close_to(0);
    return table + shared + commented(print(kernel_) + print(schedule_)) + lines_.str();
  }

 private:
  void open_one() {
    std::string list;
    for (const Parameter& one : parameters(kernel_)) list += one.type + " " + one.name + ", ";
    lines_.open(text(kernel_.name, "(", list, split_.parameters(),
                     "const s32 step, CallBlock* const call)"));
    lines_.line("const s64 block = blockIdx.x, blocks = gridDim.x;");
  }

  /// Opens a function that takes a table of parameters; returns the declaration of the table.
  std::string open_batch() {
    const std::string table = kernel_.name + "_table";
    lines_.open(text(kernel_.name, "(const __grid_constant__ ", table,
                     " table, const s32 step, CallBlock* const call)"));
    find_row();
    std::string members;
    for (const Parameter& one : parameters(kernel_)) {
      members += text("    ", one.type, " ", one.name, ";\n");
      lines_.line(text(one.type, " ", one.name, " = row.", one.name, ";"));
    }
    return text("struct ", table, " {\n  struct Row {\n", members,
                "    const s32 first_block, blocks;\n  } rows[", schedule_.batch, "];\n};\n");
  }

  /// Declares the row of the block: the last one whose first block is not behind it, by binary
  /// search.
  void find_row() {
    const auto rows = static_cast<unsigned>(schedule_.batch);
    lines_.line("s32 launch = 0;");
    lines_.line("#pragma unroll");
    lines_.open(text("for (s32 half = ", std::bit_floor(rows - 1), "; half > 0; half /= 2)"));
    lines_.line(text("const s32 later = launch + half;"));
    lines_.line(text("if (later < ", rows,
                     " && table.rows[later].first_block <= s32(blockIdx.x)) launch = later;"));
    lines_.close();
    lines_.line("const auto& row = table.rows[launch];");
    lines_.line("const s64 block = s64(blockIdx.x) - row.first_block, blocks = row.blocks;");
  }

  /// Returns the declarations of shared memory.
  std::string write_body() {
    if (schedule_.form == GridForm::Owners) {
      OwnersText owners(kernel_, schedule_, lines_);
      owners.write();
      return owners.shared();
    }
    if (schedule_.form == GridForm::Tile) {
      TileText tile(kernel_, schedule_, lines_);
      tile.write();
      return tile.shared();
    }
    if (has_teams(schedule_)) {
      TeamText team(kernel_, schedule_, lines_);
      team.declare();
      open_teams();
      team.load_held();
      const int depth = lines_.depth();
      open_loops();
      lines_.line(text("const s64 outer = ", outer_number(kernel_), ";"));
      team.write();
      lines_.close_to(depth);
      team.store_held();
      return team.shared();
    }
    write_threads();
    return "";
  }

  void write_threads() {
    if (is_in_block_) {
      lines_.line("const s64 stride = blockDim.x;");
      return write_points("begin + threadIdx.x");
    }
    lines_.line("const s64 stride = blocks * blockDim.x;");
    lines_.line("const s64 thread = block * blockDim.x + threadIdx.x;");
    if (schedule_.elements == 1 && schedule_.unroll == 1) return write_points("thread");
    VectorText groups(kernel_, schedule_, lines_);
    if (schedule_.elements == 1) return groups.write();
    lines_.line(text("const bool is_aligned = ", groups.condition(), ";"));
    lines_.open("if (is_aligned)");
    groups.write();
    lines_.close();
    const int elements = schedule_.elements;
    write_points(text("(is_aligned ? points / ", elements, " * ", elements, " : 0) + thread"));
  }

  void write_points(const std::string& first) {
    lines_.open(text("for (s64 number = ", first, "; number < points; number += stride)"));
    write_digits(kernel_, schedule_.axes, "number", lines_);
    open_loops();
    lines_.line(text("const s64 point = ", outer_number(kernel_), ";"));
    lines_.line(out_of_range_lambda());
    for (const StageId s : kernel_.stages.ids()) stages_.write(s);
  }

  /// Opens the loop over outer points. All threads of a block run the same number of iterations, so
  /// that barriers and shuffles are uniform.
  void open_teams() {
    const int lanes = lanes_of(schedule_), teams = schedule_.teams;
    const bool is_rows = schedule_.form == GridForm::Rows;
    lines_.line(text("const s32 lane = threadIdx.x ", is_rows ? "% " : "/ ",
                     is_rows ? lanes : teams, ", team = threadIdx.x ", is_rows ? "/ " : "% ",
                     is_rows ? lanes : teams, ";"));
    std::string inner = "1";
    for (std::size_t axis = static_cast<std::size_t>(kernel_.outer); axis < kernel_.axes.size();
         ++axis) {
      inner += " * " + stages_.size(kernel_.axes[axis]);
    }
    lines_.line(text("const s64 inner = ", inner, ";"));
    split_.declare_part();
    const char* of_part = schedule_.split_k ? " / parts * " : " * ";
    const std::string begin = is_in_block_ ? "begin" : text("block", of_part, teams);
    const std::string stride = is_in_block_ ? text(teams) : text("blocks", of_part, teams);
    lines_.open(text("for (s64 first = ", begin, "; first < points; first += ", stride, ")"));
    lines_.line("const bool live = first + team < points;");
    lines_.line("const s64 number = live ? first + team : points - 1;");
    write_digits(kernel_, schedule_.axes, "number", lines_);
  }

  /// Opens loops over the outer axes that are not parallel.
  void open_loops() {
    const std::vector<int>& axes = schedule_.axes;
    for (int axis = 0; axis < kernel_.outer; ++axis) {
      if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
      stages_.open_loop(axis, "0", stages_.size(kernel_.axes[static_cast<std::size_t>(axis)]));
    }
  }

  const Kernel& kernel_;
  const GridSchedule& schedule_;
  const bool may_stop_;
  bool is_in_block_ = false;
  TextLines lines_;
  StageText stages_;
  SplitText split_;
};

}  // namespace

std::string block_function(const RowLoopKernel& step) {
  return FunctionText(step.kernel, step.schedule, false).run_in_block();
}

std::string commented(const std::string& lines) {
  std::string out;
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    out += "// " + lines.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return out;
}

namespace {

/// The functions of a program, and what precedes them.
class ProgramText {
 public:
  ProgramText(std::span<const ScheduledKernel> kernels, std::span<const RowLoop> loops)
      : has_loops_(!loops.empty()) {
    bool may_stop = std::any_of(kernels.begin(), kernels.end(),
                                [](const auto& one) { return may_record(one.kernel); });
    visit_kernels(loops, [&](const RowLoopKernel& one) {
      verify(one.kernel);
      add_formulas(one.kernel, used_);
      may_stop = may_stop || may_record(one.kernel);
    });
    for (const ScheduledKernel& one : kernels) {
      verify(one.kernel);
      add_formulas(one.kernel, used_);
      const std::string text = FunctionText(one.kernel, one.schedule, may_stop).run();
      functions_.push_back({"\n" + text, {one.kernel.name}});
    }
    for (const RowLoop& loop : loops) {
      functions_.push_back({"\n" + row_loop_text(loop, may_stop), {loop.name}});
    }
  }

  /// The declarations that functions need, without the prelude.
  std::string declarations() const {
    return std::string(kCallBlock) + team_functions() + vector_functions() +
           (has_loops_ ? row_loop_functions() : "");
  }
  std::string prelude() const { return text_prelude(TextDialect::Cuda, used_); }
  /// One function each.
  const std::vector<GridTextPart>& functions() const { return functions_; }

 private:
  bool has_loops_;
  Formulas used_;
  std::vector<GridTextPart> functions_;
};

/// The longest functions first, each to the part that is shortest so far.
std::vector<std::vector<std::size_t>> divided(const std::vector<GridTextPart>& functions,
                                              std::size_t parts) {
  std::vector<std::size_t> order(functions.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return functions[a].text.size() > functions[b].text.size();
  });
  std::vector<std::vector<std::size_t>> members(parts);
  std::vector<std::size_t> lengths(parts, 0);
  for (const std::size_t one : order) {
    const auto shortest = static_cast<std::size_t>(
        std::min_element(lengths.begin(), lengths.end()) - lengths.begin());
    members[shortest].push_back(one);
    lengths[shortest] += functions[one].text.size();
  }
  for (std::vector<std::size_t>& part : members) std::sort(part.begin(), part.end());
  return members;
}

}  // namespace

std::string grid_functions(std::span<const ScheduledKernel> kernels,
                           std::span<const RowLoop> loops) {
  const ProgramText program(kernels, loops);
  std::string out = program.declarations();
  for (const GridTextPart& one : program.functions()) out += one.text;
  return out;
}

std::string grid_text(std::span<const ScheduledKernel> kernels, std::span<const RowLoop> loops) {
  return grid_texts(kernels, loops, 1)[0].text;
}

std::vector<GridTextPart> grid_texts(std::span<const ScheduledKernel> kernels,
                                     std::span<const RowLoop> loops, std::size_t max_parts) {
  // NVRTC 13.0 takes as long for the prelude as for 3,000 characters of functions.
  constexpr std::size_t kMinLength = 16384;
  const ProgramText program(kernels, loops);
  const std::vector<GridTextPart>& functions = program.functions();
  std::size_t length = 0;
  for (const GridTextPart& one : functions) length += one.text.size();
  const std::size_t parts = std::min({max_parts, length / kMinLength, functions.size()});
  std::vector<GridTextPart> texts;
  for (const auto& members : divided(functions, std::max<std::size_t>(parts, 1))) {
    GridTextPart& part = texts.emplace_back();
    part.text = program.prelude() + program.declarations();
    for (const std::size_t one : members) {
      part.text += functions[one].text;
      part.functions.push_back(functions[one].functions[0]);
    }
  }
  return texts;
}

}  // namespace kiln::codegen
