// The list, and one function for each claim.
#include "backends/codegen/claims/claim.h"

#include "core/ops/op.h"

namespace kiln::codegen {
namespace {

constexpr Claim kClaims[] = {
    {"product", ir::Op::Dot, claim_product,
     "matrix products with rows, columns, depth and batches"},
    {"convolution", ir::Op::Conv, claim_convolution,
     "convolutions, with respect to the output, the input and the kernel"},
};

constexpr bool kDense[2] = {false, false};

}  // namespace

std::span<const Claim> claims() { return kClaims; }

std::optional<std::string> claim_product(const ir::Node& node, const SizeNames& names,
                                         const ProductLibrary* library) {
  if (!library) return "the target has no library";
  if (auto reason = library->refusal(node)) return reason;
  std::string reason;
  if (product_form(node, names, Storage(), kDense, &reason)) return std::nullopt;
  return reason;
}

std::optional<std::string> claim_convolution(const ir::Node& node, const SizeNames&,
                                             const ProductLibrary* library) {
  if (!library) return "the target has no library";
  return library->refusal_of_convolution(node);
}

ClaimDecision decide(const ir::Node& node, const SizeNames& names,
                     const ProductLibrary* library) {
  ClaimDecision decision;
  decision.node = &node;
  for (const Claim& claim : kClaims) {
    if (claim.op != node.op) continue;
    auto reason = claim.refusal(node, names, library);
    if (!reason) {
      decision.taken_by = &claim;
      return decision;
    }
    decision.refusals.push_back({&claim, std::move(*reason)});
  }
  return decision;
}

}  // namespace kiln::codegen
