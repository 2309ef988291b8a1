// The part of a checkpoint that is not variables, as metadata of the file: "kiln.checkpoint" with
// the version "1", "number.NAME" with a number, "random.0" and so on with "SEED SEEDS_DRAWN
// NEXT_CALL" of each state, and "random.process" with those of the process's.
#pragma once

#include <kiln/checkpoint_options.h>
#include <kiln/weights.h>

namespace kiln {

/// Returns the metadata that saves the numbers and random states as they are.
WeightsMetadata checkpoint_metadata(const CheckpointOptions& options);

/// Reads the metadata of a file: check() checks all of it before set() sets anything.
class CheckpointReader {
 public:
  /// `function`, `path`: for messages. REQUIRES: `path` and `options` outlive the reader;
  /// `function` has static storage.
  CheckpointReader(const char* function, const std::string& path, const CheckpointOptions& options);

  /// ValueError for the file of another training, or of none; IoError for damaged texts.
  void check(const WeightsMetadata& metadata);
  /// Sets the numbers and random states; allocates nothing, so that it does not fail halfway.
  /// REQUIRES: check() returned.
  void set() const;

 private:
  void require_version() const;
  void require_same_numbers() const;
  void require_accepted(const CheckpointNumber& number) const;
  std::vector<RandomPosition> read_positions() const;
  RandomPosition read_position(const std::string& key) const;
  void require_seeds() const;
  void require_seed(const std::string& name, const RandomPosition& file, const RandomPosition& here,
                    const std::string& remedy) const;
  [[noreturn]] void reject(const std::string& message) const;
  [[noreturn]] void damaged(const std::string& message) const;

  const char* function_;
  const std::string& path_;
  const CheckpointOptions& options_;
  std::vector<RandomState> states_;
  WeightsMetadata metadata_;
  std::vector<std::string> numbers_;       // of the file, as texts, in the order of the options
  std::vector<RandomPosition> positions_;  // of the file, one per state
  RandomPosition process_;                 // of the file
};

}  // namespace kiln
