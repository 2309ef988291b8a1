// For each chunk of the index list, warps write ballots to shared memory: a bit per point that adds
// to the block's range. Teams then iterate over the bits in order. Chunks are double-buffered, so
// that one barrier per chunk suffices.
#include "backends/codegen/text/owners_text.h"

#include "backends/codegen/grid/owners.h"
#include "backends/codegen/kernel/needed.h"
#include "backends/codegen/text/digits_text.h"
#include "backends/codegen/text/scalar_text.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

constexpr int kPointsInFlight = 4;

const Store& store_of(const Kernel& kernel) { return kernel.stages.front().stores[0]; }

}  // namespace

OwnersText::OwnersText(const Kernel& kernel, const GridSchedule& schedule, TextLines& lines)
    : kernel_(kernel),
      schedule_(schedule),
      lines_(lines),
      point_(kernel, lines),
      store_(store_of(kernel)),
      access_(kernel.accesses[store_.access]),
      dtype_(kernel.expressions[store_.value].dtype),
      chunk_(owner_chunk(schedule.threads)),
      word_(owner_word_points(schedule.threads)),
      checks_loads_(loads_at_index(kernel)) {}

std::string OwnersText::owned() const { return kernel_.name + "_owned"; }
std::string OwnersText::ballots() const { return kernel_.name + "_ballots"; }

std::string OwnersText::shared() const {
  return text("static __shared__ s64 ", owned(), "[2][", chunk_, "];\nstatic __shared__ u32 ",
              ballots(), "[2][", chunk_ / word_, "];\n");
}

void OwnersText::write() {
  open_unit();
  declare_element();
  lines_.open(text("for (s64 base = 0; base < inner; base += ", chunk_, ")"));
  evaluate_indices();
  share_indices();
  lines_.line("__syncthreads();");
  lines_.open("if (live)");
  add_points();
  lines_.close();
  lines_.line("turn ^= 1;");
  lines_.close();
  lines_.line("leave();");
  lines_.close();
}

/// See OwnerUnits.
void OwnersText::open_unit() {
  const int lanes = lanes_of(schedule_);
  std::string inner = "1";
  for (std::size_t axis = at(kernel_.outer); axis < kernel_.axes.size(); ++axis) {
    inner += " * " + point_.size(kernel_.axes[axis]);
  }
  lines_.line(text("const s64 inner = ", inner, ";"));
  lines_.line(text("const s64 limit = ", point_.size(access_.dynamic_limit), ";"));
  lines_.line(
      text("const s32 lane = threadIdx.x % ", lanes, ", team = threadIdx.x / ", lanes, ";"));
  lines_.line(text("const s64 tiles = (points - 1) / ", lanes, " + 1;"));
  lines_.line("const s64 ranges = blocks > tiles ? blocks / tiles : 1;");
  lines_.line("const s64 share = (limit - 1) / ranges + 1;");
  lines_.line("s32 turn = 0;");
  lines_.open("for (s64 unit = block; unit < tiles * ranges; unit += blocks)");
  lines_.line("const s64 first = unit % ranges * share;");
  lines_.line(text("const bool live = unit / ranges * ", lanes, " + lane < points;"));
  lines_.line(text("const s64 number = live ? unit / ranges * ", lanes, " + lane : points - 1;"));
  write_digits(kernel_, schedule_.axes, "number", lines_);
  lines_.line(text("const s64 outer = ", outer_number(kernel_), ";"));
}

/// Declares `sum`, a register copy of the element at index `held` to which the thread added last,
/// and leave(), which writes it back.
void OwnersText::declare_element() {
  lines_.line("s64 held = -1;");
  lines_.line(text(type_text(dtype_), " sum = {};"));
  lines_.open("const auto leave = [&]");
  lines_.line(
      text("if (held >= 0) ", store_text(dtype_, point_.element(store_.access, "held"), "sum")));
  lines_.close();
  lines_.line(";");
}

void OwnersText::write_inner_digits(const std::string& point) {
  std::vector<int> inner;
  for (int axis = kernel_.outer; axis < static_cast<int>(kernel_.axes.size()); ++axis) {
    inner.push_back(axis);
  }
  write_digits(kernel_, inner, point, lines_);
}

// ---- indices ----

void OwnersText::evaluate_indices() {
  lines_.line(text("s64 owned[", kOwnerPoints, "];"));
  lines_.line("#pragma unroll");
  lines_.open(text("for (int k = 0; k < ", kOwnerPoints, "; ++k)"));
  lines_.line(text("const s64 p = base + k * ", schedule_.threads, " + threadIdx.x;"));
  lines_.line("owned[k] = -1;");
  lines_.line("if (p >= inner) continue;");
  write_inner_digits("p");
  // Indices out of range in loads are recorded where all expressions of a point are evaluated.
  if (checks_loads_) lines_.line("const auto out_of_range = [](s64, s64, s64) { return false; };");
  point_.begin();
  point_.evaluate({access_.dynamic, access_.when});
  if (access_.when) lines_.line(text("if (!bool(v", access_.when.number, ")) continue;"));
  lines_.line(text("const s64 index = ", point_.index(access_), ";"));
  lines_.line("const bool is_own = index >= first && index - first < share;");
  lines_.line("if (is_own && inside(index, limit)) owned[k] = index - first;");
  lines_.open("if (unit == 0 && !inside(index, limit))");
  record_out_of_range();
  lines_.close();
  lines_.close();
}

/// No thread owns an index that is out of range, so unit 0 records it, for outer point 0, the
/// lowest point with that index.
void OwnersText::record_out_of_range() {
  lines_.line("const s64 point = p;");
  lines_.line(out_of_range_lambda());
  if (checks_loads_) {
    for (int axis = 0; axis < kernel_.outer; ++axis) {
      lines_.line(text("const s64 i", axis, " = 0;"));
    }
    point_.begin();
    point_.evaluate(roots_of(kernel_, kernel_.stages.front()));
  }
  lines_.line(text("out_of_range(", store_.access.number, ", index, limit);"));
}

void OwnersText::share_indices() {
  const int threads = schedule_.threads;
  lines_.line("#pragma unroll");
  lines_.open(text("for (int k = 0; k < ", kOwnerPoints, "; ++k)"));
  lines_.line("const u32 ballot = __ballot_sync(~0u, owned[k] >= 0);");
  lines_.line(text("if (threadIdx.x % ", word_, " == 0) ", ballots(), "[turn][k * ",
                   threads / word_, " + threadIdx.x / ", word_, "] = ballot;"));
  lines_.line(text(owned(), "[turn][k * ", threads, " + threadIdx.x] = owned[k];"));
  lines_.close();
}

// ---- additions ----

/// Loads several values and elements before the first addition, so that the loads overlap.
void OwnersText::add_points() {
  const char* type = type_text(dtype_);
  const int points = kPointsInFlight;
  declare_next();
  declare_value();
  lines_.open("for (;;)");
  lines_.line(text("s32 own[", points, "];"));
  lines_.line(text("s64 index[", points, "];"));
  lines_.line(text(type, " x[", points, "] = {}, y[", points, "] = {};"));
  open_points();
  lines_.line("own[j] = next();");
  lines_.line(text("index[j] = own[j] < 0 ? -1 : first + ", owned(), "[turn][own[j]];"));
  lines_.close();
  lines_.line("if (own[0] < 0) break;");
  open_points();
  lines_.line("if (own[j] < 0) continue;");
  lines_.line("x[j] = value_at(base + own[j]);");
  lines_.line(text("y[j] = index[j] == held ? sum : ",
                   load_text(dtype_, point_.element(store_.access, "index[j]")), ";"));
  lines_.close();
  open_points();
  lines_.line("if (own[j] < 0) continue;");
  write_addition();
  lines_.close();
  lines_.close();
}

void OwnersText::open_points() {
  lines_.line("#pragma unroll");
  lines_.open(text("for (int j = 0; j < ", kPointsInFlight, "; ++j)"));
}

/// Forwards the sum to later points of the batch with the same index,
/// as their loaded element is stale.
void OwnersText::write_addition() {
  lines_.open("if (index[j] != held)");
  lines_.line("leave();");
  lines_.line("held = index[j];");
  lines_.line("sum = y[j];");
  lines_.close();
  const std::string added = apply_text(
      ir::Op::Add, dtype_, dtype_,
      {operand_text(ir::Op::Add, dtype_, "sum"), operand_text(ir::Op::Add, dtype_, "x[j]")});
  lines_.line(text("sum = ", added, ";"));
  lines_.line("#pragma unroll");
  lines_.open(text("for (int k = j + 1; k < ", kPointsInFlight, "; ++k)"));
  lines_.line("if (index[k] == held) y[k] = sum;");
  lines_.close();
}

/// Declares next(): the next point of the chunk whose index the team owns; below 0: none.
void OwnersText::declare_next() {
  lines_.line("s32 word = 0;");
  lines_.line(text("u32 rest = ", ballots(), "[turn][0];"));
  lines_.open("const auto next = [&]() -> s32");
  lines_.open("for (;;)");
  lines_.open("while (rest == 0)");
  lines_.line(text("if (++word >= ", chunk_ / word_, ") return -1;"));
  lines_.line(text("rest = ", ballots(), "[turn][word];"));
  lines_.close();
  lines_.line(text("const s32 one = word * ", word_, " + __ffs(s32(rest)) - 1;"));
  lines_.line("rest &= rest - 1;");
  if (schedule_.teams == 1) {
    lines_.line("return one;");
  } else {
    lines_.line(
        text("if ((", owned(), "[turn][one] & ", schedule_.teams - 1, ") == team) return one;"));
  }
  lines_.close();
  lines_.close();
  lines_.line(";");
}

/// Declares value_at(p). If loads have dynamic indices, it evaluates all expressions of the point
/// in the order of the kernel, so that the first index out of range is recorded.
void OwnersText::declare_value() {
  lines_.open(text("const auto value_at = [&](s64 p) -> ", type_text(dtype_)));
  write_inner_digits("p");
  point_.begin();
  if (checks_loads_) {
    lines_.line("const s64 point = outer * inner + p;");
    lines_.line(out_of_range_lambda());
    point_.evaluate(roots_of(kernel_, kernel_.stages.front()));
  } else {
    point_.evaluate({store_.value});
  }
  lines_.line(text("return v", store_.value.number, ";"));
  lines_.close();
  lines_.line(";");
}

}  // namespace kiln::codegen
