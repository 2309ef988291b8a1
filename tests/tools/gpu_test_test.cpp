// The folder of tools/gpu_test around small programs instead of the packed ones: lines of the
// summary, time limits, interrupted runs. The folder itself is packed and run by .ci/run.
#include "tests/catch.h"
#include "tests/process.h"
#include "tests/scratch.h"

#include <filesystem>
#include <string>

namespace fs = std::filesystem;
using kiln::testing::contents_of;
using kiln::testing::Outcome;
using kiln::testing::run_shell;
using kiln::testing::Scratch;

namespace {

const std::string kTools = KILN_SOURCE_DIR "/tools";

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A folder with the scripts of tools/gpu_folder and programs that succeed.
class Folder {
 public:
  Folder() {
    fs::copy(kTools + "/gpu_folder", scratch_.folder(), fs::copy_options::recursive);
    fs::create_directories(scratch_.path("lib/cuda_gpu"));
    fs::create_directories(scratch_.path("bin"));
    program("kiln", "echo call 1 0.004");
    for (const char* name : {"ops", "k", "passes", "rewrite", "random_programs"}) {
      program(std::string("test_") + name, "echo All tests passed");
    }
    for (const char* name : {"char_rnn", "digits_cnn", "digits_ctc"}) {
      program(name, "echo step 1 loss 4.5");
    }
  }

  void program(const std::string& name, const std::string& body) const {
    const std::string path = scratch_.write("bin/" + name, "#!/bin/sh\n" + body + "\n");
    fs::permissions(path, fs::perms::owner_all);
  }

  /// bash runs the words in the folder.
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

TEST_CASE("gpu_test: a run where all passes") {
  const Folder folder;
  const Outcome outcome = folder.run("bash run --fakes");
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  CHECK(has(outcome.text, "\nPASS all ops, dtypes and gradients pass\n"));
  CHECK(has(outcome.text, "\nPASS the examples' models have the oracle's losses\n"));
  CHECK(has(outcome.text, "\nLATER compute-sanitizer finds no bad access, race or barrier (sani"));
  CHECK(has(outcome.text, "at most 25 us (the fakes have no speed)\n"));
  CHECK_FALSE(has(outcome.text, "FAIL"));
  CHECK(has(outcome.text, "\n" + folder.result("summary.txt")));
  CHECK(has(folder.result("parts.txt"), "ops\tPASS\t"));
}

TEST_CASE("gpu_test: failures, wrong losses, and parts that do not end") {
  const Folder folder;
  folder.program("test_k", "echo 'x.cpp:1: FAILED:'; exit 3");
  folder.program("test_rewrite", "sleep 60");
  folder.program("digits_ctc", "case $* in *cuda*) echo loss 4.6;; *) echo loss 4.5;; esac");
  const Outcome outcome = folder.run("bash run --fakes --minutes 1");
  INFO(outcome.text);
  CHECK(outcome.status == 1);
  CHECK(has(outcome.text, "\nPASS all ops, dtypes and gradients pass\n"));
  CHECK(has(outcome.text, "\nFAIL all K rows pass (k: results/k.txt)\n"));
  CHECK(has(outcome.text, "\nLATER passes and rewrite rules pass (rewrite: not done within "));
  CHECK(has(outcome.text, "\nFAIL the examples' models have the oracle's losses (models: "));
  CHECK(has(folder.result("models.txt"), "differ: loss 4.5\tloss 4.6\n"));
}

TEST_CASE("gpu_test: a part that fails before its time is over has failed") {
  const Folder folder;
  folder.program("test_rewrite", "echo 'x.cpp:1: FAILED:'; sleep 60");
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
  folder.program("test_k", "kill -TERM $RUN; sleep 60");
  const Outcome outcome = folder.run("bash -c 'export RUN=$$; exec bash run --fakes'");
  INFO(outcome.text);
  CHECK(outcome.status == 0);
  CHECK(has(outcome.text, "\nPASS all ops, dtypes and gradients pass\n"));
  CHECK(has(outcome.text, "\nLATER all K rows pass (k: not run)\n"));
}

TEST_CASE("gpu_test: times of rows are compared with their limits") {
  const Folder folder;
  const Outcome outcome = folder.run(
      "mkdir results && printf 'call: x + 1\\ncall 1 0.016 -\\nmlp_tiny 1 0.02 -\\n' > "
      "results/bench.txt && : > results/parts.txt && "
      "bash -c 'results=results; . ./report.sh; print_summary demands.txt'");
  INFO(outcome.text);
  CHECK(has(outcome.text, "\nFAIL f(x) = x + 1 on 16 floats, host to host: at most 15 us (0.016 "));
  CHECK(has(outcome.text, "\nPASS mlp_tiny step: at most 25 us (0.02 ms)\n"));
  CHECK(has(outcome.text, "\nLATER Adam on 100 x 1,000: at most 15 us (bench: adam_many was not "));
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

TEST_CASE("gpu_test: words that are not understood, and folders that are not empty") {
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
  CHECK(folder.run("bash parts.sh nonsense").text == "parts.sh: there is no part 'nonsense'\n");

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
