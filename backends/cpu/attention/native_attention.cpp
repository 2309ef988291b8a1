// Divides an attention into blocks of queries of one matrix of the batch, and a gradient into
// groups of keys of one matrix.
#include "backends/cpu/attention/native_attention.h"

#include "backends/cpu/attention/attention_kernel.h"
#include "backends/cpu/attention/attention_operands.h"
#include "backends/cpu/attention/few_queries.h"
#include "core/ops/op.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

using codegen::AttentionMemory;
using codegen::AttentionShape;

std::string description_of(GemmIsa isa) {
  return text("the native loops of ", name_of(isa), ", ", kAttentionRows, " queries x ",
              kAttentionKeys, " keys");
}

class NativeAttention final : public codegen::PreparedAttention {
 public:
  NativeAttention(const AttentionShape& shape, GemmIsa isa)
      : shape_(shape),
        blocks_(parts_of(shape.t, kAttentionRows)),
        isa_(isa),
        run_(loops_by_isa(isa, kAttentionBaseline, kAttentionAvx2, kAttentionAvx512)) {}

  std::int64_t parts() const override { return shape_.matrices() * blocks_; }
  std::int64_t scratch_bytes() const override {
    return attention_scratch(shape_.d, shape_.e) * kFloatBytes;
  }
  std::string description() const override { return description_of(isa_); }

  void run(std::int64_t part, const AttentionMemory& memory, std::byte*,
           std::byte* scratch) const noexcept override {
    const AttentionShape& a = shape_;
    const std::int64_t matrix = part / blocks_, row = part % blocks_ * kAttentionRows;
    const std::int64_t first = matrix * a.t + row;  // of all queries
    const std::int64_t rows = std::min<std::int64_t>(kAttentionRows, a.t - row);
    float* const result = memory.results[0] + first * a.e;
    float* const lse = memory.results[1] == nullptr ? nullptr : memory.results[1] + first;
    if (a.s == 0) return set_to_no_keys(rows * a.e, result, rows, lse);
    const float* const bias = bias_of(a, memory, matrix);
    run_({.q = memory.operands[0] + first * a.d,
          .k = memory.operands[1] + matrix * a.s * a.d,
          .v = memory.operands[2] + matrix * a.s * a.e,
          .rows = rows,
          .keys = a.s,
          .d = a.d,
          .e = a.e,
          .scale = scale_of(a, memory),
          .bias = bias == nullptr ? nullptr : bias + row * a.bias_t,
          .bias_row = a.bias_t,
          .bias_key = a.bias_s,
          .causal_row = a.causal ? row : -1,
          .result = result,
          .lse = lse,
          .sums = nullptr,
          .scratch = reinterpret_cast<float*>(scratch),
          .gemm = nullptr});
  }

 private:
  AttentionShape shape_;
  std::int64_t blocks_;  // of queries, of a matrix
  GemmIsa isa_;
  RunAttention run_;
};

/// At least so many parts, where there are as many tiles of keys: each group of keys of a matrix
/// has sums of dq of its own, which are added in order.
constexpr std::int64_t kMinGradientParts = 8;

class NativeAttentionGradient final : public codegen::PreparedAttention {
 public:
  NativeAttentionGradient(const AttentionShape& shape, GemmIsa isa)
      : shape_(shape),
        tiles_(std::max<std::int64_t>(1, parts_of(shape.s, kAttentionKeys))),
        groups_(std::min(tiles_, parts_of(kMinGradientParts, shape.matrices()))),
        isa_(isa),
        run_(loops_by_isa(isa, kAttentionGradientBaseline, kAttentionGradientAvx2,
                          kAttentionGradientAvx512)) {}

  std::int64_t parts() const override { return shape_.matrices() * groups_; }
  std::int64_t shared_bytes() const override {
    return groups_ == 1 ? 0 : parts() * elements_of_dq() * kFloatBytes;
  }
  std::int64_t scratch_bytes() const override {
    return attention_gradient_scratch(shape_.d, shape_.e) * kFloatBytes;
  }
  std::string description() const override { return description_of(isa_); }

  void run(std::int64_t part, const AttentionMemory& memory, std::byte* shared,
           std::byte* scratch) const noexcept override {
    const AttentionShape& a = shape_;
    const std::int64_t matrix = part / groups_, group = part % groups_;
    const std::size_t next = a.has_bias ? 5 : 4;  // operands: then o, lse, do
    const std::int64_t q = matrix * elements_of_dq(), o = matrix * a.t * a.e;
    const std::int64_t k = matrix * a.s * a.d, v = matrix * a.s * a.e;
    float* const dq = groups_ == 1 ? memory.results[0] + q
                                   : reinterpret_cast<float*>(shared) + part * elements_of_dq();
    const auto end_of = [&](std::int64_t groups) {
      return std::min<std::int64_t>(a.s, tiles_ * groups / groups_ * kAttentionKeys);
    };
    run_({.q = memory.operands[0] + q,
          .k = memory.operands[1] + k,
          .v = memory.operands[2] + v,
          .o = memory.operands[next] + o,
          .lse = memory.operands[next + 1] + matrix * a.t,
          .d_result = memory.operands[next + 2] + o,
          .rows = a.t,
          .keys = a.s,
          .d = a.d,
          .e = a.e,
          .first_key = end_of(group),
          .last_key = end_of(group + 1),
          .scale = scale_of(a, memory),
          .bias = bias_of(a, memory, matrix),
          .bias_row = a.bias_t,
          .bias_key = a.bias_s,
          .causal = a.causal,
          .dq = dq,
          .dk = memory.results[1] + k,
          .dv = memory.results[2] + v,
          .scratch = reinterpret_cast<float*>(scratch)});
  }

  void finish(const AttentionMemory& memory, std::byte* shared) const noexcept override {
    if (groups_ == 1) return;
    const auto* sums = reinterpret_cast<const float*>(shared);
    const std::int64_t count = elements_of_dq();
    for (std::int64_t matrix = 0; matrix < shape_.matrices(); ++matrix) {
      float* const dq = memory.results[0] + matrix * count;
      std::copy_n(sums, count, dq);
      for (std::int64_t group = 1; group < groups_; ++group) {
        for (std::int64_t i = 0; i < count; ++i) dq[i] += sums[group * count + i];
      }
      sums += groups_ * count;
    }
  }

 private:
  std::int64_t elements_of_dq() const { return shape_.t * shape_.d; }

  AttentionShape shape_;
  std::int64_t tiles_, groups_;  // of keys, of a matrix
  GemmIsa isa_;
  RunAttentionGradient run_;
};

bool is_whole_vectors(const ir::Dim& depth) {
  return depth.is_static() && depth.value() > 0 && depth.value() % kGradientDepths == 0;
}

/// Whether t * s, the number of scores of a matrix, is known to be less than `scores`.
bool is_below(std::int64_t scores, const ir::Dim& t, const ir::Dim& s) {
  if (!t.is_static() || !s.is_static()) return false;
  const std::int64_t rows = std::max<std::int64_t>(t.value(), 1);
  return s.value() < scores && rows < scores && rows * s.value() < scores;
}

/// Where matmuls and a softmax are faster, and need little memory: the scores of a matrix stay in
/// the L1 cache, or there are few queries or keys, so that q or k are as large as the scores. Time
/// of matmuls / of loops at a depth of 64, AVX-512, 1 thread: t = s = 64 .86, t = 32 and s = 128
/// .81, t = 16 and s = 4096 .7, t = s = 128 1, t = 1 and s = 1024 1.26, t = s = 1024 1.03, the same
/// causal 1.9. With the gradient: t = s = 128 .91, 256 .89, 1024 .92, 4096 .96; causal 1.13 at
/// 128, 1.61 at 1024, 1.77 at 4096.
constexpr std::int64_t kMinScores = (32 << 10) / kFloatBytes, kMatmulQueries = 32;
constexpr std::int64_t kMatmulKeys = 64;
constexpr std::int64_t kMinGradientScores = 512 * 512;

std::optional<std::string> advantage_of_matmuls(const ir::Dim& t, const ir::Dim& s) {
  if (t.is_static() && t.value() > 1 && t.value() <= kMatmulQueries) {
    return text("matmuls are faster for 2 to ", kMatmulQueries, " queries, here ", t);
  }
  if (s.is_static() && s.value() <= kMatmulKeys) {
    return text("matmuls are faster for at most ", kMatmulKeys, " keys, here ", s);
  }
  if (!is_below(kMinScores, t, s)) return std::nullopt;
  return text("matmuls are faster for less than ", kMinScores,
              " scores, which stay in the L1 cache: ", t, " x ", s);
}

}  // namespace

std::optional<std::string> rejection_of_native_attention(const ir::Node& node) {
  const DType dtype = node.types[0].dtype;
  if (dtype != DType::Float32) {
    return text("the native loops compute attention only in float32, not in ", dtype);
  }
  const ir::Dims &queries = node.operands[0].dims(), &keys = node.operands[1].dims();
  const ir::Dim &t = queries.end()[-2], &s = keys.end()[-2];
  if (auto reason = advantage_of_matmuls(t, s)) return reason;
  if (node.op == ir::Op::Attention) return std::nullopt;
  const bool is_causal = node.as<ir::AttentionAttrs>().causal;
  if (!is_causal && is_below(kMinGradientScores, t, s)) {
    return text("matmuls, which keep the probabilities, are faster for a gradient of less than ",
                kMinGradientScores, " scores: ", t, " x ", s);
  }
  const ir::Dim &d = node.operands[0].dims().back(), &e = node.operands[2].dims().back();
  if (is_whole_vectors(d) && is_whole_vectors(e)) return std::nullopt;
  return text("the native loops of the gradient take depths of whole vectors, multiples of ",
              kGradientDepths, ", not ", d, " and ", e);
}

std::shared_ptr<const codegen::PreparedAttention> make_native_attention(const AttentionShape& shape,
                                                                        GemmIsa isa) {
  if (shape.is_gradient) return std::make_shared<NativeAttentionGradient>(shape, isa);
  if (shape.t <= kFewQueries) return std::make_shared<FewQueriesAttention>(shape, isa);
  return std::make_shared<NativeAttention>(shape, isa);
}

}  // namespace kiln::cpu
