// A stage becomes a block: the loops over the inner axes around its expressions, in their order.
#include "backends/codegen/text/stage_text.h"

#include "backends/codegen/kernel/needed.h"
#include "backends/codegen/text/scalar_text.h"
#include "core/types/at.h"
#include "core/types/text.h"

namespace kiln::codegen {
std::string StageText::size(const ir::Dim& dim) const { return point_.size(dim); }

void StageText::open_loop(int axis, const std::string& begin, const std::string& end) {
  lines_.open(text("for (s64 i", axis, " = ", begin, "; i", axis, " < ", end, "; ++i", axis, ")"));
}

void StageText::write(StageId id) {
  const Stage& stage = kernel_.stages[id];
  if (stage.kind != StageKind::Map) declare_result(id, stage);
  const int outside = lines_.depth();
  lines_.open("");
  if (stage.inner) {
    for (int axis = kernel_.outer; axis < static_cast<int>(kernel_.axes.size()); ++axis) {
      open_loop(axis, "0", size(kernel_.axes[at(axis)]));
    }
  }
  point_.begin();
  if (stage.kind != StageKind::Map) {
    point_.evaluate({stage.value});
    combine(id, stage);
  }
  std::vector<ExpressionId> roots = roots_of(kernel_, stage);
  roots[0] = {};  // its value has been combined
  point_.evaluate(roots);
  for (const Store& store : stage.stores) point_.write_store(store);
  lines_.close_to(outside);
}

void StageText::declare_result(StageId id, const Stage& stage) {
  const DType dtype = point_.dtype_of(stage.value);
  if (stage.combiner == Combiner::ArgMax) {
    lines_.line(text("s64 r", id.number, " = 0;"));
    lines_.line(text(type_text(dtype), " best", id.number, "{};"));
    return lines_.line(text("bool first", id.number, " = true;"));
  }
  const std::string start = constant_text(dtype, identity_bits(stage.combiner, dtype));
  lines_.line(text(type_text(dtype), " r", id.number, " = ", start, ";"));
}

void StageText::combine(StageId id, const Stage& stage) {
  const DType dtype = point_.dtype_of(stage.value);
  const std::string value = point_.flushed(stage.value);
  if (stage.combiner == Combiner::ArgMax) {
    lines_.open(text("if (first", id.number, " || above<", type_text(dtype), ">(", value, ", best",
                     id.number, "))"));
    lines_.line(text("first", id.number, " = false;"));
    lines_.line(text("best", id.number, " = ", value, ";"));
    lines_.line(text("r", id.number, " = i", kernel_.axes.size() - 1, ";"));
    return lines_.close();
  }
  static constexpr ir::Op kOps[] = {ir::Op::Identity, ir::Op::Add, ir::Op::Mul, ir::Op::Maximum,
                                    ir::Op::Minimum};
  const ir::Op op = kOps[static_cast<int>(stage.combiner)];
  const std::string result = text("r", id.number);
  lines_.line(text(result, " = ", apply_text(op, dtype, dtype, {result, value}), ";"));
}

}  // namespace kiln::codegen
