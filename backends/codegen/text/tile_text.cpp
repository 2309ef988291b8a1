// Each thread issues all its loads of a tile before the first use. Rows of shared memory are padded
// by one element to avoid bank conflicts.
#include "backends/codegen/text/tile_text.h"

#include "backends/codegen/grid/tile.h"
#include "backends/codegen/kernel/needed.h"
#include "backends/codegen/text/scalar_text.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

constexpr std::size_t kMaxEarlyLoads = 8;  // with four points each: 32 registers of floats

DType dtype_of(const Kernel& kernel, AccessId access) {
  return kernel.operands[kernel.accesses[access].operand].dtype;
}

}  // namespace

std::string tile_memory(const Kernel& kernel, AccessId access) {
  return text(kernel.name, "_tile", access.number);
}

TileText::TileText(const Kernel& kernel, const GridSchedule& schedule, TextLines& lines)
    : kernel_(kernel),
      schedule_(schedule),
      lines_(lines),
      point_(kernel, lines),
      accesses_(tile_accesses(kernel, schedule.tile_axis)),
      rows_(schedule.threads / kTileSide),
      turns_(kTileSide / rows_) {}

std::string TileText::shared() const {
  std::string out;
  for (const AccessId access : accesses_) {
    out += text("static __shared__ ", type_text(dtype_of(kernel_, access)), " ",
                tile_memory(kernel_, access), "[", kTileSide, "][", kTileSide + 1, "];\n");
  }
  return out;
}

void TileText::write() {
  const bool has_stores = std::any_of(stage().stores.begin(), stage().stores.end(),
                                      [&](const Store& store) { return is_tiled(store.access); });
  open_tiles();
  load_others();
  load_tiled();
  compute();
  if (has_stores) store_tiled();
  lines_.line("__syncthreads();");  // before the memory is written again
  lines_.close();
}

/// Opens the loop over tiles; declares the indices of the other axes and of the tile's first point.
void TileText::open_tiles() {
  const int last = static_cast<int>(kernel_.axes.size()) - 1;
  const auto extent = [&](int axis) { return point_.size(kernel_.axes[at(axis)]); };
  const std::string side = text(kTileSide);
  lines_.line(
      text("const s64 rows = ", extent(schedule_.tile_axis), ", columns = ", extent(last), ";"));
  lines_.line(text("const s64 row_tiles = (rows + ", kTileSide - 1, ") / ", side,
                   ", column_tiles = (columns + ", kTileSide - 1, ") / ", side, ";"));
  std::string tiles = "row_tiles * column_tiles";
  for (int axis = 0; axis < last; ++axis) {
    if (axis != schedule_.tile_axis) tiles += " * " + extent(axis);
  }
  lines_.line(text("const s64 tiles = ", tiles, ";"));
  lines_.line(text("const s32 lane = threadIdx.x % ", side, ", warp = threadIdx.x / ", side, ";"));
  lines_.open("for (s64 tile = block; tile < tiles; tile += blocks)");
  lines_.line(text("const s64 first_column = tile % column_tiles * ", side, ";"));
  lines_.line("s64 rest = tile / column_tiles;");
  lines_.line(text("const s64 first_row = rest % row_tiles * ", side, ";"));
  lines_.line("rest /= row_tiles;");
  for (int axis = last - 1; axis >= 0; --axis) {
    if (axis == schedule_.tile_axis) continue;
    lines_.line(text("const s64 i", axis, " = rest % ", extent(axis), ";"));
    lines_.line(text("rest /= ", extent(axis), ";"));
  }
}

void TileText::open_turns(Lanes lanes) {
  const bool is_row = lanes == Lanes::TileAxis;
  const std::size_t last = kernel_.axes.size() - 1;
  lines_.line("#pragma unroll");
  lines_.open(text("for (int turn = 0; turn < ", turns_, "; ++turn)"));
  lines_.line(text("const s32 line = warp + turn * ", rows_, ";"));
  lines_.line(text("const s64 i", schedule_.tile_axis, " = first_row + ", is_row ? "lane" : "line",
                   ", i", last, " = first_column + ", is_row ? "line" : "lane", ";"));
  lines_.line(text("if (i", schedule_.tile_axis, " >= rows || i", last, " >= columns) continue;"));
  point_.begin();
}

std::string TileText::shared_element(AccessId access, Lanes lanes) const {
  const bool is_row = lanes == Lanes::TileAxis;
  return text(tile_memory(kernel_, access), is_row ? "[line][lane]" : "[lane][line]");
}

bool TileText::is_tiled(AccessId access) const {
  return std::find(accesses_.begin(), accesses_.end(), access) != accesses_.end();
}

std::vector<ExpressionId> TileText::loads(bool are_tiled) const {
  const ExpressionFlags wanted = needed(kernel_, roots_of(kernel_, stage()));
  std::vector<ExpressionId> list;
  for (const ExpressionId i : wanted.ids()) {
    const Expression& e = kernel_.expressions[i];
    if (!wanted[i] || e.kind != ExpressionKind::Load || is_tiled(e.access) != are_tiled) continue;
    // A guard may depend on values that are in shared memory later.
    if (are_tiled || !kernel_.accesses[e.access].when) list.push_back(i);
  }
  return list;
}

/// Loads untiled values into registers.
void TileText::load_others() {
  const std::vector<ExpressionId> list = loads(false);
  if (list.empty() || list.size() > kMaxEarlyLoads) return;
  for (const ExpressionId load : list) {
    lines_.line(text(type_text(point_.dtype_of(load)), " x", load.number, "[", turns_, "];"));
  }
  open_turns(Lanes::LastAxis);
  for (const ExpressionId load : list) {
    lines_.line(text("x", load.number, "[turn] = ", point_.value(kernel_.expressions[load]), ";"));
  }
  lines_.close();
}

void TileText::load_tiled() {
  const std::vector<ExpressionId> list = loads(true);
  if (list.empty()) return;
  lines_.open("");
  for (const ExpressionId load : list) {
    lines_.line(text(type_text(point_.dtype_of(load)), " t", load.number, "[", turns_, "];"));
  }
  open_turns(Lanes::TileAxis);
  for (const ExpressionId load : list) {
    const Expression& e = kernel_.expressions[load];
    point_.evaluate({kernel_.accesses[e.access].when});
    lines_.line(text("t", load.number, "[turn] = ", point_.value(e), ";"));
  }
  lines_.close();
  open_turns(Lanes::TileAxis);
  for (const ExpressionId load : list) {
    const AccessId access = kernel_.expressions[load].access;
    lines_.line(text(shared_element(access, Lanes::TileAxis), " = t", load.number, "[turn];"));
  }
  lines_.close();
  lines_.close();
  lines_.line("__syncthreads();");
}

void TileText::compute() {
  open_turns(Lanes::LastAxis);
  for (const ExpressionId load : loads(true)) {
    point_.declare(load, shared_element(kernel_.expressions[load].access, Lanes::LastAxis));
  }
  const std::vector<ExpressionId> others = loads(false);
  if (others.size() <= kMaxEarlyLoads) {
    for (const ExpressionId load : others) point_.declare(load, text("x", load.number, "[turn]"));
  }
  point_.evaluate(roots_of(kernel_, stage()));
  for (const Store& store : stage().stores) {
    if (is_tiled(store.access)) {
      lines_.line(
          text(shared_element(store.access, Lanes::LastAxis), " = v", store.value.number, ";"));
    } else {
      point_.write_store(store);
    }
  }
  lines_.close();
}

void TileText::store_tiled() {
  lines_.line("__syncthreads();");
  open_turns(Lanes::TileAxis);
  for (const Store& store : stage().stores) {
    if (!is_tiled(store.access)) continue;
    point_.evaluate({kernel_.accesses[store.access].when});
    if (!point_.is_declared(store.value)) {
      point_.declare(store.value, shared_element(store.access, Lanes::TileAxis));
    }
    point_.write_store(store);
  }
  lines_.close();
}

}  // namespace kiln::codegen
