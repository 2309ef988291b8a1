// Prefix beam search over the steps of one sample (Graves, Supervised Sequence Labelling with
// Recurrent Neural Networks, 2012, 7.5.3). A prefix is a node of a tree; beside each kept one stand
// the probabilities of all alignments that end with its last label and of those that end blank.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace kiln::runtime {

class CtcBeam {
 public:
  /// Keeps that many prefixes. The last class is the blank.
  CtcBeam(std::size_t width, std::int64_t classes);

  /// One more step; the scores are divided by their sum.
  void advance(std::span<const double> scores);

  struct Path {
    std::vector<std::int64_t> labels;
    double log_probability = -std::numeric_limits<double>::infinity();
  };
  /// The most probable prefixes, the best first; made up to `count` by impossible empty ones.
  std::vector<Path> best(std::size_t count) const;

 private:
  struct Prefix {
    int parent = -1;
    std::int64_t label = -1;
    std::vector<int> children;
    int place = -1;  // in the next beam; -1: it is not there
  };
  /// Logarithms.
  struct Entry {
    int prefix = 0;
    double blank, label;
    double sum;  // of both, once the step is done
    double total() const;
  };

  /// Its number; -1 when there is none yet.
  int child(int prefix, std::int64_t label) const;
  int add_child(int prefix, std::int64_t label);
  void stay(std::span<const double> logs);
  void grow(std::span<const double> logs);
  void prune();

  std::size_t width_;
  std::int64_t blank_;
  std::vector<Prefix> prefixes_;  // the root, the empty prefix, is number 0
  std::vector<Entry> beam_, next_;
};

}  // namespace kiln::runtime
