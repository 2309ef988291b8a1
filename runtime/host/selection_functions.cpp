// Sorts rows and boxes on the host.
#include "runtime/host/selection_functions.h"

#include "core/k/base/tensor_impl.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kiln::runtime {
namespace {

using Indices = std::vector<std::int64_t>;

std::size_t at_index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// -1, 0 or 1 for the order of two elements.
int element_order(std::int64_t a, std::int64_t b) { return a < b ? -1 : static_cast<int>(a > b); }
int element_order(double a, double b) {
  const bool is_a_nan = std::isnan(a), is_b_nan = std::isnan(b);
  if (is_a_nan || is_b_nan) return static_cast<int>(is_a_nan) - static_cast<int>(is_b_nan);
  return a < b ? -1 : static_cast<int>(a > b);
}

template <class Number>
class MatrixRows {
 public:
  explicit MatrixRows(const Array& matrix)
      : elements_(matrix.as<Number>()), width_(at_index(matrix.dims()[1])) {}
  /// The lexicographic order of two rows.
  int compare(std::int64_t a, std::int64_t b) const {
    const Number* x = elements_.data() + at_index(a) * width_;
    const Number* y = elements_.data() + at_index(b) * width_;
    for (std::size_t i = 0; i < width_; ++i) {
      if (const int order = element_order(x[i], y[i]); order != 0) return order;
    }
    return 0;
  }

 private:
  std::span<const Number> elements_;
  std::size_t width_;
};

struct DistinctRow {
  std::int64_t first = 0, count = 0;
};

template <class Number>
std::vector<Array> distinct_rows(const Array& matrix, bool is_sorted) {
  const MatrixRows<Number> rows(matrix);
  const std::int64_t n = matrix.dims()[0];
  Indices order(at_index(n)), group(at_index(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return rows.compare(a, b) < 0; });
  std::vector<DistinctRow> distinct;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool is_new = i == 0 || rows.compare(order[i - 1], order[i]) != 0;
    if (is_new) distinct.push_back({order[i], 0});
    ++distinct.back().count;
    group[at_index(order[i])] = static_cast<std::int64_t>(distinct.size()) - 1;
  }
  Indices ranks(distinct.size()), place(distinct.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  if (!is_sorted) {
    std::sort(ranks.begin(), ranks.end(), [&](std::int64_t a, std::int64_t b) {
      return distinct[at_index(a)].first < distinct[at_index(b)].first;
    });
  }
  Indices found;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const DistinctRow& row = distinct[at_index(ranks[i])];
    found.insert(found.end(), {row.first, row.count});
    place[at_index(ranks[i])] = static_cast<std::int64_t>(i);
  }
  for (std::int64_t& one : group) one = place[at_index(one)];
  return {Array(found, {static_cast<std::int64_t>(distinct.size()), 2}), Array(group)};
}

struct Box {
  float top, left, bottom, right;
  float area() const { return (bottom - top) * (right - left); }
};

Box box_of(const float* numbers, bool is_centered) {
  const float a = numbers[0], b = numbers[1], c = numbers[2], d = numbers[3];
  if (is_centered) return {b - d / 2, a - c / 2, b + d / 2, a + c / 2};
  return {std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)};
}

/// Intersection over union; 0 for boxes without an area.
float overlap(const Box& a, const Box& b) {
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0) || !(width > 0)) return 0;
  const float common = height * width, all = a.area() + b.area() - common;
  return all > 0 ? common / all : 0;
}

struct BoxLimits {
  std::int64_t count;
  float overlap, score;
};

Indices selected_boxes(std::span<const Box> boxes, const float* scores, const BoxLimits& limits) {
  Indices order, selected;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (scores[i] > limits.score) order.push_back(static_cast<std::int64_t>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return scores[at_index(a)] > scores[at_index(b)];
  });
  for (const std::int64_t box : order) {
    if (static_cast<std::int64_t>(selected.size()) >= limits.count) break;
    const bool is_covered = std::any_of(selected.begin(), selected.end(), [&](std::int64_t other) {
      return overlap(boxes[at_index(box)], boxes[at_index(other)]) > limits.overlap;
    });
    if (!is_covered) selected.push_back(box);
  }
  return selected;
}

}  // namespace

std::vector<Array> unique_rows(std::string_view payload, std::span<const Array> inputs) {
  const bool is_sorted = payload == "sorted";
  return inputs[0].dtype() == DType::Float64 ? distinct_rows<double>(inputs[0], is_sorted)
                                             : distinct_rows<std::int64_t>(inputs[0], is_sorted);
}

std::vector<Array> non_max_suppression(std::string_view payload, std::span<const Array> inputs) {
  const std::span<const float> boxes = inputs[0].as<float>(), scores = inputs[1].as<float>();
  const std::int64_t batches = inputs[1].dims()[0], classes = inputs[1].dims()[1];
  const std::size_t n = at_index(inputs[1].dims()[2]);
  const BoxLimits limits{inputs[2].item<std::int64_t>(), inputs[3].item<float>(),
                         inputs[4].item<float>()};
  if (!(limits.overlap >= 0 && limits.overlap <= 1)) {
    Call::value_error("iou_threshold",
                      text("iou_threshold is ", limits.overlap, ", outside of 0 to 1"));
  }
  Indices found;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    std::vector<Box> of_batch;
    for (std::size_t i = 0; i < n; ++i) {
      const float* numbers = boxes.data() + (at_index(batch) * n + i) * 4;
      of_batch.push_back(box_of(numbers, payload == "center"));
    }
    for (std::int64_t one = 0; one < classes; ++one) {
      const float* of_class = scores.data() + at_index(batch * classes + one) * n;
      for (const std::int64_t box : selected_boxes(of_batch, of_class, limits)) {
        found.insert(found.end(), {batch, one, box});
      }
    }
  }
  const auto count = static_cast<std::int64_t>(found.size() / 3);
  return {Array(found, {count, 3})};
}

}  // namespace kiln::runtime
