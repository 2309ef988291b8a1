// Attention of at most kFewQueries queries, such as the one of a decoder's step.
#pragma once

#include "backends/cpu/attention/attention_kernel.h"
#include "backends/cpu/attention/attention_operands.h"

namespace kiln::cpu {

/// Its parts are groups of keys of a matrix of the batch, whose sums are added in order.
class FewQueriesAttention final : public codegen::PreparedAttention {
 public:
  FewQueriesAttention(const codegen::AttentionShape& shape, GemmIsa isa);

  std::int64_t parts() const override { return shape_.matrices() * groups_; }
  std::int64_t shared_bytes() const override;
  std::int64_t scratch_bytes() const override;
  std::string description() const override;
  void run(std::int64_t part, const codegen::AttentionMemory& memory, std::byte* shared,
           std::byte* scratch) const noexcept override;
  void finish(const codegen::AttentionMemory& memory, std::byte* shared) const noexcept override;

 private:
  /// The floats of a part in the shared memory: t x e sums of values, then t largest scores and t
  /// sums of powers (AttentionBlock::sums).
  std::int64_t elements_of_part() const { return shape_.t * (shape_.e + 2); }
  /// Computes row `row` of a matrix from the `parts` of its groups, scaled to a common maximum.
  void add_groups(const float* parts, std::int64_t row, float* result, float* lse) const noexcept;

  codegen::AttentionShape shape_;
  std::int64_t groups_;  // of keys, of a matrix
  GemmIsa isa_;
  RunAttention run_;
};

}  // namespace kiln::cpu
