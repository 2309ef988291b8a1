// Tests the folder of tools/gpu_test with small programs instead of the packed ones: lines of the
// summary, time limits, interrupted runs. .ci/run packs and runs the folder itself.
#include "tests/support/catch.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/has.h"
#include "test_folders.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>

namespace fs = std::filesystem;
using kiln::testing::contents_of;
using kiln::testing::Outcome;
using kiln::testing::run_shell;
using kiln::testing::Scratch;

namespace {

const std::string kTools = KILN_SOURCE_DIR "/tools";

using kiln::testing::has;

/// Creates a folder with the scripts of tools/gpu_folder and programs that succeed.
class Folder {
 public:
  Folder() {
    fs::copy(kTools + "/gpu_folder", scratch_.folder(), fs::copy_options::recursive);
    fs::create_directories(scratch_.path("lib/cuda_gpu"));
    fs::create_directories(scratch_.path("bin"));
    program("kiln", "echo call 1 0.004");
    for (const char* name : {"ops", "k", "passes", "rewrite"}) tests(name);
    for (const char* name : {"random_programs", "nccl"}) {
      program(std::string("test_") + name, "echo All tests passed");
    }
    for (const char* name : {"char_rnn", "digits_cnn", "digits_ctc", "mixed_precision"}) {
      program(name, "echo step 1 loss 4.5");
    }
  }

  void program(const std::string& name, const std::string& body) const {
    const std::string path = scratch_.write("bin/" + name, "#!/bin/sh\n" + body + "\n");
    fs::permissions(path, fs::perms::owner_all);
  }

  /// A program of three tests. `body`: its work with a file that lists tests.
  void tests(const std::string& name, const std::string& body = "") const {
    const std::string passed =
        "echo \"All tests passed (9 assertions in $(wc -l < \"$2\") test cases)\"";
    program("test_" + name, "if [ \"$1\" = -f ]; then " + (body.empty() ? passed : body) +
                                "; else printf 'one\\ntwo\\nthree\\n'; fi");
  }

  std::string path(const std::string& name) const { return scratch_.path(name); }
  /// Writes a file of the folder; returns its path.
  std::string write(const std::string& name, const std::string& text) const {
    return scratch_.write(name, text);
  }

  /// Runs a command line of bash in the folder.
  Outcome run(const std::string& words) const {
    return run_shell("cd '" + scratch_.folder() + "' && " + words);
  }
  std::string result(const std::string& name) const {
    return contents_of(scratch_.path("results/" + name));
  }

 private:
  Scratch scratch_;
};

}  // namespace

TEST_CASE("gpu_test: a run in which all parts pass") {
  const Folder folder;
  const Outcome outcome = folder.run("bash run --fakes");
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  CHECK(has(outcome.text, "\nPASS all ops, dtypes and gradients pass\n"));
  CHECK(has(outcome.text, "\nPASS the examples' models have the oracle's losses\n"));
  CHECK(has(outcome.text, "\nLATER compute-sanitizer finds no bad access, race or barrier (sani"));
  CHECK(has(outcome.text, "at most 25 us (the fakes are not timed)\n"));
  CHECK_FALSE(has(outcome.text, "FAIL"));
  CHECK(has(outcome.text, "\n" + folder.result("summary.txt")));
  CHECK(has(folder.result("parts.txt"), "ops\tPASS\t"));
  CHECK(has(folder.result("ops.txt"), "\n3 of 3 tests passed, in "));
}

TEST_CASE("gpu_test: failures, wrong losses, and parts that never end") {
  const Folder folder;
  folder.tests("k", "echo 'x.cpp:1: FAILED:'; exit 3");
  folder.tests("rewrite",
               "echo '0.125 s: one'; trap 'echo x.cpp:1: FAILED:; "
               "echo SIGTERM - Termination request signal; exit 1' TERM; sleep 60 & wait");
  folder.program("digits_ctc", "case $* in *cuda*) echo loss 4.6;; *) echo loss 4.5;; esac");
  const Outcome outcome = folder.run("bash run --fakes --minutes 1");
  INFO(outcome.text);
  CHECK(outcome.status == 1);
  CHECK(has(outcome.text, "\nPASS all ops, dtypes and gradients pass\n"));
  CHECK(has(outcome.text, "\nFAIL all K rows pass (k: results/k.txt)\n"));
  CHECK(has(outcome.text, "\nLATER passes and rewrite rules pass (rewrite: not done within "));
  CHECK(has(outcome.text, "\nFAIL the examples' models have the oracle's losses (models: "));
  CHECK(has(folder.result("models.txt"), "differ: loss 4.5\tloss 4.6\n"));
  CHECK(has(folder.result("rewrite.txt"), "\nnot done:\nthree\ntwo\n"));
}

TEST_CASE("gpu_test: a process that runs fewer tests than it was given fails") {
  const Folder folder;
  folder.tests("ops", "echo 'All tests passed (9 assertions in 0 test cases)'");
  const Outcome outcome = folder.run("bash run --fakes");
  INFO(outcome.text);
  CHECK(outcome.status == 1);
  CHECK(has(outcome.text, "\nFAIL all ops, dtypes and gradients pass (ops: results/ops.txt)\n"));
  CHECK(has(folder.result("ops.txt"), "\n0 of 3 tests passed, in "));
  folder.program("test_ops", "exit 1");  // lists nothing
  CHECK(folder.run("bash run --fakes").status == 1);
  CHECK(has(folder.result("ops.txt"), "\n0 of 0 tests passed, in "));
  folder.program("test_random_programs", "exit 0");
  CHECK(folder.run("bash run --fakes").status == 1);
  CHECK(has(folder.result("random_programs.txt"), "test_random_programs has no test for [seeds]"));
}

TEST_CASE("gpu_test: ranks that NCCL rejects are left for later") {
  const Folder folder;
  folder.program("test_nccl",
                 "case $1 in '[.shares-device]') echo NCCL rejects: rank 0: no; exit 1;; esac");
  const Outcome later = folder.run("bash run --fakes");
  INFO(later.text);
  CHECK(later.status == 0);
  CHECK(has(later.text,
            "\nLATER collectives of 2, 3 and 4 ranks on one device have the bits of "
            "plain loops (ranks: NCCL rejects: rank 0: no)\n"));
  folder.program("test_nccl", "case $1 in '[.shares-device]') echo other; exit 1;; esac");
  CHECK(has(folder.run("bash run --fakes").text, "\nFAIL collectives of 2, 3 and 4 ranks on "));
}

TEST_CASE("gpu_test: a part that fails and then exceeds its time has failed") {
  const Folder folder;
  folder.tests("rewrite", "echo 'x.cpp:1: FAILED:'; sleep 60");
  const Outcome outcome = folder.run("bash run --fakes --minutes 1");
  INFO(outcome.text);
  CHECK(outcome.status == 1);
  CHECK(has(outcome.text, "\nFAIL passes and rewrite rules pass (rewrite: results/rewrite.txt)\n"));
}

TEST_CASE("gpu_test: nothing runs where no program runs on the device") {
  const Folder folder;
  folder.program("kiln", "echo no device; exit 1");
  const Outcome outcome = folder.run("bash run --fakes");
  INFO(outcome.text);
  CHECK(outcome.status == 1);
  CHECK(has(folder.result("environment.txt"), "no device\n"));
  CHECK(has(outcome.text, "\nFAIL driver, device and NVRTC open; a program runs on the device ("));
  CHECK(has(outcome.text, "\nLATER all K rows pass (k: the environment failed)\n"));
}

TEST_CASE("gpu_test: an interrupted run has its summary") {
  const Folder folder;
  // Signals come until the run has ended, also while it prints the summary.
  folder.tests("k", "trap '' TERM; while kill -TERM $RUN; do :; done 2>/dev/null");
  const Outcome outcome = folder.run("bash -c 'export RUN=$$; exec bash run --fakes'");
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  CHECK(has(outcome.text, "\nPASS all ops, dtypes and gradients pass\n"));
  CHECK(has(outcome.text, "\nLATER all K rows pass (k: not run)\n"));
}

namespace {

const char* const kBenchTable =
    "call: x + 1\n"
    "call 1 0.016 - - -\n"
    "mlp_tiny 1 0.02 - - 1.00\n"
    "chain10 1 0.3 0.27 1.11 -\n"
    "sum 1 0.5 0.4 1.25 -\n"
    "cast 1 0.1 - - -\n"
    "char_rnn_train 1 2.5 - - 1.31\n"
    "no memory softmax: out of memory\n"
    "failed transpose: a fault\n";
const char* const kPeerTable =
    "chain10 1 0.3 0.27 1.11 - 0.306 1.02 compiled (eager 0.9 ms; compiled 0.306 ms)\n"
    "cast 1 0.1 0.09 1.11 - 0.08 0.80 compiled (eager 0.2 ms; compiled 0.08 ms)\n"
    "sum 1 0.1 0.09 1.11 - 0.08 0.80 eager (eager 0.08 ms; compiled failed: TooLong)\n"
    "gather 1 0.1 0.09 1.11 -\n";

/// The lines of the summary for these demands and these lines of parts.txt.
std::string decided(const Folder& folder, const std::string& parts, const std::string& demands) {
  fs::create_directories(folder.path("results"));
  folder.write("results/bench.txt", kBenchTable);
  folder.write("results/torch.txt", kPeerTable);
  folder.write("results/parts.txt", parts);
  folder.write("some.txt", demands);
  return folder.run("bash -c 'results=results; . ./report.sh; print_summary some.txt'").text;
}

}  // namespace

TEST_CASE("gpu_test: rows are compared with times, with a copy's rate and with live memory") {
  const Folder folder;
  const std::string parts = "bench\tPASS\t9 s\n";
  const struct {
    const char *decision, *line;
  } rows[] = {{"bench call 0.015", "FAIL it (0.016 ms)"},
              {"bench mlp_tiny 0.025", "PASS it (0.02 ms)"},
              {"bench adam 1", "LATER it (bench: adam was not measured)"},
              {"bench transpose 1", "FAIL it (bench: failed transpose: a fault)"},
              {"rate chain10 0.9", "PASS it (0.90 of a copy's speed, 0.3 ms)"},
              {"rate chain10 0.91", "FAIL it (0.90 of a copy's speed, 0.3 ms)"},
              {"rate sum 0.85", "FAIL it (0.80 of a copy's speed, 0.5 ms)"},
              {"rate cast 0.9", "LATER it (bench: no copy was measured for cast)"},
              {"rate softmax 0.9", "LATER it (bench: no memory softmax: out of memory)"},
              {"memory char_rnn_train 1.25", "FAIL it (1.31 times)"},
              {"memory char_rnn_train 1.5", "PASS it (1.31 times)"},
              {"memory sum 1.5", "LATER it (bench: no memory was planned for sum)"},
              {"later of a reason", "LATER it (of a reason)"},
              {"maybe call 1", "FAIL it (demands.txt: no decision 'maybe call 1')"}};
  for (const auto& row : rows) {
    CHECK(decided(folder, parts, std::string(row.decision) + " | it\n") ==
          std::string(row.line) + "\n");
  }
  CHECK(decided(folder, "bench\tLATER\tnot done within 9 s\n", "bench adam 1 | it\n") ==
        "LATER it (bench: not done within 9 s)\n");
}

TEST_CASE("gpu_test: rows are compared with a peer's times") {
  const Folder folder;
  const std::string parts = "torch\tPASS\t9 s\njax\tLATER\tno jax\n";
  const struct {
    const char *decision, *line;
  } rows[] = {
      {"peer torch chain10 1 compiled",
       "PASS it (1.02 times, beside compiled (eager 0.9 ms; compiled 0.306 ms))"},
      {"peer torch chain10 1.5",
       "FAIL it (1.02 times, beside compiled (eager 0.9 ms; compiled 0.306 ms))"},
      {"peer torch cast 0.8 eager",
       "PASS it (0.80 times, beside compiled (eager 0.2 ms; compiled 0.08 ms))"},
      {"peer torch sum 0.5 compiled",
       "LATER it (the peer's form 'compiled' was not measured: eager (eager 0.08 ms; compiled "
       "failed: TooLong))"},
      {"peer torch gather 1", "LATER it (the peer has no time for gather)"},
      {"peer torch adam 1", "LATER it (torch: adam was not measured)"},
      {"peer jax softmax 1", "LATER it (jax: no jax)"}};
  for (const auto& row : rows) {
    CHECK(decided(folder, parts, std::string(row.decision) + " | it\n") ==
          std::string(row.line) + "\n");
  }
}

TEST_CASE("gpu_test: demands name rows of kiln bench and parts of the run") {
  std::string known = run_shell("'" KILN_BINARY_DIR "/bin/kiln' bench --device nonsense").text;
  std::replace(known.begin(), known.end(), '\n', ' ');
  const std::string parts = contents_of(kTools + "/gpu_folder/run");
  std::istringstream demands(contents_of(kTools + "/gpu_folder/demands.txt"));
  int count = 0;
  for (std::string line; std::getline(demands, line);) {
    std::istringstream words(line);
    std::string kind, part = "bench", row;
    words >> kind;
    if (kind == "#" || kind == "part" || kind == "later") continue;
    if (kind == "peer") words >> part;
    words >> row;
    INFO(line);
    CHECK(has(known, " " + row + " "));
    CHECK(has(parts, part + ":"));
    ++count;
  }
  CHECK(count > 40);
}

TEST_CASE("gpu_test: a peer's rows run where Python has it") {
  const Folder folder;
  folder.program("kiln", "echo \"$@\"");
  const std::string python =
      folder.write("bin/python", "#!/bin/sh\ncase $2 in *jax*) exit 1;; esac");
  fs::permissions(python, fs::perms::owner_all);
  const std::string variables = "KILN_GPU_TEST_PYTHON='" + python + "' bash parts.sh ";
  const Outcome torch = folder.run(variables + "torch");
  CHECK(torch.status == 0);
  CHECK(has(torch.text, "--seconds 1 --peer '" + python + "' '" + folder.path("peers/peers.py") +
                            "' --device cuda matmul"));
  const Outcome jax = folder.run(variables + "jax");
  CHECK(jax.status == 77);
  CHECK(jax.text == python + " has no jax that finds the device\n");
}

TEST_CASE("gpu_test: NVRTC and cuDNN are found among Python's packages") {
  const Scratch scratch;
  fs::create_directories(scratch.path("site/nvidia/cuda_nvrtc/lib"));
  scratch.write("site/nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "");
  const std::string python = scratch.write("python", "#!/bin/sh\necho '" + scratch.path("site") +
                                                         "'\necho '" + scratch.folder() + "'\n");
  fs::permissions(python, fs::perms::owner_all);
  const auto folders_with = [&](const std::string& variable) {
    return kiln::testing::last_line(
        run_shell(variable + " KILN_GPU_TEST_PYTHON='" + python +
                  "' bash -c '. \"$0/gpu_folder/find_libraries.sh\"; kiln_find_libraries; "
                  "echo \"${KILN_CUDA_LIBRARIES##*:}\"' '" +
                  kTools + "'")
            .text);
  };
  CHECK(folders_with("KILN_CUDA_LIBRARIES=") == scratch.path("site"));
  CHECK(folders_with("KILN_CUDA_LIBRARIES=/given") == "/given");
  fs::rename(scratch.path("site/nvidia/cuda_nvrtc"), scratch.path("site/nvidia/cudnn"));
  fs::rename(scratch.path("site/nvidia/cudnn/lib/libnvrtc.so.12"),
             scratch.path("site/nvidia/cudnn/lib/libcudnn.so.9"));
  CHECK(folders_with("KILN_CUDA_LIBRARIES=") == scratch.path("site"));
  fs::remove(scratch.path("site/nvidia/cudnn/lib/libcudnn.so.9"));
  CHECK(folders_with("KILN_CUDA_LIBRARIES=") != scratch.path("site"));
}

TEST_CASE("gpu_test: unknown options, and folders that are not empty") {
  const Folder folder;
  for (const char* words : {"--minutes 0", "--minutes", "--minutes x", "--nonsense"}) {
    INFO(words);
    const Outcome outcome = folder.run(std::string("bash run ") + words);
    CHECK(outcome.status == 2);
    CHECK(outcome.text == "usage: run [--minutes N] [--fakes]\n");
  }
  const Outcome plain = folder.run("rmdir lib/cuda_gpu && bash run --fakes");
  CHECK(plain.status == 1);
  CHECK(plain.text == "run: this folder was packed without --with-fakes\n");
  CHECK(folder.run("bash parts.sh nonsense").text == "parts.sh: unknown part 'nonsense'\n");

  const std::string tool = "bash '" + kTools + "/gpu_test' ";
  for (const char* words : {"", "pack", "unpack d", "pack d --nonsense", "pack d --with-fakes d"}) {
    INFO(words);
    const Outcome outcome = folder.run(tool + words);
    CHECK(outcome.status == 1);
    CHECK(outcome.text == "tools/gpu_test: usage: tools/gpu_test pack DIR [--with-fakes]\n");
  }
  const Outcome full = folder.run(tool + "pack bin");
  CHECK(full.status == 1);
  CHECK(full.text == "tools/gpu_test: bin is not empty\n");
}
