// Evaluates the tree block by block: partial results of a block stay in the L1 cache. Compiled with
// -O3, which vectorises its loops.
#include "runtime/distributed/rank_tree.h"

#include "core/ops/scalar_meaning.h"
#include "core/types/half.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

namespace kiln::runtime::distributed {
namespace {

constexpr std::size_t kBlock = 512;  // elements

/// Elements as they are stored, and as they are computed with: load() and flush() are of operands
/// and of results.
template <class T>
struct Plain {
  using Stored = T;
  using Value = T;
  static T load(T x) { return x; }
  static T flush(T x) { return x; }
  static T store(T x) { return x; }
};

template <class T, class Bits, Bits kExponent>
struct Flushed {
  using Stored = T;
  using Value = T;
  static T load(T x) {
    const Bits bits = std::bit_cast<Bits>(x);
    constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
    return std::bit_cast<T>((bits & kExponent) != 0 ? bits : bits & kSign);
  }
  static T flush(T x) { return load(x); }
  static T store(T x) { return x; }  // has been flushed
};
using Float32 = Flushed<float, std::uint32_t, 0x7f800000u>;
using Float64 = Flushed<double, std::uint64_t, 0x7ff0000000000000u>;

struct Float16 {
  using Stored = std::uint16_t;
  using Value = float;
  static float load(std::uint16_t bits) { return float16_to_float(bits); }
  static float flush(float x) { return Float32::flush(x); }
  static std::uint16_t store(float x) { return float16_of_double(x); }
};

struct BFloat16 {
  using Stored = std::uint16_t;
  using Value = float;
  static float load(std::uint16_t bits) { return Float32::load(bfloat16_to_float(bits)); }
  static float flush(float x) { return Float32::flush(x); }
  static std::uint16_t store(float x) {
    const std::uint16_t bits = bfloat16_of_double(x);
    return (bits & 0x7f80u) != 0 ? bits : bits & 0x8000u;
  }
};

template <class From, class To, class Combine>
class Tree {
 public:
  using Value = typename From::Value;
  static_assert(std::is_same_v<Value, typename To::Value>);

  explicit Tree(std::span<const std::byte* const> leaves) : leaves_(leaves) {}

  void run(std::size_t count, std::byte* result) const {
    std::size_t begin = 0;
    for (; begin + kBlock <= count; begin += kBlock) {
      run_block(begin, std::integral_constant<std::size_t, kBlock>(), result);
    }
    run_block(begin, count - begin, result);
  }

 private:
  /// `Size`: a constant for a full block.
  template <class Size>
  void run_block(std::size_t begin, Size size, std::byte* result) const {
    std::array<Value, kBlock> block;
    reduce(0, leaves_.size(), begin, size, block.data());
    auto* to = reinterpret_cast<typename To::Stored*>(result) + begin;
    for (std::size_t i = 0; i < size; ++i) to[i] = To::store(block[i]);
  }

  template <class Size>
  void reduce(std::size_t first, std::size_t leaves, std::size_t begin, Size size,
              Value* block) const {
    const auto* const left_leaf = leaf(first) + begin;
    if (leaves == 1) {
      for (std::size_t i = 0; i < size; ++i) block[i] = From::load(left_leaf[i]);
      return;
    }
    if (leaves == 2) {
      const auto* const right_leaf = leaf(first + 1) + begin;
      for (std::size_t i = 0; i < size; ++i) {
        block[i] = combined(From::load(left_leaf[i]), From::load(right_leaf[i]));
      }
      return;
    }
    const std::size_t left = left_leaves(leaves);
    std::array<Value, kBlock> right;
    reduce(first, left, begin, size, block);
    reduce(first + left, leaves - left, begin, size, right.data());
    for (std::size_t i = 0; i < size; ++i) block[i] = combined(block[i], right[i]);
  }

  const typename From::Stored* leaf(std::size_t number) const {
    return reinterpret_cast<const typename From::Stored*>(leaves_[number]);
  }
  static Value combined(Value a, Value b) { return To::flush(Combine()(a, b)); }

  std::span<const std::byte* const> leaves_;
};

template <class From, class To>
void reduce_as(Reduction reduction, std::span<const std::byte* const> leaves, std::size_t count,
               std::byte* result) {
  switch (reduction) {
    case Reduction::Sum: return Tree<From, To, ir::meaning::Add>(leaves).run(count, result);
    case Reduction::Max: return Tree<From, To, ir::meaning::Maximum>(leaves).run(count, result);
    case Reduction::Min: return Tree<From, To, ir::meaning::Minimum>(leaves).run(count, result);
  }
}

#ifdef __SSE2__
constexpr bool kHasFlushModes = true;

/// Sets the modes in which subnormal operands and results are zero.
class ScopedFlushModes {
 public:
  ScopedFlushModes() { _mm_setcsr(saved_ | 0x8040); }
  ~ScopedFlushModes() { _mm_setcsr(saved_); }
  ScopedFlushModes(const ScopedFlushModes&) = delete;
  ScopedFlushModes& operator=(const ScopedFlushModes&) = delete;

 private:
  const unsigned saved_ = _mm_getcsr();
};
#else
constexpr bool kHasFlushModes = false;
struct ScopedFlushModes {};
#endif

/// Not inlined, so that no addition leaves the scope of the modes.
template <class T>
[[gnu::noinline]] void add(std::span<const std::byte* const> leaves, std::size_t count,
                           std::byte* result) {
  Tree<Plain<T>, Plain<T>, ir::meaning::Add>(leaves).run(count, result);
}

/// Sums of float32 or float64. The processor's flush modes give the bits of Flushed: a sum that is
/// subnormal is exact, so that it does not matter whether it is rounded before it is flushed.
template <class T, class Flushing>
void reduce_floats(Reduction reduction, std::span<const std::byte* const> leaves, std::size_t count,
                   std::byte* result) {
  if (!kHasFlushModes || reduction != Reduction::Sum || leaves.size() == 1) {
    return reduce_as<Flushing, Flushing>(reduction, leaves, count, result);
  }
  [[maybe_unused]] const ScopedFlushModes modes;
  add<T>(leaves, count, result);
}

/// Halves, of which the leaves or the result, or both, may be partial results in float32.
template <class Half>
void reduce_halves(Reduction reduction, DType from, DType to,
                   std::span<const std::byte* const> leaves, std::size_t count, std::byte* result) {
  const bool is_wide = from == DType::Float32, stays_wide = to == DType::Float32;
  if (is_wide && stays_wide) return reduce_as<Float32, Float32>(reduction, leaves, count, result);
  if (is_wide) return reduce_as<Float32, Half>(reduction, leaves, count, result);
  if (stays_wide) return reduce_as<Half, Float32>(reduction, leaves, count, result);
  reduce_as<Half, Half>(reduction, leaves, count, result);
}

}  // namespace

bool is_reducible(DType dtype, Reduction reduction) {
  return dtype != DType::Bool || reduction != Reduction::Sum;
}

DType partial_dtype(DType dtype, Reduction reduction) {
  const bool is_half = dtype == DType::Float16 || dtype == DType::BFloat16;
  return is_half && reduction == Reduction::Sum ? DType::Float32 : dtype;
}

void reduce_ranks(DType dtype, Reduction reduction, DType from, DType to,
                  std::span<const std::byte* const> leaves, std::size_t count, std::byte* result) {
  const auto as = [&]<class T>(Plain<T>) {
    reduce_as<Plain<T>, Plain<T>>(reduction, leaves, count, result);
  };
  switch (dtype) {
    case DType::Bool:
    case DType::UInt8: return as(Plain<std::uint8_t>());
    case DType::UInt16: return as(Plain<std::uint16_t>());
    case DType::UInt32: return as(Plain<std::uint32_t>());
    case DType::UInt64: return as(Plain<std::uint64_t>());
    case DType::Int8: return as(Plain<std::int8_t>());
    case DType::Int16: return as(Plain<std::int16_t>());
    case DType::Int32: return as(Plain<std::int32_t>());
    case DType::Int64: return as(Plain<std::int64_t>());
    case DType::Float32: return reduce_floats<float, Float32>(reduction, leaves, count, result);
    case DType::Float64: return reduce_floats<double, Float64>(reduction, leaves, count, result);
    case DType::Float16: return reduce_halves<Float16>(reduction, from, to, leaves, count, result);
    case DType::BFloat16:
      return reduce_halves<BFloat16>(reduction, from, to, leaves, count, result);
  }
}

}  // namespace kiln::runtime::distributed
