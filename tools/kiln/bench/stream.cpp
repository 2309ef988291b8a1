// Each pass adds the elements that it reads and writes the sum, or keeps it in a register: fewer
// operations than any row does.
#include "tools/kiln/bench/stream.h"

#include "tools/kiln/bench/team.h"

#include <immintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace kiln::bench {
namespace {

constexpr std::size_t kLine = 16;  // floats of a cache line: parts of threads begin at one
constexpr int kMaxReads = 4, kWriteCounts = 4;  // 0 to 3 writes

// Elements [begin, end), multiples of kLine.
using Pass = void (*)(float* const* arrays, std::size_t begin, std::size_t end);

template <int Reads, int Writes, bool NonTemporal>
__attribute__((target("avx512f"))) void pass_avx512(float* const* arrays, std::size_t begin,
                                                    std::size_t end) {
  for (std::size_t i = begin; i < end; i += 16) {
    __m512 sum = _mm512_setzero_ps();
    for (int r = 0; r < Reads; ++r) sum = _mm512_add_ps(sum, _mm512_load_ps(arrays[r] + i));
    if constexpr (Writes == 0) asm volatile("" : : "v"(sum));
    for (int w = 0; w < Writes; ++w) {
      float* to = arrays[Reads + w] + i;
      if (NonTemporal) _mm512_stream_ps(to, sum);
      else _mm512_store_ps(to, sum);
    }
  }
}

template <int Reads, int Writes, bool NonTemporal>
__attribute__((target("avx"))) void pass_avx(float* const* arrays, std::size_t begin,
                                             std::size_t end) {
  for (std::size_t i = begin; i < end; i += 8) {
    __m256 sum = _mm256_setzero_ps();
    for (int r = 0; r < Reads; ++r) sum = _mm256_add_ps(sum, _mm256_load_ps(arrays[r] + i));
    if constexpr (Writes == 0) asm volatile("" : : "x"(sum));
    for (int w = 0; w < Writes; ++w) {
      float* to = arrays[Reads + w] + i;
      if (NonTemporal) _mm256_stream_ps(to, sum);
      else _mm256_store_ps(to, sum);
    }
  }
}

template <int Reads, int Writes, bool NonTemporal>
void pass_sse2(float* const* arrays, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; i += 4) {
    __m128 sum = _mm_setzero_ps();
    for (int r = 0; r < Reads; ++r) sum = _mm_add_ps(sum, _mm_load_ps(arrays[r] + i));
    if constexpr (Writes == 0) asm volatile("" : : "x"(sum));
    for (int w = 0; w < Writes; ++w) {
      float* to = arrays[Reads + w] + i;
      if (NonTemporal) _mm_stream_ps(to, sum);
      else _mm_store_ps(to, sum);
    }
  }
}

template <int Reads, int Writes, bool NonTemporal>
Pass pass_of_machine() {
  if (__builtin_cpu_supports("avx512f")) return pass_avx512<Reads, Writes, NonTemporal>;
  if (__builtin_cpu_supports("avx")) return pass_avx<Reads, Writes, NonTemporal>;
  return pass_sse2<Reads, Writes, NonTemporal>;
}

template <bool NonTemporal, int... Combinations>
Pass find_pass(int reads, int writes, std::integer_sequence<int, Combinations...>) {
  const std::array<Pass, sizeof...(Combinations)> passes{
      pass_of_machine<Combinations / kWriteCounts, Combinations % kWriteCounts, NonTemporal>()...};
  return passes[static_cast<std::size_t>(reads * kWriteCounts + writes)];
}

Pass find_pass(int reads, int writes, bool non_temporal) {
  constexpr auto kCombinations = std::make_integer_sequence<int, (kMaxReads + 1) * kWriteCounts>();
  return non_temporal ? find_pass<true>(reads, writes, kCombinations)
                      : find_pass<false>(reads, writes, kCombinations);
}

float* allocate(std::size_t floats) {
  constexpr std::size_t kPage = std::size_t{1} << 21;
  const std::size_t bytes = (floats * sizeof(float) + kPage - 1) / kPage * kPage;
  void* memory = std::aligned_alloc(kPage, bytes);
  if (!memory) throw std::bad_alloc();
  ::madvise(memory, bytes, MADV_HUGEPAGE);
  std::memset(memory, 0, bytes);
  return static_cast<float*>(memory);
}

}  // namespace

void Stream::Free::operator()(float* memory) const { std::free(memory); }

Stream::Stream(int reads, int writes, std::size_t floats, bool in_place)
    : reads_(reads), writes_(writes), floats_((floats + kLine - 1) / kLine * kLine) {
  const auto count = static_cast<std::size_t>(in_place ? std::max(reads, writes) : reads + writes);
  for (std::size_t i = 0; i < count; ++i) {
    // At equal offsets within a page, lines of all arrays would map to the same cache sets.
    const std::size_t shift = i * 5 * kLine;
    memory_.emplace_back(allocate(floats_ + shift));
    arrays_.push_back(memory_.back().get() + shift);
  }
  if (in_place) arrays_.insert(arrays_.end(), arrays_.begin(), arrays_.begin() + writes);
}

double Stream::bytes() const {
  return static_cast<double>(arrays_.size()) * static_cast<double>(floats_ * sizeof(float));
}

// Which kind of store is faster depends on the size and on the number of threads.
double Stream::seconds(int threads) const {
  return std::min(seconds_with(threads, true), seconds_with(threads, false));
}

double Stream::seconds_with(int threads, bool non_temporal) const {
  const Pass pass = find_pass(reads_, writes_, non_temporal);
  const std::size_t lines = floats_ / kLine, count = static_cast<std::size_t>(threads);
  // Some 2 ms at 100 GB/s; the threads need not wait for each other between passes.
  const int passes = std::max(1, static_cast<int>(2e8 / bytes()));
  const double seconds = run_together(threads, [&](int thread) {
    const auto part = static_cast<std::size_t>(thread);
    const std::size_t begin = lines * part / count * kLine;
    const std::size_t end = lines * (part + 1) / count * kLine;
    for (int i = 0; i < passes; ++i) pass(arrays_.data(), begin, end);
  });
  return seconds / passes;
}

}  // namespace kiln::bench
