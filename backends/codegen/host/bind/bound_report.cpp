// A line for each product, and the notes on packed and kept tensors.
#include "backends/codegen/host/bind/bound_report.h"

#include "backends/codegen/bind/memory_report.h"
#include "backends/codegen/host/bind/bound_memory.h"
#include "backends/codegen/inspect/source.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

/// The implementations of a product, with the number of parts of each where they differ.
std::string makers_of(const BoundMatmul& ready) {
  std::vector<std::pair<std::string, std::size_t>> makers;
  for (const ProductRun& run : ready.runs) {
    const std::string maker =
        text(run.product->description(), run.shares_rhs          ? ", once for all of them"
                                         : run.packed_offset < 0 ? ""
                                                                 : ", right operand packed");
    const auto known = std::find_if(makers.begin(), makers.end(),
                                    [&](const auto& one) { return one.first == maker; });
    if (known != makers.end()) {
      ++known->second;
    } else {
      makers.emplace_back(maker, 1);
    }
  }
  if (makers.size() == 1) return " by " + makers[0].first;
  std::string out;
  for (const auto& [maker, parts] : makers) {
    out += text(out.empty() ? ": " : "; ", parts, " by ", maker);
  }
  return out;
}

std::string runs_text(const BoundMatmul& matmul) {
  if (matmul.runs.empty()) return "nothing to multiply";
  return text(matmul.runs.size(), matmul.runs.size() == 1 ? " product" : " products",
              matmul.parallel ? " side by side" : "", makers_of(matmul));
}

std::string runs_text(const BoundConvolution& bound) {
  if (!bound.convolution) return "nothing to multiply";
  return text("convolution in ", bound.convolution->parts(), " parts by ",
              bound.convolution->description());
}

void print_runs(const BoundPlan& bound, const std::string& indent, std::string& out) {
  for (std::size_t s = 0; s < bound.steps.size(); ++s) {
    const BoundStep& ready = bound.steps[s];
    const auto print_product = [&](const std::string& runs) {
      out += text(indent, "step ", s, ": ", runs, "  # ",
                  source_of(*library_step(bound.plan->steps[s])->node), "\n");
    };
    if (const auto* matmul = std::get_if<BoundMatmul>(&ready)) print_product(runs_text(*matmul));
    if (const auto* conv = std::get_if<BoundConvolution>(&ready)) print_product(runs_text(*conv));
    for_each_body(ready, [&](const std::string& name, const BoundPlan& body) {
      out += text(indent, "step ", s, ", ", name, ":\n");
      print_runs(body, indent + "  ", out);
    });
  }
}

std::string kept_steps_text(const BoundPlan& bound) {
  std::string arguments, out;
  for (const int slot : bound.kept_arguments) {
    arguments += text(arguments.empty() ? "%" : ", %", slot);
  }
  for (std::size_t s = 0; s < bound.is_kept_step.size(); ++s) {
    if (bound.is_kept_step[s]) {
      out += text("# step ", s, " runs when one of ", arguments, " has changed\n");
    }
  }
  return out;
}

}  // namespace

std::string print_memory(const Program& program, const BoundPlan& bound) {
  return print_memory(program, memory_of(bound),
                      {text("; packed: ", bound.packed_bytes, " bytes"), kept_steps_text(bound)});
}

std::string print_products(const BoundPlan& bound) {
  std::string out = "# what ran each product, for one tuple of sizes\n";
  print_runs(bound, "", out);
  return out;
}

}  // namespace kiln::codegen
