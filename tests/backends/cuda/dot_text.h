// Checks Graphviz text: statements as print_launches() writes them, braces and names of nodes; by
// Graphviz itself where the machine has it.
#pragma once

#include "tests/support/process.h"

#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace cuda_test {

/// The first line that is wrong; empty: none is.
inline std::string wrong_line_of_dot(const std::string& text) {
  const std::string string = R"re("(?:[^"\\]|\\["n])*")re";
  const std::string attributes = R"re((?: \[(label=)re" + string +
                                 R"re((?:, (?:shape|style)=[a-z]+|, constraint=false)*)\])?;)re";
  const std::string defaults = R"re(|labelloc=t|node \[shape=box, fontname=monospace\]);)re";
  const std::regex head("digraph " + string + R"re( \{)re"),
      cluster(R"re(  subgraph cluster_\d+ \{)re"), property("  (label=" + string + defaults),
      node(R"re(  (n\d+))re" + attributes), edge(R"re(  (n\d+) -> (n\d+))re" + attributes),
      end("(  )?\\}");
  std::istringstream lines(text);
  std::set<std::string> nodes, used;
  std::string line;
  if (!std::getline(lines, line) || !std::regex_match(line, head)) return "head: " + line;
  int depth = 1;
  while (std::getline(lines, line)) {
    std::smatch match;
    if (depth == 0) return "after the end: " + line;
    if (std::regex_match(line, match, node)) {
      if (!nodes.insert(match[1]).second) return "a second node: " + line;
    } else if (std::regex_match(line, match, edge)) {
      used.insert({match[1], match[2]});
    } else if (std::regex_match(line, cluster)) {
      ++depth;
    } else if (std::regex_match(line, end)) {
      --depth;
    } else if (!std::regex_match(line, property)) {
      return line;
    }
  }
  if (depth != 0) return "braces that are not closed";
  for (const std::string& one : used) {
    if (!nodes.contains(one)) return "no node " + one;
  }
  return "";
}

/// The complaint of Graphviz about the file; empty without one, and where there is no Graphviz.
inline std::string complaint_of_graphviz(const std::string& path) {
  using kiln::testing::run_shell;
  if (run_shell("command -v dot").status != 0) return "";
  const kiln::testing::Outcome outcome = run_shell("dot -Tcanon '" + path + "' > /dev/null");
  return outcome.status == 0 ? "" : "dot: " + outcome.text;
}

}  // namespace cuda_test
