// build/bin/kiln bench as a user runs it, with work small enough to be quick and a peer of its own.
#include "tests/catch.h"
#include "tests/process.h"
#include "tests/scratch.h"

#include <rapidjson/document.h>

#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

using kiln::testing::Outcome;
using kiln::testing::Scratch;

Outcome bench(const std::string& options) {
  return kiln::testing::run_shell(
      "'" KILN_BINARY_DIR "/bin/kiln' bench --tiny --backend reference " + options);
}

rapidjson::Document json_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  rapidjson::Document document;
  document.Parse(text.str().c_str());
  REQUIRE(document.IsArray());
  return document;
}

/// A peer in sh: 1 s for each row but mlp_tiny, which it does not have.
std::string scripted_peer(const Scratch& scratch, const char* first_line, const char* answer) {
  std::ofstream(scratch.path("peer.sh"))
      << "echo '" << first_line << "'\nwhile read row threads size; do\n"
      << "  if [ $row = mlp_tiny ]; then echo none; else echo '" << answer << "'; fi\ndone\n";
  return "--peer 'sh " + scratch.path("peer.sh") + "' ";
}

}  // namespace

TEST_CASE("every row runs with one and two threads and is in the JSON") {
  const Scratch scratch;
  const Outcome outcome = bench("--json " + scratch.path("out.json"));
  INFO(outcome.text);
  REQUIRE(outcome.status == 0);
  const auto rows = json_of(scratch.path("out.json"));
  CHECK(rows.Size() == 2 * 38);
  for (const auto& row : rows.GetArray()) {
    INFO(row["row"].GetString());
    CHECK(row["ours_ms"].GetDouble() > 0);
    const bool compiles = std::string(row["row"].GetString()).rfind("compile_", 0) == 0;
    CHECK(row["limit_ms"].IsNull() == compiles);
    if (!compiles) CHECK(row["limit_ms"].GetDouble() > 0);
    CHECK(row["peer"].IsNull());
    CHECK(row["ratio"].IsNull());
  }
}

TEST_CASE("operator() is measured beside call_into where that is asked for") {
  const Scratch scratch;
  const Outcome outcome = bench("call outer compile_1000 --threads 1 --operator --json " +
                                scratch.path("out.json"));
  INFO(outcome.text);
  REQUIRE(outcome.status == 0);
  CHECK_THAT(outcome.text, ContainsSubstring("op/into"));
  const auto rows = json_of(scratch.path("out.json"));
  REQUIRE(rows.Size() == 3);
  CHECK(rows[0]["operator_ratio"].GetDouble() > 0);
  CHECK(rows[1]["operator_ratio"].GetDouble() > 0);
  CHECK(rows[2]["operator_ratio"].IsNull());
}

TEST_CASE("the rows of a GPU run with variables as inputs and results") {
  const Scratch scratch;
  const Outcome outcome =
      bench("--device --seconds 0 --threads 1 --json " + scratch.path("out.json"));
  INFO(outcome.text);
  REQUIRE(outcome.status == 0);
  const auto rows = json_of(scratch.path("out.json"));
  CHECK(rows.Size() == 30);
  const std::set<std::string> unlimited{"call_cpu", "char_rnn_train", "compile_char_rnn"};
  for (const auto& row : rows.GetArray()) {
    const std::string name = row["row"].GetString();
    INFO(name);
    CHECK(row["ours_ms"].GetDouble() > 0);
    CHECK(row["limit_ms"].IsNull() == (unlimited.count(name) == 1));
  }
}

TEST_CASE("planned memory stands beside the memory that is alive") {
  const Scratch scratch;
  const Outcome outcome = kiln::testing::run_shell(
      "'" KILN_BINARY_DIR "/bin/kiln' bench --tiny --device --backend cpu char_rnn_train "
      "compile_char_rnn --seconds 0 --threads 1 --json " + scratch.path("out.json"));
  INFO(outcome.text);
  REQUIRE(outcome.status == 0);
  const auto rows = json_of(scratch.path("out.json"));
  REQUIRE(rows.Size() == 2);
  CHECK(rows[0]["memory"].GetDouble() >= 1);
  CHECK(rows[0]["memory"].GetDouble() < 10);
  CHECK(rows[1]["memory"].IsNull());
}

TEST_CASE("a row that fails is named, and the others are measured") {
  const Outcome outcome = kiln::testing::run_shell(
      "KILN_DISABLE=nonsense '" KILN_BINARY_DIR
      "/bin/kiln' bench --tiny --backend reference call mlp_tiny --threads 1 --seconds 0");
  INFO(outcome.text);
  CHECK(outcome.status == 1);
  CHECK_THAT(outcome.text, ContainsSubstring("\nfailed call: ") &&
                               ContainsSubstring("\nfailed mlp_tiny: ") &&
                               ContainsSubstring("2 of the rows failed"));
}

TEST_CASE("the peer's answers and the ratio stand beside ours") {
  const Scratch scratch;
  const Outcome outcome = bench(scripted_peer(scratch, "ready a script", "1 by waiting") +
                                "call mlp_tiny --threads 1 --json " + scratch.path("out.json"));
  INFO(outcome.text);
  REQUIRE(outcome.status == 0);
  CHECK_THAT(outcome.text, ContainsSubstring("peer a script") && ContainsSubstring("by waiting"));
  const auto rows = json_of(scratch.path("out.json"));
  REQUIRE(rows.Size() == 2);
  CHECK(rows[0]["row"].GetString() == std::string("call"));
  CHECK(rows[0]["threads"].GetInt() == 1);
  CHECK(rows[0]["peer"].GetString() == std::string("a script, by waiting"));
  CHECK(rows[0]["peer_ms"].GetDouble() == 1000);
  CHECK(rows[0]["ratio"].GetDouble() ==
        Approx(1000 / rows[0]["ours_ms"].GetDouble()).epsilon(0.5));
  CHECK(rows[1]["peer"].IsNull());
}

TEST_CASE("a peer that cannot be used is an error") {
  const Scratch scratch;
  const Outcome missing = bench("call --peer /nonexistent/peer");
  CHECK(missing.status == 1);
  CHECK_THAT(missing.text, ContainsSubstring("the peer '/nonexistent/peer' ended"));
  const Outcome wrong = bench("call " + scripted_peer(scratch, "hello", "1"));
  CHECK(wrong.status == 1);
  CHECK_THAT(wrong.text, ContainsSubstring("not with 'ready NAME'"));
  const Outcome nonsense = bench("call " + scripted_peer(scratch, "ready x", "soon"));
  CHECK(nonsense.status == 1);
  CHECK_THAT(nonsense.text, ContainsSubstring("answered 'soon' for row call"));
}

TEST_CASE("bad arguments of bench are errors that say what there is") {
  const Outcome row = bench("nonsense");
  CHECK(row.status == 1);
  CHECK_THAT(row.text, ContainsSubstring("no row 'nonsense'; there are: call chain10"));
  CHECK_THAT(bench("call --threads 0").text, ContainsSubstring("0 is not from 1 to 256"));
  CHECK_THAT(bench("call --threads 1 --json /nonexistent/x").text,
             ContainsSubstring("cannot write"));
  CHECK(bench("call --threads x").status != 0);
}

TEST_CASE("a backend that is missing is an error before anything is measured") {
  const Outcome outcome = bench("call --backend nowhere");
  CHECK(outcome.status != 0);
}
