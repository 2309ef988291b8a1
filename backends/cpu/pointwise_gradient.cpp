// Divides the matmul into parts of rows or columns of the result. Each part packs what it reads.
#include "backends/cpu/pointwise_gradient.h"

#include "backends/codegen/bind/slot_sizes.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

using codegen::aligned;
using codegen::ceil_div;
using codegen::Convolution;
using codegen::ConvRole;
using codegen::MatmulShape;
using codegen::PreparedMatmul;
using codegen::product;

/// Multiply-adds of a part, and parts of a convolution. kRows, kColumns: the size of a part is a
/// multiple, so that tiles of the GEMM are whole.
constexpr std::int64_t kPartWork = 1 << 20, kMaxParts = 8, kRows = 12, kColumns = 32;

MatmulShape matmul_of(const Convolution& c) {
  MatmulShape shape;
  const std::int64_t pixels = c.batch * product(c.sizes);
  if (c.role == ConvRole::Input) {
    shape.m = pixels, shape.n = c.channels, shape.k = c.filters;
    shape.lhs_m = c.filters, shape.lhs_k = 1, shape.rhs_k = 1, shape.rhs_n = c.filters;
  } else {
    shape.m = c.channels, shape.n = c.filters, shape.k = pixels;
    shape.lhs_m = 1, shape.lhs_k = c.channels, shape.rhs_k = c.filters, shape.rhs_n = 1;
  }
  shape.result_m = shape.n;
  return shape;
}

/// Rows or columns of the matmul, with the offsets of their first elements.
struct Part {
  std::shared_ptr<const PreparedMatmul> matmul;
  std::int64_t lhs = 0, rhs = 0, result = 0;
};

class PointwiseGradient final : public codegen::PreparedConvolution {
 public:
  PointwiseGradient(const Convolution& c, const PrepareMatmul& prepare)
      : role_(c.role), whole_(matmul_of(c)) {
    const std::int64_t work = whole_.m * whole_.n * whole_.k;
    const std::int64_t wanted = std::clamp(work / kPartWork, std::int64_t{1}, kMaxParts);
    // Rows of x^T are not contiguous: its matmul is divided into columns if these suffice.
    const bool by_rows =
        whole_.m >= whole_.n && (role_ == ConvRole::Input || whole_.n < wanted * kColumns);
    const std::int64_t extent = by_rows ? whole_.m : whole_.n;
    const std::int64_t unit = by_rows ? kRows : kColumns;
    const std::int64_t size = ceil_div(ceil_div(extent, wanted), unit) * unit;
    for (std::int64_t begin = 0; begin < extent; begin += size) {
      add_part(begin, std::min(size, extent - begin), by_rows, prepare);
    }
  }

  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(part_scratch_) * parts_.size();
  }
  std::size_t parts() const override { return parts_.size(); }
  std::string description() const override {
    return parts_[0].matmul->description() + ", pointwise";
  }
  void start(const float*, void*) const override {}
  void finish(const float*, const float*, const float*, float*, void*) const override {}

  void run(std::size_t part_index, const float* first, const float* second, const void*,
           const float*, float* result, void* scratch) const override {
    const Part& part = parts_[part_index];
    const float* lhs = role_ == ConvRole::Input ? second : first;
    const float* rhs = role_ == ConvRole::Input ? first : second;
    part.matmul->run(
        lhs + part.lhs, rhs + part.rhs, nullptr, result + part.result,
        static_cast<std::byte*>(scratch) + static_cast<std::int64_t>(part_index) * part_scratch_);
  }

 private:
  void add_part(std::int64_t begin, std::int64_t size, bool by_rows, const PrepareMatmul& prepare) {
    MatmulShape shape = whole_;
    Part part;
    if (by_rows) {
      shape.m = size;
      part.lhs = begin * shape.lhs_m;
      part.result = begin * shape.result_m;
    } else {
      shape.n = size;
      part.rhs = begin * shape.rhs_n;
      part.result = begin;
    }
    part.matmul = prepare(shape);
    const auto bytes = static_cast<std::int64_t>(part.matmul->scratch_bytes());
    part_scratch_ = std::max(part_scratch_, aligned(bytes));
    parts_.push_back(std::move(part));
  }

  ConvRole role_;
  MatmulShape whole_;
  std::vector<Part> parts_;
  std::int64_t part_scratch_ = 0;
};

}  // namespace

std::shared_ptr<const codegen::PreparedConvolution> make_pointwise_gradient(
    const Convolution& c, const PrepareMatmul& prepare) {
  return std::make_shared<PointwiseGradient>(c, prepare);
}

}  // namespace kiln::cpu
