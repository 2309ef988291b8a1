// Programs as text: slots, then steps, bodies indented.
#include "backends/codegen/plan/plan.h"

#include "backends/codegen/inspect/source.h"
#include "core/ops/op.h"
#include "core/types/text.h"

#include <cmath>

namespace kiln::codegen {
namespace {

template <class List>
std::string list(const List& slots) {
  std::string joined;
  for (const SlotId slot : slots) joined += text(joined.empty() ? "" : ", ", slot);
  return joined;
}

std::string line_of(const Program& program, const KernelStep& step) {
  const Kernel& kernel = program.kernels[step.kernel].kernel;
  return text("kernel ", kernel.name, "(", list(step.slots), ")  # ", kernel.comes_from);
}
std::string line_of(const Program&, const ConvolutionStep& step) {
  return text("convolution ", step.result, " = ", step.lhs, ", ", step.rhs,
              step.bias ? text(" + ", step.bias) : "", print_relu(step), "  # ", step.dtype, "; ",
              source_of(*step.node));
}
/// "; lhs 64 + [640, 1, 8]": the offset, then the strides of the batch axes, the rows and the
/// columns.
std::string view_text(const char* name, const ir::Dim& offset, const BatchedMatmul& form,
                      ir::Dim MatmulAxis::* stride, const MatmulAxis& outer,
                      const MatmulAxis& inner) {
  std::string strides;
  for (const MatmulAxis& axis : form.batch) strides += text(axis.*stride, ", ");
  return text("; ", name, " ", offset, " + [", strides, outer.*stride, ", ", inner.*stride, "]");
}

/// The matrices that are not dense.
std::string views_text(const BatchedMatmul& form) {
  const bool batch = !form.batch.empty();
  std::string line;
  if (batch || form.lhs_is_view) {
    line += view_text("lhs", form.lhs_offset, form, &MatmulAxis::lhs, form.m, form.k);
  }
  if (batch || form.rhs_is_view) {
    line += view_text("rhs", form.rhs_offset, form, &MatmulAxis::rhs, form.k, form.n);
  }
  if (batch) {
    line += view_text("result", 0, form, &MatmulAxis::result, form.m, form.n);
  }
  return line;
}

/// "%3", or "%3^T" if the matrix is column-major: contiguous along its rows' index. `stride`: of
/// the operand.
std::string operand_text(SlotId slot, const MatmulAxis& row, const MatmulAxis& column,
                         ir::Dim MatmulAxis::* stride) {
  const ir::Dim one = 1;
  const bool is_matrix = row.size != one && column.size != one;
  return text(slot, is_matrix && row.*stride == one && column.*stride != one ? "^T" : "");
}

std::string line_of(const Program&, const MatmulStep& step) {
  const BatchedMatmul& form = step.form;
  const std::string rhs = operand_text(step.rhs, form.k, form.n, &MatmulAxis::rhs);
  std::string line = text(
      "matmul ", step.result, " = ", operand_text(step.lhs, form.m, form.k, &MatmulAxis::lhs),
      " x ", step.narrow_rhs ? text(step.dtype, "(", rhs, ")") : rhs,
      step.bias ? text(" + ", step.bias) : "", print_relu(step), "  # ", step.dtype,
      " M=", form.m.size, " N=", form.n.size, " K=", form.k.size, form.swapped ? ", swapped" : "");
  for (const MatmulAxis& axis : step.form.batch) line += text(", for each of ", axis.size);
  return line + views_text(step.form) + "; " + source_of(*step.node);
}
std::string line_of(const LoopStep& loop, const CarryStacks& stacks) {
  const auto in = [&](int result, const char* when) {
    if (result < 0) return std::string();
    return text(" in ", loop.results[static_cast<std::size_t>(result)], when);
  };
  return text(", carry ", stacks.carry, in(stacks.before, " before"), in(stacks.after, " after"));
}
std::string line_of(const LoopFusion& fusion) {
  if (fusion.reason.empty()) return ", one kernel";
  return text(", a kernel for each step: ", fusion.reason);
}
std::string line_of(const Program&, const LoopStep& step) {
  const auto& attrs = step.node->as<ir::ScanAttrs>();
  std::string stacks;
  for (const CarryStacks& one : step.carry_stacks) stacks += line_of(step, one);
  const std::string rows =
      step.independent_rows ? text(", ", step.independent_rows->rows, " independent rows") : "";
  const std::string kernels = step.fusion ? line_of(*step.fusion) : "";
  const bool ends_early = step.node->op == ir::Op::While;
  return text("loop (", list(step.results), ") = (", list(step.operands), ")  # ",
              ends_early ? "at most " : "", attrs.length, " steps, ", attrs.carry, " carried",
              attrs.reverse ? ", backwards" : "", ends_early ? ", while carry 0 is true" : "",
              stacks, rows, kernels, "; ", source_of(*step.node));
}
std::string line_of(const Program&, const BranchStep& step) {
  return text("branch (", list(step.results), ") = (", list(step.operands), ")  # ",
              source_of(*step.node));
}
std::string line_of(const Program&, const HostCallStep& step) {
  return text("host_call ", step.node->as<ir::HostCallAttrs>().function, " (", list(step.results),
              ") = (", list(step.operands), ")  # ", source_of(*step.node));
}
std::string line_of(const Program&, const RowUpdateStep& step) {
  std::string line;
  for (const RowUpdate& one : step.updates) {
    line += text(line.empty() ? "" : "; ", "rows ", one.result, " = ", one.x, " - ", one.rate,
                 " x ", one.updates, " at ", one.indices, "  # ", source_of(*one.node));
  }
  return line;
}
std::string line_of(const Program&, const AttentionStep& step) {
  const ir::Dims &q = step.node->operands[0].dims(), &v = step.node->operands[2].dims();
  const auto& attrs = step.node->as<ir::AttentionAttrs>();
  std::vector<SlotId> results;
  std::copy_if(step.results.begin(), step.results.end(), std::back_inserter(results),
               [](SlotId slot) { return static_cast<bool>(slot); });
  std::string line = text(ir::def(*step.node).name, " (", list(results), ") = (",
                          list(step.operands), ")  # queries ", q.end()[-2], " keys ", v.end()[-2],
                          " depths ", q.back(), " and ", v.back(), attrs.causal ? ", causal" : "");
  for (std::size_t i = 0; i + 2 < q.size(); ++i) line += text(", for each of ", q[i]);
  return line + "; " + source_of(*step.node);
}
std::string line_of(const Program&, const CopyStep& step) {
  return text("copy ", step.to, " = ", step.from);
}

std::string text_of(const Slot&, const TemporarySlot&) { return "temporary"; }
std::string text_of(const Slot&, const ConstantSlot&) { return "constant"; }
std::string text_of(const Slot& slot, const ArgumentSlot& argument) {
  return name_of_argument(slot.node, argument.number);
}
std::string text_of(const Slot&, const ResultSlot& result) {
  return text("result ", result.number);
}

void print_plan(const Program& program, const Plan& plan, const std::string& indent,
                std::string& out) {
  for (const SlotId i : plan.slots.ids()) {
    const Slot& slot = plan.slots[i];
    const std::string kind = std::visit([&](const auto& k) { return text_of(slot, k); }, slot.kind);
    out += text(indent, i, " = ", kind, " ", ir::Type{slot.dtype, slot.dims}, "\n");
  }
  for (const ir::Guard& guard : plan.guards) {
    const char* relation = guard.kind == ir::Guard::Kind::Equal ? " == " : " <= ";
    out += text(indent, "check ", guard.left, relation, guard.right, "  # ", guard.message, "\n");
  }
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    if (s == 0 && s < plan.opening_end) out += indent + print_opening(plan) + "\n";
    if (s == plan.region_begin && s < plan.region_end) out += indent + print_region(plan) + "\n";
    out += indent + print(program, step) + "\n";
    if (const auto* loop = std::get_if<LoopStep>(&step)) {
      print_plan(program, *loop->body, indent + "  ", out);
    }
    if (const auto* branch = std::get_if<BranchStep>(&step)) {
      for (const auto& body : branch->branches) {
        out += text(indent, " either\n");
        print_plan(program, *body, indent + "  ", out);
      }
    }
  }
}

}  // namespace

std::string print_relu(const LibraryStep& step) {
  if (!step.relu) return "";
  return std::isfinite(step.relu_bound) ? text(", relu up to ", step.relu_bound) : ", relu";
}

std::string print_region(const Plan& plan) {
  return text("in parallel: ", plan.region_end - plan.region_begin, " steps");
}

std::string print_opening(const Plan& plan) {
  return text("at the beginning: ", plan.opening_end, " steps of equal kernels");
}

std::string print(const Program& program, const Step& step) {
  return std::visit([&](const auto& one) { return line_of(program, one); }, step);
}

std::string print(const Program& program) {
  std::string out;
  print_plan(program, program.plan, "", out);
  return out;
}

std::string print_claims(const Program& program) {
  std::string out;
  for (const Claim& claim : claims()) {
    out += text("# ", claim.name, ": ", claim.description, " (op ", ir::def(claim.op).name, ")\n");
  }
  for (const ClaimOutcome& outcome : program.claims) {
    const ClaimDecision& decision = outcome.decision;
    const ir::Node& node = *decision.node;
    out += text("\n", source_of(node), ": ", ir::def(node.op).name, "(");
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      out += text(i == 0 ? "" : ", ", node.operands[i].type());
    }
    out += text(") -> ", node.types[0], "\n");
    for (const Rejection& rejection : decision.rejections) {
      out += text("  ", rejection.claim->name, ": rejected: ", rejection.reason, "\n");
    }
    if (decision.taken_by) {
      out += text("  ", decision.taken_by->name, ": taken");
      for (const std::string& one : outcome.fused) out += ", with " + one;
      out += "\n";
    }
    for (const std::string& reason : outcome.not_fused) {
      out += text("    followed by a kernel for ", reason, "\n");
    }
    for (const std::string& reason : decision.copies) {
      out += text("    after a copy: ", reason, "\n");
    }
    if (outcome.kernel) {
      out += text("  kernel ", program.kernels[outcome.kernel].kernel.name, "\n");
    }
  }
  if (program.claims.empty()) out += "\nthe graph has no node of these ops\n";
  return out;
}

}  // namespace kiln::codegen
