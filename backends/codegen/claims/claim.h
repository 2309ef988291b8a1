// Claims: the nodes that a target's libraries compute instead of generated kernels. The claims for
// a node's op are asked in order and the first that takes it wins; every rejection has a reason,
// which dumps show.
//
// Example: on a target without cuBLASLt, the claim "matmul" rejects `%2 = dot %0 %1` with "missing
// library: cuBLASLt ..", and %2 is lowered to a kernel.
#pragma once

#include "backends/codegen/claims/batched_matmul.h"
#include "backends/codegen/claims/library_claims.h"

#include <span>
#include <string_view>

namespace kiln::codegen {

struct Claim {
  std::string_view name;  // of the kind of library call, as dumps show it
  ir::Op op;              // the claim is asked about nodes of this op
  /// The reason why the library rejects the node; empty if it takes it. `library` may be null.
  std::optional<std::string> (*rejection)(const ir::Node& node, const SizeNames& names,
                                          const LibraryClaims* library);
  std::string_view description;
};

/// All claims, in the order in which they are asked.
std::span<const Claim> claims();

/// Batched and transposed matmuls: nodes Dot.
std::optional<std::string> claim_matmul(const ir::Node& node, const SizeNames& names,
                                        const LibraryClaims* library);

/// Convolutions, forward and both backward passes: nodes Conv.
std::optional<std::string> claim_convolution(const ir::Node& node, const SizeNames& names,
                                             const LibraryClaims* library);

/// Sparse updates of the rows that have an index: nodes ScatterSub.
std::optional<std::string> claim_row_update(const ir::Node& node, const SizeNames& names,
                                            const LibraryClaims* library);

/// Attention and its gradient without a matrix of scores: nodes Attention, AttentionGradient.
std::optional<std::string> claim_attention(const ir::Node& node, const SizeNames& names,
                                           const LibraryClaims* library);

struct Rejection {
  const Claim* claim = nullptr;
  std::string reason;
};

/// The decision about one node for whose op there is a claim.
struct ClaimDecision {
  const ir::Node* node = nullptr;
  const Claim* taken_by = nullptr;    // null: generated kernels compute the node
  std::vector<Rejection> rejections;  // by the claims before `taken_by`
  // Of a node that is taken:
  DType dtype = DType::Float32;
  std::size_t batch_axes = 0;           // of a matmul whose operands are dense
  bool takes_view[2] = {false, false};  // the operand is read as a strided view, without a copy
  std::vector<std::string> copies;      // the reasons why operands are copied first
};

/// `as_view` for one operand alone, by its number.
constexpr bool kOneView[2][2] = {{true, false}, {false, true}};

/// The matmul that reads the operands with `as_view` as strided views of their sources; empty, with
/// `reason` (unless null) set, when a Dot has no such form or the library rejects it.
std::optional<BatchedMatmul> accepted_matmul(const ir::Node& dot, const SizeNames& names,
                                             const Storage& storage, const LibraryClaims* library,
                                             const bool (&as_view)[2],
                                             std::string* reason = nullptr);

/// Whether some claim takes the node. Ignores guards: symbols that they equate count as different.
bool is_taken(const ir::Node& node, const LibraryClaims* library);

/// Asks the claims for the node's op, in order.
ClaimDecision decide(const ir::Node& node, const SizeNames& names, const LibraryClaims* library);

}  // namespace kiln::codegen
