// The main function of every example: options, errors as one line, checked standard output, and
// before training a check that the weights can be saved, and the return to a checkpoint.
#pragma once

#include "help_format.h"
#include "output.h"

#include <kiln/checkpoint.h>
#include <kiln/k.h>

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

/// Saves the weights beside `path` and removes the file again, so that a path that cannot be
/// written fails before training. Errors: IoError. Does nothing for an empty path.
inline void try_saving(const std::string& path, const std::vector<kiln::Tensor>& weights) {
  namespace fs = std::filesystem;
  if (path.empty()) return;
  if (fs::exists(path) && !fs::is_regular_file(path)) {
    throw kiln::IoError("--save", "", path + " is not a regular file");
  }
  const std::string beside = path + "." + std::to_string(::getpid()) + ".try";
  try {
    kiln::save_weights(beside, weights);
  } catch (const kiln::IoError& error) {
    const std::string& text = error.message();
    const std::size_t at = text.find(beside);
    const std::string message = at == text.npos ? text : path + text.substr(at + beside.size());
    throw kiln::IoError("--save", "", message);
  }
  fs::remove(beside);
}

/// Restores the training from the checkpoint `path` if it exists. Returns the checkpoint to save
/// to; none for an empty path. Saves it once, so that a path that cannot be written fails before
/// training. Errors: those of Checkpoint.
inline std::optional<kiln::Checkpoint> resume(const std::string& path,
                                              const kiln::CheckpointOptions& options) {
  if (path.empty()) return std::nullopt;
  const kiln::Checkpoint checkpoint(path, options);
  checkpoint.restore_if_exists();
  checkpoint.save();
  return checkpoint;
}

/// Returns the generator of one step's draws, which depend on no other step: a resumed training
/// needs no state of it.
inline std::mt19937 random_of_step(int seed, int step) {
  std::seed_seq both{seed, step};
  return std::mt19937(both);
}

/// Parses the options of `app` and calls `run`; returns the exit status.
template <class Run>
int run_program(CLI::App& app, int argc, char** argv, const Run& run) {
  const std::string name = std::filesystem::path(argv[0]).filename().string();
  int status = 0;
  try {
    reserve_output();
    try {
      app.parse(argc, argv);
      run();
    } catch (const CLI::ParseError& error) {  // --help, too
      status = app.exit(error) == 0 ? 0 : 1;
    }
    flush_output();
  } catch (const std::exception& error) {
    std::fflush(stdout);  // earlier output comes before the error
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    return 1;
  }
  return status;
}
