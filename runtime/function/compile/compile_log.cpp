// Counts nodes only for a log or a trace.
#include "runtime/function/compile/compile_log.h"

#include "core/ir/traverse.h"
#include "core/types/counted.h"
#include "core/types/text.h"
#include "runtime/host/log.h"

#include <iomanip>

namespace kiln::runtime {
namespace {

std::string milliseconds(double seconds) {
  TextStream out;
  out << std::fixed << std::setprecision(2) << seconds * 1e3 << " ms";
  return std::move(out).str();
}

std::size_t node_count(const ir::Graph& graph) {
  return ir::topological_order(graph.roots()).size();
}

std::string line_of(const CompiledProgram& program) {
  double passes = 0;
  for (const PassRun& run : program.passes) passes += run.seconds;
  return text(program.name, " for ", program.instance->name(), " in ",
              milliseconds(program.compile_seconds), " (passes ", milliseconds(passes),
              ", backend ", milliseconds(program.backend_seconds), "); ",
              counted(node_count(program.user_graph), "node"), ", ", node_count(program.graph),
              " after the passes; ", program.code_reason);
}

}  // namespace

void log_compilation(const CompiledProgram& program, TraceSpan& span) {
  span.add("nodes", [&] { return text(node_count(program.user_graph)); });
  span.add("nodes after the passes", [&] { return text(node_count(program.graph)); });
  span.add("code", [&] { return std::string(program.code_reason); });
  if (log_enabled(LogLevel::Info)) log_line(LogLevel::Info, "compile", line_of(program));
}

}  // namespace kiln::runtime
