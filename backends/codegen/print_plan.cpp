// Programs as text: slots, then steps, bodies indented.
#include "backends/codegen/plan.h"

#include "backends/codegen/source.h"
#include "core/ops/op.h"
#include "core/types/text.h"

namespace kiln::codegen {
namespace {

class PlanPrinter {
 public:
  PlanPrinter(const Program& program, std::string& out) : program_(program), out_(out) {}

  void print(const Plan& plan, const std::string& indent) {
    for (std::size_t i = 0; i < plan.slots.size(); ++i) {
      const Slot& slot = plan.slots[i];
      static constexpr const char* kKinds[] = {"argument", "constant", "result", "temporary"};
      out_ += text(indent, "%", i, " = ", kKinds[static_cast<int>(slot.kind)]);
      const bool numbered = slot.kind == Slot::Kind::Argument || slot.kind == Slot::Kind::Result;
      if (numbered) out_ += text(" ", slot.number);
      out_ += text(" ", ir::Type{slot.dtype, slot.dims}, "\n");
    }
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      if (s == plan.region_begin && s < plan.region_end) {
        out_ += text(indent, "side by side: ", plan.region_end - plan.region_begin, " steps\n");
      }
      std::visit([&](const auto& one) { print_step(one, indent); }, plan.steps[s]);
    }
  }

 private:
  static std::string list(const std::vector<int>& slots) {
    std::string joined;
    for (int slot : slots) joined += text(joined.empty() ? "" : ", ", "%", slot);
    return joined;
  }

  void print_step(const KernelStep& step, const std::string& indent) {
    const Kernel& kernel = program_.kernels[static_cast<std::size_t>(step.kernel)].kernel;
    out_ += text(indent, "kernel ", kernel.name, "(", list(step.slots), ")  # ", kernel.comes_from,
                 "\n");
  }
  void print_step(const ProductStep& step, const std::string& indent) {
    out_ += text(indent, "product %", step.result, " = %", step.lhs, " x %", step.rhs,
                 step.bias < 0 ? "" : text(" + %", step.bias), step.relu ? ", relu" : "", "  # ",
                 step.form.rows.size, " x ", step.form.depth.size, " x ", step.form.columns.size,
                 step.form.swapped ? ", swapped" : "");
    for (const ProductAxis& axis : step.form.batch) out_ += text(", for each of ", axis.size);
    out_ += "; " + source_of(*step.node) + "\n";
  }
  void print_step(const LoopStep& step, const std::string& indent) {
    const auto& attrs = step.node->as<ir::ScanAttrs>();
    out_ += text(indent, "loop (", list(step.results), ") = (", list(step.operands), ")  # ",
                 attrs.length, " steps, ", attrs.carry, " carried",
                 attrs.reverse ? ", backwards" : "",
                 step.sharding ? text(", rows of ", step.sharding->rows, " apart") : "", "; ",
                 source_of(*step.node), "\n");
    print(*step.body, indent + "  ");
  }
  void print_step(const BranchStep& step, const std::string& indent) {
    out_ += text(indent, "branch (", list(step.results), ") = (", list(step.operands), ")  # ",
                 source_of(*step.node), "\n");
    for (const auto& branch : step.branches) {
      out_ += text(indent, " either\n");
      print(*branch, indent + "  ");
    }
  }
  void print_step(const HostCallStep& step, const std::string& indent) {
    out_ += text(indent, "host_call ", step.node->as<ir::HostCallAttrs>().function, " (",
                 list(step.results), ") = (", list(step.operands), ")  # ",
                 source_of(*step.node), "\n");
  }
  void print_step(const CopyStep& step, const std::string& indent) {
    out_ += text(indent, "copy %", step.to, " = %", step.from, "\n");
  }

  const Program& program_;
  std::string& out_;
};

}  // namespace

std::string print(const Program& program) {
  std::string out;
  PlanPrinter(program, out).print(program.plan, "");
  return out;
}

std::string print_claims(const Program& program) {
  std::string out;
  for (const Claim& claim : claims()) {
    out += text("# ", claim.name, ": ", claim.sentence, " (op ", ir::def(claim.op).name, ")\n");
  }
  for (const ClaimDecision& decision : program.claims) {
    const ir::Node& node = *decision.node;
    out += text("\n", source_of(node), ": ", ir::def(node.op).name, "(");
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      out += text(i == 0 ? "" : ", ", node.operands[i].type());
    }
    out += text(") -> ", node.types[0], "\n");
    for (const Refusal& refusal : decision.refusals) {
      out += text("  ", refusal.claim->name, ": refused: ", refusal.reason, "\n");
    }
    if (decision.taken_by) {
      out += text("  ", decision.taken_by->name, ": taken");
      for (const std::string& one : decision.absorbed) out += ", with " + one;
      out += "\n";
    }
    for (const std::string& reason : decision.copies) {
      out += text("    after a copy: ", reason, "\n");
    }
    if (decision.kernel >= 0) {
      const auto kernel = static_cast<std::size_t>(decision.kernel);
      out += text("  kernel ", program.kernels[kernel].kernel.name, "\n");
    }
  }
  if (program.claims.empty()) out += "\nno node is one of these\n";
  return out;
}

}  // namespace kiln::codegen
