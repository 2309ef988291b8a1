// Everything printed is a field of the op's definition (core/ops/op.h).
#include "tools/kiln/ops.h"

#include "core/ops/op.h"
#include "core/types/nearest.h"
#include "core/types/text.h"
#include "tools/kiln/op_fields.h"

#include <kiln/error.h>

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <string>
#include <vector>

namespace kiln::tool {
namespace {

const char* lowering_name(const ir::OpDef& d) {
  switch (d.lowering) {
    case ir::Lowering::Argument: return "argument";
    case ir::Lowering::Leaf: return "leaf";
    case ir::Lowering::Elementwise: return "elementwise";
    case ir::Lowering::Reduce: return "reduce";
    case ir::Lowering::Running: return "running";
    case ir::Lowering::Movement: return "movement";
    case ir::Lowering::Indexed: return "indexed";
    case ir::Lowering::Contraction: return "contraction";
    case ir::Lowering::Control: return "control";
    case ir::Lowering::Structural: return "structural";
    case ir::Lowering::Composite: return "composite";
  }
  return "";
}

std::string operand_names(const ir::OpDef& d) {
  std::string names;
  for (std::string_view name : d.operands) {
    if (!name.empty()) names += text(names.empty() ? "" : ", ", name);
  }
  return d.arity == ir::kVariadic ? names + " ..." : names;
}

std::string dtype_names(ir::DTypeSet set) {
  std::string names;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (set & ir::dtype_bit(dtype)) names += text(names.empty() ? "" : " ", dtype);
  }
  return names;
}

/// The width of a column of names.
int name_width() {
  std::size_t longest = 0;
  for (const ir::OpDef& d : ir::all_ops()) longest = std::max(longest, d.name.size());
  return static_cast<int>(longest) + 1;
}

}  // namespace

void print_op(std::ostream& out, const std::string& name) {
  const ir::OpDef* d = ir::find_op(name);
  if (!d) {
    std::vector<std::string> names;
    for (const ir::OpDef& known : ir::all_ops()) names.emplace_back(known.name);
    throw ValueError("kiln ops", "NAME",
                     text("unknown op '", name, "'", did_you_mean(name, names)));
  }
  out << d->name << "(" << operand_names(*d) << ")\n  " << d->doc << "\n";
  const std::vector<OpField> fields = fields_of(*d);
  if (!fields.empty()) out << "  attributes, in the order of the module format:\n";
  for (const OpField& field : fields) out << "    " << description_of(field) << "\n";
  out << "  code in the module format: " << d->code << "\n  class: " << lowering_name(*d)
      << (d->commutative ? ", commutative" : "") << (d->reads_state ? ", reads state" : "")
      << "\n  dtypes" << (d->operands[0].empty() ? "" : text(" of ", d->operands[0])) << ": "
      << dtype_names(d->dtypes) << "\n  gradient: " << d->gradient << "\n";
}

void print_ops(std::ostream& out) {
  for (const ir::OpDef& d : ir::all_ops()) {
    out << std::left << std::setw(name_width()) << d.name << std::setw(12) << lowering_name(d)
        << d.doc << "\n";
  }
  out << "\ngradients\n";
  for (const ir::OpDef& d : ir::all_ops()) {
    out << std::left << std::setw(name_width()) << d.name << d.gradient << "\n";
  }
}

}  // namespace kiln::tool
