// Checkpoint: saves all that a training needs to go on after an interruption in one safetensors
// file, and restores it, so that the resumed training computes the bits of an uninterrupted one.
// The project's own.
#pragma once

#include <kiln/checkpoint_options.h>

#include <string>

namespace kiln {

/// Saves and restores the state of a training. Call both between calls of the training's functions.
/// Copies write to the same file. Variables are matched by name, states of random draws by order.
///
/// In a group of several ranks (kiln/distributed.h) the file is the root's, whose disk need not be
/// shared, and every function is called by all ranks: the root saves, all restore what it has. A
/// failure is an error on all ranks, DistributedError on those that did not fail; after one of a
/// restore, variables may differ between ranks. The number of ranks may be another one than when
/// the file was saved.
///     const auto w = K::variable({1., 2.}, {.name = "w"});
///     int epoch = 0;
///     const K::Checkpoint checkpoint("run.safetensors",
///                                    {.variables = {w}, .numbers = {{"epoch", &epoch}}});
///     checkpoint.restore_if_exists();
///     while (epoch < 3) K::eval(K::update_add(w, 1)), ++epoch, checkpoint.save();
///     K::set_value(w, {0, 0}), epoch = 0;
///     checkpoint.restore_if_exists();  // true
///     K::get_value(w) == K::Array{4.f, 5.f} && epoch == 3;  // true
class KILN_API Checkpoint {
 public:
  /// Errors: ValueError for a path that is empty or ends in .npz or .npy, for a variable without a
  /// name, for two of one name, for a number without a name or a place, and for two of one name;
  /// TypeError for a tensor that is not a variable.
  explicit Checkpoint(const StringArgument& path, const CheckpointOptions& options,
                      Where where = Where::here());

  /// Writes the file. Replaces an older one atomically: a failure leaves it unchanged.
  /// Errors: IoError.
  void save(Where where = Where::here()) const;
  /// Sets all variables, numbers and random states to those of the file: all, or none on an error.
  /// Seeds that ops already have stay, so build the model as the saved training did: within a
  /// RandomScope of a state in `random`, or after set_random_seed.
  /// Errors: IoError for a file that cannot be read or is damaged; ValueError for a file of
  /// weights that is no checkpoint, for one of another training, with a table of the variables that
  /// differ, a list of the numbers that do, or the count of random states; and, if functions had
  /// drawn when it was saved, for ops here that took seeds from a generator with another seed.
  void restore(Where where = Where::here()) const;
  /// As restore(), but returns false and changes nothing if there is no such file.
  bool restore_if_exists(Where where = Where::here()) const;

  const std::string& path() const& { return path_; }
  std::string path() const&& { return path_; }

 private:
  std::string path_;
  CheckpointOptions options_;
};

}  // namespace kiln
