// Checks the inputs, then decodes sample by sample: greedily or by the beam search of ctc_beam.h.
#include "runtime/host/ctc_decoder.h"

#include "core/types/text.h"
#include "runtime/host/ctc_beam.h"

#include <kiln/error.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

namespace kiln::runtime {
namespace {

/// The scores of all samples and how many steps of each are valid.
struct Scores {
  std::int64_t samples, steps, classes;
  std::span<const double> elements;
  std::span<const std::int64_t> lengths;

  explicit Scores(std::span<const Array> inputs)
      : samples(inputs[0].dims()[0]),
        steps(inputs[0].dims()[1]),
        classes(inputs[0].dims()[2]),
        elements(inputs[0].as<double>()),
        lengths(inputs[1].as<std::int64_t>()) {
    if (classes == 0) {
      throw ValueError("ctc_decode", "y_pred",
                       text("y_pred has no classes (y_pred has shape [",
                            join_text(inputs[0].dims(), ","), "])"));
    }
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      const std::int64_t length = lengths[static_cast<std::size_t>(sample)];
      if (length >= 0 && length <= steps) continue;
      throw ValueError(
          "ctc_decode", "input_length",
          text("input_length[", sample, "] is ", length, " but y_pred has ", steps, " steps"));
    }
  }

  std::int64_t length(std::int64_t sample) const {
    return lengths[static_cast<std::size_t>(sample)];
  }
  std::span<const double> step(std::int64_t sample, std::int64_t t) const {
    return elements.subspan(static_cast<std::size_t>((sample * steps + t) * classes),
                            static_cast<std::size_t>(classes));
  }
};

using Labels = std::vector<std::int64_t>;

/// Packs the sequences of all samples into one array, padded with -1.
Array padded(const std::vector<Labels>& sequences) {
  std::size_t width = 0;
  for (const Labels& one : sequences) width = std::max(width, one.size());
  std::vector<std::int64_t> elements(sequences.size() * width, -1);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    std::copy(sequences[i].begin(), sequences[i].end(),
              elements.begin() + static_cast<std::ptrdiff_t>(i * width));
  }
  return Array(elements,
               {static_cast<std::int64_t>(sequences.size()), static_cast<std::int64_t>(width)});
}

}  // namespace

std::vector<Array> ctc_greedy(std::string_view, std::span<const Array> inputs) {
  const Scores scores(inputs);
  std::vector<Labels> decoded;
  std::vector<double> costs;
  for (std::int64_t sample = 0; sample < scores.samples; ++sample) {
    Labels labels;
    double cost = 0;
    std::int64_t previous = scores.classes - 1;
    for (std::int64_t t = 0; t < scores.length(sample); ++t) {
      const std::span<const double> step = scores.step(sample, t);
      const auto best = std::max_element(step.begin(), step.end());
      const std::int64_t label = best - step.begin();
      if (label != previous && label != scores.classes - 1) labels.push_back(label);
      previous = label;
      cost -= std::log(*best);
    }
    decoded.push_back(std::move(labels));
    costs.push_back(cost);
  }
  return {padded(decoded), Array(costs, {scores.samples, 1})};
}

std::vector<Array> ctc_beam_search(std::string_view payload, std::span<const Array> inputs) {
  std::istringstream numbers{std::string(payload)};
  std::size_t beam_width = 0, top_paths = 0;
  bool merge_repeated = false;
  numbers >> beam_width >> top_paths >> merge_repeated;
  const Scores scores(inputs);
  std::vector<std::vector<Labels>> decoded(top_paths);
  std::vector<double> logs;
  for (std::int64_t sample = 0; sample < scores.samples; ++sample) {
    CtcBeam beam(beam_width, scores.classes);
    for (std::int64_t t = 0; t < scores.length(sample); ++t) beam.advance(scores.step(sample, t));
    std::vector<CtcBeam::Path> paths = beam.best(top_paths);
    for (std::size_t i = 0; i < top_paths; ++i) {
      Labels& labels = paths[i].labels;
      if (merge_repeated) labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
      decoded[i].push_back(std::move(labels));
      logs.push_back(paths[i].log_probability);
    }
  }
  std::vector<Array> results;
  for (const std::vector<Labels>& path : decoded) results.push_back(padded(path));
  results.push_back(Array(logs, {scores.samples, static_cast<std::int64_t>(top_paths)}));
  return results;
}

std::vector<Array> ctc_label_indices(std::string_view, std::span<const Array> inputs) {
  const std::int64_t width = inputs[0].item<std::int64_t>();
  const std::span<const std::int64_t> lengths = inputs[1].as<std::int64_t>();
  std::vector<std::int64_t> found;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0 || lengths[i] > width) {
      throw ValueError(
          "ctc_label_dense_to_sparse", "label_lengths",
          text("label_lengths[", i, "] is ", lengths[i], " but labels have ", width, " columns"));
    }
    for (std::int64_t j = 0; j < lengths[i]; ++j) {
      found.insert(found.end(), {static_cast<std::int64_t>(i), j});
    }
  }
  const auto count = static_cast<std::int64_t>(found.size() / 2);
  return {Array(found, {count, 2})};
}

std::vector<Array> ctc_skip_idxs(std::string_view, std::span<const Array> inputs) {
  const std::span<const std::int64_t> labels = inputs[0].as<std::int64_t>();
  std::vector<std::int64_t> found;
  for (std::size_t i = 1; i + 2 < labels.size(); i += 2) {
    if (labels[i] != labels[i + 2]) found.push_back(static_cast<std::int64_t>(i));
  }
  return {Array(found)};
}

}  // namespace kiln::runtime
