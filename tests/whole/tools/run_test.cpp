// Tests kiln run and kiln compare on programs of absurd sizes, on any backend, and their options.
// tests/k/errors tests damaged files.
#include "tests/distributed/mpi/launchers.h"
#include "tests/support/catch.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include "core/module/write.h"
#include "core/ops/build.h"
#include "core/types/text.h"

#include <string>
#include <utility>
#include <vector>

using namespace kiln;
using kiln::testing::Outcome;
using kiln::testing::Scratch;

namespace {

Outcome kiln_with(const std::string& arguments) {
  return kiln::testing::run_shell("'" KILN_BINARY_DIR "/bin/kiln' " + arguments);
}

/// The text without lines in which a sanitizer reports a failed allocation.
std::string own_lines(std::string text) {
  while (text.rfind("==", 0) == 0) text.erase(0, text.find('\n') + 1);
  return text;
}

/// Checks that every command rejects the file with one line that begins so.
void check_rejected(const std::string& file, const std::string& message) {
  for (const char* verb :
       {"run --backend reference ", "run --backend cpu ", "compare --backends cpu,reference "}) {
    const Outcome outcome = kiln_with(verb + ("'" + file + "'"));
    INFO(verb << file << ": " << outcome.text);
    CHECK(outcome.status == 1);
    const std::string text = own_lines(outcome.text);
    CHECK(text.rfind("kiln: " + message, 0) == 0);
    CHECK(text.find('\n') == text.size() - 1);
  }
}

std::string program(const std::string& type, const std::string& nodes) {
  return "kir 0.1\nmodule \"m\"\n%0 = placeholder id=0 name=\"x\" : " + type + "\n" + nodes +
         "inputs %0\noutputs %1\n";
}

std::string bytes_of_small() {
  const ir::Value x =
      ir::make(ir::Op::Placeholder, ir::PlaceholderAttrs{1, "x", {DType::Float32, {3}}}, {});
  const auto bytes = module::write_module(module::make_module({{x}, {x + x}, {}})).bytes;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("kiln run: sizes beyond 64 bits or beyond memory are rejected") {
  const Scratch scratch;
  const auto file = [&](const std::string& contents) {
    return scratch.write("sizes.kir", contents);
  };
  const std::string uncountable = "float32[4611686018427387904,16]";
  check_rejected(file(program(uncountable, "%1 = neg %0 : " + uncountable + "\n")),
                 "no memory for random values of " + uncountable + " (placeholder x): ");
  const std::string too_large = "float32[17592186044416]";
  check_rejected(file(program(too_large, "%1 = neg %0 : " + too_large + "\n")),
                 "no memory for random values of " + too_large + " (placeholder x): ");
  // Results, too: the input is small.
  const auto broadcast = [](const std::string& first) {
    return program("float32[3]", "%1 = broadcast %0 dims=[" + first + ",3] axes=[1] : float32[" +
                                     first + ",3]\n");
  };
  check_rejected(file(broadcast("17592186044416")), "m: ");
  const std::string uncountable_result = "float32[4611686018427387904,3]";
  check_rejected(file(broadcast("4611686018427387904")), "");
  for (const char* backend : {"cpu", "reference"}) {
    const Outcome outcome =
        kiln_with(text("run --backend ", backend, " ", scratch.path("sizes.kir")));
    INFO(outcome.text);
    CHECK(outcome.text.find("no memory for " + uncountable_result +
                            ", which is more than 2^63 bytes") != std::string::npos);
  }
  check_rejected(file(broadcast("-5")),
                 scratch.path("sizes.kir") + ":4:6: broadcast: size -5 is negative");
  check_rejected(file(broadcast("99999999999999999999")), scratch.path("sizes.kir") + ":4:");
}

TEST_CASE("kiln run: a tensor without memory is named by its bytes") {
  const Scratch scratch;
  const std::string file =
      scratch.write("large.kir", program("float32[3]",
                                         "%1 = broadcast %0 dims=[17592186044416,3] axes=[1] : "
                                         "float32[17592186044416,3]\n"));
  for (const char* backend : {"reference", "cpu"}) {
    const Outcome outcome = kiln_with(text("run --backend ", backend, " '", file, "'"));
    INFO(outcome.text);
    CHECK(outcome.text.find("211106232532992 bytes of float32[17592186044416,3]; for outputs[0]") !=
          std::string::npos);
  }
}

TEST_CASE("kiln run: unknown sizes are given by the program's names") {
  const Scratch scratch;
  const std::string file = scratch.write("rows.kir",
                                         "kir 0.1\nmodule \"m\"\nsymbol rows\n"
                                         "%0 = placeholder id=0 name=\"x\" : float32[rows]\n"
                                         "%1 = neg %0 : float32[rows]\ninputs %0\noutputs %1\n");
  const auto run = [&](const std::string& options) {
    return kiln_with("run '" + file + "' " + options);
  };
  CHECK(run("--dim rows=5").text.rfind("output 0 float32[5]\n", 0) == 0);
  CHECK(run("").text.rfind("output 0 float32[3]\n", 0) == 0);
  const std::string form = " is not NAME=SIZE, where SIZE has at most 12 digits\n";
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"rows", "kiln run: --dim: 'rows'" + form},
      {"rows=-1", "kiln run: --dim: 'rows=-1'" + form},
      {"rows=1e3", "kiln run: --dim: 'rows=1e3'" + form},
      {"rows=99999999999999", "kiln run: --dim: 'rows=99999999999999'" + form},
      {"columns=2", "kiln: the module has no unknown size 'columns'; its unknown sizes: rows\n"},
      {"rows=999999999999", "kiln: no memory for random values of float32[rows] "}};
  for (const auto& [dim, message] : wrong) {
    const Outcome outcome = run(text("--dim ", dim));
    CHECK(outcome.text.rfind(message, 0) == 0);
    CHECK(outcome.status == 1);
  }
  const std::string same =
      scratch.write("same.kir",
                    "kir 0.1\nmodule \"m\"\nsymbol x.0\nsymbol x.0~2 \"x.0\"\n"
                    "%0 = placeholder id=0 name=\"x\" : float32[x.0]\n"
                    "%1 = placeholder id=1 name=\"x\" : float32[x.0~2]\n"
                    "%2 = neg %0 : float32[x.0]\n%3 = neg %1 : float32[x.0~2]\n"
                    "inputs %0 %1\noutputs %2 %3\n");
  const std::string both = kiln_with("run '" + same + "' --dim x.0=5 --dim x.0~2=4").text;
  CHECK(both.find("output 0 float32[5]\n") != both.npos);
  CHECK(both.find("output 1 float32[4]\n") != both.npos);
  const std::string small = scratch.write("small.kirb", bytes_of_small());
  CHECK(kiln_with("run '" + small + "' --dim a=1").text ==
        "kiln: the module has no unknown size 'a'; it has none\n");
}

TEST_CASE("kiln run: an option without its value, or with two, is an error") {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"--backend", "--backend requires NAME"},
      {"--dim", "--dim requires NAME=SIZE"},
      {"--random", "--random requires SEED"},
      {"--random 1 --random 2", "--random accepts at most 1 value"},
      {"--random x", "--random: 'x' is not an integer from 0 to 4294967295"}};
  for (const auto& [options, message] : wrong) {
    const Outcome outcome = kiln_with("run file " + options);
    CHECK(outcome.status == 1);
    CHECK(outcome.text == "kiln run: " + message + "\nRun 'kiln run --help' for usage.\n");
  }
}

TEST_CASE("kiln ops: prints the table, and everything about one op") {
  const Outcome all = kiln_with("ops");
  CHECK(all.status == 0);
  const std::size_t gradients = all.text.find("\ngradients\n");
  REQUIRE(gradients != std::string::npos);
  for (const ir::OpDef& d : ir::all_ops()) {
    INFO(d.name);
    const std::string doc = text(" ", d.doc, "\n"), gradient = text(" ", d.gradient, "\n");
    CHECK(("\n" + all.text).find(text("\n", d.name, " ")) < gradients);
    CHECK(all.text.find(doc) < gradients);
    CHECK(all.text.find(gradient, gradients) != std::string::npos);
    const Outcome one = kiln_with(text("ops ", d.name));
    CHECK(one.text.find(d.doc) != std::string::npos);
    CHECK(one.text.find(text("gradient: ", d.gradient)) != std::string::npos);
  }
  CHECK(kiln_with("ops select").text ==
        "select(condition, x, y)\n"
        "  x where the condition is true, else y.\n"
        "  code in the module format: 36\n"
        "  class: elementwise\n"
        "  dtypes of condition: bool\n"
        "  gradient: of x: d where the condition is true, else 0; of y: d where it is false, else "
        "0\n");
  CHECK(kiln_with("ops nothing").text == "kiln ops: unknown op 'nothing'\n");
}

TEST_CASE("kiln compare: takes two existing backends") {
  const Scratch scratch;
  const std::string file = scratch.write("small", bytes_of_small());
  const auto compare = [&](const std::string& names) {
    return kiln_with("compare '" + file + "' --backends " + names);
  };
  CHECK(compare("reference,cpu").text == "result 0: largest difference 0\nequal\n");
  for (const char* names : {"reference", "reference,cpu,reference"}) {
    CHECK(compare(names).text ==
          "kiln compare: name two backends, A,B; or compare a graph with its form after the passes "
          "by --as-written\n");
    CHECK(compare(names).status == 1);
  }
  for (const char* wrong : {"nan", "-1", "inf"}) {
    INFO(wrong);
    const Outcome outcome = compare(std::string("reference,cpu --tolerance ") + wrong);
    CHECK(outcome.status != 0);
    const std::string message = "kiln compare: --tolerance: '" + std::string(wrong) +
                                "' is not a finite number of at least 0\n";
    CHECK(outcome.text.rfind(message, 0) == 0);
  }
  const Outcome missing = compare("reference,no_such_backend");
  CHECK(missing.status == 1);
  CHECK(missing.text.rfind("kiln: no backend 'no_such_backend'; found: ", 0) == 0);
}

TEST_CASE("kiln compare: --as-written compares a graph as written with the one after the passes") {
  const Scratch scratch;
  // The passes drop `a`, which precedes `b` in the order of first use.
  const std::string head =
      "kir 0.1\nmodule \"m\"\nsymbol rows\n"
      "%0 = placeholder id=0 name=\"x\" : float32[rows]\n"
      "%1 = variable id=1 name=\"a\" : float32[]\n"
      "%2 = variable id=2 name=\"b\" : float32[]\n";
  const std::string file =
      scratch.write("graph.kir", head +
                                     "%3 = sub %1 %1 : float32[]\n%4 = add %3 %2 : float32[]\n"
                                     "%5 = broadcast %4 dims=[rows] axes=[] : float32[rows]\n"
                                     "%6 = add %0 %5 : float32[rows]\n"
                                     "inputs %0\noutputs %6\n");
  const auto compare = [&](const std::string& options) {
    return kiln_with("compare '" + file + "' --as-written " + options);
  };
  const std::string equal =
      " after the passes, reference as written\n"
      "result 0: largest difference 0\n";
  const Outcome both = compare("--dim rows=5");
  CHECK(both.text == "reference" + equal + "cpu" + equal + "equal\n");
  CHECK(both.status == 0);
  CHECK(compare("--backends cpu --random 3").text == "cpu" + equal + "equal\n");
  const Outcome missing = compare("--backends no_such_backend");
  CHECK(missing.status == 1);
  CHECK(missing.text.rfind("kiln: no backend 'no_such_backend'; found: ", 0) == 0);
}

TEST_CASE("kiln run: on two ranks, with a variable that may differ between them") {
  const Scratch scratch;
  const std::string own = "%1 = variable id=0 name=\"own\" : float32[1]\n";
  const std::string sum = scratch.write(
      "sum.kir", "kir 0.1\nmodule \"m\"\n%0 = placeholder id=0 name=\"x\" : float32[1]\n" + own +
                     "%2 = collective %0 kind=0 reduction=0 axis=0 root=0 group=0 ranks=2 id=1 : "
                     "float32[1]\ninputs %0\noutputs %2\nupdate %1 %0\nstate %1\n");
  const std::string lowered = scratch.write(
      "lowered.kir", program("int64[]",
                             "%1 = host_call %0 %0 function=\"collective_start\" "
                             "payload=\"0 0 0 0 0 0 2\" id=0 results=[int64[]] : int64[]\n"));
  for (const auto& implementation : {mpi_test::kOpenMpi, mpi_test::kMpich}) {
    const std::string start = mpi_test::launcher(implementation);
    if (start.empty()) continue;
    const auto run = [&](const std::string& file) {
      return kiln::testing::run_shell(start + " -n 2 '" KILN_BINARY_DIR "/bin/kiln' run '" + file +
                                      "'");
    };
    const Outcome outcome = run(sum);
    INFO(outcome.text);
    CHECK(outcome.status == 0);
    CHECK(outcome.text.find("update 0 float32[1]") != std::string::npos);
    const std::string rejected = run(lowered).text;
    INFO(rejected);
    CHECK(rejected.find("outside of a call of a group; of a dump, 00-user.kir is the module that a "
                        "group can run") != std::string::npos);
  }
}
