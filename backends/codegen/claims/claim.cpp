// The table of claims, and one function for each.
#include "backends/codegen/claims/claim.h"

#include "core/ops/op.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

constexpr Claim kClaims[] = {
    {"matmul", ir::Op::Dot, claim_matmul, "batched matmuls with strided operands"},
    {"convolution", ir::Op::Conv, claim_convolution,
     "forward convolutions, backward data and backward weights"},
    {"row_update", ir::Op::ScatterSub, claim_row_update,
     "sparse updates of the rows that have an index"},
    {"attention", ir::Op::Attention, claim_attention, "attention without a matrix of scores"},
    {"attention_gradient", ir::Op::AttentionGradient, claim_attention,
     "the gradient of attention without a matrix of scores"},
};

constexpr bool kDense[2] = {false, false};

/// Finds the operands of a matmul that the library reads as views; convolutions read dense
/// operands.
void decide_views(ClaimDecision& decision, const SizeNames& names, const LibraryClaims* library) {
  const ir::Node& node = *decision.node;
  if (node.op != ir::Op::Dot) return;
  decision.batch_axes = accepted_matmul(node, names, Storage(), library, kDense)->batch.size();
  for (std::size_t operand = 0; operand < 2; ++operand) {
    std::string reason;
    bool& takes_view = decision.takes_view[operand];
    takes_view =
        accepted_matmul(node, names, Storage(), library, kOneView[operand], &reason).has_value();
    std::vector<std::string>& copies = decision.copies;
    const bool is_new = std::find(copies.begin(), copies.end(), reason) == copies.end();
    if (!takes_view && is_new) copies.push_back(reason);
  }
}

/// Whether K is 1: every contracted label has size 1.
bool is_outer_product(const ir::Node& dot) {
  const auto& attrs = dot.as<ir::DotAttrs>();
  const auto lacks = [&](std::int64_t label) {
    return std::find(attrs.result.begin(), attrs.result.end(), label) == attrs.result.end();
  };
  for (std::size_t i = 0; i < attrs.lhs.size(); ++i) {
    if (lacks(attrs.lhs[i]) && !dot.operands[0].dims()[i].is_one()) return false;
  }
  for (std::size_t i = 0; i < attrs.rhs.size(); ++i) {
    if (lacks(attrs.rhs[i]) && !dot.operands[1].dims()[i].is_one()) return false;
  }
  return true;
}

}  // namespace

std::span<const Claim> claims() { return kClaims; }

std::optional<BatchedMatmul> accepted_matmul(const ir::Node& dot, const SizeNames& names,
                                             const Storage& storage, const LibraryClaims* library,
                                             const bool (&as_view)[2], std::string* reason) {
  std::optional<BatchedMatmul> form = batched_matmul(dot, names, storage, as_view, reason);
  if (!form) return std::nullopt;
  auto rejection = library->rejection_of_matmul({dot, dot.types[0].dtype, *form});
  if (!rejection) return form;
  if (reason) *reason = std::move(*rejection);
  return std::nullopt;
}

std::optional<std::string> claim_matmul(const ir::Node& node, const SizeNames& names,
                                        const LibraryClaims* library) {
  if (!library) return "the target has no library";
  if (is_outer_product(node)) return "K is 1: an elementwise product, which can be fused";
  std::string reason;
  if (accepted_matmul(node, names, Storage(), library, kDense, &reason)) return std::nullopt;
  return reason;
}

std::optional<std::string> claim_convolution(const ir::Node& node, const SizeNames&,
                                             const LibraryClaims* library) {
  if (!library) return "the target has no library";
  return library->rejection_of_convolution(node);
}

std::optional<std::string> claim_row_update(const ir::Node& node, const SizeNames&,
                                            const LibraryClaims* library) {
  if (!library) return "the target has no library";
  return library->rejection_of_row_update(node);
}

std::optional<std::string> claim_attention(const ir::Node& node, const SizeNames&,
                                           const LibraryClaims* library) {
  if (!library) return "the target has no library";
  return library->rejection_of_attention(node);
}

bool is_taken(const ir::Node& node, const LibraryClaims* library) {
  const SizeNames names;
  return std::any_of(std::begin(kClaims), std::end(kClaims), [&](const Claim& claim) {
    return claim.op == node.op && !claim.rejection(node, names, library);
  });
}

ClaimDecision decide(const ir::Node& node, const SizeNames& names, const LibraryClaims* library) {
  ClaimDecision decision;
  decision.node = &node;
  for (const Claim& claim : kClaims) {
    if (claim.op != node.op) continue;
    auto reason = claim.rejection(node, names, library);
    if (!reason) {
      decision.taken_by = &claim;
      decision.dtype = node.types[0].dtype;
      decide_views(decision, names, library);
      return decision;
    }
    decision.rejections.push_back({&claim, std::move(*reason)});
  }
  return decision;
}

}  // namespace kiln::codegen
