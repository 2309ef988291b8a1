// Tests kiln reduce on the faults of plugin/faulty_plugin.cpp.
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/support/scratch.h"
#include "tests/whole/tools/run_tool.h"
#include "test_folders.h"

#include <kiln/k.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace K = kiln;
using kiln::testing::contents_of, kiln::testing::has, kiln::testing::Outcome,
    kiln::testing::run_tool, kiln::testing::Scratch;

namespace {

const std::string kFaulty = KILN_BINARY_DIR "/lib/tests/libkiln_faulty.so";

/// Writes a graph of two layers around `op`, with an update, a loop and another output.
std::string write_graph(const Scratch& scratch, K::Tensor (*op)(const K::Tensor&)) {
  const auto x = K::placeholder({.shape = {K::None, 6}, .name = "x"});
  const auto w = K::random_normal_variable({6, 6}, 0, 0.3, {.name = "w"});
  const auto h = op(K::dot(x, w) + 0.5);
  const auto y = K::softmax(K::dot(K::exp(h) * 0.1, w));
  const auto loss = K::sum(K::square(y * 10 - K::sigmoid(x)));
  const auto f = K::function(
      {x}, {loss, K::sum(K::abs(x))},
      {.updates = {K::update_sub(w, 0.1 * K::gradients(loss, {w})[0])}, .backend = "reference"});
  f.dump(scratch.folder(), K::Stage::Graph);
  return scratch.path("00-user.kir");
}

K::Tensor wrong_loop(const K::Tensor& x) {
  const auto step = [](const K::Tensor& now,
                       const std::vector<K::Tensor>& states) -> K::StepResult {
    const auto next = K::tanh(states[0] * 0.5 + K::abs(now) - K::square(now));
    return {next, {next}};
  };
  const auto sequence = K::expand_dims(x, {.axis = 1});
  return K::rnn(step, K::concatenate({sequence, sequence, sequence}, {.axis = 1}), {x}).last_output;
}

/// The lines of the form that compute: "%3 = tanh %0 ...".
std::vector<std::string> computing_lines(const std::string& form) {
  std::vector<std::string> found;
  std::size_t begin = 0;
  for (std::size_t end; (end = form.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = form.substr(begin, end - begin);
    const bool is_leaf = has(line, "= placeholder") || has(line, "= variable") ||
                         has(line, "= constant") || has(line, "= parameter");
    if (has(line, " = ") && !is_leaf) found.push_back(line);
  }
  return found;
}

}  // namespace

TEST_CASE("kiln reduce: a wrong op, a crash and an error each end at few nodes") {
  struct Fault {
    const char* name;
    K::Tensor (*op)(const K::Tensor&);
    std::string node, end;
    std::size_t most_nodes;
  };
  const std::vector<Fault> faults{
      {"wrong", [](const K::Tensor& x) { return K::tanh(x); }, "= tanh ", "the largest difference",
       2},
      {"crash", [](const K::Tensor& x) { return K::erf(x); }, "= erf ",
       "fails: crashes with SIGABRT", 1},
      {"exit", [](const K::Tensor& x) { return K::floor(x); }, "= floor ",
       "fails: exits with status 0 before it has results\n", 1},
      {"error", [](const K::Tensor& x) { return K::cumsum(x); }, "= cum_sum ", "fails: ", 1},
      {"loop", wrong_loop, "= tanh ", "the largest difference", 4}};
  for (const Fault& fault : faults) {
    INFO(fault.name);
    const Scratch scratch;
    const std::string file = write_graph(scratch, fault.op);
    const std::string small = scratch.path("small.kir");
    const std::string backends = " --backends reference," + kFaulty;
    const Outcome outcome = run_tool("reduce " + file + backends + " -o " + small);
    INFO(outcome.text);
    REQUIRE(outcome.status == 0);
    CHECK_FALSE(has(outcome.text, " 1 nodes"));
    CHECK_FALSE(has(outcome.text, " 1 elements"));
    for (const std::string& written : {small, scratch.path("small.safetensors")}) {
      const auto mode = std::filesystem::status(written).permissions();
      CHECK(mode == (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
    }
    const std::string form = contents_of(small);
    INFO(form);
    CHECK(has(form, fault.node));
    CHECK(computing_lines(form).size() <= fault.most_nodes);
    CHECK(has(outcome.text, fault.end));
    // The written files show the fault, too.
    const Outcome again =
        run_tool("compare " + small + " --inputs " + scratch.path("small.safetensors") + backends);
    CHECK((again.status != 0 || fault.name == std::string("exit")));
    CHECK_FALSE(has(again.text, "have no value"));
  }
}

TEST_CASE("kiln reduce: backends that agree, or fail alike, leave nothing to reduce") {
  const Scratch scratch;
  const std::string file = write_graph(scratch, [](const K::Tensor& x) { return K::cumsum(x); });
  for (const std::string& backends :
       {std::string("reference,reference"), kFaulty + "," + kFaulty}) {
    const Outcome outcome = run_tool("reduce " + file + " --backends " + backends);
    INFO(outcome.text);
    CHECK(outcome.status == 1);
    CHECK(has(outcome.text, "nothing to reduce: the backends agree, or fail alike\n"));
  }
  CHECK(run_tool("reduce " + file + " --backends reference").text ==
        "kiln reduce: --backends names two backends, A,B\n");
}

TEST_CASE("kiln reduce: backends that cannot be used, and files that it would replace") {
  const Scratch scratch;
  const std::string file = write_graph(scratch, [](const K::Tensor& x) { return K::tanh(x); });
  struct Row {
    std::string options, message;
  };
  const Row rows[] = {
      {" --backends reference,nosuch", "'nosuch'"},
      {" --backends reference,/no/such.so", "/no/such.so"},
      {" --backends reference,cpu -o " + file, "would replace"},
      {" --backends reference,cpu -o x.safetensors", "is for the module"},
  };
  for (const Row& row : rows) {
    const Outcome outcome = run_tool("reduce " + file + row.options);
    INFO(outcome.text);
    CHECK(outcome.status == 1);
    CHECK(has(outcome.text, row.message));
  }
}
