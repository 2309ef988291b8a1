// CTC prefix beam search over the steps of one sample (Graves, Supervised Sequence Labelling with
// Recurrent Neural Networks, 2012, section 7.5.3). Prefixes are the nodes of a trie.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace kiln::runtime {

class CtcBeam {
 public:
  /// Keeps `width` prefixes per step. The last class is the blank.
  CtcBeam(std::size_t width, std::int64_t classes);

  /// Advances by one step; normalises its scores by their sum.
  void advance(std::span<const double> scores);

  struct Path {
    std::vector<std::int64_t> labels;
    double log_probability = -std::numeric_limits<double>::infinity();
  };
  /// Returns the most probable prefixes, best first, padded to `count` with empty ones of
  /// probability 0.
  std::vector<Path> best(std::size_t count) const;

 private:
  struct Prefix {
    int parent = -1;
    std::int64_t label = -1;
    std::vector<int> children;
    int next_index = -1;  // in the next beam; -1 if not in it
  };
  /// A kept prefix with log-probabilities: of alignments that end in a blank, and in its last
  /// label.
  struct Entry {
    int prefix = 0;
    double blank, label;
    double sum;  // log of the sum of both, set at the end of a step
    double total() const;
  };

  /// Returns the index of the child of `prefix` with that label, or -1.
  int child(int prefix, std::int64_t label) const;
  int add_child(int prefix, std::int64_t label);
  void stay(std::span<const double> logs);
  void grow(std::span<const double> logs);
  void prune();

  std::size_t width_;
  std::int64_t blank_;
  std::vector<Prefix> prefixes_;  // a trie; index 0 is the root, the empty prefix
  std::vector<Entry> beam_, next_;
};

}  // namespace kiln::runtime
