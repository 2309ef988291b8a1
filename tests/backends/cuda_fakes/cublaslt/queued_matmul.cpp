// Ranges are checked before anything is read.
#include "tests/backends/cuda_fakes/cublaslt/queued_matmul.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

namespace kiln::fake_cublaslt {
namespace {

constexpr int kPoison = 0xFF;
constexpr int kIllegalAddress = 700;

using fake_cuda::Range;
using fake_cuda::to_tf32;

std::int64_t offset(const Layout& layout, std::uint64_t row, std::uint64_t column,
                    std::int32_t batch) {
  return static_cast<std::int64_t>(row) + static_cast<std::int64_t>(column) * layout.leading_dim +
         batch * layout.batch_stride;
}

Range range_of(const Layout& layout, std::uint64_t address, std::uint64_t width) {
  const std::int64_t last =
      offset(layout, layout.rows - 1, layout.columns - 1, layout.batch_count - 1);
  return {address, (static_cast<std::uint64_t>(last) + 1) * width};
}

/// Whether two batches write the same element.
bool writes_twice(const Layout& d) {
  std::vector<std::int64_t> written;
  for (std::int32_t batch = 0; batch < d.batch_count; ++batch) {
    for (std::uint64_t column = 0; column < d.columns; ++column) {
      for (std::uint64_t row = 0; row < d.rows; ++row) {
        written.push_back(offset(d, row, column, batch));
      }
    }
  }
  std::sort(written.begin(), written.end());
  return std::adjacent_find(written.begin(), written.end()) != written.end();
}

template <class Element>
class Run {
 public:
  Run(const QueuedMatmul& queued, const std::byte* bias)
      : problem_(queued.problem),
        a_(elements(problem_.a, queued.a)),
        b_(elements(problem_.b, queued.b)),
        d_(elements(problem_.d, queued.d)),
        bias_(reinterpret_cast<const Element*>(bias)) {}

  void run() {
    const Layout& d = problem_.d;
    for (std::int32_t batch = 0; batch < d.batch_count; ++batch) {
      for (std::uint64_t column = 0; column < d.columns; ++column) {
        for (std::uint64_t row = 0; row < d.rows; ++row) {
          double sum = sum_of(row, column, batch);
          if (bias_ != nullptr) sum += static_cast<double>(bias_[row]);
          d_[offset(d, row, column, batch)] = static_cast<Element>(sum);
        }
      }
    }
  }

 private:
  static Element* elements(const Layout& layout, std::uint64_t address) {
    return reinterpret_cast<Element*>(range_of(layout, address, sizeof(Element)).host());
  }

  double operand(Element value) const {
    if (problem_.matmul.compute_type != CublasComputeType::Float32Tf32) {
      return static_cast<double>(value);
    }
    return static_cast<double>(to_tf32(static_cast<float>(static_cast<double>(value))));
  }

  double sum_of(std::uint64_t row, std::uint64_t column, std::int32_t batch) const {
    const bool a = problem_.matmul.transpose_a != 0, b = problem_.matmul.transpose_b != 0;
    double sum = 0;
    for (std::uint64_t k = 0; k < problem_.k(); ++k) {
      const std::int64_t left = offset(problem_.a, a ? k : row, a ? row : k, batch);
      const std::int64_t right = offset(problem_.b, b ? column : k, b ? k : column, batch);
      sum += operand(a_[left]) * operand(b_[right]);
    }
    return sum;
  }

  const Problem& problem_;
  const Element* a_;
  const Element* b_;
  Element* d_;
  const Element* bias_;
};

int reject(const char* reason) {
  std::fprintf(stderr, "fake cuBLASLt: %s\n", reason);
  return kIllegalAddress;
}

}  // namespace

int QueuedMatmul::run() const {
  const std::uint64_t width = problem.width();
  const Range result = range_of(problem.d, d, width);
  Range bias;
  if (problem.has_bias()) bias = {problem.matmul.bias, problem.d.rows * width};
  const Range scratch{workspace, workspace_bytes};
  const Range operands[] = {range_of(problem.a, a, width), range_of(problem.b, b, width), bias};
  for (const Range& operand : operands) {
    if (operand.bytes != 0 && operand.host() == nullptr) return reject("an operand is not live");
    if (operand.overlaps(result)) return reject("the result overlaps an operand");
    if (operand.overlaps(scratch)) return reject("the workspace overlaps an operand");
  }
  if (result.host() == nullptr) return reject("the result is not live");
  if (scratch.overlaps(result)) return reject("the workspace overlaps the result");
  if (writes_twice(problem.d)) return reject("batches write the same element");
  if (workspace_bytes != 0) {
    if (scratch.host() == nullptr) return reject("the workspace is not live");
    std::memset(scratch.host(), kPoison, workspace_bytes);
  }
  const std::byte* bias_bytes = bias.bytes == 0 ? nullptr : bias.host();
  switch (problem.d.type) {
    case CublasDataType::Float64: Run<double>(*this, bias_bytes).run(); break;
    case CublasDataType::Float32: Run<float>(*this, bias_bytes).run(); break;
    case CublasDataType::Float16: Run<fake_cuda::Float16>(*this, bias_bytes).run(); break;
    case CublasDataType::BFloat16: Run<fake_cuda::BFloat16>(*this, bias_bytes).run(); break;
  }
  return 0;
}

}  // namespace kiln::fake_cublaslt
