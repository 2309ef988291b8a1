// Tests kiln graph on dumped programs: its three pictures, Graphviz in PATH and in its stead
// programs that fail, and files that are none.
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include <kiln/k.h>

#include <filesystem>
#include <string>
#include <vector>

using namespace kiln;
using kiln::testing::contents_of;
using kiln::testing::has;
using kiln::testing::Outcome;
using kiln::testing::run_shell;
using kiln::testing::Scratch;

namespace {

/// Runs kiln graph; `variables` are those of the shell.
Outcome graph(const std::string& arguments, const std::string& variables = "") {
  return run_shell(variables + " '" KILN_BINARY_DIR "/bin/kiln' graph " + arguments);
}

/// Dumps a training step with a loop, a branch, a matmul with bias and relu, and a softmax, and
/// returns the path of its graph as written.
std::string dumped(const Scratch& scratch, const std::string& name = "step") {
  const Tensor x = placeholder({.shape = {None, 4, 3}, .name = "x"});
  const Variable w = variable(Array::full({3, 3}, 0.25), {.name = "weight"});
  const Variable b = variable(Array::full({3}, 0.5), {.name = "bias"});
  const auto cell = [&](const Tensor& in, const std::vector<Tensor>& states) {
    const Tensor next = tanh(dot(in, w) + states[0] * 0.5);
    return StepResult{next, {next}};
  };
  const Tensor last = rnn(cell, x, {sum(x, {.axis = {1}}) * 0.0}).last_output;
  const Tensor dense = relu(dot(last, w) + b);
  const Tensor chosen =
      switch_(sum(x) > 0.0, [&] { return softmax(dense); }, [&] { return dense; });
  const Tensor loss = mean(square(chosen));
  const auto gradient = gradients(loss, {w, b});
  function({x}, {loss},
           {.updates = {update_sub(w, gradient[0]), update_sub(b, gradient[1])},
            .name = name,
            .backend = "reference"})
      .dump(scratch.path("f"), Stage::Graph);
  return scratch.path("f/00-user.kir");
}

/// Whether the braces of a text are balanced and each arrow leads between boxes of the picture.
bool is_whole(const std::string& dot) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < dot.size(); ++i) {
    if (in_string && dot[i] == '\\') ++i;
    else if (dot[i] == '"') in_string = !in_string;
    else if (!in_string) depth += dot[i] == '{' ? 1 : dot[i] == '}' ? -1 : 0;
  }
  for (std::size_t i = dot.find(" -> n"); i != dot.npos; i = dot.find(" -> n", i + 1)) {
    const std::size_t from = dot.rfind(' ', i - 1) + 1;
    const std::size_t end = dot.find_first_of(" ;", i + 5);
    if (!has(dot, " " + dot.substr(from, i - from) + " [label=")) return false;
    if (!has(dot, " " + dot.substr(i + 4, end - i - 4) + " [label=")) return false;
  }
  return depth == 0 && !in_string && dot.ends_with("}\n");
}

}  // namespace

TEST_CASE("kiln graph: pictures of the graph, its kernels and its plan") {
  const Scratch scratch;
  const std::string file = "'" + dumped(scratch) + "'";
  const struct {
    const char* what;
    std::vector<const char*> parts;
  } rows[] = {
      {"graph",
       {"label=\"loop of 4 iterations: rnn at graph_test.cpp:", "label=\"branch: switch at ",
        "label=\"then\"", "label=\"gradients\"", "label=\"updates\"", "carry 0", "update weight",
        "dot(·, weight float32[3,3])", "slice of this iteration", "softmax", "backwards"}},
      {"kernels", {"library call", "for x.0", "(reduced)", "loop of 4 iterations", "update bias"}},
      {"plan",
       {"step 0, level 1", "matmul", "M=x.0 N=3 K=3", "loop of 4 iterations", "branch, switch at ",
        "label=\"else\"", "reads weight float32[3,3]", "updates weight in place",
        "writes output 0"}},
  };
  for (const auto& row : rows) {
    INFO(row.what);
    const std::string output = scratch.path(std::string(row.what) + ".dot");
    const Outcome outcome = graph(file + " --what " + row.what + " -o '" + output + "'");
    CHECK(outcome.status == 0);
    CHECK(outcome.text ==
          std::string("the picture of the ") + row.what + " is in " + output + "\n");
    const std::string dot = contents_of(output);
    INFO(dot);
    CHECK(is_whole(dot));
    for (const char* part : row.parts) {
      INFO(part);
      CHECK(has(dot, part));
    }
  }
}

TEST_CASE("kiln graph: names with any characters are text, and lay out") {
  const Scratch scratch;
  const std::string file = dumped(scratch, "a \"b\" \\ &amp; <i>\xff\xc3\xa9");
  CHECK(graph("'" + file + "' -o '" + scratch.path("g.dot") + "'").status == 0);
  const std::string dot = contents_of(scratch.path("g.dot"));
  INFO(dot.substr(0, 200));
  CHECK(dot.starts_with("digraph \"a \\\"b\\\" \\\\ &amp;amp; <i>\\\\xff\xc3\xa9\" {\n"));
  if (run_shell("command -v dot").status != 0) {
    WARN("left out: PATH has no dot, which is part of the package graphviz");
    return;
  }
  for (const std::string what : {"graph", "kernels", "plan"}) {
    const std::string svg = scratch.path(what + ".svg");
    const Outcome outcome = graph("'" + file + "' --what " + what + " -o '" + svg + "'");
    INFO(outcome.text);
    CHECK(outcome.status == 0);
    CHECK(has(contents_of(svg), "</svg>"));
    CHECK_FALSE(std::filesystem::exists(scratch.path(what + ".dot")));
  }
}

TEST_CASE("kiln graph: without a layout, the .dot file is left and the error names the reason") {
  const Scratch scratch;
  const std::string file = "'" + dumped(scratch) + "'", svg = scratch.path("g.svg");
  const std::string arguments = file + " --seconds 0.3 -o '" + svg + "'";
  const std::string script = scratch.folder() + "/dot";
  const struct {
    const char* script;  // in place of Graphviz; null: none
    const char* reason;
  } rows[] = {
      {nullptr, "PATH has no program 'dot': install Graphviz, the Debian package graphviz"},
      {"echo 'bad \\001 node' >&2; exit 3", "'dot' exits with status 3: bad \\x01 node"},
      {"exec sleep 600", "'dot' hangs: it has not ended after 0.3 s"},
      {"kill -9 $$", "'dot' crashes with SIGKILL (signal 9)"},
  };
  for (const auto& row : rows) {
    INFO(row.reason);
    std::filesystem::remove(scratch.path("g.dot"));
    if (row.script != nullptr) {
      scratch.write("dot", std::string("#!/bin/sh\nPATH=/usr/bin:/bin\n") + row.script + "\n");
      std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    }
    const Outcome outcome = graph(arguments, "PATH='" + scratch.folder() + "'");
    CHECK(outcome.status == 1);
    CHECK(outcome.text == std::string("kiln graph: ") + row.reason + "; the picture is in " +
                              scratch.path("g.dot") + "\n");
    CHECK(contents_of(scratch.path("g.dot")).starts_with("digraph \"step\" {\n"));
    CHECK_FALSE(std::filesystem::exists(svg));
  }
}

TEST_CASE("kiln graph: what cannot be drawn is one line of error") {
  const Scratch scratch;
  const std::string file = "'" + dumped(scratch) + "' ";
  const std::string bad = scratch.write("bad.kir", "kir 0.1\nmodule");
  const auto rejects = [](const std::string& arguments, const std::string& message) {
    const Outcome outcome = graph(arguments);
    INFO(outcome.text);
    CHECK(outcome.status == 1);
    CHECK(outcome.text.starts_with(message));
  };
  rejects(file + "-o out.jpg", "kiln graph: 'out.jpg' ends in none of .svg, .pdf, .png and .dot\n");
  rejects(file + "-o /nowhere/x.dot", "kiln: /nowhere/x.dot ");
  rejects(file + "--what loops", "kiln graph: --what: loops not in {graph,kernels,plan}");
  rejects(file + "--what plan --backend reference -o " + scratch.path("x.dot"),
          "kiln graph: the backend reference has no picture of its plan; cpu and cuda have\n");
  rejects(file + "--what plan --backend none -o " + scratch.path("x.dot"),
          "kiln graph: no backend 'none'; found: ");
  rejects(bad, "kiln: " + bad + ":2:");
  CHECK_FALSE(std::filesystem::exists(scratch.path("x.dot")));
}
