// Shared by the tests of kiln/ctc.h: figures of Keras' own tests, scores to decode, and sums over
// all alignments, one by one, with which costs and decodings are compared.
#pragma once

#include "tests/k/row.h"

#include <cmath>
#include <map>
#include <random>
#include <span>

namespace kiln::test {

using Labels = std::vector<std::int64_t>;

/// Two samples of five steps and six classes, from Keras' test_ctc.
inline const Array& keras_probabilities() {
  static const Array array =
      f32({2, 5, 6},
          {0.633766f,   0.221185f,   0.0917319f,  0.0129757f,  0.0142857f, 0.0260553f, 0.111121f,
           0.588392f,   0.278779f,   0.0055756f,  0.00569609f, 0.010436f,  0.0357786f, 0.633813f,
           0.321418f,   0.00249248f, 0.00272882f, 0.0037688f,  0.0663296f, 0.643849f,  0.280111f,
           0.00283995f, 0.0035545f,  0.00331533f, 0.458235f,   0.396634f,  0.123377f,  0.00648837f,
           0.00903441f, 0.00623107f, 0.30176f,    0.28562f,    0.0831517f, 0.0862751f, 0.0816851f,
           0.161508f,   0.24082f,    0.397533f,   0.0557226f,  0.0546814f, 0.0557528f, 0.19549f,
           0.230246f,   0.450868f,   0.0389607f,  0.038309f,   0.0391602f, 0.202456f,  0.280884f,
           0.429522f,   0.0326593f,  0.0339046f,  0.0326856f,  0.190345f,  0.423286f,  0.315517f,
           0.0338439f,  0.0393744f,  0.0339315f,  0.154046f});
  return array;
}
/// One of the two samples.
inline Array keras_sample(std::size_t sample) {
  const auto own = keras_probabilities().as<float>().subspan(sample * 30, 30);
  return f32({5, 6}, {own.begin(), own.end()});
}

/// Two equal steps of two classes with scores 0.6 and 0.4: the label 0 and the blank.
inline const Array& coin() {
  static const Array array = f32({1, 2, 2}, {0.6f, 0.4f, 0.6f, 0.4f});
  return array;
}

inline Array column(std::vector<std::int32_t> lengths) {
  const auto samples = static_cast<std::int64_t>(lengths.size());
  return i32({samples, 1}, std::move(lengths));
}

/// 1 + 0.9 sin(1.7 i) for i = 1, 2, ..., in float32.
inline Array score_wave(std::vector<std::int64_t> dims) {
  Array array = Array::zeros(std::move(dims));
  int i = 0;
  for (float& element : array.as<float>()) {
    element = static_cast<float>(1 + 0.9 * std::sin(1.7 * ++i));
  }
  return array;
}

inline Array random_scores(std::vector<std::int64_t> dims, unsigned seed) {
  std::mt19937 engine(seed);
  Array array = Array::zeros(std::move(dims));
  for (float& element : array.as<float>()) {
    element = 0.05f + 0.95f * static_cast<float>(engine()) * 0x1p-32f;
  }
  return array;
}

/// The labels of an alignment: equal neighbours merged, blanks dropped.
inline Labels said(const Labels& alignment, std::int64_t blank) {
  Labels labels;
  std::int64_t previous = blank;
  for (const std::int64_t label : alignment) {
    if (label != previous && label != blank) labels.push_back(label);
    previous = label;
  }
  return labels;
}

/// Scores of one step, raised by epsilon() and divided by their sum.
inline std::vector<double> normalised(std::span<const float> scores) {
  double sum = 0;
  for (const float score : scores) sum += score + epsilon();
  std::vector<double> p;
  for (const float score : scores) p.push_back((score + epsilon()) / sum);
  return p;
}

/// The probability of each sequence of labels, by all alignments. Scores are raised by epsilon().
inline std::map<Labels, double> by_alignments(std::span<const float> scores, int steps,
                                              int classes) {
  std::vector<std::vector<double>> p;
  for (int t = 0; t < steps; ++t) {
    p.push_back(normalised(
        scores.subspan(static_cast<std::size_t>(t * classes), static_cast<std::size_t>(classes))));
  }
  std::map<Labels, double> found;
  Labels alignment(static_cast<std::size_t>(steps), 0);
  for (;;) {
    double product = 1;
    for (std::size_t t = 0; t < p.size(); ++t) {
      product *= p[t][static_cast<std::size_t>(alignment[t])];
    }
    found[said(alignment, classes - 1)] += product;
    std::size_t t = 0;
    while (t < alignment.size() && ++alignment[t] == classes) alignment[t++] = 0;
    if (t == alignment.size()) return found;
  }
}

/// The rows of ctc_test.cpp and of ctc_part_test.cpp.
std::vector<Row> ctc_cost_rows();
std::vector<Row> ctc_part_rows();

}  // namespace kiln::test
