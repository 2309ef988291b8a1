// Tests kiln run with files of inputs, such as those of KILN_RECORD.
#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/support/error_text.h"
#include "tests/support/has.h"
#include "tests/support/scratch.h"
#include "tests/whole/tools/run_tool.h"
#include "test_folders.h"

#include "runtime/weights/safetensors.h"

#include <kiln/k.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace K = kiln;
using kiln::testing::EnvironmentVariable, kiln::testing::error_text, kiln::testing::has,
    kiln::testing::Outcome, kiln::testing::run_tool, kiln::testing::Scratch;

namespace {

K::Array tensor_of(const std::string& path, const std::string& name) {
  const kiln::runtime::SafetensorsFile file(path);
  for (const auto& tensor : file.tensors()) {
    if (tensor.name == name) return file.read(tensor);
  }
  FAIL("no tensor " << name << " in " << path);
  return {};
}

/// The path of the one recorded call in a folder, without its extension.
std::string recorded_in(const std::string& folder) {
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".kirb") found = entry.path();
  }
  REQUIRE_FALSE(found.empty());
  return found.substr(0, found.size() - 5);
}

std::string replay_of(const std::string& call) {
  return "run " + call + ".kirb --inputs " + call + ".safetensors ";
}

}  // namespace

TEST_CASE("kiln run: repeats a recorded call with its error") {
  for (const char* backend : {"cpu", "reference"}) {
    const Scratch scratch;
    const EnvironmentVariable record("KILN_RECORD", scratch.path("calls"));
    const auto x = K::placeholder({.shape = {K::None}, .name = "x"});
    const auto f = K::function({x}, {K::sum(K::log(x))},
                               {.name = "loss", .backend = backend, .check_numerics = true});
    const std::string error =
        error_text<K::FloatingPointError>([&] { f({K::Array{1.f, 0.f, 2.f}}); });
    CHECK(has(error, "gives -inf at [1] in float32[3]"));
    const Outcome outcome = run_tool(replay_of(recorded_in(scratch.path("calls"))));
    INFO(outcome.text);
    CHECK(outcome.status == 1);
    CHECK(has(outcome.text, "kiln: " + error));
  }
}

TEST_CASE("kiln run: repeats a chosen call with its bits, draws and updates") {
  const Scratch scratch;
  const EnvironmentVariable record("KILN_RECORD", scratch.path("calls") + ":step#2");
  const auto x = K::placeholder({.shape = {K::None, 8}, .name = "x"});
  const auto w = K::random_normal_variable({8, 8}, 0, 1, {.name = "w"});
  const auto y = K::tanh(K::dot(K::dropout(x, 0.5), w));
  const auto step = K::function({x}, {y},
                                {.updates = {K::update_add(w, K::dot(K::transpose(x), y))},
                                 .name = "step",
                                 .backend = "cpu"});
  const K::Array batch = K::eval(K::random_normal({4, 8}, {.seed = 3}));
  step({batch});
  const K::Array expected = step({batch})[0], updated = K::get_value(w);
  step({batch});
  const std::string call = recorded_in(scratch.path("calls"));
  const std::string results = scratch.path("results.safetensors");
  const Outcome outcome = run_tool(replay_of(call) + "--outputs " + results);
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  CHECK(has(outcome.text, "output_0, w are in " + results + "\n"));
  CHECK(has(outcome.text, " ms on cpu\n"));
  CHECK(tensor_of(results, "output_0") == expected);
  CHECK(tensor_of(results, "w") == updated);
  CHECK(has(run_tool(replay_of(call) + "--backend reference").text, " ms on reference\n"));
}

TEST_CASE("kiln run: passes run as in the recorded call, unless --passes decides") {
  const Scratch scratch;
  const auto x = K::placeholder({.shape = {2}, .name = "x"});
  K::function({x}, {K::exp(x)}, {.name = "f"}).dump(scratch.folder(), K::Stage::Graph);
  const std::string trace = scratch.path("trace.json");
  /// Whether passes ran, by the events of a trace.
  const auto runs_passes = [&](const char* recorded, const std::string& option) {
    const std::string values = scratch.path("x.safetensors");
    const std::vector<kiln::runtime::NamedArray> tensors{{"x", K::Array{1.f, 2.f}}};
    kiln::runtime::write_safetensors(values, tensors, {{"kiln.passes", recorded}});
    const EnvironmentVariable traced("KILN_TRACE", trace);
    const Outcome outcome =
        run_tool("run " + scratch.path("00-user.kir") + " --inputs " + values + option);
    INFO(outcome.text);
    CHECK(outcome.status == 0);
    return has(kiln::testing::contents_of(trace), "\"name\":\"simplify\"");
  };
  CHECK(runs_passes("true", ""));
  CHECK_FALSE(runs_passes("false", ""));
  CHECK(runs_passes("false", " --passes"));
  CHECK_FALSE(runs_passes("true", " --passes=false"));
  CHECK(runs_passes("yes", " --passes"));
  const std::vector<kiln::runtime::NamedArray> tensors{{"x", K::Array{1.f, 2.f}}};
  kiln::runtime::write_safetensors(scratch.path("y"), tensors, {{"kiln.passes", "yes"}});
  const std::string run = " " + scratch.path("00-user.kir") + " --inputs " + scratch.path("y");
  const std::string message =
      "kiln: kiln.passes of the inputs is 'yes', which is neither true nor false; "
      "--passes decides\n";
  CHECK(run_tool("run" + run).text == message);
  CHECK(run_tool("run" + run + " --passes=maybe").text.starts_with("kiln run: "));
  CHECK(run_tool("reduce" + run + " --backends reference,cpu").text == message);
}

TEST_CASE("kiln run: inputs of files are complete, or the rest is random on request") {
  const Scratch scratch;
  const std::string module =
      scratch.write("rows.kir",
                    "kir 0.1\nmodule \"m\"\nsymbol rows\n"
                    "%0 = placeholder id=0 name=\"first\" : float32[rows,2]\n"
                    "%1 = placeholder id=1 name=\"second\" : float32[rows,2]\n"
                    "%2 = variable id=2 name=\"w\" : int32[2]\n"
                    "%3 = add %0 %1 : float32[rows,2]\ninputs %0 %1\noutputs %3 %2\n");
  const auto write = [&](const char* name, const std::vector<kiln::runtime::NamedArray>& tensors) {
    kiln::runtime::write_safetensors(scratch.path(name), tensors);
    return " --inputs " + scratch.path(name);
  };
  const K::Array rows = K::Array::zeros({5, 2}), w{3., 4.};
  const std::string first = write("a", {{"first", rows}}), both = write("b", {{"second", rows}});
  const std::string variable = write("c", {{"w", w}});
  const auto run = [&](const std::string& options) { return run_tool("run " + module + options); };
  // A file of another dtype is cast; sizes are those of the inputs, of several files, too.
  const Outcome complete = run(first + both + variable);
  CHECK(has(complete.text, "output 0 float32[5,2]\n"));
  CHECK(has(complete.text, "output 1 int32[2]\n[3 4]\n"));
  CHECK(has(run(first + " --random 7").text, "output 0 float32[5,2]\n"));
  const std::vector<std::pair<std::string, std::string>> wrong{
      {first,
       "the files have no value of placeholder second float32[rows,2]; --random SEED draws "
       "it"},
      {first + both, "the files have no value of variable w int32[2]; --random SEED draws it"},
      {first + both + write("d", {{"w", K::Array{1.f}}}),
       "tensor 'w' of " + scratch.path("d") +
           " has shape [1], which is not that of int32[2] (variable w)"},
      {first + both + write("e", {{"w", K::Array{1.f, 1e30f}}}),
       "tensor 'w' of " + scratch.path("e") +
           "[1] is 1e+30, which int32 cannot hold (the file has float32)"},
      {first + both + write("f", {{"w", K::Array{3.f, 1.5f}}}),
       "tensor 'w' of " + scratch.path("f") +
           "[1] is 1.5, which int32 cannot hold (the file has float32)"},
      {" --inputs " + scratch.path("no"),
       scratch.path("no") + " cannot be opened: No such file or directory"}};
  for (const auto& [options, message] : wrong) {
    const Outcome outcome = run(options);
    CHECK(outcome.status == 1);
    CHECK(outcome.text == "kiln: " + message + "\n");
  }
}

TEST_CASE("kiln run: --outputs replaces no file that is read, and values select no plugin") {
  const Scratch scratch;
  const auto x = K::placeholder({.shape = {1}, .name = "x"});
  K::function({x}, {x * 2}).dump(scratch.folder(), K::Stage::Graph);
  const std::string module = scratch.path("00-user.kir");
  const std::string values = scratch.path("x.safetensors");
  const std::vector<kiln::runtime::NamedArray> tensors{{"x", K::Array{2.f}}};
  kiln::runtime::write_safetensors(values, tensors, {{"kiln.backend", "/tmp/libkiln_other.so"}});
  CHECK(has(run_tool("run " + module + " --inputs " + values).text,
            "the call was recorded on the backend /tmp/libkiln_other.so; --backend selects"));
  const std::string run = "run " + module + " --backend reference --inputs " + values;
  CHECK(has(run_tool(run + " --outputs " + values).text, "would replace"));
  CHECK(has(run_tool(run + " --outputs " + module).text, "would replace"));
  CHECK(has(run_tool(run).text, "[4.]"));
}
