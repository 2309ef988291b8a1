// The nodes that a target's libraries compute instead of kernels. Claims are asked in order: the
// first that takes the node has it, and every rejection has a reason, which dumps show.
#pragma once

#include "backends/codegen/claims/library_claims.h"
#include "backends/codegen/claims/product.h"

#include <span>
#include <string_view>

namespace kiln::codegen {

struct Claim {
  std::string_view name;  // of the kind of library call
  ir::Op op;              // the nodes that it is asked about
  /// The reason why the library does not take this node; empty when it does. `library` may be null.
  std::optional<std::string> (*rejection)(const ir::Node& node, const SizeNames& names,
                                          const LibraryClaims* library);
  std::string_view description;
};

/// In the order in which they are asked.
std::span<const Claim> claims();

/// Matrix products, with batches and transposes.
std::optional<std::string> claim_product(const ir::Node& node, const SizeNames& names,
                                         const LibraryClaims* library);

/// Convolutions of any role.
std::optional<std::string> claim_convolution(const ir::Node& node, const SizeNames& names,
                                             const LibraryClaims* library);

/// Updates of the rows that have an index.
std::optional<std::string> claim_row_update(const ir::Node& node, const SizeNames& names,
                                            const LibraryClaims* library);

struct Rejection {
  const Claim* claim = nullptr;
  std::string reason;
};

/// The decision about one node that some claim is about.
struct ClaimDecision {
  const ir::Node* node = nullptr;
  const Claim* taken_by = nullptr;    // null: it is part of a kernel
  std::vector<Rejection> rejections;  // by the claims before
  // Of a node that is taken:
  DType dtype = DType::Float32;
  std::size_t batch_axes = 0;           // of a matmul with dense operands, each with strides
  bool takes_view[2] = {false, false};  // that operand is read as a view of its source
  std::vector<std::string> copies;      // why an operand is first copied
};

/// as_view of one operand alone, by its number.
constexpr bool kOneView[2][2] = {{true, false}, {false, true}};

/// The matmul with those operands as views of their sources whose `as_view` is set; empty when it
/// has no such form or the library rejects it: then `reason` (unless null) is set.
std::optional<ProductForm> accepted_form(const ir::Node& dot, const SizeNames& names,
                                         const Storage& storage, const LibraryClaims* library,
                                         const bool (&as_view)[2], std::string* reason = nullptr);

/// Whether some claim takes the node, sizes being as they are named in the graph.
bool is_taken(const ir::Node& node, const LibraryClaims* library);

/// Asks the claims about the node, in order.
ClaimDecision decide(const ir::Node& node, const SizeNames& names, const LibraryClaims* library);

}  // namespace kiln::codegen
