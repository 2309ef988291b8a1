// Emits the kernels of attention and of its gradient as CUDA C++ for NVRTC.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::cuda {

/// Columns that a block keeps in registers: multiples of kWidthStep up to kMaxWidth.
inline constexpr std::int64_t kWidthStep = 32, kMaxWidth = 128;
/// Queries of a block, and keys of a tile of scores.
inline constexpr std::int64_t kAttentionTile = 64;
/// Floats that the gradient keeps of each query: sum(o do), the largest score, 1 / sum(e^score).
inline constexpr std::int64_t kQueryFacts = 3;
/// Batch axes along which the strides of a bias differ.
inline constexpr std::size_t kMaxBiasAxes = 4;

/// All sizes but the width are arguments.
struct AttentionForm {
  bool is_gradient = false;
  int width = 0;  // at least the depth of v; of a gradient, that of q and k, too

  auto operator<=>(const AttentionForm&) const = default;
};

/// REQUIRES: depths of at most kMaxWidth, but that of q and k of an attention.
AttentionForm attention_form(bool is_gradient, std::int64_t d, std::int64_t e);

/// A function of the text. Each takes the addresses and sizes of AttentionArguments in this order,
/// as words of 64 bits, then the number of its units of work, which its blocks divide.
struct AttentionFunction {
  enum class Work : std::uint8_t {
    FiniteTiles,  // of a causal one; a unit: kFlaggedTiles tiles of keys or of queries
    Forward,      // a unit: kAttentionTile queries of a matrix of the batch
    QueryFacts,   // likewise
    Gradient,     // a unit: a group of tiles of keys of a matrix
    AddGroups,    // a unit: kAddedElements elements of dq
  };
  Work work = Work::Forward;
  std::string name = {};
  int threads = 0;  // of a block
};
inline constexpr std::int64_t kAddedElements = 256, kFlaggedTiles = 8;

/// The parameters of every function. Addresses that a function does not use are 0.
struct AttentionArguments {
  struct Addresses {
    std::uint64_t q = 0, k = 0, v = 0, scale = 0, bias = 0;  // bias 0: none
    std::uint64_t o = 0, lse = 0, d_result = 0;  // lse 0: not wanted
    std::uint64_t dq = 0, dk = 0, dv = 0;
    std::uint64_t facts = 0;     // kQueryFacts of each query
    std::uint64_t group_dq = 0;  // a dq of each group of a matrix; unused for one group
    /// Of a causal one: whether the operands of each tile of keys are finite, then, of a gradient,
    /// those of each tile of queries; 32 bits each.
    std::uint64_t finite = 0;
  };
  struct Sizes {
    std::int64_t t = 0, s = 0, d = 0, e = 0, divides = 0, causal = 0;
    std::int64_t bias_row = 0, bias_key = 0;  // strides of the bias along queries and keys
    /// Batch axes, of which the last one varies fastest; 0: none. Without a bias, all are 0.
    std::int64_t batch[kMaxBiasAxes] = {};
    std::int64_t bias_batch[kMaxBiasAxes] = {};  // strides of the bias along them
    std::int64_t groups = 0, matrices = 0;  // groups of keys of a matrix, matrices of the batch
  };
  Addresses addresses = {};
  Sizes sizes = {};
};

/// In the order in which a call launches them. FiniteTiles is for causal ones alone, AddGroups for
/// several groups.
std::vector<AttentionFunction> attention_functions(const AttentionForm& form);

/// A complete program with these functions. Sums have an order that depends on the sizes alone:
/// results have the same bits in every run.
std::string attention_text(const AttentionForm& form);

}  // namespace kiln::cuda
