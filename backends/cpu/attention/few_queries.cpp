// Divides the keys of few queries into groups, so that processors share the matrix that they read.
#include "backends/cpu/attention/few_queries.h"

#include "core/types/text.h"

#include <cmath>
#include <numbers>

namespace kiln::cpu {

using codegen::AttentionMemory;
using codegen::AttentionShape;

namespace {

/// Keys of a group: several tiles, so that adding the groups takes no time beside them.
constexpr std::int64_t kGroupKeys = 2 * kFewQueriesKeys;

}  // namespace

FewQueriesAttention::FewQueriesAttention(const AttentionShape& shape, GemmIsa isa)
    : shape_(shape),
      groups_(shape.causal ? 1 : std::max<std::int64_t>(1, parts_of(shape.s, kGroupKeys))),
      isa_(isa),
      run_(loops_by_isa(isa, kFewQueriesBaseline, kFewQueriesAvx2, kFewQueriesAvx512)) {}

std::int64_t FewQueriesAttention::shared_bytes() const {
  return groups_ == 1 ? 0 : parts() * elements_of_part() * kFloatBytes;
}

std::int64_t FewQueriesAttention::scratch_bytes() const {
  return attention_scratch(shape_.d, shape_.e) * kFloatBytes;
}

std::string FewQueriesAttention::description() const {
  return text("the native loops of ", name_of(isa_), " for few queries");
}

void FewQueriesAttention::run(std::int64_t part, const AttentionMemory& memory, std::byte* shared,
                              std::byte* scratch) const noexcept {
  const AttentionShape& a = shape_;
  const std::int64_t matrix = part / groups_, first = matrix * a.t;
  float* const result = memory.results[0] + first * a.e;
  float* const lse = memory.results[1] == nullptr ? nullptr : memory.results[1] + first;
  if (a.s == 0) return set_to_no_keys(a.t * a.e, result, a.t, lse);
  const std::int64_t key = part % groups_ * kGroupKeys;
  float* const sums =
      groups_ == 1 ? nullptr : reinterpret_cast<float*>(shared) + part * elements_of_part();
  const float* const bias = bias_of(a, memory, matrix);
  run_({.q = memory.operands[0] + first * a.d,
        .k = memory.operands[1] + (matrix * a.s + key) * a.d,
        .v = memory.operands[2] + (matrix * a.s + key) * a.e,
        .rows = a.t,
        .keys = groups_ == 1 ? a.s : std::min(a.s - key, kGroupKeys),
        .d = a.d,
        .e = a.e,
        .scale = scale_of(a, memory),
        .bias = bias == nullptr ? nullptr : bias + key * a.bias_s,
        .bias_row = a.bias_t,
        .bias_key = a.bias_s,
        .causal_row = a.causal ? 0 : -1,
        .result = sums == nullptr ? result : sums,
        .lse = lse,
        .sums = sums == nullptr ? nullptr : sums + a.t * a.e,
        .scratch = reinterpret_cast<float*>(scratch),
        .gemm = &isa_kernels_of(isa_).float32});
}

void FewQueriesAttention::finish(const AttentionMemory& memory, std::byte* shared) const noexcept {
  if (groups_ == 1) return;
  const std::int64_t rows = shape_.matrices() * shape_.t;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t part = row / shape_.t * groups_;
    add_groups(reinterpret_cast<const float*>(shared) + part * elements_of_part(), row % shape_.t,
               memory.results[0] + row * shape_.e,
               memory.results[1] == nullptr ? nullptr : memory.results[1] + row);
  }
}

void FewQueriesAttention::add_groups(const float* parts, std::int64_t row, float* result,
                                     float* lse) const noexcept {
  const std::int64_t e = shape_.e, most_of_row = shape_.t * e + row;
  const auto part = [&](std::int64_t group) { return parts + group * elements_of_part(); };
  float most = part(0)[most_of_row];
  for (std::int64_t group = 1; group < groups_; ++group) {
    most = std::max(most, part(group)[most_of_row]);
  }
  // Powers of masked scores are 0, too, while all scores are masked.
  const float from = most == -std::numeric_limits<float>::infinity() ? 0 : most;
  float sum = 0;
  std::fill_n(result, e, 0.0f);
  for (std::int64_t group = 0; group < groups_; ++group) {
    const float* const sums = part(group);
    const float factor = std::exp2(sums[most_of_row] - from);
    sum += factor * sums[most_of_row + shape_.t];
    for (std::int64_t i = 0; i < e; ++i) result[i] += factor * sums[row * e + i];
  }
  for (std::int64_t i = 0; i < e; ++i) result[i] /= sum;
  // NaN of infinite maxima, as the definition has it.
  if (lse) *lse = most * std::numbers::ln2_v<float> + (most - most) + std::log(sum);
}

}  // namespace kiln::cpu
