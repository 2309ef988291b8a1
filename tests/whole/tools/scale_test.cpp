// kiln scale: its table, in which numbers come from the cost model, files that it reads and values
// that it rejects.
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/support/scratch.h"
#include "tests/whole/tools/run_tool.h"

#include <string>
#include <utility>
#include <vector>

using kiln::testing::has, kiln::testing::Outcome, kiln::testing::Scratch;

namespace {

const std::string kHeader = "# number  collective  operand  bytes  source\n";

/// Round numbers: tests/runtime/distributed/cost_model_test.cpp computes them by hand.
const std::string kMachine =
    "--latency 0.25 --bandwidth 1048576 --add 9.5367431640625e-7 --ranks-per-node 2 ";

/// Runs kiln scale.
Outcome scale(const std::string& file, const std::string& options) {
  return kiln::testing::run_tool("scale '" + file + "' " + options);
}

/// kiln scale of a file with this text.
Outcome scale_of(const std::string& text, const std::string& options) {
  const Scratch scratch;
  const Outcome outcome = scale(scratch.write("c.txt", text), options);
  std::string shown = outcome.text;
  for (std::size_t at; (at = shown.find(scratch.folder() + "/")) != shown.npos;) {
    shown.erase(at, scratch.folder().size() + 1);
  }
  return {outcome.status, shown};
}

}  // namespace

TEST_CASE("kiln scale: a row for each number of ranks") {
  const std::string row = "all_reduce sum  float32[256,1024]  1048576  train.cpp:12\n";
  const Outcome outcome = scale_of(kHeader + "0  " + row + "1  " + row + "2  " + row + "3   " + row,
                                   kMachine + "--seconds 300 --ranks 2,4");
  CHECK(outcome.status == 0);
  CHECK(outcome.text ==
        "4 all-reduces of 4194304 bytes, 300 s forward and backward on one rank\n"
        "  ranks  efficiency  in one bucket  buckets  bucket bytes  messages      bytes sent"
        "  bottleneck\n"
        "      2       97.9%          96.0%        4       1048576         8         4194304"
        "  slowest rank\n"
        "      4       96.6%          93.5%        4       1120974        16         6291456"
        "  bandwidth\n");
  const Outcome bucket = scale_of(kHeader + "0  " + row + "1  " + row,
                                  kMachine + "--seconds 3e4 --ranks 4 --bucket 2097152");
  CHECK(has(bucket.text, "        1       2097152         4         3145728  slowest rank\n"));
}

TEST_CASE("kiln scale: further columns, comments and collectives of other kinds") {
  const Outcome outcome = scale_of(kHeader +
                                       "0  all_reduce sum  float32[4]  16\n"
                                       "\n"
                                       "# a comment\n"
                                       "1  all_reduce max  bool[]  1  a b.cpp:3  bucket 7  more\n"
                                       "2  all_gather  float32[n,4]  ?  a.cpp:4\n"
                                       "3  all_reduce sum  bfloat16[n,4]  ?  a.cpp:5\n"
                                       "4  all_reduce sum  float16[m]  ?\n",
                                   kMachine + "--seconds 300 --ranks 3 --bucket 64");
  CHECK(outcome.status == 0);
  CHECK(outcome.text.starts_with(
      "2 all-reduces of 17 bytes, 300 s forward and backward on one rank\n"
      "note: left out, as no all-reduces: 1 of the collectives\n"
      "note: left out, as their sizes depend on the call: the all-reduces of line 7, 8\n"
      "  ranks  "));
  CHECK(has(outcome.text, "        2            64         4              34  "));
}

TEST_CASE("kiln scale: rejects other files, with the line") {
  const std::string rest = kMachine + "--seconds 1 --ranks 2";
  const std::string good = "0  all_reduce sum  float32[4]  16\n";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "1: a dump's collectives.txt begins with '# number  collective  operand  bytes'"},
      {good, "1: a dump's collectives.txt begins with '# number  collective  operand  bytes'"},
      {kHeader + good + "1  all_reduce sum  float32[4]\n",
       "3: expected the columns number, collective, operand and bytes"},
      {kHeader + "0  all_reduce sum  float31[4]  16\n", "2: 'float31[4]' has no dtype of Kiln"},
      {kHeader + "0  all_reduce  float32[4]  16\n", "2: there is no 'all_reduce' of float32"},
      {kHeader + "0  all_reduce sum  bool[4]  4\n", "2: there is no 'all_reduce sum' of bool"},
      {kHeader + "0  all_reduce sum  float32[4]  17\n",
       "2: '17' is not the number of bytes of a tensor of float32"},
      {kHeader + "0  all_reduce sum  float32[4]  -16\n",
       "2: '-16' is not the number of bytes of a tensor of float32"},
      {kHeader + "0  all_reduce sum  float32[4]  1125899906842628\n",
       "2: '1125899906842628' is not the number of bytes of a tensor of float32"}};
  for (const auto& [text, message] : rows) {
    INFO(text);
    const Outcome outcome = scale_of(text, rest);
    CHECK(outcome.status == 1);
    CHECK(outcome.text == "kiln scale: c.txt:" + message + "\n");
  }
  for (const std::string text : {"", "0  all_reduce sum  float32[n]  ?\n"}) {
    const Outcome outcome = scale_of(kHeader + text, rest);
    CHECK(outcome.status == 1);
    CHECK(outcome.text == "kiln scale: c.txt has no all-reduce of a known size\n");
  }
  const Outcome missing = scale("/nonexistent/c.txt", rest);
  CHECK(missing.status == 1);
  CHECK(has(missing.text, "/nonexistent/c.txt"));
}

TEST_CASE("kiln scale: rejects values, with option and value") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"--ranks 8,1", "--ranks: '1' is not an integer from 2 to 1048576"},
      {"--ranks 8,x", "--ranks: 'x' is not an integer from 2 to 1048576"},
      {"--ranks 2097152", "--ranks: '2097152' is not an integer from 2 to 1048576"},
      {"--latency -1", "--latency: '-1' is not a number from 0 to 1000"},
      {"--latency nan", "--latency: 'nan' is not a number from 0 to 1000"},
      {"--bandwidth 0", "--bandwidth: '0' is not a number of bytes from 1 to 1e18"},
      {"--bandwidth inf", "--bandwidth: 'inf' is not a number of bytes from 1 to 1e18"},
      {"--node-bandwidth 12GB", "--node-bandwidth: '12GB' is not a number of bytes from 1 to 1e18"},
      {"--ranks-per-node 0", "--ranks-per-node: '0' is not an integer from 1 to 1048576"},
      {"--add 2", "--add: '2' is not a number from 0 to 1"},
      {"--seconds 0", "--seconds: '0' is not a number from 1e-09 to 1e+09"},
      {"--bucket 0", "--bucket: '0' is not an integer from 1 to 1125899906842624"},
      {"", "--seconds is required"}};
  for (const auto& [options, message] : rows) {
    INFO(options);
    std::string rest;
    for (const char* option : {"--ranks 2", "--latency 1", "--bandwidth 1", "--seconds 1"}) {
      const std::string name = std::string(option).substr(0, std::string(option).find(' ') + 1);
      const bool is_left_out = options.empty() && name == "--seconds ";
      if (!options.starts_with(name) && !is_left_out) rest += std::string(option) + " ";
    }
    const Outcome outcome = scale("c.txt", rest + options);
    CHECK(outcome.status == 1);
    CHECK(outcome.text == "kiln scale: " + message + "\nRun 'kiln scale --help' for usage.\n");
  }
}
