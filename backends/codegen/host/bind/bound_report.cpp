// Prints a line per library call, and the memory of packed operands and cached steps.
#include "backends/codegen/host/bind/bound_report.h"

#include "backends/codegen/bind/memory_report.h"
#include "backends/codegen/host/bind/bound_memory.h"
#include "backends/codegen/inspect/source.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

/// The implementations of a matmul, with the number of parts of each where they differ.
std::string implementations_of(const BoundMatmul& matmul) {
  std::vector<std::pair<std::string, std::size_t>> implementations;
  for (const MatmulCall& call : matmul.calls) {
    const char* packing = call.shares_rhs    ? ", once for all of them"
                          : call.packing < 0 ? ""
                                             : ", right operand packed";
    const std::string implementation = text(call.matmul->description(), packing);
    const auto known = std::find_if(implementations.begin(), implementations.end(),
                                    [&](const auto& one) { return one.first == implementation; });
    if (known != implementations.end()) {
      ++known->second;
    } else {
      implementations.emplace_back(implementation, 1);
    }
  }
  if (implementations.size() == 1) return " by " + implementations[0].first;
  std::string out;
  for (const auto& [implementation, parts] : implementations) {
    out += text(out.empty() ? ": " : "; ", parts, " by ", implementation);
  }
  return out;
}

std::string calls_text(const BoundMatmul& matmul) {
  if (matmul.calls.empty()) return "nothing to multiply";
  return text(matmul.calls.size(), matmul.calls.size() == 1 ? " matmul" : " matmuls",
              matmul.parallel ? " in parallel" : "", implementations_of(matmul));
}

std::string calls_text(const BoundConvolution& bound) {
  if (!bound.convolution) return "nothing to multiply";
  return text("convolution in ", bound.convolution->parts(), " parts by ",
              bound.convolution->description());
}

std::string calls_text(const BoundAttention& bound) {
  if (!bound.attention) return "no results";
  return text("attention in ", bound.attention->parts(), " parts by ",
              bound.attention->description());
}

const ir::Node& node_of(const Step& step) {
  const auto* attention = std::get_if<AttentionStep>(&step);
  return attention ? *attention->node : *library_step(step)->node;
}

void print_calls(const BoundPlan& bound, const std::string& indent, std::string& out) {
  for (std::size_t s = 0; s < bound.steps.size(); ++s) {
    const BoundStep& step = bound.steps[s];
    const auto print_call = [&](const std::string& call) {
      out += text(indent, "step ", s, ": ", call, "  # ", source_of(node_of(bound.plan->steps[s])),
                  "\n");
    };
    if (const auto* matmul = std::get_if<BoundMatmul>(&step)) print_call(calls_text(*matmul));
    if (const auto* conv = std::get_if<BoundConvolution>(&step)) print_call(calls_text(*conv));
    if (const auto* one = std::get_if<BoundAttention>(&step)) print_call(calls_text(*one));
    for_each_body(step, [&](const std::string& name, const BoundPlan& body) {
      out += text(indent, "step ", s, ", ", name, ":\n");
      print_calls(body, indent + "  ", out);
    });
  }
}

}  // namespace

std::string print_memory(const Program& program, const BoundPlan& bound) {
  return print_memory(
      program, memory_of(bound),
      {text("; packed: ", bound.weight_bytes, " bytes"), print(bound.facts->cached)});
}

std::string print_library_calls(const BoundPlan& bound) {
  std::string out = "# the implementation of each library call, for one tuple of sizes\n";
  print_calls(bound, "", out);
  return out;
}

}  // namespace kiln::codegen
