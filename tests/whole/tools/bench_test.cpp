// Tests build/bin/kiln bench as a user runs it, with work small enough to be quick, and own peers.
#include "tests/distributed/mpi/launchers.h"
#include "tests/support/catch.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include <rapidjson/document.h>

#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
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

/// A peer in sh that runs `start` first and replies to each row with the output of `answer`.
std::string peer_that(const Scratch& scratch, const std::string& name, const std::string& start,
                      const std::string& answer) {
  const std::string file = scratch.path(name + ".sh");
  std::ofstream(file) << start << "\nwhile read row threads size; do\n" << answer << "\ndone\n";
  return "--peer 'sh " + file + "' ";
}

/// A peer with the same reply to each row but mlp_tiny, which it does not have.
std::string scripted_peer(const Scratch& scratch, const std::string& first_line,
                          const std::string& answer) {
  const std::string name = first_line.substr(first_line.rfind(' ') + 1);
  return peer_that(scratch, name, "echo '" + first_line + "'",
                   "if [ $row = mlp_tiny ]; then echo none; else echo '" + answer + "'; fi");
}

}  // namespace

TEST_CASE("kiln bench: every row runs with one and two threads and is in the JSON", "[slow]") {
  const Scratch scratch;
  const Outcome outcome = bench("--json " + scratch.path("out.json"));
  INFO(outcome.text);
  REQUIRE(outcome.status == 0);
  const auto rows = json_of(scratch.path("out.json"));
  CHECK(rows.Size() == 2 * 70);
  for (const auto& row : rows.GetArray()) {
    INFO(row["row"].GetString());
    CHECK(row["ours_ms"].GetDouble() > 0);
    const std::string name = row["row"].GetString();
    const bool compiles = name.starts_with("compile_") || name.starts_with("first_step_");
    CHECK(row["limit_ms"].IsNull() == compiles);
    if (!compiles) CHECK(row["limit_ms"].GetDouble() > 0);
    CHECK(row["peer"].IsNull());
    CHECK(row["ratio"].IsNull());
    CHECK(row["peers"].Empty());
  }
}

TEST_CASE("kiln bench: the head names the processor, the memory, the versions and the kernels") {
  const Outcome outcome = kiln::testing::run_shell(
      "KILN_CPU_ISA=baseline '" KILN_BINARY_DIR
      "/bin/kiln' bench --tiny --backend cpu call --threads 1 --seconds 0");
  INFO(outcome.text);
  REQUIRE(outcome.status == 0);
  const std::string head = outcome.text.substr(0, outcome.text.find("GFLOP/s"));
  CHECK_THAT(head, ContainsSubstring(" UTC; ") && ContainsSubstring(" cores, ") &&
                       ContainsSubstring(" GiB\nKiln " KILN_VERSION "; backend cpu (") &&
                       ContainsSubstring("kernels for baseline; oneDNN "));
}

TEST_CASE("kiln bench: --operator measures operator() in addition to call_into") {
  const Scratch scratch;
  const Outcome outcome =
      bench("--threads 1 call outer compile_1000 --operator --json " + scratch.path("out.json"));
  INFO(outcome.text);
  REQUIRE(outcome.status == 0);
  CHECK_THAT(outcome.text, ContainsSubstring("op/into"));
  const auto rows = json_of(scratch.path("out.json"));
  REQUIRE(rows.Size() == 3);
  CHECK(rows[0]["operator_ratio"].GetDouble() > 0);
  CHECK(rows[1]["operator_ratio"].GetDouble() > 0);
  CHECK(rows[2]["operator_ratio"].IsNull());
}

TEST_CASE("kiln bench: the rows of a GPU run with variables as inputs and results") {
  const Scratch scratch;
  const Outcome outcome =
      bench("--device --seconds 0 --threads 1 --json " + scratch.path("out.json"));
  INFO(outcome.text);
  REQUIRE(outcome.status == 0);
  const auto rows = json_of(scratch.path("out.json"));
  CHECK(rows.Size() == 41);
  const std::set<std::string> unlimited{"call_cpu", "char_rnn_train", "compile_char_rnn"};
  for (const auto& row : rows.GetArray()) {
    const std::string name = row["row"].GetString();
    INFO(name);
    CHECK(row["ours_ms"].GetDouble() > 0);
    CHECK(row["limit_ms"].IsNull() == (unlimited.count(name) == 1));
  }
}

TEST_CASE("kiln bench: planned memory is listed with live memory") {
  const Scratch scratch;
  const Outcome outcome =
      kiln::testing::run_shell("'" KILN_BINARY_DIR
                               "/bin/kiln' bench --tiny --device --backend cpu char_rnn_train "
                               "compile_char_rnn --seconds 0 --threads 1 --json " +
                               scratch.path("out.json"));
  INFO(outcome.text);
  REQUIRE(outcome.status == 0);
  const auto rows = json_of(scratch.path("out.json"));
  REQUIRE(rows.Size() == 2);
  CHECK(rows[0]["memory"].GetDouble() >= 1);
  CHECK(rows[0]["memory"].GetDouble() < 10);
  CHECK(rows[1]["memory"].IsNull());
}

TEST_CASE("kiln bench: a failing row is named, and the others are measured") {
  const Outcome outcome = kiln::testing::run_shell(
      "KILN_DISABLE=nonsense '" KILN_BINARY_DIR
      "/bin/kiln' bench --tiny --backend reference call mlp_tiny --threads 1 --seconds 0");
  INFO(outcome.text);
  CHECK(outcome.status == 1);
  CHECK_THAT(outcome.text, ContainsSubstring("\nfailed call: ") &&
                               ContainsSubstring("\nfailed mlp_tiny: ") &&
                               ContainsSubstring("2 of the rows failed"));
}

TEST_CASE("kiln bench: the peer's times and the ratio are listed with Kiln's") {
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
  CHECK(rows[0]["ratio"].GetDouble() == Approx(1000 / rows[0]["ours_ms"].GetDouble()).epsilon(0.5));
  CHECK(rows[1]["peer"].IsNull());
}

TEST_CASE("kiln bench: the fastest of several peers is in the table, and all are in the JSON") {
  const Scratch scratch;
  const Outcome outcome =
      bench(scripted_peer(scratch, "ready slow", "2 by waiting") +
            scripted_peer(scratch, "ready fast", "1e-12 by guessing") +
            "call mlp_tiny dot_bf16_1024 --threads 1 --json " + scratch.path("out.json"));
  INFO(outcome.text);
  REQUIRE(outcome.status == 0);
  CHECK_THAT(outcome.text, ContainsSubstring("; perf, 1 thread: "));
  CHECK_THAT(outcome.text, ContainsSubstring("peer slow\npeer fast\n") &&
                               ContainsSubstring("behind: call, 1 thread: 0.00 of fast, by gues") &&
                               ContainsSubstring("; of the limit: ours "));
  CHECK_THAT(outcome.text, !ContainsSubstring("behind: mlp_tiny"));
  const auto rows = json_of(scratch.path("out.json"));
  REQUIRE(rows.Size() == 3);
  CHECK(rows[0]["peer"].GetString() == std::string("fast, by guessing"));
  const auto& peers = rows[0]["peers"];
  REQUIRE(peers.Size() == 2);
  CHECK(peers[0]["peer"].GetString() == std::string("fast"));
  CHECK(peers[1]["peer"].GetString() == std::string("slow"));
  CHECK(peers[1]["form"].GetString() == std::string("by waiting"));
  CHECK(peers[1]["ms"].GetDouble() == 2000);
  CHECK(peers[1]["ratio"].GetDouble() > 1);
  CHECK(rows[1]["peers"].Empty());
}

TEST_CASE("kiln bench: rows are not behind when all peers are slower") {
  const Scratch scratch;
  const Outcome outcome =
      bench(scripted_peer(scratch, "ready slow", "2") + "call --threads 1 --seconds 0");
  INFO(outcome.text);
  CHECK_THAT(outcome.text, ContainsSubstring("behind: no row\n"));
}

TEST_CASE("kiln bench: a peer does not run while another one is measured") {
  const Scratch scratch;
  const std::string ticks = scratch.path("ticks");
  const std::string busy = peer_that(scratch, "busy",
                                     "while echo >> " + ticks +
                                         "; do sleep 0.01; done &\n"
                                         "trap 'kill $!' EXIT\necho ready busy",
                                     "echo 1 busy");
  const std::string observer =
      peer_that(scratch, "observer", "echo ready observer",
                "before=$(wc -c < " + ticks + "); sleep 0.3; after=$(wc -c < " + ticks +
                    ")\nif [ $before = $after ]; then echo 1 still; else echo 1 moving; fi");
  const Outcome outcome =
      bench(busy + observer + "call --threads 1 --seconds 0 --json " + scratch.path("out.json"));
  INFO(outcome.text);
  REQUIRE(outcome.status == 0);
  const auto rows = json_of(scratch.path("out.json"));
  for (const auto& peer : rows[0]["peers"].GetArray()) {
    if (peer["peer"].GetString() != std::string("observer")) continue;
    CHECK(peer["form"].GetString() == std::string("still"));
  }
  CHECK(rows[0]["peers"].Size() == 2);
}

TEST_CASE("kiln bench: a peer that cannot be used is an error") {
  const Scratch scratch;
  const Outcome missing = bench("call --peer /nonexistent/peer");
  CHECK(missing.status == 1);
  CHECK_THAT(missing.text, ContainsSubstring("peer '/nonexistent/peer' exited"));
  const Outcome wrong = bench("call " + scripted_peer(scratch, "hello", "1"));
  CHECK(wrong.status == 1);
  CHECK_THAT(wrong.text, ContainsSubstring("instead of 'ready NAME'"));
  const Outcome nonsense = bench("call " + scripted_peer(scratch, "ready x", "soon"));
  CHECK(nonsense.status == 1);
  CHECK_THAT(nonsense.text, ContainsSubstring("answered 'soon' for row call"));
}

TEST_CASE("bench_peers: libraries that its Python cannot import are named") {
  const Scratch scratch;
  std::ofstream(scratch.path("python")) << "#!/bin/sh\nexit 1\n";
  fs::permissions(scratch.path("python"), fs::perms::owner_all);
  const Outcome outcome =
      kiln::testing::run_shell("KILN_PEER_PYTHON='" + scratch.path("python") +
                               "' '" KILN_SOURCE_DIR "/tools/bench_peers' call");
  INFO(outcome.text);
  CHECK(outcome.status == 1);
  CHECK_THAT(outcome.text, ContainsSubstring("absent: PyTorch (") &&
                               ContainsSubstring("absent: ONNX Runtime (") &&
                               ContainsSubstring("absent: PyTensor (") &&
                               ContainsSubstring("can import none of the peers"));
}

TEST_CASE("bench_peers: a process for each number of threads and for each cold call") {
  if (kiln::testing::run_shell("python3 -c 'import argparse, subprocess'").status != 0) {
    WARN("no python3: the peers' programs are not tested");
    return;
  }
  const Scratch scratch;
  const std::string folder = KILN_SOURCE_DIR "/tools/kiln/bench";
  std::ofstream(scratch.path("program.py"))
      << "import sys, time\nsys.path.insert(0, '" << folder << "')\nimport peer_loop\n"
      << "options = peer_loop.options()\n"
      << "rows = peer_loop.Rows(\n"
      << "    {'call': lambda tiny: {'slow': lambda: time.sleep(0.02),\n"
      << "                           f'for {options.threads}': lambda: time.sleep(0.001)}},\n"
      << "    cold_rows={'compile_1000': {'cold': lambda tiny: time.sleep(0.1)}})\n"
      << "if options.cold: rows.run_cold(*options.cold)\n"
      << "else: rows.serve(f'program {options.threads}')\n";
  const std::string peer = "PYTHONDONTWRITEBYTECODE=1 python3 '" + folder + "/peer_threads.py' '" +
                           scratch.path("program.py") + "'";
  const Outcome outcome = bench("--peer \"" + peer + "\" call compile_1000 mlp_tiny --seconds 0 " +
                                "--json " + scratch.path("out.json"));
  INFO(outcome.text);
  REQUIRE(outcome.status == 0);
  const auto rows = json_of(scratch.path("out.json"));
  REQUIRE(rows.Size() == 6);
  CHECK(rows[0]["peer"].GetString() == std::string("program 1, for 1"));
  CHECK(rows[1]["peer"].GetString() == std::string("program 1, for 2"));
  for (const unsigned cold : {2u, 3u}) {
    CHECK(rows[cold]["peer"].GetString() == std::string("program 1, cold"));
    CHECK(rows[cold]["peer_ms"].GetDouble() >= 100);
  }
  CHECK(rows[4]["peer"].IsNull());
  CHECK(rows[5]["peer"].IsNull());
}

TEST_CASE("kiln bench: errors of bad arguments list the valid ones") {
  const Outcome row = bench("nonsense");
  CHECK(row.status == 1);
  CHECK_THAT(row.text, ContainsSubstring("unknown row 'nonsense'; rows: call chain10"));
  for (const std::string count : {"0", "x", "2.5"}) {
    const Outcome threads = bench("call --threads 1," + count);
    CHECK(threads.status == 1);
    CHECK_THAT(threads.text, ContainsSubstring("kiln bench: --threads: '" + count +
                                               "' is not an integer from 1 to 256\n"));
  }
  CHECK_THAT(bench("call --device=x").text,
             ContainsSubstring("kiln bench: --device accepts no value\n"));
  CHECK_THAT(bench("call --tiny=x").text,
             ContainsSubstring("kiln bench: --tiny accepts no value\n"));
  CHECK(bench("call --threads 1 --json /nonexistent/x").text ==
        "kiln bench: cannot write '/nonexistent/x'\n");
}

TEST_CASE("kiln bench: --device without a backend on a GPU is an error") {
  const Outcome outcome = kiln::testing::run_shell("KERAS_BACKEND=reference '" KILN_BINARY_DIR
                                                   "/bin/kiln' bench --tiny --device call");
  CHECK(outcome.status == 1);
  CHECK(outcome.text ==
        "kiln bench: the backend in use is 'reference', which has no GPU; name one "
        "with --backend\n");
}

TEST_CASE("kiln bench: a missing backend is an error before anything is measured") {
  const Outcome outcome = bench("call --backend nowhere");
  CHECK(outcome.status != 0);
}

TEST_CASE("kiln bench: the rows of ranks are left out without a launcher") {
  const Outcome outcome = bench("--ranks");
  CHECK(outcome.status == 0);
  CHECK(outcome.text == "left out: one rank; kiln launch -n 2 -- kiln bench --ranks starts two\n");
}

TEST_CASE("kiln bench: sums and a training step of ranks, beside those of MPI and of one rank") {
  // Six times and ratios, then the messages and bytes that a rank sends.
  const std::string rows =
      "call +([0-9.]+ +){6}- +- +a call before the ranks joined\n"
      "all_reduce_1kb +([0-9.]+ +){6}1 +1024 +MPI_Allreduce\n"
      "all_reduce_1mb +([0-9.]+ +){6}2 +1048576 +MPI_Allreduce\n"
      "all_reduce_100mb +([0-9.]+ +){6}2 +2097152 +MPI_Allreduce\n"
      "char_rnn_train +([0-9.]+ +){6}- +- +one rank with all rows, [0-9]+ threads?\n";
  for (const auto& implementation : {mpi_test::kOpenMpi, mpi_test::kMpich}) {
    const std::string start = mpi_test::launcher(implementation);
    if (start.empty()) continue;
    const Outcome outcome = kiln::testing::run_shell(
        start + " -n 2 '" KILN_BINARY_DIR "/bin/kiln' bench --ranks --tiny --backend reference");
    INFO(outcome.text);
    CHECK(outcome.status == 0);
    CHECK(std::regex_search(outcome.text, std::regex(rows)));
  }
}
