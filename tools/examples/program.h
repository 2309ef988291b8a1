// The main function of every example: options, errors as one line, standard output that must be
// written, weights that must be writable before the training.
#pragma once

#include "output.h"

#include <kiln/k.h>

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

/// Errors: IoError when weights could not be saved to `path` later: writes them beside it and
/// removes them again. An empty path is none.
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
    const std::string fact = at == text.npos ? text : path + text.substr(at + beside.size());
    throw kiln::IoError("--save", "", fact);
  }
  fs::remove(beside);
}

/// The whole of main: its status. `run` does the work once the options of `app` are set.
template <class Run>
int run_program(CLI::App& app, int argc, char** argv, const Run& run) {
  const std::string name = std::filesystem::path(argv[0]).filename().string();
  int status = 0;
  try {
    reserve_output();
    try {
      app.parse(argc, argv);
      run();
    } catch (const CLI::ParseError& asked) {  // also --help
      status = app.exit(asked);
    }
    flush_output();
  } catch (const std::exception& error) {
    std::fflush(stdout);  // what was said so far comes before the error
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    return 1;
  }
  return status;
}
