// The main function of every example: options, errors as one line, checked standard output, and
// before training a check that the weights can be saved, and the return to a checkpoint.
#pragma once

#include "help_format.h"
#include "output.h"

#include <kiln/checkpoint.h>
#include <kiln/distributed.h>
#include <kiln/k.h>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

/// Joins the ranks that a launcher started, as kiln launch does. Ranks other than the root print
/// nothing: their standard output is closed.
inline kiln::distributed::Session join_ranks() {
  auto world = kiln::distributed::init();
  if (!world.is_root() && std::freopen("/dev/null", "w", stdout) == nullptr) {
    throw kiln::IoError("join_ranks", "", "cannot open /dev/null");
  }
  return world;
}

inline void add_shards_option(CLI::App& app, int& shards) {
  app.add_option("--shards", shards,
                 "compute each batch in N parts: the same digits on 1, 2, 4, .. N ranks")
      ->check(in_range(0, 4096))
      ->type_name("N");
}

/// Averages over the rows of all ranks, which may have different numbers of them, or over equal
/// parts of the rows.
class Averaging {
 public:
  /// `inputs`: placeholders with rows as axis 0.
  Averaging(std::int64_t shards, const std::vector<kiln::Tensor>& inputs) {
    if (shards != 0) {
      shards_ = {.count = shards, .split = inputs};
    } else {
      rows_ = kiln::sum(kiln::cast(kiln::ones_like(inputs[1]), kiln::floatx()));
    }
  }

  std::vector<kiln::Tensor> gradients(const kiln::Tensor& loss,
                                      const std::vector<kiln::Tensor>& weights) const {
    return kiln::distributed::gradients(loss, weights, {.weight = rows_, .shards = shards_});
  }
  kiln::Tensor mean(const kiln::Tensor& x) const {
    return kiln::distributed::all_reduce(
        x, {.reduction = kiln::distributed::Reduction::Mean, .weight = rows_, .shards = shards_});
  }

 private:
  kiln::distributed::Shards shards_;
  kiln::Tensor rows_;  // empty with shards
};

/// Sets the weights of all ranks to those of the root's file; does nothing for an empty path.
inline void load_on_root(const std::string& path, const std::vector<kiln::Tensor>& weights) {
  if (path.empty()) return;
  if (kiln::distributed::world().is_root()) kiln::load_weights(path, weights);
  kiln::distributed::broadcast_variables(weights);
}

/// Returns the rows of an array that are this rank's.
inline kiln::Array own_rows(const kiln::Array& all) {
  const auto [begin, end] = kiln::distributed::world().shard(all.dims()[0]);
  std::vector<std::int64_t> dims(all.dims().begin(), all.dims().end());
  const std::size_t row =
      all.bytes() / static_cast<std::size_t>(std::max<std::int64_t>(dims[0], 1));
  dims[0] = end - begin;
  const auto* bytes = static_cast<const std::byte*>(all.data());
  return kiln::Array::copy_of(bytes + static_cast<std::size_t>(begin) * row, dims, all.dtype());
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
